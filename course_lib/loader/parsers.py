"""What a parser is, and the table of the built-in ones: which endings go to which.

A parser declares `id` and `version`, takes one file, and gives its chunks. The built-in ones are
functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from course_lib.loader import (
    code,
    kubernetes_records,
    kustomize,
    markdown,
    notebooks,
    raw_text,
    structure_page,
)
from course_lib.loader.github import issue_records
from course_lib.loader.languages import LANGUAGES
from course_lib.loader.pieces import ParserInfo
from course_lib.records import Chunk, Document, Scope
from course_lib.settings import own_functions


@runtime_checkable
class Parser(Protocol):
    """What `register_parser` takes.

    It may also declare `extensions` (``(".toml",)``) and `names` (``("Chart.yaml",)``): the files
    that are its own.

    Attributes
    ----------
    id
        What files call it.
    version
        Its version, such as ``1.0.0``; with another one, its files are indexed again.
    """

    id: str
    version: str

    def parse_file(self, file: Document, scope: Scope) -> list[Chunk]:
        """Return the chunks of one file, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class Registered:
    """A parser as it was registered.

    Attributes
    ----------
    id, version
        As in `Parser`.
    function
        What gives the chunks of a document, for a `scope` and, if it uses them, the `chunk_size`
        and the `chunk_overlap`.
    extensions, names
        The files that are its own, in lower case; a name goes before an extension.
    origin
        ``built in``, or where it came from.
    """

    id: str
    version: str
    function: Callable[..., list[Chunk]]
    extensions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    origin: str = "built in"

    @property
    def state(self) -> str:
        """Id and version: when one of them changes, files are indexed again."""
        return f"{self.id} {self.version}"

    def sizes(self, chunk_size: int, chunk_overlap: int) -> dict[str, int]:
        """Return those of these sizes that the function takes."""
        given = {"chunk_size": chunk_size, "chunk_overlap": chunk_overlap}
        taken = inspect.signature(self.function).parameters
        return {name: size for name, size in given.items() if name in taken}

    def settings(self, chunk_size: int, chunk_overlap: int) -> str:
        """Those of these settings that the parser uses: with others, files are indexed again.

        Examples
        --------
        >>> BUILT_IN[0].settings(512, 64)
        'chunk_size=512 chunk_overlap=64'
        """
        used: dict[str, object] = {**self.sizes(chunk_size, chunk_overlap)}
        if mark := own_functions()[0]:
            used["mine"] = mark
        return " ".join(f"{name}={size}" for name, size in used.items())


def _built_in(
    parser: ParserInfo,
    function: Callable[..., list[Chunk]],
    extensions: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
) -> Registered:
    return Registered(parser.id, parser.version, function, extensions, names)


KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "kustomization")
BUILT_IN: tuple[Registered, ...] = (
    _built_in(markdown.PARSER, markdown.split_document, (".md",)),
    _built_in(notebooks.PARSER, notebooks.parse_notebook, (".ipynb",)),
    _built_in(kubernetes_records.PARSER, kubernetes_records.parse_kubernetes, (".yaml", ".yml")),
    _built_in(kustomize.PARSER, kustomize.parse_kustomization, names=KUSTOMIZATIONS),
    *(
        Registered(
            name, code.PARSER.version, partial(code.parse_code, language=name), one.extensions
        )
        for name, one in LANGUAGES.items()
    ),
    _built_in(issue_records.PARSER, issue_records.parse_issue, (".issue.md",)),
    _built_in(structure_page.PARSER, structure_page.parse_structure, names=("structure.md",)),
    _built_in(raw_text.PARSER, raw_text.parse_raw_text, (".txt",)),
)
"""The parsers that are there from the start; `raw-text` takes texts, and what no other does.

The endings of code are in `languages.py`.
"""
