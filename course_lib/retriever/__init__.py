"""Stage 5: search. A question goes in, the chunks that answer it come out."""

from course_lib.records import Query, SearchResult
from course_lib.retriever.query import search
from course_lib.retriever.question import retrieve

__all__ = ["Query", "SearchResult", "retrieve", "search"]
