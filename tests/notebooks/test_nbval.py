import subprocess
import sys

import pytest


def nbval(course) -> str:
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-p"]
    command += ["no:cacheprovider", "-q", "-n0", "-c", "/dev/null", "--rootdir", str(course.root)]
    command += ["-p", "no:schemathesis", "-p", "no:langsmith_plugin"]
    command.append(str(course.root / "solutions" / "01_doubling.ipynb"))
    found = subprocess.run(command, cwd=course.root, capture_output=True, encoding="utf-8")
    return found.stdout


@pytest.fixture(autouse=True)
def _importable(built, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(built.root))


def test_a_built_solution_passes_nbval_which_compares_the_cells_that_are_tagged(built) -> None:
    built.change("solutions/01_doubling.ipynb", '"42.0"', '"43.0"')
    built.change("solutions/01_doubling.ipynb", "lab 01\\n", "lab one\\n")
    told = nbval(built)
    assert "1 failed, 10 passed" in told and "43.0" in told
