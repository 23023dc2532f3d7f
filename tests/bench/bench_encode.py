"""The encoder against stock sentence-transformers: many chunks on one core, and one cold query."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.engines import processor
from course_lib.embedder.trial import top_ten
from course_lib.embedder.weights import DEFAULT_MODEL, model_directory
from course_lib.loader import read_documents, split_document
from course_lib.settings import project_root
from tests.bench.measure import Row, Timed, cpu, take_turns

LIMIT_SECONDS, LIMIT_MB = 1.0, 250
PEAK = """
import json, time
from pathlib import Path
import psutil
status = Path("/proc/self/status")
if status.exists():
    line = next(l for l in status.read_text(encoding="utf-8").splitlines() if "VmHWM" in l)
    mb = int(line.split()[1]) / 1024
else:
    mb = psutil.Process().memory_info().rss / 2**20
print(json.dumps({"seconds": time.process_time(), "mb": mb}))
"""
OURS = "from course_lib.embedder import EmbeddingClient\nEmbeddingClient().encode(['q'])\n"
STOCK = """
import os
os.environ["HF_HUB_OFFLINE"] = "1"
from sentence_transformers import SentenceTransformer
SentenceTransformer({directory!r}, device="cpu").encode(["q"], show_progress_bar=False)
"""


def measure() -> list[Row]:
    """Encode the same chunks in turn, then start one process after the other."""
    return [*_many(), *_cold()]


def _many() -> list[Row]:
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


def _cold() -> list[Row]:
    EmbeddingClient(DEFAULT_MODEL).encode(["q"])  # chooses and converts where that is still to do
    stock = STOCK.format(directory=str(model_directory(DEFAULT_MODEL)))
    ours = [_process(OURS) for _ in range(5)]
    theirs = [_process(stock) for _ in range(2)]
    seconds, mb = (float(np.median([run[key] for run in ours])) for key in ("seconds", "mb"))
    their_seconds, their_mb = (min(run[key] for run in theirs) for key in ("seconds", "mb"))
    return [
        Row("encode", "one query, cold process", "sentence-transformers", seconds, their_seconds,
            "CPU-s", their_seconds / seconds),
        Row("encode", "one query, cold process", "limit", seconds, LIMIT_SECONDS, "CPU-s",
            LIMIT_SECONDS / seconds, 1.0),
        Row("encode", "one query, peak memory", "sentence-transformers", mb, their_mb, "MB",
            their_mb / mb),
        Row("encode", "one query, peak memory", "limit", mb, LIMIT_MB, "MB", LIMIT_MB / mb, 1.0),
    ]  # fmt: skip


def _process(program: str) -> dict[str, float]:
    command = [sys.executable, "-c", program + PEAK]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    found: dict[str, float] = json.loads(done.stdout)
    return found
