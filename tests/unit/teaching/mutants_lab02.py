"""Wrong versions that a learner of lab 02 would plausibly write."""

import re

from course_lib.loader.kind_words import KIND_WORDS
from course_lib.loader.resource_identity import Identity, read_key
from course_lib.records import Span

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


def splits_at_any_dashes(text):
    return _full(_stretches(text, "---"))


def splits_at_whole_lines(text):
    return _full(_stretches(text, r"\n---\n"))


def takes_the_line_end_along(text):
    return _full(_stretches(text, r"^---\s"))


def knows_no_end_of_text(text):
    return _full(_stretches(text, r"^---(?=\s)"))


def knows_no_first_line(text):
    return _full(_stretches(text, r"(?<=\n)---(?=\s|\Z)"))


def sees_every_line_that_begins_with_dashes(text):
    return _full(_stretches(text, r"^---"))


def strips_before_it_looks(text):
    return _full(_stretches(text, r"^ *---(?=\s|\Z)"))


def drops_the_rest_of_the_line(text):
    return _full(_stretches(text, r"^---(?=\s|\Z).*"))


def sees_unix_lines_only(text):
    return _full(_stretches(text, r"^---(?=[ \t\n]|\Z)"))


def knows_no_tab(text):
    return _full(_stretches(text, r"^---(?=[ \r\n]|\Z)"))


def keeps_what_is_empty(text):
    return _stretches(text)


def keeps_comments_alone(text):
    return [span for span in _stretches(text) if span.text.strip()]


def overlooks_indented_comments(text):
    spans = _stretches(text)
    return [s for s in spans if any(x.strip() and x[0] != "#" for x in s.text.splitlines())]


def drops_what_begins_with_a_comment(text):
    return [span for span in _stretches(text) if _says(span.text.strip())]


def drops_what_ends_with_a_comment(text):
    return [span for span in _stretches(text) if _says(span.text.strip().split("\n")[-1])]


def strips_its_documents(text):
    return [Span(span.start, span.end, span.text.strip()) for span in _full(_stretches(text))]


def looks_its_documents_up(text):
    spans = _full(_stretches(text))
    return [Span(at := text.find(s.text), at + len(s.text), s.text) for s in spans]


def _by_lines(text, lines, separates):
    spans, begin, at = [], 0, 0
    for line in lines:
        if separates(line):
            spans.append(Span(begin, at, text[begin:at]))
            begin = at + 3
        at += len(line)
    return _full([*spans, Span(begin, len(text), text[begin:])])


def wants_a_space_before_the_rest(text):
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    return _by_lines(text, lines, lambda line: line.rstrip() == "---" or line.startswith("--- "))


def knows_other_line_ends(text):
    lines = text.splitlines(keepends=True)
    return _by_lines(text, lines, lambda line: re.match(r"---(?=\s|\Z)", line))


# --- 2.2 read_identity ---


def _read(document, *, column=None, resets=True, nested=False, spot="metadata"):
    own, children, inside, first = {}, {}, "", 0
    for line in document.splitlines():
        key = read_key(line)
        if key is None:
            continue
        if key.column == 0:
            own[key.name] = key.value
            if resets or key.name == spot:
                inside, first = key.name, 0
        elif inside == spot:
            first = first or (key.column if column is None else column)
            if nested or key.column == first:
                children.setdefault(key.name, key.value)
    return own, children


def _identity(own, children):
    return Identity(
        own.get("kind"), children.get("name"), children.get("namespace"), own.get("apiVersion")
    )


def takes_the_first_of_each(document):
    keys = {}
    for line in document.splitlines():
        if key := read_key(line):
            keys.setdefault(key.name, key.value)
    return _identity(keys, keys)


def takes_the_last_of_each(document):
    keys = {key.name: key.value for line in document.splitlines() if (key := read_key(line))}
    return _identity(keys, keys)


def takes_the_last_kind(document):
    who = _identity(*_read(document))
    kinds = [key.value for line in document.splitlines() if (key := read_key(line))
             and key.name == "kind"]  # fmt: skip
    return who._replace(kind=kinds[-1] if kinds else None)


def takes_the_last_version(document):
    who = _identity(*_read(document))
    found = re.findall(r"^ *apiVersion: *(.+?)\r?$", document, re.MULTILINE)
    return who._replace(api_version=found[-1] if found else None)


def takes_the_keys_of_items(document):
    return _identity(*_read(document.replace("- ", "", 1)))


def keeps_quotes_and_comments(document):
    who = _identity(*_read(document))
    found = re.search(r"^  name: *(.*?)\r?$", document, re.MULTILINE) if who.name else None
    return who._replace(name=found[1]) if found else who


