"""Wrong answers to lab 14 that a learner would plausibly write; see `mutants_lab01.py`."""

import numpy as np

from course_lib.answers.budget import fit_passages
from course_lib.answers.hints import find_hinted
from course_lib.answers.selection import maximal_marginal_relevance
from tests.unit.teaching.edits import edited, edits

# --- 14.1 find_hinted ---

KEEP = "shared[path] == most and (most or not folders)"
SAME = "pair[0].lower() == pair[1].lower()"
COUNT = f"len(list(takewhile(lambda pair: {SAME}, pairs)))"
THERE = 'path.split("/")[:-1]'
ignores_case = edited(find_hinted, "ignores_case", "manifest.get(name, alike) -> alike")


def wants_the_whole_path(hint, manifest):
    return [path for paths in manifest.values() for path in paths if path == hint]


def looks_at_other_capitals_too(hint, manifest):
    return find_hinted(hint, manifest) or ignores_case(hint, manifest)


# --- 14.2 maximal_marginal_relevance ---


def sorts_by_relevance(relevance, vectors, count, *, diversity=0.3, taken=None):
    return [int(place) for place in np.argsort(-np.asarray(relevance), kind="stable")[:count]]


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


def strikes_scores_out(fixed, costs, scores, room):
    kept = fit_passages(fixed, costs, scores, room)
    scores[:] = [score if place in kept else -1 for place, score in enumerate(scores)]
    return kept


