"""Ingest in two steps, with files in between: a directory to JSON Lines, JSON Lines to the index.

What `ingest` does in one go can be stopped half-way and looked at: `documents.jsonl` holds the
documents as they were read, `chunks.jsonl` their pieces.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.ignored import ignored_in_words, without_ignored
from course_lib.indexing.directory import IngestReport, make_report
from course_lib.indexing.update import updating
from course_lib.loader.splitting import IngestOptions, Origin, SplitDocument, read_source
from course_lib.loader.staged import (
    CHUNKS,
    DOCUMENTS,
    read_pieces,
    read_staged,
    split_to_files,
)
from course_lib.records import LOCAL, PARTITIONS, Scope, SourceDocument


def load_directory(
    path: str | os.PathLike[str],
    output_dir: str | os.PathLike[str],
    scope: Scope = LOCAL,
    options: IngestOptions | None = None,
) -> dict[str, int]:
    """Read and split a directory's documents and write them as JSON Lines.

    Parameters
    ----------
    path
        Directory whose files of a registered format are read.
    output_dir
        Gets `documents.jsonl` and `chunks.jsonl`; made when missing.
    scope
        Whose documents they are, which is written with them.
    options
        As in `ingest`.

    Returns
    -------
    dict
        `documents`, `chunks`, and how many files were left out (`kept`).

    Raises
    ------
    InputError
        If there is no such directory, or no document in it.
    """
    options = options or IngestOptions()
    found, skipped = read_source(path, options)
    target = Path(output_dir)
    kept, ignored = without_ignored(skipped)
    if ignored:
        options.say(f"ignored: {ignored_in_words(ignored)}")
    origin = Origin(scope, kept=tuple(kept))
    return split_to_files(origin, found, options, target / DOCUMENTS, target / CHUNKS)


def embed_directory(
    directory: str | os.PathLike[str],
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    partition: str = PARTITIONS[0],
    options: IngestOptions | None = None,
) -> IngestReport:
    """Encode what `load_directory` wrote and bring the index up to date with it.

    Parameters
    ----------
    directory
        What `load_directory` wrote into; the two files say whose documents they are.
    conn, embedder, options
        As in `ingest`; the sizes were used when the documents were split.
    partition
        Where the documents go.

    Raises
    ------
    InputError
        If a file is missing or holds a line that is not a record.
    DatabaseError
        If the database went away; what was written until then is whole and stays.
    """
    begin = time.perf_counter()
    folder = Path(directory)
    origin, documents = read_staged(folder / DOCUMENTS, SourceDocument)
    pieces = read_pieces(folder / CHUNKS, origin, documents)
    with updating(
        conn,
        embedder,
        origin.scope.within(partition=partition),
        {name: replace(row, model=embedder.model_name) for name, row in documents.items()},
        is_gone=origin.has_lost,
        sizes={name: len(pieces[name]) for name in documents},
        options=options,
    ) as update:
        update.write(SplitDocument(name, pieces[name]) for name in update.stale)
    return make_report([update], begin)
