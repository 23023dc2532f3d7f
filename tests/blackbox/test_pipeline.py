"""`course pipeline`: the compiled files, runs on this machine, and runs given to a cluster."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
import yaml

from tests.blackbox.course import Course, Done
from tests.blackbox.golden import hold_golden
from tests.blackbox.kubeflow import Cluster, cluster
from tests.blackbox.places import Place, new_place

PIPELINES = ("docs_pipeline", "code_pipeline", "ingest_everything")
NOWHERE = Course({"DATABASE_URL": "postgresql://nobody:hush-hush@127.0.0.1:1/none"})
"""Compiling and submitting need no database: there is none here."""

TEXT = "# {name}\n\nThe {name} turns its wings into the wind.\n\nThe miller looks after it.\n"
PARTS = ("bonnet", "brake", "hopper", "millstone", "sail", "stock")
RUNS_HERE = pytest.mark.skipif(not shutil.which("sh"), reason="kfp starts steps by sh")


def test_the_compiled_pipelines_are_those_that_clusters_run(tmp_path: Path) -> None:
    """Parameters, steps, their order, retries, secrets and volumes; the source is not compared."""
    said = NOWHERE("pipeline", "compile", "--output-dir", tmp_path).ok()
    assert sorted(said.splitlines()) == [
        f"written: {tmp_path / f'{one}.yaml'}" for one in sorted(PIPELINES)
    ]
    records: list[dict[str, Any]] = []
    for name in PIPELINES:
        text = (tmp_path / f"{name}.yaml").read_text(encoding="utf-8")
        assert "hush-hush" not in text and str(tmp_path) not in text
        spec, wishes = yaml.safe_load_all(text)
        records.append({"pipeline": name, **spec["pipelineInfo"], "root": spec["root"]})
        records += [{"component": key, **value} for key, value in spec["components"].items()]
        for key, value in spec["deploymentSpec"]["executors"].items():
            container = value["container"]
            image = re.sub(r":[\w.-]+$", "", container["image"])
            rest = {one: container[one] for one in ("env", "resources") if one in container}
            records.append({"executor": key, "image": image, **rest})
        executors = wishes["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
        records += [{"on a cluster": key, **value} for key, value in executors.items()]
    hold_golden("pipeline/compiled", records)
    hold_golden(
        "pipeline/parameters",
        [
            {
                "pipeline": one,
                "lines": NOWHERE("pipeline", "parameters", "-p", one).ok().splitlines(),
            }
            for one in PIPELINES
        ],
    )


def test_a_compiled_file_that_is_out_of_date_is_named_and_left_alone(tmp_path: Path) -> None:
    """`compile --check` compares; what is committed is up to date; --compile-only prints it."""
    assert NOWHERE("pipeline", "compile", "--check").ok() == "3 pipelines are up to date\n"
    folder = ("--output-dir", tmp_path)
    NOWHERE("pipeline", "compile", *folder).ok()
    assert NOWHERE("pipeline", "compile", *folder).ok() == "3 pipelines are up to date\n"
    file = tmp_path / "docs_pipeline.yaml"
    compiled = file.read_text(encoding="utf-8")
    for command in ("run", "submit"):
        assert NOWHERE("pipeline", command, "--compile-only").ok() == compiled
    file.write_text(compiled.replace("rag-documents", "rag-other"), encoding="utf-8")
    done = NOWHERE("pipeline", "compile", *folder, "--check")
    assert done.error() == (
        "error: out of date: docs_pipeline\nCompile and commit them: course pipeline compile\n"
    )
    assert "rag-other" in file.read_text(encoding="utf-8"), "a check changes nothing"
    said = NOWHERE("pipeline", "compile", "--output-dir", file / "below").error()
    assert f"{file / 'below' / 'docs_pipeline.yaml'} cannot be written" in said
    nowhere = NOWHERE("pipeline", "submit", "--compile-only", "--registry", "ghcr.io/team").ok()
    assert "image: ghcr.io/team/" in nowhere


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "-p", "docs"), "there is no pipeline 'docs'"),
        (("submit", "-p", "docs"), "there is no pipeline 'docs'"),
        (("run", "-s", "shard=3"), "docs_pipeline has no parameter 'shard'"),
        (("run", "-s", "shards"), "'shards' sets nothing"),
        (("submit", "-s", "shards=many"), "shards is 'many'"),
        (("run", "-s", "shards=0"), "shards is 0\nGive a number from 1 to 1,000."),
        (("submit", "-s", "shards=-1"), "shards is -1\nGive a number from 1 to 1,000."),
        (("run", "--compile-only", "-s", "shards=1001"), "shards is 1001"),
        (("run", "-s", "chunk_size=0"), "chunk_size is 0"),
        (
            ("submit", "-s", "chunk_overlap=512"),
            "chunk_overlap is 512\nGive a number from 0 to 511",
        ),
        (("run", "-s", "chunk_overlap=-1"), "chunk_overlap is -1"),
        (("run", "-s", "batch_size=0"), "batch_size is 0"),
        (("run", "-s", "tenant=Me"), "tenant is 'Me'"),
        (("submit", "-p", "code_pipeline", "-s", "repo=manifests"), "'manifests' is not a rep"),
        (("run", "-p", "ingest_everything", "-s", "since=May"), "'May' is not a time"),
        (("submit", "--host", "ftp://127.0.0.1"), "--host (or KF_PIPELINES_ENDPOINT) is not an"),
        (("submit", "--host", "http://127.0.0.1:1"), "no Kubeflow Pipelines answers"),
        (("submit", "--host", "localhost"), "no Kubeflow Pipelines answers"),
    ],
)
def test_a_wrong_call_says_what_is_right(words: tuple[str, ...], message: str) -> None:
    """What is wrong, and what there is instead."""
    said = NOWHERE("pipeline", *words).error()
    assert said.startswith(f"error: {message}") and said.partition("\n")[2].strip()


@pytest.fixture
def mill(tmp_path: Path) -> Path:
    """Six short documents, and a question about one of them."""
    folder = tmp_path / "mill"
    folder.mkdir()
    for name in PARTS:
        (folder / f"{name}.md").write_text(TEXT.format(name=name), encoding="utf-8", newline="\n")
    question = {"question": "What does the hopper do?", "kind": "docs", "gold_paths": ["hopper.md"]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def elsewhere(database_url: str) -> Iterator[Place]:
    """A second index, to compare with."""
    with new_place(database_url) as made:
        yield made


def rows(place: Place, repo: str) -> list[dict[str, Any]]:
    """Return all that is stored of a repository, but for what each run makes again."""
    found = place.rows(
        "SELECT to_jsonb(d) - '{id,created_at,updated_at,embedding,words}'::text[] AS row, "
        "embedding::text FROM document_chunks AS d WHERE repo_slug = %s "
        "UNION ALL SELECT to_jsonb(d) - '{id,created_at,updated_at}'::text[], NULL "
        "FROM documents AS d WHERE repo_slug = %s",
        *(repo, repo),
    )
    return sorted(found, key=lambda one: json.dumps(one["row"], sort_keys=True))


def assert_same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Compare rows: all columns are equal, vectors are so up to rounding."""
    assert [one["row"] for one in found] == [one["row"] for one in expected]
    for one, other in zip(found, expected, strict=True):
        if other["embedding"] is not None:
            vectors = [np.array(json.loads(each["embedding"])) for each in (one, other)]
            assert float(vectors[0] @ vectors[1]) > 0.9999


