"""What lab 12 says about its outputs."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claims, numbers


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


CLAIMS: Claims = {
    "page = structure_text(folder": {
        "a copy without the tests": lambda shown: "37 files" in shown and "test" not in shown,
    },
    'node_file = "What does importer_node.py return?"': {
        "command line lead to executor_main.py": lambda shown: (
            _files(shown, "executor_main.py", "dense")[0] == "executor_main.py"
        ),
        "The dense search does not find importer_node.py": lambda shown: (
            "importer_node.py" not in _files(shown, "importer_node.py", "dense")
        ),
        "The hybrid search finds it, but only after another file": lambda shown: (
            _files(shown, "importer_node.py", "hybrid").index("importer_node.py") == 1
        ),
    },
    "manifest = file_manifest(conn)": {
        "The name __init__.py means more than one file, and setup.py means no file of the index": (
            lambda shown: (
                shown.partition("'__init__.py': [")[2].count("__init__.py'") > 1
                and "setup.py: []" in shown
            )
        ),
    },
    'at = page.index("## `types/`")': {
        "Most of these files have such a text, and the page shows its first line": lambda shown: (
            2 * len(re.findall(r"^- `\w+\.py`: .+ \(\d+ lines\)$", shown, re.M))
            > len(re.findall(r"^- `\w+\.py`", shown, re.M))
        ),
    },
    "for places in (0, 1):": {
        "The file that defines them is not in the first context": lambda shown: (
            "types/artifact_types.py" not in shown.split("1 for the page")[0] and "is in:" in shown
        ),
        "In the second context, the page names this file": lambda shown: (
            "[structure STRUCTURE.md" in shown
            and "STRUCTURE.md" in shown.split("artifact_types.py is in:")[2]
        ),
    },
    'title="How similar the ten best passages are"': {
        (
            "The functions set_memory_limit, set_memory_request, set_cpu_limit … "
            "differ only in a word"
        ): (
            lambda shown: (
                re.search(r"Most alike: \d+ set_\w+ and \d+ set_\w+", shown)
                and numbers(re.findall(r"\(([\d.]+)\)", shown)[0])[0] > 0.9
            )
        ),
    },
    "for diversity in (0.0, 0.3, 0.7):": {
        "With a higher diversity, MMR takes passages from further down the list": lambda shown: (
            _places(shown, "0.0") == [1, 2, 3, 4, 5]
            and max(_places(shown, "0.7")) > max(_places(shown, "0.3")) >= 5
        ),
    },
    "lab.show.budget(fitted": {
        "the question names two files, and the window is small": lambda shown: (
            "executor_main.py" in shown
            and "python_component.py" in shown
            and list(_passages(shown)[0].values()).count("hint") == 4
        ),
        "Passages of named files come first": lambda shown: _passages(shown)[0][1] == "hint",
        "so the last results of the search are dropped first": lambda shown: (
            _passages(shown)[1] and min(_passages(shown)[1]) > max(_passages(shown)[0])
        ),
    },
    "said = answer(conn, lab.embedder": {
        "The second cell gets an answer from the same two passages": lambda shown: (
            not shown.startswith("No language model")
            or set(re.findall(r"^\[(\d+): \S+\]$", shown, re.M)) <= {"1", "2"}
        ),
        # Where there is a language model, it says what it likes.
        "This generator needs no model: it quotes the passages": lambda shown: (
            not shown.startswith("No language model")
            or ("num_retries" in shown and re.search(r"^\[\d+: \S+\]$", shown, re.M))
        ),
    },
    "print(fence(": {
        "The END in the passage does not end the passage. The real lines": lambda shown: re.search(
            r"^BEGIN (\w+) .*^END$.*^END \1$", shown, re.M | re.S
        ),
        "so they are no longer markers": lambda shown: (
            "<<" in shown and not re.search(r"<<(BEGIN|END)_FILE>>", shown)
        ),
    },
    "print(Counter(": {
        "90 answers that we wrote about thirty sections": lambda shown: (
            "'right': 30, 'half right': 30, 'invented': 30" in shown
            and "'tune': 45, 'test': 45" in shown
        ),
    },
    "for got, label, kind, sentence in sorted(": {
        "Most supported sentences are accepted, and most unsupported ones are rejected": (
            lambda shown: (
                _test(shown, "supported, accepted")[0] > 0.7
                and _test(shown, "unsupported, rejected")[0] > 0.7
            )
        ),
        "Balanced accuracy is higher in the test half than in the tune half": lambda shown: (
            numbers(shown, "tune")[0] < numbers(shown, "tune")[1]
        ),
        "only 45 sentences of each label, so the interval of the rejected ones is wide": (
            lambda shown: (
                _test(shown, "unsupported, rejected")[2] - _test(shown, "unsupported, rejected")[1]
                > 0.1
            )
        ),
        "All 45 supported sentences are judged correctly": lambda shown: (
            _test(shown, "supported, accepted")[0] == 1.0
        ),
        "Some are from half right answers and some from invented ones": lambda shown: (
            re.search(r"^missed.*half right:", shown, re.M)
            and re.search(r"^missed.*invented:", shown, re.M)
        ),
        "Leakage makes a model look worse in the evaluation": lambda shown: re.search(
            r"^missed.*: Leakage makes a model look worse", shown, re.M
        ),
    },
    "between_markers(reply)": {
        "Any other answer is refused before anything is written": "says something beside the file",
        (
            "if the file could be parsed before the edit, "
            "it must still be possible to parse it after"
        ): ("would not be Python any more"),
    },
    "found[name] = dict(ranks(**how))": {
        "finds named files more often than the dense search, and hints find them most often": (
            lambda shown: (
                _row(shown, "+ hints")[0] > _row(shown, "hybrid")[0] > _row(shown, "dense only")[0]
            )
        ),
        "the hybrid search finds no more answers, and it ranks them slightly lower (see the MRR)": (
            lambda shown: (
                _row(shown, "hybrid")[2] <= _row(shown, "dense only")[2]
                and 0 < _row(shown, "dense only")[3] - _row(shown, "hybrid")[3] < 0.05
            )
        ),
        "Hints change nothing for these questions": lambda shown: (
            _row(shown, "+ hints")[2:4] == _row(shown, "hybrid")[2:4]
        ),
        "The intervals in the figure all overlap": lambda shown: (
            max(map(float, re.findall(r" from (\d\.\d+) to ", shown)))
            < min(map(float, re.findall(r" from [\d.]+ to (\d\.\d+)", shown)))
        ),
        "the answers to these questions rank lower, and no more of them are found": lambda shown: (
            _row(shown, "+ structure")[3] < _row(shown, "+ hints")[3]
            and _row(shown, "+ structure")[2] <= _row(shown, "+ hints")[2]
        ),
        "Diversity finds one more answer to these questions": lambda shown: (
            0.02 < _row(shown, "+ diversity")[2] - _row(shown, "+ structure")[2] < 0.05
        ),
        "It ranks answers higher if the question names no file, and lower if it names one": (
            lambda shown: (
                _row(shown, "+ rerank")[3] > _row(shown, "+ diversity")[3]
                and _row(shown, "+ rerank")[1] < _row(shown, "+ diversity")[1]
            )
        ),
    },
}
