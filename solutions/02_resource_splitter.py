# %% [markdown]
# # 02 · Whose line is it?
#
# A line of a manifest says little without its owner. You will write a splitter that keeps the two together, and that reads files
# which a parser refuses.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | find the resources of a YAML file, and say who they are, without a parser · cut a large one along its indentation · give each piece a header, and say what it is worth | `loader/kubernetes.py`, `loader/resource_identity.py`, `loader/yaml_lines.py`, `loader/resource_chunks.py` | about {minutes} min | a little `re` |

# %% tags=["parameters"]
data_dir = "data/manifests"
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("02", data_dir=data_dir, embedding_model=embedding_model)
lab.show.pipeline("chunks")

# %% [markdown]
# ## Three gigabytes for whom?
#
# A [manifest](../labs/GLOSSARY.md#manifest) tells Kubernetes what to run, in [YAML](../labs/GLOSSARY.md#yaml). Heron, a small
# platform that forecasts hired bicycles, has a folder of them. A user asks: *Which container has the memory limit of 3Gi?*
#
# We cut the file every 1,000 characters, much as lab 01 began. The piece with the answer is open.
#
# > **Predict.** A [container](../labs/GLOSSARY.md#container) is an item of a list and has a `name`. Which one gets the 3Gi?

# %%
import re

import yaml

from course_lib.records import Span


def every(text, size):
    starts = range(0, len(text), size)
    return [Span(at, min(at + size, len(text)), text[at : at + size]) for at in starts]


documents = lab.documents()
text = documents["platform/base/forecast-api.yaml"]
naive = every(text, 1_000)
labels = [f"piece {number}" for number in range(1, len(naive) + 1)]
lab.show.pieces(text, naive, labels, mark="memory: 3Gi")

# %% [markdown]
# One container is named here, `log-shipper`, and it is the wrong one. A parser knows better:

# %% tags=["nbval-check-output"]
containers = next(yaml.safe_load_all(text))["spec"]["template"]["spec"]["containers"]
for container in containers:
    print(container["name"], container["resources"]["limits"])


def named(piece):
    return [one["name"] for one in containers if f"name: {one['name']}" in piece]


[wrong] = [span.text for span in naive if "memory: 3Gi" in span.text]
print("named in the piece:", *named(wrong))
between = text.index("memory: 3Gi") - text.index("name: predictor")
print(f"{between:,} characters from the owner's name to its limit")

# %% [markdown]
# No word is broken, and no sentence. This cut does worse: what is left reads well and says something false. In YAML, indentation
# shows what belongs to what: the owner of a line is above it and further left, perhaps many lines away.
#
# ![Left, six lines of YAML. Right, the tree that they make: kind, metadata and spec are below the document, name and labels below metadata, and app below labels.](../labs/figures/indentation_tree.svg)
#
# So why not let the parser do the splitting?
#
# > **Predict.** How many of the files in the folder does PyYAML refuse? And how many of our questions about the files are
# > answered in a *comment*?

# %% tags=["nbval-check-output"]
refused = {}
for name, content in documents.items():
    try:
        list(yaml.safe_load_all(content))
    except yaml.YAMLError as error:
        refused[name] = error.problem
print(f"{len(refused)} of {len(documents)} files:", *refused.items(), sep="\n  ")

comments = [c for content in documents.values() for c in re.findall(r"^ *#.*", content, re.M)]
told = [q for q in lab.questions() if any(p in c for p in q.answer_contains for c in comments)]
print(f"{len(told)} of {len(lab.questions())} questions are answered in a comment")

# %% [markdown]
# A parser refuses [Helm templates](../labs/GLOSSARY.md#helm-template), and a whole file because of one bad document. Of the rest
# `safe_load` keeps the values alone. (`yaml.compose` also keeps the place of each value.) Both forget the comments, and comments
# are where people write *why*.
#
# So you will read the text itself, on [offsets](../labs/GLOSSARY.md#offset) as in lab 01, and use the parser as a referee.
#
# ## Where a document ends
#
# A file holds any number of [YAML documents](../labs/GLOSSARY.md#yaml-document), with `---` between them.
#
# > **Predict.** How many documents are in this stream? How many will the two obvious splits find?

