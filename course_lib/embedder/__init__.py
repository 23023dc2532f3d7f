"""Stage 2: the model, and nothing else. Texts go in, unit vectors come out."""

from course_lib.embedder.cache import VectorCache
from course_lib.embedder.model import EmbeddingClient

__all__ = ["EmbeddingClient", "VectorCache"]
