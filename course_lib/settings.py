"""Settings: what comes from the environment or `.env`, and where the course keeps its own files.

Every setting has a default that works on a laptop without an account. In the environment a
field's name is in capitals after `RAG_`, or is its `alias`; the command line's options win. A
variable without a value is one that is not set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from dotenv.parser import parse_stream
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from course_lib.errors import InputError
from course_lib.records import KEBAB, KEBAB_LENGTH, explain

SomeSettings = TypeVar("SomeSettings", bound=BaseSettings)

CHUNK_SIZE = 512
"""Most characters in a chunk, unless RAG_CHUNK_SIZE or an argument says otherwise."""

CHUNK_OVERLAP = 64
"""Characters that neighbouring chunks of a document share, unless RAG_CHUNK_OVERLAP says so."""

BackendName = Literal["auto", "torch", "openvino", "sbert", "openai"]
PrecisionName = Literal["float32", "bfloat16"]
LanguageModelName = Literal["ollama", "openai", "local"]
GeneratorName = Literal["extractive", LanguageModelName, "auto"]
"""What answers. `course_lib.answers.generators` makes them; options of commands are of these."""


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


def program() -> str:
    """Return how this process's commands are called: those of a learner's system begin otherwise.

    Examples
    --------
    >>> program()
    'course'
    """
    return "course mine" if os.environ.get("COURSE_MINE") else "course"


def state_dir() -> Path:
    """Return the folder for what the course makes itself (`.course`, or `COURSE_STATE`)."""
    given = os.environ.get("COURSE_STATE")
    return Path(given).resolve() if given else project_root() / ".course"


def own_functions() -> tuple[str, str]:
    """Return marks of the learner's functions, where `course mine` runs; outside empty ones.

    The first is of those on which an index depends, the second of those that make vectors.
    """
    index, _, vectors = os.environ.get("COURSE_MINE", "").partition(":")
    return index, vectors


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


@contextmanager
def with_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process, which those that it starts inherit, and set them back.

    Examples
    --------
    >>> with with_variables({"COURSE_ROOT": "/elsewhere"}):
    ...     os.environ["COURSE_ROOT"]
    '/elsewhere'
    """
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _words(value: object) -> object:
    """Return the words of a text with commas between them."""
    return (
        [word for word in map(str.strip, value.split(",")) if word]
        if isinstance(value, str)
        else value
    )


