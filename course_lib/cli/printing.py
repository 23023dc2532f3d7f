"""How commands talk: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys

import typer


def show(text: str, end: str = "\n") -> None:
    """Print a result, of which an index knows the words: see `harmless`."""
    # Flushed, so that a reader who has gone away is noticed here and not when Python ends.
    print(harmless(text), end=end, flush=True)


def say(sentence: str) -> None:
    """Tell the person, where it does not mix with what another program reads."""
    typer.echo(harmless(sentence), err=True)


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


def styled(text: str, *, bold: bool = False, dim: bool = False) -> str:
    """Return a text as a terminal shows it bold or dim; as it is where a pipe reads it."""
    # Older consoles of Windows would show the codes themselves.
    if sys.platform == "win32" or not sys.stdout.isatty():
        return harmless(text)
    return typer.style(harmless(text), bold=bold or None, dim=dim or None)


def counted(number: int, noun: str) -> str:
    """Return a number of things, with the noun in the singular for one.

    Examples
    --------
    >>> counted(1, "document"), counted(0, "chunk")
    ('1 document', '0 chunks')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
