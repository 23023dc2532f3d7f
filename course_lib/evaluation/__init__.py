"""Measuring: questions and a search go in; how much it finds, and how sure that is, comes out."""

from course_lib.evaluation.corpora import Corpus, indexed, questions_about
from course_lib.evaluation.kept import read_run, write_run
from course_lib.evaluation.metrics import hit_at, ndcg_at, recall_at, reciprocal_rank
from course_lib.evaluation.questions import Question, read_questions
from course_lib.evaluation.runs import Comparison, Run, compare, evaluate
from course_lib.evaluation.statistics import Interval, bootstrap_interval, paired_interval

__all__ = [
    "Comparison",
    "Corpus",
    "Interval",
    "Question",
    "Run",
    "bootstrap_interval",
    "compare",
    "evaluate",
    "hit_at",
    "indexed",
    "ndcg_at",
    "paired_interval",
    "questions_about",
    "read_questions",
    "read_run",
    "recall_at",
    "reciprocal_rank",
    "write_run",
]
