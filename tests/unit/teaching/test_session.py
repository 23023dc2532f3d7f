import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.evaluation.statistics import Interval
from course_lib.loader.recursive import find_cut
from course_lib.settings import project_root, state_dir
from course_lib.teaching import CheckFailed, Lab, NotAttempted
from course_lib.teaching.checks import Exercise, load
from course_lib.teaching.lab.reference import from_solution
from course_lib.teaching.lab.scorecard import COURSES
from course_lib.teaching.mine.measure import find_all


def stub(*args, **kwargs):
    raise NotImplementedError


def wrong(text, start, limit, floor=0, separators=()):
    return 0


def test_paths_do_not_depend_on_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert len(Lab("01", data_dir="data/documents").documents()) == 5


def test_another_folder_of_documents_can_be_given(tmp_path: Path):
    (tmp_path / "a.md").write_text("# A\n", encoding="utf-8")
    lab = Lab("01", data_dir=tmp_path)
    assert lab.documents() == {"a.md": "# A\n"}
    assert lab.document("a.md") == "# A\n"
    with pytest.raises(InputError, match=r"There are: a\.md"):
        lab.document("b.md")


@pytest.mark.parametrize("lab_id", ["x", "100", "", "-1"])
def test_a_lab_that_cannot_be_is_refused(lab_id: str):
    with pytest.raises(InputError):
        Lab(lab_id)


def test_a_missing_folder_is_named(tmp_path: Path):
    with pytest.raises(InputError, match="nowhere"):
        Lab("01", data_dir=tmp_path / "nowhere")


def test_a_lab_without_exercises_has_none():
    assert load("00") == {}
    with pytest.raises(InputError, match="It has: none"):
        Lab("00").check("0.1", stub)


def test_use_gives_the_course_s_version_until_the_learners_passes(
    capsys: pytest.CaptureFixture[str],
):
    def mine(*args, **kwargs):
        return find_cut(*args, **kwargs)

    lab = Lab("01")
    assert lab.use("find_cut") is find_cut
    with pytest.raises(NotAttempted):
        lab.check("1.2", stub)
    assert lab.use("find_cut") is find_cut
    lab.check("1.2", mine)
    assert lab.use("find_cut") is mine
    with pytest.raises(CheckFailed):
        lab.check("1.2", wrong)
    assert lab.use("find_cut") is find_cut
    course = "find_cut: the course's version, until 1.2 passes with yours"
    passed = "✓ 1.2 passed (3 points)"
    assert capsys.readouterr().out.splitlines() == [
        course, course, passed, "find_cut: yours", course
    ]  # fmt: skip


def test_use_names_what_there_is_when_the_name_is_wrong():
    with pytest.raises(InputError, match="split_recursively, find_cut, split_text"):
        Lab("01").use("split")


def test_earlier_hints_are_folded_and_the_newest_is_open():
    lab = Lab("01")
    lab.hint("1.1")
    html = lab.hint("1.1")._repr_html_()
    assert html.count("<details>") == 1
    assert html.count("<details open>") == 1
    assert "<code>" in html and "`" not in html


def test_a_failed_check_offers_the_next_hint_and_gives_none_away():
    lab = Lab("01")

    def said() -> str:
        with pytest.raises(CheckFailed) as failed:
            lab.check("1.1", wrong)
        return str(failed.value).splitlines()[-1]

    assert [said(), said()] == ['lab.hint("1.1") gives hint 1 of 3'] * 2
    assert str(lab.hint("1.1")).startswith("hint 1 of 3")
    assert said() == 'lab.hint("1.1") gives hint 2 of 3'
    second, third = (str(lab.hint("1.1")) for _ in range(2))
    assert (second[:6], third[:6]) == ("hint 2", "hint 3")
    assert "solutions/" not in second + third
    assert said() == 'lab.hint("1.1") shows the hints again'
    assert "solutions/01_" in str(lab.hint("1.1"))


def test_a_solution_without_the_exercise_is_an_error():
    with pytest.raises(InputError, match=r"9\.3"):
        from_solution("# %%\n1\n", Exercise("9.3", "half", 1, print))


