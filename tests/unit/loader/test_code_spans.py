"""The code splitters' laws on any text, records, and texts made to take long."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from course_lib.errors import InputError
from course_lib.loader.code import LANGUAGES, CodeSpan, parse_code, split_code
from course_lib.records import Chunk, Document

KINDS = {"function", "class", "method", "type", "module", "block"}
WORDS = [
    "\n", "\n", "\n\n", "\r\n", "    ", "\t", " ", "def f(", "):", "class A", "(B)", "async ",
    "@d", "#", "//", "/*", "*/", "`", '"""', "'''", '"', "'", "\\", "func F", "func (r *T) M(",
    "type T struct {", "var x = ", "const (", "import ", "package p", "{", "}", "(", ")", "[",
    "]", "f() {", "function g {", "<<EOF", "<<-'X'", "EOF\n", "X\n", "if x", "fi", "else:", "$(",
    "x = 1", "word", "é\U0001f600", "\ufeff", "\x00", "\f", "\u2028", ": ", "return",
]  # fmt: skip
sources = st.one_of(
    st.text(max_size=80),
    st.lists(st.sampled_from(WORDS), max_size=60).map("".join),
    st.builds(
        lambda words, times: "".join(words) * times,
        st.lists(st.sampled_from(WORDS), max_size=6),
        st.integers(0, 40),
    ),
)
sizes = st.one_of(
    st.integers(1, 80).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1))),
    st.just((512, 64)),
)


def check_laws(text: str, spans: list[CodeSpan], size: int) -> None:
    covered = bytearray(len(text))
    for span in spans:
        assert text[span.start : span.end] == span.text
        assert span.text.strip()
        assert len(span.header) + len(span.text) <= size
        assert span.kind in KINDS
        assert span.line_start == text.count("\n", 0, span.start) + 1
        assert span.line_end == text.count("\n", 0, span.end) + 1
        assert not span.header or span.header.endswith("\n")
        covered[span.start : span.end] = b"\1" * (span.end - span.start)
    for left, right in pairwise(spans):
        assert left.start < right.start
        assert left.end < right.end
    assert all(covered[at] for at, character in enumerate(text) if not character.isspace())


@pytest.mark.parametrize("language", sorted(LANGUAGES))
@settings(max_examples=120)
@given(text=sources, pair=sizes)
@example(
    text="class A:\n" + "".join(f"  def f{i}(self):\n    x\n\n" for i in range(9)), pair=(40, 9)
)
@example(text="class A:" * 3 + "\n", pair=(1, 0))
@example(text="f() {\n" + "  cat <<EOF\n\n\nEOF\n" * 9 + "}\n", pair=(30, 10))
def test_the_laws_hold_for_every_text(language: str, text: str, pair: tuple[int, int]) -> None:
    size, overlap = pair
    spans = split_code(text, language, size, overlap)
    assert all(type(span) is CodeSpan for span in spans)
    check_laws(text, spans, size)


def test_definitions_nested_a_thousand_deep_are_no_error() -> None:
    for line in ("class A:", "def f():", "if x:"):
        text = "".join(" " * depth + line + "\n" for depth in range(1000))
        check_laws(text, split_code(text, "python"), 512)


def test_an_empty_text_and_one_of_white_space_give_nothing() -> None:
    for language in LANGUAGES:
        for text in ("", "\n", " \t\r\n\n", "\f\n\u2028"):
            assert split_code(text, language) == []


def test_parts_of_what_is_too_large_share_whole_lines() -> None:
    text = "def f(a):\n" + "".join(f"    call_number_{i:03d}(a)\n" for i in range(60))
    spans = split_code(text, "python", 300, 60)
    for left, right in pairwise(spans):
        shared = text[right.start : left.end]
        assert shared.count("call_number") == 2
        assert text[right.start - 1] == "\n"
    assert {span.header for span in spans[1:]} == {"def f(a):\n"}
    assert spans[0].header == ""


def test_parts_end_at_blank_lines_where_there_are_any() -> None:
    block = "".join(f"    call_number_{i:03d}()\n" for i in range(5))
    for line_end in ("\n", "\r\n"):
        text = ("def f():\n" + "\n".join([block] * 6)).replace("\n", line_end)
        for span in split_code(text, "python", 300, 0)[:-1]:
            assert text[span.end :].startswith(line_end * 2)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((1, "python"), TypeError),
        (("", "cobol"), ValueError),
        (("", "python", 0), ValueError),
        (("", "python", 10, 10), ValueError),
        (("", "python", "10"), TypeError),
    ],
)
def test_wrong_arguments_are_errors(arguments: tuple[object, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        split_code(*arguments)  # type: ignore[arg-type]


def document(name: str, content: str) -> Document:
    return Document(Path(name), name, content)


def test_records_hold_what_the_spans_hold() -> None:
    text = "import os\n\n\nclass A(B):\n    x = 1\n\n    def f(self):\n        return os.sep\n"
    chunks = parse_code(
        document("src/a.py", text), chunk_size=60, chunk_overlap=0, repo_slug="r", branch="main"
    )
    assert [(c.kind, c.name, c.class_name, c.extends) for c in chunks] == [
        ("module", "a.py", None, None),
        ("class", "A", "A", "B"),
        ("method", "f", "A", None),
    ]
    last = chunks[-1]
    assert last.custom_meta == {
        "branch": "main",
        "header": "class A(B):\n",
        "chunkIndex": 2,
        "charStart": text.index("    def"),
        "charEnd": len(text) - 1,
    }
    assert (last.line_start, last.line_end) == (7, 8)
    assert last.content == "    def f(self):\n        return os.sep"
    assert (last.parser_id, last.parser_version) == ("python", "1.0.0")
    assert (last.source_path, last.repo_slug) == ("src/a.py", "r")
    assert "header" not in chunks[0].custom_meta
    assert [Chunk.model_validate_json(chunk.to_json()) for chunk in chunks] == chunks


PIECES = [
    '"""\\', "'''", '"\\"', "'", '"', "`", "/*", "(", "[{", "x = (\n", "class A(\n",
    "class A[(:\n", "def f(\n", "def f(a='\n", "@a(\n", "#\n", "# c\n\n", "\n", " ", "\n ",
    "\t\n", "\\\n", "<<A\n", "<<A <<B\n", "$(<<A", "f() {\n", "f() {\n}\n", "if x\n\n",
    "func f(", "var (\n", "type T (", "//\n", "/* */\n", "import a\n", "x = 1\n",
    "class A:\n x\n", "if x:\n  def f():\n    y\n", "\\\"", "def f():\n def g():\n",
    "else:\n", "\r\n", "\r", "}\n", "\f\n", "a" * 50 + "\n",
]  # fmt: skip


@pytest.mark.long
@pytest.mark.timeout(120)
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_no_text_takes_time_that_grows_with_its_square(language: str) -> None:
    # Linear work is done in a tenth of a second; with a square of 10**10 steps the limit ends it.
    for piece in PIECES:
        for span in split_code(piece * (100_000 // len(piece)), language):
            assert len(span.header) + len(span.text) <= 512, piece


def test_an_unknown_extension_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"a\.rs has an extension") as caught:
        parse_code(document("a.rs", "fn main() {}"))
    assert "language=" in caught.value.hint
