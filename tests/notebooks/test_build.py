import json
import os
import re
import sys

import nbformat
import pytest

from course_lib.teaching.notebooks.execute import tidy_outputs
from course_lib.teaching.notebooks.project import BuildError, StaleError
from infra.course.__main__ import main
from infra.course.build import (
    advice,
    broken_rules,
    build_labs,
    check_labs,
    stale_notebooks,
)
from infra.course.build.assemble import assemble
from infra.course.build.tables import labs_table

SOURCE = "solutions/01_doubling.py"


def test_the_command_compares_one_lab_and_names_a_lab_that_is_none(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["course", "build", "--check", "01"])
    with pytest.raises(SystemExit, match="^0$"):
        main()
    *told, last = capsys.readouterr().out.splitlines()
    assert last == "all notebooks are up to date"
    assert all(one.startswith("advice: solutions/01_") for one in told)
    sys.argv[-1] = "77"
    with pytest.raises(SystemExit, match="^1$"):
        main()
    assert capsys.readouterr().err.startswith("error: there is no lab '77'")


def test_a_claim_that_does_not_hold_ends_the_build_with_its_sentence(built) -> None:
    built.change(SOURCE, "double(20) == 40", "double(20) == 41")
    with pytest.raises(
        BuildError, match=r"cell 7 \(claim-.* failed: .*: they stay doubled"
    ) as raised:
        build_labs(["01"], project=built.project)
    line = numbered_line(built, SOURCE, "assert double(20)")
    assert str(raised.value).startswith(f"{SOURCE}:{line}, ")


def numbered_line(course, path: str, begin: str) -> int:
    lines = (course.root / path).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith(begin))


def test_a_check_that_fails_ends_the_build_with_its_case_and_the_file_of_its_cases(built) -> None:
    failed = 'raise CheckFailed("1.1 double is not right yet\\n  called  double(1)\\n  got  2\\n'
    failed += 'lab.hint(\\"1.1\\") gives hint 1 of 2")'
    text = "class CheckFailed(AssertionError):\n    pass\n\n\n"
    built.change("mini/classroom.py", "class Lab:", f"{text}class Lab:")
    built.change("mini/classroom.py", "            thing(*arguments)", f"            {failed}")
    built.change(SOURCE, "double(21)", "double(22)")
    with pytest.raises(BuildError) as raised:
        build_labs(["01"], project=built.project)
    told = str(raised.value)
    line = numbered_line(built, SOURCE, "lab.check")
    assert told.startswith(f"{SOURCE}:{line}, cell 4 (check-1-1, ")
    assert "1.1 double is not right yet\n  called  double(1)\n  got  2\n" in told
    assert "its cases are in checks01.py" in told and "hint 1 of 2" not in told


def test_a_lab_over_its_budgets_is_built_and_what_is_over_them_is_advice(built) -> None:
    said = "    print('more')\n" * 24
    answer = f"    ### BEGIN SOLUTION\n{said}    return 4 * value\n    ### END SOLUTION"
    more = ""
    for name in ("1.4", "1.5"):
        built.exercises["01"][name] = built.exercises["01"]["1.3"]
        more += f'# %% exercise="{name}"\ndef more(value):\n    "Return more."\n{answer}\n\n'
        more += f'# %%\nlab.check("{name}", more, 1)\n\n'
    more += "# %%\nprint('shown')\n\n" * 60
    built.change(SOURCE, "# %% [markdown] tags=", f"{more}# %% [markdown] tags=")
    built.change(SOURCE, "and they stay doubled.", f"and they stay doubled.{' It lies.' * 1001}")
    (done,) = build_labs(["01"], project=built.project)
    assert done.executed
    told = [one.removeprefix(f"{SOURCE}: ") for one in advice(["01"], project=built.project)]
    for what in ("5 exercises", "53 lines that a learner writes"):
        assert [one for one in told if one.startswith(f"it has {what}; the budget of our labs is")]
    for what in (r"6\d cells with output", r"2,\d{3} words"):
        assert [one for one in told if re.match(f"it has {what}", one)]
    line = numbered_line(built, SOURCE, "# You will double")
    assert told[-1] == f"{SOURCE}:{line}: 'lies'; write: is, are, was"
    assert broken_rules(["01"], project=built.project) == []


def test_what_is_wrong_with_a_lab_is_named_with_its_file(built) -> None:
    built.change(SOURCE, "The answer was", "[The answer](../labs/77_gone.ipynb) was")
    built.change(SOURCE, ' tags=["solution"]', "")
    build_labs(["01"], project=built.project)
    assert broken_rules(["01"], project=built.project) == [
        f"{SOURCE}: the link ../labs/77_gone.ipynb does not resolve from labs/ and solutions/"
    ]


