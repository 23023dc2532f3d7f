"""Lab 10, code from GitHub: whole trees, waits, and what an update has to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from email.utils import formatdate
from typing import Any

from course_lib.loader.github.errors import AnswerError
from course_lib.loader.github.tree import LINK, SUBMODULE, TREE, TreeEntry
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise

MESSAGES = ("", "Must have admin rights", "The size limit is 100 MB", "a secondary Rate Limit.")


MARKS = {"*": "100755", "@": LINK, ":": SUBMODULE}


class Trees:
    """A `read` that needs no server: it lists so many entries at once, of a tree of these files.

    Parameters
    ----------
    most
        Entries in one answer.
    files
        Their paths. A path that ends in ``*`` is a program, in ``@`` a link, in ``:`` a submodule.
    alike
        Whether files of one name have one content, and so one hash; folders of such files, too.

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

    def __init__(self, most: int, *files: str, alike: bool = False) -> None:
        self.most, self.files, self.alike = most, files, alike
        self.asked: list[tuple[str, bool]] = []
        self._trees: dict[str, dict[str, TreeEntry]] = {"root": {}}
        for file in files:
            path = file.rstrip("".join(MARKS))
            parts = path.split("/")
            for depth in range(len(parts)):
                tree = self._trees.setdefault(self._tree_name("/".join(parts[:depth])), {})
                for end in range(depth + 1, len(parts)):
                    below = "/".join(parts[depth:end])
                    tree[below] = TreeEntry(below, TREE, self._tree_name("/".join(parts[:end])))
                below = "/".join(parts[depth:])
                mode = MARKS.get(file[-1], "100644")
                name = parts[-1] if self.alike else path
                size = None if mode == SUBMODULE else len(name)
                tree[below] = TreeEntry(below, mode, f"blob of {name}", size)

    def _tree_name(self, folder: str) -> str:
        if not folder:
            return "root"
        within = f"{folder}/"
        files = [one.removeprefix(within) for one in self.files if one.startswith(within)]
        return f"tree of {' '.join(files) if self.alike else folder}"

    def __repr__(self) -> str:
        more = ", alike=True" if self.alike else ""
        return f"Trees({', '.join(map(repr, (self.most, *self.files)))}{more})"

    def __call__(self, sha: str, recursive: bool) -> tuple[list[TreeEntry], bool]:
        """Return the entries of a tree, and whether they were truncated."""
        self.asked.append((sha, bool(recursive)))
        if sha not in self._trees:
            raise LookupError(f"there is no tree {sha!r}")
        below = self._trees[sha].values()
        entries = [entry for entry in below if recursive or "/" not in entry.path]
        if len(entries) > self.most and not recursive:
            raise AnswerError(f"the tree {sha!r} alone has more than {self.most} entries")
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


