"""`course ingest-repo`: one revision of a repository goes in, and an index that cites it comes out.

GitHub is the course's own local server, which is asked over HTTP and remembers everything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.github import REPO, Hub, hub_of
from tests.blackbox.golden import hold_golden
from tests.blackbox.places import Place, new_place
from tests.blackbox.snapshots import Snapshot, marks, of, snapshot
from tests.blackbox.surface import Repository, Sizes, faults

GUIDE = b"# Guide\n\nHow pods start.\n\n## Limits\n\nMemory has a limit.\nAnd so has time.\n"
FILES: dict[str, Any] = {
    "README.md": b"# Shop\n\nA shop for tests.\n",
    "docs/guide.md": GUIDE,
    "docs/a b#c.txt": b"Notes\n\non a name\n",
    "apps/pods.yaml": b"---\n".join(
        b"kind: Pod\nmetadata:\n  name: %s\n" % name for name in (b"cart", b"till")
    ),
    "tools/add.py": b'"""Adds."""\n\n\ndef add(a, b):\n    """Add."""\n    return a + b\n',
    "tools/run.sh": b"run() {\n  echo run\n}\n",
    "tools/binary.md": b"\x00\x01",
    "picture.png": b"\x89PNG\x00",
    "empty.md": b"",
}
TEXTS = sorted(name for name in FILES if not name.endswith(".png"))
ROWS = """
    SELECT partition, branch, document_name, chunk_index, kind, name, commit_sha, citation_url,
        content FROM document_chunks ORDER BY partition, branch, document_name, chunk_index
"""
MORE = {f"more/{number}.md": b"# %d\n" % number for number in range(30)}
MOST_AT_ONCE = 4
"""Files that are fetched at the same time, at most."""
PATIENT = ("--max-wait", "0")


@pytest.fixture
def hub(place: Place, tmp_path: Path) -> Iterator[Hub]:
    """A GitHub with a small repository."""
    with hub_of(place, tmp_path, FILES) as made:
        yield made


def as_read(found: Snapshot) -> Snapshot:
    """Return a snapshot with the chunks' addresses in the commits of their documents."""
    key = ("partition", "tenant_id", "repo_slug", "branch", "document_name")
    commits = {tuple(row[name] for name in key): row["commit_sha"] for row in found["documents"]}
    chunks = []
    for row in found["chunks"]:
        commit = commits[tuple(row[name] for name in key)]
        url = (row["citation_url"] or "").replace(row["commit_sha"], commit)
        chunks.append(row | {"commit_sha": commit, "citation_url": url})
    return {**found, "chunks": chunks}


def unhashed(found: Snapshot) -> Snapshot:
    """Return a snapshot without the hashes of chunks, some of which are made of the commit."""
    return {**found, "chunks": [row | {"content_hash": ""} for row in found["chunks"]]}


def heads(text: str) -> str:
    """Return a text without hashes and times."""
    text = re.sub(r"\d\d:\d\d:\d\d on \d{4}-\d\d-\d\d", "TIME", text)
    return re.sub(r"\b\d+ s, at TIME", "N s, at TIME", text)


def test_a_revision_is_pinned_and_every_row_cites_it(hub: Hub) -> None:
    """Branch, tag, short and whole commit: the commit's hash is stored, with links to lines."""
    first = hub.repository.resolve("main")
    second = hub.commit(FILES | {"README.md": b"# Shop\n\nSecond.\n"}, tag="v2")
    told = [
        hub.report(ref=ref) | {"asked": len(hub.asked()), "files": hub.files()}
        for ref in ("main", "v2", str(first), second[:8], "HEAD")
    ]
    hold_golden("github/pinned", told)
    hold_golden("github/rows", [row for row in hub.place.rows(ROWS) if row["branch"] == "main"])
    branches = hub.place.rows(
        "SELECT DISTINCT branch, commit_sha FROM document_chunks ORDER BY branch"
    )
    assert {row["branch"]: row["commit_sha"] for row in branches} == {
        **{"main": second, "v2": second, str(first): first, second[:8]: second, "HEAD": second}
    }
    documents = hub.place.rows("SELECT DISTINCT branch, commit_sha FROM documents ORDER BY branch")
    assert documents == branches
    found = hub.place.course(
        *("search", "Memory has a limit", "--branch", "main", "--json", "--top-k", "1")
    )
    assert f"/blob/{second}/docs/guide.md?plain=1#L1-L8" in found.ok()


