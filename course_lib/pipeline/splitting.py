"""Splitting a shard: the file with a source's documents goes in, two files of the shard come out.

One holds parsed-chunk-v1 records, the other what the index has to know of each document. What could
not be split is in there too, so that a later step does not take it for gone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from course_lib.errors import InputError
from course_lib.loader import write_jsonl
from course_lib.loader.splitting import IngestOptions, split_documents
from course_lib.pipeline.corpus import Origin, Shard, read_corpus, read_values, say
from course_lib.records import Chunk, Skipped, SourceDocument
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
    part = Shard.parse(shard)
    corpus = read_corpus(documents, part)
    split = split_documents(
        corpus.documents,
        corpus.origin.scope,
        _options(chunk_size, chunk_overlap),
    )
    write_jsonl(chunks_to, (chunk.to_json() for chunk in _cited(split.chunks, corpus.origin)))
    kept = [*corpus.unread, *split.refused]
    head = {"origin": asdict(corpus.origin), "shard": str(part)}
    left = [{"name": file.name, "kept": file.reason} for file in kept]
    rows = [head, *map(asdict, split.rows), *left]
    write_jsonl(rows_to, (json.dumps(row, ensure_ascii=False) for row in rows))
    return {"documents": len(split.rows), "chunks": len(split.chunks), "kept": len(kept)}


def read_split(path: str | os.PathLike[str]) -> SplitShard:
    """Read the documents that `split_shard` wrote.

    Raises
    ------
    InputError
        If there is no such file, or it is of another kind.
    """
    lines = read_values(path)
    try:
        head = next(lines)
        documents, kept = [], []
        for value in lines:
            if "kept" in value:
                kept.append(Skipped(value["name"], value["kept"]))
            else:
                documents.append(SourceDocument(**value))
        return SplitShard(Origin(**head["origin"]), Shard.parse(head["shard"]), documents, kept)
    except (StopIteration, KeyError, TypeError) as error:
        raise InputError(
            f"{path} does not hold the documents of a shard: {error!r}",
            hint="Give the file that the step before wrote.",
        ) from error


def _options(chunk_size: int, chunk_overlap: int) -> IngestOptions:
    try:
        return IngestOptions(chunk_size=chunk_size, chunk_overlap=chunk_overlap, say=say)
    except InputError as error:
        raise InputError(error.args[0], hint="Correct the parameters of the pipeline.") from error


def _cited(chunks: Sequence[Chunk], origin: Origin) -> Sequence[Chunk]:
    if not origin.commit:
        return chunks
    from course_lib.loader.github import cite

    return [cite(chunk, origin.web, origin.commit) for chunk in chunks]
