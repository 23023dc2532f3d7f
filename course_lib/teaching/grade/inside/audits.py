"""Python's audit events about a learner's code that reaches for the machinery.

They are no wall: each is a flag for a person.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from course_lib.teaching.grade.inside.sealing import CHANGE

# What a learner puts into `builtins` does not reach the functions below.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

PRIVATE = ("/tmp/", "/dev/shm/", "/dev/null", "/var/tmp/")
"""Where a submission may write what it likes: the folders are its own, and are emptied."""

QUIET = 40
"""Reports of one submission, after which no more are sent."""

NEAR = {"sys._getframe", "object.__getattr__", "object.__setattr__", "code.__new__"}
"""Events that count only where the learner's own line caused them."""

BETWEEN = (
    "<string>",
    "/pathlib.py",
    "/string.py",
    "/inspect.py",
    "\\pathlib.py",
    "\\string.py",
    "\\inspect.py",
)
"""Files that do in a learner's name what the learner's line says."""

FAR = {
    "gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.settrace", "sys.setprofile",
    "sys._current_frames", "ctypes.dlopen", "ctypes.dlsym", "ctypes.cdata", "socket.connect",
    "socket.bind", "socket.sendto", "socket.getaddrinfo", "subprocess.Popen", "os.system",
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.kill", "os.killpg", "os.remove",
    "os.rename", "os.rmdir", "os.truncate", "os.chmod", "os.chown", "os.link", "os.symlink",
    "shutil.rmtree", "signal.pthread_kill", "pty.spawn", "sys.addaudithook", "sys.excepthook",
    CHANGE,
}  # fmt: skip

ON_FILES = {
    "open", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod", "os.chown", "os.link",
    "os.symlink", "shutil.rmtree",
}  # fmt: skip


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
        if near and not file.endswith(BETWEEN):
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
