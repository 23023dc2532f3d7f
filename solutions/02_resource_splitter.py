# %% [markdown]
# # 02 · Whose line is it?
#
# A line of a manifest says little if you do not know what it belongs to. You will write a splitter that keeps this information, and
# that also reads files which a parser refuses.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | find and name the resources of a YAML file without a parser · cut a large resource along its indentation · give each piece a header, and measure what the header is worth | `loader/kubernetes.py`, `loader/resource_identity.py`, `loader/yaml_lines.py`, `loader/resource_chunks.py` | about {minutes} min | a little `re` |

# %% tags=["parameters"]
data_dir = "data/manifests"
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("02", data_dir=data_dir, embedding_model=embedding_model)
lab.show.pipeline("chunks")

# %% [markdown]
# ## Which container may use three gigabytes?
#
# A [manifest](../labs/GLOSSARY.md#manifest) tells Kubernetes what to run. It is written in [YAML](../labs/GLOSSARY.md#yaml). Heron is
# a small platform that forecasts how many bicycles people will hire. It has a folder of manifests. A user asks: *Which container has
# the memory limit of 3Gi?*
#
# We cut the file every 1,000 characters, as at the beginning of lab 01. The piece with the answer is open.
#
# > **Predict.** A [container](../labs/GLOSSARY.md#container) is an item of a list and has a `name`. Which container has the 3Gi?

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
# The piece names one container, `log-shipper`, and it is the wrong one. A parser gives the right one:

# %% tags=["nbval-check-output"]
containers = next(yaml.safe_load_all(text))["spec"]["template"]["spec"]["containers"]
for container in containers:
    print(container["name"], container["resources"]["limits"])


def named(piece):
    return [one["name"] for one in containers if f"name: {one['name']}" in piece]


[wrong] = [span.text for span in naive if "memory: 3Gi" in span.text]
print("named in the piece:", *named(wrong))
between = text.index("memory: 3Gi") - text.index("name: predictor")
print(f"{between:,} characters from the container's name to its limit")

# %% [markdown]
# This cut breaks no word. What it does is worse: the piece is easy to read, but it says something false. In YAML, indentation
# shows what belongs to what. The owner of a line is above it and further left. It can be many lines away.
#
# ![Left, six lines of YAML. Right, the tree that they make: kind, metadata and spec are below the document, name and labels below metadata, and app below labels.](../labs/figures/indentation_tree.svg)
#
# So why do we not use a parser to split?
#
# > **Predict.** How many of the files in the folder does PyYAML refuse? And for how many of our questions is the answer in a
# > *comment*?

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
# A parser refuses [Helm templates](../labs/GLOSSARY.md#helm-template). It also refuses a whole file because of one bad document. From
# the other files, `safe_load` returns only the values. (`yaml.compose` also returns the place of each value.) Both drop the comments,
# but in comments people write *why*.
#
# So you will read the text itself, with [offsets](../labs/GLOSSARY.md#offset) as in lab 01. The parser is used to check your results.
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
print("the parser:", sum(part is not None for part in yaml.safe_load_all(stream)))

# %% [markdown]
# There are three. The rule has two parts: a separator is `---` *at the beginning of a line*, and *after it* comes white space or the
# end of the text. Everything else on its line belongs to the next document.
#
# ## Exercise 2.1 · the documents
#
# Write `split_stream`. A document begins directly after the three dashes, and ends where the next three begin. If there is only white
# space or comments between two separators, this is not a document. (With `re.MULTILINE`, `^` matches at the beginning of every line.)
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
# `(?=\s|\Z)` tests what follows, but the match does not include it. So a comment or a flow mapping after the dashes stays in its
# document. The pattern uses `^`, not `\n`, because the first line of a file has no line end before it.

# %% tags=["nbval-check-output"]
split_stream = lab.use("split_stream")  # your function if its check passed, otherwise the course's
found = [(name, span) for name in documents for span in split_stream(documents[name])]
print(f"{len(found)} documents in {len(documents)} files")
for name in sorted(documents.keys() - refused):
    counted = sum(part is not None for part in yaml.safe_load_all(documents[name]))
    if counted != len(split_stream(documents[name])):
        print(f"the parser counts {counted} in {name}")

# %% [markdown]
# The parser finds the same numbers. Such a document describes a [resource](../labs/GLOSSARY.md#resource), which has a kind and nearly
# always a name.
#
# ## Which resource is it?
#
# The shortest way to find the name is to take the first `name:` in the document. The same works for the
# [namespace](../labs/GLOSSARY.md#namespace), the part of the cluster that the resource belongs to.
#
# > **Predict.** In which kind of document does the first `namespace:` belong to something else? Think of one kind before you look.


# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.manifests import parsed_identity


def first(key, document):
    hit = re.search(rf"\b{key}: *([^\s,}}]+)", document)
    return hit and hit[1].strip("\"'")


read = [(name, span.text, parsed_identity(span.text)) for name, span in found]
read = [(name, document, who) for name, document, who in read if who]  # what the parser accepts
for key in ("name", "namespace"):
    wrong = [one for one in read if first(key, one[1]) != getattr(one[2], key)]
    print(f"\nthe first {key!r} is wrong in {len(wrong)} of {len(read)} documents, such as")
    for name, document, who in wrong[-4:]:
        print(f"  {name}: {who.kind} has {getattr(who, key)}, not {first(key, document)}")

# %% [markdown]
# A binding names the namespace of its *subject*. A [Kustomization](../labs/GLOSSARY.md#kustomization) gives a namespace to *other*
# resources and has none itself. A wrong name is worse than no name, because people trust it.
#
# ## Exercise 2.2 · the identity
#
# Write `read_identity` for documents in the usual YAML style, with one key on each line. Only two places count: keys in column 0, and
# the direct children of a `metadata:` in column 0. All direct children begin in the same column as the first child. A deeper key
# belongs to one of the children. `metadata:` ends at the next key in column 0. If a key comes twice, as in the branches of a template,
# the first one counts.
#
# `read_key` is imported for you. It returns None for a line that has no key of its own, such as a list item, a comment or text.
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
# The function remembers two things: `inside` is the last key in column 0, and `column` is the column of its children. So a deeper
# key is never taken, whatever its name is.

# %% tags=["nbval-check-output"]
read_identity = lab.use("read_identity")
differ = [(name, own, who) for name, text, who in read if (own := read_identity(text)) != who]
print(f"equal to the parser for {len(read) - len(differ)} of {len(read)} documents; different for")
for name, own, who in differ:
    print(f"  {name}: {own[:2]}, but the parser says {who[:2]}")

# %% [markdown]
# The differences are documents in braces, as in JSON, and a name in a [block scalar](../labs/GLOSSARY.md#block-scalar): YAML has many
# ways to write the same thing. How can a program know that your function may be wrong about a document? It tests whether every line
# up to the end of `metadata` is blank, a comment, or a key with a simple value. `usual_head` returns these lines, or None if any line
# is something else.

# %% tags=["nbval-check-output"]
from course_lib.loader.resource_identity import usual_head

unsure = [(name, text) for name, text, _ in read if usual_head(text) is None]
missed = [name for name, text, who in read if read_identity(text) != who and usual_head(text)]
print(f"unsure about {len(unsure)} of {len(read)} documents; wrong about the others: {len(missed)}")

# %% [markdown]
# `course split` and `course ingest` begin with `split_resources`. It calls your two functions. For the few documents without a usual
# head it calls a parser. The rest of `kubernetes.py` is not built in this lab: rare line ends (`usual_breaks`), the items of a `List`
# (`_resources_of`) and the branches of a template (`_branches`). If the parser refuses a document, your function is used again:
#
# > **Predict.** `odd/broken.yaml` holds four documents. One of them contains the markers of a failed merge. How many identities do
# > you get?

# %% tags=["nbval-check-output"]
for name in refused:
    for span in split_stream(documents[name]):
        if (who := read_identity(span.text)).kind:
            print(f"{name:35} {who.kind} {who.name}")

# %% [markdown]
# You get all four, and those of the templates. Your function does not need a valid file. It only looks for the name.
#
# And how fast is it? A parser builds every value. Your function looks at lines.
#
# > **Predict.** PyYAML's parser is written in C. How many times as fast is your Python function?

# %%
from contextlib import suppress

from course_lib.loader.kubernetes import split_resources
from course_lib.teaching.lab.tables import seconds


