"""What one system finds for questions with known answers: the course's, or the learner's.

    python -m course_lib.teaching.mine.measure RUN.json QUESTIONS KIND=DIR …

writes what the system of that process finds, and no metric: both systems are measured by the
course's metrics, since the learner's own may be among the functions that differ.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from course_lib.evaluation.corpora import Corpus, indexed, questions_about, searcher
from course_lib.evaluation.kept import write_run
from course_lib.evaluation.questions import read_questions
from course_lib.evaluation.runs import Run, evaluate
from course_lib.indexing import IngestOptions
from course_lib.records import Query
from course_lib.settings import project_root, settings

COURSES = {"docs": "documents", "manifests": "manifests", "code": "code"}
"""The kinds of the course's questions, and the folders in `data/` that they are about."""

METRICS = {"recall@10": "recall@10", "MRR": "mrr@10"}
"""What is shown of a run, and what it is called there."""


def find_all(name: str, questions: Path | None, corpora: Sequence[str]) -> Run:
    """Index the corpora and ask every question; without corpora, the course's of both."""
    from course_lib.embedder import EmbeddingClient

    data = project_root() / "data"
    folders = [Corpus.parse(given) for given in corpora] or [
        Corpus(kind, data / folder) for kind, folder in COURSES.items()
    ]
    courses = [data / "questions" / f"{folder}.jsonl" for folder in COURSES.values()]
    kinds = [one.kind for one in folders]
    files = [questions] if questions else courses
    asked = [one for file in files for one in read_questions(file, kinds=kinds)]
    options = IngestOptions(
        chunk_size=settings().chunk_size, chunk_overlap=settings().chunk_overlap, progress=True
    )
    embedder = EmbeddingClient(cache=True)
    with indexed(folders, embedder, options) as conn:
        search = searcher(conn, embedder, Query())
        return evaluate(search, questions_about(asked, folders), name=name, progress=True)


if __name__ == "__main__":
    _kept, _questions, *_corpora = sys.argv[1:]
    _file = Path(_questions) if _questions else None
    write_run(find_all("yours", _file, _corpora), Path(_kept))