def wants_metadata_alone_on_its_line(document):
    own, children = _read(document)
    return _identity(own, children if re.search(r"^metadata:\r?$", document, re.M) else {})


def takes_nested_keys(document):
    return _identity(*_read(document, nested=True))


def never_leaves_metadata(document):
    return _identity(*_read(document, resets=False))


def expects_two_spaces(document):
    return _identity(*_read(document, column=2))


def takes_the_namespace_of_column_0(document):
    own, children = _read(document)
    return _identity(own, {"namespace": own.get("namespace")} | children)


def wants_metadata_last(document):
    head = document.split("metadata:")[0]
    return _identity(_read(head)[0], _read(document)[1])


def takes_any_metadata(document):
    found = re.search(r"metadata:\n +name: (.+)", document)
    who = _identity(*_read(document))
    return who._replace(name=found[1]) if found else who


def says_empty_for_what_is_missing(document):
    return Identity(*(value or "" for value in _identity(*_read(document))))


def says_none_for_what_is_empty(document):
    return Identity(*(value or None for value in _identity(*_read(document))))


def puts_the_version_first(document):
    kind, name, namespace, version = _identity(*_read(document))
    return Identity(version, kind, name, namespace)


def returns_a_plain_tuple(document):
    return tuple(_identity(*_read(document)))


def asks_a_parser(document):
    import yaml

    loaded = yaml.safe_load(document)
    own = loaded if isinstance(loaded, dict) else {}
    return _identity(own, own.get("metadata") or {})


def takes_the_first_indented_column(document):
    keys = filter(None, map(read_key, document.splitlines()))
    column = next((key.column for key in keys if key.column), 0)
    return _identity(*_read(document, column=column))


def takes_any_namespace_below_metadata(document):
    own, children = _read(document)
    return _identity(own, _read(document, nested=True)[1] | children)._replace(
        name=children.get("name")
    )


def says_none_for_an_empty_kind(document):
    who = _identity(*_read(document))
    return who._replace(kind=who.kind or None, api_version=who.api_version or None)


def takes_the_last_of_two(document):
    own, children, inside, first = {}, {}, "", 0
    for line in document.splitlines():
        key = read_key(line)
        if key and key.column == 0:
            own[key.name] = key.value
            inside, first = key.name, 0
        elif key and inside == "metadata":
            first = first or key.column
            if key.column == first:
                children[key.name] = key.value
    return _identity(own, children)


# --- 2.3 next_cut ---


def _reach(lines, at, limit):
    return [i for i in range(at + 1, len(lines)) if lines[i].start <= limit]


def _depth(lines):
    return lambda i: lines[i].depth


def _ended(lines, at, limit):
    return next((i for i in _reach(lines, at, limit) if lines[i].depth < lines[at].depth), None)


def _right(lines, at, limit, *, within=None, ended=_ended):
    within = _reach(lines, at, limit) if within is None else within
    if (end := ended(lines, at, limit)) is not None:
        return end
    boundaries = [i for i in reversed(within) if not lines[i].first]
    return min(boundaries, key=_depth(lines), default=at + 1)


def never_ends_with_the_block(lines, at, limit):
    return _right(lines, at, limit, ended=lambda *_: None)


def ends_with_the_outermost_block(lines, at, limit):
    within = [i for i in _reach(lines, at, limit) if lines[i].depth < lines[at].depth]
    return within[-1] if within else _right(lines, at, limit)


def ends_at_the_next_sibling(lines, at, limit):
    within = [i for i in _reach(lines, at, limit) if lines[i].depth <= lines[at].depth]
    return within[0] if within else _right(lines, at, limit)


def ends_where_any_line_is_shallower_than_the_one_above(lines, at, limit):
    within = [i for i in _reach(lines, at, limit) if lines[i].depth < lines[i - 1].depth]
    ends = [i for i in within if lines[i].depth <= lines[at].depth]
    return ends[0] if ends else _right(lines, at, limit)


def takes_the_first_of_equals(lines, at, limit):
    if (end := _ended(lines, at, limit)) is not None:
        return end
    boundaries = [i for i in _reach(lines, at, limit) if not lines[i].first]
    return min(boundaries, key=_depth(lines), default=at + 1)


def parts_a_block_from_its_first_line(lines, at, limit):
    if (end := _ended(lines, at, limit)) is not None:
        return end
    return min(reversed(_reach(lines, at, limit)), key=_depth(lines), default=at + 1)


def takes_the_last_in_reach(lines, at, limit):
    if (end := _ended(lines, at, limit)) is not None:
        return end
    return max((i for i in _reach(lines, at, limit) if not lines[i].first), default=at + 1)


