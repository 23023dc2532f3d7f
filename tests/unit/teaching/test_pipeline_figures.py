"""What the figure of a run says."""

from pathlib import Path

from course_lib.pipeline.local import Attempt, LocalRun
from course_lib.teaching.lab.figures import attempts

NOWHERE = Path("nowhere")


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
    told = attempts({"A run": run}).alt
    assert "split[1] failed, split[1] tried again, read cached, store failed" in told
