# %% [markdown]
# # 04 · The chunk contract
#
# You search files of many formats at once. For this, all splitters must return the same record. You will check such records, find out which
# are new, and write a splitter for a new format.
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
# Heron (lab 03) is written in Python, Go and shell, and `forecast.proto` describes its API in a fourth language. You want to search all of
# it at once. So each file needs a [parser](../labs/GLOSSARY.md#parser), a splitter that returns records. A
# [registry](../labs/GLOSSARY.md#registry) chooses the parser of a file, and `ask` searches the records of all files.

# %%
from pathlib import Path

import pandas as pd

from course_lib.answers.excerpts import excerpt
from course_lib.loader import Registry, read_documents
from course_lib.records import Document, Scope
from course_lib.settings import project_root

pd.set_option("display.max_colwidth", 180, "display.width", 200)
registry, heron = Registry(), Scope(tenant="acme", repo="heron")  # the parsers, and whose texts these are
(api,) = read_documents(project_root() / "data/parsers", (".proto",))
documents = [api, *(Document(Path(name), name, text) for name, text in files.items())]


# %%
def ask(question):  # a question in, the three most similar records out
    records = [chunk for one in documents for chunk in registry.parse(one, heron)]
    table = pd.DataFrame([chunk.model_dump(by_alias=True) for chunk in records])
    table["begins with"] = [" ".join(chunk.content.split())[:25] for chunk in records]
    table["excerpt"] = [excerpt(chunk, question, 45) for chunk in records]
    vectors = lab.encode([chunk.embedded_text for chunk in records])
    found = table.assign(similarity=vectors @ lab.encode(question)).nlargest(3, "similarity")
    return found[["sourcePath", "name", "excerpt", "line_start", "line_end", "begins with", "similarity"]].round(2)


# %%
question = "How many milliseconds may a call of the forecast API take?"
ask(question)

# %% tags=["claim"]
first = ask(question).iloc[0]
lines = api.content.splitlines()[first["line_start"] - 1 : first["line_end"]]
assert first["sourcePath"] == "forecast.proto" and any("800 milliseconds" in line for line in lines), "The answer, 800 milliseconds, is in the first piece"
assert (registry.parse(api, heron)[0].parser_id, first["name"]) == ("raw-text", "forecast.proto"), "The course has no parser for .proto, so the file was cut as raw text"
assert lines[0].startswith("  Origin origin"), "begins in the middle of another definition"

# %% [markdown]
# The answer, 800 milliseconds, is in the first piece. But its `name` is only that of the file, and it
# begins in the middle of another definition. The course has no parser for `.proto`, so the file was cut as raw text. You will write one,
# and ask again.
#
# ## The record
#
# All parsers return one form of record, the [chunk contract](../labs/GLOSSARY.md#chunk-contract), and the search reads only this form. Here is
# the record of a method:

# %%
import json

from course_lib.loader import parse_code

record = json.loads(parse_code(Document(Path("heron/scoring.py"), "heron/scoring.py", files["heron/scoring.py"]))[6].to_json())
pd.Series(record, name="value").to_frame().map(lambda value: f"{value!r:.90}")

# %% [markdown]
# `tenantId` and `repoSlug` say whose text it is. A *tenant* is an owner of texts, and must not see the private texts of another. What else
# a parser knows goes into `customMeta`.
#
# Each record goes this way to the store. You write the blue steps:
#
# ![Five steps: splitter, check_record, stamp, content_hash, store. A broken record becomes a Rejection.](../labs/figures/record_received.svg)

# %% [markdown]
# ## When the contract is broken
#
# The server runs a parser only if its operator has registered it. So a tenant with a format of its own runs its parser on its own machine. This program, the
# *sender*, sends its records as [JSON Lines](../labs/GLOSSARY.md#json-lines), and you cannot know whether they are right.
#
# Six records arrive. The first and the last are correct, and `changes` shows what is wrong in the others.
#
# > **Predict.** Which of the six records does this loop accept?

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
# It accepts only the first two, and makes two mistakes. The third record stops the loop, so the correct sixth record is lost. And the
# second should have been rejected, but by default pydantic converts the text `"52"` to a number.
#
# ## Exercise 4.1: check each record separately
#
# Write a function that judges one record and never stops the loop. The helpers that its docstring
# names are imported, and `help(problems_of)` shows what one does.
#
# For rule 2, use `Chunk.model_validate(values, strict=True, by_alias=True, by_name=False)`. It raises a `ValidationError`, a subclass of
# `ValueError`.

