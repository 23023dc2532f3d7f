"""The command that asks the index a question."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.addresses import is_link
from course_lib.cli.index import check_index, check_question, connect
from course_lib.cli.options import (
    Json,
    Mode,
    OneBranch,
    OneKind,
    OneNamespace,
    OneRepo,
    Question,
    TopK,
)
from course_lib.cli.printing import show_report, styled
from course_lib.errors import InputError
from course_lib.records import Query
from course_lib.settings import settings

if TYPE_CHECKING:
    import psycopg

    from course_lib.retriever.versions import Found


MOST_NAMES = 20
"""Repositories that an error names, at most."""

LEGENDS = {
    "dense": "",
    "hybrid": "Ordered by score: 1/(60 + place) by meaning and by words, added up.",
}
"""What the results are ordered by, where it is not the similarity."""


def search(
    question: Question,
    *,
    top_k: TopK = None,
    threshold: Annotated[float, typer.Option(min=-1, max=1)] = 0.0,
    partition: list[str] | None = None,
    repo: OneRepo = None,
    branch: OneBranch = None,
    kind: OneKind = None,
    namespace: OneNamespace = None,
    mode: Mode = "hybrid",
    rerank: Annotated[str | None, typer.Option(metavar="MODEL")] = None,
    as_json: Json = False,
) -> None:
    """Ask the index a question.

    Example: course search "how do I undo a release?" --top-k 3

    Parameters
    ----------
    top_k
        Results.
    threshold
        Smallest cosine similarity.
    partition
        Only this partition; may be given again.
    rerank
        Have a CrossEncoder (a name or a path) order the best results again: slower.
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.retriever.question import find

    check_question(question)
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
            tenant=settings().tenant,
            rerank=rerank,
            repo=repo,
            branch=branch,
            kind=kind,
            namespace=namespace,
        )
        found = find(conn, embedder, query)
        if not found and repo is not None:
            _check_repo(conn, repo)
    listed = [asdict(one.result) | {"also_in": list(one.also_in)} for one in found]
    for shown in listed:
        del shown["tenant_id"]  # they are all the caller's own
    legend = f"Ordered by {rerank}." if rerank else LEGENDS[mode]
    lines = _lines(found, question, legend)
    show_report(listed, lines, as_json=as_json)


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


def _lines(found: list[Found], question: str, legend: str) -> Iterator[str | tuple[str, ...]]:
    from course_lib.answers.excerpts import excerpt
    from course_lib.retriever.versions import named

    if not found:
        yield "nothing found: lower --threshold, or take away a filter"
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
        yield title, result.name, styled(numbers, dim=True)
        text = excerpt(result, question, 300)
        yield textwrap.indent(textwrap.fill(text, width - 3), "   ")
        if one.also_in:
            also = f"in {named([result.branch])}, and the same in {named(one.also_in)}"
            yield textwrap.indent(textwrap.fill(also, width - 3), "   ")
        if is_link(result.citation_url):
            yield styled(f"   {result.citation_url}", dim=True)
        yield ""
    if legend:
        yield styled(legend, dim=True)
