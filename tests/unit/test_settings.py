"""Settings: where they come from, which comes first, and what is said about a wrong one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.loader.github.client import GitHubSettings
from course_lib.settings import Settings, read_settings, settings


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
    found = Settings()
    assert (found.threads, found.use_default_parsers) == (2, False)
    assert found.custom_parsers == ("a:B", "c.py:D")


NAMES = [
    str(name)
    for kind in (Settings, GitHubSettings)
    for item in kind.model_fields.values()
    for name in getattr(item.validation_alias, "choices", [item.validation_alias])
]


def test_a_variable_without_a_value_is_one_that_is_not_set(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Compose passes `${VAR:-}`; and what `.env` says goes before an empty variable."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    unset = read_settings(Settings), read_settings(GitHubSettings)
    (root / ".env").write_text("".join(f"{name}=\n" for name in NAMES), encoding="utf-8")
    assert (read_settings(Settings), read_settings(GitHubSettings)) == unset
    for name in NAMES:
        monkeypatch.setenv(name, "")
    found = read_settings(Settings), read_settings(GitHubSettings)
    assert found == unset and not found[0].model_fields_set | found[1].model_fields_set
    (root / ".env").write_text("RAG_TOP_K=9\nRAG_THREADS=''\n", encoding="utf-8")
    assert (Settings().top_k, Settings().threads) == (9, None)


def test_a_second_name_counts_where_the_first_has_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "")
    monkeypatch.setenv("GH_TOKEN", "ghp_second")
    assert read_settings(GitHubSettings).token.get_secret_value() == "ghp_second"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("RAG_TOP_K 9\n", 1),
        ("RAG_TOP_K: 9\n", 1),
        ("\ufeffRAG_TENANT=a\r\n\r\n# nine\r\n\r\n  - RAG_TOP_K=9\r\n", 5),
        ('RAG_TENANT=a\nDATABASE_URL="postgresql://localhost/x\nRAG_TOP_K=9\n', 2),
        ("one bad line\nand another\n", 1),
    ],
)
def test_a_line_of_env_that_sets_nothing_is_named_once(
    text: str, line: int, root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It was left out with a warning: without its DATABASE_URL, data went to another database."""
    (root / ".env").write_text(text, encoding="utf-8", newline="")
    for read in (settings, lambda: read_settings(GitHubSettings)):
        with pytest.raises(InputError, match=rf"\.env, line {line}: this is not NAME=value"):
            read()
    assert capfd.readouterr().err == ""


def test_what_python_dotenv_reads_is_read(root: Path) -> None:
    lines = ["export RAG_TOP_K = 9 # nine", "RAG_TENANT='a'", "RAG_THREADS", 'X="two', 'lines"', ""]
    (root / ".env").write_text("\n\n".join(lines), encoding="utf-8")
    assert (settings().top_k, settings().tenant, settings().threads) == (9, "a", None)
