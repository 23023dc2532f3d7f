"""Reading a compiled pipeline, and drawing it and its runs."""

from pathlib import Path
from typing import Any

import pytest

from course_lib.errors import InputError
from course_lib.pipeline.local import Attempt, LocalRun
from course_lib.teaching.lab.dag import read_dag
from course_lib.teaching.lab.figures import attempts, dag

NOWHERE = Path("nowhere")


def spec() -> dict[str, Any]:
    """A loop over what the first task says, which takes its documents; the last takes them all."""
    taken = {"producerTask": "read", "outputArtifactKey": "documents"}
    inner = {
        "componentRef": {"name": "comp-split"},
        "retryPolicy": {"maxRetryCount": 2},
        "cachingOptions": {"enableCache": True},
        "inputs": {"artifacts": {"documents": {"componentInputArtifact": "outer"}}},
    }
    made = {"artifactSelectors": [{"producerSubtask": "split", "outputArtifactKey": "chunks"}]}
    loop = {
        "componentRef": {"name": "comp-loop"},
        "dependentTasks": ["read"],
        "parameterIterator": {"items": {"inputParameter": "pipelinechannel--shards"}},
        "iteratorPolicy": {"parallelismLimit": 2},
        "inputs": {"artifacts": {"outer": {"taskOutputArtifact": taken}}},
    }
    all_of_them = {"producerTask": "loop", "outputArtifactKey": "parts"}
    collect = {
        "componentRef": {"name": "comp-collect"},
        "dependentTasks": ["loop"],
        "inputs": {"artifacts": {"parts": {"taskOutputArtifact": all_of_them}}},
    }
    report = {
        "componentRef": {"name": "comp-report"},
        "dependentTasks": ["collect"],
        "triggerPolicy": {"strategy": "ALL_UPSTREAM_TASKS_COMPLETED"},
    }
    tasks = {
        "report": report,
        "collect": collect,
        "loop": loop,
        "read": {"componentRef": {"name": "comp-read"}},
    }
    return {
        "pipelineInfo": {"name": "small"},
        "root": {"dag": {"tasks": tasks}},
        "components": {
            "comp-read": {"outputDefinitions": {"artifacts": {"documents": {}}}},
            "comp-loop": {
                "dag": {"tasks": {"split": inner}, "outputs": {"artifacts": {"parts": made}}}
            },
            "comp-split": {"outputDefinitions": {"artifacts": {"chunks": {}}}},
            "comp-collect": {},
            "comp-report": {},
        },
    }


def test_values_are_followed_into_a_loop_and_out_of_it():
    edges = [(edge.producer, edge.label, edge.consumer) for edge in read_dag(spec()).edges]
    assert edges == [
        ("read", "documents", "split"),
        ("split", "chunks", "collect"),
        ("collect", "", "report"),
    ]


def test_each_task_stands_behind_what_it_takes():
    layers = {name: task.layer for name, task in read_dag(spec()).tasks.items()}
    assert layers == {"read": 0, "split": 1, "collect": 2, "report": 3}


def test_loops_retries_and_the_exit_handler_are_told():
    read = read_dag(spec())
    assert [(group.label, group.members) for group in read.groups] == [
        ("for each of shards, 2 at once", ["split"])
    ]
    assert read.tasks["split"].notes == ("2 retries",)
    assert read.tasks["report"].notes == ("never cached", "always runs")


def test_what_is_no_pipeline_is_refused():
    with pytest.raises(InputError, match="not a compiled pipeline"):
        read_dag({"components": {}})


def test_the_graph_is_described_for_those_who_cannot_see_it():
    alt = dag(spec()).alt
    assert alt.startswith("Graph of the pipeline small. Tasks: read, split, collect, report.")
    assert "split → collect (chunks)" in alt


def test_two_tasks_of_one_layer_do_not_lie_upon_each_other():
    from course_lib.teaching.lab.figures.dags import _places

    wide = spec()
    wide["root"]["dag"]["tasks"]["again"] = {"componentRef": {"name": "comp-read"}}
    places = _places(read_dag(wide))
    assert len(set(places.values())) == len(places)


def test_a_run_is_told_by_task_and_attempt():
    run = LocalRun(
        NOWHERE,
        NOWHERE,
        (
            Attempt("split[0]", "succeeded", 0.0, 1.0),
            Attempt("split[1]", "failed", 0.0, 0.5, "Traceback\nOSError: the disk is full\n"),
            Attempt("split[1]", "succeeded", 0.5, 0.5),
            Attempt("read", "cached"),
        ),
        seconds=1.0,
    )
    assert str(run).splitlines() == [
        "read      cached",
        "split[0]  succeeded",
        "split[1]  failed     OSError: the disk is full",
        "split[1]  succeeded",
        "finished",
    ]
    assert "split[1] failed; split[1] succeeded" in attempts(run, "A run").alt


def test_a_run_of_nothing_is_not_drawn():
    with pytest.raises(InputError, match="Nothing ran"):
        attempts(LocalRun(NOWHERE, NOWHERE))
