"""The file that steps hand to each other, its shards, and its fingerprint."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.errors import InputError
from course_lib.pipeline.corpus import Shard, shard_names
from course_lib.pipeline.sources import read_folder


@given(st.text(), st.integers(1, 50))
def test_every_document_falls_in_exactly_one_shard(name: str, count: int) -> None:
    assert sum(Shard.parse(shard).holds(name) for shard in shard_names(count)) == 1


def test_shards_are_of_like_size_and_the_same_in_every_process() -> None:
    names = [f"folder/document-{number}.md" for number in range(500)]
    sizes = [sum(map(Shard.parse(shard).holds, names)) for shard in shard_names(7)]
    assert min(sizes) > 500 / 7 / 2, "no shard is left with next to nothing"
    assert [number for number in range(20) if Shard(1, 3).holds(f"{number}.md")] == [
        *(1, 7, 10, 11, 15, 16, 18, 19)
    ]


@pytest.mark.parametrize("text", ["", "1", "2/2", "-1/2", "1/0", "a/b", "1.0/2", "0/1001", "١/٢"])
def test_what_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a shard"):
        Shard.parse(text)


def test_a_fan_out_over_nothing_or_over_too_much_is_refused() -> None:
    for count in (0, -1, 1001):
        with pytest.raises(InputError, match="shards"):
            shard_names(count)


def test_the_fingerprint_changes_with_a_text_a_name_and_a_file_and_with_nothing_else(
    folder: Path,
) -> None:
    first = read_folder(str(folder)).fingerprint()
    (folder / "sail.md").touch()
    (folder / "picture.png").write_bytes(b"\x89PNG")
    assert read_folder(str(folder)).fingerprint() == first
    seen = {first}
    (folder / "sail.md").write_text("# sail\n", encoding="utf-8")
    seen.add(read_folder(str(folder)).fingerprint())
    (folder / "sail.md").rename(folder / "vane.md")
    seen.add(read_folder(str(folder)).fingerprint())
    (folder / "vane.md").unlink()
    seen.add(read_folder(str(folder)).fingerprint())
    assert len(seen) == 4


def test_what_is_ignored_is_no_part_of_the_corpus_and_its_number_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / ".gitignore").write_text("secrets.txt\n", encoding="utf-8")
    first = read_folder(str(folder))
    assert capsys.readouterr().out == ""
    (folder / "secrets.txt").write_text("hush", encoding="utf-8")
    (folder / "venv").mkdir()
    (folder / "venv" / "a.md").write_text("# A", encoding="utf-8")
    again = read_folder(str(folder))
    assert (again.fingerprint(), again.origin.kept) == (first.fingerprint(), ())
    said = capsys.readouterr().out
    assert "ignored: 1 file by .gitignore (secrets.txt); 1 folder by name (venv)" in said


def test_a_source_that_is_not_there_or_holds_no_document_is_named(tmp_path: Path) -> None:
    for source, said in (
        ("nowhere/at/all", "nowhere"),
        ("github:heron/platform", "heron/platform"),
        (str(tmp_path), "no document"),
    ):
        with pytest.raises(InputError, match=said):
            read_folder(source)
