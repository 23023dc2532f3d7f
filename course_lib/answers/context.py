"""Context: a question goes in, the passages that an answer is based on come out, numbered.

Files that the question names come first. Some room is kept for what describes the repository as a
whole. Search fills the rest, without copies, nor those in other branches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg

from course_lib.answers.hints import file_manifest, files_named
from course_lib.answers.passages import STRUCTURE, Context, FoundBy, Passage
from course_lib.answers.selection import by_place, maximal_marginal_relevance, without_copies
from course_lib.errors import InputError
from course_lib.records import RERANK_K, Query, SearchResult
from course_lib.retriever.execution import search_errors_explained
from course_lib.retriever.question import look_up
from course_lib.retriever.rerank import rerank

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

CANDIDATES = 20
"""Results that passages of an answer are chosen from, where no reranker reads them."""

MOST_FILES = 4
"""Files that all hints together may mean; of more, those that a search finds first."""


@dataclass(frozen=True)
class ContextOptions:
    """How a context is put together from what the index says.

    Attributes
    ----------
    hint_max_chunks
        Passages of each file that is named, at most; 0 looks for no names.
    structure_max_chunks
        Passages of STRUCTURE.md that have their place among the `top_k`; 0 for none.
    rerank
        The CrossEncoder that orders what was found; None leaves it to the query.
    rerank_k
        How many results of the search are candidates; None is what a reranker reads by default, or
        `CANDIDATES` without one, or `top_k` if that is larger.
    diversity
        What it costs a passage to be like others; see `maximal_marginal_relevance`. With 0, the
        answer was most often among the passages of the course's questions; see infra/site/using.md.
    exclude
        Names of documents of which nothing is to come back.

    Examples
    --------
    >>> ContextOptions().hint_max_chunks
    8
    """

    hint_max_chunks: int = 8
    structure_max_chunks: int = 1
    rerank: str | None = None
    rerank_k: int | None = None
    diversity: float = 0
    exclude: Collection[str] = ()


DEFAULTS = ContextOptions()


def retrieve_context(
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    query: Query,
    options: ContextOptions = DEFAULTS,
) -> Context:
    """Return the passages for a question.

    Parameters
    ----------
    conn
        A connection from `connect`.
    embedder
        The model that filled the index.
    query
        The question, in which files may be named, with or without their paths; how many passages,
        and which rows count. Files that are named may have more passages, and pass any threshold.
    options
        How the passages are chosen and ordered.

    Returns
    -------
    Context
        Named files first, then STRUCTURE.md, then what was found; with a reranker in its order.

    Raises
    ------
    InputError
        If there is no question, or it is empty.
    ModelError
        If the reranker cannot be loaded.
    DatabaseError
        If there is no index, or the database went away.

    Examples
    --------
    >>> query = Query("What does executor_main.py do?", top_k=6)
    >>> retrieve_context(conn, embedder, query).hints  # doctest: +SKIP
    ('executor_main.py',)
    """
    question = query.question
    if question is None or not question.strip():
        raise InputError("the question is empty", hint='Example: course ask "what is drift?"')
    looking = _Looking(conn, embedder.encode_question(question), query, options.exclude)
    reranker = options.rerank or query.rerank
    width = options.rerank_k or max(query.top_k, RERANK_K if reranker else CANDIDATES)

    # STRUCTURE.md has something to say to every question, and places of its own.
    found = [one for one in looking.find(2 * width) if one.kind != STRUCTURE][:width]
    named = _names(conn, question, query) if options.hint_max_chunks else {}
    hinted = [
        result
        for path in _paths(named, found, options.exclude)
        for result in looking.find(options.hint_max_chunks, threshold=-1, document=path)
    ]
    structure = looking.find(options.structure_max_chunks, threshold=-1, kind=STRUCTURE)

    first = without_copies([*hinted, *structure])
    others = without_copies(found, first)
    if reranker:
        others = rerank(reranker, question, others, rerank_k=width)
    room = max(0, query.top_k - len(first))
    ordered = [*first, *_diverse(conn, others, first, room, options.diversity)]
    if reranker:
        ordered = rerank(reranker, question, ordered, rerank_k=len(ordered))
    return Context(
        question,
        _numbered(ordered, hinted, structure, looking.also_in),
        hints=tuple(name for name, paths in named.items() if paths),
        unknown_hints=tuple(name for name, paths in named.items() if not paths),
        has_structure=bool(structure),
        reranker=reranker or "",
    )


def _numbered(
    ordered: Sequence[SearchResult],
    hinted: Sequence[SearchResult],
    structure: Sequence[SearchResult],
    also_in: Mapping[str, tuple[str, ...]],
) -> tuple[Passage, ...]:
    """Return the passages in their order, each with its number and where it came from."""
    origins: dict[str, FoundBy] = {one.chunk_id: "structure" for one in structure}
    origins |= {one.chunk_id: "hint" for one in hinted}
    places = enumerate(zip(ordered, by_place(len(ordered)), strict=True), 1)
    return tuple(
        Passage(
            number,
            result,
            origins.get(result.chunk_id, "search"),
            score,
            also_in.get(result.chunk_id, ()),
        )
        for number, (result, score) in places
    )


@dataclass
class _Looking:
    """A question on its way to the index, with the filters that every look has."""

    conn: psycopg.Connection
    vector: np.ndarray[Any, np.dtype[np.float32]]
    query: Query
    exclude: Collection[str]
    excluded_chunks: int = field(init=False)
    also_in: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.excluded_chunks = _count_chunks(self.conn, self.exclude) if self.exclude else 0

    def find(self, count: int, **narrower: Any) -> list[SearchResult]:
        """Return `count` results, none of them of a document that is kept out.

        What several branches hold comes once; `also_in` says by chunk where else it is.
        """
        if not count:
            return []

        # Whatever is kept out may come first.
        wanted = count + self.excluded_chunks
        found = look_up(self.conn, self.vector, replace(self.query, top_k=wanted, **narrower))
        self.also_in |= {one.result.chunk_id: one.also_in for one in found}
        results = [one.result for one in found]
        return [one for one in results if one.document_name not in self.exclude][:count]


def _names(conn: psycopg.Connection, question: str, query: Query) -> dict[str, list[str]]:
    manifest = file_manifest(conn, tenant=query.tenant, repo=query.repo, branch=query.branch)
    return files_named(question, manifest)


def _paths(
    named: Mapping[str, Sequence[str]], found: Sequence[SearchResult], exclude: Collection[str]
) -> list[str]:
    """Return the paths that are meant, few enough to read, in the order of the hints.

    A name such as ``__init__.py`` may mean hundreds: those that the search found go first, and
    then those whose paths are short.
    """
    places = {one.document_name: place for place, one in reversed(list(enumerate(found)))}
    meant: list[str] = []
    for paths in named.values():
        ranked = sorted(
            paths, key=lambda path: (places.get(path, len(found)), path.count("/"), path)
        )
        meant += [path for path in ranked if path not in meant and path not in exclude]
    # One for each hint before a second for any.
    best = [next((path for path in meant if path in paths), None) for paths in named.values()]
    kept = [path for path in dict.fromkeys([*best, *meant]) if path is not None][:MOST_FILES]
    return [path for path in meant if path in kept]


def _diverse(
    conn: psycopg.Connection,
    candidates: Sequence[SearchResult],
    taken: Sequence[SearchResult],
    count: int,
    diversity: float,
) -> list[SearchResult]:
    """Return `count` of the candidates by maximal marginal relevance."""
    if not count or not candidates:
        return []
    vectors = _vectors(conn, [*candidates, *taken])
    order = maximal_marginal_relevance(
        by_place(len(candidates)),
        np.stack([vectors[one.chunk_id] for one in candidates]),
        count,
        diversity=diversity,
        taken=np.stack([vectors[one.chunk_id] for one in taken]) if taken else None,
    )
    return [candidates[place] for place in order]


def _vectors(
    conn: psycopg.Connection, results: Sequence[SearchResult]
) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """Return chunk id → its vector, of length 1; zeros for what has left the index meanwhile."""
    with search_errors_explained():
        rows = conn.execute(
            # Chunks are found by their documents: the ids have no index.
            "SELECT id::text, embedding::vector::real[] FROM document_chunks "
            "WHERE document_name = ANY(%s) AND id = ANY(%s::uuid[])",
            [list({one.document_name for one in results}), [one.chunk_id for one in results]],
        ).fetchall()
    found = {chunk: np.array(vector, dtype=np.float32) for chunk, vector in rows}
    size = len(next(iter(found.values()))) if found else 1
    zeros = np.zeros(size, dtype=np.float32)
    vectors = {}
    for one in results:
        vector = found.get(one.chunk_id, zeros)
        vectors[one.chunk_id] = vector / max(float(np.linalg.norm(vector)), 1e-12)
    return vectors


def _count_chunks(conn: psycopg.Connection, documents: Collection[str]) -> int:
    with search_errors_explained():
        row = conn.execute(
            "SELECT count(*) FROM document_chunks WHERE document_name = ANY(%s)", [list(documents)]
        ).fetchone()
    return int(row[0]) if row else 0
