"""An example of a parser of your own: it splits a TOML file into one chunk for each table.

Registered (`RAG_CUSTOM_PARSERS=toml_sections:TomlParser`, with `PYTHONPATH=data/parsers`), the
server runs it on raw `.toml` files. Run as a program, it parses on the sender's machine and prints
parsed-chunk-v1 records, one a line, for `course ingest-tenant`. The chunks are the same both ways.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from course_lib.loader import read_documents, split_text
from course_lib.records import Chunk, Document, Scope

MAX_CHARS = 512

# The header of a table at the beginning of a line; or a text or comment, which hold no headers.
_TABLE_OR_TEXT = re.compile(
    r"^[ \t]*\[{1,2}[ \t]*(?P<table>[^\[\]\n]+?)[ \t]*\]{1,2}[ \t]*(?:\#[^\n]*)?$"
    r"|\"\"\"(?:\\.|[^\\])*?\"\"\"|'''.*?'''|\#[^\n]*$",
    re.MULTILINE | re.DOTALL,
)


class TomlParser:
    """Splits a TOML file at its tables."""

    id = "toml-sections"
    version = "1.0.0"
    extensions = (".toml",)

    def parse_file(self, file: Document, scope: Scope) -> list[Chunk]:
        """Return a chunk for each table; the text before the first has the name of the file.

        A table of more than `MAX_CHARS` characters gives several, the later ones with its header.
        """
        text = file.content
        chunks: list[Chunk] = []
        for start, end, name in _tables(text):
            title = f"[{name}]\n" if name else ""
            for part in split_text(text[start:end], MAX_CHARS - len(title) - 1, 0):
                if not part.text.strip():
                    continue
                line = text.count("\n", 0, start + part.start) + 1
                meta: dict[str, object] = {"chunkIndex": len(chunks)}
                if part.start and title:
                    meta["header"] = title
                chunks.append(
                    Chunk(
                        tenant_id=scope.tenant,
                        repo_slug=scope.repo,
                        root_kind="external-source",
                        source_path=file.name,
                        content=part.text,
                        hash_inputs=["content", "name", "sourcePath", "parserId", "parserVersion"],
                        parser_id=self.id,
                        parser_version=self.version,
                        kind="toml-table",
                        name=name or file.name.rsplit("/", 1)[-1],
                        line_start=line,
                        line_end=line + part.text.rstrip("\n").count("\n"),
                        custom_meta=meta,
                    )
                )
        return chunks


def _tables(text: str) -> list[tuple[int, int, str]]:
    """Return start, end and name of each table; the first one has no name and may be empty."""
    found = [(m.start(), m["table"]) for m in _TABLE_OR_TEXT.finditer(text) if m["table"]]
    starts = [(0, ""), *found]
    ends = [start for start, _ in found] + [len(text)]
    return [
        (start, end, name) for (start, name), end in zip(starts, ends, strict=True) if start < end
    ]


def main() -> None:
    """Parse a directory's TOML files and print their records."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("directory", type=Path)
    arguments.add_argument("--tenant", default="local", help="claim; the server has its own view")
    arguments.add_argument("--repo", default="documents")
    given = arguments.parse_args()
    context = Scope(tenant=given.tenant, repo=given.repo)
    for file in read_documents(given.directory, (".toml",)):
        for chunk in TomlParser().parse_file(file, context):
            print(chunk.to_json())


if __name__ == "__main__":
    main()
