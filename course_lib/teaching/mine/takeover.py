"""The learner's functions run in the library's places: kept sections in, changed modules out.

`path/sitecustomize.py` installs this in every process of `course mine`, before anything of the
library is imported. A module of the library that a kept function belongs to is then compiled with
a decorator on that function, which puts the learner's in its place; so copies that `from … import`
makes are the learner's, too. Because of that, this module needs Python's standard library
alone, and imports of the library only what it needs to tell a fault.
"""

from __future__ import annotations

import ast
import atexit
import ctypes
import hashlib
import importlib.abc
import importlib.machinery
import itertools
import linecache
import os
import re
import reprlib
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

FOLDER = "COURSE_MINE"
"""The variable that names the folder of the kept functions; set, it makes them run."""

FALLBACK, TIMEOUT = "COURSE_MINE_FALLBACK", "COURSE_MINE_TIMEOUT"

TIMEOUT_SECONDS = 30.0
"""How long a learner's function may run by itself; a search takes milliseconds."""

GRACE_SECONDS = 5.0
"""After its timeout, a function that cannot be interrupted ends the process this much later."""

SAMPLE_SECONDS = 0.25

LIBRARY = str(Path(__file__).resolve().parents[2])

INDEXED_WITH = ("records", "loader", "embedder", "store")
"""The rooms on which depends what is in an index."""

HEADER = re.compile(
    r"^# %% (?P<exercise>\d+\.\d+) (?P<name>\w+) · lab (?P<lab>\d\d) · (?P<date>[\d-]+)\n"
    r"# in the place of (?P<module>[\w.]+)\.(?P=name)\n",
    re.MULTILINE,
)


class Section(NamedTuple):
    """A kept function, with all that it needs: a cell of a module in `my/system/`.

    Attributes
    ----------
    exercise, name, lab, date
        What its heading says.
    module
        The module of the library in which it takes a place.
    file, line
        Where it begins.
    text
        All of it, heading included.
    """

    exercise: str
    name: str
    lab: str
    date: str
    module: str
    file: str
    line: int
    text: str

    @property
    def room(self) -> str:
        """The stage: the folder of the library, or its module where it has none."""
        return self.module.split(".")[1]

    @property
    def place(self) -> str:
        """Whose place it takes, as `Exercise.library` says it."""
        return f"{self.module}:{self.name}"

    def load(self) -> Callable[..., Any]:
        """Run the section in a module of its own, and return the function."""
        name = f"my_system_{self.exercise.replace('.', '_')}"
        module = types.ModuleType(name)
        module.__file__ = self.file
        sys.modules[name] = module  # where pydantic and dataclasses look for names
        code = compile("\n" * (self.line - 1) + self.text, self.file, "exec", dont_inherit=True)
        exec(code, vars(module))
        function: Callable[..., Any] = vars(module)[self.name]
        return function


def read_sections(folder: Path) -> list[Section]:
    """Return what is kept in a folder, in the order of its files and their sections."""
    sections = []
    for path in sorted(folder.glob("*.py")):
        sections += sections_of(path.read_text(encoding="utf-8"), str(path))
    return sections


def sections_of(text: str, file: str) -> list[Section]:
    """Return the sections of a module.

    Examples
    --------
    >>> kept = '''# %% 1.1 find_cut · lab 01 · 2026-11-25
    ... # in the place of course_lib.loader.recursive.find_cut
    ... find_cut = max
    ... '''
    >>> [(one.exercise, one.name, one.room, one.line) for one in sections_of(kept, "loader.py")]
    [('1.1', 'find_cut', 'loader', 1)]
    """
    marks = list(HEADER.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        Section(
            **mark.groupdict(),
            file=file,
            line=text.count("\n", 0, mark.start()) + 1,
            text=text[mark.start() : end],
        )
        for mark, end in zip(marks, ends, strict=False)  # without marks there is one end
    ]


def fingerprint(sections: Iterable[Section], rooms: Sequence[str]) -> str:
    """Return a hash of the functions of these rooms; empty where none is the learner's."""
    texts = [HEADER.sub("", one.text).strip() for one in sections if one.room in rooms]
    return hashlib.sha256("\0".join(texts).encode("utf-8")).hexdigest()[:12] if texts else ""