def stops_short_of_the_limit(lines, at, limit):
    return _right(lines, at, limit - 1)


def looks_beyond_the_limit(lines, at, limit):
    return _right(lines, at, limit, within=list(range(at + 1, len(lines))))


def counts_the_limit_from_the_piece(lines, at, limit):
    return _right(lines, at, lines[at].start + limit)


def forgets_the_end(lines, at, limit):
    return _right(lines[:-1], at, limit)


def raises_where_nothing_is_in_reach(lines, at, limit):
    if (end := _ended(lines, at, limit)) is not None:
        return end
    boundaries = [i for i in reversed(_reach(lines, at, limit)) if not lines[i].first]
    return min(boundaries, key=_depth(lines))


def takes_the_last_where_all_are_firsts(lines, at, limit):
    if (end := _ended(lines, at, limit)) is not None:
        return end
    within = _reach(lines, at, limit)
    boundaries = [i for i in reversed(within) if not lines[i].first] or within[-1:]
    return min(boundaries, key=_depth(lines), default=at + 1)


def gives_up_where_nothing_is_in_reach(lines, at, limit):
    return _right(lines, at, limit) if _reach(lines, at, limit) else len(lines) - 1


def returns_the_offset(lines, at, limit):
    return lines[_right(lines, at, limit)].start


# --- 2.4 make_header ---


def _who(resource):
    who = " ".join(filter(None, (resource.api_version, resource.kind, resource.name)))
    if resource.namespace:
        who += f"{' ' if who else ''}in namespace {resource.namespace}"
    return who + (f": {KIND_WORDS[resource.kind]}" if resource.kind in KIND_WORDS else "")


def _where(path, where):
    return " ".join(filter(None, (path, where and f"at {where}")))


def _lines(*lines):
    return "".join(f"# {' '.join(line.split())}\n" for line in lines if line)


def _base(path):
    return path.rpartition("/")[2]


def _cut(header, most):
    return header[: most - 1] + "\n"


def _header(
    resource,
    source_path="",
    where="",
    most=350,
    *,
    who=_who,
    at=_where,
    lines=_lines,
    base=_base,
    cut=_cut,
):
    """Make a right header, unless one of the steps is replaced by a wrong one."""
    for path in (source_path, base(source_path)):
        header = lines(who(resource), at(path, where))
        if len(header) <= most:
            return header
    return cut(header, most)


def _named(resource):
    return " ".join(filter(None, (resource.api_version, resource.kind, resource.name)))


def _nones(resource):
    who = f"{resource.api_version} {resource.kind} {resource.name} in namespace"
    words = KIND_WORDS.get(resource.kind)
    return f"{who} {resource.namespace}" + (f": {words}" if words else "")


def _colon(resource):
    who = _who(resource)
    return who if ":" in who or not who else f"{who}: "


def _kind_first(resource):
    words = _who(resource).split(" ")
    return " ".join([*words[1:2], *words[:1], *words[2:]])


def writes_what_is_none(*given, **named):
    return _header(*given, **named, who=_nones)


def forgets_the_namespace(*given, **named):
    return _header(*given, **named, who=_named)


def forgets_the_words_of_the_kind(*given, **named):
    return _header(*given, **named, who=lambda resource: _who(resource).partition(":")[0])


def wants_words_for_every_kind(*given, **named):
    return _header(
        *given, **named, who=lambda resource: KIND_WORDS[resource.kind] and _who(resource)
    )


def writes_a_colon_without_words(*given, **named):
    return _header(*given, **named, who=_colon)


def puts_the_kind_first(*given, **named):
    return _header(*given, **named, who=_kind_first)


def forgets_where_inside(*given, **named):
    return _header(*given, **named, at=lambda path, where: path)


def always_says_at(*given, **named):
    return _header(*given, **named, at=lambda path, where: f"{path} at {where}")


def is_no_comment(*given, **named):
    return _header(*given, **named, lines=lambda *lines: _lines(*lines).replace("# ", ""))


def writes_empty_lines(*given, **named):
    return _header(*given, **named, lines=lambda *lines: "".join(f"# {line}\n" for line in lines))


def ends_without_a_line_end(*given, **named):
    return _header(*given, **named, lines=lambda *lines: _lines(*lines).rstrip("\n"))


def keeps_line_breaks(*given, **named):
    return _header(
        *given, **named, lines=lambda *lines: "".join(f"# {one}\n" for one in lines if one)
    )