def test_a_moved_branch_costs_what_has_changed(hub: Hub, database_url: str) -> None:
    """One file of nine changed: its bytes come and no others; unchanged again, none at all."""
    first = hub.report()
    # What is empty needs no request.
    assert (first["fetched"], first["reused"], len(hub.files())) == (7, 1, 7)
    sizes = sum(len(FILES[name]) for name in TEXTS)
    assert sum(size for path, size in hub.given.items() if path.startswith("raw")) == sizes
    before = marks(hub.place)
    again = hub.report()
    assert (again["fetched"], again["reused"], hub.files()) == (0, 8, [])
    assert marks(hub.place) == before
    told = [{"step": "unchanged", "asked": hub.asked()}]
    changed = b"# Guide\n\nHow pods end.\n"
    steps: dict[str, dict[str, Any]] = {
        "changed": FILES | {"docs/guide.md": changed},
        "renamed": {
            **{name: FILES[name] for name in FILES if name != "docs/guide.md"},
            "docs/renamed.md": changed,
        },
        "deleted": {name: FILES[name] for name in FILES if name != "docs/guide.md"},
        "other files": {**FILES, "docs/guide.md": changed, "other.png": b"x"},
    }
    for step, files in steps.items():
        commit = hub.commit(files)
        report = hub.report()
        raw = {path: size for path, size in hub.given.items() if path.startswith("raw")}
        told.append({"step": step, "asked": hub.asked(), "bytes": sum(raw.values())} | report)
        # The rest is what tells which files have changed: a commit, and its tree.
        assert sum(hub.given.values()) - sum(raw.values()) < 6_000
        stored = hub.place.rows("SELECT DISTINCT commit_sha FROM documents")
        assert stored == [{"commit_sha": commit}], step
        names = hub.place.rows("SELECT document_name FROM documents ORDER BY 1")
        there = {row["document_name"] for row in names}
        assert there == {name for name in files if not name.endswith(".png")} - {"tools/binary.md"}
    hold_golden("github/moved", told)
    with new_place(database_url) as quiet:
        replace(hub, place=quiet).report()
        assert unhashed(as_read(snapshot(hub.place))) == unhashed(as_read(snapshot(quiet)))


def test_most_of_a_version_comes_in_one_archive_and_is_the_same_as_file_by_file(
    hub: Hub, database_url: str
) -> None:
    """What it lacks or changes comes by its hash; what was not asked for is nowhere."""
    hub.commit(FILES | MORE | {".gitattributes": b"more/7.md export-ignore\n"})
    told = [hub.report() | {"asked": hub.asked()}]
    assert len(hub.files()) == 2 and told[0]["fetched"] == 37
    sizes = sum(len(content) for content in (FILES | MORE).values())
    assert sum(hub.given[path] for path in hub.given if "tar.gz" in path) < 4 * sizes
    kept = [path.name for path in hub.state.rglob("*") if path.suffix in {".png", ".gz"}]
    assert kept == []
    again = hub.report()
    assert (again["fetched"], again["reused"], hub.files()) == (0, 38, [])
    hub.server.fail("codeload", faults.short_body(), times=math.inf)
    with new_place(database_url) as quiet:
        other = replace(hub, place=quiet, state=hub.state.with_name("other"))
        assert other.report()["fetched"] == 37
        assert snapshot(hub.place) == snapshot(quiet)
    hold_golden("github/archive", told)


