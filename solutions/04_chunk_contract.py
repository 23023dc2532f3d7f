# %% [markdown]
# # 04 · The chunk contract
#
# Any splitter can feed one store if all of them return the same record. You will check records from unknown senders, find out which are new,
# and write a splitter whose records pass.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | check records from unknown senders one by one · find out by a hash what has to be encoded again · write a parser and decide what its hash covers | about {minutes} min | labs 01 and 03 |

# %% tags=["parameters"]
data_dir = "data/code"
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("04", data_dir=data_dir, embedding_model=embedding_model)
files = lab.documents()
lab.show.pipeline("chunks")

# %% [markdown]
# ## One search over all formats
#
# Heron (lab 03) has code in Python, Go and shell. `forecast.proto` describes its API in a fourth language. A
# [registry](../labs/GLOSSARY.md#registry) chooses for each file a [parser](../labs/GLOSSARY.md#parser), a splitter that returns records.

# %%
from pathlib import Path

import pandas as pd

from course_lib.loader import Registry, read_documents
from course_lib.records import Document, Scope
from course_lib.settings import project_root

registry, heron = Registry(), Scope(tenant="acme", repo="heron")
(api,) = read_documents(project_root() / "data/parsers", (".proto",))
documents = [api, *(Document(Path(name), name, text) for name, text in files.items())]


def ask(question):
    records = [chunk for one in documents for chunk in registry.parse(one, heron)]
    table = pd.DataFrame([chunk.model_dump(by_alias=True) for chunk in records])
    vectors = lab.encode([chunk.embedded_text for chunk in records])
    found = table.assign(similarity=vectors @ lab.encode(question)).nlargest(3, "similarity")
    return found[["parserId", "sourcePath", "kind", "name", "line_start", "line_end", "similarity"]]


# %%
question = "How many milliseconds may a call of the forecast API take?"
ask(question)

# %% tags=["claim"]
first = ask(question).iloc[0]
lines = api.content.splitlines()[first["line_start"] - 1 : first["line_end"]]
assert first["sourcePath"] == "forecast.proto" and any("800 milliseconds" in line for line in lines), "The answer, 800 milliseconds, is in the first piece"
assert (first["parserId"], first["name"]) == ("raw-text", "forecast.proto"), "The course has no parser for .proto, so the file was cut as raw text"
assert lines[0].startswith("  Origin origin"), "it begins in the middle of another definition"

# %% [markdown]
# The answer, 800 milliseconds, is in the first piece. But this has no name of its own, and it begins in the middle of another definition.
# The course has no parser for `.proto`, so the file was cut as raw text. At the end you ask again, with your parser.
#
# ## The record
#
# Every parser returns records of one form, parsed-chunk-v1: the [chunk contract](../labs/GLOSSARY.md#chunk-contract). Each
# goes this way:
#
# ![Five steps: splitter, check_record, stamp, content_hash, store. check_record turns a broken record into a Rejection. A piece with a new hash is encoded; a known one keeps its vector.](../labs/figures/record_received.svg)

# %%
import json

from course_lib.loader import parse_code

record = json.loads(parse_code(Document(Path("heron/scoring.py"), "heron/scoring.py", files["heron/scoring.py"]))[6].to_json())
pd.Series(record, name="value").to_frame().map(lambda value: f"{value!r:.90}")

# %% [markdown]
# `tenantId` and `repoSlug` say whose it is; a *tenant* is a customer, who may not see the data of another. `hashInputs` is for exercise
# 4.2. Anything else that a parser knows is in `customMeta`.
#
# ## When the contract is broken
#
# A colleague sends six records as [JSON Lines](../labs/GLOSSARY.md#json-lines). The first and the last are correct. In the second, a line
# number is a text; in the third, the name of a field is wrong; the fourth has a vector; the path of the fifth leads to parent folders.
#
# > **Predict.** Which of the six records does this simple loop accept?

# %% tags=["nbval-check-output"]
from pydantic import ValidationError

