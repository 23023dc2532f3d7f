"""Lab 10, code from GitHub: hashes, whole trees, waits, and citations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from email.utils import formatdate
from typing import Any

from course_lib.errors import InputError
from course_lib.loader.github.errors import AnswerError
from course_lib.loader.github.tree import LINK, SUBMODULE, TREE, TreeEntry
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise

MESSAGES = ("", "Must have admin rights", "The size limit is 100 MB", "a secondary Rate Limit.")


@drawn(40)
def any_bytes(random: Draws) -> Call:
    """Draw bytes: of a text, of any kind, or none."""
    return given(
        random.choice((random.text().encode(), random.randbytes(random.randrange(300)), b""))
    )


@exercise("10.1", "loader.github.tree:blob_sha", 2, draws=any_bytes)
def check_blob_sha(call: Probe) -> None:
    """Begin with git's own examples, then contents that are not plain text."""
    call.cases(
        ((b"hello\n",), "ce013625030ba8dba906f756967f9e9ca394464a",
         "it is the SHA-1 of b'blob 6\\0hello\\n', in hexadecimal"),
        ((b"",), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "an empty file has a hash, too"),
        (("é\n".encode(),), "c6003325155f475bd7c87731607525dce73be9cf",
         "é is one character and two bytes"),
        ((b"0123456789abcde\n",), "f999b43b943e829cd587885f0f567e1ea2f2d44d",
         "the number of bytes is written in decimal: 16"),
        ((b"\0\xff\r\n",), "00822ce7dfc6f27759b94e2c7dfd26f25afbac9d",
         "a file may contain any bytes"),
    )  # fmt: skip


MARKS = {"*": "100755", "@": LINK, ":": SUBMODULE}


class Trees:
    """A `read` that needs no server: it lists so many entries at once, of a tree of these files.

    Parameters
    ----------
    most
        Entries in one answer.
    files
        Their paths. A path that ends in ``*`` is a program, in ``@`` a link, in ``:`` a submodule.

    Attributes
    ----------
    asked
        (hash of a tree, recursive?) of each request.

    Examples
    --------
    >>> read = Trees(2, "a.md", "sub/b.md")
    >>> entries, truncated = read("root", True)
    >>> [entry.path for entry in entries], truncated
    (['a.md', 'sub'], True)
    """

    def __init__(self, most: int, *files: str) -> None:
        self.most, self.files = most, files
        self.asked: list[tuple[str, bool]] = []
        self._trees: dict[str, dict[str, TreeEntry]] = {"root": {}}
        for file in files:
            path = file.rstrip("".join(MARKS))
            parts = path.split("/")
            for depth in range(len(parts)):
                above = "/".join(parts[:depth])
                tree = self._trees.setdefault(f"tree of {above}" if above else "root", {})
                for end in range(depth + 1, len(parts)):
                    below = "/".join(parts[depth:end])
                    tree[below] = TreeEntry(below, TREE, f"tree of {'/'.join(parts[:end])}")
                below = "/".join(parts[depth:])
                mode = MARKS.get(file[-1], "100644")
                tree[below] = TreeEntry(below, mode, f"blob of {path}", len(path))

    def __repr__(self) -> str:
        return f"Trees({', '.join(map(repr, (self.most, *self.files)))})"

    def __call__(self, sha: str, recursive: bool) -> tuple[list[TreeEntry], bool]:
        """Return the entries of a tree, and whether they were truncated."""
        self.asked.append((sha, bool(recursive)))
        if sha not in self._trees:
            raise LookupError(f"there is no tree {sha!r}")
        below = self._trees[sha].values()
        entries = [entry for entry in below if recursive or "/" not in entry.path]
        return entries[: self.most], len(entries) > self.most

    def all_files(self) -> list[TreeEntry]:
        """Return all that is not a folder, by path."""
        files = [entry for entry in self._trees["root"].values() if entry.mode != TREE]
        return sorted(files, key=lambda entry: entry.path)


def _listed(
    function: Callable[..., Any], most: int, files: Sequence[str], *prefix: str, **within: Any
) -> dict[str, Any]:
    """Return what is listed of a tree (in any order), and what was asked for."""
    read = Trees(most, *files)
    wanted = within.get("within", ())
    found = function(read, "root", *prefix, **within)
    entries = [[one.path, one.mode, one.sha, one.size] for one in found]
    below = tuple(f"{path}/" for path in wanted) or ("",)
    listed = [one for one in entries if one[0] in wanted or one[0].startswith(below)]
    return {"entries": sorted(listed), "asked": sorted(read.asked)}


