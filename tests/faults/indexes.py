"""What an index holds: all of it to compare, what of it is half-written, and whether it finds it.

Left out of a comparison are `id`, which is drawn by lot, and `created_at` and `updated_at`, which
say when. Everything else is there, the vectors to their last bit and the words of each chunk.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import psycopg
from psycopg import sql

from course_lib.embedder import EmbeddingClient
from course_lib.loader import Registry
from course_lib.records import Document, Scope
from course_lib.retriever import Query, search
from tests.faults.corpora import WORDS

Rows = dict[str, list[tuple[Any, ...]]]

LEFT_OUT = ("id", "created_at", "updated_at")
KEY = "partition, tenant_id, repo_slug, branch, document_name"
ORDER = {"documents": KEY, "document_chunks": f"{KEY}, chunk_index"}


def all_rows(conn: psycopg.Connection[Any]) -> Rows:
    """Return everything that is stored in both tables, as text, but the columns `LEFT_OUT`."""
    return {table: _rows(conn, table) for table in ORDER}


def _rows(conn: psycopg.Connection[Any], table: str) -> list[tuple[Any, ...]]:
    names = [
        str(name)
        for (name,) in conn.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 "
            "AND NOT attisdropped AND attname <> ALL(%s) ORDER BY attname",
            [table, list(LEFT_OUT)],
        )
    ]
    columns = sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(one)) for one in names)
    query = sql.SQL("SELECT {} FROM {} ORDER BY " + ORDER[table])
    return conn.execute(query.format(columns, sql.Identifier(table))).fetchall()


def torn_documents(conn: psycopg.Connection[Any], embedder: EmbeddingClient) -> list[str]:
    """Return the names of documents whose chunks are not just those of their stored text.

    What is stored of each is split and encoded again. A chunk without a document is torn, too.
    """
    if conn.execute("SELECT to_regclass('documents')::text").fetchone() == (None,):
        return []
    stored: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for *key, content, vector in conn.execute(
        f"SELECT {KEY}, content, embedding::text FROM document_chunks ORDER BY {KEY}, chunk_index"
    ):
        stored.setdefault(tuple(key), []).append((content, vector))
    registry = Registry()
    torn = []
    for *key, content, settings in conn.execute(f"SELECT {KEY}, content, settings FROM documents"):
        name = key[4]
        # Those that its parser uses, which for a manifest are none.
        sizes = {name: int(size) for name, size in (pair.split("=") for pair in settings.split())}
        chunks = registry.parse(
            Document(Path(name), name, content),
            Scope(tenant=key[1], repo=key[2], branch=key[3]),
            **sizes,
        )
        vectors = embedder.encode([chunk.embedded_text for chunk in chunks])
        found = stored.pop(tuple(key), [])
        is_whole = [content for content, _ in found] == [chunk.content for chunk in chunks]
        if not is_whole or not all(map(_is_vector, vectors, (text for _, text in found))):
            torn.append(name)
    return torn + [f"{key[4]} (chunks without a document)" for key in stored]


def _is_vector(vector: Any, text: str) -> bool:
    return np.array_equal(vector, np.array(text.strip("[]").split(","), np.float32))


def found_otherwise(
    conn: psycopg.Connection[Any], embedder: EmbeddingClient, rng: Random, questions: int = 20
) -> list[str]:
    """Return where an index and a look at every row do not agree: of vectors, words and keys.

    A walk through a graph of vectors may miss one in a hundred; the others may miss nothing.
    """
    wrong, missed, all_of_them = [], 0, 0
    for number in range(questions):
        question = " ".join(rng.choices(WORDS, k=3))
        vector = embedder.encode([f"{question} {number}"])[0]
        quick, exact = (
            {
                one.chunk_id
                for one in search(
                    conn, vector, Query(top_k=10, threshold=-1, ef_search=1000, exact=e)
                )
            }
            for e in (False, True)
        )
        missed += len(exact - quick)
        all_of_them += len(exact)
        if _with_words(conn, question, True) != _with_words(conn, question, False):
            wrong.append(f"words: {question}")
    if missed > all_of_them / 100:
        wrong.append(f"vectors: {missed} of {all_of_them} were missed")
    for table in ORDER:
        if _keys(conn, table, True) != _keys(conn, table, False):
            wrong.append(f"keys of {table}")
    return wrong


def _with_words(conn: psycopg.Connection[Any], question: str, indexed: bool) -> list[Any]:
    assert len(question.split()) <= 32  # `chunks_with_words` looks up no more
    return _one_way(
        conn,
        "SELECT tableoid, ctid FROM document_chunks WHERE search_text @@ "
        "plainto_tsquery('pg_catalog.english', %s) ORDER BY 1, 2",
        [question],
        indexed,
    )


def _keys(conn: psycopg.Connection[Any], table: str, indexed: bool) -> list[Any]:
    return _one_way(
        conn, f"SELECT {ORDER[table]} FROM {table} ORDER BY {ORDER[table]}", [], indexed
    )


def _one_way(
    conn: psycopg.Connection[Any], query: str, values: list[str], indexed: bool
) -> list[Any]:
    """Ask through an index, or by looking at every row."""
    off = ("seqscan",) if indexed else ("indexscan", "indexonlyscan", "bitmapscan")
    with conn.transaction(force_rollback=True):
        for way in off:
            conn.execute("SELECT set_config(%s, 'off', true)", [f"enable_{way}"])
        return conn.execute(query, values).fetchall()
