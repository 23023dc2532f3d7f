"""Parsers: which file gets which, an operator's own, and what happens when one breaks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.blackbox.course import Course
from tests.blackbox.golden import hold_golden
from tests.blackbox.places import Place
from tests.blackbox.surface import Document, InputError, Registry, Scope

COURSE = Course({"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"})
TOML = "toml_sections:TomlParser"
ACME = Scope(tenant="acme", repo="platform")

MINE = '''
from course_lib.records import Chunk


class Breaks:
    id, version, extensions = "breaks", "1.0.0", (".breaks",)

    def parse_file(self, file, scope):
        raise RuntimeError("out of order")


class NoChunks(Breaks):
    id, extensions = "no-chunks", (".nochunks",)

    def parse_file(self, file, scope):
        return [{"content": file.content}]


class Whole:
    """It gives one chunk a file, and says of itself which files are its own."""

    id, version, extensions, names = "whole", "2.1.0-rc.1", (".whole",), ("Whole",)

    def parse_file(self, file, scope):
        return [Chunk(tenant_id="theirs", repo_slug="theirs", root_kind="external-source",
                      source_path=file.name, content=file.content, hash_inputs=["content"],
                      parser_id=self.id, parser_version=self.version, kind="whole", name="Said",
                      line_start=1, line_end=2, custom_meta={"a": 1})]


class Foreign(Whole):
    id, extensions, names = "foreign", (".MD", ".tar.md"), ()


class NoVersion:
    id = "no-version"


class OddVersion(Breaks):
    version = "one"


class NoMethod:
    id, version = "no-method", "1.0.0"
'''


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A module with an operator's parsers, most of them bad."""
    file = tmp_path_factory.mktemp("parsers") / "my_parsers.py"
    file.write_text(MINE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(file.parent)
        yield file


def registry(mine: Path, *names: str, use_default_parsers: bool = True) -> Registry:
    """Return a registry with some of the operator's parsers."""
    paths = [f"{mine.stem}:{name}" for name in names]
    return Registry(use_default_parsers=use_default_parsers, custom_parsers=paths)


def document(name: str, content: str = "some text\n") -> Document:
    """Return a document that needs no file."""
    return Document(Path(name), name, content)


def toml(data: Path) -> dict[str, str]:
    """Return the settings with which the example is registered."""
    return {"RAG_CUSTOM_PARSERS": TOML, "PYTHONPATH": str(data / "parsers")}


def test_parsers_are_listed(data: Path) -> None:
    """`course parsers`: built-in ones in their order, then the operator's; or these alone."""
    plain = COURSE.in_a_process("parsers")
    with_mine = COURSE.in_a_process("parsers", "--json", **toml(data))
    alone = COURSE.in_a_process("parsers", "--json", RAG_USE_DEFAULT_PARSERS="false", **toml(data))
    rows = with_mine.json()
    hold_golden("contract/parsers", [*rows, *({"line": one} for one in plain.ok().splitlines())])
    assert rows[-1]["origin"] == TOML and alone.json() == rows[-1:]


def test_a_parser_of_ones_own(data: Path, place: Place, tmp_path: Path) -> None:
    """Registered, it splits its files; as a program it prints the same records, which go in."""
    words = ("load", data / "parsers", "--output-dir", tmp_path, "--repo", "documents")
    done = COURSE.in_a_process(*words, **toml(data))
    assert done.ok() == f"2 documents, 20 chunks → {tmp_path}\n"
    chunks = (tmp_path / "chunks.jsonl").read_text(encoding="utf-8").splitlines()
    records = [one for one in map(json.loads, chunks) if one["sourcePath"] == "example.toml"]
    hold_golden("contract/toml", records)
    program = data / "parsers/toml_sections.py"
    words = (sys.executable, str(program), str(data / "parsers"), "--tenant", "somebody-else")
    printed = subprocess.run(words, capture_output=True, check=True, encoding="utf-8").stdout
    sent = [json.loads(line) for line in printed.splitlines()]
    assert [one | {"tenantId": "local"} for one in sent] == records
    file = tmp_path / "sent.jsonl"
    file.write_text(printed, encoding="utf-8")
    place.course("ingest-tenant", file, "--tenant", "acme", "--repo", "platform").ok()
    rows = place.rows("SELECT tenant_id, name, content FROM document_chunks ORDER BY chunk_index")
    assert [(row["name"], row["content"]) for row in rows] == [
        (one["name"], one["content"]) for one in records
    ]
    assert {row["tenant_id"] for row in rows} == {"acme"}


def test_a_parser_that_breaks_costs_its_own_files_alone(mine: Path, tmp_path: Path) -> None:
    """Each file that could not be split is named with a code; the others are loaded."""
    folder = tmp_path / "files"
    for name in (
        "a.breaks",
        "b.nochunks",
        "c.whole",
        "e.md",
        "deep/in/Whole",
        "f.tar.md",
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"Text.\nMore.\n")
    names = ("Breaks", "NoChunks", "Whole")
    custom = ",".join(f"{mine.stem}:{name}" for name in names)
    own = {"RAG_CUSTOM_PARSERS": custom, "PYTHONPATH": str(mine.parent)}
    words = ("load", folder, "--output-dir", tmp_path / "out")
    done = COURSE.in_a_process(*words, **own)
    assert done.ok() == f"4 documents, 4 chunks → {tmp_path / 'out'}\n"
    chunks = (tmp_path / "out/chunks.jsonl").read_text(encoding="utf-8").splitlines()
    said = [{"said": line} for line in done.err.splitlines()]
    hold_golden("contract/broken-parsers", [*map(json.loads, chunks), *said])


def test_which_parser_a_file_gets(mine: Path) -> None:
    """Its name counts first, then its longest ending, then its first line where it has none."""
    found = {}
    both = registry(mine, "Whole", "Foreign")
    for name, content in (
        *((name, "") for name in ("a.md", "A.TXT", "a.tar.md", "b.issue.md", "STRUCTURE.md")),
        *((name, "") for name in ("k/Kustomization", "kustomization.yml", "x.yaml", "X.YML")),
        *((name, "") for name in ("a.py", "a.pyi", "a.go", "a.sh", "a.bash", "a.ksh", "a.json")),
        *((name, "") for name in ("whole", "x/WHOLE", "a.whole", "md", "py", ".py", "Makefile")),
        *(("run", f"#!{line}\n") for line in ("/bin/sh", "/usr/bin/python3.12", "/bin/node")),
        *(("run", f"#! /usr/bin/env {line}\n") for line in ("bash", "-S zsh -e", "perl")),
        ("run.txt", "#!/bin/sh\n"),
    ):
        key = f"{name} {content.strip()}".strip()
        found[key] = [one.parser_for(document(name, content)).id for one in (Registry(), both)]
    hold_golden("contract/parser-for", [{"file": key, "parser": ids} for key, ids in found.items()])


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("nowhere_at_all:Parser", "cannot be imported: No module named 'nowhere_at_all'"),
        ("my_parsers:Nobody", "cannot be imported: module .* has no attribute 'Nobody'"),
        ("my_parsers.py:Nobody", "cannot be imported: No module named"),
        ("no-colon", "cannot be imported: "),
        ("my_parsers:NoVersion", "is not a parser"),
        ("my_parsers:OddVersion", "the parser breaks has the version 'one'"),
        ("my_parsers:NoMethod", "the parser no-method has (neither|no) parse_file"),
    ],
)
def test_what_is_no_parser_is_refused(mine: Path, path: str, complaint: str) -> None:
    """An import path that leads to no parser is refused before anything is read."""
    with pytest.raises(InputError, match=complaint):
        Registry(custom_parsers=[path])