def steps(done: Done) -> list[str]:
    """Return what became of the steps, without the times, in the order of their names."""
    found = re.findall(r"^ *(?:[\d.]+ s)? +([a-z][\w-]+) +([a-z]+)$", done.out, re.MULTILINE)
    return sorted(" ".join(one) for one in found)


@RUNS_HERE
def test_a_run_here_gives_the_index_of_an_ingest_and_a_second_one_costs_little(
    place: Place, elsewhere: Place, mill: Path, tmp_path: Path
) -> None:
    """The same rows, counts and a report; known steps are left out; a bad step names itself."""
    state = {"COURSE_STATE": str(tmp_path / "state")}
    course, other = place.course.with_(**state), elsewhere.course.with_(**state)
    # A neighbour that no run may touch.
    (tmp_path / "neighbour.md").write_text(
        "# Neighbour\n\nNothing of the mill.\n", encoding="utf-8"
    )
    course("ingest", tmp_path / "neighbour.md", "--repo", "neighbour").ok()
    neighbour = rows(place, "neighbour")
    other("ingest", mill, "--repo", "mill").ok()
    questions = tmp_path / "questions.jsonl"
    call = ["pipeline", "run", "-s", f"source={mill}", "-s", "repo=mill"]
    call += ["-s", f"questions={questions}"]

    first = course(*call)
    shards = ["split-documents succeeded", "embed-and-store succeeded"] * 2
    singles = ["build-index", "evaluate", "fingerprint-documents", "load-documents"]
    singles += ["load-questions", "report"]
    assert steps(first) == sorted([*shards, *(f"{one} succeeded" for one in singles)]), first
    assert "6 documents, 6 chunks: 6 inserted, 0 updated, 0 unchanged, 0 deleted\n" in first.ok()
    assert "recall@10 1.00, mrr@10 1.00 (1 questions)\n" in first.out
    assert_same(rows(place, "mill"), rows(elsewhere, "mill"))
    assert rows(place, "neighbour") == neighbour and len(neighbour) == 2
    report = re.search(r"^report: (.+)$", first.out, re.MULTILINE)
    assert report
    text = Path(report[1]).read_text(encoding="utf-8")
    assert text.startswith("The index is up to date.\nmill ") and "documents 6, chunks 6" in text
    password = psycopg.conninfo.conninfo_to_dict(place.url)["password"]
    for file in (tmp_path / "state" / "pipelines").rglob("*"):
        assert not file.is_file() or str(password).encode() not in file.read_bytes(), file

    times = place.rows("SELECT document_name, updated_at FROM document_chunks ORDER BY 1")
    second = course(*call)
    assert steps(second) == sorted(
        [
            *("build-index succeeded", "evaluate succeeded", "fingerprint-documents succeeded"),
            *("load-documents cached", "load-questions succeeded", "report succeeded"),
            *["split-documents cached", "embed-and-store succeeded"] * 2,
        ]
    )
    assert "6 documents, 6 chunks: 0 inserted, 0 updated, 6 unchanged, 0 deleted\n" in second.ok()
    assert place.rows("SELECT document_name, updated_at FROM document_chunks ORDER BY 1") == times

    # A step that fails says which and why, and the index is as it was.
    before = rows(place, "mill")
    step = "fingerprint-documents"
    failed = course(*call, "-s", "source=/nowhere")
    assert failed.error().startswith(f"error: the step {step} failed: /nowhere does not exist")
    assert "run it again to complete it" in failed.error()
    told = {f"{step} failed", "build-index skipped", "evaluate skipped", "report succeeded"}
    assert told <= set(steps(failed))
    assert rows(place, "mill") == before


