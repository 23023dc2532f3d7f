"""The set-up: the lock and what repeats it, the Makefile, and the installer's decisions."""

import ast
import http.server
import importlib.metadata
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
import yaml

from course_lib.bootstrap import set_up
from course_lib.cli.front_door import build_app
from course_lib.installer.interpreters import advice, ask, find_python, unsuitable
from course_lib.installer.machine import Machine, missing_wheels
from course_lib.installer.processes import SetupError, clean_environment
from course_lib.installer.pytorch import choose_torch, index_answers, is_installed, torch_pin
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
from course_lib.teaching.lock import LEFT_OUT, compile_lock, read_pins, without
from course_lib.teaching.testing import Step, environment_for_tests, run_steps
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
    named = "setup run test lab build bench doctor up down clean help start test-long lock grade"
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
    outcomes = list(run_steps(steps, tmp_path, clean_environment()))
    assert [outcome.code for outcome in outcomes] == [3, 127, 0]
    assert "FAILED (exit code 3)" in outcomes[0].line()


def test_tests_run_with_one_thread_a_process() -> None:
    environment = environment_for_tests({"PATH": "x"})
    assert environment["RAG_THREADS"] == environment["OMP_NUM_THREADS"] == "1"
    assert environment["PATH"] == "x"


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


# Which Python


def test_this_python_will_do() -> None:
    assert unsuitable(ask(sys.executable)) == ""
    assert unsuitable(ask(find_python())) == ""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({}, "it does not run"),
        ({"version": [3, 9, 6]}, "it is 3.9.6"),
        ({"version": [3, 15, 0]}, "it is 3.15.0"),
        ({"version": [3, 12, 0], "implementation": "PyPy"}, "it is PyPy"),
        ({"version": [3, 12, 0], "bits": 32}, "it is a 32-bit one"),
        ({"version": [3, 12, 0], "missing": ["ensurepip"]}, "it lacks ensurepip"),
        ({"version": [3, 12, 0], "gil": False}, "it is a free-threaded build"),
        ({"version": [3, 12, 0], "missing": []}, ""),
    ],
)
def test_a_python_is_refused_for_a_reason(answer: dict[str, object], reason: str) -> None:
    assert unsuitable(answer).startswith(reason)
    assert bool(unsuitable(answer)) == bool(reason)


def test_debian_is_told_the_package_of_venv() -> None:
    said = advice({"/usr/bin/python3.12": "it lacks ensurepip"}, "linux", apt=True)
    assert said.endswith("apt install python3.12-venv")


@pytest.mark.parametrize(
    ("platform", "apt", "named"),
    [
        ("linux", True, "apt install python3.11"),
        ("darwin", False, "brew install"),
        ("win32", False, "winget install"),
        ("linux", False, "package manager"),
    ],
)
def test_every_platform_is_told_what_to_install(platform: str, apt: bool, named: str) -> None:
    assert named in advice({"/usr/bin/python3": "it is 3.9.6"}, platform, apt=apt)


def test_a_program_that_is_no_python_is_refused() -> None:
    assert ask(str(ROOT / "README.md")) == {}


# Which wheels


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (Machine("Linux", "x86_64", libc="glibc", release=(2, 36)), ""),
        (Machine("Linux", "aarch64", libc="glibc", release=(2, 28)), ""),
        (Machine("Darwin", "arm64", release=(14, 5)), ""),
        (Machine("Windows", "AMD64"), ""),
        (Machine("Darwin", "x86_64", release=(13, 6)), "Intel processor"),
        (Machine("Darwin", "x86_64", rosetta=True), "Rosetta"),
        (Machine("Darwin", "arm64", release=(13, 6)), "macOS 14"),
        (Machine("Linux", "x86_64", libc="musl"), "Alpine"),
        (Machine("Linux", "x86_64", libc="glibc", release=(2, 17)), "glibc 2.28"),
        (Machine("Linux", "ppc64le", libc="glibc", release=(2, 36)), "ppc64le"),
        (Machine("Windows", "ARM64"), "WSL"),
        (Machine("Windows", "AMD64", bits=32), "64-bit"),
        (Machine("FreeBSD", "amd64"), "FreeBSD"),
    ],
)
def test_a_machine_without_wheels_is_told_so(machine: Machine, why: str) -> None:
    assert why in missing_wheels(machine)
    assert bool(missing_wheels(machine)) == bool(why)


