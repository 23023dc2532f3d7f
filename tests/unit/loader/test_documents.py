"""Reading documents: what comes in as it is, and what is left out with a reason."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.loader import read_documents
from course_lib.records import Document, Skipped


def read(root: Path, **options: object) -> tuple[list[Document], dict[str, str]]:
    skipped: list[Skipped] = []
    documents = read_documents(root, on_skip=skipped.append, **options)  # type: ignore[arg-type]
    return documents, {file.name: file.reason for file in skipped}


def test_content_and_metadata_are_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.MD").write_bytes("# Größe\r\n\r\nx\n".encode())
    [document], skipped = read(tmp_path)
    assert document == Document(
        tmp_path / "sub" / "a.MD",
        "sub/a.MD",
        "# Größe\r\n\r\nx\n",
        {"extension": ".md", "size": 15, "relative_path": "sub/a.MD"},
    )
    assert skipped == {}


def test_documents_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    names = ["b.md", "a/z.txt", "a.md", "Ä.md", "a/b/c.md", "a-b.md"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    documents, _ = read(tmp_path)
    assert [document.name for document in documents] == sorted(names)


def test_only_the_wanted_extensions_are_read(tmp_path: Path) -> None:
    for name in ("a.md", "b.txt", "c.py", "d.mdx", "md", "e.rst"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    assert [document.name for document in read(tmp_path)[0]] == ["a.md", "b.txt"]
    assert [document.name for document in read(tmp_path, extensions=[".RST"])[0]] == ["e.rst"]


def test_names_with_spaces_and_unicode_are_names_like_others(tmp_path: Path) -> None:
    names = [
        "with space.md",
        "日本語/ファイル.md",
        "emoji \U0001f600.txt",
        "line\nbreak.md",
        "'quote\".md",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    documents, skipped = read(tmp_path)
    assert {document.name: document.content for document in documents} == {n: n for n in names}
    assert skipped == {}


def test_a_byte_order_mark_is_taken_off(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbf# T")
    assert read(tmp_path)[0][0].content == "# T"


def test_an_empty_file_is_an_empty_document(tmp_path: Path) -> None:
    (tmp_path / "a.md").touch()
    documents, skipped = read(tmp_path)
    assert [document.content for document in documents] == [""]
    assert skipped == {}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "has a NUL byte at offset 8: not a text, or not in UTF-8"),
        ("naïve".encode("latin-1"), "is not UTF-8: byte 0xef at offset 2"),
        ("text".encode("utf-16"), "has a NUL byte at offset 3: not a text, or not in UTF-8"),
        (b"cut off \xe2\x82", "is not UTF-8: byte 0xe2 at offset 8"),
        (b"half of a pair \xed\xa0\x80", "is not UTF-8: byte 0xed at offset 15"),
        (b"good until\x00here", "has a NUL byte at offset 10: not a text, or not in UTF-8"),
    ],
)
def test_what_is_no_text_is_left_out_with_its_reason(
    tmp_path: Path, raw: bytes, reason: str
) -> None:
    (tmp_path / "bad.md").write_bytes(raw)
    (tmp_path / "good.md").write_text("good", encoding="utf-8")
    documents, skipped = read(tmp_path)
    assert [document.name for document in documents] == ["good.md"]
    assert skipped == {"bad.md": reason}


def test_a_file_of_a_hundred_megabytes_is_left_out_unread(tmp_path: Path) -> None:
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(100_000_000)
    documents, skipped = read(tmp_path)
    assert documents == []
    assert skipped == {"huge.txt": "has 100.0 MB; the limit is 20.0 MB"}


def test_the_limit_can_be_set(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("12345", encoding="utf-8")
    assert read(tmp_path, max_bytes=5)[1] == {}
    assert list(read(tmp_path, max_bytes=4)[1]) == ["a.md"]


def test_a_missing_directory_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere does not exist") as caught:
        read_documents(tmp_path / "nowhere")
    assert "current folder" in caught.value.hint


@pytest.mark.parametrize("path", ["x" * 300, "nul\0byte"])
def test_an_impossible_path_is_an_error_and_no_traceback(path: str) -> None:
    with pytest.raises(InputError):
        read_documents(path)


def test_one_file_can_be_read_alone(tmp_path: Path) -> None:
    (tmp_path / ".hidden.md").write_text("x", encoding="utf-8")
    (tmp_path / "a.md").write_text("x", encoding="utf-8")
    assert [document.name for document in read(tmp_path / "a.md")[0]] == ["a.md"]
    assert [document.name for document in read(tmp_path / ".hidden.md")[0]] == [".hidden.md"]


def test_hidden_files_and_folders_are_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.md").write_bytes(b"\xff")
    (tmp_path / ".b.md").write_bytes(b"\xff")
    assert read(tmp_path) == ([], {})


def test_a_directory_with_a_documents_name_is_a_directory(tmp_path: Path) -> None:
    (tmp_path / "x.md").mkdir()
    (tmp_path / "x.md" / "y.md").write_text("y", encoding="utf-8")
    documents, skipped = read(tmp_path)
    assert [document.name for document in documents] == ["x.md/y.md"]
    assert skipped == {}


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_are_followed_inside_the_root_and_nowhere_else(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.md").write_text("outside", encoding="utf-8")
    (root / "a.md").write_text("inside", encoding="utf-8")
    (root / "in.md").symlink_to("a.md")
    (root / "out.md").symlink_to("../secret.md")
    (root / "loop.md").symlink_to("loop.md")
    (root / "dangling.md").symlink_to("missing.md")
    (root / "folder").symlink_to("../outside")
    (root / "circle").symlink_to(".")
    documents, skipped = read(root)
    assert {d.name: d.content for d in documents} == {"a.md": "inside", "in.md": "inside"}
    assert sorted(skipped) == ["dangling.md", "loop.md", "out.md"]
    assert skipped["out.md"] == "is a link that leads out of the directory"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("x", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "one.md").symlink_to("real/a.md")
    assert [document.name for document in read(tmp_path / "link")[0]] == ["a.md"]
    assert [document.name for document in read(tmp_path / "one.md")[0]] == ["one.md"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems refuse such names")
def test_a_name_that_is_no_unicode_is_left_out(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.md")).write_text("x", encoding="utf-8")
    documents, skipped = read(tmp_path)
    assert documents == []
    assert skipped == {"bad?.md": "has a name that is not valid Unicode"}


@pytest.mark.skipif(sys.platform == "win32", reason="a backslash separates folders there")
def test_a_name_with_a_backslash_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a\\b.md").write_text("x", encoding="utf-8")
    assert read(tmp_path) == ([], {"a\\b.md": "has a backslash in its name"})


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in folders")
def test_a_named_pipe_is_left_out_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert read(tmp_path) == ([], {"pipe.md": "is not a regular file"})


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other accounts can enter, which pytest's own cannot be."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Root may read everything; the test goes on as somebody else."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    yield
    os.seteuid(was)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such permission bits")
class TestPermissions:
    def test_an_unreadable_file_is_left_out(
        self, open_folder: Path, request: pytest.FixtureRequest
    ) -> None:
        (open_folder / "a.md").write_text("x", encoding="utf-8")
        (open_folder / "a.md").chmod(0o000)
        request.getfixturevalue("unprivileged")
        assert read(open_folder) == ([], {"a.md": "cannot be read: Permission denied"})

    def test_an_unreadable_folder_is_reported(
        self, open_folder: Path, request: pytest.FixtureRequest
    ) -> None:
        (open_folder / "sub").mkdir()
        (open_folder / "sub" / "a.md").write_text("x", encoding="utf-8")
        (open_folder / "sub").chmod(0o000)
        request.getfixturevalue("unprivileged")
        assert read(open_folder) == ([], {"sub/": "cannot be read: Permission denied"})

    def test_an_unreadable_root_is_an_error(
        self, open_folder: Path, request: pytest.FixtureRequest
    ) -> None:
        (open_folder / "root" / "below").mkdir(parents=True)
        (open_folder / "root").chmod(0o000)
        request.getfixturevalue("unprivileged")
        for path in (open_folder / "root", open_folder / "root" / "below"):
            with pytest.raises(InputError, match="cannot be read: Permission denied"):
                read_documents(path)
