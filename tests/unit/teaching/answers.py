"""Known answers to the labs' exercises, wrong and right: one book a lab, `answers/labNN.md`.

Below the heading of an exercise, an answer is one of these::

    - rfind → find ‖ > floor → >= floor ⇒ (2) the last one that fits
    - if fits:…return cut → below ⇒ right: one line
        return cut if fits else limit
    - whole ⇒ (0) the strongest separator
        def find_cut(text, start, limit):
            ...

First the course's own version with some of its text replaced (`⏎` is a line end, `a…b` what begins
with `a` and ends with the next `b`, `below` the lines below), then a whole answer, of which the
last definition counts. It knows the names of the course's module, and the course's version where
its own name is another.
After `⇒` come the points that it gets, and words that the message has to hold; `right: …` stands
for an answer in that other style, which passes; `- above` is shared by the whole answers below it.
"""

from __future__ import annotations
import __future__

import ast
import importlib
import inspect
import linecache
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

from course_lib.teaching.checks import Exercise, load
from course_lib.teaching.lab import reference
from course_lib.teaching.lab.reference import solution_path
from course_lib.teaching.taught import function_of

FLAGS = __future__.annotations.compiler_flag
BOOKS = Path(__file__).with_name("answers")


class Answer(NamedTuple):
    """An answer of a book; `words` is empty for a right one."""

    exercise: Exercise
    label: str
    text: str
    words: str
    points: int
    is_edit: bool

    @property
    def lab(self) -> str:
        """Two digits."""
        return self.exercise.id.split(".")[0].zfill(2)

    def made(self) -> Any:
        """Return the answer, as new as from a cell."""
        course = reference.reference(self.lab, self.exercise)
        if isinstance(course, str) and self.is_edit:
            return _replaced(course, self.text)
        names = {**course.__globals__} if self.is_edit else dict(_names_above(self.exercise.id))
        names["__name__"] = "cell"
        file = f"<{self.label}>"
        code = source_of(course, self.text) if self.is_edit else self.text
        if not self.is_edit and self._defined(code) != self.exercise.name:
            names[self.exercise.name] = course
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        # kfp and pydantic want types for annotations
        flags = 0 if {"dsl", "BaseModel"} & names.keys() else FLAGS
        exec(compile(code, file, "exec", flags, dont_inherit=True), names)
        return names[self._defined(code)]

    def cell(self, solution: str) -> str:
        """Return the text of a cell with the answer, of which the solution's cell is given."""
        course, name = reference.reference(self.lab, self.exercise), self.exercise.name
        if isinstance(course, str):
            code = f"{name} = {_replaced(course, self.text)!r}" if self.is_edit else self.text
            return code
        code = source_of(course, self.text) if self.is_edit else self.text
        module = (self.exercise.library or "").partition(":")[0]
        above = f"import {module} as _m\nglobals().update({{**vars(_m), **globals()}})\n"
        last, below = self._defined(code), ""
        if last != name:  # what it calls by this name is the course's
            code = f"_{name} = {name}\n" + re.sub(rf"\b{name}\b", f"_{name}", code)
            below = f"\n{name} = {last}"
        return f"{solution}\n{above if module else ''}{code}{below}"

    def _defined(self, code: str) -> str:
        *_, last = ast.parse(code).body
        return self.exercise.name if isinstance(last, ast.Assign) else last.name  # type: ignore


def answers_of(lab: str) -> Iterator[Answer]:
    """Yield the answers of a lab's book."""
    path = BOOKS / f"lab{lab}.md"
    book = path.read_text(encoding="utf-8") if path.exists() else ""
    for section in re.split(r"^# ", book, flags=re.M)[1:]:
        exercise, above = load(lab)[section.split()[0]], ""
        for number, block in enumerate(re.split(r"^- ", section, flags=re.M)[1:], 1):
            head, _, code = block.partition("\n")
            text, _, then = head.rpartition(" ⇒ ")
            code, has_code = dedent(code), text == "whole" or text.endswith(" → below")
            if head == "above":
                above = code
                continue
            found = re.fullmatch(r"right(?:: .*)?|\((\d+)\) (.*)", then)
            if not found or bool(code.strip()) != has_code:
                raise ValueError(f"{path.name}, {exercise.id}: {head!r} is no answer")
            points, words = found.groups(default="")
            is_edit = text != "whole"
            given = text.removesuffix("below") + code.strip() if is_edit else above + code
            label = f"{exercise.id}-{number}"
            yield Answer(exercise, label, given, words, int(points or 0), is_edit)


def source_of(course: Any, edits: str) -> str:
    """Return the source of the course's version with pieces of it replaced, without docstring."""
    function = function_of(course)
    source = inspect.getsource(function)
    node: Any = ast.parse(source).body[0]
    lines = source.splitlines(keepends=True)
    first = node.lineno - 1 if "@dsl." in source else 0
    docstring = node.body[0]
    kept = lines[first : docstring.lineno - 1] + lines[docstring.end_lineno :]
    return _replaced("".join(kept), edits)


def _replaced(text: str, edits: str) -> str:
    for edit in edits.split(" ‖ "):
        piece, _, other = edit.partition(" → ")
        begin, gap, end = piece.replace("⏎", "\n").partition("…")
        assert begin in text, f"there is no {begin!r} any more"
        start = text.index(begin)
        last = text.index(end, start + len(begin)) + len(end) if gap else start + len(begin)
        column = start - text.rfind("\n", 0, start) - 1
        other = other.replace("\n", "\n" + " " * column).replace("⏎", "\n")
        text = text.replace(text[start:last], other)
    return text


@cache
def _names_above(exercise_id: str) -> dict[str, Any]:
    lab = exercise_id.split(".")[0].zfill(2)
    exercise, names = load(lab)[exercise_id], dict[str, Any]()
    if exercise.library:
        module = importlib.import_module(exercise.library.partition(":")[0])
        names |= {name: value for name, value in vars(module).items() if name != exercise.name}
    source = solution_path(lab).read_text(encoding="utf-8")
    return names | reference.names_above(source, exercise) | {"__name__": "cell"}
