"""Wrong answers to lab 16 that a learner would plausibly write; see `mutants_lab01.py`."""

import numpy as np

from course_lib.evaluation.metrics import first_different, ndcg_at, reciprocal_rank
from course_lib.evaluation.statistics import Interval, bootstrap_interval, paired_interval
from tests.unit.teaching.edits import edits

# --- 16.1 reciprocal_rank ---


def adds_up_all_of_them(found, gold, k=10):
    return sum(1 / n for n, item in enumerate(first_different(found, k), 1) if item in gold) + 0.0


def goes_by_the_order_of_the_gold(found, gold, k=10):
    first = first_different(found, k)
    return next((1 / (first.index(name) + 1) for name in gold if name in first), 0.0)


def drops_neighbours_that_are_equal(found, gold, k=10):
    kept = [item for item, before in zip(found, ["", *found], strict=False) if item != before]
    return next((1 / place for place, item in enumerate(kept[:k], 1) if item in gold), 0.0)


def ignores_capitals(found, gold, k=10):
    return reciprocal_rank([item.lower() for item in found], {one.lower() for one in gold}, k)


# --- 16.3 bootstrap_interval ---


def forgets_the_root_of_n(values, confidence=0.95, resamples=2000, seed=0):
    mean, spread = float(np.mean(values)), float(np.std(values))
    return Interval(mean, mean - 1.96 * spread, mean + 1.96 * spread)


def calculates_a_normal_interval(values, confidence=0.95, resamples=2000, seed=0):
    from statistics import NormalDist

    mean = float(np.mean(values))
    far = NormalDist().inv_cdf((1 + confidence) / 2) * float(np.std(values)) / len(values) ** 0.5
    return Interval(mean, mean - far, mean + far)


# --- 16.4 paired_interval ---


def subtracts_two_intervals(before, after, confidence=0.95, resamples=2000, seed=0):
    old, new = bootstrap_interval(before, confidence), bootstrap_interval(after, confidence)
    return Interval(new.mean - old.mean, new.low - old.high, new.high - old.low)


