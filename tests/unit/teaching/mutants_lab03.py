"""Wrong answers to lab 03 that a learner would plausibly write; see `mutants_lab01.py`."""

import hashlib
import json
import re
import unicodedata
from dataclasses import replace
from itertools import pairwise

from pydantic import ValidationError

from course_lib.records import Chunk, Span
from course_lib.teaching.checks import load
from course_lib.teaching.lab.reference import reference

EXERCISES = load("03")
mask = reference("03", EXERCISES["3.1"])
split_definitions = reference("03", EXERCISES["3.2"])
content_hash = reference("03", EXERCISES["3.4"])
TOKENS = mask.__globals__["TOKENS"]
STARTS, ABOVE = (split_definitions.__globals__[name] for name in ("STARTS", "ABOVE"))
INVALID, REJECTED = "KB_PARSED_CHUNK_INVALID", "KB_PARSED_CHUNK_EMBEDDING_REJECTED"

# --- 3.1 mask ---


def _mask(text, language, hide, count=0):
    def hidden(token):
        return token[0] if token["long"] is None else hide(token[0])

    return re.sub(TOKENS[language], hidden, text, flags=re.DOTALL, count=count)


def cuts_the_literals_out(text, language):
    return _mask(text, language, lambda literal: "")


def keeps_the_line_ends(text, language):
    return _mask(text, language, lambda literal: re.sub(r"[^\n]", "x", literal))


def keeps_the_quotes(text, language):
    return _mask(
        text, language, lambda literal: literal[0] + "x" * len(literal[1:-1]) + literal[-1]
    )


def hides_the_first_alone(text, language):
    return _mask(text, language, lambda literal: "x" * len(literal), count=1)


def hides_comments_too(text, language):
    return re.sub(TOKENS[language], lambda token: "x" * len(token[0]), text, flags=re.DOTALL)


def counts_bytes(text, language):
    return _mask(text, language, lambda literal: "x" * len(literal.encode()))


def replaces_equal_texts_too(text, language):
    for token in re.finditer(TOKENS[language], text, re.DOTALL):
        if token["long"]:
            text = text.replace(token["long"], "x" * len(token["long"]))
    return text


def goes_by_the_opening(text, language):
    def hidden(token):
        opens = token[0].startswith(("`", '"""', "'''", "<<"))
        return "x" * len(token[0]) if opens else token[0]

    return re.sub(TOKENS[language], hidden, text, flags=re.DOTALL)


# --- 3.2 split_definitions ---


def _cut(text, names):
    return [(names[a], Span(a, b, text[a:b])) for a, b in pairwise([*sorted(names), len(text)])]


def _split(text, language, *, masked=None, climbed=None, climb=99, belongs=None, empty=False):
    masked = mask(text, language) if masked is None else masked
    climbed = masked if climbed is None else climbed
    belongs = belongs or (lambda line: line.startswith(ABOVE))
    names = {0: ""}
    for match in re.finditer(STARTS[language], masked, re.MULTILINE):
        start = match.start()
        for _ in range(climb):
            line = climbed.rfind("\n", 0, max(start - 1, 0)) + 1
            if start == 0 or not belongs(climbed[line:start]):
                break
            start = line
        names[start] = match["name"]
    return [pair for pair in _cut(text, names) if pair[1].text or empty]


def searches_the_text_itself(text, language):
    return _split(text, language, masked=text)


def cuts_the_masked_text(text, language):
    return _cut(
        mask(text, language), {s.start: name for name, s in split_definitions(text, language)}
    )


def climbs_in_the_text_itself(text, language):
    return _split(text, language, climbed=text)


def leaves_comments_behind(text, language):
    return _split(text, language, climb=0)


def climbs_one_line(text, language):
    return _split(text, language, climb=1)


def climbs_over_blank_lines(text, language):
    return _split(text, language, belongs=lambda line: line.startswith((*ABOVE, "\n")))


def gives_empty_pieces(text, language):
    return _split(text, language, empty=True)


def drops_what_comes_first(text, language):
    return [pair for pair in split_definitions(text, language) if pair[0]]


def strips_its_pieces(text, language):
    pieces = [(name, span.start, span.text.rstrip()) for name, span in _split(text, language)]
    return [(name, Span(at, at + len(own), own)) for name, at, own in pieces]


