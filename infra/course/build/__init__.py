'''From `solutions/NN_name.py` and the library to the notebooks: `make build`.

A lab's source is a Python file in jupytext's percent format; this is what the builder reads in it.

**Head.** The first cell is text. Its first line is ``# NN · Title``, the first paragraph after it
is the promise, and it holds the table ``| You will be able to | Time | Needs |`` with one row:
objectives separated by `` · ``, and ``about {minutes} min``, which `times` works out. An elective
(`CORE` in `course_lib/teaching/notebooks/project.py` names the others) has a paragraph more,
``**Elective.** …``: what it adds, and for whom. README's tables are made of these. What a lab
builds is worked out from its exercises; a column ``Builds`` in the table says it instead
(``Builds`` of lab 00: ``the finished system``).

**Roles.** A cell tagged ``parameters`` is papermill's. The cell that calls ``start(…)`` is the
set-up. The cell that calls ``lab.check("1.1", …)`` is the check of exercise 1.1 (one check a cell).
Tags go through to the notebook: ``nbval-check-output`` for a cell whose output nbval compares
(deterministic: no times, no widgets), ``raises-exception`` for one that is meant to fail,
``solution`` for a cell (mostly text) that only the solution has, ``claim`` for one that only the
solution runs, too: right after an output, it asserts of the values what the prose says of them::

    # %% tags=["claim"]
    assert torn > len(cuts) / 2, "Most cuts go through a word"

**Exercises.** ``# %% exercise="1.1"`` above one line ``from course_lib.loader.recursive import
find_cut`` shows that function: whole in the solution, signature and docstring in the lab. What it
needs (imports, constants, helpers, records) is imported on top of the cell, unless an earlier
exercise of the lab defines it: then the learner's own is used.
The name may also be a constant with a text of SQL, or one that is read from a file `.sql` beside
the module: the cell shows the text whole, and the lab the comment at its head and
``-- YOUR SQL HERE``. Comments in the source's cell give more of it: ``# Given up to:`` a line,
``# Given from:`` the beginning of a line, ``# Given lines:`` what lines between them match. A
function under ``@dsl.pipeline`` is shown without its decorator, because kfp would run a stub at
once.
Anything else that a learner writes is a function whose body is between the markers::

    # %% exercise="5.1"
    def table() -> str:
        """Return the statement that creates the table."""
        ### BEGIN SOLUTION
        return "CREATE TABLE chunks (...)"
        ### END SOLUTION

**Links.** Notebooks are read from `labs/`, `solutions/` and `my/`: write
``[chunk](../labs/GLOSSARY.md#chunk)``.

What must not be wrong with a lab is in `anatomy.py` (`broken_rules`). The budgets of our labs, in
`rules.py`, and hard phrases, in `plain_words.py`, are `advice`: the build says it, as `make test`
does, and nothing is refused for it.
'''

from infra.course.build.builder import Built, build_labs, check_labs, stale_notebooks
from infra.course.build.rules import advice, broken_rules

__all__ = [
    "Built",
    "advice",
    "broken_rules",
    "build_labs",
    "check_labs",
    "stale_notebooks",
]
