"""Commands that move data: load, embed, ingest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from course_lib.cli.printing import counted, say, show, show_json
from course_lib.errors import DatabaseError, InputError
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE, program, settings

if TYPE_CHECKING:
    import psycopg

    from course_lib.embedder import EmbeddingClient
    from course_lib.indexing import IngestOptions
    from course_lib.records import Scope


Partition = Annotated[
    str,
    typer.Option(
        "--partition",
        "-p",
        help="documentation, issues, code_manifests, code_pipelines, code_notebooks or your own.",
    ),
]
Repo = Annotated[
    str | None,
    typer.Option("--repo", "-r", help="Name of the corpus.", show_default="the folder's name"),
]
ChunkSize = Annotated[
    int | None,
    typer.Option(
        help="Characters in a chunk of a document or of code, at most; manifests have a size of "
        "their own, 700.",
        show_default=f"RAG_CHUNK_SIZE, {CHUNK_SIZE}",
    ),
]
ChunkOverlap = Annotated[
    int | None,
    typer.Option(
        help="Characters that neighbouring chunks of a document share, or of a long piece of code.",
        show_default=f"RAG_CHUNK_OVERLAP, {CHUNK_OVERLAP}",
    ),
]
BatchSize = Annotated[int, typer.Option(min=1, help="Chunks that go through the model at once.")]
Mode = Annotated[
    Literal["hybrid", "dense"], typer.Option(help="By meaning and by words, or by meaning alone.")
]
Question = Annotated[str, typer.Argument(help="What you want to know.")]
OneRepo = Annotated[str | None, typer.Option("--repo", "-r", help="Only this corpus.")]
OneBranch = Annotated[str | None, typer.Option("--branch", help="Only this version.")]
MOST_ENDINGS = 5
"""Endings of files of other formats that are counted one by one."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON for another program.")]


def load(
    directory: Annotated[Path, typer.Argument(help="Directory of documents and code.")],
    output_dir: Annotated[Path, typer.Option(help="Where the JSON Lines files go.")],
    repo: Repo = None,
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
) -> None:
    """Read documents and split them into chunks: the first half of `ingest`.

    Writes documents.jsonl, whose first line says where the documents belong, and chunks.jsonl
    (parsed-chunk-v1, one record a line), to be looked at and then given to `course embed`.
    """
    from course_lib.indexing import load_directory

    report = load_directory(
        directory,
        output_dir,
        scope_of(repo or _folder_name(directory)),
        ingest_options(chunk_size, chunk_overlap),
    )
    show(
        f"{counted(report['documents'], 'document')}, {counted(report['chunks'], 'chunk')} "
        f"→ {output_dir}"
    )


