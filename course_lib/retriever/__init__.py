"""Stage 5: search. A question goes in, the chunks that answer it come out."""

from typing import TYPE_CHECKING

from course_lib import import_when_asked
from course_lib.records import Query, SearchResult

if TYPE_CHECKING:
    from course_lib.retriever.query import search, search_async
    from course_lib.retriever.question import retrieve
    from course_lib.retriever.rerank import rerank_maxsim
else:
    __getattr__ = import_when_asked(
        __name__,
        {
            "query": ["search", "search_async"],
            "question": ["retrieve"],
            "rerank": ["rerank_maxsim"],
        },
    )

__all__ = ["Query", "SearchResult", "rerank_maxsim", "retrieve", "search", "search_async"]
