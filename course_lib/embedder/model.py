"""The embedding model: texts go in, vectors of unit length come out, in the same order.

`EmbeddingClient` is what everything else calls. It checks and sorts the texts, asks the cache, and
hands what is left in batches to a backend, which does nothing but encode.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from course_lib.embedder.cache import VectorCache
from course_lib.embedder.weights import model_directory
from course_lib.settings import settings, state_dir

Vectors = np.ndarray[Any, np.dtype[np.float32]]


class Backend(Protocol):
    """What encodes one batch."""

    name: str
    dimension: int
    max_seq_length: int

    def encode(self, texts: list[str]) -> Vectors:
        """Return the unit vectors of one batch: float32 of shape (n, dimension)."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return the number of word pieces, the special ones included, nothing cut off."""
        ...


class EmbeddingClient:
    """Encodes texts with one model, which is loaded when it is first needed.

    Parameters
    ----------
    model
        ``all-MiniLM-L6-v2``, whose weights come with the course; a path; or a name that
        sentence-transformers fetches from the hub. None takes the setting RAG_EMBED_MODEL.
    cache
        True keeps vectors under `.course/`, so that a second run encodes nothing; or a cache of
        your own.
    threads
        CPU threads; None takes the setting RAG_THREADS, or all cores.

    Examples
    --------
    >>> client = EmbeddingClient()
    >>> client.encode(["A feature store serves features."]).shape     # doctest: +SKIP
    (1, 384)
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        cache: bool | VectorCache = False,
        threads: int | None = None,
    ) -> None:
        self.model_name = model or settings().embed_model
        self.threads = threads or settings().threads
        if cache is True:
            self.cache: VectorCache | None = VectorCache(state_dir() / "vectors.sqlite")
        else:
            self.cache = cache or None

    @cached_property
    def directory(self) -> Path | None:
        """Where the model lies on this machine; None if it comes from a hub."""
        return model_directory(self.model_name)

    @cached_property
    def backend(self) -> Backend:
        """The loaded model. The first access costs seconds."""
        from course_lib.embedder.torch_backend import TorchBackend

        return TorchBackend(self.model_name, self.directory, self.threads)

    @property
    def dimension(self) -> int:
        """Numbers in a vector (384 for MiniLM)."""
        return self.backend.dimension

    @property
    def max_seq_length(self) -> int:
        """Word pieces that the model reads of a text; what is behind them is ignored.

        256 for MiniLM, of which two are the special tokens at the beginning and the end.
        """
        return self.backend.max_seq_length

    def count_tokens(self, text: str) -> int:
        """Return how many word pieces a text has, with the special ones and nothing cut off."""
        return self.backend.count_tokens(_readable(text))

    def encode(self, texts: Sequence[str], batch_size: int = 32, progress: bool = False) -> Vectors:
        """Return one unit vector a text.

        Parameters
        ----------
        texts
            Any number of strings, empty ones included.
        batch_size
            Texts that go through the model at once. It changes the time, not the vectors.
        progress
            Show a bar on a terminal.

        Returns
        -------
        ndarray
            float32 of shape (len(texts), dimension); row i belongs to texts[i]. Every row has
            length 1, so that the inner product of two rows is their cosine similarity.

        Raises
        ------
        TypeError
            If `texts` is a single string or holds something else than strings.
        ValueError
            If `batch_size` is below 1.
        ModelError
            If the model cannot be found or loaded.
        """
        _check(texts, batch_size)
        vectors: dict[int, Vectors] = {}
        key = f"{self.model_name}@torch"
        if self.cache:
            vectors = self.cache.get(key, texts)
        missing = [place for place in range(len(texts)) if place not in vectors]
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        # A batch is padded to its longest text, so texts of like length go together.
        missing.sort(key=lambda place: len(texts[place]), reverse=True)
        batches = [missing[at : at + batch_size] for at in range(0, len(missing), batch_size)]
        for batch in self._with_progress(batches, progress):
            rows = self.backend.encode([_readable(texts[place]) for place in batch])
            vectors.update(zip(batch, rows, strict=True))
        if self.cache and missing:
            self.cache.put(
                key, [texts[place] for place in missing], np.stack([vectors[p] for p in missing])
            )
        return np.stack([vectors[place] for place in range(len(texts))])

    def _with_progress(self, batches: list[list[int]], progress: bool) -> Any:
        if not progress or len(batches) < 2 or not sys.stderr.isatty():
            return batches
        from tqdm import tqdm

        return tqdm(batches, desc="encode", unit="batch", leave=False)


def _check(texts: Sequence[str], batch_size: int) -> None:
    if isinstance(texts, str):
        raise TypeError("texts must be a list of strings; for one text write encode([text])")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{place}] must be a string, not {type(text).__name__}")
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size}")


def _readable(text: str) -> str:
    """Replace lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
