"""The command that asks the index a question."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.cli.data import Json, connect
from course_lib.settings import settings

if TYPE_CHECKING:
    from course_lib.records import SearchResult


def add_to(app: typer.Typer) -> None:
    """Add this command to the front door."""
    app.command(rich_help_panel="Your documents")(search)


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
