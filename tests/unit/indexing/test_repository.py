"""A repository in the index: one revision, spread by kind, cited, and nothing that is gone."""

from pathlib import Path
from typing import Any

import psycopg
import pytest

from course_lib.errors import InputError
from course_lib.indexing.repository import (
    BY_KIND,
    RepositoryReport,
    ingest_repository,
    partition_of,
)
from course_lib.loader.github.errors import GitHubError, IncompleteDownloadError, NotFoundError
from course_lib.loader.github.waiting import Patience
from course_lib.records import PARTITIONS
from course_lib.retriever import search
from course_lib.teaching.github_server import GitHubServer, Repository, faults, sample_repository

QUICK = Patience(attempts=2, first=0.01, secondary=0.05)
TOKEN = "ghp_0123456789secret"
ALL = (".yaml", ".py", ".go", ".sh", ".md")
FILES = {
    "apps/a.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  key: one\n",
    "apps/b.yaml": b"apiVersion: v1\nkind: Secret\nmetadata:\n  name: b\n",
    "code/c.py": b"def answer():\n    return 42\n\n\ndef question():\n    return 'why'\n",
    "docs/d.md": b"# Title\n\nSome words.\n",
}


@pytest.fixture
def repository(github: GitHubServer) -> Repository:
    repository = Repository("heron/platform")
    repository.commit(FILES, tag="v1")
    github.add(repository)
    return repository


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    return tmp_path / "dest"


def run(
    conn: psycopg.Connection, client: Any, dest: Path, ref: str = "main", **options: Any
) -> RepositoryReport:
    chosen: dict[str, Any] = {"extensions": ALL, "max_wait": 5, "patience": QUICK} | options
    return ingest_repository("heron/platform", ref, conn=conn, embedder=client, dest=dest, **chosen)


def rows(conn: psycopg.Connection, columns: str, table: str = "document_chunks") -> list[Any]:
    return conn.execute(f"SELECT {columns} FROM {table} ORDER BY {columns}").fetchall()


def totals(report: RepositoryReport) -> dict[str, tuple[int, int, int, int]]:
    return {
        name: (part.inserted, part.updated, part.unchanged, part.deleted)
        for name, part in report.partitions.items()
    }


def test_each_file_goes_to_the_partition_of_its_kind(
    conn: psycopg.Connection, client: Any, repository: Repository, dest: Path
) -> None:
    report = run(conn, client, dest)
    assert rows(conn, "partition, document_name", "documents") == [
        ("code_manifests", "apps/a.yaml"),
        ("code_manifests", "apps/b.yaml"),
        ("code_pipelines", "code/c.py"),
        ("documentation", "docs/d.md"),
    ]
    assert totals(report) == {
        "code_manifests": (2, 0, 0, 0),
        "code_pipelines": (2, 0, 0, 0),
        "documentation": (1, 0, 0, 0),
    }
    assert (report.commit, report.fetched, report.reused) == (repository.refs["heads/main"], 4, 0)
    assert set(BY_KIND) == set(PARTITIONS) - {"issues"}


@pytest.mark.parametrize(
    ("path", "partition"),
    [
        ("a/b.YAML", "code_manifests"),
        ("base/kustomization", "code_manifests"),
        ("a.ipynb", "code_notebooks"),
        ("README.md", "documentation"),
        ("notes.txt", "documentation"),
        ("x.go", "code_pipelines"),
        ("Dockerfile", "code_pipelines"),
    ],
)
def test_a_kind_is_told_by_the_name(path: str, partition: str) -> None:
    assert partition_of(path) == partition


def test_versions_under_one_name_share_what_was_downloaded(
    conn: psycopg.Connection,
    client: Any,
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COURSE_STATE", str(tmp_path))
    options: dict[str, Any] = {"conn": conn, "embedder": client, "branch": "current"}
    first = ingest_repository("heron/platform", "v1", ALL, max_wait=5, patience=QUICK, **options)
    repository.commit(FILES | {"apps/a.yaml": b"kind: ConfigMap\nmetadata:\n  name: other\n"})
    second = ingest_repository("heron/platform", "main", ALL, max_wait=5, patience=QUICK, **options)
    assert (first.fetched, first.reused) == (4, 0)
    assert (second.fetched, second.reused) == (1, 3)


def test_what_did_not_change_is_not_encoded_and_gets_the_new_commit(
    conn: psycopg.Connection, client: Any, repository: Repository, dest: Path
) -> None:
    old = run(conn, client, dest).commit
    client.texts.clear()
    repository.commit({**FILES, "docs/d.md": b"# Title\n\nOther words.\n"})
    new = run(conn, client, dest).commit
    assert client.texts == ["# Title\n\nOther words.\n"]
    assert new != old
    for table in ("documents", "document_chunks"):
        assert {row[0] for row in rows(conn, "commit_sha", table)} == {new}
        cited = rows(conn, "citation_url", table)
        assert all(f"/blob/{new}/" in row[0] for row in cited)
    assert (f"https://github.example/heron/platform/blob/{new}/code/c.py#L5-L6",) in cited


def test_where_all_rows_get_a_new_commit_the_vector_index_is_built_anew_once(
    conn: psycopg.Connection,
    client: Any,
    repository: Repository,
    dest: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("course_lib.store.rebuilding.FEWEST_ROWS", 1)
    run(conn, client, dest)
    built = "SELECT oid::bigint FROM pg_class WHERE relname LIKE '%manifests_embedding_hnsw'"
    before = conn.execute(built).fetchall()
    repository.commit({**FILES, "docs/d.md": b"# Title\n\nOther words.\n"})
    new = run(conn, client, dest).commit
    assert {row[0] for row in rows(conn, "commit_sha")} == {new}
    after = conn.execute(built).fetchall()
    assert len(after) == len(before) == 1
    assert after != before
    found = search(conn, client.encode(["anything"])[0], top_k=10, threshold=-1, exact=False)
    assert len(found) == len(rows(conn, "id"))


def test_another_selection_is_what_the_index_holds(
    conn: psycopg.Connection, client: Any, repository: Repository, dest: Path
) -> None:
    run(conn, client, dest)
    run(conn, client, dest, paths=["apps"])
    assert {row[0] for row in rows(conn, "document_name")} == {"apps/a.yaml", "apps/b.yaml"}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"ref": "gone"}, NotFoundError),
        ({"chunk_size": 0}, InputError),
    ],
)
def test_what_is_not_there_is_an_error_and_the_index_stays(
    conn: psycopg.Connection,
    client: Any,
    repository: Repository,
    dest: Path,
    stored: Any,
    options: dict[str, Any],
    error: type[Exception],
) -> None:
    run(conn, client, dest)
    before = stored(conn)
    with pytest.raises(error):
        run(conn, client, dest, **options)
    assert stored(conn) == before


