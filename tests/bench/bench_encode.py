"""The encoder against stock sentence-transformers: chunks on one core, and the top ten kept."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.engines import processor
from course_lib.embedder.trial import top_ten
from course_lib.embedder.weights import DEFAULT_MODEL, model_directory
from course_lib.loader import read_documents, split_document
from course_lib.settings import project_root, settings
from tests.bench.measure import Row, Timed, cpu, take_turns


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
    reference = top_ten(stock.encode(questions), stock.encode(chunks))
    os.environ["RAG_EMBED_PRECISION"] = "bfloat16"  # as for filling an index
    settings.cache_clear()
    auto = EmbeddingClient(DEFAULT_MODEL, threads=1)
    clients = {f"auto ({auto.backend.name})": auto} | {
        name: EmbeddingClient(DEFAULT_MODEL, backend=name, threads=1)
        for name in ("onnx", "openvino")
    }
    contestants: dict[str, Timed] = {"stock": cpu(lambda: stock.encode(chunks, **stock_encode))}
    for name, client in clients.items():
        contestants[name] = cpu(lambda client=client: client.encode(chunks))  # type: ignore[misc]
    seconds = take_turns(contestants, turns=7)

    rows = []
    for name, client in clients.items():
        found = top_ten(client.encode(questions), client.encode(chunks))
        pairs = zip(found, reference, strict=True)
        kept = float(np.mean([len(set(mine) & set(theirs)) / 10 for mine, theirs in pairs]))
        is_auto = client is auto
        rows.append(
            Row(
                part="encode",
                what=f"{len(chunks)} chunks on one core, {name}",
                peer="SentenceTransformer.encode, batches of 32",
                ours=len(chunks) / seconds[name],
                theirs=len(chunks) / seconds["stock"],
                unit="chunks/CPU-s",
                ratio=seconds["stock"] / seconds[name],
                goal=4.0 if is_auto and "bf16" in name else None,
                note=f"{processor()}; {kept:.1%} of the top ten kept",
            )
        )
        if is_auto:
            rows.append(
                Row(
                    part="encode",
                    what="top ten kept",
                    peer="0.99 of torch's",
                    ours=kept,
                    theirs=0.99,
                    unit="",
                    ratio=kept / 0.99,
                    goal=1.0,
                )
            )
    return rows
