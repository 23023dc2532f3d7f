# %% [markdown]
# # 04 · The chunk contract
#
# A piece of text leaves its parser as a record. You will refuse records that break the contract, one by one, tell by a hash what has
# changed, and write a parser for a format of your own.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | take records from strangers, each judged alone · tell by a hash what has to be encoded again · write and register a parser | about {minutes} min | labs 01 and 03 |

# %% tags=["parameters"]
data_dir = "data/code"

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("04", data_dir=data_dir)
files = lab.documents()
lab.show.pipeline("chunks")

# %% [markdown]
# ## The record that each stage hands on
#
# A piece leaves its splitter as a record, in this course always the same: parsed-chunk-v1, the [chunk
# contract](../labs/GLOSSARY.md#chunk-contract). It says whose it is (`tenantId`, `repoSlug`), where it is from, what it is, which
# parser made it, and in `customMeta` whatever else its parser knows. A *tenant* is a customer, whose data no other customer may
# see.

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
# A colleague sends six such records as [JSON Lines](../labs/GLOSSARY.md#json-lines). The first and the last are flawless. The
# second gives a line number as a string, the third misspells a field, the fourth brings a vector along, the fifth has a path that
# leads upwards. The plainest reader is a loop.
#
# > **Predict.** How many of the six does it take, and which?

# %% tags=["nbval-check-output"]
from pydantic import ValidationError

changes = [{}, {"line_start": "52"}, {"line_strat": 52}, {"embedding": [0.6, 0.8]}, {"sourcePath": "../../etc/passwd"}, {}]
sent = [json.dumps(record | change) for change in changes]
taken = []
try:
    for line in sent:
        taken.append(Chunk.model_validate_json(line))
except ValidationError as error:
    print("stopped:", error.errors()[0]["loc"], error.errors()[0]["msg"])
print(len(taken), "taken; the line numbers begin at", [chunk.line_start for chunk in taken])

# %% [markdown]
# Two failures. The flawless sixth record is lost because a stranger's third one is broken. And the second was taken: unless told
# otherwise, pydantic makes a number of `"52"`, and of `true` as well.
#
# ## Exercise 4.1 · judge each record alone
#
# A program at the other end cannot read prose, so a `Rejection` carries a *code* that never changes. (What its messages say may.)
# `Problem` is a field and what is wrong with it. Four helpers are imported for you; `help(problems_of)` shows what one gives.
# `Chunk.model_validate(values, strict=True, by_alias=True, by_name=False)` takes types and names as they are.
#
# ```
# check_record('{"embedding": [1]}', "line 2")
#   →  Rejection("KB_PARSED_CHUNK_EMBEDDING_REJECTED", "line 2", (Problem("embedding", "vectors are …"),))
# check_record("oops", "line 3")
#   →  Rejection("KB_PARSED_CHUNK_INVALID", "line 3", (Problem("record", "is no JSON: …"),))
# ```

# %% exercise="4.1"
from course_lib.loader.contract import check_record

# %%
lab.check("4.1", check_record)