# %% exercise="4.1"
from course_lib.loader.contract import check_record

# %%
lab.check("4.1", check_record)

# %%
lab.hint("4.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: to catch `ValueError` first. `ValidationError` is a subclass of it, so every broken field would become one vague
# problem of the whole record.

# %% [markdown]
# Now all six:

# %%
check_record = lab.use("check_record")


def check_all(lines):
    return [check_record(line, f"line {number}") for number, line in enumerate(lines, start=1)]


checked = check_all(sent)
rows = [("accepted", "", "") if isinstance(one, Chunk) else (one.code, one.field, one.problems[0].message) for one in checked]
pd.DataFrame(rows, columns=["result", "field", "message"], index=pd.RangeIndex(1, 7, name="line"))

# %% tags=["claim"]
assert [isinstance(one, Chunk) for one in checked] == [True, False, False, False, False, True], "Both correct records get through"
assert [one.record for one in checked[1:5]] == [f"line {n}" for n in (2, 3, 4, 5)], "each of the other four has a code for programs and a reason for people"

# %% [markdown]
# Both correct records get through, and each of the other four has a code for programs and a reason for people. A vector from outside is refused, because you cannot
# know which text it was made from.
#
# ## What has changed?
#
# Now you know which records are correct, but not which are new. Suppose Heron is indexed again tomorrow. Encoding is
# slow, so a piece that is known should keep its vector. A [content hash](../labs/GLOSSARY.md#content-hash) tells whether it is known. The
# simplest one is the SHA-256 of all fields joined together.
#
# > **Predict.** Do the two tenants below get different hashes?

# %% tags=["nbval-check-output"]
from hashlib import sha256

for tenant, repo in (("acme", "platform"), ("acmep", "latform")):
    print(f"{tenant}/{repo}:", sha256((tenant + repo).encode()).hexdigest()[:8])

# %% [markdown]
# No. Joined, both are `acmeplatform`, so the system would take the pieces of one tenant for those of the other. The hash must also
# cover where a field ends.
#
# ## Exercise 4.2: the content hash
#
# Your function decides when a stored vector can be used again. `length_prefixed(text)` puts the number of bytes
# and a colon before a text. `canonical(value)` writes any other value as JSON. For tenant `acme`,
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
# The mistake to remember: to leave out the tenant. Then a tenant could send a text and see whether it has to be encoded. If not, another
# tenant has already indexed the same text.

# %% [markdown]
# ## Break it: a false claim in the right form
#
# Here `acme` sends a record in the right form, but in the name of another tenant. The server checks it, then calls `stamp`.
#
# > **Predict.** Does `check_record` notice the wrong name? Which tenant is in the record that is stored?

# %%
from course_lib.loader.registry import stamp

content_hash = lab.use("content_hash")
claimed = check_record(json.dumps(record | {"tenantId": "other-tenant", "repoSlug": "theirs"}), "line 1")
stamped = stamp(claimed, heron)
both = {"as sent": claimed, "as stored": stamped}
pd.DataFrame({step: (one.tenant_id, one.repo_slug, one.name, content_hash(one)[:8]) for step, one in both.items()}, index=["tenantId", "repoSlug", "name", "hash"])

# %% tags=["claim"]
assert isinstance(claimed, Chunk), "check_record accepts it"
assert stamped.tenant_id == "acme" and content_hash(claimed) != content_hash(stamped), "what is stored belongs to acme"

# %% [markdown]
# No, `check_record` accepts it. But what is stored belongs to `acme`, because `stamp` writes the tenant that the server
# has authenticated. It does so *before* the hash is computed, so each hash covers the real tenant.

# %% [markdown]
# ## Measure: which fields to hash
#
# Which fields should `hashInputs` name? Suppose that a piece is encoded again only if its hash is new. Its vector is made from its header (lab 03) and its content. So two things can go wrong:
#
# - The hash is new, but the embedded text is not. Then the work is *wasted*.
# - The embedded text is new, but the hash is not. Then the piece keeps a *wrong vector*.
#
# > **Predict.** The hash covers content and path. Which change wastes work? Which keeps wrong vectors?

# %%
drift = files["heron/drift.py"]
day = {  # four changes to drift.py: the new text, and the path
    "a line is corrected": (drift.replace("/ len(values)", "/ max(1, len(values))"), "heron/drift.py"),
    "an import is added": (drift.replace("import math\n", "import logging\nimport math\n"), "heron/drift.py"),
    "inspect is renamed": (drift.replace("def inspect", "def compare"), "heron/drift.py"),
    "the file is renamed": (drift, "heron/shift.py"),
}


def by_hash(text, path, hashed):  # a file in; the hash of each piece, and what is embedded, out
    found = [chunk.model_copy(update={"hash_inputs": hashed}) for chunk in parse_code(Document(Path(path), path, text))]
    return {content_hash(chunk): chunk.embedded_text for chunk in found}


# %%
def costs(sourcePath=True, customMeta=False):  # you need not read this: a choice of fields in; how many pieces go wrong, in per cent, out
    hashed = ["content"] + ["sourcePath"] * sourcePath + ["customMeta"] * customMeta
    old, rows = by_hash(drift, "heron/drift.py", hashed), {}
    for change, (text, path) in day.items():
        new = by_hash(text, path, hashed)
        needed = {key for key, embedded in new.items() if embedded not in old.values()}
        fresh = new.keys() - old.keys()
        parts = (
            fresh & needed,  # new hash and new text
            fresh - needed,  # new hash, old text
            needed - fresh,  # old hash, new text: wrong vector
        )
        rows[change] = [100 * len(part) / len(new) for part in parts]
    return pd.DataFrame(rows, index=["encoded again, needed", "encoded again, wasted", "wrong vector kept"]).T


# %%
def draw(**ticked):
    table = costs(**ticked)
    axes = table[::-1].plot.barh(stacked=True, xlim=(0, 100), color=["C0", "C4", "C1"], xlabel="pieces of drift.py, %")
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=3)
    for bars in axes.containers:
        axes.bar_label(bars, [f"{value:.0f}" if value else "" for value in bars.datavalues], label_type="center", bbox={"fc": "white", "ec": "none", "pad": 1})
    told = (f"{change}: " + ", ".join(f"{value:.0f} {name}" for name, value in row.items()) for change, row in table.iterrows())
    lab.alt(axes, f"Pieces of drift.py in per cent. {'; '.join(told)}.")


