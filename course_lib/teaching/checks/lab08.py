"""Lab 08, code from GitHub: hashes, whole trees, waits, and citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.errors import CourseError
from course_lib.loader.github.tree import LINK, SUBMODULE, TREE, TreeEntry
from course_lib.teaching.checks.probe import Case, Probe, exercise


@exercise(
    "8.1",
    function="blob_sha",
    points=2,
    library="course_lib.loader.github.tree",
    hints=(
        '`b"blob 6\\0"` is the head of a content of 6 bytes. Make it of `len(content)`.',
        '`f"blob {len(content)}\\0".encode("ascii")` are bytes; add the content, and take '
        "`hashlib.sha1(…).hexdigest()`.",
    ),
)
def check_blob_sha(call: Probe) -> None:
    """Begin with git's own examples, go on to what is no plain text."""
    call(b"hello\n").gives("ce013625030ba8dba906f756967f9e9ca394464a", because="git says so")
    call(b"").gives(
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", because="an empty file has a name, too"
    )
    call("é\n".encode()).gives(
        "c6003325155f475bd7c87731607525dce73be9cf", because="é is one character and two bytes"
    )
    call(b"\0\xff\r\n").gives(
        "00822ce7dfc6f27759b94e2c7dfd26f25afbac9d", because="a file may hold any bytes"
    )


class FakeTrees:
    """A server that lists trees, no more than so many entries in one answer, and remembers."""

    def __init__(self, most: int, trees: Mapping[str, Sequence[TreeEntry]] | None = None) -> None:
        self.most, self.trees = most, trees or TREES
        self.asked: list[tuple[str, bool]] = []

    def __repr__(self) -> str:
        return f"read (at most {self.most} entries)"

    def __call__(self, sha: str, recursive: bool) -> tuple[Sequence[TreeEntry], bool]:
        """Return the entries of a tree, and whether they were truncated."""
        self.asked.append((sha, bool(recursive)))
        entries = self._below(sha, "") if recursive else list(self.trees[sha])
        return entries[: self.most], len(entries) > self.most

    def _below(self, sha: str, prefix: str) -> list[TreeEntry]:
        found = []
        for one in self.trees[sha]:
            found.append(TreeEntry(prefix + one.path, one.mode, one.sha, one.size))
            if one.mode == TREE:
                found += self._below(one.sha, f"{prefix}{one.path}/")
        return found


TREES: dict[str, list[TreeEntry]] = {
    "root": [
        TreeEntry("README.md", "100644", "b1", 10),
        TreeEntry("apps", TREE, "t1"),
        TreeEntry("common", TREE, "t2"),
        TreeEntry("now.md", LINK, "b2", 9),
    ],
    "t1": [TreeEntry("kfp", TREE, "t3"), TreeEntry("run.sh", "100755", "b3", 30)],
    "t2": [TreeEntry("charts", SUBMODULE, "c1")],
    "t3": [
        TreeEntry("a.yaml", "100644", "b4", 40),
        TreeEntry("b.yaml", "100644", "b5", 50),
        TreeEntry("c.yaml", "100644", "b4", 40),
    ],
}
ALL = [
    "README.md",
    "apps/kfp/a.yaml",
    "apps/kfp/b.yaml",
    "apps/kfp/c.yaml",
    "apps/run.sh",
    "common/charts",
    "now.md",
]


