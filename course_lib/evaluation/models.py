"""Models compared: the same folders and questions with each of them, what they find and cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from course_lib.evaluation.corpora import Corpus, indexed, searcher
from course_lib.evaluation.questions import Question
from course_lib.evaluation.report import print_comparison
from course_lib.evaluation.runs import Run, evaluate
from course_lib.evaluation.statistics import INTERVALS
from course_lib.records import Query

if TYPE_CHECKING:
    from rich.console import Console

    from course_lib.embedder import EmbeddingClient
    from course_lib.indexing import IngestOptions

_BYTES = "SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('document_chunks')"


@dataclass(frozen=True)
class Measured:
    """What one model found, and what it costs.

    Attributes
    ----------
    run
        Its answers, under the model's name.
    dimension, max_seq_length
        Numbers in a vector; word pieces that it reads of a text.
    prompts
        What its configuration puts before a ``query`` and before a ``document``.
    filling
        Seconds from the folders to the index, with every text encoded.
    megabytes
        Of the chunks in the database, with all indexes.
    """

    run: Run
    dimension: int
    max_seq_length: int
    prompts: dict[str, str]
    filling: float
    megabytes: float


def measure_model(
    embedder: EmbeddingClient,
    corpora: Sequence[Corpus],
    questions: Sequence[Question],
    query: Query,
    options: IngestOptions | None = None,
    *,
    own: bool = False,
    cross_encoder: str = "",
) -> Measured:
    """Fill an index with one model, ask it every question, and drop it.

    Parameters
    ----------
    embedder
        The model; without a cache, or the time of filling is that of reading it.
    corpora, questions, query, options, own, cross_encoder
        As in `indexed`, `evaluate` and `searcher`.
    """
    dimension = embedder.dimension  # loads the model, which is not part of the time
    begun = time.perf_counter()
    with indexed(corpora, embedder, options) as conn:
        filling = time.perf_counter() - begun
        row = conn.execute(_BYTES).fetchone()
        search = searcher(conn, embedder, query, own=own, cross_encoder=cross_encoder)
        run = evaluate(search, questions, name=embedder.model_name, progress=True)
    size = int(row[0]) / 1e6 if row else 0.0
    prompts = {name: embedder.prompts.get(name, "") for name in ("query", "document")}
    return Measured(run, dimension, embedder.max_seq_length, prompts, filling, size)


def print_models(
    console: Console, show: Callable[[str], None], measured: Sequence[Measured]
) -> None:
    """Print a line a model, and by how much each differs from the first, question by question."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(caption=INTERVALS)
    table.add_column("model", overflow="fold")
    table.add_column("prompts", overflow="fold")
    for title in ("vector", "reads", "filling", "index", "a question"):
        table.add_column(title, justify="right")
    kinds = measured[0].run.kinds
    for kind in kinds:
        table.add_column(f"MRR@10, {kind}", justify="right")
    for one in measured:
        found = [str(one.run.about(kind).interval()).replace("[", "\\[") for kind in kinds]
        costs = (f"{one.filling:.1f} s", f"{one.megabytes:.1f} MB", f"{one.run.latency_ms:.0f} ms")
        prompts = ", ".join(repr(words) for words in one.prompts.values() if words) or "none"
        sizes = (str(one.dimension), str(one.max_seq_length))
        table.add_row(escape(one.run.name), escape(prompts), *sizes, *costs, *found)
    console.print(table)
    for other in measured[1:]:
        show(other.run.name)
        print_comparison(show, measured[0].run, other.run)


def as_json(measured: Sequence[Measured]) -> dict[str, object]:
    """Return model → its figures, for another program."""
    return {
        one.run.name: {
            "dimension": one.dimension,
            "max_seq_length": one.max_seq_length,
            "prompts": one.prompts,
            "filling_seconds": round(one.filling, 3),
            "index_megabytes": round(one.megabytes, 3),
            "question_ms": round(one.run.latency_ms, 3),
            "found": one.run.by_kind(),
        }
        for one in measured
    }
