"""The command `course`, as a person calls it: words and an environment in, what it said out.

Most calls run in this process, through the entry point that the installed package declares: the
model is then compiled once and not hundreds of times, and so is what typer makes of the signatures.
`in_a_process` starts a real one, for tests whose subject is a process: one that is killed, is one
of two, or serves.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer.main

from tests.blackbox.surface import EmbeddingClient, settings

PLAIN = {"COLUMNS": "120", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", "TERM": "dumb"}
"""What makes output the same wherever the tests run."""

FROM_OUTSIDE = (
    *("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_API_URL", "GITHUB_RAW_URL"),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_URL", "DATABASE_URL"),
)
"""Variables of the developer's own that no test may see."""


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code and what it printed."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return what a `--json` call printed, after making sure that it went well."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    def ok(self) -> str:
        """Return what it printed, after making sure that it went well."""
        assert self.code == 0, self.err + self.out
        return self.out

    def error(self, code: int = 1) -> str:
        """Return what it complained of, after making sure that it explained itself once."""
        assert (self.code, self.err.count("error: ") if code == 1 else 1) == (code, 1), self
        assert "Traceback" not in self.err
        return self.err


class Course:
    """`course …` with an environment of its own.

    Parameters
    ----------
    environment
        Variables that every call gets, such as DATABASE_URL.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def __call__(self, *words: str | Path, stdin: str = "", **environment: str) -> Done:
        """Run a command in this process."""
        out, err = _stream(), _stream()
        code = self._run(words, stdin, environment, out, err)
        return Done(code, _text(out), _text(err))

    def in_order(self, *words: str | Path, **environment: str) -> str:
        """Run a command in this process; return all that a person at a terminal reads."""
        both = _stream()
        self._run(words, "", environment, both, both)
        return _text(both)

    def _run(
        self,
        words: tuple[str | Path, ...],
        stdin: str,
        environment: dict[str, str],
        out: io.TextIOWrapper,
        err: io.TextIOWrapper,
    ) -> int:
        main = _entry_point()
        with (
            self._alone(environment),
            patch.object(sys, "argv", ["course", *map(str, words)]),
            # Under `python -m pytest` the program would call itself by that name.
            patch.object(sys.modules["__main__"], "__package__", None),
            patch.object(sys, "stdin", io.StringIO(stdin)),
            _once(),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            return _exit_code(main, err)

    def with_(self, **environment: str) -> Course:
        """Return the same command with further variables."""
        return Course(self.environment | environment)

    def in_a_process(self, *words: str | Path, **environment: str) -> Done:
        """Run a command in a process of its own and wait for its end."""
        with self.process(*words, **environment) as running:
            out, err = running.communicate(timeout=300)
        return Done(running.returncode, out, err)

    @contextmanager
    def process(self, *words: str | Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """Start a command in a process of its own; it is killed at the end of the block."""
        running = subprocess.Popen(
            [Path(sys.executable).with_name("course"), *map(str, words)],
            env=self._variables(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            yield running
        finally:
            if running.poll() is None:
                running.kill()
            running.communicate()

    def _variables(self, environment: dict[str, str]) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in FROM_OUTSIDE}
        return {**inherited, **PLAIN, **self.environment, **environment}

    @contextmanager
    def _alone(self, environment: dict[str, str]) -> Iterator[None]:
        """Give this process the call's environment, and take it back."""
        with patch.dict(os.environ, self._variables(environment), clear=True):
            settings.cache_clear()
            yield
        settings.cache_clear()


@contextmanager
def kept_vectors() -> Iterator[None]:
    """Let the commands of this process keep their vectors in .course/, as the labs do."""
    with patch.dict(EmbeddingClient.__init__.__kwdefaults__, cache=True):
        yield


_parameters = cache(typer.main.get_params_from_function)
_compiled: dict[object, Any] = {}


@contextmanager
def _once() -> Iterator[None]:
    """Do once for all commands what the packages do anew, and alike, in each process."""
    with ExitStack() as patches:
        found = patch.object(typer.main, "get_params_from_function", _parameters)
        patches.enter_context(found)
        if openvino := sys.modules.get("openvino"):
            compile_model = openvino.Core.compile_model

            def compiled(core: Any, model: str, device: str, options: dict[str, Any]) -> Any:
                key = (model, os.stat(model).st_mtime_ns, device, tuple(options.items()))
                if key not in _compiled:
                    _compiled[key] = compile_model(core, model, device, options)
                return _compiled[key]

            patches.enter_context(patch.object(openvino.Core, "compile_model", compiled))
        yield


@cache
def _entry_point() -> Any:
    (command,) = entry_points(group="console_scripts", name="course")
    return command.load()


def _exit_code(main: Any, err: io.TextIOWrapper) -> int:
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=err)
        return 1
    except BaseException:  # noqa: BLE001 - a process would print it and end with 1
        traceback.print_exc(file=err)
        return 1
    return 0


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.detach() if not stream.closed else None
    return buffer.getvalue().decode("utf-8") if isinstance(buffer, io.BytesIO) else ""