def test_nbgraders_own_release_of_the_solution_is_the_lab(built) -> None:
    from nbgrader.preprocessors import ClearSolutions

    solution = nbformat.read(built.root / "solutions/01_doubling.ipynb", as_version=4)
    released, _ = ClearSolutions().preprocess(solution, {})
    for cell in released.cells:
        if cell.id.startswith("exercise"):
            assert cell.source == built.cell("labs", cell.id)["source"]


def test_building_again_changes_nothing_and_executes_nothing(built) -> None:
    before = built.notebooks()
    assert [(b.written, b.executed) for b in build_labs(project=built.project)] == [((), False)] * 2
    assert built.notebooks() == before
    check_labs(project=built.project)


def test_new_prose_keeps_the_outputs(built) -> None:
    built.change(SOURCE, "The answer was", "The answer always was")
    outputs = built.cell("solutions", "setup")["outputs"]
    (done,) = build_labs(["1"], project=built.project)
    assert not done.executed and done.written == (built.root / "solutions/01_doubling.ipynb",)
    assert built.cell("solutions", "setup")["outputs"] == outputs


def test_new_code_and_a_function_that_it_shows_make_it_stale_and_are_executed(built) -> None:
    def is_stale() -> bool:
        return any("solutions/01_doubling.ipynb is stale" in one for one in stale_of(built))

    built.change("mini/maths.py", "m.fsum([helper(value)] * int(factor))", "value * factor")
    assert is_stale()
    (done,) = build_labs(["01"], project=built.project)
    assert done.executed
    assert stale_of(built) == []
    built.change(SOURCE, "double(21)", "double(22)")  # what fails in it ends the build, see above
    assert is_stale()


def test_new_checks_make_the_solution_stale_and_nothing_else(built) -> None:
    built.write("checks02.py", "# stricter\n")
    assert stale_of(built) == ["solutions/02_counting.ipynb is stale: its metadata (course)"]


def stale_of(course) -> list[str]:
    return stale_notebooks(project=course.project)


def test_outputs_are_never_compared(built) -> None:
    path = built.root / "solutions/01_doubling.ipynb"
    built.change("solutions/01_doubling.ipynb", "lab 01\\n", "something else\\n")
    assert "something else" in path.read_text(encoding="utf-8")
    check_labs(project=built.project)


def test_the_check_names_every_stale_notebook_and_the_command(built) -> None:
    built.change("labs/01_doubling.ipynb", "Doubling", "Trebling")
    (built.root / "solutions/02_counting.ipynb").unlink()
    (built.root / "labs/08_gone.ipynb").write_text("{}", encoding="utf-8")
    with pytest.raises(StaleError) as raised:
        check_labs(project=built.project)
    text = str(raised.value)
    assert "labs/01_doubling.ipynb is stale" in text
    assert "solutions/02_counting.ipynb is missing" in text
    assert "labs/08_gone.ipynb has no source" in text
    assert "make build" in raised.value.hint
    assert 'make build LAB="02"' in check_hint(built, "02")


def check_hint(course, lab: str) -> str:
    with pytest.raises(StaleError) as raised:
        check_labs([lab], project=course.project)
    return raised.value.hint


def test_a_broken_notebook_is_stale_and_built_anew(built) -> None:
    for text in ("", "not json", "[]", '{"cells": 3}'):
        (built.root / "labs/01_doubling.ipynb").write_text(text, encoding="utf-8")
        assert stale_of(built) == ["labs/01_doubling.ipynb is not a notebook"]
    build_labs(["01"], project=built.project)
    assert stale_of(built) == []


def test_a_failing_cell_is_named_and_a_build_that_fails_changes_no_file(built) -> None:
    built.write("README.md", "<!-- labs:begin -->\nold\n<!-- labs:end -->\n")
    built.change(SOURCE, "double(21)", "double(21) / 0")
    built.change(SOURCE, "The answer was in", "The answer is in")
    built.change("solutions/02_counting.py", "You will count.", "You will count up.")
    built.change("solutions/02_counting.py", '"2.1", count, 1', '"2.1", count, 2')
    before = files_of(built)
    with pytest.raises(BuildError) as raised:
        build_labs(project=built.project)
    line = numbered_line(built, SOURCE, "double(21)")
    assert f"{SOURCE}:{line}, cell 6 (code-" in str(raised.value)
    assert "'double(21) / 0') failed: ZeroDivisionError" in str(raised.value)
    assert files_of(built) == before
    built.change(SOURCE, "double(21) / 0", "double(21)")
    built.write("README.md", "<!-- labs:begin -->\nold\n")
    before = files_of(built)
    with pytest.raises(BuildError, match="without <!-- labs:end -->"):
        build_labs(project=built.project)
    assert files_of(built) == before


