"""Files that trip readers and splitters up, each made by a function that says what is nasty in it.

`write_nasty` writes all of them below a folder: documents and odd files from here, manifests from
`nasty_manifests.py`, code from `nasty_code.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Maker = Callable[[], str | bytes]

FILES: dict[str, Maker] = {}
"""Path below the folder → what makes the file's content."""

SENTENCE = "The quick brown fox jumps over the lazy dog, and the dog does not mind it at all. "


def nasty(name: str) -> Callable[[Maker], Maker]:
    """Register what makes a file."""

    def register(maker: Maker) -> Maker:
        assert name not in FILES
        FILES[name] = maker
        return maker

    return register


def write_nasty(folder: Path) -> list[str]:
    """Write all files, and links and folders that are nasty by themselves; return the names."""
    from tests.blackbox import nasty_code, nasty_manifests  # noqa: F401 - they register theirs

    for name, maker in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        made = maker()
        path.write_bytes(made.encode() if isinstance(made, str) else made)
    _write_links(folder)
    return sorted(FILES)


def _write_links(folder: Path) -> None:
    """Links to inside (read), to outside (left out), to nowhere, to itself; a folder as a file."""
    (folder / "links").mkdir()
    (folder / "links/inside.md").symlink_to(folder / "docs/setext.md")
    outside = folder.parent / f"{folder.name}-outside.md"
    outside.write_text("# A secret\n", encoding="utf-8")
    (folder / "links/outside.md").symlink_to(outside)
    (folder / "links/nowhere.md").symlink_to(folder / "links/gone.md")
    (folder / "links/itself.md").symlink_to(folder / "links/itself.md")
    (folder / "links/folder").symlink_to(folder / "docs", target_is_directory=True)
    (folder / "links/a-folder.md").mkdir()
    (folder / "links/a-folder.md/page.md").write_bytes(b"In a folder that is named like a page.\n")


# Lines and encodings


@nasty("docs/crlf.md")
def crlf() -> str:
    """Windows line ends: no pair may be cut, and lines count once."""
    return "\r\n".join(["# Windows", "", SENTENCE * 4, "## Below", *([SENTENCE] * 8), ""])


@nasty("docs/crlf-tight.txt")
def crlf_tight() -> str:
    """A pair of CR and LF at every place where the overlap could begin."""
    return "ab\r\n" * 300


@nasty("docs/crlf-at-size.txt")
def crlf_at_size() -> str:
    """A chunk's size ends between CR and LF, and there is no other place to cut."""
    return "x" * 511 + "\r\n" + "y" * 446 + "\r\n" + "z" * 600


@nasty("docs/cr-only.txt")
def cr_only() -> str:
    """Line ends of an old Macintosh: one line for the splitter."""
    return "\r".join(f"Line {number} of an old Macintosh." for number in range(40))


@nasty("docs/mixed-ends.md")
def mixed_ends() -> str:
    """All three line ends in one file, two of them beside each other."""
    return "# One\r# not a heading?\n\r\n## Two\r\n\n\rText.\r\r\nMore.\n"


@nasty("docs/bom-utf8.md")
def bom_utf8() -> bytes:
    """A byte order mark, after which the heading is still the first character."""
    return b"\xef\xbb\xbf# With a mark\n\nText.\n"


@nasty("docs/bom-twice.md")
def bom_twice() -> bytes:
    """Two byte order marks: the second is a character of the text."""
    return b"\xef\xbb\xbf\xef\xbb\xbf# Twice\n"


@nasty("docs/utf16.md")
def utf16() -> bytes:
    """UTF-16 with its mark, as Notepad once wrote it: no UTF-8."""
    return "# Sixteen\n".encode("utf-16")


@nasty("docs/latin1.txt")
def latin1() -> bytes:
    """Latin-1: one letter is not UTF-8."""
    return "Grüße aus dem Süden\n".encode("latin-1")