def takes_indented_definitions(text, language):
    masked = re.sub(r"^ +(?=def)", lambda blanks: "", mask(text, language), flags=re.MULTILINE)
    return _split(text, language, masked=masked)


def takes_indented_comments(text, language):
    return _split(text, language, belongs=lambda line: line.lstrip().startswith(ABOVE))


def passes_over_nameless_definitions(text, language):
    named = {span.start: name for name, span in split_definitions(text, language) if name}
    return [pair for pair in _cut(text, {0: ""} | named) if pair[1].text]


def looks_its_pieces_up(text, language):
    pieces = [(name, span.text) for name, span in split_definitions(text, language)]
    return [(name, Span(at := text.find(own), at + len(own), own)) for name, own in pieces]


def gives_every_line_a_line_end(text, language):
    return split_definitions("".join(f"{line}\n" for line in text.splitlines()), language)


# --- 3.3 judge ---


def _chunk(record):
    return Chunk.model_validate(record, strict=True, by_alias=True, by_name=False)


def _judge(lines, take=_chunk, start=1, has_vector=None, field=None, which=0):
    has_vector = has_vector or (lambda record: isinstance(record, dict) and "embedding" in record)
    field = field or (lambda place: place[0] if place else "record")
    chunks, reports = [], []
    for number, line in enumerate(lines, start):
        try:
            record = json.loads(line)
            if has_vector(record):
                reports.append((number, REJECTED, "embedding"))
                continue
            chunks.append(take(record))
        except ValidationError as error:
            reports.append((number, INVALID, field(error.errors()[which]["loc"])))
        except ValueError:
            reports.append((number, INVALID, "record"))
    return chunks, reports


def stops_at_the_first_bad_line(lines):
    chunks, reports = [], []
    try:
        for line in lines:
            chunks.append(_chunk(json.loads(line)))
    except ValueError:
        reports.append((len(chunks) + 1, INVALID, "record"))
    return chunks, reports


def takes_numbers_as_strings(lines):
    return _judge(lines, take=Chunk.model_validate)


def takes_the_names_of_python(lines):
    return _judge(lines, take=lambda record: Chunk.model_validate(record, strict=True))


def has_one_code_for_all(lines):
    return _judge(lines, has_vector=lambda record: False)


def looks_into_strings(lines):
    return _judge(lines, has_vector=lambda record: "embedding" in (record or ()))


def takes_an_empty_embedding(lines):
    return _judge(lines, has_vector=lambda r: isinstance(r, dict) and r.get("embedding"))


def counts_from_zero(lines):
    return _judge(lines, start=0)


def gives_the_whole_place(lines):
    return _judge(lines, field=lambda place: ".".join(map(str, place)) or "record")


def stumbles_over_an_empty_place(lines):
    return _judge(lines, field=lambda place: place[0])


def catches_the_wide_error_first(lines):
    return _judge(lines, field=lambda place: "record")


def returns_the_records(lines):
    chunks, reports = _judge(lines)
    return [json.loads(chunk.to_json()) for chunk in chunks], reports


def leaves_blank_lines_out(lines):
    return _judge([line for line in lines if line.strip()])


def looks_for_the_word(lines):
    return _judge(lines, has_vector=lambda record: '"embedding":' in json.dumps(record))


def takes_the_last_error(lines):
    return _judge(lines, which=-1)


# --- 3.4 content_hash ---


