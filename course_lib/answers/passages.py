"""What an answer is based on: passages out of the index, numbered, each with where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from course_lib.addresses import is_link
from course_lib.records import SearchResult, embedded_text

FoundBy = Literal["hint", "structure", "search"]
"""Why a passage is there: its file was named, it describes the repository, or it was found."""

STRUCTURE = "structure"
"""The kind of the chunks of STRUCTURE.md."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of the index in a prompt.

    Attributes
    ----------
    index
        Its number in the prompt, from 1: what an answer cites.
    result
        The chunk as a search returned it.
    origin
        Why it is there.
    score
        How relevant it is among its like (larger is better): what goes first when room is short.
    also_in
        Other branches that hold the same text under the same path.

    Examples
    --------
    >>> from course_lib.records import SearchResult
    >>> found = SearchResult(
    ...     "1", "docs/a.md", 0, "Drift is slow.", 0.7, 0.7, "documentation", "docs", "", "section",
    ...     "Drift", metadata={"lineStart": 3, "lineEnd": 9})
    >>> passage = Passage(1, found, "search", 0.7)
    >>> passage.place
    'docs/a.md:3-9'
    """

    index: int
    result: SearchResult
    origin: FoundBy
    score: float
    also_in: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The document's name."""
        return self.result.document_name

    @property
    def lines(self) -> tuple[int, int] | None:
        """The first and the last line, where the chunk knows them."""
        first, last = (self.result.metadata.get(name) for name in ("lineStart", "lineEnd"))
        return (first, last) if isinstance(first, int) and isinstance(last, int) else None

    @property
    def place(self) -> str:
        """The document's name, with the lines where they are known."""
        return f"{self.path}:{self.lines[0]}-{self.lines[1]}" if self.lines else self.path

    @property
    def link(self) -> str:
        """Where the text can be read; empty where that is unknown."""
        link = self.result.citation_url
        return link if link and is_link(link) else ""

    @property
    def text(self) -> str:
        """The content, under the header of what it was cut out of."""
        return embedded_text(self.result.content, self.result.metadata.get("header"))


@dataclass(frozen=True, slots=True)
class Context:
    """What was gathered for a question.

    Attributes
    ----------
    question
        The question.
    passages
        In the order in which they are numbered; none if nothing was found.
    hints, unknown_hints
        Files that the question names, as it writes them: those that are in the index, and others.
    has_structure
        Whether the index holds a STRUCTURE.md.
    reranker
        The CrossEncoder that ordered the passages; empty without one.
    """

    question: str
    passages: tuple[Passage, ...]
    hints: tuple[str, ...] = ()
    unknown_hints: tuple[str, ...] = ()
    has_structure: bool = False
    reranker: str = ""
