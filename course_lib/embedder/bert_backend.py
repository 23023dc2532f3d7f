"""BERT without torch: texts go in, vectors come out, in three steps that can be read here.

The tokenizer cuts a text into word pieces, each piece's vector is looked up, an engine runs the
layers over them, and the mean of what comes out is the text's vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib.embedder.bert import Bert
from course_lib.embedder.engines import Engine, open_engine

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Array = np.ndarray[Any, np.dtype[np.float32]]

REMEMBERED, LONGEST_REMEMBERED = 1024, 4000
"""Texts whose word pieces are remembered, and the characters that such a text has at most."""


class BertBackend:
    """One model on one engine, which is loaded when the first text is encoded.

    Parameters
    ----------
    bert
        The model.
    engine
        The engine's name, which is also the backend's.
    threads
        CPU threads; None takes all cores.
    in_memory
        Leave the disk alone.
    """

    padded_tokens = 512
    """Word pieces in a batch, padding included, at most: what the processor's cache holds."""

    def __init__(
        self, bert: Bert, engine: str, threads: int | None = None, *, in_memory: bool = False
    ) -> None:
        self.name = engine
        self.dimension = bert.dimension
        self.max_seq_length = bert.max_seq_length
        self._bert = bert
        self._threads = threads
        self._in_memory = in_memory
        self._loading = RLock()
        self._engine: Engine | None = None
        # Who counts a text's word pieces, to see whether the model reads it whole, encodes it next.
        self._remembered = lru_cache(REMEMBERED)(self._cut)

    def load(self) -> Engine:
        """Return the running engine. The first call costs about half a second.

        Raises
        ------
        ModelError
            If the engine cannot be loaded.
        """
        with self._loading:
            if self._engine is None:
                self._engine = open_engine(
                    self.name, self._bert, self._threads, in_memory=self._in_memory
                )
            return self._engine

    def prepare(self, texts: list[str]) -> list[list[int]]:
        """Return the word pieces that the model reads of each text, as numbers."""
        # One by one: the tokenizer's own threads would ignore the setting for threads.
        pieces = map(self._pieces, texts)
        limit = self.max_seq_length
        return [ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]] for ids in pieces]

    def count_tokens(self, text: str) -> int:
        """Return the number of word pieces, the two special ones included."""
        return len(self._pieces(text))

    def encode(self, pieces: Sequence[list[int]]) -> Array:
        """Return the unit vectors of one batch: float32 of shape (n, dimension)."""
        states, mask = self._states(pieces)
        # The mean over the word pieces, without the padding.
        sums = (mask[:, np.newaxis, :] @ states)[:, 0, :]
        return _unit(sums / mask.sum(axis=1, keepdims=True))

    def encode_tokens(self, pieces: Sequence[list[int]]) -> list[Array]:
        """Return the unit vectors of each text's word pieces, without the two special ones."""
        states, _ = self._states(pieces)
        return [_unit(rows[1 : len(ids) - 1]) for rows, ids in zip(states, pieces, strict=True)]

    def _pieces(self, text: str) -> list[int]:
        return (self._remembered if len(text) <= LONGEST_REMEMBERED else self._cut)(text)

    def _cut(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def _states(self, pieces: Sequence[list[int]]) -> tuple[Array, Array]:
        longest = max(len(ids) for ids in pieces)
        ids = np.zeros((len(pieces), longest), dtype=np.int64)
        mask = np.zeros((len(pieces), longest), dtype=np.float32)
        for row, some in enumerate(pieces):
            ids[row, : len(some)] = some
            mask[row, : len(some)] = 1
        words, places = self._tables
        return self.load().run(words[ids] + places[:longest], mask), mask

    @cached_property
    def _tables(self) -> tuple[Array, Array]:
        """A vector for each word piece, and one for each place in the text."""
        tensors = self._bert.tensors
        # The model was trained on pairs; a text alone is always the first of its pair.
        first = tensors["embeddings.token_type_embeddings.weight"][0]
        places = tensors["embeddings.position_embeddings.weight"][: self.max_seq_length] + first
        return tensors["embeddings.word_embeddings.weight"], places

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._bert.directory / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


def _unit(rows: Array) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
