"""Bad inputs for everything that takes input: splitters, files, the contract, the API, the CLI.

Each is to end soon, with a result that can be stored or with an explained refusal. A traceback, a
status of 500, a hang and a great deal of memory are faults.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from course_lib.errors import CourseError
from course_lib.indexing import ingest_source_files
from course_lib.loader import Registry, check_lines, check_record, read_documents, split_text
from course_lib.records import Chunk, Document, Scope, Skipped
from course_lib.store import connect, fresh_database
from tests.faults.bad_calls import BadCalls
from tests.faults.bad_requests import BadRequests
from tests.faults.bad_texts import (
    bad_json,
    bad_record,
    some_bytes,
    some_text,
)
from tests.faults.ground import Hashed, environment, own_folder, peak_memory

SHARES = {"splitters": 35, "files": 10, "contract": 25, "API": 20, "CLI": 10}
"""Of a hundred inputs."""

MOST_SECONDS = 60.0
"""Of the processor's time, for one input."""

MOST_MEGABYTES = 600
"""More than before, in all."""

NAMES = (
    *("a.md", "a.txt", "a.yaml", "b.yml", "a.py", "a.pyi", "a.go", "a.sh", "a.issue.md"),
    *("kustomization.yaml", "structure.md", "a.rst", "Makefile"),
)
YAML = (".yaml", ".yml")
OWNER = Scope(tenant="local", repo="mill")


class FaultError(AssertionError):
    """An input that did not end as it should."""


@dataclass
class Tally:
    """How the inputs of one place ended, and how long the slowest took."""

    ends: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0


def feed(inputs: int, seed: int) -> dict[str, Any]:
    """Generate so many and feed them; return the figures.

    Raises
    ------
    FaultError
        If one did not end as it should; it names the kind of input, and the seed that makes it.
    """
    tallies: dict[str, Tally] = defaultdict(Tally)
    before = peak_memory()
    values = {"RAG_VECTOR_DIM": str(Hashed.dimension), "RAG_THREADS": "1"}
    with (
        environment(dict(values)),
        own_folder() as folder,
        fresh_database("bad") as database,
        BadRequests.open(database.url) as requests,
    ):
        accepted: list[Chunk] = []
        calls = BadCalls(folder, database.url)
        places: dict[str, Callable[[Random], tuple[str, str]]] = {
            "splitters": split_it,
            "files": lambda rng: read_it(rng, folder),
            "contract": lambda rng: check_it(rng, folder, accepted),
            "API": requests.send_one,
            "CLI": calls.make_one,
        }
        for number, place in enumerate(_places(inputs)):
            name = f"{seed}:{number}"
            _feed_one(place, name, places[place], tallies[place])
        stored = _store(database.url, accepted)
        requests.still_answers()
    more = peak_memory() - before
    if more > MOST_MEGABYTES:
        raise FaultError(f"the inputs took {more:.0f} MB of memory")
    return {
        "by place": {
            place: {
                "ends": dict(sorted(tally.ends.items())),
                "slowest, CPU s": round(tally.slowest, 2),
            }
            for place, tally in tallies.items()
        },
        "records that passed the contract and were stored": stored,
        "peak memory, MB more": round(more),
    }


def _places(inputs: int) -> list[str]:
    """Return where each input goes: mixed, and the same for every seed."""
    deck = [place for place, share in SHARES.items() for _ in range(share)]
    Random(0).shuffle(deck)
    return [deck[number % len(deck)] for number in range(inputs)]


def _feed_one(
    place: str, name: str, feed_it: Callable[[Random], tuple[str, str]], tally: Tally
) -> None:
    begin = time.process_time()
    try:
        kind, end = feed_it(Random(name))
    except Exception as error:
        raise FaultError(f"input {name} for {place}: {type(error).__name__}: {error}") from error
    seconds = time.process_time() - begin
    if seconds > MOST_SECONDS:
        raise FaultError(f"input {name} for {place} ({kind}) took {seconds:.0f} s")
    tally.ends[end] += 1
    tally.slowest = max(tally.slowest, seconds)


