"""The doctor: each fault has its fix, and no machine makes it faint."""

import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib.bootstrap import torch_pin
from course_lib.errors import DatabaseError
from course_lib.settings import project_root
from course_lib.store import fresh_database
from course_lib.teaching import doctor
from course_lib.teaching.doctor import (
    Finding,
    bubblewrap_finding,
    database_finding,
    disk_finding,
    examine,
    model_finding,
    packages_finding,
    python_finding,
    read_pins,
)
from course_lib.teaching.grade.fence import WITHOUT

ROOT = project_root()
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
INSTALLED = {**read_pins(LOCK), "torch": f"{torch_pin(ROOT)}+cpu"}


def test_nothing_fails_where_the_tests_run_and_every_part_is_looked_at() -> None:
    findings = examine()
    assert [finding for finding in findings if finding.state == "fail"] == []
    wanted = "Python packages model database disk bubblewrap"
    assert [finding.name for finding in findings] == wanted.split()
    assert not [finding for finding in findings if "could not be looked at" in finding.detail]
    assert all(finding.state == "ok" or finding.fix for finding in findings)


@pytest.mark.parametrize(
    ("finding", "state"),
    [
        (python_finding((3, 9, 6), "python3"), "fail"),
        (python_finding((3, 11, 0), "python3"), "ok"),
        (python_finding((3, 13, 0), "python3"), "ok"),
        (python_finding((3, 14, 0), "python3"), "warn"),
        (python_finding((3, 15, 0), "python3"), "warn"),
        (disk_finding(0.1, ROOT / "labs" / "none"), "fail"),
        (disk_finding(0.5, ROOT / "labs" / "none"), "warn"),
        (disk_finding(2.0, ROOT / "labs" / "none"), "ok"),
        (packages_finding(ROOT, INSTALLED), "ok"),
        (packages_finding(ROOT, {**INSTALLED, "rich": "1.0"}), "warn"),
        (packages_finding(ROOT, {**INSTALLED, "torch": "2.12.0"}), "warn"),
        (packages_finding(ROOT, {"rich": "15.0.0"}), "fail"),
        (model_finding("all-MiniLM-L6-v2"), "ok"),
        (database_finding(None), "ok"),
    ],
    ids=str,
)
def test_a_fact_is_judged_by_what_the_course_needs(finding: Finding, state: str) -> None:
    assert finding.state == state and bool(finding.fix) == (state != "ok")


def test_what_raises_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    given = SimpleNamespace(embed_model="/nowhere/at/all", database_url=None)
    monkeypatch.setattr(doctor, "settings", lambda: given)
    monkeypatch.setattr(doctor, "disk_finding", lambda *given: 1 / 0)
    found = {finding.name: finding for finding in examine()}
    assert found["model"].state == "fail" and found["model"].fix
    assert "ZeroDivisionError" in found["disk"].detail and found["disk"].state == "warn"


def test_what_is_wrong_in_a_folder_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An environment without its stamp, a state folder that is open or cannot be written."""
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert "was not completed" in packages_finding(tmp_path, INSTALLED).detail
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "conda"))
    assert packages_finding(tmp_path, INSTALLED).state == "ok"
    assert disk_finding(9.0, tmp_path / "new").state == "ok"
    (tmp_path / "open").mkdir(mode=0o755)
    assert disk_finding(9.0, tmp_path / "open").state == ("ok" if os.name == "nt" else "warn")
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert disk_finding(9.0, tmp_path / "file").state == "fail"


def test_a_database_that_the_course_can_use_is_found() -> None:
    with fresh_database("doctor") as fresh:
        finding = database_finding(fresh.url)
    assert finding.state == "ok" and "pgvector 0." in finding.detail, finding.detail


@pytest.mark.timeout(60)
def test_a_database_that_never_answers_is_given_up_and_no_password_is_shown() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        for url in (f"127.0.0.1:{port}", "["):
            with pytest.raises(DatabaseError) as caught:
                database_finding(f"postgresql://ada:secret@{url}/course")
            assert "secret" not in str(caught.value) and caught.value.hint


def test_a_machine_without_bubblewrap_gets_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = bubblewrap_finding()
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
    finding = bubblewrap_finding()
    assert finding.state == "warn"
    assert "no permissions here" in finding.detail and "AppArmor" in finding.fix
