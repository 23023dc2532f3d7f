"""The command line with a model that can be held: in its middle it waits while a file is there.

A program of its own, run by the tests beside it, which hit an ingest in its middle. The file is
named by COURSE_TEST_GATE. Vectors come from a hash; everything else is the real thing.
"""

import hashlib
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import course_lib.embedder
from course_lib.cli import main
from course_lib.indexing import update

BATCHES_BEFORE = 5


class SlowClient(course_lib.embedder.EmbeddingClient):
    """Waits at the gate once some batches are done, and encodes by a hash of the text."""

    batches = 0
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
        gate = os.environ.get("COURSE_TEST_GATE")
        while gate and self.batches >= BATCHES_BEFORE and Path(gate).exists():
            time.sleep(0.02)
        self.batches += 1
        raw = (text.encode("utf-8", "surrogatepass") for text in texts)
        seeds = (list(hashlib.sha256(one).digest()) for one in raw)
        rows = [np.random.default_rng(seed).normal(size=self.dimension) for seed in seeds]
        return np.array(rows, np.float32).reshape(len(rows), self.dimension)


if __name__ == "__main__":
    # A shell starts what runs in its background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    course_lib.embedder.EmbeddingClient = SlowClient  # type: ignore[misc]
    update.BATCH_CHUNKS = 8
    main()
