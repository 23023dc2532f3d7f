"""What a BERT sentence encoder is made of: a model's directory goes in, its parts come out.

The engines that need no torch know one architecture, the one of MiniLM: BERT, mean pooling, unit
length. `read_bert` says whether a directory holds such a model, and gives its sizes and weights.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from course_lib.embedder.weights import Tensors, read_tensors, weights_sha256


@dataclass(frozen=True)
class Bert:
    """A BERT sentence encoder on disk.

    Attributes
    ----------
    directory
        Where it lies.
    layers, heads, dimension
        6, 12 and 384 for MiniLM.
    epsilon
        What layer normalisation adds to the variance.
    max_seq_length
        Word pieces that it reads of a text, the two special ones included.
    """

    directory: Path
    layers: int
    heads: int
    dimension: int
    epsilon: float
    max_seq_length: int

    @cached_property
    def sha256(self) -> str:
        """The checksum of the weights, by which all that is derived from them is named."""
        return weights_sha256(self.directory / "model.safetensors")

    @cached_property
    def tensors(self) -> Tensors:
        """The weights by name, mapped into memory."""
        return read_tensors(self.directory / "model.safetensors")


def read_bert(directory: Path | None) -> Bert | None:
    """Return the sentence encoder in a directory, or None if it is of another kind.

    Examples
    --------
    >>> from course_lib.embedder.weights import model_directory
    >>> bert = read_bert(model_directory("all-MiniLM-L6-v2"))
    >>> bert.layers, bert.dimension, bert.max_seq_length
    (6, 384, 256)
    """
    if directory is None:
        return None
    try:
        config = _read(directory / "config.json")
        kinds = [
            str(module["type"]).rpartition(".")[2] for module in _read(directory / "modules.json")
        ]
        if (
            config["model_type"] != "bert"
            or config["hidden_act"] != "gelu"
            or config.get("position_embedding_type", "absolute") != "absolute"
            or kinds != ["Transformer", "Pooling", "Normalize"]
            or not _pools_the_mean(_read(directory / "1_Pooling" / "config.json"))
            or not (directory / "model.safetensors").is_file()
            or not (directory / "tokenizer.json").is_file()
        ):
            return None
        limit = _read(directory / "sentence_bert_config.json")["max_seq_length"]
        return Bert(
            directory=directory,
            layers=int(config["num_hidden_layers"]),
            heads=int(config["num_attention_heads"]),
            dimension=int(config["hidden_size"]),
            epsilon=float(config["layer_norm_eps"]),
            max_seq_length=min(int(limit), int(config["max_position_embeddings"])),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _pools_the_mean(pooling: dict[str, Any]) -> bool:
    if "pooling_mode" in pooling:
        return pooling["pooling_mode"] in ("mean", ["mean"])
    modes = {name for name, is_on in pooling.items() if name.startswith("pooling_mode") and is_on}
    return modes == {"pooling_mode_mean_tokens"}


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
