"""The registry: which parser a file gets, whose code runs, and what happens when it breaks."""

from pathlib import Path
from typing import Any

import pytest

from course_lib.loader import Registry
from course_lib.loader.contract import (
    INVALID,
    FileRejectedError,
)
from course_lib.loader.registry import stamp
from course_lib.records import Chunk, Document, Scope

ACME = Scope(tenant="acme", repo="platform")


def document(name: str, content: str = "some text") -> Document:
    return Document(Path(name), name, content)


class Lines:
    """A parser that gives one chunk a line."""

    id = "lines"
    version = "1.0.0"
    extensions = (".lines",)
    names: tuple[str, ...] = ("linesfile",)

    def parse_file(self, file: Document, scope: Scope) -> list[Chunk]:
        return [self.chunk(file.name, line) for line in file.content.splitlines()]

    def chunk(self, path: str, content: str) -> Chunk:
        return Chunk(
            tenant_id="somebody-else",
            repo_slug="theirs",
            root_kind="bare-repo",
            source_path=path,
            content=content,
            hash_inputs=["content"],
            parser_id=self.id,
            parser_version=self.version,
            kind="line",
            name=path,
        )


@pytest.mark.parametrize("name", ["CMakeLists.txt", "api/requirements.txt", "NOTES.TXT"])
def test_plain_text_has_no_headings_and_no_front_matter(name: str) -> None:
    text = "---\ntitle: x\n---\n# Copyright of A\n\nproject(mill)\n\n# via -r in\nSetext\n===\n"
    chunks = Registry().parse(document(name, text), ACME, chunk_size=40, chunk_overlap=0)
    assert len(chunks) > 1
    assert {(one.kind, one.name) for one in chunks} == {("raw-text", name.rsplit("/", 1)[-1])}
    assert not any("header" in one.custom_meta for one in chunks)
    assert {".txt", ".md"} <= set(Registry().extensions()), "it is not read any more"


def test_a_record_keeps_the_branch_it_names() -> None:
    chunk = Lines().chunk("a", "x").model_copy(update={"custom_meta": {"branch": "own"}})
    stamped = stamp(chunk, Scope(tenant="acme", repo="r", branch="main"))
    assert stamped.custom_meta == {"branch": "own"}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (Lines().chunk("other.lines", "x"), "has the sourcePath 'other.lines'"),
        (Lines().chunk("a.lines", "nul \0"), "NUL"),
        (
            Lines().chunk("a.lines", "x").model_copy(update={"custom_meta": {"chunkIndex": -1}}),
            "customMeta.chunkIndex",
        ),
    ],
)
def test_what_a_parser_gives_is_judged_too(given: Any, reason: str) -> None:
    class Gives(Lines):
        def parse_file(self, file: Document, scope: Scope) -> list[Chunk]:
            return [Lines().chunk("a.lines", "fine"), given]

    registry = Registry()
    registry.register_parser(Gives())
    with pytest.raises(FileRejectedError, match=r"chunks\[1\]") as caught:
        registry.parse(document("a.lines"), ACME)
    assert caught.value.code == INVALID
    assert reason in str(caught.value)


def test_a_parser_replaces_the_one_of_its_id() -> None:
    registry = Registry()
    registry.register_parser(type("Own", (Lines,), {"id": "markdown", "extensions": (".MD",)}))
    (chunk,) = registry.parse(document("a.md", "# one line"), ACME)
    assert chunk.kind == "line"
    assert [one.id for one in registry.parsers()].count("markdown") == 1
    assert registry.parser("markdown").state == "markdown 1.0.0"


@pytest.mark.parametrize(
    "text",
    ['kind: A\nmetadata: {name: "x\\0y"}\n', f"apiVersion: v1\nkind: {'K' * 300}\n"],
)
def test_what_a_built_in_parser_gives_is_judged_too(text: str) -> None:
    with pytest.raises(FileRejectedError, match=r"chunks\[0\]"):
        Registry().parse(document("a.yaml", text), ACME)


def test_long_titles_and_bases_are_shortened_in_each_record() -> None:
    bases = "class A(" + "B, " * 5_000 + "):\n" + "    def f(self): ...\n" * 100
    for name, text in (("a.md", "# " + "word " * 5_000), ("a.py", bases)):
        for chunk in Registry().parse(document(name, text), ACME):
            assert max(len(chunk.name), len(chunk.extends or "")) <= 250
