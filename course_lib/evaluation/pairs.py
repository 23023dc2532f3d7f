"""Pairs: two runs go in, and what both of them asked comes out, so that they can be compared.

Who measures a part of the questions again, or another corpus beside it, compares what was asked
twice, and is told what was not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from course_lib.errors import InputError
from course_lib.evaluation.questions import Question
from course_lib.evaluation.runs import Run


def in_both(before: Run, after: Run) -> tuple[Run, Run]:
    """Return two runs without the questions that one of them did not ask, in the second's order.

    A question is the same where its id, its kind and its wording are. Both runs are judged by what
    the second one takes for right: a label that was mended in between does not change the search.

    Examples
    --------
    >>> from course_lib.evaluation.runs import Answer
    >>> asked = [Question(name, "?", "docs", ("a.md",)) for name in "abc"]
    >>> answers = [Answer(question, (), ()) for question in asked]
    >>> old, new = in_both(Run("old", tuple(answers[:2])), Run("new", tuple(answers[:0:-1])))
    >>> [one.question.id for one in old.answers], [one.question.id for one in new.answers]
    (['b'], ['b'])
    """
    earlier = {_same(answer.question): answer for answer in before.answers}
    later = [answer for answer in after.answers if _same(answer.question) in earlier]
    return (
        Run(
            before.name,
            tuple(
                replace(earlier[_same(answer.question)], question=answer.question)
                for answer in later
            ),
        ),
        Run(after.name, tuple(later)),
    )


def only_in_first(one: Run, other: Run) -> dict[str, int]:
    """Return how many questions of each kind only the first of two runs asked.

    Examples
    --------
    >>> from course_lib.evaluation.runs import Answer
    >>> asked = [Question(name, "?", "docs", ("a.md",)) for name in "abc"]
    >>> answers = [Answer(question, (), ()) for question in asked]
    >>> only_in_first(Run("old", tuple(answers)), Run("new", tuple(answers[:1])))
    {'docs': 2}
    """
    known = {_same(answer.question) for answer in other.answers}
    return dict(
        Counter(
            answer.question.kind for answer in one.answers if _same(answer.question) not in known
        )
    )


def relabelled(before: Run, after: Run) -> int:
    """Return how many of the questions that both asked have other right answers by now.

    Examples
    --------
    >>> from course_lib.evaluation.runs import Answer
    >>> one, other = (Question("a", "?", "docs", (path,)) for path in ("a.md", "b.md"))
    >>> relabelled(Run("old", (Answer(one, (), ()),)), Run("new", (Answer(other, (), ()),)))
    1
    """
    earlier = {_same(answer.question): answer.question for answer in before.answers}
    return sum(
        _right(earlier[_same(answer.question)]) != _right(answer.question)
        for answer in after.answers
        if _same(answer.question) in earlier
    )


def check_comparable(before: Run, questions: Iterable[Question]) -> None:
    """Refuse to compare with a run that asked none of these questions.

    Raises
    ------
    InputError
        If none of them is in it.
    """
    if not {_same(answer.question) for answer in before.answers} & set(map(_same, questions)):
        raise InputError(
            "the kept run asked none of these questions, so there is nothing to compare",
            hint="A question is the same where its id, its kind and its wording are: compare with "
            "a run of the same file of questions and the same corpora.",
        )


def _same(question: Question) -> tuple[str, str, str]:
    return question.id, question.kind, question.question


def _right(question: Question) -> tuple[object, ...]:
    return question.gold_paths, question.gold_resources, question.also_acceptable_paths
