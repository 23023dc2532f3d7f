"""`course pipeline` as it is called: help, wrong calls, compiling, submitting, and running."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from course_lib.cli.front_door import build_app
from course_lib.errors import CourseError, InputError
from course_lib.pipeline.catalogue import PipelineError
from course_lib.pipeline.compiling import compiled_folder
from course_lib.pipeline.references import read_ir
from course_lib.pipeline.remote import submit, wait
from tests.pipeline.kubeflow import Kubeflow, kubeflow


@pytest.fixture
def cluster() -> Iterator[Kubeflow]:
    with kubeflow() as found:
        yield found


def course(*arguments: str) -> Result:
    return CliRunner().invoke(build_app("pipeline"), ["pipeline", *arguments])


def fails(*arguments: str) -> CourseError:
    """Call it, expect an error that is explained, and return that."""
    result = course(*arguments)
    assert isinstance(result.exception, CourseError), result.exception
    assert result.exception.hint
    return result.exception


@pytest.mark.parametrize("command", ["run", "submit", "compile", "parameters"])
def test_each_command_has_a_help_with_an_example(command: str) -> None:
    result = course(command, "--help")
    assert result.exit_code == 0 and "Example: course pipeline" in result.output


@pytest.mark.parametrize("command", ["run", "submit"])
def test_a_pipeline_that_is_not_there_is_named_with_those_that_are(command: str) -> None:
    error = fails(command, "--pipeline-name", "docs")
    assert "'docs'" in str(error.args[0]) and "code_pipeline" in error.hint


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("shard=3", "no parameter 'shard'"),
        ("shards", "sets nothing"),
        ("shards=many", "shards is 'many'"),
    ],
)
def test_a_parameter_that_cannot_be_set_is_named(given: str, message: str) -> None:
    error = fails("run", "--set", given)
    assert isinstance(error, InputError) and message in str(error.args[0])


def test_where_nobody_answers_it_says_how_to_reach_kubeflow() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        error = fails("submit", "--host", f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert "no Kubeflow Pipelines answers" in str(error.args[0])
    assert "setup-kubeflow.sh ui" in error.hint


def test_an_address_that_is_none_is_an_error_too() -> None:
    assert "no Kubeflow" in str(fails("submit", "--host", "localhost").args[0])


def test_a_run_is_submitted_with_its_parameters_and_without_secrets(
    cluster: Kubeflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:hush-hush@db.example/rag")
    result = course(
        *("submit", "--host", cluster.url, "--pipeline-name", "code_pipeline"),
        *("--set", "repo=heron/platform", "--set", "extensions=.py, .md", "--set", "shards=8"),
    )
    assert result.exit_code == 0, result.exception
    assert f"{cluster.url}/#/runs/details/r-1" in result.output
    (run,) = cluster.runs
    assert run["runtime_config"]["parameters"] == {
        "repo": "heron/platform",
        "extensions": [".py", ".md"],
        "shards": 8,
    }
    committed, wishes = read_ir(
        (compiled_folder() / "code_pipeline.yaml").read_text(encoding="utf-8")
    )
    sent = run["pipeline_spec"]
    assert sent["pipeline_spec"] == committed and sent["platform_spec"] == wishes
    assert "hush" not in str(run)


def test_without_a_cache_every_step_runs(cluster: Kubeflow) -> None:
    assert course("submit", "--host", cluster.url, "--no-cache").exit_code == 0
    assert "'enableCache': True" not in str(cluster.runs[0])


def test_a_pipeline_that_the_cluster_refuses_is_an_error_with_its_words(cluster: Kubeflow) -> None:
    cluster.refuses = True
    with pytest.raises(PipelineError, match="refused the pipeline: 400") as caught:
        submit("docs_pipeline", host=cluster.url)
    assert "the pipeline spec is invalid" in caught.value.hint


def steps(**states: str) -> dict[str, Any]:
    """Return what the API says of the steps of a run, and of itself and its drivers among them."""
    own = {"root": "RUNNING", "root-driver": "SUCCEEDED", **states}
    return {
        "run_details": {
            "task_details": [{"display_name": name, "state": own[name]} for name in own]
        }
    }


def test_waiting_shows_how_a_run_goes_and_ends_with_it(cluster: Kubeflow) -> None:
    cluster.states = [
        {},
        {"state": "PENDING"},
        503,
        {"state": "PENDING"},
        {"state": "RUNNING", **steps(read="SUCCEEDED", split="RUNNING")},
        {"state": "SUCCEEDED", **steps(read="SUCCEEDED", split="SUCCEEDED", evaluate="SKIPPED")},
    ]
    result = course("submit", "--host", cluster.url, "--wait")
    assert result.exit_code == 0, result.exception
    lines = [" ".join(line.split()[2:]) for line in result.output.splitlines()[1:]]
    assert lines == [
        "no state yet 0 steps done",
        "PENDING 0 steps done",
        "RUNNING 1 step done",
        "SUCCEEDED 3 steps done",
    ]


@pytest.mark.parametrize(
    ("end", "said"), [("FAILED", "failed in split: no space left"), ("CANCELED", "was cancelled")]
)
def test_a_run_that_ends_badly_is_an_error(cluster: Kubeflow, end: str, said: str) -> None:
    cluster.states = [{"state": end}]
    if end == "FAILED":
        cluster.states = [
            {"state": end, "error": {"message": "no space left"}, **steps(split="FAILED")}
        ]
    error = fails("submit", "--host", cluster.url, "--wait")
    assert said in str(error.args[0]) and f"{cluster.url}/#/runs/details/r-1" in error.hint


def test_without_wait_nobody_asks_how_it_goes(cluster: Kubeflow) -> None:
    cluster.states = [{"state": "FAILED"}]
    assert course("submit", "--host", cluster.url).exit_code == 0 and cluster.asked == 0


def test_a_run_that_the_server_forgot_and_a_server_that_went_away_are_told(
    cluster: Kubeflow,
) -> None:
    run = submit("docs_pipeline", host=cluster.url)
    cluster.states = [404]
    with pytest.raises(PipelineError, match="404") as caught:
        wait(run, host=cluster.url)
    assert "goes on" in caught.value.hint and run.url in caught.value.hint
    cluster.states = [500]
    with pytest.raises(PipelineError, match="500"):
        wait(run, host=cluster.url, patience=0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(PipelineError, match="does not say"):
            wait(run, host=f"http://127.0.0.1:{taken.getsockname()[1]}", patience=0)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another signal there")
def test_ctrl_c_ends_the_waiting_and_says_where_the_run_goes_on(cluster: Kubeflow) -> None:
    cluster.states = [{"state": "RUNNING"}]
    command = "from course_lib.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", command, "pipeline", "submit", "--host", cluster.url, "--wait"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            if "RUNNING" in line:
                break
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"The run goes on. Its page is {cluster.url}/#/runs/details/r-1" in said
    assert "Traceback" not in said


def test_compile_only_prints_what_is_committed_and_runs_nothing(cluster: Kubeflow) -> None:
    committed = (compiled_folder() / "docs_pipeline.yaml").read_text(encoding="utf-8")
    for call in (("run",), ("submit", "--host", cluster.url)):
        assert course(*call, "--compile-only").output == committed
    assert cluster.runs == []


def test_a_compiled_file_that_is_out_of_date_fails_the_check(tmp_path: Path) -> None:
    folder = ("--output-dir", str(tmp_path))
    assert course("compile", *folder).output.count("written: ") == 3
    assert "3 pipelines are up to date" in course("compile", *folder, "--check").output
    file = tmp_path / "docs_pipeline.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("rag-documents", "rag-other"), encoding="utf-8")
    result = course("compile", *folder, "--check")
    assert isinstance(result.exception, PipelineError)
    assert "docs_pipeline" in str(result.exception.args[0]) and "-" in result.output
    assert "rag-other" in file.read_text(encoding="utf-8"), "a check changes nothing"


def test_the_parameters_are_listed_with_their_defaults() -> None:
    output = course("parameters", "--pipeline-name", "code_pipeline").output
    assert 'repo             str   "kubeflow/manifests"' in output
    assert "shards           int   4" in output
