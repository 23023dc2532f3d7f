"""Notebooks from text, without the validation that would only be logged, and takes longest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.teaching.grade.errors import GradeError

if TYPE_CHECKING:
    from nbformat import NotebookNode


def parse_notebook(text: str) -> NotebookNode:
    """Return a notebook of any version, brought to version 4.

    Parameters
    ----------
    text
        JSON.

    Raises
    ------
    Exception
        nbformat's or json's, where it is not a notebook.

    Examples
    --------
    >>> parse_notebook('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}').cells
    []
    """
    import nbformat

    return nbformat.convert(nbformat.reader.reads(text), 4)


def read_notebook(path: Path) -> NotebookNode:
    """Return a notebook of the instructor's own.

    Raises
    ------
    GradeError
        It is not there or no notebook.
    """
    try:
        return parse_notebook(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise GradeError(f"{path} is not there") from None
    except Exception as error:  # nbformat's and json's
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise GradeError(f"{path} is not a notebook: {told}") from error
