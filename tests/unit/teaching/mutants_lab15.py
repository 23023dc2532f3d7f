"""Wrong answers to lab 15 that a learner would plausibly write; see `mutants_lab01.py`."""

import re

import numpy as np

from course_lib.answers.citations import check_citations, without_citations
from course_lib.answers.faithfulness import LEAST_SUPPORT, NUMBER, find_unsupported, support
from tests.unit.teaching.edits import edits

# --- 15.1 check_citations ---

IS_THERE = "1 <= int(number) <= len(paths)"
HAS_PATH = "paths[int(number) - 1] == path"
TOGETHER = "list(dict.fromkeys(number for right in own for number in right or ()))"
OWN = "[together if right is None else right for right in own]"
BEFORE = "sum((some or [] for some in own[:at]), [])"


def flags_by_the_number(sentences, paths):
    own, _ = check_citations(sentences, paths)
    cited = {number for some in own for number in some}
    found = re.findall(r"\[(\d+): ([^\[\]]+)\]", " ".join(sentences))
    return own, [f"[{n}: {path}]" for n, path in found if int(n) not in cited]


def takes_the_beginning_of_a_path(sentences, paths):
    whole = [
        re.sub(r"\[1: docs/a\]", f"[1: {paths[0]}]" if paths else "", one) for one in sentences
    ]
    return check_citations(whole, paths)


# --- 15.2 support ---

HELD = 'held = re.findall(NUMBER, " ".join(evidence))'
LACKS = "any(number not in held for number in re.findall(NUMBER, sentence))"
LIKENESS = "float((vectors[1:] @ vectors[0]).max())"
IN_LINES = "set().union(*(stems(line) for line in evidence))"
SHARE = "len(shared) / max(1, len(words))"
BOTH = f"(similarity + {SHARE}) / 2"


def wants_all_numbers_in_one_line(sentence, evidence, encode):
    numbers = set(re.findall(NUMBER, sentence))
    if not any(numbers <= set(re.findall(NUMBER, line)) for line in evidence):
        return 0.0
    return support(sentence, evidence, encode)


# --- 15.3 find_unsupported ---

OF_ITS_PASSAGES = "for number in numbers for line in lines[number - 1]"

