"""What steps hand to each other: the documents of a source, in a file, and the shards they fall in.

The file says where the documents come from, and names those that are there and could not be read.
Later steps need no parameters but that file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from course_lib.errors import InputError
from course_lib.loader import write_jsonl
from course_lib.loader.shards import shard_of
from course_lib.loader.splitting import Origin
from course_lib.loader.staged import staged_lines
from course_lib.records import Document

MOST_SHARDS = 1_000

FORMAT = "4"
"""Of the files that steps hand to each other: one of another format is not used again."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a corpus; a document's name alone says which one it falls in.

    Examples
    --------
    >>> Shard.parse("2/4")
    Shard(number=2, of=4)
    >>> Shard.parse("1/4").holds("a.md")
    True
    """

    number: int = 0
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard that a text such as ``"2/4"`` names.

        It is a text because numbers in lists come out of Kubeflow as floats.

        Raises
        ------
        InputError
            If it is none, or there are no such shards.
        """
        match = re.fullmatch("([0-9]{1,4})/([0-9]{1,4})", text)
        if match is None or not int(match[1]) < int(match[2]) <= MOST_SHARDS:
            raise InputError(
                f"{text!r} is not a shard",
                hint=f'Give NUMBER/OF, "0/4" to "3/4" for instance; at most {MOST_SHARDS}.',
            )
        return cls(int(match[1]), int(match[2]))

    def holds(self, name: str) -> bool:
        """Return whether a document of that name falls in this shard, on every machine alike."""
        return shard_of(name, self.of) == self.number


def shard_names(count: int) -> list[str]:
    """Return the names of that many shards.

    Raises
    ------
    InputError
        If it is not between 1 and 1,000: a fan-out over nothing crashes, and every shard is a pod.

    Examples
    --------
    >>> shard_names(3)
    ['0/3', '1/3', '2/3']
    """
    if not 1 <= count <= MOST_SHARDS:
        raise InputError(f"{count} shards", hint=f"Use 1 to {MOST_SHARDS}.")
    return [str(Shard(number, count)) for number in range(count)]


@dataclass(frozen=True, slots=True)
class LoadedDocuments:
    """The documents of a source.

    Attributes
    ----------
    origin
        Where they come from, and what is there and could not be read.
    documents
        In the order of the source.
    """

    origin: Origin
    documents: Sequence[Document]

    def lines(self) -> Iterator[str]:
        """Yield it as JSON Lines: equal for equal content, wherever it was read."""
        placed = (replace(one, path=Path(one.name)) for one in self.documents)
        return staged_lines(self.origin, placed)

    def fingerprint(self) -> str:
        """Return a hash of all of it: equal for equal content, whenever and wherever it was read.

        Examples
        --------
        >>> from course_lib.records import Scope
        >>> corpus = LoadedDocuments(Origin(Scope()), [Document(Path("a.md"), "a.md", "Hello.")])
        >>> corpus.fingerprint()[:12]
        '9ebb37ed1389'
        """
        return sha256("\n".join(self.lines()).encode("utf-8")).hexdigest()


def write_corpus(path: str | os.PathLike[str], corpus: LoadedDocuments) -> dict[str, int]:
    """Write a corpus to a file, whole or not at all, and return its counts.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    write_jsonl(path, corpus.lines())
    return {
        "documents": len(corpus.documents),
        "characters": sum(len(document.content) for document in corpus.documents),
        "unread": len(corpus.origin.kept),
    }


def say(sentence: str) -> None:
    """Print a sentence into the log of a step, at once."""
    print(sentence, flush=True)
