"""What lab 13 says about its outputs."""

from __future__ import annotations

import re
from itertools import combinations

from course_lib.teaching.claims import Claims, numbers
from course_lib.teaching.lab.scorecard import COURSES

THREE = 'ndcg_at = lab.use("ndcg_at")'
EIGHT = "for name, interval in intervals.items():"
SPLITS = ("fixed-512", "plain-512", "sections-512", "sections-1000")


def _gains(shown: str) -> list[float]:
    """Return what cutting at headings gained for each of the two colleagues."""
    return [numbers(line)[-1] for line in shown.splitlines() if line.startswith("colleague")]


def _column(shown: str, name: str) -> list[float]:
    """Return the values of a metric, a line each."""
    return [numbers(line, name)[0] for line in shown.splitlines() if name in line]


def _by_metric(shown: str) -> list[list[float]]:
    """Return the three metrics of each line, to two decimals, smallest first."""
    lines = [line.partition("]")[2] for line in shown.splitlines() if line.startswith("[")]
    found = [re.findall(r"(?:MRR|recall@3|nDCG|RR|R@3):? ([\d.]+)", line) for line in lines]
    return [sorted(round(float(value), 2) for value in line) for line in found]


def _means(shown: str) -> dict[str, float]:
    """Return the MRR of each of the eight systems by its name, such as "fixed-512, dense"."""
    systems = [f"{split}, {mode}" for split in SPLITS for mode in ("dense", "hybrid")]
    return {name: numbers(shown, f"{name} ")[0] for name in systems}


def _overlaps(shown: str) -> float:
    """Return the share of all pairs of intervals that overlap."""
    intervals = [numbers(line, "MRR")[1:3] for line in shown.splitlines() if "MRR" in line]
    pairs = list(combinations(intervals, 2))
    return sum(one[0] < two[1] and two[0] < one[1] for one, two in pairs) / len(pairs)


def _verdicts(shown: str) -> list[str]:
    return re.findall(r"\]  (\w+)", shown)


def _within(shown: str) -> dict[str, float]:
    """Return the share of answers within 3,000 characters by the name of the split."""
    found = re.findall(r"^(\S+) +within 3,000 characters: ([\d.]+)$", shown, re.M)
    return {name: float(share) for name, share in found}


def _gained(shown: str) -> dict[str, tuple[float, float]]:
    """Return the interval of the gain by words, by corpus."""
    kinds = re.findall(r"^(\w+) +\(\d+\)  MRR", shown, re.M)
    gains = [
        (numbers(line)[1], numbers(line)[2])
        for line in shown.splitlines()
        if "dense → hybrid:" in line
    ]
    return dict(zip(kinds, gains, strict=True))


def _numbers_of(shown: str, kind: str, metric: str) -> list[float]:
    """Return a metric of a corpus: the mean, and for MRR its interval."""
    line = next(line for line in shown.splitlines() if line.startswith(kind))
    return numbers(line, metric)[: 3 if metric == "MRR" else 1]


