"""Chunks in number, for what is measured on many rows."""

from __future__ import annotations

from course_lib.records import Chunk


def make_chunks(count: int, chunks_a_document: int = 20) -> list[Chunk]:
    """Return records of about 500 characters, in documents of equal length."""
    text = "The desired state of production is a file in a repository, and a controller agrees. "
    return [
        Chunk(
            tenant_id="local",
            repo_slug="bench",
            root_kind="external-source",
            source_path=f"folder/document-{number // chunks_a_document:06d}.md",
            content=f"{number} {text * 6}",
            hash_inputs=["content"],
            parser_id="markdown",
            parser_version="1.0.0",
            kind=("rare", "common", "common", "frequent")[
                0 if number % 1000 == 0 else number % 3 + 1
            ],
            name=f"Section {number}",
            line_start=1,
            line_end=9,
            custom_meta={"chunkIndex": number % chunks_a_document, "charStart": 0, "charEnd": 500},
        )
        for number in range(count)
    ]
