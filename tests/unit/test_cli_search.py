"""`course search` from a standing start: what it prints, how it ends, what it leaves alone."""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from course_lib.cli import plain
from course_lib.cli import search as search_module
from course_lib.cli.front_door import MODULES, build_app
from course_lib.embedder import EmbeddingClient
from course_lib.embedder.openvino_backend import installed_version
from tests.unit.command_line import Course

# What a search has no use for.
NOT_FOR_A_SEARCH = {
    "filelock",
    "httpx",
    "huggingface_hub",
    "kfp",
    "matplotlib",
    "pandas",
    "psutil",
    "rich",
    "sentence_transformers",
    "sqlite3",
    "torch",
    "transformers",
    "typer",
    "yaml",
}

LISTS_MODULES = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from course_lib.cli import main
main()
"""


def modules_after(*words: str, **environment: str) -> set[str]:
    """Run `course …` without settings and return the names of the modules that it imported."""
    # Settings that are set are judged by pydantic, which costs its import.
    unset = {name: value for name, value in os.environ.items() if not name.startswith("RAG_")}
    done = subprocess.run(
        [sys.executable, "-c", LISTS_MODULES, *words],
        env=unset | environment,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())


def test_a_search_imports_only_what_it_needs(course: Course, folder: Path) -> None:
    # Chooses an engine and converts the model where nobody has; an ingest of known texts does not.
    EmbeddingClient(cache=False).encode(["a purring animal"])
    if installed_version() is None:
        pytest.skip("on this machine torch encodes, and imports a lot")
    assert course("ingest", folder).returncode == 0
    imported = modules_after("search", "a purring animal", **course.environment)
    assert {"numpy", "psycopg", "tokenizers"} <= imported
    assert sorted(imported & NOT_FOR_A_SEARCH) == []


def test_every_command_is_found_by_its_first_word() -> None:
    everything = typer.main.get_command(build_app())
    names = list(everything.commands)  # type: ignore[attr-defined]
    assert sorted(names) == sorted(name for names in MODULES.values() for name in names)
    for name in names:
        alone = typer.main.get_command(build_app(name)).commands  # type: ignore[attr-defined]
        assert name in alone


ASK = inspect.signature(plain.ask)


def recorder(calls: list[dict[str, Any]]) -> Callable[..., None]:
    """Return a function that is called as `ask` is, and writes down with what."""

    def record(*arguments: Any, **options: Any) -> None:
        call = ASK.bind(*arguments, **options)
        call.apply_defaults()
        calls.append(call.arguments)

    return record


def called_at_once(words: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any] | None:
    """Return what `ask` is called with where the call is carried out at once."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(plain, "ask", recorder(calls))
    return calls[0] if plain.ask_at_once(words) else None


def called_by_typer(words: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any] | None:
    """Return what `ask` is called with where typer reads the call; None for a wrong call."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(search_module, "ask", recorder(calls))
    with pytest.raises(SystemExit):
        build_app("search")(["search", *words])
    return calls[0] if calls else None


VALUES = [
    *("3", "-1", "1_0", "٣", " 4 ", "0.5", "-.5", "1e400", "nan", "0x1"),
    *("", "x y", "=a", "-", "--", "-x", "\n"),
]
OPTIONS = ["-k", "--top-k", "-t", "-p", "--repo", "--kind", "--json", "--jso", "--unknown", "-h"]


def calls_with(option: str) -> Iterator[list[str]]:
    """Yield calls that give an option a value in every way to write it."""
    for value in VALUES:
        for given in ([option, value], [f"{option}{value}"], [f"{option}={value}"]):
            yield from (["q", *given], [*given, "q"], given, [value, *given], [*given, "--", value])


@pytest.mark.parametrize("option", OPTIONS)
def test_what_is_carried_out_at_once_is_what_typer_would_have_called(
    option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in calls_with(option):
        at_once = called_at_once(words, monkeypatch)
        if at_once is not None:
            assert at_once == called_by_typer(words, monkeypatch), words


def test_the_usual_calls_are_carried_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (
        ["what is drift?"],
        ["drift", "-k", "3", "-t", "0.5", "-p", "issues", "-p", "documentation"],
        ["--top-k=3", "--json", "drift", "--repo", "mine", "--branch", "", "--kind", "Service"],
    ):
        at_once = called_at_once(words, monkeypatch)
        assert at_once is not None
        assert at_once == called_by_typer(words, monkeypatch)


def test_a_terminal_gets_bold_and_dim_and_a_pipe_neither(course: Course, folder: Path) -> None:
    pty = pytest.importorskip("pty")
    course("ingest", folder / "cats.md")
    command = [sys.executable, "-c", "from course_lib.cli import main; main()", "search", "cat"]
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb") as terminal:
        subprocess.run(command, env=os.environ | course.environment, stdout=theirs, check=True)
        os.close(theirs)
        shown = terminal.readline().decode()
    assert shown.startswith(
        "\x1b[1m1. cats.md:1-3\x1b[0m  Cats  \x1b[2mscore 0.0328, similarity 0."
    )
    assert "\x1b" not in course("search", "cat").stdout
