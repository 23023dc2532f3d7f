"""What a lab adds to the learner's own system: a line in its recap, made of its exercises."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course_lib.teaching.checks import Exercise

RECAP = re.compile(r"^## Recap\n.*?(?=\s*(?:^## |\Z))", re.MULTILINE | re.DOTALL)


def add_kept(text: str, exercises: Iterable[Exercise]) -> str:
    r"""Return a cell's text; where it holds the recap, with what passed checks have added.

    Examples
    --------
    >>> from course_lib.teaching.checks import load
    >>> print(add_kept("## Recap\n\n- Cut.\n\n## Questions", load("01").values()))
    ## Recap
    <BLANKLINE>
    - Cut.
    - What passed is part of your own system now, and `course mine` runs it: `find_cut` and `split_text` in `my/system/loader.py`.
    <BLANKLINE>
    ## Questions
    """  # noqa: E501
    files: dict[str, list[str]] = {}
    for one in exercises:
        if one.room:
            files.setdefault(one.room, []).append(f"`{one.name}`")
    kept = _listed([f"{_listed(names)} in `my/system/{room}.py`" for room, names in files.items()])
    line = f"\n- What passed is part of your own system now, and `course mine` runs it: {kept}."
    return RECAP.sub(lambda found: found[0] + line, text, count=1) if kept else text


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
