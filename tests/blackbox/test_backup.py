"""`course backup` and `course restore`: the index as a file, and back as it was, or not at all."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.blackbox.course import Course
from tests.blackbox.places import Place, new_place

VERSION = "backup-record-v1"
TABLES = {
    "documents": "partition, tenant_id, repo_slug, branch, document_name",
    "document_chunks": "partition, tenant_id, repo_slug, branch, document_name, chunk_index",
}
COMPUTED = "SELECT column_name::text AS name FROM information_schema.columns WHERE table_schema = \
current_schema AND table_name = %s AND is_generated = 'ALWAYS'"
PAGES = {
    "cats.md": '# Cats\n\nA cat purrs when it is stroked. "Quotes" \' \\ \\n %s {} $1 \t.\n',
    "odd.md": "# Ödd 🐘\n\nA line\u2028separator, and ﷽ in one word: naïve\u00a0café.\r\nEnd.\n",
    "jobs/a.yaml": "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: night\n"
    "  namespace: ops\nspec:\n  schedule: '0 3 * * *'\n",
    "b.py": 'def purr(cat: str) -> str:\n    """Say what a cat says."""\n    return cat\n',
}


def tables(place: Place) -> dict[str, list[dict[str, Any]]]:
    """Return all columns of all rows, ids, times and vectors among them."""
    return {
        table: place.rows(
            f"SELECT to_jsonb(t) AS row, {'embedding::text' if 'chunks' in table else 'NULL'} "
            f"AS more FROM {table} AS t ORDER BY {key}"
        )
        for table, key in TABLES.items()
    }


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name, text in PAGES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text.encode("utf-8"))
    return folder


@pytest.fixture(scope="module")
def source(shared_place: Place, pages: Path) -> Place:
    """Odd texts in two partitions, two branches and two tenants."""
    course = shared_place.course
    course("ingest", pages, "--repo", "pets").ok()
    course("ingest", pages / "jobs", "--repo", "pets", "--branch", "v1", "-p", "my own").ok()
    course("ingest", pages / "cats.md", "--repo", "pets", RAG_TENANT="beta").ok()
    return shared_place


@pytest.fixture(scope="module")
def saved(source: Place, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("saved") / "backup.jsonl"
    source.course("backup", file).ok()
    return file


@pytest.mark.skipif(os.name == "nt", reason="permissions")
def test_only_its_owner_may_read_a_backup(source: Place, tmp_path: Path) -> None:
    """New, or in the place of a file that all could read."""
    file = tmp_path / "backup.jsonl"
    for _ in range(2):
        source.course("backup", file).ok()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.chmod(0o644)


def test_a_backup_is_a_header_and_a_row_a_line(source: Place, saved: Path) -> None:
    """backup-record-v1: every tenant's rows, each column that can be written, and the vectors."""
    records = [json.loads(line) for line in saved.read_bytes().decode("utf-8").split("\n")[:-1]]
    header, *rows = records
    counts = {table: source.one(f"SELECT count(*) FROM {table}") for table in TABLES}
    assert header == {
        "schemaVersion": VERSION, "record": "header", "dimension": 384,
        "models": ["all-MiniLM-L6-v2"], **counts,
    }  # fmt: skip
    assert [row["record"] for row in rows] == [
        table for table, count in counts.items() for _ in range(count)
    ]
    assert counts == {"documents": 6, "document_chunks": len(rows) - 6}
    theirs = tables(source)
    for table in TABLES:
        computed = {row["name"] for row in source.rows(COMPUTED, table)}
        of_table = [record for record in rows if record["record"] == table]
        for record, stored in zip(of_table, theirs[table], strict=True):
            assert set(record) == {"schemaVersion", "record", "row"}
            assert record["schemaVersion"] == VERSION
            row = record["row"]
            vector = row.pop("embedding", None)
            assert row == {
                name: value
                for name, value in stored["row"].items()
                if name not in computed and name != "embedding"
            }
            if table == "document_chunks":
                assert vector == json.loads(stored["more"]) and len(vector) == 384
    assert {record["row"]["tenant_id"] for record in rows} == {"local", "beta"}


def test_what_is_restored_is_what_was_saved(
    source: Place, saved: Path, place: Place, tmp_path: Path
) -> None:
    """All columns, ids, times and vectors; searches, files and a second restore agree."""
    said = place.course("restore", saved, RAG_TENANT="somebody-else").ok()
    counts = {table: len(rows) for table, rows in tables(source).items()}
    assert said == f"6 documents and {counts['document_chunks']} chunks restored\n"
    assert tables(place) == tables(source)
    place.course("restore", saved).ok()
    assert tables(place) == tables(source)
    for words in (("a purring cat",), ("who runs at night?", "--mode", "dense", "-t", "-1")):
        for tenant in ("local", "beta"):
            both = [
                each.course("search", *words, "--json", RAG_TENANT=tenant).ok()
                for each in (source, place)
            ]
            assert both[0] == both[1] and json.loads(both[0])
    again = tmp_path / "again.jsonl"
    assert place.course("backup", again).ok() == f"{sum(counts.values())} rows → {again}\n"
    assert again.read_bytes() == saved.read_bytes()
    # The vector indexes are there as well.
    indexes = "SELECT count(*) FROM pg_indexes WHERE schemaname = current_schema"
    assert place.one(f"{indexes} AND indexdef LIKE '%%hnsw%%'") == source.one(
        f"{indexes} AND indexdef LIKE '%%hnsw%%'"
    )


