"""Other people's content: three kinds of input, refusals one by one, and nothing encoded twice."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.errors import DatabaseError
from course_lib.indexing import IngestOptions, TenantReport, ingest_source_files
from course_lib.indexing.embedding import encode_whole, windows
from course_lib.loader import Registry
from course_lib.loader.markdown import PARSER as MARKDOWN
from course_lib.records import Chunk, Document, Scope
from course_lib.store import as_tenant, connect, create_schema, service_url
from course_lib.store.databases import FreshDatabase

ACME = Scope(tenant="acme", repo="platform")


def record(path: str = "a.yaml", content: str = "kind: Pod", **changes: Any) -> dict[str, Any]:
    return {
        "schemaVersion": "1.0.0",
        "tenantId": "evil",
        "repoSlug": "claimed",
        "rootKind": "bare-repo",
        "sourcePath": path,
        "content": content,
        "hashInputs": ["content", "kind"],
        "parserId": "their-own",
        "parserVersion": "2.0.0",
        "kind": "Pod",
        "name": "p",
        **changes,
    }


def send(
    files: Iterable[Any],
    conn: Any,
    client: Any,
    *,
    scope: Scope = ACME,
    options: IngestOptions | None = None,
) -> TenantReport:
    return ingest_source_files(files, scope, options, conn=conn, embedder=client)


def rows(conn: psycopg.Connection) -> list[tuple[Any, ...]]:
    return conn.execute(
        "SELECT tenant_id, repo_slug, branch, document_name, chunk_index, content "
        "FROM document_chunks ORDER BY 1, 2, 3, 4, 5"
    ).fetchall()


def refusals(done: TenantReport) -> list[tuple[str, str, str]]:
    return [(one.code, one.record, one.field) for one in done.rejections]


def test_three_kinds_of_input_land_as_the_tenants(conn: Any, client: Any) -> None:
    done = send(
        [
            {"sourcePath": "raw.md", "content": "# Raw"},
            {"sourcePath": "notes.xyz", "content": "of no known format"},
            {"sourcePath": "as.md", "content": "# No heading", "parserId": "raw-text"},
            {"sourcePath": "p.yaml", "parsedChunks": [record("p.yaml"), record("p.yaml", "b: 2")]},
            record("bare.yaml"),
            record("bare.yaml", "b: 2", customMeta={"chunkIndex": 7, "branch": "dev"}),
        ],
        conn,
        client,
    )
    assert done.rejections == ()
    assert rows(conn) == [
        ("acme", "platform", "", "as.md", 0, "# No heading"),
        ("acme", "platform", "", "bare.yaml", 0, "kind: Pod"),
        ("acme", "platform", "", "notes.xyz", 0, "of no known format"),
        ("acme", "platform", "", "p.yaml", 0, "kind: Pod"),
        ("acme", "platform", "", "p.yaml", 1, "b: 2"),
        ("acme", "platform", "", "raw.md", 0, "# Raw"),
        ("acme", "platform", "dev", "bare.yaml", 7, "b: 2"),
    ]
    kinds = dict(conn.execute("SELECT document_name, kind FROM document_chunks").fetchall())
    assert (kinds["raw.md"], kinds["notes.xyz"], kinds["as.md"]) == (
        *("doc-section", "raw-text", "raw-text"),
    )
    assert (done.report.documents, done.report.inserted) == (6, 7)


def test_unchanged_records_cost_no_encoding(conn: Any, client: Any) -> None:
    records = [record(content=f"n: {number}") for number in range(4)]
    send(records, conn, client)
    assert len(client.texts) == 4
    again = send(records, conn, client)
    assert (len(client.texts), again.report.unchanged) == (4, 4)
    records[2] = record(content="changed")
    changed = send(records, conn, client)
    assert client.texts[4:] == ["changed"]
    assert (changed.report.updated, changed.report.unchanged) == (1, 3)
    # What no hash is made of is stored again, and not encoded.
    moved = [one | {"line_start": 9} for one in records]
    assert send(moved, conn, client).report.updated == 4
    assert len(client.texts) == 5
    # The header is embedded, though these hashes do not name it.
    send([moved[0] | {"customMeta": {"header": "above"}}, *moved[1:]], conn, client)
    assert client.texts[5:] == ["above\nn: 0"]


def test_a_parsers_new_version_indexes_its_files_anew(conn: Any, client: Any) -> None:
    class Whole:
        id = "whole"
        version = "1.0.0"
        extensions = (".whole",)

        def parse_file(self, file: Document, scope: Scope) -> list[Chunk]:
            given = record(file.name, file.content, parserId=self.id, parserVersion=self.version)
            return [Chunk.model_validate(given)]

    registry = Registry()
    registry.register_parser(Whole())
    options = IngestOptions(registry=registry)
    files = [{"sourcePath": "a.whole", "content": "x"}, {"sourcePath": "b.md", "content": "y"}]
    send(files, conn, client, options=options)
    send(files, conn, client, options=options)
    assert client.texts == ["x", "y"]
    registry.register_parser(type("Next", (Whole,), {"version": "1.1.0"}))
    assert send(files, conn, client, options=options).report.updated == 1
    assert client.texts == ["x", "y"]  # the same text, the same vector
    found = conn.execute("SELECT parser FROM documents ORDER BY 1").fetchall()
    assert found == [(f"markdown {MARKDOWN.version}",), ("whole 1.1.0",)]


def test_a_document_of_which_nothing_valid_came_stays(conn: Any, client: Any) -> None:
    file = {"sourcePath": "a.yaml", "parsedChunks": [record()]}
    send([file], conn, client)
    send([file | {"parsedChunks": [record(kind="")]}], conn, client)
    assert len(rows(conn)) == 1
    send([file | {"parsedChunks": []}], conn, client)
    assert rows(conn) == []


def test_visibility_is_the_repositorys_and_changes_without_encoding(conn: Any, client: Any) -> None:
    def visible() -> list[Any]:
        return conn.execute(
            "SELECT visibility FROM documents UNION ALL SELECT visibility FROM document_chunks"
        ).fetchall()

    send([record()], conn, client)
    assert visible() == [("private",)] * 2
    send([record("b.yaml")], conn, client, scope=ACME.within(visibility="public"))
    assert visible() == [("public",)] * 4
    send([record()], conn, client)
    assert visible() == [("private",)] * 4
    assert len(client.texts) == 2


def test_the_services_writer_ingests_for_its_tenant_alone(
    client: Any, own_database: FreshDatabase
) -> None:
    url = own_database.url
    with connect(url, autocommit=True) as owner:
        create_schema(owner, client.dimension)
    beta = Scope(tenant="beta", repo="platform")
    with connect(service_url("writer", url=url), autocommit=True) as writer:
        for tenant in (ACME, beta):
            done = send(
                [record(), {"sourcePath": "b.md", "content": "y"}], writer, client, scope=tenant
            )
            assert (done.report.inserted, done.report.chunks) == (2, 2)
        send([record(content="new")], writer, client)
        with as_tenant(writer, "beta"):
            assert [row[5] for row in rows(writer)] == ["kind: Pod", "y"]
        with as_tenant(writer, "acme"):
            assert [row[5] for row in rows(writer)] == ["new", "y"]
    with connect(service_url("reader", url=url), autocommit=True) as reader:
        with pytest.raises(DatabaseError, match="permission denied"):
            send([record(content="newer")], reader, client)
    with connect(url) as owner:
        assert len(rows(owner)) == 4


def test_no_word_of_a_long_text_is_lost(client: Any) -> None:
    text = " ".join(f"word{number}" for number in range(1000))
    parts = windows(client, "head line\n" + text, "head line\n")
    assert len(parts) > 3
    assert all(part.startswith("head line\n") for part in parts)
    assert max(map(client.count_tokens, parts)) <= client.max_seq_length
    assert " ".join(part.removeprefix("head line\n") for part in parts).split() == text.split()
    assert windows(client, "short") == ["short"]
    vectors = encode_whole(client, [text, "short"], ["", ""])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1])
    assert (vectors[1] == client.encode(["short"])[0]).all()


def test_no_text_that_is_embedded_is_truncated(conn: Any, client: Any) -> None:
    long = "lorem ipsum dolor " * 400
    send([record(content=long, customMeta={"header": "kind: Pod\n"})], conn, client)
    assert len(client.texts) > 1
    assert max(map(client.count_tokens, client.texts)) <= client.max_seq_length
    assert rows(conn)[0][5] == long