def leaves_tabs(*given, **named):
    return _header(
        *given,
        **named,
        lines=lambda *lines: "".join(
            "# " + re.sub(r" +|\n", " ", one) + "\n" for one in lines if one
        ),
    )


def cuts_and_keeps_the_folders(*given, **named):
    return _header(*given, **named, base=lambda path: path)


def drops_one_folder(*given, **named):
    return _header(*given, **named, base=lambda path: path.partition("/")[2] or path)


def drops_the_file_with_its_folders(*given, **named):
    return _header(*given, **named, base=lambda path: "")


def cuts_without_a_line_end(*given, **named):
    return _header(*given, **named, cut=lambda header, most: header[:most])


def cuts_and_adds_a_line_end(*given, **named):
    return _header(*given, **named, cut=lambda header, most: header[:most] + "\n")


def never_cuts(*given, **named):
    return _header(*given, **named, cut=lambda header, most: header)


def drops_a_line_that_is_too_long(*given, **named):
    return _header(*given, **named, cut=lambda header, most: header.split("\n")[0] + "\n")


def never_keeps_the_folders(resource, source_path="", where="", most=350):
    return _header(resource, _base(source_path), where, most)


def counts_no_line_end(resource, source_path="", where="", most=350):
    return _header(resource, source_path, where, most + 1)


def drops_what_is_just_short_enough(resource, source_path="", where="", most=350):
    return _header(resource, source_path, where, most - 1)


# --- found by playing learners ---


def ends_comments_at_other_characters(text):
    spans = _stretches(text)
    return [span for span in spans if any(map(_says, span.text.splitlines()))]


def ends_documents_at_dots(text):
    return _full(_stretches(text, r"^(?:---|\.\.\.)(?=\s|\Z)"))


def takes_a_line_with_a_hash_for_a_comment(text):
    lines = {span: span.text.split("\n") for span in _stretches(text)}
    return [s for s, own in lines.items() if any(one.strip() and "#" not in one for one in own)]


def _first_of_two(document, *, own_column=True, is_there=lambda found, name: name in found):
    found, inside, column = {}, False, None
    for line in document.split("\n"):
        if not (key := read_key(line)):
            continue
        if key.column == 0:
            inside = key.name == "metadata"
            column = None if own_column else column
        elif inside and column is None:
            column = key.column
        names = ("kind", "apiVersion") if key.column == 0 else ("name", "namespace")
        counts = key.column == 0 or inside and key.column == column
        if counts and key.name in names and not is_there(found, key.name):
            found[key.name] = key.value
    return Identity(*map(found.get, ("kind", "name", "namespace", "apiVersion")))


def keeps_the_first_column(document):
    return _first_of_two(document, own_column=False)


def prefers_a_key_with_a_value(document):
    return _first_of_two(document, is_there=lambda found, name: found.get(name))


def knows_only_spaces_before_a_comment(text):
    lines = {span: span.text.split("\n") for span in _stretches(text)}
    return [
        span
        for span, own in lines.items()
        if any(one.strip() and one.strip(" ")[0] != "#" for one in own)
    ]


def counts_what_stands_beside_the_dashes(text):
    full = _full(_stretches(text))
    return [s for s in _stretches(text) if s in full or s.start and s.text.split("\n")[0].strip()]


def _with_other_children(document, is_child=lambda column, first: column == first, alike=()):
    found, inside, first = {}, False, None
    for line in document.split("\n"):
        if not (key := read_key(line)):
            continue
        if key.column == 0:
            inside, first = key.name == "metadata", None
        elif inside and first is None:
            first = key.column
        name = "name" if key.name in alike else key.name
        names = ("kind", "apiVersion") if key.column == 0 else ("name", "namespace")
        if name in names and (key.column == 0 or inside and is_child(key.column, first)):
            found.setdefault(name, key.value)
    return Identity(*map(found.get, ("kind", "name", "namespace", "apiVersion")))


def takes_names_that_are_generated(document):
    return _with_other_children(document, alike=("generateName",))


