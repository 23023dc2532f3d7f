"""Peers live in an environment of their own, so that they pin nothing of ours.

A peer is a small program in `peers/` that runs in that environment: it reads one JSON object a
line, does the work, and answers with one line, the CPU seconds it took among it.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import venv
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from course_lib.settings import state_dir

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "peers" / "requirements.txt"
NBGRADER = HERE / "peers" / "nbgrader.txt"
VECTOR_STORES = HERE / "peers" / "search.txt"


class PeerError(RuntimeError):
    """A peer's environment cannot be made, or the peer failed."""


def peer_python(requirements: Path = REQUIREMENTS) -> Path:
    """Return the interpreter of the peers' environment, which is made when missing or changed."""
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    folder = state_dir() / "bench" / digest
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done = folder / "done"
    if not done.exists():
        print(f"making the peers' environment ({requirements.name}), once", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode:
            raise PeerError(f"the peers could not be installed:\n{answer.stderr[-2000:]}")
        done.touch()
    return python


class Peer:
    """A running peer: `ask(...)` sends a request and returns the answer."""

    def __init__(self, program: str, requirements: Path = REQUIREMENTS) -> None:
        self._process = subprocess.Popen(
            [str(peer_python(requirements)), str(HERE / "peers" / program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=os.name == "posix",  # Ctrl-C is ours to pass on
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"the peer ended with exit code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin
        if kind is not None:
            self._process.terminate()  # whatever it was asked, nobody waits for the answer
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(timeout=30)
