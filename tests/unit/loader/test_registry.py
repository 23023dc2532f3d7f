"""The registry: which parser a file gets, whose code runs, and what happens when it breaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from course_lib.errors import InputError
from course_lib.loader import Registry
from course_lib.loader.contract import (
    INVALID,
    FileRejectedError,
    check_record,
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


@dataclass
class Piece:
    content: str
    kind: str
    line_start: int
    color: str = "red"


def test_what_a_legacy_piece_claims_of_others_is_not_taken_over() -> None:
    """Its usual forms are in tests/blackbox/test_parsers.py."""

    class Legacy:
        id, version, extensions = "legacy", "0.3.0", (".old",)

        def parse(self, content: str, *about: Any) -> Sequence[Any]:
            return [Piece("c", "object", 4), {"content": "d", "tenantId": "x", "parserId": "y"}]

    registry = Registry()
    registry.register_parser(Legacy())
    first, second = registry.parse(document("rules/eu/a.old", "text"), ACME)
    assert (first.kind, first.line_start) == ("object", 4)
    assert first.custom_meta == {"chunkIndex": 0, "color": "red"}
    assert second.custom_meta == {"chunkIndex": 1}
    assert (second.tenant_id, second.parser_id, second.parser_version) == (
        "acme",
        "legacy",
        "0.3.0",
    )
    assert isinstance(check_record(second.to_json()), Chunk)


def test_a_parser_may_be_registered_under_another_id_and_replace_one() -> None:
    registry = Registry()
    registry.register_parser(Lines(), parser_id="markdown", extensions=[".md"])
    (chunk,) = registry.parse(document("a.md", "# one line"), ACME)
    assert chunk.kind == "line"
    assert [one.id for one in registry.parsers()].count("markdown") == 1
    assert registry.parser("markdown").state == "markdown 1.0.0"


def test_sources_are_registered_and_read(tmp_path: Path) -> None:
    class Memory:
        id = "memory"

        def read(self, location: str, **options: Any) -> list[Document]:
            return [document(f"{location}.md", "# From memory")]

    registry = Registry()
    registry.register_source(Memory())
    assert list(registry.sources()) == ["directory", "memory"]
    (read,) = registry.source("memory").read("here", extensions=(".md",))
    assert registry.parse(read, ACME)[0].name == "From memory"
    (tmp_path / "a.md").write_text("x", encoding="utf-8")
    (tmp_path / "b.bin").write_text("x", encoding="utf-8")
    found = registry.source("directory").read(str(tmp_path), extensions=(".md",))
    assert [one.name for one in found] == ["a.md"]
    with pytest.raises(InputError, match="'nowhere' is not registered"):
        registry.source("nowhere")
    with pytest.raises(InputError, match="is not a source"):
        registry.register_source(object())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ['kind: A\nmetadata: {name: "x\\0y"}\n', f"kind: {'K' * 300}\n"],
)
def test_what_a_built_in_parser_gives_is_judged_too(text: str) -> None:
    with pytest.raises(FileRejectedError, match=r"chunks\[0\]"):
        Registry().parse(document("a.yaml", text), ACME)


def test_long_titles_and_bases_are_shortened_in_each_record() -> None:
    bases = "class A(" + "B, " * 5_000 + "):\n" + "    def f(self): ...\n" * 100
    for name, text in (("a.md", "# " + "word " * 5_000), ("a.py", bases)):
        for chunk in Registry().parse(document(name, text), ACME):
            assert max(len(chunk.name), len(chunk.extends or "")) <= 250
