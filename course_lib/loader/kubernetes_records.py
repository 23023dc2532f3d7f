"""Manifests to records: a YAML document goes in, parsed-chunk-v1 records come out.

A record's content is an exact piece of the file; the header that is embedded with it is in its
`customMeta`, with the offsets of the piece and of the whole resource.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable

from pydantic import JsonValue

from course_lib.loader.kubernetes import usual_breaks
from course_lib.loader.resource_chunks import chunk_resources
from course_lib.loader.word_pieces import fits_model
from course_lib.records import Chunk, Document

PARSER_ID = "kubernetes"
PARSER_VERSION = "2.0.0"
CHUNK_CHARS = 700
"""Most characters of a record's header and content together."""


def parse_kubernetes(
    document: Document,
    *,
    max_chars: int = CHUNK_CHARS,
    full_schemas: bool = False,
    fits: Callable[[str], bool] = fits_model,
    tenant_id: str = "local",
    repo_slug: str = "manifests",
    branch: str = "",
    parser_id: str = PARSER_ID,
) -> list[Chunk]:
    r"""Split one manifest into records.

    Parameters
    ----------
    document
        What `read_documents` gave.
    max_chars, full_schemas, fits
        As in `chunk_resources`. `fits` is asked about header and content together; by default it is
        a careful estimate of what MiniLM reads, and `EmbeddingClient` can say it exactly.
    tenant_id, repo_slug, branch
        Whose document this is, which corpus it belongs to, and which version of that.
    parser_id
        What the records say they come from.

    Returns
    -------
    list of Chunk
        `kind` and `name` are the resource's (``yaml`` and the file's name where it has none).
        `custom_meta` holds `header`, `chunkIndex`, `charStart`, `charEnd`, `resourceStart`,
        `resourceEnd`, and where they are known `namespace`, `apiVersion`, `path` and `branch`.
        What is embedded is ``custom_meta["header"] + content``.

    Raises
    ------
    ValueError
        If `max_chars` is too small.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = "kind: Role\nmetadata:\n  name: reader\n  namespace: shop\n"
    >>> [record] = parse_kubernetes(Document(Path("a.yaml"), "a.yaml", text))
    >>> record.kind, record.name, record.custom_meta["namespace"], record.line_end
    ('Role', 'reader', 'shop', 4)
    """
    text = document.content
    pieces = chunk_resources(
        text, max_chars, source_path=document.name, full_schemas=full_schemas, fits=fits
    )
    line_ends = [match.start() for match in re.finditer("\n", usual_breaks(text))]
    chunks: list[Chunk] = []
    for piece in pieces:
        identity = piece.resource.identity
        known: dict[str, JsonValue] = {
            "branch": branch,
            "namespace": identity.namespace,
            "apiVersion": identity.api_version,
            "path": piece.path,
        }
        chunks.append(
            Chunk(
                tenant_id=tenant_id,
                repo_slug=repo_slug,
                root_kind="external-source",
                source_path=document.name,
                content=text[piece.start : piece.end],
                # The header is embedded too: a renamed resource is another record.
                hash_inputs=["content", "customMeta", "sourcePath", "parserId", "parserVersion"],
                parser_id=parser_id,
                parser_version=PARSER_VERSION,
                kind=_one_line(identity.kind) or "yaml",
                name=_one_line(identity.name) or document.name.rsplit("/", 1)[-1],
                line_start=bisect_left(line_ends, piece.start) + 1,
                line_end=bisect_left(line_ends, piece.end - 1) + 1,
                custom_meta={
                    **{name: value for name, value in known.items() if value},
                    "header": piece.header,
                    "chunkIndex": len(chunks),
                    "charStart": piece.start,
                    "charEnd": piece.end,
                    "resourceStart": piece.resource.start,
                    "resourceEnd": piece.resource.end,
                },
            )
        )
    return chunks


def _one_line(value: str | None) -> str:
    return " ".join((value or "").split())
