"""Reading and splitting: files go in, and every piece says exactly which characters it is.

`course load` reads `data/` and a hundred nasty files; golden files hold each piece, and the
properties that all of them share are asserted beside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.course import Course
from tests.blackbox.golden import hold_golden
from tests.blackbox.nasty import FILES, write_nasty
from tests.blackbox.surface import read_documents, split_text

Record = dict[str, Any]

COURSE = Course({"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"})
"""Reading and splitting need no database: there is none here."""

CORPORA = ("documents", "code", "manifests", "nasty")
SMALL = 96
"""Most characters of a piece where the nasty files are split small."""
LOADS = (*CORPORA, "small")
MANIFEST_CHARS = 700
LONGEST_HEADER = 251
HASHED = {
    "markdown": "content sourcePath parserId parserVersion",
    "kubernetes": "content customMeta sourcePath parserId parserVersion",
    "python": "content kind name customMeta sourcePath parserId parserVersion",
    "github-issue": "content kind name sourcePath parserId parserVersion",
}
HASHED |= {"structure": HASHED["markdown"], "kustomize": HASHED["kubernetes"]}
HASHED |= {"raw-text": HASHED["markdown"]}
HASHED |= {"go": HASHED["python"], "shell": HASHED["python"]}
"""Parser → the fields that its records are hashed by."""


@dataclass(frozen=True)
class Loaded:
    """What `course load` wrote and said."""

    documents: list[Record]
    chunks: list[Record]
    said: list[str]

    def files(self) -> Iterator[tuple[Record, list[Record]]]:
        """Yield each document with its chunks, in their order."""
        chunks: dict[str, list[Record]] = {}
        for chunk in self.chunks:
            chunks.setdefault(chunk["sourcePath"], []).append(chunk)
        for document in self.documents:
            yield document, chunks.pop(document["name"], [])
        assert not chunks, "chunks of files that are not documents"


def load(folder: Path, target: Path, *options: str, **environment: str) -> Loaded:
    """Run `course load` and read what it wrote."""
    done = COURSE("load", folder, "--output-dir", target, *options, **environment)
    (origin, *documents), chunks = (
        _lines(target / name) for name in ("documents.jsonl", "chunks.jsonl")
    )
    owner = {name: origin["scope"][name] for name in ("tenant", "repo")}
    documents = [owner | one for one in documents]
    assert done.ok() == f"{len(documents)} documents, {len(chunks)} chunks → {target}\n"
    return Loaded(documents, chunks, done.err.splitlines())


def _lines(file: Path) -> list[Record]:
    # At line feeds alone: a record may hold U+2028.
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of nasty files."""
    folder = tmp_path_factory.mktemp("splitting") / "nasty"
    folder.mkdir()
    write_nasty(folder)
    return folder


@pytest.fixture(scope="module")
def loads(data: Path, nasty: Path) -> dict[str, Loaded]:
    """What `course load` makes of each corpus."""
    folders = {name: data / name for name in CORPORA} | {"nasty": nasty}
    found = {name: load(folder, nasty.parent / f"{name}-out") for name, folder in folders.items()}
    sizes = ("--chunk-size", str(SMALL), "--chunk-overlap", "16")
    return found | {"small": load(nasty, nasty.parent / "small-out", *sizes)}


def brief(text: str) -> str:
    """Return a text, or of a long one its beginning, its length and its hash."""
    if len(text) <= 60:
        return text
    return f"{text[:60]}… {len(text)} {sha256(text.encode()).hexdigest()[:16]}"


def shown(chunk: Record) -> Record:
    """Return a chunk for a golden file, without what is asserted of all."""
    meta = dict(chunk["customMeta"])
    at = [meta.pop("charStart"), meta.pop("charEnd")]
    record = {
        **{"path": chunk["sourcePath"], "at": at},
        "lines": [chunk["line_start"], chunk["line_end"]],
        **{name: chunk[name] for name in ("kind", "name", "className", "extends") if name in chunk},
        "content": brief(chunk["content"]),
    }
    if "resourceStart" in meta:
        record["resource"] = [meta.pop("resourceStart"), meta.pop("resourceEnd")]
    del meta["chunkIndex"]
    return record | ({"meta": meta} if meta else {})


