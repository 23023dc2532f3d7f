"""How long a lab takes: an estimate from its words, code, outputs and exercises.

No class has been timed yet. The rates are for somebody who reads English as a second language and
has not done this before, and are rounded: careful reading goes at less than half the 238 words a
minute of adults who read in their first language (M. Brysbaert, "How many words do we read per
minute?", Journal of Memory and Language 109, 2019). Ten lines of code a minute are 600 an hour; who
reviews code is advised to read at most 500 (J. Cohen, "Best Kept Secrets of Peer Code Review",
2006), and here the prose explains it. The others are plain guesses. When a class has been timed
(`course class report`), change them here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from textwrap import dedent

from course_lib.teaching.notebooks.cells import BEGIN, END, SQL_BEGIN, SQL_END, parse_code
from infra.course.build.source import code_lines

WORDS_A_MINUTE = 110
LINES_OF_CODE_A_MINUTE = 10
"""To read code that is given."""

MINUTES_A_CELL = 0.5
"""To run a cell of code and look at what it shows."""

MINUTES_AN_EXERCISE = 10
"""To understand what is asked for, and to read what the check says."""

MINUTES_A_LINE_OF_AN_ANSWER = 1


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
    >>> minutes_of(["word " * 1100], ["x = 1"] * 20, ["def f():\n    return 1"] * 2)
    40
    >>> minutes_of(["word " * 1100], ["x = 1\ny = 2\nz = 3"] * 20, ["def f():\n    return 1"] * 2)
    45
    """
    words = sum(len(text.split()) for text in [*prose, *map(docstrings, answers)])
    minutes = (
        words / WORDS_A_MINUTE
        + sum(map(code_lines, code)) / LINES_OF_CODE_A_MINUTE
        + len(code) * MINUTES_A_CELL
        + len(answers) * MINUTES_AN_EXERCISE
        + sum(code_lines(written(text)) for text in answers) * MINUTES_A_LINE_OF_AN_ANSWER
    )
    return 5 * round(minutes / 5)


def written(cell: str) -> str:
    """Return what a learner writes in an exercise's cell: what is between nbgrader's markers."""
    begin, end = (SQL_BEGIN, SQL_END) if SQL_BEGIN in cell else (BEGIN, END)
    parts = [part.partition(end)[0].strip("\n") for part in cell.split(begin)[1:]]
    answer = dedent("\n".join(parts))
    return answer if begin == BEGIN else re.sub(r"^ *--.*\n?", "", answer, flags=re.MULTILINE)


def docstrings(cell: str) -> str:
    """Return the docstrings of a cell of code."""
    nodes = ast.walk(parse_code(cell) or ast.Module([], []))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return "\n".join(ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds))
