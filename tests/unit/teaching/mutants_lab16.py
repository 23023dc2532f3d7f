"""Wrong answers to lab 16 that a learner would plausibly write; see `mutants_lab01.py`."""

import math

import numpy as np

from course_lib.evaluation.metrics import first_different, reciprocal_rank
from course_lib.evaluation.statistics import Interval, bootstrap_interval

# --- 16.1 reciprocal_rank ---


def counts_from_zero(found, gold, k=10):
    for place, item in enumerate(first_different(found, k)):
        if item in gold:
            return 1 / (place + 2)
    return 0.0


def returns_the_place(found, gold, k=10):
    for place, item in enumerate(first_different(found, k), start=1):
        if item in gold:
            return float(place)
    return 0.0


def adds_up_all_of_them(found, gold, k=10):
    return sum(1 / n for n, item in enumerate(first_different(found, k), 1) if item in gold) + 0.0


def counts_repeated_places(found, gold, k=10):
    for place, item in enumerate(list(found)[:k], start=1):
        if item in gold:
            return 1 / place
    return 0.0


def looks_beyond_k(found, gold, k=10):
    for place, item in enumerate(first_different(found, 1000), start=1):
        if item in gold:
            return 1 / place
    return 0.0


def goes_by_the_order_of_the_gold(found, gold, k=10):
    first = first_different(found, k)
    return next((1 / (first.index(name) + 1) for name in gold if name in first), 0.0)


def drops_neighbours_that_are_equal(found, gold, k=10):
    kept = [item for item, before in zip(found, ["", *found], strict=False) if item != before]
    return next((1 / place for place, item in enumerate(kept[:k], 1) if item in gold), 0.0)


def takes_part_of_a_name(found, gold, k=10):
    first = enumerate(first_different(found, k), start=1)
    return next((1 / place for place, item in first if item in " ".join(gold)), 0.0)


def takes_more_than_a_name(found, gold, k=10):
    first = enumerate(first_different(found, k), start=1)
    return next((1 / n for n, item in first if any(name in item for name in gold)), 0.0)


def ignores_capitals(found, gold, k=10):
    return reciprocal_rank([item.lower() for item in found], {one.lower() for one in gold}, k)


# --- 16.2 ndcg_at ---


def _dcg(gains, k):
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(list(gains)[:k], start=1))


def does_not_divide(found, gains, k=10):
    return _dcg([gains.get(item, 0) for item in first_different(found, k)], k) + 0.0


def divides_by_the_order_found(found, gains, k=10):
    got = [gains.get(item, 0) for item in first_different(found, k)]
    best = _dcg(sorted(got, reverse=True), k)
    return _dcg(got, k) / best if best else 0.0


def takes_the_best_order_whole(found, gains, k=10):
    best = _dcg(sorted(gains.values(), reverse=True), len(gains))
    got = [gains.get(item, 0) for item in first_different(found, k)]
    return _dcg(got, k) / best if best else 0.0


def takes_the_natural_logarithm_of_the_place(found, gains, k=10):
    best = _dcg(sorted(gains.values(), reverse=True), k)
    got = sum(
        gains.get(item, 0) / math.log(place + 1)
        for place, item in enumerate(first_different(found, k), start=1)
    )
    return got / best if best else 0.0


def treats_all_gains_alike(found, gains, k=10):
    best = _dcg([1] * len(gains), k)
    got = [float(item in gains) for item in first_different(found, k)]
    return _dcg(got, k) / best if best else 0.0


def gains_again_from_repeated_items(found, gains, k=10):
    best = _dcg(sorted(gains.values(), reverse=True), k)
    return _dcg([gains.get(item, 0) for item in found], k) / best if best else 0.0


def _ndcg(best, found, gains):
    return _dcg([gains.get(item, 0) for item in found], len(gains) + 10) / best if best else 0.0


def cuts_before_it_drops_repeats(found, gains, k=10):
    best = _dcg(sorted(gains.values(), reverse=True), k)
    return _ndcg(best, dict.fromkeys(list(found)[:k]), gains)


def takes_the_gains_in_their_order(found, gains, k=10):
    return _ndcg(_dcg(gains.values(), k), first_different(found, k), gains)


def sorts_the_first_k_gains(found, gains, k=10):
    return _ndcg(
        _dcg(sorted([*gains.values()][:k], reverse=True), k), first_different(found, k), gains
    )


def gives_no_place_to_gains_of_zero(found, gains, k=10):
    best = _dcg(sorted(gains.values(), reverse=True), k)
    return _ndcg(best, [item for item in first_different(found, k) if gains.get(item, 1)], gains)


def looks_at_ten_whatever_k_is(found, gains, k=10):
    best = _dcg(sorted(gains.values(), reverse=True), k)
    return _ndcg(best, first_different(found, 10), gains)


