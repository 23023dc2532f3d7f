"""What lab 11 says about its outputs."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claims, numbers, rest_of_line

FOLLOWS = re.compile(r"([\w ]+) from ([\d.]+) at 1 to ([\d.]+) at 50")


def _quoted(shown: str) -> list[str]:
    return re.findall(r"'([^']*)'", shown)


def _sizes_and_shares(shown: str) -> list[tuple[float, float]]:
    """Return, for each project and language, how many packages it has and the share found."""
    sizes = re.findall(r"'([\w-]+ \w+)': (\d+)", shown)
    return [(float(size), numbers(rest_of_line(shown, "first fifty:"), after=kind, upto=",")[0])
            for kind, size in sizes]  # fmt: skip


def _few_do_well(shown: str) -> bool:
    found = _sizes_and_shares(shown)
    few = [share for size, share in found if size <= 50]
    many = [share for size, share in found if size > 50]
    return bool(few) and min(few) == 100 and len(many) > 5 and max(many) < 60


def _plan(shown: str) -> list[list[str]]:
    """Return what the plan adds, changes and removes."""
    return [_quoted(part) for part in re.findall(r"\[.*?\]", shown)]


def _nights(shown: str) -> list[float]:
    return numbers(shown, after="each night:")


def _spent(shown: str) -> tuple[float, float]:
    """Return how many texts are encoded: by everything every night, and by what changed."""
    return numbers(shown, after="every night")[0], numbers(shown, after="only what changed")[0]


def _first(shown: str, way: str) -> tuple[float, float]:
    """Return the share that a way finds with 1 suggestion, and with 50."""
    ways = {name.strip(): (float(one), float(fifty)) for name, one, fifty in FOLLOWS.findall(shown)}
    return ways[way]


def _score(shown: str, way: str) -> tuple[float, float]:
    """Return the percentage found, and how many packages are in the prompt."""
    share, packages = numbers(shown, after=way)[:2]
    return share, packages


def _three_meetings(shown: str) -> list[tuple[str, str, str]]:
    """Return of each meeting whether they met, what was lost and what was left over."""
    lines = [line.partition(": ")[2] for line in shown.splitlines()]
    return [(lines[at], lines[at + 1], lines[at + 2]) for at in range(0, len(lines), 3)]


def _projects(shown: str, project: str) -> float:
    """Return how many packages a project has in all languages."""
    return sum(numbers(rest_of_line(shown, f"{project} {{"), upto="}"))


def _brought(shown: str) -> bool:
    described, embedded = numbers(shown, after="described:")
    return _projects(shown, "rider-app") == embedded == 453 and embedded - described == 2


def _shared(shown: str) -> bool:
    rest = shown[shown.index("forecasting {") :]
    return (
        _projects(shown, "forecasting") == 498
        and numbers(rest, after="embedded:") == [328]
        and 498 - 328 == 170
    )


def _five_clients(shown: str) -> bool:
    pairs = re.findall(r"\('(\w+)', '([^']+)'\)", shown)
    return (
        len({language for language, _ in pairs}) == len(pairs) == 5
        and all(re.search("spotify|spotipy", name) for _, name in pairs)
        and _quoted(rest_of_line(shown, "of the project:")) == ["spotipy"]
    )


def _serving(shown: str) -> list[tuple[str, str]]:
    """Return each instruction with the package that it is most like."""
    return re.findall(r"^([^:\n]+): (\S+)$", shown, re.M)[:4]


def _night(shown: str, which: str) -> list[float]:
    """Return how many chunks a night finds new, changed, as before and deleted."""
    return numbers(shown, after=f"{which}: ")


CLAIMS: Claims = {
    '("rider-app", "forecasting")': {
        "A prompt has no room for all of them": lambda shown: min(numbers(shown)[:2]) > 100,
        "The client for Spotify is called spotipy, and comes after these fifty": lambda shown: (
            rest_of_line(shown, " to ") < "spotipy"
        ),
    },
    "first_fifty = score_suggestions(": {
        "If a project has fewer than fifty packages in a language, all are found. Otherwise the": (
            _few_do_well
        ),
    },
    "plan = make_plan(today, rider)": {
        "httpx is skipped, spotipy is changed, polars is added, pillow and bleach are removed": (
            lambda shown: _plan(shown) == [["polars"], ["spotipy"], ["bleach", "pillow"]]
        ),
    },
    "ADD_TO_LIST = ": {
        "The catalogue has fewer packages than both lock files together": lambda shown: (
            numbers(shown)[2] < numbers(shown)[0] + numbers(shown)[1]
        ),
    },
    ("nights = [embed(texts), embed(texts)]", "ADD_TO_LIST = "): {
        "In the first night, everything is new. In the second, nothing changes": (
            lambda shown, before: _nights(shown)[:2] == [numbers(before)[2], 0]
        ),
    },
    "nights = [embed(texts), embed(texts)]": {
        "polars needed no encoding, because forecasting already uses it. Spotipy needed none": (
            lambda shown: _nights(shown)[2] == 1
        ),
        "A naive job encodes both lock files every night": lambda shown: (
            _spent(shown)[1] == sum(_nights(shown)) and _spent(shown)[0] > 3 * _spent(shown)[1]
        ),
    },
    "ForeignKeyViolation": {
        "The foreign key has prevented the loss of pillow. But bleach was not deleted either": (
            lambda shown: (
                "violates foreign key constraint" in shown
                and _quoted(rest_of_line(shown, "in the catalogue:")) == ["bleach", "pillow"]
            )
        ),
    },
    'print("removed from the list:"': {
        "Pillow stays, because forecasting uses it": lambda shown: (
            _quoted(rest_of_line(shown, "deleted:")) == ["bleach"]
            and _quoted(rest_of_line(shown, "in the catalogue:")) == ["pillow"]
        ),
    },
    "DROP CONSTRAINT": {
        "A package in use was lost": lambda shown: (
            _three_meetings(shown) == [("True", "['shared']", "[]")]
        ),
    },
    'look(at_once(lab.connect, naive_sync, ("one", {"mine": "1"}), ("two", {"yours": "1"})))': {
        "Neither deletes it, because each sees that the other still uses it": lambda shown: (
            _three_meetings(shown) == [("True", "[]", "['shared']")]
        ),
    },
    "def careful_sync": {
        "The two syncs cannot meet any more": lambda shown: (
            _three_meetings(shown) == [("False", "[]", "[]")] * 2
        ),
    },
    "sync_project(conn, project, files": {
        "rider-app adds 453 packages": _brought,
        "Of the 498 packages of forecasting, 170 are also in rider-app": _shared,
        "It skips a language if the checksum of its lock file is the same as last time": (
            lambda shown: (
                _quoted(rest_of_line(shown, "again: unchanged"))
                == ["go", "javascript", "python", "ruby"]
            )
        ),
    },
    "nearest = conn.execute(": {
        "These are five clients for Spotify in five languages": _five_clients,
    },
    "lab.show.heat_map(likeness": {
        "Each instruction is most similar to the package that it needs": lambda shown: (
            [name for _, name in _serving(shown)] == ["spotipy", "stripe", "pillow", "tenacity"]
        ),
        "although no instruction contains the name of its package": lambda shown: (
            len(_serving(shown)) == 4
            and not any(name in instruction.lower() for instruction, name in _serving(shown))
        ),
    },
    "curves = {way:": {
        "The descriptions make this possible": lambda shown: (
            _first(shown, "name and description")[0] > 2 * _first(shown, "name alone")[0]
        ),
        "How many suggestions does your search need to find as much as the first fifty": (
            lambda shown: (
                _first(shown, "name and description")[0] > _first(shown, "first by name")[1]
            )
        ),
    },
    "best = score_suggestions(": {
        "Your search finds far more, with a tenth of the packages in the prompt": lambda shown: (
            _score(shown, "nearest 5")[0] > 1.8 * _score(shown, "first 50 by name")[0]
            and 10 * _score(shown, "nearest 5")[1] == _score(shown, "first 50 by name")[1]
        ),
        "the description of geoalchemy2 has the word PostGIS": lambda shown: (
            "PostGIS" in rest_of_line(shown, "is described as:")
            and re.search(r"stations within 500 metres[^\n]*needs \('geoalchemy2',\)", shown)
            and "metres" not in rest_of_line(shown, "is described as:")
        ),
    },
    "prompt = generation_prompt(": {
        "If there is no model, it returns the first fifty by name, and says that they are a": (
            lambda shown: (
                numbers(shown, after="without a model:") == [50] and "there is no model" in shown
            )
        ),
        "generation_prompt finds the comment above the cursor": (
            "It has to do this:\nfetch top charts from Spotify\n"
        ),
    },
    "done = ingest(pages": {
        "A page has about 24 chunks": lambda shown: abs(_night(shown, "first")[0] / 5 - 24) < 1,
        "Only one chunk changed. The other chunks of the edited page are unchanged": lambda shown: (
            _night(shown, "nothing changed")[:2] == [0, 0]
            and _night(shown, "one deleted")[:2] == [0, 1]
            and sum(_night(shown, "one deleted")[1:]) == _night(shown, "first")[0]
        ),
    },
    "InMemoryRecordManager(": {
        "so a new version needs a new vector for the same text": lambda shown: (
            "not installed" in shown or re.search(r"^version .*'num_added': 2", shown, re.M)
        ),
        "so index skips everything": lambda shown: (
            "not installed" in shown
            or re.search(r"^model .*'num_added': 0.*'num_skipped': 2", shown, re.M)
        ),
    },
}