@exercise(
    "8.2",
    function="list_tree",
    points=3,
    library="course_lib.loader.github.tree",
    hints=(
        "`entries, truncated = read(sha, True)`. Where it is not truncated you are nearly done: "
        "leave out the folders, and put `prefix` in front of each path.",
        "Where it is truncated, `read(sha, False)` lists this folder alone. A file joins the "
        'result; for a folder add `list_tree(read, entry.sha, f"{prefix}{entry.path}/", within)`.',
        "If the folder alone is truncated as well, raise `AnswerError(…)`. And a folder is worth a "
        "request if `within` is empty, or one of its paths lies within the folder, or the folder "
        "within one of them: `is_within(path, one) or is_within(one, path)`.",
    ),
)
def check_list_tree(call: Probe) -> None:
    """List a tree that fits, then ever smaller answers, then a part of it."""
    fits = FakeTrees(100)
    _lists(call, (fits, "root"), ALL, "one answer holds everything; folders are not listed")
    _asks(call, fits, [("root", True)], "one request is enough where nothing is truncated")
    value = call(FakeTrees(100), "root", "x/").value
    expected = TreeEntry("x/apps/run.sh", "100755", "b3", 30)
    if expected not in value:
        call.fail(
            'list_tree(read, "root", "x/")',
            got=f"no {expected}",
            expected=repr(expected),
            because="only the path is changed: mode, hash and size stay as they were listed",
        )
    for most, because in (
        (7, "the answer was truncated: what it lacks is in the folders"),
        (4, "each folder is asked for by itself, and a folder in it as well"),
    ):
        _lists(call, (FakeTrees(most), "root"), ALL, because)
    most_of_all = FakeTrees(7)
    _lists(call, (most_of_all, "root"), ALL, "the answer was truncated")
    _asks(
        call,
        most_of_all,
        [("root", True), ("root", False), ("t1", True), ("t2", True)],
        "a folder is asked for recursively first: only what is too large costs more",
    )
    wanted = [path for path in ALL if path.startswith("apps/kfp/")]
    some = FakeTrees(4)
    found = call(some, "root", within=["apps/kfp"])
    paths = [one.path for one in found.value]
    Case(call, found.label, value=[path for path in paths if path in wanted]).gives(
        wanted, because="apps lies on the way to apps/kfp"
    )
    if ("t2", True) in some.asked:
        call.fail(
            found.label,
            got="a request for the folder common",
            expected="none",
            because="nothing that is wanted lies below it",
        )
    deep = FakeTrees(4)
    found = call(deep, "root", within=["apps"])
    paths = [one.path for one in found.value if one.path.startswith("apps/")]
    Case(call, found.label, value=paths).gives(
        [path for path in ALL if path.startswith("apps/")],
        because="what is wanted is apps with all that lies below it",
    )
    call(FakeTrees(3), "root").raises(
        CourseError,
        because="a folder alone is too much for an answer: a short list would be a lie",
    )


def _lists(call: Probe, given: tuple[Any, ...], expected: list[str], because: str) -> None:
    case = call(*given)
    paths = [getattr(one, "path", one) for one in case.value]
    Case(call, case.label, value=paths).gives(expected, because=because)


def _asks(call: Probe, trees: FakeTrees, expected: list[tuple[str, bool]], because: str) -> None:
    Case(call, "what list_tree asked: (tree, recursive)", value=trees.asked).gives(
        expected, because=because
    )


DATE = "Sun, 01 Mar 2026 10:00:00 GMT"
NOW = 1_772_359_200
"""The time of `DATE`, which lies far from any clock on which this runs."""


