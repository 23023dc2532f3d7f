"""The course on the newest Python: the set-up, two labs, unit tests, and pip alone.

All other tests run on 3.11, which this environment has. COURSE_PYTHONS="3.12 3.13" also tries what
is between. Each version gets a copy of the checkout with one environment, in which everything below
runs.

PyPI's torch for Linux brings gigabytes of CUDA, and PyTorch's index of CPU wheels cannot be reached
from every machine. So the set-up finds a wheel of torch that holds nothing, OpenVINO encodes with
the model that was converted here, and the tests that need torch are skipped. If pip is configured
with a folder that has PyTorch's own wheel for the version, pip takes that one.
"""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from course_lib.bootstrap import torch_pin, unsuitable, venv_bin, venv_python
from course_lib.settings import project_root, state_dir
from course_lib.store.server import remove_server
from tests.course_copies import copy_course, remove_without_waiting, write_empty_wheel

ROOT = project_root()
VERSIONS = os.environ.get("COURSE_PYTHONS", "3.13").split()
LABS = ("07", "11")
"""With a database, and with a pipeline."""

WRONG_ANSWERS = [
    f"--ignore=tests/unit/teaching/{name}.py"
    for name in ("test_exercises", "test_draws", "test_parts")
]
NOT_OF_PYTHON = [f"--ignore=tests/unit/{name}" for name in ("infra", "test_bench.py")]
UNIT_TESTS = ("tests/unit", *WRONG_ANSWERS, *NOT_OF_PYTHON)
"""The wrong answers take longest."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


@dataclass(frozen=True)
class Copy:
    """A copy of the course, and the Python and the variables with which its programs run."""

    root: Path
    version: str
    python: str
    variables: dict[str, str]

    def run(self, *command: str | Path, folder: Path | None = None) -> str:
        """Return what a command prints, in the copy or a folder, if it went well."""
        done = subprocess.run(
            command,
            cwd=folder or self.root,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        assert done.returncode == 0, done.stdout[-8000:]
        return done.stdout


def interpreter(version: str) -> str | None:
    """Return a Python of this version that carries the course: one of pyenv, or on PATH."""
    of_pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*sorted(of_pyenv.glob(f"{version}.*/bin/python")), shutil.which(f"python{version}")]
    return next((str(path) for path in found if path and not unsuitable(str(path))), None)


@pytest.fixture(scope="module", params=VERSIONS)
def course(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Copy]:
    """A copy of the course that another Python has set up."""
    version = request.param
    python = interpreter(version)
    if python is None:
        pytest.skip(f"Python {version} is neither on PATH nor in pyenv: pyenv install {version}")
    folder = tmp_path_factory.mktemp("course")
    root = folder / "a course"
    copy_course(root)
    # A local version is newer than PyPI's, and `absent` is older than PyTorch's own `cpu`.
    write_empty_wheel(folder, "torch", f"{torch_pin(ROOT)}+absent")
    outside = ("VIRTUAL_ENV", "PYTEST_", "COURSE_ROOT", "COURSE_STATE")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(outside)}
    links = f"{os.environ.get('PIP_FIND_LINKS', '')} {folder}".strip()
    copy = Copy(root, version, python, {**inherited, "PIP_FIND_LINKS": links})
    copy_vectors(root / ".course")
    try:
        copy.run(python, "course_lib/bootstrap.py")
        yield copy
    finally:
        remove_server(root / ".course")
        remove_without_waiting(folder)


def copy_vectors(state: Path) -> None:
    """Take along the vectors that this environment has encoded, if there are any."""
    known = state_dir() / "vectors.sqlite"
    state.mkdir()
    if known.exists():
        with closing(sqlite3.connect(known)) as source:
            with closing(sqlite3.connect(state / known.name)) as copied:
                source.backup(copied)


def test_the_set_up_took_this_python_and_is_complete(course: Copy) -> None:
    assert course.run(venv_python(course.root), "--version").startswith(f"Python {course.version}.")
    assert "No broken requirements" in course.run(venv_python(course.root), "-m", "pip", "check")
    assert course.run(course.python, "course_lib/bootstrap.py") == ""


def test_a_lab_of_each_kind_runs(course: Copy) -> None:
    course.run(venv_bin(course.root) / "course", "run", *LABS)


def test_the_unit_tests_pass(course: Copy) -> None:
    quick = ("-q", "-p", "no:cacheprovider", "-m", "not long and not browser and not containers")
    course.run(venv_python(course.root), "-m", "pytest", *quick, *UNIT_TESTS)


def test_pip_alone_installs_the_library_and_it_needs_no_checkout(
    course: Copy, tmp_path: Path
) -> None:
    """The last test of an environment: it replaces the course that the set-up had installed."""
    pip = (venv_python(course.root), "-m", "pip", "install")
    without_lock = course.run(*pip, "--dry-run", "--ignore-installed", ".")
    assert "Would install" in without_lock and "nvidia" not in without_lock
    course.run(*pip, ".")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("# Tea\n\nBoil the water.\n", encoding="utf-8")
    here = "import course_lib; print(course_lib.__file__)"
    shown = course.run(venv_python(course.root), "-c", here, folder=tmp_path)
    assert "site-packages" in shown
    program = venv_bin(course.root) / "course"
    try:
        course.run(program, "ingest", "notes", folder=tmp_path)
        assert "tea.md" in course.run(program, "search", "How is tea made?", folder=tmp_path)
    finally:
        remove_server(tmp_path / ".course")
