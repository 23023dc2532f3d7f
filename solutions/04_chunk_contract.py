# %% [markdown]
# # 04 · The chunk contract
#
# A parser returns each piece of text as a record. You will check each record against a contract, use a hash to find out what has changed,
# and write a parser for a new file format.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | check records from unknown senders one by one · find out by a hash what has to be encoded again · write and register a parser | about {minutes} min | labs 01 and 03 |

# %% tags=["parameters"]
data_dir = "data/code"

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("04", data_dir=data_dir)
files = lab.documents()
lab.show.pipeline("chunks")

# %% [markdown]
# ## One record format for all stages
#
# In this course, every splitter returns its pieces as records of the same form: parsed-chunk-v1, the [chunk
# contract](../labs/GLOSSARY.md#chunk-contract). A record holds its owner (`tenantId`, `repoSlug`), its source file, its text, its kind and
# name, and the parser that made it. Anything else that the parser knows is in `customMeta`. A *tenant* is a customer; no customer may see
# the data of another.

# %% tags=["nbval-check-output"]
import json
from pathlib import Path

from course_lib.loader import parse_code
from course_lib.records import Chunk, Document

scoring = Document(Path("heron/scoring.py"), "heron/scoring.py", files["heron/scoring.py"])
record = json.loads(parse_code(scoring)[6].to_json())
for field, value in record.items():
    print(f"{field:14} {value!r:.96}")

# %% [markdown]
# A colleague sends six such records as [JSON Lines](../labs/GLOSSARY.md#json-lines). The first and the last are correct. In the second, a
# line number is a string. In the third, the name of a field is wrong. The fourth contains a vector. The path in the fifth goes up to
# parent folders. The simplest way to read them is a loop.
#
# > **Predict.** Which of the six records does the loop accept?

# %% tags=["nbval-check-output"]
from pydantic import ValidationError

changes = [{}, {"line_start": "52"}, {"line_strat": 52}, {"embedding": [0.6, 0.8]}, {"sourcePath": "../../etc/passwd"}, {}]
sent = [json.dumps(record | change) for change in changes]
accepted = []
try:
    for line in sent:
        accepted.append(Chunk.model_validate_json(line))
except ValidationError as error:
    print("stopped:", error.errors()[0]["loc"], error.errors()[0]["msg"])
print(len(accepted), "accepted, with line_start", [chunk.line_start for chunk in accepted])

# %% [markdown]
# There are two failures. The sixth record is correct, but it is lost because the third one is wrong. And the second record was accepted:
# by default, pydantic converts `"52"` to a number, and `true`, too.
#
# ## Exercise 4.1 · check each record separately
#
# The program that sent a record cannot understand a sentence, so a `Rejection` has a *code* that never changes. (Its messages may change.)
# A `Problem` is a field and what is wrong with it. Five helpers are imported for you: `read_object`, `missing_version`, `problems_of`,
# `unstorable` and `reason_of`; `help(problems_of)` shows what one does.
# `Chunk.model_validate(values, strict=True, by_alias=True, by_name=False)` does not convert types and accepts only the names in JSON.
#
# ```
# check_record('{"embedding": [1]}', "line 2")
#   →  Rejection("KB_PARSED_CHUNK_EMBEDDING_REJECTED", "line 2", (Problem("embedding", "vectors are …"),))
# check_record("oops", "line 3")
#   →  Rejection("KB_PARSED_CHUNK_INVALID", "line 3", (Problem("record", "is not JSON: …"),))
# ```

# %% exercise="4.1"
from course_lib.loader.contract import check_record

# %%
lab.check("4.1", check_record)

