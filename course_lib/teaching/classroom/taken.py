"""What a collection took of a learner, kept beside the submission.

The LMS finds feedback by it, and a later collection of the same knows what a person has changed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from course_lib.files import write_atomically

FILE = ".collected.json"


@dataclass(frozen=True)
class Taken:
    """What was taken.

    Attributes
    ----------
    lms
        What the LMS put before the file's name; empty where none did. Canvas and Moodle know by it
        whose a file is that comes back.
    notebooks
        Hashes of the notebooks, in their order.
    stamp
        What was written to the time stamp; empty where no time was known.
    """

    lms: str = ""
    notebooks: tuple[str, ...] = ()
    stamp: str = ""


_AS_JSON = TypeAdapter(Taken)


def read_taken(folder: Path) -> Taken:
    """Return what was taken into a submission's folder; nothing where that is not known."""
    with suppress(OSError, ValueError):
        return _AS_JSON.validate_json((folder / FILE).read_bytes())
    return Taken()


def write_taken(taken: Taken, folder: Path) -> None:
    """Keep what was taken."""
    write_atomically(folder / FILE, _AS_JSON.dump_json(taken) + b"\n")
