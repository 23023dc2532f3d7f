"""The answers in the library's source: functions, texts of SQL, and pipelines.

A text of SQL is a constant of a module, or the file `.sql` that such a constant is read from. Where
learners or their code can read the library, answers are packed. Anyone can unpack them, but nobody
reads them by accident.
"""

from __future__ import annotations

import ast
import base64
import re
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

NOTE = "is packed, because an exercise asks for it."

BLOCK = """# {name} {note}
import base64, zlib
exec(zlib.decompress(base64.b85decode("{packed}")))"""

COMPONENT_BLOCK = """# {name} {note}
import base64, linecache, zlib
_text = zlib.decompress(base64.b85decode("{packed}")).decode()
linecache.cache["<{name}>"] = len(_text), None, _text.splitlines(True), "<{name}>"
exec(compile(_text, "<{name}>", "exec"))"""
"""kfp makes a component of its source, and looks for it where Python keeps lines of code."""


def function_of(given: Any) -> Any:
    """Return the function that kfp made a pipeline or a component of; anything else as it is."""
    return getattr(given, "pipeline_func", getattr(given, "python_func", given))


def by_module(libraries: Iterable[str | None]) -> dict[str, list[str]]:
    """Return the names of answers by the modules that hold them.

    Parameters
    ----------
    libraries
        As `Exercise.library` has them: ``module:name``, or None for an answer of no module.

    Examples
    --------
    >>> by_module(["course_lib.loader.code:split_code", None])
    {'course_lib.loader.code': ['split_code']}
    """
    found: dict[str, list[str]] = {}
    for module, _, name in (one.partition(":") for one in libraries if one):
        found.setdefault(module, []).append(name)
    return found


def find_answer(source: str, name: str) -> ast.stmt | None:
    r"""Return the last statement of a module's top level that defines a name; None without one.

    Examples
    --------
    >>> find_answer('ONE = "SELECT 1"\n\n\ndef two():\n    return 2\n', "two").lineno
    4
    """
    for node in reversed(ast.parse(source).body):
        if isinstance(node, DEFINITIONS) and node.name == name:
            return node
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(one, ast.Name) and one.id == name for one in targets):
                return node
    return None


def line_of(node: ast.stmt) -> int:
    """Return the number of a statement's first line, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def kfp_decorators(node: ast.stmt) -> list[ast.expr]:
    """Return the decorators that make a pipeline or a component of a function."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return [one for one in decorators if re.match(r"(kfp\.)?dsl\.", ast.unparse(one))]


def sql_of(node: ast.stmt, folder: Path) -> tuple[str, Path | None]:
    """Return a text of SQL and the file that holds it, which may be the module itself (None).

    Parameters
    ----------
    node
        The statement that defines the constant; the text of any other is empty.
    folder
        Where the module is; the file is beside it.
    """
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value, None
    for one in ast.walk(value) if value else ():
        if isinstance(one, ast.Constant) and str(one.value).endswith(".sql"):
            file = folder / str(one.value)
            return file.read_text(encoding="utf-8"), file
    return "", None


def sql_literal(text: str) -> str:
    r'''Return a text of SQL as it is written in Python: as it is, between triple quotes.

    Examples
    --------
    >>> print(sql_literal("\nSELECT 'a\\d'\n"))
    r"""
    SELECT 'a\d'
    """
    '''
    prefix = "r" if "\\" in text else ""
    for quotes in ('"""', "'''"):
        literal = f"{prefix}{quotes}{text}{quotes}"
        try:
            if ast.literal_eval(literal) == text:
                return literal
        except (SyntaxError, ValueError):
            continue
    return repr(text)


def pack_answers(path: Path, names: Collection[str]) -> None:
    """Pack some answers of a module, and with them the files of SQL that they are read from.

    Parameters
    ----------
    path
        The module, which is changed.
    names
        What is packed; what the module does not define is passed over.
    """
    source = path.read_text(encoding="utf-8")
    lines = source.split("\n")
    nodes = {name: node for name in names if (node := find_answer(source, name))}
    for name, node in sorted(nodes.items(), key=lambda one: -one[1].lineno):
        first, last = line_of(node) - 1, node.end_lineno
        while first and lines[first - 1].startswith("#"):  # it would leak the answer
            first -= 1
        text, file = sql_of(node, path.parent)
        piece = f"{name} = {sql_literal(text)}" if text else "\n".join(lines[first:last])
        is_component = any(".component" in ast.unparse(one) for one in kfp_decorators(node))
        block = COMPONENT_BLOCK if is_component else BLOCK
        lines[first:last] = block.format(name=name, note=NOTE, packed=packed(piece)).split("\n")
        if file:
            file.write_text(f"-- {file.name} {NOTE}\n", encoding="utf-8", newline="\n")
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")


def unpacked(source: str, name: str) -> str:
    """Return a module's source in which one answer is no longer packed."""
    for form in (BLOCK, COMPONENT_BLOCK):
        head, _, tail = form.format(name=name, note=NOTE, packed="\0").partition("\0")
        block = re.escape(head) + '([^"]*)' + re.escape(tail)
        source = re.sub(block, lambda found: unpacked_text(found[1]), source)
    return source


def packed(text: str) -> str:
    """Return a text in letters and signs that nobody reads by accident."""
    return base64.b85encode(zlib.compress(text.encode(), 9)).decode()


def unpacked_text(text: str) -> str:
    """Return the text that `packed` was given."""
    return zlib.decompress(base64.b85decode(text)).decode()
