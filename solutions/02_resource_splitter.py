# %% [markdown]
# # 02 · Whose line is it?
#
# A line of a YAML file, such as `memory: 3Gi`, says little without its *owner*: what the line belongs to. You will write a splitter that
# names the owner in a *header* above each piece, also in files that a parser refuses.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | find and name the resources of a YAML file without a parser · cut them along their indentation · measure what a header is worth | about {minutes} min | a little `re` |

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
# A [manifest](../labs/GLOSSARY.md#manifest), written in [YAML](../labs/GLOSSARY.md#yaml), tells Kubernetes what to run. A user asks: *Which
# container of forecast-api has a memory limit of 3Gi?* We cut its manifest every 1,000 characters. Only the piece with the limit is open.
#
# > **Predict.** A [container](../labs/GLOSSARY.md#container) is an item of a list, and has a `name`. Read only the open piece. Which
# > container has the 3Gi?


# %%
def every(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


documents = lab.documents()
file = "platform/base/forecast-api.yaml"
text = documents[file]
naive = every(text, 1_000)
lab.show.pieces([(f"piece {n}", piece) for n, piece in enumerate(naive, 1)], mark="memory: 3Gi")

# %% tags=["claim"]
import re

import yaml

containers = next(yaml.safe_load_all(text))["spec"]["template"]["spec"]["containers"]
owner = {one["name"]: one["resources"]["limits"]["memory"] for one in containers}
[misleading] = [piece for piece in naive if "memory: 3Gi" in piece]
assert [name for name in owner if f"name: {name}" in misleading] == ["log-shipper"], (
    "The only container named in this piece is `log-shipper`"
)
assert text.index("memory: 3Gi") - text.index("name: predictor") > 2_600, (
    "more than 2,600 characters above it"
)
assert owner["predictor"] == "3Gi" and owner["log-shipper"] != "3Gi", (
    "the limit belongs to `predictor`"
)
refused = []
for name, content in documents.items():
    try:
        list(yaml.safe_load_all(content))
    except yaml.YAMLError:
        refused.append(name)
assert (len(refused), len(documents)) == (4, 31), "Of the 31 files here, PyYAML refuses four"
assert sum("chart/templates" in name for name in refused) == 3, (
    "three Helm templates, and one with a single bad document"
)
comments = [c for content in documents.values() for c in re.findall(r"^ *#.*", content, re.M)]
told = [q for q in lab.questions() if any(p in c for p in q.answer_contains for c in comments)]
assert (len(told), len(lab.questions())) == (17, 58), (
    "the answers to 17 of our 58 questions are in comments"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The only container named in this piece is `log-shipper`. But the limit belongs to `predictor`, whose name is more than 2,600 characters
# above it.
#
# </details>
#
# In YAML, **the owner of a line is above it and further left**. An item of a list may also begin in the same column as its owner.
#
# ![Six lines of YAML and the tree that their indentation makes.](../labs/figures/indentation_tree.svg)
#
# Why not ask a parser? It needs valid files. Of the 31 files here, PyYAML refuses four: three
# [Helm templates](../labs/GLOSSARY.md#helm-template), and one with a single bad document.
#
# For a valid file, `yaml.compose` says where each value ends. But do not cut the parsed data: they have no comments, and the answers to 17
# of our 58 questions are in comments.

# %% [markdown]
# ## The first owner: the document
#
# A file holds any number of [YAML documents](../labs/GLOSSARY.md#yaml-document), with `---` between them. A line and its owner are in the
# same document, so no piece may cross this border. This file has three documents that are not empty:
#
# ```
# ---
# kind: ConfigMap
# data:
#   note: |
#     --- not here
# --- # the second one
# kind: Role
# ---
# --- {kind: Secret}
# ```
#
# `split("---")` also cuts in the note. But `re.finditer(r"^---(?=\s|\Z)", text, re.MULTILINE)` finds the right places:
#
# - `^`: the dashes begin a line.
# - `(?=\s|\Z)`: white space or the end of the text follows. It is not part of the match.
#
# ## Exercise 2.1: the documents
#
# Write `split_stream`. It decides where each document begins and ends, and which documents count.

# %% exercise="2.1"
from course_lib.loader.kubernetes import split_stream

# %%
lab.check("2.1", split_stream)

# %%
lab.hint("2.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: to remove the whole line of a separator. A comment or a mapping after the dashes is part of the next document,
# and would be lost.

# %% [markdown]
# ## Which resource is it?
#
# A document describes a [resource](../labs/GLOSSARY.md#resource). A piece has to say which one, so you need its kind, name, and
# [namespace](../labs/GLOSSARY.md#namespace). The first `name:` is not always the resource's name:
#
# ```
# kind: Role
# metadata:
#   labels:
#     name: not-this-one        path: metadata, labels, name
#   name: reader                path: metadata, name
# apiVersion: v1
# ```
#
# So a key counts only with its *path*.
#
# ## Exercise 2.2: the identity
#
# Write `read_identity`, which gives `Identity("Role", "reader", None, "v1")` for this document. Go from line to line, and keep a list of
# owners. At each key:
#
# 1. Remove from the list all keys in this key's column or further right.
# 2. Add the key.
#
# Given are:
#
# ```
# read_key('  name: "web"  # front')  →  Key(column=2, name="name", value="web")
# read_key("- kind: User")            →  None, as for all lines that begin with no key
# IDENTITY_PATHS                      =  ("kind",), ("metadata", "name"), ("metadata", "namespace"), ("apiVersion",)
# ```

# %% exercise="2.2"
from course_lib.loader.resource_identity import read_identity

# %%
lab.check("2.2", read_identity)

# %%
lab.hint("2.2")

# %% [markdown] tags=["solution"]
# The mistake to remember: to remove only the last key from the list. A new key ends the blocks of *all* keys in its column and further
# right. `above.column < key.column` keeps its owners.

# %% [markdown]
# ## Break it: what no parser reads
#
# A parser refuses `odd/broken.yaml`: one of its four documents has the markers of a failed merge.
#
# > **Predict.** How many identities does your function find in this file?

# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.manifests import parsed_identity

split_stream = lab.use("split_stream")  # your function if its check passed, otherwise the course's
found = [(name, span.text) for name in documents for span in split_stream(documents[name])]
print(len(found), "documents in", len(documents), "files")
read_identity = lab.use("read_identity")
known = [(name, read_identity(one), who) for name, one in found if (who := parsed_identity(one))]
differ = [(name, own, who) for name, own, who in known if own != who]
equal = len(known) - len(differ)
print(f"equal to the parser for {equal} of {len(known)} documents; different for")
for name, own, who in differ:
    print(f"  {name}: {own[:2]}, but the parser says {who[:2]}")
for name in ("odd/broken.yaml", "chart/templates/status-page.yaml"):
    identities = [read_identity(span.text)[:2] for span in split_stream(documents[name])]
    print(name, *identities, sep="\n  ")

# %% [markdown]
# <details><summary>The answer</summary>
#
# Your function finds all four, because it needs no valid file.
#
# </details>
#
# Here, your function differs from the parser where YAML is written in braces or in a [block scalar](../labs/GLOSSARY.md#block-scalar).

# %% [markdown]
# ## Where to cut a resource
#
# A resource can be too long for one [chunk](../labs/GLOSSARY.md#chunk). The model reads 256 [word pieces](../labs/GLOSSARY.md#word-piece)
# and drops the rest without a warning. So cut, as in lab 01, at the strongest boundary.
#
# In YAML, **a boundary is stronger if its line begins further left**, because a larger block ends there. `lines_of` gives each line a
# *depth*: twice its column, and one more for an item of a list. The smaller the depth, the stronger the boundary before the line:
#
# ```
# containers:        depth 0
# - name: web        depth 1
#   image: web:1     depth 4
# ```
#
# The end of the text has depth −1, so it is the strongest boundary.

# %%
from course_lib.loader.yaml_lines import lines_of

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

# %% [markdown]
# > **Predict.** A piece begins with `limits:` and has room for all lines after it. Before which line should it end?

# %%
from itertools import pairwise

lines = lines_of(small, 0, len(small))
print(lines[3])


def outline(cuts=()):
    print("  no start depth")
    for number, (line, after) in enumerate(pairwise(lines)):
        if line.start in cuts:
            print(f"{'✂':>16} {'─' * 40}")
        sign, words = "↳" if line.first else " ", small[line.start : after.start]
        print(f"{number:4} {line.start:5} {line.depth:5} {sign} {words}", end="")
    print(f"{len(lines) - 1:4} {lines[-1].start:5} {lines[-1].depth:5}   the end")


outline()

# %% [markdown]
# <details><summary>The answer</summary>
#
# It should end before line 7. Otherwise it has the limit of one container and the name of the next.
#
# </details>
#
# The arrow ↳ marks the first line inside a block (`first` in the code). No piece should begin there, because the block would lose its key.

# %% [markdown]
# ## Exercise 2.3: the next cut
#
# Write `next_cut`. Here is an example of each rule in its docstring:
#
# ```
# next_cut(lines, 5, 139)  →  7    rule 1: 9 is less than 12
# next_cut(lines, 2, 90)   →  5    rule 2: 4 and 5 have depth 12
# next_cut(lines, 5, 89)   →  6    rule 3: line 6 is a first
# ```

# %% exercise="2.3"
from course_lib.loader.yaml_lines import next_cut

# %%
lab.check("2.3", next_cut)

# %%
lab.hint("2.3")

# %% [markdown] tags=["solution"]
# The mistake to remember: always to take the strongest boundary in reach. A piece that begins inside a block ends where the block ends,
# even if there is room for more.

# %% [markdown]
# ## The owner above each piece
#
# Now cut the small file into pieces of at most 70 characters.
#
# > **Predict.** Which piece will have lines of a container, but not its name?

# %%
next_cut = lab.use("next_cut")
at, cuts = 0, []
while at < len(lines) - 1:
    at = next_cut(lines, at, lines[at].start + 70)
    cuts.append(lines[at].start)
outline(cuts)

# %% tags=["claim"]
assert lines[5].start in cuts and lines[7].start in cuts, "The piece that begins with `limits:`"
assert "Pod" not in small, "no piece says what kind of resource it belongs to"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The piece that begins with `limits:`. And no piece says what kind of resource it belongs to.
#
# </details>
#
# So write above the piece where it is from, in a [header](../labs/GLOSSARY.md#header):
#
# ```
# # v1 Pod web: containers that run together
# # w.yaml at spec.containers[0].limits
#       limits:
#         memory: 1Gi
# ```
#
# The header names the resource, its file, and the path that the lines of the piece share.
#
# The header counts towards the limit, but its length depends on where the piece ends. So measure, and try again.
#
# A piece begins with line 2, and the limit is 160 characters. If the piece ends before line 9, it has 189 characters with its header. So
# the next try ends before line 7.

# %%
from course_lib.loader.kubernetes import ResourceSpan
from course_lib.loader.resource_identity import Identity

web = ResourceSpan(Identity("Pod", "web", None, "v1"), 0, len(small), 0)

# %% [markdown]
# ## Exercise 2.4: a document in pieces
#
# Complete `cut_document`: decide whether the piece of this try fits, and say where to go on.
#
# ```
# cut_document(small, web, lines, "w.yaml", 160)  →  three: lines 0 to 1, 2 to 6, 7 to 8
# ```

# %% exercise="2.4"
# Given up to: piece = ResourcePiece(header + text[start:end], header, start, end, path, resource)
from course_lib.loader.resource_chunks import cut_document

# %%
lab.check("2.4", cut_document)

# %%
lab.hint("2.4")

# %% [markdown] tags=["solution"]
# The mistake to remember: to measure a piece without its header. It can be too long for the model, and nothing tells you. If a try does not
# fit, `limit = end - 1` makes the next one *shorter*.


# %%
def pieces_of(name, text):
    for span in split_stream(text):
        resource = ResourceSpan(read_identity(span.text), span.start, span.end, span.start)
        yield from cut_document(text, resource, lines_of(text, span.start, span.end), name)


cut_document = lab.use("cut_document")
cut = {name: list(pieces_of(name, content)) for name, content in documents.items()}
[answer] = [piece for piece in cut[file] if "memory: 3Gi" in piece.text]
container = "spec.template.spec.containers[0]"
owner = next(line for line in lines_of(text, 0, len(text)) if line.path.startswith(container))
print(answer.header + text[owner.start : text.index("\n", owner.start)])
shown = [(piece.path or "top level", piece.text) for piece in cut[file]]
lab.show.pieces(shown, mark="memory: 3Gi")

# %% [markdown]
# The printed header says where the limit is: in the first of the containers. The last line printed begins this container, so it is
# `predictor`.
#
# > **Predict.** How many pieces are too long for the model: of those with 1,000 characters, and of yours?

# %%
import pandas as pd

pieces = {
    "every 1,000": [one for content in documents.values() for one in every(content, 1_000)],
    "yours": [one.text for own in cut.values() for one in own],
}
count = {way: pd.Series([*map(lab.embedder.count_tokens, own)]) for way, own in pieces.items()}
told = ", ".join(f"{(n > 256).sum()} of {len(n)} ({way})" for way, n in count.items())
axes = pd.DataFrame(count).plot.hist(bins=range(0, 381, 20), histtype="step", xlabel="word pieces")
axes.axvline(256, color="black", linestyle="--", label="the model's limit, 256")
axes.set(title=f"too long: {told}", ylabel="pieces")
axes.legend()
lab.alt(axes, f"Histogram of the pieces' lengths; too long: {told}. The limit is a dashed line.")

# %% tags=["claim"]
[piece] = [piece for piece in cut[file] if "memory: 3Gi" in piece.text]
assert piece.path.startswith("spec.template.spec.containers[0]"), "in the first of the containers"
assert text[owner.start :].startswith("        - name: predictor\n"), (
    "The last line printed begins this container"
)
assert (
    containers[0]["name"] == "predictor" and containers[0]["resources"]["limits"]["memory"] == "3Gi"
), "so it is `predictor`"
for name, content in documents.items():
    assert "".join(content[p.start : p.end] for p in cut[name]) == "".join(
        span.text for span in split_stream(content)
    )
of_each = {way: ((found > 256).sum(), len(found)) for way, found in count.items()}
assert of_each["every 1,000"] == (11, 91), (
    "Of the fixed pieces, 11 of 91 are right of the dashed line"
)
assert of_each["yours"][0] == 0, "None of yours is too long"
from course_lib.loader.resource_chunks import make_header
from course_lib.loader.yaml_lines import next_cut as known_cut

tried = [
    (known_cut(lines, 2, limit), lines[known_cut(lines, 2, limit)].start) for limit in (180, 137)
]
assert tried == [(9, 138), (7, 103)], "the next try ends before line 7"
header = make_header(web.identity, "w.yaml", "spec.containers", 80)
assert [len(header) + end - 20 for _, end in tried] == [189, 154], (
    "it has 189 characters with its header"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# Of the fixed pieces, 11 of 91 are right of the dashed line. None of yours is too long.
#
# </details>

# %% [markdown]
# ## Measure: what do cuts buy, and what headers?
#
# The rows:
#
# - *every 300*: naive pieces, on average a little longer than yours.
# - *+ header*: above each naive piece are its file, and the kind and name of the resource in which it begins. Your headers also have the
#   path, and words for the kind.
# - *every 1,000 + header*: a cheap rival.
# - *course split* has about half as many pieces as yours.
#
# The columns:
#
# - [recall@5](../labs/GLOSSARY.md#recallk): the share of the 58 questions with the answer in one of the first five pieces.
# - *owned*: for how many questions a piece has the answer together with its resource's kind and name.
#
# In brackets is the [interval](../labs/GLOSSARY.md#confidence-interval) of a gain.
#
# > **Predict.** What helps the search: your cuts, the headers, or only both together?

# %%
from course_lib.evaluation.statistics import paired_interval
from course_lib.loader.resource_chunks import chunk_resources
from course_lib.loader.word_pieces import fits_model
from course_lib.teaching.lab.manifests import headers_above
from course_lib.teaching.lab.retrieval import answered, count_owned, passages_of

# Each split gives pairs: what a reader gets, and what is embedded.
splits = {
    "every 300": lambda name, text: [(one, one) for one in every(text, 300)],
    "every 300 + header": lambda name, text: headers_above(every(text, 300), name),
    "yours, no header": lambda name, text: [(text[p.start : p.end],) * 2 for p in cut[name]],
    "yours": lambda name, text: [(text[p.start : p.end], p.text) for p in cut[name]],
    "every 1,000 + header": lambda name, text: headers_above(every(text, 1_000), name),
    "course split": lambda name, text: [
        (text[one.start : one.end], one.text)
        for one in chunk_resources(text, 700, source_path=name, fits=fits_model)
    ],
}
table, hits = pd.DataFrame(), {}
for name, split in splits.items():
    passages = passages_of(split, documents)
    hits[name] = answered(lab.questions(), passages, lab.encode)
    recall = sum(hits[name]) / len(hits[name])
    row = len(passages), recall, count_owned(passages, lab.questions())
    table.loc[name, ["pieces", "recall@5", "owned"]] = row


def gain(before, after):
    gained = paired_interval(hits[before], hits[after])
    print(f"{after}, over {before}: {gained}")
    return gained


headers = gain("every 300", "every 300 + header"), gain("yours, no header", "yours")
cuts = gain("every 300", "yours, no header"), gain("every 300 + header", "yours")
rival = gain("every 1,000 + header", "yours")
table.astype({"pieces": int, "owned": int}).round(2)

# %% tags=["claim"]
assert cuts[1].low > 0 and round(cuts[1].mean, 2) == 0.16, (
    "yours gain 0.16 over naive pieces of about the same length, and the whole interval is above 0"
)
assert all(one.low < 0 < one.high for one in (cuts[0], headers[0])), (
    "the interval contains 0. It also contains 0 for a header above these naive pieces"
)
assert rival.low < 0 < rival.high, "its interval contains 0"
bare, yours, large = (
    table.loc[name] for name in ("yours, no header", "yours", "every 1,000 + header")
)
assert large["recall@5"] == table.loc["course split", "recall@5"], (
    "The rival finds as many answers as course split"
)
length = {
    size: pd.Series([len(one) for text in documents.values() for one in every(text, size)]).mean()
    for size in (300, 1_000)
}
own_length = pd.Series([p.end - p.start for own in cut.values() for p in own]).mean()
assert 1 < length[300] / own_length < 1.2, "a little longer than yours"
assert 3 < length[1_000] / own_length < 3.5, "about three times as much"
assert all(0.55 < table.loc[name].owned / 58 < 0.65 for name in ("every 300", bare.name)), (
    "Without headers, about six of ten answers are owned"
)
headed_ways = ["every 300 + header", "yours", "every 1,000 + header", "course split"]
assert all(table.loc[name].owned / 58 > 0.9 for name in headed_ways), (
    "with headers, more than nine of ten"
)
above = [
    headed for _, headed in headers_above(naive, file) if "memory: 3Gi" in headed.split("\n", 2)[2]
]
assert len(above) == 1 and "predictor" not in above[0] and "log-shipper" in above[0], (
    "The large naive piece with the limit still names only log-shipper"
)
from course_lib.loader.yaml_lines import shared_path

begin = text.index(misleading)
inside = [one for one in lines_of(text, 0, len(text)) if begin <= one.start < begin + 1_000]
assert shared_path(inside) == "spec.template.spec.containers", (
    "its lines share only spec.template.spec.containers"
)
headed = [
    text
    for name, content in documents.items()
    for _, text in splits["every 1,000 + header"](name, content)
]
assert sum(lab.embedder.count_tokens(one) > 256 for one in headed) == 15, (
    "15 of the 91 large pieces with a header are too long for the model"
)
assert 0.45 < table.loc["course split"].pieces / yours.pieces < 0.55, (
    "course split has about half as many pieces"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# Together they find more than either alone, and both intervals are above 0:
#
# - If all have headers, yours gain 0.16 over naive pieces of about the same length, and the whole interval is above 0. Your cuts with the
#   naive header were not tried.
# - If none has a header, your cuts may not help: the interval contains 0. It also contains 0 for a header above these naive pieces.
#
# Your gain over the cheap rival is not certain: its interval contains 0. The rival finds as many answers as `course split`. But five of its
# pieces show a reader about three times as much as five of yours.
#
# Without headers, about six of ten answers are owned; with headers, more than nine of ten. The rival is best: 58 of 58.
#
# </details>
#
# The large naive piece with the limit still names only `log-shipper`. A path would not help: its lines share only
# `spec.template.spec.containers`. And 15 of the 91 large pieces with a header are too long for the model.
#
# ## In the field
#
# [kustomize](https://kubectl.docs.kubernetes.io/references/kustomize/) merges manifests into what the cluster gets.
#
# > **Predict.** A comment says why production still has version 4.1.3. Is this comment in kustomize's output?

# %%
import re
from shutil import which
from subprocess import run

if which("kubectl"):
    overlay = lab.data_dir / "platform/overlays/prod"
    built = run(["kubectl", "kustomize", overlay], capture_output=True, encoding="utf-8").stdout
    print("4.1.3:", "4.1.3" in built, " the reason:", "its week in staging" in built)
    print("comments:", len(re.findall("^ *#", built, re.M)))
else:
    print("not installed: see https://kubernetes.io/docs/tasks/tools, then run this cell again")

# %% tags=["claim"]
if which("kubectl"):
    assert "4.1.3" in built and "its week in staging" not in built, (
        "The version is in the output, but the reason is not"
    )

# %% [markdown]
# <details><summary>The answer</summary>
#
# The version is in the output, but the reason is not.
#
# </details>
#
# Index kustomize's output if people ask what runs, and your files if they ask *why*.

# %% [markdown]
# ## Recap
#
# - The owner of a line is above it and further left. For an item, it may be in the same column.
# - Cut where the indentation is smallest, but never after the end of the block in which the piece begins.
# - **At work**, take this splitter if people need short pieces that name their resource. Large pieces with a header are simpler, but count
#   their word pieces.
# - `course split FILE.yaml` cuts a file of yours.
# - Do not index real Secrets (those here are placeholders): all who may search could read them.
#
# ## Three questions
#
# 1. A line of a script in a ConfigMap is `---`. When does it cut the document in two?
# 2. You do not count the header. What goes wrong, and how do you notice?
# 3. A colleague adds a *first* container to a Deployment. Which pieces must be embedded again?
#
# <details><summary>Answers</summary>
#
# 1. If it is in column 0. This happens only in a broken file, because a block scalar's lines are indented.
# 2. The model drops the end of a piece that is too long. You notice this only if you count word pieces.
# 3. The pieces of all later containers, because the number in their headers changes: `containers[0]` is now `containers[1]`.
#
# </details>
#
# **Stretch.** Make paths that say `containers[predictor]`.
#
# **Next.** [Lab 05](../labs/05_embeddings.ipynb): how a text becomes a vector. Or an elective on code:
# [lab 03](../labs/03_code_splitters.ipynb).
