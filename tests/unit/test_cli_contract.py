"""`course split|validate|parsers|ingest-tenant|backup|restore` as they are called."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.loader import check_records
from course_lib.settings import project_root
from course_lib.store import connect, drop_schema, fresh_database
from course_lib.store.databases import FreshDatabase
from course_lib.xray import create_tables

PAGE = project_root() / "data" / "documents" / "feature-stores.md"
TOML = project_root() / "data" / "parsers" / "example.toml"
CUSTOM = {"RAG_CUSTOM_PARSERS": "data/parsers/toml_sections.py:TomlParser"}


def course(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", "from course_lib.cli import main; main()", *map(str, arguments)],
        env=os.environ | {"COLUMNS": "120", "PYTHONIOENCODING": "utf-8"} | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def database() -> Iterator[FreshDatabase]:
    with fresh_database("clicontract") as fresh:
        yield fresh


def test_split_shows_chunks_and_prints_records() -> None:
    shown = course("split", PAGE)
    assert shown.returncode == 0, shown.stderr
    assert "doc-section" in shown.stdout
    assert "chunks by markdown 1.0.0" in shown.stderr
    printed = course("split", PAGE, "--jsonl", "--repo", "mine", RAG_TENANT="me")
    chunks, rejections = check_records(printed.stdout.splitlines())
    assert rejections == []
    assert {(one.tenant_id, one.repo_slug) for one in chunks} == {("me", "mine")}
    forced = course("split", PAGE, "--parser", "raw-text", "--jsonl").stdout.splitlines()
    assert {json.loads(line)["kind"] for line in forced} == {"raw-text"}


def test_split_shows_what_each_piece_was_cut_out_of(tmp_path: Path) -> None:
    rules = "".join(f"  - resources: [things{n}]\n    verbs: [get]\n" for n in range(60))
    manifest = tmp_path / "role.yaml"
    head = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: r\nrules:\n"
    manifest.write_text(head + rules, encoding="utf-8")
    shown = course("split", manifest).stdout
    assert shown.count("    | # rbac.authorization.k8s.io/v1 Role r\n") == shown.count(
        "  Role  r\n"
    )
    assert "    | # role.yaml at rules[" in shown
    assert "    |" not in course("split", PAGE).stdout


def test_split_names_a_parser_that_is_not_registered(tmp_path: Path) -> None:
    done = course("split", PAGE, "--parser", "nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: KB_PARSER_NOT_REGISTERED: the parser 'nobody'" in done.stderr
    assert "is a directory" in course("split", tmp_path).stderr
    (tmp_path / "picture").write_bytes(b"\xff")
    assert "is not UTF-8" in course("split", tmp_path / "picture").stderr


def test_parsers_lists_the_built_in_and_the_operators_own() -> None:
    listed = json.loads(course("parsers", "--json", **CUSTOM).stdout)
    origins = {row["id"]: row["origin"] for row in listed}
    assert origins["markdown"] == origins["raw-text"] == "built in"
    assert origins["toml-sections"] == CUSTOM["RAG_CUSTOM_PARSERS"]
    assert "toml-sections" not in course("parsers").stdout


def test_validate_names_line_and_field(tmp_path: Path) -> None:
    good = course("split", TOML, "--jsonl", **CUSTOM).stdout.splitlines()
    file = tmp_path / "chunks.jsonl"
    file.write_text("\n".join(good), encoding="utf-8")
    done = course("validate", file)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"{len(good)} records are valid, 0 are not" in done.stderr
    broken = json.loads(good[1]) | {"kind": ""}
    embedded = json.loads(good[2]) | {"embedding": [1]}
    lines = [good[0], json.dumps(broken), json.dumps(embedded), *good[3:]]
    file.write_text("\n".join(lines), encoding="utf-8")
    done = course("validate", file)
    assert done.returncode == 1
    first, second = done.stdout.splitlines()
    assert first.startswith("line 2: KB_PARSED_CHUNK_INVALID: kind: ")
    assert second.startswith("line 3: KB_PARSED_CHUNK_EMBEDDING_REJECTED: embedding: ")
    as_json = [json.loads(line) for line in course("validate", file, "--json").stdout.splitlines()]
    assert [one["problems"][0]["field"] for one in as_json] == ["kind", "embedding"]
    assert "cannot be read" in course("validate", tmp_path / "none").stderr


def test_a_tenants_file_is_ingested_backed_up_and_restored(
    database: FreshDatabase, tmp_path: Path
) -> None:
    url = {"DATABASE_URL": database.url}
    file = tmp_path / "chunks.jsonl"
    records = course("split", TOML, "--jsonl", **CUSTOM).stdout
    file.write_text(records + '{"kind": "broken"}\n', encoding="utf-8")
    arguments = ["ingest-tenant", file, "--tenant", "acme", "--repo", "platform", "--public"]
    done = course(*arguments, "--json", **url)
    assert done.returncode == 1  # one record was refused
    assert "line 7: KB_PARSED_CHUNK_INVALID: " in done.stderr
    report = json.loads(done.stdout)
    assert (report["inserted"], len(report["rejections"])) == (6, 1)
    file.write_text(records, encoding="utf-8")
    again = course(*arguments, **url)
    assert (again.returncode, "0 inserted, 0 updated, 6 unchanged" in again.stdout) == (0, True)

    backup = tmp_path / "backup.jsonl"
    with connect(database.url, autocommit=True) as conn:
        create_tables(conn)
    written = course("backup", backup, **url)
    assert f"7 rows → {backup}" in written.stdout
    assert "without the packages of X-Ray" in written.stderr
    with connect(database.url, autocommit=True) as conn:
        query = "SELECT t::text FROM document_chunks AS t ORDER BY 1"
        before = conn.execute(query).fetchall()
        assert "public" in before[0][0]
        drop_schema(conn)
        done = course("restore", backup, **url)
        assert "1 document and 6 chunks restored" in done.stdout, done.stderr
        assert conn.execute(query).fetchall() == before
    refused = course("restore", backup, RAG_EMBED_MODEL="another", **url)
    assert (refused.returncode, "another" in refused.stderr) == (1, True)


def test_a_tenant_that_is_no_name_is_explained(tmp_path: Path) -> None:
    done = course("ingest-tenant", tmp_path / "a", "--tenant", "Not Kebab", "--repo", "r")
    assert (done.returncode, done.stdout) == (1, "")
    assert "lowercase" in done.stderr
