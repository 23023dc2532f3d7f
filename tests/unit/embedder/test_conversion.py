"""The model for OpenVINO: converted once, whole or not at all, and torch takes over without it."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.embedder import EmbeddingClient, openvino_backend
from course_lib.embedder.openvino_backend import FILE, converted, pools_the_mean
from course_lib.embedder.weights import DEFAULT_MODEL
from course_lib.errors import ModelError
from tests.needs import needs_torch

CONVERT = """
from course_lib.embedder import EmbeddingClient
client = EmbeddingClient("all-MiniLM-L6-v2", backend="openvino")
print(client.encode(["one"]).shape)
"""


def linked(model: Path, folder: Path) -> Path:
    """A folder of its own with the model's files."""
    shutil.copytree(model, folder, copy_function=lambda file, link: Path(link).symlink_to(file))
    return folder


@pytest.mark.long
def test_two_processes_convert_once_and_leave_the_home_folder_alone(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    both = [
        subprocess.Popen([sys.executable, "-c", CONVERT], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [one.communicate()[0].strip() for one in both] == ["(1, 384)", "(1, 384)"]
    (folder,) = (path for path in (state / "models").iterdir() if path.is_dir())
    assert sorted(file.name for file in folder.iterdir()) == ["model.bin", FILE]
    assert not list(home.iterdir())


def test_what_could_not_be_written_is_not_there(
    state: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:  # a disk
        @staticmethod
        def save_model(_: object, path: Path, **__: object) -> None:
            path.write_text("half", encoding="utf-8")
            raise RuntimeError("No space left on device")

    monkeypatch.setattr(openvino_backend, "convert", lambda _: None)
    monkeypatch.setattr(openvino_backend, "import_openvino", lambda: Full)
    with pytest.raises(RuntimeError, match="No space left on device"):
        converted(model)
    assert not [path for path in (state / "models").iterdir() if path.is_dir()]


def test_a_spoilt_conversion_is_named(state: Path, model: Path) -> None:
    folder = openvino_backend.converted_folder(model)
    folder.mkdir(parents=True)
    (folder / FILE).write_text("<net", encoding="utf-8")
    with pytest.raises(ModelError, match=str(folder)) as caught:
        EmbeddingClient(str(model), backend="openvino").encode(["q"])
    assert f"{folder.parent} (COURSE_MODELS)" in caught.value.hint


@needs_torch
def test_where_openvino_does_not_run_torch_encodes_and_a_line_says_so(
    state: Path, model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = openvino_backend.converted_folder(model)
    folder.mkdir(parents=True)
    (folder / FILE).write_text("<net", encoding="utf-8")
    client = EmbeddingClient(DEFAULT_MODEL)
    assert client.backend.name == "torch"
    assert client.encode(["q"]).shape == (1, 384)
    assert [record.levelno for record in caplog.records].count(logging.WARNING) == 1
    assert "torch encodes, and not OpenVINO" in caplog.text


@needs_torch
def test_without_openvino_auto_is_torch_and_the_named_backend_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openvino_backend, "installed_version", lambda: None)
    monkeypatch.setitem(sys.modules, "openvino", None)
    assert EmbeddingClient(DEFAULT_MODEL).backend.name == "torch"
    with pytest.raises(ModelError, match="import of openvino halted") as caught:
        EmbeddingClient(DEFAULT_MODEL, backend="openvino").encode(["q"])
    assert "make setup" in caught.value.hint


@needs_torch
def test_a_model_of_another_kind_is_left_to_torch(tmp_path: Path, model: Path) -> None:
    assert pools_the_mean(model)
    other = linked(model, tmp_path / "cls")
    pooling = other / "1_Pooling" / "config.json"
    pooling.unlink()
    modes = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    pooling.write_text(json.dumps({"word_embedding_dimension": 384, **modes}), encoding="utf-8")
    assert not pools_the_mean(other)
    assert EmbeddingClient(str(other)).backend.name == "torch"
    with pytest.raises(ModelError, match="mean pooling"):
        EmbeddingClient(str(other), backend="openvino").encode(["q"])


@needs_torch
def test_a_model_of_ones_own_runs_on_openvino_where_that_is_asked_for(
    state: Path, tmp_path: Path, model: Path
) -> None:
    own = linked(model, tmp_path / "own")
    client = EmbeddingClient(str(own), backend="openvino")
    assert client.encode(["a feature store"]).shape == (1, 384)
    assert EmbeddingClient(str(own)).backend.name == "torch"


@needs_torch
def test_weights_that_are_not_the_published_ones_are_refused(
    state: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoilt = linked(model, tmp_path / "spoilt")
    (spoilt / "model.safetensors").unlink()
    (spoilt / "model.safetensors").write_bytes(b"not the weights")
    monkeypatch.setattr("course_lib.embedder.weights._packaged_folder", lambda: spoilt)
    for backend in ("openvino", "torch"):
        with pytest.raises(ModelError, match="not the published model"):
            EmbeddingClient(DEFAULT_MODEL, backend=backend).encode(["q"])  # type: ignore[arg-type]
