"""Measuring: questions and a search go in; how much it finds, and how sure that is, comes out."""

from course_lib.evaluation.corpora import Corpus, indexed, questions_about
from course_lib.evaluation.kept import read_run, write_run
from course_lib.evaluation.metrics import recall_at, reciprocal_rank
from course_lib.evaluation.questions import Question, read_questions
from course_lib.evaluation.runs import Run, compare, evaluate

__all__ = [
    "Corpus",
    "Question",
    "Run",
    "compare",
    "evaluate",
    "indexed",
    "questions_about",
    "read_questions",
    "read_run",
    "recall_at",
    "reciprocal_rank",
    "write_run",
]
