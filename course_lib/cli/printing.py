"""How commands talk: results to standard output, everything else to standard error.

An index, a file and a server hold what others wrote, and a terminal does what some characters say.
So everything goes through here, and `typer.echo` is not used elsewhere (ruff sees to it).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

import typer

from course_lib.errors import CourseError


class Styled(str):
    """A text that is harmless already, and may be bold or dim."""


def show(*parts: str, end: str = "\n") -> None:
    """Print a result, of which an index knows the words: see `harmless`.

    Parts have two blanks between them; what `styled` returned stays as it is.
    """
    texts = (one if isinstance(one, Styled) else harmless(one) for one in parts)
    # Flushed, so that a reader who has gone away is noticed here and not when Python ends.
    print("  ".join(texts), end=end, flush=True)


def show_report(report: Any, lines: Iterable[str | tuple[str, ...]], *, as_json: bool) -> None:
    """Print what a command found and did: as JSON for another program, or in lines for a person.

    Parameters
    ----------
    report
        What JSON can hold, or a text that is JSON already.
    lines
        Made only where they are printed. The parts of a tuple are those of `show`.
    as_json
        Whether the reader is a program.
    """
    if not as_json:
        for line in lines:
            show(*([line] if isinstance(line, str) else line))
        return
    is_text = isinstance(report, str)
    text = report if is_text else json.dumps(report, ensure_ascii=False, indent=2)
    # A character that `harmless` would replace means the same if it is escaped; JSON itself
    # escapes only what is below U+0020.
    escaped = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    show(Styled("".join(escaped)))


def say(sentence: str, end: str = "\n") -> None:
    """Tell the person, where it does not mix with what another program reads."""
    typer.echo(harmless(sentence) + end, err=True, nl=False)


def complain(error: CourseError) -> None:
    """Say what went wrong, and what to do next."""
    typer.secho(harmless(f"error: {error.args[0]}"), err=True, fg="red")
    if error.hint:
        say(error.hint)


def harmless(text: str) -> str:
    r"""Return a text without what would make a terminal do something.

    Examples
    --------
    >>> harmless("title\x1b]0;yours\x07")
    'title ]0;yours '
    """
    return "".join(
        character if character.isprintable() or character in "\n\t" else " " for character in text
    )


def styled(text: str, *, bold: bool = False, dim: bool = False) -> Styled:
    """Return a text as a terminal shows it bold or dim; as it is where a pipe reads it."""
    # Older consoles of Windows would show the codes themselves.
    is_terminal = sys.stdout is not None and sys.stdout.isatty()  # None after `>&-`
    if not (bold or dim) or sys.platform == "win32" or not is_terminal:
        return Styled(harmless(text))
    return Styled(typer.style(harmless(text), bold=bold or None, dim=dim or None))


def counted(number: int, noun: str) -> str:
    """Return a number of things, with the noun in the singular for one.

    Examples
    --------
    >>> counted(1, "document"), counted(0, "chunk")
    ('1 document', '0 chunks')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