@pytest.mark.parametrize(
    "fault",
    [faults.hang_up(), faults.broken_json(), faults.status(429, 600)],
)
def test_a_listing_that_fails_is_no_run_of_zero_files(
    conn: psycopg.Connection,
    client: Any,
    github: GitHubServer,
    repository: Repository,
    dest: Path,
    stored: Any,
    fault: faults.Fault,
) -> None:
    run(conn, client, dest)
    before = stored(conn)
    repository.commit({"apps/a.yaml": b"kind: Other\n"})
    github.fail("git/trees", fault, times=99)
    with pytest.raises(GitHubError):
        run(conn, client, dest)
    assert stored(conn) == before


def test_a_file_that_cannot_be_had_is_an_error_or_keeps_its_rows(
    conn: psycopg.Connection,
    client: Any,
    github: GitHubServer,
    repository: Repository,
    dest: Path,
    stored: Any,
) -> None:
    old = run(conn, client, dest).commit
    before = stored(conn)
    repository.commit({**FILES, "docs/d.md": b"# Changed\n"})
    github.fail("docs/d|blobs", faults.status(500), times=99)
    with pytest.raises(IncompleteDownloadError):
        run(conn, client, dest)
    assert stored(conn) == before
    report = run(conn, client, dest, partial=True)
    assert [file.name for file in report.failed] == ["docs/d.md"]
    assert rows(conn, "commit_sha, document_name", "documents") == sorted(
        [(old, "docs/d.md")] + [(report.commit, name) for name in FILES if name != "docs/d.md"]
    )


# --- issues ---


def test_an_issue_that_changed_is_indexed_anew_and_one_that_is_gone_leaves(
    conn: psycopg.Connection, client: Any, repository: Repository, dest: Path
) -> None:
    issues = sample_repository().issues
    assert issues is not None
    repository.issues = issues
    run(conn, client, dest, issues=True)
    issues[0]["title"] = "Another title"
    issues[0]["updated_at"] = "2026-12-01T00:00:00Z"
    del issues[3]
    some = run(conn, client, dest, issues=True, since="2026-11-30").partitions["issues"]
    assert (some.documents, some.updated, some.deleted) == (1, 4, 0)
    names = {row[0] for row in rows(conn, "name")}
    assert "#1 Another title" in names and "#4 How do I go back to the model before?" in names
    everything = run(conn, client, dest, issues=True).partitions["issues"]
    assert everything.deleted == 3
    assert "#4 How do I go back to the model before?" not in {row[0] for row in rows(conn, "name")}


def test_issues_that_cannot_be_had_leave_the_whole_index_as_it_was(
    conn: psycopg.Connection,
    client: Any,
    github: GitHubServer,
    repository: Repository,
    dest: Path,
    stored: Any,
) -> None:
    run(conn, client, dest)
    before = stored(conn)
    repository.commit({"apps/a.yaml": b"kind: Other\n"})
    github.fail("issues", faults.status(500), times=9)
    with pytest.raises(GitHubError):
        run(conn, client, dest, issues=True)
    assert stored(conn) == before


def test_the_token_is_nowhere_in_the_database_and_the_report(
    conn: psycopg.Connection, client: Any, repository: Repository, dest: Path
) -> None:
    repository.issues = sample_repository().issues
    said: list[str] = []
    report = run(conn, client, dest, issues=True, token=TOKEN, say=said.append)
    for table in ("documents", "document_chunks"):
        found = conn.execute(
            f"SELECT count(*) FROM {table} WHERE {table}::text LIKE %s", [f"%{TOKEN}%"]
        )
        assert found.fetchone() == (0,)
    assert TOKEN not in report.to_json() + repr(report) + "".join(said)
