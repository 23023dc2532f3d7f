"""PostgreSQL's own programs take the index to a file and back, as infra/site/using.md says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.places import Place
from tests.blackbox.surface import find_binaries

PAGE = Path(__file__).parents[2] / "infra" / "site" / "using.md"
EVERYTHING = "SELECT to_jsonb(d) AS row FROM documents AS d ORDER BY document_name"
VECTORS = "SELECT to_jsonb(c) AS row, embedding::text FROM document_chunks AS c \
ORDER BY document_name, chunk_index"
INDEXES = "SELECT indexdef FROM pg_indexes WHERE tablename ~ '^document' ORDER BY indexname"


@pytest.fixture
def index(filled_to_write: Place, data: Path) -> Place:
    """The course's corpora and packages in a database of this file's own."""
    filled_to_write.course("xray", "scan", data / "lockfiles/rider-app/push", "-p", "push")
    return filled_to_write


def tables(place: Place) -> list[list[dict[str, Any]]]:
    """Return all columns of all rows, ids, times and vectors among them, and the indexes."""
    return [place.rows(query) for query in (EVERYTHING, VECTORS, INDEXES)]


@pytest.mark.skipif(sys.platform == "win32", reason="the page's commands are for a POSIX shell")
def test_an_index_comes_back_as_it_was_with_the_pages_commands(
    index: Place, data: Path, tmp_path: Path
) -> None:
    saved, restored = re.findall(
        r"```sh\n(.*?pg_.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    programs = [str(Path(sys.executable).parent), str(find_binaries().bin_dir), os.environ["PATH"]]
    given = {**os.environ, **index.course.environment, "PATH": os.pathsep.join(programs)}
    before = tables(index)
    for commands in (saved, restored):
        # The page names the schema of the setting's default.
        commands = re.sub(r"(--schema=|CREATE SCHEMA )course\b", rf"\1{index.schema}", commands)
        assert index.schema in commands
        subprocess.run(["sh", "-ec", commands], cwd=tmp_path, env=given, check=True)
    assert tables(index) == before and all(before)
    report = index.course("ingest", data / "documents", "--json").json()
    documents = [one for one in before[1] if one["row"]["repo_slug"] == "documents"]
    assert report["unchanged"] == report["chunks"] == len(documents)
    assert "feature-stores.md" in index.course("search", "what is a feature store?").ok()
    index.course("xray", "scan", data / "lockfiles/rider-app/push", "-p", "push", "--json")
    assert index.one("SELECT count(*) FROM xray_packages") > 0
