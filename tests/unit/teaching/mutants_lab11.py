"""Wrong answers to lab 11 that a learner would plausibly write; see `mutants_lab01.py`."""

import re
from pathlib import PurePosixPath

import numpy as np

SIGNS = "`'\"()[]{},:;!?"
BEGIN, END = "<<BEGIN_FILE>>", "<<END_FILE>>"


# --- 11.1 file_hints ---


def keeps_the_signs(question, endings):
    words = question.split()
    return [word for word in words if PurePosixPath(word).suffix.lower() in endings]


def looks_at_the_letters(question, endings):
    words = [word.lstrip(SIGNS).rstrip(SIGNS + ".").removeprefix("./") for word in question.split()]
    letters = tuple(ending.strip(".") for ending in endings)
    return list(dict.fromkeys(word for word in words if word.lower().endswith(letters)))


def names_it_twice(question, endings):
    words = [word.lstrip(SIGNS).rstrip(SIGNS + ".").removeprefix("./") for word in question.split()]
    return [word for word in words if PurePosixPath(word).suffix.lower() in endings]


def forgets_the_order(question, endings):
    return sorted(set(names_it_twice(question, endings)), reverse=True)


def takes_small_letters_only(question, endings):
    words = [word.lstrip(SIGNS).rstrip(SIGNS + ".").removeprefix("./") for word in question.split()]
    return list(dict.fromkeys(w for w in words if PurePosixPath(w).suffix in endings))


def drops_the_path(question, endings):
    return [PurePosixPath(name).name for name in names_it_twice(question, endings)]


# --- 11.2 maximal_marginal_relevance ---


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


def forgets_what_is_taken(relevance, vectors, count, *, diversity=0.3, taken=None):
    return chosen(relevance, vectors, count, diversity, None, np.maximum)


def looks_at_the_last_one_only(relevance, vectors, count, *, diversity=0.3, taken=None):
    return chosen(relevance, vectors, count, diversity, taken, lambda old, new: new)


def swaps_the_weights(relevance, vectors, count, *, diversity=0.3, taken=None):
    return chosen(relevance, vectors, count, 1 - diversity, taken, np.maximum)


# --- 11.3 fit_passages ---


def drops_the_last(fixed, costs, scores, room):
    if fixed > room:
        raise ValueError("the question does not fit")
    kept = list(range(len(costs)))
    while fixed + sum(costs[place] for place in kept) > room:
        kept.pop()
    return kept


def drops_the_longest(fixed, costs, scores, room):
    if fixed > room:
        raise ValueError("the question does not fit")
    kept = list(range(len(costs)))
    while fixed + sum(costs[place] for place in kept) > room:
        kept.remove(max(kept, key=lambda place: costs[place]))
    return kept


def sorts_by_score(fixed, costs, scores, room):
    if fixed > room:
        raise ValueError("the question does not fit")
    kept = sorted(range(len(costs)), key=lambda place: -scores[place])
    while fixed + sum(costs[place] for place in kept) > room:
        kept.pop()
    return kept


def takes_exactly_full_for_too_full(fixed, costs, scores, room):
    if fixed > room:
        raise ValueError("the question does not fit")
    kept = list(range(len(costs)))
    while kept and fixed + sum(costs[place] for place in kept) >= room:
        kept.remove(min(reversed(kept), key=lambda place: scores[place]))
    return kept


def never_refuses(fixed, costs, scores, room):
    kept = list(range(len(costs)))
    while kept and fixed + sum(costs[place] for place in kept) > room:
        kept.remove(min(reversed(kept), key=lambda place: scores[place]))
    return kept


# --- 11.4 check_citations ---


def pairs(answer):
    return [(int(n), path) for n, path in re.findall(r"\[(\d+): ([^\[\]]+)\]", answer)]


def believes_the_number(answer, paths):
    cited = [n for n, _ in pairs(answer) if 1 <= n <= len(paths)]
    flagged = [f"[{n}: {path}]" for n, path in pairs(answer) if not 1 <= n <= len(paths)]
    return list(dict.fromkeys(cited)), flagged


def counts_from_zero(answer, paths):
    right = [n for n, path in pairs(answer) if n < len(paths) and paths[n] == path]
    return right, [f"[{n}: {path}]" for n, path in pairs(answer) if n not in right]


def believes_the_path(answer, paths):
    cited = [n for n, path in pairs(answer) if path in paths]
    flagged = [f"[{n}: {path}]" for n, path in pairs(answer) if path not in paths]
    return list(dict.fromkeys(cited)), flagged


def cites_twice(answer, paths):
    right = [(n, p) for n, p in pairs(answer) if 1 <= n <= len(paths) and paths[n - 1] == p]
    wrong = [f"[{n}: {path}]" for n, path in pairs(answer) if (n, path) not in right]
    return [n for n, _ in right], wrong


# --- 11.5 between_markers ---


def takes_whatever_is_between(answer):
    return answer.split(BEGIN + "\n")[1].split(END)[0]


def allows_words_around(answer):
    if BEGIN not in answer or END not in answer:
        raise ValueError("no markers")
    inner = answer.split(BEGIN + "\n")[1].split(END)[0]
    if not inner.strip() or answer.count(END) > 1 or answer.count(BEGIN) > 1:
        raise ValueError("no file")
    return inner


def strips_the_file(answer):
    lines = answer.strip().split("\n")
    if lines[0] != BEGIN or lines[-1] != END:
        raise ValueError("no markers")
    return "\n".join(lines[1:-1]).strip() + "\n"


def allows_an_empty_file(answer):
    lines = answer.strip().split("\n")
    inner = lines[1:-1]
    if lines[0] != BEGIN or lines[-1] != END or BEGIN in inner or END in inner:
        raise ValueError("no markers")
    return "".join(line + "\n" for line in inner)


def believes_the_last_end(answer):
    lines = answer.strip().split("\n")
    if lines[0] != BEGIN or lines[-1] != END or len(lines) == 2:
        raise ValueError("no markers")
    return "".join(line + "\n" for line in lines[1:-1])


MUTANTS = {
    "11.1": {
        keeps_the_signs: "belong to the sentence",
        looks_at_the_letters: "ends in its letters",
        names_it_twice: "each name once",
        forgets_the_order: "each name once",
        takes_small_letters_only: "in capitals",
        drops_the_path: "is part of the name",
    },
    "11.2": {
        sorts_by_relevance: "adds more",
        forgets_what_is_taken: "has the first two already",
        looks_at_the_last_one_only: "two rounds before",
        swaps_the_weights: "relevance alone decides",
    },
    "11.3": {
        drops_the_last: "the weakest goes",
        drops_the_longest: "the weakest goes",
        sorts_by_score: "keep their order",
        takes_exactly_full_for_too_full: "not too full",
        never_refuses: "still too long",
    },
    "11.4": {
        believes_the_number: "have to agree",
        counts_from_zero: "both numbers",
        believes_the_path: "passage 0",
        cites_twice: "each once",
    },
    "11.5": {
        takes_whatever_is_between: "may be anything",
        allows_words_around: "may be anything",
        strips_the_file: "blank ones too",
        allows_an_empty_file: "empty file",
        believes_the_last_end: "two ends",
    },
}
