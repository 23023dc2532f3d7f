"""The compiled pipelines: what Kubeflow knows, and nothing that is installed in a step."""

from __future__ import annotations

import pytest
import yaml
from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2

from course_lib.pipeline.catalogue import NAMES
from course_lib.pipeline.compiling import compiled_folder


@pytest.mark.parametrize("name", NAMES)
def test_a_pipeline_is_a_pipeline_spec_that_installs_nothing(name: str) -> None:
    text = (compiled_folder() / f"{name}.yaml").read_text(encoding="utf-8")
    spec, platform = yaml.safe_load_all(text)
    message = json_format.ParseDict(spec, pipeline_spec_pb2.PipelineSpec())
    assert json_format.MessageToDict(message) == spec
    wishes = json_format.ParseDict(platform, pipeline_spec_pb2.PlatformSpec())
    assert json_format.MessageToDict(wishes) == platform
    assert "pip install" not in text
