"""The command line with a model whose vectors come from a hash; everything else is the real thing.

A program of its own, which tests/e2e/test_download_interrupted.py runs.
"""

import hashlib
import signal
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import course_lib.embedder
from course_lib.cli import main
from course_lib.indexing import update


class HashClient(course_lib.embedder.EmbeddingClient):
    """Encodes by a hash of the text."""

    dimension = 8
    max_seq_length = 256
    prompts = MappingProxyType({})

    def count_tokens(self, text: str) -> int:
        """Return a number that is not too large."""
        return len(text.split())

    def encode(
        self, texts: Sequence[str], batch_size: int = 32, progress: bool = False
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return one vector a text."""
        raw = (text.encode("utf-8", "surrogatepass") for text in texts)
        seeds = (list(hashlib.sha256(one).digest()) for one in raw)
        rows = [np.random.default_rng(seed).normal(size=self.dimension) for seed in seeds]
        return np.array(rows, np.float32).reshape(len(rows), self.dimension)


if __name__ == "__main__":
    # A shell starts what runs in its background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    course_lib.embedder.EmbeddingClient = HashClient  # type: ignore[misc]
    update.BATCH_CHUNKS = 8
    main()
