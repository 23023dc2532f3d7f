"""Around the set-up: the lock and what repeats it, the Makefile, and what starts quickly."""

import ast
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer.main
import yaml

from course_lib.cli.front_door import build_app
from course_lib.installer.pytorch import torch_pin
from course_lib.teaching.lock import LEFT_OUT, compile_lock, read_pins, without
from course_lib.teaching.testing import Step, run_step
from course_lib.teaching.third_party import direct_dependencies, render_third_party

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
INSTALLER = [ROOT / "course_lib" / "bootstrap.py", *(ROOT / "course_lib/installer").glob("*.py")]


# The lock, and what repeats its pins


def test_every_direct_dependency_but_torch_has_an_exact_pin() -> None:
    run, develop = direct_dependencies(ROOT)
    pins = read_pins(LOCK)
    assert {name for name in run + develop if name not in pins} == {"torch"}


def test_every_line_of_the_lock_is_an_exact_pin_or_a_comment() -> None:
    pin = re.compile(r"[a-z0-9][a-z0-9._-]*==\S+( ; .+)?|\s*#.*|")
    assert [line for line in LOCK.splitlines() if not pin.fullmatch(line)] == []


def test_torch_and_cuda_are_kept_out_of_the_lock() -> None:
    assert without(LOCK, LEFT_OUT) == LOCK
    assert not re.search(r"^(torch|triton|nvidia|cuda)", LOCK, flags=re.MULTILINE)


def test_the_lock_names_no_index_and_no_path_of_a_machine() -> None:
    assert "://" not in LOCK
    assert not re.search(r"--\w|(?:^|\s)/\w", LOCK)


def test_the_installed_packages_are_those_of_the_lock() -> None:
    installed = {name: importlib.metadata.version(name) for name in read_pins(LOCK)}
    assert installed == read_pins(LOCK)


@pytest.mark.long
def test_the_lock_is_what_pyproject_asks_for() -> None:
    assert compile_lock(ROOT, keep=LOCK) == LOCK


def test_conda_takes_the_same_pins() -> None:
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    dependencies = yaml.safe_load(text)["dependencies"]
    by_pip = dependencies[-1]["pip"]
    assert [line for line in by_pip if "==" in line] == [f"torch=={torch_pin(ROOT)}"]
    assert "-r requirements.lock" in by_pip
    python = next(line for line in dependencies if str(line).startswith("python="))
    assert python == "python=3.11"


def test_the_torch_pin_is_the_one_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"torch=={torch_pin(ROOT)}" in project["dependencies"]


def test_third_party_licences_are_those_of_the_dependencies() -> None:
    written = (ROOT / "infra" / "THIRD_PARTY.md").read_text(encoding="utf-8")
    assert written == render_third_party(ROOT), "run `course lock`"
    assert "see the package" not in written


def test_the_licence_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text and "Copyright 2026 The course's authors" in text
    assert "END OF TERMS AND CONDITIONS" in text


# The Makefile, pre-commit, CI

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TASKS = dict(re.findall(r"^([a-z][a-z-]*):.*\n((?:\t.*\n)*)", MAKEFILE, flags=re.MULTILINE))


def test_the_makefile_has_every_task() -> None:
    named = "setup run test lab build bench faults doctor up down clean help start test-long lock"
    named += " grade"
    assert set(TASKS) == set(named.split())


def test_every_task_of_make_is_a_command_of_course() -> None:
    commands = typer.main.get_command(build_app()).commands  # type: ignore[attr-defined]
    for task, recipe in TASKS.items():
        if task in ("help", "setup"):
            continue
        called = re.findall(r"\$\(COURSE\) ([a-z]+)", recipe)
        assert called == [task.removesuffix("-long")]
        assert called[0] in commands
    assert "setup" in commands


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_alone_lists_the_tasks() -> None:
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    assert set(re.findall(r"^  ([a-z-]+) ", done.stdout, flags=re.MULTILINE)) == set(TASKS)


def test_pre_commit_needs_no_network() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    hooks = [hook for repo in yaml.safe_load(text)["repos"] for hook in repo["hooks"]]
    assert {repo["repo"] for repo in yaml.safe_load(text)["repos"]} == {"local"}
    for hook in hooks:
        tool = re.search(r"exec ([\w-]+)", hook["entry"])
        assert tool and shutil.which(tool[1], path=str(Path(sys.executable).parent))


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_ci_script_passes_shellcheck() -> None:
    subprocess.run(["shellcheck", str(ROOT / ".ci" / "run")], check=True)


def test_a_failing_step_stops_neither_the_others_nor_the_table(tmp_path: Path) -> None:
    python = sys.executable
    steps = [
        Step("bad", (python, "-c", "raise SystemExit(3)")),
        Step("absent", ("there-is-no-such-program",)),
        Step("good", (python, "-c", "")),
    ]
    outcomes = [run_step(step, tmp_path, quiet=True) for step in steps]
    assert [outcome.code for outcome in outcomes] == [3, 127, 0]
    assert "FAILED (exit code 3)" in outcomes[0].line()


# Start-up


def run_python(code: str, *options: str) -> str:
    command = [sys.executable, *options, "-c", code]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, cwd=ROOT)
    return done.stdout.strip()


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys; a = set(sys.modules); import course_lib; print(set(sys.modules) - a)"
    assert run_python(code) == "{'course_lib'}"


BUILT_ON_SOMETHING_HEAVY = [
    "course_lib.pipeline.components",
    "course_lib.pipeline.pipelines",
    "course_lib.pipeline.tasks",
    "course_lib.teaching.grade.with_nbval",
]
"""Decorated with kfp, or an extension of nbval; whoever needs one imports it where it is needed."""


def test_no_module_imports_what_is_heavy_before_it_is_used() -> None:
    code = f"""
import importlib, pkgutil, sys
import course_lib
for module in pkgutil.walk_packages(course_lib.__path__, "course_lib."):
    if not module.name.endswith("__main__") and module.name not in {BUILT_ON_SOMETHING_HEAVY}:
        importlib.import_module(module.name)
heavy = "torch sentence_transformers transformers kfp pandas matplotlib nbformat".split()
print([name for name in heavy if name in sys.modules])
"""
    assert run_python(code) == "[]"


def test_the_setup_needs_no_package() -> None:
    script = str(ROOT / "course_lib" / "bootstrap.py")
    command = [sys.executable, "-I", "-S", script, "--check"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert ".venv is" in done.stdout and not done.stderr


@pytest.mark.parametrize("path", INSTALLER, ids=lambda path: path.name)
def test_an_old_python_can_read_the_setup(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
