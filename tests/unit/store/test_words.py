"""The index of words on a real PostgreSQL: identifiers, and what the function gives."""

from typing import LiteralString

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from course_lib.store import (
    as_tenant,
    connect,
    service_url,
)
from course_lib.store.schema import RANK_BY_WORDS
from course_lib.teaching.checks.word_tables import fill
from tests.schemas import OwnSchema
from tests.unit.chunks import write


@pytest.fixture
def conn(emptied: psycopg.Connection) -> psycopg.Connection:
    return emptied


@pytest.fixture
def database(tables: OwnSchema) -> OwnSchema:
    return tables


def words_of(conn: psycopg.Connection, text: str) -> set[str]:
    row = conn.execute("SELECT tsvector_to_array(search_words(%s))", [text]).fetchone()
    return set(row[0]) if row else set()


def find(conn: psycopg.Connection, asked: str, most: int = 100) -> list[str]:
    rows = conn.execute(
        "SELECT content FROM chunks_with_words(%s, %s, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
        " AS found JOIN document_chunks USING (partition, tenant_id, repo_slug, branch,"
        " document_name, chunk_index) ORDER BY place",
        [asked, most],
    ).fetchall()
    return [content for (content,) in rows]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kubeflow-pipelines", {"kubeflow", "pipelin", "kubeflowpipelin"}),
        ("KubeflowPipelines", {"kubeflow", "pipelin", "kubeflowpipelin"}),
        ("apps/v1/NetworkPolicy", {"app", "v1", "network", "polici", "networkpolici"}),
        ("HTTPRoute", {"http", "rout", "httprout"}),
        ("ml_pipeline.api", {"ml", "pipelin", "api", "mlpipelineapi"}),
        ("GPUs", {"gpu"}),
        ("the host is a.b:80", {"host", "b", "ab", "80"}),
        ("--tls-min=1.2 <b>&amp;", {"tls", "min", "1", "2", "tlsmin", "12", "b", "amp"}),
        ("Übergröße 日本語 😀", {"übergröß", "日本語", "😀"}),
        ("the of and", set()),
        ("", set()),
    ],
)
def test_an_identifier_is_indexed_in_parts_and_whole(
    conn: psycopg.Connection, text: str, words: set[str]
) -> None:
    found = words_of(conn, text)
    assert words <= found
    assert len(found) <= len(words) + 1


def test_words_stand_in_the_name_the_kind_the_path_and_the_header(conn: psycopg.Connection) -> None:
    write(
        conn,
        "content",
        source_path="some/path.yaml",
        kind="NetworkPolicy",
        name="allow-dex",
        custom_meta={"header": "spec: podSelector"},
    )
    for asked in ("content", "path", "policy", "NetworkPolicy", "dex", "allowdex", "selector"):
        assert find(conn, asked) == ["content"], asked
    assert find(conn, "metadata chunkIndex charStart") == []


def test_equals_are_ordered_by_document_and_place(conn: psycopg.Connection) -> None:
    for document in ("c.md", "a.md", "b.md"):
        write(conn, f"{document} 0 alike", f"{document} 1 alike", source_path=document)
    everything = [f"{name}.md {place} alike" for name in "abc" for place in (0, 1)]
    assert find(conn, "alike") == everything
    assert find(conn, "alike", most=4) == everything[:4]


def test_of_a_long_question_the_longest_words_are_looked_up(conn: psycopg.Connection) -> None:
    write(conn, "tiny", "considerable")
    filler = " ".join(f"middling{number}" for number in range(31))
    assert find(conn, f"tiny {filler} considerable") == ["considerable"]


def test_a_chunk_of_any_length_is_stored_and_found_by_its_beginning(
    conn: psycopg.Connection,
) -> None:
    start = "beginning " + " ".join(f"w{number}" for number in range(200_000))
    write(conn, start, "x" * 2_000_000)
    assert find(conn, "beginning") == [start]


# --- what the function may show ---

COUNT: LiteralString = (
    "SELECT count(*) FROM chunks_with_words('secret', 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
)


def test_the_function_shows_a_tenant_what_the_policies_show_it(
    conn: psycopg.Connection, database: OwnSchema
) -> None:
    write(conn, "secret of ours")
    write(conn, "secret of theirs", tenant_id="theirs")
    write(conn, "public secret", tenant_id="theirs", source_path="public.md")
    conn.execute("UPDATE document_chunks SET visibility = 'public' WHERE content LIKE 'public%'")
    of_theirs = COUNT.replace("NULL)", "'theirs')")
    for statement, expected in [(COUNT, (3, 1, 2)), (of_theirs, (2, 1, 1))]:
        assert conn.execute(statement).fetchone() == expected[:1]
        with connect(service_url("reader", url=database.url), autocommit=True) as reader:
            assert reader.execute(statement).fetchone() == expected[1:2]
            with as_tenant(reader, "ours"):
                assert reader.execute(statement).fetchone() == expected[2:]
    with as_tenant(conn, "nobody"):
        assert conn.execute(COUNT).fetchone() == (3,)


def test_an_owner_who_became_a_service_is_shown_what_that_may_see(
    conn: psycopg.Connection, database: OwnSchema
) -> None:
    write(conn, "secret")
    service_url("reader", url=database.url)
    with conn.transaction():
        conn.execute("SET LOCAL ROLE course_reader")
        assert conn.execute(COUNT).fetchone() == (0,)


def test_who_may_not_read_the_table_may_not_ask_for_its_words(
    conn: psycopg.Connection, database: OwnSchema
) -> None:
    write(conn, "secret")
    url = service_url("reader", url=database.url)
    conn.execute("REVOKE SELECT ON document_chunks FROM course_reader")
    with connect(url, autocommit=True) as reader, as_tenant(reader, "ours"):
        with pytest.raises(InsufficientPrivilege, match="document_chunks"):
            find(reader, "secret")


def test_a_search_path_of_the_callers_changes_nothing(conn: psycopg.Connection) -> None:
    write(conn, "secret")
    with conn.transaction():
        conn.execute("CREATE TEMP TABLE document_chunks (search_text tsvector) ON COMMIT DROP")
        assert conn.execute(COUNT).fetchone() == (1,)


@pytest.mark.parametrize(
    ("asked", "chunks", "many", "most", "found"),
    [
        ("pod limit", {"a": "pod", "b": "pod limit", "c": "limit"}, {}, 5, ["b", "a", "c"]),
        ("pod limit", {"a": "pod", "b": "pod", "c": "limit"}, {}, 5, ["c", "a", "b"]),
        ("pod job", {"a": "pod", "za": "job", "zb": "pod job"}, {}, 5, ["zb", "a", "za"]),
        ("pod", {}, {"pod": 1_999}, 1, ["m0.md"]),
        ("pod", {}, {"pod": 2_000}, 1, []),
        ("limit pod", {"a": "limit", "b": "limit pod"}, {"pod": 2_000}, 5, ["b", "a"]),
        ("gpu job pod", {"a": "gpu", "b": "job pod", "c": "job"}, {"pod": 2_000}, 1, ["b"]),
        ("limit pod job", {"a": "limit"}, {"pod job": 900}, 1, ["a"]),
    ],
)
def test_a_ranking_by_words_by_hand(
    database: OwnSchema,
    asked: str,
    chunks: dict[str, str],
    many: dict[str, int],
    most: int,
    found: list[str],
) -> None:
    with connect(database.url, autocommit=True) as conn:
        fill(conn, asked, chunks, many=many)
        rows = conn.execute(RANK_BY_WORDS.encode(), {"most": most}).fetchall()
    assert [row[4] for row in rows] == found
