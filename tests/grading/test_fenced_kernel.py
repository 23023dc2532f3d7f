"""The kernel `course-fenced`: nbval, papermill and nbgrader run strangers' notebooks within it."""

import copy
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

from course_lib.settings import project_root
from course_lib.teaching.classroom import Classroom, add_assignment, make_class
from course_lib.teaching.grade import lab_masters, read_master
from course_lib.teaching.grade.provisioner import KERNEL, install_kernel
from tests.grading.classroom import RIGHT, hand_in, learners
from tests.grading.conftest import needs_fence
from tests.grading.gradebooks import WORDS, copy_of, scores, submit
from tests.grading.hostile import BURGLARS

pytestmark = needs_fence
ROOT = project_root()
PAGE = (ROOT / "labs" / "CLASS.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## The field's tools\n")[2].partition("\n## ")[0]
ANYBODYS, FENCED = (
    [line.partition("  #")[0].strip() for line in block.splitlines()]
    for block in re.findall(r"```\n(.*?)```", SECTION, re.DOTALL)
)
"""The commands of the instructors' page: for notebooks of one's own, and for those of learners."""

TRIED = ("writes-outside", "reads-what-is-not-its-own", "reaches-for-the-network")


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    install_kernel()


def run(command: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a folder as an instructor does who has activated the environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, encoding="utf-8", timeout=900,
        env={**os.environ, "PATH": path, **variables},
    )  # fmt: skip