def test_an_ingest_after_a_restore_has_nothing_to_do(
    place: Place, saved: Path, pages: Path
) -> None:
    """Restored documents are known to be unchanged: nothing is encoded again."""
    place.course("restore", saved).ok()
    report = place.course("ingest", pages, "--repo", "pets", "--json").json()
    numbers = {name: report[name] for name in ("inserted", "updated", "deleted")}
    assert numbers == {"inserted": 0, "updated": 0, "deleted": 0}
    assert report["unchanged"] == report["chunks"] > 0


def test_a_restore_replaces_what_it_holds_and_leaves_the_rest(
    source: Place, saved: Path, place: Place, tmp_path: Path
) -> None:
    """A document that changed since comes back with all its pieces; others stay."""
    longer = "# Cats\n\n" + "A cat sleeps by day and hunts at night, in any weather. " * 30
    (tmp_path / "cats.md").write_text(longer, encoding="utf-8")
    (tmp_path / "new.md").write_text("# New\n\nA parrot talks.\n", encoding="utf-8")
    place.course("ingest", tmp_path, "--repo", "pets").ok()
    assert place.one("SELECT count(*) FROM document_chunks WHERE document_name = 'cats.md'") > 2
    place.course("restore", saved).ok()
    others = place.rows("DELETE FROM document_chunks WHERE document_name = 'new.md' RETURNING 1")
    others += place.rows("DELETE FROM documents WHERE document_name = 'new.md' RETURNING 1")
    assert len(others) == 2
    assert tables(place) == tables(source)


def _edited(line: str, **values: Any) -> str:
    record = json.loads(line)
    record["row"] |= values
    return json.dumps(record)


LONG = "".join(Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))
"""What PostgreSQL cannot pack so that it fits."""

