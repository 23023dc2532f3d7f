"""What a parser is: it declares `id` and `version`, takes one file, and gives its chunks.

A parser of today has `parse_file(file, tenant_context)`. One of the older form has
`parse(content, source_path, type, hierarchy)` and gives looser pieces, which are adapted here. The
built-in ones are functions, loaded when they are first needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any, Protocol, runtime_checkable

from pydantic import ValidationError

from course_lib.loader.contract import INVALID, FileRejectedError
from course_lib.records import Chunk, Document, TenantContext, explain


@runtime_checkable
class Parser(Protocol):
    """What `register_parser` takes.

    It may also declare `extensions` (``(".toml",)``) and `names` (``("Chart.yaml",)``): the files
    that are its own.
    """

    @property
    def id(self) -> str:
        """What files call it."""
        ...

    @property
    def version(self) -> str:
        """Its version, such as ``1.0.0``; with another one, its files are indexed anew."""
        ...

    def parse_file(self, file: Document, tenant_context: TenantContext) -> list[Chunk]:
        """Return the chunks of one file, in their order."""
        ...


@runtime_checkable
class LegacyParser(Protocol):
    """The older form of a parser, which knows nothing of tenants."""

    @property
    def id(self) -> str:
        """What files call it."""
        ...

    @property
    def version(self) -> str:
        """Its version, such as ``1.0.0``."""
        ...

    def parse(
        self, content: str, source_path: str, type: str, hierarchy: Sequence[str]
    ) -> Sequence[Any]:
        """Return pieces: mappings or objects with `content`, and `kind`, `name`, lines.

        `type` is the file's extension without the dot, `hierarchy` the folders above it.
        """
        ...


@dataclass(frozen=True)
class BuiltIn:
    """A parser of ours: a function of the loader, named and not yet imported.

    Attributes
    ----------
    id
        Its id.
    function
        ``module:function`` below `course_lib.loader`; the module has a `PARSER_VERSION`.
    extensions, names
        The files that are its own; a name goes before an extension.
    options
        Keyword arguments that the function gets besides.
    sizes
        `chunk_size` and `chunk_overlap`; the function gets those that it takes.
    """

    id: str
    function: str
    extensions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def _parse(self) -> Callable[..., list[Chunk]]:
        module, _, name = self.function.partition(":")
        function: Callable[..., list[Chunk]] = getattr(
            import_module(f"course_lib.loader.{module}"), name
        )
        return function

    @cached_property
    def version(self) -> str:
        """The version that the function's module declares."""
        return str(import_module(self._parse.__module__).PARSER_VERSION)

    @cached_property
    def _accepted(self) -> frozenset[str]:
        return frozenset(inspect.signature(self._parse).parameters)

    def sized(self, chunk_size: int, chunk_overlap: int) -> BuiltIn:
        """Return the same parser with other sizes."""
        return replace(self, sizes={"chunk_size": chunk_size, "chunk_overlap": chunk_overlap})

    def used_sizes(self) -> dict[str, int]:
        """Return those of the sizes that the function takes."""
        return {name: size for name, size in self.sizes.items() if name in self._accepted}

    def parse_file(self, file: Document, tenant_context: TenantContext) -> list[Chunk]:
        """Return the chunks of one file, in their order."""
        return self._parse(
            file,
            tenant_id=tenant_context.tenant,
            repo_slug=tenant_context.repo,
            branch=tenant_context.branch,
            **self.used_sizes(),
            **self.options,
        )


BUILT_IN: tuple[BuiltIn, ...] = (
    BuiltIn("markdown", "markdown:split_document", extensions=(".md", ".txt")),
    BuiltIn("kubernetes", "kubernetes_records:parse_kubernetes", extensions=(".yaml", ".yml")),
    BuiltIn(
        "kustomize",
        "kustomize:parse_kustomization",
        names=("kustomization.yaml", "kustomization.yml", "kustomization"),
    ),
    BuiltIn(
        "python", "code:parse_code", extensions=(".py", ".pyi"), options={"language": "python"}
    ),
    BuiltIn("go", "code:parse_code", extensions=(".go",), options={"language": "go"}),
    BuiltIn(
        "shell",
        "code:parse_code",
        extensions=(".sh", ".bash", ".ksh"),
        options={"language": "shell"},
    ),
    BuiltIn("github-issue", "github.issue_records:parse_issue", extensions=(".issue.md",)),
    BuiltIn("structure", "structure_page:parse_structure", names=("structure.md",)),
    BuiltIn("raw-text", "raw_text:parse_raw_text"),
)
"""The parsers that are there from the start; `raw-text` takes what no other does."""


class Adapted:
    """A legacy parser as a parser of today."""

    def __init__(self, parser: LegacyParser) -> None:
        self.id = parser.id
        self.version = parser.version
        self.extensions = tuple(getattr(parser, "extensions", ()))
        self.names = tuple(getattr(parser, "names", ()))
        self._parser = parser

    def parse_file(self, file: Document, tenant_context: TenantContext) -> list[Chunk]:
        """Return the legacy parser's pieces as records.

        `rootKind` is ``external-source``; the hash is made from kind, name, content, path and
        parser. What is no field of a record goes into `customMeta`.
        """
        path = PurePosixPath(file.name)
        file_type = path.suffix.removeprefix(".").lower() or "text"
        pieces = self._parser.parse(file.content, file.name, file_type, path.parts[:-1])
        return [
            _record(place, _values(piece), self, file, file_type, tenant_context)
            for place, piece in enumerate(pieces)
        ]


_HASH_INPUTS = ["kind", "name", "content", "sourcePath", "parserId", "parserVersion"]
_TAKEN = {
    "kind": "kind",
    "type": "kind",
    "name": "name",
    "title": "name",
    "content": "content",
    "text": "content",
    "line_start": "line_start",
    "lineStart": "line_start",
    "start_line": "line_start",
    "startLine": "line_start",
    "line_end": "line_end",
    "lineEnd": "line_end",
    "end_line": "line_end",
    "endLine": "line_end",
    "className": "class_name",
    "class_name": "class_name",
    "extends": "extends",
}
"""What a legacy piece may call a field → the record's field; the first that is there counts."""


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
    parser: Adapted,
    file: Document,
    file_type: str,
    context: TenantContext,
) -> Chunk:
    fields: dict[str, Any] = {}
    for name, target in _TAKEN.items():
        if name in values:
            fields.setdefault(target, values.pop(name))
    meta: dict[str, Any] = {}
    for name in ("metadata", "customMeta", "custom_meta"):
        inner = values.pop(name, None)
        meta |= inner if isinstance(inner, Mapping) else {}
    # What the adapter itself decides is not taken from the piece.
    own = {str(info.alias) for info in Chunk.model_fields.values()} | set(Chunk.model_fields)
    meta = {name: value for name, value in values.items() if name not in own} | meta
    if context.branch:
        meta["branch"] = context.branch
    try:
        return Chunk.model_validate(
            {
                "kind": file_type,
                "name": PurePosixPath(file.name).name,
                **{name: value for name, value in fields.items() if value is not None},
                "tenant_id": context.tenant,
                "repo_slug": context.repo,
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
            f"the parser {parser.id} gave a piece of {file.name} that is no record: "
            f"{explain(error)}",
            hint="Mend the parser; the other files are not affected.",
        ) from error
