"""Settings: where they come from, which comes first, and what is said about a wrong one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.settings import Settings, settings


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project without `.env`, and an environment without settings."""
    for name in ("RAG_TOP_K", "RAG_THREADS", "RAG_EMBED_BACKEND", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COURSE_ROOT", str(tmp_path))
    settings.cache_clear()
    yield tmp_path
    settings.cache_clear()


def test_what_is_given_wins_over_the_environment_and_that_over_the_file(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Settings().top_k == 6
    (root / ".env").write_text("RAG_TOP_K=9\nRAG_TENANT='mine'\nOTHER=1\n", encoding="utf-8")
    assert (Settings().top_k, Settings().tenant) == (9, "mine")
    monkeypatch.setenv("RAG_TOP_K", "7")
    assert Settings().top_k == 7
    assert Settings(RAG_TOP_K=8).top_k == Settings(top_k="8", unknown=1).top_k == 8


def test_upper_and_lower_case_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("rag_top_k", "7")
    assert Settings().top_k == 7


def test_every_value_is_of_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_THREADS", "2")
    monkeypatch.setenv("RAG_USE_DEFAULT_PARSERS", "no")
    monkeypatch.setenv("RAG_CUSTOM_PARSERS", " a:B, c.py:D,,")
    monkeypatch.setenv("DATABASE_URL", "")
    found = Settings()
    assert (found.threads, found.use_default_parsers, found.database_url) == (2, False, "")
    assert found.custom_parsers == ("a:B", "c.py:D")


@pytest.mark.parametrize("name", ["public", "pg_toast", "information_schema"])
def test_a_schema_of_postgresql_is_not_a_collection(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_COLLECTION", name)
    with pytest.raises(InputError, match="RAG_COLLECTION"):
        settings()
