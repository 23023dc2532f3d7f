"""The embedding model: texts go in, vectors of unit length come out, in the same order.

`EmbeddingClient` is what everything else calls. It checks the texts, asks the cache, sorts what is
left by length, and hands it in batches to a backend, which does nothing but encode.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, get_args

import numpy as np

from course_lib.embedder import openvino_backend, torch_backend
from course_lib.embedder.cache import VectorCache
from course_lib.embedder.vectors import Vectors, encode_in_batches, unread
from course_lib.embedder.weights import DEFAULT_MODEL, fingerprint, model_directory, models_dir
from course_lib.errors import ModelError
from course_lib.progress import progress_bar
from course_lib.records import without_surrogates
from course_lib.settings import BackendName, PrecisionName, own_functions, settings, state_dir

log = logging.getLogger(__name__)


class Backend(Protocol):
    """What encodes one batch."""

    name: str
    batch_size: int
    """Texts in a batch, at most: more are not quicker."""

    dimension: int
    """Numbers in a vector."""

    max_seq_length: int
    """Word pieces that the model reads of a text."""

    prompts: Mapping[str, str]
    """What the model's configuration puts before a ``query`` and a ``document``, if anything."""

    def prepare(self, texts: list[str]) -> list[Any]:
        """Return what `encode` takes for each text; its `len` says what encoding it costs."""

    def encode(self, prepared: Sequence[Any]) -> Vectors:
        """Return the unit vectors of one batch: float32 of shape (n, dimension)."""

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return where each word piece starts and ends, the special ones left out."""


class EmbeddingClient:
    """Encodes texts with one model, which is loaded when it is first needed.

    Parameters
    ----------
    model
        ``all-MiniLM-L6-v2``, whose weights come with the course; a path; or a name that
        sentence-transformers fetches from the hub. None takes the setting RAG_EMBED_MODEL.
    backend
        ``torch`` is the reference, sentence-transformers itself. ``openvino`` runs the same layers,
        converted once, and starts without torch. ``auto`` takes OpenVINO for the course's own
        model where it runs, and torch otherwise; ``sbert`` means the same. ``openai`` sends the
        texts to a server. None takes the setting RAG_EMBED_BACKEND.
    cache
        True keeps vectors under `.course/`, so that a second run encodes nothing; or a cache of
        your own.
    threads
        CPU threads; None takes the setting RAG_THREADS, or all cores.
    precision
        ``bfloat16`` is for filling an index: OpenVINO is then several times faster on processors
        that have it, and rounds to eight bits. What is compared is encoded in ``float32``.

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
        precision: PrecisionName = "float32",
    ) -> None:
        if backend is not None and backend not in get_args(BackendName):
            *first, last = get_args(BackendName)
            raise ValueError(f"backend must be {', '.join(first)} or {last}, not {backend!r}")
        self.threads = threads or settings().threads
        self._precision = precision
        wanted = backend or settings().embed_backend
        self._wanted: BackendName = "auto" if wanted == "sbert" else wanted
        self.model_name = model or _model_of(wanted)
        if cache is True:
            self.cache: VectorCache | None = VectorCache(state_dir() / "vectors.sqlite")
        else:
            self.cache = cache or None

    @cached_property
    def directory(self) -> Path | None:
        """Where the model is on this machine; None if it is on a hub or a server."""
        return None if self._wanted == "openai" else model_directory(self.model_name)

    @cached_property
    def backend(self) -> Backend:
        """What encodes; the first access loads it.

        Raises
        ------
        ModelError
            If it cannot be found or loaded.
        """
        if self._wanted == "openai":
            # Here and below, since its HTTP client takes longer to import than all of the others.
            from course_lib.embedder.openai_backend import OpenAIBackend

            now = settings()
            return OpenAIBackend(
                self.model_name, now.vector_dim, now.openai_api_key, now.openai_base_url
            )
        if self._wanted == "openvino":
            return self._openvino()
        # Of other models nobody compared what OpenVINO makes of them.
        own = self._wanted == "auto" and self._is_the_courses_own
        if own and openvino_backend.installed_version():
            try:
                return self._openvino()
            except ModelError as error:
                log.warning("torch encodes, and not OpenVINO: %s", error.args[0])
        return torch_backend.TorchBackend(self.model_name, self.directory, self.threads)

    @property
    def dimension(self) -> int:
        """Numbers in a vector (384 for MiniLM)."""
        return self.backend.dimension

    @property
    def max_seq_length(self) -> int:
        """Word pieces that the model reads of a text; what comes after them is ignored.

        256 for MiniLM, of which two are the special tokens at the beginning and the end.
        """
        return self.backend.max_seq_length

    @property
    def prompts(self) -> Mapping[str, str]:
        """What goes before a question (``query``) and before a passage (``document``).

        Some models were trained with such words ("query: ", "passage: ") and are worse without
        them; their configuration says which. MiniLM has none.
        """
        return self.backend.prompts

    def count_tokens(self, text: str) -> int:
        """Return how many word pieces a text has, with the special ones and nothing cut off."""
        return len(self.backend.offsets(without_surrogates(text))) + 2

    def unread(self, text: str) -> str:
        """Return the end of a text that the model does not read; empty where it reads all."""
        limit = self.max_seq_length
        if len(text.encode("utf-8", "replace")) <= limit - 2:
            return ""  # no tokenizer makes more pieces than there are bytes
        return unread(text, self.backend.offsets(without_surrogates(text)), limit)

    def encode(self, texts: Sequence[str], batch_size: int = 32, progress: bool = False) -> Vectors:
        """Return one unit vector a text.

        Parameters
        ----------
        texts
            Any number of strings, empty ones included. Whoever fills an index or asks it puts the
            model's `prompts` before them; see `encode_question`.
        batch_size
            Texts that go through the model at once, at most; a backend may take fewer. It changes
            the time, and the vectors by no more than rounding.
        progress
            Show a bar on a terminal or in JupyterLab, where it takes over two seconds.

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
            new = self._encode([texts[place] for place in missing], batch_size, progress)
            vectors.update(zip(missing, new, strict=True))
            if self.cache:
                self.cache.put(self._cache_key, [texts[place] for place in missing], new)
        return np.stack([vectors[place] for place in range(len(texts))])

    def encode_question(self, question: str) -> Vectors:
        """Return the unit vector of a question, shape (dimension,), under the model's prompt."""
        vector: Vectors = self.encode([self.prompts.get("query", "") + question])[0]
        return vector

    def _encode(self, texts: list[str], batch_size: int, progress: bool) -> Vectors:
        prepared = self.backend.prepare([without_surrogates(text) for text in texts])
        size = min(batch_size, self.backend.batch_size)
        with progress_bar(len(texts), "encode", "text", shown=progress) as advance:

            def encode_batch(batch: list[Any]) -> Vectors:
                rows = self.backend.encode(batch)
                advance(len(batch))
                return rows

            found: Vectors = encode_in_batches(encode_batch, prepared, size)
        return found

    def _openvino(self) -> Backend:
        if self.directory is None:
            raise ModelError(
                f"the model {self.model_name!r} is not on this machine, and OpenVINO needs it here",
                hint="Take RAG_EMBED_BACKEND=torch, or set RAG_EMBED_MODEL to a model's folder.",
            )
        try:
            return openvino_backend.OpenVinoBackend(self.directory, self.threads, self._precision)
        except ModelError:
            raise
        except Exception as error:  # OpenVINO, torch, transformers and the disk have their own
            raise ModelError(
                f"OpenVINO cannot encode with the model in {self.directory}: {error!r}",
                hint="Take RAG_EMBED_BACKEND=torch. Or run `make setup`, and see that "
                f"{models_dir()} (COURSE_MODELS) has room; what is converted there can be removed.",
            ) from error

    @property
    def _is_the_courses_own(self) -> bool:
        return self.directory is not None and self.directory == model_directory(DEFAULT_MODEL)

    @property
    def _cache_key(self) -> str:
        """What a vector depends on beside its text: the weights and the precision."""
        mark = own_functions()[1]
        mine = f" mine={mark}" if mark else ""
        if self._wanted == "openai":
            return f"{self.model_name}@openai-{settings().vector_dim}{mine}"
        weights = fingerprint(self.directory) if self.directory else self.model_name
        return f"{weights}@{self._precision}{mine}"


def _model_of(backend: BackendName) -> str:
    """Return the model that the settings name; a server has none of the course's own."""
    if backend == "openai" and "embed_model" not in settings().model_fields_set:
        from course_lib.embedder.openai_backend import DEFAULT_MODEL

        return DEFAULT_MODEL
    return settings().embed_model


def _check(texts: Sequence[str], batch_size: int) -> None:
    if isinstance(texts, str):
        raise TypeError("texts must be a list of strings; for one text write encode([text])")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{place}] must be a string, not {type(text).__name__}")
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size}")
