"""Models made on the spot, with a vocabulary of a few words and random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*SPECIAL, "the", "drift", "is", "slow", "cats", "purr", "query", "passage", ":"]
SIZE = 16


def _config(**more: Any) -> Any:
    from transformers import BertConfig

    return BertConfig(
        vocab_size=len(WORDS),
        hidden_size=SIZE,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=SIZE,
        max_position_embeddings=64,
        initializer_range=1.0,
        **more,
    )


def _save(model: Any, folder: Path) -> None:
    from transformers import BertTokenizerFast

    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizerFast(vocab={word: at for at, word in enumerate(WORDS)}).save_pretrained(folder)


def cross_encoder(folder: Path, labels: int = 1) -> Path:
    """Write a CrossEncoder that gives so many numbers for a pair."""
    import torch
    from transformers import BertForSequenceClassification

    torch.manual_seed(0)
    _save(BertForSequenceClassification(_config(num_labels=labels)), folder)
    return folder


def sentence_encoder(folder: Path, **prompts: str) -> Path:
    """Write an embedding model that puts these prompts before what it reads."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertModel

    torch.manual_seed(0)
    layers = folder / "layers"
    _save(BertModel(_config()), layers)
    transformer = Transformer(str(layers), max_seq_length=32)
    model = SentenceTransformer(modules=[transformer, Pooling(SIZE)], prompts=prompts, device="cpu")
    model.save_pretrained(str(folder / "model"))
    return folder / "model"
