"""The reference backend: sentence-transformers on torch.

Loading it costs seconds and about a gigabyte.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from course_lib.embedder.hub import load
from course_lib.embedder.vectors import Vectors, byte_places
from course_lib.embedder.weights import check_weights

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

WAYS_OUT = (
    "Check its name and the connection; or set RAG_EMBED_MODEL to the path of a folder that "
    "`SentenceTransformer.save_pretrained` wrote; or unset RAG_EMBED_MODEL, which takes the model "
    "that the course brings along."
)


class TorchBackend:
    """One model, which is loaded when the first text is encoded.

    Parameters
    ----------
    model
        The name that a hub knows, or a path.
    directory
        Where the model is on this machine; None asks the hub.
    threads
        CPU threads; None leaves torch's choice.

    Raises
    ------
    ModelError
        If the model can be neither found nor fetched.
    """

    name = "torch"
    batch_size = 32

    def __init__(self, model: str, directory: Path | None, threads: int | None = None) -> None:
        self._model = _load(model, directory)
        if threads:
            import torch

            torch.set_num_threads(threads)
        self.dimension = int(self._model.get_embedding_dimension() or 0)
        self.max_seq_length = int(self._model.max_seq_length or 0)
        given = self._model.prompts
        self.prompts: Mapping[str, str] = {
            "query": given.get("query") or "",
            "document": given.get("document") or given.get("passage") or "",
        }

    def prepare(self, texts: list[str]) -> list[str]:
        """Return the texts: sentence-transformers cuts them into word pieces by itself."""
        return texts

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of one batch: float32 of shape (n, dimension)."""
        return np.asarray(
            self._model.encode(
                list(texts),
                batch_size=len(texts),
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            ),
            dtype=np.float32,
        )

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return where each word piece starts and ends, the special ones left out."""
        if not self._model.tokenizer.is_fast:  # it does not know
            return byte_places(text)
        found: list[tuple[int, int]] = self._model.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )["offset_mapping"]
        return found


def _load(model: str, directory: Path | None) -> SentenceTransformer:
    if directory is not None:
        # Nothing is missing on this machine, so nobody has to be asked.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        check_weights(directory)
    return load(_open, str(directory or model), WAYS_OUT)


def _open(model: str, *, local_files_only: bool) -> SentenceTransformer:
    logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    return SentenceTransformer(model, device="cpu", local_files_only=local_files_only)