def executed(*sources: str, **options: Any) -> Any:
    """Execute cells with nbclient in the fenced kernel and return the notebook."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, kernel_name=KERNEL, **options).execute()
    return notebook


def texts(notebook: Any) -> str:
    """Return all that a notebook has put out: text, and what errors say."""
    outputs = [one for cell in notebook["cells"] for one in cell.get("outputs", [])]
    return "\n".join(
        "".join(one.get("text", "") or one.get("evalue", "") or str(one.get("data")))
        for one in outputs
    )


def check_in(notebook: Any, number: int) -> Any:
    """Return a check's cell."""
    return [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade")][number]


def alone(room: Classroom) -> None:
    """Delete the two settings that the page names from a class's configuration."""
    path = room.root / "nbgrader_config.py"
    text = path.read_text(encoding="utf-8")
    for setting in re.findall(r"delete the two settings `(\S+)` and `(\S+)`", SECTION)[0]:
        text, count = re.subn(rf"^{re.escape(setting)} = \[[^]]*\]\n", "", text, flags=re.MULTILINE)
        assert count == 1
    path.write_text(text, encoding="utf-8")


# What a stranger's notebook reaches


def burglar(places: Mapping[str, object]) -> str:
    """Return an answer that tries all that burglars try, and says what it has found."""
    head = "".join(f"{name} = {value!r}\n" for name, value in places.items())
    tries = "".join(BURGLARS[name]["double"].partition("def double")[0] for name in TRIED)
    return (
        f"{head}import math\n{tries}import os\n"
        "told = [name for name in os.environ if 'SECRET' in name]\n"
        "others = [p for p in os.listdir('/proc') if p.isdigit() and int(p) > 2]\n"
        "for number in (1, 2): os.write(number, b'on the' + b' terminal')\n"
        "def double(x):\n"
        "    raise AssertionError(f'SAW {seen} WROTE {done} REACHED {reached} {told} {others}')"
    )


def test_under_none_of_the_three_tools_does_a_hostile_notebook_get_anything_out(
    empty: Classroom, tmp_path: Path
) -> None:
    """Of what it looks for it sees the sources of the solutions, and a list of one made-up user.

    Beside it are files that pytest would run by itself, outside of any fence.
    """
    room = copy_of(empty, tmp_path)
    alone(room)
    (tmp_path / "build").mkdir()
    place = room.place("submitted", "ada", WORDS)
    with socket.create_server(("127.0.0.1", 0)) as server:
        places = {
            "PROJECT": str(ROOT), "OUT": str(tmp_path), "SUBMISSIONS": str(place),
            "MASTER": str(tmp_path / f"{WORDS}.ipynb"), "PORT": server.getsockname()[1],
        }  # fmt: skip
        submit(room, {"ada": {**RIGHT, "double": burglar(places)}})
        leave = f"open({str(tmp_path / 'outside')!r}, 'w').close()"
        for name in ("conftest.py", "__init__.py", "named.py"):
            (place / name).write_text(leave, encoding="utf-8")
        (place / "pytest.ini").write_text("[pytest]\naddopts = -p named\npythonpath = .\n", "utf-8")
        told = []
        for command in FENCED:
            for mine, its in (("my-class", "class"), ("01_recursive_splitter", WORDS)):
                command = command.replace(mine, its)
            done = run(command, tmp_path, A_SECRET="s")
            told.append(done.stdout + done.stderr)
    for path in (tmp_path / "build" / "ada.ipynb", *room.root.glob("autograded/ada/*/*.ipynb")):
        told.append(texts(json.loads(path.read_text(encoding="utf-8"))))
    seen = [f"{ROOT}/solutions", "/etc/passwd"]
    assert len(told) == 5 and all("SAW" in told[number] for number in (0, 3, 4))
    found = {line for one in told for line in re.findall(r"SAW \[.*\]", one)}
    assert found == {f"SAW {seen} WROTE [] REACHED [] [] []"}
    assert "on the terminal" not in "".join(told[:3])  # as an output, it is in notebooks
    assert not [*tmp_path.glob("outside"), *tmp_path.rglob("course-was-here")]
    assert not (ROOT / "course-was-here").exists()
    assert scores(room) == {"ada": (7, False)}


def test_a_kernel_that_takes_too_much_is_ended_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(DeadKernelError):
        executed(
            "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n"
            "        kept = bytearray(b'x') * (700 << 20)\n        time.sleep(99)\ntime.sleep(99)"
        )
    assert "course-fenced was ended: it took over 2048 MB" in caplog.text
    with pytest.raises(DeadKernelError):
        executed(
            "import os, sys, time\nsys.__stderr__.write('enough')\nsys.__stderr__.flush()\n"
            "time.sleep(2)\nos._exit(3)"  # a thread of ipykernel's passes it on
        )
    assert "course-fenced: enough" in caplog.text


def test_a_cell_that_takes_too_long_is_interrupted_and_the_next_one_runs() -> None:
    sleeps = "import time\ntry:\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    print('woken')"
    told = executed(sleeps, "print('the next')", timeout=2, interrupt_on_timeout=True)
    assert texts(told).split() == ["woken", "the", "next"]


def test_a_kernel_that_is_started_again_answers() -> None:
    manager, client = start_new_kernel(kernel_name=KERNEL)
    try:
        for _ in range(2):
            manager.restart_kernel(now=True)
            client.wait_for_ready(timeout=120)
            reply = client.execute("1 + 1", reply=True, timeout=60)
            assert reply["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_without_its_provisioner_the_kernel_refuses_to_run() -> None:
    """A Jupyter that knows of no provisioners runs the command of `kernel.json` as it stands."""
    (argv,) = [KernelSpecManager().get_kernel_spec(KERNEL).argv]
    command = [sys.executable, *argv[1:-1], "/tmp/connection.json"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1 and "does not start it there" in done.stderr


def test_figures_and_a_database_are_had_within_the_fence() -> None:
    told = executed(
        "import pandas as pd\npd.Series([1, 2]).plot()",
        "from course_lib.store import connect, fresh_database\n"
        "with fresh_database('06') as fresh, connect(fresh.url) as conn:\n"
        "    print(conn.execute(\"SELECT '[1,2]'::vector <-> '[1,4]'\").fetchone())",
    )
    assert "image/png" in texts(told) and "(2.0,)" in texts(told)


# The instructors' page


@pytest.mark.long
def test_the_commands_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    """One learner has all right, one half of an answer and no check, one a check twice."""
    (path,) = lab_masters(["01"])
    master, name = read_master(path, lab="01"), path.stem
    room = make_class(tmp_path / "my-class")
    add_assignment(room, master)
    alone(room)
    sheet = json.loads((room.place("release", ".", name) / path.name).read_text("utf-8"))
    right = {answer.grade_id: answer.source for answer in master.answers}
    half = {
        one: text.replace("len(piece) > size", "len(piece.encode()) > size")
        for one, text in right.items()
    }
    given = {
        "ada": learners(sheet, right),
        "bob": learners(sheet, half),
        "cy": learners(sheet, right),
    }
    checks = [c for c in given["bob"].cells if c.metadata.get("nbgrader", {}).get("grade")]
    given["bob"].cells.remove(checks[-1])
    twice = [c for c in given["cy"].cells if c.metadata.get("nbgrader", {}).get("grade")][0]
    given["cy"].cells.append(copy.deepcopy(twice))
    for login, notebook in given.items():
        place = room.place("submitted", login, name)
        place.mkdir(parents=True)
        hand_in(place, name, notebook)
    for one in ("solutions", "data"):
        (tmp_path / one).symlink_to(ROOT / one)
    (tmp_path / "build").mkdir()
    told = {command: run(command, tmp_path) for command in (*ANYBODYS, *FENCED)}
    failed = [command for command, done in told.items() if done.returncode]
    assert failed == FENCED[-1:], "\n".join(told[one].stdout + told[one].stderr for one in failed)
    assert "error processing assignment" in told[FENCED[-1]].stderr + told[FENCED[-1]].stdout
    most = [check.points for check in master.checks]
    assert scores(room, name) == {
        "ada": (sum(most), False), "bob": (sum(most[1:]), False), "cy": (0, True)
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("lab", ["06"])
def test_a_lab_runs_to_its_end_within_the_fence(lab: str, tmp_path: Path) -> None:
    """It needs the most: a database of its own."""
    (solution,) = ROOT.glob(f"solutions/{lab}_*.ipynb")
    done = run(f"papermill '{solution}' out.ipynb -k {KERNEL} --no-progress-bar", tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