DAMAGE: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "cut after a line": (
        lambda lines: lines[:-1],
        "holds 6 documents and {less} chunks, its header promises 6 and {chunks}",
    ),
    "cut within a line": (lambda lines: [*lines[:-1], lines[-1][:50]], "record {last}: "),
    "a row too many": (lambda lines: [*lines, _edited(lines[-1], chunk_index=99)], "promises 6"),
    "without its header": (lambda lines: lines[1:], "does not begin with the header"),
    "empty": (lambda lines: [], "record 1: "),
    "no JSON": (lambda lines: ["hello"], "record 1: "),
    "nested without an end": (lambda lines: ['{"a":' * 100_000], "record 1: maximum recursion"),
    "records of a splitter": (lambda lines: ['{"schemaVersion": "1.0.0"}'], "record 1: it is no"),
    "another version": (
        lambda lines: [*lines[:-1], lines[-1].replace(VERSION, "backup-record-v2")],
        "record {last}: it is not a backup-record-v1 record",
    ),
    "a header of another version": (
        lambda lines: [lines[0].replace(VERSION, "backup-record-v2"), *lines[1:]],
        "record 1: it is not a backup-record-v1 record",
    ),
    "not UTF-8": (
        lambda lines: [*lines[:-1], lines[-1].replace("row", "\udcff", 1)], "record {last}: "
    ),
    "a row of no table": (
        lambda lines: [*lines[:-1], lines[-1].replace("document_chunks", "packages", 1)],
        "record {last} is a row of no table: 'packages'",
    ),
    "a column that is not": (
        lambda lines: [*lines[:-1], _edited(lines[-1], colour="red")],
        "the backup has columns that document_chunks lacks: colour",
    ),
    "a short vector": (
        lambda lines: [*lines[:-1], _edited(lines[-1], embedding=[1, 2])],
        "holds a row that does not fit the tables: ",
    ),
    "a value that is missing": (
        lambda lines: [*lines[:-1], _edited(lines[-1], content=None)],
        "holds a row that does not fit the tables: ",
    ),
    "a vector longer than any": (
        lambda lines: [*lines[:-1], _edited(lines[-1], embedding=[0.1] * 20_000)],
        "record {last} holds a row that does not fit the tables: "
        "its embedding is not a list of 384",
    ),
    "a vector that is not finite": (
        lambda lines: [*lines[:-1], _edited(lines[-1], embedding=[float("nan")] * 384)],
        "record {last} holds a row that does not fit the tables: ",
    ),
    "a vector of zeros": (
        lambda lines: [*lines[:-1], _edited(lines[-1], embedding=[0] * 384)],
        "its embedding holds only zeros",
    ),
    "a tenant that is none": (
        lambda lines: [lines[0], _edited(lines[1], tenant_id="A'; --"), *lines[2:]],
        "record 2 holds a row that does not fit the tables: tenant",
    ),
    "a path that leads out": (
        lambda lines: [lines[0], _edited(lines[1], document_name="../a"), *lines[2:]],
        "must be relative to the root",
    ),
    "a chunk of no document": (
        lambda lines: [*lines[:-1], _edited(lines[-1], tenant_id="nobody")],
        "record {last} holds a row that does not fit the tables: a chunk of ",
    ),
    "a document twice": (lambda lines: [*lines[:2], *lines[1:]], "is there twice"),
    "a document of another model": (
        lambda lines: [lines[0], _edited(lines[1], model="other"), *lines[2:]],
        "record 2 holds a row that does not fit the tables: it is of the model 'other'",
    ),
    "a number that is none": (
        lambda lines: [*lines[:-1], _edited(lines[-1], chunk_index=-1)], "its chunk_index is -1"
    ),
    "metadata that is a list": (
        lambda lines: [*lines[:-1], _edited(lines[-1], metadata=[])],
        "its metadata is not an object",
    ),
    "a NUL character": (
        lambda lines: [*lines[:-1], _edited(lines[-1], name="a\0b")], "it holds a NUL character"
    ),
    "a name longer than an index's row": (
        lambda lines: [lines[0], _edited(lines[1], document_name=LONG), *lines[2:]],
        "holds a row that does not fit the tables: ",
    ),
    "models that are a number": (
        lambda lines: [lines[0].replace('["all-MiniLM-L6-v2"]', "5"), *lines[1:]],
        "does not begin with the header",
    ),
    "another model": (
        lambda lines: [lines[0].replace("all-MiniLM-L6-v2", "other"), *lines[1:]],
        "holds vectors of the model other, the settings name all-MiniLM-L6-v2",
    ),
    "another dimension": (
        lambda lines: [lines[0].replace("384", "5"), *lines[1:]], "dimensions"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def target(database_url: str, pages: Path) -> Any:
    """An index that broken backups are restored into, one after the other."""
    with new_place(database_url) as made:
        made.course("ingest", pages / "cats.md", "--repo", "pets").ok()
        yield made


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_backup_changes_nothing(
    saved: Path, target: Place, tmp_path: Path, damage: str
) -> None:
    """One row that cannot be, and none is restored; the message names the file and the record."""
    change, says = DAMAGE[damage]
    lines = saved.read_bytes().decode("utf-8").split("\n")[:-1]
    broken = tmp_path / "broken.jsonl"
    # "\udcff" stands for the byte 0xff, which is not UTF-8.
    broken.write_bytes("\n".join(change(lines)).encode("utf-8", "surrogateescape"))
    before = tables(target)
    said = target.course("restore", broken).error()
    chunks = len(lines) - 7
    expected = says.format(last=len(lines), chunks=chunks, less=chunks - 1)
    assert expected in said and len(said.splitlines()) >= 2, said
    assert tables(target) == before


def test_a_backup_takes_the_place_of_a_file_only_when_it_is_whole(
    source: Place, saved: Path, course: Course, tmp_path: Path
) -> None:
    """An earlier file stays where a backup fails; folders are made; nothing else is left."""
    file = tmp_path / "new" / "backup.jsonl"
    said = course("backup", file).error()
    assert said == "error: there is no index in the database\nIngest first.\n"
    file.parent.mkdir(exist_ok=True)
    file.write_text("earlier", encoding="utf-8")
    course("backup", file).error()
    assert file.read_text(encoding="utf-8") == "earlier"
    source.course("backup", file).ok()
    assert file.read_bytes() == saved.read_bytes()
    source.course("backup", tmp_path / "a" / "b.jsonl").ok()
    said = source.course("backup", file / "under").error()
    assert "cannot be written" in said
    assert [path.name for path in file.parent.iterdir()] == ["backup.jsonl"]
    assert "none.jsonl cannot be read" in course("restore", tmp_path / "none.jsonl").error()


def test_the_whole_index_of_the_courses_data_is_in_its_backup(filled: Place, backup: Path) -> None:
    """Hundreds of rows: each document and each piece in a fixed order."""
    lines = backup.read_text(encoding="utf-8").split("\n")
    header = json.loads(lines[0])
    names = [json.loads(line)["row"]["document_name"] for line in lines[1:] if line]
    expected = [
        row["document_name"]
        for table, key in TABLES.items()
        for row in filled.rows(f"SELECT document_name FROM {table} ORDER BY {key}")
    ]
    assert names == expected
    assert len(names) == header["documents"] + header["document_chunks"]
