"""Wrong answers to lab 11 that a learner would plausibly write; see `mutants_lab01.py`."""

import re
import string
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


# --- 11.5 between_markers ---


def takes_whatever_is_between(answer):
    return answer.split(BEGIN + "\n")[1].split(END)[0]


def allows_words_around(answer):
    if BEGIN not in answer or END not in answer:
        raise ValueError("no markers")
    inner = answer.split(BEGIN + "\n")[1].split(END)[0]
    if not inner or answer.count(END) > 1 or answer.count(BEGIN) > 1:
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


def lines_between(answer):
    lines = answer.strip().split("\n")
    inner = lines[1:-1]
    if lines[0] != BEGIN or lines[-1] != END or not inner or BEGIN in inner or END in inner:
        raise ValueError("no markers")
    return inner


def takes_the_markers_in_any_order(answer):
    lines = answer.strip().split("\n")
    if sorted([lines[0], lines[-1]]) != [BEGIN, END] or len(lines) < 3:
        raise ValueError("no markers")
    return "".join(line + "\n" for line in lines[1:-1])


def refuses_a_marker_within_a_line(answer):
    if answer.count(BEGIN) != 1 or answer.count(END) != 1:
        raise ValueError("no markers")
    return "".join(line + "\n" for line in lines_between(answer))


def removes_markers_everywhere(answer):
    lines_between(answer)
    return answer.strip().replace(BEGIN + "\n", "").replace(END, "")


def splits_at_all_line_ends(answer):
    lines_between(answer)
    return "".join(line + "\n" for line in answer.strip().splitlines()[1:-1])


def takes_form_feeds_for_line_ends(answer):
    return "".join(line + "\n" for one in lines_between(answer) for line in one.split("\f"))


def strips_line_ends(answer):
    return "".join(line.rstrip() + "\n" for line in lines_between(answer))


def removes_code_fences(answer):
    return "".join(line + "\n" for line in lines_between(answer) if line[:3] != "```")


def finds_the_markers_anywhere(answer):
    text = answer.strip()
    if not text.startswith(BEGIN) or not text.endswith(END):
        raise ValueError("no markers")
    inner = text.removeprefix(BEGIN).removesuffix(END).removeprefix("\n")
    if not inner or {BEGIN, END} & set(inner.split("\n")):
        raise ValueError("no file")
    return inner


def forgets_the_last_line_end(answer):
    return "\n".join(lines_between(answer))


def strips_line_ends_around_the_answer(answer):
    if answer.strip() != answer.strip("\n"):
        raise ValueError("no markers")
    return "".join(line + "\n" for line in lines_between(answer))


def refuses_a_blank_file(answer):
    inner = lines_between(answer)
    if not "".join(inner).strip():
        raise ValueError("no file")
    return "".join(line + "\n" for line in inner)


def takes_tabs_for_spaces(answer):
    return "".join(line.expandtabs() + "\n" for line in lines_between(answer))


def refuses_what_begins_with_a_marker(answer):
    inner = lines_between(answer)
    if any(line.startswith((BEGIN, END)) for line in inner):
        raise ValueError("more than one file")
    return "".join(line + "\n" for line in inner)


def refuses_indented_markers(answer):
    inner = lines_between(answer)
    if {BEGIN, END} & {line.strip() for line in inner}:
        raise ValueError("more than one file")
    return "".join(line + "\n" for line in inner)


def takes_an_indented_end(answer):
    *lines, last = answer.strip().split("\n")
    inner = lines_between("\n".join([*lines, last.strip()]))
    return "".join(line + "\n" for line in inner)


def lets_the_end_share_a_line(answer):
    lines = answer.strip().split("\n")
    if lines[0] != BEGIN or not lines[-1].endswith(END) or len(lines) < 2:
        raise ValueError("no markers")
    inner = "\n".join(lines[1:]).removesuffix(END)
    if not inner or {BEGIN, END} & set(inner.split("\n")):
        raise ValueError("no file")
    return inner


MUTANTS = {
    "11.1": {
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
    "11.2": {
        sorts_by_relevance: "adds more",
        forgets_what_is_taken: "has the first two already",
        forgets_the_context_after_the_first: "what the context had",
        looks_at_the_last_one_only: "two rounds before",
        takes_the_mean_likeness: "two rounds before",
        adds_likenesses_up: "only the closest counts",
        takes_opposites_for_likes: "below 0",
        does_not_weigh_the_relevance: "the second adds 0.4 - 0.25",
        swaps_the_weights: "relevance alone decides",
    },
    "11.3": {
        drops_the_last: "the weakest goes",
        drops_the_longest: "the weakest goes",
        sorts_by_score: "keep their order",
        takes_exactly_full_for_too_full: "not too full",
        packs_as_much_as_possible: "does not come back",
        never_refuses: "still too long",
        lets_min_complain: "still too long",
    },
    "11.4": {
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
    "11.5": {
        takes_whatever_is_between: "inside a longer line",
        allows_words_around: "inside a longer line",
        strips_the_file: "blank ones too",
        allows_an_empty_file: "no line stands between",
        believes_the_last_end: "there are two ends",
        takes_the_markers_in_any_order: "in the wrong order",
        refuses_a_marker_within_a_line: "inside a longer line",
        removes_markers_everywhere: "inside a longer line",
        splits_at_all_line_ends: "before the line end",
        takes_form_feeds_for_line_ends: "a form feed",
        strips_line_ends: "spaces at the end",
        removes_code_fences: "code fences belong to it",
        finds_the_markers_anywhere: "more stands in its line",
        forgets_the_last_line_end: "each line ends with a line end, the last too",
        strips_line_ends_around_the_answer: "white space around the whole answer",
        refuses_a_blank_file: "one line stands between the markers, a blank one",
        takes_tabs_for_spaces: "a tab is no spaces",
        refuses_what_begins_with_a_marker: "begins with a marker",
        refuses_indented_markers: "an indented marker",
        takes_an_indented_end: "an indented one is a longer line",
        lets_the_end_share_a_line: "the file's last line ends in it",
    },
}