@pytest.mark.parametrize("corpus", CORPORA)
def test_pieces_are_those_of_today(loads: dict[str, Loaded], corpus: str) -> None:
    """Offsets, lines, kinds, names, headers and resources of every piece are frozen."""
    chunks = [one for one in loads[corpus].chunks if one["sourcePath"] != "yaml/many.yaml"]
    hold_golden(f"splitting/{corpus}", map(shown, chunks))


def test_files_are_read_and_left_out_as_today(loads: dict[str, Loaded], nasty: Path) -> None:
    """Which nasty files are documents, by which parser; which are not, and why."""
    read = [
        {"path": one["name"], "parser": one["parser"], "settings": one["settings"], "chunks": count}
        | {"characters": len(one["content"]), "hash": one["content_hash"][:16]}
        for one, count in ((one, len(chunks)) for one, chunks in loads["nasty"].files())
    ]
    hold_golden("splitting/files", [*read, *({"said": line} for line in loads["nasty"].said)])
    unread = set(FILES) - {one["path"] for one in read}
    without_reason = {name for name in unread if not any(name in s for s in loads["nasty"].said)}
    assert without_reason == {
        *("code/Makefile", "code/script", "code/settings.toml"),  # of no format that is registered
        *("names/.folder/page.md", "names/.hidden.md"),  # hidden
    }
    for corpus in ("documents", "code", "manifests"):
        assert loads[corpus].said == []


@pytest.mark.parametrize("corpus", CORPORA)
def test_documents_are_the_files(
    loads: dict[str, Loaded], corpus: str, data: Path, nasty: Path
) -> None:
    """A document is its file, character by character, without a byte order mark."""
    folder = nasty if corpus == "nasty" else data / corpus
    names = [one["name"] for one in loads[corpus].documents]
    assert names == sorted(names)
    for one in loads[corpus].documents:
        assert one["content"] == (folder / one["name"]).read_bytes().decode("utf-8-sig"), one
        assert one["content_hash"] == sha256(one["content"].encode()).hexdigest()
        assert (one["tenant"], one["repo"], one["model"]) == ("local", folder.name, "")


@pytest.mark.parametrize("corpus", LOADS)
def test_a_piece_is_what_it_says(loads: dict[str, Loaded], corpus: str) -> None:
    """Content is the source cut at the offsets; lines, places and constants agree; sizes hold."""
    size = SMALL if corpus == "small" else 512
    for document, chunks in loads[corpus].files():
        text, parser = document["content"], document["parser"].split()[0]
        assert [one["customMeta"]["chunkIndex"] for one in chunks] == [*range(len(chunks))]
        for one in chunks:
            meta = one["customMeta"]
            start, end = meta["charStart"], meta["charEnd"]
            assert one["content"] == text[start:end] and one["content"].strip(), one
            if parser not in ("kubernetes", "kustomize") or not _breaks_of_yaml_alone(text):
                lines = (text.count("\n", 0, start) + 1, text.count("\n", 0, end - 1) + 1)
                assert (one["line_start"], one["line_end"]) == lines, one
            header = meta.get("header", "")
            most = MANIFEST_CHARS if "resourceStart" in meta else size
            assert header == "" or header.endswith("\n")
            if parser in ("markdown", "github-issue"):  # a heading comes on top of the size
                most += LONGEST_HEADER
            if parser == "structure":  # read by `course ask`, four times as much at once
                header, most = "", 4 * size
            assert len(header + one["content"]) <= most, one
            assert one["hashInputs"] == HASHED[parser].split()
            assert f"{one['parserId']} {one['parserVersion']}" == document["parser"]
            assert (one["schemaVersion"], one["rootKind"]) == ("1.0.0", "external-source")
            assert (one["tenantId"], one["repoSlug"]) == ("local", document["repo"])


def _breaks_of_yaml_alone(text: str) -> bool:
    return re.search("[\x85\u2028\u2029]|\r(?!\n)", text) is not None


@pytest.mark.parametrize("corpus", LOADS)
def test_nothing_is_lost(loads: dict[str, Loaded], corpus: str) -> None:
    """Pieces hold every character but white space; of manifests all but what separates them."""
    for document, chunks in loads[corpus].files():
        spans = [(one["customMeta"]["charStart"], one["customMeta"]["charEnd"]) for one in chunks]
        left = _uncovered(document["content"], spans)
        if not document["parser"].startswith("k"):
            assert "".join(left).strip() == "", document["name"]
            assert all(a < c and b < d for (a, b), (c, d) in pairwise(spans)), document["name"]
            continue
        assert all(before <= after for (_, before), (after, _) in pairwise(spans))
        if any(one["kind"] == "CustomResourceDefinition" for one in chunks):
            continue  # its schema is left out on purpose, as the golden files show
        for line in re.split("[\r\n\x85\u2028\u2029]", "".join(left)):
            assert re.fullmatch(r"\s*(#.*)?|(---|\.\.\.)(\s.*)?|%.*", line), (
                document["name"],
                line,
            )


