"""Settings: what comes from the environment or `.env`, and where the course keeps its own files.

Every setting has a default that works on a laptop without an account. Names in the environment are
the ones in the `alias` of each field; the command line's options win over them.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from course_lib.errors import InputError
from course_lib.records import Kebab, explain


def project_root() -> Path:
    """Return the folder that holds `labs/`, `data/` and `course_lib/`.

    `COURSE_ROOT` replaces it; otherwise it is where this package lies, whatever the current folder
    is, because papermill, nbval and JupyterLab each start notebooks in another one.
    """
    given = os.environ.get("COURSE_ROOT")
    return Path(given).resolve() if given else Path(__file__).resolve().parents[1]


def state_dir() -> Path:
    """Return the folder for what the course makes itself (`.course`, or `COURSE_STATE`)."""
    given = os.environ.get("COURSE_STATE")
    return Path(given).resolve() if given else project_root() / ".course"


class Settings(BaseSettings):
    """The settings of one process.

    Examples
    --------
    >>> Settings(RAG_CHUNK_SIZE=300).chunk_size
    300
    """

    model_config = SettingsConfigDict(
        env_file=project_root() / ".env",
        env_file_encoding="utf-8",
        extra="ignore",
        populate_by_name=True,
    )

    database_url: str | None = Field(
        default=None,
        alias="DATABASE_URL",
        description="any PostgreSQL >= 16 with pgvector; unset: embedded",
    )
    embed_model: str = Field(
        default="all-MiniLM-L6-v2", alias="RAG_EMBED_MODEL", description="model name or path"
    )
    vector_dim: int = Field(
        default=384, alias="RAG_VECTOR_DIM", ge=1, le=16_000, description="dimension of the vectors"
    )
    chunk_size: int = Field(
        default=512, alias="RAG_CHUNK_SIZE", ge=1, description="characters in a chunk, at most"
    )
    chunk_overlap: int = Field(
        default=64, alias="RAG_CHUNK_OVERLAP", ge=0, description="characters that neighbours share"
    )
    top_k: int = Field(default=5, alias="RAG_TOP_K", ge=1, description="results of a search")
    tenant: Kebab = Field(
        default="local",
        alias="RAG_TENANT",
        description="whose documents these are; lowercase kebab",
    )
    use_default_parsers: bool = Field(
        default=True, alias="RAG_USE_DEFAULT_PARSERS", description="register the built-in parsers"
    )
    custom_parsers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        alias="RAG_CUSTOM_PARSERS",
        description="parsers to register, with commas between: module:Class or file.py:Class",
    )
    threads: int | None = Field(
        default=None,
        alias="RAG_THREADS",
        ge=1,
        description="CPU threads of the model; unset: all cores",
    )

    @field_validator("custom_parsers", mode="before")
    @classmethod
    def _separate(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Return this process's settings, read once; `settings.cache_clear()` reads them anew.

    Raises
    ------
    InputError
        If a variable in the environment or `.env` has a value that cannot be used.
    """
    try:
        return Settings()
    except ValidationError as error:
        raise InputError(
            explain(error), hint="Correct it in the environment or in .env, or unset it."
        ) from error
