"""What a learner handed in, in a folder of the learner's own, read without trusting any of it.

What cannot be read is kept with the reason, because a person has to look at it. Of a notebook only
the cells' kinds, ids, sources and grade ids are taken; its size and form are limited before
anything is made of it.
"""

from __future__ import annotations

import json
import stat
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from unicodedata import category

from course_lib.teaching.grade.statements import Code, code_of

LARGEST = 64_000_000
"""Bytes of a notebook file that are read; outputs are most of it, and are not used."""

MOST_CELLS = 2_000
LONGEST_SOURCE = 200_000
"""Characters of one cell."""


@dataclass(frozen=True)
class SentCell:
    """A cell as it was handed in: what is used of it, and nothing else."""

    kind: str
    id: str
    grade_id: str
    source: str

    @cached_property
    def code(self) -> Code:
        """What is in it."""
        return code_of(self.source, self.kind if len(self.source) <= LONGEST_SOURCE else "")


@dataclass(frozen=True)
class Submission:
    """What one learner handed in.

    Attributes
    ----------
    learner
        The name of the file or folder, as it is there and as `shown` writes it.
    path
        The notebook; None where it is not clear which.
    problem
        Why a person has to look; empty where the notebook can be read.
    """

    learner: str
    path: Path | None
    problem: str = ""


def submission_in(folder: Path, name: str, *, preferred: str = "") -> Submission:
    """Return what a learner of that name handed in, in a folder of the learner's own."""
    path, problem = _notebook_in(folder, preferred)
    return Submission(shown(name), path, problem)


def shown(name: str) -> str:
    r"""Return a file's name as text that can be written down: one line, and nothing invisible.

    A name may hold line ends, bytes of no character, or marks that turn the writing round.

    Examples
    --------
    >>> shown("ann"), shown("ann\nbob") == "ann\ufffdbob", shown("b\udcffb") == "b\ufffdb"
    ('ann', True, True)
    """
    invisible = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return "".join("\ufffd" if category(letter) in invisible else letter for letter in name)


def read_cells(path: Path) -> list[SentCell]:
    """Return the cells of a notebook of any version that nbformat knows.

    Raises
    ------
    ValueError
        It is too large, no notebook, or damaged; the message says which, in half a sentence.
    """
    if not is_plain_file(path):
        raise ValueError("it is not an ordinary file")
    if (size := path.stat().st_size) > LARGEST:
        raise ValueError(f"it has {size:,} bytes, more than {LARGEST:,}")
    try:
        raw = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        raise ValueError(f"it cannot be read: {_short(error)}") from None
    if not isinstance(raw, dict) or type(raw.get("nbformat")) is not int:
        raise ValueError("it is not a notebook")
    if raw["nbformat"] != 4:
        raw = _of_version_4(raw)
    cells = raw.get("cells")
    if not isinstance(cells, list):
        raise ValueError("it has no cells")
    if len(cells) > MOST_CELLS:
        raise ValueError(f"it has {len(cells):,} cells, more than {MOST_CELLS:,}")
    return [_cell(cell) for cell in cells]


def newer_python(path: Path) -> str:
    """Return the version of Python that a notebook was run with, if it is newer than this one."""
    try:
        raw = json.loads(path.read_bytes())
        version = str(raw["metadata"]["language_info"]["version"])
        found = tuple(int(part) for part in version.split(".")[:2])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return version if found > sys.version_info[:2] else ""


def is_plain_file(path: Path) -> bool:
    """Tell whether a path is an ordinary file: no link, pipe or device, which may never end."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def is_skipped(name: str) -> bool:
    """Tell whether a file or a folder of that name is a program's, and no learner's work."""
    return name.startswith(".") or name in ("__pycache__", "__MACOSX")


def _notebook_in(folder: Path, preferred: str) -> tuple[Path | None, str]:
    files = [
        path
        for path in sorted(folder.rglob("*"))  # which follows no links
        if path.suffix.lower() == ".ipynb"
        and is_plain_file(path)
        and not any(map(is_skipped, path.relative_to(folder).parts))
    ]
    if not files:
        return None, "the folder holds no notebook"
    named = [path for path in files if path.stem == preferred] if len(files) > 1 else files
    if len(named) != 1:
        names = ", ".join(path.name for path in files[:4])
        return None, f"the folder holds {len(files)} notebooks: {names}"
    return named[0], ""


def _cell(cell: Any) -> SentCell:
    if not isinstance(cell, dict):
        raise ValueError("one of its cells is damaged")
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        raise ValueError("the source of one of its cells is not text")
    # Lone surrogates are JSON and no text that can be written down again.
    source = source.encode("utf-8", "replace").decode("utf-8")
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id", "") if isinstance(nbgrader, dict) else ""
    return SentCell(
        str(cell.get("cell_type", ""))[:20],
        cell["id"] if isinstance(cell.get("id"), str) else "",
        grade_id if isinstance(grade_id, str) else "",
        source,
    )


def _of_version_4(raw: dict[str, Any]) -> Any:
    import nbformat

    try:
        return nbformat.convert(nbformat.from_dict(raw), 4)
    except Exception as error:  # whatever a converter trips over
        raise ValueError(f"it is of version {raw['nbformat']}: {_short(error)}") from None


def _short(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