# %% tags=["nbval-check-output"]
stream = """\
---
kind: ConfigMap
data:
  note: |
    --- not here
    ----
--- # the second one
kind: Role
---
--- {kind: Secret}
"""
print("by '---':  ", sum(bool(part.strip()) for part in stream.split("---")))
print(r"by '\n---\n':", sum(bool(part.strip()) for part in stream.split("\n---\n")))
print("the referee:", sum(part is not None for part in yaml.safe_load_all(stream)))

# %% [markdown]
# Three. The rule is short, and half of it is easily forgotten: a separator is `---` *at the very beginning of a line*, with white
# space or the end of the text *after it*. Whatever else is on its line belongs to the next document.
#
# ## Exercise 2.1 · the documents
#
# Write `split_stream`. A document begins right after the three dashes, and ends where the next three begin. What holds nothing
# but white space and comments is no document. (`re.MULTILINE` lets `^` match at the beginning of every line.)
#
# ```
# split_stream("a: 1\n---\nb: 2\n")       →  [Span(0, 5, "a: 1\n"), Span(8, 14, "\nb: 2\n")]
# split_stream("a: ----\n ---\n---b: 2\n")  →  one span: none of these is a separator
# split_stream("---\n# nothing\n--- {b: 2}")  →  [Span(17, 24, " {b: 2}")]
# ```

# %% exercise="2.1"
from course_lib.loader.kubernetes import split_stream

# %%
lab.check("2.1", split_stream)

