"""The two halves with files in between: the same rows as in one go, and broken lines by number."""

from pathlib import Path
from typing import Any

import psycopg
import pytest

from course_lib.errors import InputError
from course_lib.indexing import embed_directory, load_directory


@pytest.fixture
def loaded(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nalpha", encoding="utf-8")
    (tmp_path / "docs" / "b.md").write_text("# B\n\nbeta", encoding="utf-8")
    load_directory(tmp_path / "docs", tmp_path / "loaded")
    return tmp_path / "loaded"


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("documents.jsonl", '"name":"b.md",', "", "documents.jsonl, line 3 .* name: "),
        ("documents.jsonl", '"scope":{', '"scope":{"x":1,', "documents.jsonl, line 1 .* scope.x: "),
        ("documents.jsonl", '"content":"# B', '"content":7,"x":"# B', "line 3 .* content: "),
        ("documents.jsonl", '{"name":"b.md"', '[{"name":"b.md"', "line 3 is not a document"),
        ("documents.jsonl", '"name":"b.md"', '"name":"c.md"', "a chunk of b.md"),
        ("documents.jsonl", '"name":"b.md"', '"name":"a.md"', "line 3 .* a.md is there already"),
        ("documents.jsonl", '"tenant":"local"', '"tenant":"A; B"', "line 1 .* scope.tenant: "),
        ("chunks.jsonl", '"kind":"doc-section"', '"kind":""', "chunks.jsonl, line 1: .*: kind: "),
        ("chunks.jsonl", '"repoSlug":"documents"', '"repoSlug":"other"', "a chunk of a.md"),
        (
            "chunks.jsonl",
            '{"schemaVersion"',
            '{"embedding":[1],"schemaVersion"',
            "line 1: .*: embedding: ",
        ),
        ("chunks.jsonl", "# A", "\\u0000", "line 1: .*: content: holds a NUL character"),
    ],
)
def test_a_broken_file_is_an_error_that_says_where_and_changes_nothing(
    conn: psycopg.Connection, client: Any, loaded: Path, file: str, old: str, new: str, says: str
) -> None:
    text = (loaded / file).read_text(encoding="utf-8")
    assert old in text
    (loaded / file).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=says):
        embed_directory(loaded, conn=conn, embedder=client)
    has_tables = conn.execute("SELECT to_regclass('documents') IS NOT NULL").fetchone()
    if has_tables == (True,):
        assert conn.execute("SELECT count(*) FROM documents").fetchone() == (0,)


def test_a_missing_or_empty_file_is_an_error_that_names_it(
    conn: psycopg.Connection, client: Any, loaded: Path
) -> None:
    (loaded / "chunks.jsonl").unlink()
    with pytest.raises(InputError, match=r"chunks\.jsonl cannot be read"):
        embed_directory(loaded, conn=conn, embedder=client)
    (loaded / "documents.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"documents\.jsonl is empty"):
        embed_directory(loaded, conn=conn, embedder=client)
