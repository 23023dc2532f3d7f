"""A language model on this machine: a GGUF file, read by llama.cpp (the package xllamacpp).

llama.cpp's own server speaks OpenAI's protocol, so the generator is that one with another address.
The server is a process of its own, `llama_server`; it is started by the first question and kept for
the next ones, until the process that asked ends.
"""

from __future__ import annotations

import atexit
import json
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NoReturn

import psutil

from course_lib.answers.generators.base import GenerationError, Request
from course_lib.answers.generators.openai_compatible import OpenAICompatible
from course_lib.answers.tokens import DEFAULT_WINDOW
from course_lib.settings import state_dir

if TYPE_CHECKING:
    import openai

__all__ = ["Local", "model_file"]

PACKAGE = "xllamacpp"
ROOM_PER_TOKEN = 64 << 10
"""Bytes that a token of the window takes, of a model with up to 3 billion parameters."""

BESIDE = 512 << 20
"""Bytes that llama.cpp takes beside file and window: a file of 1.1 GB took 2.1 GB in all."""

HOW_TO_GET_ONE = (
    "`make model` fetches one (1.1 GB); RAG_MODEL_FILE names any GGUF file. "
    "Or answer without it: --backend ollama, or --backend extractive."
)


def model_file() -> Path:
    """Return where `make model` puts its file, which RAG_MODEL_FILE replaces."""
    return state_dir() / "models" / "language-model.gguf"


class Local(OpenAICompatible):
    """A model that llama.cpp runs on this machine.

    Parameters
    ----------
    file
        A GGUF file; None takes the one that `make model` made.
    window
        Tokens of question and answer together; they take memory from the start on.
    margin
        Tokens of the window that stay free.
    threads
        CPU threads; None is one for each core.

    Raises
    ------
    GenerationError
        If the package or the file is missing, or the file is not a GGUF file.
    """

    name = "local"
    other_ways = HOW_TO_GET_ONE

    def __init__(
        self,
        file: Path | None = None,
        *,
        window: int | None = None,
        margin: int = 512,
        threads: int | None = None,
    ) -> None:
        self.file = file or model_file()
        self.threads = threads
        window = window or DEFAULT_WINDOW
        _check(self.file)
        # Reading a long prompt takes minutes on a small machine, and sending it again as many more.
        super().__init__(
            self.file.stem, api_key="-", base_url="http://127.0.0.1", timeout=None,
            margin=margin, window=window, retries=0,
        )  # fmt: skip

    def stream(self, request: Request) -> Iterator[str]:
        """Yield the pieces of the answer; see `Generator.stream`."""
        server = Server.of(self.file, self.window, self.threads)
        self.url, self._key = server.url, server.key
        return super().stream(request)

    def _refusal(self, error: openai.OpenAIError) -> tuple[str, str]:
        """Return what the server did, and what to do."""
        server = Server.running[self.file, self.window, self.threads]
        if server.process.poll() is not None:
            return f"has ended: {server.last_words()}", "Ask again: it is started again."
        if "context" in str(error):
            hint = "Raise RAG_CONTEXT_WINDOW, or lower --top-k."
            return f"says that the prompt is longer than {self.window} tokens", hint
        return f"cannot answer with {self.file.name}: {error}", "Try another GGUF file."


class Server:
    """llama.cpp's server for one file, in a process of its own.

    Parameters
    ----------
    file, window, threads
        See `Local`.

    Raises
    ------
    GenerationError
        If there is too little memory for the file, or llama.cpp cannot load it.
    """

    running: dict[tuple[Path, int, int | None], Server] = {}
    starting = Lock()

    def __init__(self, file: Path, window: int, threads: int | None) -> None:
        _check_memory(file, window)
        self.key = secrets.token_urlsafe()
        self.errors = tempfile.TemporaryFile()
        asked = {"file": str(file), "window": window, "key": self.key, "threads": threads}
        command = [sys.executable, "-m", "course_lib.answers.generators.llama_server"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            encoding="utf-8",
        )  # fmt: skip
        atexit.register(self.stop)
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
            address = self.process.stdout.readline().strip()
        except (OSError, KeyboardInterrupt) as error:
            self.stop()
            if isinstance(error, KeyboardInterrupt):
                raise
            address = ""
        if not address:
            self._not_loaded(file)
        self.url = f"{address}/v1"

    @classmethod
    def of(cls, file: Path, window: int, threads: int | None) -> Server:
        """Return the server of this process for a file; start one where none runs."""
        key = (file, window, threads)
        with cls.starting:
            server = cls.running.get(key)
            if server is None or server.process.poll() is not None:
                server = cls.running[key] = cls(*key)
            return server

    def last_words(self) -> str:
        """Return the last line that llama.cpp printed."""
        self.errors.seek(0)
        lines = self.errors.read().decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()

    def _not_loaded(self, file: Path) -> NoReturn:
        self.process.wait(10)
        raise GenerationError(
            f"llama.cpp cannot load {file}: {self.last_words()}",
            hint=f"Is it a whole GGUF file of a chat model? {HOW_TO_GET_ONE}",
        )


def _check(file: Path) -> None:
    """Refuse what cannot work."""
    try:
        with file.open("rb") as opened:
            start = opened.read(4)
    except OSError as error:
        raise GenerationError(
            f"there is no model at {file} ({error.strerror})", hint=HOW_TO_GET_ONE
        ) from None
    if start != b"GGUF":
        raise GenerationError(f"{file} is not a GGUF file", hint=HOW_TO_GET_ONE)
    if find_spec(PACKAGE) is None:
        raise GenerationError(
            f"the package {PACKAGE} is not installed, which runs a model on this machine",
            hint=f"`make model` installs it. {HOW_TO_GET_ONE}",
        )


def _check_memory(file: Path, window: int) -> None:
    needed = file.stat().st_size + window * ROOM_PER_TOKEN + BESIDE
    free = psutil.virtual_memory().available
    if needed > free:
        raise GenerationError(
            f"{file.name} needs about {needed >> 20:,} MB of memory; {free >> 20:,} MB are free",
            hint="Close other programs, lower RAG_CONTEXT_WINDOW, or take a smaller model. "
            f"{HOW_TO_GET_ONE}",
        )
