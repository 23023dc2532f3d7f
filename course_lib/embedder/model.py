"""The embedding model: texts go in, vectors of unit length come out, in the same order.

`EmbeddingClient` is what everything else calls. It checks the texts, asks the cache, sorts what is
left by length, and hands it in batches to a backend, which does nothing but encode.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, get_args

import numpy as np

from course_lib.embedder.bert import read_bert
from course_lib.embedder.choice import open_backend
from course_lib.embedder.weights import model_directory
from course_lib.errors import ModelError
from course_lib.settings import BackendName, settings, state_dir

if TYPE_CHECKING:
    from course_lib.embedder.cache import VectorCache

log = logging.getLogger(__name__)

Vectors = np.ndarray[Any, np.dtype[np.float32]]


class Backend(Protocol):
    """What encodes one batch. Nothing is loaded before it is needed."""

    name: str

    @property
    def padded_tokens(self) -> int | None:
        """Word pieces in a batch, padding included, at most; None for no limit."""

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    @property
    def max_seq_length(self) -> int:
        """Word pieces that the model reads of a text."""

    def load(self) -> Any:
        """Load the model, if it is not loaded yet."""

    def prepare(self, texts: list[str]) -> list[Any]:
        """Return what `encode` takes for each text; its `len` says what encoding it costs."""

    def encode(self, prepared: Sequence[Any]) -> Vectors:
        """Return the unit vectors of one batch: float32 of shape (n, dimension)."""

    def encode_tokens(self, prepared: Sequence[Any]) -> list[Vectors]:
        """Return the unit vectors of each text's word pieces, without the special ones."""

    def count_tokens(self, text: str) -> int:
        """Return the number of word pieces, the special ones included, nothing cut off."""


