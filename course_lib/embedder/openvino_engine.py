"""BERT's layers on OpenVINO: embeddings of words go in, one state a word piece comes out.

The graph is written down here layer by layer, from the published weights; neither torch nor an
exporter takes part. Where RAG_EMBED_PRECISION asks for bfloat16 and the processor has instructions
for it, it multiplies in that format, which is several times faster and rounds to eight bits.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from course_lib.embedder.bert import Bert
from course_lib.settings import settings

Array = np.ndarray[Any, np.dtype[np.float32]]
FILE = "model.blob"


class OpenVinoEngine:
    """A compiled graph.

    Parameters
    ----------
    bert
        The model; its weights are read only where `path` is None.
    path
        The converted model that `write` made; None builds it in memory.
    precision
        ``bf16`` or ``f32``: the format in which it multiplies.
    threads
        CPU threads; None takes all cores.
    """

    def __init__(self, bert: Bert, path: Path | None, precision: str, threads: int | None) -> None:
        openvino = _openvino()
        core = openvino.Core()
        options = _options(precision, threads)
        if path is None:
            compiled = core.compile_model(build(bert), "CPU", options)
        else:
            # Mapped, not read: 43 MB less to copy and to hold. OpenVINO takes only an array that
            # can be written to; what is written to this one never gets to the file.
            self._blob = np.memmap(path, dtype=np.uint8, mode="c")
            tensor = openvino.Tensor(self._blob, shared_memory=True)
            compiled = core.import_model(tensor, "CPU", options)
        self.name = f"openvino-{precision}"
        self._request = compiled.create_infer_request()
        self._lock = Lock()

    def run(self, embeddings: Array, mask: Array) -> Array:
        """Return the last layer's states; see `Engine.run`."""
        # The inputs are copied: shared memory that ends before the request does crashes OpenVINO
        # when a later request looks at it.
        with self._lock:
            found = self._request.infer({0: embeddings, 1: mask}, share_inputs=False)
            return np.array(found[0], dtype=np.float32)


def write(bert: Bert, folder: Path, precision: str) -> None:
    """Write the compiled graph (43 MB for MiniLM) into a folder, as FILE.

    It holds what was optimised for this processor, and saves each process half of the compiling.
    """
    compiled = _openvino().Core().compile_model(build(bert), "CPU", _options(precision, None))
    (folder / FILE).write_bytes(compiled.export_model().getvalue())


def installed_version() -> str | None:
    """Return the installed OpenVINO's version, or None; costs no import of it."""
    try:
        return version("openvino")
    except ModuleNotFoundError:
        return None


def best_precision() -> str:
    """Return ``bf16`` where it is asked for and the processor has it, and ``f32`` otherwise."""
    if settings().embed_precision == "float32":
        return "f32"
    capabilities = _openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return "bf16" if "BF16" in capabilities else "f32"


def build(bert: Bert) -> Any:
    """Return the graph as an `openvino.Model`.

    It has two inputs, ``embeddings`` (batch, length, dimension) and ``mask`` (batch, length; 1 for
    a word piece, 0 for padding), and one output of the first one's shape.
    """
    openvino = _openvino()
    from openvino import opset13 as ops

    weights = bert.tensors

    def constant(values: Any) -> Any:
        return ops.constant(np.ascontiguousarray(values))

    def linear(x: Any, name: str) -> Any:
        product = ops.matmul(x, constant(weights[f"{name}.weight"]), False, True)
        return ops.add(product, constant(weights[f"{name}.bias"]))

    def normalise(x: Any, name: str) -> Any:
        last = constant(np.array([-1], dtype=np.int64))
        x = ops.mvn(x, last, True, bert.epsilon, "inside_sqrt")
        x = ops.multiply(x, constant(weights[f"{name}.weight"]))
        return ops.add(x, constant(weights[f"{name}.bias"]))

    embeddings = ops.parameter([-1, -1, bert.dimension], np.float32, name="embeddings")
    mask = ops.parameter([-1, -1], np.float32, name="mask")
    # What is added to the attention scores: nothing for words, minus a lot for padding.
    ignore = ops.multiply(ops.subtract(constant(np.float32(1)), mask), constant(np.float32(-1e9)))
    ignore = ops.unsqueeze(ignore, constant(np.array([1, 2], dtype=np.int64)))
    # (batch, length, dimension) ↔ (batch, heads, length, dimension / heads); 0 keeps a size.
    per_head = bert.dimension // bert.heads
    split = constant(np.array([0, 0, bert.heads, per_head], dtype=np.int64))
    swap = constant(np.array([0, 2, 1, 3], dtype=np.int64))
    join = constant(np.array([0, 0, bert.dimension], dtype=np.int64))

    x = normalise(embeddings, "embeddings.LayerNorm")
    for number in range(bert.layers):
        layer = f"encoder.layer.{number}"
        query, key, value = (
            ops.transpose(
                ops.reshape(linear(x, f"{layer}.attention.self.{part}"), split, True), swap
            )
            for part in ("query", "key", "value")
        )
        seen = ops.scaled_dot_product_attention(query, key, value, ignore)
        seen = ops.reshape(ops.transpose(seen, swap), join, True)
        seen = linear(seen, f"{layer}.attention.output.dense")
        x = normalise(ops.add(seen, x), f"{layer}.attention.output.LayerNorm")
        wide = ops.gelu(linear(x, f"{layer}.intermediate.dense"), "erf")
        x = normalise(
            ops.add(linear(wide, f"{layer}.output.dense"), x), f"{layer}.output.LayerNorm"
        )
    return openvino.Model([ops.result(x)], [embeddings, mask], "bert")


def _options(precision: str, threads: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {
        "INFERENCE_PRECISION_HINT": precision,
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        # Two notebooks side by side must not be nailed to the same core.
        "ENABLE_CPU_PINNING": False,
    }
    return {**options, "INFERENCE_NUM_THREADS": threads} if threads else options


def _openvino() -> Any:
    """Import OpenVINO without its model converter, which a query would wait for and never use."""
    converter = "openvino.tools.ovc"
    # OpenVINO itself goes without the converter where it cannot be imported.
    is_blocked = converter not in sys.modules and "openvino" not in sys.modules
    if is_blocked:
        sys.modules[converter] = None  # type: ignore[assignment]
    try:
        import openvino

        return openvino
    finally:
        if is_blocked:
            del sys.modules[converter]
