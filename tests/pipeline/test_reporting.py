"""The report at the end of a run."""

from __future__ import annotations

from course_lib.pipeline.reporting import report_text


def test_the_report_tells_how_a_run_ended_and_what_the_index_holds() -> None:
    failed = report_text("FAILED", "step x failed", [])
    assert failed.startswith("The run ended as FAILED: step x failed\n")
    assert "Run the same pipeline again" in failed and "holds nothing" in failed
    unknown = report_text("FAILED", "", [], "the database cannot be reached")
    assert "not known: the database cannot be reached" in unknown and "holds no" not in unknown
    assert report_text("SUCCEEDED", "", ["mill main, documentation: documents 1"]) == (
        "The index is up to date.\nmill main, documentation: documents 1\n"
    )