lab.interact(draw, sourcePath=True, customMeta=False)

# %% tags=["claim"]
base = costs()
assert base.loc["the file is renamed"].to_list() == [0, 100, 0], "all pieces are encoded without need"
assert base["wrong vector kept"].idxmax() == "inspect is renamed" and (base["wrong vector kept"] > 0).sum() == 1, "the later parts of inspect keep a wrong vector"

# %% [markdown]
# In *the file is renamed*, all pieces are encoded without need, because the path is hashed. In *inspect is renamed*, the later parts of `inspect` keep a wrong vector, because the new name is only in their header.
#
# The header is in `customMeta`, so you could hash `customMeta`, too. But the place of the piece is also there.
#
# > **Predict.** What gets better if you do, and what gets worse?

# %%
draw(customMeta=True)

# %% tags=["claim"]
meta = costs(customMeta=True)
assert {"customMeta", "sourcePath"} <= set(record["hashInputs"]), "The course's code records hash customMeta and the path"
assert meta["wrong vector kept"].sum() == 0, "No wrong vector is left"
assert meta.loc["an import is added"].iloc[:2].sum() == 100 and meta.loc["an import is added"].iloc[1] > 90, "the added import now wastes more than 90 per cent"

# %% [markdown]
# No wrong vector is left. But the added import now wastes more than 90 per cent, because it moves all pieces.
#
# So hash what is embedded, content and header, and leave out what only says where the piece is. Fields that are not hashed, such as
# line numbers, must still be written again. Two files with the same licence then have one hash. They can share a vector, but each needs its
# own record, so such a hash is not a key.
#
# The course's code records hash `customMeta` and the path, because `hashInputs` cannot name the header alone. So their hash says only that the
# *record* has changed. Before it encodes a changed record, the course compares the embedded text.
#
# ## A parser of your own
#
# Now you can write the parser for `.proto`. Lab 03's `split_definitions` gives it these pieces:

# %%
from course_lib.loader.languages import split_definitions

