"""The contract: records from elsewhere are judged one by one, by every door in the same way.

`course validate` and `course ingest-tenant` read the same lines; what each refuses, with code,
field and reason, is in `golden/contract/`. The committed JSON Schema is held against the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.blackbox.course import Course
from tests.blackbox.golden import hold_golden
from tests.blackbox.places import Place, new_place

Record = dict[str, Any]

INVALID = "KB_PARSED_CHUNK_INVALID"
EMBEDDING_REJECTED = "KB_PARSED_CHUNK_EMBEDDING_REJECTED"
SCHEMA = Path(__file__).parents[2] / "course_lib/loader/parsed-chunk-v1.schema.json"

REQUIRED: Record = {
    "schemaVersion": "1.0.0",
    "tenantId": "claimed",
    "repoSlug": "claimed-too",
    "rootKind": "external-source",
    "sourcePath": "a.md",
    "content": "Hello.",
    "hashInputs": ["content"],
    "parserId": "theirs",
    "parserVersion": "1.0.0",
    "kind": "doc-section",
    "name": "Greeting",
}
OPTIONAL: Record = {
    "line_start": 1,
    "line_end": 2,
    "className": "A",
    "extends": "B",
    "customMeta": {
        **{
            "chunkIndex": 3,
            "branch": "main",
            "namespace": "n",
            "commitSha": "abc",
            "header": "#\n",
        },
        **{"citationUrl": "https://example.com/a.md", "own": {"deep": [1, 2.5, None, True]}},
    },
}
VALUES: tuple[tuple[str, Any], ...] = (
    *(("null", None), ("integer", 1), ("float", 1.5), ("boolean", True), ("string", "text")),
    *(("empty", ""), ("array", []), ("object", {})),
)


def record(**fields: Any) -> Record:
    """Return a valid record with some fields changed."""
    return REQUIRED | fields


def meta(**fields: Any) -> Record:
    """Return a valid record with this `customMeta`."""
    return record(customMeta=fields)


def fields_of_every_type() -> Iterator[tuple[str, Record]]:
    """Yield a record for each field and each sort of value, the fitting ones among them."""
    for field in REQUIRED | OPTIONAL:
        for name, value in VALUES:
            yield f"{field} is {name}", record(**{field: value})


def numbered(field: str, *values: Any) -> Iterator[tuple[str, Record]]:
    """Yield a record for each value of a field."""
    for value in values:
        shown = json.dumps(value)
        name = shown if len(shown) < 40 else f"{shown[:20]}… of {len(shown)}"
        yield f"{field} is {name}", record(**{field: value})


def numbered_meta(field: str, *values: Any) -> Iterator[tuple[str, Record]]:
    """Yield a record for each value of a field of `customMeta`."""
    for value in values:
        shown = json.dumps(value)
        yield f"customMeta.{field} is {shown[:20]} ({len(shown)})", meta(**{field: value})


RECORDS: dict[str, Record] = dict(
    [
        ("only what is required", REQUIRED),
        ("everything", REQUIRED | OPTIONAL),
        *((f"{field} is missing", {k: v for k, v in REQUIRED.items() if k != field})
          for field in REQUIRED),
        *fields_of_every_type(),
        *((f"unknown field {name}", record(**{name: "x"})) for name in
          ("extra", "source_path", "tenant_id", "lineStart", "custom_meta", "Content", "")),
        *numbered("schemaVersion", "1.0.1", "1.0", "1", "2.0.0", " 1.0.0"),
        *numbered("rootKind", "neo-workspace", "bare-repo", "External-Source", "other"),
        *numbered("sourcePath", "a/b.md", "./a", "a/./b", "a//b", "a/", "..a/b..", "a/...", " ",
                  "ü/🎈.md", "..", "../a", "a/../b", "a/..", "/a", "a\\b", "C:\\a", "C:/a",
                  "x" * 1000, "x" * 1001, "ü" * 501),
        *numbered("tenantId", "a", "a-b-2", "0", "a" * 63, "a" * 64, "Acme", "a_b", "-a", "a-",
                  "a--b", "a b", "ä", "a\n", "a.b"),
        *numbered("parserVersion", "0.0.0", "10.20.30", "1.0.0-rc.1", "1.0.0+b.1", "1.0.0-a+b",
                  "01.0.0", "1.01.0", "1.0.0-01", "1.0.0-a..b", "1.0.0+01", "1", "1.0", "v1.0.0",
                  "1.0.0.0", "1.0.0-", "1.0.0-ä", "1.0.0\n", "1.0.0 ", "1.0.00", "1.0.0-0",
                  "1.0.0--", "1.0.0-01a", "1.0.0-0a.b-c", "1.0.0+b-1.02", "1.0.0-a.01", "1.0.0-.a",
                  "1.0.0-a.", "1.0.0+", "1.0.0+a..b", "1.0.0+a+b"),
        *numbered("hashInputs", ["name", "content"], list(REQUIRED | OPTIONAL), ["name"],
                  ["content", "content"], ["content", "nope"], ["content", ""], ["content", 1],
                  ["content", "source_path"], ["content", "customMeta.own"]),
        *numbered("line_start", 0, -1, 2**31, 2**63, "3"),
        *numbered("line_end", 0, 1.0),
        ("line_end before line_start", record(line_start=5, line_end=4)),
        ("line_end without line_start", record(line_end=4)),
        *numbered("kind", "k" * 250, "k" * 251, " ", "a\nb"),
        *numbered("repoSlug", "r" * 250, "r" * 251),
        *numbered("content", " ", "\u0000", "a\u0000b", "\ud800", "🎈", "\u2028"),
        *numbered("name", "", "n" * 2000, "\u0000"),
        *numbered_meta("chunkIndex", 0, 2**31 - 1, 2**31, -1, "1", 1.0, True, None),
        *(one for key in ("branch", "namespace") for one in
          numbered_meta(key, "", "b" * 250, "b" * 251, 1, None, ["b"])),
        *(one for key in ("commitSha", "header") for one in numbered_meta(key, "", 1, None, {})),
        *numbered_meta("citationUrl", "http://a", "https://a", "ftp://a", "javascript:1", "", 1),
        *numbered_meta("own", "a\u0000", {"a\u0000": 1}, ["\ud800"], 1e300, {"": {"": []}}),
        ("an embedding", record(embedding=[0.1, 0.2])),
        ("an embedding that is null", record(embedding=None)),
        ("an embedding and nothing else", {"embedding": []}),
        ("an embedding in customMeta", meta(embedding=[0.1])),
        ("several faults", record(kind="", sourcePath="/a", extra=1, hashInputs=[], line_start=0)),
    ]
)  # fmt: skip
"""What it is → a record, some of them valid."""

LINES: dict[str, bytes] = {
    "no JSON": b"not json",
    "half an object": b'{"schemaVersion": "1.0.0"',
    "two objects": b"{} {}",
    "an array": b"[]",
    "a string": b'"text"',
    "a number": b"3",
    "null": b"null",
    "true": b"true",
    "an empty object": b"{}",
    "NaN": b'{"customMeta": {"own": NaN}}',
    "Infinity": b'{"customMeta": {"own": -Infinity}}',
    "a number that is too large": json.dumps(meta(own=1))
    .replace('"own": 1', '"own": 1e999')
    .encode(),
    "a key twice": b'{"kind": "a", "kind": "b"}',
    "a key twice, inside": b'{"customMeta": {"a": 1, "a": 2}}',
    "an embedding twice": b'{"embedding": [], "embedding": []}',
    "an embedding, and a key twice": b'{"kind": "a", "embedding": [0.1], "kind": "b"}',
    "an embedding, and a key twice inside": b'{"customMeta": {"a": 1, "a": 2}, "embedding": [0.1]}',
    "an embedding of NaN": b'{"embedding": [NaN]}',
    "a key called embedding twice, inside": b'{"customMeta": {"embedding": 1, "embedding": 2}}',
    "no UTF-8": b'{"name": "\xff"}',
    "UTF-16": '{"name": "x"}'.encode("utf-16-le"),
    "nested too deep": b"[" * 100_000,
    "a long number": b'{"line_start": ' + b"9" * 5_000 + b"}",
    "a byte order mark inside": b"\xef\xbb\xbf{}",
    "a comment": b"// {}",
}
"""What it is → a line that holds no record."""

NOT_IN_THE_SCHEMA = {
    "NUL": "a NUL in a string",
    "surrogate": "half of a surrogate pair",
    "bytes; the limit": "sizes in bytes",
    "is before line_start": "the order of lines",
}
"""What a reason holds → what a JSON Schema cannot say, or this one does not."""


def line(given: Record) -> bytes:
    """Return a record as a line of JSON."""
    return json.dumps(given).encode()


def told(message: str) -> str:
    """Return a reason without what Python's own JSON reader says, which changes with Python."""
    return message.partition(":")[0]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of all records and lines, each of another path where it says nothing of its path."""
    file = tmp_path_factory.mktemp("contract") / "cases.jsonl"
    with file.open("wb") as out:
        for number, (name, given) in enumerate(RECORDS.items()):
            own = given.get("sourcePath") == "a.md" and not name.startswith("sourcePath")
            out.write(line(given | {"sourcePath": f"{number}.md"} if own else given) + b"\n")
        for raw in LINES.values():
            out.write(raw + b"\n")
    return file


@pytest.fixture(scope="module")
def judged(cases: Path) -> dict[str, Record | None]:
    """What `course validate` says of each case: None where it is valid."""
    done = Course({})("validate", cases, "--json")
    names = [*RECORDS, *LINES]
    refused = {one["record"]: one for one in map(json.loads, done.out.splitlines())}
    assert done.code == 1
    assert done.err == f"{len(names) - len(refused)} records are valid, {len(refused)} are not\n"
    return {name: refused.get(f"line {number}") for number, name in enumerate(names, 1)}


def test_records_are_judged_as_today(judged: dict[str, Record | None]) -> None:
    """Each record's verdict: valid, or its code, its fields and why."""
    hold_golden(
        "contract/verdicts",
        (
            {"case": name, "valid": True}
            if refused is None
            else {"case": name, "code": refused["code"]}
            | {one["field"]: told(one["message"]) for one in refused["problems"]}
            for name, refused in judged.items()
        ),
    )