@pytest.mark.parametrize(
    ("system", "gpu", "local", "index", "source"),
    [
        ("Linux", False, True, True, "local"),
        ("Linux", False, False, True, "cpu-index"),
        ("Linux", False, False, False, "pypi-large"),
        ("Linux", True, False, True, "pypi"),
        ("Darwin", False, False, True, "pypi"),
        ("Windows", True, False, False, "pypi"),
    ],
)
def test_torch_comes_from_the_smallest_source_that_is_there(
    system: str, gpu: bool, local: bool, index: bool, source: str
) -> None:
    chosen = choose_torch(
        system, gpu=lambda: gpu, local_wheel=lambda: local, cpu_index=lambda: index
    )
    assert chosen == source


def test_the_index_is_not_asked_where_its_answer_does_not_matter() -> None:
    def never() -> bool:
        raise AssertionError("was asked")

    choose_torch("Linux", gpu=never, local_wheel=lambda: True, cpu_index=never)
    choose_torch("Darwin", gpu=never, local_wheel=lambda: False, cpu_index=never)


@pytest.mark.timeout(60)
def test_an_index_that_never_answers_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        assert not index_answers(f"http://127.0.0.1:{port}/whl/cpu", seconds=1.0)


@pytest.fixture
def index() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200 if self.path == "/whl/cpu/torch/" else 404)
            self.end_headers()
            self.wfile.write(b"<html></html>")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def test_an_index_that_answers_is_used(index: tuple[str, list[str]]) -> None:
    url, asked = index
    assert index_answers(url + "/whl/cpu", seconds=30)
    assert asked == ["/whl/cpu/torch/"]
    assert not index_answers(url + "/elsewhere", seconds=30)


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


def test_a_venv_without_its_interpreter_is_out_of_date(project: Path) -> None:
    venv_python(project).unlink()
    assert not up_to_date(project)


def test_a_venv_that_was_moved_along_is_recognised(project: Path) -> None:
    assert not made_elsewhere(project)
    moved = project.rename(project.with_name("moved"))
    assert made_elsewhere(moved)
    assert not up_to_date(moved)


def test_a_missing_lock_is_named(project: Path) -> None:
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


def test_a_second_setup_waits_for_the_first(tmp_path: Path) -> None:
    code = """
import sys, pathlib
from course_lib.installer.venvs import only_one
with only_one(pathlib.Path(sys.argv[1])):
    print("in", flush=True)
    sys.stdin.readline()
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with (
        subprocess.Popen(command, cwd=ROOT, **pipes) as first,
        subprocess.Popen(command, cwd=ROOT, **pipes) as second,
    ):
        lines: list[tuple[str, str]] = []

        def read(name: str, process: subprocess.Popen[str]) -> None:
            for line in process.stdout:
                lines.append((name, line.strip()))

        readers = [
            threading.Thread(target=read, args=pair)
            for pair in (("first", first), ("second", second))
        ]
        for reader in readers:
            reader.start()
        while len(lines) < 2:  # one is in, the other says that it waits
            time.sleep(0.05)
        inside = next(name for name, line in lines if line == "in")
        waiting = next(name for name, line in lines if line.startswith("Another set-up"))
        assert inside != waiting
        processes = {"first": first, "second": second}
        processes[inside].kill()  # the lock dies with its holder
        while (waiting, "in") not in lines:
            time.sleep(0.05)
        processes[waiting].stdin.write("\n")
        processes[waiting].stdin.flush()
        for reader in readers:
            reader.join()


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
        while first.poll() is None and len(list(root.glob(".venv/lib/*/site-packages/*-info"))) < 9:
            time.sleep(0.2)
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