def embed(
    directory: Annotated[Path, typer.Argument(help="Directory that `course load` wrote.")],
    partition: Partition = "documentation",
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Encode loaded chunks and write them to the database: the second half of `ingest`."""
    from course_lib.embedder import EmbeddingClient
    from course_lib.indexing import embed_directory

    with connect() as conn:
        report = embed_directory(
            directory,
            conn=conn,
            embedder=EmbeddingClient(precision=settings().embed_precision),
            partition=partition,
            options=ingest_options(batch_size=batch_size),
        )
    print_report(report.to_json(), as_json)


def path_that_is_given(text: str) -> Path:
    """Return a path; an empty one, which a variable that is not set leaves, is not a folder."""
    if not text.strip():
        raise typer.BadParameter("it is empty; give . for the folder that you are in")
    return Path(text)


def ingest(
    path: Annotated[
        Path,
        typer.Argument(
            help="Directory of documents and code, or one file.",
            parser=path_that_is_given,
        ),
    ],
    partition: Partition = "documentation",
    repo: Repo = None,
    branch: Annotated[str, typer.Option(help="Version of the corpus.")] = "",
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
    batch_size: BatchSize = 32,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Name the files of other formats as well.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring the index up to date with a directory: read, split, encode, write.

    What has not changed costs nothing; what is gone from the directory leaves the index. An ingest
    that was stopped is completed by running it again.
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.indexing import ingest as run_ingest

    scope = scope_of(repo or _folder_name(path), branch=branch, partition=partition)
    options = ingest_options(chunk_size, chunk_overlap, batch_size)
    with connect() as conn:
        report = run_ingest(
            path,
            scope,
            options,
            conn=conn,
            embedder=EmbeddingClient(precision=settings().embed_precision),
        )
    others = list(_of_other_formats(path))
    for name in others if verbose else ():
        say(f"left out: {name} is of no registered format")
    print_report(report.to_json(), as_json, others)


def _of_other_formats(path: Path) -> Iterable[str]:
    """Yield the names of a directory's files that no parser reads."""
    from course_lib.loader import default_registry

    formats = tuple(default_registry().extensions())
    for file in sorted(path.rglob("*")) if path.is_dir() else ():
        name = file.relative_to(path)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if not is_hidden and not file.name.lower().endswith(formats) and file.is_file():
            yield name.as_posix()


def _folder_name(path: Path) -> str:
    """Return the name of a folder, or of the one that a file is in: two folders, two corpora."""
    place = path.resolve()
    return (place.parent if place.is_file() else place).name or "documents"


def scope_of(repo: str, *, tenant: str | None = None, **places: str | None) -> Scope:
    """Return where documents belong: to the tenant of the settings, unless another is said.

    Parameters
    ----------
    places
        `branch`, `partition` and `visibility`, as in `Scope`.

    Raises
    ------
    InputError
        If one of the names cannot be used.
    """
    from pydantic import ValidationError

    from course_lib.records import Scope, explain

    try:
        return Scope.model_validate(
            {"tenant": settings().tenant if tenant is None else tenant, "repo": repo, **places}
        )
    except ValidationError as error:
        raise InputError(
            explain(error),
            hint="Nothing was changed. A tenant is lowercase letters and digits, with dashes "
            "between; a repository has a name.",
        ) from error


def ingest_options(
    chunk_size: int | None = None, chunk_overlap: int | None = None, batch_size: int = 32
) -> IngestOptions:
    """Return the options of a command, with the settings' sizes where none are given.

    Raises
    ------
    InputError
        If a size is out of its range.
    """
    from course_lib.indexing import IngestOptions

    return IngestOptions(
        chunk_size=settings().chunk_size if chunk_size is None else chunk_size,
        chunk_overlap=settings().chunk_overlap if chunk_overlap is None else chunk_overlap,
        batch_size=batch_size,
        progress=True,
        say=say,
    )


@contextmanager
def connect() -> Iterator[psycopg.Connection]:
    """Connect to the database that commands work in.

    Raises
    ------
    DatabaseError
        If it cannot be used, or goes away in the middle.
    """
    import psycopg

    from course_lib.store import connect as open_database
    from course_lib.store import default_url
    from course_lib.store.urls import hide_password, without_password

    url = default_url()
    try:
        # Every block of the library opens its own transactions.
        with open_database(url, autocommit=True) as conn:
            yield conn
    except psycopg.OperationalError as error:
        raise DatabaseError(
            f"{hide_password(url)} broke off the work: {without_password(error, url)}",
            hint="See that its server runs and has room, then run the same command again.",
        ) from error


def check_index(
    conn: psycopg.Connection, embedder: EmbeddingClient, repo: str | None = None
) -> None:
    """Refuse to search where nothing was ingested yet, and what another model has encoded.

    Raises
    ------
    InputError, SchemaMismatchError
        If it is so.
    """
    from course_lib.store.models import check_model
    from course_lib.store.schema import stored_dimension

    if stored_dimension(conn) is None:
        raise InputError(
            "there is no index yet", hint=f"Make one first: {program()} ingest data/documents"
        )
    dimension, tenant = embedder.dimension, settings().tenant
    check_model(conn, embedder.model_name, dimension, tenant=tenant, repo=repo)


def print_report(report: str, as_json: bool, others: Iterable[str] = ()) -> None:
    """Print the report of an ingest, and how many files of other formats it left out."""
    if as_json:
        show_json(report)
        return
    numbers = json.loads(report)
    show(f"{ingested(numbers)} in {numbers['seconds']:.1f} s")
    reasons = Counter(_kind_of(one["reason"]) for one in numbers.get("skipped", ()))
    endings = Counter(Path(name).suffix.lower() or "no ending" for name in others)
    parts = [f"{count} {reason}" for reason, count in reasons.most_common()]
    if endings:
        listed = ", ".join(
            f"{count} {ending}" for ending, count in endings.most_common(MOST_ENDINGS)
        )
        more = ", …" if len(endings) > MOST_ENDINGS else ""
        parts.append(f"{endings.total()} of no registered format ({listed}{more})")
    if parts:
        files = counted(reasons.total() + endings.total(), "file")
        show(f"left out: {files}: {'; '.join(parts)}")


def ingested(numbers: Mapping[str, Any]) -> str:
    """Return what an ingest read and did, in words."""
    read = f"{counted(numbers['documents'], 'document')}, {counted(numbers['chunks'], 'chunk')}"
    done = "{inserted} inserted, {updated} updated, {unchanged} unchanged, {deleted} deleted"
    return f"{read}: {done.format(**numbers)}"


def _kind_of(reason: str) -> str:
    """Return a reason without what differs from file to file.

    Examples
    --------
    >>> _kind_of("is not UTF-8: byte 0x89 at offset 0"), _kind_of("has a NUL byte at offset 4")
    ('is not UTF-8', 'has a NUL byte')
    """
    return reason.partition(":")[0].partition(" at offset ")[0]