@nasty("docs/cut-character.txt")
def cut_character() -> bytes:
    """A file that ends in the middle of a character."""
    return "Zürich und Gen€".encode()[:-1]


@nasty("docs/nul.txt")
def nul() -> bytes:
    """A NUL byte in what is a text otherwise."""
    return b"text\0more text\n"


@nasty("docs/control.txt")
def control() -> str:
    """Control characters, a bell and an escape among them, which are text."""
    return "bell \a, escape \x1b[31mred\x1b[0m, delete \x7f, vertical \v tab, tab\tdone\n"


@nasty("docs/line-separators.md")
def line_separators() -> str:
    """U+2028, U+2029, U+0085 and form feeds: no line ends for a line number."""
    return "# One\u2028# two\u2029# three\x85# four\f# five\n\fsix\n## Seven\u2028still\nEnd.\n"


@nasty("docs/empty.md")
def empty() -> str:
    """Nothing: a document without chunks."""
    return ""


@nasty("docs/white.txt")
def white() -> str:
    """White space of all sorts and nothing else."""
    return " \t\r\n\n\u00a0\u2003\u3000\n" * 80


@nasty("docs/white-middle.md")
def white_middle() -> str:
    """A gap larger than a chunk in the middle: chunks of white space alone are left out."""
    return "# Above\n\nText.\n" + "\n" * 1500 + "Below the gap.\n"


@nasty("docs/no-newline.md")
def no_newline() -> str:
    """No line end at the end of the file."""
    return "# Last\n\n" + SENTENCE * 7 + "The end"


@nasty("docs/huge-line.txt")
def huge_line() -> str:
    """A line of 20,000 characters: it is cut at sentences."""
    return "".join(f"Sentence {number} of one huge line. " for number in range(600))


@nasty("docs/long-word.txt")
def long_word() -> str:
    """A word that is longer than a chunk, between short ones: it is cut at the size."""
    return "Before it " + "x" * 1300 + " and after it.\n"


@nasty("docs/exactly-a-chunk.txt")
def exactly_a_chunk() -> str:
    """As long as a chunk, to the character."""
    return "c" * 511 + "\n"


@nasty("docs/one-more.txt")
def one_more() -> str:
    """One character longer than a chunk."""
    return "c" * 512 + "\n"


@nasty("docs/emoji.md")
def emoji() -> str:
    """Emoji of several code points at every place where a cut could be."""
    return (
        "# 🎉 Party 👩\u200d👩\u200d👧\u200d👦\n\n"
        + "👩\u200d👩\u200d👧\u200d👦🏳\ufe0f\u200d🌈🇨🇭" * 90
        + "\n"
    )


@nasty("docs/combining.txt")
def combining() -> str:
    """Combining characters, so that a cut can separate a letter from its marks."""
    return "e\u0301a\u0308n\u0303\u0324" * 160 + "\n"


@nasty("docs/right-to-left.md")
def right_to_left() -> str:
    """Hebrew and Arabic, with marks that turn the direction."""
    return "# שלום\n\n\u202bمرحبا بالعالم\u202c\n" + "אבגד הוזח. " * 80 + "\n"


# Markdown


@nasty("docs/setext.md")
def setext() -> str:
    """Headings by underlining, which do not name their section."""
    return "Title\n=====\n\nFirst paragraph.\n\nBelow\n-----\n\nSecond paragraph.\n"


@nasty("docs/fences.md")
def fences() -> str:
    """Code fences of all sorts that hold lines with #, one of them never closed."""
    return (
        "# Real\n\n```sh\n# not a heading\n```\n\n~~~\n# nor this\n```\n# nor this\n~~~\n\n"
        "````md\n```\n# inside\n```\n````\n\n## Also real\n\n``` not`a fence\n# Yes, a heading\n\n"
        + SENTENCE * 6
        + "\n\n```\n# in a fence that never ends\n\n"
        + SENTENCE * 6
    )