def split_it(rng: Random) -> tuple[str, str]:
    """Let a splitter have a bad text."""
    kind, text = some_text(rng)
    size = rng.choice([1, 7, 80, 512, 2_000])
    overlap = rng.randrange(min(size, 65))
    text = text[: 500 * size]  # each character a record of its own would only take long
    name = rng.choice(NAMES)
    if rng.random() < 0.15:
        spans = split_text(text, size, overlap)
        check_cover(text, [(span.start, span.end) for span in spans], name)
        return kind, "split"
    return kind, _parsed(Document(Path(name), name, text), size, overlap)


def _parsed(document: Document, size: int, overlap: int) -> str:
    try:
        chunks = Registry().parse(document, OWNER, chunk_size=size, chunk_overlap=overlap)
    except CourseError as error:
        return refusal(error)
    places = [(_offset(one, "charStart"), _offset(one, "charEnd")) for one in chunks]
    for chunk, (start, end) in zip(chunks, places, strict=True):
        assert document.content[start:end] == chunk.content, "a chunk is not part of the text"
        chunk.to_json().encode("utf-8")
    check_cover(document.content, places, document.name)
    return "split" if chunks else "nothing in it"


def _offset(chunk: Chunk, name: str) -> int:
    found = chunk.custom_meta[name]
    assert isinstance(found, int)
    return found


def check_cover(text: str, places: list[tuple[int, int]], name: str) -> None:
    """Check that everything but blanks lies in some piece.

    In YAML, separators, comments and directives between resources belong to none.
    """
    covered = bytearray(len(text))
    for start, end in places:
        covered[start:end] = b"\1" * (end - start)
    missing = [
        line
        for line in _uncovered(text, covered)
        if not (name.endswith(YAML) and _is_nothing(line))
    ]
    assert not missing, f"{name}: not in any piece: {missing[:3]}"


def _uncovered(text: str, covered: bytearray) -> list[str]:
    signs = (sign if not covered[at] else "\n" for at, sign in enumerate(text))
    return [
        line.strip() for line in "".join(signs).splitlines() if line.replace("\ufeff", "").strip()
    ]


def _is_nothing(line: str) -> bool:
    bare = line.removeprefix("\ufeff").removeprefix("---").removeprefix("...").strip()
    return not bare or bare.startswith(("#", "%"))


def read_it(rng: Random, folder: Path) -> tuple[str, str]:
    """Let the reader have a file of bad bytes, and a splitter what it makes of it."""
    kind, raw = some_bytes(rng)
    file = folder / rng.choice(NAMES)
    file.write_bytes(raw)
    skipped: list[Skipped] = []
    documents = read_documents(file, ("",), on_skip=skipped.append)
    file.unlink()
    if not documents:
        assert skipped and skipped[0].reason
        return kind, "left out with a reason"
    return kind, _parsed(documents[0], 512, 64)


def check_it(rng: Random, folder: Path, accepted: list[Chunk]) -> tuple[str, str]:
    """Let the contract have a bad record: as values, as JSON, or as a line of a file."""
    kind, record = bad_record(rng)
    given: Any = record
    if rng.random() < 0.5:
        kind, given = bad_json(rng, record)
    if rng.random() < 0.2:
        file = folder / "records.jsonl"
        raw = given if isinstance(given, bytes) else json.dumps(given).encode()
        file.write_bytes(raw + b"\n" + raw)
        found: list[Any] = list(check_lines(file))
    else:
        found = [check_record(given, "record 0")]
    for judged in found:
        if isinstance(judged, Chunk):
            accepted.append(judged)
        else:
            assert judged.code.startswith("KB_") and judged.record and judged.message
            str(judged).encode("utf-8", "strict")
    return kind, "passed" if any(isinstance(one, Chunk) for one in found) else "refused"


def refusal(error: CourseError) -> str:
    """Check that a refusal says what happened and what to do; return its kind."""
    assert str(error.args[0]).strip() and error.hint.strip(), f"says too little: {error!r}"
    return f"refused: {type(error).__name__}"


def _store(url: str, accepted: list[Chunk]) -> int:
    """Store every record that passed: what PostgreSQL would refuse, the contract refuses."""
    with connect(url, autocommit=True) as conn:
        done = ingest_source_files(
            map(json.loads, map(Chunk.to_json, accepted)), OWNER, conn=conn, embedder=Hashed()
        )
    twice = [one for one in done.rejections if "chunkIndex" not in one.field]
    assert not twice, twice[:3]
    return done.report.chunks
