"""Wrong answers to lab 03 that a learner would plausibly write; see `mutants_lab01.py`."""

import re
from contextlib import suppress
from itertools import pairwise

from course_lib.loader.code import choose_header
from course_lib.loader.languages import ABOVE, definition_of, find_definitions, split_definitions
from course_lib.records import Span
from tests.unit.teaching.edits import edits

# --- 3.1 split_definitions ---


def _cut(text, names):
    return [(names[a], Span(a, b, text[a:b])) for a, b in pairwise([*sorted(names), len(text)])]


def strips_its_pieces(text, starts):
    pieces = [
        (name, span.start, span.text.rstrip()) for name, span in split_definitions(text, starts)
    ]
    return [(name, Span(at, at + len(own), own)) for name, at, own in pieces]


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


def knows_other_line_ends(text, starts):
    names, at, above = {0: ""}, 0, None
    for line in text.splitlines(keepends=True):
        above = at if above is None else above
        if match := re.match(starts, line):
            names[above] = match["name"]
        above = above if line.startswith(ABOVE) else None
        at += len(line)
    return [pair for pair in _cut(text, names) if pair[1].text]


# --- 3.2 find_definitions ---


def looks_at_the_children_alone(node, types):
    return [child for child in node.named_children if child.type in types]


def calls_itself(node, types):
    found = []
    for child in node.named_children:
        found += [child] if child.type in types else calls_itself(child, types)
    return found


def takes_the_node_itself(node, types):
    return [node] if node.type in types else find_definitions(node, types)


def knows_python_alone(node, types):
    own = {"function_definition", "class_definition", "decorated_definition"}
    return find_definitions(node, own & {*types})


def compares_with_the_kinds(node, types):
    return find_definitions(node, dict.fromkeys(types.values()))


def takes_the_decorators_off(node, types):
    return [definition_of(found) for found in find_definitions(node, types)]


def looks_two_levels_down(node, types):
    found = []
    for child in node.named_children:
        found += [child] if child.type in types else looks_at_the_children_alone(child, types)
    return found


def gives_up_where_it_is_too_deep(node, types):
    found = []
    for child in node.named_children:
        with suppress(RecursionError):
            inside = gives_up_where_it_is_too_deep
            found += [child] if child.type in types else inside(child, types)
    return found


def looks_twenty_levels_down(node, types, levels=20):
    found = []
    for child in node.named_children if levels else ():
        inside = looks_twenty_levels_down
        found += [child] if child.type in types else inside(child, types, levels - 1)
    return found


def takes_equal_texts_for_one(node, types):
    return list({one.text: one for one in find_definitions(node, types)}.values())


def sorts_by_type(node, types):
    return sorted(find_definitions(node, types), key=lambda found: found.type)


# --- 3.3 choose_header ---


def takes_the_outermost(signatures, room):
    return next((one for one in ("".join(signatures), *signatures) if len(one) <= room), "")


def cuts_the_header_off(signatures, room):
    return "".join(signatures)[:room]


def drops_one_signature_after_the_other(signatures, room):
    for at in range(len(signatures)):
        if len("".join(signatures[at:])) <= room:
            return "".join(signatures[at:])
    return choose_header(signatures[-1:], room)


def does_not_count_the_line_end(signatures, room):
    header = choose_header(signatures, room)
    first = signatures[-1].partition("\n")[0] if signatures else ""
    return header or (first + "\n" if first and len(first) <= room else "")


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


def strips_the_indentation(signatures, room):
    return choose_header([one.lstrip() for one in signatures], room)


# --- found by playing learners ---


def counts_the_header_s_bytes(signatures, room):
    whole = "".join(signatures)
    return choose_header(signatures, room - len(whole.encode()) + len(whole))


