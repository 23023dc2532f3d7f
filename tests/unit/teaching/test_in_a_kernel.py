"""The machinery as a notebook has it: cells that run in a real kernel."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from course_lib.teaching.start import kernel_environment

CELLS = {
    "start": 'from course_lib.teaching import start\nlab = start("01")',
    "stub": (
        "def find_cut(text, start, limit, floor=0, separators=()):\n"
        '    """Find it."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'
    ),
    "check the stub": 'lab.check("1.1", find_cut)',
    "go on": 'find_cut = lab.use("find_cut")\nfind_cut("ab cd. ef gh", 0, 8)',
    "an answer that does not compile": "def find_cut(text, start, limit, floor=0:\n    return 8",
    "check the course's": 'lab.check("1.1", find_cut)',
    "check nothing": 'lab.check("1.1")',
    "stub again": "def find_cut(*args): raise NotImplementedError()",
    "builds on it": (
        "def split_text(text, chunk_size=512, chunk_overlap=64):\n    find_cut(text, 0, chunk_size)"
    ),
    "check what waits": 'lab.check("1.3", split_text)',
    "raises": "def find_cut(*args):\n    pieces = []\n    return pieces[1]",
    "check what raises": 'lab.check("1.1", find_cut)',
    "loops": "def find_cut(*args):\n    while True:\n        pass",
    "check what loops": 'lab.check("1.1", find_cut)',
    "long": (
        "from course_lib.teaching.checks.outcomes import CheckFailed\n"
        "from course_lib.teaching.lab.notebook import show_whole_call\n"
        "show_whole_call(CheckFailed('1.1', 'is wrong', called=f'find_cut({1000 * [1]})'))"
    ),
    "right": (
        "from course_lib.loader import recursive\n"
        "def find_cut(*args):\n    return recursive.find_cut(*args)"
    ),
    "check what is right": 'lab.check("1.1", find_cut)',
    "a change that fails": "def find_cut(*args, at=nowhere):\n    return 0",
    "check the older one": 'lab.check("1.1", find_cut)',
    "hint": 'lab.hint("1.1")',
    "widget": (
        "from course_lib.loader.recursive import split_text\n"
        'lab.show.spans_slider("some text. " * 30, split_text)'
    ),
    "figure": 'lab.show.bars({"a": 1, "b": 2}, "Letters")',
}


@pytest.fixture(scope="module")
def outputs() -> Iterator[dict[str, list[Any]]]:
    notebook = new_notebook(cells=[new_code_cell(source) for source in CELLS.values()])
    NotebookClient(notebook, timeout=60, kernel_name="python3", allow_errors=True).execute()
    yield dict(zip(CELLS, (cell.outputs for cell in notebook.cells), strict=True))


def error_of(outputs: list[Any]) -> Any:
    (error,) = [output for output in outputs if output.output_type == "error"]
    return error


def test_an_untouched_exercise_is_a_failed_cell_with_one_line(outputs):
    error = error_of(outputs["check the stub"])
    assert error.ename == "NotAttempted"
    assert error.evalue == "1.1 not attempted yet"
    said, way_on = error.traceback
    assert said == "1.1 not attempted yet" and "Run Selected Cell and All Below" in way_on


def test_the_next_cell_goes_on_with_the_course_s_version(outputs):
    stream, result = outputs["go on"]
    assert "the course's version" in stream.text
    assert result.data["text/plain"] == "7"


def test_a_check_refuses_what_the_course_handed_out(outputs):
    said = error_of(outputs["check the course's"]).evalue
    assert said.startswith("1.1 was given the course's find_cut: run the cell with your answer")


def test_a_check_refuses_an_answer_that_is_older_than_its_cell(outputs):
    said = error_of(outputs["check the older one"]).evalue
    assert said.startswith("1.1 was given an older find_cut: the cell that defines it was changed")


def test_a_check_without_a_function_says_what_to_write(outputs):
    said = error_of(outputs["check nothing"]).evalue
    assert said == '1.1 is checked with your find_cut: lab.check("1.1", find_cut)'


