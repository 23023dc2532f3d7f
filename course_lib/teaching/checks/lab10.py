"""Lab 10, code from GitHub: whole trees, waits, and what an update has to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from typing import Any
from unittest.mock import patch

from course_lib.loader.github.tree import LINK, SUBMODULE, TREE, TreeEntry
from course_lib.teaching.checks.definition import Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, call_of, drawn, given

LISTING = """from course_lib.teaching.checks.lab10 import Trees
read = Trees({1}, *{2})
list_tree(read, "root", {rest}), read.asked"""
MARKS = {"*": "100755", "@": LINK, ":": SUBMODULE}


class Trees:
    """A `read` that needs no server: it lists so many entries at once, of a tree of these files.

    Files of one name have one content, and so one hash; folders of such files, too.

    Parameters
    ----------
    most
        Entries in one answer.
    files
        Their paths. A path that ends in ``*`` is a program, in ``@`` a link, in ``:`` a submodule.

    Attributes
    ----------
    asked
        The hash of the tree of each request, with the word ``alone`` for a tree alone.

    Examples
    --------
    >>> read = Trees(2, "a.md", "sub/b.md", "sub/c.md")
    >>> [(entry.path, entry.sha) for entry in read("root", True)[0]]
    [('a.md', 'blob of a.md'), ('sub', 'tree of b.md c.md')]
    >>> read("root", False)[1], read.asked
    (False, ['root', 'root alone'])
    """

    def __init__(self, most: int, *files: str) -> None:
        self.most, self.files = most, files
        self.asked: list[str] = []
        folders = [file[: at + 1] for file in files for at, one in enumerate(file) if one == "/"]
        self.trees = {self._sha(folder): self._entries(folder) for folder in ["", *folders]}

    def _sha(self, folder: str) -> str:
        files = (one.removeprefix(folder) for one in self.files if one.startswith(folder))
        return f"tree of {' '.join(files)}" if folder else "root"

    def _entries(self, folder: str) -> list[TreeEntry]:
        """Return all that is below a folder, whose name ends with a slash."""
        found: dict[str, TreeEntry] = {}
        for file in filter(lambda one: one.startswith(folder), self.files):
            path = file.removeprefix(folder).rstrip("*@:")
            *above, name = path.split("/")
            for end in range(1, len(above) + 1):
                below = "/".join(above[:end])
                found[below] = TreeEntry(below, TREE, self._sha(f"{folder}{below}/"))
            mode = MARKS.get(file[-1], "100644")
            size = None if mode == SUBMODULE else len(name)
            found[path] = TreeEntry(path, mode, f"blob of {name}", size)
        return [*found.values()]

    def __call__(self, sha: str, recursive: bool) -> tuple[list[TreeEntry], bool]:
        """Return the entries of a tree, and whether they were truncated."""
        self.asked.append(sha if recursive else f"{sha} alone")
        entries = self.trees[sha]
        if recursive:
            return entries[: self.most], len(entries) > self.most
        return [one for one in entries if "/" not in one.path], False


def _listed(
    function: Callable[..., Any], looked_at: str, most: int, files: Sequence[str], *prefix: str,
    within: Sequence[str] = (),
) -> Any:  # fmt: skip
    """Return what is listed of a tree, and what was asked for, in any order."""
    read = Trees(most, *files)
    found = function(read, "root", *prefix, **({"within": within} if within else {}))
    if not isinstance(found, list) or not all(isinstance(one, TreeEntry) for one in found):
        return found
    below = tuple(f"{path}/" for path in within) or ("",)
    listed = [one for one in found if one.mode == TREE or f"{one.path}/".startswith(below)]
    told = {"files": sorted(listed, key=lambda one: one.path), "requests": sorted(read.asked)}
    return {name: value for name, value in told.items() if name in looked_at}


@drawn(120, apply=_listed, paste=LISTING, varies=(1,))
def any_trees(random: Draws) -> Call:
    """Draw files in folders whose names are alike, and how many entries one answer holds."""
    folders = ("", "", "app/", "apps/", "apps/kfp/", "apps/kfp/base/", "apps/web/", "web/apps/")
    found = {random.choice(folders) + name for name in random.names(random.randint(1, 7))}
    files = [one + random.choice(("", "", "*", "@", ":")) for one in sorted(found)]
    named = {}
    prefix = random.choice(("", "", "in/here/"))
    if random.chance(0.5):
        paths = [prefix + one for one in ("app", "apps", "apps/kfp", "web/apps", "apps/kfp/base")]
        named["within"] = random.some(paths, 1)[: random.randint(1, 2)]
    prefixes = [prefix] if prefix else []
    return given("files, requests", random.choice((99, 3, 4, 5, 2)), files, *prefixes, **named)


@exercise("10.1", "loader.github.tree:list_tree", draws=any_trees)
def check_list_tree() -> Parts:
    """List a tree that fits, then trees that do not, then a part of one."""
    fits = [".gitignore", "apps/run.sh*", "common/charts:", "now.md@"]
    return [
        part(1, "a tree that fits into one answer, and a prefix",
            (("files", 9, fits), "folders are left out; programs, links and submodules are not"),
            (("requests", 9, fits), "one request is enough if the answer is not truncated"),
            (("files", 9, ["run.sh*"], "apps/"), "the prefix comes before the path"),
            needed=False),
        part(1, "trees that do not fit",
            (("files", 2, ["a.md", "sub/b.md", "sub/c.md"]),
             "the answer was truncated: ignore it, and list the folder alone"),
            (("files", 2, ["x/a.md", "x/y/b.md", "x/y/c.md"]),
             "the answer for x is truncated, too: list x alone, then the folder in it"),
            (("files", 3, ["charts:", "run.sh*", "x/b.md", "x/now.md@"]), "only x is left out"),
            (("files", 2, ["x/a.md", "x/b.md", "y/a.md", "y/b.md"]),
             "x and y have one hash, and so have their files, but all four are listed")),
        part(1, "no needless requests for a large tree",
            (("files", 3, ["a.md", "x/b.md", "x/y/c.md"]), "the answer was truncated"),
            (("requests", 3, ["a.md", "x/b.md", "x/y/c.md"]),
             "request each folder recursively first: only a large folder costs more")),
        part(1, "a part of a tree",
            *(case(looked_at, 2, files, within=within, because=because)
              for looked_at, within, files, because in (
                ("files", ["apps/kfp"], ["apps/kfp/a.md", "apps/kfp/b.md"],
                 "apps contains apps/kfp, which is wanted"),
                ("requests", ["apps"], ["apps/a.md", "web/b.md"], "nothing in web is wanted"),
                ("files", ["apps"], ["apps/a.md", "web/b.md"], "web is not wanted, and no file"),
                ("requests", ["apps/kfp"], ["apps/kfp/a.md", "apps/kfp/b.md", "apps/web/c.md"],
                 "nothing in apps/web is wanted: use `within` for the folders of a folder, too"),
                ("requests", ["apps"], ["app/a.md", "apps/b.md"], "app is another folder")))),
    ]  # fmt: skip


DATE = "Sun, 01 Mar 2026 10:00:00 GMT"
NOW = 1_772_359_200
"""The time of `DATE`, which is far from the time of any clock on which this runs."""


def _waited(function: Callable[..., Any], *args: Any, zone: str = "", **named: Any) -> Any:
    """Call the function; in another time zone, where this system can change it."""
    if not zone:
        return function(*args, **named)
    change = getattr(time, "tzset", lambda: None)
    try:
        with patch.dict(os.environ, TZ=zone):
            change()
            return function(*args, **named)
    finally:
        change()


ZONE = 'import os, time\nos.environ["TZ"] = "{}"\ntime.tzset()\n'


def _asking(*args: Any, zone: str = "", **named: Any) -> str:
    return (ZONE.format(zone) if zone else "") + call_of("wait_time", *args, **named)


@drawn(250, apply=_waited, paste=_asking, varies=(0, 1, 2, 3))
def any_answer(random: Draws) -> Call:
    """Draw an answer: its status, what its headers say of limits, and how often it was asked."""
    status = random.choice((403, 429, 403, 429, 403, 429, 502, 503, 200, 404, 401, 499))
    headers = {}
    if random.chance(0.25):
        headers["retry-after"] = random.choice(("0", str(random.randrange(90))))
    if random.chance(0.5):
        now = random.randint(1_600_000_000, 1_900_000_000)
        headers["x-ratelimit-remaining"] = random.choice(("0", "0", "10", "41"))
        reset = now + random.choice((-20, -2, 0, 60, random.randint(1, 3600)))
        headers |= {"date": formatdate(now, usegmt=True), "x-ratelimit-reset": str(reset)}
    messages = ("", "Must have admin rights", "The size limit is 100 MB", "a secondary Rate Limit.")
    return given(status, headers, random.choice(messages), random.randrange(5))


@exercise("10.2", "loader.github.waiting:wait_time", draws=any_answer)
def check_wait_time() -> Parts:
    """Go through the table: each row, and answers that look like it."""

    def left(requests: int, seconds: int = 60) -> dict[str, str]:
        reset = {"x-ratelimit-remaining": str(requests), "x-ratelimit-reset": str(NOW + seconds)}
        return {"date": DATE, **reset}

    retry, used_up = {"retry-after": "7"}, left(0)
    said = "You have exceeded a secondary Rate Limit."
    kinds: Any = (used_up,), (retry,), ({}, "rate limit")
    return [
        part(1, "a time that the server says",
            *(case(status, headers, because=because) for status in (403, 429)
              for headers, because in (
                (retry, "the server says how long"),
                ({"retry-after": "0"}, "0 seconds: the request may be repeated at once"),
                (used_up, "from `date` to the reset by the server's clock, plus one second"),
                ({**used_up, **retry}, "retry-after comes first"))),
            needed=False),
        part(1, "answers 403 that are about rights, and those that are not",
            case(403, used_up, zone="XYZ-5:30", because="`date` is GMT, whatever zone is set"),
            ((403, used_up, "API rate limit exceeded"), "the end of the hour comes first"),
            ((403, left(0, 4999)), "the reset is more than an hour away"),
            ((403, left(0, -5)), "the reset is in the past: 0 seconds to it, plus one second"),
            ((403, left(40), "Must have admin rights"), "requests are left: it is about rights"),
            ((403, {"date": DATE, "x-ratelimit-reset": str(NOW + 60)}),
             "`x-ratelimit-remaining` is missing, so it is not \"0\""),
            ((403, {}, "The size limit is 100 MB"),
             "the message mentions no rate limit: this 403 is about rights"),
            ((403, {}, "Corporate: ask for a limit"),
             "'rate' and 'limit' are in this message, but it mentions no 'rate limit'")),

        part(1, "waits that grow, and other statuses",
            *(case(403, left(41), said, attempt=attempt, because="it mentions a rate limit "
                   "(in capitals or not), but no time: 60, 120, …") for attempt in (0, 1, 2, 6)),
            ((403, {}, "API rate limit reached"), "a rate limit, with whatever words around it"),
            case(429, {}, "", attempt=1, because="a 429 is always a rate limit"),
            case(429, retry, "", attempt=2, because="the server says how long, at any attempt"),
            *(case(status, *more, because=f"a {status} is not a rate limit, whatever else is said")
              for status in (200, 301, 401, 404, 422, 451, 502, 503) for more in kinds)),
    ]  # fmt: skip


def _planned(function: Callable[..., Any], looked_at: str, *args: dict[str, str]) -> Any:
    plan = function(*args)
    if type(plan) is not tuple or len(plan) != 2:
        return f"no pair: {plan!r}"
    told = zip(("downloads", "removed"), plan, strict=True)
    return {name: value for name, value in told if name in looked_at}


PAIR = dict.fromkeys(
    ("no pair", "(list)"), "the pair is (downloads, removed), and the removed paths are a set"
)


@drawn(80, apply=_planned, paste="plan_update({1}, {2})", says=PAIR, varies=(1, 2))
def any_update(random: Draws) -> Call:
    """Draw what is listed and what is kept: some of it equal, changed, renamed, new, or gone."""
    names = random.names(random.randint(1, 9))
    listed = {name: random.choice("aabbcd") for name in random.some(names)}
    kept = {
        name: listed[name] if name in listed and random.chance(0.6) else random.choice("abx")
        for name in random.some(names)
    }
    return given("downloads, removed", listed, kept)


@exercise("10.3", "loader.github.tree:plan_update", draws=any_update)
def check_plan_update() -> Parts:
    """Take one file in each state, then several, equal ones among them."""
    one, both = {"a.md": "1"}, "downloads, removed"
    states: list[tuple[dict[str, str], dict[str, str], str]] = [
        (one, {}, "a.md is not kept: the hash of its content leads to the list of its paths"),
        (one, one, "a.md is kept and has the listed hash"),
        ({"a.md": "2"}, one, "its content is another; it is still listed, so it is not removed"),
        ({}, one, "a.md is no longer listed"),
    ]  # fmt: skip
    return [
        *(part(1, f"what is {about}",
            *(case(looked_at, *states, because=because) for *states, because in states),
            needed=False) for looked_at, about in (("downloads", "downloaded"), ("removed",) * 2)),
        part(1, "equal contents, names that changed, and the arguments as they were",
            ((both, {"b.md": "1", "a.md": "1"}, {}),
             "both have one content, which is downloaded once; the order is that of `listed`"),
            ((both, {"new.md": "1"}, {"old.md": "1"}), "it was renamed: this path is not kept"),
            ((both, {"a.md": "1", "b.md": "1"}, one), "a.md is up to date, although b.md is not"),
            ((both, {"a.md": "5f2c1d9a0b"}, {"a.md": "5f2c1d9a7e"}), "the hashes only begin alike"),
            ((both, {"README.md": "1"}, {"readme.md": "1"}), "README.md and readme.md are two"),
            ((both, {"a.md": "1", "b.md": "2", "c.md": "1"}, {}),
             "a.md and c.md have the same content, although b.md is between them")),
    ]  # fmt: skip
