"""Stage 5: search. A question goes in, the chunks that answer it come out."""

from course_lib.records import Query, SearchResult
from course_lib.retriever.query import search, search_async
from course_lib.retriever.question import retrieve
from course_lib.retriever.rerank import rerank_maxsim

__all__ = ["Query", "SearchResult", "rerank_maxsim", "retrieve", "search", "search_async"]
