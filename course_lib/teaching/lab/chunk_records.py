"""What the lab about skipping shows: a nightly index, and what a choice of fields costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.embedder import EmbeddingClient
from course_lib.loader import Registry, read_documents
from course_lib.records import Chunk, Scope
from course_lib.settings import project_root
from course_lib.teaching.lab.figures.base import Figure, chart, picture

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

Index = dict[object, tuple[Chunk, "npt.NDArray[np.float32]"]]
"""Key → the record of a piece, and its vector."""

State = tuple[Sequence[Chunk], str]
"""The records of a night, and the name of the model."""

Key = Callable[[Chunk, str], object]
"""Record, model → what the vector is found by."""

FIELDS: dict[str, Key] = {
    "tenant": lambda chunk, _: chunk.tenant_id,
    "path": lambda chunk, _: chunk.source_path,
    "name": lambda chunk, _: chunk.name,
    "header": lambda chunk, _: chunk.custom_meta.get("header"),
    "content": lambda chunk, _: chunk.content,
    "lines": lambda chunk, _: (chunk.line_start, chunk.line_end),
    "parser": lambda chunk, _: (chunk.parser_id, chunk.parser_version),
    "model": lambda _, model: model,
}
"""What a key can be made of."""


LOOKS = {
    "needed": ("#0072b2", ""),
    "wasted": ("#e69f00", "///"),
    "wrong": ("#d55e00", "xxx"),
    "skipped": ("#d9d9d9", ""),
}
"""What happens to a piece → its colour and its hatch in the figures."""


def read_nights(folder: Path, model: str) -> tuple[list[Chunk], list[Chunk], dict[str, State]]:
    """Return the pieces of Heron's other files, those of `drift.py`, and seven changes of these.

    Parameters
    ----------
    folder
        The code of Heron.
    model
        The name of the model.

    Returns
    -------
    tuple
        Two lists of pieces, and what has happened → the pieces and the model of that night.
    """
    heron, parse = Scope(tenant="acme", repo="heron"), Registry().parse
    code = {one.name: one for one in read_documents(folder, (".py", ".go", ".sh"))}
    drift = code.pop("heron/drift.py")
    pieces = parse(drift, heron)

    def edited(old: str, new: str) -> list[Chunk]:
        return parse(replace(drift, content=drift.content.replace(old, new)), heron)

    changed = {
        "a line is corrected": edited("/ len(values)", "/ max(1, len(values))"),
        "an import is added": edited("import math", "import io\nimport math"),
        "inspect is renamed": edited("def inspect", "def compare"),
        "the file is renamed": parse(replace(drift, name="heron/shift.py"), heron),
        "the parser is newer": [
            one.model_copy(update={"parser_version": "9.0.0"}) for one in pieces
        ],
        "the model is another": pieces,
        "globex has the file, too": parse(drift, Scope(tenant="globex", repo="heron")),
    }
    nights: dict[str, State] = {night: (chunks, model) for night, chunks in changed.items()}
    nights["the model is another"] = pieces, "another model"
    return [chunk for file in code.values() for chunk in parse(file, heron)], pieces, nights


def key_of(names: Iterable[str]) -> Key:
    """Return a key of these `FIELDS`."""
    fields = [FIELDS[name] for name in names]
    return lambda chunk, model: tuple(field(chunk, model) for field in fields)


def index_again(
    last: Index,
    chunks: Sequence[Chunk],
    key: Callable[[Chunk], object],
    encode: Callable[..., npt.NDArray[np.float32]],
) -> Index:
    """Return tonight's index: what has a known key stays as it was, the rest is encoded.

    How many keys are new, skipped and gone is printed.

    Parameters
    ----------
    last
        Last night's index; empty for the first night.
    chunks
        The records of tonight. Of two with one key, the index has the last one.
    key
        What tells whether a record is known.
    encode
        Texts → unit vectors, such as ``lab.encode``.

    Examples
    --------
    >>> from course_lib.teaching.checks.lab04 import piece
    >>> def by_content(chunk): return chunk.content
    >>> last = index_again({}, [piece(), piece(content="Bye.")], by_content, list)
    2 new, 0 skipped, 0 gone
    >>> index = index_again(last, [piece(), piece(content="Hi.")], by_content, list)
    1 new, 1 skipped, 1 gone
    """
    tonight = {key(chunk): chunk for chunk in chunks}
    new = {name: chunk for name, chunk in tonight.items() if name not in last}
    vectors = encode([chunk.embedded_text for chunk in new.values()])
    made = dict(zip(new, zip(new.values(), vectors, strict=True), strict=True))
    print(f"{len(new)} new, {len(tonight) - len(new)} skipped, {len(last.keys() - tonight)} gone")
    return {name: made[name] if name in made else last[name] for name in tonight}


def ask(
    index: Index,
    question: str,
    code: Sequence[Chunk],
    encode: Callable[..., npt.NDArray[np.float32]],
) -> pd.DataFrame:
    """Return what a search shows of the record most similar to a question, and what is so.

    Parameters
    ----------
    index
        Where to search.
    question
        In any words.
    code
        The pieces of tonight's code: the one with the same content is what is so.
    encode
        Texts → unit vectors, such as ``lab.encode``.
    """
    import numpy as np
    import pandas as pd

    records, vectors = zip(*index.values(), strict=True)
    found = records[int((np.stack(vectors) @ encode([question])[0]).argmax())]
    real = next(one for one in code if one.content == found.content)
    rows = [
        (
            one.name,
            f"{one.line_start}–{one.line_end}",
            str(one.custom_meta.get("header", "")).partition("\n")[0],
            " ".join(one.content.split())[:36] + " …",
        )
        for one in (found, real)
    ]
    return pd.DataFrame(
        rows,
        index=["the search shows", "the code has"],
        columns=["name", "lines", "header", "begins with"],
    )


def key_costs(last: State, nights: Mapping[str, State], key: Key) -> pd.DataFrame:
    """Return how many pieces are needed, wasted, wrong, and skipped, if a new key is encoded.

    Parameters
    ----------
    last
        What was indexed last night.
    nights
        What has happened → what is there tonight.
    key
        What the vector of a piece is found by.

    Returns
    -------
    pandas.DataFrame
        A row for each night: pieces that have to be encoded and are, pieces that are encoded
        although the right vector was stored, pieces that get the vector of another text, model or
        tenant, and pieces that are rightly skipped.
    """
    import pandas as pd

    rows = {night: _counts(last, tonight, key) for night, tonight in nights.items()}
    return pd.DataFrame(rows, index=["needed", "wasted", "wrong", "skipped"]).T


def _counts(last: State, tonight: State, key: Key) -> list[int]:
    stored: dict[object, set[object]] = {}
    counts: Counter[str] = Counter()
    for is_new, (chunks, model) in enumerate((last, tonight)):
        for chunk in chunks:
            found, whose = key(chunk, model), (chunk.tenant_id, chunk.embedded_text, model)
            if not is_new:
                stored.setdefault(found, set()).add(whose)
            elif found in stored:
                counts["skipped" if stored[found] == {whose} else "wrong"] += 1
            else:
                counts["wasted" if any(whose in one for one in stored.values()) else "needed"] += 1
                stored[found] = {whose}
    return [counts[name] for name in ("needed", "wasted", "wrong", "skipped")]


def plot_pieces(table: pd.DataFrame) -> Figure:
    """Draw how many pieces of each night are what, as a row of strips for each night.

    Parameters
    ----------
    table
        A row for each night, and columns of `LOOKS`.
    """
    title = "seven nights: " + ", ".join(f"{count} {name}" for name, count in table.sum().items())
    figure, axes = chart(title, "pieces of drift.py", width=7.6, height=3.4)
    begin = table.cumsum(axis="columns") - table
    for name in table:
        colour, hatch = LOOKS[str(name)]
        drawn = axes.barh(
            table.index, table[name], left=begin[name], label=name,
            height=0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4,
        )  # fmt: skip
        counts = [str(count) if count else "" for count in table[name]]
        axes.bar_label(drawn, counts, label_type="center", bbox={"color": "white", "pad": 1})
    axes.invert_yaxis()
    figure.legend(ncols=4, frameon=False, loc="outside lower center")
    return picture(figure, f"{title}\n{table.to_string()}.")


def encoded_by_langchain(last: State, tonight: State) -> int:
    """Return how many pieces LangChain's `index` encodes tonight, after last night.

    Parameters
    ----------
    last, tonight
        The pieces and the models.

    Raises
    ------
    ImportError
        If langchain-core is not installed.
    """
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.indexing import InMemoryRecordManager, index
    from langchain_core.vectorstores import InMemoryVectorStore

    def page_of(chunk: Chunk) -> Document:
        return Document(chunk.embedded_text, metadata={"source": chunk.source_path})

    stores: dict[str, tuple[InMemoryRecordManager, InMemoryVectorStore]] = {}
    added = 0
    for chunks, model in (last, tonight):
        space = f"{chunks[0].tenant_id}/{model}"
        made = InMemoryRecordManager(space), InMemoryVectorStore(DeterministicFakeEmbedding(size=3))
        pages = [page_of(chunk) for chunk in chunks]
        manager, store = stores.setdefault(space, made)
        added = index(pages, manager, store, cleanup="full", key_encoder="sha256")["num_added"]
    return added


class CountingClient(EmbeddingClient):
    """Encodes texts, and counts them."""

    encoded = 0

    def encode(
        self, texts: Sequence[str], batch_size: int = 32, progress: bool = False
    ) -> npt.NDArray[np.float32]:
        """Return the vectors of texts; see `EmbeddingClient`."""
        self.encoded += len(texts)
        return super().encode(texts, batch_size, progress)


def write_notes(folder: Path, count: int = 1000) -> None:
    """Write so many small files, each with other words of the course's pages."""
    prose = " ".join(one.content for one in read_documents(project_root() / "data/documents"))
    folder.mkdir(parents=True)
    for number in range(count):
        text = f"# Note {number}\n\n{prose[number * 40 :][:200]}"
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