@drawn(120, apply=_listed, paste='list_tree(Trees({0}, *{1}), "root", {2})')
def any_trees(random: Draws) -> Call:
    """Draw files in folders whose names are alike, and how many entries one answer holds."""
    folders = ("", "", "app/", "apps/", "apps/kfp/", "apps/kfp/base/", "apps/web/", "web/apps/")
    found = {random.choice(folders) + name for name in random.names(random.randint(1, 7))}
    files = [one + random.choice(("", "", "*", "@", ":")) for one in sorted(found)]
    most = random.choice((99, 3, 4, 5, 2))
    if random.chance(0.3):
        return given(most, files, "in/here/")
    if random.chance(0.5):
        paths = ("app", "apps", "apps/kfp", "web/apps", "apps/kfp/base")
        return given(most, files, within=random.some(paths, 1)[: random.randint(1, 2)])
    return given(most, files)


@exercise("10.2", "loader.github.tree:list_tree", 3, draws=any_trees)
def check_list_tree(call: Probe) -> None:
    """List a tree that fits, then trees that do not, then a part of one."""
    fits = Trees(9, "README.md", "apps/run.sh*", "common/charts:", "now.md@")
    _lists(call, fits,
           "one answer contains everything; folders are not in the result, but programs, links "
           "and submodules are")  # fmt: skip
    _asks(call, fits, ["root"], "one request is enough if the answer is not truncated")
    [run] = Trees(9, "run.sh*").all_files()
    call(Trees(9, "run.sh*"), "root", "apps/").gives(
        [replace(run, path="apps/run.sh")],
        because="the prefix comes before the path; mode, hash and size stay as they were listed",
    )
    _lists(call, Trees(2, "a.md", "sub/b.md", "sub/c.md"),
           "the answer was truncated: ignore it, and list the folder alone")  # fmt: skip
    _lists(call, Trees(2, "x/a.md", "x/y/b.md", "x/y/c.md"),
           "the answer for x is truncated, too: list x alone, then the folder in it")  # fmt: skip
    _lists(call, Trees(3, "now.md@", "run.sh*", "sub/b.md", "sub/charts:"),
           "folders are left out, but programs, links and submodules are not")  # fmt: skip
    large = Trees(3, "a.md", "x/b.md", "x/y/c.md")
    _lists(call, large, "the answer was truncated")
    _asks(call, large, ["root", "root alone", "tree of x"],
          "request each folder recursively first: only a large folder costs more")  # fmt: skip
    _lists(call, Trees(2, "apps/kfp/a.md", "apps/kfp/b.md"),
           "apps contains apps/kfp, which is wanted", within=["apps/kfp"])  # fmt: skip
    _lists(call, Trees(2, "apps/a.md", "apps/kfp/b.md", "apps/kfp/c.md"),
           "apps is wanted with everything below it", within=["apps"])  # fmt: skip
    for trees, within, needless, because in (
        (Trees(2, "apps/a.md", "web/b.md"), "apps", "web", "it contains nothing that is wanted"),
        (Trees(2, "apps/kfp/a.md", "apps/kfp/b.md", "apps/web/c.md"), "apps/kfp", "apps/web",
         "it contains nothing that is wanted: use `within` for the folders of a folder, too"),
        (Trees(2, "app/a.md", "apps/b.md"), "apps", "app",
         "its name is only the beginning of apps"),
    ):  # fmt: skip
        found = call(trees, "root", within=[within])
        found.returns(list[TreeEntry])
        asked = [sha for sha, _ in trees.asked]
        got = f"a request for the folder {needless}"
        found.holds(f"tree of {needless}" not in asked, "none", got=got, because=because)
    call(Trees(1, "a.md", "b.md"), "root").raises(
        AnswerError,
        because="a folder alone is too large for an answer: the list would be incomplete",
    )


def _lists(call: Probe, trees: Trees, because: str, **wanted: list[str]) -> None:
    case = call(trees, "root", **wanted)
    if case.error is not None:
        case.gives(trees.all_files(), because=because)
    entries: list[TreeEntry] = case.returns(list[TreeEntry])
    value = sorted(entries, key=lambda entry: entry.path)
    paths = [entry.path for entry in value]
    Case(call, case.label, value=paths).gives([e.path for e in trees.all_files()], because=because)
    Case(call, case.label, value=value).gives(
        trees.all_files(), because="mode, hash and size stay as they were listed"
    )


