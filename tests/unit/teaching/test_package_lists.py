"""What lab 13 shows: imports of recorded code, made-up packages, and what lists cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.settings import project_root
from course_lib.teaching.lab.package_lists import (
    MODULES,
    Shelf,
    compare_ways,
    descriptions,
    failing,
    imported,
    is_tuning,
    judged,
    judged_records,
    ladder,
    plot_ladder,
    recorded,
    shelf_of,
    store_catalogue,
    thresholds,
    with_made_up,
)
from course_lib.xray import LockFiles, find_lock_files
from course_lib.xray.measure import Instruction, read_instructions
from tests.schemas import OwnSchema

FOLDER = project_root() / "data" / "lockfiles"
LOCKED = {
    name: find_lock_files(FOLDER / name).packages("python") for name in ("rider-app", "forecasting")
}


def encode(texts: Any) -> Any:
    """Put each text in a direction of its first letter."""
    vectors = np.eye(26, dtype=np.float32)[[ord(text[0].lower()) - ord("a") for text in texts]]
    return vectors


@pytest.mark.parametrize(
    ("code", "modules"),
    [
        ("import os.path as p, json  # import re", {"os", "json"}),
        ("    from a.b import (\n        c,\n    )", {"a"}),
        ("from . import near\nfrom .far import x", set()),
        ("```python\nimport a-b\nimport c\nfrom", {"a-b", "c"}),
        ("important = 1\nfrom_here = 2", set()),
    ],
)
def test_imports_are_found_in_whole_and_in_broken_code(code: str, modules: set[str]) -> None:
    assert imported(code) == modules


def test_an_answer_is_judged_by_modules_and_not_by_the_names_of_packages() -> None:
    asked = {"answer": "```python\nimport jwt, pyjwt\n```", "gold_packages": ["pyjwt"]}
    assert failing(asked, ["pyjwt"]) == {"pyjwt"}
    assert judged(asked, ["pyjwt", "rich"]) == {
        "imports a package": True,
        "a needed one": True,
        "a module is missing": True,
        "only imports": True,
    }
    plain = {"answer": "import os\nprint(os.name)", "gold_packages": []}
    assert not any(judged(plain, []).values())


def test_the_table_of_modules_names_packages_that_the_projects_have() -> None:
    assert MODULES.keys() <= LOCKED["rider-app"].keys() | LOCKED["forecasting"].keys()


def test_each_instruction_on_record_was_asked_in_all_three_ways_by_one_model() -> None:
    records = recorded()
    known = {one.id: one for one in [*read_instructions(), *read_instructions("no_package")]}
    ways: dict[str, list[str]] = {}
    for one in records:
        assert one["instruction"] == known[one["id"]].instruction
        assert one["instruction"] in one["prompt"]["user"] and one["answer"]
        ways.setdefault(one["id"], []).append(one["condition"])
    assert set(map(tuple, ways.values())) == {("no list", "all names", "nearest five")}
    assert len({one["made"]["model"]["sha256"] for one in records}) == 1
    counts = judged_records()
    assert counts["answers"].sum() == len(records)
    assert counts.loc[("needs none", "no list"), "imports a package"] == 0


def test_made_up_packages_are_the_same_ones_on_every_run_and_real_ones_stay() -> None:
    lines = ["alpha", "beta: Second letter"]
    shelf = Shelf(["alpha", "beta"], lines, encode(lines))
    one, again = (with_made_up(shelf, 30) for _ in range(2))
    assert len(set(one.names)) == 32 and list(one.names) == sorted(one.names)
    assert {*shelf.names} < {*one.names} and np.array_equal(one.vectors, again.vectors)
    assert np.allclose(np.linalg.norm(one.vectors, axis=1), 1)
    place = one.names.index("beta")
    assert one.lines[place] == "beta: Second letter" and one.nearest(shelf.vectors[1], 1) == [place]


def test_a_ladder_counts_tokens_and_what_is_contained() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    shelf = Shelf([f"{one}{n}" for one in letters for n in range(3)], ["1234: 789"] * 78,
                  encode([one for one in letters for _ in range(3)]))  # fmt: skip
    asked = [Instruction("q", "zip it", "app", "python", ("z0", "a0"))]
    found = ladder({"app": shelf}, asked, encode)
    assert found["contains"].to_dict() == {
        "first fifty, described": 0.5,
        "all names": 1.0,
        "all, described": 1.0,
        "fifty names by words": 0.0,
        "nearest fifty names": 1.0,
        "five by words, described": 0.0,
        "nearest five, described": 1.0,
    }
    assert found["tokens"]["nearest five, described"] == round((5 * 9 + 4) / 3)
    assert found["tokens"]["all names"] == round((78 * 2 + 77 * 2) / 3)
    assert found["more than by words"]["nearest five, described"] == "1.00 [1.00, 1.00]"
    assert (
        "one, all names: 1.00 for 103 tokens" in plot_ladder({"one": found, "two": found}, 100).alt
    )


def test_a_search_by_words_lists_only_what_shares_a_word() -> None:
    shelf = Shelf(
        ["x", "y", "z"],
        ["x: reads long rides", "y: rides", "z: pages"],
        np.eye(3, dtype=np.float32),
    )
    assert shelf.by_words(["a ride", "a lamp"]) == [[1, 0], []]


def test_halves_are_by_the_sum_of_the_id() -> None:
    ids = [one.id for one in [*read_instructions(), *read_instructions("no_package")]]
    assert 0.4 < sum(map(is_tuning, ids)) / len(ids) < 0.6


def test_ways_are_compared_by_what_is_needed_and_by_the_places_that_they_fill() -> None:
    asked = [
        Instruction("a", "ab", "app", "python", ("x", "y")),
        Instruction("b", "b", "app", "python", ("z",)),
    ]
    found = compare_ways({"one": lambda text: [("x", 1), (text, 1)]}, asked)
    assert found.loc["one"].to_list() == [pytest.approx(1 / 3), 2.0]


def test_a_catalogue_is_the_same_if_it_is_stored_twice(database: OwnSchema) -> None:
    company = Shelf(["made-up-1", "rich"], ["made-up-1: x", "rich: y"], np.ones((2, 384)))
    one = LockFiles({"requirements.txt": "rich==14.1.0\nredis==6.4.0"})
    with database.connect(autocommit=True) as conn:
        for _ in range(2):
            store_catalogue(conn, {"one": one}, company, EmbeddingClient(cache=True))
        used = conn.execute("SELECT project, name FROM xray_report_packages ORDER BY 1, 2")
        assert used.fetchall() == [("fleet", "made-up-1"), ("one", "redis"), ("one", "rich")]
        about = conn.execute("SELECT description FROM xray_packages WHERE name = 'rich'")
        assert about.fetchall() == [(descriptions("python")["rich"],)]


def test_a_least_similarity_keeps_what_is_needed_or_lets_noise_through() -> None:
    assert is_tuning("q03") and not is_tuning("q01")
    needed = Instruction("q03", "x", "app", "python", ("x", "far"))
    none = [Instruction(name, "y", "app", "python", ()) for name in ("q03", "q01")]
    rows = [("x", "1.0", None, 0.4), ("o", "1.0", None, 0.3)]
    found = thresholds({"q03": rows, "q01": rows}, [needed, *none], tuning=True)
    assert found.loc[0.4].to_list() == [0.5, 1.0] and found.loc[0.41].to_list() == [0.0, 0.0]


def test_descriptions_are_those_of_one_language() -> None:
    shelf = shelf_of(["stripe", "not-there"], encode)
    assert shelf.names == ["not-there", "stripe"] and shelf.lines[0] == "not-there"
    assert shelf.lines[1] == f"stripe: {descriptions('python')['stripe']}"
    assert descriptions("python")["stripe"] != descriptions("ruby")["stripe"]
