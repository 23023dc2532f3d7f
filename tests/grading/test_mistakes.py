"""A mistake costs points once: a later exercise gets the library's function in its place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat

from course_lib.settings import project_root
from course_lib.teaching.grade import Limits, Report, read_master

CACHED_STEP = """from kfp import kubernetes

from course_lib.pipeline.pipelines import DATABASE_SECRET


def with_database(task):
    task.set_retry(num_retries=3, backoff_duration="2s", backoff_factor=3)
    task.set_memory_request("512Mi").set_memory_limit("2Gi")
    return kubernetes.use_secret_as_env(task, DATABASE_SECRET, {"DATABASE_URL": "DATABASE_URL"})
"""
"""An answer to 11.3 without a line: the step may come from the cache."""

SPLIT = "from course_lib.pipeline.components import split_documents"
"""What the lab has made before, of the answer to 11.1."""

WANTED = ("setup", "exercise-11-3", "check-11-3", "exercise-11-4", "check-11-4")


def part_of_lab_11(path: Path) -> Any:
    """Return the cells of a lab that judge `with_database` and `docs_pipeline`."""
    notebook = nbformat.read(path, as_version=4)
    handed_out = [cell for cell in notebook.cells if 'lab.use("with_database")' in cell.source]
    [between] = handed_out
    ids = [cell.id for cell in notebook.cells]
    assert ids.index("check-11-3") < ids.index(between.id) < ids.index("exercise-11-4")
    between.source = f"{SPLIT}\n\nwith_database = lab.use('with_database')"
    kept = [cell for cell in notebook.cells if cell.id in WANTED or cell is between]
    kept[0].source = 'from course_lib.teaching import start\n\nlab = start("11")'
    return nbformat.from_dict({**notebook, "cells": kept})


def test_a_wrong_setting_of_a_step_costs_nothing_in_the_pipeline(
    graded: Callable[..., Report],
) -> None:
    solution = project_root() / "solutions" / "11_kubeflow_pipeline.ipynb"
    right = {cell.grade_id: cell.source for cell in read_master(solution, lab="11").answers}
    wrong = {**right, "exercise-11-3": CACHED_STEP}
    limits = Limits(cell=60, budget=240)  # the first cell that imports kfp takes seconds
    book = graded({"right": right, "wrong": wrong}, part_of_lab_11(solution), limits=limits)
    points = {one.learner: [mark.points for mark in one.marks] for one in book.grades}
    assert points == {"right": [2, 3], "wrong": [1, 3]}, book.grades
