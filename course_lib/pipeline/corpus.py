"""What steps hand to each other: the documents of a source, in a file, and the shards they fall in.

The first line says where the documents come from, each other line is a document, or the name of one
that is there and could not be read. Later steps need no parameters but that file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from course_lib.errors import InputError
from course_lib.loader.jsonl import read_lines, write_jsonl
from course_lib.records import Document, Scope, Skipped

MOST_SHARDS = 1_000


@dataclass(frozen=True, slots=True)
class Origin:
    """Where documents come from, and where in the index they belong.

    Attributes
    ----------
    tenant, repo, branch
        As in `Scope`.
    partition
        Where all of them go; empty for the partition of each file's kind.
    commit, web
        Of a repository: the hash, and the page that citations lead to.
    complete
        Whether these are all there are, so that what is stored beside them is gone from the source.
    """

    tenant: str = "local"
    repo: str = "documents"
    branch: str = ""
    partition: str = "documentation"
    commit: str = ""
    web: str = ""
    complete: bool = True

    @property
    def scope(self) -> Scope:
        """Where the documents belong, as everything after the pipeline's files calls it.

        Raises
        ------
        pydantic.ValidationError
            If one of the names cannot be used.
        """
        return Scope(
            tenant=self.tenant,
            repo=self.repo,
            branch=self.branch,
            partition=self.partition or None,
        )


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a corpus; a document's name alone says which one it falls in.

    Examples
    --------
    >>> Shard.parse("2/4")
    Shard(number=2, of=4)
    >>> [str(shard) for shard in Shard.parse("2/4").all() if shard.holds("a.md")]
    ['1/4']
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

    def all(self) -> list[Shard]:
        """Return all shards that this one is one of."""
        return [Shard(number, self.of) for number in range(self.of)]

    def holds(self, name: str) -> bool:
        """Return whether a document of that name falls in this shard, on every machine alike."""
        return shard_of(name, self.of) == self.number


def shard_of(name: str, shards: int) -> int:
    """Return the number of the shard that a name belongs to, from 0 to `shards` - 1.

    Take the first 8 bytes of the SHA-256 digest of the name in UTF-8, and make one whole number of
    them, with the most significant byte first. The shard is the remainder when this number is
    divided by `shards`. If `shards` is less than 1, raise a `ValueError`.

    Examples
    --------
    >>> shard_of("a.md", 2), shard_of("a.md", 3), shard_of("a.md", 7)
    (1, 2, 4)
    >>> shard_of("a.md", 0)
    ValueError: 0 shards
    """
    if shards < 1:
        raise ValueError(f"{shards} shards")
    digest = sha256(name.encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") % shards


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
    return [str(shard) for shard in Shard(0, count).all()]


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents of a source, or of one shard of it.

    Attributes
    ----------
    origin
        Where they come from.
    documents
        In the order of the source.
    unread
        What is there and could not be read, with the reason; a folder has a slash at its end.
    """

    origin: Origin
    documents: Sequence[Document]
    unread: Sequence[Skipped] = ()

    def fingerprint(self) -> str:
        """Return a hash of all of it: equal for equal content, whenever and wherever it was read.

        Examples
        --------
        >>> corpus = Corpus(Origin(), [Document(Path("a.md"), "a.md", "Hello.")])
        >>> corpus.fingerprint()[:12]
        '824ca6c36887'
        """
        digest = sha256()
        for line in _lines(self):
            digest.update(line.encode("utf-8") + b"\n")
        return digest.hexdigest()


def write_corpus(path: str | os.PathLike[str], corpus: Corpus) -> dict[str, int]:
    """Write a corpus to a file, whole or not at all, and return its counts.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    write_jsonl(path, _lines(corpus))
    return {
        "documents": len(corpus.documents),
        "characters": sum(len(document.content) for document in corpus.documents),
        "unread": len(corpus.unread),
    }


def read_corpus(path: str | os.PathLike[str], shard: Shard | None = None) -> Corpus:
    """Read a corpus, or only the documents of one shard; what was not read comes with each.

    Raises
    ------
    InputError
        If there is no such file, or it is not a corpus.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "documents.jsonl"
    >>> corpus = Corpus(Origin(repo="notes"), [Document(Path("a.md"), "a.md", "Hello.")])
    >>> write_corpus(file, corpus)
    {'documents': 1, 'characters': 6, 'unread': 0}
    >>> back = read_corpus(file)
    >>> back.origin.repo, back.documents[0].content
    ('notes', 'Hello.')
    """
    lines = read_values(path)
    try:
        origin = Origin(**next(lines)["origin"])
        documents, unread = [], []
        for value in lines:
            if "unread" in value:
                unread.append(Skipped(value["name"], value["unread"]))
            elif shard is None or shard.holds(value["name"]):
                name = value["name"]
                documents.append(Document(Path(name), name, value["content"], value["metadata"]))
    except (StopIteration, KeyError, TypeError) as error:
        raise InputError(
            f"{path} does not hold the documents of a source: {error!r}",
            hint="Give the file that the step before wrote.",
        ) from error
    return Corpus(origin, documents, unread)


def say(sentence: str) -> None:
    """Print a sentence into the log of a step, at once."""
    print(sentence, flush=True)


def read_values(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file."""
    for number, _, raw in read_lines(path):
        try:
            yield json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}, line {number} is not JSON", hint="Run the step before again."
            ) from error


def _lines(corpus: Corpus) -> Iterable[str]:
    yield json.dumps({"origin": asdict(corpus.origin)}, ensure_ascii=False)
    for document in corpus.documents:
        value = {"name": document.name, "content": document.content, "metadata": document.metadata}
        yield json.dumps(value, ensure_ascii=False)
    for file in corpus.unread:
        yield json.dumps({"name": file.name, "unread": file.reason}, ensure_ascii=False)
