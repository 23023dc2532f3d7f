"""The words of a text that say something, so that two texts can be compared by them."""

from __future__ import annotations

import re

from course_lib.answers.excerpts import COMMON

_ENDINGS = (("ing", ""), ("ies", "y"), ("ed", ""), ("es", ""), ("s", ""))


def stems(text: str) -> set[str]:
    """Return the words of a text that say something, without their endings.

    Endings are only cut off: "takes" and "taking" are equal, but "take" is another word.

    Examples
    --------
    >>> sorted(stems("How do the StoreSettings change policies?"))
    ['change', 'policy', 'setting', 'store']
    >>> stems("takes"), stems("taking"), stems("take")
    ({'tak'}, {'tak'}, {'take'})
    """
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    words = re.findall(r"[^\W_]+", parted.casefold())
    return {_stem(word) for word in words if word not in COMMON and len(word) > 1}


def _stem(word: str) -> str:
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + instead
    return word
