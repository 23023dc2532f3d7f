"""Where a text's bytes are: what stands in for its word pieces where nothing tells them."""

from __future__ import annotations


def byte_places(text: str) -> list[tuple[int, int]]:
    """Return for each UTF-8 byte of a text where the character that it belongs to starts and ends.

    A server does not say how it cuts a text into word pieces. No tokenizer makes more of them than
    there are bytes: what is read of a text by this count is read by the true one as well.

    Examples
    --------
    >>> byte_places("é!")
    [(0, 1), (0, 1), (1, 2)]
    """
    return [
        (place, place + 1)
        for place, character in enumerate(text)
        for _ in character.encode("utf-8", "replace")
    ]