MUTANTS = {
    "3.1": edits(
        split_definitions,
        searches_the_first_line_alone=(", re.MULTILINE -> ", "the piece before it has the name ''"),
        leaves_comments_behind=("while start > 0 -> while False", "a comment directly above"),
        climbs_one_line=(
            "while start > 0 -> for _ in range(start > 0)",
            "so does the line above that one",
        ),
        climbs_over_blank_lines=(
            'startswith(ABOVE, -> startswith((*ABOVE, "\\n"),',
            "ends where the next one begins, after the blank lines",
        ),
        climbs_over_the_start=("while start > 0 -> for _ in range(99)", "no line is above it"),
        gives_empty_pieces=(" if span.text] -> ]", "an empty text has no pieces"),
        drops_what_comes_first=(
            "if span.text] -> if span.text and name]",
            "the piece before it has the name ''",
        ),
        takes_indented_comments=(
            "text.startswith(ABOVE, above) -> text[above:start].lstrip().startswith(ABOVE)",
            "the line above begins with blanks",
        ),
        takes_indented_definitions=(
            'finditer(starts -> finditer(starts.replace("^", "^ *", 1)',
            "an indented definition",
        ),
        names_by_the_first_group=('match["name"] -> match[1]', "be it the first group or not"),
        stops_below_the_first_line=(
            "not text.startswith(ABOVE, above) -> not (above and text.startswith(ABOVE, above))",
            "the comment is the first line of the file",
        ),
    )
    | {
        strips_its_pieces: "line end included",
        passes_over_nameless_definitions: "a definition without a name",
        looks_its_pieces_up: "and the same text",
        gives_every_line_a_line_end: "the last piece ends where the text ends",
        counts_bytes: "é is one",
        knows_other_line_ends: "U+2028 does not end a line",
    },
    "3.2": edits(
        find_definitions,
        looks_into_definitions_too=(
            "        else:\n            waiting ->         waiting",
            "only the outermost definitions",
        ),
        forgets_the_order=("[::-1] -> ", "in the order of the text"),
        goes_level_by_level=("[::-1] -> ", "pop() -> pop(0)", "a and b are further in"),
        stops_at_the_first=("return found -> return found[:1]", "all three, in the order"),
        takes_every_type_that_sounds_so=(
            "        else:\n            waiting ->         waiting",
            'in types -> in ("function_definition", "class_definition")',
            "only the outermost definitions",
        ),
        returns_their_types=("append(node) -> append(node.type)", "str"),
        looks_into_blocks_alone=(
            "else: -> elif node.type in ('block', 'if_statement'):",
            "a and b are further in",
        ),
        looks_into_ifs_alone=(
            "else: -> elif node.type in ('block', 'if_statement', 'else_clause'):",
            "of other blocks than an `if`",
        ),
        passes_over_what_is_broken=("else: -> elif not node.has_error:", "an error in the grammar"),
    )
    | {
        looks_at_the_children_alone: "a and b are further in",
        calls_itself: "keep the nodes still to be looked at in a list",
        takes_the_node_itself: "the node itself is not in the result",
        knows_python_alone: "Go has other types",
        compares_with_the_kinds: "a function is a definition",
        takes_the_decorators_off: "the node with decorator and function is the definition",
        looks_two_levels_down: "a and b are further in",
        sorts_by_type: "all three, in the order of the text",
        gives_up_where_it_is_too_deep: "is inside of all brackets",
        looks_twenty_levels_down: "is inside of all brackets",
        takes_equal_texts_for_one: "may have the same text, and neither",
    },
    "3.3": edits(
        choose_header,
        writes_line_ends_anew=(
            'innermost[: innermost.find("\\n") + 1] -> "".join(innermost.splitlines()[:1]) + "\\n"',
            "here each has two characters",
        ),
        takes_all_or_nothing=(
            ", innermost, first_line) -> ,)",
            "the whole innermost one fits",
        ),
        forgets_the_first_line=(", first_line) -> )", "only the first line"),
        loses_the_line_end=('find("\\n") + 1 -> find("\\n")', "only the first line"),
        needs_one_character_more=("<= room -> < room", "exactly `room` characters"),
        expects_a_signature=(' if signatures else "" -> ', "IndexError"),
        takes_the_last_line=(
            'innermost[: innermost.find("\\n") + 1] -> innermost.splitlines(True)[-1]',
            "only the first line",
        ),
        joins_with_line_ends=('"".join -> "\\n".join', "so the header has all of them"),
        takes_the_first_signature_as_innermost=(
            "signatures[-1] -> signatures[0]",
            "the whole innermost one fits",
        ),
    )
    | {
        takes_the_outermost: "the whole innermost one fits",
        cuts_the_header_off: "the whole innermost one fits",
        drops_one_signature_after_the_other: "only the innermost one is taken",
        does_not_count_the_line_end: "there is no room for it",
        takes_every_first_line: "the innermost one, and no other",
        takes_the_innermost_off: "leaves what it was given as it was",
        takes_the_shortest: "all signatures fit",
        strips_the_indentation: "so the header has all of them",
        counts_the_header_s_bytes: "room is in characters",
    },
}
