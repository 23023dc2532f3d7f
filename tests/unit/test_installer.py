"""The set-up: which Python, which wheels, and the virtual environment that it makes."""

import hashlib
import json
import shutil
import subprocess
import sys
import threading
from collections import namedtuple
from pathlib import Path
from unittest.mock import Mock

import pytest

from course_lib import bootstrap
from course_lib.bootstrap import (
    FREE_GB,
    FREE_GB_WITH_CUDA,
    STAMP,
    Machine,
    SetupError,
    Steps,
    advice,
    ask,
    check_room_for_cuda,
    clean_environment,
    entries_of,
    find_python,
    install_torch,
    missing_wheels,
    set_up,
    stamp,
    torch_pin,
    unsuitable,
    up_to_date,
    venv_bin,
    venv_python,
    why_anew,
)
from course_lib.teaching.doctor import read_pins
from tests.course_copies import copy_course, write_empty_wheel

ROOT = Path(__file__).resolve().parents[2]


# Which Python


def test_this_python_will_do() -> None:
    assert unsuitable(ask(sys.executable)) == ""
    assert unsuitable(ask(find_python())) == ""


def test_a_python_is_refused_for_a_reason() -> None:
    for answer, reason in (
        ({}, "it does not run"),
        ({"version": [3, 9, 6]}, "it is 3.9.6"),
        ({"version": [3, 15, 0]}, "it is 3.15.0"),
        ({"version": [3, 12, 0], "missing": ["ensurepip"]}, "it lacks ensurepip"),
    ):
        assert unsuitable(answer).startswith(reason)
    assert unsuitable({"version": [3, 12, 0], "missing": []}) == ""
    assert ask(str(ROOT / "README.md")) == {}, "a program that is not Python"


def test_every_platform_is_told_what_to_install() -> None:
    old = {"/usr/bin/python3": "it is 3.9.6"}
    for way in ("apt install python3.12", "brew install", "winget install", "package manager"):
        assert way in advice(old)
    assert "python3-venv" not in advice(old)
    said = advice({"/usr/bin/python3.11": "it lacks ensurepip"})
    assert "apt install python3.11-venv\n" in said


# Which wheels


def test_a_machine_without_wheels_is_told_so() -> None:
    for machine in (
        Machine("Linux", "x86_64", libc="glibc", release=(2, 36)),
        Machine("Linux", "aarch64", libc="glibc", release=(2, 35)),
        Machine("Darwin", "arm64", release=(14, 5)),
        Machine("Windows", "AMD64"),
    ):
        assert missing_wheels(machine) == ""
    for machine, why in (
        (Machine("Darwin", "x86_64", release=(14, 6)), "Darwin (14.6) on x86_64"),
        (Machine("Darwin", "arm64", release=(13, 6)), "Darwin (13.6) on arm64"),
        (Machine("Linux", "x86_64", libc="musl"), "Linux (musl) on x86_64"),
        (Machine("Linux", "x86_64", libc="glibc", release=(2, 17)), "glibc 2.17"),
        (Machine("Linux", "aarch64", libc="glibc", release=(2, 31)), "glibc 2.31"),
        (Machine("Linux", "ppc64le", libc="glibc", release=(2, 36)), "ppc64le"),
        (Machine("Windows", "ARM64"), "Windows on ARM64"),
        (Machine("FreeBSD", "amd64"), "FreeBSD"),
    ):
        said = missing_wheels(machine)
        assert f"no wheels for {machine.system}" in said and why in said
        for way_out in ("glibc 2.28", "macOS 14", "Apple silicon", "run the course on Linux"):
            assert way_out in said


@pytest.mark.parametrize(
    ("system", "there", "asked"),
    [
        ("Linux", "--no-index", ["--no-index"]),
        ("Linux", "--index-url", ["--no-index", "--index-url"]),
        ("Linux", "PyPI", ["--no-index", "--index-url", "install torch"]),
        ("Darwin", "PyPI", ["--no-index", "install torch"]),
    ],
)
def test_torch_comes_from_the_smallest_source_that_is_there(
    system: str, there: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap.platform, "system", lambda: system)
    monkeypatch.setattr(bootstrap, "check_room_for_cuda", lambda root: None)
    monkeypatch.delenv("COURSE_TORCH_INDEX", raising=False)
    steps = Mock(spec=Steps)
    steps.pip.side_effect = lambda arguments, required=True: there in arguments or required
    install_torch(ROOT, steps, 3)
    calls = [" ".join(call.args[0]) for call in steps.pip.call_args_list]
    assert [option in call for option, call in zip(asked, calls, strict=True)] == [True] * len(
        asked
    )


def test_cuda_needs_the_room_that_the_readme_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(20e9, 9e9, 11e9))
    with pytest.raises(SetupError, match=r"needs 12 GB of disk, of which 11\.0 are free"):
        check_room_for_cuda(tmp_path)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (
        f"{FREE_GB:.0f} GB of free disk" in readme
        and f"asks for {FREE_GB_WITH_CUDA:.0f} GB" in readme
    )


# The virtual environment


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "a project"
    root.mkdir()
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    command = [sys.executable, "-I", "-m", "venv", "--without-pip", str(root / ".venv")]
    subprocess.run(command, check=True)
    (root / ".venv" / STAMP).write_text(json.dumps(stamp(root)), encoding="utf-8")
    return root


