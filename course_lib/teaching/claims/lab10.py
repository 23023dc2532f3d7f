"""What lab 10 says about its outputs."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claims, numbers, rest_of_line

BYTES = re.compile(r"^([\w.]+)((?: [0-9a-f]{2})+)$", re.MULTILINE)
BARS = re.compile(r"([\w-]+(?:\[\d\])?) (succeeded|failed|from the cache)")


def _last_digits(shown: str) -> list[int]:
    """Return the remainder by 2 of each name's first 8 bytes."""
    return [int(digits.replace(" ", ""), 16) % 2 for _, digits in BYTES.findall(shown)]


def _each_in_one_shard(taken: str, shown: str) -> bool:
    files = numbers(taken, after="of ")[0]
    counts = numbers(shown, after="in 2 shards:")[1::2]
    names = [name for shard in range(3) for name in _of_three(shown, shard)]
    return sum(counts) == files and len(names) == len(set(names)) == 5


def _of_three(shown: str, shard: int) -> list[str]:
    return re.findall(r"'([^']+)'", rest_of_line(shown, f"shard {shard} of 3: "))


def _bars(shown: str) -> list[tuple[str, str]]:
    """Return task and outcome of each bar of a timeline, in the order of their beginning."""
    return BARS.findall(shown.partition("Timeline")[2])


def _only_shard_two_again(shown: str) -> bool:
    bars = [bar for bar in _bars(shown) if bar[0].startswith("dies-once")]
    return sorted(bars) == [
        ("dies-once[0]", "succeeded"),
        ("dies-once[1]", "succeeded"),
        ("dies-once[2]", "failed"),
        ("dies-once[2]", "succeeded"),
    ]


def _rows(shown: str) -> dict[str, float]:
    """Return how many rows each document has."""
    found = re.findall(r"^(\d+) ([\w-]+\.md)$", shown, re.MULTILINE)
    return {name: float(count) for count, name in found}


def _all_five_cached(shown: str) -> bool:
    first, second = (numbers(line) for line in shown.splitlines()[:2])
    return first[:2] == [5, 0] and second[:2] == [0, 5] and first[2] == second[2]


