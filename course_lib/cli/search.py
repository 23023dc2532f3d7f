"""The command that asks the index a question, declared to typer; `plain` carries it out."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from course_lib.cli.data import Json
from course_lib.cli.plain import ask


def add_to(app: typer.Typer) -> None:
    """Add this command to the front door."""
    app.command(rich_help_panel="Your documents")(search)


def search(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", "-k", min=1, help="Results.", show_default="RAG_TOP_K, 6"),
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
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Only this Kubernetes namespace.")
    ] = None,
    mode: Annotated[
        Literal["hybrid", "dense"],
        typer.Option(help="By meaning and by words, or by meaning alone."),
    ] = "hybrid",
    rerank: Annotated[
        Literal["maxsim"] | None,
        typer.Option(help="Compare the best results word by word: slower, and better ordered."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask the index a question.

    Example: course search "how do I undo a release?" --top-k 3
    """
    ask(
        question,
        top_k=top_k,
        threshold=threshold,
        partition=partition,
        repo=repo,
        branch=branch,
        kind=kind,
        namespace=namespace,
        mode=mode,
        rerank=rerank,
        as_json=as_json,
    )
