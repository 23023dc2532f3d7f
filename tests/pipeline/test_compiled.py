"""The compiled pipelines: as committed, whole, without secrets, and with what a cluster needs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2

from course_lib import __version__
from course_lib.errors import InputError
from course_lib.pipeline.catalogue import NAMES, PipelineError, find_pipeline, parameters_of
from course_lib.pipeline.compiling import (
    check_compiled,
    compile_pipeline,
    compiled_folder,
    write_compiled,
)
from course_lib.pipeline.references import find_problems, read_ir

each_pipeline = pytest.mark.parametrize("name", NAMES)
UNCACHED = {
    *("fingerprint-documents", "pin-commit", "download-github-issues"),
    *("embed-and-store", "build-index", "evaluate", "report"),
}


def golden(name: str) -> str:
    return (compiled_folder() / f"{name}.yaml").read_text(encoding="utf-8")


def tasks(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """All tasks that are steps, by the names of their components."""
    found = {}
    for component in (spec["root"], *spec["components"].values()):
        for task in component.get("dag", {}).get("tasks", {}).values():
            called = task["componentRef"]["name"]
            if "executorLabel" in spec["components"][called]:
                found[called.removeprefix("comp-")] = task
    return found


def kind(component: str) -> str:
    return re.sub(r"-\d+$", "", component)


def test_what_is_committed_is_what_is_compiled() -> None:
    assert check_compiled() == {}, "run `course pipeline compile` and look at what changed"


@each_pipeline
def test_the_yaml_goes_through_the_pipeline_spec_and_back(name: str) -> None:
    spec, platform = read_ir(golden(name))
    message = json_format.ParseDict(spec, pipeline_spec_pb2.PipelineSpec())
    assert json_format.MessageToDict(message) == spec
    wishes = json_format.ParseDict(platform, pipeline_spec_pb2.PlatformSpec())
    assert json_format.MessageToDict(wishes) == platform


@each_pipeline
def test_no_reference_leads_nowhere(name: str) -> None:
    assert find_problems(golden(name)) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("name: comp-chunk-documents", "name: comp-chunk", "comp-chunk, which is no component"),
        ("executorLabel: exec-report", "executorLabel: exec-rep", "exec-rep is no executor"),
        ("- for-loop-2\n", "- for-loop-9\n", "for-loop-9, which is no task"),
        ("producerTask: load-documents", "producerTask: load", "load, which is no task"),
        ("outputArtifactKey: rows", "outputArtifactKey: row", "no such output"),
        ("producerSubtask: embed-and-store", "producerSubtask: store", "store, which is no task"),
        ("componentInputParameter: tenant", "componentInputParameter: who", "who, which its"),
        (
            "- componentInputParameter: pipelinechannel--documents_claim",
            "- componentInputParameter: claim",
            "claim for exec-",
        ),
        ("        exec-evaluate:\n", "        exec-measure:\n", "exec-measure, which is no"),
    ],
)
def test_a_reference_that_leads_nowhere_is_found(old: str, new: str, problem: str) -> None:
    text = golden("docs_pipeline")
    assert old in text
    found = find_problems(text.replace(old, new))
    assert any(problem in one for one in found), found


@pytest.mark.parametrize("text", ["", "a: [", "root: 3", "- 1", "nothing: {}"])
def test_what_is_no_pipeline_is_refused(text: str) -> None:
    with pytest.raises(PipelineError, match="no compiled pipeline"):
        find_problems(text)


@each_pipeline
def test_every_parameter_has_a_type_and_a_default(name: str) -> None:
    spec, _ = read_ir(golden(name))
    given = spec["root"]["inputDefinitions"]["parameters"]
    assert set(given) == set(parameters_of(name))
    for parameter in given.values():
        assert "defaultValue" in parameter and "parameterType" in parameter


@each_pipeline
def test_no_secret_is_a_parameter_or_stands_in_the_yaml(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:hush-hush@db.example/rag")
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_hushhush")
    text = compile_pipeline(name)
    assert "hush" not in text and "postgresql://" not in text
    names = " ".join(parameters_of(name)).lower()
    assert not re.search("url|token|password|secret|key", names)


@each_pipeline
def test_the_steps_get_their_secrets_from_kubernetes(name: str) -> None:
    spec, platform = read_ir(golden(name))
    wishes = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    for component, executor in spec["deploymentSpec"]["executors"].items():
        image = executor["container"]["image"]
        secrets = {
            one["secretName"]: (one["keyToEnv"][0]["envVar"], one["optional"])
            for one in wishes.get(component, {}).get("secretAsEnv", [])
        }
        # One is found by what the images hold: the steps with a database, and no other.
        if image == f"rag-embedder:{__version__}":
            assert secrets == {"rag-database": ("DATABASE_URL", False)}, component
        else:
            assert image == f"rag-loader:{__version__}"
            splits = component.startswith("exec-chunk")
            assert secrets == ({} if splits else {"rag-github": ("GITHUB_TOKEN", True)}), component


def test_the_documents_are_mounted_where_the_image_has_the_project() -> None:
    _, platform = read_ir(golden("docs_pipeline"))
    wishes = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    mounts = {name: one["pvcMount"][0] for name, one in wishes.items() if "pvcMount" in one}
    assert set(mounts) == {"exec-evaluate", "exec-fingerprint-documents", "exec-load-documents"}
    assert {mount["mountPath"] for mount in mounts.values()} == {"/app/data"}
    default = parameters_of("docs_pipeline")["documents_claim"].default
    overlay = compiled_folder().parent / "k8s" / "overlays" / "kind" / "pipelines.yaml"
    claims = [
        one["metadata"]["name"]
        for one in yaml.safe_load_all(overlay.read_text(encoding="utf-8"))
        if one["kind"] == "PersistentVolumeClaim"
    ]
    assert claims == [default]
    for image in ("loader", "embedder"):
        dockerfile = compiled_folder().parent / "docker" / f"{image}.Dockerfile"
        assert "COURSE_ROOT=/app " in dockerfile.read_text(encoding="utf-8")


@each_pipeline
def test_only_steps_whose_inputs_say_everything_are_cached(name: str) -> None:
    spec, _ = read_ir(golden(name))
    for component, task in tasks(spec).items():
        cached = task.get("cachingOptions", {}).get("enableCache", False)
        assert cached == (kind(component) not in UNCACHED), component


@each_pipeline
def test_every_step_that_can_be_lost_is_tried_again(name: str) -> None:
    spec, _ = read_ir(golden(name))
    for component, task in tasks(spec).items():
        retried = task.get("retryPolicy", {}).get("maxRetryCount", 0)
        assert retried > 0 or component.startswith("chunk-"), component


@each_pipeline
def test_the_shards_fan_out_and_the_index_is_built_once_after_them(name: str) -> None:
    spec, _ = read_ir(golden(name))
    main = spec["components"]["comp-exit-handler-1"]["dag"]["tasks"]
    loops = {task for task, one in main.items() if "parameterIterator" in one}
    assert len(loops) == (3 if name == "ingest_everything" else 1)
    assert all(main[loop]["iteratorPolicy"]["parallelismLimit"] == 4 for loop in loops)
    assert set(main["build-index"]["dependentTasks"]) == loops


@each_pipeline
def test_a_last_step_reports_whatever_happened(name: str) -> None:
    spec, _ = read_ir(golden(name))
    last = spec["root"]["dag"]["tasks"]["report"]
    assert last["triggerPolicy"]["strategy"] == "ALL_UPSTREAM_TASKS_COMPLETED"
    assert "taskFinalStatus" in last["inputs"]["parameters"]["status"]


@each_pipeline
def test_no_step_installs_anything(name: str) -> None:
    assert "pip install" not in golden(name)


def test_images_can_come_from_a_registry() -> None:
    spec, _ = read_ir(compile_pipeline("code_pipeline", registry="ghcr.io/team/"))
    images = {one["container"]["image"] for one in spec["deploymentSpec"]["executors"].values()}
    assert images == {f"ghcr.io/team/rag-{name}:{__version__}" for name in ("loader", "embedder")}


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    assert len(write_compiled(tmp_path)) == 3
    assert write_compiled(tmp_path) == []
    file = tmp_path / "docs_pipeline.yaml"
    file.write_text(file.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    assert list(check_compiled(tmp_path)) == ["docs_pipeline"]
    assert write_compiled(tmp_path) == [file]


def test_a_name_with_hyphens_is_found_and_another_one_is_not() -> None:
    assert find_pipeline("docs-pipeline") is find_pipeline("docs_pipeline")
    with pytest.raises(InputError, match="no pipeline 'docs'"):
        find_pipeline("docs")


def test_nothing_that_others_import_imports_kfp() -> None:
    modules = ["catalogue", "compiling", "corpus", "evaluating", "local", "references", "remote"]
    modules += ["reporting", "sources", "splitting", "storing"]
    code = "".join(f"import course_lib.pipeline.{name}\n" for name in modules)
    code += "import course_lib.cli.pipeline, sys; print('kfp' in sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert said.stdout.strip() == "False"
