"""`course ingest`: a folder goes in, and whatever happened to it before, its index comes out.

Each time the rows are those of an index that was built in peace from the folder as it is now.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator
from operator import mul
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from tests.blackbox.golden import hold_golden
from tests.blackbox.places import Place, new_place
from tests.blackbox.snapshots import Snapshot, but, marks, of, renamed, snapshot
from tests.blackbox.surface import EmbeddingClient

Report = dict[str, Any]

GUIDE = "# Guide\n\nHow pods start.\n\n## Limits\n\n" + "Memory has a limit. " * 12 + "\n"
LONGER = GUIDE + "\n## Probes\n\n" + "A probe asks whether a pod is ready. " * 12 + "\n"
PODS = "".join(
    f"---\nkind: Service\nmetadata:\n  name: {name}\n  namespace: shop\n"
    for name in ("cart", "till")
)
LINES = "".join(f"    total += price * {number}\n" for number in range(20))
FILES = {
    "guide.md": GUIDE,
    "notes.txt": "Alpha beta. " * 40,
    "empty.md": "",
    "code/tool.py": f"def add(price):\n    total = 0\n{LINES}    return total\n",
    "deploy/pods.yaml": PODS,
    "deep/er/zebras.md": "# Zebras\n\nZebras are painted in stripes.\n",
}
SMALL = ("--chunk-size", "200", "--chunk-overlap", "20")


def write(folder: Path, **files: str | bytes | None) -> Path:
    """Write files, or remove those that are None."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def ingest(place: Place, *words: str | Path, **environment: str) -> Report:
    """Run `course ingest --json` and return its report, without what time makes of it."""
    done = place.course("ingest", *words, *SMALL, "--json", **environment)
    report: Report = done.json()
    assert report.pop("seconds") > 0
    encoded = report.pop("chunks_per_second")
    assert encoded >= 0
    return report | {"encoded": encoded > 0, "said": done.err.splitlines()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of documents, code and a manifest."""
    return write(tmp_path / "shop", **FILES)


@pytest.fixture(scope="module")
def quiet(database_url: str) -> Iterator[Place]:
    """Where an index is built in peace, to compare others with."""
    with new_place(database_url) as made:
        yield made


def sentences(said: str) -> list[str]:
    """Return the lines of a message, without the frame that a wrong usage is shown in."""
    lines = [" ".join(re.sub("[│╭╮╰╯─]+", " ", line).split()) for line in said.splitlines()]
    return [line for line in lines if line]


def emptied(quiet: Place) -> Place:
    """Return the place without the rows that the last comparison left there."""
    if quiet.one("SELECT to_regclass('documents') IS NOT NULL"):
        quiet.rows("DELETE FROM document_chunks RETURNING 1")
        quiet.rows("DELETE FROM documents RETURNING 1")
    return quiet


def peace(quiet: Place, *words: str | Path) -> Snapshot:
    """Return an index that was built from nothing, by nobody else, without interruption."""
    ingest(emptied(quiet), *words)
    return snapshot(quiet)


STEPS: tuple[tuple[str, dict[str, str | bytes | None]], ...] = (
    ("new", {}),
    ("unchanged", {}),
    ("changed", {"deep/er/zebras.md": "# Zebras\n\nZebras are striped by nobody.\n"}),
    ("one word in the middle", {"guide.md": GUIDE.replace("start", "begin")}),
    ("grown", {"guide.md": LONGER}),
    ("shrunk", {"guide.md": "# Guide\n\nGone.\n", "notes.txt": "Alpha."}),
    ("moved lines", {"deploy/pods.yaml": "\n\n" + PODS}),
    ("added", {"new.md": "# New\n\nNew.\n", "new.sh": "echo new\n"}),
    ("renamed", {"new.md": None, "renamed.md": "# New\n\nNew.\n"}),
    ("moved", {"renamed.md": None, "deep/new.md": "# New\n\nNew.\n"}),
    ("copied", {"deep/copy.md": "# New\n\nNew.\n"}),
    ("deleted", {"deep/copy.md": None, "deploy/pods.yaml": None}),
    ("emptied", {"code/tool.py": ""}),
    ("blank", {"notes.txt": " \n\n"}),
    ("filled again", {"code/tool.py": FILES["code/tool.py"], "notes.txt": "Beta."}),
    ("other lines' ends", {"guide.md": "# Guide\r\n\r\nGone.\r\n"}),
    ("a mark in front", {"guide.md": "\ufeff# Guide\r\n\r\nGone.\r\n"}),
    ("unknown format", {"picture.png": b"\x89PNG", "guide.doc": "# Guide"}),
)
"""What happened to the folder → what it was, one after the other."""


def test_whatever_happens_to_a_folder_its_index_is_as_if_built_from_nothing(
    place: Place, quiet: Place, folder: Path
) -> None:
    """Only what changed is encoded and written: other rows have their ids and last writers."""
    told: list[Report] = []
    for step, changes in STEPS:
        before = marks(place, *changes) if told else {}
        write(folder, **changes)
        told.append({"step": step, **ingest(place, folder)})
        assert snapshot(place) == peace(quiet, folder), step
        assert marks(place, *changes) == before or not before, step
    hold_golden("ingest/steps", told)
    ids = {key: mark[0] for key, mark in marks(place).items()}
    write(folder, **{"deep/er/zebras.md": "# Zebras\n\nZebras run.\n"})
    ingest(place, folder)
    # A chunk that is replaced keeps its id: an answer that cites it still finds it.
    assert {key: mark[0] for key, mark in marks(place).items()} == ids


def test_what_cannot_be_read_now_keeps_its_rows_until_it_can_be(
    place: Place, quiet: Place, folder: Path
) -> None:
    """A file that turned binary is named and left as it is; the others go on."""
    first = ingest(place, folder)
    before, mark = snapshot(place), marks(place)
    binary: dict[str, str | bytes | None] = {
        "guide.md": b"\x00\x01\x02",
        "notes.txt": b"caf\xe9",
        "code/tool.py": "x = 1\n",
    }
    write(folder, **binary)
    told = ingest(place, folder)
    assert told["skipped"] == [
        {"name": "guide.md", "reason": "has a NUL byte at offset 0: not a text, or not in UTF-8"},
        {"name": "notes.txt", "reason": "is not UTF-8: byte 0xe9 at offset 3"},
    ]
    assert told["said"] == [f"left out: {one['name']} {one['reason']}" for one in told["skipped"]]
    assert told["chunks"] < first["chunks"]
    assert but(snapshot(place), "guide.md", "notes.txt") == peace(quiet, folder)
    others = but(before, *(set(FILES) - {"guide.md", "notes.txt"}))
    found = but(snapshot(place), *(set(FILES) - {"guide.md", "notes.txt"}))
    assert found == others and len(found["documents"]) == 2
    write(folder, **{"guide.md": GUIDE, "notes.txt": None, "code/tool.py": FILES["code/tool.py"]})
    ingest(place, folder)
    assert snapshot(place) == peace(quiet, folder) == but(before, "notes.txt")
    kept = {key: one for key, one in marks(place).items() if key[5] == "guide.md"}
    assert kept == {key: one for key, one in mark.items() if key[5] == "guide.md"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and permissions")
def test_what_the_system_refuses_is_named_and_keeps_its_rows(place: Place, folder: Path) -> None:
    """A link to nowhere or to the outside, and a folder and a file without permission."""
    ingest(place, folder)
    before = marks(place)
    expected = []
    outside = write(folder.parent / "outside", **{"a.md": "Not of this folder."}) / "a.md"
    for name, target, reason in (
        ("guide.md", outside, "is a link that leads out of the directory"),
        ("notes.txt", "nowhere", "cannot be read: No such file or directory"),
    ):
        (folder / name).unlink()
        (folder / name).symlink_to(target)
        expected.append({"name": name, "reason": reason})
    # To the superuser, under whom tests may run, nothing is refused.
    closed = [folder / "deep", folder / "code" / "tool.py"] if os.geteuid() else []
    for path in closed:
        path.chmod(0)
    told = ingest(place, folder)
    for path in closed:
        path.chmod(0o700)
        name = path.relative_to(folder).as_posix() + ("/" if path.is_dir() else "")
        expected.append({"name": name, "reason": "cannot be read: Permission denied"})
    assert sorted(told["skipped"], key=str) == sorted(expected, key=str)
    assert marks(place) == before


def test_sources_are_apart_by_repository_branch_partition_and_tenant(
    place: Place, quiet: Place, folder: Path
) -> None:
    """Each is as if it were alone; an ingest of one touches nothing of the others."""
    alone = peace(quiet, folder)
    first = {"partition": "documentation", "tenant_id": "local", "repo_slug": "shop", "branch": ""}
    sources: tuple[tuple[dict[str, str], tuple[str, ...], dict[str, str]], ...] = (
        ({}, (), {}),
        ({"repo_slug": "other"}, ("--repo", "other"), {}),
        ({"branch": "v2"}, ("--branch", "v2"), {}),
        ({"partition": "code_pipelines"}, ("--partition", "code_pipelines"), {}),
        ({"partition": "my own"}, ("--partition", "my own"), {}),
        ({"tenant_id": "acme"}, (), {"RAG_TENANT": "acme"}),
    )
    for fields, words, environment in sources:
        before = marks(place) if fields else {}
        told = ingest(place, folder, *words, **environment)
        assert (told["inserted"], told["unchanged"], told["deleted"]) == (told["chunks"], 0, 0)
        assert before.items() <= marks(place).items()
    found = snapshot(place)
    hashes: dict[str, set[str]] = {}
    for fields, _, _ in sources:
        own = of(found, **(first | fields))
        assert renamed(own, **fields) == renamed(alone, **fields), fields
        for row in own["chunks"]:
            hashes.setdefault(row["document_name"], set()).add(row["content_hash"])
    # A hash is made of tenant and repository; that of code and manifests of the branch as well.
    counts = {name: (3 if name.endswith((".md", ".txt")) else 4) for name in hashes}
    chunks = {name: len(of(alone, document_name=name)["chunks"]) for name in hashes}
    assert {name: len(found) for name, found in hashes.items()} == {
        name: counts[name] * chunks[name] for name in hashes
    }
    write(folder, **{"guide.md": None, "notes.txt": "Beta. " * 60})
    before_rest = [of(found, **(first | fields)) for fields, _, _ in sources[1:]]
    ingest(place, folder)
    found = snapshot(place)
    assert of(found, **first) == peace(quiet, folder)
    assert [of(found, **(first | fields)) for fields, _, _ in sources[1:]] == before_rest


def test_another_chunk_size_splits_anew_what_is_split_by_size(
    place: Place, quiet: Place, folder: Path
) -> None:
    """And one file alone is brought up to date without a word about the others."""
    ingest(place, folder)
    words = ("ingest", folder, "--chunk-size", "120", "--chunk-overlap", "0", "--json")
    told = place.course(*words).json()
    emptied(quiet).course(*words).ok()
    assert snapshot(place) == snapshot(quiet)
    assert told["inserted"] > 0 and told["updated"] > 0
    ingest(place, folder)
    assert snapshot(place) == peace(quiet, folder)
    before = marks(place, "guide.md")
    write(folder, **{"guide.md": LONGER, "notes.txt": "Not looked at."})
    one = ingest(place, folder / "guide.md", "--repo", "shop")
    assert one["documents"] == 1 and one["inserted"] > 0
    assert marks(place, "guide.md") == before
    write(folder, **{"notes.txt": FILES["notes.txt"]})
    assert snapshot(place) == peace(quiet, folder)


def test_each_vector_is_that_of_its_own_text(place: Place, tmp_path: Path) -> None:
    """Header and content are what is embedded; one changed document of many gets its own."""
    folder = write(tmp_path / "many", **{"tool.py": FILES["code/tool.py"], "a.md": GUIDE})
    animals = [f"# Animal {number}\n\nIt has {number} legs.\n" for number in range(24)]
    write(folder, **{f"{number:02}.md": text for number, text in enumerate(animals)})
    ingest(place, folder)
    write(folder, **{"07.md": "# Weather\n\nRain in the evening.\n"})
    assert ingest(place, folder)["updated"] == 1
    rows = snapshot(place)["chunks"]
    texts = [(row["metadata"].get("header") or "") + row["content"] for row in rows]
    assert texts[7] == "Weather\n# Weather\n\nRain in the evening.\n" and len(texts) > 28
    assert any(row["metadata"].get("header") for row in rows)
    expected = EmbeddingClient().encode(texts)
    for text, row, vector in zip(texts, rows, expected, strict=True):
        numbers = row["embedding"].numbers
        assert len(numbers) == 384 and math.isclose(math.hypot(*numbers), 1, abs_tol=1e-4)
        assert sum(map(mul, numbers, vector.tolist())) > 0.9999, text


def test_load_and_embed_give_what_ingest_gives(
    place: Place, quiet: Place, folder: Path, tmp_path: Path
) -> None:
    """In two halves with files in between: the same rows, and what is gone leaves the index."""
    for changes in ({}, {"guide.md": "# Guide\n\nGone.\n", "notes.txt": None}, {}):
        write(folder, **changes)
        loaded = tmp_path / "loaded"
        place.course("load", folder, "--output-dir", loaded, *SMALL).ok()
        told = place.course("embed", loaded, "--json").json()
        assert snapshot(place) == peace(quiet, folder)
    assert (told["inserted"], told["updated"], told["deleted"]) == (0, 0, 0)
    nowhere = place.course("load", tmp_path / "nowhere", "--output-dir", loaded)
    assert nowhere.error().startswith(f"error: {tmp_path / 'nowhere'} does not exist\n")
    missing = place.course("embed", tmp_path / "nowhere").error()
    assert str(tmp_path / "nowhere") in missing


def test_a_wrong_call_says_what_is_wrong_and_changes_nothing(
    place: Place, folder: Path, tmp_path: Path
) -> None:
    """Exit code and message for each; a password is never shown."""
    ingest(place, folder)
    before = marks(place)
    empty, strange = (
        tmp_path / "empty",
        write(tmp_path / "strange", **{"a.png": "x", "b.md": b"\0"}),
    )
    empty.mkdir()
    url = place.course.environment["DATABASE_URL"]
    calls: tuple[tuple[tuple[str | Path, ...], dict[str, str]], ...] = (
        (("nowhere",), {}),
        (("",), {}),
        (("é" * 300,), {}),
        ((empty,), {}),
        ((strange,), {}),
        ((strange / "b.md",), {}),
        ((), {}),
        *(((folder, "--partition", name), {}) for name in ("", "a\nb")),
        *(((folder, "--chunk-size", size), {}) for size in ("0", "-1", "64", "many")),
        *(((folder, "--chunk-overlap", size), {}) for size in ("-1", "512")),
        *(((folder, "--batch-size", size), {}) for size in ("0", "1.5")),
        ((folder, "--unknown"), {}),
        ((folder,), {"RAG_TENANT": "Not A Tenant"}),
        ((folder,), {"RAG_CHUNK_SIZE": "none"}),
        ((folder,), {"RAG_EMBED_MODEL": "/nowhere/model"}),
        ((folder,), {"DATABASE_URL": "postgresql://ada:hush-hush@127.0.0.1:1/none"}),
        ((folder,), {"DATABASE_URL": make_conninfo(url, password="hush-hush")}),
        ((folder,), {"DATABASE_URL": make_conninfo(url, dbname="no_such_one")}),
    )
    server = re.compile(r"(postgresql://\S+ |\S*lab_blackbox_\w+\S*|port \d+|net-\d+)")
    records: list[dict[str, Any]] = []
    for words, environment in calls:
        done = place.course("ingest", *words, **environment)
        said = done.err.replace(str(tmp_path), "FOLDER").replace(str(Path.cwd()), "HERE")
        if "DATABASE_URL" in environment:
            said = server.sub("… ", said)
        assert "hush-hush" not in said and "Traceback" not in said and done.code in (1, 2), done
        given = [str(word).replace(str(tmp_path), "FOLDER") for word in words]
        records.append(
            {"call": given, "code": done.code, "out": done.out}
            | {"with": sorted(environment), "err": sentences(said)}
        )
        assert marks(place) == before, words
    hold_golden("ingest/wrong-calls", records)


def test_a_person_is_told_in_sentences(place: Place, folder: Path) -> None:
    """Counts in one line, what was left out in another; `--verbose` names other formats' files."""
    write(folder, **{"a.png": "x", "b.md": b"\0", "c.md": b"\0", "d.txt": b"\xff", "e.bin": b"\0"})
    told = []
    for words in ((), (), ("--verbose",), ("--json",)):
        done = place.course("ingest", folder, *words)
        shown = re.sub(r"\d+\.\d+(?= s\n|,)", "0.0", done.ok())
        shown = re.sub(r'("chunks_per_second": )[\d.]+', r"\g<1>0.0", shown)
        told.append({"call": words, "out": shown.splitlines(), "err": done.err.splitlines()})
    hold_golden("ingest/told", told)


def test_of_a_code_project_what_is_not_its_authors_stays_out(place: Place, tmp_path: Path) -> None:
    """Installed packages and what `.gitignore` names; `--no-ignore` takes it in."""
    files = {f"web/node_modules/p{n}/README.md": f"# Package {n}\n" for n in range(30)}
    files |= {"venv/lib/a.txt": "A.", "secrets.txt": "hush", "debug.log": "x", "guide.md": GUIDE}
    folder = write(tmp_path / "project", **files, **{".gitignore": "secrets.txt\n*.log\n"})
    everything = place.course("ingest", folder, "--no-ignore").ok()
    assert everything.startswith("33 documents")
    done = place.course("ingest", folder)
    assert done.ok().startswith("1 document")
    assert (
        "ignored: 2 files by .gitignore (debug.log, secrets.txt); "
        "2 folders by name (venv, node_modules); --no-ignore takes them in\n"
    ) in done.out
    assert done.err.splitlines() == [
        "removed from the index: 1 document, because secrets.txt is ignored by .gitignore",
        "removed from the index: 1 document, because venv/ is ignored by name",
        "removed from the index: 30 documents, because web/node_modules/ is ignored by name",
    ]
    assert [row["document_name"] for row in snapshot(place)["documents"]] == ["guide.md"]
    named = place.course("ingest", folder, "--verbose").err
    assert "left out: web/node_modules/ is ignored by name\n" in named and "p1/" not in named
    alone = place.course("ingest", folder / "secrets.txt", "--repo", "named").ok()
    assert alone.startswith("1 document"), "who names a file wants it"
    loaded = place.course("load", folder, "--output-dir", tmp_path / "out")
    assert loaded.ok().startswith("1 document") and "ignored: 2 files" in loaded.err
