"""Findings about what is installed: versions against the lock, torch, the model, the kernel."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from pathlib import Path

from course_lib.bootstrap import up_to_date
from course_lib.errors import ModelError
from course_lib.settings import settings
from course_lib.teaching.doctor.finding import Finding

SET_UP = "Run `make setup` (or `python course_lib/bootstrap.py`)."


def installed_versions() -> dict[str, str]:
    """Return name and version of each installed package, names in their normal form."""
    from packaging.utils import canonicalize_name

    return {
        str(canonicalize_name(one.metadata["Name"])): one.version
        for one in importlib.metadata.distributions()
        if one.metadata["Name"]
    }


def environment_finding(root: Path, prefix: str) -> Finding:
    """Return whether this is `.venv` and complete; another environment is allowed."""
    if Path(prefix).resolve() != (root / ".venv").resolve():
        return Finding(
            "environment", "ok", f"{prefix} (not .venv; its packages are looked at below)"
        )
    if up_to_date(root):
        return Finding("environment", "ok", ".venv is up to date")
    detail = ".venv was not completed for this requirements.lock and pyproject.toml"
    return Finding("environment", "warn", detail, SET_UP)


def pins_finding(pins: Mapping[str, str], installed: Mapping[str, str]) -> Finding:
    """Return whether the packages of the lock are there, in its versions.

    Examples
    --------
    >>> pins_finding({"rich": "15.0.0"}, {"rich": "14.0.0"}).detail
    'not as in requirements.lock: rich 14.0.0 instead of 15.0.0'
    """
    missing = sorted(set(pins) - set(installed))
    if missing:
        return Finding("packages", "fail", f"missing: {_some(missing)}", SET_UP)
    other = [
        f"{name} {installed[name]} instead of {version}"
        for name, version in sorted(pins.items())
        if installed[name] != version
    ]
    if other:
        detail = f"not as in requirements.lock: {_some(other)}"
        return Finding("packages", "warn", detail, SET_UP)
    return Finding("packages", "ok", f"{len(pins)}, all as in requirements.lock")


def torch_finding(pin: str, installed: str | None, system: str) -> Finding:
    """Return whether the pinned torch is there, and for which processor it was built.

    Examples
    --------
    >>> torch_finding("2.13.0", "2.13.0+cpu", "Linux").detail
    '2.13.0+cpu'
    """
    if installed is None:
        return Finding("PyTorch", "fail", "not installed", SET_UP)
    version, _, build = installed.partition("+")
    if version != pin:
        fix = f"pip install torch=={pin}, or `make setup`."
        return Finding("PyTorch", "warn", f"{installed} instead of {pin}", fix)
    note = " (with CUDA)" if system == "Linux" and build != "cpu" else ""
    return Finding("PyTorch", "ok", installed + note)


def model_finding(model: str) -> Finding:
    """Return whether the model's weights are there and are the published ones."""
    from course_lib.embedder.weights import check_weights, model_directory

    try:
        folder = model_directory(model)
        if folder is not None:
            check_weights(folder)
    except ModelError as error:
        return Finding("model", "fail", str(error.args[0]), error.hint)
    if folder is None:
        detail = f"{model} is not on this machine; it comes from the hub when it is first used"
        return Finding("model", "warn", detail, "Unset RAG_EMBED_MODEL to stay offline.")
    return Finding("model", "ok", f"{model}, weights checked")


def backend_finding() -> Finding:
    """Return what encodes on this machine: nothing is loaded for that."""
    from course_lib.embedder.openvino_backend import FILE, converted_folder, installed_version
    from course_lib.embedder.weights import DEFAULT_MODEL, model_directory

    wanted, model = settings().embed_backend, settings().embed_model
    found = installed_version()
    if wanted in ("torch", "openai"):
        return Finding("encoder", "ok", f"{wanted}, because RAG_EMBED_BACKEND says so")
    if wanted != "openvino" and (found is None or model != DEFAULT_MODEL):
        return Finding("encoder", "ok", "torch")
    try:
        directory = model_directory(model)
        is_converted = directory and (converted_folder(directory) / FILE).is_file()
    except ModelError as error:
        return Finding("encoder", "fail", str(error.args[0]), error.hint)
    note = "" if is_converted else "; the model is converted when the first text is encoded"
    return Finding("encoder", "ok", f"OpenVINO {found}{note}")


def kernel_finding(prefix: str) -> Finding:
    """Return whether Jupyter's kernel `python3` starts the Python of this environment."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        command = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        return Finding("kernel", "fail", "Jupyter knows no kernel python3", SET_UP)
    ours = Path(sys.executable).parent.resolve()
    # Jupyter puts its own Python in the place of a bare name.
    if command in ("python", "python3") or Path(command).parent.resolve() == ours:
        return Finding("kernel", "ok", "python3 is this environment's")
    fix = f"Install this environment's: {sys.executable} -m ipykernel install --prefix {prefix}"
    return Finding("kernel", "warn", f"python3 starts {command}, which lacks the course", fix)


def variables_finding(environment: Mapping[str, str]) -> Finding:
    """Return whether a variable makes Python import other people's packages."""
    misleading = [name for name in ("PYTHONPATH", "PYTHONHOME") if environment.get(name)]
    if misleading:
        fix = f"unset {' '.join(misleading)}"
        return Finding("variables", "warn", f"{', '.join(misleading)} set: may hide packages", fix)
    return Finding("variables", "ok", "none that mislead Python")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
