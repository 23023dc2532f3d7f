"""The report at the end of a run."""

from __future__ import annotations

from course_lib.pipeline.reporting import Holding, page


def test_the_page_tells_how_a_run_ended_and_shows_words_from_outside_as_text() -> None:
    failed = page("FAILED", "step <x> failed", [])
    assert "The run ended as FAILED" in failed and "step &lt;x&gt; failed" in failed
    assert "Run the same pipeline again" in failed and "holds nothing" in failed
    unknown = page("FAILED", "", [], "the database cannot be reached")
    assert "not known: the database cannot be reached" in unknown and "holds no" not in unknown
    found = Holding("documentation", "<script>", "main", 1, 2, "abc", "today")
    assert "<script>" not in page("SUCCEEDED", "", [found])