@exercise("10.1", "loader.github.tree:list_tree", 4, draws=any_trees)
def check_list_tree(call: Probe) -> None:
    """List a tree that fits, then trees that do not, then a part of one."""
    with call.part(1, "a tree that fits into one answer, and a prefix", needed=False):
        fits = Trees(9, ".gitignore", "apps/run.sh*", "common/charts:", "now.md@")
        _lists(call, fits,
               "one answer contains everything; folders are not in the result, but programs, links "
               "and submodules are")  # fmt: skip
        _asks(call, fits, ["root"], "one request is enough if the answer is not truncated")
        [run] = Trees(9, "run.sh*").all_files()
        call(Trees(9, "run.sh*"), "root", "apps/").gives(
            [replace(run, path="apps/run.sh")],
            because="the prefix comes before the path; mode, hash and size stay as they were "
            "listed",
        )
    with call.part(1, "trees that do not fit"):
        _lists(call, Trees(2, "a.md", "sub/b.md", "sub/c.md"),
               "the answer was truncated: ignore it, and list the folder alone")  # fmt: skip
        _lists(call, Trees(2, "x/a.md", "x/y/b.md", "x/y/c.md"),
               "the answer for x is truncated, too: list x alone, then the folder in it",
        )  # fmt: skip
        _lists(call, Trees(3, "charts:", "run.sh*", "sub/b.md", "sub/now.md@"),
               "folders are left out, but programs, links and submodules are not")  # fmt: skip
        _lists(call, Trees(2, "x/a.md", "x/b.md", "y/a.md", "y/b.md", alike=True),
               "x and y have the same content, so they have one hash, and so have their files: "
               "all four are listed")  # fmt: skip
    with call.part(1, "no needless requests for a large tree"):
        large = Trees(3, "a.md", "x/b.md", "x/y/c.md")
        _lists(call, large, "the answer was truncated")
        _asks(call, large, ["root", "root alone", "tree of x"],
              "request each folder recursively first: only a large folder costs more")  # fmt: skip
    with call.part(1, "a part of a tree"):
        _lists(call, Trees(2, "apps/kfp/a.md", "apps/kfp/b.md"),
               "apps contains apps/kfp, which is wanted", within=["apps/kfp"])  # fmt: skip
        _lists(call, Trees(2, "apps/a.md", "apps/kfp/b.md", "apps/kfp/c.md"),
               "apps is wanted with everything below it", within=["apps"])  # fmt: skip
        for trees, within, needless, because in (
            (Trees(2, "apps/a.md", "web/b.md"), "apps", "web", "it contains nothing that is "
             "wanted"),
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
            folders = [one.path for one in found.value if one.mode == TREE]
            found.holds(not folders, "no folder in the result", got=", ".join(folders),
                        because="a folder that is not wanted is not a file, either")  # fmt: skip


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
    status = random.choice((403, 429, 403, 429, 403, 429, 502, 503, 200, 404, 401, 499))
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


@exercise("10.2", "loader.github.waiting:wait_time", 3, draws=any_answer)
def check_wait_time(call: Probe) -> None:
    """Go through the table: each row, and answers that look like it."""
    with call.part(1, "a time that the server says", needed=False):
        for status in (403, 429):
            call.cases(
                ((status, {"retry-after": "7"}), 7.0, "the server says how long"),
                ((status, {"retry-after": "0"}), 0.0,
                 "0 seconds is a valid answer: the request may be repeated at once"),
                ((status, _used_up(60)), 61.0,
                 "from `date` to the reset by the server's clock, plus one second"),
                ((status, {**_used_up(60), "retry-after": "7"}), 7.0, "retry-after comes first"),
            )  # fmt: skip
    with call.part(1, "answers 403 that are about rights, and those that are not"):
        with _far_from_greenwich():
            call(403, _used_up(60)).gives(
                61.0, because="`date` is in GMT, whatever the time zone of this machine is"
            )
        call.cases(
            ((403, _used_up(60), "API rate limit exceeded"), 61.0,
             "look at the end of the hour before the message"),
            ((403, _used_up(4999)), 5000.0, "the reset is more than an hour away"),
            ((403, _used_up(-5)), 1.0,
             "the reset is in the past: the seconds to it are 0, and a wait is never negative, "
             "plus one second"),
            ((403, _left(40), "Must have admin rights"), None,
             "requests are left: this 403 is about rights, and waiting does not help"),
            ((403, {"date": DATE, "x-ratelimit-reset": str(NOW + 60)}), None,
             "`x-ratelimit-remaining` is missing, so it is not \"0\""),
            ((403, {}, "The size limit is 100 MB"), None,
             "the message mentions no rate limit: this 403 is about rights"),
            ((403, {}, "Only corporate accounts: ask us to lift this limit"), None,
             "'rate' and 'limit' are in this message, but it mentions no 'rate limit'"),
            ((403, {}), None, "without a message, a 403 is about rights"),
        )  # fmt: skip
    with call.part(1, "waits that grow, and other statuses"):
        said = "You have exceeded a secondary Rate Limit."
        for attempt, seconds in (0, 60.0), (1, 120.0), (2, 240.0), (6, 3840.0):
            call(403, _left(41), said, attempt=attempt).gives(
                seconds,
                because="the message mentions a rate limit, in capital letters or not, but no "
                "time: 60, 120, 240, …",
            )
        call(403, {}, "API rate limit reached").gives(
            60.0, because="the message mentions a rate limit, with whatever words around it"
        )
        call(429, {}, "", attempt=1).gives(120.0, because="a 429 is always a rate limit")
        call(429, {"retry-after": "7"}, "", attempt=2).gives(
            7.0, because="the server says how long, whatever the attempt"
        )
        for status in (200, 301, 401, 404, 422, 451, 502, 503):
            because = f"a {status} is not a rate limit, whatever its headers or its message say"
            call(status, _used_up(60)).gives(None, because=because)
            call(status, {"retry-after": "7"}).gives(None, because=because)
            call(status, {}, "rate limit").gives(None, because=because)


@contextmanager
def _far_from_greenwich() -> Iterator[None]:
    """Let this process have another time zone, where its system can change it."""
    from unittest.mock import patch

    change = getattr(time, "tzset", lambda: None)
    try:
        with patch.dict(os.environ, TZ="XYZ-5:30"):
            change()
            yield
    finally:
        change()


def _used_up(seconds: int) -> dict[str, str]:
    reset = str(NOW + seconds)
    return {"date": DATE, "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}


def _left(requests: int) -> dict[str, str]:
    return {**_used_up(60), "x-ratelimit-remaining": str(requests)}


def _planned(function: Callable[..., Any], *args: dict[str, str]) -> list[Any]:
    """Return the plan, and the arguments as they are after it."""
    return [function(*args), *args]


@drawn(80, apply=_planned)
def any_update(random: Draws) -> Call:
    """Draw what is listed and what is kept: some of it equal, changed, renamed, new, or gone."""
    names = random.names(random.randint(1, 9))
    listed = {name: random.choice("aabbcd") for name in random.some(names)}
    kept = {
        name: listed[name] if name in listed and random.chance(0.6) else random.choice("abx")
        for name in random.some(names)
    }
    return given(listed, kept)


UPDATES: list[tuple[dict[str, str], dict[str, str], dict[str, list[str]], set[str], str]] = [
    ({"a.md": "1"}, {}, {"1": ["a.md"]}, set(),
     "a.md is not kept: its content is downloaded, so its hash leads to the list of its paths"),
    ({"a.md": "1"}, {"a.md": "1"}, {}, set(), "a.md is kept and has the listed hash"),
    ({"a.md": "2"}, {"a.md": "1"}, {"2": ["a.md"]}, set(),
     "a.md has another content than the kept file; it is still listed, so it is not removed"),
    ({}, {"a.md": "1"}, {}, {"a.md"}, "a.md is no longer listed"),
    ({"b.md": "1", "a.md": "1"}, {}, {"1": ["b.md", "a.md"]}, set(),
     "both files have the same content, which is downloaded once; the order is that of `listed`"),
    ({"new.md": "1"}, {"old.md": "1"}, {"1": ["new.md"]}, {"old.md"},
     "the file was renamed: no file of this path is kept"),
    ({"a.md": "1", "b.md": "1"}, {"a.md": "1"}, {"1": ["b.md"]}, set(),
     "a.md is up to date, although b.md needs the same content"),
    ({"a.md": "2", "b.md": "1"}, {"a.md": "1", "b.md": "2"}, {"2": ["a.md"], "1": ["b.md"]}, set(),
     "the two contents were exchanged: compare the hashes of the same path"),
    ({"a.md": "5f2c1d9a0b"}, {"a.md": "5f2c1d9a7e"}, {"5f2c1d9a0b": ["a.md"]}, set(),
     "the hashes are different, although they begin alike"),
    ({"README.md": "1"}, {"readme.md": "1"}, {"1": ["README.md"]}, {"readme.md"},
     "README.md and readme.md are two paths"),
    ({"a.md": "1", "b.md": "2", "c.md": "1"}, {}, {"1": ["a.md", "c.md"], "2": ["b.md"]}, set(),
     "a.md and c.md have the same content, although b.md is between them"),
    ({"a.md": "1", "b.md": "2", "c.md": "3"}, {"c.md": "3", "x.md": "1", "y.md": "9"},
     {"1": ["a.md"], "2": ["b.md"]}, {"x.md", "y.md"},
     "two contents are new, one file is up to date, and two are gone"),
    ({}, {}, {}, set(), "an empty version, and nothing is kept"),
]  # fmt: skip


def _shape(case: Case) -> str:
    """Return what is wrong with the pair that was returned, apart from what is in it."""
    found = case.value
    if not isinstance(found, tuple) or len(found) != 2:
        return "two things are returned: the pair is (downloads, removed)"
    first, second = found
    if isinstance(first, set | frozenset) and isinstance(second, dict):
        return "the pair is (downloads, removed), in this order"
    return "the removed paths are a set" if isinstance(second, list | tuple) else ""


@exercise("10.3", "loader.github.tree:plan_update", 3, draws=any_update)
def check_plan_update(call: Probe) -> None:
    """Take one file in each state, then several, equal ones among them."""
    for place, about in enumerate(("what is downloaded", "what is removed")):
        with call.part(1, about, needed=False):
            for listed, kept, *plan, because in UPDATES[:4]:
                case = call(listed, kept)
                if case.error is not None or type(case.value) is not tuple or len(case.value) != 2:
                    case.gives(tuple(plan), because=_shape(case) or because)
                one = Case(call, f"{case.label}[{place}]", value=case.value[place])
                one.gives(plan[place], because=_shape(case) or because)
    with call.part(1, "equal contents, names that changed, and the arguments as they were"):
        for listed, kept, missing, gone, because in UPDATES[4:]:
            case = call(listed, kept)
            case.gives((missing, gone), because=_shape(case) or because)
