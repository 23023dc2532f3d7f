"""BERT's layers on ONNX Runtime: embeddings of words go in, one state a word piece comes out.

The graph is written down from the published weights with ONNX Runtime's fused operators (attention,
addition with normalisation, bias with GELU), in float32: the vectors are torch's but for rounding.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.embedder.bert import Bert

Array = np.ndarray[Any, np.dtype[np.float32]]
FILE = "model.onnx"
FUSED = "com.microsoft"
"""The domain of the operators that are ONNX Runtime's own."""


class OnnxEngine:
    """A session of ONNX Runtime.

    Parameters
    ----------
    bert
        The model; its weights are read only where `path` is None.
    path
        The converted model that `write` made; None builds it in memory.
    threads
        CPU threads; None takes all cores.
    """

    name = "onnx-f32"

    def __init__(self, bert: Bert, path: Path | None, threads: int | None) -> None:
        # Otherwise it reports its use to its makers; nothing here speaks to the network.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads or 0
        # Threads that wait sleep, because others use the same cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        model = build(bert).SerializeToString() if path is None else path
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )

    def run(self, embeddings: Array, mask: Array) -> Array:
        """Return the last layer's states; see `Engine.run`."""
        found = self._session.run(None, {"embeddings": embeddings, "mask": mask})
        return np.asarray(found[0], dtype=np.float32)


def write(bert: Bert, folder: Path) -> None:
    """Write the graph with its weights (43 MB for MiniLM) into a folder, as FILE."""
    (folder / FILE).write_bytes(build(bert).SerializeToString())


def installed_version() -> str | None:
    """Return the installed ONNX Runtime's version, or None if it or `onnx` is missing."""
    try:
        version("onnx")
        return version("onnxruntime")
    except ModuleNotFoundError:
        return None


def build(bert: Bert) -> Any:
    """Return the graph as an `onnx.ModelProto`.

    It has two inputs, ``embeddings`` (batch, length, dimension) and ``mask`` (batch, length; 1 for
    a word piece, 0 for padding), and one output of the first one's shape.
    """
    from onnx import TensorProto, helper, numpy_helper

    weights = bert.tensors
    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(name: str, values: Any) -> str:
        constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def weight(name: str) -> str:
        return constant(name, weights[name])

    def node(kind: str, inputs: list[str], output: str, domain: str = "", **options: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **options))
        return output

    def multiply(x: str, name: str, output: str) -> str:
        # torch keeps the matrix as (out, in), ONNX multiplies by (in, out).
        return node("MatMul", [x, constant(f"{name}.weight", weights[f"{name}.weight"].T)], output)

    def add_and_normalise(x: str, skip: str, norm: str, bias: str, output: str) -> str:
        inputs = [x, skip, weight(f"{norm}.weight"), weight(f"{norm}.bias"), weight(bias)]
        return node("SkipLayerNormalization", inputs, output, FUSED, epsilon=bert.epsilon)

    mask = node("Cast", ["mask"], "mask.int", to=TensorProto.INT32)
    norm = "embeddings.LayerNorm"
    x = node(
        "LayerNormalization",
        ["embeddings", weight(f"{norm}.weight"), weight(f"{norm}.bias")],
        "x",
        axis=-1,
        epsilon=bert.epsilon,
    )
    for number in range(bert.layers):
        layer = f"encoder.layer.{number}"
        attention = f"{layer}.attention"
        parts = [f"{attention}.self.{part}" for part in ("query", "key", "value")]
        matrix = np.concatenate([weights[f"{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
        seen = node(
            "Attention",
            [x, constant(f"{layer}.qkv", matrix), constant(f"{layer}.qkv.bias", bias), mask],
            f"{layer}.seen",
            FUSED,
            num_heads=bert.heads,
        )
        dense = f"{attention}.output.dense"
        seen = multiply(seen, dense, f"{layer}.seen.out")
        x = add_and_normalise(
            seen, x, f"{attention}.output.LayerNorm", f"{dense}.bias", f"{layer}.x.seen"
        )
        wide = multiply(x, f"{layer}.intermediate.dense", f"{layer}.wide")
        bias_name = weight(f"{layer}.intermediate.dense.bias")
        wide = node("BiasGelu", [wide, bias_name], f"{layer}.wide.gelu", FUSED)
        dense = f"{layer}.output.dense"
        narrow = multiply(wide, dense, f"{layer}.narrow")
        x = add_and_normalise(narrow, x, f"{layer}.output.LayerNorm", f"{dense}.bias", f"{layer}.x")

    def value(name: str, *sizes: str | int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(sizes))

    graph = helper.make_graph(
        nodes,
        "bert",
        [value("embeddings", "batch", "length", bert.dimension), value("mask", "batch", "length")],
        [value(x, "batch", "length", bert.dimension)],
        constants,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)
