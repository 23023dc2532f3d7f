"""The other versions of Python that the course runs on: set up, unit tests, a lab of each kind."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.bootstrap import venv_bin, venv_python
from course_lib.settings import project_root

ROOT = project_root()
LABS = ("01", "07", "10")
"""Without a database, with one, and with a pipeline."""


def interpreter(version: str) -> str | None:
    """Return a Python of this version, on PATH or of pyenv; None where there is none."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    installed = sorted(versions.glob(f"{version}.*/bin/python{version}"))
    return shutil.which(f"python{version}") or next(map(str, installed), None)


@pytest.fixture(params=["3.12", "3.13"])
def set_up_with(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Give a copy of the course that another Python has set up."""
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"no Python {request.param} here")
    root = tmp_path / "course"
    left = shutil.ignore_patterns(
        ".git", ".venv", ".course", "__pycache__", "build", "my", ".*_cache"
    )
    shutil.copytree(ROOT, root, ignore=left)
    run([python, "course_lib/bootstrap.py"], root)
    said = subprocess.check_output([venv_python(root), "--version"], encoding="utf-8")
    assert said.startswith(f"Python {request.param}.")
    yield root
    shutil.rmtree(root)  # 2 GB, of which pytest would keep three


def run(command: list[str], root: Path) -> None:
    outside = {"VIRTUAL_ENV", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "COURSE_ROOT"}
    variables = {name: value for name, value in os.environ.items() if name not in outside}
    variables["COURSE_STATE"] = str(root / ".course")
    done = subprocess.run(
        command, cwd=root, env=variables, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_course_works_with_this_python(set_up_with: Path) -> None:
    root = set_up_with
    run([str(venv_bin(root) / "course"), "run", *LABS], root)
    quick = ["-q", "-p", "no:cacheprovider", "-m", "not long", "tests/unit"]
    run([str(venv_python(root)), "-m", "pytest", *quick], root)
