"""What a parser is, and the table of the built-in ones: which endings go to which.

A parser declares `id` and `version`, takes one file, and gives its chunks.

A parser of today has `parse_file(file, scope)`. One of the older form has
`parse(content, source_path, type, hierarchy)` and gives looser pieces, which are adapted here. The
built-in ones are functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Protocol, runtime_checkable

from pydantic import ValidationError

from course_lib.loader import (
    code,
    kubernetes_records,
    kustomize,
    markdown,
    notebooks,
    raw_text,
    structure_page,
)
from course_lib.loader.contract import INVALID, FileRejectedError
from course_lib.loader.github import issue_records
from course_lib.loader.languages import LANGUAGES
from course_lib.loader.pieces import ParserInfo
from course_lib.records import Chunk, Document, Scope, explain
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


@runtime_checkable
class LegacyParser(Protocol):
    """The older form of a parser, which knows nothing of tenants; else as `Parser`."""

    id: str
    version: str

    def parse(
        self, content: str, source_path: str, type: str, hierarchy: Sequence[str]
    ) -> Sequence[Any]:
        """Return pieces: texts, or mappings or objects with `content` and other fields of a record.

        These are `kind`, `name`, `line_start`, `line_end`, `class_name` and `extends`. What is in
        `metadata`, and any other field, goes into `customMeta`. `type` is the file's extension
        without the dot, `hierarchy` the folders above it.
        """
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
    _built_in(markdown.PARSER, markdown.split_document, (".md", ".txt")),
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
    _built_in(raw_text.PARSER, raw_text.parse_raw_text),
)
"""The parsers that are there from the start; `raw-text` takes what no other does.

The endings of code are in `languages.py`.
"""


def function_of(parser: Parser | LegacyParser) -> Callable[..., list[Chunk]]:
    """Return what gives the chunks of a document for a `scope`, with a parser of either form."""
    if isinstance(parser, Parser):
        return lambda file, scope: list(parser.parse_file(file, scope))
    return lambda file, scope: _adapted(parser, file, scope)


def _adapted(parser: LegacyParser, file: Document, scope: Scope) -> list[Chunk]:
    """Return the legacy parser's pieces as records.

    `rootKind` is ``external-source``; the hash is made from kind, name, content, path and parser.
    What is not a field of a record goes into `customMeta`.
    """
    path = PurePosixPath(file.name)
    file_type = path.suffix.removeprefix(".").lower() or "text"
    pieces = parser.parse(file.content, file.name, file_type, path.parts[:-1])
    return [
        _record(place, _values(piece), parser, file, file_type, scope)
        for place, piece in enumerate(pieces)
    ]


_HASH_INPUTS = ["kind", "name", "content", "sourcePath", "parserId", "parserVersion"]
_TAKEN = ("kind", "name", "content", "line_start", "line_end", "class_name", "extends")
"""The fields of a record that a legacy piece may give, in either spelling."""


def _values(piece: object) -> dict[str, Any]:
    if isinstance(piece, Chunk):
        return piece.model_dump(exclude_none=True)
    if isinstance(piece, str):
        return {"content": piece}
    if isinstance(piece, Mapping):
        return dict(piece)
    slots = {name: getattr(piece, name) for name in getattr(piece, "__slots__", ())}
    return slots | dict(vars(piece) if hasattr(piece, "__dict__") else {})


def _record(
    place: int,
    values: dict[str, Any],
    parser: LegacyParser,
    file: Document,
    file_type: str,
    scope: Scope,
) -> Chunk:
    aliases = {name: str(info.alias) for name, info in Chunk.model_fields.items()}
    fields = {name: values.get(name, values.get(aliases[name])) for name in _TAKEN}
    inner = [values.pop(name, {}) for name in ("metadata", "custom_meta")]
    # What the adapter itself decides is not taken from the piece.
    own = {*aliases, *aliases.values()}
    meta = {name: value for name, value in values.items() if name not in own}
    for more in inner:
        meta |= more if isinstance(more, Mapping) else {}
    if scope.branch:
        meta["branch"] = scope.branch
    try:
        return Chunk.model_validate(
            {
                "kind": file_type,
                "name": PurePosixPath(file.name).name,
                **{name: value for name, value in fields.items() if value is not None},
                "tenant_id": scope.tenant,
                "repo_slug": scope.repo,
                "root_kind": "external-source",
                "source_path": file.name,
                "hash_inputs": _HASH_INPUTS,
                "parser_id": parser.id,
                "parser_version": parser.version,
                "custom_meta": meta | {"chunkIndex": place},
            },
            strict=True,
        )
    except ValidationError as error:
        raise FileRejectedError(
            INVALID,
            f"chunks[{place}]",
            f"the parser {parser.id} gave a piece of {file.name} that is not a record: "
            f"{explain(error)}",
            hint="Mend the parser; the other files are not affected.",
        ) from error
