"""Wrong answers to lab 14 that a learner would plausibly write; see `mutants_lab01.py`."""

from pathlib import PurePosixPath

import numpy as np

from course_lib.answers.budget import fit_passages
from course_lib.answers.hints import find_hinted
from course_lib.answers.selection import maximal_marginal_relevance
from tests.unit.teaching.edits import edits

# --- 14.1 find_hinted ---


def alike(manifest, name):
    return [
        p for base, some in manifest.items() if base.casefold() == name.casefold() for p in some
    ]


def ends(path, hint, slash="/", fold=str.casefold):
    return (slash + fold(path)).endswith(slash + fold(hint))


def looked_up(
    is_meant=ends,
    by_case=lambda manifest, name: manifest.get(name) or alike(manifest, name),
    exact=lambda hint, paths: "/" in hint and hint in paths,
    within=lambda path, hint: "/" in path and ends(hint, path),
    choose=lambda paths: [max(paths, key=len)],
):
    """Return an answer to 14.1 of which a part may be wrong."""

    def find_hinted(hint, manifest):
        paths = by_case(manifest, PurePosixPath(hint).name)
        if exact(hint, paths):
            return [hint]
        found = [path for path in paths if is_meant(path, hint)]
        further = [path for path in paths if within(path, hint)]
        return found or (choose(further) if further else [])

    return find_hinted


def takes_the_base_name_alone(hint, manifest):
    return manifest.get(PurePosixPath(hint).name, [])


wants_the_whole_path = looked_up(is_meant=lambda path, hint: path == hint)
forgets_the_slash = looked_up(is_meant=lambda path, hint: ends(path, hint, ""))
forgets_that_it_may_be_the_path = looked_up(exact=lambda hint, paths: False)
counts_capitals_of_base_names = looked_up(by_case=lambda manifest, name: manifest.get(name, []))
counts_capitals_of_folders = looked_up(is_meant=lambda path, hint: ends(path, hint, fold=str))
never_counts_capitals = looked_up(by_case=alike)
takes_any_within = looked_up(choose=lambda paths: paths)
takes_the_first_within = looked_up(choose=lambda paths: paths[:1])
takes_the_last_of_equal_length = looked_up(choose=lambda paths: [max(reversed(paths), key=len)])
takes_a_path_without_a_folder = looked_up(within=lambda path, hint: ends(hint, path))
never_looks_further_down = looked_up(within=lambda path, hint: False)
ends_within_a_folders_name = looked_up(
    within=lambda path, hint: "/" in path and ends(hint, path, "")
)


def expects_the_name(hint, manifest):
    return looked_up(by_case=lambda manifest, name: manifest[name])(hint, manifest)


# --- 14.2 maximal_marginal_relevance ---


def sorts_by_relevance(relevance, vectors, count, *, diversity=0.3, taken=None):
    return [int(place) for place in np.argsort(-np.asarray(relevance), kind="stable")[:count]]


def chosen(relevance, vectors, count, diversity, taken, update):
    likeness = np.zeros(len(relevance))
    if taken is not None and len(taken) and len(relevance):
        likeness = (vectors @ taken.T).max(axis=1)
    left, order = set(range(len(relevance))), []
    while left and len(order) < count:
        best = max(
            sorted(left),
            key=lambda place: (1 - diversity) * relevance[place] - diversity * likeness[place],
        )
        order.append(best)
        left.remove(best)
        likeness = update(likeness, vectors @ vectors[best])
    return order


def weighed(relevance, vectors, count, gain, taken):
    """Take one after the other by gain(relevance, likenesses to all that was taken)."""
    chosen = [] if taken is None else list(taken)
    left, order = list(range(len(relevance))), []
    while left and len(order) < count:
        best = max(left, key=lambda i: gain(relevance[i], [float(vectors[i] @ c) for c in chosen]))
        order.append(best)
        left.remove(best)
        chosen.append(vectors[best])
    return order


def forgets_the_context_after_the_first(relevance, vectors, count, *, diversity=0.3, taken=None):
    known = 0 if taken is None else len(taken)

    def gain(worth, like):
        return (1 - diversity) * worth - diversity * max(like[known:] or like, default=0)

    return weighed(relevance, vectors, count, gain, taken)


def lets_opposites_add(relevance, vectors, count, *, diversity=0.3, taken=None):
    likeness = np.full(len(relevance), -1.0)
    if taken is not None and len(taken) and len(relevance):
        likeness = (vectors @ taken.T).max(axis=1)
    order = []
    while len(order) < min(count, len(relevance)):
        if order:
            likeness = np.maximum(likeness, vectors @ vectors[order[-1]])
        has_context = order or taken is not None
        worth = (1 - diversity) * np.array(relevance) - diversity * likeness * bool(has_context)
        worth[order] = -np.inf
        order.append(int(worth.argmax()))
    return order


# --- 14.3 fit_passages ---


