"""Notebooks from text, without the validation that would only be logged, and takes longest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from course_lib.teaching.grade.inside.quick import quick_nbformat

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
        nbformat's or json's, where it is no notebook.

    Examples
    --------
    >>> parse_notebook('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}').cells
    []
    """
    nbformat = quick_nbformat()
    return nbformat.convert(nbformat.reader.reads(text), 4)
