"""What a file says about itself: its text goes in, one line comes out, or nothing.

The line is the first of a docstring, a heading or a comment. Nothing is made up for a file that
says nothing, and nothing is taken from lines that are in every file: licences, encodings, tools.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import PurePosixPath

MOST_CHARACTERS = 120
"""Characters of a line, at most: it is to be beside a name."""

_SLASHES = {".go", ".js", ".jsx", ".ts", ".tsx", ".java", ".kt", ".c", ".h", ".cc", ".cpp", ".hpp"}
_SLASHES |= {".cs", ".rs", ".swift", ".scala", ".php", ".proto", ".css", ".scss", ".less", ".jsonc"}
_HEADED = {".md", ".markdown", ".rst", ".txt"}

_BOILERPLATE = re.compile(
    r"copyright|\(c\)|©|spdx-|licen[sc]|all rights reserved|^!|-\*-|coding[:=]|^%%|^\+build|^go:|"
    r"^(?:syntax|escape|yaml-language-server|shellcheck|eslint|prettier|pylint|mypy|ruff|flake8|"
    r"type|noqa|fmt|isort|nolint|ts-\w+|jshint|global|region)\b\s*[:=-]|^vim?:|^shellcheck |"
    r"code generated .* do not edit",
    re.IGNORECASE,
)
_RULE = re.compile(r"^[\W_]*$")


def first_line(name: str, text: str) -> str:
    r"""Return what a file says about itself in its first docstring, heading or comment.

    Parameters
    ----------
    name
        Its name or path, whose ending says what a comment looks like.
    text
        Its text, or the beginning of it.

    Returns
    -------
    str
        One line, at most `MOST_CHARACTERS` long; empty where the file says nothing.

    Examples
    --------
    >>> first_line("a.py", "#!/usr/bin/env python\n'''Cut texts.\n\nAt sentences.'''\n")
    'Cut texts.'
    >>> first_line("run.sh", "#!/bin/sh\n# Copyright me\n\n# Start the server.\nexec server\n")
    'Start the server.'
    >>> first_line("a.json", '{"a": 1}')
    ''
    """
    path = PurePosixPath(name.lower())
    text = text.removeprefix("\ufeff")
    found = ""
    if path.suffix in {".py", ".pyi"}:
        found = _docstring(text)
    elif path.suffix == ".ipynb":
        found = _notebook_heading(text)
    elif path.suffix in _HEADED:
        found = _heading(text, path.suffix == ".rst")
    elif path.suffix in {".html", ".htm", ".xml", ".svg"}:
        found = _marked(text, "<!--", "-->")
    elif path.suffix in _SLASHES:
        found = _commented(text, "//")
    elif path.suffix in {".sql", ".lua", ".hs"}:
        found = _commented(text, "--")
    elif path.suffix != ".json":
        found = _commented(text, "#")
    if not found and path.suffix in {".py", ".pyi"}:
        found = _commented(text, "#")
    return shortened(found)


def shortened(line: str, most: int = MOST_CHARACTERS) -> str:
    """Return a line without control characters and runs of blanks, cut at a word if it is long.

    Examples
    --------
    >>> shortened("one  two three", 9)
    'one two …'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in line).split())
    if len(line) <= most:
        return line
    return line[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + " …"


def _docstring(text: str) -> str:
    try:
        docstring = ast.get_docstring(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return _paragraph((docstring or "").splitlines())


def _notebook_heading(text: str) -> str:
    try:
        cells = json.loads(text)["cells"]
        pages = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        return next((found for page in pages if (found := _heading(page, False))), "")
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _heading(text: str, underlined: bool) -> str:
    text = re.sub(r"\A---\n.*?\n---\n", "", text, count=1, flags=re.DOTALL)
    lines = text.splitlines()[:200]
    for at, line in enumerate(lines):
        if match := re.match(r" {0,3}#{1,6}\s+(.+?)\s*#*$", line):
            return match[1]
        is_ruled = at + 1 < len(lines) and re.fullmatch(r"([=\-~^*#])\1{2,}", lines[at + 1].strip())
        if (underlined or line.strip()) and is_ruled and not _RULE.match(line):
            return line
    return ""


def _commented(text: str, mark: str) -> str:
    """Return the first paragraph of comments before and between the first lines of code."""
    paragraph: list[str] = []
    inside = False
    for raw in text.splitlines()[:200]:
        line = raw.strip()
        if mark == "//" and not inside and line.startswith("/*"):
            inside, line = True, line[2:].lstrip("*! ")
        if inside:
            body, end, _ = line.partition("*/")
            inside, body = not end, body.strip().lstrip("*").strip()
        elif line.startswith(mark):
            body = line.lstrip("-" if mark == "--" else mark[0]).strip()
            body = "" if line.startswith("#!") else body
        elif paragraph:
            break
        else:
            continue
        if not body and paragraph:
            break
        if body and not _BOILERPLATE.search(body):
            paragraph.append(body)
        elif paragraph or (body and "licen" in body.lower()):
            paragraph = []
    return _paragraph(paragraph)


def _marked(text: str, begin: str, end: str) -> str:
    for match in re.finditer(f"{begin}(.*?){end}", text[:20_000], re.DOTALL):
        lines = [line.strip() for line in match[1].splitlines()]
        found = _paragraph([line for line in lines if line and not _BOILERPLATE.search(line)])
        if found:
            return found
    title = re.search(r"<title>(.*?)</title>", text[:20_000], re.DOTALL | re.IGNORECASE)
    return title[1] if title else ""


def _paragraph(lines: list[str]) -> str:
    """Return the first sentence of the first paragraph, which may run over line ends."""
    kept: list[str] = []
    for line in lines:
        if not line.strip():
            if kept:
                break
            continue
        if _RULE.match(line) or _BOILERPLATE.search(line):
            continue
        kept.append(line.strip())
    paragraph = " ".join(kept)
    sentence = re.match(r".+?[.!?](?=\s|$)", paragraph)
    return sentence[0] if sentence and len(sentence[0]) > 8 else paragraph