def test_a_completed_venv_is_up_to_date_and_nothing_is_done(project: Path) -> None:
    assert up_to_date(project)
    assert set_up(project) is False


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_a_change_of_the_pins_makes_it_out_of_date(project: Path, name: str) -> None:
    with (project / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert not up_to_date(project)


def test_a_venv_that_was_moved_along_or_lost_its_interpreter_is_recognised(project: Path) -> None:
    moved = project.rename(project.with_name("moved"))
    assert "another folder" in why_anew(moved) and not up_to_date(moved)
    back = moved.rename(project)
    venv_python(back).unlink()
    assert "does not run" in why_anew(back) and not up_to_date(back)
    (back / ".venv" / STAMP).unlink()
    assert "interrupted" in why_anew(back)


def test_a_missing_lock_and_a_folder_that_cannot_be_written_are_named(project: Path) -> None:
    (project / ".venv" / STAMP).unlink()
    (project / "build").write_text("", encoding="utf-8")
    with pytest.raises(SetupError, match=r"build cannot be written .* Copy the course to a folder"):
        set_up(project)
    (project / "build").unlink()
    (project / "requirements.lock").unlink()
    with pytest.raises(SetupError, match="git checkout requirements.lock"):
        set_up(project)


def test_a_second_setup_waits_for_the_first_and_goes_on_when_that_was_killed(
    tmp_path: Path,
) -> None:
    code = """
import sys, pathlib
from course_lib.bootstrap import only_one
with only_one(pathlib.Path(sys.argv[1])):
    print("in", flush=True)
    sys.stdin.readline()
"""
    command = [sys.executable, "-u", "-c", code, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as first:
        assert first.stdout.readline() == "in\n"
        with subprocess.Popen(command, cwd=ROOT, **pipes) as second:
            said = second.stdout.readline()
            assert said.startswith("Another set-up")
            first.kill()  # the lock dies with its holder
            while said and said != "in\n":
                said = second.stdout.readline()
            assert said == "in\n"
            second.communicate("\n")


def test_a_failing_step_shows_its_end_and_its_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "build").mkdir()
    steps = Steps(tmp_path, total=1)
    steps.begin(1, "something")
    script = "print('Temporary failure in name resolution'); raise SystemExit(1)"
    with pytest.raises(SetupError) as caught:
        steps.run([sys.executable, "-c", script])
    assert "name resolution" in str(caught.value)
    assert "Check the network" in str(caught.value)
    assert "setup.log" in str(caught.value)
    assert capsys.readouterr().out == "  [1/1] something"


def test_a_package_that_was_replaced_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the real pip, from a folder that it is configured with, in a new environment."""
    lock = f"pip==99.0 \\\n    --hash=sha256:{hashlib.sha256(b'the file').hexdigest()}\n"
    (tmp_path / "requirements.lock").write_text(lock, encoding="utf-8")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "pip-99.0-py3-none-any.whl").write_bytes(b"another file")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    with pytest.raises(SetupError, match="it was replaced on the way. Check PIP_INDEX_URL"):
        set_up(tmp_path)
    assert not up_to_date(tmp_path)


def test_nothing_in_the_environment_leads_pip_astray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    environment = clean_environment()
    assert "PYTHONPATH" not in environment and "PIP_TARGET" not in environment
    assert environment["PIP_USER"] == "0"
    assert environment["PIP_INDEX_URL"] == "https://mirror.example/simple"


FIRST_PACKAGES = """
    pip setuptools numpy psycopg psycopg-binary
    typer annotated-doc shellingham rich markdown-it-py mdurl pygments
    pydantic pydantic-core pydantic-settings annotated-types typing-inspection typing-extensions
    python-dotenv
"""
"""What `course --help` needs, and two that are compiled."""


@pytest.fixture
def copy_of_the_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy with a small part of the lock; `tests/e2e/test_pythons.py` installs all of it."""
    root = tmp_path / "a copy of the course"
    copy_course(root)
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    pins = [f"{name}=={read_pins(lock)[name]}" for name in FIRST_PACKAGES.split()]
    (root / "requirements.lock").write_text(entries_of(lock, pins), encoding="utf-8")
    (tmp_path / "wheels").mkdir()
    write_empty_wheel(tmp_path / "wheels", "torch", torch_pin(ROOT))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return root


@pytest.mark.long
def test_a_copy_sets_itself_up_also_after_it_was_killed_on_the_way(
    copy_of_the_course: Path, tmp_path: Path
) -> None:
    root = copy_of_the_course
    command = [sys.executable, str(root / "course_lib" / "bootstrap.py")]
    with (tmp_path / "first").open("w") as out:
        first = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
        turn = threading.Event()
        while first.poll() is None and len(list(root.glob(".venv/lib/*/site-packages/*-info"))) < 9:
            turn.wait(0.1)
        assert first.poll() is None, (tmp_path / "first").read_text()
        kill_group(first)
    assert not up_to_date(root)

    second = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert second.returncode == 0, second.stdout + second.stderr
    assert up_to_date(root)
    third = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert third.stdout == third.stderr == ""

    code = """
import importlib.metadata, numpy, psycopg, course_lib
print(importlib.metadata.version("torch"), course_lib.__file__)
"""
    command = [str(venv_python(root)), "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.stdout.startswith(f"{torch_pin(ROOT)} {root}"), done.stderr
    shown = subprocess.check_output([str(venv_bin(root) / "course"), "--help"], encoding="utf-8")
    assert "doctor" in shown


def kill_group(process: "subprocess.Popen[bytes]") -> None:
    import psutil

    family = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
    for member in family:
        member.kill()
    process.wait()
