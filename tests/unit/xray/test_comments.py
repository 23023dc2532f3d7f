"""The comment above the cursor, in each language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.xray.comments import STYLES, instruction_above

WANTED = "Fetch the top charts from Spotify"

# Each text ends where the cursor stands: on the line after the last one.
CASES = [
    ("python", "# Fetch the top charts\n# from Spotify\n"),
    ("python", "x = 1  # not this\n\n# Fetch the top charts from Spotify\n\n\n"),
    ("python", 'def charts():\n    """Fetch the top charts from Spotify"""\n'),
    ("python", 'def charts():\n    r"""Fetch the top charts\n\n    from Spotify\n    """\n\n'),
    ("python", "def charts():\n    '''Fetch the top charts from Spotify'''\n"),
    ("python", "# Fetch the top charts from Spotify\ndef charts():\n"),
    (
        "python",
        "# Fetch the top charts from Spotify\n@cached\nasync def charts(\n    a: int = f(1),\n"
        ") -> None:\n",
    ),
    ("python", "#!/usr/bin/env python\n# Fetch the top charts from Spotify\n# noqa: D100\n"),
    ("javascript", "// Fetch the top charts\n// from Spotify\n"),
    ("javascript", "let a = 1 // not this\n/* Fetch the top charts from Spotify */\n"),
    (
        "javascript",
        "/**\n * Fetch the top charts\n * from Spotify\n */\nexport async function charts() {\n",
    ),
    ("javascript", "// Fetch the top charts from Spotify\nconst charts = async (market) => {\n"),
    ("javascript", "// Fetch the top charts from Spotify\n// eslint-disable-next-line\n"),
    ("go", "// Fetch the top charts\n// from Spotify\nfunc charts(ctx context.Context) error {\n"),
    ("go", "/*\nFetch the top charts\nfrom Spotify\n*/\n"),
    ("go", "//go:build linux\n// Fetch the top charts from Spotify\n"),
    ("ruby", "# Fetch the top charts from Spotify\ndef charts(market)\n"),
    ("ruby", "# frozen_string_literal: true\n# Fetch the top charts from Spotify\n"),
    ("ruby", "=begin\nFetch the top charts\nfrom Spotify\n=end\n"),
    ("ruby", "# Fetch the top charts from Spotify\nmarkets.each do |market|\n"),
    ("rust", "/// Fetch the top charts\n/// from Spotify\n#[tokio::main]\nasync fn charts() {\n"),
    ("rust", "// Fetch the top charts from Spotify\n"),
    (
        "rust",
        "/// Fetch the top charts from Spotify\npub fn charts(\n    market: &str,\n) -> u8 {\n",
    ),
    ("shell", "#!/bin/sh\n# Fetch the top charts\n# from Spotify\n"),
    ("shell", "# Fetch the top charts from Spotify\ncharts() {\n"),
    ("shell", "# shellcheck disable=SC2086\n# Fetch the top charts from Spotify\n"),
]


@pytest.mark.parametrize(("language", "text"), CASES)
def test_the_comment_above_the_cursor_is_the_instruction(language: str, text: str) -> None:
    line = text.count("\n") + 1
    assert instruction_above(text, line, language) == WANTED
    # What stands at and below the cursor does not matter.
    assert instruction_above(text + "\n# Below\n// Below\n", line, language) == WANTED
    assert instruction_above(text.replace("\n", "\r\n"), line, language) == WANTED


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "# Something else\n\nx = 1\n"),
        ("python", 'name = """text"""\n'),
        ("python", '"""A module."""\n\nx = """\ntext"""\n'),
        ("python", "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n"),
        ("javascript", "/* else */\nrun(); /* after code */\n"),
        ("go", "//go:generate stringer\n"),
        ("shell", "#!/bin/sh\n"),
        ("rust", "fn a() {}\n"),
        ("python", ""),
        ("python", "\n\n\n"),
    ],
)
def test_where_no_comment_is_directly_above_there_is_no_instruction(
    language: str, text: str
) -> None:
    assert instruction_above(text, text.count("\n") + 1, language) == ""


def test_the_cursor_may_stand_on_the_comment_itself() -> None:
    text = "# Fetch the top charts\n# from Spotify\nx = 1\n"
    assert instruction_above(text, 2, "python") == WANTED
    assert instruction_above(text, 3, "python") == WANTED
    assert instruction_above(text, 1, "python") == "Fetch the top charts"


def test_lines_and_languages_that_are_not_there_are_refused() -> None:
    for line in (0, -1, 4):
        with pytest.raises(ValueError, match=f"no line {line}"):
            instruction_above("a\nb\n", line, "python")
    with pytest.raises(ValueError, match="cobol"):
        instruction_above("* A", 1, "cobol")


LINES = ["# a", "// b", "/*", "*/", '"""', "'''", "=begin", "=end", "def f():", "{", "", "x", ")"]


@given(st.lists(st.sampled_from(LINES), max_size=12), st.sampled_from(sorted(STYLES)))
def test_any_text_has_an_instruction_or_none_at_every_line(lines: list[str], language: str) -> None:
    for line in range(1, len(lines) + 2):
        found = instruction_above("".join(one + "\n" for one in lines), line, language)
        assert "\n" not in found and found == found.strip()
