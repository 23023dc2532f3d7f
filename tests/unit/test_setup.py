"""Around the set-up: the lock and what repeats it, the Makefile, and what starts quickly."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from course_lib.bootstrap import NEWEST_PYTHON, NEWEST_TRIED, OLDEST_PYTHON, torch_pin
from course_lib.cli.commands import build_app
from course_lib.errors import CourseError
from course_lib.teaching.doctor import read_pins
from course_lib.teaching.testing import (
    SKIPPED,
    WHY,
    Step,
    failed_tests,
    pytest_step,
    run_step,
    skipped_steps,
)
from infra.course.lock import LEFT_OUT, MODEL_LOCK, compile_lock, compile_model_lock, without
from infra.course.third_party import direct_dependencies, render_third_party
from tests.needs import needs, needs_torch

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PYTHONS = [f"3.{minor}" for minor in range(OLDEST_PYTHON[1], NEWEST_PYTHON[1] + 1)]
NO_WHEEL = ("--no-binary", "kfp-server-api")
"""The one package that has only its source, without anything to compile."""


# The lock, and what repeats its pins


def test_the_lock_pins_every_direct_dependency_but_torch_and_names_no_place() -> None:
    run, develop = direct_dependencies(ROOT)
    names = {*re.findall(r"^([a-z0-9._-]+)==", LOCK, re.MULTILINE)}
    assert {*run, *develop} - names == {"torch"} and without(LOCK, LEFT_OUT) == LOCK
    pin, sha = r"[a-z0-9][a-z0-9._-]*==\S+( ; .+)? \\", r"    --hash=sha256:[0-9a-f]{64}( \\)?"
    line = re.compile(rf"{pin}|{sha}|\s*#.*|")
    assert [one for one in LOCK.splitlines() if not line.fullmatch(one)] == []
    pins = re.findall("^[a-z0-9].*", LOCK, re.MULTILINE)
    assert len(re.findall(rf"^{pin}\n{sha}$", LOCK, re.MULTILINE)) == len(pins) > 200
    assert "://" not in LOCK and not re.search(r"--(?!hash)\w|(?:^|\s)/\w", LOCK)


def test_the_installed_packages_are_those_of_the_lock() -> None:
    installed = {name: importlib.metadata.version(name) for name in read_pins(LOCK)}
    assert installed == read_pins(LOCK)
    assert importlib.metadata.version("torch").partition("+")[0] == torch_pin(ROOT)


@pytest.mark.long
def test_the_lock_is_what_pyproject_asks_for() -> None:
    assert compile_lock(ROOT, keep=LOCK) == LOCK
    of_a_model = (ROOT / MODEL_LOCK).read_text(encoding="utf-8")
    assert compile_model_lock(ROOT, keep=of_a_model) == of_a_model


@pytest.mark.long
@pytest.mark.parametrize("machine", ["linux", "aarch64-manylinux_2_35", "macos", "windows"])
@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_can_be_installed_on(python: str, machine: str, tmp_path: Path) -> None:
    """Each pin has a wheel there, with one of its hashes. uv asks the index and downloads none."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--target", tmp_path]
    command += ["--python-version", python, "--python-platform", machine]
    command += ["--only-binary", ":all:", *NO_WHEEL, "--no-deps", "--require-hashes"]
    command += ["-r", ROOT / "requirements.lock"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


def test_readme_names_the_pythons_that_were_tried_and_those_that_the_set_up_takes() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tried = PYTHONS[: NEWEST_TRIED[1] - OLDEST_PYTHON[1] + 1]
    assert f"You need Python {', '.join(tried[:-1])} or {tried[-1]}, " in readme
    assert f"The set-up takes {' and '.join(PYTHONS[len(tried) :])}, too, but no lab" in readme
    refused = f"The course needs Python {PYTHONS[0]} to {PYTHONS[-1]}, and none"
    assert refused in (ROOT / "labs" / "TROUBLESHOOTING.md").read_text(encoding="utf-8")


def test_conda_takes_the_same_pins() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    torch = f"torch=={torch_pin(ROOT)}"
    assert torch in project["dependencies"]
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    environment = yaml.safe_load(text)
    python, pip = environment["dependencies"]
    assert environment["channels"] == ["conda-forge"] and pip == "pip"
    assert python.removeprefix("python=") in PYTHONS
    first, second, third = re.findall("^#   python -m pip install (.*)$", text, re.MULTILINE)
    assert first == "--require-hashes --no-deps -r requirements.lock"
    assert second.split()[-1] == torch and third == "--no-deps -e ."


@needs_torch
def test_third_party_licences_are_those_of_the_dependencies() -> None:
    written = (ROOT / "infra" / "THIRD_PARTY.md").read_text(encoding="utf-8")
    assert written == render_third_party(ROOT), "run `make licences`"
    assert "see the package" not in written


# The Makefile, and what CI runs


@needs("make")
def test_every_task_of_make_is_a_command_of_course_or_a_module_and_listed() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    tasks = dict(re.findall(r"^([a-z][a-z-]*):.*\n((?:\t.*\n)*)", text, flags=re.MULTILINE))
    named = "setup run test lab bench faults doctor up down clean help start grade"
    made = "build site lock licences model"
    assert set(tasks) == {
        *(*named.split(), *made.split(), "images"),
        *("test-long", "test-browser", "test-containers"),
    }
    commands = build_app().commands
    assert "infra/setup-kubeflow.sh images" in tasks["images"]
    for task in set(tasks) - {"help", "setup", "images"}:
        name = task.removesuffix("-long").removesuffix("-browser").removesuffix("-containers")
        if name in ("bench", "faults"):
            assert f"$(MODULE) tests.{name}" in tasks[task]
            assert (ROOT / "tests" / name / "__main__.py").exists()
        elif name in made.split():
            assert f"$(MODULE) infra.course {name}" in tasks[task]
        else:
            assert re.findall(r"\$\(COURSE\) ([a-z]+)", tasks[task]) == [name]
            assert name in commands
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    assert set(re.findall(r"^  ([a-z-]+) ", done.stdout, flags=re.MULTILINE)) == set(tasks)


def test_a_failing_step_stops_neither_the_others_nor_the_table(tmp_path: Path) -> None:
    bad = (sys.executable, "-c", "raise SystemExit(3)")
    steps = [Step("bad", bad), Step("absent", ("there-is-no-such-program",))]
    outcomes = [run_step(step, tmp_path, quiet=True) for step in steps]
    assert [outcome.code for outcome in outcomes] == [3, 127]
    assert "FAILED (exit code 3)" in outcomes[0].line()


def test_what_was_skipped_is_run_alone(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"(?s)skipped.txt is not there.*Run `make test` first"):
        skipped_steps(tmp_path)
    (tmp_path / "test_two.py").write_text(
        "import pytest\ndef test_a(): pass\n"
        "@pytest.mark.skipif('not __import__(\"os\").path.exists(\"program\")', reason='none')\n"
        "@pytest.mark.parametrize('word', ['a b', '[c]'])\ndef test_b(word): pass\n"
    )
    names = ["test_two.py::test_b[a b]", "test_two.py::test_b[[c]]"]
    (tmp_path / "build").mkdir()
    (tmp_path / SKIPPED).write_text("".join(f"{name}\n" for name in names))
    (tmp_path / "program").touch()
    (step,) = [one for one in skipped_steps(tmp_path) if one.name == "skipped tests"]
    quick = ["-n", "0", "-p", "no:schemathesis", "-p", "no:langsmith_plugin"]
    command = [*step.command, *quick]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert re.search("^=+ 2 passed in", done.stdout, re.MULTILINE), done.stdout


def test_what_failed_is_known_in_the_end_too(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_three.py").write_text(
        "import pytest\ndef test_a(): pass\ndef test_b(): raise OSError('a full disk')\n"
        "@pytest.fixture\ndef place():\n    yield 1\n    raise OSError('the place is kept')\n"
        "def test_c(place): pass\n"
    )
    step = pytest_step("three", "-n", "0", "test_three.py", environment={"PYTHONPATH": str(ROOT)})
    assert run_step(step, tmp_path, quiet=True).code == 1
    names = ("test_three.py::test_b", "test_three.py::test_c")
    assert failed_tests(tmp_path) == names
    why = (tmp_path / WHY).read_text(encoding="utf-8")
    assert names[0] in why and "a full disk" in why and "the place is kept" in why


# Start-up


BUILT_ON_SOMETHING_HEAVY = [
    "course_lib.pipeline.components",
    "course_lib.pipeline.pipelines",
    "course_lib.teaching.classroom.engine",
    "course_lib.teaching.classroom.export",
    "course_lib.teaching.classroom.feedback",
    "course_lib.teaching.classroom.versions",
    "course_lib.teaching.grade.inside.notebook",
    "course_lib.teaching.grade.inside.worker",
    "course_lib.teaching.notebooks.clearing",
]
"""Decorated with kfp, or an extension of nbval or nbgrader: imported where one is needed."""


def test_no_module_imports_what_is_heavy_before_it_is_used() -> None:
    code = f"""
import importlib, pkgutil, sys
before = set(sys.modules)
import course_lib
print(set(sys.modules) - before)
for module in pkgutil.walk_packages(course_lib.__path__, "course_lib."):
    is_heavy = module.name in {BUILT_ON_SOMETHING_HEAVY}
    if not module.name.endswith("__main__") and not is_heavy:
        importlib.import_module(module.name)
heavy = "torch sentence_transformers transformers kfp pandas matplotlib nbformat".split()
print([name for name in heavy if name in sys.modules])
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, cwd=ROOT)
    assert done.stdout == "{'course_lib'}\n[]\n"


def test_the_setup_needs_no_package_and_an_old_python_can_read_it() -> None:
    script = ROOT / "course_lib" / "bootstrap.py"
    code = f"import runpy; print(runpy.run_path({str(script)!r})['up_to_date'])"
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.stdout.startswith("<function up_to_date") and not done.stderr
    ast.parse(script.read_text(encoding="utf-8"), str(script), feature_version=(3, 8))
