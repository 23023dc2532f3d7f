"""Stage 1: files go in, `Chunk` records (parsed-chunk-v1) come out.

Nothing here imports the database or the model, so that whatever only reads and splits stays small.
"""

from course_lib.loader.code import CodeSpan, parse_code, split_code
from course_lib.loader.contract import check_lines, check_record, check_records, read_chunks
from course_lib.loader.documents import read_documents
from course_lib.loader.jsonl import write_jsonl
from course_lib.loader.kubernetes import ResourceSpan, split_resources
from course_lib.loader.kubernetes_records import parse_kubernetes
from course_lib.loader.kustomize import parse_kustomization, read_kustomization
from course_lib.loader.markdown import split_document
from course_lib.loader.recursive import find_cut, next_start, split_text
from course_lib.loader.registry import Registry, default_registry, register_parser, register_source
from course_lib.loader.resource_chunks import ResourcePiece, chunk_resources
from course_lib.records import Span

__all__ = [
    "CodeSpan",
    "Registry",
    "ResourcePiece",
    "ResourceSpan",
    "Span",
    "check_lines",
    "check_record",
    "check_records",
    "chunk_resources",
    "default_registry",
    "find_cut",
    "next_start",
    "parse_code",
    "parse_kubernetes",
    "parse_kustomization",
    "read_chunks",
    "read_documents",
    "read_kustomization",
    "register_parser",
    "register_source",
    "split_code",
    "split_document",
    "split_resources",
    "split_text",
    "write_jsonl",
]
