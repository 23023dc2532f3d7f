"""Two hundred clients at one service, and questions while another client sends texts in bulk."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import numpy as np

from course_lib.embedder import EmbeddingClient
from course_lib.indexing import ingest
from course_lib.settings import project_root
from course_lib.store import connect, fresh_database
from tests.faults.ground import Tell
from tests.service.crowd import Crowd, ask_all
from tests.service.running import command

CLIENTS = 200
TEXTS = 256
STEPS = 3


def ask_much(seconds: float, tell: Tell = lambda done: None) -> dict[str, Any]:
    """Let one client ask alone, then many at once; return the milliseconds that answers took.

    Raises
    ------
    AssertionError
        If one request of any client was not answered well.
    """
    data = project_root() / "data"
    lines = (data / "questions" / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    with fresh_database("crowd") as database:
        with connect(database.url, autocommit=True) as conn:
            ingest(data / "documents", conn=conn, embedder=EmbeddingClient())
        with command(database.url) as service:
            one = ask_all(service.url, questions, 1, seconds / 6)
            tell(1)
            many = ask_all(service.url, questions, CLIENTS, seconds)
            tell(1)
            beside = _beside_texts(service.url, questions)
            tell(1)
    failures = one.failures + many.failures + beside.failures
    assert not failures, f"{len(failures)} failures, such as {failures[0]}"
    return {
        "one client": _figures(one),
        f"{CLIENTS} clients": _figures(many) | {"seconds": seconds},
        f"one client beside {TEXTS} texts": _figures(beside),
    }


def _beside_texts(url: str, questions: list[str]) -> Crowd:
    """Ask while another client has 256 long texts encoded, again and again."""
    long = {"texts": [f"{number}: " + " ".join(questions)[:1000] for number in range(TEXTS)]}
    done = threading.Event()
    beside = Crowd([], [])

    def send() -> None:
        with httpx.Client(base_url=url, timeout=600) as client:
            answer = client.post("/embeddings", json=long)
            if answer.status_code != 200:
                beside.failures.append(f"{answer.status_code} {answer.text[:200]}")
        done.set()

    sender = threading.Thread(target=send)
    sender.start()
    while not done.is_set():
        found = ask_all(url, questions, 1, 1)
        beside.seconds.extend(found.seconds)
        beside.failures.extend(found.failures)
    sender.join()
    return beside


def _figures(crowd: Crowd) -> dict[str, float]:
    p50, p99 = np.percentile(crowd.seconds, (50, 99)) * 1000
    most = max(crowd.seconds) * 1000
    return {
        "answers": len(crowd.seconds),
        "p50 ms": round(float(p50), 1),
        "p99 ms": round(float(p99), 1),
        "most ms": round(most, 1),
    }
