"""Stage 1: files go in, `Chunk` records (parsed-chunk-v1) come out.

Nothing here imports the database or the model, so that whatever only reads and splits stays small.
"""

from course_lib.loader.code import parse_code, split_code
from course_lib.loader.contract import check_lines, check_record, read_chunks
from course_lib.loader.documents import read_documents
from course_lib.loader.jsonl import write_jsonl
from course_lib.loader.markdown import split_document
from course_lib.loader.recursive import find_cut, next_start, split_text
from course_lib.loader.registry import Registry, default_registry

__all__ = [
    "Registry",
    "check_lines",
    "check_record",
    "default_registry",
    "find_cut",
    "next_start",
    "parse_code",
    "read_chunks",
    "read_documents",
    "split_code",
    "split_document",
    "split_text",
    "write_jsonl",
]
