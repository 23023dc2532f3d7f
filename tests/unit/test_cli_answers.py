"""`course ask` as a person calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.store import (
    Source,
    SourceDocument,
    connect,
    create_schema,
    write_chunks,
    write_documents,
)
from course_lib.store.databases import FreshDatabase
from tests.language_models import language_model, ollama, ollama_window, openai, refused_url
from tests.schemas import own_schema
from tests.unit.chunks import make_chunk
from tests.unit.command_line import Course

KEY = "sk-very-secret-key-4711"
QUESTION = "What does a cat do when it is stroked?"


@pytest.fixture(scope="module")
def ingested(embedder: EmbeddingClient, worker_database: FreshDatabase) -> Iterator[Course]:
    """The command line with an index: two files, and a record that came from elsewhere."""
    chunks = [
        make_chunk("# Cats\n\nA cat purrs when it is stroked.", source_path="cats.md",
                   kind="section", name="Cats", line_start=1, line_end=3),
        make_chunk("# Ships\n\nA frigate has three masts.", source_path="ships.md",
                   kind="section", name="Ships"),
        make_chunk("A tapir \x1b[31msnorts when it is tickled.", source_path="tapirs.md",
                   name="Tapirs", customMeta={"citationUrl": "https://example.org/tapirs.md#L1"}),
    ]  # fmt: skip
    chunks = [chunk.model_copy(update={"tenant_id": "local"}) for chunk in chunks]
    names = ["cats.md", "ships.md", "tapirs.md"]
    rows = [SourceDocument(name, "", "0", "test", "", embedder.model_name) for name in names]
    with own_schema(worker_database) as made:
        with made.connect() as conn:
            create_schema(conn)
            write_documents(conn, Source("documentation", "local", "docs"), rows)
            write_chunks(conn, chunks, embedder.encode([chunk.content for chunk in chunks]))
        yield Course({"DATABASE_URL": made.url})


def test_a_question_is_answered_with_its_source(ingested: Course) -> None:
    done = ingested("ask", QUESTION)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "> A cat purrs when it is stroked.\n[1: cats.md]\n\nSources\n  [1] cats.md:1-3\n"
    )
    for line in ("answers   extractive", "index     all-MiniLM-L6-v2", "no STRUCTURE.md in the"):
        assert line in done.stderr
    assert "course structure" in done.stderr


def test_sources_are_shown_with_their_text_on_demand(ingested: Course) -> None:
    done = ingested("ask", "What does cats.md say about being stroked?", "--show-sources")
    assert "1 named in the question" in done.stderr
    assert "  [1] cats.md:1-3\n      # Cats\n\n      A cat purrs" in done.stdout


def test_a_link_leads_to_the_source(ingested: Course) -> None:
    shown = ingested("ask", "What does a tapir do when it is tickled?")
    assert "  [1] tapirs.md  https://example.org/tapirs.md#L1\n" in shown.stdout
    # What was ingested cannot paint the terminal.
    assert "\x1b" not in shown.stdout + shown.stderr
    assert "[31msnorts" in shown.stdout


def test_what_is_not_in_the_index_is_no_error(ingested: Course) -> None:
    done = ingested("ask", "Who won the world cup in 1998?")
    assert (done.returncode, done.stdout) == (0, "This is not in the index.\n")


def test_a_language_model_answers_as_it_streams(ingested: Course) -> None:
    reply = ollama("It ", "purrs [1: cats.md], says [7].")
    with language_model(chat=reply, show=ollama_window(5_000)) as server:
        done = ingested("ask", QUESTION, "--backend", "ollama", "--model", "m", "--top-k", "2",
                        OLLAMA_URL=server.url)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("It purrs [1: cats.md], says [7].\n\nSources\n  [1] cats.md:1-3")
    assert "answers   ollama, m" in done.stderr
    assert re.search(r"up to \d+ for the answer, 512 kept free, of 5000 \(", done.stderr)
    assert "careful: the answer cites [7], which is none of its passages" in done.stderr


def test_a_key_is_used_and_never_shown(ingested: Course) -> None:
    environment = {"OPENAI_API_KEY": KEY, "RAG_GENERATOR": "openai", "OPENAI_LOG": "debug"}
    with language_model(completions=openai("It purrs [1].")) as server:
        done = ingested("ask", QUESTION, OPENAI_BASE_URL=f"{server.url}/v1", **environment)
        assert done.stdout.startswith("It purrs [1].\n"), done.stderr
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    said = ingested.fails("ask", QUESTION, OPENAI_BASE_URL=refused_url(), **environment)
    assert KEY not in done.stdout + done.stderr + said


@pytest.mark.parametrize(
    ("words", "environment", "says", "way_out"),
    [
        ((" ",), {}, "the question is empty", "course ask"),
        ((QUESTION, "--repo", "none"), {}, "No context retrieved", "course ingest"),
        ((QUESTION, "--backend", "openai"), {"OPENAI_API_KEY": ""}, "OPENAI_API_KEY is not set",
         "--backend extractive"),
        ((QUESTION, "--model", "m"), {}, "has no model to name", "--backend ollama"),
        ((QUESTION,), {"RAG_SYS_PROMPT_FILE": "/no/such", "RAG_GENERATOR": "ollama"},
         "/no/such cannot be read", "RAG_SYS_PROMPT_FILE"),
    ],
)  # fmt: skip
def test_each_thing_that_goes_wrong_names_its_way_out(
    ingested: Course, words: tuple[str, ...], environment: dict[str, str], says: str, way_out: str
) -> None:
    said = ingested.fails("ask", *words, **environment)
    assert says in said
    assert way_out in said


def test_without_an_index_it_says_what_to_do(course: Course) -> None:
    said = course.fails("ask", QUESTION)
    assert "there is no index yet" in said
    assert "course ingest" in said


def test_an_index_of_another_model_is_refused_with_the_ways_out(ingested: Course) -> None:
    with connect(ingested.environment["DATABASE_URL"], autocommit=True) as conn:
        conn.execute("UPDATE documents SET model = 'another-model'")
        try:
            said = ingested.fails("ask", QUESTION)
        finally:
            conn.execute("UPDATE documents SET model = 'all-MiniLM-L6-v2'")
    assert "another-model" in said
    assert "RAG_COLLECTION" in said and "RAG_EMBED_MODEL" in said
