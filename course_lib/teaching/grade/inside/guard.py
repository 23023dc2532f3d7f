"""Keeping the checks honest in a process that a learner's code shares.

`Guard` remembers, before any of that code runs, what functions, classes and builtins are, and puts
back before each check what has been replaced. It is no wall: what it finds is a flag for a person.
"""

from __future__ import annotations

import builtins
import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from operator import is_, itemgetter
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

# What a learner puts into `builtins` does not reach the functions below.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

WATCHED = (
    "builtins", "course_lib", "collections", "contextlib", "copy", "dataclasses", "functools",
    "inspect", "io", "itertools", "json", "linecache", "math", "numpy", "operator", "psutil",
    "psycopg", "random", "re", "signal", "string", "sys", "time", "types", "typing", "unittest",
)  # fmt: skip
"""Packages whose functions and classes a check may rely on."""

INCIDENTAL = {"sys": {"displayhook", "excepthook", "breakpointhook", "unraisablehook"}}
_Callable = (FunctionType, BuiltinFunctionType, type)
_Missing = object()


class Guard:
    """What things were before the learner's code ran."""

    def __init__(self) -> None:
        self._builtins = dict(vars(builtins))
        self._modules: list[tuple[ModuleType, dict[str, Any]]] = []
        self._code: list[tuple[FunctionType, Any, Any, Any]] = []
        self._classes: list[tuple[type, dict[str, Any]]] = []
        self._names: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        seen: set[int] = set()
        for name, module in list(sys.modules.items()):
            if not isinstance(module, ModuleType) or name.split(".")[0] not in WATCHED:
                continue
            skipped = INCIDENTAL.get(name, set())
            kept = {
                key: value
                for key, value in vars(module).items()
                if isinstance(value, _Callable) and key not in skipped
            }
            self._modules.append((module, kept))
            for value in kept.values():
                self._remember(value, name.split(".")[0], seen)
            for value in list(vars(module).values()):
                self._remember_object(value, seen)
        self._inner = _Inner([function for function, *_ in self._code])
        self._outer = _Outer(self._modules)
        self._course = [
            (module, vars(module), kept)
            for module, kept in self._modules
            if module.__name__.startswith("course_lib")
        ]

    def _remember(self, value: Any, package: str, seen: set[int]) -> None:
        home = getattr(value, "__module__", None)
        if id(value) in seen or type(home) is not str or not home.startswith(package):
            return
        seen.add(id(value))
        if isinstance(value, FunctionType):
            self._code.append((value, value.__code__, value.__defaults__, value.__kwdefaults__))
        elif isinstance(value, type) and package == "course_lib":
            own = dict(vars(value))
            self._classes.append((value, own))
            for one in own.values():
                self._remember(getattr(one, "fget", None) or one, package, seen)

    def fix(self, names: dict[str, Any], fixed: Iterable[str]) -> None:
        """Remember what names stand for, and what belongs to these objects of the course's own."""
        kept = {name: names[name] for name in fixed if name in names}
        self._names.append(("", names, kept))
        seen: set[int] = set()
        for value in kept.values():
            self._remember_object(value, seen)

    def _remember_object(self, value: Any, seen: set[int]) -> None:
        """Remember the open attributes of an object of the course's own, such as a `Lab`."""
        if isinstance(value, dict):
            for one in value.values() if len(value) < 100 else ():
                self._remember_object(one, seen)
        kind = type(value)
        if id(value) in seen or not kind.__module__.startswith("course_lib.teaching"):
            return
        own = getattr(value, "__dict__", None)
        if type(own) is not dict:
            return
        seen.add(id(value))
        kept = {key: one for key, one in own.items() if not key.startswith("_")}
        self._names.append((f"{kind.__name__}.", own, kept))
        for key, one in kept.items():
            self._remember(one, "course_lib", seen)
            if isinstance(one, dict):
                self._names.append((f"{kind.__name__}.{key} ", one, dict(one)))
            self._remember_object(one, seen)

    def restore(self) -> list[str]:
        """Put back what has been replaced, and return its names."""
        return [name for name, put_back in self._changes() if put_back()]

    def _changes(self) -> Iterator[tuple[str, Callable[[], bool]]]:
        own = vars(builtins)
        if not _same(own, self._builtins):
            for name, value in self._builtins.items():
                if own.get(name, _Missing) is not value and name not in ("_", "__IPYTHON__"):
                    yield f"builtins.{name}", _setter(own, name, value)
        for module, kept in self._modules if self._outer.differ() else ():
            names = vars(module)
            for name, value in kept.items():
                if names.get(name, _Missing) is not value:
                    yield f"{module.__name__}.{name}", _setter(names, name, value)
        for module, names, kept in self._course:
            for name in (names.keys() & self._builtins.keys()) - kept.keys():
                if not name.startswith("__"):
                    yield f"{module.__name__}.{name}", _remover(names, name)
        for prefix, own_dict, kept in self._names:
            for name, value in kept.items():
                if own_dict.get(name, _Missing) is not value:
                    yield f"{prefix}{name}", _setter(own_dict, name, value)
            for name in [n for n in own_dict if prefix and n not in kept]:
                if callable(own_dict[name]):  # it would hide a method
                    yield f"{prefix}{name}", _remover(own_dict, name)
        for function, code, defaults, keywords in self._code if self._inner.differ() else ():
            if not (
                function.__code__ is code
                and function.__defaults__ is defaults
                and function.__kwdefaults__ is keywords
            ):
                yield (
                    f"{function.__module__}.{function.__qualname__}",
                    _mender(function, code, defaults, keywords),
                )
        for kind, own_names in self._classes:
            present = vars(kind)
            if len(present) == len(own_names) and _same(present, own_names):
                continue
            for name in own_names.keys() | present.keys():
                if name.startswith("__abstract") or name in ("__doc__", "__dict__", "_abc_impl"):
                    continue
                before, now = own_names.get(name, _Missing), present.get(name, _Missing)
                if before is not now and (_is_code(before) or _is_code(now)):
                    yield (
                        f"{kind.__module__}.{kind.__qualname__}.{name}",
                        _class_mender(kind, name, before),
                    )


