"""What lab 03 says about its outputs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from course_lib.teaching.claims import Claims, lists, numbers


def _mostly_text(shown: str) -> bool:
    _, by_the_rule, in_truth = lists(shown)
    return {*in_truth} < {*by_the_rule} and len(in_truth) < len(by_the_rule) / 2


def _inventions(shown: str) -> bool:
    go, shell = lists(shown)[:2]
    return {"fake", "Fake"} <= {*go} and "pretend" in shell


def _no_inventions(shown: str) -> bool:
    found = [str(name) for found in lists(shown) for name in found]
    return len(found) > 5 and not any("fake" in name.lower() or "pretend" in name for name in found)


def _under_headers(shown: str) -> bool:
    methods = [line for line in shown.splitlines() if " method " in line]
    parts = [line for line in methods if "_score_batch" in line]
    return (
        all("class Scorer:" in line for line in methods)
        and len(parts) > 1
        and all("async def _score_batch" in line for line in parts[1:])
    )


def _kept(shown: str, splitter: str) -> Sequence[float]:
    """Return the shares that a splitter keeps whole: of all, and of those at the margin."""
    return numbers(shown, after=splitter)


def _loses_inner_ones(shown: str) -> bool:
    everywhere, at_margin = _kept(shown, "by lines")
    return 100 - everywhere > 5 * (100 - at_margin) and _kept(shown, "split_code")[0] > 99


def _blank_lines_go_far(shown: str) -> bool:
    worst, between, best = (
        _kept(shown, name)[0] for name in ("every 512", "recursive", "split_code")
    )
    return between - worst > (best - worst) / 2


def _recall(shown: str) -> list[float]:
    """Return the recall of each splitter; the first cuts every 512 characters."""
    names = ("every 512", "recursive", "by lines", "split_code")
    return [numbers(shown, after=f"\n{name}")[0] for name in names]


def _near_the_split_by_lines(field: str, shares: str) -> bool:
    if "LangChain" not in field:  # the package is not installed
        return True
    theirs = _kept(field, "LangChain")[0]
    far = {name: abs(_kept(shares, name)[0] - theirs) for name in ("every 512", "recursive")}
    return abs(_kept(shares, "by lines")[0] - theirs) < min(far.values())


CLAIMS: Claims = {
    "left.text[-32:]": {
        "One cut goes through a decorator, one through a name, and one through the word switched": (
            lambda shown: all(
                torn in shown
                for torn in (
                    "(frozen' ✂ '=True)",
                    "def qu' ✂ 'antile_edges",
                    "is swit' ✂ 'ched off",
                )
            )
        ),
    },
    "search = search_over(files, fixed_cuts": {
        "no piece holds the whole answer": lambda shown: lists(shown)[0] == [False] * 5,
    },
    "lab.show.torn(": {
        "So it keeps most definitions whole, but only by accident": lambda shown: (
            numbers(shown, after="every 512 tears")[0] > 2 * numbers(shown, "recursive tears")[0]
        ),
    },
    "tiny = 'import os": {
        "The rule takes line 4 for a definition, too": lambda shown: (
            lists(shown)[0] == ["no", "yes"]
        ),
        "In Heron's real file, most lines that it finds are text": _mostly_text,
    },
    'lab.use("split_definitions")': {
        "the definitions fake, Fake and pretend do not exist": _inventions,
        "two are in a raw string of the Go file": _inventions,
    },
    "for source in (tiny,": {
        "The string is one node. The decorator and its function are together in one node": (
            lambda shown: (
                shown.split("valid")[0].count("expression_statement") == 1
                and "decorated_definition" in shown
            )
        ),
        "In the broken file, b is still found": lambda shown: (
            "4-5  function_definition" in shown.split("valid")[1]
        ),
        "The ERROR node is inside a; the last column says whether a node contains one": (
            lambda shown: re.search(r"1-2 +function_definition +True", shown)
        ),
    },
    'lab.use("find_definitions")': {
        "No definition is found inside a string or a heredoc any more": _no_inventions,
    },
    "shares = {name: kept_whole": {
        "A regular expression keeps nearly every definition at the left margin whole": (
            lambda shown: _kept(shown, "by lines")[1] > 98
        ),
        "Most definitions that it tears are inside large classes and functions; with the parser": (
            _loses_inner_ones
        ),
        "which has no rule for Python, is also much better than fixed cuts": _blank_lines_go_far,
    },
    "from course_lib.loader import split_code": {
        "The header of the part at line 67 has two signatures": _under_headers,
    },
    ("def by_langchain(", "shares = {name: kept_whole"): {
        "Its result is close to that of by lines": _near_the_split_by_lines,
    },
    "def by_langchain(": {
        "Two of its pieces of drift.py end with a decorator that belongs to the next piece": (
            lambda shown: "LangChain" not in shown or shown.count("'@dataclass") == 2
        ),
    },
    "draft = ": {
        "So split_definitions leaves the decorator in the piece before. split_code does the same": (
            lambda shown: shown.count("'@task('), ('train', 'def train(rows):')") == 2
        ),
        "ast cannot read an unfinished file at all": "closed",
    },
    "measured = lab.measure_retrieval(search)": {
        "The first question now has its answer, in the first result": (
            "holds the whole answer: [True"
        ),
        "All three other splitters find more than the fixed cuts": lambda shown: (
            _recall(shown)[0] < min(_recall(shown)[1:])
        ),
        "they differ by only a few questions, which is too little to choose one of them": (
            lambda shown: max(_recall(shown)[1:]) - min(_recall(shown)[1:]) < 6 / 54
        ),
    },
}