from course_lib.records import Chunk

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
# Only the first two. That is wrong twice: the correct sixth record is lost because of the third, and the second was accepted, because by
# default pydantic converts `"52"` to a number.
#
# ## Exercise 4.1: check each record separately
#
# You decide in which order to look, and what becomes of each error. A program reads a `Rejection`, so it has a *code* that never changes.
# The helpers that the rules name are imported; `help(problems_of)` shows what one does.
# `Chunk.model_validate(values, strict=True, by_alias=True, by_name=False)` converts no types and accepts only the names in JSON. Its
# `ValidationError` is a subclass of `ValueError`.
#
# ```
# check_record('{"embedding": [1]}', "line 2")
#   →  Rejection("KB_PARSED_CHUNK_EMBEDDING_REJECTED", "line 2", (NO_VECTORS,))
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
# The mistake to remember: to catch `ValueError` first. `ValidationError` is a subclass of it, so every broken field would become one vague
# problem of the whole record. Every error becomes a return value here, so a loop over records needs no `try`.

# %%
check_record = lab.use("check_record")


def check_all(lines):
    checked = [check_record(line, f"line {number}") for number, line in enumerate(lines, start=1)]
    return [one for one in checked if isinstance(one, Chunk)], [one for one in checked if not isinstance(one, Chunk)]


chunks, reports = check_all(sent)
rows = [(one.record, one.code, problem.field, problem.message) for one in reports for problem in one.problems]
pd.DataFrame(rows, columns=["record", "code", "field", "message"])

# %% tags=["claim"]
assert len(chunks) == 2 and [one.record for one in reports] == [f"line {n}" for n in (2, 3, 4, 5)], "Four reports, and both correct records get through"

# %% [markdown]
# Four reports, and both correct records get through. A vector is an error because you cannot know which text it was made from: a search
# could rank by one text and show another.
#
# ## What has changed?
#
# When Heron is indexed again tomorrow, a piece that is known should keep its vector, because encoding is slow. A
# [content hash](../labs/GLOSSARY.md#content-hash) tells whether it is known. Two simple ideas are Python's `hash`, and the SHA-256 of all
# fields joined together.
#
# > **Predict.** Will `hash` give the same number tomorrow? Do the two tenants below get different SHA-256s?

# %% tags=["nbval-check-output"]
import os
import subprocess
import sys
from hashlib import sha256


def in_a_new_process(code):
    environment = os.environ | {"PYTHONHASHSEED": "random"}  # this is Python's default
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True).stdout


same = in_a_new_process("print(hash('def f():'))") == in_a_new_process("print(hash('def f():'))")
print("hash, in two processes, is the same:", same)
for tenant, repo in (("acme", "platform"), ("acmep", "latform")):
    print(f"{tenant}/{repo}:", sha256((tenant + repo).encode()).hexdigest()[:8])

# %% [markdown]
# Twice no. Every process has another random seed for `hash`. And without separators two customers can have the same SHA-256: the system
# would take the text of one for the text of the other.
#
# ## Exercise 4.2: the content hash
#
# You decide which bytes are hashed. `length_prefixed(text)` puts the number of bytes and a colon before a text, so that different lists of
# texts never give the same bytes. `canonical(value)` writes any other value as JSON, the same for equal values. By hand, for tenant `acme`,
# repository `docs` and `hashInputs` of `["content"]`:
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
# The mistake to remember: to leave out the tenant. Then a customer could send a text and see whether it has to be encoded. If it has not,
# another customer has already indexed the same text.

# %% [markdown]
# ## A false claim in the right form
#
# The *server* runs parsers that an operator has registered, and never the code of a tenant. A tenant's parser runs on the *sender's* machine,
# and its records are sent. `data/parsers/toml_sections.py` can do both. Here the sender runs it, and claims to be another tenant. The server
# calls `stamp` for each record.
#
# > **Predict.** Does `check_record` notice? Whose is the record that is stored?

# %%
from course_lib.loader.registry import stamp

program = project_root() / "data/parsers/toml_sections.py"
command = [sys.executable, program, program.parent, "--tenant", "other-tenant", "--repo", "theirs"]
printed = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout

# %%
content_hash = lab.use("content_hash")
received, reports = check_all(printed.splitlines())
claimed, stamped = received[0], stamp(received[0], heron)
both = {"as sent": claimed, "as stored": stamped}
pd.DataFrame({step: (one.tenant_id, one.repo_slug, one.name, content_hash(one)[:8]) for step, one in both.items()}, index=["tenantId", "repoSlug", "name", "hash"])

# %% tags=["claim"]
assert not reports and stamped.tenant_id == "acme" and content_hash(claimed) != content_hash(stamped), "check_record accepts all records"

# %% [markdown]
# No: `check_record` accepts all records. The one that is stored is `acme`'s: `stamp` writes the owner whom the server has authenticated,
# *before* the hash is computed.

# %% [markdown]
# ## Measure: which fields to hash
#
# `day` holds four changes to `drift.py`. A piece with a new hash is encoded again. That is wasted if the embedded text, header and content,
# is the same as before. If this text changed and the hash did not, the piece keeps a wrong vector.
#
# > **Predict.** With the path in `hashInputs`, which change wastes work? Which keeps wrong vectors? What happens if you tick `customMeta`,
# > which holds the header and the offsets?

# %%
drift = files["heron/drift.py"]
day = {
    "a line is corrected": (drift.replace("/ len(values)", "/ max(1, len(values))"), "heron/drift.py"),
    "an import is added": (drift.replace("import math\n", "import logging\nimport math\n"), "heron/drift.py"),
    "inspect is renamed": (drift.replace("def inspect", "def compare"), "heron/drift.py"),
    "the file is renamed": (drift, "heron/shift.py"),
}


def by_hash(text, path, hashed):
    found = [chunk.model_copy(update={"hash_inputs": hashed}) for chunk in parse_code(Document(Path(path), path, text))]
    return {content_hash(chunk): chunk.embedded_text for chunk in found}


# %%
def costs(sourcePath=True, customMeta=False):
    hashed = ["content", *["sourcePath"] * sourcePath, *["customMeta"] * customMeta]
    old, rows = by_hash(drift, "heron/drift.py", hashed), {}
    for change, (text, path) in day.items():
        new = by_hash(text, path, hashed)
        needed = {key for key, embedded in new.items() if embedded not in old.values()}
        fresh = new.keys() - old.keys()
        rows[change] = [100 * len(part) / len(new) for part in (fresh & needed, fresh - needed, needed - fresh)]
    return pd.DataFrame(rows, index=["encoded again, needed", "encoded again, wasted", "wrong vector kept"]).T


def draw(**ticked):
    table = costs(**ticked)
    axes = table[::-1].plot.barh(stacked=True, xlim=(0, 100), color=["C0", "C4", "C1"], xlabel="pieces of drift.py, %")
    told = (f"{change}: " + ", ".join(f"{value:.0f} {name}" for name, value in row.items()) for change, row in table.iterrows())
    lab.alt(axes, f"Pieces of drift.py in per cent. {'; '.join(told)}.")


lab.interact(draw, sourcePath=True, customMeta=False)

# %% tags=["claim"]
base, meta = costs(), costs(customMeta=True)
assert base.loc["the file is renamed"].to_list() == [0, 100, 0], "all pieces of the renamed file are encoded without need"
assert base["wrong vector kept"].idxmax() == "inspect is renamed" and (base["wrong vector kept"] > 0).sum() == 1, "the later parts of inspect keep a wrong vector"
assert meta["wrong vector kept"].sum() == 0 and meta.loc["an import is added"].iloc[:2].sum() == 100, "No wrong vector is left, but the added import moves all pieces"
before, after = ({text[at : at + 512] for at in range(0, len(text), 512)} for text in (drift, day["an import is added"][0]))
assert not before & after, "the new line moves all cuts, so every piece has another content"
assert base.loc["an import is added"].iloc[:2].sum() < 10, "With definitions, only one piece has"

# %% [markdown]
# With the path, all pieces of the renamed file are encoded without need. And the later parts of `inspect` keep a wrong vector: the new
# name is only in their header. Tick `customMeta`: No wrong vector is left, but the added import moves all pieces, so all offsets are new.
# Too many fields cost time; too few keep wrong vectors, and you get no error. This course
# hashes `customMeta`; its own cache looks up vectors by the embedded text itself.
#
# ## A parser of your own
#
# Your parser for `.proto` cuts with lab 03's `split_definitions`, so these will be its pieces:

