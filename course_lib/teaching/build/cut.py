"""Cut a function or class out of the library, with the imports that it needs in a notebook.

`ast` and the file are read, never the imported object: decorated components have no source for
`inspect`, and comments above a definition would leak the answer. The part that a learner writes is
put between nbgrader's markers, so that `ClearSolutions` makes the stub.
"""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from course_lib.teaching.build.imports import Imports
from course_lib.teaching.build.library import Definition, Library, Module, Origin
from course_lib.teaching.build.project import BuildError

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
RECORDS = "records"

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Cut:
    """The source of an exercise cell, and the names it defines with where they come from."""

    source: str
    defines: Mapping[str, Origin]


def cut(
    library: Library,
    module_name: str,
    names: Sequence[str],
    *,
    methods: Sequence[str] = (),
    earlier: Mapping[str, Origin | None] | None = None,
) -> Cut:
    """Return the source of an exercise cell for functions or a class of the library.

    Parameters
    ----------
    library
        The project's modules.
    module_name, names
        What the source's cell imports.
    methods
        The methods to be written by the learner, where the name is a class.
    earlier
        Names that earlier exercises of this notebook define, with their origin (None: the notebook
        itself). These are not imported: the learner's own is used.

    Raises
    ------
    BuildError
        The name is not defined there, has no docstring, or needs a name that nobody defines.
    """
    defines: dict[str, Origin] = {}
    pieces: list[str] = []
    kept = Imports()
    needs: list[tuple[Module, set[str]]] = []
    deferred = False
    for name in names:
        origin = library.origin(module_name, name)
        module = library.module(origin.module)
        if module is None:
            raise BuildError(f"{origin.module} is not a module of this project")
        node = module.definitions.get(origin.name)
        is_record = isinstance(node, ast.ClassDef) and origin.module.split(".")[-1] == RECORDS
        if node is None or is_record:
            if node is None and origin.name not in module.assigned:
                raise BuildError(
                    f"{origin.module} does not define {origin.name}",
                    hint="Import it from the module that holds its source.",
                )
            kept.add(origin.module, origin.name, None)
            continue
        pieces.append(_piece(module, node, methods))
        plain = _plain_source(module, node)
        needs.append((module, _free_names(plain)))
        deferred = deferred or _annotates_itself(node)
        defines[origin.name] = origin
    if not pieces:
        raise BuildError(f"no function or class among {', '.join(names)} of {module_name}")
    for module, free in needs:
        for name in sorted(free - set(defines)):
            _import(library, module, name, kept, earlier or {})
    head = kept.lines()
    if deferred:
        head.insert(0, "from __future__ import annotations\n")
    return Cut("\n\n\n".join(["\n".join(head)] * bool(head) + pieces), defines)


def _piece(module: Module, node: Definition, methods: Sequence[str]) -> str:
    if isinstance(node, ast.ClassDef):
        if not methods:
            raise BuildError(
                f"{node.name} is a class: say which methods the learner writes",
                hint='Write it as `# %% exercise="4.2" methods=["encode"]`.',
            )
        own = {child.name: child for child in node.body if isinstance(child, _Function)}
        if missing := [name for name in methods if name not in own]:
            raise BuildError(f"{node.name} has no method {missing[0]}")
        blanked = [own[name] for name in methods]
    else:
        if methods:
            raise BuildError(f"{node.name} is a function, and has no methods to blank")
        blanked = [node]
    begin, end = {}, set()
    dropped: set[int] = set()
    for function in blanked:
        first, last, indent = _answer_lines(module, function)
        begin[first] = indent
        end.add(last)
        if isinstance(node, ast.ClassDef):
            dropped |= _comments_above(module, function)
    lines: list[str] = []
    for number in range(_first_line(node), (node.end_lineno or 0) + 1):
        if number in begin:
            indent = begin[number]
            lines.append(f"{indent}{BEGIN}")
        if number not in dropped:
            lines.append(module.lines[number - 1])
        if number in end:
            lines.append(f"{indent}{END}")
    return "\n".join(lines)


def _answer_lines(module: Module, function: _Function) -> tuple[int, int, str]:
    """Return the first and last line of what the learner writes, and its indentation."""
    if ast.get_docstring(function) is None:
        raise BuildError(
            f"{function.name} in {module.name} has no docstring",
            hint="The docstring is the statement of the exercise.",
        )
    if len(function.body) < 2:
        raise BuildError(f"{function.name} in {module.name} has no body to write")
    docstring = function.body[0]
    return (
        (docstring.end_lineno or 0) + 1,
        function.end_lineno or 0,
        " " * docstring.col_offset,
    )


def _first_line(node: Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _comments_above(module: Module, function: _Function) -> set[int]:
    numbers = set()
    number = _first_line(function) - 1
    while module.lines[number - 1].lstrip().startswith("#"):
        numbers.add(number)
        number -= 1
    return numbers


def _plain_source(module: Module, node: Definition) -> str:
    return "\n".join(module.lines[_first_line(node) - 1 : node.end_lineno])


def _free_names(source: str) -> set[str]:
    """Return the names that a piece of source takes from outside, string annotations included."""
    found: set[str] = set()
    scopes = [symtable.symtable(source, "cell", "exec")]
    top = scopes[0]
    own = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned()}
    while scopes:
        scope = scopes.pop()
        scopes.extend(scope.get_children())
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or scope is top):
                found.add(symbol.get_name())
    found |= _names_in_string_annotations(ast.parse(source))
    return {name for name in found - own if not hasattr(builtins, name)}


def _annotations(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        given: list[ast.expr | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            given.append(node.annotation)
        elif isinstance(node, _Function):
            given.append(node.returns)
        yield from (annotation for annotation in given if annotation is not None)


def _names_in_string_annotations(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for annotation in _annotations(tree):
        for node in ast.walk(annotation):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                try:
                    parsed = ast.parse(node.value, mode="eval")
                except SyntaxError:  # Literal["not Python"]
                    continue
                names |= {part.id for part in ast.walk(parsed) if isinstance(part, ast.Name)}
    return names


def _annotates_itself(node: Definition) -> bool:
    """Tell whether a class names itself in an annotation, which needs deferred evaluation."""
    return isinstance(node, ast.ClassDef) and any(
        isinstance(part, ast.Name) and part.id == node.name
        for annotation in _annotations(node)
        for part in ast.walk(annotation)
    )


def _import(
    library: Library,
    module: Module,
    name: str,
    kept: Imports,
    earlier: Mapping[str, Origin | None],
) -> None:
    origin = library.origin(module.name, name)
    if name in earlier:
        if earlier[name] not in (None, origin):
            raise BuildError(
                f"{module.name} uses {name}, and an earlier exercise defines another {name}",
                hint="Two functions of one name cannot both be exercises of one lab.",
            )
        return
    if name in module.imports and name not in module.definitions:
        for source, alias in module.imports[name]:
            kept.add(source, alias.name, alias.asname)
    elif name in module.assigned or name in module.definitions:
        kept.add(module.name, name, None)
    elif not (name.startswith("__") and name.endswith("__")):
        if name not in _names_in_string_annotations(module.tree):
            raise BuildError(f"{module.name} uses {name}, which it neither defines nor imports")
