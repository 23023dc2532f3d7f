"""Measuring side by side: callables take turns, and the medians of their times are compared.

Turns rather than one after the other, because what else the machine does changes by the second;
medians, because a single disturbed turn must not count; CPU time where the work is ours alone.
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Timed = Callable[[], float]
Name = TypeVar("Name")


@dataclass(frozen=True)
class Row:
    """One line of the table: ours against a named peer or limit, measured in the same run.

    `ratio` says how many times better ours is than the peer (time: peer / ours); `goal` is the
    smallest ratio to reach, None where there is none.
    """

    part: str
    what: str
    peer: str
    ours: float
    theirs: float
    unit: str
    ratio: float
    goal: float | None = None
    note: str = ""

    @property
    def reached(self) -> bool | None:
        return None if self.goal is None else self.ratio >= self.goal


def cpu(function: Callable[[], object]) -> Timed:
    """Return a callable that runs `function` and returns the CPU seconds it took."""

    def timed() -> float:
        begin = time.process_time()
        function()
        return time.process_time() - begin

    return timed


def wall(function: Callable[[], object]) -> Timed:
    """Return a callable that runs `function` and returns the seconds it took, waiting included."""

    def timed() -> float:
        begin = time.perf_counter()
        function()
        return time.perf_counter() - begin

    return timed


def take_turns(contestants: Mapping[Name, Timed], turns: int = 7) -> dict[Name, float]:
    """Run all contestants `turns` times in turn, after one turn to warm up; return the medians."""
    for contestant in contestants.values():
        contestant()
    times: dict[Name, list[float]] = {name: [] for name in contestants}
    for turn in range(turns):
        names = list(contestants)
        # Nobody always comes first.
        for name in names if turn % 2 == 0 else reversed(names):
            times[name].append(contestants[name]())
    return {name: statistics.median(values) for name, values in times.items()}


def hardware() -> str:
    """Return the processor's name, the number of cores and the operating system."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"model name\s*:\s*(.+)", info.read_text(encoding="utf-8"))
        name = found[1] if found else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


def load() -> float:
    """Return the load average of the last minute; 0 where the system has none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
