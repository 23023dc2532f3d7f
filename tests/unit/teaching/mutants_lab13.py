"""Wrong answers to lab 13 that a learner would plausibly write; see `mutants_lab01.py`."""

import numpy as np

from course_lib.evaluation.metrics import first_different, ndcg_at, recall_at, reciprocal_rank
from course_lib.evaluation.statistics import Interval, bootstrap_interval, paired_interval
from tests.unit.teaching.edits import edits

# --- 13.1 recall_at ---


def counts_repeated_items(found, gold, k=10):
    return sum(item in gold for item in list(found)[:k]) / len(set(gold)) if gold else 0.0


def divides_by_what_was_found(found, gold, k=10):
    first = first_different(found, k)
    return len(set(gold) & set(first)) / len(first) if first else 0.0


def looks_for_names_within_names(found, gold, k=10):
    first = first_different(found, k)
    hits = [name for name in set(gold) if any(name in item for item in first)]
    return len(hits) / len(set(gold)) if gold else 0.0


def looks_for_parts_of_names(found, gold, k=10):
    first = first_different(found, k)
    hits = [name for name in set(gold) if any(item in name for item in first)]
    return len(hits) / len(set(gold)) if gold else 0.0


def compares_the_last_part_of_paths(found, gold, k=10):
    wanted = {name.rpartition("/")[2] for name in gold}
    hits = wanted & {item.rpartition("/")[2] for item in first_different(found, k)}
    return len(hits) / len(wanted) if wanted else 0.0


def takes_capitals_for_small_letters(found, gold, k=10):
    wanted = {name.lower() for name in gold}
    hits = wanted & {item.lower() for item in first_different(found, k)}
    return len(hits) / len(wanted) if wanted else 0.0


# --- 13.2 reciprocal_rank ---


def adds_up_all_of_them(found, gold, k=10):
    return sum(1 / n for n, item in enumerate(first_different(found, k), 1) if item in gold) + 0.0


def goes_by_the_order_of_the_gold(found, gold, k=10):
    first = first_different(found, k)
    return next((1 / (first.index(name) + 1) for name in gold if name in first), 0.0)


def drops_neighbours_that_are_equal(found, gold, k=10):
    kept = [item for item, before in zip(found, ["", *found], strict=False) if item != before]
    return next((1 / place for place, item in enumerate(kept[:k], 1) if item in gold), 0.0)


# --- 13.4 bootstrap_interval ---


def forgets_the_root_of_n(values, confidence=0.95, resamples=2000, seed=0):
    mean, spread = float(np.mean(values)), float(np.std(values))
    return Interval(mean, mean - 1.96 * spread, mean + 1.96 * spread)


def calculates_a_normal_interval(values, confidence=0.95, resamples=2000, seed=0):
    from statistics import NormalDist

    mean = float(np.mean(values))
    far = NormalDist().inv_cdf((1 + confidence) / 2) * float(np.std(values)) / len(values) ** 0.5
    return Interval(mean, mean - far, mean + far)


# --- 13.5 paired_interval ---


def subtracts_two_intervals(before, after, confidence=0.95, resamples=2000, seed=0):
    old, new = bootstrap_interval(before, confidence), bootstrap_interval(after, confidence)
    return Interval(new.mean - old.mean, new.low - old.high, new.high - old.low)