def packs_as_much_as_possible(fixed, costs, scores, room):
    if fixed > room:
        raise ValueError("the question does not fit")
    kept = []
    for place in sorted(range(len(costs)), key=lambda place: -scores[place]):
        if fixed + costs[place] + sum(costs[other] for other in kept) <= room:
            kept.append(place)
    return sorted(kept)


# --- found by playing learners ---


def takes_the_exact_path_in_any_case(hint, manifest):
    for paths in manifest.values():
        for path in paths:
            if "/" in hint and path != hint and path.lower() == hint.lower():
                return [path]
    return find_hinted(hint, manifest)


def counts_capitals_further_down(hint, manifest):
    found = find_hinted(hint, manifest)
    return [path for path in found if len(path) >= len(hint) or hint.endswith(path)]


def strikes_scores_out(fixed, costs, scores, room):
    kept = fit_passages(fixed, costs, scores, room)
    scores[:] = [score if place in kept else -1 for place, score in enumerate(scores)]
    return kept


MUTANTS = {
    "14.1": {
        takes_the_base_name_alone: "leaves out what is elsewhere",
        wants_the_whole_path: "one file with this name",
        forgets_the_slash: "not after a slash",
        forgets_that_it_may_be_the_path: "exactly this path",
        counts_capitals_of_base_names: "capitals do not count",
        counts_capitals_of_folders: "capitals do not count",
        never_counts_capitals: "readme.md is another",
        takes_any_within: "the longest",
        takes_the_first_within: "the longest",
        takes_the_last_of_equal_length: "of equally long paths",
        takes_a_path_without_a_folder: "would fit any hint",
        never_looks_further_down: "in a folder above the indexed one",
        ends_within_a_folders_name: "xcmd is another folder",
        expects_the_name: "capitals do not count",
        takes_the_exact_path_in_any_case: "differs in capitals",
        counts_capitals_further_down: "where the hint ends in the path",
    },
    "14.2": edits(
        maximal_marginal_relevance,
        forgets_what_is_taken=("taken is not None -> False", "a copy of the first two"),
        looks_at_the_last_one_only=(
            "np.maximum(similarity, vectors @ vectors[best]) -> vectors @ vectors[best]",
            "two rounds before",
        ),
        adds_likenesses_up=(
            "max(axis=1) -> sum(axis=1)",
            "np.maximum(similarity, vectors @ vectors[best])"
            " -> similarity + vectors @ vectors[best]",
            "only the most similar one counts",
        ),
        takes_opposites_for_likes=(
            "vectors @ vectors[best] -> abs(vectors @ vectors[best])",
            "(vectors @ taken.T) -> abs(vectors @ taken.T)",
            "below 0",
        ),
        does_not_weigh_the_relevance=(
            "(1 - diversity) * worth -> worth",
            "the second adds 0.4 - 0.25",
        ),
        swaps_the_weights=(
            "(1 - diversity) * worth - diversity * -> diversity * worth - (1 - diversity) *",
            "only relevance counts",
        ),
        takes_half_the_likeness=(
            "diversity: float = 0.3 -> diversity: float = 0.5",
            "without a diversity it is 0.3",
        ),
        takes_the_last_of_equals=(
            "int(np.argmax(np.where(left, gain, -np.inf)))"
            " -> len(worth) - 1 - int(np.argmax(np.where(left, gain, -np.inf)[::-1]))",
            "the first candidate is taken",
        ),
        expects_a_row_of_what_is_taken=(
            " and len(taken) and len(worth) -> ",
            "`taken` has no rows",
        ),
    )
    | {
        sorts_by_relevance: "adds more",
        forgets_the_context_after_the_first: "what the context had",
        lets_opposites_add: "counts as 0: the second adds 0.15",
    },
    "14.3": edits(
        fit_passages,
        drops_the_last=(
            "remove(min(reversed(kept), key=lambda place: scores[place])) -> pop()",
            "the weakest goes",
        ),
        drops_the_longest=(
            "min(reversed(kept), key=lambda place: scores[place])"
            " -> max(kept, key=lambda place: costs[place])",
            "the weakest goes",
        ),
        sorts_by_score=(
            "list(range(len(costs)))"
            " -> sorted(range(len(costs)), key=lambda place: -scores[place])",
            "remove(min(reversed(kept), key=lambda place: scores[place])) -> pop()",
            "keep their order",
        ),
        takes_exactly_full_for_too_full=(
            "while fixed -> while kept and fixed",
            "kept) > room -> kept) >= room",
            "tokens still fit",
        ),
        never_refuses=(
            "if fixed > room -> if False",
            "while fixed -> while kept and fixed",
            "still too long",
        ),
        lets_min_complain=("if fixed > room -> if False", "still too long"),
    )
    | {
        packs_as_much_as_possible: "does not come back",
        strikes_scores_out: "its caller still needs it",
    },
}