def _asks(call: Probe, trees: Trees, expected: list[str], because: str) -> None:
    asked = [sha if recursive else f"{sha} alone" for sha, recursive in trees.asked]
    Case(call, call.called).holds(
        sorted(asked) == sorted(expected), f"{len(expected)}: {', '.join(expected)}",
        got=f"{len(asked)} requests: {', '.join(asked)}", because=because,
    )  # fmt: skip


DATE = "Sun, 01 Mar 2026 10:00:00 GMT"
NOW = 1_772_359_200
"""The time of `DATE`, which is far from the time of any clock on which this runs."""


@drawn(250)
def any_answer(random: Draws) -> Call:
    """Draw an answer: its status, what its headers say of limits, and how often it was asked."""
    status = random.choice((403, 429, 403, 429, 500, 502, 599, 200, 404, 401, 499))
    headers = {}
    if random.chance(0.25):
        headers["retry-after"] = random.choice(("0", str(random.randrange(90))))
    if random.chance(0.5):
        now = random.randint(1_600_000_000, 1_900_000_000)
        headers["date"] = formatdate(now, usegmt=True)
        headers["x-ratelimit-remaining"] = random.choice(("0", "0", "10", "41"))
        headers["x-ratelimit-reset"] = str(
            now + random.choice((-20, -2, 0, 60, random.randint(1, 3600)))
        )
    return given(status, headers, random.choice(MESSAGES), random.randrange(5))


@exercise("10.3", "loader.github.waiting:wait_time", 3, draws=any_answer)
def check_wait_time(call: Probe) -> None:
    """Go through the table: each row, and answers that look like it."""
    for status in (403, 429):
        call.cases(
            ((status, {"retry-after": "7"}), 7.0, "the server says how long"),
            ((status, {"retry-after": "0"}), 0.0,
             "0 seconds is a valid answer: the request may be repeated at once"),
            ((status, _used_up(60)), 61.0,
             "from `date` to the reset by the server's clock, plus one second"),
            ((status, {**_used_up(60), "retry-after": "7"}), 7.0, "retry-after comes first"),
        )  # fmt: skip
    call.cases(
        ((403, _used_up(60), "API rate limit exceeded"), 61.0,
         "look at the end of the hour before the message"),
        ((403, _used_up(-5)), 1.0,
         "the reset is in the past: the seconds to it are 0, and a wait is never negative, plus "
         "one second"),
        ((403, _left(41), "Must have admin rights"), None,
         "requests are left: this 403 is about rights, and waiting does not help"),
        ((403, {}, "The size limit is 100 MB"), None,
         "the message mentions no rate limit: this 403 is about rights"),
        ((403, {}, "Only corporate accounts: ask us to lift this limit"), None,
         "'rate' and 'limit' are in this message, but it mentions no 'rate limit'"),
        ((403, {}), None, "without a message, a 403 is about rights"),
    )  # fmt: skip
    said = "You have exceeded a secondary Rate Limit."
    for attempt, seconds in (0, 60.0), (1, 120.0), (2, 240.0), (6, 3840.0):
        call(403, _left(41), said, attempt=attempt).gives(
            seconds,
            because="the message mentions a rate limit, in capital letters or not, but no time: "
            "60, 120, 240, …",
        )
    call(429, {}, "", attempt=1).gives(120.0, because="a 429 is always a rate limit")
    for attempt, seconds in (0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0), (10, 1024.0):
        call(502, {}, attempt=attempt).gives(
            seconds, because="1, 2, 4, …: each pause is twice as long as the last"
        )
    for status in (500, 504, 599):
        call(status, {}).gives(1.0, because="500 and above means a problem of the server")
    call(503, {"retry-after": "30"}, attempt=2).gives(30.0, because="the server says how long")
    call.cases(
        ((502, _used_up(60)), 1.0,
         "the server has a problem, and this does not depend on the requests left"),
        ((502, {}, "rate limit"), 1.0, "the server has a problem, whatever the message says"),
    )  # fmt: skip
    for status in (200, 301, 401, 404, 422, 451):
        because = f"a {status} is not a limit and not a fault: the next answer would be the same"
        call(status, _used_up(60)).gives(None, because=because)
        call(status, {"retry-after": "7"}).gives(None, because=because)
        call(status, {}, "rate limit").gives(None, because=because)


