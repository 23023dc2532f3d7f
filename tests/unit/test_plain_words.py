"""Words that a reader with English as a second language reads twice do not come back."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from course_lib.settings import project_root

HARD = {
    r"\bbehind\b(?! a proxy| a port| a company)": "after",
    r"\b(lies|lie|lay)\b": "is, are, was",
    r"\b(stands?|stood)\b(?! (in )?for| out\b)": "is, are, was",
    r"(?<!here )\b(is|are|was|were) no (?!one\b|longer\b|more\b|less\b|larger\b)": "is not a",
    r"\banew\b": "again",
    r"\bfor ever\b": "forever",
    r"\bin vain\b": "without success",
    r"\bat hand\b": "there, known, measured",
    r"\b(yardstick|manners|straddles?|hitherto|whence|lest|beholden)\b": "the literal word",
    r"\bit is (he|she|they) who\b": "the plain order of words",
}
"""A hard phrase, and what is written instead."""

PAGES = (
    "*.md",
    "labs/*.md",
    "labs/capstone/*.md",
    "data/*.md",
    "course_lib/**/*.md",
    "infra/**/*.md",
)
PROSE = ("solutions/*.py", "course_lib/**/*.py")
LEFT_BEHIND = re.compile(r"\b(left|leaves?|leaving)\b[^.]{0,30}\bbehind\b")


def _texts() -> Iterator[tuple[Path, int, str]]:
    """Yield file, line and text of all pages, of the labs, and of comments and strings."""
    root = project_root()
    for pattern in PAGES:
        for path in sorted(root.glob(pattern)):
            yield path, 1, path.read_text(encoding="utf-8")
    for pattern in PROSE:
        for path in sorted(root.glob(pattern)):
            source = path.read_text(encoding="utf-8")
            for token in tokenize.generate_tokens(io.StringIO(source).readline):
                if token.type in {tokenize.COMMENT, tokenize.STRING} and " " in token.string:
                    yield path, token.start[0], token.string


def test_hard_phrases_are_not_written() -> None:
    """The list is short on purpose: each entry was found often, and has a plain word."""
    found: list[str] = []
    for path, line, text in _texts():
        plain = LEFT_BEHIND.sub(lambda match: " " * len(match[0]), text)
        for hard, instead in HARD.items():
            for match in re.finditer(hard, plain, re.IGNORECASE):
                at = line + text[: match.start()].count("\n")
                name = path.relative_to(project_root())
                found.append(f"{name}:{at}: {match[0]!r}; write: {instead}")
    assert not found, f"{len(found)} hard phrases:\n" + "\n".join(found)
