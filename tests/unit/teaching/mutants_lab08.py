"""Wrong answers to lab 08 that a learner would plausibly write; see `mutants_lab01.py`."""

from itertools import zip_longest

from course_lib.retriever.query import RRF_K, fuse
from course_lib.retriever.rerank import maxsim
from course_lib.store.schema import RANK_BY_WORDS
from tests.unit.teaching.edits import edits

YOURS = [
    RANK_BY_WORDS.index(at)
    for at in ("    SELECT number", "), found", "    SELECT part, address, sum", ")\n-- The common")
]
GIVEN = RANK_BY_WORDS[: YOURS[0]], RANK_BY_WORDS[YOURS[1] : YOURS[2]], RANK_BY_WORDS[YOURS[3] :]
STUBS = {"8.1": "-- YOUR SQL HERE\n".join(GIVEN)}

WEIGHT = "round(1e6 * (1 + ln(2000 / count(*)::float8)))::integer"
EVERY = "(SELECT tableoid AS part, ctid AS address, search_text FROM document_chunks) AS every"
BEST = "(question @ passage.T).max(axis=1).mean()"

# --- 8.2 fuse ---


def wants_them_in_all(*rankings):
    return [pair for pair in fuse(*rankings) if all(pair[0] in ranking for ranking in rankings)]


def goes_by_places(*rankings):
    scores, nothing = {}, object()
    for place, row in enumerate(zip_longest(*rankings, fillvalue=nothing), 1):
        for item in row:
            if item is not nothing:
                scores[item] = scores.get(item, 0) + 1 / (RRF_K + place)
    return sorted(scores.items(), key=lambda pair: -pair[1])


def wants_one(first, *others):
    return fuse(first, *others)


def leaves_zero_out(*rankings):
    return [pair for pair in fuse(*rankings) if pair[0]]


def stops_at_a_hundred(*rankings):
    return fuse(*rankings)[:100]


