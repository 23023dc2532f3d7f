"""What packages are, filled in: descriptions are asked for and stored, and vectors made of them.

Batch by batch, each in a transaction of its own: whatever stops it — no model, no quota, a budget
that is used up, Ctrl-C — costs one batch at most, and `backfill` goes on where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.errors import ModelError
from course_lib.xray.catalogue import (
    catalogue_languages,
    embed_missing,
    store_descriptions,
    undescribed,
)
from course_lib.xray.descriptions import Describer, DescriberStoppedError
from course_lib.xray.packages import Package
from course_lib.xray.tables import explained, has_tables


@dataclass(frozen=True, slots=True)
class FillReport:
    """What became known of packages.

    `described` and `embedded` count packages of the catalogue; `waiting` counts those that were
    asked about and are without a description still; `stopped` says why the rest was left for
    `backfill`, and is empty where nothing was.
    """

    described: int = 0
    embedded: int = 0
    waiting: int = 0
    stopped: str = ""

    def to_json(self) -> str:
        """Return the report as a JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False)


def fill(
    conn: psycopg.Connection[Any],
    new: Sequence[Package],
    other_version: Sequence[Package],
    embedder: EmbeddingClient | None,
    describer: Describer | None,
    *,
    tenant: str = "local",
) -> FillReport:
    """Describe and embed what the catalogue does not know yet.

    Parameters
    ----------
    conn
        A connection from `connect`.
    new
        Packages that a project has added. Those that the catalogue describes are not asked for.
    other_version
        Packages whose version has changed. What they do may have changed, too: all are asked for,
        and embedded again where the text is another.
    embedder, describer
        Without one of them, its part is left out.
    tenant
        Whose project it is.
    """
    unknown = {
        one[:2]
        for language in _languages(new)
        for one in undescribed(conn, language, [one.name for one in new])
    }
    asked = [one for one in new if one[:2] in unknown]
    work = _Filling(conn, embedder, tenant)
    work.describe(describer, [*asked, *other_version])
    work.embed([*new, *other_version])
    return work.report(waiting=len(asked) - len(work.answered.intersection(asked)))


def backfill(
    conn: psycopg.Connection[Any],
    *,
    embedder: EmbeddingClient | None = None,
    describer: Describer | None = None,
    tenant: str = "local",
) -> FillReport:
    """Describe and embed everything in the catalogue that is without a description or a vector.

    Vectors of another model are made anew. Run it as often as it takes: what is done is not done
    again.

    Parameters
    ----------
    conn
        A connection from `connect`.
    embedder, describer
        Without one of them, its part is left out.
    tenant
        Whose reports get the descriptions, where the role sees no others.

    Raises
    ------
    DatabaseError
        If the database went away; what was done until then stays.
    """
    with explained(conn):
        if not has_tables(conn):
            return FillReport()
        work = _Filling(conn, embedder, tenant)
        asked = [one for name in catalogue_languages(conn) for one in undescribed(conn, name)]
        work.describe(describer, asked)
        for language in catalogue_languages(conn):
            work.embed_language(language, None)
        return work.report(waiting=len(asked) - len(work.answered))


class _Filling:
    """One run: where it writes, with what, and how far it has come."""

    def __init__(
        self, conn: psycopg.Connection[Any], embedder: EmbeddingClient | None, tenant: str
    ) -> None:
        self.conn = conn
        self.embedder = embedder
        self.tenant = tenant
        self.answered: set[Package] = set()
        self.described = 0
        self.embedded = 0
        self.stopped: list[str] = []

    def describe(self, describer: Describer | None, asked: Sequence[Package]) -> None:
        if describer is None or not asked:
            return
        try:
            for found in describer.describe(asked):
                for language in _languages(found):
                    some = {one: text for one, text in found.items() if one.language == language}
                    self.described += store_descriptions(
                        self.conn, language, some, tenant=self.tenant
                    )
                self.answered.update(found)
                self.embed(found)
        except DescriberStoppedError as error:
            self.stopped.append(str(error).replace("\n", ". "))

    def embed(self, packages: Iterable[Package]) -> None:
        packages = list(packages)
        for language in _languages(packages):
            self.embed_language(language, [one.name for one in packages if one[0] == language])

    def embed_language(self, language: str, names: Sequence[str] | None) -> None:
        if self.embedder is None:
            return
        try:
            self.embedded += embed_missing(self.conn, self.embedder, language, names)
        except ModelError as error:
            self.embedder = None
            self.stopped.append(f"no vectors: {error.args[0]}")

    def report(self, waiting: int) -> FillReport:
        return FillReport(self.described, self.embedded, waiting, "; ".join(self.stopped))


def _languages(packages: Iterable[Package]) -> list[str]:
    return sorted({one.language for one in packages})
