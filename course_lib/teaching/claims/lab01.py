"""What lab 01 says about its outputs."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claim, numbers

TORN = 'print(f"torn, of'
MEASURED = "quality(split, 512, overlap)"


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


CLAIMS = (
    Claim(
        "The cut goes through a word in it",
        'page.index("real traffic")',
        holds=lambda shown: re.search(r"[a-z] ✂ [a-z]", shown),
    ),
    Claim(
        "In the text, orange scissors mark them",
        'if "real traffic" in chunk]',
        holds=lambda shown: numbers(shown, "drawn in:")[0] > 0 and shown.startswith("0 of"),
    ),
    Claim(
        '". " begins at 5 and has 2 characters',
        'for separator in ("\\n", ". ", " "):',
        holds=lambda shown: numbers(shown, "'. ' begins at") == [5],
    ),
    Claim(
        '-1 means "not there"',
        'for separator in ("\\n", ". ", " "):',
        holds=lambda shown: numbers(shown.splitlines()[0], "begins at") == [-1],
    ),
    Claim(
        "Every word is whole",
        "pauses = sum(",
        holds=lambda shown: numbers(shown, "drawn in:")[0] == 0,
    ),
    Claim(
        "most chunks end where a reader would pause",
        "pauses = sum(",
        holds=lambda shown: numbers(shown)[0] > numbers(shown)[1] / 2,
    ),
    Claim(
        "There are also more chunks than before",
        'if "real traffic" in chunk]',
        "pauses = sum(",
        holds=lambda fixed, own: numbers(own)[1] > numbers(fixed)[1],
    ),
    Claim(
        "We asked for three shared characters, but there are none",
        'usual_way("ab cd. ef gh", 8, 3)',
        holds=lambda shown: shown == "['ab cd. ', 'ef gh']",
    ),
    Claim(
        "Most pairs share nothing",
        "none = overlaps.count(0)",
        holds=lambda shown: numbers(shown)[0] > numbers(shown)[1] / 2,
    ),
    Claim(
        "and no pair shares 64 characters",
        "What neighbours share (64 asked for)",
        holds=lambda shown: numbers(shown, "values from")[1] < 64,
    ),
    Claim(
        "This fails if the text repeats itself. It also fails if the splitter changed the text",
        'log = "Retry in 5 s.',
        holds=lambda shown: (
            set(numbers(shown.splitlines()[0])) == {0}
            and numbers(shown.splitlines()[1])[0] < numbers(shown.splitlines()[1])[1] / 4
        ),
    ),
    Claim(
        "The log below gives four chunks",
        'log = "Retry in 5 s.',
        holds=lambda shown: len(numbers(shown.splitlines()[0])) == 4,
    ),
    Claim(
        "Without a floor the second chunk is the first one again",
        "for floor in (0, 3):",
        holds=lambda shown: (
            numbers(shown, "second begins at") == [0] and numbers(shown, "floor 3:")[1] > 3
        ),
    ),
    Claim(
        "Its length is the same at every cut",
        "lab.show.spans_slider(",
        holds=lambda shown: (
            (pairs := re.findall(r"overlap=(\d+):[^.]*share (\d+) ch", shown))
            and all(asked == shared for asked, shared in pairs)
            and len(pairs) == shown.count("chunk_overlap=")
        ),
    ),
    Claim(
        "Nothing is lost, and at 512 with 64 every pair shares exactly 64",
        "steps = {left.end - right.start",
        holds=lambda shown: (
            len(lines := re.findall("^(?:True|False) .*", shown, re.MULTILINE)) == 5
            and all(line.startswith("True  neighbours share {64} ") for line in lines)
        ),
    ),
    Claim(
        "You have just tested that nothing is lost",
        "random, failures = Random(1), []",
        holds=lambda shown: shown == "0 failures in 5,000 texts",
    ),
    Claim(
        "the strongest separator is never found in Windows text",
        "def blank_line_ends(",
        holds=lambda shown: (
            numbers(shown, "Windows")[0] < numbers(shown, "Unix")[0]
            and numbers(shown, "its separators") == numbers(shown, "Unix")
        ),
    ),
    Claim(
        "The second list holds the starts that find returns",
        'for text in ("x" * 1_000, "ab" * 500):',
        holds=lambda shown: shown.splitlines() == ["[0, 250, 500, 750] [0, 0, 0, 0] True"] * 2,
    ),
    Claim(
        "For twice the text, that is about four times the work",
        "def keeps_the_rest(",
        holds=lambda shown: 3.5 < numbers(shown, "keeps_the_rest")[0] < 4.5,
    ),
    Claim(
        "split_text copies each chunk once and works in linear time",
        "def keeps_the_rest(",
        holds=lambda shown: 1.9 < numbers(shown, "split_text ")[0] < 2.1,
    ),
    Claim(
        "removes white space at both ends of each chunk, so these characters are in no chunk",
        "def describe(name, spans):",
        holds=lambda shown: (
            "not installed" in shown
            or numbers(shown, "LangChain", upto="are in no chunk")[-1] > 0
            and shown.endswith("0 characters are in no chunk: []")
        ),
    ),
    Claim(
        "And most of its neighbours share nothing",
        "def describe(name, spans):",
        holds=lambda shown: (
            "not installed" in shown
            or (pairs := numbers(shown, "LangChain:")[1:3])
            and pairs[0] < pairs[1] / 2
        ),
    ),
    Claim(
        "no phrase is longer than that",
        TORN,
        holds=lambda shown: numbers(shown, "phrases of up to")[0] <= 64,
    ),
    Claim(
        "If a phrase is not longer than the overlap, at least one chunk has it whole",
        TORN,
        holds=lambda shown: not any(_torn(shown, "fixed", 64) + _torn(shown, "recursive", 64)),
    ),
    Claim(
        "Good cuts keep sentences and paragraphs whole",
        TORN,
        holds=lambda shown: sum(_torn(shown, "recursive", 0)) < sum(_torn(shown, "fixed", 0)) / 4,
    ),
    Claim(
        "It is luck which phrases the fixed cuts tear, as the last line shows",
        TORN,
        holds=lambda shown: max(line := numbers(shown.splitlines()[-1])) >= 2 * min(line),
    ),
    Claim(
        "Whole sentences are often longer than 64 characters",
        "sentence_end = r",
        holds=lambda shown: numbers(shown)[0] > numbers(shown)[1] / 4,
    ),
    Claim(
        "With them you see the difference between overlap and good cuts",
        "sentence_end = r",
        holds=lambda shown: all(
            own * 2 < fixed
            for own, fixed in zip(
                _curve(shown, "recursive, overlap 0"),
                _curve(shown, "fixed, overlap 64"),
                strict=True,
            )
        ),
    ),
    Claim(
        "Good cuts help most",
        MEASURED,
        holds=lambda shown: (
            (rows := _rows(shown))
            and all(recall < rows[2][0] and mrr < rows[2][1] for recall, mrr in rows[:2])
        ),
    ),
    Claim(
        "Overlap helps the fixed cuts, because it makes up for bad cuts. "
        "It does not help the recursive cuts",
        MEASURED,
        holds=lambda shown: (
            (rows := _rows(shown))
            and rows[1] > rows[0]
            and rows[1][1] > rows[0][1]
            and rows[3][0] <= rows[2][0]
            and rows[3][1] < rows[2][1]
        ),
    ),
    Claim(
        "a few hundredths are only a few questions",
        MEASURED,
        holds=lambda shown: numbers(shown, "counts")[0] <= 0.02,
    ),
    Claim(
        "another shift changes the first row by several hundredths",
        MEASURED,
        holds=lambda shown: (
            (first := _rows(shown)[0][0])
            and max(abs(recall - first) for recall in numbers(shown, "384:")) > 0.04
        ),
    ),
)