def test_what_is_downloaded_is_indexed_as_a_folder_of_the_same_files_is(
    hub: Hub, database_url: str, tmp_path: Path
) -> None:
    """Rows are those of `course ingest`, but for commit, link, and the names of the source."""
    hub.report("--partition", "documentation", "--branch", "b")
    folder = tmp_path / "same"
    for name in TEXTS:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(FILES[name])
    with new_place(database_url) as quiet:
        quiet.course("ingest", folder, "--repo", REPO, "--branch", "b").ok()
        expected = snapshot(quiet)
    hashes = [
        {(row["document_name"], row["content_hash"]) for row in each["chunks"]}
        for each in (snapshot(hub.place), expected)
    ]
    # The hash of code and manifests is made of their metadata as well, the commit included.
    changed = {name for name, _ in hashes[0] ^ hashes[1]}
    assert changed == {"apps/pods.yaml", "tools/add.py", "tools/run.sh"}
    found, expected = unhashed(snapshot(hub.place)), unhashed(expected)
    for row in (row for each in (found, expected) for rows in each.values() for row in rows):
        row.update(commit_sha=None, citation_url=None)
    assert found == expected and len(found["chunks"]) >= 7


ISSUES: list[dict[str, Any]] = [
    {
        "number": number,
        "title": title,
        "body": body,
        "state": state,
        "user": user,
        "labels": labels,
        "created_at": f"2026-01-0{number}T00:00:00Z",
        "updated_at": f"2026-02-0{number}T00:00:00Z",
        "comments": [
            {
                "id": number * 10 + place,
                "user": "bob",
                "body": text,
                "created_at": f"2026-01-1{place}T00:00:00Z",
                "updated_at": f"2026-01-1{place}T00:00:00Z",
            }
            for place, text in enumerate(comments)
        ],
        **({"pull_request": True} if is_pull else {}),
    }
    for number, title, body, state, user, labels, comments, is_pull in (
        (1, "Pods die", "They do.\n\nOften.", "open", "ada", ["bug", "pods"],
         ["More memory helps.", "It did."], False),
        (2, "Mend it", "A change.", "open", "bob", [], ["Looks good."], True),
        (3, "No text", None, "closed", None, [], [], False),
    )
]  # fmt: skip


def test_issues_and_their_comments_become_documents_and_pull_requests_do_not(hub: Hub) -> None:
    """They belong to no branch; unchanged ones cost nothing; `--since` leaves older ones."""
    hub.repository.issues = [dict(issue) for issue in ISSUES]
    told = [{"step": "first", **hub.report("--issues")}]
    columns = "SELECT document_name, branch, commit_sha, citation_url, content, metadata"
    hold_golden(
        "github/issues",
        hub.place.rows(f"{columns} FROM documents WHERE partition = 'issues' ORDER BY 1")
        + hub.place.rows(
            f"{columns}, kind, name FROM document_chunks WHERE partition = 'issues' "
            "ORDER BY document_name, chunk_index"
        ),
    )
    before = marks(hub.place)
    told.append({"step": "again", **hub.report("--issues")})
    assert marks(hub.place) == before
    told.append({"step": "without", **hub.report()})
    assert marks(hub.place) == before
    hub.repository.issues = [
        ISSUES[0] | {"title": "Pods live", "updated_at": "2026-03-01T00:00:00Z"},
        ISSUES[2] | {"title": "Not looked at"},
    ]
    told.append({"step": "since", **hub.report("--issues", "--since", "2026-02-20")})
    told.append({"step": "all", **hub.report("--issues")})
    hub.repository.issues = [ISSUES[2]]
    told.append({"step": "gone", **hub.report("--issues")})
    hold_golden("github/issues-again", told)
    rows = of(snapshot(hub.place), partition="issues")
    assert [row["branch"] for row in rows["documents"]] == [""]
    hub.repository.issues = None
    off = hub("--issues")
    assert off.code == 1 and "issues" in off.error()