def _own_schema(name: str) -> str:
    """Return the name of a schema that PostgreSQL and other programs leave to us."""
    if name.startswith("pg_") or name in ("public", "information_schema"):
        raise ValueError("it is PostgreSQL's own schema; take another name, such as notes")
    return name


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

    model_config = SettingsConfigDict(
        extra="ignore",
        frozen=True,
        env_file_encoding="utf-8",
        env_ignore_empty=True,
        alias_generator=lambda name: f"RAG_{name.upper()}",
        use_attribute_docstrings=True,
    )

    database_url: str | None = Field(None, alias="DATABASE_URL", repr=False)
    """any PostgreSQL >= 16 with pgvector; unset: embedded"""
    embed_model: str = "all-MiniLM-L6-v2"
    """model name or path"""
    embed_backend: BackendName = "auto"
    """what encodes: auto (or sbert: the model on this machine, with OpenVINO where that runs),
    torch, openvino; or openai"""
    embed_precision: PrecisionName = "float32"
    """float32 gives the same results on every processor; bfloat16 fills an index faster on
    processors that have it, and changes nothing else"""
    vector_dim: int = Field(384, ge=1, le=16000)
    """dimension of the vectors; with openai, how many numbers are asked for"""
    collection: (
        Annotated[
            str, Field(pattern="^[a-z][a-z0-9_-]*$", max_length=63), AfterValidator(_own_schema)
        ]
        | None
    ) = None
    """schema of the database that holds the index, one for each model; unset: course"""
    chunk_size: int = Field(CHUNK_SIZE, ge=1)
    """characters in a chunk of a document or of code, at most; manifests have a size of their
    own, 700"""
    chunk_overlap: int = Field(CHUNK_OVERLAP, ge=0)
    """characters that neighbouring chunks of a document share, or of a long piece of code"""
    top_k: int = Field(6, ge=1)
    """results of a search"""
    repo_root: str | None = None
    """folder outside which no file is changed; unset: git's, or this one"""
    structure_path: str = "STRUCTURE.md"
    """where a repository's list of its files is, in it"""
    tenant: str = Field("local", pattern=KEBAB, max_length=KEBAB_LENGTH)
    """whose documents these are; lowercase kebab"""
    use_default_parsers: bool = True
    """register the built-in parsers"""
    custom_parsers: Words = ()
    """parsers to register, with commas between: package.module:Class"""
    threads: int | None = Field(None, ge=1)
    """CPU threads of the model; unset: all cores"""
    hint_max_chunks: int = Field(8, alias="RAG_FILE_HINT_MAX_CHUNKS", ge=0)
    """passages of each file that a question names, at most"""
    structure_max_chunks: int = Field(1, ge=0)
    """passages kept free for STRUCTURE.md"""
    rerank_model: str | None = None
    """a CrossEncoder, name or path, that orders the passages of an answer; unset: none does"""
    rerank_k: int | None = Field(None, ge=1)
    """results that passages are chosen from; unset: 20, 15 with a CrossEncoder, or RAG_TOP_K"""
    generator: GeneratorName = "extractive"
    """what answers: extractive, ollama, openai, local; auto takes a model that is there"""
    ollama_url: str = Field("http://localhost:11434", alias="OLLAMA_URL")
    """address of Ollama"""
    ollama_model: str = "llama3"
    """model of Ollama"""
    ollama_think: bool | None = None
    """whether a model of Ollama may think before it answers; unset: as it is by default"""
    openai_model: str = "gpt-4o-mini"
    """model of the OpenAI API"""
    openai_api_key: str | None = Field(None, alias="OPENAI_API_KEY", repr=False)
    """key of the OpenAI API"""
    openai_base_url: str | None = Field(None, alias="OPENAI_BASE_URL")
    """another server that speaks the OpenAI API; unset: OpenAI's"""
    model_file: Path | None = None
    """a GGUF file for the local generator; unset: the one that `make model` made"""
    max_output: int = Field(4096, alias="OPENAI_MAX_OUTPUT", ge=1)
    """tokens of an answer, at most, with any generator"""
    safety_margin: int | None = Field(None, alias="RAG_SAFETY_MARGIN_TOKENS", ge=0)
    """tokens of the window left free; unset: 1024 for openai, 512 for ollama"""
    context_window: int | None = Field(None, ge=1)
    """tokens that the model takes; unset: known of the model"""
    generator_timeout: float = Field(120.0, gt=0)
    """seconds to wait for the next piece of an answer"""
    system_prompt: str | None = Field(None, alias="RAG_SYS_PROMPT")
    """what a model is told first; unset: the course's own words"""
    system_prompt_file: str | None = Field(None, alias="RAG_SYS_PROMPT_FILE")
    """a file with what a model is told first"""
    api_keys: Words = ()
    """who may use the API: tenant:digest, with commas between; `course api-key` makes them"""
    api_key_required: bool = False
    """whether reading needs a key too; writing always does"""
    api_hosts: Words = ()
    """names and addresses under which the API is called, with commas between, such as
    `*.example.org` or `10.1.2.3`; localhost always is"""
    api_proxies: Words = ()
    """addresses or networks of the proxies before the API, whose X-Forwarded-For is believed"""
    api_max_body_bytes: int = Field(8000000, ge=1000)
    """largest request that is read; without a key, a megabyte at most"""

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
    return read_settings(Settings)


def read_settings(kind: type[SomeSettings]) -> SomeSettings:
    """Return settings of a kind as the environment and `.env` have them now.

    Raises
    ------
    InputError
        If a variable has a value that cannot be used, or `.env` cannot be read.
    """
    try:
        _check_lines(project_root() / ".env")
        return kind()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{project_root() / '.env'} is not UTF-8: {error}", hint="Save it as UTF-8."
        ) from error
    except OSError as error:
        raise InputError(
            f"{project_root() / '.env'} cannot be read: {error.strerror}",
            hint="Check its permissions.",
        ) from error
    except ValidationError as error:
        raise InputError(
            explain(error), hint="Correct it in the environment or in .env, or unset it."
        ) from error


def _check_lines(file: Path) -> None:
    """Refuse a file with a line that sets nothing: python-dotenv would leave its setting out."""
    if not file.is_file():
        return
    with file.open(encoding="utf-8") as lines:
        for one in parse_stream(lines):
            if one.error:
                text = one.original.string
                begin = one.original.line + text[: len(text) - len(text.lstrip())].count("\n")
                raise InputError(
                    f"{file}, line {begin}: this is not NAME=value",
                    hint="Correct it, close its quotation marks, or put a # before it.",
                )
