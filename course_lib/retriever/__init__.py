"""Stage 5: search. A question goes in, the chunks that answer it come out."""

from course_lib.records import SearchResult
from course_lib.retriever.query import search

__all__ = ["SearchResult", "search"]
