"""Which files a question names, and which of the index it means by that."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.answers import extract_file_hints, file_manifest
from course_lib.answers.hints import files_named
from course_lib.records import Scope, SourceDocument
from course_lib.store import create_schema, write_documents


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What does registry.py do?", ["registry.py"]),
        ("kustomization.yaml", ["kustomization.yaml"]),
        ("Why does `cmd/main.go` exit?", ["cmd/main.go"]),
        ("Compare a.py, b.py and a.py.", ["a.py", "b.py"]),
        ("See ./x/y.sh, ../z.md; (w.txt)!", ["x/y.sh", "z.md", "w.txt"]),
        (r"What is in pkg\api\types.go", ["pkg/api/types.go"]),
        ("Is Config.YAML's first line wrong?", ["Config.YAML"]),
        ("Look at registry.py:42 and [b](docs/b.md#drift)", ["registry.py", "docs/b.md"]),
        ('Does "values.yaml" win over **base.toml**?', ["values.yaml", "base.toml"]),
        ("test_cli-2.py, my.module.v2.py", ["test_cli-2.py", "my.module.v2.py"]),
        ("https://github.com/o/r/blob/main/a/b.py#L3", ["github.com/o/r/blob/main/a/b.py"]),
        ("docs/größe.md", ["docs/größe.md"]),
        ("Is it e.g. version 1.2.3, i.e. no file at all? etc.", []),
        ("What about .py files, or *.py?", []),
        ("Ask node.exe, a. py or kfp.dsl", []),
        ("", []),
    ],
)
def test_names_of_files_are_found_as_they_are_written(question: str, names: list[str]) -> None:
    assert extract_file_hints(question) == names


def test_the_extensions_say_what_a_file_is() -> None:
    question = "a.proto and b.py"
    assert extract_file_hints(question, {".PROTO"}) == ["a.proto"]
    assert extract_file_hints(question, set()) == []


@given(st.text())
def test_whatever_is_asked_it_is_read(question: str) -> None:
    for name in extract_file_hints(question):
        assert name and not name.startswith(("/", "./"))


MANIFEST = {
    "main.go": ["cmd/main.go", "tools/cmd/main.go"],
    "Makefile.toml": ["Makefile.toml"],
    "notes of May.md": ["docs/notes of May.md"],
}


def test_a_path_from_above_the_index_means_the_file_at_its_root() -> None:
    manifest = {"a.md": ["a.md", "shop-team/a.md"]}
    asked = files_named("data/documents/a.md, shop-team/a.md, old/shop-team/a.md", manifest)
    assert [*asked.values()] == [["a.md"], ["shop-team/a.md"], ["shop-team/a.md"]]


def test_names_with_spaces_are_known_from_the_index() -> None:
    named = files_named("What do notes of May.md say about cmd/main.go and x.go?", MANIFEST)
    assert named == {
        "notes of May.md": ["docs/notes of May.md"],
        "cmd/main.go": ["cmd/main.go"],
        "x.go": [],
    }


# --- the manifest ---


def document(name: str) -> SourceDocument:
    return SourceDocument(name, "text", "0", "test 1.0.0", "", "test")


def test_an_accent_may_be_one_character_or_two() -> None:
    one, two = "caf\u00e9.md", "cafe\u0301.md"
    for stored, asked in ((one, two), (two, one)):
        manifest = {stored: [f"docs/{stored}"]}
        assert files_named(f"What does {asked} say?", manifest) == {one: [f"docs/{stored}"]}


def test_the_manifest_is_what_the_index_holds(conn: psycopg.Connection) -> None:
    create_schema(conn, vector_dim=3)
    for tenant, repo, branch, names in [
        ("ours", "a", "", ["x/b.py", "b.py", "c.md"]),
        ("ours", "b", "v1", ["b.py"]),
        ("theirs", "a", "", ["d.py"]),
    ]:
        source = Scope(tenant=tenant, repo=repo, branch=branch)
        write_documents(conn, source, [document(name) for name in names])
    assert file_manifest(conn) == {"b.py": ["b.py", "x/b.py"], "c.md": ["c.md"], "d.py": ["d.py"]}
    assert file_manifest(conn, tenant="theirs") == {"d.py": ["d.py"]}
    assert file_manifest(conn, tenant="ours", repo="b") == {"b.py": ["b.py"]}
    assert file_manifest(conn, branch="v1") == {"b.py": ["b.py"]}
    assert file_manifest(conn, repo="none") == {}
