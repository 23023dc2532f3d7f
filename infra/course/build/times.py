"""How long a lab takes: an estimate from its words, cells and exercises.

No class has been timed yet. The rates are for somebody who reads English as a second language and
has not done this before, and are rounded: careful reading of prose goes at little more than half
the 238 words a minute of adults who read in their first language (M. Brysbaert, "How many words do
we read per minute?", Journal of Memory and Language 109, 2019); the others are plain guesses. When
a class has been timed, change the rates here.
"""

from __future__ import annotations

from collections.abc import Sequence

from infra.course.build.source import code_lines

WORDS_A_MINUTE = 130
SECONDS_A_CELL = 30
"""To run a cell of code and look at what it shows."""

SECONDS_A_LINE = 4
"""To read a line of code that is there already."""

MINUTES_AN_EXERCISE = 5
"""To understand what is asked for, and to read what the check says."""

SECONDS_A_LINE_OF_AN_ANSWER = 30


def minutes_of(prose: Sequence[str], code: Sequence[str], answers: Sequence[str]) -> int:
    r"""Return how many minutes a lab takes, to the nearest five.

    Parameters
    ----------
    prose
        The text cells.
    code
        The cells of code that are there already, checks among them.
    answers
        The cells that the learner completes, with the answers of the course.

    Examples
    --------
    >>> minutes_of(["word " * 1300], ["x = 1"] * 20, ["def f():\n    return 1"] * 2)
    35
    """
    seconds = (
        sum(len(text.split()) for text in prose) * 60 / WORDS_A_MINUTE
        + len(code) * SECONDS_A_CELL
        + sum(map(code_lines, code)) * SECONDS_A_LINE
        + len(answers) * MINUTES_AN_EXERCISE * 60
        + sum(map(code_lines, answers)) * SECONDS_A_LINE_OF_AN_ANSWER
    )
    return 5 * round(seconds / 300)
