"""Stage 2: the model, and nothing else. Texts go in, unit vectors come out.

Each name is imported when it is first asked for: a search needs no cache, and whoever only looks
for the model's files needs no numpy.
"""

from typing import TYPE_CHECKING

from course_lib import import_when_asked

if TYPE_CHECKING:
    from course_lib.embedder.cache import VectorCache
    from course_lib.embedder.model import EmbeddingClient
else:
    __getattr__ = import_when_asked(
        __name__, {"cache": ["VectorCache"], "model": ["EmbeddingClient"]}
    )

__all__ = ["EmbeddingClient", "VectorCache"]
