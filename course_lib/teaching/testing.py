"""`course test`: every check and test in one command, the same for a person and for CI.

The steps run one after the other and all of them run, whatever fails; what each prints is shown as
it is, and a table at the end says which failed and where the time went.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.settings import project_root

CLASSROOM = "tests/unit/teaching"


@dataclass(frozen=True)
class Step:
    """One command of a test run.

    Parameters
    ----------
    name
        What it is called in the table.
    command
        Program and arguments.
    """

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a step ended: its exit code (0 is well) and its time in seconds."""

    step: Step
    code: int
    seconds: float

    def line(self) -> str:
        """Return the row of the table."""
        state = "ok" if self.code == 0 else f"FAILED (exit code {self.code})"
        return f"{self.step.name:24} {self.seconds:7.1f} s  {state}"


def lint_steps() -> list[Step]:
    """Return the checks that read the code and run none of it."""
    python = sys.executable
    steps = [
        Step("ruff check", (python, "-m", "ruff", "check", ".")),
        Step("ruff format", (python, "-m", "ruff", "format", "--check", ".")),
        Step("mypy", (python, "-m", "mypy")),
        Step("import contracts", (_program("lint-imports"), "--no-logo")),
    ]
    shellcheck = shutil.which("shellcheck")
    if shellcheck:
        steps.append(Step("shellcheck", (shellcheck, *_shell_scripts(project_root()))))
    return steps


def short_steps(workers: int) -> list[Step]:
    """Return the checks and tests of `course test`, which take some minutes."""
    pytest = (sys.executable, "-m", "pytest", "-n", str(workers), "--dist", "loadfile")
    unit = (
        "-m",
        "not long",
        "--timeout",
        "600",
        "--cov",
        "--cov-report=term:skip-covered",
        "--ignore",
        CLASSROOM,
        "tests",
    )
    # A check's time limit raises an error wherever the code stands; where that is inside coverage,
    # with its lock held, the process hangs for ever.
    classroom = ("-m", "not long", "--timeout", "600", "--no-cov", CLASSROOM)
    nbval = ("--nbval-lax", "--nbval-cell-timeout", "600", "solutions")
    return [
        *lint_steps(),
        Step("notebooks are built", (_program("course"), "build", "--check")),
        Step("tests", (*pytest, *unit)),
        Step("tests of the classroom", (*pytest, *classroom)),
        Step("solutions (nbval)", (*pytest, *nbval)),
    ]


def long_steps(workers: int) -> list[Step]:
    """Return the tests that take many minutes: faults, load, a set-up from nothing."""
    pytest = (sys.executable, "-m", "pytest", "-n", str(workers), "--dist", "loadfile")
    return [Step("long tests", (*pytest, "-m", "long", "--timeout", "1800", "tests"))]


def run_tests(*, long: bool = False, root: Path | None = None) -> int:
    """Run all steps, print the table, and return 0 where all of them passed.

    Parameters
    ----------
    long
        The long tests instead.
    root
        The folder to test; None takes the one that this package belongs to.
    """
    workers = worker_count(os.cpu_count() or 1)
    steps = long_steps(workers) if long else short_steps(workers)
    outcomes = []
    for outcome in run_steps(steps, root or project_root(), environment_for_tests(os.environ)):
        outcomes.append(outcome)
    failed = sum(outcome.code != 0 for outcome in outcomes)
    print("\n" + "\n".join(outcome.line() for outcome in outcomes))
    print(f"\nsteps: {len(outcomes) - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


def run_steps(steps: Sequence[Step], root: Path, environment: dict[str, str]) -> Iterator[Outcome]:
    """Run steps in `root`, one after the other, and yield how each ended."""
    for step in steps:
        print(f"\n== {step.name}", flush=True)
        started = time.monotonic()
        try:
            code = subprocess.run(step.command, cwd=root, env=environment, check=False).returncode
        except OSError as error:
            print(f"{step.command[0]} cannot be run: {error}. `make setup` installs it.")
            code = 127
        yield Outcome(step, code, time.monotonic() - started)


def worker_count(cores: int) -> int:
    """Return how many test processes run at once; each may hold a model and a notebook.

    Examples
    --------
    >>> [worker_count(cores) for cores in (1, 2, 16)]
    [1, 2, 4]
    """
    return max(1, min(cores, 4))


def environment_for_tests(given: os._Environ[str] | dict[str, str]) -> dict[str, str]:
    """Return the environment of the tests: one thread a process, this environment's kernel."""
    return {
        **given,
        "OMP_NUM_THREADS": "1",
        "RAG_THREADS": given.get("RAG_THREADS", "1"),
        "TOKENIZERS_PARALLELISM": "false",
        "JUPYTER_PREFER_ENV_PATH": "1",
        "MPLBACKEND": given.get("MPLBACKEND", "agg"),
        "PYTHONUTF8": "1",
    }


def _program(name: str) -> str:
    """Return a program of this environment, which need not be activated."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or name


def _shell_scripts(root: Path) -> list[str]:
    scripts = [root / ".ci" / "run", *sorted((root / "infra").rglob("*.sh"))]
    return [str(script.relative_to(root)) for script in scripts if script.is_file()]
