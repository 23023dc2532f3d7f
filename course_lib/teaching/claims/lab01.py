"""What lab 01 says about its outputs."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claims, numbers


def _rows(shown: str) -> list[tuple[float, float]]:
    """Return recall and MRR of: fixed, fixed with overlap, recursive, recursive with overlap."""
    rows = re.findall(r"^(?:fixed|recursive) +\d+ +([\d.]+) +([\d.]+)$", shown, re.MULTILINE)
    fixed, overlapping, recursive, both = ((float(recall), float(mrr)) for recall, mrr in rows)
    return [fixed, overlapping, recursive, both]


def _torn(shown: str, cuts: str, overlap: int) -> list[float]:
    return numbers(shown, f"{cuts:9}  overlap {overlap:2}")


def _curve(shown: str, name: str) -> list[float]:
    """Return how many sentences are torn at the smallest and at the largest size."""
    first, _, last, _ = numbers(shown, f"{name} from", upto=";")
    return [first, last]


CLAIMS: Claims = {
    'page.index("real traffic")': {
        "The cut goes through a word in it": lambda shown: re.search(r"[a-z] ✂ [a-z]", shown),
    },
    'if "real traffic" in chunk]': {
        "In the text, orange scissors mark them": lambda shown: (
            numbers(shown, "drawn in:")[0] > 0 and shown.startswith("0 of")
        ),
    },
    'for separator in ("\\n", ". ", " "):': {
        '". " begins at 5 and has 2 characters': lambda shown: (
            numbers(shown, "'. ' begins at") == [5]
        ),
        '-1 means "not there"': lambda shown: numbers(shown.splitlines()[0], "begins at") == [-1],
    },
    "pauses = sum(": {
        "Every word is whole": lambda shown: numbers(shown, "drawn in:")[0] == 0,
        "most chunks end where a reader would pause": lambda shown: (
            numbers(shown)[0] > numbers(shown)[1] / 2
        ),
    },
    ('if "real traffic" in chunk]', "pauses = sum("): {
        "There are also more chunks than before": lambda fixed, own: (
            numbers(own)[1] > numbers(fixed)[1]
        ),
    },
    'usual_way("ab cd. ef gh", 8, 3)': {
        "We asked for three shared characters, but there are none": lambda shown: (
            shown == "['ab cd. ', 'ef gh']"
        ),
    },
    "none = overlaps.count(0)": {
        "Most pairs share nothing": lambda shown: numbers(shown)[0] > numbers(shown)[1] / 2,
    },
    "What neighbours share (64 asked for)": {
        "and no pair shares 64 characters": lambda shown: numbers(shown, "values from")[1] < 64,
    },
    'log = "Retry in 5 s.': {
        "This fails if the text repeats itself. It also fails if the splitter changed the text": (
            lambda shown: (
                set(numbers(shown.splitlines()[0])) == {0}
                and numbers(shown.splitlines()[1])[0] < numbers(shown.splitlines()[1])[1] / 4
            )
        ),
        "The log below gives four chunks": lambda shown: len(numbers(shown.splitlines()[0])) == 4,
    },
    "for floor in (0, 3):": {
        "Without a floor the second chunk is the first one again": lambda shown: (
            numbers(shown, "second begins at") == [0] and numbers(shown, "floor 3:")[1] > 3
        ),
    },
    "lab.show.spans_slider(": {
        "Its length is the same at every cut": lambda shown: (
            (pairs := re.findall(r"overlap=(\d+):[^.]*share (\d+) ch", shown))
            and all(asked == shared for asked, shared in pairs)
            and len(pairs) == shown.count("chunk_overlap=")
        ),
    },
    "steps = {left.end - right.start": {
        "Nothing is lost, and at 512 with 64 every pair shares exactly 64": lambda shown: (
            len(lines := re.findall("^(?:True|False) .*", shown, re.MULTILINE)) == 5
            and all(line.startswith("True  neighbours share {64} ") for line in lines)
        ),
    },
    "random, failures = Random(1), []": {
        "You have just tested that nothing is lost": lambda shown: (
            shown == "0 failures in 5,000 texts"
        ),
    },
    "def blank_line_ends(": {
        "the strongest separator is never found in Windows text": lambda shown: (
            numbers(shown, "Windows")[0] < numbers(shown, "Unix")[0]
            and numbers(shown, "its separators") == numbers(shown, "Unix")
        ),
    },
    'for text in ("x" * 1_000, "ab" * 500):': {
        "The second list holds the starts that find returns": lambda shown: (
            shown.splitlines() == ["[0, 250, 500, 750] [0, 0, 0, 0] True"] * 2
        ),
    },
    "def keeps_the_rest(": {
        "For twice the text, that is about four times the work": lambda shown: (
            3.5 < numbers(shown, "keeps_the_rest")[0] < 4.5
        ),
        "split_text copies each chunk once and works in linear time": lambda shown: (
            1.9 < numbers(shown, "split_text ")[0] < 2.1
        ),
    },
    "def describe(name, spans):": {
        "removes white space at both ends of each chunk, so these characters are in no chunk": (
            lambda shown: (
                "not installed" in shown
                or numbers(shown, "LangChain", upto="are in no chunk")[-1] > 0
                and shown.endswith("0 characters are in no chunk: []")
            )
        ),
        "And most of its neighbours share nothing": lambda shown: (
            "not installed" in shown
            or (pairs := numbers(shown, "LangChain:")[1:3])
            and pairs[0] < pairs[1] / 2
        ),
    },
    'print(f"torn, of': {
        "no phrase is longer than that": lambda shown: numbers(shown, "phrases of up to")[0] <= 64,
        "If a phrase is not longer than the overlap, at least one chunk has it whole": (
            lambda shown: not any(_torn(shown, "fixed", 64) + _torn(shown, "recursive", 64))
        ),
        "Good cuts keep sentences and paragraphs whole": lambda shown: (
            sum(_torn(shown, "recursive", 0)) < sum(_torn(shown, "fixed", 0)) / 4
        ),
        "It is luck which phrases the fixed cuts tear, as the last line shows": lambda shown: (
            max(line := numbers(shown.splitlines()[-1])) >= 2 * min(line)
        ),
    },
    "sentence_end = r": {
        "Whole sentences are often longer than 64 characters": lambda shown: (
            numbers(shown)[0] > numbers(shown)[1] / 4
        ),
        "With them you see the difference between overlap and good cuts": lambda shown: all(
            own * 2 < fixed
            for own, fixed in zip(
                _curve(shown, "recursive, overlap 0"),
                _curve(shown, "fixed, overlap 64"),
                strict=True,
            )
        ),
    },
    "quality(split, 512, overlap)": {
        "Good cuts help most": lambda shown: (
            (rows := _rows(shown))
            and all(recall < rows[2][0] and mrr < rows[2][1] for recall, mrr in rows[:2])
        ),
        (
            "Overlap helps the fixed cuts, because it makes up for bad cuts. "
            "It does not help the recursive cuts"
        ): lambda shown: (
            (rows := _rows(shown))
            and rows[1] > rows[0]
            and rows[1][1] > rows[0][1]
            and rows[3][0] <= rows[2][0]
            and rows[3][1] < rows[2][1]
        ),
        "a few hundredths are only a few questions": lambda shown: (
            numbers(shown, "counts")[0] <= 0.02
        ),
        "another shift changes the first row by several hundredths": lambda shown: (
            (first := _rows(shown)[0][0])
            and max(abs(recall - first) for recall in numbers(shown, "384:")) > 0.04
        ),
    },
}
