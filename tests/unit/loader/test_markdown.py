"""Documents to records: headings, lines and offsets, checked against the text itself."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from course_lib.loader import split_document
from course_lib.loader.markdown import find_sections, join_small, page_title
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


@pytest.mark.parametrize(
    ("top", "name"),
    [
        ('<h1 align="center">Project</h1>', "Project"),
        ("<H1 ALIGN=center\n    id='top'\n>\n  Project\n</H1 >", "Project"),
        ('<h1><a href="x"><img src="l.svg" alt="Logo"></a><br>\n Project &amp; Co</h1>',
         "Project & Co"),
        ('<h1><img src="l.svg" alt="Project"></h1>', "Project"),
        ('<div align="center">\n<img src="l.svg">\n<h1>Project</h1>\n</div>', "Project"),
        ("<h1>\r\n\r\nMy *Project*\r\n\r\n</h1>", "My Project"),
        ('<a id="top"></a> <h1>The `kfp` Project</h1>', "The kfp Project"),
        ("<h1>Project<h1>", "Project"),
        ("<h1>Project</h2>", "Project"),
        ("<h1>a&NewLine;b</h1>", "a b"),
    ],
)  # fmt: skip
def test_a_heading_in_html_is_one(top: str, name: str) -> None:
    text = f"{top}\n\nHello.\n\n<h2>Use <i>it</i></h2>\n\nLike this.\n\n## More\n\nEnd.\n"
    assert page_title(text) == name
    found = [(text[one.start : one.end][:4], one.headings) for one in find_sections(text)]
    assert found == [(top[:4], (name,)), ("<h2>", (name, "Use it")), ("## M", (name, "More"))]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- <h1>No</h1> -->", "```\n<h1>No</h1>\n```", "`<h1>No</h1>`", "    <h1>No</h1>",
        "- <h1>No</h1>", "> <h1>No</h1>", "<pre>\n<h1>No</h1>\n</pre>", "\\<h1>No</h1>",
        "<script>\nlet a = '<h1>No</h1>'\n</script>", "<h1></h1>", "<h1><img src='a.png'></h1>",
        "<h1>No", "<h1>No\n\nend", "<header>No</header>", "<h7>No</h7>", "<hr>", "</h1>",
        "&lt;h1>No&lt;/h1>", "a < h1>No</h1>",
    ],
)  # fmt: skip
def test_what_is_no_heading_in_html_is_none(text: str) -> None:
    assert page_title(text) == ""
    assert [one.headings for one in find_sections(f"{text}\n\n# Yes\n\nText.")][-1] == ("Yes",)


@given(st.lists(st.sampled_from(
    ["<h1>", "</h1>", "<h2 a='b'>", "</h2>", "<div>", "</div>", "<pre>", "</pre>", "<!--", "-->",
     "<img alt='i'>", "text", "\n", "\n\n", "\r\n", "# A", "`", "- ", "> ", "&NewLine;", " "]
), max_size=30).map("".join))  # fmt: skip
def test_sections_of_pages_with_html_are_the_whole_text(content: str) -> None:
    sections = find_sections(content)
    assert "".join(content[one.start : one.end] for one in sections) == content
    breaks = {0, *(match.end() for match in re.finditer("\r\n?|\n", content))}
    assert all(one.start in breaks for one in sections)


def test_html_that_no_tag_ends_is_no_trap() -> None:
    # Python's own parser of HTML takes the square of such a text's length: hours.
    for mark in ("<a ", "<h", "<!--", "<a href='", "<![CDATA[", "</", "&"):
        assert find_sections("<div>\n<h1>" + mark * 20_000)


FRONT = {
    "title: >-\n  Drift\n  and more": "Drift and more",
    "title: |\n  Drift\n  and more": "Drift and more",
    "title: 'It''s a page'": "It's a page",
    'title: "Tom\\u00e9 \\"x\\""': 'Tomé "x"',
    "title: Backups # internal": "Backups",
    "title: C# and F#": "C# and F#",
    "title: On\n  two lines": "On two lines",
    'title: "On\n  two lines"': "On two lines",
    "# comment\ntitle: Drift\ntags: [a, b]": "Drift",
    "base: &t Drift\ntitle: *t": "Drift",
    "base: &b {title: Drift}\n<<: *b": "Drift",
    "title: A\ntitle: Drift": "Drift",
    "title: !!str 12": "12",
    "own: !ruby/object:Gem {a: 1}\ntitle: Drift": "Drift",
    "'title': Drift": "Drift",
    "{title: Drift, a: 1}": "Drift",
    "\ntitle: Drift\n": "Drift",
    "params:\n  title: other\ntitle: Drift": "Drift",
}


@pytest.mark.parametrize("fields", FRONT)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("marks", [("---", "---"), ("---  ", "---\t"), ("---", "...")])
def test_a_title_is_what_a_yaml_parser_gives(fields: str, end: str, marks: tuple[str, str]) -> None:
    text = f"{marks[0]}\n{fields}\n{marks[1]}\n## Start\n\nText.\n".replace("\n", end)
    for whole in (text, f"\ufeff{text}"):
        assert page_title(whole) == FRONT[fields]
        assert [one.headings for one in find_sections(whole)] == [(), ("Start",)]
    chunks = split_document(page(text), chunk_size=30, chunk_overlap=0)
    assert chunks[-1].custom_meta["header"] == f"{FRONT[fields]} > Start\n"
    if "!" not in fields:
        assert " ".join(yaml.safe_load(fields)["title"].split()) == FRONT[fields]


@pytest.mark.parametrize(
    "front",
    [
        "---\ntitle: null\n---", "---\ntitle:\n---", "---\ntitle: ~ # none\n---",
        "---\ntitle: 12\n---", "---\ntitle: true\n---", "---\ntitle: 2026-01-01\n---",
        "---\ntitle: [a]\n---", "---\ntitle: {a: b}\n---", "---\ntitle: {{ .Title }}\n---",
        "---\ntitle: !ruby/sym a\n---", '---\ntitle: ""\n---', '---\ntitle: "a\\0"\n---',
        "---\nTitle: x\n---", "+++\ntitle = 12\n+++", "+++\n[a]\ntitle = 'x'\n+++",
        '+++\ntitle = "a\\u0000"\n+++', '{"title": null}', '{"title": ["a"]}', "{}",
        '{"title": "\\ud800"}',
    ],
)  # fmt: skip
def test_a_title_that_is_no_text_is_none(front: str) -> None:
    text = f"{front}\n# Real\n\nText."
    assert page_title(f"{front}\n## Start\n") == ""
    assert page_title(text) == "Real"
    assert [one.headings for one in find_sections(text)] == [(), ("Real",)]


@pytest.mark.parametrize(
    ("front", "title"),
    [
        ('+++\ntitle = "Tom\\u00e9" # c\n+++', "Tomé"),
        ("+++\r\ntitle = 'C:\\a'\r\n+++", "C:\\a"),
        ('+++\ntitle = """\nOn\ntwo lines"""\n[own]\ntitle = 1\n+++ ', "On two lines"),
        ('{\n  "title": "Tom\\u00e9",\n  "own": {"title": 1}\n}', "Tomé"),
        ('{"a": "}", "title": "x"}', "x"),
    ],
)
def test_front_matter_may_be_toml_or_json(front: str, title: str) -> None:
    for text in (f"{front}\n## Start\n\nText.", f"\ufeff{front}\n## Start\n\nText."):
        assert page_title(text) == title
        assert [one.headings for one in find_sections(text)] == [(), ("Start",)]


@pytest.mark.parametrize(
    "top",
    [
        "---\n\n# One\n\nText of it.\n\n---\n",
        "---\n# One\n---\n",
        "---\n# One\n\n- a\n- b\n\n---\n",
        "---\n# One\n\nNote: this is *text*.\n\nAnd: more: of it\n---\n",
        "---\n# One\n\ntitle: [x\n---\n",
        "---\n# One\n\ntitle: *nobody\n---\n",
        "---\n# One\n\ntitle: x\n",
        "---\n# One\n\ntitle: x\n----\n",
        "---\n# One\n\ntitle: x\n ---\n",
        "--- #\n# One\n\ntitle: x\n---\n",
        "----\n# One\n\ntitle: x\n---\n",
        "\n---\n# One\n\ntitle: x\n---\n",
        "---\n# One\n\ntitle: x\n" + "y: z\n" * 20_000 + "---\n",
        "+++\n# One\n\ntitle = x\n+++\n",
        "+++\n# One\n\ntitle = 'x'\n---\n",
        "+++\n# One\n\ntitle = 'x'\ntitle = 'y'\n+++\n",
        '{"title": "x"} text\n\n# One\n\n',
        '{"title": \n\n# One\n\n}\n',
        '["title"]\n\n# One\n\n',
        '{"a": ' * 50_000 + "\n\n# One\n\n",
    ],
)
def test_what_is_no_table_is_text_with_its_headings(top: str) -> None:
    text = f"{top}\nText.\n\n# Two\n\nText."
    headings = [one.headings for one in find_sections(text)]
    assert page_title(text) == "One"
    assert headings[-1] == ("Two",) and ("One",) in [one[:1] for one in headings]


def test_a_front_matter_that_grows_without_end_is_read_at_once() -> None:
    laughs = "a0: &a0 [x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 200)
    )
    for fields in (f"{laughs}title: Drift", "title: Drift\na: " + "[" * 900 + "]" * 900):
        assert page_title(f"---\n{fields}\n---\nText.") == "Drift"
    for fields in ("[" * 40_000, "- " * 40_000, "? " * 40_000, "a.b." * 20_000 + "c = 1"):
        assert page_title(f"---\n{fields}\n---\n# One") == "One"
        assert page_title(f"+++\n{fields}\n+++\n# One") == "One"


def test_a_long_line_of_spaces_or_marks_is_no_trap() -> None:
    # A pattern that backtracks would take minutes here.
    for filler in (" ", "#", " #", "`", "~"):
        assert split_document(page("# a" + filler * 200_000 + "b"), chunk_size=10_000)
        assert split_document(page("```" + filler * 200_000 + "b"), chunk_size=10_000)
