"""Wrong answers to lab 15 that a learner would plausibly write; see `mutants_lab01.py`."""

import re

import numpy as np

from course_lib.answers.citations import check_citations, without_citations
from course_lib.answers.faithfulness import LEAST_SUPPORT, NUMBER, support
from course_lib.answers.words import stems

# --- 15.1 check_citations ---


def pairs(text, pattern=r"\[(\d+): ([^\[\]]+)\]"):
    return [(int(n), path) for n, path in re.findall(pattern, text)]


def once(numbers):
    return list(dict.fromkeys(numbers))


def equal(number, path, paths):
    return 1 <= number <= len(paths) and paths[number - 1] == path


def judged(
    is_right=equal,
    read=pairs,
    tidy=once,
    without=lambda together, before: together,
    wrong=lambda together: [],
):
    """Return an answer to 15.1 of which a part may be wrong."""

    def check_citations(sentences, paths):
        found = [read(sentence) for sentence in sentences]
        right = [[n for n, path in some if is_right(n, path, paths)] for some in found]
        together = tidy(number for some in right for number in some)
        flagged = [
            f"[{n}: {path}]" for some in found for n, path in some if not is_right(n, path, paths)
        ]
        own = []
        for some, good in zip(found, right, strict=True):
            if good:
                own.append(tidy(good))
            else:
                before = [number for each in own for number in each]
                own.append(wrong(together) if some else without(together, before))
        return own, flagged

    return check_citations


believes_the_number = judged(lambda n, path, paths: 1 <= n <= len(paths))
ignores_capitals_of_a_path = judged(
    lambda n, path, paths: 1 <= n <= len(paths) and paths[n - 1].lower() == path.lower()
)
believes_the_path = judged(lambda n, path, paths: path in paths)
counts_from_zero = judged(lambda n, path, paths: n < len(paths) and paths[n] == path)
takes_place_minus_one = judged(lambda n, path, paths: n <= len(paths) and paths[n - 1] == path)
takes_part_of_a_path = judged(lambda n, path, paths: 1 <= n <= len(paths) and path in paths[n - 1])
takes_more_than_a_path = judged(
    lambda n, path, paths: 1 <= n <= len(paths) and path.startswith(paths[n - 1])
)
reads_one_digit = judged(read=lambda text: pairs(text, r"\[(\d): ([^\[\]]+)\]"))
reads_paths_without_spaces = judged(read=lambda text: pairs(text, r"\[(\d+): ([\w./-]+)\]"))
cites_twice = judged(tidy=list)
sorts_the_numbers = judged(tidy=lambda numbers: sorted(set(numbers)))
gives_nothing_without_a_citation = judged(without=lambda together, before: [])
takes_what_came_before = judged(without=lambda together, before: once(before))
sorts_all_of_them = judged(without=lambda together, before: sorted(together))
takes_the_last_citation = judged(without=lambda together, before: before[-1:])
forgives_wrong_citations = judged(wrong=lambda together: together)


def stands_on_all_passages(sentences, paths):
    everything = list(range(1, len(paths) + 1))
    return judged(without=lambda together, before: everything)(sentences, paths)


def flags_by_the_number(sentences, paths):
    own, _ = judged()(sentences, paths)
    cited = {number for some in own for number in some}
    found = [pair for sentence in sentences for pair in pairs(sentence)]
    return own, [f"[{n}: {path}]" for n, path in found if n not in cited]


def takes_any_text_for_a_number(sentences, paths):
    if any(not n.isdigit() for one in sentences for n, _ in re.findall(r"\[(.*?): (.*?)\]", one)):
        raise ValueError("not a number")
    return judged()(sentences, paths)


def flags_each_once_a_sentence(sentences, paths):
    own, _ = judged()(sentences, paths)
    return own, [one for sentence in sentences for one in once(judged()([sentence], paths)[1])]


def repeats_what_all_cite(sentences, paths):
    cites = [bool(pairs(sentence)) for sentence in sentences]
    own, flagged = judged(without=lambda *_: [])(sentences, paths)
    together = [n for numbers in own for n in numbers]
    return [n if has else together for n, has in zip(own, cites, strict=True)], flagged


def flags_each_once(sentences, paths):
    own, flagged = judged()(sentences, paths)
    return own, list(dict.fromkeys(flagged))


# --- 15.2 support ---