MUTANTS = {
    "13.1": edits(
        recall_at,
        divides_by_k=("/ len(wanted) -> / k", "k is not part of the division"),
        takes_five_without_k=("k: int = DEPTH -> k: int = 5", "place 10 is one of them"),
        needs_a_list=("(found, k) -> (found, min(k, len(found)))", "any Iterable"),
        cuts_before_it_makes_different=(
            "first_different(found, k) -> list(found)[:k]",
            "x takes up one place",
        ),
        says_only_whether_it_was_found=(
            "len(wanted & set(first_different(found, k))) / len(wanted)"
            " -> float(bool(wanted & set(first_different(found, k))))",
            "one of the two",
        ),
        divides_by_what_could_come_first=(
            "/ len(wanted) -> / min(k, len(wanted))",
            "three items are gold",
        ),
        forgets_that_nothing_may_be_wanted=("if not wanted -> if False", "ZeroDivisionError"),
        counts_one_place_less=("(found, k) -> (found, k - 1)", "the last that counts for k = 2"),
    )
    | {
        compares_the_last_part_of_paths: "both are called README.md",
        counts_repeated_items: "b counts once",
        divides_by_what_was_found: "both gold items are found",
        looks_for_names_within_names: "two files",
        looks_for_parts_of_names: "two files",
        takes_capitals_for_small_letters: "small and capital letters count",
    },
    "13.2": edits(
        reciprocal_rank,
        counts_from_zero=("start=1 -> start=2", "it is at place 1"),
        returns_the_place=("1 / place -> float(place)", "it is at place 3"),
        counts_repeated_places=(
            "first_different(found, k) -> list(found)[:k]",
            "x takes up one place",
        ),
        looks_beyond_k=("(found, k) -> (found, 1000)", "beyond k = 2"),
        takes_part_of_a_name=(
            'item in gold -> item in " ".join(gold)',
            "is a part of the gold name",
        ),
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
    },
    "13.3": edits(
        ndcg_at,
        does_not_divide=("reached / best -> reached", "the example by hand"),
        divides_by_the_order_found=(
            "sorted(gains.values(), reverse=True)[:k]"
            " -> sorted((gains.get(item, 0) for item in first_different(found, k)), "
            "reverse=True)",
            "the best order would have b",
        ),
        takes_the_best_order_whole=("reverse=True)[:k] -> reverse=True)", "only two gains fit"),
        takes_the_natural_logarithm_of_the_place=(
            "gains.get(item, 0) / math.log2 -> gains.get(item, 0) / math.log",
            "no order is better",
        ),
        treats_all_gains_alike=(
            "gain / math -> 1 / math",
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
            "sorted(gains.values(), reverse=True)[:k] -> list(gains.values())[:k]",
            "begins with the largest gain",
        ),
        looks_at_ten_whatever_k_is=("(found, k) -> (found, 10)", "beyond k = 1"),
    ),
    "13.4": edits(
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
        ignores_the_confidence=("(1 - confidence) / 2 -> 0.025", "a confidence of 0.7"),
        draws_ten_values_a_set=("size=len(data) -> size=10", "redrawn sets of 16 values"),
        draws_anew_each_time=("default_rng(seed) -> default_rng(None)", "same seed"),
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
            "    data = ->     values.sort()\n    data =",
            "its caller still needs it",
        ),
        wants_two_values=("if not len(values) -> if len(values) < 2", "one value is enough"),
    )
    | {
        forgets_the_root_of_n: "redrawn sets of 16 values",
        calculates_a_normal_interval: "need not be in the middle",
    },
    "13.5": edits(
        paired_interval,
        takes_before_minus_after=("new - old -> old - new", "every question got better by 0.25"),
        takes_the_size_of_the_change=(
            "new - old -> abs(new - old)",
            "after minus before is negative",
        ),
        does_not_hand_the_confidence_on=(
            "differences, confidence, -> differences, 0.95,",
            "pass `confidence` on",
        ),
        does_not_hand_the_number_of_sets_on=(
            "confidence, resamples, seed) -> confidence, seed=seed)",
            "one redrawn set has one mean",
        ),
        does_not_hand_the_seed_on=("resamples, seed) -> resamples)", "`seed` must be passed on"),
        leaves_out_what_has_no_partner=(
            "if len(before) != len(after) -> if False",
            "strict=True -> strict=False",
            "do not make pairs",
        ),
        sorts_both_sides=(
            "zip(before, after, -> zip(sorted(before), sorted(after),",
            "compared with itself",
        ),
        leaves_out_what_did_not_change=(
            "strict=True)] -> strict=True) if new != old]",
            "and the others nothing",
        ),
        gives_zero_for_no_pairs=(
            "    return ->     if not differences:\n        return Interval(0, 0, 0)\n    return",
            "without questions",
        ),
    )
    | {
        subtracts_two_intervals: "every question got better by 0.25",
    },
}