class EmbeddingClient:
    """Encodes texts with one model, which is loaded when it is first needed.

    Parameters
    ----------
    model
        ``all-MiniLM-L6-v2``, whose weights come with the course; a path; or a name that
        sentence-transformers fetches from the hub. None takes the setting RAG_EMBED_MODEL.
    backend
        ``torch`` is the reference, sentence-transformers itself. ``openvino`` and ``onnx`` run the
        same weights without it. ``auto`` takes the fastest that ranks a built-in set of texts as
        the reference does; it measures that once for a processor and remembers it; ``sbert`` means
        the same. ``openai`` sends the texts to a server. None takes the setting RAG_EMBED_BACKEND.
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
        backend: BackendName | None = None,
        cache: bool | VectorCache = False,
        threads: int | None = None,
    ) -> None:
        if backend is not None and backend not in get_args(BackendName):
            *first, last = get_args(BackendName)
            raise ValueError(f"backend must be {', '.join(first)} or {last}, not {backend!r}")
        self.threads = threads or settings().threads
        wanted = backend or settings().embed_backend
        self._wanted: BackendName = "auto" if wanted == "sbert" else wanted
        self.model_name = model or _model_of(wanted)
        if cache is True:
            from course_lib.embedder.cache import VectorCache

            self.cache: VectorCache | None = VectorCache(state_dir() / "vectors.sqlite")
        else:
            self.cache = cache or None

    @cached_property
    def directory(self) -> Path | None:
        """Where the model lies on this machine; None if it is on a hub or a server."""
        return None if self._wanted == "openai" else model_directory(self.model_name)

    @cached_property
    def backend(self) -> Backend:
        """What encodes. It is chosen at the first access and loaded when a text needs it."""
        return open_backend(self._wanted, self.model_name, self.directory, self.threads)

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
            Texts that go through the model at once, at most. It changes the time, and the vectors
            by no more than rounding.
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
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        vectors: dict[int, Vectors] = {}
        if self.cache:
            vectors = self.cache.get(self._cache_key, texts)
        missing = [place for place in range(len(texts)) if place not in vectors]
        if missing:
            prepared = self._prepare([texts[place] for place in missing])
            batches = plan_batches(
                [len(some) for some in prepared], batch_size, self.backend.padded_tokens
            )
            for batch in _with_progress(batches, progress):
                rows = self.backend.encode([prepared[at] for at in batch])
                vectors.update(zip((missing[at] for at in batch), rows, strict=True))
            if self.cache:
                new = np.stack([vectors[place] for place in missing])
                self.cache.put(self._cache_key, [texts[place] for place in missing], new)
        return np.stack([vectors[place] for place in range(len(texts))])

    def encode_tokens(self, texts: Sequence[str], batch_size: int = 32) -> list[Vectors]:
        """Return one unit vector a word piece, for late interaction (MaxSim).

        ColBERT (Khattab and Zaharia, 2020) compares each word piece of a question with each of a
        passage. It keeps the special tokens, which it was trained with; this model was not, and so
        the first and the last token are left out: each row is a piece of the text.

        Parameters
        ----------
        texts
            Any number of strings, empty ones included.
        batch_size
            Texts that go through the model at once, at most.

        Returns
        -------
        list of ndarray
            For each text float32 of shape (word pieces, dimension), rows of length 1; at most
            `max_seq_length` - 2 rows, none for an empty text. They are not kept in the cache.

        Raises
        ------
        TypeError, ValueError, ModelError
            As `encode`.
        """
        _check(texts, batch_size)
        if not texts:
            return []
        prepared = self._prepare(texts)
        lengths = [len(some) for some in prepared]
        found: dict[int, Vectors] = {}
        for batch in plan_batches(lengths, batch_size, self.backend.padded_tokens):
            rows = self.backend.encode_tokens([prepared[place] for place in batch])
            found.update(zip(batch, rows, strict=True))
        return [found[place] for place in range(len(texts))]

    @property
    def _cache_key(self) -> str:
        """What a vector depends on beside its text: the weights and the backend's arithmetic."""
        bert = read_bert(self.directory)
        return f"{bert.sha256 if bert else self.model_name}@{self.backend.name}"

    def _prepare(self, texts: Sequence[str]) -> list[Any]:
        """Load the backend and return what it takes for each text."""
        try:
            self.backend.load()
        except ModelError as error:
            if self._wanted != "auto" or self.backend.name == "torch":
                raise
            log.warning("torch encodes instead of %s: %s", self.backend.name, error.args[0])
            self.backend = open_backend("torch", self.model_name, self.directory, self.threads)
        return self.backend.prepare([_readable(text) for text in texts])


def _model_of(backend: BackendName) -> str:
    """Return the model that the settings name; a server has none of the course's own."""
    if backend == "openai" and "embed_model" not in settings().model_fields_set:
        from course_lib.embedder.openai_backend import DEFAULT_MODEL

        return DEFAULT_MODEL
    return settings().embed_model


def plan_batches(
    lengths: Sequence[int], batch_size: int, padded_tokens: int | None = None
) -> list[list[int]]:
    """Group texts so that little is padded: return the places of the texts in each batch.

    A batch is padded to its longest text, so texts of like length go together, longest first.

    Parameters
    ----------
    lengths
        The length of each text, in word pieces.
    batch_size
        Texts in a batch, at most.
    padded_tokens
        Word pieces in a batch with the padding, at most (but one text always fits). A batch that
        outgrows the processor's cache is slower, not faster. None sets no limit.

    Examples
    --------
    >>> plan_batches([3, 90, 5, 100], batch_size=2)
    [[3, 1], [2, 0]]
    >>> plan_batches([3, 90, 5, 100], batch_size=32, padded_tokens=100)
    [[3], [1], [2, 0]]
    """
    batches: list[list[int]] = []
    room = 0
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place], reverse=True):
        if room == 0:
            batches.append([])
            fitting = (padded_tokens or sys.maxsize) // max(1, lengths[place])
            room = max(1, min(batch_size, fitting))
        batches[-1].append(place)
        room -= 1
    return batches


def _with_progress(batches: list[list[int]], progress: bool) -> Any:
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