CLAIMS: Claims = {
    'index("sections-512", split_document)': {
        "Every third question is held back": lambda shown: (
            numbers(shown.splitlines()[-1]) == [42, 21]
        ),
    },
    'print(f"colleague {colleague + 1}': {
        "One colleague reports a gain, the other a loss": lambda shown: (
            min(_gains(shown)) < -0.02 and max(_gains(shown)) > 0.02
        ),
    },
    'in {"files": first_different(found)': {
        "a search looks worse because it found two passages of the same file": lambda shown: (
            re.findall(r"rank 1/(\d)", shown) == ["2", "3"]
        ),
    },
    '"The place of the first answer, sections"': {
        "The first place is the most frequent one": lambda shown: (
            numbers(shown, "place 1 ")[0]
            > max(numbers(shown, f"place {place} ")[0] for place in range(2, 11))
        ),
    },
    THREE: {
        "The metrics disagree, and none of them is wrong": lambda shown: (
            _column(shown, "MRR")[0] == max(_column(shown, "MRR"))
            and max(_column(shown, "recall@3")) == _column(shown, "recall@3")[1]
            and max(_column(shown, "nDCG")) == _column(shown, "nDCG")[2]
        ),
    },
    (THREE, "ir_measures.calc_aggregate"): {
        "The numbers are the same": lambda own, field: (
            "not installed" in field or _by_metric(own) == _by_metric(field)
        ),
    },
    EIGHT: {
        "The naive splitter seems worst": lambda shown: (
            {name[:9] for name in sorted(_means(shown), key=_means(shown).__getitem__)[:2]}
            == {"fixed-512"}
        ),
        "the largest pieces seem best with hybrid search": lambda shown: (
            max(_means(shown), key=_means(shown).__getitem__) == "sections-1000, hybrid"
        ),
        "hybrid search seems to help two splitters of four": lambda shown: (
            sum(
                _means(shown)[f"{split}, hybrid"] > _means(shown)[f"{split}, dense"]
                for split in SPLITS
            )
            == 2
        ),
        "Nearly every interval overlaps with every other": lambda shown: _overlaps(shown) > 0.85,
    },
    "lab.show.histogram(means": {
        "Here the second decimal means nothing, and even the first one is not certain": (
            lambda shown: numbers(shown, "from")[1] - numbers(shown, "from")[0] > 0.2
        ),
    },
    '"The interval and the number of questions"': {
        # From 10 questions to 640 they are 64 times as many, so the width falls to an eighth.
        "With four times as many questions, the interval is half as wide": lambda shown: (
            5 < numbers(shown, "from")[0] / numbers(shown, "from")[2] < 12
        ),
        "you would need more than ten thousand questions": lambda shown: (
            640 * (numbers(shown, "from")[2] / 0.01) ** 2 > 10_000
        ),
    },
    "def judge(before, after):": {
        "The rule keeps the cuts at headings": lambda shown: _verdicts(shown)[0] == "keep",
        "It does not decide about hybrid search": lambda shown: _verdicts(shown)[1] == "undecided",
        "The rule also keeps larger pieces with hybrid search": lambda shown: (
            _verdicts(shown)[2] == "keep"
        ),
        "some answers rank higher with it and others rank lower": lambda shown: (
            numbers(shown, "better ")[0] > 3 and numbers(shown, "worse ")[0] > 3
        ),
    },
    ('systems["whole, hybrid"] = ask(', EIGHT): {
        "This is better than seven of the eight systems": lambda whole, eight: (
            sum(numbers(whole, "MRR")[0] > mean for mean in _means(eight).values()) == 7
        ),
    },
    '"Answers within what is read"': {
        "the two sizes find nearly the same number of answers. The whole documents find none": (
            lambda shown: (
                _within(shown)["whole"] == 0
                and abs(_within(shown)["sections-512"] - _within(shown)["sections-1000"]) < 0.08
            )
        ),
    },
    "def kept_by_luck(seed": {
        "it will probably be wrong at least once": lambda shown: (
            1 <= sum(numbers(shown, "colleagues:")) <= 20
        ),
    },
    'print("to try on:"': {
        "The rule would have kept the course's change": lambda shown: (
            numbers(shown, "to try on:")[1] > 0.01
        ),
    },
    'print("held out: "': {
        "The held-out questions do not confirm it: their interval contains 0": lambda shown: (
            numbers(shown, "held out:")[1] < 0 < numbers(shown, "held out:")[2]
        ),
        "nothing of their gain is left": lambda shown: (
            numbers(shown, "with hybrid search:")[0] < 0.02
        ),
    },
    "with indexed(corpora, lab.embedder, ": {
        "For manifests, the whole interval is well above 0": lambda shown: (
            _gained(shown)["manifests"][0] > 0.03
        ),
        "For documents and for code, the interval contains 0 or comes close to it": lambda shown: (
            all(
                low < 0.03 and high > -0.03
                for low, high in (_gained(shown)["docs"], _gained(shown)["code"])
            )
        ),
        "Every scorecard shows these numbers as the course's": lambda shown: all(
            abs(was - now) < 0.006
            for kind, reached in COURSES.items()
            for was, now in zip(
                (*reached["MRR"], reached["recall@10"].mean),
                [*_numbers_of(shown, kind, "MRR"), *_numbers_of(shown, kind, "recall@10")],
                strict=True,
            )
        ),
    },
    "for answer in worst[:4]:": {
        "questions whose file was not among the first five files": lambda shown: (
            all(
                wanted != first
                for wanted, first in re.findall(r"wanted (\S+), found first (\S+)", shown)
            )
            and shown.count("found first") == 4
        ),
    },
}
