"""Documents to records: headings, lines and offsets, checked against the text itself."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.loader import split_document
from course_lib.loader.markdown import find_sections, join_small
from course_lib.records import Document


def page(content: str, name: str = "folder/page.md") -> Document:
    return Document(Path(name), name, content)


def heading_of(content: str) -> str:
    """Return the name of the piece that holds the word `body`."""
    chunks = split_document(page(content + "\n\nbody"), chunk_size=5, chunk_overlap=0)
    return chunks[-1].name


@given(st.text("\r\n #`~+-ab.", max_size=150), st.integers(1, 30))
def test_offsets_and_lines_are_those_of_the_text(content: str, size: int) -> None:
    chunks = split_document(page(content), chunk_size=size, chunk_overlap=size // 3)
    covered = 0
    for index, chunk in enumerate(chunks):
        start, end = chunk.custom_meta["charStart"], chunk.custom_meta["charEnd"]
        assert chunk.custom_meta["chunkIndex"] == index
        assert chunk.content == content[start:end] and 0 < end - start <= size
        assert chunk.line_start == content.count("\n", 0, start) + 1
        assert chunk.line_end == content.count("\n", 0, end - 1) + 1
        assert chunk.name
        assert not content[covered:start].strip(), "nothing but white space is left out"
        covered = end
    assert not content[covered:].strip()


@given(st.text("\r\n #`~+-ab.", max_size=150), st.integers(1, 60))
def test_sections_are_the_whole_text_and_begin_with_headings(content: str, size: int) -> None:
    sections = find_sections(content)
    assert "".join(content[one.start : one.end] for one in sections) == content
    heading = re.compile(
        r" {0,3}#|(?:[^\r\n]*\S[^\r\n]*(?:\r\n?|\n))+ {0,3}(?:=+|-+) *(?:[\r\n]|$)"
    )
    assert all(heading.match(content, one.start) for one in sections[1:])
    joined = join_small(sections, size)
    assert "".join(content[one.start : one.end] for one in joined) == content
    starts = [one.start for one in sections]
    assert all(one.start in starts for one in joined)
    assert all(later.end - one.start > size for one, later in pairwise(joined)), (
        "neighbours that fit were left apart"
    )


def test_small_neighbours_are_one_piece_under_what_they_share() -> None:
    text = "# Page\n\n## Install\n\n### Linux\n\nOne.\n\n### Mac\n\nTwo.\n\n## Use\n\nThree."
    for size, headers in (
        (40, ["Page > Install > Linux", "Page"]),
        (60, ["Page > Install", "Page > Use"]),
        (99, ["Page"]),
    ):
        chunks = split_document(page(text), chunk_size=size, chunk_overlap=0)
        assert [one.custom_meta["header"] for one in chunks] == [f"{one}\n" for one in headers]
        assert [one.name for one in chunks] == [header.split(" > ")[-1] for header in headers]


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("Pipelines\r\nand steps\r\n---", "Pipelines and steps"),
        ("## [Install](https://a.example) the *first* `kfp` <a id=a></a>", "Install the first kfp"),
        ("## ![logo](x.png) Serving {#serve-models}", "logo Serving"),
        ("# C# & F\\# {: #langs }", "C# & F#"),
        ("## <a name='x'></a>", "Before"),
    ],
)  # fmt: skip
def test_a_headings_name_is_what_a_reader_sees(heading: str, name: str) -> None:
    assert heading_of(f"# Before\n\ntext\n\n{heading}") == name


@pytest.mark.parametrize(
    "code",
    [
        "```\r\n# comment\r\n```\r",
        "~~~ with `ticks`\n# comment\n~~~",
        "1. ```sh\n   # comment\n   ```",
        "- step\n\n  ```\n  # comment\n  ```",
        "<!-- Copyright\n\n# comment\n\n-->",
        "<pre>\n# comment\n\n# another\n</pre>",
        "> # quoted",
    ],
)
def test_what_is_no_heading_to_commonmark_is_none_here(code: str) -> None:
    assert heading_of(f"# Before\n\n{code}") == "Before"
    assert heading_of(f"# Before\n\n{code}\n\n# After") == "After"


def test_a_long_line_of_spaces_or_marks_is_no_trap() -> None:
    # A pattern that backtracks would take minutes here.
    for filler in (" ", "#", " #", "`", "~"):
        assert split_document(page("# a" + filler * 200_000 + "b"), chunk_size=10_000)
        assert split_document(page("```" + filler * 200_000 + "b"), chunk_size=10_000)
