"""Files and folders of somebody who means harm: what a command makes of them, and what it costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.blackbox.course import Course
from tests.blackbox.language_models import COMPLETIONS, Reply, models
from tests.blackbox.places import Place

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of the system, devices")

LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
resource.setrlimit(resource.RLIMIT_DATA, (1_500_000_000,) * 2)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def limited(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `course` with 60 s of the processor and 1.5 GB, of which half is what it maps anyway."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, Path(sys.executable).with_name("course"), *words],
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


MEGABYTES = {
    "name.yaml": f"kind: Pod\nmetadata:\n  name: {'n' * 1_000_000}\n",
    "quoted.yaml": f'kind: "{chr(92) * 100_000}\nmetadata: "{"x" * 900_000}',
    "escaped.ipynb": json.dumps({"nbformat": 4, "cells": [
        {"cell_type": "code", "source": [f"é{number}\n" for number in range(100_000)]}
    ]}),
}  # fmt: skip


@linux
def test_megabytes_are_split_within_a_minute(tmp_path: Path) -> None:
    """A resource's name is not joined for each piece, nor a file searched to its end for a line."""
    for name, text in MEGABYTES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = limited("load", tmp_path, "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done


@linux
def test_a_lock_file_of_dots_costs_no_memory(place: Any, tmp_path: Path) -> None:
    """Python's parser copies a dotted key for each of its parts: 100 kB were 3.6 GB."""
    (tmp_path / "poetry.lock").write_text("a." * 50_000 + "b = 1\n", encoding="utf-8")
    done = limited("xray", "scan", tmp_path, "--project", "evil", **place.course.environment)
    assert done.returncode == 1
    assert "poetry.lock that can be read: line 1 has a key of over 100 parts" in done.stderr


@linux
def test_a_line_without_an_end_is_refused(place: Any) -> None:
    done = limited("validate", "/dev/zero", **place.course.environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert "/dev/zero has a line of more than 150 MB" in done.stderr


def test_an_answer_without_an_end_is_broken_off(filled: Any) -> None:
    """A model's server may send a line forever; or one that unpacks to gigabytes."""
    for reply in (
        Reply([b"data: " + b"x" * 40_000_000], end="hangs"),
        Reply([b"\x1f\x8b"], headers={"Content-Encoding": "gzip"}),
    ):
        with models({COMPLETIONS: reply}) as server:
            said = filled.course("ask", "What is a feature store?", **server.openai).error()
        assert "broke off" in said or "cannot be reached" in said


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_the_page_of_a_structure_is_not_written_through_a_link(
    course: Course, tmp_path: Path
) -> None:
    """A repository that was cloned could have any file of its reader's overwritten."""
    mine = tmp_path / "mine.txt"
    mine.write_text("mine", encoding="utf-8")
    for name, target in (("STRUCTURE.md", mine), ("docs", tmp_path)):
        repository = tmp_path / f"with-{name}"
        repository.mkdir()
        (repository / "a.md").write_text("# A\n", encoding="utf-8")
        (repository / name).symlink_to(target)
        page = "docs/mine.txt" if name == "docs" else "STRUCTURE.md"
        said = course("structure", repository, RAG_STRUCTURE_PATH=page).error()
        assert "is a link, or in a folder that is one" in said
    assert mine.read_text(encoding="utf-8") == "mine"


@linux
def test_a_word_of_a_hundred_thousand_letters_is_a_question_like_others(filled: Any) -> None:
    """What looks like a name was searched in quadratic time: over a minute for this one."""
    done = limited("ask", "x" * 100_000, **filled.course.environment)
    assert done.returncode == 0, done


@pytest.mark.skipif(os.name == "nt", reason="names with line breaks")
def test_a_state_folder_with_a_line_break_is_refused_and_not_waited_for(
    course: Course, tmp_path: Path
) -> None:
    state = tmp_path / "two\nlines"
    without = {"DATABASE_URL": "", "COURSE_STATE": str(state)}
    said = course("search", "anything", **without).error()
    assert "holds a line break" in said and not state.exists()


def test_a_schema_that_may_not_be_used_is_an_error_that_says_so(place: Place) -> None:
    said = place.course("search", "anything", RAG_COLLECTION="pg_toast").error()
    assert "RAG_COLLECTION" in said and "it is PostgreSQL's own schema" in said
    schema = sql.Identifier(place.schema)
    with psycopg.connect(place.url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
        conn.execute(sql.SQL("REVOKE ALL ON SCHEMA {} FROM CURRENT_USER").format(schema))
    said = place.course("search", "anything").error()
    assert f"the collection {place.schema} cannot be used" in said


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
@pytest.mark.parametrize("words", ["settings", "parsers", "split README.md"])
def test_a_command_without_a_standard_output_is_no_traceback(words: str) -> None:
    course = Path(sys.executable).with_name("course")
    done = subprocess.run(
        ["sh", "-c", f'"$0" {words} >&-', course],
        capture_output=True,
        cwd=Path(__file__).parents[2],
        encoding="utf-8",
        check=False,
    )
    assert "Traceback" not in done.stderr
