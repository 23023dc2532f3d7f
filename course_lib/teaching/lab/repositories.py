"""The repositories that lab 10 can bring: the course's own, and a small part of Kubeflow's."""

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    """Two versions of a repository, what to take of it, a question, and a word of its answer."""

    repo: str
    old: str
    new: str
    endings: tuple[str, ...]
    paths: tuple[str, ...]
    question: str
    reason: str


HERON = Example(
    "heron/platform", "v1.0.0", "v1.1.0", (".yaml", ".py", ".go", ".sh", ".md"), (),
    "Why are pods of the forecast API killed?", "OOMKilled",
)  # fmt: skip
KUBEFLOW = Example(
    "kubeflow/manifests", "v1.8.1", "v1.9.1", (".yaml",),
    ("apps/pipeline/upstream/base/pipeline",), "How much memory does the API server get?",
    "memory:",
)  # fmt: skip
