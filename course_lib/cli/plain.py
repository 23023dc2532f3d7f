"""Searching the index, without typer: a question goes in, the nearest chunks are printed.

`course search` costs less than a second of processor time from a standing start. typer, and
pydantic behind it, would be a third of that, so the usual call is read here and carried out at
once; `course_lib.cli.search` declares the same command to typer, for its help and for wrong calls.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

from course_lib.errors import InputError
from course_lib.settings import settings

if TYPE_CHECKING:
    import psycopg

    from course_lib.records import Mode, SearchResult
    from course_lib.retriever.versions import Found


BOLD, DIM = 1, 2
MOST_NAMES = 20
"""Repositories that an error names, at most."""

LEGENDS = {
    "hybrid": "Ordered by score: 1/(60 + place) by meaning and by words, added up.",
    "maxsim": "Ordered by score, in which the search and a comparison word by word come together.",
}
"""What the results are ordered by, where it is not the similarity."""


def ask(
    question: str,
    *,
    top_k: int | None = None,
    threshold: float = 0.0,
    partition: list[str] | None = None,
    repo: str | None = None,
    branch: str | None = None,
    kind: str | None = None,
    namespace: str | None = None,
    mode: Mode = "hybrid",
    rerank: Literal["maxsim"] | None = None,
    as_json: bool = False,
) -> None:
    """Search the index and print what was found; the options are those of `course search`.

    Raises
    ------
    InputError
        If the question is empty, or there is no index, or nothing of that repository in it.
    """
    if not question.strip():
        raise InputError("the question is empty", hint='Example: course search "what is drift?"')
    # OpenBLAS starts a thread for each processor, and each waits for work by spinning for 30 ms.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from course_lib.embedder import EmbeddingClient
    from course_lib.records import Query
    from course_lib.retriever import retrieve
    from course_lib.retriever.versions import find_versions
    from course_lib.store import connect
    from course_lib.store.models import check_model
    from course_lib.store.schema import stored_dimension

    with connect(autocommit=True) as conn:
        if stored_dimension(conn) is None:
            raise InputError(
                "there is no index yet", hint="Make one first: course ingest data/documents"
            )
        # One question is too short for several threads to share; what is reranked is not.
        embedder = EmbeddingClient(threads=settings().threads or (None if rerank else 1))
        tenant = settings().tenant
        check_model(conn, embedder.model_name, embedder.dimension, tenant=tenant, repo=repo)
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
            tenant=tenant,
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
        listed = [{**asdict(one.result), "also_in": list(one.also_in)} for one in found]
        _print(json.dumps(listed, ensure_ascii=False, indent=2))
    else:
        _print_results(found, question, LEGENDS.get(rerank or mode, ""))


def ask_at_once(words: list[str]) -> bool:
    """Carry out a call of `course search`; do nothing and return False where typer has to explain.

    Parameters
    ----------
    words
        The command line behind ``course search``.
    """
    options = _options(words)
    if options is None:
        return False
    ask(**options)
    return True


NAMES = {
    **{"--top-k": "top_k", "-k": "top_k", "--threshold": "threshold", "-t": "threshold"},
    **{"--partition": "partition", "-p": "partition", "--repo": "repo", "-r": "repo"},
    **{"--branch": "branch", "--kind": "kind", "--namespace": "namespace", "-n": "namespace"},
    **{"--mode": "mode", "--rerank": "rerank"},
}
"""Options with a value, and what `ask` calls them."""

CHOICES = {"mode": ("hybrid", "dense"), "rerank": ("maxsim",)}


def _options(words: list[str]) -> dict[str, Any] | None:
    """Return what `ask` takes, or None for a call that is wrong or written in an unusual way."""
    found: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--json":
            found["as_json"] = True
        elif word in NAMES or (equals and name.startswith("--") and name in NAMES):
            value = value if equals else next(rest, "-")
            if value.startswith("-"):  # a negative threshold, or something is missing
                return None
            if NAMES[name] == "partition":
                found.setdefault("partition", []).append(value)
            else:
                found[NAMES[name]] = value
        elif word.startswith("-") or "question" in found:
            return None
        else:
            found["question"] = word
    try:
        if "top_k" in found:
            found["top_k"] = int(found["top_k"].encode("ascii"))  # no other digits, as typer
        if "threshold" in found:
            found["threshold"] = float(found["threshold"])
    except ValueError:
        return None
    if any(found.get(name, choices[0]) not in choices for name, choices in CHOICES.items()):
        return None
    is_right = found.get("top_k", 1) >= 1 and -1 <= found.get("threshold", 0) <= 1
    return found if is_right and "question" in found else None


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
    import shutil
    import textwrap

    from course_lib.retriever.excerpts import excerpt
    from course_lib.retriever.versions import named

    if not found:
        _print("nothing found: lower --threshold, or take away a filter")
        return
    width = min(shutil.get_terminal_size().columns, 100)
    for place, one in enumerate(found, 1):
        result = one.result
        lines = result.metadata.get("lineStart"), result.metadata.get("lineEnd")
        where = (
            f"{result.document_name}:{lines[0]}-{lines[1]}" if lines[0] else result.document_name
        )
        similarity = f"similarity {result.similarity_score:.3f}"
        numbers = f"score {result.score:.4f}, {similarity}" if legend else similarity
        _print(f"{_styled(f'{place}. {where}', BOLD)}  {result.name}  {_styled(numbers, DIM)}")
        text = excerpt(result, question, 300)
        _print(textwrap.indent(textwrap.fill(text, width - 3), "   "))
        if one.also_in:
            also = f"in {named([result.branch])}, and the same in {named(one.also_in)}"
            _print(textwrap.indent(textwrap.fill(also, width - 3), "   "))
        if (result.citation_url or "").startswith(("http://", "https://")):
            _print(f"   {_styled(str(result.citation_url), DIM)}")
        _print("")
    if legend:
        _print(_styled(legend, DIM))


def _styled(text: str, style: int) -> str:
    # Older consoles of Windows would show the codes themselves.
    if sys.platform == "win32" or not sys.stdout.isatty():
        return text
    return f"\x1b[{style}m{text}\x1b[0m"


def _print(text: str) -> None:
    # Flushed, so that a reader who has gone away is noticed here and not when Python ends.
    print(text, flush=True)
