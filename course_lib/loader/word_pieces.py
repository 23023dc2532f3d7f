"""How many word pieces a model will make of a text, estimated from above without the model.

The loader may not load a model, and yet what it cuts has to fit one. Where the exact count is to be
had (`EmbeddingClient.count_tokens`), pass that instead.
"""

from __future__ import annotations

import re

MOST_WORD_PIECES = 256
"""What all-MiniLM-L6-v2 reads; it drops the rest in silence."""

_RUN = re.compile(r"[^\W_]+|[^\w\s]|_")


def estimate_word_pieces(text: str) -> float:
    """Return how many word pieces a text will at most have, the two at its ends included.

    Every punctuation mark is one. A word of up to four letters is one, a longer one may come in
    threes; camelCase and capitals break up sooner, digits and random characters almost one by one.
    Measured on 25 MB of Kubernetes manifests it is never below the true count, and in the median
    29 % above it.

    Examples
    --------
    >>> round(estimate_word_pieces("kind: Role"), 1)  # [CLS] kind : role [SEP]
    5.3
    """
    count = 0.0
    for word in _RUN.findall(text):
        length = len(word)
        if length == 1:
            count += 1
        elif not word.isascii():
            count += length
        elif not word.isalpha():
            count += 1 + (length - 1) / 1.3
        elif word.islower() or word.istitle():
            count += 1 + max(length - 4, 0) / 3
        else:
            count += 1 + (length - 1) / 2.5
    return 2 + count * 1.11


def fits_model(text: str) -> bool:
    """Return whether a text is certain enough to be read whole."""
    return len(text) <= MOST_WORD_PIECES - 2 or estimate_word_pieces(text) <= MOST_WORD_PIECES
