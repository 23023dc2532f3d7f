"""Tokens: a text and a model go in, how many tokens it is comes out, and how many fit at all.

Nothing is fetched from anywhere to count: tiktoken counts where it is installed and the model's
encoding is on this machine, else an estimate that says what it is.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha1
from pathlib import Path

BYTES_PER_TOKEN = 3
"""Of the estimate: bytes of UTF-8. English prose has about 4, code about 3, Chinese about 3."""

ENCODINGS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
"""Where tiktoken gets an encoding; its cache names a file by the SHA-1 of the address."""

DEFAULT_WINDOW = 8_192
"""Tokens of a model that is not in the table."""

# The longest beginning that fits a model's name counts. Ollama says a model's window itself.
WINDOWS = {
    "gpt-3.5-turbo": 16_385,
    "gpt-4-turbo": 128_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-5": 400_000,
    "o1": 200_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "llama3.": 131_072,
    "mistral": 32_768,
    "qwen": 32_768,
}

Counter = Callable[[str], int]


def count_tokens(text: str, model: str = "") -> int:
    """Return how many tokens a text is to a model; see `tokenizer_name` for who counts.

    Examples
    --------
    >>> count_tokens("A feature store serves features.")
    11
    >>> count_tokens("")
    0
    """
    return _counter(model)[1](text)


def tokenizer_name(model: str = "") -> str:
    """Return what counts the tokens of a model on this machine.

    Examples
    --------
    >>> tokenizer_name("a-model-that-nobody-has")
    'an estimate: 3 bytes a token'
    """
    return _counter(model)[0]


def resolve_context_window(model: str, *, given: int | None = None) -> int:
    """Return how many tokens a model takes, question and answer together.

    Parameters
    ----------
    model
        Its name, as a server knows it; what follows a colon (``llama3:8b``) does not count, nor
        what is before a slash.
    given
        What a setting or the server itself says, and is right.

    Examples
    --------
    >>> resolve_context_window("gpt-4o-mini"), resolve_context_window("library/llama3.1:8b")
    (128000, 131072)
    >>> resolve_context_window("unheard-of"), resolve_context_window("llama3", given=2048)
    (8192, 2048)
    """
    if given is not None:
        return given
    name = model.rpartition("/")[2].partition(":")[0].lower()
    known = [start for start in WINDOWS if name.startswith(start)]
    return WINDOWS[max(known, key=len)] if known else DEFAULT_WINDOW


@lru_cache(maxsize=8)
def _counter(model: str) -> tuple[str, Counter]:
    return _tiktoken(model) or (f"an estimate: {BYTES_PER_TOKEN} bytes a token", _estimate)


def _estimate(text: str) -> int:
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


def _tiktoken(model: str) -> tuple[str, Counter] | None:
    try:
        import tiktoken

        name = tiktoken.encoding_name_for_model(model.rpartition("/")[2])
    except (ImportError, KeyError):
        return None
    given = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    cache = Path(given or Path(tempfile.gettempdir(), "data-gym-cache"))
    if not (cache / sha1(ENCODINGS.format(name).encode()).hexdigest()).is_file():
        return None
    encoding = tiktoken.get_encoding(name)
    return f"tiktoken, {name}", lambda text: len(encoding.encode(text, disallowed_special=()))
