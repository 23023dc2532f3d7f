"""What the mistake was: the explanation of an exercise, shown once its check has passed."""

from __future__ import annotations

import json
from pathlib import Path

from course_lib.teaching import checks
from course_lib.teaching.lab.own import notebook_shell

EXPLANATIONS = Path(checks.__file__).with_name("explanations.json")
"""Built from the labs' sources by `make build`."""


def explanation(exercise_id: str) -> str:
    """Return the explanation of an exercise in Markdown; empty where it has none.

    Examples
    --------
    >>> "mistake to remember" in explanation("7.2")
    True
    """
    found: dict[str, str] = json.loads(EXPLANATIONS.read_text(encoding="utf-8"))
    return found.get(exercise_id, "")


def show_explanation(exercise_id: str) -> None:
    """Show the explanation below the check; does nothing outside of a notebook."""
    text = explanation(exercise_id)
    if text and notebook_shell() is not None:
        from IPython.display import Markdown, display

        display(Markdown(text))
