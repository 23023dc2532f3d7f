"""The encoder against stock sentence-transformers: chunks on one core, and the top ten kept."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.weights import DEFAULT_MODEL, model_directory
from course_lib.loader import read_documents, split_document
from course_lib.settings import project_root
from tests.bench.measure import Row, Timed, cpu, take_turns

GOALS = {"openvino": 1.6, "openvino-bfloat16": 4.0}


def measure() -> list[Row]:
    """Encode the same chunks in turn."""
    import torch
    from sentence_transformers import SentenceTransformer

    documents = read_documents(project_root() / "data" / "documents")
    chunks = [chunk.content for document in documents for chunk in split_document(document)]
    lines = (project_root() / "data" / "questions" / "documents.jsonl").read_text(encoding="utf-8")
    questions = [json.loads(line)["question"] for line in lines.splitlines()]
    torch.set_num_threads(1)
    stock = SentenceTransformer(str(model_directory(DEFAULT_MODEL)), device="cpu")
    stock_encode: dict[str, Any] = {"batch_size": 32, "show_progress_bar": False}
    reference = ten_best(stock.encode(questions), stock.encode(chunks))
    both = (
        EmbeddingClient(DEFAULT_MODEL, threads=1),
        EmbeddingClient(DEFAULT_MODEL, threads=1, precision="bfloat16"),  # for filling an index
    )
    # Where the processor has no bfloat16, the two are one.
    clients = {client.backend.name: client for client in both}
    contestants: dict[str, Timed] = {"stock": cpu(lambda: stock.encode(chunks, **stock_encode))}
    for name, client in clients.items():
        contestants[name] = cpu(lambda client=client: client.encode(chunks))  # type: ignore[misc]
    seconds = take_turns(contestants, turns=7)

    rows = []
    for name, client in clients.items():
        found = ten_best(client.encode(questions), client.encode(chunks))
        pairs = zip(found, reference, strict=True)
        kept = float(np.mean([np.isin(mine, theirs).mean() for mine, theirs in pairs]))
        rows += [
            Row(
                part="encode",
                what=f"{len(chunks)} chunks on one core, {name}",
                peer="SentenceTransformer.encode, batches of 32",
                ours=len(chunks) / seconds[name],
                theirs=len(chunks) / seconds["stock"],
                unit="chunks/CPU-s",
                ratio=seconds["stock"] / seconds[name],
                goal=GOALS[name],
            ),
            Row(
                part="encode",
                what=f"top ten kept, {name}",
                peer="0.99 of torch's",
                ours=kept,
                theirs=0.99,
                unit="",
                ratio=kept / 0.99,
                goal=1.0,
            ),
        ]
    return rows


def ten_best(questions: Any, passages: Any) -> Any:
    """Return for each question the places of the ten nearest passages, best first."""
    return np.argsort(-(questions @ passages.T), axis=1, kind="stable")[:, :10]
