"""Keeping the checks honest in a process that a learner's code shares.

`Guard` remembers, before any of that code runs, what functions, classes and builtins are, puts back
what has been replaced before each check, and runs checks as plain Python, outside IPython's hooks.
`listen` reports what Python's audit events say about code that reaches for the machinery. Neither
is a wall: what they find is a flag for a person.
"""

from __future__ import annotations

import builtins
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
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

PRIVATE = ("/tmp/", "/dev/shm/", "/dev/null", "/var/tmp/")
"""Where a submission may write what it likes: the folders are its own, and are emptied."""

QUIET = 40
"""Reports of one submission, after which no more are sent."""

NEAR = {"sys._getframe", "object.__getattr__", "object.__setattr__", "code.__new__"}
"""Events that count only where the learner's own line caused them."""

FAR = {
    "gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.settrace", "sys.setprofile",
    "sys._current_frames", "ctypes.dlopen", "ctypes.dlsym", "ctypes.cdata", "socket.connect",
    "socket.bind", "socket.sendto", "socket.getaddrinfo", "subprocess.Popen", "os.system",
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.kill", "os.killpg", "os.remove",
    "os.rename", "os.rmdir", "os.truncate", "os.chmod", "os.chown", "os.link", "os.symlink",
    "shutil.rmtree", "signal.pthread_kill", "pty.spawn", "sys.addaudithook", "sys.excepthook",
}  # fmt: skip

ON_FILES = {
    "open", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod", "os.chown", "os.link",
    "os.symlink", "shutil.rmtree",
}  # fmt: skip


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
        for name, value in self._builtins.items():
            if own.get(name, _Missing) is not value and name not in ("_", "__IPYTHON__"):
                yield f"builtins.{name}", _setter(own, name, value)
        for module, kept in self._modules:
            names = vars(module)
            for name, value in kept.items():
                if names.get(name, _Missing) is not value:
                    yield f"{module.__name__}.{name}", _setter(names, name, value)
            if module.__name__.startswith("course_lib"):
                for name in [n for n in names if n in self._builtins and n not in kept]:
                    if not name.startswith("__"):
                        yield f"{module.__name__}.{name}", _remover(names, name)
        for prefix, own_dict, kept in self._names:
            for name, value in kept.items():
                if own_dict.get(name, _Missing) is not value:
                    yield f"{prefix}{name}", _setter(own_dict, name, value)
            for name in [n for n in own_dict if prefix and n not in kept]:
                if callable(own_dict[name]):  # it would hide a method
                    yield f"{prefix}{name}", _remover(own_dict, name)
        for function, code, defaults, keywords in self._code:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                yield (
                    f"{function.__module__}.{function.__qualname__}",
                    _mender(function, code, defaults, keywords),
                )
        for kind, own_names in self._classes:
            present = vars(kind)
            for name in own_names.keys() | present.keys():
                if name.startswith("__abstract") or name in ("__doc__", "__dict__", "_abc_impl"):
                    continue
                before, now = own_names.get(name, _Missing), present.get(name, _Missing)
                if before is not now and (_is_code(before) or _is_code(now)):
                    yield (
                        f"{kind.__module__}.{kind.__qualname__}.{name}",
                        _class_mender(kind, name, before),
                    )


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


def listen(
    report: Callable[[str, str], None], is_learners: Callable[[str], bool]
) -> Callable[[], None]:
    """Report audit events that the learner's code causes, once the returned function is called.

    Parameters
    ----------
    report
        Gets the event's name and what it is about; called at once, before the event goes on.
    is_learners
        Tells by a code object's file name whether the learner wrote it.
    """
    state = {"on": False, "busy": False, "sent": 0}
    frame_of, seen = sys._getframe, set[tuple[str, str]]()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if not state["on"] or state["busy"]:
            return
        opens = event == "open" and _is_telling(arguments)
        if event not in NEAR and event not in FAR and not opens and event[:7] != "ctypes.":
            return
        state["busy"] = True
        try:
            near = event in NEAR or (opens and not _writes(arguments))
            if not _caused(frame_of, is_learners, near=near):
                return
            about = _about(event, arguments)
            if about is None or (event, about) in seen or state["sent"] >= QUIET:
                return
            if event in ON_FILES and about.startswith(PRIVATE):
                return
            seen.add((event, about))
            state["sent"] += 1
            report(event, about)
        finally:
            state["busy"] = False

    def begin() -> None:
        state["on"] = True

    sys.addaudithook(hook)
    return begin


def _caused(
    frame_of: Callable[[int], Any], is_learners: Callable[[str], bool], *, near: bool
) -> bool:
    """Tell whether the learner wrote the line that is running, or one that called it."""
    try:
        frame = frame_of(2)
    except ValueError:  # the interpreter itself
        return False
    for _ in range(12):
        if frame is None:
            return False
        file = frame.f_code.co_filename
        if is_learners(file):
            return True
        if near and file != "<string>" and not file.endswith("pathlib.py"):
            return False
        frame = frame.f_back
    return False


def _is_telling(arguments: tuple[Any, ...]) -> bool:
    path = arguments[0] if arguments else None
    inner = isinstance(path, str) and path.startswith("/proc/")
    return inner or (_writes(arguments) and not isinstance(path, int))


def _writes(arguments: tuple[Any, ...]) -> bool:
    mode, flags = (arguments + (None, None, None))[1:3]
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & 3)


_INNER = {
    "__code__", "__globals__", "__closure__", "__defaults__", "__builtins__", "tb_frame",
    "gi_frame", "cr_frame", "ag_frame", "f_back", "f_globals", "f_locals",
}  # fmt: skip


def _about(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Return what an event is about in a few words, or None where it says nothing."""
    if event.startswith("object."):
        name = next((a for a in arguments[1:2] if isinstance(a, str)), "")
        return name if name in _INNER else None
    for argument in arguments[:2]:
        if isinstance(argument, bytes):
            return argument.decode("utf-8", "replace")[:80]
        if isinstance(argument, str | int) and type(argument) in (str, int):
            return str(argument)[:80]
    return ""


def collect() -> None:
    """Move all objects out of the collector's reach, so that forks share their memory."""
    gc.collect()
    gc.freeze()