def test_limits_are_waited_for_or_told(hub: Hub) -> None:
    """A limit that is over at once costs nothing; one that is too long ends it with the time."""
    told: list[dict[str, Any]] = []

    def tell(step: str, *words: str, **environment: str) -> None:
        done = hub(*words, **environment)
        told.append({"step": step, "code": done.code, "err": heads(hub.tidy(done.err)).splitlines(),
                     "asked": len(hub.asked())})  # fmt: skip
        assert "hush-hush" not in done.out + done.err

    hub.has_raw = False
    hub.server.refuse(times=2, retry_after=0)
    tell("secondary limit, over at once", *PATIENT)
    assert hub.place.one("SELECT count(*) FROM documents") == 8 - 1
    hub.server.refuse(times=1, status=429, retry_after=30)
    tell("secondary limit of 30 s", *PATIENT)
    hub.server.refuse(times=1, retry_after=None)
    hub.server.heal()
    hub.server.refuse(times=1, retry_after=None)
    tell("secondary limit that says nothing", *PATIENT)
    hub.server.heal()
    hub.server.set_limit(0)
    tell("primary limit", *PATIENT)
    hub.server.set_limit(0, status=429)
    tell("primary limit by 429", *PATIENT, GITHUB_TOKEN="ghp_hush-hush")
    hub.server.set_limit(60)
    tell("enough again", *PATIENT)
    hub.server.fail("api/", faults.status(503, retry_after=0), times=4)
    tell("a fault, four times", *PATIENT)
    hub.server.fail("api/", faults.status(503, retry_after=0), times=5)
    tell("a fault, five times", *PATIENT)
    hold_golden("github/limits", told)


def test_a_download_that_broke_goes_on_where_it_was(hub: Hub, tmp_path: Path) -> None:
    """What had arrived is kept and not fetched again; nothing is indexed until all is there."""
    hub.has_raw = False
    # Of a tree of which less than half is wanted, the files come one by one.
    hub.commit(FILES | MORE | {f"images/{number}.png": b"%d" % number for number in range(50)})
    hub.server.set_limit(32)
    broken = hub("--dest", tmp_path / "dest", *PATIENT)
    assert "the hourly limit is used up" in broken.error()
    arrived = hub.arrived()
    assert arrived == 30
    # Not by to_regclass: it would find a table of the same name in another schema of the path.
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"
    assert hub.place.one(tables) == 0
    hub.server.set_limit(5_000)
    report = hub.report("--dest", tmp_path / "dest")
    # Some were on their way when the limit was met: those are fetched twice.
    assert (report["fetched"], report["reused"]) == (hub.arrived(), 38 - hub.arrived())
    assert 37 - arrived <= report["fetched"] <= 37 - arrived + MOST_AT_ONCE
    hub.server.fail(r"guide\.md|blobs", faults.changed_content(), times=math.inf)
    hub.commit(FILES | {"docs/guide.md": GUIDE + b"More.\n"})
    before = marks(hub.place)
    lied = hub("--dest", tmp_path / "dest").error()
    assert "docs/guide.md is not what was listed" in lied
    assert marks(hub.place) == before
    part = hub.report("--dest", tmp_path / "dest", "--partial")
    assert [one["name"] for one in part["failed"]] == ["docs/guide.md"]
    row = "SELECT content FROM documents WHERE document_name = 'docs/guide.md'"
    assert hub.place.one(row) == GUIDE.decode()
    hub.server.heal()
    assert hub.report("--dest", tmp_path / "dest")["fetched"] == 1
    assert hub.place.one(row) == GUIDE.decode() + "More.\n"


