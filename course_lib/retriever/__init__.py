"""Stage 5: search. A question goes in, the chunks that answer it come out."""

from typing import TYPE_CHECKING

from course_lib import import_when_asked
from course_lib.records import SearchResult

if TYPE_CHECKING:
    from course_lib.retriever.async_query import search_async
    from course_lib.retriever.query import search
    from course_lib.retriever.question import retrieve
    from course_lib.retriever.rerank import rerank_maxsim
else:
    __getattr__ = import_when_asked(
        __name__,
        {
            "async_query": ["search_async"],
            "query": ["search"],
            "question": ["retrieve"],
            "rerank": ["rerank_maxsim"],
        },
    )

__all__ = ["SearchResult", "rerank_maxsim", "retrieve", "search", "search_async"]
