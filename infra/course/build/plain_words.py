"""Words that a reader with English as a second language reads twice, and what to write instead.

`hard_phrases` finds them in the pages, in the labs' sources, and in the library's comments and
texts. It takes a second. What it finds is advice, in `make build` and in `make test`.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

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
"""A hard phrase, and what is written instead. The list is short: each entry was found often."""

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


def hard_phrases(root: Path) -> list[str]:
    r"""Return each hard phrase of a checkout with its file, its line, and what to write instead.

    Parameters
    ----------
    root
        The checkout.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "page.md").write_text("One.\nIt was done in vain.", "utf-8")
    ...     hard_phrases(Path(folder))
    ["page.md:2: 'in vain'; write: without success"]
    """
    found: list[str] = []
    for path, line, text in _texts(root):
        plain = LEFT_BEHIND.sub(lambda match: " " * len(match[0]), text)
        for hard, instead in HARD.items():
            for match in re.finditer(hard, plain, re.IGNORECASE):
                at = line + text[: match.start()].count("\n")
                name = path.relative_to(root).as_posix()
                found.append(f"{name}:{at}: {match[0]!r}; write: {instead}")
    return found


def _texts(root: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield file, line and text of all pages, of the labs, and of comments and strings."""
    for pattern in PAGES:
        for path in sorted(root.glob(pattern)):
            yield path, 1, path.read_text(encoding="utf-8")
    for pattern in PROSE:
        for path in sorted(root.glob(pattern)):
            source = path.read_text(encoding="utf-8")
            for token in tokenize.generate_tokens(io.StringIO(source).readline):
                if token.type in {tokenize.COMMENT, tokenize.STRING} and " " in token.string:
                    yield path, token.start[0], token.string