def _used_up(seconds: int) -> dict[str, str]:
    reset = str(NOW + seconds)
    return {"date": DATE, "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}


def _left(requests: int) -> dict[str, str]:
    return {**_used_up(60), "x-ratelimit-remaining": str(requests)}


WEB = "https://github.com/a/b"
SHA = "53af14bd662f01044ef464113849020f704fc278"


NO_COMMITS = [
    ("main", "it is a branch, and a branch moves: tomorrow these lines may have another text"),
    ("v1.0.0", "it is a tag, and a tag can be set to another commit"),
    (SHA[:7], "it is only the beginning of a hash, and another commit may begin in the same way"),
    (f"release-{SHA[8:]}", "a name of 40 characters is not a hash: a hash has only 0-9 and a-f"),
    (SHA + "0", "it has one digit too many: a hash has exactly 40"),
    (SHA.upper(), "a hash is written in small letters"),
    (SHA + "\n", "a line feed is after the hash"),
    ("", "an empty text is not a commit"),
]


@drawn(200)
def any_lines(random: Draws) -> Call:
    """Draw a file with signs in its name and one of many endings, and at times its lines."""
    stem = random.choice(("docs/x y#1", "é?", "a.mdx", "README", "src/100%+", "a.rst.b", "md"))
    ending = random.choice((".md", ".MD", ".rst", ".org", ".adoc", ".py", ".yaml", "", ".Markdown"))
    web = f"https://github.com/{random.choice('abc')}/{random.choice('xyz')}"
    first = random.choice((None, random.randint(1, 99)))
    last = random.choice((None, (first or 1) + random.choice((0, 0, 7))))
    commit = "".join(random.choices("0123456789abcdef", k=40))
    if random.chance(0.2):
        commit = random.choice(("main", commit[:12], commit + "0", commit[:-1] + "g"))
    return given(web, commit, stem + ending, *random.choice(((), (first,), (first, last))))


@exercise("10.4", "loader.github.names:citation_url", 2, draws=any_lines)
def check_citation_url(call: Probe) -> None:
    """Cite a file, one line, several, what is shown rendered, and what is not a commit."""
    page = f"{WEB}/blob/{SHA}"
    call.cases(
        ((WEB, SHA, "apps/a.yaml"), f"{page}/apps/a.yaml",
         "the whole hash comes after `blob`, and a slash stays; without lines, the whole file is "
         "cited"),
        ((WEB, SHA, "apps/a.yaml", 10, 20), f"{page}/apps/a.yaml#L10-L20",
         "these are lines 10 to 20, each with an L; a YAML file needs no `?plain=1`"),
        ((WEB, SHA, "apps/a.yaml", 3, 3), f"{page}/apps/a.yaml#L3", "one line is not a range"),
        ((WEB, SHA, "apps/a.yaml", 3), f"{page}/apps/a.yaml#L3",
         "if the last line is not given, it is the first"),
        ((WEB, SHA, "apps/a.yaml", None, 5), f"{page}/apps/a.yaml",
         "without the first line the whole file is cited"),
        ((WEB, SHA, "docs/x y#1.py", 1, 2), f"{page}/docs/x%20y%231.py#L1-L2",
         "a space or a # in a name would end the address; a slash stays"),
        ((WEB, SHA, "é?.py", 1), f"{page}/%C3%A9%3F.py#L1",
         "a path in an address cannot contain é and ? either"),
        ((WEB, SHA, "README.md", 3, 5), f"{page}/README.md?plain=1#L3-L5",
         "a formatted page has no lines to link to"),
        ((WEB, SHA, "docs/GUIDE.MD", 1, 1), f"{page}/docs/GUIDE.MD?plain=1#L1",
         "GitHub formats it, also with capital letters"),
        ((WEB, SHA, "a.rst", 3), f"{page}/a.rst?plain=1#L3", ".rst is one of RENDERED, too"),
        ((WEB, SHA, "README.md"), f"{page}/README.md",
         "without lines, the formatted page is better"),
        ((WEB, SHA, "a.mdx.py", 1, 2), f"{page}/a.mdx.py#L1-L2", "its ending is .py"),
        ((WEB, SHA, "docs/.md", 1, 2), f"{page}/docs/.md?plain=1#L1-L2",
         "a name may be one of RENDERED and nothing else"),
    )  # fmt: skip
    for ref, because in NO_COMMITS:
        call(WEB, ref, "apps/a.yaml", 10, 20).raises(InputError, because=because)
    call(WEB, "main", "apps/a.yaml").raises(
        InputError, because="a whole file of a branch changes, too"
    )
