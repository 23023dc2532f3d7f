"""Settings: what comes from the environment or `.env`, and where the course keeps its own files.

Every setting has a default that works on a laptop without an account. Names in the environment are
the ones in the `alias` of each field; the command line's options win over them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, get_type_hints

from course_lib.errors import InputError
from course_lib.records import KEBAB, KEBAB_LENGTH

BackendName = Literal["auto", "torch", "openvino", "onnx", "sbert", "openai"]
PrecisionName = Literal["float32", "bfloat16"]
GeneratorName = Literal["extractive", "ollama", "openai"]


def project_root() -> Path:
    """Return the folder that holds `labs/`, `data/` and `course_lib/`.

    `COURSE_ROOT` replaces it; otherwise it is the checkout that this package is in, whatever the
    current folder is, because papermill, nbval and JupyterLab each start notebooks in another one.
    A package that was installed without its checkout takes the current folder: what it writes
    belongs beside the user's files and not among the installed packages.
    """
    given = os.environ.get("COURSE_ROOT")
    if given:
        return Path(given).resolve()
    above = Path(__file__).resolve().parents[1]
    return above if (above / "pyproject.toml").is_file() else Path.cwd()


def checkout() -> Path:
    """Return `project_root()` for a command that reads the course's labs, data or tests.

    Raises
    ------
    InputError
        If they are not there.
    """
    root = project_root()
    if not ((root / "pyproject.toml").is_file() and (root / "labs").is_dir()):
        raise InputError(
            f"{root} is not a checkout of the course: its labs and data are not there, "
            "and `pip install` does not bring them",
            hint="Clone the course, run `make setup` in that folder and use the `course` of its "
            ".venv, or set COURSE_ROOT to the folder.",
        )
    return root


def state_dir() -> Path:
    """Return the folder for what the course makes itself (`.course`, or `COURSE_STATE`)."""
    given = os.environ.get("COURSE_STATE")
    return Path(given).resolve() if given else project_root() / ".course"


def _setting(
    alias: str, default: Any, description: str, *, secret: bool = False, **rules: Any
) -> Any:
    """Declare a setting: its name outside, and what `pydantic.Field` takes for rules.

    A secret one is in no `repr`.
    """
    return field(
        default=default,
        repr=not secret,
        metadata={"alias": alias, "description": description, "secret": secret, "rules": rules},
    )


@dataclass(frozen=True, init=False)
class Settings:
    """The settings of one process: what is given here, else in the environment, else in `.env`.

    Parameters
    ----------
    given
        Values by their names in the environment, or by the names of the fields.

    Attributes
    ----------
    origins
        Name in the environment → ``environment``, ``.env`` or ``given``; others have their default.

    Raises
    ------
    pydantic.ValidationError
        If a value cannot be used.

    Examples
    --------
    >>> Settings(RAG_CHUNK_SIZE=300).chunk_size
    300
    """

    origins: ClassVar[dict[str, str]] = {}

    database_url: str | None = _setting(
        "DATABASE_URL",
        None,
        "any PostgreSQL >= 16 with pgvector; unset: embedded",
        secret=True,
    )
    embed_model: str = _setting("RAG_EMBED_MODEL", "all-MiniLM-L6-v2", "model name or path")
    embed_backend: BackendName = _setting(
        "RAG_EMBED_BACKEND",
        "auto",
        "what encodes: auto (or sbert: the model on this machine, with its fastest engine), torch, "
        "openvino, onnx; or openai",
    )
    embed_precision: PrecisionName = _setting(
        "RAG_EMBED_PRECISION",
        "float32",
        "float32 gives the same results on every processor; bfloat16 fills an index faster on "
        "processors that have it, and changes nothing on others",
    )
    vector_dim: int = _setting(
        "RAG_VECTOR_DIM",
        384,
        "dimension of the vectors; with openai, how many numbers are asked for",
        ge=1,
        le=16_000,
    )
    collection: str | None = _setting(
        "RAG_COLLECTION",
        None,
        "schema of the database that holds the index, one for each model; unset: public",
        pattern=r"^[a-z][a-z0-9_-]*$",
        max_length=63,
    )
    chunk_size: int = _setting(
        "RAG_CHUNK_SIZE",
        512,
        "characters in a chunk of a document or of code, at most; manifests have a size of their "
        "own, 700",
        ge=1,
    )
    chunk_overlap: int = _setting(
        "RAG_CHUNK_OVERLAP",
        64,
        "characters that neighbouring chunks of a document share, or of a long piece of code",
        ge=0,
    )
    top_k: int = _setting("RAG_TOP_K", 6, "results of a search", ge=1)
    repo_root: str | None = _setting(
        "RAG_REPO_ROOT", None, "folder outside which no file is changed; unset: git's, or this one"
    )
    structure_path: str = _setting(
        "RAG_STRUCTURE_PATH", "STRUCTURE.md", "where a repository's list of its files is, in it"
    )
    tenant: str = _setting(
        "RAG_TENANT",
        "local",
        "whose documents these are; lowercase kebab",
        pattern=KEBAB,
        max_length=KEBAB_LENGTH,
    )
    use_default_parsers: bool = _setting(
        "RAG_USE_DEFAULT_PARSERS", True, "register the built-in parsers"
    )
    custom_parsers: tuple[str, ...] = _setting(
        "RAG_CUSTOM_PARSERS",
        (),
        "parsers to register, with commas between: module:Class or file.py:Class",
    )
    threads: int | None = _setting(
        "RAG_THREADS", None, "CPU threads of the model; unset: all cores", ge=1
    )

    hint_max_chunks: int = _setting(
        "RAG_FILE_HINT_MAX_CHUNKS", 8, "passages of each file that a question names, at most", ge=0
    )
    structure_max_chunks: int = _setting(
        "RAG_STRUCTURE_MAX_CHUNKS", 1, "passages kept free for STRUCTURE.md", ge=0
    )
    rerank: bool = _setting("RAG_RERANK", False, "order the passages of an answer anew")
    rerank_model: str | None = _setting(
        "RAG_RERANK_MODEL", None, "a CrossEncoder, name or path; unset: MaxSim, without a model"
    )
    rerank_k: int | None = _setting(
        "RAG_RERANK_K", None, "results to order anew; unset: 20, or RAG_TOP_K if larger", ge=1
    )
    generator: GeneratorName = _setting(
        "RAG_GENERATOR", "extractive", "what answers: extractive, ollama or openai"
    )
    ollama_url: str = _setting("OLLAMA_URL", "http://localhost:11434", "address of Ollama")
    ollama_model: str = _setting("RAG_OLLAMA_MODEL", "llama3", "model of Ollama")
    openai_model: str = _setting("RAG_OPENAI_MODEL", "gpt-4o-mini", "model of the OpenAI API")
    openai_api_key: str | None = _setting(
        "OPENAI_API_KEY", None, "key of the OpenAI API", secret=True
    )
    openai_base_url: str | None = _setting(
        "OPENAI_BASE_URL", None, "another server that speaks the OpenAI API; unset: OpenAI's"
    )
    max_output: int = _setting(
        "OPENAI_MAX_OUTPUT", 4096, "tokens of an answer, at most, with any generator", ge=1
    )
    safety_margin: int | None = _setting(
        "RAG_SAFETY_MARGIN_TOKENS",
        None,
        "tokens of the window left free; unset: 1024 for openai, 512 for ollama",
        ge=0,
    )
    context_window: int | None = _setting(
        "RAG_CONTEXT_WINDOW", None, "tokens that the model takes; unset: known of the model", ge=1
    )
    generator_timeout: float = _setting(
        "RAG_GENERATOR_TIMEOUT", 120.0, "seconds to wait for the next piece of an answer", gt=0
    )
    system_prompt: str | None = _setting(
        "RAG_SYS_PROMPT", None, "what a model is told first; unset: the course's own words"
    )
    system_prompt_file: str | None = _setting(
        "RAG_SYS_PROMPT_FILE", None, "a file with what a model is told first"
    )

    api_keys: tuple[str, ...] = _setting(
        "RAG_API_KEYS",
        (),
        "who may use the API: tenant:digest, with commas between; `course api-key` makes them",
    )
    api_key_required: bool = _setting(
        "RAG_API_KEY_REQUIRED", False, "whether reading needs a key too; writing always does"
    )
    api_rate_limit: str | None = _setting(
        "RAG_API_RATE_LIMIT", None, "requests of one client, such as 60/minute; unset: no limit"
    )
    api_max_body_bytes: int = _setting(
        "RAG_API_MAX_BODY_BYTES", 8_000_000, "largest request that is read", ge=1_000
    )

    def __init__(self, **given: object) -> None:
        names = {item.name: item.metadata["alias"] for item in fields(self)}
        found, origins = _from_outside(set(names.values()))
        found |= {names.get(name, name): value for name, value in given.items()}
        origins |= {names.get(name, name): "given" for name in given}
        object.__setattr__(self, "origins", origins)
        values = {item.name: item.default for item in fields(self)} | _validated(found)
        for name, value in values.items():
            object.__setattr__(self, name, value)


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
    except UnicodeDecodeError as error:
        raise InputError(
            f"{project_root() / '.env'} is not UTF-8: {error}", hint="Save it as UTF-8."
        ) from error
    except ValueError as error:  # pydantic's ValidationError is one
        from pydantic import ValidationError

        from course_lib.records import explain

        if not isinstance(error, ValidationError):
            raise
        raise InputError(
            explain(error), hint="Correct it in the environment or in .env, or unset it."
        ) from error


def _from_outside(aliases: set[str]) -> tuple[dict[str, object], dict[str, str]]:
    """Return what `.env` and the environment set, and which of them did, both by alias.

    Upper and lower case are the same.
    """
    places: dict[str, Mapping[str, str | None]] = {}
    file = project_root() / ".env"
    if file.is_file():
        from dotenv import dotenv_values

        places[".env"] = dotenv_values(file, encoding="utf-8")
    places["environment"] = os.environ
    found: dict[str, object] = {}
    origins: dict[str, str] = {}
    for place, values in places.items():
        for name, value in values.items():
            if name.upper() in aliases and value is not None:
                found[name.upper()], origins[name.upper()] = value, place
    return found, origins


ANY_TEXT = {
    *("DATABASE_URL", "RAG_EMBED_MODEL", "RAG_RERANK_MODEL", "RAG_SYS_PROMPT"),
    *("RAG_SYS_PROMPT_FILE", "OLLAMA_URL", "RAG_OLLAMA_MODEL"),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "RAG_OPENAI_MODEL"),
    *("RAG_REPO_ROOT", "RAG_STRUCTURE_PATH"),
}
"""Settings that take every text as it is."""


def _validated(found: dict[str, object]) -> dict[str, Any]:
    """Return values in their types, by the names of the fields.

    pydantic judges them. Importing it takes a quarter of a cold search's time, which is saved where
    nothing is set that could be wrong.
    """
    by_alias = {item.metadata["alias"]: item for item in fields(Settings)}
    if all(name in ANY_TEXT and isinstance(value, str) for name, value in found.items()):
        return {by_alias[name].name: value for name, value in found.items()}
    from pydantic import ConfigDict, Field, create_model

    for name, item in by_alias.items():
        value = found.get(name)
        if isinstance(item.default, tuple) and isinstance(value, str):
            found[name] = tuple(filter(None, map(str.strip, value.split(","))))
    types = get_type_hints(Settings)
    declared: dict[str, Any] = {
        item.name: (
            types[item.name],
            Field(default=item.default, alias=alias, **item.metadata["rules"]),
        )
        for alias, item in by_alias.items()
    }
    model = create_model("Settings", __config__=ConfigDict(extra="ignore"), **declared)
    judged = model.model_validate(found)
    return {name: getattr(judged, name) for name in judged.model_fields_set}
