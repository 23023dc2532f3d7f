"""``auto``: what is chosen, from what, when it is measured, and when torch takes over."""

import json
import logging
import platform
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from course_lib.embedder import EmbeddingClient, describe, engines
from course_lib.embedder import choice as choice_module
from course_lib.embedder.bert import Bert, read_bert
from course_lib.embedder.choice import ENOUGH, Choice, choose, remembered, try_engine
from course_lib.embedder.weights import DEFAULT_MODEL, read_tensors
from course_lib.errors import InputError, ModelError
from course_lib.settings import Settings, settings


def auto() -> EmbeddingClient:
    return EmbeddingClient(DEFAULT_MODEL)


@pytest.mark.long
def test_auto_measures_once_and_takes_the_fastest_that_ranks_as_torch_does(
    state: Path, bert: Bert, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = describe()
    assert before["chunks_per_second"] is None
    chosen = choose(bert)
    assert chosen.engine in engines.candidates()
    assert chosen.top10_kept is not None and chosen.top10_kept >= ENOUGH
    slower = try_engine(bert.directory, chosen.engine, faster_than=1e9)
    assert slower is not None and slower.top10_kept is None

    def measured_again(*_: object, **__: object) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(choice_module, "try_engine", measured_again)
    choice_module._choose_once.cache_clear()
    assert choose(bert) == chosen
    client = auto()
    assert client.backend.name == chosen.engine
    assert describe()["backend"] == chosen.engine
    assert describe()["chunks_per_second"] == chosen.chunks_per_second


def test_the_fastest_faithful_engine_wins(
    state: Path, bert: Bert, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = {
        "a": Choice("a", 50.0, 1.0),
        "b": Choice("b", 90.0, 0.98),
        "c": Choice("c", 70.0, 0.995),
        "d": None,
    }
    monkeypatch.setattr(engines, "candidates", lambda: list(measured))
    monkeypatch.setattr(choice_module, "try_engine", lambda _, name, faster_than: measured[name])
    assert choose(bert).engine == "c"


@pytest.mark.parametrize("changed", ["processor", "openvino", "format", "precision"])
def test_a_choice_holds_for_one_processor_and_one_set_of_versions(
    state: Path, bert: Bert, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    monkeypatch.setattr(engines, "candidates", lambda: ["onnx-f32"])
    monkeypatch.setattr(choice_module, "try_engine", lambda *_, **__: Choice("onnx-f32", 9.0, 1.0))
    assert choose(bert) == remembered(bert)
    (record,) = state.glob("models/*/choice.json")
    content = json.loads(record.read_text(encoding="utf-8"))
    content["circumstances"][changed] = "another"
    record.write_text(json.dumps(content), encoding="utf-8")
    assert remembered(bert) is None


def test_bfloat16_is_taken_where_it_is_asked_for_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Core:  # of a processor that has it, which not every machine does
        def get_property(self, *_: str) -> list[str]:
            return ["FP32", "BF16"]

    monkeypatch.setattr(engines.openvino_engine, "_openvino", lambda: SimpleNamespace(Core=Core))
    assert "openvino-bf16" not in engines.candidates()
    asked = Settings(RAG_EMBED_PRECISION="bfloat16")
    monkeypatch.setattr(engines.openvino_engine, "settings", lambda: asked)
    assert engines.candidates()[0] == "openvino-bf16"


def test_an_engine_that_does_not_run_is_no_candidate_for_long(tmp_path: Path) -> None:
    assert try_engine(tmp_path, "onnx-f32") is None


@pytest.mark.long
def test_on_an_unknown_processor_torch_encodes(
    state: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    client = auto()
    assert client.backend.name == "torch"
    assert client.encode(["q"]).shape == (1, 384)
    assert [r.levelno for r in caplog.records].count(logging.WARNING) == 1


def test_without_the_runtimes_auto_is_torch_and_a_named_backend_says_what_to_install(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "versions", lambda: {"openvino": None, "onnx": None})
    assert auto().backend.name == "torch"
    with pytest.raises(ModelError, match="pip install onnxruntime onnx"):
        EmbeddingClient(DEFAULT_MODEL, backend="onnx").encode(["q"])


@pytest.mark.long
def test_an_engine_that_breaks_later_is_replaced_by_torch(
    state: Path, bert: Bert, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(choice_module, "choose", lambda _: Choice("openvino-broken", 1.0, 1.0))
    client = auto()
    assert client.encode(["q"]).shape == (1, 384)
    assert client.backend.name == "torch"
    assert "torch encodes instead of openvino-broken" in caplog.text


@pytest.mark.parametrize("backend", ["openvino", "onnx"])
def test_a_model_of_another_kind_is_left_to_torch(tmp_path: Path, bert: Bert, backend: Any) -> None:
    shutil.copytree(
        bert.directory, tmp_path / "cls", copy_function=lambda s, d: Path(d).symlink_to(s)
    )
    pooling = tmp_path / "cls" / "1_Pooling" / "config.json"
    pooling.unlink()
    pooling.write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")
    assert read_bert(tmp_path / "cls") is None
    assert EmbeddingClient(str(tmp_path / "cls")).backend.name == "torch"
    with pytest.raises(ModelError, match="mean pooling"):
        EmbeddingClient(str(tmp_path / "cls"), backend=backend).encode(["q"])


def test_weights_that_are_cut_short_are_named(tmp_path: Path, bert: Bert) -> None:
    whole = (bert.directory / "model.safetensors").read_bytes()
    for size in (4, 500, len(whole) - 1):
        (tmp_path / "short").write_bytes(whole[:size])
        with pytest.raises(ModelError, match="cannot be read"):
            read_tensors(tmp_path / "short")


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets RAG_EMBED_BACKEND."""

    def want(backend: str) -> None:
        monkeypatch.setenv("RAG_EMBED_BACKEND", backend)
        settings.cache_clear()

    yield want
    settings.cache_clear()


def test_the_backend_is_a_setting_that_an_argument_overrides(
    wanted: Callable[[str], None], bert: Bert
) -> None:
    wanted("onnx")
    assert EmbeddingClient(DEFAULT_MODEL).backend.name == "onnx-f32"
    assert describe()["backend"] == "onnx, because RAG_EMBED_BACKEND says so"
    assert EmbeddingClient(DEFAULT_MODEL, backend="torch").backend.name == "torch"
    wanted("torch")
    assert EmbeddingClient(DEFAULT_MODEL).backend.name == "torch"
    assert EmbeddingClient(DEFAULT_MODEL, backend="auto").backend.name == choose(bert).engine


def test_a_wrong_backend_in_the_environment_is_explained(wanted: Callable[[str], None]) -> None:
    wanted("tpu")
    with pytest.raises(InputError, match="RAG_EMBED_BACKEND: Input should be 'auto', 'torch'"):
        EmbeddingClient(DEFAULT_MODEL)
