"""Faults of the grader's own: a submission is tried again, and nobody else notices."""

import gc
import sys
import threading
from typing import Any

import pytest

from course_lib.teaching.grade import grader
from course_lib.teaching.grade.run import FAILED
from course_lib.teaching.notebooks.cells import parse_code, parsed
from tests.grading.classroom import RIGHT

BOB = RIGHT | {"double": "def double(x):\n    return x * 2"}


def fail_on_bob(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Have the grader fail so many times on bob's answer."""
    merge, left = grader.merge, [times]

    def failing(master: Any, cells: Any) -> Any:
        if left[0] and any(one.source == BOB["double"] for one in cells):
            left[0] -= 1
            raise SystemError("AST constructor recursion depth mismatch (before=18, after=15)")
        return merge(master, cells)

    monkeypatch.setattr(grader, "merge", failing)


def test_what_the_grader_failed_on_is_tried_once_more_by_itself(graded, monkeypatch) -> None:
    fail_on_bob(monkeypatch, 1)
    book = graded({"ada": RIGHT, "bob": BOB})
    assert [(one.learner, one.score, one.notes) for one in book.grades] == [
        ("ada", 10, ()), ("bob", 10, ()),
    ]  # fmt: skip


def test_a_run_that_resumes_grades_what_the_grader_failed_on(graded, monkeypatch) -> None:
    fail_on_bob(monkeypatch, 2)
    ada, bob = graded({"ada": RIGHT, "bob": BOB}).grades
    assert ada.score == 10 and bob.status == "needs a person"
    assert bob.notes[0].startswith(f"{FAILED}: SystemError: AST constructor")
    again = graded({}, resume=True).grades
    assert again[0] == ada and (again[1].score, again[1].status) == (10, "graded")
    assert graded({}, resume=True).grades == again


def test_notebooks_are_parsed_in_threads_without_a_fault_of_pythons(monkeypatch) -> None:
    """Threads that change places while a tree is made: without a lock, some of them fail."""
    source = "\n".join(f"def f{n}(x):\n    return [x + {n} for x in (1,) if x]" for n in range(50))
    faults = list[str]()

    def work() -> None:
        for _ in range(40):
            try:
                assert len(parsed(source).body) == len(parse_code(source).body) == 50
            except SystemError as error:
                faults.append(str(error))

    def change_places(*_: Any) -> None:
        for _ in range(50):
            pass

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    threads = [threading.Thread(target=work) for _ in range(3)]
    gc.callbacks.append(change_places)
    try:
        sys.setswitchinterval(1e-6)
        gc.set_threshold(50)
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
        gc.callbacks.remove(change_places)
    assert faults == []
