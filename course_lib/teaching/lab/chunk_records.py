"""What the lab about skipping shows: a nightly index, and what a choice of fields costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.embedder import EmbeddingClient
from course_lib.loader import read_documents
from course_lib.records import Chunk
from course_lib.settings import project_root

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

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
    index: Index, question: str, encode: Callable[..., npt.NDArray[np.float32]], rows: int = 2
) -> pd.DataFrame:
    """Return the records most similar to a question, as a table.

    Parameters
    ----------
    index
        Where to search.
    question
        In any words.
    encode
        Texts → unit vectors, such as ``lab.encode``.
    rows
        How many records.
    """
    import numpy as np
    import pandas as pd

    records, vectors = zip(*index.values(), strict=True)
    found = pd.DataFrame(
        [
            (
                one.name,
                f"{one.line_start}–{one.line_end}",
                str(one.custom_meta.get("header", "")).partition("\n")[0],
                " ".join(one.content.split())[:36],
            )
            for one in records
        ],
        columns=["name", "lines", "header", "begins with"],
    )
    found["similarity"] = np.stack(vectors) @ encode([question])[0]
    best = found.nlargest(rows, "similarity").round(2)
    return best.set_axis(range(1, len(best) + 1))


def key_costs(last: State, nights: Mapping[str, State], key: Key) -> pd.DataFrame:
    """Return what goes wrong if only pieces with a new key are encoded, in per cent of the pieces.

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
        although the right vector was stored, and pieces that get the vector of another text, model
        or tenant.
    """
    import pandas as pd

    rows = {night: _shares(last, tonight, key) for night, tonight in nights.items()}
    return pd.DataFrame(rows, index=["needed", "wasted", "wrong"]).T


def _shares(last: State, tonight: State, key: Key) -> list[float]:
    stored: dict[object, set[object]] = {}
    counts: Counter[str] = Counter()
    for is_new, (chunks, model) in enumerate((last, tonight)):
        for chunk in chunks:
            found, whose = key(chunk, model), (chunk.tenant_id, chunk.embedded_text, model)
            if not is_new:
                stored.setdefault(found, set()).add(whose)
            elif found in stored:
                counts["wrong"] += stored[found] != {whose}
            else:
                counts["wasted" if any(whose in one for one in stored.values()) else "needed"] += 1
                stored[found] = {whose}
    return [100 * counts[name] / len(tonight[0]) for name in ("needed", "wasted", "wrong")]


def plot_costs(table: pd.DataFrame) -> tuple[Axes, str]:
    """Draw what `key_costs` returned as strips; return them with what they show in words."""
    wasted, wrong = (int((table[name] > 0).sum()) for name in ("wasted", "wrong"))
    title = f"wasted in {wasted} of {len(table)} nights, wrong in {wrong}"
    axes = table[::-1].plot.barh(stacked=True, figsize=(7.6, 3.4), title=title, xlim=(0, 100))
    axes.set_xlabel("pieces of drift.py, %")
    containers: list[Any] = axes.containers  # all of them are bars
    for bars in containers:
        shares = [f"{share:.0f}" if share else "" for share in bars.datavalues]
        axes.bar_label(bars, shares, label_type="center", bbox={"color": "white", "pad": 1})
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3)
    return axes, f"{title}\n{table.round().to_string()}"


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
