"""Documents to records: headings, lines and offsets, checked against the text itself."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.loader import split_document, split_text
from course_lib.records import Document


def page(content: str, name: str = "folder/page.md") -> Document:
    return Document(Path(name), name, content)


def names(content: str, size: int = 12) -> list[str]:
    return [chunk.name for chunk in split_document(page(content), chunk_size=size, chunk_overlap=0)]


def heading_of(content: str) -> str:
    """Return the name of the piece that holds the word `body`."""
    chunks = split_document(page(content + "\n\nbody"), chunk_size=5, chunk_overlap=0)
    return chunks[-1].name


@given(st.text("\r\n #`~ab.", max_size=150), st.integers(1, 30))
def test_offsets_and_lines_are_those_of_the_text(content: str, size: int) -> None:
    chunks = split_document(page(content), chunk_size=size, chunk_overlap=size // 3)
    spans = [span for span in split_text(content, size, size // 3) if span.text.strip()]
    assert [chunk.content for chunk in chunks] == [span.text for span in spans]
    for index, (chunk, span) in enumerate(zip(chunks, spans, strict=True)):
        assert chunk.custom_meta == {
            "chunkIndex": index,
            "charStart": span.start,
            "charEnd": span.end,
        }
        assert chunk.line_start == content.count("\n", 0, span.start) + 1
        assert chunk.line_end == content.count("\n", 0, span.end - 1) + 1
        assert chunk.name


def test_pieces_of_white_space_alone_are_left_out() -> None:
    assert split_document(page(" \n\n\t\r\n   \u2028")) == []
    chunks = split_document(page("a" + " " * 30 + "b"), chunk_size=4, chunk_overlap=0)
    assert [(c.content.strip(), c.custom_meta["chunkIndex"]) for c in chunks] == [
        ("a", 0),
        ("b", 1),
    ]


def test_a_piece_is_named_after_the_heading_above_its_first_word() -> None:
    assert names("# One\n\naaaaa\n\n## Two\n\nbbbbb", size=14) == ["One", "Two"]
    assert heading_of("# One\n\n## Two\n\n# Three") == "Three"


@pytest.mark.parametrize(
    "code",
    [
        "```\n# comment\n```",
        "~~~\n# comment\n```\n# comment\n~~~",
        "````\n```\n# comment\n```\n# comment\n````",
        "```\r\n# comment\r\n```\r",
        "~~~ with `ticks`\n# comment\n~~~",
    ],
)
def test_comments_in_fenced_code_are_no_headings(code: str) -> None:
    assert heading_of(f"# Before\n\n{code}") == "Before"
    assert heading_of(f"# Before\n\n{code}\n\n# After") == "After"


def test_a_long_line_of_spaces_or_marks_is_no_trap() -> None:
    # A pattern that backtracks would take minutes here.
    for filler in (" ", "#", " #", "`", "~"):
        assert split_document(page("# a" + filler * 200_000 + "b"), chunk_size=10_000)
        assert split_document(page("```" + filler * 200_000 + "b"), chunk_size=10_000)
