"""The file that steps hand to each other, its shards, and its fingerprint."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.pipeline.corpus import Corpus, Origin, Shard, read_corpus, shard_names, write_corpus
from course_lib.pipeline.sources import fingerprint, read_folder
from course_lib.records import Skipped


def test_every_document_falls_in_exactly_one_shard() -> None:
    shards = [Shard.parse(name) for name in shard_names(7)]
    names = [f"folder/document-{number}.md" for number in range(500)]
    assert all(sum(shard.holds(name) for shard in shards) == 1 for name in names)
    sizes = [sum(map(shard.holds, names)) for shard in shards]
    assert min(sizes) > 500 / 7 / 2, "no shard is left with next to nothing"


def test_a_document_falls_in_the_same_shard_in_every_process() -> None:
    code = (
        "from course_lib.pipeline.corpus import Shard\n"
        "print(''.join(str(int(Shard(1, 3).holds(f'{n}.md'))) for n in range(60)))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert said == {"".join(str(int(Shard(1, 3).holds(f"{n}.md"))) for n in range(60))}


@pytest.mark.parametrize("text", ["", "1", "2/2", "-1/2", "1/0", "a/b", "1.0/2", "0/1001", "١/٢"])
def test_what_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no shard"):
        Shard.parse(text)


@pytest.mark.parametrize("count", [0, -1, 1001])
def test_a_fan_out_over_nothing_or_over_too_much_is_refused(count: int) -> None:
    with pytest.raises(InputError, match="shards"):
        shard_names(count)


def test_a_corpus_comes_back_as_it_was_written_and_in_shards(folder: Path, tmp_path: Path) -> None:
    corpus = read_folder(str(folder), repo="mill")
    corpus = Corpus(corpus.origin, corpus.documents, [Skipped("sub/", "cannot be read")])
    file = tmp_path / "documents.jsonl"
    assert write_corpus(file, corpus)["documents"] == 6
    back = read_corpus(file)
    assert back.origin == corpus.origin and back.unread == corpus.unread
    assert [(one.name, one.content, one.metadata) for one in back.documents] == [
        (one.name, one.content, one.metadata) for one in corpus.documents
    ]
    parts = [read_corpus(file, shard) for shard in Shard(0, 4).all()]
    assert sorted(one.name for part in parts for one in part.documents) == sorted(
        one.name for one in corpus.documents
    )
    assert all(part.unread == corpus.unread for part in parts), "no shard takes them for gone"


@pytest.mark.parametrize("text", ["", "{}\n", "[1]\n", '{"origin": {"what": 1}}\n', "no\n"])
def test_a_file_that_is_no_corpus_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        read_corpus(file)


def test_the_fingerprint_changes_with_a_text_a_name_and_a_file_and_with_nothing_else(
    folder: Path,
) -> None:
    first = fingerprint(str(folder))
    (folder / "sail.md").touch()
    (folder / "picture.png").write_bytes(b"\x89PNG")
    assert fingerprint(str(folder)) == first
    seen = {first}
    (folder / "sail.md").write_text("# sail\n", encoding="utf-8")
    seen.add(fingerprint(str(folder)))
    (folder / "sail.md").rename(folder / "vane.md")
    seen.add(fingerprint(str(folder)))
    (folder / "vane.md").unlink()
    seen.add(fingerprint(str(folder)))
    assert len(seen) == 4


def test_a_registered_source_can_be_named(folder: Path) -> None:
    assert read_folder(f"directory:{folder}").documents == read_folder(str(folder)).documents


@pytest.mark.parametrize("source", ["nowhere/at/all", "github:heron/platform"])
def test_a_source_that_is_not_there_is_named(source: str) -> None:
    with pytest.raises(InputError, match=r"nowhere|heron/platform"):
        read_folder(source)


def test_a_folder_without_a_document_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no document"):
        read_folder(str(tmp_path / "empty"))


def test_an_origin_says_where_documents_belong() -> None:
    assert Origin().partition == "documentation" and Origin().complete
