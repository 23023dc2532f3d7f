"""What the tests of the pipelines share: a small folder of documents, and its shards, split."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from kfp.dsl import Dataset

from course_lib.pipeline.components import split_documents
from course_lib.pipeline.corpus import shard_names, write_corpus
from course_lib.pipeline.sources import read_folder

TEXT = "The {name} turns its wings into the wind.\n\nIt is looked after by the miller.\n"
NAMES = ("bonnet", "brake", "hopper", "millstone", "sail", "stock")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six short documents."""
    place = tmp_path / "mill"
    place.mkdir()
    for name in NAMES:
        (place / f"{name}.md").write_text(
            f"# {name}\n\n{TEXT.format(name=name)}", encoding="utf-8", newline="\n"
        )
    return place


def split_shard(documents: Path, shard: str, chunks: Path, rows: Path) -> None:
    """Do what the pipeline's step does, which takes and gives artifacts."""
    files = [Dataset(uri=str(one)) for one in (documents, chunks, rows)]
    split_documents.python_func(*files, shard, 80, 0)


def split(folder: Path, out: Path, shards: int) -> list[tuple[Path, Path]]:
    """Read and split a folder; return the files of each shard: its rows and its chunks."""
    documents = out / "documents.jsonl"
    write_corpus(documents, read_folder(str(folder), repo="mill"))
    found = []
    for name in shard_names(shards):
        number = name.partition("/")[0]
        rows, chunks = out / f"rows-{number}.jsonl", out / f"chunks-{number}.jsonl"
        split_shard(documents, name, chunks, rows)
        found.append((rows, chunks))
    return found


def stored(conn: psycopg.Connection) -> list[tuple[object, ...]]:
    """Return all that is indexed, and when it was written."""
    return conn.execute(
        "SELECT partition, repo_slug, branch, document_name, chunk_index, content, content_hash, "
        "commit_sha, citation_url, embedding::text, updated_at FROM document_chunks "
        "ORDER BY 1, 2, 3, 4, 5"
    ).fetchall()
