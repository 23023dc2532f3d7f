"""Manifests to records: a YAML document goes in, parsed-chunk-v1 records come out.

A record's content is an exact piece of the file; the header that is embedded with it is in its
`customMeta`, with the offsets of the piece and of the whole resource.
"""

from __future__ import annotations

from pydantic import JsonValue

from course_lib.loader.pieces import ParserInfo, Piece, make_chunks
from course_lib.loader.resource_chunks import chunk_resources
from course_lib.loader.word_pieces import fits_model
from course_lib.records import LOCAL, Chunk, Document, Scope

PARSER = ParserInfo("kubernetes", "3.1.0", ("customMeta",))
"""The header is embedded too: a renamed resource is another record."""

CHUNK_CHARS = 700
"""Most characters of a record's header and content together."""


def parse_kubernetes(document: Document, *, scope: Scope = LOCAL) -> list[Chunk]:
    r"""Split one manifest into records.

    Header and content of a record together are no longer than `CHUNK_CHARS`, nor than MiniLM reads,
    by a careful estimate.

    Parameters
    ----------
    document
        What `read_documents` gave.
    scope
        Whose document this is.

    Returns
    -------
    list of Chunk
        `kind` and `name` are the resource's (``yaml`` and the file's name where there is none).
        `custom_meta` holds `header`, `chunkIndex`, `charStart`, `charEnd`, `resourceStart`,
        `resourceEnd`, and where they are known `namespace`, `apiVersion`, `path` and `branch`.
        What is embedded is ``custom_meta["header"] + content``.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = "kind: Role\nmetadata:\n  name: reader\n  namespace: shop\n"
    >>> [record] = parse_kubernetes(Document(Path("a.yaml"), "a.yaml", text))
    >>> record.kind, record.name, record.custom_meta["namespace"], record.line_end
    ('Role', 'reader', 'shop', 4)
    """
    return make_chunks(document, scope, manifest_pieces(document), PARSER)


def manifest_pieces(document: Document) -> list[Piece]:
    """Return the pieces of a manifest's resources."""
    file_name = document.name.rsplit("/", 1)[-1]
    pieces = []
    for one in chunk_resources(
        document.content, CHUNK_CHARS, source_path=document.name, fits=fits_model
    ):
        identity = one.resource.identity
        meta: dict[str, JsonValue] = {
            "namespace": identity.namespace,
            "apiVersion": identity.api_version,
            "path": one.path,
            "resourceStart": one.resource.start,
            "resourceEnd": one.resource.end,
        }
        kind, name = _one_line(identity.kind) or "yaml", _one_line(identity.name) or file_name
        pieces.append(Piece(one.start, one.end, kind, name, one.header, meta=meta))
    return pieces


def _one_line(value: str | None) -> str:
    return " ".join((value or "").split())
