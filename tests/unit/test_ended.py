"""A command that is ended takes along what it has started."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.waiting import is_alive

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of its own, with one lab."""
    for name in ("labs", "solutions"):
        (tmp_path / name).mkdir()
        for file in (ROOT / name).glob("00_*"):
            shutil.copy(file, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    return tmp_path


@contextmanager
def running(checkout: Path, *words: str) -> Iterator[psutil.Popen]:
    """Start `course …` there; whatever is left of it is killed at the end."""
    given = os.environ | {"COURSE_ROOT": str(checkout), "COURSE_STATE": str(checkout / "state")}
    given |= {"JUPYTER_RUNTIME_DIR": str(checkout / "jupyter"), "PYTHONPATH": str(ROOT)}
    with (checkout / "said").open("w") as said:
        process = psutil.Popen(
            [sys.executable, "-c", "from course_lib.cli import main; main()", *words],
            env=given, stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def until(found: Callable[[], list[Any]], process: psutil.Popen, said: Path) -> list[Any]:
    """Wait until something is there, as long as the command lives, and return it."""
    deadline = time.monotonic() + 90
    while not (result := found()):
        is_alive_still = process.poll() is None and time.monotonic() < deadline
        assert is_alive_still, said.read_text(encoding="utf-8")
        time.sleep(0.05)
    return result


def ends_with_its_family(process: psutil.Popen) -> bool:
    """Send SIGTERM to a command alone, and return whether its descendants end, too."""
    family = process.children(recursive=True)
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    deadline = time.monotonic() + 30
    while any(is_alive(one.pid) for one in family) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(is_alive(one.pid) for one in family)


def started_kernel(checkout: Path) -> list[Any]:
    """Ask the JupyterLab of a checkout for a kernel; nothing as long as it does not answer."""
    for note in (checkout / "jupyter").glob("jpserver-*.json"):
        with suppress(OSError, ValueError):
            server = json.loads(note.read_text(encoding="utf-8"))
            token = {"Authorization": f"token {server['token']}"}
            asked = urllib.request.Request(f"{server['url']}api/kernels", b"{}", token)
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return [answer.status]
    return []


def test_jupyterlab_and_its_kernels_end_with_course_lab(checkout: Path) -> None:
    with running(checkout, "lab", "--no-browser", "--port", "0") as process:
        assert until(lambda: started_kernel(checkout), process, checkout / "said") == [201]
        assert until(lambda: process.children(recursive=True), process, checkout / "said")
        assert ends_with_its_family(process)


def test_a_lab_that_runs_ends_with_course_run(checkout: Path) -> None:
    with running(checkout, "run", "00") as process:
        assert until(lambda: process.children(recursive=True), process, checkout / "said")
        assert ends_with_its_family(process)
        assert process.returncode == -signal.SIGTERM
