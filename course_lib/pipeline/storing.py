"""Storing a shard: the two files of a split shard go in, its part of the index is up to date.

Doing it again changes nothing, and doing it after it was killed completes it: what is stored
is neither encoded nor written again. The vector indexes are built once, after all shards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing.citations import renew_citations
from course_lib.indexing.update import updating
from course_lib.loader.splitting import IngestOptions, SplitDocument
from course_lib.loader.staged import read_pieces, read_staged
from course_lib.pipeline.corpus import Shard
from course_lib.records import SourceDocument
from course_lib.store import build_vector_indexes, connect

URL = "DATABASE_URL"
COUNTS = ("documents", "chunks", "inserted", "updated", "unchanged", "deleted", "encoded", "kept")
"""What is counted of a shard, or of several.

`documents` and `chunks` are what the source holds; the next four count rows of `document_chunks`;
`encoded` counts chunks that went through the model; `kept` counts files that are there and could
not be read or split, so that what is stored of them stays.
"""


def database() -> psycopg.Connection:
    """Return a connection to the database that the environment names.

    Raises
    ------
    InputError
        If it names none. A step never starts a server of its own: it would be gone with the step.
    DatabaseError
        If it cannot be reached.
    """
    url = os.environ.get(URL, "").strip()
    if not url:
        raise InputError(
            f"the step has no {URL}",
            hint="On a cluster it comes from the Secret rag-database in the namespace of the "
            "pipelines, which infra/setup-kubeflow.sh makes; on this machine `course pipeline run` "
            "sets it.",
        )
    return connect(url)


def store_shard(
    rows: str | os.PathLike[str],
    chunks: str | os.PathLike[str],
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    batch_size: int = 32,
    say: Callable[[str], None] = lambda sentence: None,
) -> dict[str, int]:
    """Make the index hold exactly the documents of one shard, among those that fall in it.

    Parameters
    ----------
    rows, chunks
        The files that `split_to_files` wrote for it.
    conn
        A connection from `connect`; the tables are created if they are missing.
    embedder
        Encodes what is new.
    batch_size
        Chunks that go through the model at once.
    say
        Called with a sentence about what is noteworthy.

    Returns
    -------
    dict
        A number for each of `COUNTS`.

    Raises
    ------
    InputError
        If a file is missing, or does not belong to the other.
    DatabaseError
        If the database went away; what was written until then is whole and stays.
    """
    origin, documents = read_staged(rows, SourceDocument)
    pieces = read_pieces(chunks, origin, documents)
    found = [replace(row, model=embedder.model_name) for row in documents.values()]
    shard = Shard.parse(origin.shard)
    with updating(
        conn,
        embedder,
        origin.scope,
        {row.name: row for row in found},
        is_gone=lambda name: shard.holds(name) and origin.has_lost(name),
        sizes={name: len(pieces.get(name, ())) for name in documents},
        part=origin.shard,
        options=IngestOptions(batch_size=batch_size, say=say),
    ) as update:
        update.write(SplitDocument(name, pieces.get(name, ())) for name in update.stale)
    if origin.commit:
        renew_citations(conn, origin.scope, found, origin.commit)
    there = sum(map(len, pieces.values()))
    written = update.written
    return {
        "documents": len(found),
        "chunks": there,
        "inserted": written.inserted,
        "updated": written.updated,
        "unchanged": there - written.inserted - written.updated,
        "deleted": written.deleted,
        "encoded": update.encoded,
        "kept": len(origin.kept),
    }


def build_index(
    conn: psycopg.Connection, stored: Sequence[Mapping[str, Any]], shards: Sequence[str]
) -> dict[str, int]:
    """Build the vector indexes that are missing, and return what the shards counted together.

    Parameters
    ----------
    conn
        A connection from `connect`.
    stored, shards
        As for `add_up`.

    Raises
    ------
    InputError
        If there are no shards, one is missing or came twice, or chunks of one were lost.
    """
    if not shards:
        raise InputError("no shard was stored", hint="Run the pipeline again.")
    total = add_up(stored, shards)
    build_vector_indexes(conn)
    return total


def add_up(stored: Sequence[Mapping[str, Any]], shards: Sequence[str]) -> dict[str, int]:
    """Compare what came of the shards with what has to come, and return the sums.

    - Each dictionary in `stored` has the name of a `shard`, the number `split`, and a number for
      each name in `COUNTS`: "chunks" and seven others. Numbers may be floats, as kfp makes them.
    - The names that came have to be the same list as `shards`, but in any order. Otherwise raise
      an `InputError`.
    - `chunks` is the number of chunks in a shard's file, `split` the number that the splitter
      counted. If they differ in any shard, raise an `InputError` that names this shard.
    - Otherwise return the sum for each name in `COUNTS`, as whole numbers.

    Examples
    --------
    >>> one = dict.fromkeys(COUNTS, 2.0) | {"split": 2.0}
    >>> add_up([one | {"shard": "1/2"}, one | {"shard": "0/2"}], ["0/2", "1/2"])["chunks"]
    4
    >>> add_up([one | {"shard": "0/1", "split": 3.0}], ["0/1"])
    Traceback (most recent call last):
    course_lib.errors.InputError: shard 0/1: 2 of 3 chunks
    """
    if (came := sorted(one["shard"] for one in stored)) != sorted(shards):
        raise InputError(f"shards that came: {came}, wanted: {sorted(shards)}")
    for one in stored:
        if one["chunks"] != one["split"]:
            raise InputError("shard {shard}: {chunks:.0f} of {split:.0f} chunks".format(**one))
    return {name: int(sum(one[name] for one in stored)) for name in COUNTS}