def test_a_missing_name_says_to_run_the_cells_from_the_top(outputs):
    assert error_of(outputs["a change that fails"]).ename == "NameError"
    (stream,) = [o for o in outputs["a change that fails"] if o.output_type == "stream"]
    assert "run the cells from the top" in stream.text


def test_a_kernel_that_starts_in_the_middle_says_to_run_the_cells_from_the_top(monkeypatch):
    for name, value in kernel_environment(os.environ).items():
        monkeypatch.setenv(name, value)
    notebook = new_notebook(cells=[new_code_cell('lab.check("1.1", find_cut)')])
    NotebookClient(notebook, timeout=60, kernel_name="python3", allow_errors=True).execute()
    shown = notebook.cells[0].outputs
    assert error_of(shown).evalue == "name 'lab' is not defined"
    assert any("run the cells from the top" in o.get("text", "") for o in shown)


def test_a_long_call_is_shown_whole_and_folded(outputs):
    (shown,) = outputs["long"]
    assert "<details>" in shown.data["text/html"]
    assert shown.data["text/plain"] == f"find_cut({1000 * [1]})"


def test_an_exercise_that_builds_on_a_stub_waits(outputs):
    assert error_of(outputs["check what waits"]).evalue == "1.3 waits for 1.1"


def test_an_error_is_a_failed_cell_that_shows_the_learners_line_and_no_traceback(outputs):
    error = error_of(outputs["check what raises"])
    assert error.ename == "CheckFailed"
    text = "\n".join(error.traceback)
    assert "find_cut('ab cd. ef gh', 0, 8)" in text
    assert "IndexError: list index out of range" in text
    assert "in line 3 of your cell: return pieces[1]" in text
    assert text.endswith('lab.hint("1.1") gives hint 1 of 3')
    assert "course_lib" not in text and "Traceback" not in text
    assert len(text.splitlines()) < 10


def test_an_endless_loop_ends_in_a_kernel(outputs):
    text = "\n".join(error_of(outputs["check what loops"]).traceback)
    assert "did not come to an end" in text
    assert "in line 2 of your cell: while True:" in text or "in line 3 of your cell: pass" in text


def test_a_right_answer_prints_its_points(outputs):
    (stream,) = outputs["check what is right"]
    assert (stream.name, stream.text) == ("stdout", "✓ 1.1 passed (3 points)\n")


def test_nothing_is_written_to_standard_error(outputs):
    streams = [o for given in outputs.values() for o in given if o.output_type == "stream"]
    assert {stream.name for stream in streams} == {"stdout"}


def test_a_hint_is_shown_folded_and_as_text(outputs):
    (result,) = outputs["hint"]
    assert "<details" in result.data["text/html"]
    assert result.data["text/plain"].startswith("hint 1 of 3")  # no failed check gave it away


def test_the_slider_is_static_where_no_front_end_shows_widgets(outputs):
    (result,) = outputs["widget"]
    assert set(result.data) == {"text/html", "text/plain"}
    assert result.data["text/html"].count("<details") == 3


def test_a_chart_is_a_picture_with_a_description(outputs):
    (result,) = outputs["figure"]
    assert 'alt="Bar chart of Letters: a 1, b 2."' in result.data["text/html"]


def test_the_slider_is_alive_where_the_request_comes_from_jupyterlab():
    """JupyterLab sends the cell's id along; the static version follows the live one."""
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        content = {
            "code": f"{CELLS['start']}\n{CELLS['widget']}",
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
        }
        request = client.session.msg("execute_request", content, metadata={"cellId": "a-cell"})
        client.shell_channel.send(request)
        shown: list[set[str]] = []
        while True:
            message = client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
                continue
            if message["msg_type"] == "display_data":
                shown.append(set(message["content"]["data"]))
            elif message["content"].get("execution_state") == "idle":
                break
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    live, static = shown
    assert "application/vnd.jupyter.widget-view+json" in live
    assert static == {"text/html", "text/plain"}
