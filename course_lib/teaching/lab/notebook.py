"""What a notebook shows beyond messages: a long call to unfold, and the way out of a NameError.

Kernels that `course lab` starts have the way out from their first cell on (`startup.py`), so that a
cell in the middle that is run first, before `start()`, says what to do as well.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from course_lib.teaching.lab.own import notebook_shell

if TYPE_CHECKING:
    from types import TracebackType

    from course_lib.teaching.checks.outcomes import CheckFailed

WAY_OUT = (
    "If a cell above defines it, that cell has not run in this kernel, or it ended with an error. "
    "Look at it, and run the cells from the top (Run > Run All Above Selected Cell), then this one."
)


def help_with_missing_names() -> None:
    """Let a NameError say what to do; does nothing outside of a notebook."""
    shell = notebook_shell()
    if shell is not None:
        shell.set_custom_exc((NameError,), _show_with_way_out)


def show_whole_call(failed: CheckFailed) -> None:
    """Show a call that is too long for the message, folded; does nothing outside of a notebook."""
    from course_lib.teaching.checks.outcomes import LONG

    if notebook_shell() is None or len(failed.called) <= LONG:
        return
    from IPython.display import display

    html = (
        f"<details><summary>the whole call, to be pasted into a cell</summary>"
        f"<pre>{escape(failed.called)}</pre></details>"
    )
    display({"text/html": html, "text/plain": failed.called}, raw=True)


def _show_with_way_out(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    traceback: TracebackType,
    tb_offset: int | None = None,
) -> None:
    shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
    if kind is NameError:  # and no local variable without a value
        print(WAY_OUT)
