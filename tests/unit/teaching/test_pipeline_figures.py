"""Reading a compiled pipeline, and drawing it and its runs."""

from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.pipeline.local import Attempt, LocalRun
from course_lib.teaching.lab.dag import read_dag
from course_lib.teaching.lab.figures import attempts

NOWHERE = Path("nowhere")


def test_what_is_no_pipeline_is_refused():
    with pytest.raises(InputError, match="not a compiled pipeline"):
        read_dag({"components": {}})


def test_a_run_is_told_by_task_and_attempt():
    run = LocalRun(
        NOWHERE,
        NOWHERE,
        (
            Attempt("split[0]", "succeeded", 0.0, 1.0),
            Attempt("split[1]", "failed", 0.0, 0.5, "Traceback\nOSError: the disk is full\n"),
            Attempt("split[1]", "succeeded", 0.5, 0.5),
            Attempt("read", "cached"),
            Attempt("store", "failed"),
        ),
        seconds=1.0,
    )
    assert str(run).splitlines() == [
        "read      cached",
        "split[0]  succeeded",
        "split[1]  failed     OSError: the disk is full",
        "split[1]  succeeded",
        "store     failed     ended without a word",
        "finished",
    ]
    assert "split[1] failed; split[1] succeeded" in attempts(run, "A run").alt


def test_a_run_of_nothing_is_not_drawn():
    with pytest.raises(InputError, match="Nothing ran"):
        attempts(LocalRun(NOWHERE, NOWHERE))
