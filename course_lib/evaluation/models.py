"""Models compared: the same folders and questions with each of them, what they find and cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

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


def measure_model(
    embedder: EmbeddingClient,
    corpora: Sequence[Corpus],
    questions: Sequence[Question],
    query: Query,
    options: IngestOptions | None = None,
    *,
    own: bool = False,
    cross_encoder: str = "",
) -> tuple[Run, dict[str, Any]]:
    """Fill an index with one model, ask it every question, and drop it.

    Return what it found, under the model's name, and what it costs: `filling_seconds` from the
    folders to the index, with every text encoded, and `index_megabytes` of the chunks in the
    database, with all indexes.

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
    return run, {
        "dimension": dimension,
        "max_seq_length": embedder.max_seq_length,
        "prompts": {name: embedder.prompts.get(name, "") for name in ("query", "document")},
        "filling_seconds": round(filling, 3),
        "index_megabytes": round(size, 3),
        "question_ms": round(run.latency_ms, 3),
    }


def print_models(
    console: Console, show: Callable[[str], None], measured: Sequence[tuple[Run, dict[str, Any]]]
) -> None:
    """Print a line a model, and by how much each differs from the first, question by question."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(caption=INTERVALS)
    table.add_column("model", overflow="fold")
    table.add_column("prompts", overflow="fold")
    for title in ("vector", "reads", "filling", "index", "a question"):
        table.add_column(title, justify="right")
    first = measured[0][0]
    for kind in first.kinds:
        table.add_column(f"MRR@10, {kind}", justify="right")
    for run, one in measured:
        prompts = ", ".join(repr(words) for words in one["prompts"].values() if words) or "none"
        table.add_row(
            escape(run.name),
            escape(prompts),
            str(one["dimension"]),
            str(one["max_seq_length"]),
            f"{one['filling_seconds']:.1f} s",
            f"{one['index_megabytes']:.1f} MB",
            f"{one['question_ms']:.0f} ms",
            *(str(run.about(kind).interval()).replace("[", "\\[") for kind in first.kinds),
        )
    console.print(table)
    for run, _ in measured[1:]:
        show(run.name)
        print_comparison(show, first, run)