MUTANTS = {
    "8.1": edits(
        RANK_BY_WORDS,
        takes_parts_of_words=(
            "search_text @@ word.query"
            " -> position(trim(both '''' from word.query::text) in search_text::text) > 0",
            "chunks without any of the words are not found",
        ),
        reads_hidden_chunks=(f"FROM visible WHERE -> FROM {EVERY} WHERE", "are not visible"),
        counts_all_chunks_of_a_word=(" LIMIT 2000 -> ", "it counts 1 for those that are found"),
        weighs_all_words_alike=(f"{WEIGHT} -> 1000001", "the rarer a word, the more it weighs"),
        divides_whole_numbers=("count(*)::float8 -> count(*)", "1,999 chunks"),
        takes_the_logarithm_to_ten=("ln( -> log(", "in 80 chunks each"),
        forgets_the_one=("(1 + ln( -> (ln(", "in 68 chunks each"),
        weighs_by_the_inverse=(f"{WEIGHT} -> round(1e9 / count(*))::integer", "in 68 chunks each"),
        weighs_the_frequent_more=(
            "2000 / count(*)::float8 -> 2000 * count(*)::float8",
            "the more it weighs",
        ),
        forgets_the_millionths=(
            f"{WEIGHT} -> 1 + ln(2000 / count(*)::float8)",
            "weight > 1000000 -> weight > 1",
            "it counts 1 for those that are found",
        ),
        adds_fractions=(
            f"{WEIGHT} -> 1e6 * (1 + ln(2000 / count(*)::float8))",
            "a sum of integers does not",
        ),
        rounds_down=("round( -> floor(", "have the same sum"),
        rounds_to_thousandths=(
            f"{WEIGHT} -> 1000 * round(1e3 * (1 + ln(2000 / count(*)::float8)))::integer",
            "have the same sum",
        ),
        finds_by_common_words=(" WHERE weight > 1000000 -> ", "no chunk is found by it"),
        takes_two_thousand_for_rare=("weight > -> weight >=", "no chunk is found by it"),
        takes_the_best_word_alone=("sum(weight) -> max(weight)", "gets the weights of both"),
        counts_the_words=("sum(weight) -> count(*)", "the more it weighs"),
        wants_all_words=(
            "GROUP BY part, address"
            " -> GROUP BY part, address HAVING count(*) = (SELECT count(*) FROM word)",
            "gets the weights of both",
        ),
        cuts_among_equals=(
            "FETCH FIRST (2 * %(most)s) ROWS WITH TIES -> LIMIT 2 * %(most)s",
            "expected  ",  # which case it fails first is chance, as is what LIMIT leaves
        ),
        keeps_no_more_than_asked_for=("(2 * %(most)s) -> (%(most)s)", "so twice as many"),
        keeps_one_more_than_asked_for=("(2 * %(most)s) -> (%(most)s + 1)", "so 4 are kept"),
        keeps_all=("ORDER BY score DESC FETCH FIRST (2 * %(most)s) ROWS WITH TIES -> ", "so 4 are"),
        counts_addresses=(
            "count(*)::float8 -> count(DISTINCT address)::float8",
            "at the same addr",
        ),
        drops_chunks_with_common_words=(
            "WHERE weight > 1000000 -> WHERE weight > 1000000 AND (part, address) NOT IN ("
            "SELECT part, address FROM hit JOIN weighed USING (number) WHERE weight = 1000000)",
            "so 4 are kept",
        ),
        finds_by_two_common_words=(
            " WHERE weight > 1000000 -> ",
            "GROUP BY part, address -> GROUP BY part, address HAVING sum(weight) > 1000000",
            "also not by both",
        ),
        keeps_the_worst=("score DESC FETCH -> score FETCH", "in 68 chunks each"),
        takes_addresses_alone=(
            "SELECT part, address, sum -> SELECT min(part) AS part, address, sum",
            "GROUP BY part, address -> GROUP BY address",
            "two parts have the same addresses",
        ),
    ),
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
        goes_by_places: "'x' alone is in the first ranking",
        wants_one: "there is no ranking",
        leaves_zero_out: "also 0",
        stops_at_a_hundred: "there may be many",
        wants_them_in_all: "each is first in one ranking",
    },
    "8.3": edits(
        maxsim,
        looks_from_the_passage=("axis=1 -> axis=0", "wherever it is in the passage"),
        adds_up=(".mean() -> .sum()", "something like it (0.8): the mean"),
        takes_the_mean_of_all=(".max(axis=1) -> ", "something like it (0.8): the mean"),
        takes_the_best_of_all=(
            ".max(axis=1).mean() -> .max()",
            "something like it (0.8): the mean",
        ),
        takes_the_worst_match=(".max( -> .min(", "something like it (0.8): the mean"),
        forgets_the_empty=(
            "    if not len(question) or not len(passage):\n        return 0.0\n -> ",
            "without a word piece",
        ),
        wants_both_empty=("or not -> and not", "without a word piece"),
        forgets_the_empty_passage=(" or not len(passage) -> ", "a passage without a word piece"),
        forgets_the_empty_question=("not len(question) or  -> ", "a question without a word piece"),
        drops_what_is_negative=(".max(axis=1) -> .max(axis=1).clip(0)", "may be negative"),
        divides_by_the_passage=(".mean() -> .sum() / len(passage)", "wherever it is"),
        compares_mean_vectors=(
            f"{BEST} -> question.mean(axis=0) @ passage.mean(axis=0)",
            "(0.8): the mean",
        ),
        compares_place_with_place=(
            f"{BEST} -> sum(a @ b for a, b in zip(question, passage)) / len(question)",
            "wherever it is in the passage",
        ),
        rounds=("float( -> round(float(", ".mean()) -> .mean()), 1)", "two of three"),
        looks_both_ways=(
            f"{BEST} -> ({BEST} + (passage @ question.T).max(axis=1).mean()) / 2",
            "wherever it is in the passage",
        ),
        returns_an_array=("float( -> (", "a float"),
    ),
}
