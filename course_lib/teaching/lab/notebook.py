"""What a notebook shows beyond messages: a long call to unfold, the way out of some errors.

Kernels that `course lab` starts have the way out from their first cell on (`startup.py`), so that a
cell in the middle that is run first, before `start()`, says what to do as well.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
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
    """Let a NameError say what to do, and an error in a pipeline show one's own lines alone.

    It does nothing outside of a notebook.
    """
    shell = notebook_shell()
    if shell is not None:
        shell.set_custom_exc((Exception,), _show_with_way_out)


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
    shell.showtraceback(
        (kind, error, _without_kfp(traceback)), tb_offset=tb_offset, running_compiled_code=True
    )
    if kind is NameError:  # and no local variable without a value
        print(WAY_OUT)


def _without_kfp(traceback: TracebackType) -> TracebackType:
    """Leave out the lines of kfp, which calls a pipeline's function to compile it."""
    own, part = [], traceback.tb_next
    while part is not None:
        if "kfp" not in Path(part.tb_frame.f_code.co_filename).parts:
            own.append(part)
        part = part.tb_next
    for before, after in zip([traceback, *own], [*own, None], strict=True):
        before.tb_next = after
    return traceback