MUTANTS = {
    "16.1": edits(
        reciprocal_rank,
        counts_from_zero=("1 / place -> 1 / (place + 1)", "it is at place 1"),
        returns_the_place=("1 / place -> float(place)", "it is at place 3"),
        counts_repeated_places=(
            "first_different(found, k) -> list(found)[:k]",
            "x takes up one place",
        ),
        looks_beyond_k=("(found, k) -> (found, 1000)", "beyond k = 2"),
        takes_part_of_a_name=('in gold -> in " ".join(gold)', "is a part of the gold name"),
        takes_more_than_a_name=(
            "item in gold -> any(name in item for name in gold)",
            "contains the gold name",
        ),
        ranks_one_place_less=("(found, k) -> (found, k - 1)", "the last that counts for k = 2"),
    )
    | {
        adds_up_all_of_them: "only the first gold item",
        goes_by_the_order_of_the_gold: "only the first gold item",
        drops_neighbours_that_are_equal: "comes between",
        ignores_capitals: "Notes.md is another file",
    },
    "16.2": edits(
        ndcg_at,
        does_not_divide=("reached / best if best else -> reached +", "the example by hand"),
        divides_by_the_order_found=(
            "gains.values() -> [gains.get(item, 0) for item in first_different(found, k)]",
            "the best order would have b",
        ),
        takes_the_best_order_whole=("[:k] -> ", "only two gains fit"),
        takes_the_natural_logarithm_of_the_place=(
            "reached / best -> reached / math.log(2) / best",
            "no order is better",
        ),
        treats_all_gains_alike=(
            "gains.values() -> [1] * len(gains)",
            "gains.get(item, 0) -> float(item in gains)",
            "the example by hand",
        ),
        gains_again_from_repeated_items=(
            "first_different(found, k) -> list(found)[:k]",
            "x takes up one place",
        ),
        cuts_before_it_drops_repeats=(
            "first_different(found, k) -> dict.fromkeys(list(found)[:k])",
            "k counts different items",
        ),
        takes_the_gains_in_their_order=(
            "sorted(gains.values(), reverse=True) -> list(gains.values())",
            "begins with the largest gain",
        ),
        sorts_the_first_k_gains=(
            "gains.values() -> [*gains.values()][:k]",
            "larger gain than c",
        ),
        gives_no_place_to_gains_of_zero=(
            "first_different(found, k) -> first_different(found, k) if gains.get(item, 1)",
            "takes up a place",
        ),
        looks_at_ten_whatever_k_is=("(found, k) -> (found, 10)", "beyond k = 1"),
    ),
    "16.3": edits(
        bootstrap_interval,
        draws_without_replacement=(
            "size=len(data) -> size=len(data), replace=False",
            "redrawn sets of 16 values",
        ),
        takes_quantiles_of_the_values=(
            "quantile(means -> quantile(data",
            "redrawn sets of 16 values",
        ),
        leaves_all_at_one_end=(
            "(1 - confidence) / 2 -> 1 - confidence",
            "redrawn sets of 16 values",
        ),
        ignores_the_confidence=(
            "not len(values) -> False",
            "1 - confidence -> 1 - 0.95",
            "a confidence of 0.7",
        ),
        draws_ten_values_a_set=("size=len(data) -> size=10", "redrawn sets of 16 values"),
        draws_anew_each_time=("(seed) -> (None)", "same seed"),
        ignores_the_number_of_sets=(
            "range(resamples) -> range(2000)",
            "one redrawn set has one mean",
        ),
        takes_the_mean_of_the_means=(
            "data.mean() -> np.mean(means)",
            "the mean of the values themselves",
        ),
        gives_zero_for_nothing=(
            'raise ValueError("an interval needs at least one value") -> return Interval(0, 0, 0)',
            "without values",
        ),
        sorts_what_it_was_given=(
            "return Interval -> values.sort()\n    return Interval",
            "its caller still needs it",
        ),
        wants_two_values=("not len(values) -> len(values) < 2", "one value is enough"),
        takes_the_middle_of_the_ends=(
            "data.mean() -> (low + high) / 2",
            "the mean of the values, whatever",
        ),
        rounds_to_two_places=(
            "float(data.mean()), float(low), float(high)"
            " -> *(round(float(end), 2) for end in (data.mean(), low, high))",
            "the mean of the values, whatever",
        ),
    )
    | {
        forgets_the_root_of_n: "redrawn sets of 16 values",
        calculates_a_normal_interval: "need not be in the middle",
    },
    "16.4": edits(
        paired_interval,
        takes_before_minus_after=("new - old -> old - new", "every question got better by 0.25"),
        takes_the_size_of_the_change=(
            "new - old -> abs(new - old)",
            "after minus before is negative",
        ),
        does_not_hand_the_confidence_on=(
            "differences, confidence -> differences, 0.95",
            "pass `confidence` on",
        ),
        does_not_hand_the_number_of_sets_on=(
            ", resamples, seed) -> , seed=seed)",
            "one redrawn set has one mean",
        ),
        does_not_hand_the_seed_on=("resamples, seed) -> resamples)", "`seed` must be passed on"),
        leaves_out_what_has_no_partner=(
            "len(before) != len(after) -> False",
            "strict=True -> strict=False",
            "do not make pairs",
        ),
        sorts_both_sides=(
            "zip(before, after -> zip(sorted(before), sorted(after)",
            "compared with itself",
        ),
        leaves_out_what_did_not_change=(
            "strict=True) -> strict=True) if new != old",
            "and the others nothing",
        ),
        gives_zero_for_no_pairs=(
            "return bootstrap_interval -> "
            "return Interval(0, 0, 0) if not differences else bootstrap_interval",
            "without questions",
        ),
        leaves_out_what_had_nothing_before=(
            "!= -> >",
            "strict=True -> strict=False",
            "three after",
        ),
        wants_two_questions=(
            "len(before) != len(after) -> not len(before) == len(after) > 1",
            "one question is enough",
        ),
    )
    | {subtracts_two_intervals: "every question got better by 0.25"},
}


# --- right, in another style ---


def draws_questions(before, after, confidence=0.95, resamples=2000, seed=0):
    if len(before) != len(after) or len(before) == 0:
        raise ValueError("no pairs")
    old, new = np.array(before), np.array(after)
    drawn = np.random.default_rng(seed).integers(0, len(old), (resamples, len(old)))
    means = new[drawn].mean(axis=1) - old[drawn].mean(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(new.mean() - old.mean()), float(low), float(high))


RIGHT = {"16.4": [draws_questions]}
