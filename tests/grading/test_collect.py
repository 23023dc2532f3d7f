"""What Canvas, Moodle and learners make of names, archives and times, and where it ends up."""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.teaching.classroom import (
    Classroom,
    add_to_roster,
    collect,
    read_roster,
)
from course_lib.teaching.classroom.due import set_due
from course_lib.teaching.classroom.grading import submissions
from course_lib.teaching.classroom.roster import Learner
from course_lib.teaching.classroom.stamps import time_of
from course_lib.teaching.classroom.taken import read_taken
from tests.grading.gradebooks import WORDS, copy_of

ROSTER = """\
login;name;e-mail;canvas_id
ada;Ada Lovelace;ada@example.org;101
zoe;"Müller-Lüdenscheidt, Zoë";zoe@example.org;102
jane1;Jane Doe;;103
jane2;Jane Doe;;104
"""
DUE = datetime(2026, 11, 20, 12)
BEFORE, AFTER = (2026, 11, 20, 8, 0, 0), (2026, 11, 22, 8, 0, 0)


@pytest.fixture(scope="module")
def four(empty: Classroom, tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class of four with an assignment that is due."""
    folder = tmp_path_factory.mktemp("four")
    room = copy_of(empty, folder)
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8-sig")
    with room.gradebook() as book:
        assert add_to_roster(book, read_roster(folder / "roster.csv")) == 4
        book.update_or_create_assignment(WORDS, duedate=DUE)
    return room


@pytest.fixture
def room(four: Classroom, tmp_path: Path) -> Classroom:
    """A copy of that class."""
    return copy_of(four, tmp_path)


def archive(
    files: Mapping[str, str | bytes], time: tuple[int, int, int, int, int, int] = BEFORE
) -> bytes:
    """Return a zip file; contents say where they came from."""
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        for name, content in files.items():
            made.writestr(zipfile.ZipInfo(name, time), content)
    return data.getvalue()


def given(room: Classroom, name: str, data: bytes) -> Path:
    path = room.root.parent / name
    path.write_bytes(data)
    return path


def contents(room: Classroom) -> dict[str, list[str]]:
    """Return by login what the notebooks in the class's folder hold."""
    return {
        folder.parent.name: [
            path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.ipynb"))
        ]
        for folder in sorted((room.root / "submitted").glob(f"*/{WORDS}"))
    }


def seconds_late(room: Classroom, login: str) -> float:
    time = time_of(room.place("submitted", login, WORDS) / "timestamp.txt")
    assert time is not None
    return max(0.0, (time - DUE).total_seconds())


def test_an_archive_of_canvas(room: Classroom) -> None:
    """Late is what Canvas calls late: the archive's times are those of its making."""
    files = {
        "lovelaceada_101_9001_words.ipynb": "ada",
        "mullerludenscheidtzoe_LATE_102_9002_words-1.ipynb": "zoe",
        "doejane_103_9003_words (2).ipynb": "jane 1",
        "doejane_104_question_77_9004_words.ipynb": "jane 2",
        "nobody_999_9005_words.ipynb": "?",
        "lovelaceada_101_9001_thoughts.docx": "…",
    }
    said = collect(room, WORDS, [given(room, "submissions.zip", archive(files, AFTER))])
    assert contents(room) == {
        "ada": ["ada"], "jane1": ["jane 1"], "jane2": ["jane 2"], "zoe": ["zoe"],
    }  # fmt: skip
    assert said.placed == ["ada", "jane1", "jane2", "zoe"] and said.late == ["zoe"]
    assert said.unknown == ["nobody_999_9005_words.ipynb"] and len(said.left_out) == 1
    assert seconds_late(room, "ada") == 0 and seconds_late(room, "zoe") > 24 * 3600
    names = {who: read_taken(room.place("submitted", who, WORDS)).lms for who in said.placed}
    assert names == {
        "ada": "lovelaceada_101_9001_", "zoe": "mullerludenscheidtzoe_LATE_102_9002_",
        "jane1": "doejane_103_9003_", "jane2": "doejane_104_question_77_9004_",
    }  # fmt: skip
    early = archive({"mullerludenscheidtzoe_LATE_102_9002_words.ipynb": "zoe"}, BEFORE)
    (room.place("submitted", "zoe", WORDS) / "timestamp.txt").unlink()
    collect(room, WORDS, [given(room, "again.zip", early)])
    assert seconds_late(room, "zoe") == 1  # late, and nobody says how much


def test_a_due_date_that_is_set_later_counts_when_it_is_collected_again(room: Classroom) -> None:
    files = {
        "lovelaceada_101_9001_words.ipynb": "ada",
        "mullerludenscheidtzoe_LATE_102_9002_words.ipynb": "zoe",
    }
    made = given(room, "submissions.zip", archive(files, AFTER))
    with room.gradebook() as book:
        book.update_or_create_assignment(WORDS, duedate=None)
    assert collect(room, WORDS, [made]).due_unknown
    with room.gradebook() as book:
        book.update_or_create_assignment(WORDS, duedate=DUE)
    said = collect(room, WORDS, [made])
    assert said.placed == ["ada", "zoe"] and not said.due_unknown
    assert seconds_late(room, "ada") == 0 and seconds_late(room, "zoe") > 24 * 3600


@pytest.mark.parametrize("first", ["the date", "the archive"])
def test_who_is_late_for_canvas_may_have_a_date_of_their_own(room: Classroom, first: str) -> None:
    late = {"mullerludenscheidtzoe_LATE_102_9002_words.ipynb": "zoe"}
    made = given(room, "submissions.zip", archive(late, AFTER))
    if first == "the archive":
        collect(room, WORDS, [made])
    set_due(room, WORDS, DUE + timedelta(days=1), ["zoe"])
    said = collect(room, WORDS, [made])
    assert said.late == ["zoe (has a date of their own)"]
    assert seconds_late(room, "zoe") == 1  # after everybody's date, and in time for hers


def test_an_archive_of_moodle_says_when_each_was_handed_in(room: Classroom) -> None:
    files = {
        "Ada Lovelace_4711_assignsubmission_file_/words.ipynb": "ada",
        "Zoë Müller-Lüdenscheidt_4712_assignsubmission_file_words.ipynb": "zoe",
        "Jane Doe_4713_assignsubmission_file/words.ipynb": "?",
    }
    said = collect(room, WORDS, [given(room, "moodle.zip", archive(files, BEFORE))])
    assert said.placed == ["ada", "zoe"] and not said.late
    said = collect(room, WORDS, [given(room, "moodle.zip", archive(files, AFTER))])
    assert contents(room) == {"ada": ["ada"], "zoe": ["zoe"]}
    for login, name in (("ada", "Ada Lovelace_4711"), ("zoe", "Zoë Müller-Lüdenscheidt_4712")):
        taken = read_taken(room.place("submitted", login, WORDS))
        assert taken.lms == f"{name}_assignsubmission_file_"
    assert said.unknown == ["Jane Doe_4713_assignsubmission_file"]  # there are two of that name
    assert said.late == ["ada", "zoe"] and seconds_late(room, "ada") > 24 * 3600
    set_due(room, WORDS, DUE + timedelta(days=7), ["zoe"])
    said = collect(room, WORDS, [room.root.parent / "moodle.zip"])
    assert said.late == ["ada"]  # and zoe was in time for her own date


def test_archives_in_archives_folders_and_several_sections(room: Classroom) -> None:
    inner = archive({"work/words.ipynb": "ada", "__MACOSX/._words.ipynb": "no"})
    first = archive({"section 1/lovelaceada_101_9001_work.zip": inner})
    second = archive({"mullerludenscheidtzoe_102_9002_words.ipynb": "zoe"})
    folder = room.root.parent / "downloads"
    (folder / "jane1" / "deep" / "deeper").mkdir(parents=True)
    (folder / "jane1" / "deep" / "deeper" / "words.ipynb").write_text("jane", encoding="utf-8")
    (folder / "bob.ipynb").write_text("bob", encoding="utf-8")
    (folder / "zoe").mkdir()  # the same as in an archive
    (folder / "zoe" / "version_1_2_final.ipynb").write_text("zoe", encoding="utf-8")
    (folder / "section 3").mkdir()
    (folder / "section 3" / "doejane_104_9005_words.ipynb").write_text("jane 2", encoding="utf-8")
    (folder / "dan.zip").write_bytes(archive({"words.ipynb": "dan"}))
    (folder / "empty").mkdir()
    places = [given(room, "one.zip", first), given(room, "two.zip", second), folder]
    said = collect(room, WORDS, places)
    assert contents(room) == {
        "ada": ["ada"], "bob": ["bob"], "dan": ["dan"], "empty": [], "jane1": ["jane"],
        "jane2": ["jane 2"], "zoe": ["zoe"],
    }  # fmt: skip
    assert said.new == ["bob", "dan", "empty"] and not said.unknown + said.left_out
    problems = {one.learner: one.problem for one in submissions(room, WORDS) if one.problem}
    assert problems == {"empty": "the folder holds no notebook"}


def test_of_several_notebooks_the_one_that_counts_or_a_person_decides(room: Classroom) -> None:
    older = archive({"ada/words.ipynb": "old"}, BEFORE)
    newer = archive({"ada/words (1).ipynb": "new", "ada/notes.ipynb": "notes"}, AFTER)
    unclear = archive(
        {"bob/a.ipynb": "a", "bob/b.ipynb": "b", "cleo/a.ipynb": "c", "cleo/b.ipynb": "c"}
    )
    names = ("1.zip", "2.zip", "3.zip")
    collect(
        room,
        WORDS,
        [given(room, *one) for one in zip(names, (older, newer, unclear), strict=True)],
    )
    assert contents(room) == {"ada": ["new"], "bob": ["a", "b"], "cleo": ["c"]}
    problems = {one.learner: one.problem for one in submissions(room, WORDS)}
    assert problems["bob"] == "the folder holds 2 notebooks: 1 a.ipynb, 2 b.ipynb"


@pytest.mark.parametrize(
    ("names", "logins"),
    [
        # Sakai, ILIAS, Gradescope, and archives that people make
        (["Lab 1/Ada Lovelace(ada)/Submission attachment(s)/w.ipynb", "Lab 1/Bob(bob)/w.ipynb"],
         ["Ada Lovelace(ada)", "Bob(bob)"]),
        (["Exc/Abgaben/Lovelace_Ada_ada_1/w.ipynb", "Exc/Abgaben/Doe_Jim_jim_2/w.ipynb"],
         ["Doe_Jim_jim_2", "Lovelace_Ada_ada_1"]),
        (["assignment_7_export/submission_1/w.ipynb", "assignment_7_export/submission_2/w.ipynb"],
         ["submission_1", "submission_2"]),
        (["a/b/handed in/ada.ipynb", "a/b/handed in/jim.ipynb"], ["ada", "jim"]),
        # a learner's own folder
        (["x/ada/first/w.ipynb", "x/ada/second/w.ipynb"], ["ada"]),
        (["jim/words.ipynb", "jim/notes/x.ipynb"], ["jim"]),
        (["doejane_103_77_w/words.ipynb", "doejane_103_77_w/old/x.ipynb"], ["jane1"]),
    ],
)  # fmt: skip
def test_an_outer_folder_for_all_is_no_learner(
    room: Classroom, names: list[str], logins: list[str]
) -> None:
    notebooks = {name: f"{{{number}}}" for number, name in enumerate(names)}
    said = collect(room, WORDS, [given(room, "all.zip", archive(notebooks))])
    assert (said.placed, said.unknown, said.left_out) == (logins, [], [])
    assert [*contents(room)] == logins


def test_what_is_older_than_what_is_there_stays_out(room: Classroom) -> None:
    new = archive({"ada/words.ipynb": "new"}, AFTER)
    old = archive({"ada/words.ipynb": "old"}, BEFORE)
    collect(room, WORDS, [given(room, "new.zip", new)])
    said = collect(room, WORDS, [given(room, "old.zip", old)])
    assert contents(room) == {"ada": ["new"]} and said.older == ["ada"] and not said.placed


def test_a_collection_without_a_learners_notebook_leaves_the_one_that_is_there(
    room: Classroom,
) -> None:
    collect(room, WORDS, [given(room, "one.zip", archive({"ada/words.ipynb": "ada"}))])
    (room.root.parent / "later" / "ada").mkdir(parents=True)
    said = collect(room, WORDS, [room.root.parent / "later"])
    assert contents(room) == {"ada": ["ada"]}
    assert said.kept == ["ada (no notebook)"] and not said.placed


@pytest.mark.parametrize("encoding", ["cp437", "cp850", "latin-1", "utf-8"])
def test_a_name_in_an_archive_is_read_as_the_roster_has_it(room: Classroom, encoding: str) -> None:
    """A byte of Latin-1 is another letter on Windows; the archive says nothing about either."""
    with room.gradebook() as book:
        add_to_roster(book, [Learner("her", "Mía", "Hernández"), Learner("gro", "Jörg", "Groß")])
    for number, name in enumerate(("Mía Hernández", "Jörg Groß")):
        made = archive(
            {f"{'x' * len(name.encode(encoding))}_4712_assignsubmission_file_/words.ipynb": name}
        )
        named = made.replace(b"x" * len(name.encode(encoding)), name.encode(encoding))
        path = given(room, f"{number}.zip", _flagged(named, 0))
        assert not collect(room, WORDS, [path]).unknown
    assert contents(room) == {"gro": ["Jörg Groß"], "her": ["Mía Hernández"]}


def test_a_name_that_no_roster_knows_has_small_letters(room: Classroom) -> None:
    names = {"José": "latin-1", "João": "cp850", "François": "latin-1", "Jörg": "cp437"}
    for name, encoding in names.items():
        made = archive({f"{'x' * len(name)}.ipynb": name})
        named = made.replace(b"x" * len(name), name.encode(encoding))
        collect(room, WORDS, [given(room, "made.zip", _flagged(named, 0))])
    assert contents(room).keys() == names.keys()


def _flagged(data: bytes, flag: int) -> bytes:
    """Return an archive of one member whose name says that it is UTF-8 (8), or does not (0)."""
    for mark, offset in ((b"PK\3\4", 7), (b"PK\1\2", 9)):
        at = data.index(mark) + offset
        data = data[:at] + bytes([data[at] & ~8 | flag]) + data[at + 1 :]
    return data


def test_the_time_of_handing_in_is_nbgraders_and_no_learners(room: Classroom) -> None:
    """Whoever is late could have a `timestamp.txt` in an archive, or in a folder of Moodle's."""
    stamp = "2026-11-01 10:00:00 UTC"
    late = {"words/timestamp.txt": stamp, "words/words.ipynb": "zoe"}
    files = {
        "Ada Lovelace_4711_assignsubmission_file_/ada/words/timestamp.txt": stamp,
        "Ada Lovelace_4711_assignsubmission_file_/ada/words/words.ipynb": "ada",
        "Zoë Müller-Lüdenscheidt_4712_assignsubmission_file_/zoe.zip": archive(late, AFTER),
    }
    said = collect(room, WORDS, [given(room, "moodle.zip", archive(files, AFTER))])
    assert seconds_late(room, "ada") > 24 * 3600 < seconds_late(room, "zoe")
    assert len(said.left_out) == 2 and "not where nbgrader writes it" in said.left_out[0]
    nbgraders = room.root.parent / "submitted"
    for login, text in {"jane1": "2026-11-21 12:00:00 UTC", "jane2": "yesterday"}.items():
        (nbgraders / login / WORDS).mkdir(parents=True)
        (nbgraders / login / WORDS / "words.ipynb").write_text(login, encoding="utf-8")
        (nbgraders / login / WORDS / "timestamp.txt").write_text(text, encoding="utf-8")
    said = collect(room, WORDS, [nbgraders])
    assert said.placed == ["jane1"] and seconds_late(room, "jane1") == 24 * 3600
    assert said.late == ["jane1"]
    (kept,) = said.kept
    assert kept.startswith("jane2 (") and "timestamp.txt: the time stamp 'yesterday'" in kept


def test_of_two_folders_of_nbgraders_the_newer_hand_in_counts_and_other_labs_stay_out(
    room: Classroom,
) -> None:
    sections = room.root.parent / "sections"
    for section, login, assignment, day in (
        ("one", "Ada", WORDS, 22), ("two", "ada", WORDS, 21), ("two", "zoe", WORDS, 21),
        ("two", "jane1", "numbers", 21),
    ):  # fmt: skip
        folder = sections / section / "submitted" / login / assignment
        folder.mkdir(parents=True)
        (folder / f"{assignment}.ipynb").write_text(section, encoding="utf-8")
        stamp = f"2026-11-{day} 12:00:00 UTC"
        (folder / "timestamp.txt").write_text(stamp, encoding="utf-8")
    with room.gradebook() as book:
        book.update_or_create_assignment("numbers")
    said = collect(room, WORDS, [sections])
    assert contents(room) == {"ada": ["one"], "zoe": ["two"]}
    assert seconds_late(room, "ada") == 48 * 3600 and seconds_late(room, "zoe") == 24 * 3600
    assert [one.split(": ")[1] for one in said.left_out] == ["of another assignment"] * 2
    again = collect(
        room,
        WORDS,
        [given(room, "one.zip", archive({"zoe/words.ipynb": "two"}, (1980, 1, 1, 0, 0, 0)))],
    )
    assert again.placed == ["zoe"] and seconds_late(room, "zoe") == 24 * 3600


def test_an_archive_that_is_odd_in_any_way_stops_nobody_else(room: Classroom) -> None:
    whole = archive({"words.ipynb": "zoe"})
    files = {
        "ada/words.ipynb": "ada",
        "bad name.zip": _flagged(whole, 8).replace(b"words", b"\xf6ords"),
        "no name.zip": archive({"": "zoe"}),
        "lzma.zip": _damaged(zipfile.ZIP_LZMA),
        "bzip2.zip": _damaged(zipfile.ZIP_BZIP2),
    }
    said = collect(room, WORDS, [given(room, "one.zip", archive(files))])
    assert contents(room) == {"ada": ["ada"]} and len(said.left_out) == 4
    assert "Corrupt input data" in said.left_out[2] and "Invalid data" in said.left_out[3]


def _damaged(method: int) -> bytes:
    """Return an archive whose member cannot be unpacked."""
    data = BytesIO()
    with zipfile.ZipFile(data, "w", method) as made:
        made.writestr("words.ipynb", "x" * 5_000)
        start = made.infolist()[0].header_offset + 30 + len("words.ipynb") + 12
    return data.getvalue()[:start] + b"\xff" * 12 + data.getvalue()[start + 12 :]


def test_a_pattern_of_ones_own_as_zip_collect_takes_it(room: Classroom) -> None:
    pattern = r"_(?P<student_id>\w+)_attempt_(?P<timestamp>[0-9T:-]+)_"
    folder = room.root.parent / "blackboard"
    folder.mkdir()
    (folder / "ps1_ada_attempt_2026-11-21T12:00:00_words.ipynb").write_text("ada", "utf-8")
    collect(room, WORDS, [folder], pattern=pattern)
    assert contents(room) == {"ada": ["ada"]} and seconds_late(room, "ada") == 24 * 3600
    for wrong, said in (("(", "cannot be read"), (r"(?P<who>\w+)", "student_id")):
        with pytest.raises(InputError, match=said):
            collect(room, WORDS, [folder], pattern=wrong)


def test_repositories_of_github_classroom(room: Classroom) -> None:
    """Each has the course's copy in `labs/`, and other notebooks; some have no pattern's name."""
    lab = (room.place("release", ".", WORDS) / f"{WORDS}.ipynb").read_text("utf-8")
    mine = {who: lab.replace("YOUR CODE HERE", f"by {who}") for who in ("ada", "zoe", "jane1")}
    sheet = json.loads(lab)
    folder, other = room.root.parent / "words-submissions", {"my/numbers.ipynb": "{}"}
    files = {
        "words-ada": {
            "labs/words.ipynb": lab,
            "my/words.ipynb": mine["ada"],
            "data/x.ipynb": "{}",
            "more/other.ipynb": json.dumps({**sheet, "cells": sheet["cells"][1:2]}),
        },
        "words-zoe": {
            "labs/words.ipynb": mine["zoe"],
            "my/words.ipynb": lab,
            "my/numbers.ipynb": lab,
        },
        "words-jane1": {"labs/words.ipynb": lab, "my/final.ipynb": mine["jane1"]},
        "words-jane2": {"labs/words.ipynb": lab} | other,
        "notes": {"labs/words.ipynb": lab, "my/words.ipynb": lab},
        "words-dan": {"labs/words.ipynb": lab, "words.ipynb": mine["ada"]},
    }
    for name, notebooks in files.items():
        for place, text in notebooks.items():
            (folder / name / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / place).write_text(text, encoding="utf-8")
    with room.gradebook() as book:
        book.update_or_create_assignment("numbers")
    said = collect(room, WORDS, [folder], pattern=r"words-(?P<student_id>[^/]+)/(labs|my)/")
    assert contents(room) == {who: [text] for who, text in sorted(mine.items())}
    assert said.kept == [f"{who} (only the lab as it was given)" for who in ("dan", "jane2")]
    assert not said.new
    assert said.unfit == ["words-dan/words.ipynb"]  # and no other lab, whose set-up is the same
    assert "words-ada/data/x.ipynb: the pattern does not fit" in said.left_out
    assert len(said.left_out) == 6  # with two of `notes`, and two of another assignment
    with pytest.raises(InputError, match="fits nothing in .*, such as notes/labs/words.ipynb"):
        collect(room, WORDS, [folder], pattern="lab-(?P<student_id>[^/]+)/my/")


def test_what_a_person_has_decided_stays_when_the_same_is_collected_again(room: Classroom) -> None:
    both = given(room, "1.zip", archive({"ada/a.ipynb": "a", "ada/b.ipynb": "b"}))
    collect(room, WORDS, [both])
    place = room.place("submitted", "ada", WORDS)
    (place / "2 b.ipynb").unlink()
    (place / "timestamp.txt").write_text("2026-11-19 10:00:00 UTC", encoding="utf-8")
    for _ in range(2):
        assert collect(room, WORDS, [both]).placed == ["ada"]
    assert contents(room)["ada"] == ["a"] and time_of(place / "timestamp.txt").day == 19
    new = archive({"ada/c.ipynb": "c"}, AFTER)
    collect(room, WORDS, [given(room, "2.zip", new)])
    assert contents(room)["ada"] == ["c"] and seconds_late(room, "ada") > 24 * 3600


def test_a_notebook_that_a_browser_saved_under_another_name_is_one(room: Classroom) -> None:
    """Browsers add `.txt` or `.json`."""
    text = '{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {"é": 1}}'
    files = {
        "lovelaceada_101_9001_words.ipynb.txt": text.encode("utf-8"),
        "mullerludenscheidtzoe_102_9002_words.ipynb-1.json": text.encode("utf-8"),
        "doejane_103_9003_notes.txt": b"no notebook",
    }
    made = given(room, "one.zip", archive(files))
    for _ in range(2):
        said = collect(room, WORDS, [made])
        assert contents(room) == {"ada": [text], "zoe": [text]}
        assert said.placed == ["ada", "zoe"] and len(said.left_out) == 1
    assert not [one.problem for one in submissions(room, WORDS) if one.problem]


def test_archives_that_cannot_be_read_are_named(room: Classroom) -> None:
    bad = archive({"ada/words.ipynb": "ada", "../../evil.ipynb": "x", "bob.zip": b"PK no"})
    said = collect(room, WORDS, [given(room, "some.zip", bad)])
    assert contents(room) == {"ada": ["ada"], "evil": ["x"]} and "bob" in said.left_out[0]
    assert not list(room.root.parent.rglob("evil.ipynb"))
    with pytest.raises(InputError, match="holds no notebooks"):
        collect(room, WORDS, [given(room, "bad.zip", b"PK no")])
    with pytest.raises(InputError, match="is not there"):
        collect(room, WORDS, [room.root / "nowhere.zip"])
    assert not list(room.root.glob(".collecting-*"))


def test_what_would_fill_memory_or_another_ones_folder_is_left_out(
    room: Classroom, tmp_path: Path
) -> None:
    """A file of 50 GB, names that differ by case, and names that no folder can have."""
    folder = tmp_path / "folder"
    (folder / "bob").mkdir(parents=True)
    with (folder / "bob" / "words.ipynb").open("wb") as file:
        file.truncate(50 * 2**30)
    names = ["ann", "Ann", "x" * 250, "\x1b[2J", "ada"]
    made = archive({f"{name}/words.ipynb": name for name in names})
    said = collect(room, WORDS, [given(room, "some.zip", made)])
    assert contents(room) == {"ada": ["ada"]}
    assert len(said.left_out) == 4, said
    with pytest.raises(InputError, match=r"that can be read: bob/words\.ipynb"):
        collect(room, WORDS, [folder])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,town\nAda,London", "no column `login`"),
        ("login\nada\nada", "line 3: ada is there twice"),
        ("login,name\n../ada,Ada", "line 2: '../ada' is not a login"),
    ],
)
def test_a_roster_that_cannot_be_used_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_roster(tmp_path / "roster.csv")


CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Lab 1 (123)
    Points Possible,,,,,10
"Müller, Zoë",102,5552,zoe,Sec 1,7
"Student, Test",999,,abcdef01,Sec 1,
"""
ZOE = Learner("zoe", "Zoë", "Müller", lms_user_id="102")
FIVE = Learner("5552", "Zoë", "Müller", "z@example.org")


@pytest.mark.parametrize(
    ("text", "learner"),
    [
        (CANVAS, ZOE),
        (CANVAS.replace("SIS Login ID", "Root Account"), replace(ZOE, login="5552")),
        (CANVAS.replace("SIS", "?"), replace(ZOE, login="102")),
        ("First name,Last name,ID number,Email address\nZoë,Müller,5552,z@example.org", FIVE),
        ("Identifier,Full name,Email address,Status\nParticipant 7,Zoë Müller,z@example.org,",
         replace(FIVE, login="z@example.org")),
        ("Username;First name;Last name;Email address\nzoe;Zoë;Müller;z@example.org",
         replace(FIVE, login="zoe")),
        ("id,first_name,last_name\nzoe,Zoë,Müller", replace(ZOE, lms_user_id="")),
    ],
    ids=["Canvas", "Canvas, no logins", "Canvas, its ids alone", "Moodle", "Moodle's grades",
         "Moodle, user names", "nbgrader"],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_what_canvas_and_moodle_export_is_a_roster(
    tmp_path: Path, text: str, learner: Learner, encoding: str
) -> None:
    (tmp_path / "roster.csv").write_text(text, encoding=encoding)
    assert read_roster(tmp_path / "roster.csv") == [learner]


def test_a_roster_that_is_read_again_takes_nothing_away(room: Classroom, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(
        "Username,First name,Last_Name,Email\nada,Augusta,,\nnew,Nora,Neu,n@example.org\n",
        encoding="utf-8",
    )
    with room.gradebook() as book:
        assert add_to_roster(book, read_roster(tmp_path / "roster.csv")) == 1
        ada = book.find_student("ada")
        assert (ada.first_name, ada.last_name, ada.lms_user_id) == ("Augusta", "Lovelace", "101")
        assert len(book.students) == 5
