"""Splitting a shard: the file with a source's documents goes in, two files of the shard come out.

One holds parsed-chunk-v1 records, the other what the index has to know of each document. What could
not be split is in there too, so that a later step does not take it for gone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from course_lib.loader import write_jsonl
from course_lib.loader.splitting import IngestOptions, split_documents
from course_lib.pipeline.corpus import Origin, Shard, read_corpus, read_json, say
from course_lib.records import Skipped, SourceDocument
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE


@dataclass(frozen=True, slots=True)
class SplitShard:
    """The documents of a shard, without their chunks.

    Attributes
    ----------
    origin, shard
        Of which source this is, and which part of it.
    documents
        The rows of those that were split, but the model.
    kept
        What is in the source and was not: it could not be read, or no parser could split it.
    """

    origin: Origin
    shard: Shard
    documents: Sequence[SourceDocument]
    kept: Sequence[Skipped] = ()


_SPLIT = TypeAdapter(SplitShard)


def split_shard(
    documents: str | os.PathLike[str],
    shard: str,
    chunks_to: str | os.PathLike[str],
    rows_to: str | os.PathLike[str],
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
) -> dict[str, int]:
    """Split the documents of one shard, and return what there was.

    Parameters
    ----------
    documents
        The file that `write_corpus` wrote.
    shard
        Which part of it, such as ``"0/4"``.
    chunks_to, rows_to
        The files to write: the records, and the documents.
    chunk_size, chunk_overlap
        As in `split_text`, in characters.

    Returns
    -------
    dict
        `documents`, `chunks` and `kept`, each a number.

    Raises
    ------
    InputError
        If a file cannot be read or written, or an argument is out of its range.
    """
    from course_lib.loader.github import cite

    corpus = read_corpus(documents, part := Shard.parse(shard))
    origin = corpus.origin
    options = IngestOptions(chunk_size=chunk_size, chunk_overlap=chunk_overlap, say=say)
    split = split_documents(corpus.documents, origin.scope, options)
    chunks = split.chunks
    if origin.commit:
        chunks = [cite(chunk, origin.web, origin.commit) for chunk in chunks]
    write_jsonl(chunks_to, (chunk.to_json() for chunk in chunks))
    kept = [*corpus.unread, *split.refused]
    found = SplitShard(origin, part, split.rows, kept)
    write_jsonl(rows_to, [_SPLIT.dump_json(found).decode("utf-8")])
    return {"documents": len(split.rows), "chunks": len(chunks), "kept": len(kept)}


def read_split(path: str | os.PathLike[str]) -> SplitShard:
    """Read the documents that `split_shard` wrote.

    Raises
    ------
    InputError
        If there is no such file, or it is of another kind.
    """
    return read_json(path, _SPLIT)