class _Outer:
    """What the names of modules stand for, to be compared at one stroke."""

    def __init__(self, modules: list[tuple[ModuleType, dict[str, Any]]]) -> None:
        # One name more makes it a tuple in every case.
        self._looks = [
            (itemgetter("__name__", *kept), vars(module)) for module, kept in modules if kept
        ]
        self._values = tuple(chain.from_iterable(look(names) for look, names in self._looks))

    def differ(self) -> bool:
        """Tell whether any may stand for something else."""
        try:
            found = chain.from_iterable(look(names) for look, names in self._looks)
            return not all(map(is_, found, self._values))
        except KeyError:
            return True


class _Inner:
    """What functions consist of, to be compared at one stroke.

    To read a thousand `__code__`, each with an audit event, takes longer than most checks.
    """

    def __init__(self, functions: list[FunctionType]) -> None:
        for function in functions:
            function.__annotations__  # noqa: B018 - or it would be made when somebody asks
        self._functions = functions
        self._parts = gc.get_referents(*functions)
        # Should a Python not tell: always look.
        seen = set(map(id, self._parts))
        self._told = all(id(function.__code__) in seen for function in functions)

    def differ(self) -> bool:
        """Tell whether any may have been changed."""
        parts = gc.get_referents(*self._functions)
        same = len(parts) == len(self._parts) and all(map(is_, parts, self._parts))
        return not (same and self._told)


def _same(names: Mapping[str, Any], kept: Mapping[str, Any]) -> bool:
    """Tell whether every name stands for what it stood for; there may be further names."""
    return all(map(is_, map(names.get, kept), kept.values()))


def _is_code(value: Any) -> bool:
    return isinstance(value, (*_Callable, property, classmethod, staticmethod))


def _setter(names: dict[str, Any], name: str, value: Any) -> Callable[[], bool]:
    def put_back() -> bool:
        names[name] = value
        return True

    return put_back


def _remover(names: dict[str, Any], name: str) -> Callable[[], bool]:
    return lambda: names.pop(name, _Missing) is not _Missing


def _mender(function: FunctionType, code: Any, defaults: Any, keywords: Any) -> Callable[[], bool]:
    def put_back() -> bool:
        function.__code__, function.__defaults__ = code, defaults
        function.__kwdefaults__ = keywords
        return True

    return put_back


def _class_mender(kind: type, name: str, before: Any) -> Callable[[], bool]:
    def put_back() -> bool:
        if before is _Missing:
            type.__delattr__(kind, name)
        else:
            type.__setattr__(kind, name, before)
        return True

    return put_back


def collect() -> None:
    """Move all objects out of the collector's reach, so that forks share their memory."""
    gc.collect()
    gc.freeze()
