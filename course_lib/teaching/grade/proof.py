"""What is known of a master that has been tried, and remembering it from run to run.

The trial takes longer than to grade ten submissions. What came of it is kept under a hash of all
that it depends on: the master, the library, the interpreter, the packages, the fence, the limits.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from course_lib.settings import state_dir
from course_lib.teaching.build.project import write_atomically

KEPT = 40
"""Proofs that are remembered; the oldest go first."""


@dataclass(frozen=True)
class Proof:
    """What is known of a master that has been tried: it passes its own checks, a stub does not.

    Attributes
    ----------
    decoys
        Checks that fail an untouched notebook, as they should.
    core
        The cells that every submission begins with: sources by id.
    modules
        What a parent imports ahead.
    ahead
        How many of the core's cells a parent may run ahead.
    repeatable
        Checks that pass a second time in the same process, as most do.
    """

    decoys: tuple[str, ...]
    core: dict[str, str]
    modules: tuple[str, ...] = ()
    ahead: int = 0
    repeatable: tuple[str, ...] = ()


def library_digest(root: Path) -> str:
    """Return the hash of the library's sources, the course's data and the locked packages."""
    digest = hashlib.sha256(sys.version.encode("utf-8"))
    for folder, pattern in (("course_lib", "*.py"), ("data", "*")):
        for path in sorted((root / folder).rglob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(root).as_posix().encode("utf-8") + b"\0")
                digest.update(path.read_bytes())
    with contextlib.suppress(OSError):
        digest.update((root / "requirements.lock").read_bytes())
    return digest.hexdigest()


def recall(key: str) -> Proof | None:
    """Return the proof that was kept under a key, or None.

    Examples
    --------
    >>> recall("never proven") is None
    True
    """
    try:
        told = json.loads(_place(key).read_text(encoding="utf-8"))
        return Proof(
            tuple(map(str, told["decoys"])),
            {str(name): str(source) for name, source in told["core"].items()},
            tuple(map(str, told["modules"])),
            int(told["ahead"]),
            tuple(map(str, told["repeatable"])),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def remember(key: str, proof: Proof) -> None:
    """Keep a proof under a key; where that cannot be done, the next run proves anew."""
    place = _place(key)
    with contextlib.suppress(OSError):
        write_atomically(place, json.dumps(asdict(proof)))
        others = [path for path in place.parent.glob("*.json") if path != place]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[KEPT - 1 :]:
            path.unlink()


def _place(key: str) -> Path:
    name = hashlib.sha256(key.encode("utf-8")).hexdigest()[:32]
    return state_dir() / "grade" / f"{name}.json"