def install(folder: Path) -> None:
    """Put what is kept in a folder in the library's places, as its modules are imported."""
    sys.meta_path.insert(0, Finder(read_sections(folder)))


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the library in which something is the learner's."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = sections
        self.after = {
            "course_lib.loader.registry": self._mark_settings,
            "course_lib.embedder.model": self._mark_vectors,
        }

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return how a module is found in which something is the learner's; None for others."""
        own = {one.name: one for one in self.sections if one.module == name}
        if not own and name not in self.after:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = Loader(name, spec.origin, own, self.after.get(name))
        return spec

    def _mark_settings(self, module: types.ModuleType) -> None:
        """Have what is indexed with the learner's functions indexed again when they change."""
        if mark := fingerprint(self.sections, INDEXED_WITH):
            before = module.Registered.settings
            module.Registered.settings = lambda one, *sizes: (
                f"{before(one, *sizes)} mine={mark}".strip()
            )

    def _mark_vectors(self, module: types.ModuleType) -> None:
        """Keep vectors that the learner's functions made apart from the course's."""
        if mark := fingerprint(self.sections, ("embedder",)):
            before = module.EmbeddingClient._cache_key
            key = property(lambda client: f"{before.fget(client)} mine={mark}")
            module.EmbeddingClient._cache_key = key


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module of the library with the learner's functions in it."""

    def __init__(
        self,
        name: str,
        path: str,
        own: dict[str, Section],
        after: Callable[[types.ModuleType], None] | None,
    ) -> None:
        super().__init__(name, path)
        self.own = own
        self.after = after

    def get_code(self, fullname: str) -> types.CodeType:
        """Return the module's code, in which the functions that are replaced are decorated."""
        # Without Python's cache: what is compiled here is not what the file says. A decorator and
        # no assignment afterwards, because a module may call its own function while it is imported.
        tree = ast.parse(self.get_data(self.path), self.path)
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        defined = {node.name: node for node in tree.body if isinstance(node, functions)}
        for name, section in self.own.items():
            if name not in defined:
                raise ImportError(
                    f"{section.file} keeps {name} for {fullname}, which has no such function: "
                    "delete that section, or pass the check of the exercise again"
                )
            defined[name].decorator_list.insert(0, ast.Name("_in_its_place", ast.Load()))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module, with that decorator."""
        vars(module)["_in_its_place"] = lambda library: Own(
            self.own[library.__name__], library
        ).in_its_place()
        super().exec_module(module)
        del vars(module)["_in_its_place"]
        if self.after:
            self.after(module)


_numbers = itertools.count()


class TookTooLongError(BaseException):
    """Is raised in a learner's function that runs too long; an `except Exception` lets it by."""


