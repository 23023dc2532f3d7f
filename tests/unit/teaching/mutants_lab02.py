"""Wrong versions that a learner of lab 02 would plausibly write."""

import re
from dataclasses import replace

from course_lib.loader.kubernetes import is_empty, split_stream
from course_lib.loader.resource_chunks import cut_document
from course_lib.loader.resource_identity import Identity, read_identity, read_key
from course_lib.loader.yaml_lines import next_cut
from course_lib.records import Span
from tests.unit.teaching.edits import edits

# --- 2.1 split_stream ---


def looks_its_documents_up(text):
    spans = split_stream(text)
    return [Span(at := text.find(s.text), at + len(s.text), s.text) for s in spans]


def knows_other_line_ends(text):
    spans, begin, at = [], 0, 0
    for line in text.splitlines(keepends=True):
        if re.match(r"---(?=\s|\Z)", line):
            spans.append(Span(begin, at, text[begin:at]))
            begin = at + 3
        at += len(line)
    spans.append(Span(begin, len(text), text[begin:]))
    return [span for span in spans if not is_empty(span.text)]


def counts_what_stands_beside_the_dashes(text):
    marks = list(re.finditer(r"^---(?=\s|\Z)", text, re.MULTILINE))
    begins = [0, *(mark.end() for mark in marks)]
    ends = [*(mark.start() for mark in marks), len(text)]
    spans = [Span(a, b, text[a:b]) for a, b in zip(begins, ends, strict=True)]
    full = split_stream(text)
    return [s for s in spans if s in full or s.start and s.text.split("\n")[0].strip()]


# --- 2.2 read_identity ---

ABOVE = "(above for above in path if above.column < key.column)"


def _identity(own, children):
    return Identity(
        own.get("kind"), children.get("name"), children.get("namespace"), own.get("apiVersion")
    )


def _keys(document):
    return [key for line in document.split("\n") if (key := read_key(line))]


def takes_the_first_of_each(document):
    keys = {}
    for key in _keys(document):
        keys.setdefault(key.name, key.value)
    return _identity(keys, keys)


def takes_the_last_of_each(document):
    keys = {key.name: key.value for key in _keys(document)}
    return _identity(keys, keys)


def expects_two_spaces(document):
    own, children, inside = {}, {}, ""
    for key in _keys(document):
        if key.column == 0:
            own.setdefault(key.name, key.value)
            inside = key.name
        elif key.column == 2 and inside == "metadata":
            children.setdefault(key.name, key.value)
    return _identity(own, children)


def never_leaves_metadata(document):
    own, children, inside = {}, {}, False
    for key in _keys(document):
        inside = inside or key.name == "metadata"
        names = children if inside and key.column else own
        names.setdefault(key.name, key.value)
    return _identity(own, children)


def takes_any_metadata(document):
    found = re.search(r"metadata:\n +name: (.+)", document)
    who = read_identity(document)
    return who._replace(name=found[1]) if found else who


def keeps_quotes_and_comments(document):
    who = read_identity(document)
    found = re.search(r"^  name: *(.*?)\r?$", document, re.MULTILINE) if who.name else None
    return who._replace(name=found[1]) if found else who


def wants_metadata_alone_on_its_line(document):
    who = read_identity(document)
    alone = re.search(r"^metadata:\r?$", document, re.M)
    return who if alone else who._replace(name=None, namespace=None)


def says_empty_for_what_is_missing(document):
    return Identity(*(value or "" for value in read_identity(document)))


def says_none_for_what_is_empty(document):
    return Identity(*(value or None for value in read_identity(document)))


def asks_a_parser(document):
    import yaml

    loaded = yaml.safe_load(document)
    own = loaded if isinstance(loaded, dict) else {}
    return _identity(own, own.get("metadata") or {})


# --- 2.3 next_cut ---


def wants_kind_in_column_zero(document):
    own = {key.name for key in _keys(document) if key.column == 0}
    found = read_identity(document)
    kind = found.kind if "kind" in own else None
    return found._replace(kind=kind, api_version=found.api_version if "apiVersion" in own else None)


def gives_up_where_nothing_is_in_reach(lines, at, limit):
    in_reach = [i for i in range(at + 1, len(lines)) if lines[i].start <= limit]
    return next_cut(lines, at, limit) if in_reach else len(lines) - 1


# --- 2.4 cut_document ---


def forgets_the_last_piece(*args):
    return list(cut_document(*args))[:-1]


