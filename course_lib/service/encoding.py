"""Encoding beside the event loop: questions that arrive together go through the model together.

One thread owns the model. While it works on a batch, requests queue up, and the questions that wait
become the next batch. No request waits for others to arrive, and under load the batches grow. Other
texts go in small turns when no question waits; clients with many of them take turns.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from course_lib.records import SearchResult
from course_lib.service.problems import UnavailableError

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

Vector = npt.NDArray[np.float32]
Vectors = npt.NDArray[np.float32]

LARGEST_BATCH = 32
"""Questions that go through the model at once."""

TURN = 8
"""Other texts that do: a question that comes then waits for this many."""

QUESTION_BATCHES = 8
"""After so many batches of questions, other texts get a turn even though more questions wait."""

WAITING_LIMIT = 4096
"""Questions, and other texts of all clients, that may wait."""

CLIENT_LIMIT = 1024
"""Texts of one client that may wait."""

log = logging.getLogger("course.service")


class Embedder(Protocol):
    """What the service needs of a model: `EmbeddingClient` has it."""

    model_name: str

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    @property
    def prompts(self) -> Mapping[str, str]:
        """What goes before a question and before a passage."""

    def encode(self, texts: Sequence[str], batch_size: int = 32) -> Vectors:
        """Return one unit vector a text."""

    def encode_tokens(self, texts: Sequence[str], batch_size: int = 32) -> list[Vectors]:
        """Return one unit vector a word piece."""

    def rarity(self, text: str) -> Vectors:
        """Return how rare each word piece is."""


class Waiting(NamedTuple):
    """A text that waits for its vector."""

    text: str
    vector: asyncio.Future[Vector]


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
        self._questions: deque[Waiting] = deque()
        self._texts: dict[str, deque[Waiting]] = {}
        self._question_batches = 0
        self._arrived = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def is_ready(self) -> bool:
        """Whether the model is loaded and has encoded a first text."""
        return not self.problem

    def start(self) -> None:
        """Load the model in the background and begin to take texts."""
        self._tasks = [asyncio.create_task(self._load()), asyncio.create_task(self._work())]

    async def stop(self) -> None:
        """Let the model go; requests that still wait are refused."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        while self._arrived.is_set():
            _fail(self._next_batch(), UnavailableError("the service is stopping"))
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def encode(self, texts: Sequence[str], client: str) -> Vectors:
        """Return one unit vector a text, float32 of shape (len(texts), dimension).

        Parameters
        ----------
        texts
            Any number of them; they wait while there are questions.
        client
            Whose they are: the texts of several clients take turns.

        Raises
        ------
        UnavailableError
            If the model is not loaded, or too many texts wait already.
        """
        if self.problem:
            raise UnavailableError(self.problem)
        waiting = self._texts.get(client, ())
        in_all = sum(map(len, self._texts.values()))
        if len(waiting) + len(texts) > CLIENT_LIMIT or in_all + len(texts) > WAITING_LIMIT:
            raise UnavailableError("too many texts wait to be encoded")
        return await self._wait(self._texts.setdefault(client, deque()), texts)

    async def encode_question(self, question: str) -> Vector:
        """Return the unit vector of a question, under the model's prompt.

        Raises
        ------
        UnavailableError
            If the model is not loaded, or too many questions wait already.
        """
        if self.problem:
            raise UnavailableError(self.problem)
        if len(self._questions) >= WAITING_LIMIT:
            raise UnavailableError("too many questions wait to be encoded")
        prompt = self.embedder.prompts.get("query", "")
        [vector] = await self._wait(self._questions, [prompt + question])
        return cast("Vector", vector)

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

    async def _wait(self, queue: deque[Waiting], texts: Sequence[str]) -> Vectors:
        loop = asyncio.get_running_loop()
        vectors: list[asyncio.Future[Vector]] = [loop.create_future() for _ in texts]
        queue.extend(map(Waiting, texts, vectors))
        self._arrived.set()
        # A request that is cancelled cancels its vectors, and they are not computed.
        return np.stack(await asyncio.gather(*vectors))

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._arrived.wait()
            batch = self._next_batch()
            if not batch:
                continue
            texts = [one.text for one in batch]
            try:
                vectors = await loop.run_in_executor(self._thread, self.embedder.encode, texts)
            except Exception as error:  # noqa: BLE001
                _fail(batch, error)
                continue
            except asyncio.CancelledError:
                _fail(batch, UnavailableError("the service is stopping"))
                raise
            self.batches += 1
            self.texts += len(texts)
            for one, vector in zip(batch, vectors, strict=True):
                if not one.vector.done():
                    one.vector.set_result(vector)

    def _next_batch(self) -> list[Waiting]:
        """Take the next batch out of the queues: questions, or one text of each client in turn."""
        batch: list[Waiting] = []
        if self._questions and (self._question_batches < QUESTION_BATCHES or not self._texts):
            self._question_batches += 1
            while self._questions and len(batch) < LARGEST_BATCH:
                batch.append(self._questions.popleft())
        else:
            self._question_batches = 0
            while self._texts and len(batch) < TURN:
                # The first client's next text; then it is the last in line.
                client, texts = next(iter(self._texts.items()))
                del self._texts[client]
                batch.append(texts.popleft())
                if texts:
                    self._texts[client] = texts
        if not self._questions and not self._texts:
            self._arrived.clear()
        return [one for one in batch if not one.vector.done()]


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
        for start in range(0, len(order), TURN):
            places = order[start : start + TURN]
            turn = self._thread.submit(self._embedder.encode, [texts[at] for at in places])
            vectors[places] = turn.result()
        return vectors


def _fail(batch: Sequence[Waiting], error: Exception) -> None:
    for one in batch:
        if not one.vector.done():
            one.vector.set_exception(error)
