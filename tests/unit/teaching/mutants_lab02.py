"""Wrong versions that a learner of lab 02 would plausibly write."""

import re

from course_lib.loader.kind_words import KIND_WORDS
from course_lib.loader.kubernetes import split_stream
from course_lib.loader.resource_chunks import make_header
from course_lib.loader.resource_identity import Identity, read_identity, read_key
from course_lib.loader.yaml_lines import next_cut
from course_lib.records import Span
from tests.unit.teaching.edits import edited, edits

# --- 2.1 split_stream ---


def _stretches(text, pattern=r"^---(?=\s|\Z)", flags=re.MULTILINE):
    marks = list(re.finditer(pattern, text, flags))
    starts = [0, *(mark.end() for mark in marks)]
    ends = [*(mark.start() for mark in marks), len(text)]
    return [Span(a, b, text[a:b]) for a, b in zip(starts, ends, strict=True)]


def _says(line):
    return bool(line.strip()) and not line.strip().startswith("#")


def _full(spans):
    return [span for span in spans if any(map(_says, span.text.split("\n")))]


def looks_its_documents_up(text):
    spans = split_stream(text)
    return [Span(at := text.find(s.text), at + len(s.text), s.text) for s in spans]


def _by_lines(text, lines, separates):
    spans, begin, at = [], 0, 0
    for line in lines:
        if separates(line):
            spans.append(Span(begin, at, text[begin:at]))
            begin = at + 3
        at += len(line)
    return _full([*spans, Span(begin, len(text), text[begin:])])


def knows_other_line_ends(text):
    lines = text.splitlines(keepends=True)
    return _by_lines(text, lines, lambda line: re.match(r"---(?=\s|\Z)", line))


# --- 2.2 read_identity ---


def _identity(own, children):
    return Identity(
        own.get("kind"), children.get("name"), children.get("namespace"), own.get("apiVersion")
    )


def takes_the_last_of_each(document):
    keys = {key.name: key.value for line in document.splitlines() if (key := read_key(line))}
    return _identity(keys, keys)


def takes_the_last_kind(document):
    who = read_identity(document)
    kinds = [key.value for line in document.splitlines() if (key := read_key(line))
             and key.name == "kind"]  # fmt: skip
    return who._replace(kind=kinds[-1] if kinds else None)


def takes_the_last_version(document):
    who = read_identity(document)
    found = re.findall(r"^ *apiVersion: *(.+?)\r?$", document, re.MULTILINE)
    return who._replace(api_version=found[-1] if found else None)


last_of_two = edited(
    read_identity,
    "last_of_two",
    "own.setdefault(key.name, key.value) -> own[key.name] = key.value",
)


def takes_the_keys_of_items(document):
    return last_of_two(document.replace("- ", "", 1))


def keeps_quotes_and_comments(document):
    who = read_identity(document)
    found = re.search(r"^  name: *(.*?)\r?$", document, re.MULTILINE) if who.name else None
    return who._replace(name=found[1]) if found else who


def wants_metadata_alone_on_its_line(document):
    who = read_identity(document)
    alone = re.search(r"^metadata:\r?$", document, re.M)
    return who if alone else who._replace(name=None, namespace=None)


def takes_any_metadata(document):
    found = re.search(r"metadata:\n +name: (.+)", document)
    who = read_identity(document)
    return who._replace(name=found[1]) if found else who


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


def _reach(lines, at, limit):
    return [i for i in range(at + 1, len(lines)) if lines[i].start <= limit]


def gives_up_where_nothing_is_in_reach(lines, at, limit):
    return next_cut(lines, at, limit) if _reach(lines, at, limit) else len(lines) - 1


# --- found by playing learners ---


def counts_what_stands_beside_the_dashes(text):
    full = split_stream(text)
    return [s for s in _stretches(text) if s in full or s.start and s.text.split("\n")[0].strip()]


