"""Wrong answers to lab 12 that a learner would plausibly write; see `mutants_lab01.py`."""

import re
import string
from pathlib import PurePosixPath

import numpy as np

from course_lib.answers.confidence import stems
from course_lib.answers.faithfulness import NUMBER

SIGNS = "`'\"()[]{},:;!?"


# --- 12.1 file_hints ---


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
    return sorted(set(names_it_twice(question, endings)))


def takes_small_letters_only(question, endings):
    words = [word.lstrip(SIGNS).rstrip(SIGNS + ".").removeprefix("./") for word in question.split()]
    return list(dict.fromkeys(w for w in words if PurePosixPath(w).suffix in endings))


def drops_the_path(question, endings):
    names = [PurePosixPath(name).name for name in names_it_twice(question, endings)]
    return list(dict.fromkeys(names))


def cleaned(question, endings, clean, words=str.split):
    names = [clean(word) for word in words(question)]
    return list(dict.fromkeys(n for n in names if PurePosixPath(n).suffix.lower() in endings))


def strips_all_punctuation(question, endings):
    return cleaned(question, endings, lambda word: word.strip(string.punctuation))


def strips_any_dot_or_slash(question, endings):
    return cleaned(question, endings, lambda w: w.lstrip(SIGNS + "./").rstrip(SIGNS + "."))


def replaces_dot_and_slash_anywhere(question, endings):
    return cleaned(
        question, endings, lambda w: w.lstrip(SIGNS).rstrip(SIGNS + ".").replace("./", "")
    )


def splits_at_spaces_alone(question, endings):
    return cleaned(
        question,
        endings,
        lambda w: w.lstrip(SIGNS).rstrip(SIGNS + ".").removeprefix("./"),
        lambda asked: asked.split(" "),
    )


def makes_words_different_too_early(question, endings):
    return names_it_twice(" ".join(dict.fromkeys(question.split())), endings)


def matches_letters_and_dots(question, endings):
    ends = "|".join(map(re.escape, endings))
    found = re.findall(rf"[\w/.]*[\w/](?:{ends})\b", question, re.IGNORECASE)
    return list(dict.fromkeys(name.removeprefix("./") for name in found))


def matches_the_beginning_of_an_ending(question, endings):
    ends = "|".join(map(re.escape, endings))
    found = re.findall(rf"[\w/.-]*[\w-](?:{ends})", question, re.IGNORECASE)
    return list(dict.fromkeys(name.removeprefix("./") for name in found))


def knows_the_endings_already(question, endings):
    return list(dict.fromkeys(names_it_twice(question, {".py", ".yaml", ".md"})))


# --- 12.2 maximal_marginal_relevance ---


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


def adds_likenesses_up(relevance, vectors, count, *, diversity=0.3, taken=None):
    return weighed(
        relevance,
        vectors,
        count,
        lambda r, like: (1 - diversity) * r - diversity * sum(like),
        taken,
    )


def takes_the_mean_likeness(relevance, vectors, count, *, diversity=0.3, taken=None):
    def gain(worth, like):
        return (1 - diversity) * worth - diversity * (sum(like) / len(like) if like else 0)

    return weighed(relevance, vectors, count, gain, taken)


def does_not_weigh_the_relevance(relevance, vectors, count, *, diversity=0.3, taken=None):
    return weighed(
        relevance, vectors, count, lambda r, like: r - diversity * max(like, default=0), taken
    )


def forgets_the_context_after_the_first(relevance, vectors, count, *, diversity=0.3, taken=None):
    known = 0 if taken is None else len(taken)

    def gain(worth, like):
        return (1 - diversity) * worth - diversity * max(like[known:] or like, default=0)

    return weighed(relevance, vectors, count, gain, taken)


def takes_opposites_for_likes(relevance, vectors, count, *, diversity=0.3, taken=None):
    def gain(worth, like):
        return (1 - diversity) * worth - diversity * max(map(abs, like), default=0)

    return weighed(relevance, vectors, count, gain, taken)


