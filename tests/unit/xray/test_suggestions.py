"""Suggestions: nearest among a project's names only, or marked as the fallback."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from course_lib.errors import InputError
from course_lib.xray import (
    LockFiles,
    TableDescriber,
    suggest,
    sync_packages,
    sync_project,
)

Conn = psycopg.Connection[Any]


def names(found: Any) -> list[str]:
    return [one.name for one in found.packages]


@pytest.fixture
def filled(conn: Conn, client: Any) -> Conn:
    """Two small projects, the second of which has what the first would like to."""
    first = LockFiles({"requirements.txt": "rich==14.1.0\nredis==6.4.0\nstripe==12.4.0"})
    second = LockFiles({"requirements.txt": "spotipy==2.25.1\nrich==13.0.0", "go.mod": GO})
    for name, files in (("one", first), ("two", second)):
        sync_project(conn, name, files, embedder=client, describer=TableDescriber())
    return conn


GO = "module a\ngo 1.24\nrequire github.com/zmb3/spotify/v2 v2.4.3\n"


def test_only_vectors_of_the_model_that_asks_count(
    conn: Conn, client: Any, other_model: Any
) -> None:
    sync_project(conn, "two", LockFiles({"requirements.txt": "rich==1"}), embedder=other_model)
    assert suggest(conn, client, "x", project="two", language="python").is_fallback
    assert not suggest(conn, other_model, "x", project="two", language="python").is_fallback


def test_vectors_of_other_dimensions_stand_side_by_side(filled: Conn, client: Any) -> None:
    sync_packages(filled, "two", "python", {"spotipy": "1", "rich": "1", "strange": "1"})
    filled.execute(
        "UPDATE xray_packages SET model = 'of three', embedding = '[1,2,3]' WHERE name = 'strange'"
    )
    found = suggest(filled, client, "music", project="two", language="python")
    assert names(found) == ["spotipy", "rich"]


def test_what_is_not_near_enough_is_not_suggested_and_nothing_is_no_fallback(
    filled: Conn, client: Any
) -> None:
    where = {"project": "two", "language": "python"}
    both = suggest(filled, client, "music", **where).packages
    best, other = (one.similarity for one in both)
    assert names(suggest(filled, client, "music", **where, least=best)) == [both[0].name]
    assert best > other
    none = suggest(filled, client, "music", **where, least=0.999)
    assert (none.packages, none.fallback) == ((), "")
    assert suggest(filled, None, "music", **where, least=0.999).is_fallback


def test_arguments_that_make_no_sense_are_refused(conn: Conn, client: Any) -> None:
    with pytest.raises(InputError, match="instruction is empty"):
        suggest(conn, client, " \n", project="p", language="python")
    with pytest.raises(InputError, match="k is 0"):
        suggest(conn, client, "x", project="p", language="python", k=0)
