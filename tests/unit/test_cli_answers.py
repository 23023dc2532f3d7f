"""`course ask` over records that came from elsewhere; the rest is in tests/blackbox."""

from course_lib.embedder import EmbeddingClient
from course_lib.records import Scope, SourceDocument
from course_lib.store import create_schema, write_chunks, write_documents
from tests.blackbox.course import Course
from tests.schemas import OwnSchema
from tests.unit.chunks import make_chunk

QUESTION = "What does a tapir do when it is tickled?"


def test_a_link_leads_to_the_source_and_another_models_index_is_refused(
    database: OwnSchema, course: Course, embedder: EmbeddingClient
) -> None:
    chunk = make_chunk(
        "A tapir snorts when it is tickled.", source_path="tapirs.md", name="Tapirs",
        tenant_id="local", customMeta={"citationUrl": "https://example.org/tapirs.md#L1"},
    )  # fmt: skip
    row = SourceDocument("tapirs.md", "", "0", "test", "", embedder.model_name)
    with database.connect() as conn:
        create_schema(conn)
        write_documents(conn, Scope(tenant="local", repo="docs"), [row])
        write_chunks(conn, [chunk], embedder.encode([chunk.content]))
        shown = course("ask", QUESTION).ok()
        assert "  [1] tapirs.md  https://example.org/tapirs.md#L1\n" in shown
        conn.execute("UPDATE documents SET model = 'another-model'")
    done = course("ask", QUESTION)
    said = done.error()
    assert (
        done.out == ""
        and "another-model" in said
        and "RAG_COLLECTION" in said
        and "RAG_EMBED_MODEL" in said
    )
