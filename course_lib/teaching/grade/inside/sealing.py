"""Closing what checks are made of against being changed while one of them runs.

What is replaced between two cells is put back before the next check. An answer is called within its
check, though, and could replace something there and put it back itself. So the classes of the
checks cannot be changed at all, and who changes a module of theirs is heard.
"""

from __future__ import annotations

import builtins
import ctypes
import sys
from types import ModuleType
from typing import Any

# What a learner puts into `builtins` does not reach the functions below.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

SEALED = ("course_lib.teaching.checks", "course_lib.teaching.lab", "course_lib.errors")
CHANGE = "course.change"
"""The audit event of a module's change."""

_IMMUTABLE = 1 << 8
"""CPython's Py_TPFLAGS_IMMUTABLETYPE (3.10 and later): as of `int`, nothing can be set."""

_FLAGS = 3 * ctypes.sizeof(ctypes.c_void_p) + 18 * ctypes.sizeof(ctypes.c_void_p)
"""Where a type object has its flags: behind the head and 18 fields of the size of a pointer."""


class _Sealed(ModuleType):
    """A module whose changes are heard."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, ModuleType):  # importing a part of a package is no change
            sys.audit(CHANGE, f"{self.__name__}.{name}")
        super().__setattr__(name, value)


def seal(packages: tuple[str, ...] = SEALED) -> int:
    """Close the classes and modules of the checks; return how many classes were closed."""
    count = 0
    for name, module in list(sys.modules.items()):
        if name.startswith(packages) and type(module) is ModuleType:
            for value in list(vars(module).values()):
                if type(value) is type and value.__module__ == name:
                    count += _close(value)
            module.__class__ = _Sealed
    return count


def _close(kind: type) -> bool:
    """Make a class as unchangeable as `int`, where this Python keeps its flags where we know."""
    if sys.implementation.name != "cpython" or sys.version_info[:2] > (3, 14):
        return False
    flags = ctypes.c_ulong.from_address(id(kind) + _FLAGS)
    if flags.value != kind.__flags__:
        return False
    flags.value |= _IMMUTABLE
    return True
