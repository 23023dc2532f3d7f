"""Wrong answers to lab 04 that a learner would plausibly write; see `mutants_lab01.py`."""

import hashlib
import unicodedata
from contextlib import suppress
from dataclasses import replace

from course_lib.loader.contract import (
    EMBEDDING_REJECTED,
    INVALID,
    NO_VECTORS,
    Problem,
    Rejection,
    check_record,
    missing_version,
    read_object,
)
from course_lib.loader.languages import split_definitions
from course_lib.records import Chunk, content_hash
from tests.unit.teaching.edits import edited, edits

PROTO = r"^(?:message|enum|service) (?P<name>\w+)"

# --- 4.1 check_record ---


def raises_what_pydantic_raises(record, where="record"):
    values = read_object(record)
    return Chunk.model_validate(values, strict=True, by_alias=True, by_name=False)


without_vectors = edited(check_record, "without_vectors", '"embedding" in values -> False')


def judges_the_vector_last(record, where="record"):
    judged = without_vectors(record, where)
    fields = [problem.field for problem in getattr(judged, "problems", ())]
    alone = fields == ["embedding"]
    return Rejection(EMBEDDING_REJECTED, where, (NO_VECTORS,)) if alone else judged


def lets_a_recursion_error_through(record, where="record"):
    judged = check_record(record, where)
    messages = [problem.message for problem in getattr(judged, "problems", ())]
    if messages == ["is nested too deep"]:
        raise RecursionError
    return judged


def reports_the_version_as_well(record, where="record"):
    judged = check_record(record, where)
    if getattr(judged, "code", "") != EMBEDDING_REJECTED:
        return judged
    return replace(judged, problems=(NO_VECTORS, *missing_version(read_object(record))))


def passes_over_blank_lines(record, where="record"):
    return check_record(record, where) if record.strip() else None


# --- 4.2 content_hash ---

NAMES = '["tenantId", "repoSlug", *chunk.hash_inputs]'
TEXT = "value if isinstance(value, str) else canonical(value)"


def _of_changed(chunk, **change):
    return content_hash(chunk.model_copy(update=change))


def composes_accents(chunk):
    return _of_changed(chunk, content=unicodedata.normalize("NFC", chunk.content))


def hashes_the_names_too(chunk):
    names = "".join(chunk.hash_inputs)
    return hashlib.sha256(bytes.fromhex(content_hash(chunk)) + names.encode()).hexdigest()


# --- 4.3 parse_proto ---

HASHED = ["content", "parserVersion"]


def _make(file, scope, span, **decided):
    first = file.content.count("\n", 0, span.start) + 1
    return Chunk(
        tenant_id=scope.tenant, repo_slug=scope.repo, root_kind="external-source",
        source_path=file.name, content=span.text, line_start=first,
        line_end=first + span.text.rstrip().count("\n"), kind="definition", parser_id="proto",
        parser_version="1.0.0", **decided,
    )  # fmt: skip


def _parse(file, scope, hashed=HASHED, change=lambda decided, file: {}, keep=str.strip):
    chunks = []
    for name, span in split_definitions(file.content, PROTO):
        if keep(span.text):
            decided = {
                "name": name or file.name.rsplit("/", 1)[-1],
                "hash_inputs": list(hashed),
                "custom_meta": {"chunkIndex": len(chunks)},
            }
            chunks.append(_make(file, scope, span, **decided | change(decided, file)))
    return chunks


def hashes_the_content_only(file, scope):
    return _parse(file, scope, ["content"])


def hashes_all_fields(file, scope):
    return _parse(file, scope, [str(field.alias) for field in Chunk.model_fields.values()])


def hashes_custom_meta_as_the_course_does(file, scope):
    return _parse(file, scope, [*HASHED, "customMeta"])


def hashes_the_first_line(file, scope):
    return _parse(file, scope, [*HASHED, "line_start"])


def hashes_the_last_line(file, scope):
    return _parse(file, scope, [*HASHED, "line_end"])


def takes_the_id_for_the_version(file, scope):
    return _parse(file, scope, ["content", "parserId"])


