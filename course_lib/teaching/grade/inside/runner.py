"""Executing cells next to the learner's code: an IPython shell without a kernel, and plain checks.

Cells run as in a notebook. Checks run as plain Python in the same names: no transformers, no
exception handlers, no display hooks of the learner's are asked, and the builtins are the real ones.
"""

from __future__ import annotations

import ast
import builtins
import io
import sys
from collections.abc import Callable, Sequence
from typing import Any

from course_lib.teaching.grade.inside.guard import Guard

# What a learner puts into `builtins` does not reach the functions below.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

TOLD = 20_000
"""Characters of an error's message."""

PRINTED = 1_000_000
"""Characters that one cell may print before the rest is dropped."""

SHOWN = 2_000_000
"""Characters of one displayed object."""

Report = Callable[[dict[str, Any]], None]


class Printed(io.TextIOBase):
    """A standard stream whose text goes to the grader, up to a limit."""

    def __init__(self, name: str, report: Report) -> None:
        self.name = name
        self.report = report
        self.left = PRINTED
        self.waiting: list[str] = []
        self.size = 0

    def writable(self) -> bool:
        """Tell that it can be written to."""
        return True

    def write(self, text: str) -> int:
        """Take text; more than the limit is dropped."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.left > 0:
            kept = text[: self.left]
            self.left -= len(kept)
            self.waiting.append(kept)
            self.size += len(kept)
            if self.left <= 0:
                self.waiting.append("\n… what is printed further is left out\n")
            if self.size > 50_000:
                self.flush()
        return len(text)

    def flush(self) -> None:
        """Send what has been taken."""
        if self.waiting:
            text, self.waiting, self.size = "".join(self.waiting), [], 0
            self.report(message("stream", name=self.name, text=_clean(text)))


def message(kind: str, **content: Any) -> dict[str, Any]:
    """Return a message as a kernel publishes it."""
    return {"message": {"msg_type": kind, "content": content}}


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
            self.report(_display("display_data", data, metadata or {}))

        def clear_output(self, wait: bool = False) -> None:
            """Do nothing: nbval compares all outputs."""

    class Hook(DisplayHook):  # type: ignore[misc]
        report: Any = None

        def write_output_prompt(self) -> None:
            """Write none."""

        def finish_displayhook(self) -> None:
            """Write no empty line."""

        def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
            shown = _display("execute_result", format_dict, md_dict or {})
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
        self.streams = _Streams(report)

    def cell(self, source: str) -> dict[str, Any]:
        """Run a cell as a notebook would; return how it ended."""
        with self.streams:
            result = self.shell.run_cell(source, store_history=False)
            if self.guard is not None:
                self.changed += self.guard.restore()
        error = result.error_before_exec or result.error_in_exec
        return _ended(error)

    def check(
        self, source: str, hidden: str = "", stubs: Sequence[str] = (), nonce: str = ""
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
        """
        assert self.guard is not None
        changed, self.changed = self.changed + self.guard.restore(), []
        canary = _ended(_caught(lambda: self._run(f"assert False, {nonce!r}", {})))
        decoy = None
        if stubs:
            names = dict(self.shell.user_ns)
            with _Streams(lambda _: None):
                decoy = _ended(_caught(lambda: self._run_all((*stubs, source), names)))
            changed += self.guard.restore()
        with self.streams:
            error = _caught(lambda: self._run(source, self.shell.user_ns, show=True))
            if error is None and hidden:
                error = _caught(lambda: self._run(hidden, self.shell.user_ns))
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
        return {**_ended(error), "canary": canary, "decoy": decoy, "changed": changed[:20]}

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
                self.report(_display("execute_result", {"text/plain": repr(value)}, {}))
        else:
            exec(compile(tree, "<check>", "exec"), names)


def told(error: Any) -> str:
    """Return an error's message, whatever its `__str__` does."""
    try:
        text = str(error)
    except BaseException as other:  # the learner's own class
        return f"<its message raises {type(other).__name__}>"
    return _clean(text[:TOLD]) if type(text) is str else "<its message is no text>"


def _caught(work: Callable[[], Any]) -> BaseException | None:
    try:
        work()
    except BaseException as error:  # SystemExit and the like are errors of the answer, too
        return error
    return None


def _ended(error: BaseException | None) -> dict[str, Any]:
    if error is None:
        return {"status": "ok", "ename": "", "evalue": ""}
    return {"status": "error", "ename": type(error).__name__[:200], "evalue": told(error)}


def _display(kind: str, data: Any, metadata: Any) -> dict[str, Any]:
    kept = {}
    for mime, value in dict(data).items():
        if isinstance(value, bytes):
            continue
        if isinstance(value, str):
            kept[str(mime)] = _clean(value[:SHOWN])
    return message(kind, data=kept, metadata={})


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


class _Streams:
    """Standard output and error go to the grader; what the learner put there instead is undone."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.streams: tuple[Printed, ...] = ()

    def __enter__(self) -> None:
        self.streams = Printed("stdout", self.report), Printed("stderr", self.report)
        sys.stdout, sys.stderr = self.streams

    def __exit__(self, *_: object) -> None:
        self.flush()

    def flush(self) -> None:
        for stream in self.streams:
            stream.flush()
