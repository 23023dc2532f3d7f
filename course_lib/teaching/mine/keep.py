"""Keeping what passed its check: a notebook's function goes in, a section of `my/system/` out."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from course_lib.settings import project_root
from course_lib.teaching.checks import Exercise, load
from course_lib.teaching.copies import MINE
from course_lib.teaching.mine.sections import KeptAnswer, read_sections, sections_of
from course_lib.teaching.mine.source import NoSourceError, source_of

FOLDER = "system"
"""Beside the learner's notebooks: where the functions are kept."""

HEADING = '''"""What you wrote for the stage `{room}`, kept when its check passed.

Each section can be used alone: `course mine` runs it in the place of the library's function. When
its check passes again, it is written again.
"""'''


def system_folder() -> Path:
    """Return where the learner's functions are kept."""
    return project_root() / MINE / FOLDER


@cache
def all_exercises() -> dict[str, Exercise]:
    """Return the exercises of all labs whose answer is a function of the library, by id."""
    labs = (load(number) for number in range(100))
    return {one.id: one for lab in labs for one in lab.values() if one.library}


def kept(folder: Path) -> dict[str, KeptAnswer]:
    """Return what is kept for the exercises that there are, by their ids, in their order."""
    found = {one.place: one for one in read_sections(folder)}
    exercises = all_exercises().values()
    return {one.id: found[str(one.library)] for one in exercises if one.library in found}


def keep(
    exercise: Exercise, given: Any, folder: Path, check: Callable[[Callable[..., Any]], None]
) -> str:
    """Keep a function whose check passed, and return a line that says so, or why not.

    Parameters
    ----------
    exercise
        Which exercise.
    given
        The learner's function.
    folder
        Where functions are kept.
    check
        Raises where a function is not right: what is kept has to pass by itself, too.
    """
    if not exercise.library:
        return ""
    path = folder / f"{exercise.room}.py"
    new = path.with_suffix(".new")
    try:
        text = _section(exercise, given)
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            others = [one for one in sections_of(path) if one.place != exercise.library]
            texts = {_order(one.exercise): one.text.strip() for one in others}
            texts[_order(exercise.id)] = text
            parts = [HEADING.format(room=exercise.room), *(texts[at] for at in sorted(texts))]
            new.write_text("\n\n\n".join(parts) + "\n", encoding="utf-8")
            try:
                check(next(one for one in sections_of(new) if one.place == exercise.library).load())
                os.replace(new, path)
            finally:
                new.unlink(missing_ok=True)
    except NoSourceError as why:
        return f"not kept in my/{FOLDER}: {why}"
    except OSError as error:
        return f"not kept in my/{FOLDER}: {error.strerror or error}"
    except Exception as error:
        first = str(error).strip().split("\n")[0]
        return f"not kept in my/{FOLDER}: outside of this notebook it does not pass ({first})"
    return (
        f"kept in my/{FOLDER}/{path.name}: "
        f"{len(kept(folder))} of {len(all_exercises())} functions are yours"
    )


def _section(exercise: Exercise, given: Any) -> str:
    module, _, name = str(exercise.library).partition(":")
    places = {one.name: str(one.library) for one in load(exercise.lab).values() if one.library}
    return (
        f"# %% {exercise.id} {name} · lab {exercise.lab} · {datetime.date.today()}\n"
        f"# in the place of {module}.{name}\n\n{source_of(given, name, places)}"
    ).strip()


def _order(exercise_id: str) -> tuple[int, ...]:
    return tuple(map(int, exercise_id.split(".")))