def hashes_the_path(file, scope):
    return _parse(file, scope, [*HASHED, "sourcePath"])


def hashes_the_name(file, scope):
    return _parse(file, scope, [*HASHED, "name"])


def hashes_what_the_toml_parser_hashes(file, scope):
    hashed = ["content", "name", "sourcePath", "parserId", "parserVersion"]
    return _parse(file, scope, hashed)


def takes_python_s_names(file, scope):
    return _parse(file, scope, ["content", "parser_version"])


def numbers_every_record_zero(file, scope):
    return _parse(file, scope, change=lambda decided, file: {"custom_meta": {"chunkIndex": 0}})


def numbers_from_one(file, scope):
    def change(decided, file):
        return {"custom_meta": {"chunkIndex": decided["custom_meta"]["chunkIndex"] + 1}}

    return _parse(file, scope, change=change)


def numbers_white_space_too(file, scope):
    pieces = split_definitions(file.content, PROTO)
    skipped = bool(pieces) and not pieces[0][1].text.strip()

    def change(decided, file):
        return {"custom_meta": {"chunkIndex": decided["custom_meta"]["chunkIndex"] + skipped}}

    return _parse(file, scope, change=change)


def keeps_white_space(file, scope):
    return _parse(file, scope, keep=len)


def leaves_out_line_ends_alone(file, scope):
    return _parse(file, scope, keep=lambda text: text.strip("\n"))


def leaves_out_what_has_no_name(file, scope):
    return [one for one in _parse(file, scope) if one.name != file.name.rsplit("/", 1)[-1]]


def keeps_the_folders_in_the_name(file, scope):
    def change(decided, file):
        return {"name": file.name} if decided["name"] in file.name else {}

    return _parse(file, scope, change=change)


def leaves_the_name_empty(file, scope):
    def change(decided, file):
        return {"name": ""} if decided["name"] in file.name else {}

    return _parse(file, scope, change=change)


def takes_the_path_it_was_read_from(file, scope):
    return _parse(replace(file, name=file.path.as_posix()), scope)


def strips_the_file(file, scope):
    return _parse(replace(file, content=file.content.strip()), scope)


def writes_line_ends_anew(file, scope):
    unified = replace(file, content="\n".join(file.content.splitlines()) + "\n")
    return _parse(unified if file.content else file, scope)


def adds_what_it_knows(file, scope):
    def change(decided, file):
        return {"custom_meta": decided["custom_meta"] | {"file": file.name}}

    return _parse(file, scope, change=change)


def gives_dictionaries(file, scope):
    return [chunk.model_dump() for chunk in _parse(file, scope)]


# --- found by playing learners ---


def lets_deep_records_raise(record, where="record"):
    with suppress(ValueError):
        read_object(record)
    return check_record(record, where)


def gives_the_error_s_own_words(record, where="record"):
    found = check_record(record, where)
    try:
        read_object(record)
    except (ValueError, RecursionError) as error:
        return replace(found, problems=(Problem("record", f"error: {error}"),))
    return found


def says_it_in_its_own_words(code, field):
    def wrong(record, where="record"):
        found = check_record(record, where)
        if getattr(found, "code", "") != code or found.field != field:
            return found
        return replace(found, problems=(Problem(field, "is wrong"), *found.problems[1:]))

    return wrong


refuses_vectors_in_its_own_words = says_it_in_its_own_words(EMBEDDING_REJECTED, "embedding")
refuses_vectors_in_its_own_words.__name__ = "refuses_vectors_in_its_own_words"
misses_the_version_in_its_own_words = says_it_in_its_own_words(INVALID, "schemaVersion")
misses_the_version_in_its_own_words.__name__ = "misses_the_version_in_its_own_words"


def forgets_the_comma(record, where="record"):
    found = check_record(record, where)
    alone = getattr(found, "code", "") == EMBEDDING_REJECTED
    return replace(found, problems=NO_VECTORS) if alone else found


