"""A repository in the index: one revision, cited, and nothing that is gone."""

from pathlib import Path
from typing import Any

import psycopg
import pytest

from course_lib.indexing.repository import (
    RepositoryReport,
    ingest_repository,
)
from course_lib.loader.github import DownloadOptions, Selection
from course_lib.loader.github.errors import GitHubError
from course_lib.records import Scope
from course_lib.retriever import Query, search
from course_lib.teaching.github_server import Repository, link
from tests import github_faults as faults
from tests.github_faults import FaultyGitHub

ALL = (".yaml", ".py", ".go", ".sh", ".md")
FILES = {
    "apps/a.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  key: one\n",
    "apps/b.yaml": b"apiVersion: v1\nkind: Secret\nmetadata:\n  name: b\n",
    "code/c.py": b"def answer():\n    return 42\n\n\ndef question():\n    return 'why'\n",
    "docs/d.md": b"# Title\n\nSome words.\n",
}


@pytest.fixture
def repository(github: FaultyGitHub, clock: object) -> Repository:
    repository = Repository("heron/platform")
    repository.commit(FILES, tag="v1")
    github.add(repository)
    return repository


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    return tmp_path / "dest"


def run(
    conn: psycopg.Connection,
    client: Any,
    dest: Path | None,
    ref: str = "main",
    *,
    branch: str | None = None,
    partition: str | None = None,
    issues: bool = False,
) -> RepositoryReport:
    said = {"branch": branch, "partition": partition}
    said = {name: value for name, value in said.items() if value is not None}
    return ingest_repository(
        Selection("heron/platform", ref, ALL),
        Scope(repo="heron/platform", **said) if said else None,
        conn=conn,
        embedder=client,
        download=DownloadOptions(dest=dest, max_wait=5),
        issues=issues,
    )


def rows(conn: psycopg.Connection, columns: str, table: str = "document_chunks") -> list[Any]:
    return conn.execute(f"SELECT {columns} FROM {table} ORDER BY {columns}").fetchall()


def test_versions_under_one_name_share_what_was_downloaded(
    conn: psycopg.Connection,
    client: Any,
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COURSE_STATE", str(tmp_path))
    first = run(conn, client, None, "v1", branch="current")
    repository.commit(FILES | {"apps/a.yaml": b"kind: ConfigMap\nmetadata:\n  name: other\n"})
    second = run(conn, client, None, "main", branch="current")
    assert (first.fetched, first.reused) == (4, 0)
    assert (second.fetched, second.reused) == (1, 3)


def test_what_did_not_change_is_not_written_again_and_cites_the_newer_commit(
    conn: psycopg.Connection, client: Any, repository: Repository, dest: Path
) -> None:
    """Chunks, and with them the vector index, stay as they are; what is read says the commit."""
    run(conn, client, dest, branch="main", partition="code_manifests")
    stored = "SELECT id, xmin::text FROM document_chunks WHERE document_name <> 'docs/d.md'"
    before = conn.execute(stored).fetchall()
    repository.commit({**FILES, "docs/d.md": b"# Title\n\nOther words.\n"})
    new = run(conn, client, dest, branch="main", partition="code_manifests").commit
    assert conn.execute(stored).fetchall() == before
    assert conn.execute("SELECT DISTINCT commit_sha FROM documents").fetchall() == [(new,)]
    found = search(conn, client.encode(["anything"])[0], Query(top_k=10, threshold=-1))
    urls = [one.citation_url for one in found]
    urls += [url for (url,) in conn.execute("SELECT citation_url FROM code_chunks").fetchall()]
    assert len(found) == len(rows(conn, "id")) and len(urls) > len(found)
    assert all(f"/blob/{new}/" in str(url) for url in urls)


def test_a_link_that_leads_to_another_file_with_the_same_text_cites_this_one(
    conn: psycopg.Connection, client: Any, repository: Repository, dest: Path
) -> None:
    text = FILES["docs/d.md"]
    repository.commit({"old/a.md": text, "index.md": link("old/a.md")})
    run(conn, client, dest)
    repository.commit({"new/a.md": text, "index.md": link("new/a.md")})
    run(conn, client, dest)
    encoded = len(client.texts)
    run(conn, client, dest)
    assert len(client.texts) == encoded
    for table in ("documents", "document_chunks"):
        cited = dict(rows(conn, "document_name, citation_url", table))
        assert "/new/a.md" in cited["index.md"], table


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [("git/trees", faults.broken_json()), ("issues", faults.status(500))],
)
def test_a_list_that_cannot_be_had_leaves_the_whole_index_as_it_was(
    conn: psycopg.Connection,
    client: Any,
    github: FaultyGitHub,
    repository: Repository,
    dest: Path,
    stored: Any,
    pattern: str,
    fault: faults.Fault,
) -> None:
    run(conn, client, dest)
    before = stored(conn)
    repository.commit({"apps/a.yaml": b"kind: Other\n"})
    github.fail(pattern, fault, times=99)
    with pytest.raises(GitHubError):
        run(conn, client, dest, issues=True)
    assert stored(conn) == before
