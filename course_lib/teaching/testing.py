"""`course test`: every check and test in one command, the same for a person and for CI.

What only reads the code runs first, two at a time; then pytest, which ends with what took longest
and what was skipped. nbval executes the solutions as the smallest processor would, with no vector
known: what they print has to be the same on all. All of it runs, whatever fails; a table says
where the time went.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.settings import project_root
from course_lib.teaching.notebooks.project import Project

NBVAL = ("--nbval", "--nbval-cell-timeout", "600", "-p", "tests.kernels")
SMALLEST = {
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "default",
    "RAG_EMBED_BACKEND": "torch",
}
"""What makes any processor encode as the smallest would."""

TESTS = {
    "OMP_NUM_THREADS": "1",
    "RAG_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "JUPYTER_PREFER_ENV_PATH": "1",
    "MPLBACKEND": "agg",
    "PYTHONUTF8": "1",
}
"""The environment of tests: one thread a process, this environment's kernel, no window."""

QUICK = "not long and not browser and not containers"
"""The tests of `course test` without an option."""

ABOUT_LABS = (
    "unit/teaching/test_exercises.py",
    "unit/teaching/test_draws.py",
    "notebooks/test_committed.py",
    "blackbox/test_notebooks.py",
)
"""The files whose tests go through all labs; `--lab` of tests/conftest.py leaves one lab."""

SKIPPED = "build/skipped.txt"
"""Where the tests write the names of those that were skipped, one a line."""

FAILED = "build/failed.txt"
"""The same for those that failed. It is not written if a part of the tests did not run."""

WHY = "build/why_failed.txt"
"""The names again, each with the end of its traceback."""

NO_SHELLCHECK = "shellcheck is not here, and the scripts were not read: apt install shellcheck"


@dataclass(frozen=True)
class Step:
    """One command of a test run: what the table calls it, its words, and variables of its own."""

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


def static_steps(root: Path) -> list[Step]:
    """Return the checks that read the code and run none of it, the longest first."""
    python = sys.executable
    steps = [
        Step("mypy", (python, "-m", "mypy")),
        Step("notebooks are built", (python, "-m", "infra.course", "build", "--check")),
        Step("import contracts", (_program("lint-imports"), "--no-logo")),
        Step("ruff check", (python, "-m", "ruff", "check", ".")),
        Step("ruff format", (python, "-m", "ruff", "format", "--check", ".")),
    ]
    return steps + shellcheck_steps(root)


def shellcheck_steps(root: Path) -> list[Step]:
    """Return the step that reads the shell scripts; none where shellcheck is not installed."""
    shellcheck = shutil.which("shellcheck")
    return [Step("shellcheck", (shellcheck, *_shell_scripts(root)))] if shellcheck else []


def pytest_step(
    name: str, *words: str, timeout: int = 600, environment: Mapping[str, str] | None = None
) -> Step:
    """Return a run of pytest on all cores that ends with its slowest tests and what it skipped."""
    workers = str(worker_count(os.cpu_count() or 1))
    # In the order of tests/conftest.py, and not the files with the most tests first. A worker that
    # dies is not replaced: xdist would wait for its last test forever.
    spread = ("-n", workers, "--dist", "loadfile", "--no-loadscope-reorder")
    command = (sys.executable, "-m", "pytest", *spread, "--max-worker-restart", "0")
    shown = ("--timeout", str(timeout), "--durations", "10", "-r", "fEs")
    return Step(name, (*command, *shown, *words), environment or {})


def lab_steps(lab: str, root: Path) -> list[Step]:
    """Return what tests one lab: its notebooks, rules, checks, wrong answers and solution."""
    tests = [f"tests/{name}" for name in ABOUT_LABS]
    tests += [str(path.relative_to(root)) for path in root.glob(f"tests/*/test_lab{lab}.py")]
    (solution,) = [path.relative_to(root) for path in root.glob(f"solutions/{lab}_*.ipynb")]
    words = (*NBVAL, "-m", QUICK, "--lab", lab, *tests, str(solution))
    build = (sys.executable, "-m", "infra.course", "build", "--check", lab)
    return [Step(f"lab {lab} is built", build), pytest_step(f"lab {lab}", *words)]


