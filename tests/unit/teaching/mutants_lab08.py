"""Wrong answers to lab 08 that a learner would plausibly write; see `mutants_lab01.py`."""

from course_lib.retriever.query import fuse
from tests.unit.teaching.edits import edits

# --- 8.2 fuse ---


def wants_them_in_all(*rankings):
    return [pair for pair in fuse(*rankings) if all(pair[0] in ranking for ranking in rankings)]


MUTANTS = {
    "8.2": edits(
        fuse,
        counts_places_from_zero=("ranking, 1 -> ranking, 0", "places count from 1"),
        forgets_the_constant=("RRF_K + place -> place", "RRF_K is 60"),
        keeps_the_last_place_only=("scores.get(item, 0) +  -> ", "and gets both"),
        leaves_them_unsorted=(
            "sorted(scores.items(), key=lambda pair: -pair[1]) -> list(scores.items())",
            "and gets both",
        ),
        puts_the_least_first=("-pair[1] -> pair[1]", "and gets both"),
        turns_equals_round=("-pair[1]) -> pair[1])[::-1]", "the first ranking's comes first"),
        settles_equals_by_name=(
            "-pair[1] -> (-pair[1], pair[0])",
            "the first ranking's comes first",
        ),
        knows_two_rankings=(
            "in rankings -> in rankings[:2]",
            "there may be more than two rankings",
        ),
        returns_the_items_alone=(
            "return sorted( -> return [item for item, _ in sorted(",
            "pair[1]) -> pair[1])]",
            "places count from 1",
        ),
        reads_rankings_by_index=(
            "enumerate(ranking, -> enumerate((ranking[i] for i in range(len(ranking))),",
            "any Iterable",
        ),
    )
    | {
        wants_them_in_all: "each is first in one ranking",
    },
}
