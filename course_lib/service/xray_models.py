"""What requests to the X-Ray and its answers look like."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, field_validator

from course_lib.service.models import Filter, LockText, Name, Question, StrictModel, whole

Language = Literal["go", "javascript", "php", "python", "ruby", "rust"]


class LockFile(StrictModel):
    """A lock file: its name says its format, and its text is read; no path is opened."""

    path: Filter = Field(description="such as api/requirements.txt", examples=["requirements.txt"])
    content: LockText = Field(description="the whole text", examples=["spotipy==2.25.1\n"])


class ScanRequest(StrictModel):
    """All lock files of a project, as they are now."""

    project: Name = Field(description="what it is called; unique for the key's tenant")
    files: list[LockFile] = Field(
        min_length=1,
        max_length=200,
        description="all of them: what is in none is not used any more and is removed",
    )


class ScannedLanguage(BaseModel):
    """What a scan did with the project's packages of one language."""

    language: str
    unchanged: bool = Field(description="the lock files are those of last time: nothing was done")
    skipped: int = Field(description="packages that were there already, in this version")
    added: list[str]
    changed: list[str] = Field(description="packages whose version is another now")
    removed: list[str]
    broken: str = Field(description="why nothing was changed; empty if all is well")


class ScanResponse(BaseModel):
    """What a scan did, and what it had to leave."""

    project: str
    languages: list[ScannedLanguage]
    ignored: list[str] = Field(description="paths of files that are not lock files")
    not_read: list[str] = Field(
        description="files whose packages are not known though the project uses them: lock files "
        "of other formats, and what one includes that is not among the files; a sentence each"
    )
    waiting: int = Field(description="new packages that have no description yet")
    vectors: bool = Field(description="false: there was no model; a later scan makes them")


class SuggestRequest(StrictModel):
    """What is to be programmed, and in which project."""

    project: Filter
    language: Language
    instruction: Question = Field(
        description="what is to be programmed", examples=["fetch top charts from Spotify"]
    )
    k: int = Field(default=5, ge=1, le=50, description="packages, at most")

    _is_whole = field_validator("k", mode="before")(whole)


class SuggestedPackage(BaseModel):
    """A package of the project."""

    name: str
    version: str = Field(description="empty where the lock file gives none")
    description: str | None
    similarity: float | None = Field(description="cosine; null where nothing was compared")


class SuggestResponse(BaseModel):
    """The packages that the instruction is most likely about, most similar first."""

    packages: list[SuggestedPackage]
    fallback: str = Field(
        description="empty, or why these are only the project's first 50 packages by name"
    )
