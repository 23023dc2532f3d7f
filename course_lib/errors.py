"""The errors that the library raises on purpose.

Each says what happened and to what (`args[0]`) and what to do next (`hint`). The command line
prints both and no traceback; a program can catch the whole family as `CourseError`.
"""

from __future__ import annotations


class CourseError(Exception):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    message
        What happened, and to what.
    hint
        What to do next, as a sentence; empty where there is nothing to add.

    Examples
    --------
    >>> print(InputError("data/nowhere is not a directory", hint="Check the path."))
    data/nowhere is not a directory
    Check the path.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = str(self.args[0])
        return f"{message}\n{self.hint}" if self.hint else message


class InputError(CourseError):
    """A file, directory, record or argument that was given cannot be used."""


class ModelError(CourseError):
    """The embedding model cannot be found, loaded or trusted."""


class ServerError(CourseError):
    """The embedded PostgreSQL server cannot be started, reached or stopped."""


class DatabaseError(CourseError):
    """The database cannot be reached, went away, or is not one that the course can use."""


class SchemaMismatchError(DatabaseError):
    """The tables that are there do not fit the settings (dimension, model or version)."""
