"""What a person reads of a run: intervals where they say something, and what was left out."""

from __future__ import annotations

from dataclasses import replace

from course_lib.evaluation import Question, Run
from course_lib.evaluation.report import comparison_lines
from course_lib.evaluation.runs import Ranking


def run(name: str, **places: list[int]) -> Run:
    """Return a run that found each kind's files at these places, 0 for not at all."""
    answers = []
    for kind, found in places.items():
        for number, place in enumerate(found):
            question = Question(f"{kind}{number}", f"{number}?", kind, ("a.md",))
            files = [f"{n}.md" for n in range(10)]
            if place:
                files[place - 1] = "a.md"
            answers.append(Ranking(question, tuple(files), ()))
    return Run(name, tuple(answers))


def comparison(before: Run, after: Run) -> str:
    return "\n".join(comparison_lines(before, after))


def test_a_comparison_of_few_questions_has_no_interval_and_is_undecided() -> None:
    old, new = run("old", few=[2, 2, 2], same=[2] * 9), run("new", few=[1, 1, 1], same=[1] * 9)
    few, same = comparison(old, new).splitlines()[1:]
    assert "+0.500 (n is too small for an interval), questions better: 3" in few
    assert "+0.500 (every question changed by the same" in same
    assert few.endswith("undecided") and same.endswith("undecided") and "[" not in few + same
    old, new = run("old", many=[2] * 9 + [1]), run("new", many=[1] * 10)
    assert comparison(old, new).rstrip().endswith("worse: 0; better")


def test_a_label_that_was_mended_is_no_change_of_the_search() -> None:
    before = run("kept", docs=[1, 1, 1, 2])
    after = Run("new", tuple(
        replace(one, question=replace(one.question, gold_paths=("4.md",))) for one in before.answers
    ))  # fmt: skip
    told = comparison(before, after)
    assert "better: 0, worse: 0" in told
    assert "judged again: 4 of the questions have other right answers" in told
    assert "judged again" not in comparison(before, before)