@pytest.fixture
def kubeflow() -> Iterator[Cluster]:
    """A cluster that takes runs."""
    with cluster() as found:
        yield found


def test_a_run_is_given_to_a_cluster_with_its_parameters_and_without_a_secret(
    kubeflow: Cluster,
) -> None:
    """What is sent is the compiled pipeline; its page is told."""
    done = NOWHERE(
        *("pipeline", "submit", "--host", kubeflow.url, "-p", "code_pipeline"),
        *("-s", "repo=heron/platform", "-s", "extensions=.py, .md", "-s", "shards=8"),
    )
    assert f"{kubeflow.url}/#/runs/details/r-1" in done.ok()
    assert not kubeflow.asked.is_set(), "without --wait it does not ask how the run goes"
    (run,) = kubeflow.runs
    assert run["runtime_config"]["parameters"] == {
        "repo": "heron/platform",
        "extensions": [".py", ".md"],
        "shards": 8,
    }
    printed = NOWHERE("pipeline", "submit", "-p", "code_pipeline", "--compile-only").ok()
    spec = run["pipeline_spec"]
    assert [spec["pipeline_spec"], spec["platform_spec"]] == list(yaml.safe_load_all(printed))
    assert "hush-hush" not in str(run)
    NOWHERE("pipeline", "submit", "--host", kubeflow.url, "--no-cache").ok()
    assert "'enableCache': True" in str(run) and "'enableCache': True" not in str(kubeflow.runs[1])
    kubeflow.says = []
    refused = NOWHERE("pipeline", "submit", "--host", kubeflow.url).error()
    assert "refused the pipeline: 400" in refused and "the pipeline spec is invalid" in refused


def _with_steps(state: str, **states: str) -> dict[str, Any]:
    own = {"root": "RUNNING", "root-driver": "SUCCEEDED", **states}
    listed = [{"display_name": name, "state": own[name]} for name in own]
    return {"state": state, "run_details": {"task_details": listed}}


@pytest.mark.parametrize(
    ("says", "lines", "error"),
    [
        (
            [
                {},
                {"state": "PENDING"},
                503,
                _with_steps("SUCCEEDED", read="SUCCEEDED", split="SKIPPED"),
            ],
            ["no state yet 0 steps done", "PENDING 0 steps done", "SUCCEEDED 2 steps done"],
            "",
        ),
        (
            [{**_with_steps("FAILED", split="FAILED"), "error": {"message": "no space left"}}],
            ["FAILED 0 steps done, failed: split"],
            "failed in split: no space left",
        ),
        ([{"state": "CANCELED"}], ["CANCELED 0 steps done"], "was cancelled"),
        ([404], [], "404"),
    ],
    ids=["good", "failed", "cancelled", "forgotten"],
)
def test_waiting_shows_how_a_run_goes_and_its_end_decides_the_exit_code(
    kubeflow: Cluster, says: list[dict[str, Any] | int], lines: list[str], error: str
) -> None:
    """A line for each change; where it ends badly, the step, the reason and the page."""
    kubeflow.says = says
    done = NOWHERE("pipeline", "submit", "--host", kubeflow.url, "--wait")
    shown = [" ".join(line.split()[2:]) for line in done.out.splitlines()[1:]]
    assert shown == lines, done
    if error:
        assert error in done.error() and f"{kubeflow.url}/#/runs/details/r-1" in done.err
    else:
        done.ok()


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another signal there")
def test_ctrl_c_ends_the_waiting_and_not_the_run(kubeflow: Cluster) -> None:
    """Exit code 130, and where the run goes on."""
    words = ("pipeline", "submit", "--host", kubeflow.url, "--wait")
    with NOWHERE.process(*words) as running:
        assert kubeflow.asked.wait(60)
        assert running.stdout
        while "RUNNING" not in running.stdout.readline():
            pass
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130 and "Traceback" not in said
    assert f"The run goes on. Its page is {kubeflow.url}/#/runs/details/r-1" in said
