"""The prompt for generated code, and what it carries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from course_lib.errors import InputError
from course_lib.xray import LockFiles, TableDescriber, generation_prompt, sync_project
from course_lib.xray.generation import instruction_above

Conn = psycopg.Connection[Any]
LOCK = LockFiles({"requirements.txt": "spotipy==2.25.1\nstripe==12.4.0\nrich==14.1.0"})


@pytest.fixture
def filled(conn: Conn, client: Any) -> Conn:
    sync_project(conn, "app", LOCK, embedder=client, describer=TableDescriber())
    return conn


def test_a_shell_script_has_an_instruction_and_no_packages(
    filled: Conn, client: Any, tmp_path: Path
) -> None:
    file = tmp_path / "backup.sh"
    file.write_text("#!/bin/sh\n# Copy the database\n", encoding="utf-8")
    made = generation_prompt(file, 3, conn=filled, embedder=client, project="app")
    assert "Copy the database" in made.text and "packages" not in made.text


def test_a_long_file_is_carried_from_near_the_cursor(
    filled: Conn, client: Any, tmp_path: Path
) -> None:
    file = tmp_path / "long.py"
    lines = [f"line_{number} = {number}" for number in range(1, 200)]
    file.write_text("\n".join([*lines, "# Plot them", ""]), encoding="utf-8")
    made = generation_prompt(file, 201, conn=filled, embedder=client, project="app")
    assert "line_199 =" in made.text and "line_100 =" not in made.text


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("a.py", b"x = 1\n", 2, "no comment above"),
        ("a.py", b"# Do it\n", 9, "no line 9"),
        ("a.txt", b"# Do it\n", 2, "language of a.txt is not known"),
        ("a.py", b"# \xff\n", 2, "cannot be read"),
    ],
)
def test_what_cannot_be_asked_is_explained(
    filled: Conn, tmp_path: Path, name: str, text: bytes, line: int, message: str
) -> None:
    file = tmp_path / name
    file.write_bytes(text)
    with pytest.raises(InputError, match=message):
        generation_prompt(file, line, conn=filled, embedder=None, project="app")
    with pytest.raises(InputError, match="cannot be read"):
        generation_prompt(tmp_path / "none.py", 1, conn=filled, embedder=None, project="app")


WANTED = "Fetch the top charts from Spotify"


@pytest.mark.parametrize(
    "text",
    [
        "# Fetch the top charts\n# from Spotify\n",
        "x = 1  # not this\n\n  # Fetch the top charts from Spotify\n\n\n",
        "#!/bin/sh\n# Fetch the top charts\n# from Spotify\n",
        "let a = 1 // not this\n// Fetch the top charts\n// from Spotify\n",
        "fn main() {}\n/// Fetch the top charts\n//! from Spotify\n",
    ],
)
def test_the_comment_above_the_cursor_is_the_instruction(text: str) -> None:
    lines = text.splitlines()
    line = len(lines) + 1
    assert instruction_above(lines, line) == WANTED
    # What is at and below the cursor does not matter.
    assert instruction_above([*lines, "", "# Below", "// Below"], line) == WANTED


@pytest.mark.parametrize(
    "text", ["# Something else\n\nx = 1\n", "run(); // after code\n", "#!/bin/sh\n", "", "\n\n\n"]
)
def test_where_no_comment_is_directly_above_there_is_no_instruction(text: str) -> None:
    lines = text.splitlines()
    assert instruction_above(lines, len(lines) + 1) == ""


def test_the_cursor_may_be_on_the_comment_itself() -> None:
    lines = ["# Fetch the top charts", "# from Spotify", "x = 1"]
    assert instruction_above(lines, 2) == instruction_above(lines, 3) == WANTED
    assert instruction_above(lines, 1) == "Fetch the top charts"
