"""Made vectors with the structure of real ones: clusters of unequal size, unit length, seeded."""

from __future__ import annotations

from typing import Any

import numpy as np

Vectors = np.ndarray[Any, np.dtype[np.float32]]


def clustered_vectors(rows: int, dimension: int = 384, *, seed: int = 0) -> Vectors:
    """Return `rows` unit vectors around cluster centres; uniform noise would have no neighbours."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(rows // 100, 1), dimension), dtype=np.float32)
    weights = random.pareto(1.5, len(centres)) + 1
    chosen = random.choice(len(centres), size=rows, p=weights / weights.sum())
    vectors = centres[chosen] + 0.7 * random.standard_normal((rows, dimension), dtype=np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
