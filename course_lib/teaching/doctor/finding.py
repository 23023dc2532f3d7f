"""One finding of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """What was looked at, how it is, and what to do about it.

    Parameters
    ----------
    name
        What was looked at.
    state
        `ok`; `warn`: the course runs, less well; `fail`: it does not.
    detail
        What was found.
    fix
        What to do; empty where nothing is wrong.
    """

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""
