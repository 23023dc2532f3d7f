"""Generators: what makes an answer of a question and passages; one interface, one file each.

A new one has its name in `GeneratorName` (settings), its file beside this one, and here a row of
`MAKERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from course_lib.answers.generators.base import GenerationError, Generator, Request
from course_lib.errors import InputError
from course_lib.settings import LanguageModelName

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient
    from course_lib.settings import GeneratorName, Settings

    Maker = Callable[[Settings, str | None, EmbeddingClient | None], Generator]

__all__ = ["GenerationError", "Generator", "Request", "generator"]

A_MODEL = " or ".join(f"--backend {name}" for name in get_args(LanguageModelName))
"""The options with which a language model answers, for hints."""


def generator(
    settings: Settings,
    *,
    backend: GeneratorName | None = None,
    model: str | None = None,
    embedder: EmbeddingClient | None = None,
) -> Generator:
    """Return the generator that the settings name.

    Parameters
    ----------
    settings
        Addresses, models, keys and limits.
    backend
        One of `MAKERS`, or ``"auto"`` for the first that is there of Ollama with a model, a server
        or key for OpenAI's protocol, and the extractive one; None takes RAG_GENERATOR.
    model
        A model of the server, or a GGUF file; None takes RAG_OLLAMA_MODEL, RAG_OPENAI_MODEL or
        RAG_MODEL_FILE.
    embedder
        For the extractive one: the model that filled the index. None takes a new client.

    Raises
    ------
    InputError
        If an address is none, or a model is named for what has none.
    GenerationError
        If a key is missing.

    Examples
    --------
    >>> from course_lib.settings import Settings
    >>> chosen = generator(Settings(RAG_OLLAMA_MODEL="mistral"), backend="ollama")
    >>> chosen.name, chosen.model, chosen.margin
    ('ollama', 'mistral', 512)
    """
    backend = backend or settings.generator
    if backend == "auto":
        backend, model = _first_there(settings, model)
    return MAKERS[backend](settings, model, embedder)


def _extractive(
    settings: Settings, model: str | None, embedder: EmbeddingClient | None
) -> Generator:
    from course_lib.answers.generators.extractive import Extractive
    from course_lib.embedder import EmbeddingClient

    if model is not None:
        raise InputError("the extractive backend has no model to name", hint=f"Add {A_MODEL}.")
    return Extractive(embedder or EmbeddingClient())


def _ollama(settings: Settings, model: str | None, embedder: EmbeddingClient | None) -> Generator:
    from course_lib.answers.generators.ollama import Ollama

    return Ollama(
        settings.ollama_url,
        model or settings.ollama_model,
        think=settings.ollama_think,
        **_limits(settings),
    )


def _openai(settings: Settings, model: str | None, embedder: EmbeddingClient | None) -> Generator:
    from course_lib.answers.generators.openai_compatible import OpenAICompatible

    return OpenAICompatible(
        model or settings.openai_model,
        api_key=settings.openai_api_key,
        base_url=settings.openai_base_url or None,
        **_limits(settings),
    )


def _local(settings: Settings, model: str | None, embedder: EmbeddingClient | None) -> Generator:
    from course_lib.answers.generators.local import Local

    limits = _limits(settings)
    del limits["timeout"]  # a long prompt takes minutes to read, and nothing is sent meanwhile
    return Local(Path(model) if model else settings.model_file, threads=settings.threads, **limits)


MAKERS: dict[GeneratorName, Maker] = {
    "extractive": _extractive,
    "ollama": _ollama,
    "openai": _openai,
    "local": _local,
}
"""Each generator by its name: what makes it of the settings, a model's name and an embedder."""


def _limits(settings: Settings) -> dict[str, Any]:
    """Return what every language model is given of the settings."""
    margin = {} if settings.safety_margin is None else {"margin": settings.safety_margin}
    return {
        "timeout": settings.generator_timeout,
        "window": settings.context_window,
        **margin,
    }


def _first_there(settings: Settings, model: str | None) -> tuple[GeneratorName, str | None]:
    """Return the backend that `auto` means now, and its model; None is the settings' own."""
    from course_lib.answers.generators.ollama import models_at

    there = models_at(settings.ollama_url)
    if there:
        wanted = model or settings.ollama_model
        is_there = any(name.partition(":")[0] == wanted.partition(":")[0] for name in there)
        return "ollama", wanted if model or is_there else there[0]
    if settings.openai_api_key or settings.openai_base_url:
        return "openai", model
    return "extractive", None