def test_what_is_refused_bears_its_code_and_field(judged: dict[str, Record | None]) -> None:
    """A missing or unknown field is named; a record with a vector has a code of its own."""
    for name, refused in judged.items():
        is_embedding = name.startswith("an embedding") and name != "an embedding in customMeta"
        if refused is not None:
            assert refused["code"] == (EMBEDDING_REJECTED if is_embedding else INVALID), name
            assert all(one["field"] and one["message"] for one in refused["problems"]), name
        assert (refused is None) <= (name in RECORDS), name
    for field in REQUIRED:
        missing = judged[f"{field} is missing"]
        assert missing and missing["problems"] == [{"field": field, "message": "Field required"}]
    several = judged["several faults"]
    assert several and {one["field"] for one in several["problems"]} == {
        *("kind", "sourcePath", "extra", "hashInputs", "line_start")
    }


def test_validate_says_it_in_lines_for_people(
    cases: Path, judged: dict[str, Record | None]
) -> None:
    """Without `--json` a refusal is one line: which, the code, each field with its reason."""
    done = Course({})("validate", cases)
    expected = [
        f"{one['record']}: {one['code']}: "
        + "; ".join(f"{each['field']}: {each['message']}" for each in one["problems"])
        for one in judged.values()
        if one is not None
    ]
    assert (done.code, done.out.splitlines()) == (1, expected)


