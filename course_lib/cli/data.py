"""Commands that move data: load, embed, ingest, search."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.settings import settings

if TYPE_CHECKING:
    import psycopg

    from course_lib.records import SearchResult

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
    typer.Option(help="Characters in a chunk, at most.", show_default="RAG_CHUNK_SIZE, 512"),
]
ChunkOverlap = Annotated[
    int | None,
    typer.Option(help="Characters that neighbours share.", show_default="RAG_CHUNK_OVERLAP, 64"),
]
BatchSize = Annotated[int, typer.Option(min=1, help="Chunks that go through the model at once.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for another program.")]


def add_to(app: typer.Typer) -> None:
    """Add these commands to the front door."""
    panel = "Your documents"
    app.command(rich_help_panel=panel)(ingest)
    app.command(rich_help_panel=panel)(search)
    app.command(rich_help_panel=panel)(load)
    app.command(rich_help_panel=panel)(embed)


def load(
    directory: Annotated[Path, typer.Argument(help="Directory of documents and code.")],
    output_dir: Annotated[Path, typer.Option(help="Where the JSON Lines files go.")],
    repo: Repo = None,
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
) -> None:
    """Read documents and split them into chunks: the first half of `ingest`.

    Writes documents.jsonl and chunks.jsonl (parsed-chunk-v1, one record a line), to be looked at
    and then given to `course embed`.
    """
    from course_lib.indexing import load_directory

    report = load_directory(
        directory,
        output_dir,
        repo=repo or _folder_name(directory),
        tenant=settings().tenant,
        chunk_size=settings().chunk_size if chunk_size is None else chunk_size,
        chunk_overlap=settings().chunk_overlap if chunk_overlap is None else chunk_overlap,
        say=say,
    )
    typer.echo(f"{report.documents} documents, {report.chunks} chunks → {output_dir}")


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
            embedder=EmbeddingClient(),
            partition=partition,
            batch_size=batch_size,
            progress=True,
            say=say,
        )
    print_report(report.to_json(), as_json)


def ingest(
    path: Annotated[Path, typer.Argument(help="Directory of documents and code, or one file.")],
    partition: Partition = "documentation",
    repo: Repo = None,
    branch: Annotated[str, typer.Option(help="Version of the corpus.")] = "",
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Bring the index up to date with a directory: read, split, encode, write.

    What has not changed costs nothing; what is gone from the directory leaves the index. An ingest
    that was stopped is completed by running it again.
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.indexing import ingest as run_ingest

    with connect() as conn:
        report = run_ingest(
            path,
            conn=conn,
            embedder=EmbeddingClient(),
            partition=partition,
            repo=repo or _folder_name(path),
            branch=branch,
            tenant=settings().tenant,
            chunk_size=settings().chunk_size if chunk_size is None else chunk_size,
            chunk_overlap=settings().chunk_overlap if chunk_overlap is None else chunk_overlap,
            batch_size=batch_size,
            progress=True,
            say=say,
        )
    print_report(report.to_json(), as_json)


def search(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", "-k", min=1, help="Results.", show_default="RAG_TOP_K, 5"),
    ] = None,
    threshold: Annotated[
        float, typer.Option("--threshold", "-t", min=-1, max=1, help="Smallest cosine similarity.")
    ] = 0.0,
    partition: Annotated[
        list[str] | None,
        typer.Option("--partition", "-p", help="Only this partition; may be given again."),
    ] = None,
    repo: Annotated[str | None, typer.Option("--repo", "-r", help="Only this corpus.")] = None,
    branch: Annotated[str | None, typer.Option("--branch", help="Only this version.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Only chunks of this kind.")] = None,
    as_json: Json = False,
) -> None:
    """Ask the index a question.

    Example: course search "how do I undo a release?" --top-k 3
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.errors import InputError
    from course_lib.retriever import search as run_search
    from course_lib.store.schema import stored_dimension

    if not question.strip():
        raise InputError("the question is empty", hint='Example: course search "what is drift?"')
    with connect() as conn:
        if stored_dimension(conn) is None:
            raise InputError(
                "there is no index yet", hint="Make one first: course ingest data/documents"
            )
        results = run_search(
            conn,
            EmbeddingClient().encode([question])[0],
            top_k=top_k or settings().top_k,
            threshold=threshold,
            partitions=partition,
            repo=repo,
            branch=branch,
            kind=kind,
            tenant=settings().tenant,
        )
    if as_json:
        typer.echo(json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=2))
    else:
        _print_results(results)


def _folder_name(path: Path) -> str:
    """Return the name of a folder, or of the one that a file lies in: two folders, two corpora."""
    place = path.resolve()
    return (place.parent if place.is_file() else place).name or "documents"


def connect() -> psycopg.Connection:
    """Connect to the database that commands work in."""
    from course_lib.store import connect as open_database
    from course_lib.store import default_url

    # Every block of the library opens its own transactions.
    return open_database(default_url(), autocommit=True)


def say(sentence: str) -> None:
    """Tell the person, where it does not mix with what another program reads."""
    typer.echo(sentence, err=True)


def print_report(report: str, as_json: bool) -> None:
    """Print the report of an ingest."""
    if as_json:
        typer.echo(report)
        return
    numbers = json.loads(report)
    typer.echo(
        "{documents} documents, {chunks} chunks: {inserted} inserted, {updated} updated, "
        "{unchanged} unchanged, {deleted} deleted in {seconds:.1f} s".format(**numbers)
    )


def _print_results(results: list[SearchResult]) -> None:
    import shutil
    import textwrap

    if not results:
        typer.echo("nothing found: lower --threshold, or take away a filter")
    width = min(shutil.get_terminal_size().columns, 100)
    for place, result in enumerate(results, 1):
        lines = result.metadata.get("lineStart"), result.metadata.get("lineEnd")
        where = (
            f"{result.document_name}:{lines[0]}-{lines[1]}" if lines[0] else result.document_name
        )
        similarity = typer.style(f"similarity {result.similarity_score:.3f}", dim=True)
        typer.echo(f"{typer.style(f'{place}. {where}', bold=True)}  {result.name}  {similarity}")
        text = textwrap.shorten(" ".join(result.content.split()), 300, placeholder=" …")
        typer.echo(textwrap.indent(textwrap.fill(text, width - 3), "   ") + "\n")
