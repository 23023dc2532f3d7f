"""`course test`: every check and test in one command, the same for a person and for CI.

The steps run one after the other and all of them run, whatever fails; what each prints is shown as
it is, and a table at the end says which failed and where the time went.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.settings import project_root

CLASSROOM = "tests/unit/teaching"
TWICE = "build/twice"
NBVAL = ("--nbval", "--nbval-cell-timeout", "600", "-p", "course_lib.teaching.claims.in_nbval")


@dataclass(frozen=True)
class Step:
    """One command of a test run.

    Parameters
    ----------
    name
        What it is called in the table.
    command
        Program and arguments.
    environment
        Variables of this step alone.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


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
    return [
        *lint_steps(),
        Step("notebooks are built", (_program("course"), "build", "--check")),
        Step("tests", (*pytest, *unit)),
        Step("tests of the classroom", (*pytest, *classroom)),
        Step("solutions (nbval)", (*pytest, *NBVAL, "solutions")),
    ]


def long_steps(workers: int) -> list[Step]:
    """Return the tests that take many minutes: faults, load, a set-up from nothing.

    Before them each solution is executed from nothing, twice in one kernel, as the smallest
    processor would, and held to the outputs and claims of the committed one.
    """
    pytest = (sys.executable, "-m", "pytest", "-n", str(workers), "--dist", "loadfile")
    smallest = {
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "default",
        "RAG_EMBED_BACKEND": "torch",
        "COURSE_STATE": str(project_root() / TWICE / "state"),
    }
    return [
        Step("solutions, twice each", (*pytest, *NBVAL, TWICE), smallest),
        Step("long tests", (*pytest, "-m", "long", "--timeout", "1800", "tests")),
    ]


@contextmanager
def repeated_solutions(root: Path) -> Iterator[None]:
    """Keep `build/twice` meanwhile: each solution with all of its cells two times, and no state."""
    from course_lib.store.server import remove_server

    folder = root / TWICE
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted((root / "solutions").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        again = [{**cell, "id": f"{cell['id']}-again"} for cell in notebook["cells"]]
        notebook["cells"] += again
        (folder / path.name).write_text(json.dumps(notebook), encoding="utf-8")
    try:
        yield
    finally:
        remove_server(folder / "state")
        shutil.rmtree(folder, ignore_errors=True)


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
    root = root or project_root()
    steps = long_steps(workers) if long else short_steps(workers)
    with repeated_solutions(root) if long else nullcontext():
        outcomes = list(run_steps(steps, root, environment_for_tests(os.environ)))
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
            variables = {**environment, **step.environment}
            code = subprocess.run(step.command, cwd=root, env=variables, check=False).returncode
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