CLAIMS: Claims = {
    "taken = [machine(0), machine(1)]": {
        "many files are in no shard": lambda shown: numbers(shown)[1] > 2 and numbers(shown)[2] > 2,
    },
    "[:8].hex": {
        "So the names belong to shard 1, shard 0 and shard 0": lambda shown: (
            [line[-1] for line in shown.splitlines()] == ["d", "e", "e"]
            and _last_digits(shown) == [1, 0, 0]
        ),
        "The 8 bytes of a.md end in ad, those of b.md in ae, and those of c.md in 1e": (
            lambda shown: [line[-2:] for line in shown.splitlines()] == ["ad", "ae", "1e"]
        ),
    },
    ("taken = [machine(0), machine(1)]", "documents in shard"): {
        "Every file is in exactly one shard": _each_in_one_shard,
    },
    "documents in shard": {
        "With few files, a shard may be empty": lambda shown: any(
            not _of_three(shown, shard) for shard in range(3)
        ),
    },
    "component = dsl.component(count_words": {
        "kfp takes only the text of the function, without the notebook's imports": lambda shown: (
            numbers(shown, after="here:") > [0]
            and "failed     NameError: name 'read_documents' is not defined" in shown
        ),
    },
    ("component = dsl.component(count_words", "by_default = dsl.component"): {
        "a component has to import everything that it needs": lambda here, there: (
            numbers(here, after="here:") == numbers(there, after="Output':")
        ),
    },
    "by_default = dsl.component": {
        "By default, every task begins with a `pip install` of kfp": lambda shown: (
            "pip install" in rest_of_line(shown, "by default:")
            and "kfp==" in rest_of_line(shown, "by default:")
            and not rest_of_line(shown, "ours:")
        ),
    },
    "def read_folder(folder: str, documents: Output[Dataset])": {
        "The component wrote 5, and you got 5.0": lambda shown: (
            "{'documents': 5.0}" in shown and "5 lines" in shown
        ),
    },
    "parts = [Dataset(uri=": {
        "{'documents': 3, 'chunks': 77}": "0 {'documents': 3, 'chunks': 77}",
        "For an empty shard, the function writes an empty file and two zeros": (
            "1 {'documents': 0, 'chunks': 0}"
        ),
    },
    "def add_up(parts": {
        "kfp compares the result with the signature, and a sum of floats is not an `int`": (
            lambda shown: (
                shown.startswith("add-up failed") and "'float'>; want type <class 'int'>" in shown
            )
        ),
    },
    "components.load_component_from_text(renamed)": {
        "A loop is a component with tasks of its own": lambda shown: (
            "comp-for-loop-1" in rest_of_line(shown, "components:").split()
            and rest_of_line(shown, "in the loop:").split() == ["split-part"]
            and "split-part" not in rest_of_line(shown, "tasks:").split()
        ),
        "a component names its executor, which has the image and the code": lambda shown: (
            "name: comp-collect" in shown
            and "rag-loader:" in shown.partition("image:")[2].partition("code:")[0]
            and "def collect(" in shown.partition("code:")[2]
        ),
        "It does not. A cluster finds the first mistake": lambda shown: (
            rest_of_line(shown, "loaded:").strip() == "split-in-shards"
        ),
        "The library's `find_problems` looks up all names": lambda shown: (
            "comp-colect, which is not a component" in shown
            and "takes document of read-folder, which has no such output" in shown
        ),
    },
    "first, second = (": {
        "The second time, no task ran": _all_five_cached,
    },
    ("first, second = (", "def dies_once"): {
        "Each bar in the figure is one process, except for a task from the cache": (
            lambda first, third: (
                [outcome for _, outcome in _bars(first)] == ["succeeded"] * 5
                and ("read-folder", "from the cache") in _bars(third)
            )
        ),
    },
    "def dies_once": {
        "No chunk is lost, and none is there twice": lambda shown: (
            numbers(shown)[0] == numbers(shown)[1] and "both files are equal: True" in shown
        ),
        "The other shards were not repeated": _only_shard_two_again,
    },
    "appends = without_cache": {
        "The ten chunks of the first attempt are still in the file": lambda shown: (
            numbers(shown, after="ValueError:")[0] == 10 + numbers(shown, after="but ")[0]
        ),
        "and no step would have failed": lambda shown: (
            re.findall(r"^(\S+)  +failed +\w+Error", shown, re.MULTILINE) == ["collect"]
            and "dies-once[0]  succeeded" in shown
        ),
    },
    '"rollback.md").write_text': {
        "So the input is the same, and no task runs": lambda shown: numbers(shown) == [6, 0, 5, 5],
    },
    'compile_pipeline("docs_pipeline")': {
        "begins with a small task that is never cached": lambda shown: (
            "fingerprint-documents: 1 retry, never cached" in shown
            and "fingerprint-documents → load-documents (Output)" in shown
        ),
        "The step that stores the chunks is never cached": lambda shown: re.search(
            r"embed-and-store: [^;]*never cached", shown
        ),
        "`report` runs at the end, even if one of them fails": lambda shown: re.search(
            r"; report: [^;]*always runs", shown
        ),
    },
    "filled = run_locally(docs_pipeline": {
        "The sixth document is in the index": lambda shown: (
            len(_rows(shown)) == 6 and _rows(shown)["rollback.md"] == 1
        ),
        "How many of the 122 chunks": lambda shown: sum(_rows(shown).values()) == 122,
    },
    "done = ingest(copy": {
        "It writes none: every chunk is already there": lambda shown: (
            numbers(shown.splitlines()[0]) == [0, 0, 122, 0]
        ),
    },
}
