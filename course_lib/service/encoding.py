"""Encoding beside the event loop: questions that arrive together go through the model together.

One thread owns the model. While it works on a batch, requests queue up, and the questions that wait
become the next batch. No request waits for others to arrive, and under load the batches grow. Other
texts go in small turns when no question waits, and so does the reading of a reranker. Of each queue
the clients take turns: whoever asks much waits for itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from course_lib.records import SearchResult
from course_lib.service.problems import UnavailableError

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

Vectors = npt.NDArray[np.float32]

LARGEST_BATCH = 32
"""Questions that go through the model at once."""

TURN = 8
"""Other texts that do: a question that comes then waits for this many."""

TURN_CHARACTERS = 20_000
"""Characters after which no further text is taken: word pieces are made of all of a text."""

QUESTION_BATCHES = 8
"""After so many batches of questions, other texts get a turn even though more questions wait."""

WAITING_LIMIT = 4096
"""Questions, and other texts of all clients, that may wait."""

CLIENT_LIMIT = 1024
"""Texts of one client that may wait."""

log = logging.getLogger("course.service")


class Waiting(NamedTuple):
    """A text that waits for its vector, or other work for the model's thread."""

    work: str | Callable[[], Any]
    result: asyncio.Future[Any]


class Turns:
    """What waits, of several clients, who take turns."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Waiting]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def of(self, client: str) -> int:
        """Return how many a client has."""
        return len(self._waiting.get(client, ()))

    def add(self, client: str, waiting: Sequence[Waiting]) -> None:
        """Put some at the end of a client's."""
        self._waiting.setdefault(client, deque()).extend(waiting)

    def take(self, most: int) -> list[Waiting]:
        """Take one of each client in turn: up to so many texts that are not too long, or one job.

        Examples
        --------
        >>> turns = Turns()
        >>> turns.add("a", [Waiting("1", None), Waiting("2", None)])
        >>> turns.add("b", [Waiting("3", None)])
        >>> [one.work for one in turns.take(5)]
        ['1', '3', '2']
        """
        batch: list[Waiting] = []
        characters = 0
        while self._waiting and len(batch) < most and characters < TURN_CHARACTERS:
            client, waiting = next(iter(self._waiting.items()))
            if batch and not isinstance(waiting[0].work, str):
                break
            del self._waiting[client]  # the next time it is the last in line
            batch.append(waiting.popleft())
            if waiting:
                self._waiting[client] = waiting
            if not isinstance(work := batch[-1].work, str):
                break
            characters += len(work)
        return batch


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
        self.problem = "the model is being loaded"
        self.is_loading = True
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="encoder")
        self._questions = Turns()
        self._others = Turns()
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
        return np.stack(await self._wait(self._others, texts, client))

    async def encode_question(self, question: str, client: str) -> Vectors:
        """Return the unit vector of a client's question, under the model's prompt.

        Raises
        ------
        UnavailableError
            If the model is not loaded, or too many questions wait already.
        """
        prompt = self.embedder.prompts.get("query", "")
        [vector] = await self._wait(self._questions, [prompt + question], client)
        return cast("Vectors", vector)

    async def rerank(
        self, question: str, results: Sequence[SearchResult], client: str
    ) -> list[SearchResult]:
        """Return search results in the order of their late interaction with a client's question.

        Raises
        ------
        UnavailableError
            If the model is not loaded, or too much waits already.
        """
        from course_lib.retriever import rerank_maxsim

        work = partial(rerank_maxsim, self.embedder, question, results)
        [ordered] = await self._wait(self._others, [work], client)
        return cast("list[SearchResult]", ordered)

    def from_thread(self) -> EmbeddingClient:
        """Return a view for code that runs in another thread and encodes whole files."""
        return cast("EmbeddingClient", _SharedEmbedder(self.embedder, self._thread))

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

    async def _wait(
        self, turns: Turns, works: Sequence[str | Callable[[], Any]], client: str
    ) -> list[Any]:
        if self.problem:
            raise UnavailableError(self.problem)
        if turns.of(client) + len(works) > CLIENT_LIMIT or len(turns) + len(works) > WAITING_LIMIT:
            raise UnavailableError("too many texts wait to be encoded")
        loop = asyncio.get_running_loop()
        results: list[asyncio.Future[Any]] = [loop.create_future() for _ in works]
        turns.add(client, list(map(Waiting, works, results)))
        self._arrived.set()
        # A request that is cancelled cancels its vectors, and they are not computed.
        return await asyncio.gather(*results)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._arrived.wait()
            batch = self._next_batch()
            if not batch:
                continue
            try:
                results = await loop.run_in_executor(self._thread, self._done, batch)
            except Exception as error:  # noqa: BLE001
                _fail(batch, error)
                continue
            except asyncio.CancelledError:
                _fail(batch, UnavailableError("the service is stopping"))
                raise
            for one, result in zip(batch, results, strict=True):
                if not one.result.done():
                    one.result.set_result(result)

    def _done(self, batch: Sequence[Waiting]) -> Sequence[Any]:
        """Do a batch, in the model's thread."""
        if not isinstance(batch[0].work, str):
            return [batch[0].work()]
        vectors = self.embedder.encode([cast("str", one.work) for one in batch])
        self.batches += 1
        self.texts += len(batch)
        return list(vectors)

    def _next_batch(self) -> list[Waiting]:
        """Take the next batch out of the queues: questions, or a turn of what else there is."""
        if self._questions and (self._question_batches < QUESTION_BATCHES or not self._others):
            self._question_batches += 1
            batch = self._questions.take(LARGEST_BATCH)
        else:
            self._question_batches = 0
            batch = self._others.take(TURN)
        if not self._questions and not self._others:
            self._arrived.clear()
        return [one for one in batch if not one.result.done()]


class _SharedEmbedder:
    """An embedder for other threads: its texts go through the one model in small turns.

    Questions that arrive meanwhile are encoded between two turns.
    """

    def __init__(self, embedder: EmbeddingClient, thread: ThreadPoolExecutor) -> None:
        self._embedder, self._thread = embedder, thread

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
        if not one.result.done():
            one.result.set_exception(error)
