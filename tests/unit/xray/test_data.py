"""The shipped lock files, descriptions and instructions hold what labs 12 and 13 rely on."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from course_lib.errors import InputError
from course_lib.settings import project_root
from course_lib.xray import LANGUAGES, find_lock_files
from course_lib.xray.descriptions import LONGEST
from course_lib.xray.measure import Instruction, read_instructions, score_suggestions

LOCKFILES = project_root() / "data" / "lockfiles"
TABLE = LOCKFILES / "descriptions.jsonl"
PROJECTS = {name: find_lock_files(LOCKFILES / name) for name in ("rider-app", "forecasting")}
INSTRUCTIONS = read_instructions()
IN_THE_DATA = {*LANGUAGES} - {"php"}
"""No project of the data is written in PHP; its lock files are read all the same."""


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]


def files() -> list[Path]:
    return sorted(path for path in LOCKFILES.rglob("*") if path.is_file())


def test_the_table_is_in_order_and_tells_each_package_once_and_shortly() -> None:
    keys = [(row["language"], row["name"]) for row in rows()]
    assert [key for key, count in Counter(keys).items() if count > 1] == []
    assert [language for language, _ in keys] == sorted(language for language, _ in keys)
    assert {language for language, _ in keys} == IN_THE_DATA
    for row in rows():
        assert set(row) == {"language", "name", "description"}
        assert 10 <= len(row["description"]) <= LONGEST and "\n" not in row["description"], row
        assert row["description"].strip(" .") == row["description"], row


def test_nothing_in_the_lock_files_leads_to_a_real_host() -> None:
    for path in files():
        text = path.read_bytes().decode("utf-8")
        assert "\r" not in text and text.endswith("\n") and not text.endswith("\n\n"), path
        if path != TABLE:
            hosts = set(re.findall(r"https?://([^/\s\"']+)", text))
            assert hosts <= {"packages.heron.example.com", "git.heron.example.com"}, path


def test_there_are_instructions_for_every_language_and_none_twice() -> None:
    assert len(INSTRUCTIONS) >= 40
    for values in (
        [one.id for one in INSTRUCTIONS],
        [(one.project, one.language, one.instruction.casefold()) for one in INSTRUCTIONS],
    ):
        assert [value for value, count in Counter(values).items() if count > 1] == []
    assert min(Counter(one.language for one in INSTRUCTIONS).values()) >= 5
    assert {one.language for one in INSTRUCTIONS} == IN_THE_DATA
    assert {one.project for one in INSTRUCTIONS} == set(PROJECTS)


def test_an_instruction_wants_packages_of_its_project() -> None:
    for one in INSTRUCTIONS:
        packages = PROJECTS[one.project].packages(one.language)
        gold, others = set(one.gold_packages), set(one.also_acceptable_packages)
        assert gold and gold | others <= set(packages), one
        assert not gold & others, one
        assert one.instruction == one.instruction.strip() and len(one.instruction) > 12, one


def test_hardly_an_instruction_gives_its_package_away_by_name() -> None:
    """The others tell a search by meaning from a search by words."""
    given = [
        one.id
        for one in INSTRUCTIONS
        if set(one.gold_packages) & set(re.findall(r"[\w@/.-]+", one.instruction.casefold()))
    ]
    assert len(given) <= 3


def test_a_score_counts_found_packages_and_what_they_cost() -> None:
    wanted = [
        Instruction("a", "Plot it", "p", "python", ("matplotlib", "numpy"), ("seaborn",)),
        Instruction("b", "Serve it", "p", "python", ("fastapi",)),
    ]
    answers = {"a": ["numpy", "seaborn", "rich"], "b": ["fastapi"]}
    score = score_suggestions(lambda one: answers[one.id], wanted)
    assert (score.recall, score.suggested, score.instructions) == (0.75, 2.0, 2)
    assert score.missed == (wanted[0],)
    with pytest.raises(InputError, match="no instruction"):
        score_suggestions(lambda one: [], [])