PROTO = r"^(?:message|enum|service) (?P<name>\w+)"
cuts = split_definitions(api.content, PROTO)
lab.show.pieces(api.content, [span for _, span in cuts], [name or "before the definitions" for name, _ in cuts], mark="message Window")

# %% tags=["claim"]
assert [name for name, span in cuts if "message Window" in span.text] == ["Window"], "message Window is in a comment, so it is not a definition"

# %% [markdown]
# One is wrong: `message Window` is in a comment, so it is not a definition. Leave it: a rule for single lines cannot see comments. A
# syntax tree can (lab 03).
#
# ## Exercise 4.3: a parser that keeps the contract
#
# You decide which pieces become records, and which changes give a piece a new hash. There is no header here, so only the content is
# embedded. A later version of the parser may add a header, and an old hash would keep a wrong vector. So rule 5 asks for the version, too.
# `make_record` fills the other fields.
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
    4. Choose `hash_inputs`, by the names in JSON. A piece keeps its hash if only its place changes:
       there is more text above it, or "api/ask.proto" is renamed to "old/asking.proto".
    5. A piece gets a new hash if its content changes, or the version of its parser.

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
# The mistake to remember: to hash what describes a record, such as its name. The first piece has the name of the file, so it would be
# encoded again when the file is renamed. And `customMeta` holds the number, so a new definition at the top would change every hash below
# it. A sender could use the same parser, because your records pass your own check.

# %% [markdown]
# Register your parser, and ask again.
#
# > **Predict.** What will `name` be for the answer now, and what will it begin with?

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
assert first[["name", "line_start", "line_end"]].to_list() == ["Forecasts", 41, 48], "it is the whole service Forecasts, lines 41 to 48"
assert all(isinstance(one, Chunk) for one in check_all([chunk.to_json() for chunk in registry.parse(api, heron)])), "your records pass your own check"

# %% [markdown]
# The answer has a name now: it is the whole service `Forecasts`, lines 41 to 48. You did not change `ask`, because the registry finds your
# parser by the ending of the file.

# %% [markdown]
# ## In the field
#
# A contract for JSON is usually published as a [JSON Schema](https://json-schema.org). Does it replace your function? Both judge the six records, and a seventh whose `line_end` is less than its `line_start`.
#
# > **Predict.** On which record do the two disagree?

# %%
import jsonschema

from course_lib.loader.contract import SCHEMA_PATH

validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text(encoding="utf-8")))

# %%
seven = [*sent, json.dumps(record | {"line_start": 9, "line_end": 3})]
by_schema = [validator.is_valid(json.loads(line)) for line in seven]
by_you = [isinstance(one, Chunk) for one in check_all(seven)]
pd.DataFrame({"the schema accepts": by_schema, "check_record accepts": by_you}, index=pd.RangeIndex(1, 8, name="record"))

# %% tags=["claim"]
assert by_schema == [True, False, False, False, False, True, True], "JSON Schema cannot compare two fields"
assert by_you == [*by_schema[:6], False], "Only on the seventh"

# %% [markdown]
# Only on the seventh, because JSON Schema cannot compare two fields. So publish a schema:
# senders then find most mistakes themselves. But check each record that you receive.

# %% [markdown]
# ## Recap
#
# - Check records one by one, convert no types, and return codes that programs understand.
# - A content hash covers the tenant, the repository and the named fields, each after its length.
# - **At work**, hash what is embedded, and the version of the parser: wasted work is better than a wrong vector.
#
# ## Three questions to test yourself
#
# 1. Why does a `Rejection` have a code, and not only a sentence?
# 2. You increase `parser_version` and change nothing else. Do your hashes change, and is this right?
# 3. Which is worse in `hashInputs`: a field too many, or a field too few?
#
# <details><summary>Answers</summary>
#
# 1. A program reads it. The sentence may change tomorrow, but the code stays the same.
# 2. They do, because `hashInputs` names `parserVersion`. It is right if other text is embedded now, such as a
#    header. If not, the work is wasted.
# 3. A field too few: a wrong vector stays, and there is no error.
#
# </details>

# %% [markdown]
# ## Stretch
#
# Write a parser for a format from your work, as `data/parsers/toml_sections.py` does.
#
# **Next.** [Lab 05](../labs/05_embeddings.ipynb): how a text becomes a vector.