def _uncovered(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """Return what of a text is in none of the spans, which begin in order."""
    left, at = [], 0
    for start, end in spans:
        left.append(text[at:start])
        at = max(at, end)
    return [*left, text[at:]]


def test_three_hundred_documents_in_one_file(loads: dict[str, Loaded]) -> None:
    """Each document of a long stream is a piece of its own, in order."""
    jobs = [one for one in loads["nasty"].chunks if one["sourcePath"] == "yaml/many.yaml"]
    assert [(one["kind"], one["name"]) for one in jobs] == [("Job", f"job-{n}") for n in range(300)]
    assert [one["line_start"] for one in jobs] == [*range(1, 901, 3)]


def test_a_resource_is_given_by_its_pieces(loads: dict[str, Loaded]) -> None:
    """The pieces of a manifest lie in their resource, and begin and end with it."""
    for corpus in ("manifests", "nasty"):
        for document, chunks in loads[corpus].files():
            resources: dict[tuple[int, int], list[tuple[int, int]]] = {}
            for one in (one for one in chunks if "resourceStart" in one["customMeta"]):
                meta = one["customMeta"]
                whose = (meta["resourceStart"], meta["resourceEnd"])
                resources.setdefault(whose, []).append((meta["charStart"], meta["charEnd"]))
            for (start, end), spans in resources.items():
                assert spans[0][0] == start, document["name"]
                # The end of a custom resource definition may be a schema, which is left out.
                assert spans[-1][1] == end or "crd-odd" in document["name"], document["name"]
            assert all(a[1] <= b[0] for a, b in pairwise(resources)), document["name"]


def test_neighbours_share_what_was_asked_for(data: Path, nasty: Path, tmp_path: Path) -> None:
    """Pieces of a section share at most the overlap, from a word on; sections share nothing."""
    for folder, size, overlap in (
        *((nasty / "docs", size, overlap) for size, overlap in ((512, 64), (200, 0), (64, 48))),
        *((data / "documents", size, overlap) for size, overlap in ((512, 64), (90, 40))),
    ):
        sizes = ("--chunk-size", str(size), "--chunk-overlap", str(overlap))
        found = load(folder, tmp_path, *sizes)
        for document, chunks in found.files():
            assert document["settings"] in ("", f"chunk_size={size} chunk_overlap={overlap}")
            for one, after in pairwise(chunks):
                start, end = after["customMeta"]["charStart"], one["customMeta"]["charEnd"]
                between = document["content"][end:start]
                if between:  # pieces of white space alone are left out
                    assert between.isspace(), document["name"]
                    continue
                assert 0 <= end - start <= overlap, after
                text = document["content"]
                starts_a_word = re.match(r"\s\S", text[start - 1 : start + 1])
                words = re.search(r"\s\S", text[max(end - overlap - 1, 0) : end])
                assert end == start or starts_a_word or not words, after
                assert len(one["content"]) <= size


def test_parts_of_a_definition_share_no_more(loads: dict[str, Loaded]) -> None:
    """Parts of one definition share whole lines or words of at most the overlap; others nothing."""
    shared = []
    for _, chunks in (*loads["code"].files(), *loads["nasty"].files()):
        for one, after in pairwise(one for one in chunks if one["parserId"] in ("python", "go")):
            common = one["customMeta"]["charEnd"] - after["customMeta"]["charStart"]
            same = all(one[key] == after[key] for key in ("kind", "name"))
            assert common <= 0 or (same and common <= 64), after
            shared += [common] if common > 0 else []
    assert len(shared) > 20


def test_a_file_alone_is_split_as_in_its_folder(loads: dict[str, Loaded], data: Path) -> None:
    """`course split --jsonl` prints the records that `course load` writes."""
    for corpus in ("documents", "code"):
        for document, chunks in loads[corpus].files():
            file = data / corpus / document["name"]
            printed = COURSE("split", file, "--jsonl", "--repo", corpus).ok().split("\n")
            records = [json.loads(line) for line in printed if line]
            assert records == [one | {"sourcePath": file.name} for one in chunks], file
    whole = COURSE(
        *("split", data / "manifests/model-registry.yaml", "--jsonl", "--repo", "manifests"),
        *("--chunk-size", "50", "--chunk-overlap", "0"),  # manifests have a size of their own
    )
    records = [json.loads(line) for line in whole.ok().split("\n") if line]
    assert records == [
        one for one in loads["manifests"].chunks if one["sourcePath"] == "model-registry.yaml"
    ]


SPLIT_TEXT = [
    ("", 8, 0, {}, []),
    ("short", 8, 0, {}, ["short"]),
    ("ab cd. ef gh", 8, 0, {}, ["ab cd. ", "ef gh"]),
    ("ab cd. ef gh", 8, 3, {}, ["ab cd. ", "d. ef gh"]),
    ("one\n\ntwo three\nfour", 16, 0, {}, ["one\n\n", "two three\nfour"]),
    ("one two\nthree. four five", 18, 0, {}, ["one two\n", "three. four five"]),
    ("abcdefghij", 4, 0, {}, ["abcd", "efgh", "ij"]),
    ("abcdefghij", 4, 3, {}, ["abcd", "bcde", "cdef", "defg", "efgh", "fghi", "ghij"]),
    ("a\r\nb\r\nc\r\n", 4, 0, {}, ["a\r\n", "b\r\n", "c\r\n"]),
    ("abc\r\ndef", 4, 0, {}, ["abc\r", "\ndef"]),
    ("a,b,c,d,e", 5, 0, {"separators": (",",)}, ["a,b,", "c,d,e"]),
    ("a,b c,d e", 5, 0, {"separators": ("",)}, ["a,b c", ",d e"]),
    ("the quick brown fox", 16, 8, {}, ["the quick brown ", "k brown fox"]),
    (
        *("the quick brown fox", 16, 8, {"snap_to_words": True}),
        ["the quick brown ", "brown fox"],
    ),
]


@pytest.mark.parametrize(("text", "size", "overlap", "options", "expected"), SPLIT_TEXT)
def test_split_text_by_hand(
    text: str, size: int, overlap: int, options: dict[str, Any], expected: list[str]
) -> None:
    """Small texts are cut at the strongest boundary in reach, worked by hand."""
    assert [span.text for span in split_text(text, size, overlap, **options)] == expected


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((b"bytes",), TypeError, "text must be a string, not bytes"),
        ((None,), TypeError, "text must be a string, not NoneType"),
        (("a", 0), ValueError, "chunk_size must be at least 1, not 0"),
        (("a", -5), ValueError, "chunk_size must be at least 1, not -5"),
        (
            ("a", 10, 10),
            ValueError,
            "chunk_overlap must be between 0 and chunk_size - 1 = 9, not 10",
        ),
        (
            ("a", 10, -1),
            ValueError,
            "chunk_overlap must be between 0 and chunk_size - 1 = 9, not -1",
        ),
        (("a", 10.0), TypeError, "chunk_size must be an integer, not 10.0"),
        (("a", True), TypeError, "chunk_size must be an integer, not True"),
        (("a", 10, "2"), TypeError, "chunk_overlap must be an integer, not '2'"),
        (("a", 10, 2, "ab"), TypeError, "separators must be a tuple or list of strings, not 'ab'"),
        (("a", 10, 2, [1]), TypeError, "separators must hold strings, not 1"),
    ],
)
def test_split_text_refuses(given: tuple[Any, ...], error: type[Exception], message: str) -> None:
    """A bad argument is named with its value."""
    with pytest.raises(error) as refused:
        split_text(*given)
    assert str(refused.value) == message


