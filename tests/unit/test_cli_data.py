"""`course load|embed|ingest|search` as they are called: what they print, and how they end."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from course_lib.loader import read_chunks
from course_lib.store import connect, drop_schema, fresh_database
from course_lib.store.databases import FreshDatabase


@dataclass
class Course:
    """The command line, with a database of its own."""

    environment: dict[str, str]

    def __call__(
        self, *arguments: str | Path, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `course …` and return how it ended; a traceback is never right."""
        done = subprocess.run(
            [sys.executable, "-c", "from course_lib.cli import main; main()", *map(str, arguments)],
            env=os.environ
            | {"COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
            | self.environment
            | environment,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def fails(self, *arguments: str | Path, **environment: str) -> str:
        """Run it, expect the exit code 1 and nothing on stdout, and return what it said."""
        done = self(*arguments, **environment)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert done.stderr.count("error: ") == 1
        return done.stderr


@pytest.fixture(scope="module")
def database() -> Iterator[FreshDatabase]:
    with fresh_database("cli") as fresh:
        yield fresh


@pytest.fixture
def course(database: FreshDatabase) -> Course:
    with connect(database.url, autocommit=True) as conn:
        drop_schema(conn)
    return Course({"DATABASE_URL": database.url})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "my docs"
    folder.mkdir()
    (folder / "cats.md").write_text("# Cats\n\nA cat purrs when it is stroked.", encoding="utf-8")
    (folder / "ships.md").write_text("# Ships\n\nA frigate has three masts.", encoding="utf-8")
    (folder / "picture.md").write_bytes(b"\x89PNG\xff")
    return folder


def test_ingest_and_search_from_end_to_end(
    course: Course, folder: Path, database: FreshDatabase
) -> None:
    done = course("ingest", folder, "--repo", "mine", "--branch", "main", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "left out: picture.md is not UTF-8: byte 0x89 at offset 0\n"
    report = json.loads(done.stdout)
    assert [report[name] for name in ("documents", "chunks", "inserted")] == [2, 2, 2]

    again = course("ingest", folder, "--repo", "mine", "--branch", "main")
    assert "2 documents, 2 chunks: 0 inserted, 0 updated, 2 unchanged, 0 deleted" in again.stdout

    question = "Which animal makes a purring sound?"
    filters = ["--partition", "documentation", "--repo", "mine", "--branch", "main"]
    found = json.loads(
        course("search", question, "--json", "-k", "1", "-t", "0.1", *filters).stdout
    )
    assert [(result["document_name"], result["name"]) for result in found] == [("cats.md", "Cats")]
    assert found[0]["similarity_score"] > 0.3
    shown = course("search", question, "--kind", "doc-section").stdout
    assert shown.index("cats.md:1-3") < shown.index("ships.md:1-3")
    assert "A cat purrs when it is stroked." in shown
    nothing = course("search", question, "--repo", "other")
    assert (nothing.returncode, "nothing found" in nothing.stdout) == (0, True)
    assert course("search", question, "--repo", "other", "--json").stdout.strip() == "[]"


def test_load_writes_files_that_embed_takes(
    course: Course, folder: Path, tmp_path: Path, database: FreshDatabase
) -> None:
    target = tmp_path / "loaded"
    done = course(
        "load", folder, "--output-dir", target, "--chunk-size", "20", "--chunk-overlap", "5"
    )
    assert done.returncode == 0, done.stderr
    chunks = list(read_chunks(target / "chunks.jsonl"))
    assert f"2 documents, {len(chunks)} chunks" in done.stdout
    assert max(len(chunk.content) for chunk in chunks) <= 20
    report = json.loads(course("embed", target, "--batch-size", "2", "--json").stdout)
    assert (report["documents"], report["inserted"]) == (2, len(chunks))
    with connect(database.url) as conn:
        row = conn.execute("SELECT count(*) FROM document_chunks").fetchone()
    assert row == (len(chunks),)


def test_a_missing_directory_is_named(course: Course, tmp_path: Path) -> None:
    for command in (["ingest"], ["load", "--output-dir", tmp_path / "out"]):
        said = course.fails(*command, tmp_path / "no where")
        assert "no where does not exist" in said
        assert "relative to the current folder" in said
    assert "documents.jsonl cannot be read: No such file" in course.fails("embed", tmp_path)


def test_a_directory_without_documents_says_what_was_left_out(
    course: Course, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_bytes(b"nul \0")
    said = course.fails("ingest", tmp_path)
    assert "left out: a.md has a NUL byte at offset 4" in said
    assert "no document of a registered format could be read" in said


def test_sizes_that_do_not_fit_are_explained(course: Course, folder: Path) -> None:
    said = course.fails("ingest", folder, "--chunk-size", "64")
    assert "chunk_overlap must be between 0 and chunk_size - 1 = 63, not 64" in said
    assert "chunk_size must be at least 1, not 0" in course.fails(
        "ingest", folder, "--chunk-size", "0"
    )


def test_a_setting_that_cannot_be_used_is_explained(course: Course, folder: Path) -> None:
    assert "RAG_CHUNK_SIZE: " in course.fails("ingest", folder, RAG_CHUNK_SIZE="many")
    assert "RAG_TENANT" in course.fails("ingest", folder, RAG_TENANT="Not Kebab")


def test_settings_from_the_environment_are_the_defaults(
    course: Course, folder: Path, tmp_path: Path
) -> None:
    course(
        "load",
        folder,
        "--output-dir",
        tmp_path / "out",
        RAG_CHUNK_SIZE="12",
        RAG_CHUNK_OVERLAP="0",
        RAG_TENANT="me",
    )
    chunks = list(read_chunks(tmp_path / "out" / "chunks.jsonl"))
    assert max(len(chunk.content) for chunk in chunks) <= 12
    assert {chunk.tenant_id for chunk in chunks} == {"me"}


def test_an_output_that_cannot_be_written_is_explained(course: Course, folder: Path) -> None:
    said = course.fails("load", folder, "--output-dir", folder / "cats.md")
    assert "cannot be written" in said


def test_searching_before_anything_was_ingested_says_what_to_do(course: Course) -> None:
    said = course.fails("search", "what is drift?")
    assert "there is no index" in said
    assert "ingest" in said
    assert "the question is empty" in course.fails("search", "  ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "x", "--top-k", "0"],
        ["search", "x", "--threshold", "2"],
        ["search", "x", "--top-k", "many"],
        ["ingest", ".", "--batch-size", "0"],
        ["ingest"],
        ["load", "."],
        ["ingest", ".", "--unknown"],
    ],
)
def test_a_wrong_call_ends_with_two_and_names_the_option(
    course: Course, arguments: list[str]
) -> None:
    done = course(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: " in done.stderr


def test_a_database_that_is_not_there_is_explained(course: Course, folder: Path) -> None:
    said = course.fails("ingest", folder, DATABASE_URL="postgresql://ada:secret@127.0.0.1:1/course")
    assert "cannot be reached" in said
    assert "secret" not in said


@pytest.mark.parametrize("command", ["load", "embed", "ingest", "search"])
def test_help_names_every_option_and_loads_nothing_heavy(course: Course, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c"]
        + ["from course_lib.cli import main; main()", command, "--help"],
        env=os.environ | {"COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    options = {
        "load": ["--output-dir", "--chunk-size", "--chunk-overlap"],
        "embed": ["--batch-size", "--partition"],
        "ingest": [
            "--partition",
            "--repo",
            "--chunk-size",
            "--chunk-overlap",
            "--batch-size",
            "--json",
        ],
        "search": [
            "--top-k",
            "--threshold",
            "--partition",
            "--repo",
            "--branch",
            "--kind",
            "--json",
        ],
    }
    for option in options[command]:
        assert option in done.stdout
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert not imported & {
        "torch",
        "transformers",
        "sentence_transformers",
        "kfp",
        "pandas",
        "psycopg",
    }


def test_several_partitions_may_be_searched(
    course: Course, folder: Path, database: FreshDatabase
) -> None:
    course("ingest", folder / "cats.md", "--partition", "issues")
    course("ingest", folder / "ships.md", "--partition", "my own")

    def partitions(*options: str) -> set[str]:
        found = json.loads(course("search", "animal", "-t", "-1", "--json", *options).stdout)
        return {result["partition"] for result in found}

    assert partitions() == {"issues", "my own"}
    assert partitions("-p", "documentation", "-p", "issues") == {"issues"}


def test_documents_belong_to_the_tenant_of_the_settings(
    course: Course, folder: Path, database: FreshDatabase
) -> None:
    course("ingest", folder, RAG_TENANT="me")
    with connect(database.url) as conn:
        rows = conn.execute("SELECT DISTINCT tenant_id FROM document_chunks").fetchall()
    assert rows == [("me",)]
