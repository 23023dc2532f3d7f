"""The core and the electives: one list in the code, and what is made of it."""

import re

from course_lib.teaching.notebooks.project import CORE, Project
from infra.course.build.assemble import assemble
from infra.course.build.source import ELECTIVE, read_cells
from infra.course.build.tables import (
    DISCUSSION_MINUTES,
    SESSION_MINUTES,
    TERMS,
    labs_table,
    split_week,
    terms_table,
)

COURSE = Project()
HEADS = {source.lab: read_cells(source)[0].source for source in COURSE.sources()}


def weeks(term: str) -> list[list[str]]:
    (found,) = (labs for title, labs in TERMS.items() if title.startswith(f"{term} weeks"))
    return [one.split("+") for one in found.split()]


def test_eight_weeks_are_the_core_ten_add_lab_14_and_fourteen_have_all() -> None:
    assert sum(weeks("8"), []) == list(CORE) and len(weeks("8")) == 8
    assert sum(weeks("10"), []) == sorted([*CORE, "14"]) and len(weeks("10")) == 10
    assert sum(weeks("14"), []) == list(HEADS) and len(weeks("14")) == 13


def test_no_session_is_longer_than_it_is_said_to_be_and_no_minute_of_a_lab_is_lost() -> None:
    in_class, at_home = split_week({"07": 75, "08": 95})
    assert (in_class, at_home) == ({"07": 75, "08": 5}, {"08": 90})
    rows = re.findall(r"^\| \d+ \| (.+) \| (.*) \|$", terms_table(COURSE), re.MULTILINE)
    assert len(rows) == 8 + 10 + 13
    minutes = [[int(one) for one in re.findall(r"(\d+) min", row[0])] for row in rows]
    assert SESSION_MINUTES >= max(DISCUSSION_MINUTES + sum(session) for session in minutes)


def test_electives_have_a_table_of_their_own_and_say_at_once_what_they_add_and_for_whom() -> None:
    core, others = labs_table(COURSE).split("**Electives**")
    linked = [re.findall(r"^\| \[\*\*(\d\d) ", part, re.MULTILINE) for part in (core, others)]
    assert linked == [list(CORE), [lab for lab in HEADS if lab not in CORE]]
    (source,) = COURSE.sources(["03"])
    assert assemble(source, COURSE).lab.metadata.course.elective.startswith("It adds a splitter")
    for lab, head in HEADS.items():
        paragraphs = [one for one in head.split("\n\n") if one.startswith(ELECTIVE)]
        assert len(paragraphs) == (lab not in CORE), lab
        assert all("It adds " in one and "For you if " in one for one in paragraphs), lab


def test_a_lab_of_the_core_needs_no_elective() -> None:
    for lab in CORE:
        table = HEADS[lab].rstrip().splitlines()[-3:]
        names, _, row = (line.strip("| ").split(" | ") for line in table)
        needed = re.findall(r"\d\d", row[names.index("Needs")])
        assert set(needed) <= {one for one in CORE if one < lab}, lab
