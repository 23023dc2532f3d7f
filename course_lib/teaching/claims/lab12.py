"""What lab 12 says about its outputs."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claim, numbers

ASKED = 'node_file = "What does importer_node.py return?"'
PAGE = "for places in (0, 1):"
LIKENESS = 'title="how alike the ten best are"'
ORDERS = "for diversity in (0.0, 0.3, 0.7):"
BUDGET = "lab.show.budget(fitted"
CARD = "found = {name: dict(ranks(**how))"
JUDGED = "for got, label, kind, sentence in sorted("


def _files(shown: str, question: str, mode: str) -> list[str]:
    """Return the files that a search found, best first."""
    line = [line for line in shown.splitlines() if question in line and f"{mode}:" in line][0]
    return [found.split(" ")[1] for found in re.findall(r"\d+ \S+", line.partition(f"{mode}:")[2])]


def _places(shown: str, diversity: str) -> list[float]:
    """Return the places in the ranking of what was taken, in the order of taking."""
    line = [line for line in shown.splitlines() if line.startswith(f"{diversity} ")][0]
    return [float(place) for place in re.findall(r"'(\d+) ", line)]


def _passages(shown: str) -> tuple[dict[int, str], list[int]]:
    """Return the origin of each passage that stays, by its number, and the numbers left out."""
    kept, _, gone = shown.partition("Left out:")
    stays = re.findall(r"\[(\d+)\] \S+ \d+ tokens \((\w+)\)", kept)
    return {int(n): origin for n, origin in stays}, [int(n) for n in re.findall(r"\[(\d+)\]", gone)]


def _test(shown: str, name: str) -> list[float]:
    """Return a mean of the test half and its interval."""
    return numbers(shown, f"test, {name}:")[:3]


def _row(shown: str, name: str) -> list[float]:
    """Return recall and MRR of a way: named files, no named files, all."""
    return numbers(shown, f"{name:12}")[:6]


CLAIMS = (
    Claim(
        "copy without its tests",
        "page = structure_text(folder",
        holds=lambda shown: "37 files" in shown and "test" not in shown,
    ),
    Claim(
        "lead to executor_main.py",
        ASKED,
        holds=lambda shown: _files(shown, "executor_main.py", "dense")[0] == "executor_main.py",
    ),
    Claim(
        "Of importer_node.py the dense search finds nothing",
        ASKED,
        holds=lambda shown: "importer_node.py" not in _files(shown, "importer_node.py", "dense"),
    ),
    Claim(
        "bring it only after another file",
        ASKED,
        holds=lambda shown: (
            _files(shown, "importer_node.py", "hybrid").index("importer_node.py") == 1
        ),
    ),
    Claim(
        "__init__.py means more than one file",
        "manifest = file_manifest(conn)",
        holds=lambda shown: shown.partition("'__init__.py': [")[2].count("__init__.py'") > 1,
    ),
    Claim(
        "Most of these files have one, and its first line is what you see",
        'at = page.index("## `types/`")',
        holds=lambda shown: (
            2 * len(re.findall(r"^- `\w+\.py`: .+ \(\d+ lines\)$", shown, re.M))
            > len(re.findall(r"^- `\w+\.py`", shown, re.M))
        ),
    ),
    Claim(
        "The file that defines them is not in the first context",
        PAGE,
        holds=lambda shown: (
            "types/artifact_types.py" not in shown.split("1 for the page")[0] and "is in:" in shown
        ),
    ),
    Claim(
        "in the second one, the page names it",
        PAGE,
        holds=lambda shown: (
            "[structure STRUCTURE.md" in shown
            and "STRUCTURE.md" in shown.split("artifact_types.py is in:")[2]
        ),
    ),
    Claim(
        "Code repeats itself: set_memory_limit, set_memory_request, set_cpu_limit … differ",
        LIKENESS,
        holds=lambda shown: (
            re.search(r"Most alike: \d+ set_\w+ and \d+ set_\w+", shown)
            and numbers(re.findall(r"\(([\d.]+)\)", shown)[0])[0] > 0.9
        ),
    ),
    Claim(
        "The higher the diversity, the further down the list it reaches",
        ORDERS,
        holds=lambda shown: (
            _places(shown, "0.0") == [1, 2, 3, 4, 5]
            and max(_places(shown, "0.7")) > max(_places(shown, "0.3")) >= 5
        ),
    ),
    Claim(
        "Two files are named, the window is small",
        BUDGET,
        holds=lambda shown: (
            "executor_main.py" in shown
            and "python_component.py" in shown
            and list(_passages(shown)[0].values()).count("hint") == 4
        ),
    ),
    Claim(
        "Files that are named come first",
        BUDGET,
        holds=lambda shown: _passages(shown)[0][1] == "hint",
    ),
    Claim(
        "so the last results of the search are the first to go",
        BUDGET,
        holds=lambda shown: (
            _passages(shown)[1] and min(_passages(shown)[1]) > max(_passages(shown)[0])
        ),
    ),
    Claim(
        "the course's own generator, which needs no model: it quotes",
        "said = answer(conn, lab.embedder",
        # Where there is a language model, it says what it likes.
        holds=lambda shown: (
            not shown.startswith("No language model")
            or ("num_retries" in shown and re.search(r"^\[\d+: \S+\]$", shown, re.M))
        ),
    ),
    Claim(
        "The END of the passage ends nothing: the lines of the fence carry a mark",
        "print(fence(",
        holds=lambda shown: re.search(r"^BEGIN (\w+) .*^END$.*^END \1$", shown, re.M | re.S),
    ),
    Claim(
        "its markers are no markers any more",
        "print(fence(",
        holds=lambda shown: "<<" in shown and not re.search(r"<<(BEGIN|END)_FILE>>", shown),
    ),
    Claim(
        "90 answers that we wrote to thirty sections",
        "print(Counter(",
        holds=lambda shown: (
            "'right': 30, 'half right': 30, 'invented': 30" in shown
            and "'tune': 45, 'test': 45" in shown
        ),
    ),
    Claim(
        "Most supported sentences are believed, and most of the others are caught",
        JUDGED,
        holds=lambda shown: (
            _test(shown, "supported, believed")[0] > 0.7
            and _test(shown, "unsupported, caught")[0] > 0.7
        ),
    ),
    Claim(
        "45 of each are few, so the interval of what is caught is wide",
        JUDGED,
        holds=lambda shown: (
            _test(shown, "unsupported, caught")[2] - _test(shown, "unsupported, caught")[1] > 0.1
        ),
    ),
    Claim(
        "Where all 45 are judged right",
        JUDGED,
        holds=lambda shown: _test(shown, "supported, believed")[0] == 1.0,
    ),
    Claim(
        "half right answers and invented ones alike",
        JUDGED,
        holds=lambda shown: (
            re.search(r"^missed.*half right:", shown, re.M)
            and re.search(r"^missed.*invented:", shown, re.M)
        ),
    ),
    Claim(
        "Leakage makes a model look worse in the evaluation",
        JUDGED,
        holds=lambda shown: re.search(r"^missed.*: Leakage makes a model look worse", shown, re.M),
    ),
    Claim(
        "anything else is refused before a byte is written",
        "between_markers(reply)",
        holds=lambda shown: "says something beside the file" in shown,
    ),
    Claim(
        "a file that could be parsed before the edit has to be one that can be parsed after it",
        "between_markers(reply)",
        holds=lambda shown: "would not be Python any more" in shown,
    ),
    Claim(
        "words find the file that is named, and hints find it more often",
        CARD,
        holds=lambda shown: (
            _row(shown, "+ hints")[0] > _row(shown, "hybrid")[0] > _row(shown, "dense only")[0]
        ),
    ),
    Claim(
        "Questions that name no file gain nothing from either",
        CARD,
        holds=lambda shown: (
            max(_row(shown, "hybrid")[2], _row(shown, "+ hints")[2]) <= _row(shown, "dense only")[2]
        ),
    ),
    Claim(
        "their answers are lower down with it, and no more of them are found",
        CARD,
        holds=lambda shown: (
            _row(shown, "+ structure")[3] < _row(shown, "+ hints")[3]
            and _row(shown, "+ structure")[2] <= _row(shown, "+ hints")[2]
        ),
    ),
    Claim(
        "it moves answers up where no file is named, and down where one is",
        CARD,
        holds=lambda shown: (
            _row(shown, "+ rerank")[3] > _row(shown, "+ diversity")[3]
            and _row(shown, "+ rerank")[1] < _row(shown, "+ diversity")[1]
        ),
    ),
)
