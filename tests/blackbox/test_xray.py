"""`course xray`: lock files go in, a catalogue that can be asked comes out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.course import Course, kept_vectors
from tests.blackbox.golden import hold_golden, read_golden, write_golden, writing
from tests.blackbox.language_models import (
    CHAT,
    SHOW,
    models,
    ollama,
    window,
)
from tests.blackbox.places import Place
from tests.blackbox.serving import serving
from tests.blackbox.surface import fresh_database

ROOT = Path(__file__).parents[2]
PROJECTS = ("rider-app", "forecasting")
SPOTIFY = "fetch top charts from Spotify"
ASK = ("xray", "suggest", SPOTIFY, "-p", "app", "-l", "python")
CARGO = '[[package]]\nname = "serde"\nversion = "1.0.219"\nsource = "registry+x"\n'
NO_MODEL = {"RAG_EMBED_MODEL": "/nowhere/model"}
LEAST_OVERLAP = 0.97
"""Of the first ten suggestions that a golden file holds; processors round differently."""

USED = (
    "SELECT language, name, version FROM xray_report_packages WHERE project = %s AND "
    "tenant_id = %s ORDER BY 1, 2"
)
CATALOGUE = "SELECT language || ' ' || name AS name FROM xray_packages ORDER BY 1"


def names(place: Place) -> list[str]:
    """Return the catalogue that all projects share."""
    return [row["name"] for row in place.rows(CATALOGUE)]


def used(place: Place, project: str = "app", tenant: str = "local") -> list[str]:
    """Return what is stored of a project."""
    return [" ".join(row.values()) for row in place.rows(USED, project, tenant)]


def lock(folder: Path, *packages: str) -> Path:
    """Write a requirements.txt and return its folder."""
    folder.mkdir(exist_ok=True)
    text = "".join(f"{one}\n" for one in packages)
    (folder / "requirements.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def scanned(data: Path) -> Iterator[Place]:
    """A database that holds both projects of data/lockfiles and no index; for reading only."""
    with fresh_database("blackbox-xray") as fresh:
        made = Place(fresh.url, "course", Course({"DATABASE_URL": fresh.url}))
        with kept_vectors():
            for project in PROJECTS:
                made.course("xray", "scan", data / "lockfiles" / project, "-p", project).ok()
        yield made


@pytest.fixture
def indexed(place: Place, tmp_path: Path) -> Place:
    """An index of one note, beside which packages are stored."""
    note = tmp_path / "note.md"
    note.write_text("# Note\n\nA note.\n", encoding="utf-8")
    place.course("ingest", note, "--repo", "note").ok()
    note.unlink()
    return place


def test_a_scan_reads_every_kind_of_lock_file(scanned: Place, data: Path) -> None:
    """Packages, versions and languages of both projects, and descriptions of the catalogue."""
    hold_golden(
        "xray/packages",
        [{"project": project, "packages": used(scanned, project)} for project in PROJECTS],
    )
    rows = scanned.rows("SELECT language, name, description, model FROM xray_packages")
    assert {row["model"] for row in rows} == {"all-MiniLM-L6-v2"}
    stored = {(row["language"], row["name"]): row["description"] for row in rows}
    table = (data / "lockfiles/descriptions.jsonl").read_text(encoding="utf-8").splitlines()
    for one in map(json.loads, table):
        described = stored.pop((one["language"], one["name"]), one["description"])
        assert described == one["description"], one
    unknown = {name for name, description in stored.items() if not description}
    assert unknown == {("go", "github.com/heron/apns2"), ("ruby", "heron-audit")}
    again = scanned.course(
        *("xray", "scan", data / "lockfiles/forecasting", "-p", "forecasting", "--json")
    ).json()
    hold_golden("xray/unchanged", [again])
    alone = scanned.course("xray", "scan", data / "lockfiles/rider-app", "-p", "rider-app").ok()
    assert alone == (
        "go: unchanged\njavascript: unchanged\npython: unchanged\nruby: unchanged\n"
        "0 packages described, 0 embedded\n"
    )


def test_questions_bring_the_packages_that_they_are_about(scanned: Place, data: Path) -> None:
    """Recall@10 is held, and so are the ten: a change is seen, and judged."""
    lines = (data / "questions/packages.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    found: list[dict[str, Any]] = []
    recall = 0.0
    with serving(scanned.course) as service:
        for one in questions:
            asked = {name: one[name] for name in ("instruction", "project", "language")}
            told = service.client.post("/xray/suggest", json={**asked, "k": 10}).json()
            ten = [package["name"] for package in told["packages"]]
            assert told["fallback"] == "" and len(ten) == 10
            similarities = [package["similarity"] for package in told["packages"]]
            assert similarities == sorted(similarities, reverse=True)
            gold = set(one["gold_packages"])
            recall += len(gold & set(ten)) / len(gold)
            found.append({"id": one["id"], "packages": ten})
    recall /= len(questions)
    if writing():
        write_golden("xray/suggestions", [{"recall@10": round(recall, 2)}, *found])
    held, *golden = read_golden("xray/suggestions")
    assert [one["id"] for one in golden] == [one["id"] for one in found]
    assert recall == pytest.approx(held["recall@10"], abs=0.02)
    overlaps = [
        len(set(new["packages"]) & set(old["packages"])) / 10
        for new, old in zip(found, golden, strict=True)
    ]
    assert sum(overlaps) / len(overlaps) >= LEAST_OVERLAP


def test_a_suggestion_is_told_to_people_and_to_programs(scanned: Place) -> None:
    """One line a package, or JSON; without a model the first fifty by name, and why."""
    ask = ("xray", "suggest", SPOTIFY, "-p", "rider-app", "-l", "python")
    told = scanned.course(*ask, "--json").json()
    best = told["packages"][0]
    assert list(told) == ["packages", "fallback"] and len(told["packages"]) == 5
    assert best.pop("similarity") > 0.4
    assert best == {
        "name": "spotipy",
        "version": "2.25.1",
        "description": "Client for Spotify's Web API: tracks, artists, playlists, playback",
    }
    lines = scanned.course(*ask, "-k", "2").ok().splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"0\.\d{3}  spotipy 2\.25\.1  Client for Spotify's Web API: .*", lines[0])
    without = scanned.course(*ask, **NO_MODEL)
    assert len(without.ok().splitlines()) == 50
    assert without.err.startswith("only the first packages by name: there is no model")
    nothing = scanned.course(*ask[:-1], "rust")
    assert (nothing.ok(), nothing.err) == (
        "",
        "no rust packages of rider-app are stored: `course xray scan DIR -p rider-app`\n",
    )
    other = scanned.course(*ask, RAG_TENANT="acme")
    assert (other.ok(), "no python packages of rider-app" in other.err) == ("", True)


def test_what_changes_in_a_lock_file_changes_in_the_catalogue(
    indexed: Place, tmp_path: Path
) -> None:
    """Added, changed, removed; a shared package stays, an orphan goes; the checksum saves work."""
    course = indexed.course
    app = lock(tmp_path / "app", "rich==1.0", "typer==1.0", "httpx==1.0")
    early = course(*ASK).error()
    assert early.startswith(
        "error: the database holds no packages yet\nScan a project: course xray"
    )

    def scan(*words: str | Path, **environment: str) -> str:
        return course("xray", "scan", *words, **environment).ok()

    assert scan(app, "-p", "app") == (
        "python: 0 skipped, 3 added, 0 changed, 0 removed\n3 packages described, 3 embedded\n"
    )
    # Another project, and another tenant's of the same name.
    other = lock(tmp_path / "other", "httpx==2.0", "nobody-knows==1.0")
    done = course("xray", "scan", other, "-p", "other")
    assert done.ok() == (
        "python: 0 skipped, 2 added, 0 changed, 0 removed\n0 packages described, 1 embedded\n"
    )
    assert done.err == "without a description yet: 1 package\n"
    scan(lock(tmp_path / "acme", "rich==9.0"), "-p", "app", RAG_TENANT="acme")
    assert used(indexed) == ["python httpx 1.0", "python rich 1.0", "python typer 1.0"]
    assert used(indexed, tenant="acme") == ["python rich 9.0"]
    assert scan(app, "-p", "app") == "python: unchanged\n0 packages described, 0 embedded\n"
    lock(app, "httpx==1.1", "rich==1.0", "spotipy==2.25.1")
    changed = course("xray", "scan", app, "-p", "app", "--json").json()
    (python,) = changed["languages"]
    lists = {name: python[name] for name in ("added", "changed", "removed", "orphans")}
    assert lists == {
        **{"added": ["spotipy"], "changed": ["httpx"], "removed": ["typer"], "orphans": ["typer"]}
    }
    assert names(indexed) == [
        f"python {one}" for one in ("httpx", "nobody-knows", "rich", "spotipy")
    ]
    # What only others use stays; a language whose file is gone goes.
    (app / "requirements.txt").unlink()
    (app / "Cargo.lock").write_text(CARGO, encoding="utf-8")
    assert scan(app, "-p", "app").splitlines()[:2] == [
        "python: 0 skipped, 0 added, 0 changed, 3 removed, 1 of them from the catalogue",
        "rust: 0 skipped, 1 added, 0 changed, 0 removed",
    ]
    assert used(indexed) == ["rust serde 1.0.219"] and used(indexed, tenant="acme") == [
        "python rich 9.0"
    ]
    forgotten = course("xray", "forget", "-p", "other", "--json").json()
    assert forgotten == {"project": "other", "removed": 2, "orphans": 2}
    assert names(indexed) == ["python rich", "rust serde"]
    assert course("xray", "forget", "-p", "app").ok() == (
        "1 package of app removed, 1 of them from the catalogue\n"
    )
    assert names(indexed) == ["python rich"]


BROKEN = {
    "requirements.txt": "=broken=\n",
    "go.mod": "<<<<<<< HEAD\n",
    "package-lock.json": "{not json",
    "Cargo.lock": "[[package",
    "poetry.lock": "name = ",
    "uv.lock": "\0",
    "pylock.toml": "= 1",
    "Gemfile.lock": "\x00\x01",
    "yarn.lock": "???",
}


def test_a_broken_lock_file_is_named_and_its_language_stays_as_it_is(
    indexed: Place, tmp_path: Path
) -> None:
    """Exit code 1, what is wrong with which file, and all other languages up to date."""
    course = indexed.course
    lock(tmp_path, "rich==14.1.0")
    course("xray", "scan", tmp_path, "-p", "app").ok()
    records: list[dict[str, Any]] = []
    for name, text in BROKEN.items():
        folder = tmp_path / f"broken-{name}"
        folder.mkdir()
        (folder / name).write_bytes(text.encode())
        done = course("xray", "scan", folder, "-p", f"broken-{name}")
        # What the parsers of JSON and TOML say is theirs, and differs between versions of Python.
        said = re.sub(r"(?<=can be read: ).*", "…", done.err).replace(str(tmp_path), "FOLDER")
        records.append({"file": name, "code": done.code, "out": done.out, "err": said})
    hold_golden("xray/broken", records)
    (tmp_path / "requirements.txt").write_text("=broken=\n", encoding="utf-8")
    for folder in tmp_path.glob("broken-*"):
        (folder / folder.name.removeprefix("broken-")).unlink()
    (tmp_path / "Cargo.lock").write_text(CARGO, encoding="utf-8")
    done = course("xray", "scan", tmp_path, "-p", "app")
    assert done.code == 1 and "rust: 0 skipped, 1 added, 0 changed, 0 removed\n" in done.out
    assert done.err.startswith(
        "python: nothing changed: requirements.txt is not a requirements.txt "
    )
    assert used(indexed) == ["python rich 14.1.0", "rust serde 1.0.219"]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "there is no lock file" in course("xray", "scan", empty, "-p", "app").error()
    assert "nowhere" in course("xray", "scan", tmp_path / "nowhere", "-p", "app").error()
    assert used(indexed) == ["python rich 14.1.0", "rust serde 1.0.219"]


def test_without_a_model_a_scan_succeeds_and_the_next_one_embeds(
    indexed: Place, tmp_path: Path
) -> None:
    """What is stored without vectors is suggested by name until then."""
    app = lock(tmp_path / "app", "rich==14.1.0", "spotipy==2.25.1")
    done = indexed.course("xray", "scan", app, "-p", "app", **NO_MODEL)
    assert done.ok().splitlines()[0] == "python: 0 skipped, 2 added, 0 changed, 0 removed"
    assert "no vectors: " in done.err
    before = indexed.course(*ASK)
    assert "the next `course xray scan` makes them" in before.err
    assert len(before.ok().splitlines()) == 2
    again = indexed.course("xray", "scan", app, "-p", "app", "--json").json()
    assert [one["unchanged"] for one in again["languages"]] == [True]
    assert again["filled"] == {"described": 0, "embedded": 2, "waiting": 0, "stopped": ""}
    assert " spotipy 2.25.1 " in indexed.course(*ASK).ok().splitlines()[0]


def test_the_comment_above_a_line_becomes_a_prompt_with_the_packages_that_it_needs(
    indexed: Place, tmp_path: Path
) -> None:
    """Printed as it is, or sent to a model whose code is printed."""
    course = indexed.course
    app = lock(tmp_path / "app", "spotipy==2.25.1", "rich==1")
    course("xray", "scan", app, "-p", "app").ok()
    file = app / "charts.py"
    file.write_text("import os\n\n# Fetch the top charts from Spotify\n", encoding="utf-8")
    made = course("xray", "prompt", file, "4", "-p", "app").ok()
    hold_golden("xray/prompt", [{"lines": made.splitlines()}])
    reply = ollama("import spotipy\n", "charts = spotipy.Spotify()\n")
    with models({CHAT: reply, SHOW: window(5_000)}) as server:
        words = ("xray", "prompt", file, "4", "-p", "app", "--backend", "ollama", "--model", "m")
        code = course(*words, OLLAMA_URL=server.url).ok()
    assert code == "import spotipy\ncharts = spotipy.Spotify()\n\n"
    (sent,) = [body for path, _, body in server.asked if path == CHAT]
    assert sent["messages"][-1]["content"] == made
    assert (
        "none is asked" in course("xray", "prompt", file, "2", "-p", "app", "--model", "m").error()
    )
    wrong = course("xray", "prompt", app / "requirements.txt", "1", "-p", "app").error()
    assert "the language of requirements.txt" in wrong


def test_packages_need_no_index_beside_them(place: Place, tmp_path: Path) -> None:
    """A collection that holds packages only: scanned, suggested and filled."""
    app = lock(tmp_path / "app", "rich==14.1.0", "spotipy==2.25.1")
    for _ in range(2):
        place.course("xray", "scan", app, "-p", "app").ok()
        assert " spotipy 2.25.1 " in place.course(*ASK).ok().splitlines()[0]
    assert "there is no index" in place.course("search", "colours").error()


def test_a_project_needs_a_name_and_a_suggestion_a_language(course: Course) -> None:
    """A wrong call ends with 2 and says what is missing."""
    assert "Missing option '--project'" in course("xray", "scan", ".").error(2)
    assert "Missing option '--language'" in course("xray", "suggest", "x", "-p", "a").error(2)
    said = course(*ASK, "-k", "0").error(2)
    assert "'--top-k' / '-k': Input should be greater than or equal to 1" in said
