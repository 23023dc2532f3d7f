"""The listener of lab 11 kills one process of the step that it was made for, and no other."""

import subprocess
import sys

from course_lib.teaching.lab.accidents import kill_first


def _step(function: str) -> "subprocess.Popen[bytes]":
    sleep = "import time; time.sleep(60)"
    return subprocess.Popen([sys.executable, "-c", sleep, "kfp.dsl.executor_main", function])


def test_the_first_process_of_a_step_is_killed_and_no_other() -> None:
    victim, other = _step("embed_and_store"), _step("split_documents")
    on_event = kill_first("embed-and-store")
    try:
        on_event("started", "split-documents", 0)
        on_event("succeeded", "embed-and-store", 0)
        assert victim.poll() is None, "another event and another step change nothing"
        on_event("started", "embed-and-store", 0)
        assert victim.wait(timeout=20) != 0
        second = _step("embed_and_store")
        on_event("started", "embed-and-store", 0)
        try:
            second.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            pass
        assert second.poll() is None and other.poll() is None
        second.kill()
        second.wait()
    finally:
        for process in (victim, other):
            process.kill()
            process.wait()
