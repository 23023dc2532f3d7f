"""Grounded answers: a question goes in, what the index says of it comes out, with its sources."""

from course_lib.answers.answering import Answer, answer
from course_lib.answers.budget import ensure_prompt_fits
from course_lib.answers.citations import find_citations
from course_lib.answers.context import ContextOptions, retrieve_context
from course_lib.answers.generators import GenerationError, Generator, Request, generator
from course_lib.answers.hints import extract_file_hints, file_manifest
from course_lib.answers.passages import Context, Passage
from course_lib.answers.prompts import Prompt, boundary, build_prompt, fence, system_prompt
from course_lib.answers.selection import maximal_marginal_relevance, without_copies
from course_lib.answers.tokens import count_tokens, resolve_context_window, tokenizer_name

__all__ = [
    "Answer",
    "Context",
    "ContextOptions",
    "GenerationError",
    "Generator",
    "Passage",
    "Prompt",
    "Request",
    "answer",
    "boundary",
    "build_prompt",
    "find_citations",
    "count_tokens",
    "ensure_prompt_fits",
    "extract_file_hints",
    "fence",
    "file_manifest",
    "generator",
    "maximal_marginal_relevance",
    "resolve_context_window",
    "retrieve_context",
    "system_prompt",
    "tokenizer_name",
    "without_copies",
]