def judged_by(
    likeness=lambda cosines: max(0.0, float(cosines.max())),
    words=lambda sentence, lines: stems(sentence) & set().union(*map(stems, lines)),
    of=lambda sentence, lines: len(stems(sentence)),
    both=lambda alike, share: (alike + share) / 2,
    lacks=lambda sentence, lines: any(
        one not in re.findall(NUMBER, " ".join(lines)) for one in re.findall(NUMBER, sentence)
    ),
):
    """Return an answer to 15.2 of which a part may be wrong."""

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
makes_only_the_result_positive = judged_by(
    likeness=lambda cosines: float(cosines.max()),
    both=lambda alike, share: max(0.0, (alike + share) / 2),
)
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
finds_a_word_within_another = judged_by(
    words=lambda sentence, lines: [one for one in stems(sentence) if one in " ".join(lines).lower()]
)
counts_a_word_for_each_line = judged_by(
    words=lambda sentence, lines: [one for line in lines for one in stems(sentence) & stems(line)][
        : len(stems(sentence))
    ]
)
joins_the_lines_without_a_space = judged_by(
    lacks=lambda sentence, lines: any(
        one not in re.findall(NUMBER, "".join(lines)) for one in re.findall(NUMBER, sentence)
    )
)
joins_the_words_of_lines = judged_by(
    words=lambda sentence, lines: stems(sentence) & stems("".join(lines))
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


# --- found by playing learners ---


def takes_the_beginning_of_a_path(sentences, paths):
    whole = [
        re.sub(r"\[1: docs/a\]", f"[1: {paths[0]}]" if paths else "", one) for one in sentences
    ]
    return check_citations(whole, paths)


def wants_all_numbers_in_one_line(sentence, evidence, encode):
    numbers = set(re.findall(NUMBER, sentence))
    if not any(numbers <= set(re.findall(NUMBER, line)) for line in evidence):
        return 0.0
    return support(sentence, evidence, encode)


# --- 15.3 find_unsupported ---


def named(
    numbers=lambda sentences, paths: check_citations(sentences, paths)[0],
    evidence=lambda numbers, lines: [line for number in numbers for line in lines[number - 1]],
    claim=without_citations,
    is_named=lambda got, least: got < least,
    returned=lambda sentence: sentence,
):
    """Return an answer to 15.3 of which a part may be wrong."""

    def find_unsupported(sentences, paths, lines, encode, least=LEAST_SUPPORT):
        found = []
        for sentence, own in zip(sentences, numbers(sentences, paths), strict=True):
            if is_named(support(claim(sentence), evidence(own, lines), encode), least):
                found.append(returned(sentence))
        return found

    return find_unsupported


def all_cited(sentences, paths):
    own = check_citations(sentences, paths)[0]
    together = sorted({number for numbers in own for number in numbers})
    return [together for _ in sentences]


def all_lines(_, lines):
    return [line for some in lines for line in some]


holds_it_against_all_cited = named(numbers=all_cited)
holds_it_against_everything = named(evidence=all_lines)
keeps_the_citation_in_the_claim = named(claim=lambda sentence: sentence)
counts_places_from_one = named(
    evidence=lambda own, lines: [line for n in own for line in lines[n % len(lines)]]
)
takes_the_first_passage = named(evidence=lambda own, lines: lines[own[0] - 1] if own else [])
takes_the_last_passage = named(evidence=lambda own, lines: lines[own[-1] - 1] if own else [])
takes_the_first_line_of_each = named(
    evidence=lambda own, lines: [lines[number - 1][0] for number in own]
)
names_what_has_exactly_the_threshold = named(is_named=lambda got, least: got <= least)
names_the_supported = named(is_named=lambda got, least: got >= least)
forgets_the_threshold_that_is_given = named(is_named=lambda got, least: got < LEAST_SUPPORT)
names_only_what_has_no_support = named(is_named=lambda got, least: got == 0)
strips_what_it_returns = named(returned=str.strip)
makes_one_text_of_the_lines = named(
    evidence=lambda own, lines: (
        [" ".join(line for n in own for line in lines[n - 1])] if own else []
    )
)
returns_them_without_citations = named(returned=without_citations)


def sorts_what_it_names(*args, **named_args):
    return sorted(named()(*args, **named_args))


def looks_passages_up_by_path(sentences, paths, lines, encode, least=LEAST_SUPPORT):
    by_path = [lines[paths.index(path)] for path in paths]
    return named()(sentences, paths, by_path, encode, least)


def names_what_has_a_wrong_citation(sentences, paths, lines, encode, least=LEAST_SUPPORT):
    bad = named()(sentences, paths, lines, encode, least)
    return [s for s in sentences if s in bad or check_citations([s], paths)[1]]


def has_a_lower_threshold(sentences, paths, lines, encode, least=0.5):
    return named()(sentences, paths, lines, encode, least)


def names_each_once(*args, **named_args):
    return list(dict.fromkeys(named()(*args, **named_args)))


def passes_what_has_no_evidence(sentences, paths, lines, encode, least=LEAST_SUPPORT):
    own, _ = check_citations(sentences, paths)
    having = [sentence for sentence, numbers in zip(sentences, own, strict=True) if numbers]
    bad = named()(sentences, paths, lines, encode, least)
    return [sentence for sentence in bad if sentence in having]


def passes_what_cites_nothing(sentences, paths, lines, encode, least=LEAST_SUPPORT):
    return [s for s in named()(sentences, paths, lines, encode, least) if "[" in s]


def judges_each_sentence_alone(sentences, paths, lines, encode, least=LEAST_SUPPORT):
    return [s for s in sentences if named()([s], paths, lines, encode, least)]


def names_wrong_citations_alone(sentences, paths, lines, encode, least=LEAST_SUPPORT):
    _, flagged = check_citations(sentences, paths)
    return [s for s in sentences if any(one in s for one in flagged)]


def returns_the_scores(sentences, paths, lines, encode, least=LEAST_SUPPORT):
    bad = named()(sentences, paths, lines, encode, least)
    return [sentence in bad for sentence in sentences]


MUTANTS = {
    "15.1": {
        believes_the_number: "have to agree",
        counts_from_zero: "the passages that it cites",
        believes_the_path: "have no source",
        takes_place_minus_one: "have no source",
        cites_twice: "each once",
        sorts_the_numbers: "in the order of the text",
        takes_part_of_a_path: "of which a.md is a part",
        takes_more_than_a_path: "which is another file",
        reads_one_digit: "two digits",
        reads_paths_without_spaces: "spaces and hyphens",
        flags_each_once: "as often as it is in the text",
        flags_by_the_number: "judged alone",
        gives_nothing_without_a_citation: "cites nothing",
        takes_what_came_before: "before it and after it",
        sorts_all_of_them: "before it and after it",
        takes_the_last_citation: "before it and after it",
        stands_on_all_passages: "is cited nowhere",
        forgives_wrong_citations: "have no source",
        takes_the_beginning_of_a_path: "which only begins so",
        takes_any_text_for_a_number: "brackets alone",
        flags_each_once_a_sentence: "as often as it is in the text",
        repeats_what_all_cite: "before it and after it",
        ignores_capitals_of_a_path: "in small letters",
    },
    "15.2": {
        takes_the_mean_of_the_lines: "only the most similar line",
        takes_the_first_line: "may be any of them",
        takes_negative_likeness: "below 0",
        makes_only_the_result_positive: "below 0",
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
        wants_the_numbers_in_the_first_line: "not the most similar line",
        needs_a_line: "without a line",
        divides_by_nothing: "its share is 0",
        wants_all_numbers_in_one_line: "each in a line of its own",
        finds_a_word_within_another: "no words of it",
        counts_a_word_for_each_line: "still one word of three",
        joins_the_lines_without_a_space: "not the most similar line",
        joins_the_words_of_lines: "each in a line of its own",
    },
    "15.3": {
        holds_it_against_all_cited: "the sentence cites passage 2",
        holds_it_against_everything: "the sentence cites passage 1",
        keeps_the_citation_in_the_claim: "a citation is not one of them",
        counts_places_from_one: "has all of its words",
        takes_the_first_passage: "both passages together",
        takes_the_last_passage: "both passages together",
        takes_the_first_line_of_each: "held against what the answer cites",
        names_what_has_exactly_the_threshold: "is not below",
        names_the_supported: "has all of its words",
        forgets_the_threshold_that_is_given: "threshold of 0",
        names_only_what_has_no_support: "none of its words",
        returns_them_without_citations: "none of its words",
        names_each_once: "there twice",
        passes_what_has_no_evidence: "no evidence",
        passes_what_cites_nothing: "the answer cites only passage 1",
        judges_each_sentence_alone: "held against what the answer cites",
        names_wrong_citations_alone: "none of its words",
        returns_the_scores: "has all of its words",
        strips_what_it_returns: "with its spaces",
        makes_one_text_of_the_lines: "not all as one text",
        sorts_what_it_names: "not that of the alphabet",
        looks_passages_up_by_path: "two passages may be of one file",
        names_what_has_a_wrong_citation: "passage 1 has all",
        has_a_lower_threshold: "the default of `least`",
    },
}


# --- right, in another style ---


def encodes_each_text_alone(sentence, evidence, encode):
    return support(sentence, evidence, lambda texts: np.array([encode([one])[0] for one in texts]))


def calls_its_own_support(sentences, paths, lines, encode, least=LEAST_SUPPORT):
    own, _ = check_citations(sentences, paths)
    found = []
    for sentence, numbers in zip(sentences, own, strict=True):
        evidence = [line for number in numbers for line in lines[number - 1]]
        if encodes_each_text_alone(without_citations(sentence), evidence, encode) < least:
            found.append(sentence)
    return found


RIGHT = {"15.3": [calls_its_own_support]}
