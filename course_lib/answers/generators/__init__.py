"""Generators: what makes an answer of a question and passages; one interface, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from course_lib.answers.generators.base import GenerationError, Generator, Request
from course_lib.errors import InputError

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient
    from course_lib.settings import Settings

__all__ = ["GenerationError", "Generator", "Request", "generator"]

BACKENDS = ("extractive", "ollama", "openai", "auto")


def generator(
    settings: Settings,
    *,
    backend: str | None = None,
    model: str | None = None,
    embedder: EmbeddingClient | None = None,
) -> Generator:
    """Return the generator that the settings name.

    Parameters
    ----------
    settings
        Addresses, models, keys and limits.
    backend
        ``"extractive"``, ``"ollama"``, ``"openai"``, or ``"auto"`` for the first that is there of
        Ollama with a model, a server or key for OpenAI's protocol, and the extractive one; None
        takes RAG_GENERATOR.
    model
        A model of the server; None takes RAG_OLLAMA_MODEL or RAG_OPENAI_MODEL.
    embedder
        For the extractive one: the model that filled the index. None takes a new client.

    Raises
    ------
    InputError
        If there is no such backend.
    GenerationError
        If the settings cannot do: an address that is none, a key that is missing.

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
    margin = {} if settings.safety_margin is None else {"margin": settings.safety_margin}
    if backend == "extractive":
        from course_lib.answers.generators.extractive import Extractive
        from course_lib.embedder import EmbeddingClient

        return Extractive(embedder or EmbeddingClient())
    if backend == "ollama":
        from course_lib.answers.generators.ollama import Ollama

        return Ollama(
            settings.ollama_url,
            model or settings.ollama_model,
            timeout=settings.generator_timeout,
            window=settings.context_window,
            think=settings.ollama_think,
            **margin,
        )
    if backend == "openai":
        from course_lib.answers.generators.openai_compatible import OpenAICompatible

        return OpenAICompatible(
            model or settings.openai_model,
            api_key=settings.openai_api_key,
            base_url=settings.openai_base_url or None,
            timeout=settings.generator_timeout,
            window=settings.context_window,
            **margin,
        )
    raise InputError(f"there is no backend {backend!r}", hint=f"There are {', '.join(BACKENDS)}.")


def _first_there(settings: Settings, model: str | None) -> tuple[str, str | None]:
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
