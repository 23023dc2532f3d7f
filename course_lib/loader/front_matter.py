"""Front matter: a page goes in; where its text begins, and its title, come out.

Before a page may be a table that says how it is published: YAML between two lines ``---`` (the
second may be ``...``), TOML between two lines ``+++``, or an object in JSON. Only what a parser
reads as a table is front matter. All else, such as the text between two horizontal rules, is text.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import yaml

from course_lib.files import read_toml
from course_lib.loader.contract import fault_of
from course_lib.yaml_nodes import entries, parse_nodes

MOST_CHARACTERS = 100_000
"""Of front matter; what is longer is text, and not even looked at."""

_OPENING = re.compile(r"(---|\+\+\+)[ \t]*(?:\r\n?|\n)")
_CLOSINGS = {
    "---": re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?=[\r\n]|\Z)"),
    "+++": re.compile(r"(?<=[\r\n])\+\+\+[ \t]*(?=[\r\n]|\Z)"),
}
_REST_OF_LINE = re.compile(r"[ \t]*(?=[\r\n]|\Z)")
_STRING = "tag:yaml.org,2002:str"


class FrontMatter(NamedTuple):
    """Where the front matter of a page ends, and its title; "" where it has none."""

    end: int
    title: str


def read_front_matter(text: str) -> FrontMatter:
    r"""Return the end of a page's front matter, and the title in it.

    Without front matter the end is 0, or 1 after a byte order mark. The title is on one line.

    Examples
    --------
    >>> read_front_matter("---\ntitle: >-\n  On\n  drift  # no comment\n---\nText.")
    FrontMatter(end=44, title='On drift # no comment')
    >>> read_front_matter("---\n\nA text between two rules.\n\n---\n")
    FrontMatter(end=0, title='')
    """
    begin = int(text.startswith("\ufeff"))
    try:
        end, title = _read(text[begin : begin + MOST_CHARACTERS])
    except (ValueError, RecursionError):  # no parser takes it
        end, title = 0, None
    if not isinstance(title, str) or fault_of(title):
        title = ""
    return FrontMatter(begin + end, " ".join(title.split()))


def _read(text: str) -> tuple[int, object]:
    """Return the end of a page's front matter and what its title is; a ValueError without one."""
    if text.startswith("{"):
        table, end = json.JSONDecoder().raw_decode(text)
        if not _REST_OF_LINE.match(text, end):
            raise ValueError("its line goes on")
        return end, table.get("title")
    opening = _OPENING.match(text)
    closing = opening and _CLOSINGS[opening[1]].search(text, opening.end())
    if not opening or not closing:
        raise ValueError("it is not between two lines of marks")
    fields = text[opening.end() : closing.start()]
    if opening[1] == "+++":
        return closing.end(), read_toml(fields).get("title")
    root = parse_nodes(fields)  # nodes, because a tag or an alias of a stranger makes nothing here
    if not isinstance(root, yaml.MappingNode):
        raise ValueError("it is not a table")
    title = entries(root).get("title")
    return closing.end(), title.value if title and title.tag == _STRING else None