def test_split_shows_a_file(data: Path, nasty: Path) -> None:
    """`course split` lists number, lines, characters, kind, name, header and first words."""
    said = []
    for file, *options in (
        (data / "documents/feature-stores.md", "--chunk-size", "900", "--chunk-overlap", "0"),
        (data / "documents/feature-stores.md", "--parser", "raw-text"),
        (data / "manifests/platform/base/training.yaml",),
        (data / "code/heron/scoring.py",),
        (nasty / "code/script",),
        (nasty / "code/Makefile",),
        (nasty / "docs/empty.md",),
        (nasty / "docs/line-separators.md", "--parser", "kubernetes"),
    ):
        done = COURSE("split", file, *options)
        lines = [{"line": line} for line in done.ok().split("\n") if line]
        said += [{"file": file.name, "options": options}, *lines, {"said": done.err}]
    hold_golden("splitting/listing", said)


REFUSED = [
    (("split", "{docs}"), "{docs} is a directory"),
    (("split", "{docs}/latin1.txt"), "{docs}/latin1.txt is not UTF-8: byte 0xfc at offset 2"),
    (("split", "{docs}/none.md"), "{docs}/none.md does not exist"),
    (
        ("split", "{docs}/html.md", "--parser", "nobody"),
        "KB_PARSER_NOT_REGISTERED: the parser 'nobody' is not registered",
    ),
    (("split", "{docs}/html.md", "--chunk-size", "0"), "chunk_size must be at least 1, not 0"),
    (
        ("load", "{docs}", "--output-dir", "{out}", "--chunk-overlap", "512"),
        "chunk_overlap must be between 0 and chunk_size - 1 = 511, not 512",
    ),
    (("load", "{docs}/none", "--output-dir", "{out}"), "{docs}/none does not exist"),
    (
        ("load", "{empty}", "--output-dir", "{out}"),
        "no document of a registered format could be read in {empty}",
    ),
    (
        ("load", "{docs}", "--output-dir", "{docs}/html.md"),
        "{docs}/html.md/chunks.jsonl cannot ",
    ),
]


