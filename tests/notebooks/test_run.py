import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import psutil
import pytest

from course_lib.errors import InputError
from course_lib.teaching.notebooks.project import BuildError
from course_lib.teaching.notebooks.workers import CELL_TIMEOUT
from course_lib.teaching.run import run_labs, summary
from course_lib.teaching.run.one_lab import LabRun, to_html
from course_lib.teaching.run.report import index_page
from course_lib.teaching.run.runner import database_in_use
from tests.waiting import until

SOLUTION_01 = "solutions/01_doubling.ipynb"
SCORE = (
    "from IPython.display import display\n"
    'card = {\\"recall_at_5\\": 0.912345, \\"mrr\\": None, \\"rows\\": 7}\n'
    'display({\\"application/vnd.course.scorecard+json\\": card}, raw=True)\n'
).replace("\n", "\\n")


def test_each_lab_gets_a_status_a_page_and_its_scorecard_and_one_failure_stops_no_other(
    built,
) -> None:
    built.change(SOLUTION_01, "double(21)", "raise ValueError('first\\\\nlast line')")
    built.change("solutions/02_counting.ipynb", 'lab.check(\\"2.1\\", count, 1)', SCORE)
    first, second = run_labs(project=built.project)
    assert (first.lab, first.status, first.title) == ("01", "failed", "Doubling")
    assert first.error["line"].startswith("raise ValueError")
    assert first.error["message"] == "ValueError: last line"
    assert first.error["cell"] in [c["id"] for c in built.notebook("solutions")["cells"]]
    assert (second.status, second.error) == ("passed", {})
    assert second.scorecard == {"recall_at_5": 0.912345, "mrr": None, "rows": 7}
    out = built.root / "build" / "run"
    assert sorted(path.name for path in out.iterdir()) == [
        "01.html",
        "01.ipynb",
        "02.html",
        "02.ipynb",
        "index.html",
        "results.json",
    ]
    page = (out / "index.html").read_text(encoding="utf-8")
    assert (
        "1 of 2 labs passed" in page
        and "<dt>recall@5</dt><dd>0.912</dd>" in page
        and "MRR" not in page
    )
    assert 'href="01.html#papermill-error-cell"' in page
    assert 'id="papermill-error-cell"' in (out / "01.html").read_text(encoding="utf-8")
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert [(r["lab"], r["status"]) for r in results] == [("01", "failed"), ("02", "passed")]
    assert all(result["seconds"] > 0 for result in results)
    told = summary([first, second]).splitlines()
    assert told[0].startswith("01  failed") and told[-1] == "1 of 2 labs passed"
    assert "    ValueError: last line" in told


def test_a_claim_that_does_not_hold_is_a_failed_run_unless_other_data_are_given(
    built, tmp_path: Path
) -> None:
    built.change(SOLUTION_01, "double(20) == 40", "double(20) == 41")
    (run,) = run_labs(["01"], project=built.project)
    assert (run.status, run.error["message"]) == ("failed", "AssertionError: they stay doubled")
    assert run.error["cell"].startswith("claim-")
    (run,) = run_labs(["01"], parameters={"data_dir": str(tmp_path)}, project=built.project)
    assert (run.status, run.error) == ("passed", {})


def test_a_lab_gets_the_parameters_that_it_declares_and_no_password_is_written(
    built, tmp_path: Path
) -> None:
    url = "postgresql://rag:geheim@localhost:5432/rag"
    built.change("solutions/02_counting.ipynb", 'data_dir = \\"data\\"', "database_url = None")
    built.change("solutions/02_counting.ipynb", "data_dir=data_dir", "data_dir=database_url")
    built.change(
        "solutions/02_counting.ipynb",
        'lab.check(\\"2.1\\", count, 1)',
        "import os\\nassert os.environ['DATABASE_URL'] == database_url\\ndatabase_url",
    )
    (tmp_path / "given").mkdir()
    parameters = {"data_dir": str(tmp_path / "given"), "database_url": url}
    runs = run_labs(parameters=parameters, project=built.project)
    assert [run.status for run in runs] == ["passed", "passed"], runs
    for run, given in zip(runs, ("data_dir", "database_url"), strict=True):
        notebook = nbformat.read(run.notebook, as_version=4)
        (cell,) = (c for c in notebook.cells if "injected-parameters" in c.metadata.get("tags", []))
        assert re.findall(r"^(\w+) = ", cell.source, re.MULTILINE) == [given]
    for path in (built.root / "build" / "run").iterdir():
        assert "geheim" not in path.read_text(encoding="utf-8"), path.name
    assert "rag:***@localhost" in runs[1].notebook.read_text(encoding="utf-8")
    index = (built.root / "build" / "run" / "index.html").read_text(encoding="utf-8")
    assert "PostgreSQL at localhost:5432/rag" in index


