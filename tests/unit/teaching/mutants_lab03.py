"""Wrong answers to lab 03 that a learner would plausibly write; see `mutants_lab01.py`."""

import re
from itertools import pairwise

from course_lib.loader.code import choose_header
from course_lib.loader.languages import ABOVE, find_definitions, split_definitions
from course_lib.records import Span

# --- 3.1 split_definitions ---


def _cut(text, names):
    return [(names[a], Span(a, b, text[a:b])) for a, b in pairwise([*sorted(names), len(text)])]


def _split(text, starts, *, climb=99, belongs=None, empty=False):
    belongs = belongs or (lambda line: line.startswith(ABOVE))
    names = {0: ""}
    for match in re.finditer(starts, text, re.MULTILINE):
        start = match.start()
        for _ in range(climb):
            line = text.rfind("\n", 0, max(start - 1, 0)) + 1
            if start == 0 or not belongs(text[line:start]):
                break
            start = line
        names[start] = match["name"]
    return [pair for pair in _cut(text, names) if pair[1].text or empty]


def searches_the_first_line_alone(text, starts):
    names = {0: ""} | {match.start(): match["name"] for match in re.finditer(starts, text)}
    return [pair for pair in _cut(text, names) if pair[1].text]


def leaves_comments_behind(text, starts):
    return _split(text, starts, climb=0)


def climbs_one_line(text, starts):
    return _split(text, starts, climb=1)


def climbs_over_blank_lines(text, starts):
    return _split(text, starts, belongs=lambda line: line.startswith((*ABOVE, "\n")))


def stops_below_the_first_line(text, starts):
    names = {0: ""}
    for match in re.finditer(starts, text, re.MULTILINE):
        start = match.start()
        while (above := text.rfind("\n", 0, max(start - 1, 0))) >= 0:
            if not text.startswith(ABOVE, above + 1):
                break
            start = above + 1
        names[start] = match["name"]
    return [pair for pair in _cut(text, names) if pair[1].text]


def gives_empty_pieces(text, starts):
    return _split(text, starts, empty=True)


def drops_what_comes_first(text, starts):
    return [pair for pair in split_definitions(text, starts) if pair[0]]


def strips_its_pieces(text, starts):
    pieces = [(name, span.start, span.text.rstrip()) for name, span in _split(text, starts)]
    return [(name, Span(at, at + len(own), own)) for name, at, own in pieces]


def takes_indented_definitions(text, starts):
    return _split(text, starts.replace("^", "^ *", 1))


def takes_indented_comments(text, starts):
    return _split(text, starts, belongs=lambda line: line.lstrip().startswith(ABOVE))


def passes_over_nameless_definitions(text, starts):
    named = {span.start: name for name, span in split_definitions(text, starts) if name}
    return [pair for pair in _cut(text, {0: ""} | named) if pair[1].text]


def looks_its_pieces_up(text, starts):
    pieces = [(name, span.text) for name, span in split_definitions(text, starts)]
    return [(name, Span(at := text.find(own), at + len(own), own)) for name, own in pieces]


def gives_every_line_a_line_end(text, starts):
    return split_definitions("".join(f"{line}\n" for line in text.splitlines()), starts)


def counts_bytes(text, starts):
    pieces, at = [], 0
    for name, span in split_definitions(text, starts):
        size = len(span.text.encode())
        pieces.append((name, Span(at, at + size, span.text)))
        at += size
    return pieces


# --- 3.2 find_definitions ---


def looks_at_the_children_alone(node, types):
    return [child for child in node.named_children if child.type in types]


def looks_into_definitions_too(node, types):
    found, waiting = [], node.named_children[::-1]
    while waiting:
        node = waiting.pop()
        found += [node] * (node.type in types)
        waiting += node.named_children[::-1]
    return found


def calls_itself(node, types):
    found = []
    for child in node.named_children:
        found += [child] if child.type in types else calls_itself(child, types)
    return found


def forgets_the_order(node, types):
    found, waiting = [], list(node.named_children)
    while waiting:
        node = waiting.pop()
        if node.type in types:
            found.append(node)
        else:
            waiting += node.named_children
    return found


def goes_level_by_level(node, types):
    found, waiting = [], list(node.named_children)
    while waiting:
        node = waiting.pop(0)
        if node.type in types:
            found.append(node)
        else:
            waiting += node.named_children
    return found


def stops_at_the_first(node, types):
    return find_definitions(node, types)[:1]


def takes_the_node_itself(node, types):
    return [node] if node.type in types else find_definitions(node, types)


def knows_python_alone(node, types):
    own = {"function_definition", "class_definition", "decorated_definition"}
    return find_definitions(node, own & {*types})


def takes_every_type_that_sounds_so(node, types):
    found = looks_into_definitions_too(node, {"function_definition", "class_definition"})
    return found


def returns_their_types(node, types):
    return [one.type for one in find_definitions(node, types)]


# --- 3.3 choose_header ---


