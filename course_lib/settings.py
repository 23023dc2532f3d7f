"""Settings: what comes from the environment or `.env`, and where the course keeps its own files.

Every setting has a default that works on a laptop without an account. Names in the environment are
the ones in the `alias` of each field; the command line's options win over them.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from course_lib.errors import InputError
from course_lib.records import KEBAB, KEBAB_LENGTH, RERANK_K, explain

CHUNK_SIZE = 512
"""Most characters in a chunk, unless RAG_CHUNK_SIZE or an argument says otherwise."""

CHUNK_OVERLAP = 64
"""Characters that neighbouring chunks of a document share, unless RAG_CHUNK_OVERLAP says so."""

BackendName = Literal["auto", "torch", "openvino", "sbert", "openai"]
PrecisionName = Literal["float32", "bfloat16"]
GeneratorName = Literal["extractive", "ollama", "openai", "auto"]


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


def make_folder(folder: Path) -> None:
    """Make a folder, with those above it.

    A new state folder is closed to other accounts: it holds what was downloaded and computed.

    Examples
    --------
    >>> make_folder(state_dir() / "pipelines")  # doctest: +SKIP
    """
    state = state_dir()
    if folder.is_relative_to(state):
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)


def _words(value: object) -> object:
    """Return the words of a text with commas between them."""
    return (
        [word for word in map(str.strip, value.split(",")) if word]
        if isinstance(value, str)
        else value
    )


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]


class Settings(BaseSettings):
    """The settings of one process: what is given here, else in the environment, else in `.env`.

    A field with ``repr=False`` is a secret.

    Parameters
    ----------
    given
        Values by their names in the environment, or by the names of the fields.

    Raises
    ------
    pydantic.ValidationError
        If a value cannot be used.

    Examples
    --------
    >>> Settings(RAG_CHUNK_SIZE=300).chunk_size
    300
    """

    model_config = SettingsConfigDict(extra="ignore", frozen=True, env_file_encoding="utf-8")

    database_url: str | None = Field(
        None,
        alias="DATABASE_URL",
        description="any PostgreSQL >= 16 with pgvector; unset: embedded",
        repr=False,
    )
    embed_model: str = Field(
        "all-MiniLM-L6-v2", alias="RAG_EMBED_MODEL", description="model name or path"
    )
    embed_backend: BackendName = Field(
        "auto",
        alias="RAG_EMBED_BACKEND",
        description="what encodes: auto (or sbert: the model on this machine, with OpenVINO where "
        "that runs), torch, openvino; or openai",
    )
    embed_precision: PrecisionName = Field(
        "float32",
        alias="RAG_EMBED_PRECISION",
        description="float32 gives the same results on every processor; bfloat16 fills an index "
        "faster on processors that have it, and changes nothing else",
    )
    vector_dim: int = Field(
        384,
        alias="RAG_VECTOR_DIM",
        description="dimension of the vectors; with openai, how many numbers are asked for",
        ge=1,
        le=16000,
    )
    collection: str | None = Field(
        None,
        alias="RAG_COLLECTION",
        description="schema of the database that holds the index, one for each model; unset: "
        "public",
        pattern="^[a-z][a-z0-9_-]*$",
        max_length=63,
    )
    chunk_size: int = Field(
        CHUNK_SIZE,
        alias="RAG_CHUNK_SIZE",
        description="characters in a chunk of a document or of code, at most; manifests have a "
        "size of their own, 700",
        ge=1,
    )
    chunk_overlap: int = Field(
        CHUNK_OVERLAP,
        alias="RAG_CHUNK_OVERLAP",
        description="characters that neighbouring chunks of a document share, or of a long piece "
        "of code",
        ge=0,
    )
    top_k: int = Field(6, alias="RAG_TOP_K", description="results of a search", ge=1)
    repo_root: str | None = Field(
        None,
        alias="RAG_REPO_ROOT",
        description="folder outside which no file is changed; unset: git's, or this one",
    )
    structure_path: str = Field(
        "STRUCTURE.md",
        alias="RAG_STRUCTURE_PATH",
        description="where a repository's list of its files is, in it",
    )
    tenant: str = Field(
        "local",
        alias="RAG_TENANT",
        description="whose documents these are; lowercase kebab",
        pattern=KEBAB,
        max_length=KEBAB_LENGTH,
    )
    use_default_parsers: bool = Field(
        True, alias="RAG_USE_DEFAULT_PARSERS", description="register the built-in parsers"
    )
    custom_parsers: Words = Field(
        (),
        alias="RAG_CUSTOM_PARSERS",
        description="parsers to register, with commas between: module:Class or file.py:Class",
    )
    threads: int | None = Field(
        None, alias="RAG_THREADS", description="CPU threads of the model; unset: all cores", ge=1
    )
    hint_max_chunks: int = Field(
        8,
        alias="RAG_FILE_HINT_MAX_CHUNKS",
        description="passages of each file that a question names, at most",
        ge=0,
    )
    structure_max_chunks: int = Field(
        1, alias="RAG_STRUCTURE_MAX_CHUNKS", description="passages kept free for STRUCTURE.md", ge=0
    )
    rerank: bool = Field(
        False, alias="RAG_RERANK", description="order the passages of an answer again"
    )
    rerank_model: str | None = Field(
        None,
        alias="RAG_RERANK_MODEL",
        description="a CrossEncoder, name or path; unset: MaxSim, without a model",
    )
    rerank_k: int | None = Field(
        None,
        alias="RAG_RERANK_K",
        description=f"results to order again; unset: {RERANK_K}, or RAG_TOP_K if larger",
        ge=1,
    )
    generator: GeneratorName = Field(
        "extractive",
        alias="RAG_GENERATOR",
        description="what answers: extractive, ollama, openai; auto takes a model that is there",
    )
    ollama_url: str = Field(
        "http://localhost:11434", alias="OLLAMA_URL", description="address of Ollama"
    )
    ollama_model: str = Field("llama3", alias="RAG_OLLAMA_MODEL", description="model of Ollama")
    openai_model: str = Field(
        "gpt-4o-mini", alias="RAG_OPENAI_MODEL", description="model of the OpenAI API"
    )
    openai_api_key: str | None = Field(
        None, alias="OPENAI_API_KEY", description="key of the OpenAI API", repr=False
    )
    openai_base_url: str | None = Field(
        None,
        alias="OPENAI_BASE_URL",
        description="another server that speaks the OpenAI API; unset: OpenAI's",
    )
    max_output: int = Field(
        4096,
        alias="OPENAI_MAX_OUTPUT",
        description="tokens of an answer, at most, with any generator",
        ge=1,
    )
    safety_margin: int | None = Field(
        None,
        alias="RAG_SAFETY_MARGIN_TOKENS",
        description="tokens of the window left free; unset: 1024 for openai, 512 for ollama",
        ge=0,
    )
    context_window: int | None = Field(
        None,
        alias="RAG_CONTEXT_WINDOW",
        description="tokens that the model takes; unset: known of the model",
        ge=1,
    )
    generator_timeout: float = Field(
        120.0,
        alias="RAG_GENERATOR_TIMEOUT",
        description="seconds to wait for the next piece of an answer",
        gt=0,
    )
    system_prompt: str | None = Field(
        None,
        alias="RAG_SYS_PROMPT",
        description="what a model is told first; unset: the course's own words",
    )
    system_prompt_file: str | None = Field(
        None, alias="RAG_SYS_PROMPT_FILE", description="a file with what a model is told first"
    )
    api_keys: Words = Field(
        (),
        alias="RAG_API_KEYS",
        description="who may use the API: tenant:digest, with commas between; `course api-key` "
        "makes them",
    )
    api_key_required: bool = Field(
        False,
        alias="RAG_API_KEY_REQUIRED",
        description="whether reading needs a key too; writing always does",
    )
    api_rate_limit: str | None = Field(
        None,
        alias="RAG_API_RATE_LIMIT",
        description="requests of one client, such as 60/minute; unset: no limit",
    )
    api_embeddings_limit: str | None = Field(
        "1000/minute",
        alias="RAG_API_EMBEDDINGS_LIMIT",
        description="texts that a caller without a key may have encoded; empty: no limit",
    )
    api_hosts: Words = Field(
        (),
        alias="RAG_API_HOSTS",
        description="names under which the API is called, with commas between, such as "
        "*.example.org; localhost and plain addresses always are",
    )
    api_proxies: Words = Field(
        (),
        alias="RAG_API_PROXIES",
        description="addresses or networks of the proxies before the API, whose X-Forwarded-For "
        "is believed",
    )
    api_max_body_bytes: int = Field(
        8000000,
        alias="RAG_API_MAX_BODY_BYTES",
        description="largest request that is read; without a key, a megabyte at most",
        ge=1000,
    )

    def __init__(self, **given: Any) -> None:
        aliases = {name: str(field.alias) for name, field in Settings.model_fields.items()}
        super().__init__(
            _env_file=project_root() / ".env",
            **{aliases.get(name, name): value for name, value in given.items()},
        )


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Return this process's settings, read once; `settings.cache_clear()` reads them again.

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
    except ValidationError as error:
        raise InputError(
            explain(error), hint="Correct it in the environment or in .env, or unset it."
        ) from error