def test_what_github_refuses_is_told_and_changes_nothing(hub: Hub) -> None:
    """No such repository, ref or path, a refused token, a moved name: message and exit code."""
    hub.report()
    before = marks(hub.place)
    for name, options in {
        "heron/private": {"private": True},
        "heron/denied": {"denied": True},
        "heron/blocked": {"blocked": True},
        "heron/no-commit": {},
    }.items():
        hub.server.add(Repository(name, **options))
    hub.server.tokens = frozenset({"ghp_right"})
    token = {"GITHUB_TOKEN": "ghp_hush-hush"}
    calls: tuple[tuple[tuple[str, ...], dict[str, str]], ...] = (
        (("heron/nothing",), {}),
        (("heron/private",), {}),
        (("heron/denied",), {}),
        (("heron/blocked",), {}),
        (("heron/no-commit",), {}),
        ((REPO,), {"ref": "mian"}),
        ((REPO,), {"ref": "0" * 40}),
        ((REPO,), {"ref": "a..b"}),
        ((REPO,), {"ref": ""}),
        ((REPO, "--path", "nowhere"), {}),
        ((REPO, "--ext", ".rs"), {}),
        ((REPO, "--ext", ""), {}),
        ((REPO, "--since", "yesterday", "--issues"), {}),
        ((REPO, "--since", "2026-01-01"), {}),
        (("--max-wait", "-1"), {}),
        (("heron/sh op",), {}),
        (("heron/..",), {}),
        ((REPO,), token),
        ((REPO,), {"GITHUB_API_URL": "ftp://example.com"}),
    )
    told: list[dict[str, Any]] = []
    for words, options in calls:
        done = hub(*words, **options)
        assert "hush-hush" not in done.out + done.err and "Traceback" not in done.err, done
        said = [" ".join(re.sub("[│╭╮╰╯─]+", " ", one).split()) for one in done.err.splitlines()]
        shown = {"call": words, "with": {} if options == token else options}
        lines = [hub.tidy(line) for line in said if line]
        told.append(shown | {"code": done.code, "err": lines})
        assert marks(hub.place) == before
    hold_golden("github/refused", told)


def test_a_renamed_repository_is_found_under_its_old_name(hub: Hub) -> None:
    """Redirects are followed, and not in circles."""
    hub.server.add(Repository("heron/old"))
    hub.has_raw = False
    tree = hub.repository.commits[hub.repository.resolve("main")].tree
    for pattern, path in {
        "heron/old/commits": "commits/main",
        "heron/old/git/trees": f"git/trees/{tree}?recursive=1",
        "heron/old/(contents|git/blobs)": "contents/README.md?ref=main",
    }.items():
        target = f"{hub.server.url}/repos/{REPO}/{path}"
        hub.server.fail(pattern, faults.redirect(target, 301), times=math.inf)
    told = [hub.report("heron/old", "--path", "README.md") | {"asked": hub.asked()}]
    row = hub.place.rows("SELECT repo_slug, content, citation_url FROM documents")
    told += row
    hub.server.heal()
    hub.server.fail("api/", faults.redirect("/round", 302), times=math.inf)
    round_ = hub()
    told.append({"code": round_.code, "err": hub.tidy(round_.err)})
    hold_golden("github/renamed", told)


def test_large_and_odd_trees_come_whole(place: Place, tmp_path: Path) -> None:
    """A truncated tree is listed folder by folder; files that are none, or too large, are named."""
    sizes = Sizes(tree_entries=6)
    with hub_of(place, tmp_path, FILES, sizes=sizes) as hub:
        hub.has_raw = False
        report = hub.report()
        told = [{"step": "truncated", "asked": hub.asked(), **report}]
        narrow = hub.report("--path", "docs", "--path", "tools/run.sh", "--ext", ".md,sh")
        told.append({"step": "narrow", "asked": hub.asked(), **narrow})
        names = hub.place.rows("SELECT document_name FROM documents ORDER BY 1")
        assert [row["document_name"] for row in names] == ["docs/guide.md", "tools/run.sh"]
        hub.server.sizes = Sizes()
        hub.commit({"huge.md": bytes(100_000_001), "a.md": b"# A\n"})
        large = hub()
        told.append({"step": "huge", "code": large.code, "err": hub.tidy(large.err).splitlines()})
        part = hub.report("--partial")
        told.append({"step": "huge, partial", "asked": hub.asked(), **part})
    hold_golden("github/trees", told)
