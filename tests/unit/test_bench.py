"""The bench's own arithmetic, its table, and what it keeps whatever ends a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench import __main__ as bench
from tests.bench.bench_code import shell_functions
from tests.bench.bench_course import LabTime, compute, lab_times
from tests.bench.bench_course import rows as course_rows
from tests.bench.bench_start import rows as start_rows
from tests.bench.history import History, HistoryError
from tests.bench.measure import Row, take_turns
from tests.bench.processes import Cost
from tests.bench.table import Plan, make_table, minutes, number

FAST = Row("a", "what", "peer", ours=1.0, theirs=3.0, unit="s", ratio=3.0, goal=2.0)
SLOW = Row("b", "what", "peer", ours=3.0, theirs=1.0, unit="s", ratio=0.33, goal=1.0)
FREE = Row("c", "what", "peer", ours=1.0, theirs=1.0, unit="s", ratio=1.0)


def kept(folder: Path) -> list[dict[str, Any]]:
    (path,) = folder.iterdir()
    runs: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return runs


def fails() -> Sequence[Row]:
    raise ValueError("no [such] thing")


def is_interrupted() -> Sequence[Row]:
    raise KeyboardInterrupt


def test_all_goals_reached_is_success(tmp_path: Path) -> None:
    history = History(tmp_path, "Some CPU, 2 cores")
    assert bench.run({"a": lambda: [FAST], "c": lambda: [FREE]}, history) == 0
    (run,) = kept(tmp_path)
    assert [(row["part"], row["reached"]) for row in run["rows"]] == [("a", True), ("c", None)]
    assert set(run["parts"]) == {"a", "c"}
    assert [path.name for path in tmp_path.iterdir()] == ["some-cpu-2-cores.json"]


def test_a_missed_goal_is_no_success(tmp_path: Path) -> None:
    assert bench.run({"a": lambda: [FAST], "b": lambda: [SLOW]}, History(tmp_path, "cpu")) == 1


def test_a_part_that_fails_leaves_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = {"a": lambda: [FAST], "b": fails, "c": lambda: [FREE]}
    assert bench.run(parts, History(tmp_path, "cpu")) == 1
    (run,) = kept(tmp_path)
    assert [row["part"] for row in run["rows"]] == ["a", "c"]
    assert run["parts"]["b"]["error"] == "ValueError: no [such] thing"
    printed = capsys.readouterr()
    assert "b could not be measured: ValueError: no [such] thing" in printed.out
    assert "not measured: b" in printed.out
    assert "Traceback" in printed.err  # a bug of the bench shows where it is


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = {"a": lambda: [FAST], "b": is_interrupted, "c": fails}
    assert bench.run(parts, History(tmp_path, "cpu")) == bench.INTERRUPTED
    (run,) = kept(tmp_path)
    assert list(run["parts"]) == ["a"]
    out = capsys.readouterr().out
    assert "interrupted in b" in out and "reached" in out


def test_every_part_is_kept_as_it_ends(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def look() -> Sequence[Row]:
        seen.append([row["part"] for row in kept(tmp_path)[-1]["rows"]])
        return [FREE]

    bench.run({"a": lambda: [FAST], "c": look}, History(tmp_path, "cpu"))
    assert seen == [["a"]]


def test_runs_are_added_to_those_before(tmp_path: Path) -> None:
    for _ in range(2):
        bench.run({"a": lambda: [FAST]}, History(tmp_path, "cpu"))
    assert len(kept(tmp_path)) == 2
    bench.run({"a": lambda: [FAST]}, History(tmp_path, "another cpu"))
    assert len(list(tmp_path.iterdir())) == 2


def test_without_history_nothing_is_written(tmp_path: Path) -> None:
    history = History(None, "cpu")
    assert bench.run({"a": lambda: [FAST]}, history) == 0
    assert history.path is None and history.seconds("a", 7.0) == 7.0


def test_a_spoilt_history_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    spoilt = ('[{"rows": [{}]}]', '[{"rows": [{"part": "a"}], "when": "", "parts": {}}]')
    for text in ("[1", "[1]", '[{"rows": 1}]', '{"rows": []}', "{}", *spoilt):
        (tmp_path / "cpu.json").write_text(text, encoding="utf-8")
        with pytest.raises(HistoryError):
            History(tmp_path, "cpu")
        assert (tmp_path / "cpu.json").read_text(encoding="utf-8") == text


def test_the_last_run_gives_the_estimate_and_the_ratio_before(tmp_path: Path) -> None:
    first = History(tmp_path, "cpu")
    first.add("a", [FAST], 12.34, 0.5, "")
    second = History(tmp_path, "cpu")
    second.add("a", [], 99.0, 0.5, "it failed")
    third = History(tmp_path, "cpu")
    assert third.seconds("a", 7.0) == 12.3
    assert third.seconds("b", 7.0) == 7.0
    assert third.ratio(FAST) == 3.0
    assert third.ratio(SLOW) is None


def test_the_last_figures_of_each_part_are_shown_without_measuring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.show_last(["a", "b"], History(tmp_path, "cpu")) == 1
    assert "nothing was measured yet" in capsys.readouterr().out
    for part, row in (("a", FAST), ("b", SLOW), ("a", replace(FAST, ratio=7.25))):
        History(tmp_path, "cpu").add(part, [row], 1.0, 0.5, "")
    assert bench.show_last(["a", "b", "c"], History(tmp_path, "cpu")) == 0
    printed = capsys.readouterr().out
    assert "7.25" in printed and "missed" in printed and "3.00" not in printed
    assert "load 0.5" in printed


def test_the_table_shows_each_row_with_its_goal(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    console = Console(width=160)
    console.print(make_table([FAST, SLOW, FREE], History(None, "cpu"), "title"))
    fast, slow, free = (line for line in capsys.readouterr().out.splitlines() if "peer" in line)
    assert "3.00" in fast and "≥ 2.00" in fast and "reached" in fast
    assert "≥ 1.00" in slow and "missed" in slow
    assert "≥" not in free


def test_numbers_and_times_read_as_people_write_them() -> None:
    assert [number(value) for value in (0, 0.00012, 0.5, 12.345, 1384.0, 2e6)] == [
        *("0", "0.00012", "0.5", "12.3", "1,384", "2,000,000"),
    ]
    assert [minutes(value) for value in (3, 59, 600)] == ["3 s", "1 min", "10 min"]


def test_the_line_says_what_is_left() -> None:
    plan = Plan({"a": 60.0, "b": 240.0})
    assert plan.line("a") == "measuring a (1 of 2), about 5 min left"
    assert plan.line("b", elapsed=120.0) == "measuring b (2 of 2), about 2 min left"
    assert plan.left("b", elapsed=1000.0) == 0


def test_turns_are_warmed_up_and_give_medians() -> None:
    given = {"a": iter([100.0, 3.0, 1.0, 2.0]), "b": iter([0.0, 5.0, 5.0, 50.0])}
    order: list[str] = []

    def contestant(name: str) -> float:
        order.append(name)
        return next(given[name])

    found = take_turns({name: lambda name=name: contestant(name) for name in given}, turns=3)  # type: ignore[misc]
    assert found == {"a": 2.0, "b": 5.0}
    assert "".join(order) == "ab" + "ab" + "ba" + "ab"


def test_the_parts_are_modules_and_the_help_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(bench.__file__).parent
    assert {path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py")} == set(
        bench.PARTS
    )
    assert list(bench.PARTS)[-1] == "course"
    with pytest.raises(SystemExit) as ended:
        bench.main(["--help"])
    out = capsys.readouterr().out
    assert ended.value.code == 0 and all(part in out for part in bench.PARTS)
    with pytest.raises(SystemExit) as ended:
        bench.main(["no-such-part"])
    assert ended.value.code == 2 and "no-such-part" in capsys.readouterr().err


def test_the_command_line_names_the_parts() -> None:
    from course_lib.cli.course import BENCHES
    from tests.unit.command_line import Course

    assert tuple(bench.PARTS) == BENCHES
    done = Course({})("bench", "--help")
    assert done.returncode == 0 and all(part in done.stdout for part in bench.PARTS)


def test_shell_functions_are_found_and_those_in_heredocs_are_text() -> None:
    text = "a() {\n  cat <<EOF\nb() {\n}\nEOF\n}\n\nfunction c () {\n  :\n}\n"
    assert [text[start:end].split()[-2:] for start, end, _ in shell_functions(text)] == [
        ["EOF", "}"],
        [":", "}"],
    ]


def test_own_compute_is_what_papermill_notes_of_code_cells() -> None:
    def cell(kind: str, seconds: float | None) -> dict[str, Any]:
        return {"cell_type": kind, "metadata": {"papermill": {"duration": seconds}}}

    cells = [cell("markdown", 5.0), cell("code", 2.0), cell("code", None), cell("code", 0.5)]
    assert compute({"cells": cells}) == 2.5


def test_the_course_is_compared_with_its_cells_and_the_slowest_lab_with_the_limit() -> None:
    times = [LabTime("00", whole=12.0, compute=10.0), LabTime("01", whole=66.0, compute=50.0)]
    whole, processes, slowest = course_rows(times, seconds=45.0)
    assert (whole.ratio, whole.reached) == (pytest.approx(60 / 45), True)
    assert (processes.ratio, processes.reached) == (pytest.approx(60 / 78), True)
    assert (slowest.ours, slowest.reached) == (66.0, False)
    assert "01" in slowest.what


def test_a_lab_that_failed_is_no_figure() -> None:
    from course_lib.teaching.run import LabRun

    with pytest.raises(OSError, match="lab 03: ValueError: x"):
        lab_times([LabRun("03", "t", "failed", error={"message": "ValueError: x"})])


def test_a_start_within_the_limit_reaches_it() -> None:
    found = start_rows(
        {
            "python": Cost(0.02, 10),
            "import course_lib": Cost(0.07, 20),
            "course search": Cost(0.8, 200),
            "one text": Cost(1.2, 260),
            "stock": Cost(8.0, 900),
        }
    )
    reached = {(row.what, row.peer): row.reached for row in found}
    assert reached["import course_lib, over a bare interpreter", "limit"]
    assert reached["course search, cold", "limit"]
    assert reached["encode one text", "limit"] is False
    assert reached["course search, cold", "sentence-transformers, one text"] is None


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGINT for one process")
def test_ctrl_c_at_the_terminal_ends_with_the_table(tmp_path: Path) -> None:
    program = f"""
import signal, sys, time
from pathlib import Path
from tests.bench import __main__ as bench
from tests.bench.history import History
from tests.bench.measure import Row
signal.signal(signal.SIGINT, signal.default_int_handler)  # CI may have it ignored
def waits():
    Path({str(tmp_path / "waiting")!r}).touch()
    time.sleep(600)
row = Row("a", "what", "peer", 1.0, 3.0, "s", 3.0, 2.0)
history = History(Path({str(tmp_path / "results")!r}), "cpu")
sys.exit(bench.run({{"a": lambda: [row], "b": waits}}, history))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=Path(bench.__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "waiting").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == bench.INTERRUPTED
    assert "reached" in out and "interrupted in b" in out
    assert [row["part"] for row in kept(tmp_path / "results")[0]["rows"]] == ["a"]
