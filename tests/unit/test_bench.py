"""The commands that measure and break things: each runs once, as small as it goes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from course_lib.evaluation import read_questions
from tests.bench import __main__ as bench

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
def test_a_part_of_the_bench_is_measured_and_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`python -m tests.bench yaml`, over a few files, once."""
    monkeypatch.setenv("COURSE_BENCH_YAML", str(ROOT / "data" / "manifests"))
    code = bench.main(["yaml"])
    said = capsys.readouterr()
    # A goal may be missed: nothing is asserted about how fast this machine is.
    assert code in (0, 1) and "could not be measured" not in said.out
    assert "encoding their pieces" in said.out and "Traceback" not in said.err


@pytest.mark.parametrize("name", ["kubeflow.jsonl", "kubeflow-fresh.jsonl"])
def test_the_questions_over_the_real_corpora_are_well_formed(name: str) -> None:
    """Odd numbers tune and even ones test, so that both halves cover all subjects."""
    asked = read_questions(
        ROOT / "tests" / "bench" / "questions" / name, kinds=("docs", "manifests")
    )
    for one in asked:
        assert one.split == ("tune" if int(one.id[2:]) % 2 else "test"), one.id
        assert one.id[:2] == {"docs": "kd", "manifests": "km"}[one.kind]
        assert bool(one.gold_resources) == (one.kind == "manifests"), one.id
    for field in ("id", "question"):
        assert len({getattr(one, field).casefold() for one in asked}) == len(asked)


def test_the_fresh_questions_about_the_courses_data_are_answered_there() -> None:
    folders = {"docs": "documents", "code": "code", "manifests": "manifests"}
    asked = read_questions(ROOT / "tests" / "bench" / "questions" / "course-fresh.jsonl")
    assert Counter(one.split for one in asked) == {"tune": 21, "test": 19}
    assert len({one.id for one in asked}) == 40
    for one in asked:
        [path] = one.gold_paths
        text = (ROOT / "data" / folders[one.kind] / path).read_text(encoding="utf-8")
        assert all(answer in text for answer in one.answer_contains), one.id


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals and forks")
def test_a_short_session_of_faults_finds_none() -> None:
    """`make faults`, with two kills, two seconds of traffic and 50 bad inputs."""
    sizes = ("--kills", "2", "--seconds", "2", "--inputs", "50", "--seed", "20261122")
    command = [sys.executable, "-m", "tests.faults", *sizes]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("kills", "full disks", "writers and readers", "bad inputs"):
        assert part in done.stdout
