"""The records that flow through the course: Document → Span → Chunk → SearchResult.

Those that pydantic validates are imported when they are first asked for: it takes a quarter of a
cold search's time, and a search has nothing for it to validate.
"""

from typing import TYPE_CHECKING

from course_lib import import_when_asked
from course_lib.records.plain import (
    KEBAB,
    KEBAB_LENGTH,
    PARTITIONS,
    SEMVER,
    Document,
    SearchResult,
    Skipped,
    Span,
    Visibility,
    check_source_path,
    embedded_text,
)

if TYPE_CHECKING:
    from course_lib.records.validated import (
        Chunk,
        TenantContext,
        content_hash,
        explain,
    )
else:
    __getattr__ = import_when_asked(
        __name__, {"validated": ["Chunk", "TenantContext", "content_hash", "explain"]}
    )

__all__ = [
    "KEBAB",
    "KEBAB_LENGTH",
    "PARTITIONS",
    "SEMVER",
    "Chunk",
    "Document",
    "SearchResult",
    "Skipped",
    "Span",
    "TenantContext",
    "Visibility",
    "check_source_path",
    "content_hash",
    "embedded_text",
    "explain",
]
