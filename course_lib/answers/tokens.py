"""Tokens: a text and a model go in, how many tokens it is comes out, and how many fit at all.

Nothing is fetched from anywhere to count: the model's own tokenizer counts where it is on this
machine, else an estimate that says what it is.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from course_lib.errors import CourseError

log = logging.getLogger(__name__)

BYTES_PER_TOKEN = 3
"""Of the estimate: bytes of UTF-8. English prose has about 4, code about 3, Chinese about 3."""

DEFAULT_WINDOW = 8_192
"""Tokens of a model that is not in the table."""

# The longest beginning that fits a model's name counts.
WINDOWS = {
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4-1106": 128_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-5": 400_000,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "codellama": 16_384,
    "deepseek-r1": 131_072,
    "gemma": 8_192,
    "gemma3": 131_072,
    "llama2": 4_096,
    "llama3": 8_192,
    "llama3.1": 131_072,
    "llama3.2": 131_072,
    "llama3.3": 131_072,
    "mistral": 32_768,
    "mixtral": 32_768,
    "phi3": 4_096,
    "phi4": 16_384,
    "qwen2.5": 32_768,
    "qwen3": 40_960,
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
    estimate = (f"an estimate: {BYTES_PER_TOKEN} bytes a token", _estimate)
    return _own_tokenizer(model) or estimate


def _estimate(text: str) -> int:
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


def _own_tokenizer(model: str) -> tuple[str, Counter] | None:
    """Return the way to count of a model whose tokenizer.json is on this machine."""
    file = _tokenizer_file(model)
    if file is None:
        return None
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:
        # The library raises plain Exceptions for a file that it cannot read.
        log.warning("%s is not used to count tokens: %s", file, error)
        return None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return f"the tokenizer of {model}", lambda text: len(
        tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8")).ids
    )


def _tokenizer_file(model: str) -> Path | None:
    if not model:
        return None
    from course_lib.embedder.weights import model_directory

    try:
        directory = model_directory(model)
    except CourseError:
        return None
    if directory is not None:
        file = directory / "tokenizer.json"
        return file if file.is_file() else None
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(model, "tokenizer.json")
    except HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None
