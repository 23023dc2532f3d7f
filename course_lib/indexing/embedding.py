"""Chunks to vectors: each is encoded whole, under its header, and none that was encoded before.

A model reads a limited number of word pieces and ignores the rest without a word. A text that is
longer is encoded in parts that fit, and its vector is their mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.vectors import Vectors
from course_lib.records import Chunk, vector_key

Known = Mapping[str, Vectors]
"""Key (`vector_key`) → vector, of what is stored already."""


def encode_chunks(
    embedder: EmbeddingClient,
    chunks: Sequence[Chunk],
    *,
    batch_size: int = 32,
    known: Known | None = None,
) -> tuple[Vectors, int]:
    """Return the vectors of chunks, and how many chunks had to be encoded for them.

    Parameters
    ----------
    embedder
        Encodes what is not known.
    chunks
        What to encode: `embedded_text`, the header included.
    batch_size
        Texts that go through the model at once.
    known
        Vectors that were stored before.

    Returns
    -------
    vectors : ndarray
        float32 of shape (len(chunks), dimension), rows of unit length.
    encoded : int
        Chunks that were not known.
    """
    vectors = dict(known or {})
    keys = [vector_key(chunk, embedder.model_name) for chunk in chunks]
    # A licence, a copied manifest: equal texts have equal vectors and are encoded once.
    missing = {key: chunk for chunk, key in zip(chunks, keys, strict=True) if key not in vectors}
    encoded = sum(key in missing for key in keys)
    if missing:
        texts = [chunk.embedded_text for chunk in missing.values()]
        headers = [str(chunk.custom_meta.get("header") or "") for chunk in missing.values()]
        rows = encode_whole(embedder, texts, headers, batch_size)
        vectors.update(zip(missing, rows, strict=True))
    if not chunks:
        return np.empty((0, embedder.dimension), np.float32), 0
    return np.stack([vectors[key] for key in keys]), encoded


def encode_whole(
    embedder: EmbeddingClient, texts: Sequence[str], headers: Sequence[str], batch_size: int = 32
) -> Vectors:
    """Return one unit vector a text, however long it is; `headers` are how the texts begin."""
    prompt = embedder.prompts.get("document", "")
    parts = [
        windows(embedder, prompt + text, prompt + header)
        for text, header in zip(texts, headers, strict=True)
    ]
    flat = [part for group in parts for part in group]
    rows = embedder.encode(flat, batch_size=batch_size)
    if len(flat) == len(texts):
        return rows
    vectors = np.empty((len(texts), rows.shape[1]), np.float32)
    at = 0
    for place, group in enumerate(parts):
        weights = np.array([len(part) for part in group], np.float32)
        mean = rows[at] if len(group) == 1 else weights @ rows[at : at + len(group)]
        length = 1.0 if len(group) == 1 else float(np.linalg.norm(mean))
        # Parts that cancel each other out exactly leave the first one's direction.
        vectors[place] = mean / length if length else rows[at]
        at += len(group)
    return vectors


def windows(embedder: EmbeddingClient, text: str, header: str = "") -> list[str]:
    """Cut a text into parts that the model reads whole, each under the header.

    A header that takes more than half of what the model reads is cut up like the rest.
    """
    rest = embedder.unread(text)
    if not rest:
        return [text]
    top = header.rstrip("\n") + "\n" if header else ""
    if not text.startswith(top) or embedder.count_tokens(top) > embedder.max_seq_length // 2:
        top = ""
    parts = []
    while rest:
        parts.append(text[: len(text) - len(rest)])
        text = top + rest
        rest = embedder.unread(text)
    return [*parts, text]
