"""Generate `requirements.lock` from `pyproject.toml`: exact pins for all platforms and Pythons.

Each pin has the hashes of its files, so that pip refuses one that was replaced on its way or later.
torch and its CUDA companions are left out, because the set-up installs torch from another place
(see `install_torch` in `course_lib.bootstrap`). Versions that still fit are kept, so that a new
lock differs only where it must; `upgrade=True` takes the newest.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from course_lib.bootstrap import OLDEST_PYTHON
from course_lib.errors import CourseError
from course_lib.files import write_atomically
from course_lib.settings import project_root

LEFT_OUT = ("torch", "triton", "nvidia-", "cuda-")  # a trailing dash: the beginning of a name

LOCK = "requirements.lock"
MODEL_LOCK = "infra/course/locks/language-model.lock"

_HEADER = """\
# Exact versions of everything but torch, for every platform and Python that the course runs on,
# with the hashes of their files, which pip checks.
# GENERATED from pyproject.toml: do not edit; `make lock` writes it again.
"""
_MODEL_HEADER = """\
# What runs a language model on this machine (`make model`); the set-up does not install it.
# GENERATED from pyproject.toml: do not edit; `make lock` writes it again.
"""


def write_locks(root: Path | None = None, *, upgrade: bool = False) -> list[str]:
    """Write `requirements.lock` and the lock of what runs a language model.

    Parameters
    ----------
    root
        The folder with `pyproject.toml`; None takes the project that this package belongs to.
    upgrade
        Take the newest versions instead of keeping those that still fit.

    Returns
    -------
    list
        The locks that changed.

    Raises
    ------
    CourseError
        uv is missing, the index cannot be reached, or no set of versions fits.
    """
    base = root or project_root()
    changed = []
    for name, compiled in {LOCK: compile_lock, MODEL_LOCK: compile_model_lock}.items():
        target = base / name
        keep = target.read_text(encoding="utf-8") if target.exists() and not upgrade else ""
        if write_atomically(target, compiled(base, keep=keep)):
            changed.append(name)
    return changed


def compile_lock(root: Path, *, keep: str = "") -> str:
    """Return the text of a lock for `root`'s `pyproject.toml`.

    Parameters
    ----------
    root
        The folder with `pyproject.toml`.
    keep
        A lock whose versions are kept where they still fit.
    """
    extras = [word for extra in ("dev", "field", "site") for word in ("--extra", extra)]
    return _HEADER + without(_compiled(root, "pyproject.toml", *extras, keep=keep), LEFT_OUT)


def compile_model_lock(root: Path, *, keep: str = "") -> str:
    """Return the text of a lock for the extra `local`, without what the course needs itself."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = "\n".join(project["optional-dependencies"]["local"])
    return _MODEL_HEADER + _compiled(root, "-", "--no-annotate", keep=keep, given=named)


def _compiled(root: Path, *words: str, keep: str, given: str = "") -> str:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "requirements.txt"
        out.write_text(keep, encoding="utf-8")
        command = [sys.executable, "-m", "uv", "pip", "compile", *words]
        command += ["--universal", "--generate-hashes", "--quiet", "--no-header"]
        command += ["--python-version", ".".join(map(str, OLDEST_PYTHON))]
        command += ["--no-emit-index-url", "--no-emit-find-links", "--output-file", str(out)]
        done = subprocess.run(
            command, cwd=root, input=given, capture_output=True, encoding="utf-8", check=False
        )
        if done.returncode:
            raise CourseError(
                f"uv could not compile the lock:\n{done.stderr.strip()}",
                hint="Check the network and the names in pyproject.toml.",
            )
        return out.read_text(encoding="utf-8")


def without(lock: str, names: tuple[str, ...]) -> str:
    r"""Return a lock without some packages and the comments that belong to them.

    Examples
    --------
    >>> text = "rich==15.0.0\n    # via x\nnvidia-nccl==2.1\n    # via torch\ntqdm==4.1\n"
    >>> without(text, ("nvidia-",)).split()
    ['rich==15.0.0', '#', 'via', 'x', 'tqdm==4.1']
    """
    kept = []
    keeping = True
    for line in lock.splitlines():
        name = re.match(r"[A-Za-z0-9][\w.-]*", line)
        if name:
            keeping = not any(
                name.group().startswith(out) if out.endswith("-") else name.group() == out
                for out in names
            )
        if keeping:
            kept.append(line)
    return "\n".join(kept) + "\n"