def takes_the_outermost(signatures, room):
    return next((one for one in ("".join(signatures), *signatures) if len(one) <= room), "")


def cuts_the_header_off(signatures, room):
    return "".join(signatures)[:room]


def takes_all_or_nothing(signatures, room):
    header = "".join(signatures)
    return header if len(header) <= room else ""


def forgets_the_first_line(signatures, room):
    candidates = ("".join(signatures), signatures[-1] if signatures else "")
    return next((one for one in candidates if len(one) <= room), "")


def drops_one_signature_after_the_other(signatures, room):
    for at in range(len(signatures)):
        if len("".join(signatures[at:])) <= room:
            return "".join(signatures[at:])
    return choose_header(signatures[-1:], room)


def loses_the_line_end(signatures, room):
    header = choose_header(signatures, room)
    return header if header in ("", "".join(signatures), signatures[-1]) else header.rstrip("\n")


def does_not_count_the_line_end(signatures, room):
    header = choose_header(signatures, room)
    first = signatures[-1].partition("\n")[0] if signatures else ""
    return header or (first + "\n" if first and len(first) <= room else "")


def needs_one_character_more(signatures, room):
    return choose_header(signatures, room - 1)


def expects_a_signature(signatures, room):
    innermost = signatures[-1]
    return choose_header([*signatures[:-1], innermost], room)


def takes_every_first_line(signatures, room):
    lines = "".join(f"{one.partition(chr(10))[0]}\n" for one in signatures)
    candidates = ("".join(signatures), *signatures[-1:], lines, *lines.splitlines(True)[-1:])
    return next((one for one in candidates if len(one) <= room), "")


def takes_the_innermost_off(signatures, room):
    header = "".join(signatures)
    if len(header) <= room or not signatures:
        return header if len(header) <= room else ""
    return choose_header([signatures.pop()], room)


def takes_the_shortest(signatures, room):
    innermost = signatures[-1] if signatures else ""
    return min((innermost, innermost.partition("\n")[0] + "\n"), key=len) if len(innermost) else ""


# --- found by playing learners ---


def names_by_the_first_group(text, starts):
    pieces = split_definitions(text, starts)
    names = [match[1] for match in re.finditer(starts, text, re.MULTILINE)]
    names = [""] * (len(pieces) - len(names)) + names
    return [(name, span) for name, (_, span) in zip(names, pieces, strict=True)]


def counts_the_header_s_bytes(signatures, room):
    whole = "".join(signatures)
    return choose_header(signatures, room - len(whole.encode()) + len(whole))


def passes_over_what_is_broken(node, types):
    found = []
    for child in node.named_children:
        if child.type in types:
            found.append(child)
        elif not child.has_error:
            found += find_definitions(child, types)
    return found


MUTANTS = {
    "3.1": {
        searches_the_first_line_alone: "the piece before it has the name ''",
        leaves_comments_behind: "a comment directly above",
        climbs_one_line: "so does the line above that one",
        climbs_over_blank_lines: "ends where the next one begins, after the blank lines",
        stops_below_the_first_line: "the comment is the first line of the file",
        gives_empty_pieces: "an empty text has no pieces",
        drops_what_comes_first: "the piece before it has the name ''",
        strips_its_pieces: "line end included",
        takes_indented_comments: "the line above begins with blanks",
        passes_over_nameless_definitions: "a definition without a name",
        looks_its_pieces_up: "and the same text",
        gives_every_line_a_line_end: "the last piece ends where the text ends",
        takes_indented_definitions: "an indented definition",
        counts_bytes: "é is one",
        names_by_the_first_group: "be it the first group or not",
    },
    "3.2": {
        looks_at_the_children_alone: "a and b are further in",
        looks_into_definitions_too: "only the outermost ones",
        calls_itself: "keep the nodes still to be looked at in a list",
        forgets_the_order: "in the order of the text",
        goes_level_by_level: "a and b are further in",
        stops_at_the_first: "all three are",
        takes_the_node_itself: "the node itself is not among the results",
        passes_over_what_is_broken: "an error in the grammar",
        knows_python_alone: "Go has other types",
        takes_every_type_that_sounds_so: "only the outermost definitions",
        returns_their_types: "str",
    },
    "3.3": {
        takes_the_outermost: "the whole innermost one fits",
        cuts_the_header_off: "the whole innermost one fits",
        takes_all_or_nothing: "the whole innermost one fits",
        forgets_the_first_line: "only the first line",
        drops_one_signature_after_the_other: "only the innermost one is taken",
        loses_the_line_end: "only the first line",
        does_not_count_the_line_end: "there is no room for it",
        needs_one_character_more: "exactly `room` characters",
        expects_a_signature: "IndexError",
        takes_every_first_line: "the innermost one, and no other",
        takes_the_innermost_off: "AttributeError",
        takes_the_shortest: "all signatures fit",
        counts_the_header_s_bytes: "room is in characters",
    },
}
