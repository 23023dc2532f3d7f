"""The machinery as a notebook has it: cells that run in a real kernel."""

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from course_lib.teaching.copies import kernel_environment

CELLS = {
    "start": 'from course_lib.teaching import start\nlab = start("01")',
    "stub": (
        "def find_cut(text, start, limit, floor=0, separators=()):\n"
        '    """Find it."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'
    ),
    "check the stub": 'lab.check("1.2", find_cut)',
    "go on": 'find_cut = lab.use("find_cut")\nfind_cut("ab cd. ef gh", 0, 8)',
    "an answer that does not compile": "def find_cut(text, start, limit, floor=0:\n    return 8",
    "check the course's": 'lab.check("1.2", find_cut)',
    "check nothing": 'lab.check("1.2")',
    "stub again": "def find_cut(*args): raise NotImplementedError()",
    "builds on it": (
        "def split_text(text, chunk_size=512, chunk_overlap=64):\n    find_cut(text, 0, chunk_size)"
    ),
    "check what waits": 'lab.check("1.3", split_text)',
    "raises": "def find_cut(*args):\n    pieces = []\n    return pieces[1]",
    "check what raises": 'lab.check("1.2", find_cut)',
    "loops": "def find_cut(*args):\n    while True:\n        pass",
    "check what loops": 'lab.check("1.2", find_cut)',
    "long": (
        "from course_lib.teaching.checks.outcomes import CheckFailed\n"
        "from course_lib.teaching.lab.notebook import show_whole_call\n"
        "show_whole_call(CheckFailed('1.2', 'is wrong', called=f'find_cut({1000 * [1]})'))"
    ),
    "a name that is missing": "nowhere",
    "a variable without a value": "def f():\n    x += 1\nf()",
    "a loop over a placeholder": (
        "from kfp import dsl\n@dsl.pipeline\ndef bakery(cakes: list = []):\n"
        "    for cake in cakes:\n        pass"
    ),
    "widget": (
        "from course_lib.loader.recursive import split_text\n"
        'page = "some text. " * 30\n'
        "lab.interact(lambda size: lab.show.spans(page, split_text(page, size, 0)), size=(20, 90))"
    ),
}


def execute(notebook: Any) -> None:
    """Run all cells; what a cell prints in several messages is one stream."""
    NotebookClient(
        notebook, timeout=60, kernel_name="python3", allow_errors=True, coalesce_streams=True
    ).execute()


@pytest.fixture(scope="module")
def outputs() -> Iterator[dict[str, list[Any]]]:
    notebook = new_notebook(cells=[new_code_cell(source) for source in CELLS.values()])
    execute(notebook)
    yield dict(zip(CELLS, (cell.outputs for cell in notebook.cells), strict=True))


def error_of(outputs: list[Any]) -> Any:
    (error,) = [output for output in outputs if output.output_type == "error"]
    return error


def test_an_error_in_a_pipeline_shows_its_own_line_and_none_of_kfp(outputs):
    error = error_of(outputs["a loop over a placeholder"])
    shown = "\n".join(error.traceback)
    assert error.ename == "TypeError" and "for cake in cakes" in re.sub(r"\x1b.*?m", "", shown)
    assert "kfp/" not in shown and shown.count("\n") < 30


def test_an_untouched_exercise_is_a_failed_cell_with_one_line(outputs):
    error = error_of(outputs["check the stub"])
    assert error.ename == "NotAttempted"
    assert error.evalue == "1.2 not attempted yet"
    said, way_on = error.traceback
    assert said == "1.2 not attempted yet" and "Run Selected Cell and All Below" in way_on


def test_a_check_refuses_what_the_course_handed_out(outputs):
    said = error_of(outputs["check the course's"]).evalue
    assert said.startswith("1.2 was given the course's find_cut: run the cell with your answer")


def test_a_check_without_a_function_says_what_to_write(outputs):
    said = error_of(outputs["check nothing"]).evalue
    assert said == '1.2 is checked with your find_cut: lab.check("1.2", find_cut)'


