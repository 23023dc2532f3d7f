"""Stage 1: files go in, `Chunk` records (parsed-chunk-v1) come out.

Nothing here imports the database or the model, so that whatever only reads and splits stays small.
"""

from course_lib.loader.contract import check_lines, check_record, check_records
from course_lib.loader.documents import read_documents
from course_lib.loader.jsonl import read_chunks, write_jsonl
from course_lib.loader.markdown import split_document
from course_lib.loader.recursive import find_cut, next_start, split_text
from course_lib.loader.registry import Registry, default_registry, register_parser, register_source
from course_lib.records import Span

__all__ = [
    "Registry",
    "Span",
    "check_lines",
    "check_record",
    "check_records",
    "default_registry",
    "find_cut",
    "next_start",
    "read_chunks",
    "read_documents",
    "register_parser",
    "register_source",
    "split_document",
    "split_text",
    "write_jsonl",
]