def test_a_page_of_a_lab_loads_nothing_from_anywhere(built) -> None:
    notebook = nbformat.read(built.root / SOLUTION_01, as_version=4)
    notebook.cells.append(
        nbformat.v4.new_markdown_cell("$x^2$ [g](../labs/GLOSSARY.md#a) [w](https://a.example/)")
    )
    page = to_html(notebook, built.root / "solutions", built.root / "build" / "run")
    loaded = re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?([^\"'\s>]+)", page)
    assert [target for target in loaded if not target.startswith("data:")] == []
    assert "import(" not in page and "@import" not in page
    assert 'href="../../labs/GLOSSARY.md#a"' in page and 'href="https://a.example/"' in page
    assert "<title>Doubling</title>" in page


def test_what_a_notebook_says_cannot_break_the_index() -> None:
    run = LabRun(
        "01", "<b>&", "failed", 61.2, None, None, {"cell": "a", "line": "<x>", "message": "<y>"}
    )
    page = index_page([run], "<db>")
    assert not re.search("<b>|<x>|<y>|<db>", page)
    assert "1 min 01 s" in page and "http" not in page


def test_a_folder_that_is_not_there_is_refused_before_anything_runs(built) -> None:
    with pytest.raises(InputError, match="nowhere is not a folder"):
        run_labs(parameters={"data_dir": "nowhere"}, project=built.project)
    assert not (built.root / "build" / "run" / "01.ipynb").exists()


def test_a_solution_that_was_never_built_is_named_with_the_command(course) -> None:
    with pytest.raises(BuildError, match="01_doubling.ipynb was never built") as raised:
        run_labs(project=course.project)
    assert "make build LAB=01" in raised.value.hint


def test_the_database_is_named_without_its_password(monkeypatch) -> None:
    assert "secret" not in database_in_use("postgresql://u:secret@db.example/rag")
    assert database_in_use("postgresql://u:secret@db.example/rag").startswith(
        "PostgreSQL at db.example:5432/rag"
    )


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to one process")
def test_ctrl_c_ends_the_kernels_and_accounts_for_every_lab(built) -> None:
    marker = built.root / "kernel.pid"
    code = f"import os, time, pathlib; pathlib.Path({str(marker)!r}).write_text(str(os.getpid()))"
    built.change(SOLUTION_01, "double(21)", f"{code}; time.sleep({CELL_TIMEOUT})")
    program = (
        "import signal, sys\nfrom pathlib import Path\n"
        "from course_lib.teaching.notebooks.project import Project\n"
        "from course_lib.teaching.run import run_labs\n"
        # A shell starts what runs in its background with Ctrl-C ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"run_labs(jobs=1, project=Project(root=Path({str(built.root)!r})))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE)
    until(lambda: marker.exists() and marker.read_text(encoding="utf-8"))
    kernel = psutil.Process(int(marker.read_text(encoding="utf-8")))
    children = psutil.Process(process.pid).children(recursive=True)
    assert kernel in children
    process.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=30)[1]
    assert process.returncode != 0
    until(lambda: not any(child.is_running() for child in children))
    results = json.loads((built.root / "build/run/results.json").read_text(encoding="utf-8"))
    assert [result["status"] for result in results] == ["interrupted", "interrupted"]
