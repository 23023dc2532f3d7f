"""Lab 09: contents, trees that one answer holds or not, answers with limits, and lines to cite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from email.utils import formatdate
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance, names, some, text

MESSAGES = ("", "Must have admin rights", "The size limit is 100 MB", "a secondary Rate Limit.")


@audit("9.1", count=40)
def blob_sha(random: Draws) -> Call:
    """Draw bytes: of a text, of any kind, or none."""
    return call(
        random.choice((text(random).encode(), random.randbytes(random.randrange(300)), b""))
    )


def _listed(
    function: Callable[..., Any], most: int, files: Sequence[str], *prefix: str, **within: Any
) -> dict[str, Any]:
    """Return what is listed of a tree (in any order), and what was asked for."""
    from course_lib.teaching.checks.lab09 import Trees

    read = Trees(most, *files)
    wanted = within.get("within", ())
    found = function(read, "root", *prefix, **within)
    entries = [[one.path, one.mode, one.sha, one.size] for one in found]
    below = tuple(f"{path}/" for path in wanted) or ("",)
    listed = [one for one in entries if one[0] in wanted or one[0].startswith(below)]
    return {"entries": sorted(listed), "asked": sorted(read.asked)}


@audit("9.2", count=120, apply=_listed, paste='list_tree(Trees({0}, *{1}), "root", {2})')
def list_tree(random: Draws) -> Call:
    """Draw files in folders whose names are alike, and how many entries one answer holds."""
    folders = ("", "", "app/", "apps/", "apps/kfp/", "apps/kfp/base/", "apps/web/", "web/apps/")
    found = {random.choice(folders) + name for name in names(random, random.randint(1, 7))}
    files = [one + random.choice(("", "", "*", "@", ":")) for one in sorted(found)]
    most = random.choice((99, 3, 4, 5, 2))
    if chance(random, 0.3):
        return call(most, files, "in/here/")
    if chance(random, 0.5):
        paths = ("app", "apps", "apps/kfp", "web/apps", "apps/kfp/base")
        return call(most, files, within=some(random, paths, 1)[: random.randint(1, 2)])
    return call(most, files)


@audit("9.3", count=250)
def wait_time(random: Draws) -> Call:
    """Draw an answer: its status, what its headers say of limits, and how often it was asked."""
    status = random.choice((403, 429, 403, 429, 500, 502, 599, 200, 404, 401, 499))
    headers = {}
    if chance(random, 0.25):
        headers["retry-after"] = random.choice(("0", str(random.randrange(90))))
    if chance(random, 0.5):
        now = random.randint(1_600_000_000, 1_900_000_000)
        headers["date"] = formatdate(now, usegmt=True)
        headers["x-ratelimit-remaining"] = random.choice(("0", "0", "10", "41"))
        headers["x-ratelimit-reset"] = str(
            now + random.choice((-20, -2, 0, 60, random.randint(1, 3600)))
        )
    return call(status, headers, random.choice(MESSAGES), random.randrange(5))


@audit("9.4", count=200)
def citation_url(random: Draws) -> Call:
    """Draw a file with signs in its name and one of many endings, and at times its lines."""
    stem = random.choice(("docs/x y#1", "é?", "a.mdx", "README", "src/100%+", "a.rst.b", "md"))
    ending = random.choice((".md", ".MD", ".rst", ".org", ".adoc", ".py", ".yaml", "", ".Markdown"))
    web = f"https://github.com/{random.choice('abc')}/{random.choice('xyz')}"
    first = random.choice((None, random.randint(1, 99)))
    last = random.choice((None, (first or 1) + random.choice((0, 0, 7))))
    commit = "".join(random.choices("0123456789abcdef", k=40))
    if chance(random, 0.2):
        commit = random.choice(("main", commit[:12], commit + "0", commit[:-1] + "g"))
    return call(web, commit, stem + ending, *random.choice(((), (first,), (first, last))))
