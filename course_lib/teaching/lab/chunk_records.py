"""What the lab about the chunk contract shows: a search over records, and what a hash costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from course_lib.answers.excerpts import excerpt
from course_lib.loader import Registry, parse_code
from course_lib.records import Chunk, Document, Scope

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd


def search_records(
    documents: Sequence[Document],
    registry: Registry,
    scope: Scope,
    encode: Callable[[Sequence[str]], npt.NDArray[np.float32]],
) -> Callable[[str], pd.DataFrame]:
    """Return a function that finds the three records most similar to a question, as a table.

    Parameters
    ----------
    documents
        The files. Each question parses them again, so a new parser is used at once.
    registry, scope
        Who parses them, and whose they are.
    encode
        Texts → unit vectors, such as ``lab.encode``.
    """
    import pandas as pd

    def ask(question: str) -> pd.DataFrame:
        records = [chunk for one in documents for chunk in registry.parse(one, scope)]
        rows = [
            (
                chunk.source_path,
                chunk.name,
                chunk.line_start,
                chunk.line_end,
                " ".join(chunk.content.split())[:25],
                excerpt(chunk, question, 45),
            )
            for chunk in records
        ]
        names = ["sourcePath", "name", "line_start", "line_end", "begins with", "excerpt"]
        vectors = encode([chunk.embedded_text for chunk in records])
        table = pd.DataFrame(rows, columns=names)
        table["similarity"] = vectors @ encode([question])[0]
        return table.nlargest(3, "similarity").set_axis([1, 2, 3]).round(2)

    return ask


def hash_costs(
    before: Document,
    changes: Mapping[str, Document],
    hashed: Sequence[str],
    content_hash: Callable[[Chunk], str],
) -> pd.DataFrame:
    """Return what goes wrong if a piece is encoded again only where its hash is new, in per cent.

    Parameters
    ----------
    before
        A source file.
    changes
        What was done → the file after it.
    hashed
        The fields that the hash covers, by their names in JSON.
    content_hash
        The hash of a record.

    Returns
    -------
    pandas.DataFrame
        A row for each change: pieces that are encoded again because the embedded text is new, those
        that are encoded again without need, and those that keep the vector of another text.
    """
    import pandas as pd

    def by_hash(file: Document) -> dict[str, str]:
        chunks = [one.model_copy(update={"hash_inputs": list(hashed)}) for one in parse_code(file)]
        return {content_hash(chunk): chunk.embedded_text for chunk in chunks}

    old, rows = by_hash(before), {}
    for change, file in changes.items():
        new = by_hash(file)
        needed = {key for key, embedded in new.items() if embedded not in old.values()}
        fresh = new.keys() - old.keys()
        parts = (fresh & needed, fresh - needed, needed - fresh)
        rows[change] = [100 * len(part) / len(new) for part in parts]
    names = ["encoded again, needed", "encoded again, wasted", "wrong vector kept"]
    return pd.DataFrame(rows, index=names).T