def swaps_the_weights(relevance, vectors, count, *, diversity=0.3, taken=None):
    return chosen(relevance, vectors, count, 1 - diversity, taken, np.maximum)


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


# --- 12.3 fit_passages ---


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


def packs_as_much_as_possible(fixed, costs, scores, room):
    if fixed > room:
        raise ValueError("the question does not fit")
    kept = []
    for place in sorted(range(len(costs)), key=lambda place: -scores[place]):
        if fixed + costs[place] + sum(costs[other] for other in kept) <= room:
            kept.append(place)
    return sorted(kept)


def lets_min_complain(fixed, costs, scores, room):
    kept = list(range(len(costs)))
    while fixed + sum(costs[place] for place in kept) > room:
        kept.remove(min(reversed(kept), key=lambda place: scores[place]))
    return kept


# --- 12.4 check_citations ---


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


def judged(answer, paths, is_right, pattern=r"\[(\d+): ([^\[\]]+)\]"):
    found = [(int(n), path) for n, path in re.findall(pattern, answer)]
    right = [n <= len(paths) and n >= 1 and is_right(path, paths[n - 1]) for n, path in found]
    cited = [n for (n, _), good in zip(found, right, strict=True) if good]
    wrong = [f"[{n}: {p}]" for (n, p), good in zip(found, right, strict=True) if not good]
    return list(dict.fromkeys(cited)), wrong


def takes_part_of_a_path(answer, paths):
    return judged(answer, paths, lambda path, real: path in real)


def takes_more_than_a_path(answer, paths):
    return judged(answer, paths, lambda path, real: path.startswith(real))


def reads_one_digit(answer, paths):
    return judged(answer, paths, str.__eq__, r"\[(\d): ([^\[\]]+)\]")


def reads_paths_without_spaces(answer, paths):
    return judged(answer, paths, str.__eq__, r"\[(\d+): ([\w./-]+)\]")


def flags_by_the_number(answer, paths):
    cited, _ = judged(answer, paths, str.__eq__)
    return cited, [f"[{n}: {path}]" for n, path in pairs(answer) if n not in cited]


# --- 12.5 support ---


def judged_by(
    likeness=lambda cosines: max(0.0, float(cosines.max())),
    words=lambda sentence, lines: stems(sentence) & set().union(*map(stems, lines)),
    of=lambda sentence, lines: len(stems(sentence)),
    both=lambda alike, share: (alike + share) / 2,
    lacks=lambda sentence, lines: any(
        one not in re.findall(NUMBER, " ".join(lines)) for one in re.findall(NUMBER, sentence)
    ),
):
    """Return an answer to 11.5 of which a part may be wrong."""

    def support(sentence, evidence, encode):
        if not evidence or lacks(sentence, evidence):
            return 0.0
        vectors = encode([sentence, *evidence])
        share = len(words(sentence, evidence)) / max(1, of(sentence, evidence))
        return both(likeness(vectors[1:] @ vectors[0]), share)

    return support


takes_the_mean_of_the_lines = judged_by(likeness=lambda cosines: max(0.0, float(cosines.mean())))
takes_the_first_line = judged_by(likeness=lambda cosines: max(0.0, float(cosines[0])))
takes_negative_likeness = judged_by(likeness=lambda cosines: float(cosines.max()))
believes_the_likeness = judged_by(both=lambda alike, share: alike)
believes_the_words = judged_by(both=lambda alike, share: share)
multiplies = judged_by(both=lambda alike, share: alike * share)
takes_the_smaller = judged_by(both=min)
adds_them = judged_by(both=lambda alike, share: alike + share)
counts_words_as_they_are = judged_by(
    words=lambda sentence, lines: set(sentence.lower().split()) & set(" ".join(lines).split()),
    of=lambda sentence, lines: len(set(sentence.split())),
)
wants_all_words_in_one_line = judged_by(
    words=lambda sentence, lines: max((stems(sentence) & stems(one) for one in lines), key=len)
)
divides_by_the_words_of_the_lines = judged_by(
    of=lambda sentence, lines: len(set().union(*map(stems, lines)))
)
forgets_the_numbers = judged_by(lacks=lambda sentence, lines: False)
finds_a_number_within_another = judged_by(
    lacks=lambda sentence, lines: any(
        one not in " ".join(lines) for one in re.findall(NUMBER, sentence)
    )
)
is_content_with_one_number = judged_by(
    lacks=lambda sentence, lines: (
        bool(re.findall(NUMBER, sentence))
        and not {*re.findall(NUMBER, sentence)} & {*re.findall(NUMBER, " ".join(lines))}
    )
)
wants_the_numbers_in_the_first_line = judged_by(
    lacks=lambda sentence, lines: any(
        one not in re.findall(NUMBER, lines[0]) for one in re.findall(NUMBER, sentence)
    )
)


