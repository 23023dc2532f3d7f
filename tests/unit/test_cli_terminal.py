"""What commands print on a terminal: what others wrote is shown there, and does nothing."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.settings import state_dir
from tests.blackbox.course import Course
from tests.blackbox.language_models import model_that_says

HOSTILE = "\x1b]0;owned\x07 \x1b[2J \x9b2J \u202e\x7f\b\r"
"""A new title for the window, the screen cleared twice, text from right to left, and more."""


RUN_ALL = """
import json, sys
from course_lib.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit:
        pass
    print("=" * 70, flush=True)
"""
"""A process for several commands, which loads the model once."""


def on_a_terminal(
    course: Course, *commands: tuple[str | Path, ...], **environment: str
) -> list[str]:
    """Run `course …` on a terminal and return all that it got to show, for each command."""
    pty = pytest.importorskip("pty")
    words = json.dumps([[str(word) for word in command] for command in commands])
    ours, theirs = pty.openpty()
    given = os.environ | course.environment | environment
    with subprocess.Popen(
        [sys.executable, "-c", RUN_ALL, words], env=given, stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
    os.close(ours)
    *found, rest = shown.decode().replace("\r\n", "\n").split("=" * 70 + "\n")
    assert len(found) == len(commands) and not rest, rest
    return found


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other end is closed
        return b""


def is_harmless(shown: str) -> bool:
    """Return whether a text holds nothing that a terminal obeys but our own bold, dim and red."""
    for ours in ("\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"):
        shown = shown.replace(ours, "")
    return all(character.isprintable() or character in "\n\t" for character in shown)


def test_commands_show_a_hostile_text_harmlessly(course: Course, folder: Path) -> None:
    """What a terminal obeys in a file's name, heading and lines: shown by seven commands."""
    file = folder / "cats\x1b]0;named\x07.md"
    file.write_text(f"# Cats {HOSTILE}\n\nA cat purrs {HOSTILE} loudly.\n", encoding="utf-8")
    (folder / "chunks.jsonl").write_text(json.dumps({HOSTILE: HOSTILE}) + "\n", encoding="utf-8")
    commands: tuple[tuple[str | Path, ...], ...] = (
        ("ingest", folder),
        ("split", file),
        ("search", "a cat purrs"),
        ("ask", "what does a cat do?", "--show-sources"),
        ("structure", folder, "--out", "-"),
        ("validate", folder / "chunks.jsonl"),
        ("ingest", folder / f"none{HOSTILE}.md"),
    )
    for words, shown in zip(commands, on_a_terminal(course, *commands), strict=True):
        assert shown and is_harmless(shown), (words, shown)
        assert "Traceback" not in shown


def test_a_search_is_bold_and_dim_on_a_terminal_alone_and_json_means_what_it_meant(
    course: Course, folder: Path
) -> None:
    text = "# Cats\n\nA cat purrs \x1b[2J \x9b2J \u202e\x7f loudly."
    (folder / "cats.md").write_text(text, encoding="utf-8")
    course("ingest", folder / "cats.md")
    search = ("search", "a cat purrs")
    shown, as_json = on_a_terminal(course, search, (*search, "--json"))
    bold = "\x1b[1m1. cats.md:1-3\x1b[0m  Cats  \x1b[2mscore 0.0328, similarity 0."
    assert shown.startswith(bold)
    assert "\x1b" not in course(*search).ok()
    assert is_harmless(as_json)
    assert json.loads(as_json)[0]["content"] == text


def test_a_models_edit_is_shown_harmlessly_and_written_as_it_is(
    course: Course, tmp_path: Path
) -> None:
    """The difference and the file on a terminal; in a pipe, --stdout is the file to the byte."""
    file = tmp_path / "cats.txt"
    file.write_text("A cat.\nA dog \x1b[2J\n", encoding="utf-8")
    said = f"A cat {HOSTILE.rstrip()}.\nA dog \x1b[2J\n"
    words = ("edit", file, "--edit", "Say more.", "--top-k", "0")
    with model_that_says("<<BEGIN_FILE>>\n", said, "<<END_FILE>>\n") as server:
        environment = server.environment("ollama") | {"RAG_REPO_ROOT": str(tmp_path)}
        for shown in on_a_terminal(course, words, (*words, "--stdout"), **environment):
            assert "]0;owned" in shown and is_harmless(shown), shown
        assert course(*words, "--stdout", **environment).ok() == said


def test_only_the_state_folders_own_files_can_go_elsewhere_with_course_state(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        raise OSError(errno.EROFS, "Read-only file system", place)

    monkeypatch.setattr("course_lib.cli._run", refused)
    for place, is_state in ((state_dir() / "models" / "new", True), (Path("/mnt/run.json"), False)):
        done = course("settings")
        said = done.error()
        assert done.out == ""
        assert f"{place} cannot be written: Read-only file system" in said
        assert ("COURSE_STATE" in said, "Name another place" in said) == (is_state, not is_state)


def test_a_file_that_nobody_looked_at_before_is_named_and_no_traceback_comes(
    course: Course, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("course_lib.cli._run", (tmp_path / "gone").read_bytes)
    done = course("settings")
    assert (
        done.out == ""
        and done.error()
        == f"error: {tmp_path / 'gone'}: No such file or directory\nCheck the path.\n"
    )