# %%
from course_lib.loader.languages import split_definitions

PROTO = r"^(?:message|enum|service) (?P<name>\w+)"
cuts = split_definitions(api.content, PROTO)
lab.show.pieces(api.content, [span for _, span in cuts], [name or "before the definitions" for name, _ in cuts], mark="message Window")

# %% tags=["claim"]
assert [name for name, span in cuts if "message Window" in span.text] == ["Window"], "message Window is in a comment, so it is not a definition"

# %% [markdown]
# One is wrong: `message Window` is in a comment, so it is not a definition. A rule for single lines cannot see that (lab 03).
#
# ## Exercise 4.3: a parser that keeps the contract
#
# You decide which pieces become records, and what their hash covers. `make_record` fills the other fields. There is no header, so the
# content is all that is embedded.
#
# ```
# api/ask.proto holds 'syntax = "proto3";\n\nmessage Ask {\n}\n'
#   →  [Chunk(…, content='syntax = "proto3";\n\n', name="ask.proto", custom_meta={"chunkIndex": 0}),
#       Chunk(…, content="message Ask {\n}\n",      name="Ask",       custom_meta={"chunkIndex": 1})]
# ```


# %% exercise="4.3"
def make_record(file, scope, span, **decided):
    first = file.content.count("\n", 0, span.start) + 1
    return Chunk(
        tenant_id=scope.tenant, repo_slug=scope.repo, root_kind="external-source", source_path=file.name, content=span.text,
        line_start=first, line_end=first + span.text.rstrip().count("\n"),
        kind="definition", parser_id="proto", parser_version="1.0.0", **decided,
    )


def parse_proto(file, scope):
    """Return the records of a .proto file, one for each piece of `split_definitions`, in order.

    1. Leave out a piece that holds only white space, such as "\\n\\n".
    2. As `name`, take the name of the definition. For the text before the definitions, take the
       name of the file without its folders: "ask.proto" for "api/ask.proto".
    3. As `custom_meta`, take {"chunkIndex": n}. Count the records of the file from 0, without gaps.
    4. Choose `hash_inputs`. A piece keeps its hash if only its place changes: if there is more text
       above it, or if its file is renamed. It gets a new hash if its content or the version of its
       parser changes.

    Parameters
    ----------
    file
        A Document: `name` is its path, and `content` is its text.
    scope
        Whose it is.

    Returns
    -------
    list of Chunk
        Each is `make_record(file, scope, span, name=…, hash_inputs=…, custom_meta=…)`.
    """
    ### BEGIN SOLUTION
    hashed = ["content", "parserVersion"]
    chunks = []
    for name, span in split_definitions(file.content, PROTO):
        if span.text.strip():
            own = {"name": name or file.name.rsplit("/", 1)[-1], "custom_meta": {"chunkIndex": len(chunks)}}
            chunks.append(make_record(file, scope, span, hash_inputs=hashed, **own))
    return chunks
    ### END SOLUTION


# %%
lab.check("4.3", parse_proto)

# %%
lab.hint("4.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: to hash what describes a record, such as its name. The first piece has the name of the file, so it would be encoded
# again when the file is renamed. And `customMeta` holds the number, so a new definition at the top would change every hash below it.

# %% [markdown]
# Register your parser, and ask again.
#
# > **Predict.** Which name and lines does the answer have now?

# %%
parse_proto = lab.use("parse_proto")


class ProtoParser:
    id, version, extensions = "proto", "1.0.0", (".proto",)

    def parse_file(self, file, scope):
        return parse_proto(file, scope)


registry.register_parser(ProtoParser)
ask(question)

# %% tags=["claim"]
first = ask(question).iloc[0]
assert first[["parserId", "name", "line_start", "line_end"]].to_list() == ["proto", "Forecasts", 41, 48], "whole and under its name, in lines 41 to 48"
assert not check_all([chunk.to_json() for chunk in registry.parse(api, heron)])[1], "your records pass your own check"

# %% [markdown]
# It is the service `Forecasts`, whole and under its name, in lines 41 to 48. `ask` did not change. A sender could run the same function:
# as JSON Lines, your records pass your own check.

# %% [markdown]
# ## In the field
#
# A contract for senders in any language is usually written in [JSON Schema](https://json-schema.org), and most languages have a library
# that checks it. The course makes its schema from the class `Chunk`. We add a seventh record, in which `line_end` is less than
# `line_start`.
#
# > **Predict.** Which records does the schema reject? On which do it and your `check_record` disagree?

# %%
import jsonschema

from course_lib.loader.contract import SCHEMA_PATH

validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text(encoding="utf-8")))

