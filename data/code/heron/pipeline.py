"""The feature pipeline: raw station readings go in, one row of features for each hour comes out.

Every step takes an iterable and yields, so that a month of readings never has to fit in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce

from heron.timing import timed

LATE_AFTER = timedelta(minutes=20)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a station reported, and when we heard of it."""

    station_id: int
    observed_at: datetime
    received_at: datetime
    bikes: int
    docks: int


@dataclass(frozen=True, slots=True)
class FeatureRow:
    """The features of one station at the end of one hour."""

    station_id: int
    hour: datetime
    bikes_available: int
    departures_60m: int
    share_full: float


Step = Callable[[Iterable[Reading]], Iterator[Reading]]


def drop_impossible(readings: Iterable[Reading]) -> Iterator[Reading]:
    """Leave out readings that no station can have made: negative counts."""
    return (reading for reading in readings if reading.bikes >= 0 and reading.docks >= 0)


def drop_late(readings: Iterable[Reading]) -> Iterator[Reading]:
    """Leave out what arrived after the hour was closed.

    The online store never saw those readings, so training on them would teach the model something
    that it will not know when it serves.
    """
    for reading in readings:
        if reading.received_at - reading.observed_at <= LATE_AFTER:
            yield reading


def drop_repeats(readings: Iterable[Reading]) -> Iterator[Reading]:
    """Leave out a reading that is the same as the station's one before it, except for its time."""
    last: dict[int, tuple[int, int]] = {}
    for reading in readings:
        counts = (reading.bikes, reading.docks)
        if last.get(reading.station_id) != counts:
            last[reading.station_id] = counts
            yield reading


def compose(*steps: Step) -> Step:
    """Return one step that applies the given ones from left to right."""

    def composed(readings: Iterable[Reading]) -> Iterator[Reading]:
        return iter(reduce(lambda stream, step: step(stream), steps, readings))

    return composed


def start_of_hour(moment: datetime) -> datetime:
    """Round a moment down to its hour."""
    return moment.replace(minute=0, second=0, microsecond=0)


class HourlyAggregator:
    """Collects the readings of each station until its hour is over, then gives one row for it.

    Readings of a station must come in the order of their time; stations may be mixed. An hour
    without a single reading gives no row: an invented zero would look like an empty station.
    """

    def __init__(self) -> None:
        """Start with no station known."""
        self._open: dict[int, deque[Reading]] = {}

    def add(self, reading: Reading) -> FeatureRow | None:
        """Take one reading; return the row of the hour that it closes, if it closes one."""
        held = self._open.setdefault(reading.station_id, deque())
        closed = None
        if held and start_of_hour(reading.observed_at) > start_of_hour(held[-1].observed_at):
            closed = self._summarise(held)
            held.clear()
        held.append(reading)
        return closed

    def flush(self) -> Iterator[FeatureRow]:
        """Close every hour that is still open, at the end of the stream."""
        for held in self._open.values():
            if held:
                yield self._summarise(held)
        self._open.clear()

    @staticmethod
    def _summarise(held: deque[Reading]) -> FeatureRow:
        falls = (max(0, a.bikes - b.bikes) for a, b in zip(held, list(held)[1:], strict=False))
        full = sum(reading.docks == 0 for reading in held)
        last = held[-1]
        hour = start_of_hour(last.observed_at) + HOUR
        return FeatureRow(last.station_id, hour, last.bikes, sum(falls), full / len(held))


@timed("features.build")
def build_features(readings: Iterable[Reading]) -> list[FeatureRow]:
    """Clean the readings and turn them into rows, in the order in which the hours were closed."""
    aggregator = HourlyAggregator()
    clean = compose(drop_impossible, drop_late, drop_repeats)
    rows = [row for reading in clean(readings) if (row := aggregator.add(reading)) is not None]
    rows.extend(aggregator.flush())
    return rows