def test_the_schema_says_the_same(judged: dict[str, Record | None]) -> None:
    """The committed JSON Schema takes and refuses the same records, but for what it cannot say."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    differ = []
    for name, given in RECORDS.items():
        refused = judged[name]
        says = validator.is_valid(given)
        if says != (refused is None):
            reasons = "; ".join(one["message"] for one in refused["problems"]) if refused else ""
            known = next((why for part, why in NOT_IN_THE_SCHEMA.items() if part in reasons), "")
            differ.append({"case": name, "schema": says, "because": known or reasons or "?"})
    hold_golden("contract/schema", differ)


def test_both_commands_refuse_the_same(
    place: Place, cases: Path, judged: dict[str, Record | None]
) -> None:
    """`course ingest-tenant` refuses what `course validate` does, and indexes all siblings."""
    words = ("ingest-tenant", cases, "--tenant", "acme", "--repo", "platform", "--json")
    done = place.course(*words)
    report = json.loads(done.out)
    refused = [one for one in judged.values() if one is not None]
    assert (done.code, report["rejections"]) == (1, refused)
    valid = len(judged) - len(refused)
    assert (report["inserted"], report["documents"]) == (valid, valid)
    rows = place.rows("SELECT DISTINCT tenant_id, repo_slug FROM document_chunks")
    assert rows == [{"tenant_id": "acme", "repo_slug": "platform"}]
    assert place.one("SELECT count(*) FROM document_chunks") == valid


COLUMNS = """
    SELECT partition, tenant_id, repo_slug, branch, document_name, chunk_index, kind, name,
           namespace, commit_sha, citation_url, visibility, content, content_hash, metadata
    FROM document_chunks ORDER BY document_name, branch, chunk_index
