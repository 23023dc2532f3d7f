"""`course settings`: every setting with its value and where that came from; and `.env.example`."""

import re
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


@pytest.mark.parametrize("sign", [r"^# ", r"^# ?", r"^#"])
def test_the_example_without_its_comment_signs_works_and_changes_nothing(
    sign: str, course: Course, tmp_path: Path
) -> None:
    """As an editor takes one sign from each line: what the settings are about stays a comment."""
    unset = listed(course)
    example = re.sub(sign, "", example_text(), flags=re.MULTILINE)
    assert re.search(r"^ ?RAG_TOP_K=6\n", example, re.MULTILINE)
    (tmp_path / ".env").write_text(example, encoding="utf-8")
    values = {name: row["value"] for name, row in listed(course).items()}
    assert values == {name: row["value"] for name, row in unset.items()}
    origins = {row["name"] for row in listed(course).values() if row["origin"] == ".env"}
    assert "RAG_TOP_K" in origins and not {"DATABASE_URL", "RAG_THREADS"} & origins


def test_a_value_of_env_is_not_said_to_be_of_an_empty_variable(
    course: Course, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("RAG_TOP_K=9\n", encoding="utf-8")
    row = listed(course, RAG_TOP_K="")["RAG_TOP_K"]
    assert (row["value"], row["origin"]) == ("9", ".env")


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
