"""What packages do, in a sentence: packages go in, descriptions come out, batch by batch.

Descriptions come from a table, or from the packages that are installed here. Each is asked for what
the ones before it did not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Protocol

from packaging.utils import canonicalize_name

from course_lib.records import without_surrogates
from course_lib.settings import project_root
from course_lib.xray.packages import Package

TABLE = "data/lockfiles/descriptions.jsonl"
LONGEST = 300
"""Characters of a description that are kept."""

Descriptions = dict[Package, str]


class Describer(Protocol):
    """Whoever knows what packages do."""

    def describe(self, packages: Sequence[Package]) -> Iterator[Descriptions]:
        """Yield descriptions of some of the packages, in batches as they become known."""


class TableDescriber:
    """Knows what is in the course's table: JSON Lines of `language`, `name` and `description`.

    Examples
    --------
    >>> table = TableDescriber()
    >>> [found] = table.describe([Package("python", "spotipy", "2.25.1")])
    >>> print(*found.values())
    Client for Spotify's Web API: tracks, artists, playlists, playback
    """

    def __init__(self) -> None:
        lines = (project_root() / TABLE).read_text(encoding="utf-8").splitlines()
        rows = map(json.loads, lines)
        self._table = {(row["language"], row["name"]): row["description"] for row in rows}

    def describe(self, packages: Sequence[Package]) -> Iterator[Descriptions]:
        """Yield all that the table knows, at once."""
        found = {
            one: text for one in packages if (text := self._table.get((one.language, one.name)))
        }
        if found:
            yield found


class InstalledDescriber:
    """Knows the Python packages of this environment, by their own metadata (`Summary`)."""

    def describe(self, packages: Sequence[Package]) -> Iterator[Descriptions]:
        """Yield all that is installed here, at once; the version does not have to be the same."""
        from importlib.metadata import distributions

        asked = {one.name: one for one in packages if one.language == "python"}
        found: Descriptions = {}
        for distribution in distributions() if asked else ():
            said = distribution.metadata.json
            name = canonicalize_name(str(said.get("name", "")))
            text = clean(said.get("summary"))
            if name in asked and text:
                found.setdefault(asked[name], text)
        if found:
            yield found


class FirstDescriber:
    """Asks several describers, each for what those before it did not know."""

    def __init__(self, *describers: Describer) -> None:
        self.describers = describers

    def describe(self, packages: Sequence[Package]) -> Iterator[Descriptions]:
        """Yield what the describers yield."""
        left = dict.fromkeys(packages)
        for describer in self.describers:
            if not left:
                return
            for found in describer.describe(list(left)):
                for package in found:
                    left.pop(package, None)
                yield found


def offline_describer() -> FirstDescriber:
    """Return the course's table, where it is (an image has no data), then what is installed."""
    table = [TableDescriber()] if (project_root() / TABLE).is_file() else []
    return FirstDescriber(*table, InstalledDescriber())


def clean(text: object) -> str:
    r"""Return a description on one line and not too long; empty for what is none.

    Examples
    --------
    >>> clean(" Text \n with colours. "), clean("UNKNOWN"), clean(None)
    ('Text with colours.', '', '')
    """
    if not isinstance(text, str):
        return ""
    line = " ".join(text.replace("\0", " ").split())
    if line in ("UNKNOWN", "null", "None"):
        return ""
    return without_surrogates(line)[:LONGEST].rstrip()
