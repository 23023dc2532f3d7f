"""The vector stores that people install, each with a table of its own with the same rows.

A store makes its table and its index through its own interface, and is asked through it; only the
rows are copied by SQL, since adding 100,000 of them one by one would take many minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import LiteralString, Self

import psycopg

from tests.bench.peers import VECTOR_STORES, Peer
from tests.bench.scale.corpus import Question

_FILL: dict[str, LiteralString] = {
    "langchain": """
INSERT INTO langchain_chunks (langchain_id, content, embedding, partition, repo, kind, words,
                              langchain_metadata)
SELECT id, content, embedding, partition, repo_slug, kind,
       to_tsvector('pg_catalog.english', content),
       metadata || jsonb_build_object('document_name', document_name, 'chunk_index', chunk_index)
FROM document_chunks
""",
    "llama": """
INSERT INTO data_llama_chunks (text, metadata_, node_id, embedding)
SELECT content, metadata || jsonb_build_object(
           'document_name', document_name, 'chunk_index', chunk_index, 'partition', partition,
           'repo', repo_slug, 'kind', kind, 'ref_doc_id', document_name), id::text, embedding
FROM document_chunks
""",
}
_FINISH: dict[str, tuple[LiteralString, ...]] = {
    # What its documentation says to add for hybrid search and for filters.
    "langchain": (
        "CREATE INDEX ON langchain_chunks USING gin (words)",
        "CREATE INDEX ON langchain_chunks (kind)",
        "CREATE INDEX ON langchain_chunks (repo)",
        "CREATE INDEX ON langchain_chunks (partition)",
        "VACUUM ANALYZE langchain_chunks",
    ),
    "llama": ("VACUUM ANALYZE data_llama_chunks",),
}
M, EF_CONSTRUCTION, EF_SEARCH = 16, 64, 100


class Store:
    """A peer's vector store over the rows of `document_chunks`."""

    def __init__(self, peer: str, url: str, dimension: int) -> None:
        self._peer, self._process = peer, Peer("search.py", VECTOR_STORES)
        opened = self._process.ask(url=url, dimension=dimension, peer=peer)
        self.name: str = opened["name"]

    def fill(self, conn: psycopg.Connection) -> None:
        """Copy the rows, and let the store build its index, of the same parameters as ours."""
        conn.execute(_FILL[self._peer])
        self._process.ask(
            index={"m": M, "ef_construction": EF_CONSTRUCTION, "ef_search": EF_SEARCH}
        )
        for statement in _FINISH[self._peer]:
            conn.execute(statement)

    def widen(self, ef_search: int) -> None:
        """Let it walk its graph with so many candidates from now on."""
        self._process.ask(ef_search=ef_search)

    def learn(self, questions: Sequence[Question]) -> None:
        """Tell the store the questions that it will be asked by their numbers."""
        self._process.ask(
            questions=[
                {"vector": q.vector.tolist(), "words": q.words, "filters": q.filters}
                for q in questions
            ]
        )

    def ask(self, at: int, *, hybrid: bool, top_k: int = 10) -> tuple[float, list[str]]:
        """Return the seconds of a search within the peer's process, and the ids it found."""
        answer = self._process.ask(at=at, hybrid=hybrid, top_k=top_k)
        return answer["seconds"], answer["found"]

    def words_found(self, conn: psycopg.Connection, questions: Sequence[Question]) -> int | None:
        """Return for how many questions its word search finds any row; None where any word does.

        LangChain's asks for rows that hold every word of the question, llama-index's for any.
        """
        if self._peer != "langchain":
            return None
        found = conn.execute(
            "SELECT count(*) FROM unnest(%s::text[]) AS asked (words) WHERE EXISTS (SELECT FROM "
            "langchain_chunks AS row WHERE row.words @@ "
            "plainto_tsquery('pg_catalog.english', asked.words))",
            [[question.words for question in questions]],
        ).fetchone()
        assert found is not None
        return int(found[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.__exit__(kind, error, trace)