def names_by_the_second_word(file, scope):
    found = _parse(file, scope)
    head = file.name.rsplit("/", 1)[-1]
    return [
        one if one.name == head else one.model_copy(update={"name": one.content.split()[1]})
        for one in found
    ]


def looks_its_numbers_up(file, scope):
    found = _parse(file, scope)
    texts = [one.content for one in found]
    return [
        one.model_copy(update={"custom_meta": {"chunkIndex": texts.index(one.content)}})
        for one in found
    ]


MUTANTS = {
    "4.1": edits(
        check_record,
        takes_the_last_of_equal_keys=(
            "read_object(record) -> json.loads(record)"
            " if isinstance(record, str) and record[:1] == '{' else read_object(record)",
            "it has the same key twice",
        ),
        lets_json_guess_the_encoding=(
            "read_object(record) -> read_object(json.loads(record))"
            " if isinstance(record, bytes) else read_object(record)",
            "these are UTF-16",
        ),
        mends_what_is_not_utf_8=(
            'read_object(record) -> read_object(record.decode("utf-8", "replace"))'
            " if isinstance(record, bytes) else read_object(record)",
            "the reason is what `reason_of` gives",
        ),
        writes_the_values_as_json=(
            "read_object(record) -> read_object(json.dumps(record))"
            " if isinstance(record, Mapping) else read_object(record)",
            "these are the values of a record",
        ),
        names_one_that_cannot_be_stored=(
            "unstorable(chunk) -> unstorable(chunk)[:1]",
            "two fields hold a NUL character",
        ),
        stores_what_has_no_version=(
            "missing_version(values) + unstorable -> missing_version(values) or unstorable",
            "what cannot be stored is reported, too",
        ),
        reads_whatever_json_holds=(
            "read_object(record) -> json.loads(record)",
            "missing_version(values) + -> ",
            "the reason is what `reason_of` gives",
        ),
        takes_numbers_as_strings=(
            ", strict=True, by_alias=True, by_name=False -> ",
            "types are not converted",
        ),
        takes_the_names_of_python=(
            ", by_alias=True, by_name=False -> ",
            "in JSON, the name of the field is sourcePath",
        ),
        has_one_code_for_all=('"embedding" in values -> False', "must not have a vector"),
        takes_an_empty_embedding=(
            '"embedding" in values -> values.get("embedding")',
            "its value does not matter",
        ),
        looks_for_the_word=(
            '"embedding" in values -> "\'embedding\':" in str(values)',
            "the word is in the content",
        ),
        forgets_which_record=('where, tuple -> "record", tuple', "'line 7'"),
        names_one_problem=(
            "problems_of(error) -> problems_of(error)[:1]",
            "so there are two problems",
        ),
        takes_the_last_problem=(
            "problems_of(error) -> problems_of(error)[-1:]",
            "so there are two problems",
        ),
        catches_the_wide_error_first=(
            'problems_of(error) -> [Problem("record", "is wrong")]',
            "name must be a string",
        ),
        leaves_the_version_out=("missing_version(values) + -> ", "schemaVersion is missing"),
        takes_what_cannot_be_stored=("unstorable(chunk) -> []", "cannot store a NUL"),
        returns_the_values=("else chunk -> else values", "and becomes a Chunk"),
    )
    | {
        raises_what_pydantic_raises: "JSONDecodeError",
        judges_the_vector_last: "whatever else is wrong",
        passes_over_blank_lines: "an empty line is a line",
        lets_deep_records_raise: "it is nested too deep",
        gives_the_error_s_own_words: "the reason is what `reason_of` gives",
        lets_a_recursion_error_through: "it is nested too deep",
        reports_the_version_as_well: "the only problem that is reported",
        refuses_vectors_in_its_own_words: "the problem is `NO_VECTORS`",
        forgets_the_comma: "a tuple of one problem has a comma",
        misses_the_version_in_its_own_words: "what `missing_version` gives",
    },
    "4.2": edits(
        content_hash,
        writes_no_lengths=(f"length_prefixed({TEXT}) -> ({TEXT}).encode()", "4:acme4:docs6:Hello."),
        counts_characters=(
            f"length_prefixed({TEXT}) -> (str(len(text := {TEXT})) + ':' + text).encode()",
            "ü is one character, but two bytes",
        ),
        forgets_the_tenant=('"tenantId", -> ', "4:acme4:docs6:Hello."),
        sorts_the_names=(
            "*chunk.hash_inputs -> *sorted(chunk.hash_inputs)",
            "in the order of hashInputs",
        ),
        skips_what_is_unset=(
            "*chunk.hash_inputs -> *(one for one in chunk.hash_inputs if one in record)",
            "className is not set",
        ),
        leaves_blanks_in_json=(
            "canonical(value) -> json.dumps(value)",
            "canonical JSON has sorted keys",
        ),
        returns_bytes=("hexdigest -> digest", "(bytes)"),
        collapses_white_space=(
            "(value if -> (' '.join(value.split()) if",
            "white space is part of the content",
        ),
        unifies_line_ends=(
            r"(value if -> (value.replace('\r\n', '\n') if",
            "line ends are part of the content",
        ),
        takes_empty_for_unset=(
            "canonical(value) -> (json.dumps(value) if value else '')",
            "an object without keys",
        ),
        strips_the_texts=("(value if -> (value.strip() if", "white space is part of the content"),
        names_each_field_once=(f"{NAMES} -> dict.fromkeys({NAMES})", "each is hashed again"),
        takes_the_names_of_python_s_fields=(
            "*chunk.hash_inputs -> *(one.replace('sourcePath', '') for one in chunk.hash_inputs)",
            "the names in JSON: sourcePath",
        ),
        sorts_the_outer_keys_alone=(
            "canonical(value) -> json.dumps(value if isinstance(value, list | int) "
            "else dict(sorted(value.items())), separators=(',', ':'), ensure_ascii=False)",
            "at every level",
        ),
        hashes_what_was_set_alone=(
            "json.loads(chunk.to_json())"
            " -> chunk.model_dump(mode='json', by_alias=True, exclude_unset=True)",
            "although nobody set it",
        ),
        hashes_the_repository_once=(
            "*chunk.hash_inputs -> *(one for one in chunk.hash_inputs if one != 'repoSlug')",
            "so each is hashed again",
        ),
        writes_lists_as_python_does=(
            "canonical(value) -> (str(value) if isinstance(value, list) else canonical(value))",
            "a list is not a string",
        ),
    )
    | {
        hashes_the_names_too: "4:acme4:docs6:Hello.",
        composes_accents: "the accent is a separate character",
    },
    "4.3": {
        hashes_the_content_only: "if the version of the parser changes",
        hashes_all_fields: "if its file is renamed",
        hashes_custom_meta_as_the_course_does: "if there is more text above it",
        hashes_the_first_line: "if there is more text above it",
        hashes_the_last_line: "if there is more text above it",
        takes_the_id_for_the_version: "if the version of the parser changes",
        hashes_the_path: "if its file is renamed",
        hashes_the_name: "if its file is renamed",
        hashes_what_the_toml_parser_hashes: "if its file is renamed",
        takes_python_s_names: "the names in hash_inputs are those in JSON",
        numbers_every_record_zero: "numbered from 0",
        numbers_from_one: "with the number 0",
        numbers_white_space_too: "the first record is 0",
        keeps_white_space: "a piece of white space gives no record",
        leaves_out_line_ends_alone: "a piece of white space gives no record",
        leaves_out_what_has_no_name: "has the name of the file",
        keeps_the_folders_in_the_name: "without its folders",
        leaves_the_name_empty: "has the name of the file",
        takes_the_path_it_was_read_from: "'data/ask.proto'  (at [0].source_path)",
        strips_the_file: "[0].content",
        writes_line_ends_anew: "exact text",
        adds_what_it_knows: "[0].custom_meta",
        gives_dictionaries: "expected  Chunk(",
        names_by_the_second_word: "and is not its name",
        looks_its_numbers_up: "two definitions may have the same text",
    },
}