def tidies_names_and_paths_only(resource, source_path="", where="", most=350):
    name = resource.name and " ".join(resource.name.split())
    parts = (resource.api_version, resource.kind, name)
    first = " ".join(filter(None, parts))
    if resource.namespace:
        first = f"{first} in namespace {resource.namespace}".strip()
    if resource.kind in KIND_WORDS:
        first += f": {KIND_WORDS[resource.kind]}"
    for path in (source_path, source_path.rsplit("/", 1)[-1]):
        second = " ".join(filter(None, (" ".join(path.split()), where and f"at {where}")))
        header = "".join(f"# {line}\n" for line in (first, second) if line)
        if len(header) <= most:
            return header
    return header[: most - 1] + "\n"


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
        keeps_what_is_empty=(
            'any(line and not line.startswith("#") for line in lines) -> True',
            "there is nothing before it",
        ),
        keeps_comments_alone=('line and not line.startswith("#") -> line', "holds only a comment"),
        overlooks_indented_comments=(
            "line.strip() for line in -> line for line in",
            "any(line and -> any(line.strip() and",
            "a comment may be indented",
        ),
        drops_what_begins_with_a_comment=(
            'any(line and not line.startswith("#") for line in lines)'
            ' -> (own := text[begin:end].strip()) and own[0] != "#"',
            "above and below",
        ),
        strips_its_documents=(
            "Span(begin, end, text[begin:end]) -> Span(begin, end, text[begin:end].strip())",
            "to its last line end",
        ),
        ends_comments_at_other_characters=(
            '.split("\\n") -> .splitlines()',
            "all of it is a comment",
        ),
        ends_documents_at_dots=(
            r"^---(?=\s|\Z) -> ^(?:---|\.\.\.)(?=\s|\Z)",
            "only `---` is a separator",
        ),
        takes_a_line_with_a_hash_for_a_comment=(
            'not line.startswith("#") -> "#" not in line',
            "only if it begins with",
        ),
        knows_only_spaces_before_a_comment=(
            '[line.strip() for -> [line.strip() and line.strip(" ") for',
            "a tab before a comment",
        ),
    )
    | {
        knows_other_line_ends: "U+2028 does not",
        looks_its_documents_up: "work with offsets",
        counts_what_stands_beside_the_dashes: "there is only a comment",
    },
    "2.2": edits(
        read_identity,
        takes_nested_keys=(
            "if key.column == column: -> if True:",
            "deeper than the children of `metadata`",
        ),
        never_leaves_metadata=(
            'inside, column = key.name, 0 -> inside = inside if inside == "metadata" else key.name',
            "`metadata` ends with the next key in column 0",
        ),
        takes_the_first_indented_column=(
            "inside, column = key.name, 0 -> inside = key.name",
            'elif inside == "metadata":\n            column = column or key.column'
            " -> else:\n            column = column or key.column",
            'if key.column == column: -> if inside == "metadata" and key.column == column:',
            "have a column of their own",
        ),
        takes_any_namespace_below_metadata=(
            'if key.column == column: -> if key.column == column or key.name == "namespace":',
            "y is the `namespace` of `labels`",
        ),
        says_none_for_an_empty_kind=(
            'own.get("kind") -> own.get("kind") or None',
            'own.get("apiVersion") -> own.get("apiVersion") or None',
            "gives an empty value for each",
        ),
        expects_two_spaces=(
            "column = column or key.column -> column = 2",
            "may be indented by four spaces",
        ),
        takes_the_namespace_of_column_0=(
            'children.get("namespace") -> children.get("namespace", own.get("namespace"))',
            "this `namespace` is in column 0",
        ),
        wants_metadata_last=(
            "            own.setdefault"
            ' ->             if "metadata" not in own:\n                own.setdefault',
            "`metadata` may come before `kind`",
        ),
        puts_the_version_first=(
            '(own.get("kind"), *names, own.get("apiVersion"))'
            ' -> (own.get("apiVersion"), own.get("kind"), *names)',
            "in this order",
        ),
        returns_a_plain_tuple=("return Identity( -> return (", "an Identity has"),
        takes_the_last_of_two=(
            ".setdefault(key.name, key.value) -> [key.name] = key.value",
            "the first one counts",
        ),
        keeps_the_first_column=(
            "inside, column = key.name, 0 -> inside = key.name",
            "have a column of their own",
        ),
        prefers_a_key_with_a_value=(
            "own.setdefault(key.name, key.value) -> own[key.name] = own.get(key.name) or key.value",
            "children.setdefault(key.name, key.value)"
            " -> children[key.name] = children.get(key.name) or key.value",
            "also if its value is empty",
        ),
        takes_names_that_are_generated=(
            "children.setdefault(key.name,"
            ' -> children.setdefault(key.name.replace("generateName", "name"),',
            "another key than `name`",
        ),
        takes_children_further_left=(
            "key.column == column -> key.column <= column",
            "in the column of the first: this",
        ),
    )
    | {
        takes_the_last_of_each: "deeper than the children of `metadata`",
        takes_the_last_kind: "it belongs to `roleRef`",
        takes_the_last_version: "the second `apiVersion`",
        takes_the_keys_of_items: "its keys are the item's",
        takes_any_metadata: "this `metadata` is not in column 0",
        keeps_quotes_and_comments: "have no quotes and comments",
        wants_metadata_alone_on_its_line: "have no quotes and comments",
        says_empty_for_what_is_missing: "what is not there is None",
        says_none_for_what_is_empty: "its value is empty",
        asks_a_parser: "not a number",
    },
    "2.3": edits(
        next_cut,
        never_ends_with_the_block=(
            "if lines[i].depth < lines[at].depth -> if False",
            "the block is over",
        ),
        ends_where_any_line_is_shallower_than_the_one_above=(
            "lines[i].depth < lines[at].depth"
            " -> lines[i - 1].depth > lines[i].depth <= lines[at].depth",
            "so rule 2 decides",
        ),
        takes_the_first_of_equals=("reversed(boundaries) -> boundaries", "4 and 5 are equal"),
        parts_a_block_from_its_first_line=("if not lines[i].first -> if True", "next_cut("),
        takes_the_last_in_reach=(
            "min(reversed(boundaries), key=lambda i: lines[i].depth, default"
            " -> max(boundaries, default",
            "next_cut(",
        ),
        stops_short_of_the_limit=("start > limit -> start >= limit", "next_cut("),
        looks_beyond_the_limit=(
            "if lines[i].start > limit:\n            break\n        if lines"
            " -> if lines[i].start <= limit and lines",
            "next_cut(",
        ),
        counts_the_limit_from_the_piece=("> limit -> > lines[at].start + limit", "next_cut("),
        forgets_the_end=("len(lines)) -> len(lines) - 1)", "the end has depth -1"),
        raises_where_nothing_is_in_reach=(", default=at + 1 -> ", "ValueError"),
        takes_the_last_where_all_are_firsts=(
            "boundaries = [] -> boundaries, last = [], at + 1",
            "        if not lines ->         last = i\n        if not lines",
            "default=at + 1 -> default=last",
            "every line in reach is a first",
        ),
        returns_the_offset=(
            "return i\n -> return lines[i].start\n",
            "return min( -> return lines[min(",
            "at + 1)\n -> at + 1)].start\n",
            "the number of a line, not its offset",
        ),
    )
    | {
        gives_up_where_nothing_is_in_reach: "so cut before the next line",
    },
    "2.4": edits(
        make_header,
        writes_what_is_none=(
            '" ".join(filter(None, (resource.api_version, resource.kind, resource.name)))'
            ' -> f"{resource.api_version} {resource.kind} {resource.name}"',
            "if resource.namespace -> if True",
            "a resource may have no namespace",
        ),
        forgets_the_namespace=("if resource.namespace -> if False", "in namespace shop"),
        forgets_the_words_of_the_kind=("if words -> if False", "passwords, keys"),
        wants_words_for_every_kind=(
            'KIND_WORDS.get(resource.kind or "") -> KIND_WORDS[resource.kind]',
            "no words for this kind",
        ),
        writes_a_colon_without_words=(
            "if words: -> if who:",
            ": {words} -> : {words or ''}",
            "no words for this kind",
        ),
        forgets_where_inside=("if where else -> if False else", "at data"),
        always_says_at=(" if where else path -> ", "so there is no `at`"),
        is_no_comment=("# {line} -> {line}", "each is a comment"),
        writes_empty_lines=("in lines if line -> in lines", "an empty line is left out"),
        ends_without_a_line_end=(
            'return header\n -> return header.rstrip("\\n")\n',
            "ends with a line feed",
        ),
        leaves_tabs=(
            '" ".join(line.split()) -> line.replace("\\n", " ").replace("  ", " ")',
            "white space characters in a row",
        ),
        keeps_line_breaks=(
            '" ".join(line.split()) for -> line for',
            "white space characters in a row",
        ),
        puts_the_kind_first=(
            "resource.api_version, resource.kind -> resource.kind, resource.api_version",
            "there are two lines",
        ),
        cuts_and_keeps_the_folders=(
            "posixpath.basename(source_path) -> source_path",
            "so it loses its folders",
        ),
        drops_one_folder=(
            'posixpath.basename(source_path) -> source_path.partition("/")[2] or source_path',
            "so it loses its folders, and only these",
        ),
        drops_the_file_with_its_folders=('posixpath.basename(source_path) -> ""', "and only these"),
        never_keeps_the_folders=(
            "(source_path, posixpath -> (posixpath.basename(source_path), posixpath",
            "there are two lines",
        ),
        counts_no_line_end=(
            "<= most -> <= most + 1",
            "most - 1] -> most]",
            "one character too long",
        ),
        drops_what_is_just_short_enough=("<= most -> < most", "as many as it may have"),
        cuts_without_a_line_end=(
            'header[: most - 1] + "\\n" -> header[:most]',
            "its line feed counts",
        ),
        cuts_and_adds_a_line_end=("most - 1] -> most]", "its line feed counts"),
        drops_a_line_that_is_too_long=(
            'header[: most - 1] + "\\n" -> header.split("\\n")[0] + "\\n"',
            "still too long",
        ),
    )
    | {
        tidies_names_and_paths_only: "also in kind, namespace and place",
    },
}
