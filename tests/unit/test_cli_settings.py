"""`course settings`: every setting with its value and where that came from; and `.env.example`."""

from pathlib import Path

import pytest

from course_lib.cli.settings_list import example_text
from course_lib.settings import Settings
from tests.blackbox.course import Course


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """The command line of a project of its own."""
    return Course({"COURSE_ROOT": str(tmp_path), "DATABASE_URL": "", "OPENAI_API_KEY": ""})


def listed(course: Course, **environment: str) -> dict[str, dict[str, str]]:
    rows = course("settings", "--json", **environment).json()
    return {row["name"]: row for row in rows}


def test_the_example_says_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line that sets something, without its #, changes nothing."""
    lines = example_text().splitlines()
    set_lines = [line.removeprefix("# ") for line in lines if line.startswith("# ") and "=" in line]
    names = {name: str(item.alias) for name, item in Settings.model_fields.items()}
    given = {line.partition("=")[0]: line.partition("=")[2] for line in set_lines}
    assert set(names.values()) <= set(given)
    for name in names.values():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COURSE_ROOT", str(tmp_path))
    unset = Settings()
    filled = "\n".join(f"{name}={given[name]}" for name in names.values() if given[name])
    (tmp_path / ".env").write_text(filled, encoding="utf-8")
    assert Settings().model_dump() == unset.model_dump()


def test_a_token_under_its_second_name_is_hidden_and_no_repr_holds_a_secret(course: Course) -> None:
    row = listed(course, GH_TOKEN="ghp_hidden")["GITHUB_TOKEN"]
    assert (row["value"], row["origin"]) == ("***", "environment")
    assert "hidden" not in repr(Settings(DATABASE_URL="postgresql://ada:hidden@localhost/course"))


def test_a_narrow_terminal_breaks_no_value(course: Course) -> None:
    url = "postgresql://ada:hidden-one@a-long-name.of-a-host.example.org:5432/the-course"
    lines = course("settings", DATABASE_URL=url, COLUMNS="40").ok().splitlines()
    shown = "postgresql://ada:***@a-long-name.of-a-host.example.org:5432/the-course"
    assert f"DATABASE_URL={shown}  (environment)" in lines
    assert "RAG_TOP_K=6" in lines and "GITHUB_TOKEN unset" in lines
    about = [line for line in lines if line.startswith("    ")]
    assert about and max(map(len, about)) <= 40