def parse(content):
    with suppress(yaml.YAMLError):
        list(yaml.load_all(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def yours(content):
    return [read_identity(span.text) for span in split_stream(content)]


times = {"all files": {}, "the longest file": {}}
for way, work in {"PyYAML": parse, "yours": yours, "split_resources": split_resources}.items():
    best = {name: min(seconds(work, documents[name]) for _ in range(5)) for name in documents}
    times["all files"][way] = 1_000 * sum(best.values())
    times["the longest file"][way] = 1_000 * best["crds/trainingruns.yaml"]
lab.show.bars(times, "From text to identities", "ms")

# %% [markdown]
# Which was fastest on your machine? PyYAML does more work: it reads all values. For identities, you do not need them.
# `split_resources` first looks for the head. It gives a few documents to the parser, and only the head of all others to your
# function. Looking for the head takes time, but in long files it saves more time.
#
# ## Too long for one piece
#
# The Deployment from the beginning is one resource. Can it be one [chunk](../labs/GLOSSARY.md#chunk)? The model reads 256
# [word pieces](../labs/GLOSSARY.md#word-piece) and drops the rest without a warning
# ([truncation](../labs/GLOSSARY.md#truncation)). It was trained on texts of at most 128 word pieces.
#
# > **Predict.** We cut all files into pieces of 2,000 characters, about 60 lines each. What share of them does the model read to the
# > end?

# %%
long = [(name, span.text) for name in documents for span in every(documents[name], 2_000)]
counts = [(lab.embedder.count_tokens(piece), name) for name, piece in long if len(piece) == 2_000]
print("read to the end, pieces of:", {name for count, name in counts if count <= 256})
lab.show.histogram([count for count, _ in counts], "Pieces of 2,000 characters", "word pieces", limit=256)

# %% [markdown]
# All pieces that fit come from one file, which describes a schema in long sentences. From ordinary manifests, *none* fits: punctuation
# and invented names need a word piece for every few characters. The model drops the end of the piece, where `limits:` often is. So
# the course embeds pieces of at most 700 characters.
#
# ## Where to cut a resource
#
# Lab 01 cut at the strongest boundary within reach. In YAML, **a boundary is stronger if its line begins further left**. The *depth*
# of a line is twice its column, plus one for a list item, because items may begin in the same column as their key.

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
# Only lines that begin with a key or an item count as a line here. Comments above such a line and text below it belong to it.
# `lines_of` returns a `Line(start, depth, first, path)` for each, and one more for the end, with depth −1.
#
# The arrow marks a `first`, which is the first line inside a block. A cut before it would separate `containers:` from its block.
#
# > **Predict.** The pieces may have 70 characters. One has lines 0 and 1, the next has 2 to 4. The third begins with `limits:`,
# > line 5, and the whole rest would fit. Where should it end?
#
# It should end before line 7. Otherwise we have the same error as at the beginning: a limit, and after it the name of the wrong
# container. If a piece begins inside a block, it must end where the block ends, or before.
#
# ## Exercise 2.3 · the next cut
#
# Write `next_cut`. It gets the lines, the number of the line with which a piece begins, and the largest offset at which the piece
# may end. It returns the number of the line with which the *next* piece begins. Look at the lines after `at` that start at `limit`
# or before. The first rule that applies decides:
#
# 1. **The block ends.** Cut before the first line with a smaller depth than `lines[at]`.
# 2. **The strongest boundary.** Of the lines that are not a `first`, cut before the one with the smallest depth. If there are several,
#    take the last.
# 3. **No line to cut at.** Cut before the next line, `at + 1`, wherever it starts.
#
# ```
# next_cut(lines, 0, 70)        →  2    rule 2: lines 1 and 2 have depth 4, line 1 is a first
# next_cut(lines, 2, 20 + 70)   →  5    rule 2: 4 and 5 have depth 12, take the last
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
# If several values are equal, `min` returns the first. `reversed` turns the list around, so this is the last line in the file. The loop stops at the first line that is out of reach, because a file may have thousands of lines. The line for the end needs
# no special case: no depth is smaller than −1, so rule 1 ends the last piece there.

# %%
next_cut = lab.use("next_cut")
at, cuts = 0, []
while at < len(lines) - 1:
    at = next_cut(lines, at, lines[at].start + 70)
    cuts.append(lines[at].start)
lab.show.outline(small, lines, cuts)

# %% [markdown]
# Each piece ends with its block, or before. But read only the third piece: whose `limits:` are these? Now the right owner is not in
# the piece either. We have to add it in another way.
#
# ## Exercise 2.4 · the header
#
# Each piece gets a [header](../labs/GLOSSARY.md#header) of two lines, as YAML comments. Write `make_header`. Leave out what is None or
# empty, and leave out empty lines. Several white space characters in a row become one space, because a name may hold line breaks.
#
# A manifest says NetworkPolicy, but people ask for the *firewall*. So the first line ends with a colon and the words that people use
# for the kind. They are in `KIND_WORDS`. Some kinds are not in it.
#
# A header may have at most `most` characters, its line feeds included. If it is longer, leave out the folders of the file (`posixpath`
# is imported for you). If it is still longer, cut it: it then has `most` characters, and the last one is a line feed.
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
# the same without its namespace     →  "# v1 Secret web: passwords, keys, credentials\n"
# with nothing but its namespace     →  "# in namespace shop\n"
#
# make_header(resource, "base/web.yaml", "data", 83)
#     →  "# v1 Secret web in namespace shop: passwords, keys, credentials\n# web.yaml at data\n"
# make_header(resource, "base/web.yaml", "data", 14)
#     →  "# v1 Secret w\n"
# ```

# %% exercise="2.4"
from course_lib.loader.resource_chunks import make_header

# %%
lab.check("2.4", make_header)

# %%
lab.hint("2.4")

# %% [markdown] tags=["solution"]
# `filter(None, …)` drops what is None or empty, and `" ".join(line.split())` makes one line of any text. Folders are
# left out first, so that the name of the file stays. The two lines are comments, so the piece is still YAML.

# %% [markdown]
# Now put everything together. The header counts towards the limit. But the length of the header depends on the piece, and the size of
# the piece depends on the header. The solution: all lines of a piece share a path, and this path is never longer than the path of the
# first line. A header may take half of the limit.

# %%
from course_lib.loader.kubernetes import ResourceSpan
from course_lib.loader.resource_chunks import ResourcePiece

make_header = lab.use("make_header")


def cut_document(name, text, span, most=700):
    resource = ResourceSpan(who := read_identity(span.text), span.start, span.end, span.start)
    at, lines = 0, lines_of(text, span.start, span.end)
    while at < len(lines) - 1:
        start = lines[at].start
        room = most - len(make_header(who, name, lines[at].path, most // 2))
        after = next_cut(lines, at, start + room)
        end, path = lines[after].start, shared_path(lines[at:after])
        header = make_header(who, name, path, most // 2)
        yield ResourcePiece(header + text[start:end], header, start, end, path, resource)
        at = after


name = "platform/base/forecast-api.yaml"
pieces = [piece for span in split_stream(text) for piece in cut_document(name, text, span)]
kinds = [piece.resource.identity.kind for piece in pieces]
labels = [f"{kind} {piece.path}".strip() for kind, piece in zip(kinds, pieces, strict=True)]
lab.show.pieces(text, pieces, labels, groups=kinds, mark="memory: 3Gi")

# %% [markdown]
# Each resource has its own colour. The limit is now in a piece whose header says where it is: in the first of the containers. No line
# is missing, and everything fits:

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
# The small piece is embedded, so that it can be found. Its offsets give its place in the file. A reader or a language model gets the
# whole resource and can follow the path. No other container is named in the piece:

# %% tags=["nbval-check-output"]
[piece] = [piece for piece in pieces if "memory: 3Gi" in piece.text]
print(f"{piece.header}containers named in it: {len(named(piece.text))}")
[span] = [span for span in split_stream(text) if span.start <= piece.start < span.end]
owner = next(line for line in lines_of(text, *span[:2]) if line.path.startswith(piece.path))
print(text[owner.start :].split("\n")[0].strip())

# %% [markdown]
# ## Break it: one definition
#
# `crds/trainingruns.yaml` defines a [custom resource](../labs/GLOSSARY.md#custom-resource). Its schema describes every field of a
# training run. Real platforms have dozens of such definitions, and these are mostly schemas.
#
# The course has a *policy*: from a definition it indexes only the head, the versions, and the descriptions at the top of each schema.
#
# > **Predict.** What share of all pieces comes from this one file, with its schema and without? Are the questions answered better or
# > worse without the schema?

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
for what, full in {"whole schemas": True, "by the policy": False}.items():
    kept = course_pieces(documents, full)
    own = sum(passage.document_name.startswith("crds/") for passage in kept)
    bars[what] = {"the definition": own, "all other files": len(kept) - own}
lab.show.bars(bars, "Where the pieces come from", "pieces")

# %% [markdown]
# With its schema, one file is a large part of the index. What does this change in a search? Suppose that three more teams have such a
# definition: the next cell copies this one under other names. [Recall@5](../labs/GLOSSARY.md#recallk) is the share of questions with an
# answering piece among the first five results. [MRR](../labs/GLOSSARY.md#mrr) is higher if that piece is nearer to the top.

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
# Did you expect that? With one definition, recall is lower with the policy: the answers that are deep in the schema are no longer in
# the index. With four definitions, whole schemas find no more than the policy, because their pieces take the places of others. But
# the policy makes the index less than half as large. So you have to choose. With one definition you can keep the schema
# (`full_schemas=True`). With dozens, measure again.
#
# ## In the field
#
# [kustomize](https://kubectl.docs.kubernetes.io/references/kustomize/) is the standard tool that builds what a cluster gets: it merges
# the base, the patches and the images of an overlay. It is part of `kubectl`.
#
# > **Predict.** A comment in the overlay says why production still has version 4.1.3. Is it in the result?

# %%
from shutil import which
from subprocess import run

if not which("kubectl"):
    print("not installed: see https://kubernetes.io/docs/tasks/tools, then run this cell again")
else:
    overlay = lab.data_dir / "platform/overlays/prod"
    built = run(["kubectl", "kustomize", overlay], capture_output=True, encoding="utf-8").stdout
    resources = [read_identity(span.text) for span in split_stream(built)]
    print(f"{len(resources)} resources, {len(re.findall(r'^ *#', built, re.M))} comments")
    print("4.1.3" in built, "not yet passed its week in staging" in built)
    print("ConfigMaps:", *(who.name for who in resources if who.kind == "ConfigMap"))

# %% [markdown]
# The version is there, but the reason for it is not. Also, names of generated ConfigMaps end with a hash of their content, so a small
# change gives a new name. And a line of the result does not say which file you must edit. Take kustomize (or `helm template`) if questions
# are about what really runs: in the sources, the answer is spread over base and patches. Index the sources if people ask *why*, or
# want to change something. You can index both, under two names.
#
# ## Measure: found, and with its owner?
#
# The scorecard counts a question as found if a phrase of its answer is among the first five results. The naive piece from the beginning
# passes this test, but it misleads. So there is a second column. For how many questions is there a piece that holds an answer, and also
# the kind and name of its resource?
#
# > **Predict.** The pieces without headers are cut better than every 1,000 characters. Are they also better in the search?


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
# With good cuts but no header, the search is *worse*: the smaller a piece is, the less it says about its resource. With the header it
# is better.
#
# `course split` uses the same four functions. The class `_Cutter` in `resource_chunks.py` has the loop from `cut_document`. It also
# opens Lists, uses a parser for flow style, cuts a line that is too long, and leaves out the schema. And it joins small neighbours into
# one piece if no block ends between them. Then there are fewer pieces to encode. (Labs 00 and 01 search the Markdown documents, with
# other questions. Do not compare their rows with this one.)
#
# ## Three gigabytes, once more
#
# > **Predict.** At which place does each search rank the piece with `memory: 3Gi`? And if the question names the Deployment?

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
# Now the piece is second. Its header says whose limit it is: the limit of the first container of `forecast-api`. You have seen that this
# is `predictor`. The piece before it has the limits of the same Deployment's *init* container. Without the header, the same lines are
# far down the list.
#
# In its first form, the question has only a number that a search can use, and vectors represent numbers badly. A search by words
# ([lexical retrieval](../labs/GLOSSARY.md#lexical-retrieval)) is good at numbers, and
# [hybrid retrieval](../labs/GLOSSARY.md#hybrid-retrieval) combines both.
#
# ## Recap
#
# - `---` separates documents only at the beginning of a line, with white space or nothing after it.
# - A resource's name is a direct child of its `metadata`. Every other `name:` belongs to something else.
# - Cut where the indentation is smallest, but never after the end of the block in which the piece begins.
# - A piece needs a header: its resource, its file, and its place inside the resource. The header counts towards the limit.
# - If you leave something out of an index, some answers are lost and others are found more easily. Measure both.
#
# ## Three questions
#
# 1. A ConfigMap holds a script, and one of the script's lines is `---`. When does this line cut the document in two?
# 2. You raise the limit to 1,000 characters, and you do not count the header. What goes wrong, and how do you notice it?
# 3. A colleague adds a container as the *first* one of a Deployment. Which pieces must be embedded again?
#
# <details><summary>Answers</summary>
#
# 1. Only if it is in column 0. In a block scalar every line is indented, so this happens only in a broken file. Then a parser also
#    begins a new document there.
# 2. Some texts have more than 256 word pieces, and the model drops their ends. There is no error. You only notice it if you count, as
#    in this lab. A `limits:` at the end of such a piece cannot be found.
# 3. The pieces of all later containers, although their lines are the same. In their headers, `containers[0]` is now
#    `containers[1]`, and the header is embedded.
#
# </details>
#
# ## Stretch
#
# Make paths that say `containers[predictor]` instead of `containers[0]`, if an item has a `name`. Then question 3 has a better
# answer. Do recall@5 and MRR change, too?
#
# To cut a file of your own: `course split FILE.yaml`.
#
# **Next.** In YAML, indentation shows what belongs together. In code, too: [lab 03](../labs/03_code_splitters.ipynb). Or continue with
# the vectors: [lab 05](../labs/05_embeddings.ipynb).
