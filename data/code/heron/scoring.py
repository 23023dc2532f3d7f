"""Batch scoring: asks the forecast API for every station of a city, many at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

Ask = Callable[[Sequence[int]], Awaitable[list[float]]]


@dataclass(frozen=True)
class Forecast:
    """How many bicycles a station is expected to have."""

    station_id: int
    hours_ahead: int
    bikes: float

    def to_json(self) -> str:
        """Return one line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))


def batches(stations: Iterable[int], size: int) -> Iterable[list[int]]:
    """Yield lists of at most `size` stations."""
    batch: list[int] = []
    for station in stations:
        batch.append(station)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


class Scorer:
    """Scores stations with a limit on how many requests are under way at once.

    A batch that fails is split in two and tried again, down to a single station: one station with
    impossible features must not cost the other sixty-three their forecast.
    """

    def __init__(self, ask: Ask, *, batch_size: int = 64, in_flight: int = 8) -> None:
        """Keep the function that asks the API."""
        self._ask = ask
        self._batch_size = batch_size
        self._gate = asyncio.Semaphore(in_flight)
        self.failed: list[int] = []

    async def score(self, stations: Iterable[int], hours: int = 1) -> AsyncIterator[Forecast]:
        """Yield forecasts as they arrive, in no particular order."""
        tasks = [
            asyncio.create_task(self._score_batch(batch, hours))
            for batch in batches(stations, self._batch_size)
        ]
        for done in asyncio.as_completed(tasks):
            for forecast in await done:
                yield forecast

    async def _score_batch(self, batch: list[int], hours: int) -> list[Forecast]:
        async def attempt() -> list[float]:
            async with self._gate:
                return await self._ask(batch)

        try:
            values = await attempt()
        except ValueError:
            if len(batch) == 1:
                self.failed.extend(batch)
                return []
            middle = len(batch) // 2
            halves = (batch[:middle], batch[middle:])
            parts = await asyncio.gather(*(self._score_batch(half, hours) for half in halves))
            return [forecast for part in parts for forecast in part]
        pairs = zip(batch, values, strict=True)
        return [Forecast(station, hours, value) for station, value in pairs]


async def score_city(ask: Ask, stations: Sequence[int], hours: int = 1) -> list[Forecast]:
    """Score all stations of a city and return them in the order of their numbers."""
    scorer = Scorer(ask)
    found = [forecast async for forecast in scorer.score(stations, hours)]
    return sorted(found, key=lambda forecast: forecast.station_id)