# %%
seven = [*sent, json.dumps(record | {"line_start": 9, "line_end": 3})]
by_schema = [validator.is_valid(json.loads(line)) for line in seven]
by_you = [isinstance(check_record(line, ""), Chunk) for line in seven]
pd.DataFrame({"the schema accepts": by_schema, "check_record accepts": by_you}, index=pd.RangeIndex(1, 8, name="record"))

# %% tags=["claim"]
assert by_schema == [True, False, False, False, False, True, True], "records 2 to 5"
assert by_you == [*by_schema[:6], False], "They disagree on the seventh"

# %% [markdown]
# It rejects records 2 to 5. They disagree on the seventh: a schema describes each field, and cannot compare two of them. Publish one, so
# that senders find most mistakes themselves; the receiver still checks each record.

# %% [markdown]
# ## Break it
#
# A sender sends a line of 100,000 brackets. Then two wrong parsers are registered: one writes the path of another file into its records,
# the other divides by zero.
#
# > **Predict.** What becomes of the brackets? Which of the three files are parsed?

# %% tags=["nbval-check-output"]
from course_lib.loader.contract import FileRejectedError

print(check_record("[" * 100_000, "line 1"))
wrong, crashing = ProtoParser(), ProtoParser()
wrong.parse_file = lambda file, scope: [one.model_copy(update={"source_path": "x"}) for one in parse_proto(file, scope)]
crashing.parse_file = lambda file, scope: 1 / 0
registry.register_parser(wrong, parser_id="wrong", extensions=(".wrong",))
registry.register_parser(crashing, parser_id="crashing", extensions=(".crashing",))
for name in ("a.wrong", "b.crashing", "c.proto"):
    try:
        print(name, len(registry.parse(Document(Path(name), name, api.content), heron)), "chunks")
    except FileRejectedError as error:
        print(name, error.code)

# %% [markdown]
# They are nested too deep for Python's JSON reader, and are reported like any broken record. Only `c.proto` is parsed: a wrong parser costs
# its own files, never the others.

# %% [markdown]
# ## Recap
#
# - Check records one by one, convert no types, and return codes that programs understand.
# - The server says whose a record is, before it hashes it.
# - A content hash covers owner and named fields, each after its length. Too many cost time, too few keep wrong vectors.
# - A parser that keeps the contract works with everything after it.
#
# ## Three questions to test yourself
#
# 1. Why does a `Rejection` have a code and the names of fields, and not only a sentence?
# 2. You increase `parser_version` and change nothing else. What happens to the hashes of your records? Is this right?
# 3. A splitter cuts every 512 characters, and hashes only the content. What does the added import cost?
#
# <details><summary>Answers</summary>
#
# 1. A program reads it and corrects a field. The sentence may change tomorrow; the code stays the same.
# 2. All change, because `hashInputs` names `parserVersion`. That is right only if the parser now cuts in another way.
# 3. Everything: the new line moves all cuts, so every piece has another content. With definitions, only one piece has.
#
# </details>

# %% [markdown]
# ## Stretch
#
# 1. Write a `content_hash` that leaves the offsets out of `customMeta`, but not the header. Which change of `day` still wastes work?
# 2. Write a parser for a format from your work, and register it in `RAG_CUSTOM_PARSERS`, as `toml_sections.py` says.
#
# **Next.** [Lab 05](../labs/05_embeddings.ipynb): how a text becomes a vector. A hash saves this work.
