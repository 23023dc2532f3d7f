"""The installer: which Python, which wheels, and the virtual environment that it makes."""

import http.server
import shutil
import socket
import subprocess
import sys
import threading
from collections import namedtuple
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from course_lib.bootstrap import FREE_GB, set_up
from course_lib.installer.interpreters import advice, ask, find_python, unsuitable
from course_lib.installer.machine import Machine, missing_wheels
from course_lib.installer.processes import SetupError, clean_environment
from course_lib.installer.pytorch import (
    FREE_GB_WITH_CUDA,
    check_room_for_cuda,
    choose_torch,
    index_answers,
    is_installed,
)
from course_lib.installer.steps import Steps
from course_lib.installer.venvs import (
    STAMP,
    made_elsewhere,
    stamp,
    sweep,
    up_to_date,
    venv_bin,
    venv_python,
)

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
        ({"version": [3, 12, 0], "implementation": "PyPy"}, "it is PyPy"),
        ({"version": [3, 12, 0], "bits": 32}, "it is a 32-bit one"),
        ({"version": [3, 12, 0], "missing": ["ensurepip"]}, "it lacks ensurepip"),
        ({"version": [3, 12, 0], "gil": False}, "it is a free-threaded build"),
    ):
        assert unsuitable(answer).startswith(reason)
    assert unsuitable({"version": [3, 12, 0], "missing": []}) == ""
    assert ask(str(ROOT / "README.md")) == {}, "a program that is no Python"


def test_every_platform_is_told_what_to_install() -> None:
    old = {"/usr/bin/python3": "it is 3.9.6"}
    assert "apt install python3.11" in advice(old, "linux", apt=True)
    assert "brew install" in advice(old, "darwin", apt=False)
    assert "winget install" in advice(old, "win32", apt=False)
    assert "package manager" in advice(old, "linux", apt=False)
    said = advice({"/usr/bin/python3.12": "it lacks ensurepip"}, "linux", apt=True)
    assert said.endswith("apt install python3.12-venv")


# Which wheels


def test_a_machine_without_wheels_is_told_so() -> None:
    for machine in (
        Machine("Linux", "x86_64", libc="glibc", release=(2, 36)),
        Machine("Linux", "aarch64", libc="glibc", release=(2, 28)),
        Machine("Darwin", "arm64", release=(14, 5)),
        Machine("Windows", "AMD64"),
    ):
        assert missing_wheels(machine) == ""
    for machine, why in (
        (Machine("Darwin", "x86_64", release=(13, 6)), "Intel processor"),
        (Machine("Darwin", "x86_64", rosetta=True), "Rosetta"),
        (Machine("Darwin", "arm64", release=(13, 6)), "macOS 14"),
        (Machine("Linux", "x86_64", libc="musl"), "Alpine"),
        (Machine("Linux", "x86_64", libc="glibc", release=(2, 17)), "glibc 2.28"),
        (Machine("Linux", "ppc64le", libc="glibc", release=(2, 36)), "ppc64le"),
        (Machine("Windows", "ARM64"), "WSL"),
        (Machine("Windows", "AMD64", bits=32), "64-bit"),
        (Machine("FreeBSD", "amd64"), "FreeBSD"),
    ):
        assert why in missing_wheels(machine)


def test_torch_comes_from_the_smallest_source_that_is_there() -> None:
    def chosen(system: str, gpu: bool, local: bool, index: bool) -> str:
        return choose_torch(
            system, gpu=lambda: gpu, local_wheel=lambda: local, cpu_index=lambda: index
        )

    assert chosen("Linux", gpu=False, local=True, index=True) == "local"
    assert chosen("Linux", gpu=False, local=False, index=True) == "cpu-index"
    assert chosen("Linux", gpu=False, local=False, index=False) == "pypi-large"
    assert chosen("Linux", gpu=True, local=False, index=True) == "pypi"
    assert chosen("Darwin", gpu=False, local=False, index=True) == "pypi"
    assert chosen("Windows", gpu=True, local=False, index=False) == "pypi"


@pytest.mark.parametrize("wanted", [True, False])
def test_cuda_needs_the_room_that_the_readme_names(
    wanted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(20e9, 9e9, 11e9))
    with pytest.raises(SetupError, match=r"needs 12 GB of disk, of which 11\.0 are free"):
        check_room_for_cuda(tmp_path, wanted=wanted)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (
        f"{FREE_GB:.0f} GB of free disk" in readme
        and f"asks for {FREE_GB_WITH_CUDA:.0f} GB" in readme
    )