@nasty("docs/front-matter.md")
def front_matter() -> str:
    """Front matter whose comment looks like a heading, and a rule that looks like its end."""
    return (
        "---\ntitle: Page\n# a comment\ntags: [a, b]\n---\n\nText above.\n\n---\n\n# First\n\nIt.\n"
    )


@nasty("docs/headings.md")
def headings() -> str:
    """Headings that are none, closed ones, empty ones, seven marks, indented ones, C#."""
    return (
        "#no blank\n#\n# \n####### Seven\n    # Code\n   ## Indented ##\n" + SENTENCE * 7 + "\n"
        "# About C#\n" + SENTENCE * 7 + "\n#\tWith a tab ###  \n" + SENTENCE * 7 + "\n# ###\nEnd.\n"
    )


@nasty("docs/lists.md")
def lists() -> str:
    """Lists in lists, longer than a chunk."""
    items = (f"{'  ' * (number % 5)}- item {number}: {SENTENCE}" for number in range(20))
    return "# List\n\n" + "\n".join(items) + "\n"


@nasty("docs/html.md")
def html() -> str:
    """HTML with entities, a script and a comment that holds a heading."""
    return (
        "<!--\n# in a comment\n-->\n<details><summary>More &amp; more</summary>\n\n# In details\n\n"
        "<script>if (a < b && c > d) { alert('#'); }</script>\n</details>\n<pre>\n# in pre\n"
        "</pre>\n"
    )


@nasty("docs/table.md")
def table() -> str:
    """A table of which no line is a place to cut, longer than a chunk."""
    return "| a | b |\n|---|---|\n" + "".join(f"| {n} | {'cell ' * 8}|\n" for n in range(20))


@nasty("docs/same-lines.md")
def same_lines() -> str:
    """The same line many times: content alone does not say which piece it is."""
    return "# Same\n\n" + "The same line again.\n" * 90


@nasty("docs/record.issue.md")
def not_an_issue() -> str:
    """Named like a GitHub issue, and no issue."""
    return "# Only a page\n\nNobody wrote this on GitHub.\n"


@nasty("STRUCTURE.md")
def structure() -> str:
    """Named like the page that `course structure` writes, by somebody's own hand."""
    return "# Structure\n\n- `src/`: the code\n- `docs/`: the pages\n"


@nasty("deep/STRUCTURE.md")
def structure_long() -> str:
    """A long page of structure with headings: its pieces bear the folder that they are of."""
    lines = "".join(
        f"- `file-{number}.py`: what it is for, in some words\n" for number in range(90)
    )
    return f"# Structure\n\n## `src/`\n\n{lines}\n## `docs/`\n\n- `{'x' * 2100}`\n"


# Names


@nasty("names/UPPER.MD")
def upper() -> str:
    """An extension in capitals."""
    return "# Loud\n"


@nasty("names/with blank & ünïcode 🎈.txt")
def odd_name() -> str:
    """Blanks, an ampersand, an emoji in the name."""
    return "Named oddly.\n"


@nasty("names/.hidden.md")
def hidden() -> str:
    """A hidden file, which is not looked at."""
    return "# Hidden\n"


@nasty("names/.folder/page.md")
def hidden_folder() -> str:
    """A file in a hidden folder."""
    return "# Hidden\n"


@nasty("names/back\\slash.md")
def backslash() -> str:
    """A backslash in the name, which is a folder on Windows."""
    return "# Windows path\n"


@nasty("names/same/page.md")
def same_name_one() -> str:
    """The same name and text as another page."""
    return "# Same\n\nText.\n"


@nasty("names/same/other/page.md")
def same_name_two() -> str:
    """The same name and text as the page above."""
    return "# Same\n\nText.\n"


@nasty("names/" + "long-" * 40 + "name.md")
def long_name() -> str:
    """A file name of more than two hundred characters."""
    return "# Long\n"


@nasty("names/a.b.c.txt")
def dots() -> str:
    """Several dots in the name."""
    return "Dots.\n"
