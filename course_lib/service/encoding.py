"""Encoding beside the event loop: one thread owns the model, and requests wait for it in line.

A lock of asyncio serves who came first. Texts go in groups of 8 and join the line again for each
group, so that several clients take turns, and a question waits for one group of each. Questions
that wait together go through the model together.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from course_lib.service.problems import UnavailableError

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient
    from course_lib.embedder.vectors import Vectors

T = TypeVar("T")

GROUP = 8
"""Texts that go through the model at once."""

LARGEST_BATCH = 32
"""Questions that do."""

WAITING_LIMIT = 4096
"""Texts and questions that may wait."""

log = logging.getLogger("course.service")


class Encoder:
    """Encodes for many requests with one model, off the event loop.

    Parameters
    ----------
    embedder
        The model; only the encoder's own thread touches it.
    """

    def __init__(self, embedder: EmbeddingClient) -> None:
        self.embedder = embedder
        self.batches = 0
        self.texts = 0
        self.waiting = 0
        self.problem = "the model is being loaded"
        self.is_loading = True
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="encoder")
        self._line = asyncio.Lock()
        self._questions: dict[asyncio.Future[Vectors], str] = {}
        self._loading: asyncio.Task[None] | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the model is loaded and has encoded a first text."""
        return not self.problem

    def start(self) -> None:
        """Load the model in the background."""
        self._loading = asyncio.create_task(self._load())

    async def stop(self) -> None:
        """Let the model go."""
        if self._loading:
            self._loading.cancel()
            with suppress(asyncio.CancelledError):
                await self._loading
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, float32 of shape (len(texts), dimension).

        Raises
        ------
        UnavailableError
            If the model is not loaded, or too many texts wait already.
        """
        groups = []
        with self._counted(len(texts)):
            for start in range(0, len(texts), GROUP):
                async with self._line:
                    groups.append(await self._encode(texts[start : start + GROUP]))
        return np.concatenate(groups)

    async def encode_question(self, question: str) -> Vectors:
        """Return the unit vector of a question, under the model's prompt.

        Raises
        ------
        UnavailableError
            If the model is not loaded, or too many questions wait already.
        """
        with self._counted(1):
            result: asyncio.Future[Vectors] = asyncio.get_running_loop().create_future()
            self._questions[result] = self.embedder.prompts.get("query", "") + question
            try:
                async with self._line:
                    if not result.done():
                        await self._encode_questions(result)
                return result.result()
            finally:
                del self._questions[result]

    def from_thread(self) -> EmbeddingClient:
        """Return a view for code that runs in another thread and encodes whole files."""
        return cast("EmbeddingClient", _SharedEmbedder(self.embedder, self._thread))

    async def _load(self) -> None:
        try:
            await self._run(self.embedder.encode, ["ready?"])
        except Exception as error:  # noqa: BLE001
            log.error("the model cannot be loaded", exc_info=error)
            self.problem = "the model cannot be loaded; the log says why"
        else:
            self.problem = ""
        self.is_loading = False

    @contextmanager
    def _counted(self, count: int) -> Iterator[None]:
        """Count what waits; refuse it where the model cannot work, or too much waits already."""
        if self.problem:
            raise UnavailableError(self.problem)
        if self.waiting + count > WAITING_LIMIT:
            raise UnavailableError("too many texts wait to be encoded")
        self.waiting += count
        try:
            yield
        finally:
            self.waiting -= count

    async def _encode_questions(self, first: asyncio.Future[Vectors]) -> None:
        """Encode a question and those that wait, too. Who was first may go away meanwhile."""
        batch = {
            first: self._questions[first],
            **dict(islice(self._questions.items(), LARGEST_BATCH)),
        }
        vectors = await self._encode([*batch.values()])
        for result, vector in zip(batch, vectors, strict=True):
            if not result.done():
                result.set_result(vector)

    async def _encode(self, texts: Sequence[str]) -> Vectors:
        vectors = await self._run(self.embedder.encode, texts)
        self.batches += 1
        self.texts += len(texts)
        return vectors

    async def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)


class _SharedEmbedder:
    """An embedder for other threads: its texts go through the one model in groups.

    Questions that arrive meanwhile are encoded between two groups.
    """

    def __init__(self, embedder: EmbeddingClient, thread: ThreadPoolExecutor) -> None:
        self._embedder, self._thread = embedder, thread

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def encode(self, texts: Sequence[str], batch_size: int = 32, progress: bool = False) -> Vectors:
        """Return one unit vector a text, float32 of shape (len(texts), dimension)."""
        # Longest first, as the model itself would: a group then holds texts of like length.
        order = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(order), GROUP):
            places = order[start : start + GROUP]
            group = self._thread.submit(self._embedder.encode, [texts[at] for at in places])
            vectors[places] = group.result()
        return vectors
