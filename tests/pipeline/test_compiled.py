"""The compiled pipelines: whole, and without a reference that leads nowhere."""

from __future__ import annotations

import pytest
from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2

from course_lib.pipeline.catalogue import NAMES, PipelineError
from course_lib.pipeline.compiling import compiled_folder
from course_lib.pipeline.references import find_problems, read_ir


def golden(name: str) -> str:
    return (compiled_folder() / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_pipeline_is_a_pipeline_spec_without_loose_ends_that_installs_nothing(name: str) -> None:
    text = golden(name)
    spec, platform = read_ir(text)
    message = json_format.ParseDict(spec, pipeline_spec_pb2.PipelineSpec())
    assert json_format.MessageToDict(message) == spec
    wishes = json_format.ParseDict(platform, pipeline_spec_pb2.PlatformSpec())
    assert json_format.MessageToDict(wishes) == platform
    assert find_problems(text) == [] and "pip install" not in text


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("name: comp-split-documents", "name: comp-chunk", "comp-chunk, which is not a component"),
        ("executorLabel: exec-report", "executorLabel: exec-rep", "exec-rep is not an executor"),
        ("- for-loop-2\n", "- for-loop-9\n", "for-loop-9, which is not a task"),
        ("producerTask: load-documents", "producerTask: load", "load, which is not a task"),
        ("outputArtifactKey: rows", "outputArtifactKey: row", "no such output"),
        (
            "producerSubtask: embed-and-store",
            "producerSubtask: store",
            "store, which is not a task",
        ),
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
    with pytest.raises(PipelineError, match="not a compiled pipeline"):
        find_problems(text)
