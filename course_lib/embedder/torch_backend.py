"""The reference backend: sentence-transformers on torch.

Loading it costs seconds and about a gigabyte, so it is loaded when a first text has to be encoded
and not before.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib.errors import ModelError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class TorchBackend:
    """One loaded model; `name` is ``torch``.

    Parameters
    ----------
    model
        The name that a hub knows, or a path.
    directory
        Where the model lies on this machine; None asks the hub.
    threads
        CPU threads; None leaves torch's choice.

    Raises
    ------
    ModelError
        If the model can be neither found nor fetched.
    """

    name = "torch"

    def __init__(self, model: str, directory: Path | None, threads: int | None = None) -> None:
        self._model = _load(model, directory)
        if threads:
            import torch

            torch.set_num_threads(threads)
        self.dimension = int(self._model.get_embedding_dimension() or 0)
        self.max_seq_length = int(self._model.max_seq_length or 0)

    def encode(self, texts: list[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return the unit vectors of one batch: float32 of shape (n, dimension)."""
        return np.asarray(
            self._model.encode(
                texts,
                batch_size=len(texts),
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            ),
            dtype=np.float32,
        )

    def count_tokens(self, text: str) -> int:
        """Return the number of word pieces, the two special ones included."""
        return len(self._model.tokenizer(text, truncation=False, verbose=False)["input_ids"])


def _load(model: str, directory: Path | None) -> SentenceTransformer:
    if directory is not None:
        # Nothing is missing on this machine, so nobody has to be asked.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    else:
        os.environ.setdefault("HF_HUB_ETAG_TIMEOUT", "5")
        os.environ.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", "30")
    logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    try:
        return SentenceTransformer(str(directory or model), device="cpu")
    except (OSError, ValueError, RuntimeError) as error:
        if directory is not None:
            raise ModelError(
                f"the model in {directory} cannot be loaded: {error}",
                hint="Give the folder that `SentenceTransformer.save_pretrained` wrote.",
            ) from error
        raise ModelError(
            f"the model {model!r} is not on this machine and could not be fetched from the hub",
            hint=(
                "Check its name and the connection; or download it elsewhere, copy the folder "
                "here and set RAG_EMBED_MODEL to its path; or unset RAG_EMBED_MODEL, which takes "
                "the model that the course brings along."
            ),
        ) from error
