"""The encoder against stock sentence-transformers: many chunks on one core, and cold processes."""

from __future__ import annotations

import json
import sys
from statistics import median
from typing import Any

import numpy as np

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.engines import processor
from course_lib.embedder.trial import top_ten
from course_lib.embedder.weights import DEFAULT_MODEL, model_directory
from course_lib.indexing import ingest
from course_lib.loader import read_documents, split_document
from course_lib.settings import project_root
from course_lib.store import connect, fresh_database
from tests.bench.measure import Row, Timed, cpu, take_turns
from tests.bench.processes import CAN_MEASURE, Cost, cost

LIMIT_SECONDS, LIMIT_MB = 1.0, 250
QUESTION = "how do I undo a release?"
COURSE = "from course_lib.cli import main; main()"
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
    """Compare whole processes, which take turns: `course search`, a text encoded, and stock."""
    if not CAN_MEASURE:
        return []
    client = EmbeddingClient(DEFAULT_MODEL)
    client.encode(["q"])  # chooses and converts where that is still to do
    documents = project_root() / "data" / "documents"
    python = [sys.executable, "-c"]
    ours = {
        "course search": [*python, COURSE, "search", QUESTION],
        "one query": [*python, OURS],
    }
    stock = [*python, STOCK.format(directory=str(model_directory(DEFAULT_MODEL)))]
    costs: dict[str, list[Cost]] = {name: [] for name in (*ours, "stock")}
    with fresh_database("bench") as database:
        with connect(database.url, autocommit=True) as conn:
            ingest(documents, conn=conn, embedder=client)
        environment = {"DATABASE_URL": database.url}
        for turn in range(-1, 9):  # the first one writes bytecode and fills the file cache
            for name, command in ours.items():
                costs[name].append(cost(command, environment))
            if turn % 3 == 2:
                costs["stock"].append(cost(stock, environment))
    medians = {
        name: Cost(median(one.seconds for one in some[-9:]), median(one.mb for one in some[-9:]))
        for name, some in costs.items()
    }
    theirs = medians["stock"]
    rows = []
    for name in ours:
        found = medians[name]
        what = f"{name}, cold process"
        rows += [
            Row("encode", what, "sentence-transformers, one query", found.seconds, theirs.seconds,
                "CPU-s", theirs.seconds / found.seconds),
            Row("encode", what, "limit", found.seconds, LIMIT_SECONDS, "CPU-s",
                LIMIT_SECONDS / found.seconds, 1.0, "median of 9"),
            Row("encode", f"{name}, peak memory", "sentence-transformers, one query", found.mb,
                theirs.mb, "MB", theirs.mb / found.mb),
            Row("encode", f"{name}, peak memory", "limit", found.mb, LIMIT_MB, "MB",
                LIMIT_MB / found.mb, 1.0),
        ]  # fmt: skip
    return rows
