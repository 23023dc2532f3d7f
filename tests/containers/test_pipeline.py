"""Pipelines whose steps are containers: the same rows as by processes, and the same failures."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import docker
import nbformat
import numpy as np
import psycopg
import pytest
from kfp import dsl
from kfp.dsl import Dataset, Output

from course_lib.pipeline.catalogue import PipelineError
from course_lib.pipeline.components import EMBEDDER, LOADER
from course_lib.pipeline.containers import LABEL
from course_lib.pipeline.local import run_locally
from course_lib.store import fresh_database
from course_lib.teaching.notebooks.execute import execute
from course_lib.teaching.notebooks.project import Project
from tests.containers.conftest import within

COURSE = Path(sys.executable).with_name("course")


def of_runs_in(root: Path, engine: docker.DockerClient) -> list[Any]:
    """The containers, ended ones too, of the runs whose folders are in one place."""
    names = {folder.name for folder in root.glob("*")}
    there = engine.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
    return [one for one in there if one.labels[LABEL] in names]


pytestmark = pytest.mark.usefixtures("images")


def indexed(url: str) -> tuple[list[tuple[object, ...]], list[list[float]]]:
    """What a run wrote: its rows without their vectors, and the vectors."""
    with psycopg.connect(url) as conn:
        rows = conn.execute(
            "SELECT partition, tenant_id, repo_slug, branch, document_name, chunk_index, content, "
            "content_hash, citation_url, embedding::text FROM document_chunks ORDER BY 1,2,3,4,5,6"
        ).fetchall()
    vectors = [[float(one) for one in row[-1].strip("[]").split(",")] for row in rows]
    return [row[:-1] for row in rows], vectors


def test_docs_pipeline_in_its_images_makes_the_rows_of_one_by_processes() -> None:
    found = []
    for runner in ("subprocess", "docker"):
        with fresh_database("containers") as fresh:
            words = ["pipeline", "run", "-p", "docs_pipeline", "--runner", runner, "--no-cache"]
            done = subprocess.run(
                [COURSE, *words],
                env={**os.environ, "DATABASE_URL": fresh.url},
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            told = [line[8:].split() for line in done.stdout.splitlines() if line[6:8] == " s"]
            measured = [line for line in done.stdout.splitlines() if "recall@10" in line]
            found.append((*indexed(fresh.url), sorted(told), measured))
    (rows, vectors, told, measured), (others, theirs, also_told, also_measured) = found
    assert rows == others and len(rows) > 10
    # The engine's threads are not the same, and float32 sums follow them.
    np.testing.assert_allclose(np.array(vectors), np.array(theirs), atol=1e-5)
    assert told == also_told and measured == also_measured


@dsl.component(base_image=EMBEDDER, install_kfp_package=False)
def look() -> str:
    """What a step finds in its surroundings."""
    import os
    from pathlib import Path

    url = os.environ.get("DATABASE_URL", "").rpartition("/")[2]
    seen = sorted(place.name for place in Path("/app/data").iterdir())
    try:
        Path("/app/data/written").touch()
    except OSError as error:
        return f"{url} {os.environ.get('COLOUR')} {'questions' in seen} {error.strerror}"
    return "data/ can be written"


@dsl.pipeline(name="looking")
def looking() -> str:
    """A step that sets a variable of its own, for which kfp had dropped the runner's."""
    return look().set_env_variable("COLOUR", "green").output


def test_a_step_has_the_database_its_own_variables_and_data_that_it_cannot_write(
    tmp_path: Path,
) -> None:
    run = run_locally(looking, root=tmp_path, url="postgresql://a@127.0.0.1:1/b", runner="docker")
    assert run.outputs == {"Output": "b green True Read-only file system"}


@dsl.component(base_image=LOADER, install_kfp_package=False)
def wait_once(file: Output[Dataset]):
    """Wait to be killed, the first time."""
    import time
    from pathlib import Path

    place = Path(file.path)
    if not place.exists():
        place.write_text("begun", encoding="utf-8")
        print("waiting", flush=True)
        time.sleep(300)
    place.write_text("done", encoding="utf-8")


@dsl.pipeline(name="killed")
def killed() -> Dataset:
    return wait_once().set_retry(num_retries=1).outputs["file"]


def test_a_container_that_is_killed_is_tried_again(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    def kill() -> None:
        def waiting() -> None:
            (one,) = of_runs_in(tmp_path, engine)
            assert b"waiting" in one.logs()
            one.kill()

        within(120, waiting)

    thread = threading.Thread(target=kill)
    thread.start()
    run = run_locally(killed, root=tmp_path, runner="docker")
    thread.join()
    assert str(run).splitlines() == [
        "wait-once  failed     ended without a word",
        "wait-once  succeeded",
        "finished",
    ]
    assert Path(run.outputs["Output"].path).read_text(encoding="utf-8") == "done"
    assert of_runs_in(tmp_path, engine) == []


@dsl.component(base_image=LOADER, install_kfp_package=False)
def fail():
    """Fail with a word."""
    raise ValueError("no such thing")


def test_what_a_step_says_when_it_fails_is_told_as_of_a_process(tmp_path: Path) -> None:
    run = run_locally(fail, root=tmp_path, runner="docker")
    with pytest.raises(PipelineError, match="the step fail failed: no such thing"):
        run.check()
    assert "Traceback" in run.log.read_text(encoding="utf-8")


@dsl.component(base_image="rag-nothing:0.1.0", install_kfp_package=False)
def nothing():
    """Its image does not exist."""


def test_an_image_that_is_not_there_is_named_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="no image rag-nothing:0.1.0") as raised:
        run_locally(nothing, root=tmp_path / "runs", runner="docker")
    assert "make images" in str(raised.value) and not (tmp_path / "runs").exists()


STOPPED = """
import sys
from kfp import dsl
from course_lib.pipeline.components import LOADER
from course_lib.pipeline.local import run_locally

@dsl.component(base_image=LOADER, install_kfp_package=False)
def sleep():
    import time
    time.sleep(300)

@dsl.pipeline(name="sleepers")
def sleepers(numbers: list[int] = [1, 2]):
    with dsl.ParallelFor(numbers, parallelism=2):
        sleep().set_retry(num_retries=3)

run_locally(sleepers, root=sys.argv[1], runner="docker")
"""


def test_ctrl_c_ends_the_containers_and_none_is_started_again(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(STOPPED, encoding="utf-8")
    run = subprocess.Popen([sys.executable, program, tmp_path / "runs"], start_new_session=True)

    def both() -> None:
        assert len(of_runs_in(tmp_path / "runs", engine)) == 2

    within(120, both)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(60) != 0

    def none() -> None:
        assert of_runs_in(tmp_path / "runs", engine) == []

    within(30, none)


def test_lab_11_runs_its_pipeline_in_containers_where_the_images_are() -> None:
    project = Project()
    [source] = project.sources(["11"])
    notebook = nbformat.read(project.solution_notebook(source), as_version=4)
    assert execute(notebook, project.labs, lambda *_, **__: None) is None
    [cell] = [one for one in notebook.cells if "is_ready(pipeline)" in one.source]
    [table] = [one.data["text/plain"] for one in cell.outputs if "data" in one]
    first, *steps = table.splitlines()
    assert first.split() == ["first", "second", "in", "containers"]
    assert len(steps) == 8 and {step.split()[-1] for step in steps} == {"succeeded"}