class Own:
    """A learner's function, and the library's of which it takes the place.

    Parameters
    ----------
    section
        The learner's. It is run when it is first called: it may import the module in which it
        takes a place.
    library
        What may take over, and what says whether an error is one of the learner's.
    """

    files: ClassVar[set[str]] = set()

    def __init__(self, section: Section, library: Callable[..., Any]) -> None:
        self.files.add(section.file)
        self.section = section
        self.library = library
        self.hung = False
        self.told = False

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The learner's function."""
        return self.section.load()

    def in_its_place(self) -> Callable[..., Any]:
        """Return what the library's modules call from now on."""

        @wraps(self.library)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self.call(args, kwargs)

        @wraps(self.library)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return await self.call_async(args, kwargs)

        return call_async if self.library.__code__.co_flags & 0x80 else call

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the learner's function; name it where it raises or takes too long."""
        number = next(_numbers)  # by which `Watchdog` tells calls apart
        if self.hung:
            return self.library(*args, **kwargs)
        Watchdog.begin()
        try:
            return self.function(*args, **kwargs)
        except TookTooLongError:
            if number not in Watchdog.interrupted:
                raise
            self.hung = may_fall_back()
            fault = self.hanging(args, kwargs)
        except Exception as error:
            if isinstance(error, fault_class()):
                raise
            fault = self.raising(error, args, kwargs)
            try:
                value = self.library(*args, **kwargs)
            except Exception as expected:
                if type(expected) is type(error):
                    raise error from None
                self.take_over(fault)
                raise
            self.take_over(fault)
            return value
        self.take_over(fault)
        return self.library(*args, **kwargs)

    async def call_async(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Await the learner's function; name it where it raises or takes too long."""
        import asyncio

        if self.hung:
            return await self.library(*args, **kwargs)
        try:
            return await asyncio.wait_for(self.function(*args, **kwargs), timeout_seconds())
        except TimeoutError:
            self.hung = may_fall_back()
            self.take_over(self.hanging(args, kwargs))
        except Exception as error:
            if isinstance(error, fault_class()):
                raise
            self.take_over(self.raising(error, args, kwargs))
        return await self.library(*args, **kwargs)

    def take_over(self, fault: Exception) -> None:
        """Say once that the library's function takes over; raise the fault where it must not."""
        if not may_fall_back():
            raise fault from None
        if not self.told:
            self.told = True
            said = f"{fault.args[0]}. The course's {self.section.name} takes over."
            print(said, file=sys.stderr, flush=True)

    def hanging(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
        """Return the fault of a call that did not end."""
        return self._fault(f"did not end within {timeout_seconds():g} s", "", args, kwargs)

    def raising(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
        """Return the fault of a call that raised what the library's function does not raise."""
        line, trace = 0, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.section.file:
                line = trace.tb_lineno
            trace = trace.tb_next
        what = type(error).__name__ + (f": {str(error).splitlines()[0]}" if str(error) else "")
        where = linecache.getline(self.section.file, line).strip()
        place = f", line {line}: {where}" if line else ""
        return self._fault(f"raised {what}", place, args, kwargs)

    def _fault(
        self, did: str, place: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Exception:
        name = self.section.name
        file = "/".join(Path(self.section.file).parts[-3:])
        fault: Exception = fault_class()(
            f"your {name} ({file}{place}) {did}, called as {call_text(name, args, kwargs)}",
            hint="The course's does not. Mend yours, or let the course's take over: "
            "course mine --fallback …",
        )
        return fault


def call_text(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return a call as text, long arguments shortened.

    Examples
    --------
    >>> call_text("find_cut", ("ab cd. ef gh", 0), {"limit": 8})
    "find_cut('ab cd. ef gh', 0, limit=8)"
    """
    short = reprlib.Repr()
    short.maxstring = short.maxother = 80
    parts = [short.repr(value) for value in args]
    parts += [f"{key}={short.repr(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def fault_class() -> Any:
    """Return the error that names a function of the learner's, once the library is there."""
    from course_lib.errors import OwnFunctionError

    return OwnFunctionError


def may_fall_back() -> bool:
    """Tell whether the library's function takes over where the learner's fails."""
    return os.environ.get(FALLBACK) == "1"


def timeout_seconds() -> float:
    """Return how long a function may run by itself."""
    return float(os.environ.get(TIMEOUT) or TIMEOUT_SECONDS)


class Watchdog(threading.Thread):
    """Looks from time to time at what each thread does, and interrupts what does not end.

    A function that was given another one to call is charged for the time in which its own code
    runs, and what that calls of other packages: the rest is that other function's.
    """

    interrupted: ClassVar[set[int]] = set()
    """The numbers of the calls that were."""

    _running: ClassVar[Watchdog | None] = None

    def __init__(self) -> None:
        super().__init__(name="watch the learner's functions", daemon=True)
        self.ended = threading.Event()

    @classmethod
    def begin(cls) -> None:
        """Start it in this process, once."""
        if cls._running is None or not cls._running.is_alive():
            cls._running = cls()
            cls._running.start()
            # A thread that destroys OpenVINO's objects while Python ends crashes the process.
            atexit.register(cls._running.end)

    def end(self) -> None:
        """Stop looking, before Python takes down what it holds."""
        self.ended.set()
        self.join()

    def run(self) -> None:
        """Look, for as long as the process lives."""
        spent: dict[int, float] = {}
        while not self.ended.wait(SAMPLE_SECONDS):
            spent = self.look(spent)

    def look(self, spent: dict[int, float]) -> dict[int, float]:
        """Look once; return the seconds for which each call that still runs has been charged.

        No frame outlives a look: what a frame holds, such as OpenVINO's objects, would be destroyed
        in this thread long after its own thread is done with it.
        """
        frames = sys._current_frames()
        del frames[threading.get_ident()]  # it would hold itself, and with it all others
        calls = [(thread, *call) for thread in frames for call in _own_calls(frames[thread])]
        spent = {
            number: spent.get(number, 0.0) + SAMPLE_SECONDS * is_charged
            for _, _, number, is_charged in calls
        }
        late: dict[int, tuple[types.FrameType, int]] = {}
        for thread, frame, number, _ in calls:
            if spent[number] > timeout_seconds():  # the innermost is the cause
                late.setdefault(thread, (frame, number))
        for thread, (frame, number) in late.items():
            if spent[number] > timeout_seconds() + GRACE_SECONDS:
                given = frame.f_locals
                fault = given["self"].hanging(given["args"], given["kwargs"])
                print(f"error: {fault.args[0]}, and cannot be interrupted", file=sys.stderr)
                sys.stderr.flush()
                os._exit(1)
            self.interrupted.add(number)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread), ctypes.py_object(TookTooLongError)
            )
        return spent


def _own_calls(frame: types.FrameType | None) -> Iterator[tuple[types.FrameType, int, bool]]:
    """Yield a thread's calls of the learner's functions, innermost first, and what is charged."""
    of_library: bool | None = None  # whether the innermost code that is ours is the library's
    while frame is not None:
        file = frame.f_code.co_filename
        if frame.f_code is Own.call.__code__:
            given = frame.f_locals
            if "number" in given:
                called_back = any(map(callable, (*given["args"], *given["kwargs"].values())))
                yield frame, given["number"], not (called_back and of_library)
            of_library = True
        elif of_library is None and (file in Own.files or file.startswith(LIBRARY)):
            of_library = file not in Own.files
        frame = frame.f_back