# --- 16.3 bootstrap_interval ---


def _redrawn(values, resamples, seed, size=None, replace=True):
    random = np.random.default_rng(seed)
    data = np.asarray(values, dtype=float)
    size = len(data) if size is None else size
    return data, [random.choice(data, size, replace=replace).mean() for _ in range(resamples)]


def draws_without_replacement(values, confidence=0.95, resamples=2000, seed=0):
    data, means = _redrawn(values, resamples, seed, replace=False)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(data.mean()), float(low), float(high))


def takes_quantiles_of_the_values(values, confidence=0.95, resamples=2000, seed=0):
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(np.mean(values)), float(low), float(high))


def leaves_all_at_one_end(values, confidence=0.95, resamples=2000, seed=0):
    data, means = _redrawn(values, resamples, seed)
    low, high = np.quantile(means, [1 - confidence, confidence])
    return Interval(float(data.mean()), float(low), float(high))


def ignores_the_confidence(values, confidence=0.95, resamples=2000, seed=0):
    data, means = _redrawn(values, resamples, seed)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(data.mean()), float(low), float(high))


def draws_ten_values_a_set(values, confidence=0.95, resamples=2000, seed=0):
    data, means = _redrawn(values, resamples, seed, size=10)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(data.mean()), float(low), float(high))


def forgets_the_root_of_n(values, confidence=0.95, resamples=2000, seed=0):
    mean, spread = float(np.mean(values)), float(np.std(values))
    return Interval(mean, mean - 1.96 * spread, mean + 1.96 * spread)


def calculates_a_normal_interval(values, confidence=0.95, resamples=2000, seed=0):
    from statistics import NormalDist

    mean = float(np.mean(values))
    far = NormalDist().inv_cdf((1 + confidence) / 2) * float(np.std(values)) / len(values) ** 0.5
    return Interval(mean, mean - far, mean + far)


def draws_anew_each_time(values, confidence=0.95, resamples=2000, seed=0):
    data, means = _redrawn(values, resamples, None)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(data.mean()), float(low), float(high))


def ignores_the_number_of_sets(values, confidence=0.95, resamples=2000, seed=0):
    return _interval(values, confidence, 2000, seed)


def gives_zero_for_nothing(values, confidence=0.95, resamples=2000, seed=0):
    return _interval(values, confidence, resamples, seed) if len(values) else Interval(0, 0, 0)


def takes_the_mean_of_the_means(values, confidence=0.95, resamples=2000, seed=0):
    _, means = _redrawn(values, resamples, seed)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(np.mean(means)), float(low), float(high))


def takes_the_middle_of_the_ends(values, confidence=0.95, resamples=2000, seed=0):
    found = _interval(values, confidence, resamples, seed)
    return found._replace(mean=(found.low + found.high) / 2)


def rounds_to_two_places(values, confidence=0.95, resamples=2000, seed=0):
    return Interval(*(round(end, 2) for end in _interval(values, confidence, resamples, seed)))


# --- 16.4 paired_interval ---


def _interval(values, confidence=0.95, resamples=2000, seed=0):
    data, means = _redrawn(values, resamples, seed)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(data.mean()), float(low), float(high))


def subtracts_two_intervals(before, after, confidence=0.95, resamples=2000, seed=0):
    old, new = _interval(before, confidence), _interval(after, confidence)
    return Interval(new.mean - old.mean, new.low - old.high, new.high - old.low)


def takes_before_minus_after(before, after, confidence=0.95, resamples=2000, seed=0):
    pairs = zip(before, after, strict=True)
    return _interval([old - new for old, new in pairs], confidence, resamples, seed)


def takes_the_size_of_the_change(before, after, confidence=0.95, resamples=2000, seed=0):
    pairs = zip(before, after, strict=True)
    return _interval([abs(new - old) for old, new in pairs], confidence, resamples, seed)


def does_not_hand_the_confidence_on(before, after, confidence=0.95, resamples=2000, seed=0):
    return _interval([new - old for old, new in zip(before, after, strict=True)])


def leaves_out_what_has_no_partner(before, after, confidence=0.95, resamples=2000, seed=0):
    pairs = zip(before, after, strict=False)
    return _interval([new - old for old, new in pairs], confidence, resamples, seed)


def leaves_out_what_had_nothing_before(before, after, confidence=0.95, resamples=2000, seed=0):
    if len(before) > len(after):
        raise ValueError("after is shorter")
    pairs = zip(before, after, strict=False)
    return _interval([new - old for old, new in pairs], confidence, resamples, seed)


def wants_two_questions(before, after, confidence=0.95, resamples=2000, seed=0):
    pairs = zip(before, after, strict=True)
    return wants_two_values([new - old for old, new in pairs], confidence, resamples, seed)


