"""The backend on a server: texts go to an API that speaks OpenAI's protocol, vectors come back.

Everything else stays on this machine. What goes wrong is told in the words of the package `openai`
or of the server, without the key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from course_lib.addresses import http_address
from course_lib.embedder.remote import OPENAI, http_client, server_said
from course_lib.embedder.vectors import Vectors, byte_places
from course_lib.errors import CourseError, ModelError

if TYPE_CHECKING:
    import openai

DEFAULT_MODEL = "text-embedding-3-large"
MOST_TOKENS = 8_192
"""What the models text-embedding-3 read of a text."""

RETRIES = 6
"""How often a request is sent again when the server is busy: for about half a minute in all."""

TIMEOUT = 60.0

WAYS_OUT = (
    "Check OPENAI_API_KEY, OPENAI_BASE_URL (…/v1), RAG_EMBED_MODEL and RAG_VECTOR_DIM. What was "
    "encoded is kept; without RAG_EMBED_BACKEND, this machine encodes."
)


class OpenAIBackend:
    """A model that an API serves. Nothing is sent before a text has to be encoded.

    Parameters
    ----------
    model
        What the server calls it.
    dimension
        How many numbers a vector is to have: `text-embedding-3-large` gives up to 3,072.
    api_key
        The key.
    base_url
        Another server; None is OpenAI's.

    Examples
    --------
    >>> OpenAIBackend("text-embedding-3-large", 1024, "a key").name
    'openai-1024'
    """

    batch_size = 32
    """Texts in one request: it takes 300,000 tokens in all, and each text has 8,192 at most."""

    def __init__(
        self, model: str, dimension: int, api_key: str | None, base_url: str | None = None
    ) -> None:
        self.name = f"openai-{dimension}"
        self.dimension = dimension
        self.max_seq_length = MOST_TOKENS
        self.prompts: Mapping[str, str] = {}
        self._model = model
        self._api_key = api_key
        self._base_url = http_address(base_url or OPENAI, "OPENAI_BASE_URL")
        self._can_shorten = True

    @cached_property
    def _client(self) -> openai.OpenAI:
        import openai

        return openai.OpenAI(
            api_key=self._api_key or None,
            base_url=self._base_url,
            max_retries=RETRIES,
            timeout=TIMEOUT,
            http_client=http_client(self._base_url),
        )

    def prepare(self, texts: list[str]) -> list[str]:
        """Return the texts; the server refuses empty ones and takes a blank instead."""
        return [text or " " for text in texts]

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of one batch: float32 of shape (n, dimension).

        Raises
        ------
        ModelError
            If the server cannot be reached, refuses, stays busy, or gives what is not a vector of
            that dimension.
        """
        try:
            rows = sorted(self._ask(texts).data, key=lambda row: row.index)
            vectors = np.array([row.embedding for row in rows], dtype=np.float32)
        except CourseError:
            raise
        except Exception as error:  # the package's, its HTTP client's, or of a strange answer
            raise ModelError(
                f"{self.name} of {self._model}: {server_said(error, self._api_key or '')}",
                hint=WAYS_OUT,
            ) from None
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
        shape = len(texts), self.dimension
        if vectors.shape != shape or not np.isfinite(lengths).all() or not lengths.all():
            raise ModelError(
                f"{self._model} gives vectors of the shape {vectors.shape}, and unit vectors of "
                f"{shape} were asked for",
                hint=WAYS_OUT,
            )
        return np.asarray(vectors / lengths, dtype=np.float32)

    def _ask(self, texts: Sequence[str]) -> openai.types.CreateEmbeddingResponse:
        """Send a request; once more without `dimensions`, if the server refuses that."""
        import openai

        dimensions = self.dimension if self._can_shorten else openai.omit
        try:
            return self._client.embeddings.create(
                model=self._model, input=list(texts), dimensions=dimensions
            )
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not self._can_shorten or "dimension" not in f"{error.param} {error.message}":
                raise
            self._can_shorten = False
            return self._ask(texts)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return a place for each byte of a text: no tokenizer makes more pieces than these."""
        return byte_places(text)
