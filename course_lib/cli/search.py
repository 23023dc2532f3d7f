"""The command that asks the index a question."""

from __future__ import annotations

import json
import shutil
import textwrap
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from course_lib.cli.data import Json, Mode, OneBranch, OneRepo, Question, check_index, connect
from course_lib.cli.printing import show, show_json, show_styled, styled
from course_lib.errors import InputError
from course_lib.settings import settings

if TYPE_CHECKING:
    import psycopg

    from course_lib.records import SearchResult
    from course_lib.retriever.versions import Found


MOST_NAMES = 20
"""Repositories that an error names, at most."""

LEGENDS = {
    "hybrid": "Ordered by score: 1/(60 + place) by meaning and by words, added up.",
    "maxsim": "Ordered by score, in which the search and a comparison word by word come together.",
}
"""What the results are ordered by, where it is not the similarity."""


def search(
    question: Question,
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
    repo: OneRepo = None,
    branch: OneBranch = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Only chunks of this kind.")] = None,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Only this Kubernetes namespace.")
    ] = None,
    mode: Mode = "hybrid",
    rerank: Annotated[
        Literal["maxsim"] | None,
        typer.Option(help="Compare the best results word by word: slower, and better ordered."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask the index a question.

    Example: course search "how do I undo a release?" --top-k 3
    """
    if not question.strip():
        raise InputError("the question is empty", hint='Example: course search "what is drift?"')
    from course_lib.embedder import EmbeddingClient
    from course_lib.records import Query
    from course_lib.retriever import retrieve
    from course_lib.retriever.versions import find_versions

    with connect() as conn:
        # One question is too short for several threads to share; what is reranked is not.
        embedder = EmbeddingClient(threads=settings().threads or (None if rerank else 1))
        check_index(conn, embedder, repo)
        query = Query(
            question,
            top_k=top_k or settings().top_k,
            threshold=threshold,
            mode=mode,
            partitions=partition,
            kind=kind,
            repo=repo,
            branch=branch,
            namespace=namespace,
            tenant=settings().tenant,
            rerank=rerank,
        )

        def look(count: int) -> list[SearchResult]:
            # More are read only where copies in other branches take the places of others.
            read = max(count, query.maxsim_k) if count > query.top_k else query.maxsim_k
            return retrieve(conn, embedder, replace(query, top_k=count, maxsim_k=read))

        found = find_versions(look, query.top_k)
        if not found and repo is not None:
            _check_repo(conn, repo)
    if as_json:
        listed = [asdict(one.result) | {"also_in": list(one.also_in)} for one in found]
        for shown in listed:
            del shown["tenant_id"]  # they are all the caller's own
        show_json(json.dumps(listed, ensure_ascii=False, indent=2))
    else:
        _print_results(found, question, LEGENDS.get(rerank or mode, ""))


def _check_repo(conn: psycopg.Connection, repo: str) -> None:
    rows = conn.execute(
        "SELECT DISTINCT repo_slug FROM document_chunks WHERE tenant_id = %s ORDER BY repo_slug",
        [settings().tenant],
    ).fetchall()
    names = [name for (name,) in rows]
    if repo not in names:
        listed = ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "")
        raise InputError(
            f"there is no repo {repo!r} in the index",
            hint=f"In it: {listed}" if names else "Make an index first: course ingest DIRECTORY",
        )


def _print_results(found: list[Found], question: str, legend: str) -> None:
    from course_lib.answers.excerpts import excerpt
    from course_lib.retriever.versions import named

    if not found:
        show("nothing found: lower --threshold, or take away a filter")
        return
    width = max(23, min(shutil.get_terminal_size().columns, 100))
    for place, one in enumerate(found, 1):
        result = one.result
        lines = result.metadata.get("lineStart"), result.metadata.get("lineEnd")
        where = (
            f"{result.document_name}:{lines[0]}-{lines[1]}" if lines[0] else result.document_name
        )
        similarity = f"similarity {result.similarity_score:.3f}"
        numbers = f"score {result.score:.4f}, {similarity}" if legend else similarity
        title = styled(f"{place}. {where}", bold=True)
        show_styled(title, styled(result.name), styled(numbers, dim=True))
        text = excerpt(result, question, 300)
        show(textwrap.indent(textwrap.fill(text, width - 3), "   "))
        if one.also_in:
            also = f"in {named([result.branch])}, and the same in {named(one.also_in)}"
            show(textwrap.indent(textwrap.fill(also, width - 3), "   "))
        if (result.citation_url or "").startswith(("http://", "https://")):
            show_styled(styled(f"   {result.citation_url}", dim=True))
        show("")
    if legend:
        show_styled(styled(legend, dim=True))