@exercise(
    "8.3",
    function="wait_time",
    points=3,
    hints=(
        "Begin with what is not worth waiting for: a status below 500 that is neither 403 nor 429. "
        "Then follow the list in its order.",
        '`"retry-after" in headers` asks whether it is there; `float("7")` is 7.0. The pauses '
        "double: `2**attempt` is 1, 2, 4, …",
        '`parsedate_to_datetime(headers["date"]).timestamp()` is the server\'s clock in seconds '
        "since 1970, like `x-ratelimit-reset`. `max(0.0, reset - now) + 1` is never negative.",
    ),
)
def check_wait_time(call: Probe) -> None:
    """Go through the table, each row with what it is easily mistaken for."""
    for status in (403, 429):
        call(status, {"retry-after": "7"}).gives(7.0, because="the server says how long")
        call(status, _used_up(60)).gives(
            61.0, because="from `date` to the reset by the server's clock, and one second more"
        )
        call(status, {**_used_up(60), "retry-after": "7"}).gives(
            7.0, because="retry-after comes first"
        )
    call(403, _used_up(-5)).gives(1.0, because="the reset is past: nobody waits less than nothing")
    call(403, _left(41), "Must have admin rights").gives(
        None, because="requests are left: it is about rights, and will not change"
    )
    call(403, {}).gives(None, because="a 403 without a word is about rights")
    said = "You have exceeded a secondary Rate Limit."
    for attempt, seconds in enumerate((60.0, 120.0, 240.0)):
        call(403, _left(41), said, attempt=attempt).gives(
            seconds, because="the message speaks of a rate limit and not of how long"
        )
    call(429, {}, "", attempt=1).gives(120.0, because="a 429 is always a limit")
    for attempt, seconds in enumerate((1.0, 2.0, 4.0, 8.0)):
        call(502, {}, attempt=attempt).gives(
            seconds, because="each pause is twice as long as the last"
        )
    call(500, {}).gives(1.0, because="500 is a problem of the server, too")
    call(503, {"retry-after": "30"}, attempt=2).gives(30.0, because="the server says how long")
    call(502, _used_up(60)).gives(
        1.0, because="the server has a problem; how many requests are left is another matter"
    )
    for status in (200, 301, 401, 404, 422, 451):
        call(status, _used_up(60)).gives(None, because=f"asked again, a {status} would be the same")


def _used_up(seconds: int) -> dict[str, str]:
    reset = str(NOW + seconds)
    return {"date": DATE, "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}


def _left(requests: int) -> dict[str, str]:
    return {**_used_up(60), "x-ratelimit-remaining": str(requests)}


WEB = "https://github.com/a/b"
SHA = "53af14bd662f01044ef464113849020f704fc278"


@exercise(
    "8.4",
    function="citation_url",
    points=2,
    library="course_lib.loader.github.names",
    hints=(
        'The page of a file is `f"{web}/blob/{commit}/{quote(path)}"`. Where no line is given, '
        "that is all.",
        "Behind it comes `#L10`, or `#L10-L20` where the last line is another one than the first.",
        "`path.lower().endswith(RENDERED)` says whether `?plain=1` has to stand between the two.",
    ),
)
def check_citation_url(call: Probe) -> None:
    """Cite a file, one line, several, and what is shown rendered."""
    page = f"{WEB}/blob/{SHA}"
    call(WEB, SHA, "apps/a.yaml").gives(
        f"{page}/apps/a.yaml", because="without lines, the whole file"
    )
    call(WEB, SHA, "apps/a.yaml", 10, 20).gives(f"{page}/apps/a.yaml#L10-L20")
    call(WEB, SHA, "apps/a.yaml", 3, 3).gives(
        f"{page}/apps/a.yaml#L3", because="one line is no range"
    )
    call(WEB, SHA, "apps/a.yaml", 3).gives(
        f"{page}/apps/a.yaml#L3", because="where the last line is not given, it is the first"
    )
    call(WEB, SHA, "docs/x y#1.py", 1, 2).gives(
        f"{page}/docs/x%20y%231.py#L1-L2",
        because="a blank or a # in a name would end the address; a slash stays",
    )
    call(WEB, SHA, "README.md", 3, 5).gives(
        f"{page}/README.md?plain=1#L3-L5", because="a formatted page has no lines to jump to"
    )
    call(WEB, SHA, "docs/GUIDE.MD", 1, 1).gives(
        f"{page}/docs/GUIDE.MD?plain=1#L1", because="GitHub formats it whatever its case"
    )
    call(WEB, SHA, "README.md").gives(
        f"{page}/README.md", because="without lines the formatted page is the better one"
    )
    call(WEB, SHA, "a.mdx.py", 1, 2).gives(f"{page}/a.mdx.py#L1-L2", because="its ending is .py")