def test_an_index_is_used_if_it_answers_and_given_up_if_not(tmp_path: Path) -> None:
    (tmp_path / "whl" / "cpu" / "torch").mkdir(parents=True)
    handler = partial(QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        assert index_answers(f"{url}/whl/cpu", seconds=30)
        assert not index_answers(f"{url}/elsewhere", seconds=30)
        server.shutdown()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        assert not index_answers(f"http://127.0.0.1:{silent.getsockname()[1]}/whl", seconds=0.1)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder without telling of it."""

    def log_message(self, *_: object) -> None:
        pass


def test_any_build_of_the_pinned_torch_counts_and_no_other_version(tmp_path: Path) -> None:
    for name, counts in [
        ("torch-2.13.0.dist-info", True),
        ("torch-2.13.0+cpu.dist-info", True),
        ("torch-2.13.01.dist-info", False),
        ("torch-2.12.0.dist-info", False),
        ("torchvision-2.13.0.dist-info", False),
    ]:
        site = tmp_path / name
        (site / name).mkdir(parents=True)
        assert is_installed(site, "2.13.0") is counts


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


def test_a_completed_venv_is_up_to_date_and_nothing_is_done(project: Path) -> None:
    assert up_to_date(project)
    assert set_up(project) is False


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_a_change_of_the_pins_makes_it_out_of_date(project: Path, name: str) -> None:
    with (project / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert not up_to_date(project)


def test_a_venv_that_was_moved_along_or_lost_its_interpreter_is_recognised(project: Path) -> None:
    assert not made_elsewhere(project)
    moved = project.rename(project.with_name("moved"))
    assert made_elsewhere(moved) and not up_to_date(moved)
    back = moved.rename(project)
    venv_python(back).unlink()
    assert not up_to_date(back)


def test_a_missing_lock_and_a_folder_that_cannot_be_written_are_named(project: Path) -> None:
    (project / ".venv" / STAMP).unlink()
    (project / "build").write_text("", encoding="utf-8")
    with pytest.raises(SetupError, match=r"build cannot be written .* Copy the course to a folder"):
        set_up(project)
    (project / "build").unlink()
    (project / "requirements.lock").unlink()
    with pytest.raises(SetupError, match="git checkout requirements.lock"):
        set_up(project)


def package(site: Path, name: str, content: str = "x = 1\n") -> Path:
    (site / name).mkdir(parents=True)
    (site / name / "__init__.py").write_text(content, encoding="utf-8")
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n", encoding="utf-8")
    size = (site / name / "__init__.py").stat().st_size
    record = (
        f"{name}/__init__.py,sha256=x,{size}\n{folder.name}/METADATA,,\n{folder.name}/RECORD,,\n"
    )
    record += f"{name}/__pycache__/__init__.cpython-311.pyc,,\n"
    (folder / "RECORD").write_text(record, encoding="utf-8")
    return folder


def test_only_incomplete_packages_are_installed_again(tmp_path: Path) -> None:
    whole, cut, gone, unrecorded = (
        package(tmp_path, name) for name in ("whole", "cut", "gone", "unrecorded")
    )
    (tmp_path / "cut" / "__init__.py").write_text("x", encoding="utf-8")
    (tmp_path / "gone" / "__init__.py").unlink()
    (unrecorded / "RECORD").unlink()
    (tmp_path / "~umpy").mkdir()
    assert sweep(tmp_path) == [cut.name, gone.name, unrecorded.name]
    assert sorted(path.name for path in tmp_path.glob("*.dist-info")) == [whole.name]
    assert not (tmp_path / "~umpy").exists()


def test_a_second_setup_waits_for_the_first_and_goes_on_when_that_was_killed(
    tmp_path: Path,
) -> None:
    code = """
import sys, pathlib
from course_lib.installer.venvs import only_one
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


def test_nothing_in_the_environment_leads_pip_astray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    environment = clean_environment()
    assert "PYTHONPATH" not in environment and "PIP_TARGET" not in environment
    assert environment["PIP_USER"] == "0"
    assert environment["PIP_INDEX_URL"] == "https://mirror.example/simple"


@pytest.fixture
def copy_of_the_course(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "a copy of the course"
    left = shutil.ignore_patterns(".*", "__pycache__", "build", "my", "*.egg-info")
    shutil.copytree(ROOT, root, ignore=left)
    yield root
    shutil.rmtree(root)  # 2 GB, of which pytest would keep three


@pytest.mark.long
@pytest.mark.timeout(1800)
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

    code = "import numpy, psycopg, torch, course_lib; print(course_lib.__file__)"
    command = [str(venv_python(root)), "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert str(root) in done.stdout, done.stderr
    shown = subprocess.check_output([str(venv_bin(root) / "course"), "--help"], encoding="utf-8")
    assert "doctor" in shown


def kill_group(process: "subprocess.Popen[bytes]") -> None:
    import psutil

    family = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
    for member in family:
        member.kill()
    process.wait()