def _digest(chunk, names=None, length=len, text=None, first=("tenantId", "repoSlug")):
    def canonical(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    record = json.loads(chunk.to_json())
    digest = hashlib.sha256()
    for name in [*first, *(names or chunk.hash_inputs)]:
        value = record.get(name, "")
        value = value if isinstance(value, str) else (text or canonical)(value)
        prefix = length(value.encode()) if length else ""
        digest.update(f"{prefix}{':' if length else ''}{value}".encode())
    return digest


def writes_no_lengths(chunk):
    return _digest(chunk, length=None).hexdigest()


def counts_characters(chunk):
    return _digest(chunk, length=lambda raw: len(raw.decode())).hexdigest()


def forgets_the_tenant(chunk):
    return _digest(chunk, first=("repoSlug",)).hexdigest()


def sorts_the_names(chunk):
    return _digest(chunk, names=sorted(chunk.hash_inputs)).hexdigest()


def skips_what_is_unset(chunk):
    record = json.loads(chunk.to_json())
    return _digest(chunk, names=[name for name in chunk.hash_inputs if name in record]).hexdigest()


def leaves_blanks_in_json(chunk):
    return _digest(chunk, text=json.dumps).hexdigest()


def returns_bytes(chunk):
    return _digest(chunk).digest()


def _of_changed(chunk, **change):
    return content_hash(chunk.model_copy(update=change))


def collapses_white_space(chunk):
    return _of_changed(chunk, content=" ".join(chunk.content.split()))


def unifies_line_ends(chunk):
    return _of_changed(chunk, content=chunk.content.replace("\r\n", "\n"))


def composes_accents(chunk):
    return _of_changed(chunk, content=unicodedata.normalize("NFC", chunk.content))


def takes_empty_for_unset(chunk):
    return _digest(chunk, text=lambda value: json.dumps(value) if value else "").hexdigest()


def names_each_field_once(chunk):
    names = [one for one in chunk.hash_inputs if one not in ("tenantId", "repoSlug")]
    return _of_changed(chunk, hash_inputs=names)


def takes_the_names_of_python_s_fields(chunk):
    return _of_changed(chunk, hash_inputs=[n.replace("sourcePath", "") for n in chunk.hash_inputs])


def sorts_the_outer_keys_alone(chunk):
    def text(value):
        value = dict(sorted(value.items())) if isinstance(value, dict) else value
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    return _digest(chunk, text=text).hexdigest()


# --- 3.5 parse_proto ---


def _parse(file, tenant_context, change=lambda values: {}, pieces=None):
    chunks = []
    for name, span in pieces or split_definitions(file.content, "proto"):
        if not span.text.strip():
            continue
        line = file.content.count("\n", 0, span.start) + 1
        values = {
            "tenant_id": tenant_context.tenant,
            "repo_slug": tenant_context.repo,
            "root_kind": "external-source",
            "source_path": file.name,
            "content": span.text,
            "hash_inputs": ["content", "name", "sourcePath", "parserId", "parserVersion"],
            "parser_id": "proto",
            "parser_version": "1.0.0",
            "kind": "definition",
            "name": name or file.name.rsplit("/", 1)[-1],
            "line_start": line,
            "line_end": line + span.text.rstrip().count("\n"),
            "custom_meta": {"chunkIndex": len(chunks)},
        }
        chunks.append(Chunk(**values | change(values)))
    return chunks


def hard_codes_the_tenant(file, tenant_context):
    return _parse(file, tenant_context, lambda values: {"tenant_id": "acme"})


def counts_the_blank_lines_at_the_end(file, tenant_context):
    def change(values):
        return {"line_end": values["line_start"] + values["content"].count("\n")}

    return _parse(file, tenant_context, change)


def counts_lines_within_the_piece(file, tenant_context):
    return _parse(file, tenant_context, lambda values: {"line_start": 1})


def numbers_every_chunk_zero(file, tenant_context):
    return _parse(file, tenant_context, lambda values: {"custom_meta": {"chunkIndex": 0}})


def strips_the_content(file, tenant_context):
    return _parse(file, tenant_context, lambda values: {"content": values["content"].strip()})


def finds_messages_in_comments(file, tenant_context):
    pieces = _split(file.content, "proto", masked=file.content)
    return _parse(file, tenant_context, pieces=pieces)


def keeps_white_space(file, tenant_context):
    blank = [pair for pair in split_definitions(file.content, "proto") if pair[1].text.isspace()]
    return [None for _ in blank] + _parse(file, tenant_context)


def numbers_white_space_too(file, tenant_context):
    chunks = []
    for index, (name, span) in enumerate(split_definitions(file.content, "proto")):
        chunks += _parse(
            file,
            tenant_context,
            lambda values, index=index: {"custom_meta": {"chunkIndex": index}},
            pieces=[(name, span)],
        )
    return chunks


def takes_the_path_it_was_read_from(file, tenant_context):
    return _parse(file, tenant_context, lambda values: {"source_path": file.path.as_posix()})


def keeps_a_folder_in_the_name(file, tenant_context):
    def change(values):
        return {"name": values["name"].replace("ask.proto", file.name.split("/", 1)[-1])}

    return _parse(file, tenant_context, change)


def counts_from_the_first_line_with_text(file, tenant_context):
    def change(values):
        blank = len(values["content"]) - len(values["content"].lstrip())
        return {"line_start": values["line_start"] + values["content"].count("\n", 0, blank)}

    return _parse(file, tenant_context, change)


def writes_line_ends_anew(file, tenant_context):
    unified = replace(file, content="\n".join(file.content.splitlines()) + "\n")
    return _parse(unified if file.content else file, tenant_context)


def gives_dictionaries(file, tenant_context):
    return [chunk.model_dump() for chunk in _parse(file, tenant_context)]


MUTANTS = {
    "3.1": {
        cuts_the_literals_out: "mask('a `b` c', 'go')",
        keeps_the_line_ends: "its line ends are hidden too",
        keeps_the_quotes: "got       'a `x` c'",
        hides_the_first_alone: "there are two of them",
        hides_comments_too: "comments and short strings stay",
        counts_bytes: "é is one character",
        replaces_equal_texts_too: "the second `a` is in a comment",
        goes_by_the_opening: "between /* and */",
    },
    "3.2": {
        searches_the_text_itself: "what is in a string is text",
        cuts_the_masked_text: "what is in a string is text",
        climbs_in_the_text_itself: "what looks like a comment above",
        leaves_comments_behind: "a comment directly above",
        climbs_one_line: "so does the line above that",
        climbs_over_blank_lines: "ends where the next one begins, after the blank lines",
        gives_empty_pieces: "an empty text has no pieces",
        drops_what_comes_first: "the piece before it, named ''",
        strips_its_pieces: "the piece before it, named '', ends there",
        takes_indented_comments: "the line above begins with blanks",
        passes_over_nameless_definitions: "a definition without a name",
        looks_its_pieces_up: "and the same text",
        gives_every_line_a_line_end: "the last piece ends with the text",
        takes_indented_definitions: "an indented definition",
    },
    "3.3": {
        stops_at_the_first_bad_line: "one bad line does not cost its siblings",
        takes_numbers_as_strings: "types are taken as they are",
        takes_the_names_of_python: "in JSON the field is called sourcePath",
        has_one_code_for_all: "must not bring its own vector",
        looks_into_strings: "it is JSON, and no object",
        takes_an_empty_embedding: "whatever its value is",
        counts_from_zero: "because   lines are counted from 1",
        gives_the_whole_place: "the field is the first element of `loc`",
        stumbles_over_an_empty_place: "IndexError",
        catches_the_wide_error_first: "name must be a string",
        returns_the_records: "and becomes a Chunk",
        leaves_blank_lines_out: "an empty line is a line",
        looks_for_the_word: "the word stands in the content",
        takes_the_last_error: "complains of kind first",
    },
    "3.4": {
        writes_no_lengths: "4:acme4:docs6:Hello.",
        counts_characters: "ü is one character and two bytes",
        forgets_the_tenant: "4:acme4:docs6:Hello.",
        sorts_the_names: "in the order of hashInputs",
        skips_what_is_unset: "className is unset",
        leaves_blanks_in_json: "canonical JSON has its keys in order",
        returns_bytes: "(bytes)",
        sorts_the_outer_keys_alone: "inner ones too",
        takes_the_names_of_python_s_fields: "the names in JSON: sourcePath",
        names_each_field_once: "it comes once more",
        takes_empty_for_unset: "an object without keys",
        composes_accents: "the accent is a character of its own",
        unifies_line_ends: "line ends are content",
        collapses_white_space: "white space is content",
    },
    "3.5": {
        hard_codes_the_tenant: "[0].tenant_id",
        counts_the_blank_lines_at_the_end: "[0].line_end",
        counts_lines_within_the_piece: "lines are counted through the whole file",
        numbers_every_chunk_zero: "[1].custom_meta",
        strips_the_content: "[0].content",
        finds_messages_in_comments: "a message in a comment is none",
        keeps_white_space: "a piece of white space gives no record",
        numbers_white_space_too: "the numbers begin at 0",
        gives_dictionaries: "expected  [Chunk(",
        takes_the_path_it_was_read_from: "'data/ask.proto'  (at [0].source_path)",
        keeps_a_folder_in_the_name: "without its folders",
        counts_from_the_first_line_with_text: "a piece begins with its blank lines",
        writes_line_ends_anew: "exact text",
    },
}
