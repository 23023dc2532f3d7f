"""The report at the end of a run."""

from __future__ import annotations

from pathlib import Path

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.indexing import ingest
from course_lib.pipeline.reporting import Holding, Outcome, holdings, page


def test_what_the_index_holds_of_a_repository_is_counted_and_others_are_not(
    folder: Path, conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    assert holdings(conn, "local", ["mill"]) == [], "an empty database has no tables"
    for tenant, repo in (("local", "mill"), ("local", "other"), ("acme", "mill")):
        ingest(folder, conn=conn, embedder=embedder, repo=repo, tenant=tenant)
    (found,) = holdings(conn, "local", ["mill"])
    assert (found.partition, found.repo, found.branch) == ("documentation", "mill", "")
    assert found.documents == 6 and found.chunks >= 6 and found.commits == ()
    assert {one.repo for one in holdings(conn, "local", [])} == {"mill", "other"}


def test_a_failure_is_told_with_its_message_and_what_to_do() -> None:
    text = page(Outcome("FAILED", "step <x> failed"), [])
    assert "The run ended as FAILED" in text and "step &lt;x&gt; failed" in text
    assert "Run the same pipeline again" in text


def test_what_is_not_known_is_said() -> None:
    text = page(Outcome("FAILED"), [], "the database cannot be reached")
    assert "not known: the database cannot be reached" in text and "holds nothing" not in text


def test_a_name_from_outside_is_no_markup() -> None:
    found = Holding("documentation", "<script>", "main", 1, 2, ("abc",), "today")
    assert "<script>" not in page(Outcome("SUCCEEDED"), [found])
