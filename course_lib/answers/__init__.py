"""Grounded answers: a question goes in, what the index says about it comes out, with its sources.

Each name is imported when it is first asked for: an edit needs no citations, and nothing here needs
an HTTP client before there is somebody to ask.
"""

from typing import TYPE_CHECKING

from course_lib import import_when_asked

if TYPE_CHECKING:
    from course_lib.answers.answering import Answer, answer, prepare
    from course_lib.answers.budget import Budget, Fitted, ensure_prompt_fits
    from course_lib.answers.citations import Citations, find_citations
    from course_lib.answers.context import ContextOptions, retrieve_context
    from course_lib.answers.generators import GenerationError, Generator, Request, generator
    from course_lib.answers.hints import extract_file_hints, file_manifest
    from course_lib.answers.passages import Context, Passage
    from course_lib.answers.prompts import Prompt, boundary, build_prompt, fence, system_prompt
    from course_lib.answers.selection import maximal_marginal_relevance, without_copies
    from course_lib.answers.tokens import count_tokens, resolve_context_window, tokenizer_name
else:
    __getattr__ = import_when_asked(
        __name__,
        {
            "answering": ["Answer", "answer", "prepare"],
            "budget": ["Budget", "Fitted", "ensure_prompt_fits"],
            "citations": ["Citations", "find_citations"],
            "context": ["ContextOptions", "retrieve_context"],
            "generators": ["GenerationError", "Generator", "Request", "generator"],
            "hints": ["extract_file_hints", "file_manifest"],
            "passages": ["Context", "Passage"],
            "prompts": ["Prompt", "boundary", "build_prompt", "fence", "system_prompt"],
            "selection": ["maximal_marginal_relevance", "without_copies"],
            "tokens": ["count_tokens", "resolve_context_window", "tokenizer_name"],
        },
    )

__all__ = [
    "Answer",
    "Budget",
    "Citations",
    "Context",
    "ContextOptions",
    "Fitted",
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
    "prepare",
    "resolve_context_window",
    "retrieve_context",
    "system_prompt",
    "tokenizer_name",
    "without_copies",
]
