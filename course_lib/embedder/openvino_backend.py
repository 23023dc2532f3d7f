"""The fast backend: the model's layers on OpenVINO, converted once from the torch module.

OpenVINO computes what torch computes, in the same format (float32), and starts in a third of a
second, because neither torch nor transformers is imported. What is around the layers is lab 05's.
"""

from __future__ import annotations

import json
import logging
import shutil
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any

import numpy as np
from filelock import FileLock

from course_lib.embedder.vectors import Vectors, mean_pool
from course_lib.embedder.weights import check_weights, fingerprint, models_dir
from course_lib.errors import ModelError
from course_lib.settings import make_folder

log = logging.getLogger(__name__)

FILE = "model.xml"
INPUTS = ("input_ids", "attention_mask")
PATIENCE = 120.0
"""Seconds to wait for another process that converts; it takes that one about ten."""


class OpenVinoBackend:
    """One model on OpenVINO, converted where that was not done yet.

    Parameters
    ----------
    directory
        A sentence encoder with mean pooling, as sentence-transformers keeps it.
    threads
        CPU threads; None takes all cores.
    precision
        ``float32``; or ``bfloat16``, which is several times faster where the processor has
        instructions for it, rounds to eight bits, and changes nothing on other processors.

    Raises
    ------
    ModelError
        If OpenVINO is not installed, or the model is of another kind or cannot be converted.
    """

    batch_size = 4
    """Texts of like length in a batch: more do not fit into a core's cache, and are slower."""

    prompts: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, directory: Path, threads: int | None = None, precision: str = "float32"
    ) -> None:
        from tokenizers import Tokenizer

        if not pools_the_mean(directory):
            raise ModelError(
                f"OpenVINO runs sentence encoders with mean pooling, and {directory} holds none",
                hint="Take RAG_EMBED_BACKEND=torch, or a folder with such a model.",
            )
        self.name = "openvino"
        self.max_seq_length = _max_seq_length(directory)
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        core = _core()
        options: dict[str, Any] = {
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            # Two notebooks side by side must not be nailed to the same core.
            "ENABLE_CPU_PINNING": False,
        }
        if threads:
            options["INFERENCE_NUM_THREADS"] = threads
        has_bfloat16 = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        if precision == "bfloat16" and has_bfloat16:
            options["INFERENCE_PRECISION_HINT"] = "bf16"
            self.name = "openvino-bfloat16"
        folder = converted(directory)
        compiled = core.compile_model(str(folder / FILE), "CPU", options)
        self.dimension = int(compiled.output(0).partial_shape[2].get_length())
        self._request = compiled.create_infer_request()
        self._lock = Lock()

    def prepare(self, texts: list[str]) -> list[list[int]]:
        """Return the word pieces that the model reads of each text, as numbers."""
        # One by one: the tokenizer's own threads would ignore the setting for threads.
        pieces = (self._tokenizer.encode(text).ids for text in texts)
        limit = self.max_seq_length
        return [ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]] for ids in pieces]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return where each word piece starts and ends, the special ones left out."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).offsets)

    def encode(self, pieces: Sequence[list[int]]) -> Vectors:
        """Return the unit vectors of one batch: float32 of shape (n, dimension)."""
        longest = max(len(ids) for ids in pieces)
        input_ids = np.zeros((len(pieces), longest), dtype=np.int64)
        mask = np.zeros((len(pieces), longest), dtype=np.int64)
        for row, ids in enumerate(pieces):
            input_ids[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        with self._lock:
            found = self._request.infer(dict(zip(INPUTS, (input_ids, mask), strict=True)))
            token_vectors = np.array(found[0], dtype=np.float32)
        return _unit(mean_pool(token_vectors, mask.astype(np.float32)))


def installed_version() -> str | None:
    """Return OpenVINO's version, None where it is not installed; costs no import of it."""
    try:
        return version("openvino")
    except PackageNotFoundError:
        return None


def import_openvino() -> Any:
    """Import OpenVINO without its telemetry, which would write into the home folder."""
    # None makes `import openvino_telemetry` fail, and OpenVINO then goes without it.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


def _core() -> Any:
    """Return this process's one `openvino.Core`, which is never given up.

    It puts memory of its own in the place of the thread's stack for signals, and frees it at its
    end. Of two, the one that ends last puts the freed memory of the other there again: the next
    signal, such as Ctrl-C or a time limit's, would end the process without a word.
    """
    with _making_the_core:  # two threads would each make one
        return _make_core()


_making_the_core = Lock()
_make_core = cache(lambda: import_openvino().Core())


def converted_folder(directory: Path) -> Path:
    """Return where the converted model is or will be."""
    return models_dir() / f"{fingerprint(directory)[:16]}-openvino-{installed_version()}"


def converted(directory: Path) -> Path:
    """Return the folder with the converted model, which is made where it is missing."""
    folder = converted_folder(directory)
    if (folder / FILE).is_file():
        return folder
    make_folder(folder.parent)
    with FileLock(f"{folder}.lock", timeout=PATIENCE):
        # Another process may have made it while this one waited.
        if not (folder / FILE).is_file():
            _convert_into(directory, folder)
    return folder


def convert(directory: Path) -> Any:
    """Return a model's layers as an `openvino.Model`, converted from the torch module.

    It has two inputs of shape (n, length), ``input_ids`` and ``attention_mask``; its first output
    has shape (n, length, dimension).

    Raises
    ------
    ModelError
        If the model is spoilt.
    """
    openvino = import_openvino()
    check_weights(directory)
    log.info("converting %s for OpenVINO, once", directory)
    import torch
    from transformers import AutoModel
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    layers = AutoModel.from_pretrained(str(directory), local_files_only=True).eval()
    example = {name: torch.ones((2, 8), dtype=torch.int64) for name in INPUTS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what tracing says about shapes; tests compare them
        return openvino.convert_model(layers, example_input=example)


def _convert_into(directory: Path, folder: Path) -> None:
    model = convert(directory)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f"{folder.name}-"))
    try:
        import_openvino().save_model(model, temporary / FILE, compress_to_fp16=False)
        # What tempfile makes is closed to others, but a checkout can have several users.
        temporary.chmod(0o755)
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def pools_the_mean(directory: Path) -> bool:
    """Return whether a folder holds a sentence encoder whose last steps are those of lab 05.

    Examples
    --------
    >>> from course_lib.embedder.weights import model_directory
    >>> pools_the_mean(model_directory("all-MiniLM-L6-v2"))
    True
    """
    try:
        modules = _read(directory / "modules.json")
        pooling = _read(directory / "1_Pooling" / "config.json")
        kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
        modes = [
            name.removeprefix("pooling_mode_") if is_on is True else is_on
            for name, is_on in pooling.items()
            if name.startswith("pooling_mode") and is_on
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    is_mean = modes in (["mean_tokens"], ["mean"], [["mean"]])
    return (
        kinds == ["Transformer", "Pooling", "Normalize"]
        and is_mean
        and (directory / "tokenizer.json").is_file()
    )


def _max_seq_length(directory: Path) -> int:
    limit = int(_read(directory / "sentence_bert_config.json")["max_seq_length"])
    return min(limit, int(_read(directory / "config.json")["max_position_embeddings"]))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _unit(rows: Any) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
