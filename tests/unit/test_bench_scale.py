"""The pure parts of the scale bench: the corpus, exact answers, arithmetic and the page."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.bench.scale import corpus, page, results
from tests.bench.scale.__main__ import main
from tests.bench.scale.arithmetic import fit_n_log_n, fit_power
from tests.bench.scale.cluster import GIB, ScaleError, need, refuse_if_short
from tests.bench.scale.truth import Nearest, recall, truth

block, vectors_of = cache(corpus.block), cache(corpus.vectors)


def test_a_block_begins_with_the_rows_of_a_smaller_one() -> None:
    few, more = corpus.block(1, 20), block(1, 200)
    assert more.chunks[:20] == few.chunks
    assert more.partitions[:20] == few.partitions
    assert np.array_equal(more.vectors[:20], few.vectors)


def test_blocks_share_no_row_and_no_repository_with_their_neighbour() -> None:
    one, two = block(0, 200), block(1, 200)
    assert not {chunk.source_path for chunk in one.chunks} & {c.source_path for c in two.chunks}
    assert not {chunk.repo_slug for chunk in one.chunks} & {c.repo_slug for c in two.chunks}


def test_every_row_of_a_block_has_an_identity_of_its_own() -> None:
    named = corpus.identities(0)
    assert len(set(named)) == corpus.BLOCK
    chunks = block(0, 200).chunks[:50]
    assert named[:50] == [(c.source_path, c.custom_meta["chunkIndex"]) for c in chunks]


def test_vectors_have_unit_length_and_a_heavy_common_part() -> None:
    vectors = vectors_of(0)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert 0.6 < np.linalg.norm(vectors.mean(axis=0)) < 0.9


def test_a_near_duplicate_is_its_twin_but_for_an_edit() -> None:
    how = corpus.layout(0)
    vectors = vectors_of(0)
    is_copy = how.source != np.arange(corpus.BLOCK)
    copies = np.flatnonzero(is_copy & ~is_copy[how.source])
    likeness = (vectors[copies] * vectors[how.source[copies]]).sum(axis=1)
    assert len(copies) > corpus.BLOCK / 100
    assert likeness.min() > 0.99
    assert (vectors[copies] != vectors[how.source[copies]]).any(axis=1).all()


def test_partitions_and_kinds_have_about_their_shares() -> None:
    hows = [corpus.layout(number) for number in range(3)]
    kinds = [kind for how in hows for kind in how.kinds]
    partitions = [name for how in hows for name in how.partitions]
    assert 0.005 < kinds.count("PodDefault") / len(kinds) < 0.015
    assert 0.6 < partitions.count("documentation") / len(partitions) < 0.95
    assert set(partitions) == set(corpus.PARTITION_SHARES)


def test_words_are_as_unequally_frequent_as_in_real_text() -> None:
    words = Counter(" ".join(chunk.content for chunk in block(0, 200).chunks).split())
    counts = [count for _, count in words.most_common()]
    assert counts[0] > 20 * counts[len(counts) // 2]
    assert counts[len(counts) // 2] == 1


def test_exact_answers_are_those_of_one_large_comparison() -> None:
    vectors = vectors_of(0)[:3_000]
    asked = np.stack([question.vector for question in corpus.questions(5)])
    nearest = Nearest(asked)
    for first in range(0, 3_000, 700):
        part = vectors[first : first + 700]
        nearest.show(part, np.arange(first, first + len(part)))
    at_once = np.argsort(-(asked @ vectors.T), axis=1)[:, :10]
    assert [set(row) for row in nearest.rows().tolist()] == [set(row) for row in at_once.tolist()]


def test_exact_answers_behind_a_filter_have_its_kind() -> None:
    asked = vectors_of(0)[:2]
    found = truth(asked, 4_000, [None, "Deployment"])
    kinds = dict(zip(corpus.identities(0), corpus.layout(0).kinds, strict=True))
    assert all(kinds[row] == "Deployment" for one in found["Deployment"] for row in one)
    assert recall(found[None], found[None]) == 1.0
    assert recall(found["Deployment"], found[None]) < 1.0


def test_a_fit_finds_the_curve_that_points_lie_on_and_tells_how_far_others_are() -> None:
    rows = [1_000, 10_000, 1_000_000]
    values = [0.003 * n * math.log2(n) for n in rows]
    exact = fit_n_log_n(rows, values)
    assert exact.factor == pytest.approx(0.003)
    assert exact.residual == pytest.approx(0, abs=1e-9)
    assert exact.at(2**20) == pytest.approx(0.003 * 2**20 * 20)
    off = fit_n_log_n(rows, [values[0] * 1.2, values[1], values[2]])
    assert 0.05 < off.residual < off.worst < 0.2
    with pytest.raises(ValueError, match="more than one row"):
        fit_n_log_n([1], [2.0])
    assert fit_power([10, 1_000], [5, 5]) == pytest.approx((5, 0))


def test_too_small_a_disk_or_memory_is_refused_with_the_sum() -> None:
    folder = Path("data")
    enough = need(1_000_000)
    refuse_if_short(1_000_000, enough.disk, enough.memory, folder)
    with pytest.raises(ScaleError, match=r"1,000,000 rows × 8,000 bytes are 7\.5 GiB"):
        refuse_if_short(1_000_000, enough.disk - 1, enough.memory, folder)
    with pytest.raises(ScaleError, match=r"4\.0 GiB of memory are free"):
        refuse_if_short(1_000_000, enough.disk, 4 * GIB, folder)


def test_what_a_run_has_measured_survives_it_and_replaces_older_figures(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    results.Partial(path).put("sizes", "30000", {"rows": 30_000, "old": True})
    again = results.Partial(path)
    assert again.part("sizes") == {"30000": {"rows": 30_000, "old": True}}
    kept = results.merge(again.everything(), tmp_path)
    again.put("sizes", "30000", {"rows": 30_000})
    again.put("sizes", "1000", {"rows": 1_000})
    assert results.merge(again.everything(), tmp_path) == kept
    [figures] = results.read_all(tmp_path)
    assert figures["sizes"] == {"1000": {"rows": 1_000}, "30000": {"rows": 30_000}}
    assert set(figures["when"]) == {"sizes 1000", "sizes 30000"}
    again.remove()
    assert results.Partial(path).everything() == {}


def test_a_wrong_number_of_rows_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--rows", "many"], ["--rows", "10"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
    assert "a size has 1000 rows or more" in capsys.readouterr().err


def test_the_page_refuses_a_table_that_there_is_not() -> None:
    with pytest.raises(page.PageError, match="'nothing'"):
        page.filled("<!-- made: nothing -->\n<!-- end -->", {"sums": ""})


def test_the_pages_tables_are_those_of_the_kept_figures() -> None:
    kept = results.read_all()
    assert kept, "the page stands on a run"
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(text, page.tables(kept[0])) == text


def test_the_kept_figures_hold_what_the_library_promises() -> None:
    for path in sorted(results.RESULTS.glob("scale-*.json")):
        for size in json.loads(path.read_text(encoding="utf-8"))["sizes"].values():
            assert size["again"]["unchanged"] == size["again"]["rows"]
            assert size["search"]["dense, exact"]["recall"] == 1.0
            assert all(one["fewest_rows"] == 10 for one in size["search"].values())