def does_not_hand_the_number_of_sets_on(before, after, confidence=0.95, resamples=2000, seed=0):
    pairs = zip(before, after, strict=True)
    return _interval([new - old for old, new in pairs], confidence, seed=seed)


def does_not_hand_the_seed_on(before, after, confidence=0.95, resamples=2000, seed=0):
    pairs = zip(before, after, strict=True)
    return _interval([new - old for old, new in pairs], confidence, resamples)


def gives_zero_for_no_pairs(before, after, confidence=0.95, resamples=2000, seed=0):
    changes = [new - old for old, new in zip(before, after, strict=True)]
    return gives_zero_for_nothing(changes, confidence, resamples, seed)


def sorts_both_sides(before, after, confidence=0.95, resamples=2000, seed=0):
    pairs = zip(sorted(before), sorted(after), strict=True)
    return _interval([new - old for old, new in pairs], confidence, resamples, seed)


def leaves_out_what_did_not_change(before, after, confidence=0.95, resamples=2000, seed=0):
    changes = [new - old for old, new in zip(before, after, strict=True) if new != old]
    return _interval(changes, confidence, resamples, seed)


# --- found by playing learners ---


def wants_two_values(values, confidence=0.95, resamples=2000, seed=0):
    if len(values) < 2:
        raise ValueError
    return bootstrap_interval(values, confidence, resamples, seed)


def ranks_one_place_less(found, gold, k=10):
    return reciprocal_rank(found, gold, k - 1)


def sorts_what_it_was_given(values, confidence=0.95, resamples=2000, seed=0):
    found = bootstrap_interval(values, confidence, resamples, seed)
    values.sort()
    return found


MUTANTS = {
    "16.1": {
        counts_from_zero: "it is at place 1",
        returns_the_place: "it is at place 3",
        adds_up_all_of_them: "only the first gold item",
        counts_repeated_places: "x takes up one place",
        looks_beyond_k: "beyond k = 2",
        goes_by_the_order_of_the_gold: "only the first gold item",
        drops_neighbours_that_are_equal: "comes between",
        takes_part_of_a_name: "is a part of the gold name",
        takes_more_than_a_name: "contains the gold name",
        ignores_capitals: "Notes.md is another file",
        ranks_one_place_less: "the last that counts for k = 2",
    },
    "16.2": {
        does_not_divide: "the example by hand",
        divides_by_the_order_found: "the best order would have b",
        takes_the_best_order_whole: "only two gains fit",
        takes_the_natural_logarithm_of_the_place: "no order is better",
        treats_all_gains_alike: "the example by hand",
        gains_again_from_repeated_items: "x takes up one place",
        cuts_before_it_drops_repeats: "k counts different items",
        takes_the_gains_in_their_order: "begins with the largest gain",
        sorts_the_first_k_gains: "larger gain than c",
        gives_no_place_to_gains_of_zero: "takes up a place",
        looks_at_ten_whatever_k_is: "beyond k = 1",
    },
    "16.3": {
        draws_without_replacement: "redrawn sets of 16 values",
        takes_quantiles_of_the_values: "redrawn sets of 16 values",
        leaves_all_at_one_end: "redrawn sets of 16 values",
        ignores_the_confidence: "a confidence of 0.7",
        draws_ten_values_a_set: "redrawn sets of 16 values",
        forgets_the_root_of_n: "redrawn sets of 16 values",
        calculates_a_normal_interval: "need not be in the middle",
        draws_anew_each_time: "same seed",
        ignores_the_number_of_sets: "one redrawn set has one mean",
        takes_the_mean_of_the_means: "the mean of the values themselves",
        gives_zero_for_nothing: "without values",
        sorts_what_it_was_given: "its caller still needs it",
        wants_two_values: "one value is enough",
        takes_the_middle_of_the_ends: "the mean of the values, whatever",
        rounds_to_two_places: "the mean of the values, whatever",
    },
    "16.4": {
        subtracts_two_intervals: "every question got better by 0.25",
        takes_before_minus_after: "every question got better by 0.25",
        takes_the_size_of_the_change: "after minus before is negative",
        does_not_hand_the_confidence_on: "pass `confidence` on",
        does_not_hand_the_number_of_sets_on: "one redrawn set has one mean",
        does_not_hand_the_seed_on: "`seed` must be passed on",
        leaves_out_what_has_no_partner: "do not make pairs",
        sorts_both_sides: "compared with itself",
        leaves_out_what_did_not_change: "and the others nothing",
        gives_zero_for_no_pairs: "without questions",
        leaves_out_what_had_nothing_before: "three after",
        wants_two_questions: "one question is enough",
    },
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
