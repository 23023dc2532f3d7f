"""`course load|embed|ingest|search` as they are called: what they print, and how they end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.loader import read_chunks
from course_lib.store import connect
from course_lib.store.databases import FreshDatabase
from tests.unit.command_line import Course


def test_ingest_and_search_from_end_to_end(course: Course, folder: Path) -> None:
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


def test_what_was_left_out_is_counted_at_the_end_and_named_on_request(
    course: Course, folder: Path
) -> None:
    (folder / "nul.md").write_bytes(b"nul \0")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "b.png").write_bytes(b"")
    (folder / "pictures").mkdir()
    for name in ("a.PNG", "b.png", "c.jpg", "LICENCE"):
        (folder / "pictures" / name).write_bytes(b"\x89")
    done = course("ingest", folder)
    assert done.stdout.splitlines()[-1] == (
        "left out: 6 files: 1 has a NUL byte; 1 is not UTF-8; "
        "4 of no registered format (2 .png, 1 no ending, 1 .jpg)"
    )
    assert "nul.md" in done.stderr and "a.PNG" not in done.stderr
    named = course("ingest", folder, "--verbose").stderr
    assert "left out: pictures/a.PNG is of no registered format\n" in named
    assert "hidden" not in named
    assert "left out" not in course("ingest", folder / "cats.md").stdout


def test_load_writes_files_that_embed_takes(
    course: Course, folder: Path, tmp_path: Path, index: FreshDatabase
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
    with connect(index.url) as conn:
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


def test_documents_belong_to_the_tenant_of_the_settings(
    course: Course, folder: Path, index: FreshDatabase
) -> None:
    course("ingest", folder, RAG_TENANT="me")
    with connect(index.url) as conn:
        rows = conn.execute("SELECT DISTINCT tenant_id FROM document_chunks").fetchall()
    assert rows == [("me",)]


def test_one_is_counted_in_the_singular(course: Course, folder: Path, tmp_path: Path) -> None:
    shown = course("ingest", folder / "cats.md").stdout
    assert shown.startswith("1 document, 1 chunk: 1 inserted, 0 updated, 0 unchanged, 0 deleted")
    shown = course("load", folder / "cats.md", "--output-dir", tmp_path / "out").stdout
    assert shown == f"1 document, 1 chunk → {tmp_path / 'out'}\n"
    assert course("backup", tmp_path / "backup").stdout.startswith("2 rows → ")
