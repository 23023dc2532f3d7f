"""Which GitHub, and as whom: addresses and token from the environment or `.env`."""

from __future__ import annotations

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from course_lib.settings import project_root

PUBLIC_API, PUBLIC_RAW = "https://api.github.com", "https://raw.githubusercontent.com"


class GitHubSettings(BaseSettings):
    """Read anew with each download, so that a notebook may change them.

    Examples
    --------
    >>> GitHubSettings(GITHUB_TOKEN="ghp_secret").token
    SecretStr('**********')
    """

    model_config = SettingsConfigDict(
        env_file=project_root() / ".env",
        env_file_encoding="utf-8",
        extra="ignore",
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    api_url: str = Field(
        default=PUBLIC_API, alias="GITHUB_API_URL", description="address of the REST API"
    )
    raw_url: str = Field(
        default="",
        alias="GITHUB_RAW_URL",
        description="host of raw files, which serves public ones without counting; "
        "unset: GitHub's own for api.github.com, none for other servers",
    )
    token: SecretStr = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("GITHUB_TOKEN", "GH_TOKEN"),
        description="a personal access token; unset: public content, 60 requests an hour",
    )

    @property
    def raw_host(self) -> str:
        """Address of the host of raw files; nothing where none is known."""
        if self.raw_url:
            return self.raw_url
        return PUBLIC_RAW if self.api_url.rstrip("/") == PUBLIC_API else ""
