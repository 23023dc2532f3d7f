"""What packages do, in a sentence: packages go in, descriptions come out, batch by batch.

Descriptions come from a table, from the packages that are installed here, or from a model at an
endpoint (`endpoint.py`). Each is asked for what the ones before it did not know.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from packaging.utils import canonicalize_name

from course_lib.errors import CourseError, InputError
from course_lib.settings import project_root
from course_lib.xray.packages import Package

LONGEST = 300
"""Characters of a description that are kept."""

Descriptions = dict[Package, str]


class Describer(Protocol):
    """Whoever knows what packages do."""

    def describe(self, packages: Sequence[Package]) -> Iterator[Descriptions]:
        """Yield descriptions of some of the packages, in batches as they become known.

        Raises
        ------
        DescriberStoppedError
            After the last batch, if the rest has to wait for another run.
        """


class DescriberStoppedError(CourseError):
    """A describer cannot go on in this run; what it gave until then is good."""


class TableDescriber:
    """Knows what is in a table: JSON Lines with `language`, `name` and `description`.

    Parameters
    ----------
    path
        The file; None is the one that comes with the course.

    Raises
    ------
    InputError
        If the file cannot be read or a line of it is not such a record.

    Examples
    --------
    >>> table = TableDescriber()
    >>> [found] = table.describe([Package("python", "spotipy", "2.25.1")])
    >>> print(*found.values())
    Client for Spotify's Web API: tracks, artists, playlists, playback
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path) if path else project_root() / "data/lockfiles/descriptions.jsonl"
        self._table = _read_table(self.path)

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
            name = canonicalize_name(distribution.metadata["Name"] or "")
            text = clean(distribution.metadata["Summary"])
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
    """Return the describers that need no network: the course's table, then what is installed."""
    return FirstDescriber(TableDescriber(), InstalledDescriber())


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
    # A lone surrogate, which JSON can hold, is not text for a database.
    return line.encode("utf-8", "replace").decode("utf-8")[:LONGEST].rstrip()


def _read_table(path: Path) -> Mapping[tuple[str, str], str]:
    table = {}
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    row = json.loads(line)
                    text = clean(row["description"])
                    if not text:
                        raise ValueError(f"line {number} has no description")
                    table[str(row["language"]), str(row["name"])] = text
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint="Check the path.") from (
            error
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path} is not a table of descriptions: {error!r}",
            hint='Each line looks like {"language": "python", "name": "rich", "description": "…"}.',
        ) from error
    return table