@pytest.mark.parametrize(("words", "complaint"), REFUSED)
def test_commands_refuse(
    nasty: Path, tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    """What cannot be read or split is said in one sentence, and nothing is written."""
    empty = tmp_path / "empty"
    empty.mkdir()
    places = {"docs": nasty / "docs", "out": tmp_path / "out", "empty": empty}
    done = COURSE(*(word.format(**places) for word in words))
    assert f"error: {complaint.format(**places)}" in done.error()
    assert done.out == "" and not (tmp_path / "out").exists()


def test_settings_are_the_environments_where_no_option_is_given(data: Path, tmp_path: Path) -> None:
    """RAG_TENANT, RAG_CHUNK_SIZE and RAG_CHUNK_OVERLAP count; an option counts more."""
    settings = {"RAG_TENANT": "acme", "RAG_CHUNK_SIZE": "300", "RAG_CHUNK_OVERLAP": "30"}
    folder = data / "documents"
    by_settings = load(folder, tmp_path, "--repo", "mine", **settings)
    assert {(one["tenantId"], one["repoSlug"]) for one in by_settings.chunks} == {("acme", "mine")}
    options = ("--chunk-size", "300", "--chunk-overlap", "30", "--repo", "mine")
    by_option = load(folder, tmp_path, *options, **settings | {"RAG_CHUNK_SIZE": "500"})
    assert by_option == by_settings
    assert {one["settings"] for one in by_option.documents} == {"chunk_size=300 chunk_overlap=30"}
    refused = COURSE("load", folder, "--output-dir", tmp_path, RAG_TENANT="No Name").error()
    assert "RAG_TENANT" in refused or "tenantId" in refused


def test_read_documents_reads_what_it_is_asked_for(nasty: Path) -> None:
    """By endings in any case, up to a size, links inside alone; the rest is reported."""
    skipped: list[Any] = []
    found = read_documents(nasty, max_bytes=5_000, on_skip=skipped.append)
    names = [one.name for one in found]
    assert "names/UPPER.MD" in names and "links/inside.md" in names
    assert all(name.lower().endswith((".md", ".txt")) for name in names)
    reasons = {one.name: one.reason for one in skipped}
    assert reasons["docs/huge-line.txt"] == "has 0.0 MB; the limit is 0.0 MB"
    assert reasons["links/outside.md"] == "is a link that leads out of the directory"
    (page,) = read_documents(nasty / "docs/bom-utf8.md")
    assert (page.name, page.content) == ("bom-utf8.md", "# With a mark\n\nText.\n")
    assert page.metadata == {"extension": ".md", "size": 24, "relative_path": "bom-utf8.md"}
    names = [one.name for one in read_documents(nasty / "code", (".GO", ".sh"))]
    assert names == sorted(
        path.name for path in (nasty / "code").iterdir() if path.suffix in (".go", ".sh")
    )
