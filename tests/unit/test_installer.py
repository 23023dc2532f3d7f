"""The set-up: which Python, where torch is from, and the virtual environment that it makes."""

import hashlib
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections import namedtuple
from pathlib import Path

import pytest

from course_lib import bootstrap
from course_lib.bootstrap import (
    FREE_GB,
    FREE_GB_WITH_CUDA,
    STAMP,
    SetupError,
    can_be_kept,
    check_room,
    clean_environment,
    entries_of,
    find_python,
    install_torch,
    run,
    set_up,
    stamp,
    torch_pin,
    unsuitable,
    up_to_date,
    venv_bin,
    venv_python,
)
from tests.course_copies import copy_course, write_empty_wheel

ROOT = Path(__file__).resolve().parents[2]


# Which Python


def python_that(folder: Path, version: str, complaint: str = "") -> str:
    """Write a program that answers the set-up's question as a Python would."""
    program = folder / "python3"
    end = f"echo '{complaint}' >&2; exit 1" if complaint else ""
    program.write_text(f"#!/bin/sh\necho {version}\n{end}\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")
def test_a_python_is_refused_for_a_reason_and_what_to_install_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacks = "ModuleNotFoundError: No module named 'ensurepip'"
    for version, complaint, reason in (
        ("", "", "it does not run"),
        ("3 9 6", "", "it is 3.9.6"),
        ("3 15 0", "", "it is 3.15.0"),
        ("3 12 0", lacks, "it lacks ensurepip"),
    ):
        python = python_that(tmp_path, version, complaint)
        assert unsuitable(python) == reason
        monkeypatch.setattr(bootstrap.sys, "_base_executable", python, raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(SetupError) as caught:
            find_python()
        for said in (reason, "apt install python3.12", "python3-venv", "brew", "winget"):
            assert said in str(caught.value)
    assert unsuitable(python_that(tmp_path, "3 12 0")) == ""
    assert unsuitable(str(ROOT / "README.md")) == "it does not run"


# Where torch is from


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
    monkeypatch.setattr(bootstrap, "check_room", lambda *given: None)
    monkeypatch.delenv("COURSE_TORCH_INDEX", raising=False)
    calls = []

    def pip(root: Path, label: str, arguments: list[str], *, required: bool = True) -> bool:
        calls.append(" ".join(["install", *arguments]))
        return there in arguments or required

    monkeypatch.setattr(bootstrap, "pip", pip)
    install_torch(ROOT)
    assert [option in call for option, call in zip(asked, calls, strict=True)] == [True] * len(
        asked
    )


def test_cuda_needs_the_room_that_the_readme_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(20e9, 9e9, 11e9))
    with pytest.raises(SetupError, match=r"has 11\.0 GB free, and 12 GB are needed"):
        check_room(tmp_path, FREE_GB_WITH_CUDA)
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
    (root / ".venv" / STAMP).write_text(stamp(root), encoding="utf-8")
    return root


def test_a_completed_venv_is_up_to_date_until_a_pin_changes(project: Path) -> None:
    assert up_to_date(project) and set_up(project) is False
    for name in ("requirements.lock", "pyproject.toml"):
        before = (project / name).read_bytes()
        (project / name).write_bytes(before + b"# changed\n")
        assert not up_to_date(project), name
        (project / name).write_bytes(before)


def test_a_venv_that_was_moved_along_or_lost_its_interpreter_is_recognised(project: Path) -> None:
    assert can_be_kept(project)
    moved = project.rename(project.with_name("moved"))
    assert not can_be_kept(moved) and not up_to_date(moved)
    back = moved.rename(project)
    (back / ".venv" / STAMP).unlink()
    assert not can_be_kept(back), "a set-up was interrupted"
    (back / ".venv" / STAMP).write_text(stamp(back), encoding="utf-8")
    venv_python(back).unlink()
    assert not can_be_kept(back) and not up_to_date(back)


def test_a_folder_that_cannot_be_written_is_named(project: Path) -> None:
    (project / ".venv" / STAMP).unlink()
    (project / "build").write_text("", encoding="utf-8")
    with pytest.raises(SetupError, match=r"build cannot be written .* Copy the course to a folder"):
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
    (tmp_path / "build" / "setup.log").write_text("", encoding="utf-8")
    script = "print('Temporary failure in name resolution'); raise SystemExit(1)"
    with pytest.raises(SetupError) as caught:
        run(tmp_path, "[1/6] something", [sys.executable, "-c", script])
    assert "name resolution" in str(caught.value)
    assert "Check the network" in str(caught.value)
    assert f"The command was: {shlex.quote(sys.executable)} -c" in str(caught.value)
    assert "setup.log" in str(caught.value)
    assert re.fullmatch(r"  \[1/6\] something  \d+ s\n", capsys.readouterr().out)
    assert run(tmp_path, "not needed", [sys.executable, "-c", script], required=False) is False


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
    with pytest.raises(
        SetupError, match="(?s)DO NOT MATCH THE HASHES.*The command was: .* pip install"
    ):
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
    first = entries_of(lock, FIRST_PACKAGES.split())
    (root / "requirements.lock").write_text(first, encoding="utf-8")
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
