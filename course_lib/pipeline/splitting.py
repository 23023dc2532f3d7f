"""Splitting a shard: the file with a source's documents goes in, two files of the shard come out.

One holds parsed-chunk-v1 records, the other what the index has to know of each document. What could
not be split is in there too, so that a later step does not take it for gone.
"""

from __future__ import annotations

import os
from dataclasses import replace

from course_lib.loader.splitting import IngestOptions
from course_lib.loader.staged import read_staged, split_to_files
from course_lib.pipeline.corpus import Shard, say
from course_lib.records import Document
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE


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
    origin, found = read_staged(documents, Document)
    part = Shard.parse(shard)
    return split_to_files(
        replace(origin, shard=shard),
        [one for name, one in found.items() if part.holds(name)],
        IngestOptions(chunk_size=chunk_size, chunk_overlap=chunk_overlap, say=say),
        rows_to,
        chunks_to,
    )
