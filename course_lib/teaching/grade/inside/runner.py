"""Executing cells next to the learner's code: an IPython shell without a kernel, and plain checks.

Cells run as in a notebook. Checks run as plain Python in the same names: no transformers, no
exception handlers, no display hooks of the learner's are asked, and the builtins are the real ones.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import sys
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

from course_lib.teaching.grade.inside.borrowing import overheard
from course_lib.teaching.grade.inside.guard import Guard
from course_lib.teaching.grade.inside.limits import is_full
from course_lib.teaching.grade.inside.streams import Report, Streams, clean, display, message

# What a learner puts into `builtins` does not reach the functions below.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

QUICK = 0.02
"""Seconds of work within which a check has to end to be run again."""

TOLD = 20_000
"""Characters of an error's message."""


def make_shell() -> Any:
    """Return an IPython shell that shows what it is told to, and keeps no history on disk."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    class Publisher(DisplayPublisher):  # type: ignore[misc]
        report: Any = None

        def publish(self, data: Any, metadata: Any = None, **_: Any) -> None:
            self.report(display("display_data", data, metadata or {}))

        def clear_output(self, wait: bool = False) -> None:
            """Do nothing: nbval compares all outputs."""

    class Hook(DisplayHook):  # type: ignore[misc]
        report: Any = None

        def write_output_prompt(self) -> None:
            """Write none."""

        def finish_displayhook(self) -> None:
            """Write no empty line."""

        def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
            shown = display("execute_result", format_dict, md_dict or {})
            shown["message"]["content"]["execution_count"] = 1
            self.report(shown)

    class Shell(InteractiveShell):  # type: ignore[misc]
        display_pub_class = Type(Publisher)
        displayhook_class = Type(Hook)
        report: Any = None

        def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
            ename = getattr(etype, "__name__", str(etype))
            lines = [str(line)[:TOLD] for line in list(stb)[-60:]]
            self.report(message("error", ename=ename, evalue=told(evalue), traceback=lines))

        def init_sys_modules(self) -> None:
            """Leave `__main__` as it is, but let pickling find what cells define."""
            sys.modules["__main__"] = self.user_module

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.autoindent = False
    shell = Shell.instance(config=config)
    shell.InteractiveTB.set_mode(mode="Minimal")  # the message is what is shown of an error
    return shell


class Runner:
    """Executes cells and checks, and reports what they put out.

    Parameters
    ----------
    shell
        What `make_shell` returns.
    """

    def __init__(self, shell: Any) -> None:
        from IPython.core.inputtransformer2 import TransformerManager

        self.shell = shell
        self.plain = TransformerManager()  # of our own: the shell's may be changed
        self.guard: Guard | None = None
        self.changed: list[str] = []
        self.references: dict[str, tuple[str, Any]] = {}
        self.audit: Callable[[str, str], None] = lambda event, about: None

    def speak_to(self, report: Report) -> None:
        """Send everything that is put out to `report` from now on."""
        self.hear(report)

        def in_order(shown: dict[str, Any]) -> None:
            self.streams.flush()
            report(shown)

        for part in (self.shell, self.shell.display_pub, self.shell.displayhook):
            part.report = in_order

    def hear(self, report: Report) -> None:
        """Send what checks put out to `report`, and leave the shell as it is."""
        self.report = report
        self.streams = Streams(report)

    def cell(self, source: str) -> dict[str, Any]:
        """Run a cell as a notebook would; return how it ended."""
        with self.streams:
            result = self.shell.run_cell(source, store_history=False)
            if self.guard is not None:
                self.changed += self.guard.restore()
        error = result.error_before_exec or result.error_in_exec
        return _ended(error)

    def check(
        self,
        source: str,
        hidden: str = "",
        stubs: Sequence[str] = (),
        nonce: str = "",
        exercise: str = "",
        again: bool = False,
    ) -> dict[str, Any]:
        """Run a check as plain Python; return how it ended and what had been tampered with.

        Parameters
        ----------
        source, hidden
            The check, and what has to pass after it.
        stubs
            Cells that undo the answers it is about: with them it has to fail.
        nonce
            What an error that has to come through says.
        exercise
            Of the course, that it checks; empty for others.
        again
            Whether to run it a second time where it passed quickly: an answer that says in order
            what is expected has nothing to say then.
        """
        assert self.guard is not None
        changed, self.changed = self.changed + self.guard.restore(), []
        canary = _ended(_caught(lambda: self._run(f"assert False, {nonce!r}", {})))
        decoy = None
        if stubs:
            names = dict(self.shell.user_ns)
            with Streams(lambda _: None):
                decoy = _ended(_caught(lambda: self._run_all((*stubs, source), names)))
            changed += self.guard.restore()
        begun, second = process_time(), None
        with self.streams, self._overheard(exercise):
            error = _caught(lambda: self._run(source, self.shell.user_ns, show=True))
            if error is None and hidden:
                error = _caught(lambda: self._run(hidden, self.shell.user_ns))
        if again and error is None and process_time() - begun < QUICK:
            with Streams(lambda _: None):
                second = _ended(_caught(lambda: self._run(source, self.shell.user_ns)))["status"]
        if error is not None:
            told_so = _ended(error)
            self.report(
                message(
                    "error",
                    ename=told_so["ename"],
                    evalue=told_so["evalue"],
                    traceback=told_so["evalue"].splitlines(),
                )
            )
        changed += self.guard.restore()
        more = {"canary": canary, "decoy": decoy, "again": second, "changed": changed[:20]}
        return {**_ended(error), **more}

    def _overheard(self, exercise: str) -> contextlib.AbstractContextManager[None]:
        """Flag it where the course's own version of an exercise does the work of an answer."""
        if exercise not in self.references:
            return contextlib.nullcontext()
        name, own = self.references[exercise]
        return overheard(name, own, self.shell.user_ns, lambda it: self.audit("reference", it))

    def _run_all(self, sources: Sequence[str], names: dict[str, Any]) -> None:
        for source in sources:
            self._run(source, names)

    def _run(self, source: str, names: dict[str, Any], show: bool = False) -> None:
        tree = ast.parse(self.plain.transform_cell(source), "<check>")
        names["__builtins__"] = builtins
        last = tree.body[-1] if tree.body else None
        if show and isinstance(last, ast.Expr):
            tree.body.pop()
            exec(compile(tree, "<check>", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "<check>", "eval"), names)
            if type(value) in (int, float, bool):
                self.report(display("execute_result", {"text/plain": repr(value)}, {}))
        else:
            exec(compile(tree, "<check>", "exec"), names)


def told(error: Any) -> str:
    """Return an error's message, whatever its `__str__` does."""
    try:
        text = str(error)
    except BaseException as other:  # the learner's own class
        return f"<its message raises {type(other).__name__}>"
    return clean(text[:TOLD]) if type(text) is str else "<its message is no text>"


def _caught(work: Callable[[], Any]) -> BaseException | None:
    try:
        work()
    except BaseException as error:  # SystemExit and the like are errors of the answer, too
        return error
    return None


def _ended(error: BaseException | None) -> dict[str, Any]:
    if error is None:
        return {"status": "ok", "ename": "", "evalue": ""}
    ended = {"status": "error", "ename": type(error).__name__[:200], "evalue": told(error)}
    return {**ended, "full": is_full()}
