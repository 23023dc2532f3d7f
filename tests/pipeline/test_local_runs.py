"""What a lab sees of a run: errors, and an untouched notebook after it.

That a killed task is tried again, and what comes from the cache, lab 11 claims of a whole pipeline.
"""

import builtins
import logging
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.pipeline.catalogue import PipelineError
from course_lib.pipeline.local import run_locally
from course_lib.pipeline.remote import submit

pytest.importorskip("kfp")

from kfp import dsl
from kfp.dsl import Dataset, Input, Output

from tests.waiting import is_alive

IMAGE = "python:3.13-slim"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kfp runs its components in a POSIX shell")


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def write_number(number: str, file: Output[Dataset]):
    pass


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def join(parts: Input[list[Dataset]], all_of_them: Output[Dataset]):
    pass


@dsl.pipeline(name="numbers")
def numbers(of: list[str]) -> Dataset:
    with dsl.ParallelFor(of, parallelism=2) as number:
        part = write_number(number=number)
    return join(parts=dsl.Collected(part.outputs["file"])).outputs["all_of_them"]


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def fail():
    raise ValueError("no such thing")


def test_what_a_step_would_refuse_is_refused_before_the_run(tmp_path: Path):
    """On a cluster it costs minutes, and a fan-out over no shards has no good end there."""
    for shards in (0, -1, 1001):
        with pytest.raises(InputError, match=f"shards is {shards}"):
            run_locally("docs_pipeline", {"shards": shards}, root=tmp_path)
        with pytest.raises(InputError, match=f"shards is {shards}"):
            submit("docs_pipeline", {"shards": shards}, host="http://127.0.0.1:1")
    with pytest.raises(InputError, match="chunk_overlap is 64"):
        run_locally("code_pipeline", {"chunk_size": 64}, root=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_failed_run_is_a_result_and_leaves_print_and_logging_as_they_were(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    logger = logging.getLogger()
    before = builtins.print, logger.level, logger.handlers[:], logger.filters[:], sys.stdout
    run = run_locally(fail, root=tmp_path)
    assert [attempt.error for attempt in run.attempts] == ["ValueError: no such thing"]
    assert "finished with status FAILURE" in run.error
    with pytest.raises(PipelineError, match="the step fail failed: no such thing"):
        run.check()
    after = builtins.print, logger.level, logger.handlers[:], logger.filters[:], sys.stdout
    assert after == before
    assert capsys.readouterr() == ("", "")


def test_a_loop_over_nothing_is_an_error_and_no_crash(tmp_path: Path):
    assert "not found" in run_locally(numbers, {"of": []}, root=tmp_path).error


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def write_words(words: str, file: Output[Dataset]) -> int:
    from pathlib import Path

    Path(file.path).write_text(words, encoding="utf-8")
    return len(words.split())


def test_tasks_run_where_folders_have_spaces_and_quotes_in_their_names(tmp_path, monkeypatch):
    home = tmp_path / "a learner's $HOME & more"
    home.mkdir()
    python = home / "python3"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", os.fspath(python))
    run = run_locally(write_words, {"words": "three short words"}, root=home)
    assert str(run) == "write-words  succeeded\nfinished"
    assert run.outputs["Output"] == 3
    written = Path(run.outputs["file"].path)
    assert written.is_relative_to(home)
    assert written.read_text(encoding="utf-8") == "three short words"


SLEEPING = """
import sys
from kfp import dsl
from course_lib.pipeline.local import run_locally

@dsl.component(base_image="python:3.13-slim", install_kfp_package=False)
def sleep(started: str):
    import os, time
    with open(started, "a") as file:
        print(os.getpid(), file=file, flush=True)
    time.sleep(60)

@dsl.pipeline(name="sleepers")
def sleepers(started: str, numbers: list[int] = [1, 2]):
    with dsl.ParallelFor(numbers, parallelism=2):
        sleep(started=started).set_retry(num_retries=3)

run_locally(sleepers, {"started": sys.argv[1]}, root=sys.argv[2])
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_ends_its_steps_and_starts_none_again(tmp_path: Path, number: int):
    started, program = tmp_path / "started", tmp_path / "program.py"
    program.write_text(SLEEPING, encoding="utf-8")
    run = subprocess.Popen(
        [sys.executable, program, started, tmp_path / "runs"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        while len(steps := pids(started)) < 2:
            assert run.poll() is None, run.stdout and run.stdout.read()
            time.sleep(0.1)
        # As a terminal does: Ctrl-C goes to the whole group, a SIGTERM to one process.
        (os.killpg if number == signal.SIGINT else os.kill)(run.pid, number)
        assert run.wait(30) != 0
        assert pids(started) == steps
        assert not any(map(is_alive, steps))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.communicate()


def pids(file: Path) -> list[int]:
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return [int(line) for line in text.split()]
