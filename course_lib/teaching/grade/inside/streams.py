"""What cells and checks put out, as the messages of a kernel, up to limits."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable
from typing import Any

# What a learner puts into `builtins` does not reach the functions below.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

PRINTED = 1_000_000
"""Characters that one cell may print before the rest is dropped."""

SHOWN = 2_000_000
"""Characters of one displayed object."""

Report = Callable[[dict[str, Any]], None]


class Printed(io.TextIOBase):
    """A standard stream whose text goes to the grader, up to a limit."""

    def __init__(self, name: str, report: Report) -> None:
        self.name = name
        self.report = report
        self.left = PRINTED
        self.waiting: list[str] = []
        self.size = 0

    def writable(self) -> bool:
        """Tell that it can be written to."""
        return True

    def write(self, text: str) -> int:
        """Take text; more than the limit is dropped."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.left > 0:
            kept = text[: self.left]
            self.left -= len(kept)
            self.waiting.append(kept)
            self.size += len(kept)
            if self.left <= 0:
                self.waiting.append("\n… what is printed further is left out\n")
            if self.size > 50_000:
                self.flush()
        return len(text)

    def flush(self) -> None:
        """Send what has been taken."""
        if self.waiting:
            text, self.waiting, self.size = "".join(self.waiting), [], 0
            self.report(message("stream", name=self.name, text=clean(text)))


def message(kind: str, **content: Any) -> dict[str, Any]:
    """Return a message as a kernel publishes it."""
    return {"message": {"msg_type": kind, "content": content}}


def display(kind: str, data: Any, metadata: Any) -> dict[str, Any]:
    """Return the message of something displayed: its texts, up to a limit."""
    kept = {}
    for mime, value in dict(data).items():
        if isinstance(value, bytes):
            continue
        if isinstance(value, str):
            kept[str(mime)] = clean(value[:SHOWN])
    return message(kind, data=kept, metadata={})


def clean(text: str) -> str:
    """Return text that can be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Streams:
    """Standard output and error go to the grader; what the learner put there instead is undone."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.streams: tuple[Printed, ...] = ()

    def __enter__(self) -> None:
        self.streams = Printed("stdout", self.report), Printed("stderr", self.report)
        sys.stdout, sys.stderr = self.streams

    def __exit__(self, *_: object) -> None:
        self.flush()

    def flush(self) -> None:
        """Send what has been printed."""
        for stream in self.streams:
            stream.flush()