MUTANTS = {
    "14.1": edits(
        find_hinted,
        takes_the_base_name_alone=(f" if {KEEP} -> ", "it shares two folders"),
        never_ignores_case=("(name, alike) -> (name, [])", "so case is ignored"),
        always_ignores_case=("manifest.get(name, alike) -> alike", "readme.md is another"),
        counts_case_in_folders=(f"{SAME} -> pair[0] == pair[1]", "case is ignored in folders"),
        counts_from_the_beginning=(
            f"reversed(folders), reversed({THERE}) -> folders, {THERE}",
            "two paths share the folder cmd",
        ),
        counts_folders_anywhere=(
            f"{COUNT} -> len({{*map(str.lower, folders)}} & {{*map(str.lower, {THERE})}})",
            "counted from the end",
        ),
        goes_on_after_a_difference=(
            f"{COUNT} -> sum(one.lower() == two.lower() for one, two in pairs)",
            "that the paths begin alike",
        ),
        looks_at_the_last_folder_only=("pairs))) -> pairs))[:1])", "it shares two folders"),
        takes_the_end_of_a_folders_name=(
            f"{SAME} -> pair[0].lower().endswith(pair[1].lower())",
            "xcmd is another folder",
        ),
        keeps_paths_that_share_nothing=(
            " and (most or not folders) -> ",
            "no path shares a folder",
        ),
        keeps_all_that_share_a_folder=(
            f"{KEEP} -> shared[path] or not folders",
            "it shares two folders",
        ),
        wants_a_shared_folder_of_every_hint=(
            "(most or not folders) -> most",
            "one file has this base name",
        ),
        takes_one_of_the_best=(f"{KEEP}] -> {KEEP}][:1]", "may mean any of them"),
        sorts_the_paths=(
            "return [path -> return sorted(path",
            f"{KEEP}] -> {KEEP})",
            "in the manifest's order",
        ),
        takes_the_shortest_of_the_best=(
            "return [path -> return sorted((path",
            f"{KEEP}] -> {KEEP}), key=lambda path: path.count('/'))[:1]",
            "may mean any of them",
        ),
        wants_all_folders=(f"{KEEP} -> shared[path] == len(folders)", "above the indexed folder"),
        takes_paths_that_end_with_the_hint=(
            f"{KEEP} -> path.lower().endswith(hint.lower())",
            "above the indexed folder",
        ),
        lowers_the_hint_alone=(
            f"{SAME} -> pair[0].lower() == pair[1]",
            "case is ignored in folders",
        ),
        ignores_the_extension=(
            "base.lower() == name.lower()"
            " -> base.lower().split('.')[0] == name.lower().split('.')[0]",
            "neither exactly nor",
        ),
        takes_the_end_of_a_base_name=(
            "base.lower() == name.lower() -> base.lower().endswith(name.lower())",
            "neither exactly nor",
        ),
        needs_a_path=(
            "max(shared.values(), default=0) -> max(shared.values()) if folders else 0",
            "neither exactly nor",
        ),
        expects_the_name=("manifest.get(name, alike) -> manifest[name]", "so case is ignored"),
    )
    | {
        wants_the_whole_path: "one file has this base name",
        looks_at_other_capitals_too: "so case is not ignored",
    },
    "14.2": edits(
        maximal_marginal_relevance,
        forgets_what_is_taken=("if taken is None -> if True", "a copy of the first two"),
        looks_at_the_last_one_only=(
            "np.maximum(similarity, vectors @ vectors[order[-1]]) -> vectors @ vectors[order[-1]]",
            "two rounds before",
        ),
        adds_likenesses_up=(
            "max(axis=1, initial=0) -> sum(axis=1)",
            "np.maximum(similarity, vectors @ vectors[order[-1]])"
            " -> similarity + vectors @ vectors[order[-1]]",
            "only the most similar one counts",
        ),
        takes_opposites_for_likes=(
            "vectors @ vectors[order[-1]] -> abs(vectors @ vectors[order[-1]])",
            "(vectors @ taken.T) -> abs(vectors @ taken.T)",
            "below 0",
        ),
        does_not_weigh_the_relevance=(
            "(1 - diversity) * np.array(relevance) -> np.array(relevance)",
            "the second adds 0.4 - 0.25",
        ),
        swaps_the_weights=(
            "(1 - diversity) * np.array(relevance) - diversity *"
            " -> diversity * np.array(relevance) - (1 - diversity) *",
            "only relevance counts",
        ),
        adds_the_likeness=(
            "np.array(relevance) - diversity -> np.array(relevance) + diversity",
            "the third adds more",
        ),
        takes_half_the_likeness=(
            "diversity: float = 0.3 -> diversity: float = 0.5",
            "without a diversity it is 0.3",
        ),
        takes_the_last_of_equals=(
            "int(adds.argmax()) -> len(adds) - 1 - int(adds[::-1].argmax())",
            "the first candidate is taken",
        ),
        takes_one_again=("adds[order] = -np.inf -> pass", "adds more"),
        runs_out_of_candidates=("min(count, len(relevance)) -> count", "no more than two"),
        expects_a_row_of_what_is_taken=("axis=1, initial=0 -> axis=1", "nothing is taken yet"),
        forgets_the_context_after_the_first=(
            "np.maximum(similarity, vectors @ vectors[order[-1]])"
            " -> (vectors @ vectors[order].T).max(axis=1, initial=0)",
            "what the context had",
        ),
        lets_opposites_add=("initial=0 -> initial=-1", "counts as 0: the second adds 0.15"),
        stops_where_nothing_is_added=(
            "order.append -> if adds.max() < 0:\n            break\n        order.append",
            "all are taken",
        ),
        takes_the_more_relevant_of_equals=(
            "int(adds.argmax()) -> max(range(len(adds)), key=lambda at: (adds[at], relevance[at]))",
            "both add 0.25",
        ),
        takes_the_less_similar_of_equals=(
            "int(adds.argmax())"
            " -> max(range(len(adds)), key=lambda at: (adds[at], -similarity[at]))",
            "both add 0.25",
        ),
    )
    | {
        sorts_by_relevance: "adds more",
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
        forgets_what_is_fixed=("while fixed + -> while", "the weakest goes"),
        counts_what_is_fixed_twice=("while fixed -> while kept and 2 * fixed", "all of it fits"),
        drops_the_best=("min(reversed -> max(reversed", "the weakest goes"),
        drops_the_first_of_equals=("min(reversed(kept) -> min(kept", "of equal scores"),
        drops_one_at_most=("while fixed -> if fixed", "then the third"),
        refuses_a_question_that_just_fits=(
            "if fixed > room -> if fixed >= room",
            "nothing to drop",
        ),
        drops_the_longest_of_equals=(
            "lambda place: scores[place] -> lambda place: (scores[place], -costs[place])",
            "of equal scores",
        ),
        drops_the_shortest_of_equals=(
            "lambda place: scores[place] -> lambda place: (scores[place], costs[place])",
            "of equal scores",
        ),
        drops_what_is_too_long_first=(
            "list(range(len(costs))) -> [i for i, one in enumerate(costs) if fixed + one <= room]",
            "the worst is dropped first",
        ),
        drops_scores_of_zero=(
            "list(range(len(costs))) -> [i for i, score in enumerate(scores) if score > 0]",
            "scores do not count",
        ),
        refuses_only_with_passages=(
            "if fixed > room -> if costs and fixed > room",
            "there are no passages",
        ),
        keeps_one_always=("while fixed -> while len(kept) > 1 and fixed", "never fits"),
    )
    | {
        packs_as_much_as_possible: "does not come back",
        strikes_scores_out: "its caller still needs it",
    },
}