def files_of(course) -> dict[str, bytes]:
    found = [path for path in course.root.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {path.relative_to(course.root).as_posix(): path.read_bytes() for path in found}


def test_a_kernel_that_dies_is_reported_as_such(built) -> None:
    built.change(SOURCE, "double(21)", "import os\n\nos._exit(3)")
    with pytest.raises(BuildError, match="cell 6 .* failed: Kernel: died"):
        build_labs(["01"], project=built.project)


def test_without_execution_the_labs_are_written_and_the_solutions_wait(course) -> None:
    done = build_labs(project=course.project, execute=False)
    assert [(built.waiting, built.executed) for built in done] == [(True, False)] * 2
    assert sorted(course.notebooks()) == ["labs/01_doubling.ipynb", "labs/02_counting.ipynb"]


def test_ids_do_not_depend_on_the_place_and_are_unique(course) -> None:
    def ids() -> list[str]:
        (source, _) = course.project.sources()
        return [cell.id for cell in assemble(source, course.project).solution.cells]

    before = ids()
    course.change(SOURCE, "# %% exercise", "# %%\n1\n\n# %%\n1\n\n# %% exercise")
    after = ids()
    assert [name for name in after if name in before] == before
    assert len(set(after)) == len(after) == len(before) + 6


BAD = [
    ('exercise="1.1"', 'exercise="one"', 'numbered like "1.2"'),
    ('exercise="1.1"', 'exercize="1.1"', "unknown metadata 'exercize'"),
    ('exercise="1.2"', 'exercise="1.1"', "two exercises of this number"),
    ('exercise="1.1"', 'exercise="1.9"', "exercise 1.9 has no checks"),
    ('# %% exercise="1.3"\n', "# %%\n", "a cell without exercise="),
    ("import double", "import double as d", "neither one `from module import name`"),
    ("import double", "import nothing", "mini.maths does not define a function nothing"),
    ("from mini.maths import double", "from json import loads", "json is not a module of this"),
    ("    ### END SOLUTION", "", "no end solution statement"),
    ("# # 01 · Doubling", "# # 02 · Doubling", "the title is"),
    ("# You will double numbers, and they stay doubled.\n#\n", "", "no paragraph of promise"),
    ("| about {minutes} min |", "| soon |", "no objectives or no time"),
    ("You will be able to", "Goals", "no table"),
    ("# %% [markdown]\n# # 01", "# # 01", "does not start with a text cell"),
    (
        "def triple(value):\n    '''Return three times the value.'''\n    ### BEGIN SOLUTION\n"
        "    return 3 * value\n    ### END SOLUTION",
        "### BEGIN SOLUTION\ntriple = 3\n### END SOLUTION",
        "does not stay quiet until it is called",
    ),
]


def test_a_source_that_breaks_a_rule_is_refused_by_name(course) -> None:
    source = course.root / SOURCE
    good = source.read_text(encoding="utf-8")
    for old, new, message in BAD:
        course.change(SOURCE, old, new)
        with pytest.raises(BuildError) as raised:
            build_labs(project=course.project)
        assert message in str(raised.value) and "01_doubling.py" in str(raised.value)
        source.write_text(good, encoding="utf-8")
    assert course.notebooks() == {}


def test_outputs_lose_widgets_paths_and_addresses(tmp_path) -> None:
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "7"}, "text/plain": "Slider()"}
    root = tmp_path / "course"
    outputs = [
        nbformat.v4.new_output("display_data", dict(view)),
        nbformat.v4.new_output("display_data", {**view, "text/html": "<b>static</b>"}),
        nbformat.v4.new_output("execute_result", {"text/plain": "<A at 0x7f00deadbeef>"}),
        nbformat.v4.new_output("stream", text=f"{root / 'data' / 'a.md'} in {root}"),
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", outputs=outputs)])
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}
    tidy_outputs(notebook, root)
    kept = notebook.cells[0].outputs
    assert "widgets" not in notebook.metadata
    assert kept[0].data == {"text/plain": "Slider()", "text/html": "<b>static</b>"}
    assert kept[1].data == {"text/plain": "<A at 0x…>"}
    assert kept[2].text == f"data{os.sep}a.md in ."


def test_the_readmes_table_is_written_between_its_markers_and_checked(built) -> None:
    path = built.write(
        "README.md", "# A\n\n<!-- labs:begin -->\nold\n<!-- labs:end -->\n\nAfter.\n"
    )
    assert "README.md: its table is stale" in stale_of(built)
    build_labs(project=built.project)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# A\n\n<!-- labs:begin -->\n**The core**")
    assert text.endswith("\n\nAfter.\n")
    row = labs_table(built.project).splitlines()[4]
    assert row == (
        "| [**01 · Doubling**](labs/01_doubling.ipynb)<br>You will double numbers, and they stay "
        "doubled. | 40 min | double a number · say why | `maths.py` |"
    )
    assert stale_of(built) == []


def test_what_explains_an_exercise_is_kept_for_who_has_passed_it(built) -> None:
    (file,) = built.root.rglob("explanations.json")
    assert json.loads(file.read_text("utf-8")) == {"1.3": "The answer was in the question."}
    file.write_text("{}", encoding="utf-8")
    assert any("explanations.json" in one for one in stale_of(built))
