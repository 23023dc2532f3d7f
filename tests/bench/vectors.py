"""Made vectors with the structure of real ones: clusters of unequal size, unit length, seeded.

The variance falls from direction to direction as it does in all-MiniLM-L6-v2's vectors of real
text, where it is that of about 30 equal directions. Noise of 384 equal ones has neighbourhoods that
no model's vectors have, and no graph finds its way in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DECAY = 1.2
"""The n-th direction has the variance 1 / n ** DECAY."""

Vectors = np.ndarray[Any, np.dtype[np.float32]]


def clustered_vectors(rows: int, dimension: int = 384, *, seed: int = 0) -> Vectors:
    """Return `rows` unit vectors around cluster centres; uniform noise would have no neighbours."""
    random = np.random.default_rng(seed)
    spread = (np.arange(1, dimension + 1) ** (-DECAY / 2)).astype(np.float32)
    centres = random.standard_normal((max(rows // 100, 1), dimension), dtype=np.float32) * spread
    weights = random.pareto(1.5, len(centres)) + 1
    chosen = random.choice(len(centres), size=rows, p=weights / weights.sum())
    noise = random.standard_normal((rows, dimension), dtype=np.float32) * spread
    vectors = centres[chosen] + 0.7 * noise
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