def takes_children_further_left(document):
    return _with_other_children(document, is_child=lambda column, first: column <= first)


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
    "2.1": {
        splits_at_any_dashes: "a separator begins its line",
        splits_at_whole_lines: "directly after the three dashes",
        takes_the_line_end_along: "directly after the three dashes",
        knows_no_end_of_text: "the end of the text may follow the dashes",
        knows_no_first_line: "a separator may be the first line",
        sees_every_line_that_begins_with_dashes: "here it is a letter",
        strips_before_it_looks: "indented dashes are text",
        drops_the_rest_of_the_line: "the rest of the separator's line",
        sees_unix_lines_only: "lines may end with CRLF",
        knows_no_tab: "a tab is white space",
        wants_a_space_before_the_rest: "a tab is white space",
        knows_other_line_ends: "U+2028 does not",
        keeps_what_is_empty: "there is nothing before it",
        keeps_comments_alone: "holds only a comment",
        overlooks_indented_comments: "a comment may be indented",
        drops_what_begins_with_a_comment: "above and below",
        drops_what_ends_with_a_comment: "above and below",
        strips_its_documents: "to its last line end",
        looks_its_documents_up: "work with offsets",
        ends_comments_at_other_characters: "all of it is a comment",
        ends_documents_at_dots: "only `---` is a separator",
        takes_a_line_with_a_hash_for_a_comment: "only if it begins with",
        knows_only_spaces_before_a_comment: "a tab before a comment",
        counts_what_stands_beside_the_dashes: "there is only a comment",
    },
    "2.2": {
        takes_the_first_of_each: "deeper than the children of `metadata`",
        takes_the_last_of_each: "deeper than the children of `metadata`",
        takes_the_last_kind: "it belongs to `roleRef`",
        takes_the_last_version: "the second `apiVersion`",
        takes_the_keys_of_items: "its keys are the item's",
        takes_nested_keys: "deeper than the children of `metadata`",
        never_leaves_metadata: "`metadata` ends with the next key in column 0",
        takes_the_first_indented_column: "have a column of their own",
        takes_any_namespace_below_metadata: "y is the `namespace` of `labels`",
        says_none_for_an_empty_kind: "gives an empty value for each",
        expects_two_spaces: "may be indented by four spaces",
        takes_the_namespace_of_column_0: "this `namespace` is in column 0",
        wants_metadata_last: "`metadata` may come before `kind`",
        takes_any_metadata: "this `metadata` is not in column 0",
        keeps_quotes_and_comments: "have no quotes and comments",
        wants_metadata_alone_on_its_line: "have no quotes and comments",
        says_empty_for_what_is_missing: "what is not there is None",
        says_none_for_what_is_empty: "its value is empty",
        puts_the_version_first: "in this order",
        returns_a_plain_tuple: "an Identity has",
        asks_a_parser: "not a number",
        takes_the_last_of_two: "the first one counts",
        keeps_the_first_column: "have a column of their own",
        prefers_a_key_with_a_value: "also if its value is empty",
        takes_names_that_are_generated: "another key than `name`",
        takes_children_further_left: "in the column of the first: this",
    },
    "2.3": {
        never_ends_with_the_block: "the block is over",
        ends_with_the_outermost_block: "next_cut(",
        ends_at_the_next_sibling: "next_cut(",
        ends_where_any_line_is_shallower_than_the_one_above: "so rule 2 decides",
        takes_the_first_of_equals: "4 and 5 are equal",
        parts_a_block_from_its_first_line: "next_cut(",
        takes_the_last_in_reach: "next_cut(",
        stops_short_of_the_limit: "next_cut(",
        looks_beyond_the_limit: "next_cut(",
        counts_the_limit_from_the_piece: "next_cut(",
        forgets_the_end: "the end has depth -1",
        raises_where_nothing_is_in_reach: "ValueError",
        takes_the_last_where_all_are_firsts: "every line in reach is a first",
        gives_up_where_nothing_is_in_reach: "so cut before the next line",
        returns_the_offset: "the number of a line, not its offset",
    },
    "2.4": {
        writes_what_is_none: "a resource may have no namespace",
        forgets_the_namespace: "in namespace shop",
        forgets_the_words_of_the_kind: "passwords, keys",
        wants_words_for_every_kind: "no words for this kind",
        writes_a_colon_without_words: "no words for this kind",
        forgets_where_inside: "at data",
        always_says_at: "so there is no `at`",
        is_no_comment: "each is a comment",
        writes_empty_lines: "an empty line is left out",
        ends_without_a_line_end: "ends with a line feed",
        leaves_tabs: "white space characters in a row",
        keeps_line_breaks: "white space characters in a row",
        puts_the_kind_first: "there are two lines",
        cuts_and_keeps_the_folders: "so it loses its folders",
        drops_one_folder: "so it loses its folders, and only these",
        drops_the_file_with_its_folders: "and only these",
        never_keeps_the_folders: "there are two lines",
        counts_no_line_end: "one character too long",
        drops_what_is_just_short_enough: "as many as it may have",
        cuts_without_a_line_end: "its line feed counts",
        cuts_and_adds_a_line_end: "its line feed counts",
        never_cuts: "still too long",
        drops_a_line_that_is_too_long: "still too long",
        tidies_names_and_paths_only: "also in kind, namespace and place",
    },
}