# %%
lab.hint("2.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `(?=\s|\Z)` looks at what follows without taking it, so a comment or a flow mapping after the dashes stays with its document.
# `^` and not `\n`: the first line of a file has no line end before it, and on Windows there is a `\r` in between.

# %% tags=["nbval-check-output"]
split_stream = lab.use("split_stream")  # yours where its check passed, else the course's
found = [(name, span) for name in documents for span in split_stream(documents[name])]
print(f"{len(found)} documents in {len(documents)} files")
for name in sorted(documents.keys() - refused):
    counted = sum(part is not None for part in yaml.safe_load_all(documents[name]))
    if counted != len(split_stream(documents[name])):
        print(f"the referee counts {counted} in {name}")

# %% [markdown]
# No objection from the referee. What such a document describes is a [resource](../labs/GLOSSARY.md#resource): it has a kind and,
# nearly always, a name.
#
# ## Who is it?
#
# The shortest way to a name: take the first `name:` in the document. The same for the
# [namespace](../labs/GLOSSARY.md#namespace), which says to which part of the cluster the resource belongs.
#
# > **Predict.** What is a document in which the first `namespace:` is *not* its own? Think of one kind before you look.


# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.manifests import parsed_identity


def first(key, document):
    hit = re.search(rf"\b{key}: *([^\s,}}]+)", document)
    return hit and hit[1].strip("\"'")


read = [(name, span.text, parsed_identity(span.text)) for name, span in found]
read = [(name, document, who) for name, document, who in read if who]  # what the referee accepts
for key in ("name", "namespace"):
    wrong = [one for one in read if first(key, one[1]) != getattr(one[2], key)]
    print(f"\nthe first {key!r} is wrong in {len(wrong)} of {len(read)} documents, such as")
    for name, document, who in wrong[-4:]:
        print(f"  {name}: {who.kind} has {getattr(who, key)}, not {first(key, document)}")

# %% [markdown]
# A binding names the namespace of its *subject*. A [Kustomization](../labs/GLOSSARY.md#kustomization) says which namespace *others*
# get, and has none itself. A wrong label is worse than none: people act on it.
#
# ## Exercise 2.2 · the identity
#
# Write `read_identity` for documents in YAML's usual style, one key a line. Only two places count: keys in column 0, and the direct
# children of a `metadata:` in column 0. These all begin in one column, that of the first of them; what is deeper belongs to one of
# *them*. And `metadata:` ends with the next key in column 0. Of a key that comes twice, as in the branches of a template, the first
# counts.
#
# `read_key` is imported for you. It gives None for a line that opens no key: an item, a comment, text.
#
# ```
# read_key("metadata:")               →  Key(column=0, name="metadata", value="")
# read_key('  name: "web"  # front')  →  Key(column=2, name="name", value="web")
# read_key("- kind: User")            →  None
#
# kind: Role
# metadata:
#   labels:
#     name: not-this-one
#   name: reader
# apiVersion: v1                      →  Identity("Role", "reader", None, "v1")
# ```

# %% exercise="2.2"
from course_lib.loader.resource_identity import read_identity

# %%
lab.check("2.2", read_identity)

# %%
lab.hint("2.2")

# %% [markdown] tags=["solution"]
# Two variables are the whole memory: `inside` is the key in column 0 under which we are, `column` is where its children begin.
# Nothing below the first level of `metadata` can get in, whatever it is called.

# %% tags=["nbval-check-output"]
read_identity = lab.use("read_identity")
differ = [(name, own, who) for name, text, who in read if (own := read_identity(text)) != who]
print(f"the same as the referee for {len(read) - len(differ)} of {len(read)} documents; not for")
for name, own, who in differ:
    print(f"  {name}: {own[:2]}, and it is {who[:2]}")

# %% [markdown]
# What is left is braces, as in JSON, and a name in a [block scalar](../labs/GLOSSARY.md#block-scalar): YAML has many ways to write
# one thing. How can a program know that your function is wrong about a document? It asks whether every line, to the end of the
# `metadata`, is blank, a comment, or a key with a simple value. `usual_head` gives these lines, or None where one is anything else.

# %% tags=["nbval-check-output"]
from course_lib.loader.resource_identity import usual_head

unsure = [(name, text) for name, text, _ in read if usual_head(text) is None]
missed = [name for name, text, who in read if read_identity(text) != who and usual_head(text)]
print(f"unsure about {len(unsure)} of {len(read)} documents; wrong about the others: {len(missed)}")

# %% [markdown]
# `split_resources`, with which `course split` and `course ingest` begin, calls your two functions, and a parser for the few
# documents without a usual head. What is around them in `kubernetes.py` is not built here: rare line ends (`usual_breaks`), the items
# of a `List` (`_resources_of`) and the branches of a template (`_branches`). And where the parser refuses? Then your function is
# asked again:
#
# > **Predict.** `odd/broken.yaml` holds four documents, one with the scars of a merge. How many identities do you get?

# %% tags=["nbval-check-output"]
for name in refused:
    for span in split_stream(documents[name]):
        if (who := read_identity(span.text)).kind:
            print(f"{name:35} {who.kind} {who.name}")

# %% [markdown]
# All four, and the templates too. You never asked whether the file is right, only where the name is.
#
# And what does it cost? A parser builds everything; you look at lines.
#
# > **Predict.** How many times as fast as PyYAML's parser, which is written in C, is your Python?

# %%
from course_lib.loader.kubernetes import split_resources
from course_lib.teaching.lab.tables import seconds


def parse(content):
    try:
        list(yaml.load_all(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError:
        pass


def yours(content):
    return [read_identity(span.text) for span in split_stream(content)]


times = {}
for what, files in {"all files": documents, "the longest file": ["crds/trainingruns.yaml"]}.items():
    for who, work in {"PyYAML": parse, "yours": yours, "both": split_resources}.items():
        best = [min(seconds(work, documents[name]) for _ in range(5)) for name in files]
        times[f"{what}, {who}"] = 1_000 * sum(best)
lab.show.bars(times, "From text to identities", "ms")

# %% [markdown]
# Which was quickest on your machine? PyYAML has done more by then: it has all the values. If identities are all you want, you do
# not need them. `split_resources` ("both") looks for the head first, asks the parser about a few documents, and gives your function
# no more than the head of all others. Looking twice takes time, and in long files it saves more than it takes.
#
# ## Too long for one piece
#
# The Deployment from the beginning is one resource. Can it be one [chunk](../labs/GLOSSARY.md#chunk)? The model reads 256
# [word pieces](../labs/GLOSSARY.md#word-piece) and silently drops the rest ([truncation](../labs/GLOSSARY.md#truncation)). It was
# trained on texts of up to 128.
#
# > **Predict.** Cut all files into pieces of 2,000 characters, some 60 lines each. What share of them does the model read whole?

# %%
long = [(name, span.text) for name in documents for span in every(documents[name], 2_000)]
counts = [(lab.embedder.count_tokens(piece), name) for name, piece in long if len(piece) == 2_000]
print("read whole:", {name for count, name in counts if count <= 256})
lab.show.histogram([count for count, _ in counts], "2,000 characters", "word pieces", limit=256)

# %% [markdown]
# Those that fit all come from one file, in which long sentences describe a schema. Of ordinary manifests *none* fits: punctuation
# and made-up names cost a word piece every few characters. What is dropped is the end, where `limits:` often is. So the course
# embeds pieces of at most 700 characters.
#
# ## Where to cut a resource
#
# Lab 01 cut at the strongest boundary within reach. YAML has its own: **the further left, the stronger**. The *depth* of a line is
# twice its column, and one more for a list item, since items may be right below their key in the same column.

# %%
from course_lib.loader.yaml_lines import Line, lines_of, shared_path

small = """\
spec:
  replicas: 2
  containers:
    - name: web
      image: web:1
      limits:
        memory: 1Gi
    - name: log
      image: log:2
"""
lines = lines_of(small, 0, len(small))
print("a Line has:", *Line._fields)
lab.show.outline(small, lines)

# %% [markdown]
# A line here is one that opens a key or an item; comments above it and text below it go with it. `lines_of` gives a
# `Line(start, depth, first, path)` for each, and one for the end, with depth −1.
#
# The arrow marks a `first`: the first line inside a block. A cut before it would leave `containers:` alone.
#
# > **Predict.** The pieces may have 70 characters. One takes lines 0 and 1, the next 2 to 4. The third begins with `limits:`,
# > line 5, and all that is left would fit. Where should it end?

# %% [markdown]
# Before line 7, or we have the failure from the beginning in miniature: a limit, and after it the name of the wrong container. A
# piece that begins inside a block must end where the block ends, or before.
#
# ## Exercise 2.3 · the next cut
#
# Write `next_cut`. It gets the lines, the number of the line with which a piece begins, and the largest offset at which the piece
# may end. It returns the number of the line with which the *next* piece begins. Look at the lines after `at` that start at `limit`
# or before it; the first rule that applies decides:
#
# 1. **The block ends.** Cut before the first line that is shallower (of smaller depth) than `lines[at]`.
# 2. **The strongest boundary.** Cut before the shallowest line that is not a `first`; among equals, the last.
# 3. **Nothing to cut at.** Cut before the next line, `at + 1`, wherever it starts.
#
# ```
# next_cut(lines, 0, 70)        →  2    rule 2: lines 1 and 2 have depth 4, line 1 is a first
# next_cut(lines, 2, 20 + 70)   →  5    rule 2: 4 and 5 have depth 12, the last counts
# next_cut(lines, 5, 69 + 70)   →  7    rule 1: 9 is less than 12
# next_cut(lines, 7, 103 + 70)  →  9    rule 1: the end has depth -1
# next_cut(lines, 5, 69 + 20)   →  6    rule 3: line 6 is a first
# ```

# %% exercise="2.3"
from course_lib.loader.yaml_lines import next_cut

# %%
lab.check("2.3", next_cut)

# %%
lab.hint("2.3")

# %% [markdown] tags=["solution"]
# `min` returns the first of equals, so going through the lines backwards gives the last. The loop breaks at the first line out of
# reach, since a file may have thousands. The line at the end needs no case of its own: nothing is shallower than −1, so rule 1 ends
# the last piece there.

# %%
next_cut = lab.use("next_cut")
at, cuts = 0, []
while at < len(lines) - 1:
    at = next_cut(lines, at, lines[at].start + 70)
    cuts.append(lines[at].start)
lab.show.outline(small, lines, cuts)

# %% [markdown]
# Each piece ends with its block, or before. But read the third on its own: `limits:`, of whom? The right owner is gone, too, and
# it has to come back in another way.
#
# ## Exercise 2.4 · the header
#
# Each piece gets a [header](../labs/GLOSSARY.md#header) of two lines, as YAML comments. Write `make_header`. What is None or empty
# is left out; a line of nothing as well. Any run of white space within a line becomes one space: a name may hold line breaks.
#
# A manifest says NetworkPolicy, and people ask for the *firewall*. So the first line ends with the words that people use for the
# kind, after a colon. `KIND_WORDS` has them, for the kinds that it knows.
#
# ```
# resource: api_version="v1", kind="Secret", name="web", namespace="shop"
#
# make_header(resource, "base/web.yaml", "data")
#     →  "# v1 Secret web in namespace shop: passwords, keys, credentials\n# base/web.yaml at data\n"
# make_header(resource, "", "data")
#     →  "# v1 Secret web in namespace shop: passwords, keys, credentials\n# at data\n"
#
# make_header(resource)              →  "# v1 Secret web in namespace shop: passwords, keys, credentials\n"
# the same, had it no namespace      →  "# v1 Secret web: passwords, keys, credentials\n"
# the same, had it nothing else      →  "# in namespace shop\n"
# ```

# %% exercise="2.4"
from course_lib.loader.resource_chunks import make_header

# %%
lab.check("2.4", make_header)

# %%
lab.hint("2.4")

# %% [markdown] tags=["solution"]
# `filter(None, …)` drops what is None or empty, and `" ".join(line.split())` makes one line of anything. As comments, the two
# lines leave the piece what it was: YAML.

# %% [markdown]
# Now put it all together. The header counts towards the limit, but its length depends on the piece, and the piece on the room that
# the header leaves. The way out: all lines of a piece share a path, and that path is never longer than the path of its first line.

# %%
from course_lib.loader.kubernetes import ResourceSpan
from course_lib.loader.resource_chunks import ResourcePiece

make_header = lab.use("make_header")


def cut_document(name, text, span, most=700):
    resource = ResourceSpan(who := read_identity(span.text), span.start, span.end, span.start)
    at, lines = 0, lines_of(text, span.start, span.end)
    while at < len(lines) - 1:
        start = lines[at].start
        room = most - len(make_header(who, name, lines[at].path))
        after = next_cut(lines, at, start + room)
        end, path = lines[after].start, shared_path(lines[at:after])
        header = make_header(who, name, path)
        yield ResourcePiece(header + text[start:end], header, start, end, path, resource)
        at = after


name = "platform/base/forecast-api.yaml"
pieces = [piece for span in split_stream(text) for piece in cut_document(name, text, span)]
kinds = [piece.resource.identity.kind for piece in pieces]
labels = [f"{kind} {piece.path}".strip() for kind, piece in zip(kinds, pieces, strict=True)]
lab.show.pieces(text, pieces, labels, groups=kinds, mark="memory: 3Gi")

# %% [markdown]
# One colour is one resource. The limit is now in a piece whose header says where it is: in the first of the containers. All lines
# are there, and everything fits:

# %% tags=["nbval-check-output"]
cut = {
    name: [piece for span in split_stream(content) for piece in cut_document(name, content, span)]
    for name, content in documents.items()
}
whole = all(
    "".join(content[piece.start : piece.end] for piece in cut[name])
    == "".join(span.text for span in split_stream(content))
    for name, content in documents.items()
)
sizes = [len(piece.text) for own in cut.values() for piece in own]
longest = max(lab.embedder.count_tokens(piece.text) for own in cut.values() for piece in own)
print(f"{len(sizes)} pieces, nothing lost: {whole}")
print(f"at most {max(sizes)} characters and {longest} word pieces, headers included")

# %% [markdown]
# Small to find, large to read: the piece is what gets embedded, and its offsets lead back into the file. A reader, or a language
# model, gets the whole resource, and can follow the path. No other container is named in the piece:

# %% tags=["nbval-check-output"]
[piece] = [piece for piece in pieces if "memory: 3Gi" in piece.text]
print(f"{piece.header}containers named in it: {len(named(piece.text))}")
[span] = [span for span in split_stream(text) if span.start <= piece.start < span.end]
owner = next(line for line in lines_of(text, *span[:2]) if line.path.startswith(piece.path))
print(text[owner.start :].split("\n")[0].strip())

# %% [markdown]
# ## Break it: one definition
#
# `crds/trainingruns.yaml` defines a [custom resource](../labs/GLOSSARY.md#custom-resource): its schema explains every field that a
# training run may have. Real platforms bring dozens of such definitions, and their manifests are mostly schemas.
#
# The course has a *policy*: of a definition it indexes the head, the versions, and the descriptions at the top of each schema.
#
# > **Predict.** What share of all pieces comes from this one file, with the schema and without? And without it, will the questions
# > be answered better or worse?

# %%
from types import SimpleNamespace

from course_lib.loader.resource_chunks import chunk_resources
from course_lib.loader.word_pieces import fits_model

questions = [question.question for question in lab.questions()]
asked = dict(zip(questions, lab.encode(questions), strict=True))


def passage(name, content, embedded):
    return SimpleNamespace(document_name=name, content=content, text=embedded)


def course_pieces(files, full_schemas=False):
    options = {"fits": fits_model, "full_schemas": full_schemas}
    return [
        passage(name, text[piece.start : piece.end], piece.text)
        for name, text in files.items()
        for piece in chunk_resources(text, 700, source_path=name, **options)
    ]


bars = {}
for what, full in {"the schema and all": True, "by the policy": False}.items():
    kept = course_pieces(documents, full)
    own = sum(passage.document_name.startswith("crds/") for passage in kept)
    bars |= {f"the definition, {what}": own, "all other files": len(kept) - own}
lab.show.bars(bars, "Where the pieces come from", "pieces")

# %% [markdown]
# With its schema, one file takes a good part of the index. To see what that does to a search, let three more teams have such a definition: the
# same one under other names. [Recall@5](../labs/GLOSSARY.md#recallk) is the share of questions with an answering piece among the
# first five results, and [MRR](../labs/GLOSSARY.md#mrr) rewards having it on top.

# %%
definition = documents["crds/trainingruns.yaml"]
four = dict(documents)
for kind in ("ScoringRun", "NotebookServer", "DataExport"):
    renamed = definition.replace("TrainingRun", kind).replace("trainingrun", kind.lower())
    four[f"crds/{kind.lower()}s.yaml"] = renamed


def search_in(passages):
    vectors = lab.encode([passage.text for passage in passages])

    def search(question):
        order = (-vectors @ asked[question]).argsort(kind="stable")
        return [passages[i] for i in order]

    return search


print("definitions  schemas  pieces  results from them  recall@5   MRR")
for number, files in ((1, documents), (4, four)):
    for full in (True, False):
        search = search_in(course_pieces(files, full))
        first_five = [result for question in questions for result in search(question)[:5]]
        from_them = sum(result.document_name.startswith("crds/") for result in first_five)
        measured = lab.measure_retrieval(search)
        print(
            f"{number:11}  {'whole' if full else 'top':7}  {len(search(questions[0])):6}  "
            f"{from_them:6} of {len(first_five):4}  {measured.recall:11.2f}  {measured.mrr:5.2f}"
        )

# %% [markdown]
# Did you expect that? With one definition the policy *costs* recall: the questions about the depths of the schema have no answer
# any more. With four, whole schemas find no more than without: their pieces stand in the way of others. What the policy surely buys
# is an index of less than half the size. So it is a trade: with one definition you may well keep the schema (`full_schemas=True`),
# with dozens measure again.
#
# ## Measure: found, and with its owner?
#
# The scorecard's question is whether an answering phrase is among the first five results. The naive piece from the beginning passes
# that test, and misleads. So there is a second column: for how many questions does *some* piece hold an answer, and also kind and
# name of the resource that it is about?
#
# > **Predict.** The pieces without headers are cut better than every 1,000 characters. Do they also do better in the search?


# %%
def owned(passages):
    pairs = [(q, p) for q in lab.questions() for p in passages if q.names_owner(p.text)]
    return len({q.id for q, p in pairs if q.is_answered_by(p.document_name, p.content)})


yours = [(name, documents[name][p.start : p.end], p.text) for name in cut for p in cut[name]]
splits = {
    "every 1,000": [
        passage(name, span.text, span.text)
        for name in documents
        for span in every(documents[name], 1_000)
    ],
    "yours, no header": [passage(name, content, content) for name, content, _ in yours],
    "yours": [passage(*one) for one in yours],
    "course split": course_pieces(documents),
}

# %%
searches = {what: search_in(passages) for what, passages in splits.items()}
print("pieces                   recall@5   MRR   answer and owner in one piece")
measured = {what: lab.measure_retrieval(search) for what, search in searches.items()}
for what, passages in splits.items():
    row = f"{what:18} {len(passages):4} {measured[what].recall:9.2f}  {measured[what].mrr:4.2f}"
    print(f"{row}  {owned(passages):3} of {len(questions)}")

own, other = measured["yours"], measured["course split"]
note = f"manifests: your pieces under headers (recall of course split: {other.recall:.2f})"
lab.score(recall_at_5=own.recall, mrr=own.mrr, note=note)

# %% [markdown]
# Good cuts alone make it *worse*: the smaller the piece, the less it says about itself. It is the header that turns this around.
#
# `course split` is made of the same four functions: the class `_Cutter` in `resource_chunks.py` has the loop that you saw in
# `cut_document`. It also opens Lists, asks a parser about flow style, cuts a line that is too long, and leaves out the schema and its questions. And it joins
# small neighbours into one piece, where no block ends between them: fewer pieces are encoded in less time. (Labs 00 and 01 search the
# Markdown documents, with other questions: their rows cannot be compared with this one.)
#
# ## Three gigabytes, once more
#
# > **Predict.** At which place does each search put the piece with `memory: 3Gi`? And if the question names the Deployment?

# %%
for question in (questions[0], "Which container of forecast-api has the memory limit of 3Gi?"):
    asked[question] = lab.encode(question)
    print(question)
    for what, search in searches.items():
        results = search(question)
        places = ["memory: 3Gi" in result.content for result in results]
        print(f"  {what:18} {places.index(True) + 1:3} of {len(results)}")

first, second, *_ = searches["yours"](question)
print(f"\n{first.text}\n{second.text}")

# %% [markdown]
# There it is, second, and its header says whose limit it is: that of the first container of `forecast-api`, which you followed to
# `predictor`. Before it come the limits of the same Deployment's *init* container. Without the header the same lines are far down the
# list.
#
# As first asked, the question has nothing but a number to go by, and vectors are poor at numbers. Searching by words
# ([lexical retrieval](../labs/GLOSSARY.md#lexical-retrieval)) is good at them, and
# [hybrid retrieval](../labs/GLOSSARY.md#hybrid-retrieval) does both.

# %% [markdown]
# ## Recap
#
# - `---` separates documents at the beginning of a line, with white space or nothing after it, and nowhere else.
# - A resource's name is a direct child of its `metadata`. Every other `name:` belongs to something else.
# - Cut where the indentation is smallest, and never after the end of the block in which the piece begins.
# - A piece needs a header: whose it is, from which file, and where inside. The header counts towards the limit.
# - What to leave out of an index is a trade. Measure it before you believe in it.
#
# ## Three questions
#
# 1. A ConfigMap holds a script, and one of the script's lines is `---`. When does it cut the document in two?
# 2. You raise the limit to 1,000 characters, and let the header come on top. What goes wrong, and how do you notice?
# 3. A colleague adds a sidecar as the *first* container of a Deployment. Which pieces have to be embedded again?
#
# <details><summary>Answers</summary>
#
# 1. Only in column 0. Inside a block scalar every line is indented, so this takes a broken file; but then the parser, too, begins a
#    new document there.
# 2. Some texts exceed 256 word pieces, and the model drops their ends. There is no error: to notice, you have to count, as this lab
#    did. A `limits:` at the end of such a piece cannot be found.
# 3. Those of all later containers, although their lines are the same: `containers[0]` has become `containers[1]` in their headers,
#    and the header is embedded.
#
# </details>
#
# ## Stretch
#
# Let a path say `containers[predictor]` in place of `containers[0]`, wherever an item has a `name`. Question 3 then has a better
# answer. Do recall@5 and MRR move as well?
#
# To cut a file of your own: `course split FILE.yaml`.
#
# **Next.** YAML shows by its indentation what belongs together, and so does code: [lab 03](../labs/03_code_splitters.ipynb). Or go
# on to the vectors: [lab 05](../labs/05_embeddings.ipynb).
