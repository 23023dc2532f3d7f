"""How an ingest splits, encodes and reports: the options that travel together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from course_lib.errors import InputError
from course_lib.loader.recursive import check_arguments
from course_lib.loader.registry import Registry, default_registry
from course_lib.records import Chunk, Document, Scope
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """The options of `ingest` and of everything that brings an index up to date.

    Attributes
    ----------
    chunk_size, chunk_overlap
        As in `split_text`, in characters.
    batch_size
        Chunks that go through the model at once.
    registry
        Who parses what; by default this process's.
    progress
        Whether to show a bar on a terminal.
    say
        Called with a sentence about what is noteworthy: files left out, waiting for another run.

    Raises
    ------
    InputError
        If a size is out of its range.

    Examples
    --------
    >>> IngestOptions(chunk_size=1200).chunk_overlap
    64
    """

    chunk_size: int = CHUNK_SIZE
    chunk_overlap: int = CHUNK_OVERLAP
    batch_size: int = 32
    registry: Registry = field(default_factory=default_registry)
    progress: bool = False
    say: Say = lambda sentence: None

    def __post_init__(self) -> None:
        try:
            check_arguments("", self.chunk_size, self.chunk_overlap)
        except (TypeError, ValueError) as error:
            raise InputError(
                str(error), hint="Nothing was changed. Correct it and try again."
            ) from error

    def parse(self, file: Document, scope: Scope, parser_id: str | None = None) -> list[Chunk]:
        """Return the chunks of a file by its parser, as `Registry.parse` does."""
        return self.registry.parse(
            file,
            scope,
            parser_id=parser_id,
            chunk_size=self.chunk_size,
            chunk_overlap=self.chunk_overlap,
        )

    def parsed_with(self, file: Document, parser_id: str | None = None) -> tuple[str, str]:
        """Return which parser takes a file, with its version, and the settings that it uses.

        Raises
        ------
        FileRejectedError
            If no parser takes it.
        """
        parser = self.registry.parser_for(file, parser_id)
        return parser.state, parser.settings(self.chunk_size, self.chunk_overlap)
