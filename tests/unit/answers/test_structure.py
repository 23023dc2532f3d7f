"""STRUCTURE.md: what is where in a repository, and how it is found by a search."""

import subprocess
from pathlib import Path

import pytest

from course_lib.answers.structure import MOST_CHARACTERS, first_line, structure_text
from course_lib.loader import default_registry
from course_lib.loader.structure_page import parse_structure
from course_lib.records import Document, Scope
from tests.needs import needs


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.py", '"""Cut texts\nat sentences. And more."""\n', "Cut texts at sentences."),
        ("a.py", "# A comment.\nimport os\n", ""),
        ("a.py", "x = (\n", ""),
        ("a.py", "'''A\x1b[31mred\u2028line.'''", "A [31mred line."),
        ("a.md", "---\nx: y\n---\n\nText.\n\n## The *guide* ##\n\nMore.", "The *guide*"),
        ("a.md", "#hashtag\n", ""),
        ("a.sh", "#!/bin/bash\n# Starts it.\n", ""),
        ("a.json", '{"a": "# no"}', ""),
    ],
)
def test_a_page_says_its_heading_a_module_its_docstring_and_another_file_nothing(
    name: str, text: str, line: str
) -> None:
    assert first_line(name, text) == line


def test_a_long_line_is_cut_at_a_word() -> None:
    line = first_line("a.py", f"'''{'word ' * 100}'''")
    assert len(line) <= MOST_CHARACTERS and line.endswith("word …")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository without git."""
    root = tmp_path / "shop"
    files = {
        "README.md": b"# A shop\n",
        "shop/__init__.py": b'"""Sells things."""\n',
        "shop/cart.py": b'"""Adds up what somebody buys."""\nx = 1\n',
        "shop/deep/down/tax.py": b"# Value added tax.\n",
        "picture.png": b"\x89PNG\0",
        ".hidden/secret.py": b"# Hidden.\n",
        "node_modules/x/index.js": b"// Not ours.\n",
        "STRUCTURE.md": b"# Old page\n",
    }
    for name, raw in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(raw)
    return root


@needs("git")
def test_the_page_has_the_files_that_an_ingest_looks_at(repository: Path) -> None:
    for arguments in (["init", "-q"], ["add", "shop"]):
        subprocess.run(["git", "-C", str(repository), *arguments], check=True)
    (repository / ".gitignore").write_bytes(b"picture.png\n")
    (repository / "shop" / "cart.py").unlink()
    page = structure_text(repository)
    assert "`README.md`" in page  # new, and not ignored
    assert "cart.py" not in page  # gone, although git still has it
    assert not any(name in page for name in ("picture", "index.js", ".hidden", "Old page"))


def test_a_name_cannot_begin_a_line_of_its_own(tmp_path: Path) -> None:
    try:
        (tmp_path / "a`\n## `evil.py").write_bytes(b"")
    except OSError:
        pytest.skip("this system has no such names")
    assert "\n## `evil" not in structure_text(tmp_path)


def test_each_folder_is_a_chunk_of_the_kind_structure(repository: Path) -> None:
    page = structure_text(repository)
    file = Document(Path("x"), "docs/Structure.md", page)
    chunks = default_registry().parse(file, Scope(tenant="me", repo="shop", branch="b"))
    assert {chunk.kind for chunk in chunks} == {"structure"}
    names = ["Structure.md", "Folders", "./", "shop/", "shop/deep/down/"]
    assert [chunk.name for chunk in chunks] == names
    assert "".join(chunk.content for chunk in chunks) == page
    lines = page.splitlines()
    for chunk in chunks:
        assert chunk.line_start and chunk.content.startswith(lines[chunk.line_start - 1])


def test_a_long_section_is_cut_at_line_ends_and_keeps_its_heading() -> None:
    entries = [f"- `{n:03}.py`: {'words ' * 10}(1 line)\n" for n in range(100)] + ["x" * 900 + "\n"]
    page = "# S\n\n## `a/`\n\n" + "".join(entries)
    chunks = parse_structure(Document(Path("x"), "STRUCTURE.md", page), chunk_size=100)
    assert "".join(chunk.content for chunk in chunks) == page
    assert all(len(chunk.content) <= 400 for chunk in chunks)
    inner = [chunk for chunk in chunks[2:] if "x" * 100 not in chunk.content]
    assert inner and all(chunk.content.endswith("\n") for chunk in inner)
    assert {chunk.custom_meta["header"] for chunk in chunks[2:]} == {"## `a/`\n"}