def joins_what_is_left_over(*args):
    *pieces, last = cut_document(*args)
    if len(pieces) > 1 and len(last.text) < 110:
        start = pieces[-1].start
        text = pieces[-1].header + args[0][start : last.end]
        pieces[-1] = replace(pieces[-1], text=text, end=last.end)
        return pieces
    return [*pieces, last]


def returns_texts(*args):
    return [piece.text for piece in cut_document(*args)]


def returns_nothing(*args):
    list(cut_document(*args))


MUTANTS = {
    "2.1": edits(
        split_stream,
        splits_at_any_dashes=(r"^---(?=\s|\Z) -> ---", "a separator begins its line"),
        splits_at_whole_lines=(r"^---(?=\s|\Z) -> \n---\n", "directly after the three dashes"),
        takes_the_line_end_along=(r"^---(?=\s|\Z) -> ^---\s", "directly after the three dashes"),
        knows_no_end_of_text=(
            r"^---(?=\s|\Z) -> ^---(?=\s)",
            "the end of the text may follow the dashes",
        ),
        knows_no_first_line=(
            r"^---(?=\s|\Z) -> (?<=\n)---(?=\s|\Z)",
            "a separator may be the first line",
        ),
        sees_every_line_that_begins_with_dashes=(r"^---(?=\s|\Z) -> ^---", "here it is a letter"),
        strips_before_it_looks=(r"^---(?=\s|\Z) -> ^ *---(?=\s|\Z)", "indented dashes are text"),
        drops_the_rest_of_the_line=(
            r"^---(?=\s|\Z) -> ^---(?=\s|\Z).*",
            "the rest of the separator's line",
        ),
        sees_unix_lines_only=(r"^---(?=\s|\Z) -> ^---(?=[ \t\n]|\Z)", "lines may end with CRLF"),
        knows_no_tab=(r"^---(?=\s|\Z) -> ^---(?=[ \r\n]|\Z)", "a tab is white space"),
        keeps_what_is_empty=("if not is_empty(span.text) -> ", "there is nothing before it"),
        keeps_comments_alone=("not is_empty(span.text) -> span.text.strip()", "only a comment"),
        drops_what_begins_with_a_comment=(
            'not is_empty(span.text) -> (own := span.text.strip()) and own[0] != "#"',
            "above and below",
        ),
        strips_its_documents=("text[begin:end]) -> text[begin:end].strip())", "its last line end"),
        ends_documents_at_dots=(
            r"^---(?=\s|\Z) -> ^(?:---|\.\.\.)(?=\s|\Z)",
            "only `---` is a separator",
        ),
        sees_the_first_line_only=(", re.MULTILINE -> ", "directly after the three dashes"),
        begins_at_the_dashes=("(_, begin), (end, _) -> (begin, _), (end, _)", "after the three"),
        forgets_the_first_document=("(0, 0), *marks -> *marks", "a stream without a separator"),
        forgets_the_last_document=(
            ", (len(text), len(text))] -> ]",
            "a stream without a separator",
        ),
        returns_texts=("[span for span -> [span.text for span", "a stream without a separator"),
    )
    | {
        knows_other_line_ends: "U+2028 does not",
        looks_its_documents_up: "work with offsets",
        counts_what_stands_beside_the_dashes: "there is only a comment",
    },
    "2.2": edits(
        read_identity,
        takes_neighbours_for_owners=(
            "above.column < key.column -> above.column <= key.column",
            "an Identity has",
        ),
        forgets_what_ended=(
            "(above for above in path if above.column < key.column) -> path",
            "an Identity has",
        ),
        takes_the_last_of_two=(
            "values.setdefault(tuple(one.name for one in path), key.value)"
            " -> values[tuple(one.name for one in path)] = key.value",
            "the first one counts",
        ),
        prefers_a_key_with_a_value=(
            "values.setdefault(tuple(one.name for one in path), key.value)"
            " -> place = tuple(one.name for one in path)\n"
            "        values[place] = values.get(place) or key.value",
            "also if its value is empty",
        ),
        looks_at_the_last_two_names=("in path), key -> in path[-2:]), key", "metadata, name"),
        looks_at_the_first_and_last_name=(
            "tuple(one.name for one in path) -> tuple(dict.fromkeys((path[0].name, key.name)))",
            "the path of x is metadata, labels, name",
        ),
        returns_a_plain_tuple=("return Identity(*map -> return tuple(map", "an Identity has"),
        puts_the_version_first=(
            "Identity(*map(values.get, IDENTITY_PATHS))"
            " -> Identity(*map(values.get, IDENTITY_PATHS[::-1]))",
            "in this order",
        ),
        says_none_for_an_empty_kind=(
            "Identity(*map(values.get, IDENTITY_PATHS))"
            " -> Identity(*(values.get(one) or None for one in IDENTITY_PATHS))",
            "its value is empty",
        ),
        takes_the_namespace_without_an_owner=(
            "return Identity(*map(values.get, IDENTITY_PATHS))"
            " -> who = Identity(*map(values.get, IDENTITY_PATHS))\n"
            '    return who._replace(namespace=who.namespace or values.get(("namespace",)))',
            "this `namespace` has no owner",
        ),
        stops_at_a_line_without_a_key=(
            'filter(None, map(read_key, document.split("\\n")))'
            ' -> __import__("itertools").takewhile(bool, map(read_key, document.split("\\n")))',
            "blank lines and comments change nothing",
        ),
        takes_the_keys_of_items=(
            'document.split("\\n") -> document.replace("- ", "  ").split("\\n")',
            "`read_key` gives None",
        ),
        takes_names_that_are_generated=(
            "one.name for one -> one.name.replace('generateName', 'name') for one",
            "another key than `name`",
        ),
        joins_its_names_with_dots=(
            "tuple(one.name for one in path) -> '.'.join(one.name for one in path)",
            "map(values.get, IDENTITY -> map(values.get, map('.'.join, IDENTITY",
            "PATHS)) -> PATHS)))",
            "a key may hold a dot",
        ),
        pops_once=(
            f"{ABOVE} -> path[: -1 if path and path[-1].column >= key.column else None]",
            "the path of x is metadata, labels, name",
        ),
        counts_two_columns_for_a_level=(
            f"{ABOVE} -> path[: key.column // 2]",
            "however far keys are indented",
        ),
        lets_no_key_with_a_value_own=(
            f"{ABOVE} -> (one for one in path if one.column < key.column and not one.value)",
            "has an anchor as its value",
        ),
    )
    | {
        takes_the_first_of_each: "the owner of x is `roleRef`",
        takes_the_last_of_each: "the owner of x is `roleRef`",
        expects_two_spaces: "may be indented by four spaces",
        never_leaves_metadata: "`metadata` ends with the next key in column 0",
        takes_any_metadata: "the path of y is spec, metadata, name",
        keeps_quotes_and_comments: "have no quotes and comments",
        wants_metadata_alone_on_its_line: "have no quotes and comments",
        says_empty_for_what_is_missing: "what is not there is None",
        says_none_for_what_is_empty: "its value is empty",
        asks_a_parser: "not a number",
        wants_kind_in_column_zero: "so their paths have one name",
    },
    "2.3": edits(
        next_cut,
        never_ends_with_the_block=("leaving[0] if leaving else -> ", "the block is over"),
        ends_where_any_line_is_shallower_than_the_one_above=(
            "if lines[i].depth < lines[at].depth]"
            " -> if lines[i - 1].depth > lines[i].depth <= lines[at].depth]",
            "so rule 2 decides",
        ),
        takes_the_first_of_equals=("depth, -i) -> depth, i)", "4 and 5 are equal"),
        parts_a_block_from_its_first_line=(" if not lines[i].first -> ", "next_cut("),
        takes_the_last_in_reach=("key=lambda i: (lines[i].depth, -i) -> key=lambda i: -i", "_cut("),
        takes_the_deepest=("(lines[i].depth, -i) -> (-lines[i].depth, -i)", "next_cut("),
        stops_short_of_the_limit=("start <= limit -> start < limit", "next_cut("),
        looks_beyond_the_limit=("lines[i].start <= limit -> True", "next_cut("),
        counts_the_limit_from_the_piece=("<= limit -> <= lines[at].start + limit", "next_cut("),
        compares_columns=(
            "lines[i].depth < lines[at].depth -> lines[i].depth // 2 < lines[at].depth // 2",
            "in the column of the item",
        ),
        forgets_the_end=("len(lines)) -> len(lines) - 1)", "the end has depth -1"),
        raises_where_nothing_is_in_reach=(", default=at + 1 -> ", "ValueError"),
        takes_the_last_where_all_are_firsts=(
            "reach = takewhile(lambda i: lines[i].start <= limit, range(at + 1, len(lines)))"
            " -> reach = [i for i in range(at + 1, len(lines)) if lines[i].start <= limit]",
            "default=at + 1 -> default=max(reach, default=at + 1)",
            "every line in reach is a first",
        ),
        takes_the_last_line_that_leaves=("leaving[0] -> leaving[-1]", "the block is over"),
        leaves_with_a_neighbour=("depth < lines[at].depth -> depth <= lines[at].depth", "_cut("),
        returns_the_offset=(
            "return leaving[0] if leaving else strongest"
            " -> return lines[leaving[0] if leaving else strongest].start",
            "the number of a line, not its offset",
        ),
    )
    | {
        gives_up_where_nothing_is_in_reach: "so cut before the next line",
    },
    "2.4": edits(
        cut_document,
        counts_the_content_alone=(
            "len(piece.text) <= most and fits(piece.text)"
            " -> end - start <= most and fits(text[start:end])",
            "the header counts",
        ),
        asks_the_model_about_the_content=(
            "fits(piece.text) -> fits(text[start:end])",
            "the header is in the text",
        ),
        asks_the_course_s_model=("fits(piece.text) -> fits_model(piece.text)", "this `fits`"),
        counts_the_bytes_of_a_piece=(
            "len(piece.text) <= -> len(piece.text.encode()) <=",
            "and é is one",
        ),
        stops_after_a_line_that_does_not_fit=(
            "yield piece\n -> yield piece\n            if not fits(piece.text):\n"
            "                return\n",
            "each line is a piece of its own",
        ),
        yields_two_lines_that_do_not_fit=(
            "after == at + 1 -> after <= at + 2",
            "each line is a piece of its own",
        ),
        counts_the_limit_from_the_line_s_number=(
            "limit = after, end + most -> limit = after, after + most",
            "the second piece, too",
        ),
        asks_no_model=(" and fits(piece.text) -> ", "the model would not read them"),
        asks_the_model_alone=("len(piece.text) <= most and fits -> fits", "the header counts"),
        wants_less_than_most=("len(piece.text) <= most -> len(piece.text) < most", "has 154"),
        ends_after_every_line=(
            "after = next_cut(lines, at, limit) -> after = at + 1",
            "so one piece holds all",
        ),
        gives_up_after_one_try=(
            "limit = end - 1\n -> pass\n",
            "after == at + 1 or len(piece.text) <= most and fits(piece.text) -> True",
            "the header counts",
        ),
        takes_one_line_where_the_best_does_not_fit=(
            "limit = end - 1 -> limit = start",
            "the header counts",
        ),
        never_ends=("limit = end - 1 -> pass", "did not come to an end"),
        shares_the_path_of_the_next_line=(
            "lines[at:after]) -> lines[at : after + 1])",
            "the path that all lines of the piece share",
        ),
        takes_the_path_of_the_first_line=(
            "shared_path(lines[at:after]) -> lines[at].path",
            "the path that all lines of the piece share",
        ),
        takes_the_path_of_the_last_line=(
            "shared_path(lines[at:after]) -> lines[after - 1].path",
            "the path that all lines of the piece share",
        ),
        forgets_the_path=("source_path, path, most // 2 -> source_path, '', most // 2", "header="),
        forgets_the_file=(
            "resource.identity, source_path, path -> resource.identity, '', path",
            "its file `source_path`",
        ),
        gives_a_header_all_the_room=("path, most // 2) -> path, most)", "at most half"),
        gives_a_header_the_usual_room=("path, most // 2) -> path)", "at most half"),
        writes_no_header=("header + text[start:end] -> text[start:end]", "header and content"),
        loses_a_line_that_is_too_long=(
            "yield piece -> if len(piece.text) <= most:\n                yield piece",
            "a piece of its own",
        ),
        begins_with_the_resource=(
            "start, end, path = lines[at].start, -> start, end, path = resource.start if not at"
            " else lines[at].start,",
            "only these lines are cut",
        ),
        ends_with_the_resource=(
            "lines[after].start, shared"
            " -> lines[after].start if after < len(lines) - 1 else resource.end, shared",
            "limit = end - 1 -> limit = lines[after].start - 1",
            "only these lines are cut",
        ),
        counts_from_the_resource=(
            "header, start, end, -> header, start - resource.start, end - resource.start,",
            "offsets are those of the whole file",
        ),
        returns_the_first_piece=(
            "            yield piece ->             return [piece]",
            "pieces from and to",
        ),
    )
    | {
        forgets_the_last_piece: "so one piece holds all",
        joins_what_is_left_over: "pieces from and to",
        returns_texts: "ResourcePiece",
        returns_nothing: "ResourcePiece",
    },
}