MUTANTS = {
    "15.1": edits(
        check_citations,
        believes_the_number=(f" and {HAS_PATH} -> ", "have to agree"),
        ignores_capitals_of_a_path=(
            f"{HAS_PATH} -> paths[int(number) - 1].lower() == path.lower()",
            "in small letters",
        ),
        believes_the_path=(f"{IS_THERE} and {HAS_PATH} -> path in paths", "have no source"),
        counts_from_zero=(
            f"{IS_THERE} and {HAS_PATH} -> path in paths[int(number) :][:1]",
            "the passages that it cites",
        ),
        takes_place_minus_one=("1 <= int(number) -> int(number)", "have no source"),
        takes_part_of_a_path=(
            f"{HAS_PATH} -> path in paths[int(number) - 1]",
            "of which a.md is a part",
        ),
        takes_more_than_a_path=(
            f"{HAS_PATH} -> path.startswith(paths[int(number) - 1])",
            "which is another file",
        ),
        reads_one_digit=(r"(\d+) -> (\d)", "two digits"),
        reads_paths_without_spaces=(r"[^\[\]]+ -> [\w./-]+", "spaces and hyphens"),
        cites_twice=(
            "right: dict[int, None] = {} -> right = []",
            "right[int(number)] = None -> right.append(int(number))",
            "each once",
        ),
        sorts_the_numbers=(
            "list(right) -> sorted(right)",
            "list(dict.fromkeys(number -> sorted(set(number",
            "in the order of the text",
        ),
        gives_nothing_without_a_citation=("[together if -> [[] if", "cites nothing"),
        takes_what_came_before=(
            f"{OWN} -> [list(dict.fromkeys({BEFORE})) if right is None else right "
            "for at, right in enumerate(own)]",
            "before it and after it",
        ),
        sorts_all_of_them=("[together if -> [sorted(together) if", "before it and after it"),
        takes_the_last_citation=(
            f"{OWN} -> [{BEFORE}[-1:] if right is None else right for at, right in enumerate(own)]",
            "before it and after it",
        ),
        forgives_wrong_citations=(
            "list(right) if written else None -> list(right) or None",
            "have no source",
        ),
        stands_on_all_passages=(
            "[together if -> [list(range(1, len(paths) + 1)) if",
            "is cited nowhere",
        ),
        takes_any_text_for_a_number=(
            r"\[(\d+): ([^\[\]]+)\] -> \[(.*?): (.*?)\]",
            "brackets alone",
        ),
        flags_each_once_a_sentence=(
            "re.findall( -> dict.fromkeys(re.findall(",
            '", sentence) -> ", sentence))',
            "as often as it is in the text",
        ),
        repeats_what_all_cite=(
            f"{TOGETHER} -> [number for right in own for number in right or ()]",
            "before it and after it",
        ),
        flags_each_once=(
            "own], flagged -> own], list(dict.fromkeys(flagged))",
            "as often as it is in the text",
        ),
    )
    | {
        flags_by_the_number: "judged alone",
        takes_the_beginning_of_a_path: "which only begins so",
    },
    "15.2": edits(
        support,
        takes_the_mean_of_the_lines=(".max() -> .mean()", "only the most similar line"),
        takes_the_first_line=(".max() -> [0]", "may be any of them"),
        takes_negative_likeness=(f"max(0.0, {LIKENESS}) -> {LIKENESS}", "below 0"),
        makes_only_the_result_positive=(
            f"max(0.0, {LIKENESS}) -> {LIKENESS}",
            f"{BOTH} -> max(0.0, {BOTH})",
            "below 0",
        ),
        believes_the_likeness=(f"{BOTH} -> similarity", "two of the three words"),
        believes_the_words=(f"{BOTH} -> {SHARE}", "two of the three words"),
        multiplies=(f"{BOTH} -> similarity * {SHARE}", "two of the three words"),
        takes_the_smaller=(f"{BOTH} -> min(similarity, {SHARE})", "two of the three words"),
        adds_them=(f"{BOTH} -> similarity + {SHARE}", "two of the three words"),
        counts_words_as_they_are=(
            "stems(sentence) -> set(sentence.lower().split())",
            "stems(line) -> line.split()",
            "two of the three words",
        ),
        wants_all_words_in_one_line=(
            f"words & {IN_LINES} -> max((words & stems(line) for line in evidence), key=len)",
            "all lines give the words",
        ),
        divides_by_the_words_of_the_lines=(
            f"max(1, len(words)) -> max(1, len({IN_LINES}))",
            "two of the three words",
        ),
        finds_a_word_within_another=(
            f"words & {IN_LINES} -> [one for one in words if one in ' '.join(evidence).lower()]",
            "no words of it",
        ),
        counts_a_word_for_each_line=(
            f"words & {IN_LINES} -> [one for line in evidence for one in words & stems(line)]",
            "len(shared) -> min(len(shared), len(words))",
            "still one word of three",
        ),
        joins_the_lines_without_a_space=('" ".join -> "".join', "not the most similar line"),
        joins_the_words_of_lines=(
            f"{IN_LINES} -> stems(''.join(evidence))",
            "each in a line of its own",
        ),
        forgets_the_numbers=(f" or {LACKS} -> ", "no line has the number 60"),
        finds_a_number_within_another=(f"{HELD} -> held = ' '.join(evidence)", "a part of 50"),
        is_content_with_one_number=(
            f"{LACKS} -> (own := re.findall(NUMBER, sentence)) and not {{*own}} & {{*held}}",
            "each number counts",
        ),
        wants_the_numbers_in_the_first_line=(
            '" ".join(evidence) -> "".join(evidence[:1])',
            "not the most similar line",
        ),
        needs_a_line=("not evidence or  -> ", "without a line"),
        divides_by_nothing=("max(1, len(words)) -> len(words)", "its share is 0"),
    )
    | {
        wants_all_numbers_in_one_line: "each in a line of its own",
    },
    "15.3": edits(
        find_unsupported,
        holds_it_against_all_cited=(
            "in numbers for -> in sorted(set().union(*stands_on)) for",
            "the sentence cites passage 2",
        ),
        holds_it_against_everything=(
            f"{OF_ITS_PASSAGES} -> for some in lines for line in some",
            "the sentence cites passage 1",
        ),
        keeps_the_citation_in_the_claim=(
            "without_citations(sentence) -> sentence",
            "a citation is not one of them",
        ),
        counts_places_from_one=(
            "lines[number - 1] -> lines[number % len(lines)]",
            "has all of its words",
        ),
        takes_the_first_passage=("in numbers for -> in numbers[:1] for", "both passages together"),
        takes_the_last_passage=("in numbers for -> in numbers[-1:] for", "both passages together"),
        takes_the_first_line_of_each=(
            "lines[number - 1] -> lines[number - 1][:1]",
            "held against what the answer cites",
        ),
        names_what_has_exactly_the_threshold=("< least -> <= least", "is not below"),
        names_the_supported=("< least -> >= least", "has all of its words"),
        forgets_the_threshold_that_is_given=("< least -> < LEAST_SUPPORT", "threshold of 0"),
        names_only_what_has_no_support=("< least -> == 0", "none of its words"),
        strips_what_it_returns=("append(sentence) -> append(sentence.strip())", "with its spaces"),
        makes_one_text_of_the_lines=(
            f"[line {OF_ITS_PASSAGES}] -> [' '.join(line {OF_ITS_PASSAGES})] * bool(numbers)",
            "not all as one text",
        ),
        returns_them_without_citations=(
            "append(sentence) -> append(without_citations(sentence))",
            "none of its words",
        ),
        names_each_once=("return found -> return list(dict.fromkeys(found))", "there twice"),
        passes_what_has_no_evidence=("< least -> < least and numbers", "no evidence"),
        passes_what_cites_nothing=(
            '< least -> < least and "[" in sentence',
            "the answer cites only passage 1",
        ),
        judges_each_sentence_alone=(
            "stands_on, strict -> (check_citations([s], paths)[0][0] for s in sentences), strict",
            "held against what the answer cites",
        ),
        names_wrong_citations_alone=(
            "support(without_citations(sentence), evidence, encode) < least"
            " -> check_citations([sentence], paths)[1]",
            "none of its words",
        ),
        returns_the_scores=(
            "return found -> return [sentence in found for sentence in sentences]",
            "has all of its words",
        ),
        sorts_what_it_names=("return found -> return sorted(found)", "not that of the alphabet"),
        looks_passages_up_by_path=(
            "lines[number - 1] -> lines[paths.index(paths[number - 1])]",
            "two passages may be of one file",
        ),
        names_what_has_a_wrong_citation=(
            "< least -> < least or check_citations([sentence], paths)[1]",
            "passage 1 has all",
        ),
        has_a_lower_threshold=("float = LEAST_SUPPORT -> float = 0.5", "the default of `least`"),
    ),
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