# %%
lab.hint("4.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Whatever goes wrong comes back as a value, so a loop over records needs no `try` of its own. The order of the two `except`
# matters: pydantic's `ValidationError` is a `ValueError`, too.

# %% tags=["nbval-check-output"]
check_record = lab.use("check_record")


def judge(lines):
    judged = [check_record(line, f"line {number}") for number, line in enumerate(lines, start=1)]
    return [one for one in judged if isinstance(one, Chunk)], [one for one in judged if not isinstance(one, Chunk)]


chunks, reports = judge(sent)
print(len(chunks), "taken, and", len(reports), "refused:")
for report in reports:
    print(report.record, report.code, report.field)

# %% [markdown]
# ## What has changed?
#
# Tomorrow the repository is indexed again. Encoding is the dear part, so whatever is the same as yesterday should keep its
# vector, and a [content hash](../labs/GLOSSARY.md#content-hash) is to tell. Two ideas that suggest themselves: Python's `hash`,
# and SHA-256 of the fields written one after the other.
#
# > **Predict.** Will `hash` give the same number tomorrow? When do two different records get the same SHA-256?

# %% tags=["nbval-check-output"]
import os
import subprocess
import sys
from hashlib import sha256


def in_a_new_process(code):
    environment = os.environ | {"PYTHONHASHSEED": "random"}  # which is what Python does by default
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    return done.stdout


same = in_a_new_process("print(hash('def f():'))") == in_a_new_process("print(hash('def f():'))")
print("hash, in two processes, is the same:", same)
fused = [sha256("".join(values).encode()).hexdigest()[:8] for values in (("acme", "platform"), ("acmep", "latform"))]
print("SHA-256 of two tenants:", *fused)

# %% [markdown]
# The `hash` of a text is salted anew in every process. And without separators different records can share a SHA-256: one
# customer's text would pass for another's.
#
# ## Exercise 4.2 · the content hash
#
# Two helpers do the bytes. `length_prefixed(text)` puts the number of its bytes and a colon before a text, so that no two lists of
# texts look alike. `canonical(value)` writes what is not a text as JSON, and equal values always in the same way: keys in order, no
# blanks, no escapes. You decide what is hashed, and in which order:
#
# - the tenant and the repository come first, whatever the record says;
# - then the fields that the record names in `hashInputs`, by their names in JSON, in the order of `hashInputs`;
# - a field that is unset counts as an empty text.
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
# Without the tenant in front, somebody who knows a text could send it and see whether it has to be encoded. If not, another customer
# has indexed it: the work that was not done would give away what others have.

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
# A *registry* gives each file its [parser](../labs/GLOSSARY.md#parser): by name, by extension, or by the id that the sender asks
# for. `data/parsers/forecast.proto` describes Heron's API, and no parser of ours knows that format.
#
# > **Predict.** What becomes of it? And what if its sender asks for a parser `proto`?

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
# Without a parser it is raw text: pieces that have the file's name, of which one begins within a definition and holds two others.
# With a parser id that is not registered, the file is refused with a code of its own; its siblings are not.
#
# A parser of one's own can run in two places. `data/parsers/toml_sections.py` is one for `.toml`; read it, it is short.
# Registered, the server runs it on raw files. Run by the *sender*, it prints records. What a tenant has written never runs on the
# server, so tenants have only the second way.
#
# > **Predict.** The sender claims to be somebody else. Are the chunks the same either way?

# %% tags=["nbval-check-output"]
from course_lib.loader.registry import stamp

program = project_root() / "data/parsers/toml_sections.py"
(example,) = read_documents(program.parent, (".toml",))
registered = Registry(custom_parsers=["data/parsers/toml_sections.py:TomlParser"]).parse(example, heron)

command = [sys.executable, program, program.parent, "--tenant", "somebody-else", "--repo", "theirs"]
printed = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
received, reports = judge(printed.splitlines())
print([chunk.name for chunk in registered])
print(received[0].tenant_id, "became", stamp(received[0], heron).tenant_id)
print("the same either way:", [stamp(chunk, heron) for chunk in received] == registered, reports)

# %% [markdown]
# The server overwrites the claim: `stamp` puts in the tenant that it has authenticated. Everything else is the same.
#
# ## Exercise 4.3 · a parser of your own
#
# Write `parse_proto`, on top of lab 03's `split_definitions`. `PROTO` says how a definition of this language begins.
#
# ```
# api/ask.proto holds 'syntax = "proto3";\n\nmessage Ask {\n}\n'
#   →  [Chunk(…, content='syntax = "proto3";\n\n', name="ask.proto", line_start=1, line_end=1, …),
#       Chunk(…, content="message Ask {\n}\n",      name="Ask",       line_start=3, line_end=4, …)]
# ```


# %% exercise="4.3"
PROTO = r"^(?:message|enum|service) (?P<name>\w+)"


def parse_proto(file, scope):
    """Return a record for each definition of a .proto file, and one for what comes before them.

    A piece of nothing but white space gives none.

    Parameters
    ----------
    file
        A Document, with `name` (its path) and `content`.
    scope
        With `tenant` and `repo`.

    Returns
    -------
    list of Chunk
        Of `scope`, with the path of the file and the exact text of the piece.

        - root_kind "external-source", kind "definition"
        - parser_id "proto", parser_version "1.0.0"
        - hash_inputs ["content", "name", "sourcePath", "parserId", "parserVersion"]
        - name: the definition's; for what comes before them the file's, without its folders
        - line_start, line_end: the lines, from 1, with which the piece begins and with which it
          ends, blank lines at its end left out
        - custom_meta: {"chunkIndex": …}, counted from 0 through the file's records
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
# Most of a parser is bookkeeping: whose, where, which version. The version is there for a reason: raise it when the parser cuts
# otherwise than before, and its files are indexed anew. The chunk index has no gaps, because two records of one document must
# never share one.

# %%
parse_proto = lab.use("parse_proto")


class ProtoParser:
    id, version, extensions = "proto", "1.0.0", (".proto",)

    def parse_file(self, file, scope):
        return parse_proto(file, scope)


registry.register_parser(ProtoParser)
ours = registry.parse(api, heron)
received, reports = judge([chunk.to_json() for chunk in parse_proto(api, Scope(tenant="me", repo="x"))])
print("the same either way:", [stamp(chunk, heron) for chunk in received] == ours, reports)

# %% [markdown]
# Your parser runs on the server and at the sender's, and the records are the same. This is how it cuts the file:

# %%
spans = [span for _, span in split_definitions(api.content, PROTO)]
labels = [f"{chunk.name}, lines {chunk.line_start}-{chunk.line_end}" for chunk in ours]
lab.show.pieces(api.content, spans, labels, mark="message Window")

# %% [markdown]
# ## Break it
#
# A sender sends a line of 100,000 brackets. And two parsers are registered that should not be: one puts its records under
# another file's path, one divides by zero.
#
# > **Predict.** What becomes of the brackets? Of the three files, which get through?

# %% tags=["nbval-check-output"]
deep = check_record("[" * 100_000, "line 1")
print(deep.code, [problem.field for problem in deep.problems])

# %% [markdown]
# Brackets that are nested too deeply for Python's reader are a broken record like any other. Now the two parsers:

# %% tags=["nbval-check-output"]
thief = ProtoParser()
thief.parse_file = lambda file, tenant: [one.model_copy(update={"source_path": "x"}) for one in parse_proto(file, tenant)]
careless = ProtoParser()
careless.parse_file = lambda file, tenant: 1 / 0
registry.register_parser(thief, parser_id="thief", extensions=(".thief",))
registry.register_parser(careless, parser_id="careless", extensions=(".careless",))
for name in ("a.thief", "b.careless", "c.proto"):
    try:
        print(name, len(registry.parse(Document(Path(name), name, api.content), heron)), "chunks")
    except FileRejectedError as error:
        print(name, error.code)

# %% [markdown]
# A broken parser costs its own file, never the others.

# %% [markdown]
# ## In the field
#
# A contract that senders in other languages can read is written in [JSON Schema](https://json-schema.org). The course's schema is made
# from the class `Chunk`, and every language has a validator for it. Here is Python's, on the six records from the beginning and on one
# more, whose last line is before its first.
#
# > **Predict.** Will the schema refuse the same records as your `check_record`?

# %%
import jsonschema

from course_lib.loader.contract import SCHEMA_PATH

validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text(encoding="utf-8")))

# %% tags=["nbval-check-output"]
backwards = json.dumps(record | {"line_start": 9, "line_end": 3})
for number, line in enumerate([*sent, backwards], start=1):
    by_schema = "taken" if validator.is_valid(json.loads(line)) else "refused"
    by_you = "taken" if isinstance(check_record(line, ""), Chunk) else "refused"
    print(f"record {number}: the schema says {by_schema}, check_record says {by_you}")

# %% [markdown]
# A schema describes fields one at a time. That one number must not be less than another is beyond it, so the receiver still has to
# judge. Publish a schema when others write senders: they find most mistakes before they send.

# %% [markdown]
# ## Measure
#
# An ordinary working day: a colleague adds an import to `drift.py` and mends one line of `shares`. Every piece with a new hash has to
# be encoded again.
#
# > **Predict.** Of how many pieces does the hash change: with cuts every 512 characters, and with definitions? The last line
# > takes the fields that the library's splitter names; they include `customMeta`.

# %%
drift = files["heron/drift.py"]
edited = drift.replace("import math\n", "import logging\nimport math\n").replace("/ len(values)", "/ max(1, len(values))")

# %% [markdown]
# `lean` names only what a reader sees and which parser made it. The sets hold the hashes of all pieces, before and after the edit.

# %%
lean = {"hash_inputs": ["content", "kind", "name", "sourcePath", "parserId", "parserVersion"]}


def changed(split):
    before, after = ({*split(text)} for text in (drift, edited))
    return 100 * len(after - before) / len(after)


def records(text, **update):
    document = Document(Path("heron/drift.py"), "heron/drift.py", text)
    return [content_hash(chunk.model_copy(update=update)) for chunk in parse_code(document)]


new = {
    "cuts every 512 characters": changed(lambda text: [text[at : at + 512] for at in range(0, len(text), 512)]),
    "definitions, lean": changed(lambda text: records(text, **lean)),
    "definitions, customMeta": changed(records),
}
lab.show.bars(new, "Pieces of drift.py with a new hash", "%")

# %% [markdown]
# Fixed cuts all move with the first new line. Definitions stay what they are, if the hash says so. The library's records keep
# their header in `customMeta`; it is embedded, so a new one must count. Their offsets are there too, so what merely moved gets a
# new hash as well. What you name in `hashInputs` decides what tomorrow costs.

# %% [markdown]
# ## Recap
#
# - Judge records one by one, strictly, with codes that programs can act on.
# - A hash covers what you name, lengths first, tenant first. What you leave out cannot cost you an encoding.
# - A parser runs here if an operator registered it. All others send records.
#
# ## Three questions to test yourself
#
# 1. Why does a `Rejection` carry a code and the names of fields, and not just a sentence?
# 2. A record has a valid vector, made with the same model as ours. Why refuse it?
# 3. You raise `parser_version` without changing anything else. What happens to the hashes of 4.3's records, and is that right?
#
# <details><summary>Answers</summary>
#
# 1. A program acts on it: it repairs a field, or sends the record again. A sentence may be worded anew or translated tomorrow; a code
#    stays the same.
# 2. You cannot tell what it was made from: another header, another version, another text. Then the search would
#    find by one text and show another. A vector can be computed again at any time.
# 3. All change, since `hashInputs` names it. It is right if the parser cuts differently: the hash stands for "made in this way from
#    this text", and then every record has to be looked at again.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# The hash of `customMeta` covers offsets, so what merely moved is encoded again. Which keys of `customMeta` have to count, and which
# need not? Write a `content_hash` that leaves those out, and measure the working day again. Then break it: find a change that must
# give a new hash, and does not.
#
# Next is [lab 05](../labs/05_embeddings.ipynb): how a text becomes a vector, which is the work that a hash saves.
