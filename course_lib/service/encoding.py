"""Encoding beside the event loop: questions that arrive together go through the model together.

One thread owns the model. While it works on a batch, requests queue up, and all that wait become
the next batch: no request waits for company that may not come, and under load the batches grow by
themselves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from course_lib.records import SearchResult
from course_lib.service.problems import UnavailableError

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

Vectors = npt.NDArray[np.float32]

LARGEST_BATCH = 32
"""Texts that go through the model at once: a question that comes then waits for this many."""

WAITING_LIMIT = 4096
"""Texts that may wait; whoever comes then is told to come back."""

log = logging.getLogger("course.service")


class Embedder(Protocol):
    """What the service needs of a model: `EmbeddingClient` has it."""

    model_name: str

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    def encode(self, texts: Sequence[str], batch_size: int = 32) -> Vectors:
        """Return one unit vector a text."""

    def encode_tokens(self, texts: Sequence[str], batch_size: int = 32) -> list[Vectors]:
        """Return one unit vector a word piece."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    texts: Sequence[str]
    vectors: asyncio.Future[Vectors]


class Encoder:
    """Encodes for many requests with one model, off the event loop.

    Parameters
    ----------
    embedder
        The model; only the encoder's own thread touches it.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.batches = 0
        self.texts = 0
        self.problem = "the model is being loaded"
        self.is_loading = True
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="encoder")
        self._queue: asyncio.Queue[_Wanted] = asyncio.Queue()
        self._waiting = 0
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def is_ready(self) -> bool:
        """Whether the model is loaded and has encoded a first text."""
        return not self.problem

    def start(self) -> None:
        """Load the model in the background and begin to take texts."""
        self._tasks = [asyncio.create_task(self._load()), asyncio.create_task(self._work())]

    async def stop(self) -> None:
        """Let the model go; what still waits is told so."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        while not self._queue.empty():
            wanted = self._queue.get_nowait()
            if not wanted.vectors.done():
                wanted.vectors.set_exception(UnavailableError("the service is stopping"))
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, float32 of shape (len(texts), dimension).

        Raises
        ------
        UnavailableError
            If the model is not loaded, or too many texts wait already.
        """
        if self.problem:
            raise UnavailableError(self.problem)
        if self._waiting + len(texts) > WAITING_LIMIT:
            raise UnavailableError("too many texts wait to be encoded")
        loop = asyncio.get_running_loop()
        parts = [texts[at : at + LARGEST_BATCH] for at in range(0, len(texts), LARGEST_BATCH)]
        wanted = [_Wanted(part, loop.create_future()) for part in parts]
        self._waiting += len(texts)
        try:
            for one in wanted:
                self._queue.put_nowait(one)
            rows = [await one.vectors for one in wanted]
        finally:
            self._waiting -= len(texts)
            for one in wanted:
                one.vectors.cancel()  # who has gone away needs no vectors; done ones stay done
        return np.concatenate(rows) if len(rows) > 1 else rows[0]

    async def rerank(self, question: str, results: Sequence[SearchResult]) -> list[SearchResult]:
        """Return search results in the order of their late interaction with the question."""
        from course_lib.retriever import rerank_maxsim

        loop = asyncio.get_running_loop()
        client = cast("EmbeddingClient", self.embedder)
        return await loop.run_in_executor(self._thread, rerank_maxsim, client, question, results)

    def from_thread(self) -> SharedEmbedder:
        """Return a view for code that runs in another thread and encodes whole files."""
        return SharedEmbedder(self.embedder, self._thread)

    async def _load(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self.embedder.encode, ["ready?"])
        except Exception as error:  # noqa: BLE001
            log.error("the model cannot be loaded", exc_info=error)
            self.problem = "the model cannot be loaded; the log says why"
        else:
            self.problem = ""
        self.is_loading = False

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        held: _Wanted | None = None
        while True:
            batch = [held or await self._queue.get()]
            held, size = None, len(batch[0].texts)
            while held is None and not self._queue.empty():
                following = self._queue.get_nowait()
                if size + len(following.texts) > LARGEST_BATCH:
                    held = following
                else:
                    batch.append(following)
                    size += len(following.texts)
            batch = [wanted for wanted in batch if not wanted.vectors.done()]
            if not batch:
                continue
            texts = [text for wanted in batch for text in wanted.texts]
            try:
                vectors = await loop.run_in_executor(self._thread, self.embedder.encode, texts)
            except Exception as error:  # noqa: BLE001
                _fail(batch, error)
                continue
            except BaseException:
                _fail([*batch, *([held] if held else [])], UnavailableError("the service stops"))
                raise
            self.batches += 1
            self.texts += len(texts)
            start = 0
            for wanted in batch:
                rows = vectors[start : start + len(wanted.texts)]
                start += len(wanted.texts)
                if not wanted.vectors.done():
                    wanted.vectors.set_result(rows)


class SharedEmbedder:
    """An embedder for other threads: its texts go through the one model in small turns.

    Questions that arrive meanwhile are encoded between two turns.
    """

    def __init__(self, embedder: Embedder, thread: ThreadPoolExecutor) -> None:
        self._embedder, self._thread = embedder, thread
        self.model_name = embedder.model_name

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return self._embedder.dimension

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def encode(self, texts: Sequence[str], batch_size: int = 32, progress: bool = False) -> Vectors:
        """Return one unit vector a text, float32 of shape (len(texts), dimension)."""
        # Longest first, as the model itself would: a turn then holds texts of like length.
        order = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(order), LARGEST_BATCH):
            places = order[start : start + LARGEST_BATCH]
            turn = self._thread.submit(self._embedder.encode, [texts[at] for at in places])
            vectors[places] = turn.result()
        return vectors


def _fail(batch: Sequence[_Wanted], error: Exception) -> None:
    for wanted in batch:
        if not wanted.vectors.done():
            wanted.vectors.set_exception(error)