def test_a_missing_name_says_to_run_the_cells_from_the_top(outputs):
    assert error_of(outputs["a name that is missing"]).ename == "NameError"
    (stream,) = [o for o in outputs["a name that is missing"] if o.output_type == "stream"]
    assert "run the cells from the top" in stream.text
    assert [o.output_type for o in outputs["a variable without a value"]] == ["error"]


def test_a_kernel_that_starts_in_the_middle_says_to_run_the_cells_from_the_top(monkeypatch):
    for name, value in kernel_environment(os.environ).items():
        monkeypatch.setenv(name, value)
    cells = ["sorted(name for name in vars() if name[0] != '_')", 'lab.check("1.2", find_cut)']
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    execute(notebook)
    names, shown = (cell.outputs for cell in notebook.cells)
    assert names[0].data["text/plain"] == "['In', 'Out', 'exit', 'get_ipython', 'open', 'quit']"
    assert error_of(shown).evalue == "name 'lab' is not defined"
    assert any("run the cells from the top" in o.get("text", "") for o in shown)


def test_a_long_call_is_shown_whole_and_folded(outputs):
    (shown,) = outputs["long"]
    assert "<details>" in shown.data["text/html"]
    assert shown.data["text/plain"] == f"find_cut({1000 * [1]})"


def test_an_exercise_that_builds_on_a_stub_is_judged_with_the_courses_version(outputs):
    assert "got       None\n" in error_of(outputs["check what waits"]).evalue


def test_an_error_is_a_failed_cell_that_shows_the_learners_line_and_no_traceback(outputs):
    error = error_of(outputs["check what raises"])
    assert error.ename == "CheckFailed"
    text = "\n".join(error.traceback)
    assert "find_cut('ab cd. ef gh', 0, 8)" in text
    assert "IndexError: list index out of range" in text
    assert "in line 3 of your cell: return pieces[1]" in text
    assert text.endswith('lab.hint("1.2") gives hint 1 of 3')
    assert "course_lib" not in text and "Traceback" not in text
    assert len(text.splitlines()) < 10


def test_an_endless_loop_ends_in_a_kernel(outputs):
    text = "\n".join(error_of(outputs["check what loops"]).traceback)
    assert "did not come to an end" in text
    assert "in line 2 of your cell: while True:" in text or "in line 3 of your cell: pass" in text


def test_nothing_is_written_to_standard_error(outputs):
    streams = [o for given in outputs.values() for o in given if o.output_type == "stream"]
    assert {stream.name for stream in streams} == {"stdout"}


def test_the_slider_is_static_where_no_front_end_shows_widgets(outputs):
    settings, result = outputs["widget"]
    assert settings.text == "size = 20\n"
    assert set(result.data) == {"text/html", "text/plain"}


class Front:
    """A kernel, asked as JupyterLab asks: with the id of each cell."""

    def __init__(self) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="python3")

    def run(self, cell_id: str, code: str) -> list[Any]:
        """Run a cell and return the content of what it displayed and raised."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        request = self.client.session.msg("execute_request", content, metadata={"cellId": cell_id})
        self.client.shell_channel.send(request)
        shown = []
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
                continue
            if message["msg_type"] in ("display_data", "error", "stream"):
                shown.append(message["content"])
            elif message["content"].get("execution_state") == "idle":
                return shown


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    opened = Front()
    try:
        opened.run("start", CELLS["start"])
        yield opened
    finally:
        opened.client.stop_channels()
        opened.manager.shutdown_kernel(now=True)


def test_another_start_forgets_nothing_of_what_the_course_handed_out(front: Front) -> None:
    front.run("start", f'split_text = lab.use("split_text")\n{CELLS["start"]}')
    (said,) = front.run("check", 'lab.check("1.3", split_text)')
    assert said["evalue"].startswith("1.3 was given the course's split_text")


def test_the_slider_is_alive_where_the_request_comes_from_jupyterlab(front: Front) -> None:
    """JupyterLab sends the cell's id along."""
    shown = [set(one["data"]) for one in front.run("a-cell", CELLS["widget"]) if "data" in one]
    assert any("application/vnd.jupyter.widget-view+json" in one for one in shown)
