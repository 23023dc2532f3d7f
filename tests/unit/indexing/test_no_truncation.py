"""On the course's own data: whatever is embedded by default fits the real model."""

from course_lib.embedder import EmbeddingClient
from course_lib.loader import default_registry, read_documents
from course_lib.records import Scope
from course_lib.settings import project_root


def test_every_text_of_the_courses_data_fits_the_model(embedder: EmbeddingClient) -> None:
    registry = default_registry()
    context = Scope(tenant="local", repo="data")
    texts = []
    for document in read_documents(
        project_root() / "data", (*registry.extensions(), ".py", ".toml", ".jsonl")
    ):
        if document.name.startswith(("lockfiles/", "answers/")):
            continue  # of lock files, what the X-Ray reads is embedded; of answers, nothing
        texts += [chunk.embedded_text for chunk in registry.parse(document, context)]
    assert len(texts) > 100
    too_long = [text for text in texts if embedder.count_tokens(text) > embedder.max_seq_length]
    assert too_long == []