def test_the_message_of_a_wrong_import_path() -> None:
    """The command says it in one sentence, with the way out."""
    said = COURSE.in_a_process("parsers", RAG_CUSTOM_PARSERS="nowhere_at_all:Parser").error()
    assert "error: the custom parser 'nowhere_at_all:Parser' cannot be imported" in said
    assert "RAG_CUSTOM_PARSERS holds paths like package.module:Class" in said


def test_codes_of_files_that_cannot_be_split(mine: Path) -> None:
    """Texts that cannot be stored, parsers that are not there: each refused by its stable code."""
    given = Registry()
    only = registry(mine, "Whole", use_default_parsers=False)
    for one, file, parser_id, complaint in (
        (given, document("a.md", "a\0b"), None, "KB_SOURCE_FILE_INVALID: 'a.md' holds a NUL char"),
        (given, document("a.md", "\ud800"), None, "KB_SOURCE_FILE_INVALID: 'a.md' holds half of a"),
        (given, document("a\0.md"), None, "KB_SOURCE_FILE_INVALID: .* holds a NUL character"),
        (
            given,
            document("a.md"),
            "x",
            "KB_PARSER_NOT_REGISTERED: the parser 'x' is not registered",
        ),
        (only, document("a.md"), None, "KB_PARSER_NOT_REGISTERED: the parser 'raw-text' is not"),
        (registry(mine, "Breaks"), document("a"), "breaks", "KB_PARSER_FAILED: .*out of order"),
        (
            registry(mine, "NoChunks"),
            document("a"),
            "no-chunks",
            "INVALID: .*is a dict, not a Chunk",
        ),
    ):
        with pytest.raises(InputError, match=complaint):
            one.parse(file, ACME, parser_id=parser_id)
    (chunk, *_) = only.parse(document("a.whole"), ACME)
    assert (chunk.tenant_id, chunk.repo_slug) == ("acme", "platform")