"""
IDS = "SELECT id, document_name, chunk_index FROM document_chunks ORDER BY document_name"


def jsonl(file: Path, *records: Record) -> Path:
    """Write records to a file."""
    file.write_bytes(b"".join(line(one) + b"\n" for one in records))
    return file


def ingest(place: Place, file: Path, *options: str, code: int = 0) -> Record:
    """Run `course ingest-tenant` for the tenant acme and return its report."""
    words = ("ingest-tenant", file, "--tenant", "acme", "--repo", "platform", "--json", *options)
    done = place.course(*words)
    assert done.code == code, done.err
    return {**json.loads(done.out), "said": done.err}


def counts(report: Record) -> tuple[int, ...]:
    """Return what an ingest did to the rows."""
    return tuple(report[name] for name in ("inserted", "updated", "unchanged", "deleted"))


def test_a_record_becomes_a_row(place: Place, tmp_path: Path) -> None:
    """Every field of a record is in its row; what the server knows goes before what it claims."""
    file = jsonl(tmp_path / "records.jsonl", REQUIRED | OPTIONAL, record(sourcePath="b.md"))
    words = ("--repo", "platform", "--public", "--partition", "mine")
    place.course("ingest-tenant", file, "--tenant", "acme", *words, RAG_TENANT="other").ok()
    hold_golden("contract/rows", place.rows(COLUMNS))
    documents = "SELECT document_name, branch, content, parser, settings, visibility FROM documents"
    hold_golden("contract/documents", place.rows(f"{documents} ORDER BY document_name"))


def test_what_did_not_change_keeps_its_row(place: Place, database_url: str, tmp_path: Path) -> None:
    """Rows keep their ids over ingests; another index gives the same rows, hashes and places."""
    file = tmp_path / "records.jsonl"
    one, two, three = (record(sourcePath=f"{name}.md") for name in ("one", "two", "three"))
    assert counts(ingest(place, jsonl(file, one, two, three))) == (3, 0, 0, 0)
    ids, rows = place.rows(IDS), place.rows(COLUMNS)
    assert counts(ingest(place, file)) == (0, 0, 3, 0)
    claims = [given | {"tenantId": "other", "repoSlug": "x"} for given in (one, two, three)]
    assert counts(ingest(place, jsonl(file, *claims))) == (0, 0, 3, 0)
    assert (place.rows(IDS), place.rows(COLUMNS)) == (ids, rows)
    changed = counts(ingest(place, jsonl(file, one, two | {"content": "Goodbye."})))
    assert changed == (0, 1, 2, 0)  # the third is not mentioned, stays, and is counted
    assert place.rows(IDS) == ids
    assert [row["content"] for row in place.rows(COLUMNS)] == ["Hello.", "Hello.", "Goodbye."]

    with new_place(database_url) as other:
        assert counts(ingest(other, jsonl(file, three, two, one))) == (3, 0, 0, 0)
        assert other.rows(COLUMNS) == rows


def test_a_document_is_what_its_records_say(place: Place, tmp_path: Path) -> None:
    """Fewer records of a document remove rows; records of a place that is taken are refused."""
    file = tmp_path / "records.jsonl"
    pieces = [meta(chunkIndex=place_) | {"content": f"Piece {place_}."} for place_ in range(4)]
    assert counts(ingest(place, jsonl(file, *pieces))) == (4, 0, 0, 0)
    assert counts(ingest(place, jsonl(file, pieces[2], pieces[0]))) == (0, 0, 2, 2)
    assert [row["chunk_index"] for row in place.rows(COLUMNS)] == [0, 2]
    twice = jsonl(file, pieces[0], pieces[1], pieces[1] | {"content": "Again."}, record())
    report = ingest(place, twice, code=1)
    assert counts(report) == (1, 1, 1, 0)  # without a place of its own, the last is the third
    (refused,) = report["rejections"]
    field, message = "customMeta.chunkIndex", "another record of this path has the place 1"
    problem = {"field": field, "message": message}
    assert refused == {"code": INVALID, "record": "line 3", "problems": [problem]}
    assert f"line 3: {INVALID}: {field}: {message}" in report["said"]
    # `course validate` judges each record alone, and knows nothing of its neighbours.
    assert Course({})("validate", twice).err == "4 records are valid, 0 are not\n"
    branches = [meta(branch=name) for name in ("", "main", "next")]
    ingest(place, jsonl(file, *branches))
    assert sorted({row["branch"] for row in place.rows(COLUMNS)}) == ["", "main", "next"]


def test_prune_removes_what_is_not_mentioned(place: Place, tmp_path: Path) -> None:
    """`--prune` removes other documents of the repository, unless a record was refused."""
    file = tmp_path / "records.jsonl"
    one, two = record(sourcePath="one.md"), record(sourcePath="two.md")
    ingest(place, jsonl(file, one, two))
    refused = ingest(place, jsonl(file, one, {}), "--prune", code=1)
    assert counts(refused) == (0, 0, 2, 0)
    assert "records were refused, so documents that are not in the file stay" in refused["said"]
    assert place.one("SELECT count(*) FROM document_chunks") == 2
    assert counts(ingest(place, jsonl(file, one), "--prune")) == (0, 0, 1, 1)
    assert [row["document_name"] for row in place.rows(COLUMNS)] == ["one.md"]


def test_lines_are_counted_as_an_editor_does(tmp_path: Path) -> None:
    """A byte order mark, blank lines and CRLF are passed over; U+2028 ends no line."""
    file = tmp_path / "records.jsonl"
    text = json.dumps(record(content="a\u2028b\x85c"), ensure_ascii=False).encode()
    file.write_bytes(b"\xef\xbb\xbf" + text + b"\r\n\r\n  \n" + text + b"\n{}\n" + text)
    done = Course({})("validate", file, "--json")
    assert (done.code, done.err) == (1, "3 records are valid, 1 is not\n")
    assert json.loads(done.out)["record"] == "line 5"
    file.write_bytes(text)
    assert Course({})("validate", file).err == "1 record is valid, 0 are not\n"
    file.write_bytes(b"")
    assert (Course({})("validate", file).ok(), Course({})("validate", file).err) == (
        *("", "0 records are valid, 0 are not\n"),
    )


def test_a_report_for_people(place: Place, tmp_path: Path) -> None:
    """Without `--json`: a sentence with the counts, each refusal, and 1 as exit code."""
    file = jsonl(tmp_path / "records.jsonl", record(), {"embedding": []})
    done = place.course("ingest-tenant", file, "--tenant", "acme", "--repo", "platform")
    assert done.code == 1
    counted = "1 document, 1 chunk: 1 inserted, 0 updated, 0 unchanged, 0 deleted in "
    assert done.out.startswith(counted)
    assert done.err.endswith(
        f"line 2: {EMBEDDING_REJECTED}: embedding: vectors are made here; a record with its own is "
        "a restore record (backup-record-v1)\n"
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--tenant", "Not Kebab", "--repo", "r"), "tenant: String should match pattern"),
        (("--tenant", "a" * 64, "--repo", "r"), "tenant: String should have at most 63"),
        (("--tenant", "acme", "--repo", ""), "repo: String should have at least 1 character"),
        (("--tenant", "acme", "--repo", "r"), "none.jsonl cannot be read: No such file"),
    ],
)
def test_ingest_tenant_refuses(
    place: Place, tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    """A name that is none, or a file that is not there, is said in one sentence."""
    done = place.course("ingest-tenant", tmp_path / "none.jsonl", *words)
    assert complaint in done.error() and done.out == ""


def test_validate_refuses_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is an error and not a valid file."""
    assert "cannot be read: No such file" in Course({})("validate", tmp_path / "none").error()
