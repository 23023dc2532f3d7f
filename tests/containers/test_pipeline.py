"""A pipeline whose steps are containers of their images: the same rows as by processes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import psycopg
import pytest

from course_lib.pipeline.local import LocalRun, run_locally
from course_lib.settings import project_root
from course_lib.store import fresh_database


def indexed(url: str) -> tuple[list[tuple[object, ...]], list[list[float]]]:
    """What a run wrote: its rows without their vectors, and the vectors."""
    with psycopg.connect(url) as conn:
        rows = conn.execute(
            "SELECT partition, tenant_id, repo_slug, branch, document_name, chunk_index, content, "
            "content_hash, citation_url, embedding::text FROM document_chunks ORDER BY 1,2,3,4,5,6"
        ).fetchall()
    vectors = [[float(one) for one in row[-1].strip("[]").split(",")] for row in rows]
    return [row[:-1] for row in rows], vectors


def steps_of(run: LocalRun) -> list[str]:
    """The steps that gave something, a name for each time."""
    return sorted(file.parent.name for file in run.folder.rglob("executor_output.json"))


@pytest.mark.usefixtures("images")
def test_docs_pipeline_in_its_images_makes_the_rows_of_one_by_processes(tmp_path: Path) -> None:
    with fresh_database("containers") as fresh:
        run = run_locally("docs_pipeline", root=tmp_path / "own", caching=False, url=fresh.url)
        run.check()
        rows, vectors = indexed(fresh.url)
    in_images = LocalRun(tmp_path / "images", tmp_path / "log")
    with fresh_database("containers") as fresh:
        done = subprocess.run(
            [sys.executable, "-m", "tests.containers.in_images", fresh.url, in_images.folder],
            cwd=project_root(),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        others, theirs = indexed(fresh.url)
    assert rows == others and len(rows) > 10
    # The engine's threads are not the same, and float32 sums follow them.
    np.testing.assert_allclose(np.array(vectors), np.array(theirs), atol=1e-5)
    assert steps_of(in_images) == steps_of(run) and len(steps_of(run)) > 8
    for step, output in (("build-index", "metrics"), ("evaluate", "metrics")):
        assert in_images.metadata(step, output) == run.metadata(step, output) != []
