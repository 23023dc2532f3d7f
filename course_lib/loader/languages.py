"""The programming languages that `split_code` knows: a row of a table for each.

To add one, add a row. Without a grammar a language is split at the lines that begin a definition;
with one (a wheel of tree-sitter), its definitions are found wherever they are.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any

import tree_sitter

from course_lib.records import Span

TIMEOUT_SECONDS = 2.0
"""The longest time to parse an empty text, and each megabyte more; a fifth of a second is usual."""

_BLOCK = 1 << 16
"""Bytes that are handed to the parser at once: between two blocks it asks whether to go on."""

ABOVE = ("#", "@", "//")
"""What a line directly above a definition begins with if it belongs to it: comments, decorators."""


@dataclass(frozen=True)
class Language:
    """What the splitter has to know of a language.

    Attributes
    ----------
    extensions
        The files that are written in it.
    starts
        A regular expression for a line that begins a definition. Its group `name` is what is
        defined; a Go block (``const (``) has an empty one.
    grammar
        A module with a tree-sitter grammar; empty where there is none.
    definitions
        The types of nodes that are definitions, and the `kind` of a chunk that holds one. A
        ``decorated`` node gets the kind of what comes after the decorators.
    preamble
        The types of nodes that begin a file: imports and the like. `split_code` keeps them
        together.
    """

    extensions: tuple[str, ...]
    starts: str
    grammar: str = ""
    definitions: Mapping[str, str] = field(default_factory=dict)
    preamble: frozenset[str] = frozenset()

    def is_preamble(self, node: tree_sitter.Node) -> bool:
        """Return whether a node is an import or the like, or nothing but a string (a docstring)."""
        if node.type == "expression_statement":
            return all(child.type == "string" for child in node.named_children)
        return node.type in self.preamble


LANGUAGES: dict[str, Language] = {
    "python": Language(
        extensions=(".py", ".pyi"),
        starts=r"^(?:async )?(?:def|class) (?P<name>\w+)",
        grammar="tree_sitter_python",
        definitions={
            "class_definition": "class",
            "decorated_definition": "decorated",
            "function_definition": "function",
        },
        preamble=frozenset(
            {"import_statement", "import_from_statement", "future_import_statement"}
        ),
    ),
    "go": Language(
        extensions=(".go",),
        starts=r"^(?:func(?: \([^)\n]*\))?|type|var|const) (?P<name>\w*)",
        grammar="tree_sitter_go",
        definitions={
            "const_declaration": "block",
            "function_declaration": "function",
            "method_declaration": "method",
            "type_declaration": "type",
            "var_declaration": "block",
        },
        preamble=frozenset({"package_clause", "import_declaration"}),
    ),
    "shell": Language(
        extensions=(".sh", ".bash", ".ksh"),
        starts=r"^(?:function )?(?P<name>[\w-]+) *(?:\(\) *)?\{",
        grammar="tree_sitter_bash",
        definitions={"function_definition": "function"},
    ),
}
"""What is known of each language, by its name, which is also the id of its registered parser."""


def language_of(path: str) -> str | None:
    """Return the language of a file by its extension; None where no language has it.

    Examples
    --------
    >>> language_of("operator/main.go"), language_of("README.md")
    ('go', None)
    """
    extension = PurePosixPath(path).suffix.lower()
    known = (name for name, language in LANGUAGES.items() if extension in language.extensions)
    return next(known, None)


def parse_source(text: str, language: str) -> tree_sitter.Node | None:
    r"""Return the root of a text's syntax tree; None without a grammar, or where it takes too long.

    A tree comes out of any text: where the text breaks the grammar it has nodes of type ``ERROR``,
    and its root's `has_error` is true. To find the best place for such nodes can take very long;
    it is given up after `TIMEOUT_SECONDS`, and as much again for each megabyte. The nodes' offsets
    count bytes, not characters.

    Examples
    --------
    >>> root = parse_source("import os\n\ndef f(): pass\n", "python")
    >>> [child.type for child in root.children]
    ['import_statement', 'function_definition']
    """
    parser = _parser(LANGUAGES[language].grammar)
    if parser is None:
        return None
    raw = text.encode("utf-8", "replace")  # half a surrogate pair has no bytes of its own
    deadline = time.monotonic() + TIMEOUT_SECONDS * (1 + len(raw) / 1e6)
    try:
        return parser.parse(
            lambda offset, _: raw[offset : offset + _BLOCK],
            progress_callback=lambda offset, is_broken: time.monotonic() > deadline,  # True: stop
        ).root_node
    except ValueError:  # "Parsing failed": the callback stopped it
        parser.reset()  # or it would go on in the middle of this text
        return None


@lru_cache
def _parser(grammar: str) -> tree_sitter.Parser | None:
    """Return the one parser of a grammar, which all calls share; None for no grammar."""
    if not grammar:
        return None
    module: Any = import_module(grammar)
    return tree_sitter.Parser(tree_sitter.Language(module.language()))


def split_definitions(text: str, starts: str) -> list[tuple[str, Span]]:
    r"""Split a source file into spans: one for each definition, one for the text before them.

    1. Each line that `starts` matches begins a definition. Use `re.MULTILINE`.
    2. The comments and decorators directly above belong to the definition. Each such line begins
       with one of `ABOVE`. Stop at the first line that does not.
    3. A piece ends where the next one begins, and the last one where the text ends.
    4. The piece before the first definition has the name "". Without any, it is the whole text.
    5. Leave out an empty piece.

    Parameters
    ----------
    text
        A source file.
    starts
        A regular expression. Its group ``name`` is the name of the definition; it may be empty.

    Examples
    --------
    >>> source = "import os\n\n# Says yes.\n@cached\ndef yes():\n    pass\n"
    >>> pieces = split_definitions(source, r"^def (?P<name>\w+)")
    >>> [(name, span.text) for name, span in pieces]
    [('', 'import os\n\n'), ('yes', '# Says yes.\n@cached\ndef yes():\n    pass\n')]
    """
    names = {0: ""}
    for match in re.finditer(starts, text, re.MULTILINE):
        start = match.start()
        while start > 0:
            above = text.rfind("\n", 0, start - 1) + 1
            if not text.startswith(ABOVE, above):
                break
            start = above
        names[start] = match["name"]
    ends = [*names, len(text)][1:]
    spans = [Span(start, end, text[start:end]) for start, end in zip(names, ends, strict=True)]
    return [(name, span) for name, span in zip(names.values(), spans, strict=True) if span.text]


def find_definitions(node: tree_sitter.Node, types: Mapping[str, str]) -> list[tree_sitter.Node]:
    r"""Return the outermost definitions below a node, in the order of the text.

    1. A node is a definition if its `type` is one of `types`.
    2. Find definitions at any depth, for example inside an ``if``.
    3. Leave out a definition that is inside another one.
    4. `node` itself does not count, even if it is a definition: return what is inside it.
    5. A tree may be deeper than Python's recursion limit.

    Parameters
    ----------
    node
        A node of a syntax tree.
    types
        Its keys are the types of nodes that are definitions.

    Examples
    --------
    >>> source = "if x:\n    def turn(): pass\nclass Mill:\n    def grind(self): pass\n"
    >>> root = parse_source(source, "python")
    >>> found = find_definitions(root, LANGUAGES["python"].definitions)
    >>> [one.text[:10] for one in found]
    [b'def turn()', b'class Mill']
    """
    found, waiting = [], node.named_children[::-1]
    while waiting:
        node = waiting.pop()
        if node.type in types:
            found.append(node)
        else:
            waiting += node.named_children[::-1]
    return found


def definition_of(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the function or class below decorators, or the node itself where it has none."""
    return node.child_by_field_name("definition") or node


def name_of(node: tree_sitter.Node) -> str:
    """Return the name of what is defined, given what `definition_of` returned.

    A Go declaration has no name of its own: ``type Config struct`` is a declaration of a node that
    is called `Config`; of several in brackets the first counts.
    """
    inner: tree_sitter.Node | None = node
    while inner is not None:
        if name := inner.child_by_field_name("name"):
            return _text(name)
        inner = next((child for child in inner.named_children if child.type != "comment"), None)
    return ""


def bases_of(node: tree_sitter.Node) -> str | None:
    """Return the base classes of a Python class as they are written, without other arguments."""
    given = node.child_by_field_name("superclasses")
    left_out = ("keyword_argument", "dictionary_splat", "list_splat", "comment")
    children = [] if given is None else given.named_children
    bases = [" ".join(_text(one).split()) for one in children if one.type not in left_out]
    return ", ".join(bases) or None


def receiver_of(node: tree_sitter.Node) -> str | None:
    """Return the type that a Go method belongs to, without its pointer and type parameters."""
    receiver = node.child_by_field_name("receiver")
    found = re.search(r"(\w+)\s*(?:\[.*\])?,?\s*\)$", _text(receiver)) if receiver else None
    return found[1] if found else None


def _text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