def test_starting_imports_nothing_heavy():
    code = (
        "import sys; from course_lib.teaching import start; start('01'); heavy = "
        "{'torch', 'numpy', 'matplotlib', 'psycopg', 'IPython', 'pandas', 'nbformat', 'kfp'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stderr == ""


def test_questions_lie_beside_the_folder_of_documents(tmp_path: Path):
    for name in ("notes", "questions"):
        (tmp_path / name).mkdir()
    record = {"question": "When?", "gold_paths": ["a.md"], "answer_contains": ["at night"]}
    file = tmp_path / "questions" / "notes.jsonl"
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    (question,) = Lab("01", data_dir=tmp_path / "notes").questions()
    assert (question.id, question.question) == ("q01", "When?")
    file.write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"notes\.jsonl, line 1"):
        Lab("01", data_dir=tmp_path / "notes").questions()


def test_the_scorecard_has_a_line_for_each_corpus_and_the_learners_number_beside_the_courses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("pyproject.toml", "labs", "data"):
        (tmp_path / name).symlink_to(project_root() / name)
    mine = tmp_path / "my" / "system"
    mine.mkdir(parents=True)
    monkeypatch.setenv("COURSE_STATE", str(state_dir()))
    monkeypatch.setenv("COURSE_ROOT", str(tmp_path))
    monkeypatch.chdir(mine.parent)
    card = Lab("00").score(recall_at_5=0.9, mrr=0.8, note="<b>hybrid</b>")
    assert str(card).startswith("Lab 00: recall@5 0.90, MRR 0.80 (<b>hybrid</b>)\n")
    assert [row[0] for row in card.table[1:]] == ["docs", "manifests", "code"]
    assert len(card.table[0]) == 3 and card.footnote.endswith("your own copy of a lab.")
    bundle = card._repr_mimebundle_()
    assert bundle["application/vnd.course.scorecard+json"] == {
        "lab": "00", "recall_at_5": 0.9, "mrr": 0.8, "note": "<b>hybrid</b>"
    }  # fmt: skip
    assert "&lt;b&gt;hybrid" in bundle["text/html"]
    (mine / "retriever.py").write_text(
        "# %% 7.3 search_filtered · lab 07 · 2026-11-25\n"
        "# in the place of course_lib.retriever.query.search_filtered\n\n"
        "def search_filtered(conn, values, *how):\n    return []\n",
        encoding="utf-8",
    )
    card = Lab("00").score()
    # What words alone find is left.
    assert card.why == "" and all(row[3] not in ("–", row[4]) for row in card.table[1:])
    (mine / "retriever.py").write_text(
        (mine / "retriever.py").read_text(encoding="utf-8").replace("[]", "1 / 0"), "utf-8"
    )
    assert "`course mine` says why" in str(Lab("07").score())


def test_the_courses_lines_are_what_its_system_finds_today():
    found = find_all("the course's", None, [])
    for kind, figures in COURSES.items():
        some = found.about(kind)
        assert [*some.interval()] == pytest.approx([*figures["MRR"]], abs=0.006)
        assert some.means()["recall@10"] == pytest.approx(figures["recall@10"].mean, abs=0.006)


def test_a_later_lab_shows_its_own_numbers_and_only_the_lines_that_the_learners_functions_changed():
    line = "Lab 07: recall@5 0.90, MRR 0.80"
    card = Lab("07").score(recall_at_5=0.9, mrr=0.8)
    assert (str(card), card._repr_mimebundle_()["text/html"]) == (line, f"<p>{line}</p>")
    as_the_courses = replace(card, yours=COURSES, why="")
    assert str(as_the_courses) == f"{line}\nYour system reaches what the course's reaches."
    lower = {"recall@10": Interval(0.5, 0.4, 0.6), "MRR": COURSES["code"]["MRR"]}
    changed = replace(card, yours={**COURSES, "code": lower}, why="")
    head, row = changed.table
    assert (head[0], row[:3]) == ("questions about", ("code", "0.50 [0.40, 0.60]", "1.00"))
    assert str(changed).endswith("\nYour functions changed these lines of lab 00's table.")
    assert changed._repr_mimebundle_()["text/html"].count("<td>0.50 [0.40, 0.60]</td>") == 1


def test_each_session_has_a_database_of_its_own():
    lab, other = Lab("01"), Lab("01")
    assert other.database_url != lab.database_url
    assert other.database_url == other.database_url
    with lab.connect() as connection:
        connection.execute("CREATE TABLE mine (x int)")
    with other.connect() as connection:
        row = connection.execute("SELECT to_regclass('mine')").fetchone()
    assert row == (None,)