# %%
lab.hint("4.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Every error becomes a return value, so a loop over records needs no `try`. The order of the two `except` clauses is important, because
# pydantic's `ValidationError` is a subclass of `ValueError`.

# %% tags=["nbval-check-output"]
check_record = lab.use("check_record")


def check_all(lines):
    checked = [check_record(line, f"line {number}") for number, line in enumerate(lines, start=1)]
    return [one for one in checked if isinstance(one, Chunk)], [one for one in checked if not isinstance(one, Chunk)]


chunks, reports = check_all(sent)
print(len(chunks), "accepted,", len(reports), "rejected:")
for report in reports:
    print(report.record, report.code, report.field)

# %% [markdown]
# ## What has changed?
#
# Suppose that the repository is indexed again tomorrow. Encoding is the most expensive part, so a record that has not changed should keep
# its vector. A [content hash](../labs/GLOSSARY.md#content-hash) shows whether it has changed. Two simple ideas are Python's `hash`, and the
# SHA-256 of all fields joined without separators.
#
# > **Predict.** Will `hash` give the same number tomorrow? When do two different records get the same SHA-256?

# %% tags=["nbval-check-output"]
import os
import subprocess
import sys
from hashlib import sha256


def in_a_new_process(code):
    environment = os.environ | {"PYTHONHASHSEED": "random"}  # this is Python's default
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    return done.stdout


same = in_a_new_process("print(hash('def f():'))") == in_a_new_process("print(hash('def f():'))")
print("hash, in two processes, is the same:", same)
joined = [sha256("".join(values).encode()).hexdigest()[:8] for values in (("acme", "platform"), ("acmep", "latform"))]
print("SHA-256 of two tenants:", *joined)

# %% [markdown]
# Python starts every process with another random seed for `hash`, so the numbers differ. And without separators, different records can
# have the same SHA-256: the system would take the text of one customer for the text of another.
#
# ## Exercise 4.2 · the content hash
#
# Two helpers make the bytes. `length_prefixed(text)` puts the number of bytes and a colon before a text, so that two different lists of
# texts never give the same bytes. `canonical(value)` writes a value that is not a text as JSON. Equal values always give the same JSON: the
# keys are sorted, and there are no blanks and no escapes. Hash these values, in this order:
#
# - always the tenant and the repository first, even if `hashInputs` names them again later;
# - then each field that the record names in `hashInputs`, by its name in JSON, in the order of `hashInputs`;
# - a field that is not set counts as an empty text.
#
# A text is hashed exactly as it is, with its white space and line ends.
#
# By hand, for tenant `acme`, repository `docs` and `hashInputs` of `["content"]`:
#
# ```
# content "Hello."  →  SHA-256 of b"4:acme4:docs6:Hello."   →  "4b1c9e…"
# content "Grüße."  →  SHA-256 of b"4:acme4:docs8:Gr\xc3\xbc\xc3\x9fe."
# ```

# %% exercise="4.2"
from course_lib.records import content_hash

# %%
lab.check("4.2", content_hash)

# %%
lab.hint("4.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The tenant also protects what other customers have indexed. Without it, a customer could send a text and see whether it is encoded. If it is
# not, another customer has already indexed the same text.

# %% tags=["nbval-check-output"]
content_hash = lab.use("content_hash")
first = Chunk.model_validate(record | {"tenantId": "acme", "repoSlug": "platform"})
second = Chunk.model_validate(record | {"tenantId": "acmep", "repoSlug": "latform"})
for one in (first, first.model_copy(update={"line_start": 99}), second):
    print(one.tenant_id, one.repo_slug, one.line_start, content_hash(one)[:8])

# %% [markdown]
# The two tenants have different hashes now. A record that moved to another line keeps its hash, as long as `hashInputs` does not name
# the line.
#
# ## Files in unknown formats
#
# A *registry* chooses the [parser](../labs/GLOSSARY.md#parser) of each file: by the file's name, by its extension, or by the parser id that
# the sender asks for. `data/parsers/forecast.proto` describes Heron's API. The course has no parser for this format.
#
# > **Predict.** What does the registry do with this file? What if its sender asks for the parser `proto`?

# %% tags=["nbval-check-output"]
from course_lib.loader import Registry, read_documents
from course_lib.loader.contract import FileRejectedError
from course_lib.loader.languages import split_definitions
from course_lib.records import Scope
from course_lib.settings import project_root

registry, heron = Registry(), Scope(tenant="acme", repo="heron")
(api,) = read_documents(project_root() / "data/parsers", (".proto",))
for chunk in registry.parse(api, heron):
    print(chunk.kind, chunk.name, f"{chunk.line_start}-{chunk.line_end} begins with", repr(chunk.content[:28]))
try:
    registry.parse(api, heron, parser_id="proto")
except FileRejectedError as error:
    print(error.code, "·", error.reason)

# %% [markdown]
# Without a parser, the file is split as raw text. All pieces have the name of the file, and one of them begins inside a definition and
# holds two others. If the parser id is not registered, the file is rejected with its own code; other files are not affected.
#
# A parser can run in two places. `data/parsers/toml_sections.py` is a short parser for `.toml` files; read it. If it is registered, the
# *server* runs it on raw files. If the *sender* runs it, it prints records, and the sender sends these. The server never runs code that a
# tenant has written, so tenants must use the second way.
#
# > **Predict.** The sender writes a wrong tenant into its records. Are the chunks still the same both ways?

# %% tags=["nbval-check-output"]
from course_lib.loader.registry import stamp

program = project_root() / "data/parsers/toml_sections.py"
(example,) = read_documents(program.parent, (".toml",))
sys.path.append(str(program.parent))  # where Python looks for modules; PYTHONPATH names more such folders
registered = Registry(custom_parsers=["toml_sections:TomlParser"]).parse(example, heron)

command = [sys.executable, program, program.parent, "--tenant", "wrong-tenant", "--repo", "theirs"]
printed = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
received, reports = check_all(printed.splitlines())
print([chunk.name for chunk in registered])
print(received[0].tenant_id, "became", stamp(received[0], heron).tenant_id)
print("the same both ways:", [stamp(chunk, heron) for chunk in received] == registered, reports)

# %% [markdown]
# The server replaces the tenant of each record: `stamp` writes the tenant that the server has authenticated. Everything else is the same.
#
# ## Exercise 4.3 · a parser of your own
#
# Write `parse_proto` with lab 03's `split_definitions`. The regular expression `PROTO` matches the beginning of a definition.
#
# ```
# api/ask.proto holds 'syntax = "proto3";\n\nmessage Ask {\n}\n'
#   →  [Chunk(…, content='syntax = "proto3";\n\n', name="ask.proto", line_start=1, line_end=1, …),
#       Chunk(…, content="message Ask {\n}\n",      name="Ask",       line_start=3, line_end=4, …)]
# ```


# %% exercise="4.3"
PROTO = r"^(?:message|enum|service) (?P<name>\w+)"


def parse_proto(file, scope):
    """Return a record for each definition of a .proto file, and one for the text before them.

    A piece that holds only white space gives no record.

    Parameters
    ----------
    file
        A Document: `name` is its path, such as "api/ask.proto", and `content` is its text.
    scope
        With `tenant` and `repo`.

    Returns
    -------
    list of Chunk
        In the order of the file, with these fields and no others:

        - tenant_id and repo_slug: from `scope`
        - root_kind "external-source", kind "definition"
        - source_path: the `name` of the file; content: the exact text of the piece
        - parser_id "proto", parser_version "1.0.0"
        - hash_inputs ["content", "name", "sourcePath", "parserId", "parserVersion"]
        - name: the name of the definition; for the text before the definitions, the name of the
          file without its folders
        - line_start, line_end: the first and the last line of the piece, counted from 1 in the
          file; blank lines at the end of the piece do not count, those at its beginning do.
          A line ends with a line feed
        - custom_meta: {"chunkIndex": …}, the number of the record in the file, from 0 without gaps
    """
    ### BEGIN SOLUTION
    chunks = []
    for name, span in split_definitions(file.content, PROTO):
        if not span.text.strip():
            continue
        line = file.content.count("\n", 0, span.start) + 1
        chunks.append(
            Chunk(
                tenant_id=scope.tenant,
                repo_slug=scope.repo,
                root_kind="external-source",
                source_path=file.name,
                content=span.text,
                hash_inputs=["content", "name", "sourcePath", "parserId", "parserVersion"],
                parser_id="proto",
                parser_version="1.0.0",
                kind="definition",
                name=name or file.name.rsplit("/", 1)[-1],
                line_start=line,
                line_end=line + span.text.rstrip().count("\n"),
                custom_meta={"chunkIndex": len(chunks)},
            )
        )
    return chunks
    ### END SOLUTION


# %%
lab.check("4.3", parse_proto)

# %%
lab.hint("4.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Most of a parser fills fields: the owner, the place and the version. Increase the version when the parser splits in another way than
# before; then its files are indexed again. The chunk index identifies a record in its document, so no two records may have the same one.

# %%
parse_proto = lab.use("parse_proto")


class ProtoParser:
    id, version, extensions = "proto", "1.0.0", (".proto",)

    def parse_file(self, file, scope):
        return parse_proto(file, scope)


registry.register_parser(ProtoParser)
ours = registry.parse(api, heron)
received, reports = check_all([chunk.to_json() for chunk in parse_proto(api, Scope(tenant="me", repo="x"))])
print("the same both ways:", [stamp(chunk, heron) for chunk in received] == ours, reports)

# %% tags=["claim"]
assert [stamp(chunk, heron) for chunk in received] == ours and not reports, "Your parser runs on the server and on the sender's machine, and the records are the same"

# %% [markdown]
# Your parser runs on the server and on the sender's machine, and the records are the same. These are its pieces of the file:

# %%
spans = [span for _, span in split_definitions(api.content, PROTO)]
labels = [f"{chunk.name}, lines {chunk.line_start}-{chunk.line_end}" for chunk in ours]
lab.show.pieces(api.content, spans, labels, mark="message Window")

# %% tags=["claim"]
holding = [label for label, span in zip(labels, spans, strict=True) if "message Window" in span.text]
assert holding == ["Window, lines 9-14"], "message Window is in a comment, so it is not a definition"


def inside(chunk, raw):
    return raw.line_start <= chunk.line_start and chunk.line_end <= raw.line_end


def begun_before(chunk, raw):
    return chunk.line_start < raw.line_start <= chunk.line_end


raw_text = Registry().parse(api, heron)
assert {raw.name for raw in raw_text} == {api.name}, "All pieces have the name of the file"
torn = [raw for raw in raw_text if any(begun_before(chunk, raw) for chunk in ours)]
assert [sum(inside(chunk, raw) for chunk in ours) for raw in torn].count(2) == 1, "one of them begins inside a definition and holds two others"

# %% [markdown]
# The piece `Window` shows the limit of this method: `message Window` is in a comment, so it is not a definition. A regular expression for
# single lines cannot see this.
#
# ## Break it
#
# First, a sender sends a line of 100,000 brackets. Then two wrong parsers are registered: one writes the path of another file into its
# records, the other divides by zero. The third parser below is yours.
#
# > **Predict.** What happens to the line of brackets? Which of the three files are parsed?

# %% tags=["nbval-check-output"]
deep = check_record("[" * 100_000, "line 1")
print(deep.code, [problem.field for problem in deep.problems])

# %% [markdown]
# The brackets are nested too deeply for Python's JSON reader. The line is rejected like any other wrong record. Now the two parsers:

# %% tags=["nbval-check-output"]
misplaced = ProtoParser()
misplaced.parse_file = lambda file, scope: [one.model_copy(update={"source_path": "x"}) for one in parse_proto(file, scope)]
crashing = ProtoParser()
crashing.parse_file = lambda file, scope: 1 / 0
registry.register_parser(misplaced, parser_id="misplaced", extensions=(".misplaced",))
registry.register_parser(crashing, parser_id="crashing", extensions=(".crashing",))
for name in ("a.misplaced", "b.crashing", "c.proto"):
    try:
        print(name, len(registry.parse(Document(Path(name), name, api.content), heron)), "chunks")
    except FileRejectedError as error:
        print(name, error.code)

# %% [markdown]
# A wrong parser affects only its own files, never the others.

# %% [markdown]
# ## In the field
#
# A contract for senders in any programming language is usually written in [JSON Schema](https://json-schema.org). The course makes its
# schema from the class `Chunk`, and most languages have a library that checks records against a schema. Here we use the one for Python, on
# the six records from the beginning and on a seventh, in which `line_end` is less than `line_start`.
#
# > **Predict.** Will the schema reject the same records as your `check_record`?

# %%
import jsonschema

from course_lib.loader.contract import SCHEMA_PATH

validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text(encoding="utf-8")))

# %% tags=["nbval-check-output"]
backwards = json.dumps(record | {"line_start": 9, "line_end": 3})
for number, line in enumerate([*sent, backwards], start=1):
    by_schema = "accepted" if validator.is_valid(json.loads(line)) else "rejected"
    by_you = "accepted" if isinstance(check_record(line, ""), Chunk) else "rejected"
    print(f"record {number}: {by_schema} by the schema, {by_you} by check_record")

# %% [markdown]
# This schema describes each field separately. It cannot say that one number must not be less than another, so the receiver still has to
# check each record. Publish a schema if other people write senders: then they find most mistakes before they send.

# %% [markdown]
# ## Measure
#
# On a normal working day, a colleague adds an import to `drift.py` and corrects one line of the function `shares`. Every piece with a new
# hash has to be encoded again.
#
# > **Predict.** What share of the pieces gets a new hash with cuts every 512 characters? And with definitions? For the last bar of the
# > figure, `hashInputs` has the fields that the library's splitter names, with `customMeta` among them.

# %%
drift = files["heron/drift.py"]
edited = drift.replace("import math\n", "import logging\nimport math\n").replace("/ len(values)", "/ max(1, len(values))")

# %% [markdown]
# `without_meta` names only the fields that a reader sees, and the parser. In `changed`, the sets `before` and `after` hold the hashes of all
# pieces before and after the edit.

# %%
without_meta = {"hash_inputs": ["content", "kind", "name", "sourcePath", "parserId", "parserVersion"]}


def changed(split):
    before, after = ({*split(text)} for text in (drift, edited))
    return 100 * len(after - before) / len(after)


def records(text, **update):
    document = Document(Path("heron/drift.py"), "heron/drift.py", text)
    return [content_hash(chunk.model_copy(update=update)) for chunk in parse_code(document)]


new = {
    "cuts every 512 characters": changed(lambda text: [text[at : at + 512] for at in range(0, len(text), 512)]),
    "definitions, without customMeta": changed(lambda text: records(text, **without_meta)),
    "definitions, with customMeta": changed(records),
}
lab.show.bars(new, "Pieces of drift.py with a new hash", "%")

# %% tags=["claim"]
assert new["cuts every 512 characters"] == 100, "The new line at the top moves all fixed cuts, so every piece changes"
assert 0 < new["definitions, without customMeta"] < 25, "With definitions, only the edited pieces get a new hash"
assert new["definitions, with customMeta"] == 100, "so a piece that only moved gets a new hash, too"

# %% [markdown]
# The new line at the top moves all fixed cuts, so every piece changes. With definitions, only the edited pieces get a new hash, as long as
# `customMeta` is not hashed. The library does hash it: `customMeta` holds the header, which is embedded, so a new header must give a new
# hash. But it also holds the offsets, so a piece that only moved gets a new hash, too. The fields in `hashInputs` decide how much has to be
# encoded again.

# %% [markdown]
# ## Recap
#
# - Check records one by one, convert no types, and return codes that programs can understand.
# - A content hash covers the tenant, the repository and the fields that you name, each after its length. A change in any other field causes
#   no new encoding.
# - The server runs a parser only if an operator registered it. Everybody else sends records.
#
# ## Three questions to test yourself
#
# 1. Why does a `Rejection` have a code and the names of fields, and not only a sentence?
# 2. A record has a valid vector, made with the same model as ours. Why is it rejected?
# 3. You increase `parser_version` and change nothing else. What happens to the hashes of the records of exercise 4.3? Is this right?
#
# <details><summary>Answers</summary>
#
# 1. A program reads it and corrects a field, or sends the record again. The sentence may be changed or translated tomorrow; the code stays
#    the same.
# 2. You do not know from which text the vector was made. It could be another text, another version, or the text under another header. Then
#    the search would use one text and show another. And a vector can be computed again at any time.
# 3. All hashes change, because `hashInputs` names `parserVersion`. This is right if the parser now splits in another way.
#    If it does not, all records are encoded again without need.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# The library hashes `customMeta` with its offsets, so a piece that only moved is encoded again. Which keys of `customMeta` must be hashed,
# and which can be left out? Write a `content_hash` that leaves them out, and measure the working day again. Then break it: find a change
# that should give a new hash but does not.
#
# Next is [lab 05](../labs/05_embeddings.ipynb): how a text becomes a vector. A hash saves this work.
