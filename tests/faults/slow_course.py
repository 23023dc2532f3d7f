"""The command line with a slow model: every batch takes COURSE_TEST_PAUSE seconds.

A program of its own, run by the tests beside it, so that there is time to hit an ingest in its
middle. Vectors come from a hash; everything else is the real thing.
"""

import hashlib
import os
import signal
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import course_lib.embedder
from course_lib.cli import main
from course_lib.indexing import update


class SlowClient(course_lib.embedder.EmbeddingClient):
    """Takes its time, and encodes by a hash of the text."""

    dimension = 8
    max_seq_length = 256

    def count_tokens(self, text: str) -> int:
        """Return a number that is not too large."""
        return len(text.split())

    def encode(
        self, texts: Sequence[str], batch_size: int = 32, progress: bool = False
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return one vector a text."""
        time.sleep(float(os.environ["COURSE_TEST_PAUSE"]))
        seeds = (list(hashlib.sha256(text.encode()).digest()) for text in texts)
        rows = [np.random.default_rng(seed).normal(size=self.dimension) for seed in seeds]
        return np.array(rows, np.float32).reshape(len(rows), self.dimension)


if __name__ == "__main__":
    # A shell starts what runs in its background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    course_lib.embedder.EmbeddingClient = SlowClient  # type: ignore[misc]
    update.BATCH_CHUNKS = 8
    main()
