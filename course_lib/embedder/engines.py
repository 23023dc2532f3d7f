"""The engines that run BERT without torch: a name goes in, a running engine comes out.

An engine is a runtime and a number format, such as ``openvino-bf16``. Its converted model comes
from `.course/models`, or is built in memory where that folder cannot be written to.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from course_lib.embedder import onnx_engine, openvino_engine
from course_lib.embedder.bert import Bert
from course_lib.embedder.weights import models_dir
from course_lib.errors import ModelError

Array = np.ndarray[Any, np.dtype[np.float32]]

FORMAT = "1"
"""Raised when a graph is written down differently, so that older conversions are made anew."""

PROCESSORS = {"x86_64", "amd64", "arm64", "aarch64"}
"""Machines for which the runtimes are built; on others torch encodes."""


class Engine(Protocol):
    """What computes BERT's layers."""

    name: str

    def run(self, embeddings: Array, mask: Array) -> Array:
        """Return the last layer's states of a batch.

        Parameters
        ----------
        embeddings
            float32 of shape (batch, length, dimension), padded at the end.
        mask
            float32 of shape (batch, length): 1 for a word piece, 0 for padding.

        Returns
        -------
        ndarray
            float32 of shape (batch, length, dimension).
        """
        ...


@cache
def processor() -> str:
    """Return the processor's name and what tells it from others: what was measured holds for it.

    Examples
    --------
    >>> processor() == processor()
    True
    """
    try:
        first, _, _ = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")
    except OSError:
        return platform.processor() or platform.machine()
    lines = (line.partition(":") for line in first.splitlines())
    facts = {name.strip(): value.strip() for name, _, value in lines}
    name = facts.get("model name") or platform.machine()
    flags = facts.get("flags") or facts.get("Features") or ""
    return f"{name} ({hashlib.sha256(flags.encode()).hexdigest()[:8]})"


def versions() -> dict[str, str | None]:
    """Return the version of each runtime, or None for those that are not installed."""
    return {
        "openvino": openvino_engine.installed_version(),
        "onnx": onnx_engine.installed_version(),
    }


def candidates() -> list[str]:
    """Return the engines that can run on this machine, the likely fastest first."""
    if platform.machine().lower() not in PROCESSORS:
        return []
    found = versions()
    names = []
    if found["openvino"]:
        names = ["openvino-f32"]
        if openvino_engine.best_precision() == "bf16":
            names.insert(0, "openvino-bf16")
    if found["onnx"]:
        names.append("onnx-f32")
    return names


def engine_of(runtime: str) -> str:
    """Return the best engine of a runtime, ``openvino`` or ``onnx``.

    Raises
    ------
    ModelError
        If the runtime is not installed.
    """
    if not versions()[runtime]:
        packages = {"openvino": "openvino", "onnx": "onnxruntime onnx"}[runtime]
        raise ModelError(
            f"the backend {runtime!r} needs packages that are not installed: {packages}",
            hint=f"Run `python -m pip install {packages}`, or take backend='auto'.",
        )
    return f"openvino-{openvino_engine.best_precision()}" if runtime == "openvino" else "onnx-f32"


def open_engine(
    name: str, bert: Bert, threads: int | None = None, *, in_memory: bool = False
) -> Engine:
    """Return a running engine.

    Parameters
    ----------
    name
        ``openvino-bf16``, ``openvino-f32`` or ``onnx-f32``.
    bert
        The model.
    threads
        CPU threads; None takes all cores.
    in_memory
        Leave the disk alone, as trials do.

    Raises
    ------
    ModelError
        If the runtime cannot be loaded or does not take the model.
    """
    runtime, _, precision = name.partition("-")
    make: Callable[[Path | None], Engine]
    write: Callable[[Path], None]
    if runtime == "openvino":
        file = openvino_engine.FILE
        write = partial(openvino_engine.write, bert, precision=precision)
        make = partial(openvino_engine.OpenVinoEngine, bert, precision=precision, threads=threads)
    else:
        file = onnx_engine.FILE
        write = partial(onnx_engine.write, bert)
        make = partial(onnx_engine.OnnxEngine, bert, threads=threads)
    try:
        folder = None
        if not in_memory:
            from course_lib.embedder.converted import converted

            version = f"{FORMAT} {versions()[runtime]} {processor()}"
            folder = converted(models_dir() / bert.sha256[:16], name, version, write)
        return make(folder / file if folder else None)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(
            f"the model in {bert.directory} does not run on {name}: {error}",
            hint="Take backend='torch', or remove `.course/models` and try again.",
        ) from error
