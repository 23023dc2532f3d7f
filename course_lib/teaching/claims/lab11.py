"""What lab 11 says about its outputs."""

from __future__ import annotations

import re
from itertools import pairwise

from course_lib.teaching.claims import Claim, numbers

ASKED = 'node_file = "What does importer_node.py return?"'
PAGE = "for places in (0, 1):"
LIKENESS = 'title="how alike the ten best are"'
ORDERS = "for diversity in (0.0, 0.3, 0.7):"
BUDGET = "lab.show.budget(fitted"
CARD = "card = {name: score(**how)"
STEPS = ("dense only", "hybrid", "+ hints", "+ structure", "+ diversity", "+ rerank")


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


def _recalls(shown: str) -> list[float]:
    return [numbers(shown, f"{name:12} in the context:")[0] for name in STEPS]


def _mrrs(shown: str) -> list[float]:
    return [numbers(shown, f"{name:12} in the context:")[1] for name in STEPS]


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
        "The course's own generator needs none: it quotes.",
        "said = answer(conn, lab.embedder",
        holds=lambda shown: "num_retries" in shown and re.search(r"^\[\d+: \S+\]$", shown, re.M),
    ),
    Claim(
        "One citation that is right, and one of a passage that the model did not get",
        "It is fast [4: speed.md]",
        holds=lambda shown: "([1], ['[4: speed.md]'])" in shown,
    ),
    Claim(
        "This answer has its markers in order, and is refused all the same",
        'check_parses("area.py"',
        holds=lambda shown: "would not be Python any more" in shown,
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
        "Sixteen questions about kfp.dsl",
        "LABELLED = [",
        holds=lambda shown: numbers(shown) == [16],
    ),
    Claim(
        "Words, lab 06's half, bring most: no later step adds an answer",
        CARD,
        holds=lambda shown: (
            _recalls(shown)[1] > _recalls(shown)[0] + 0.1
            and max(_recalls(shown)[2:]) <= _recalls(shown)[1]
        ),
    ),
    Claim(
        "may bring an answer that was missing, push a good one down, or lose one",
        CARD,
        holds=lambda shown: (
            _recalls(shown)[1] > _recalls(shown)[0]
            and min(_mrrs(shown)[3:5]) < _mrrs(shown)[2]
            and any(after < before for before, after in pairwise(_recalls(shown)))
        ),
    ),
    Claim(
        "and answers are lower than without it",
        CARD,
        holds=lambda shown: _mrrs(shown)[3] < _mrrs(shown)[2],
    ),
    Claim(
        "after all the other steps, it changes next to nothing",
        CARD,
        holds=lambda shown: abs(_mrrs(shown)[5] - _mrrs(shown)[4]) < 0.03,
    ),
)