def needs_a_line(sentence, evidence, encode):
    return judged_by()(sentence, evidence, encode) if evidence else max([])


def divides_by_nothing(sentence, evidence, encode):
    if evidence and not stems(sentence):
        return 1 / len(stems(sentence))
    return judged_by()(sentence, evidence, encode)


MUTANTS = {
    "12.1": {
        keeps_the_signs: "each name once",
        looks_at_the_letters: "ends in its letters",
        names_it_twice: "each name once",
        makes_words_different_too_early: "it is the same name",
        forgets_the_order: "b.py is named before a.py",
        takes_small_letters_only: "in capitals",
        drops_the_path: "is part of the name",
        strips_all_punctuation: "is another folder",
        strips_any_dot_or_slash: "is another folder",
        replaces_dot_and_slash_anywhere: "is another folder",
        splits_at_spaces_alone: "a line end separates words",
        matches_letters_and_dots: "hyphens and further dots",
        matches_the_beginning_of_an_ending: ".pyc and .bak",
        knows_the_endings_already: "`endings` says which words",
    },
    "12.2": {
        sorts_by_relevance: "adds more",
        forgets_what_is_taken: "has the first two already",
        forgets_the_context_after_the_first: "what the context had",
        looks_at_the_last_one_only: "two rounds before",
        takes_the_mean_likeness: "two rounds before",
        adds_likenesses_up: "only the closest counts",
        takes_opposites_for_likes: "below 0",
        does_not_weigh_the_relevance: "the second adds 0.4 - 0.25",
        swaps_the_weights: "relevance alone decides",
        lets_opposites_add: "adds nothing either",
    },
    "12.3": {
        drops_the_last: "the weakest goes",
        drops_the_longest: "the weakest goes",
        sorts_by_score: "keep their order",
        takes_exactly_full_for_too_full: "not too full",
        packs_as_much_as_possible: "does not come back",
        never_refuses: "still too long",
        lets_min_complain: "still too long",
    },
    "12.4": {
        believes_the_number: "have to agree",
        counts_from_zero: "both numbers",
        believes_the_path: "passage 0",
        cites_twice: "each once",
        takes_part_of_a_path: "of which a.md is a part",
        takes_more_than_a_path: "which is another file",
        reads_one_digit: "two digits",
        reads_paths_without_spaces: "spaces and hyphens",
        flags_by_the_number: "judged alone",
    },
    "12.5": {
        takes_the_mean_of_the_lines: "most similar line alone",
        takes_the_first_line: "may be any of them",
        takes_negative_likeness: "below 0",
        believes_the_likeness: "two of the three words",
        believes_the_words: "two of the three words",
        multiplies: "two of the three words",
        takes_the_smaller: "two of the three words",
        adds_them: "two of the three words",
        counts_words_as_they_are: "two of the three words",
        wants_all_words_in_one_line: "all lines give the words",
        divides_by_the_words_of_the_lines: "two of the three words",
        forgets_the_numbers: "no line has the number 60",
        finds_a_number_within_another: "a part of 50",
        is_content_with_one_number: "each number counts",
        wants_the_numbers_in_the_first_line: "not the most similar one",
        needs_a_line: "without a line",
        divides_by_nothing: "its share is 0",
    },
}