def run_tests(
    labs: Sequence[str] | None = None,
    *,
    long: bool = False,
    browser: bool = False,
    containers: bool = False,
    skipped: bool = False,
    failed: bool = False,
    root: Path | None = None,
) -> int:
    """Run all steps, print the table, and return 0 where all of them passed.

    Parameters
    ----------
    labs
        Numbers of labs: only what is about them is run, and not what `long` and the others add.
    long
        The tests that take many minutes: faults, load, a set-up from nothing.
    browser
        Every lab in a JupyterLab that Chromium opens; the long tests have three of them.
    containers
        The images are built and run, one test after the other: they share the engine.
    skipped
        What the last run without these options skipped, for want of a program.
    failed
        What failed in the last run, whatever its options, and the checks that only read.
    root
        The folder to test; None takes the one that this package belongs to.
    """
    root = root or project_root()
    run = partial(run_step, root=root)
    again = failed_tests(root) if failed else ()
    (root / FAILED).unlink(missing_ok=True)
    if labs:
        numbers = [source.lab for source in Project(root).sources(labs)]
        outcomes = [run(step) for lab in numbers for step in lab_steps(lab, root)]
    elif browser:
        outcomes = [run(pytest_step("labs in a browser", "-m", "browser", "tests/browser"))]
    elif containers:
        step = pytest_step(
            "containers", "-n", "0", "-m", "containers", "tests/containers", timeout=3000
        )
        outcomes = [run(step)]
    elif skipped:
        outcomes = [run(step) for step in skipped_steps(root)]
    elif long:
        outcomes = [run(pytest_step("long tests", "-m", "long", "tests", timeout=1800))]
    else:
        with ThreadPoolExecutor(2) as at_once:
            outcomes = list(at_once.map(partial(run, quiet=True), static_steps(root)))
        with no_vectors_known(root) as fresh:
            given = {"COURSE_KERNELS": json.dumps({**SMALLEST, **fresh})}
            if failed:
                step = pytest_step("what failed", *NBVAL, *again, timeout=1800, environment=given)
            else:
                words = (*NBVAL, "-m", QUICK, "tests", "solutions")
                given["COURSE_SKIPPED"] = str(root / SKIPPED)
                step = pytest_step("tests and solutions", *words, environment=given)
            outcomes.append(run(step))
        if not shutil.which("shellcheck"):
            print(f"\nSKIPPED: {NO_SHELLCHECK}")
    bad = sum(outcome.code != 0 for outcome in outcomes)
    print("\n" + "\n".join(outcome.line() for outcome in outcomes))
    print(f"\nsteps: {len(outcomes) - bad} passed, {bad} failed", flush=True)
    return 1 if bad else 0


def skipped_steps(root: Path) -> list[Step]:
    """Return the steps that run what the last test run skipped."""
    file = root / SKIPPED
    if not file.is_file():
        raise CourseError(
            f"{SKIPPED} is not there: no test run has written what it skipped",
            hint="Run `make test` first.",
        )
    words = ("-m", QUICK, f"@{file}")
    tests = [pytest_step("skipped tests", *words)] if file.read_text(encoding="utf-8") else []
    return [*shellcheck_steps(root), *tests]


def failed_tests(root: Path) -> tuple[str, ...]:
    """Return the names of the tests that failed in the last run."""
    file = root / FAILED
    names = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    if not names:
        raise CourseError(
            f"{FAILED} names no test: none failed in the last run, or not all of them ran",
            hint="Run `make test` first.",
        )
    return tuple(names)


def run_step(step: Step, root: Path, *, quiet: bool = False) -> Outcome:
    """Run a step in `root` and return how it ended.

    Parameters
    ----------
    step
        What to run.
    root
        The current folder of the command.
    quiet
        Print what it says when it has ended, so that two of them can run at once.
    """
    heading = f"\n== {step.name}\n"
    if not quiet:
        print(heading, end="", flush=True)
    written = {"COURSE_FAILED": str(root / FAILED), "COURSE_WHY": str(root / WHY)}
    variables = {**os.environ, **TESTS, **written, **step.environment}
    output = subprocess.PIPE if quiet else None
    started = time.monotonic()
    try:
        done = subprocess.run(
            step.command,
            cwd=root,
            env=variables,
            check=False,
            stdout=output,
            stderr=subprocess.STDOUT if quiet else None,
            encoding="utf-8",
            errors="replace",
        )
        code, said = done.returncode, done.stdout or ""
    except OSError as error:
        code, said = 127, f"{step.command[0]} cannot be run: {error}. `make setup` installs it.\n"
    print((heading if quiet else "") + said, end="", flush=True)
    return Outcome(step, code, time.monotonic() - started)


@contextmanager
def no_vectors_known(root: Path) -> Iterator[Mapping[str, str]]:
    """Give the environment in which nothing is encoded yet; its state folder is gone afterwards."""
    from course_lib.store.server import remove_server

    state = root / "build" / "smallest"
    shutil.rmtree(state, ignore_errors=True)
    try:
        yield {"COURSE_STATE": str(state)}
    finally:
        remove_server(state)
        shutil.rmtree(state, ignore_errors=True)


def worker_count(cores: int) -> int:
    """Return how many test processes run at once; each may hold a model and a notebook.

    It is one more than there are cores, because a third of the time of each is spent in waiting.

    Examples
    --------
    >>> [worker_count(cores) for cores in (1, 2, 16)]
    [2, 3, 4]
    """
    return min(cores + 1, 4)


def _program(name: str) -> str:
    """Return a program of this environment, which need not be activated."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or name


def _shell_scripts(root: Path) -> list[str]:
    programs = [root / ".ci" / "run", root / ".binder" / "postBuild"]
    scripts = [*programs, *sorted((root / "infra").rglob("*.sh"))]
    return [str(script.relative_to(root)) for script in scripts if script.is_file()]
