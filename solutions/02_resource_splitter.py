# %% [markdown]
# # 02 · Whose line is it?
#
# A line of a manifest says little without its owner. You will write a splitter that keeps the owner, also in files that a parser refuses.
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
from course_lib.records import Span


def every(text, size):
    starts = range(0, len(text), size)
    return [Span(at, min(at + size, len(text)), text[at : at + size]) for at in starts]


# %%
documents = lab.documents()
file = "platform/base/forecast-api.yaml"
text = documents[file]
naive = every(text, 1_000)
lab.show.pieces(text, naive, [f"piece {n}" for n in range(1, len(naive) + 1)], mark="memory: 3Gi")

# %% tags=["claim"]
import re

import yaml

containers = next(yaml.safe_load_all(text))["spec"]["template"]["spec"]["containers"]
owner = {one["name"]: one["resources"]["limits"]["memory"] for one in containers}
[misleading] = [piece.text for piece in naive if "memory: 3Gi" in piece.text]
assert [name for name in owner if f"name: {name}" in misleading] == ["log-shipper"], "The only container named here is `log-shipper`"
assert text.index("memory: 3Gi") - text.index("name: predictor") > 2_600, "more than 2,600 characters above it"
assert owner["predictor"] == "3Gi" and owner["log-shipper"] != "3Gi", "the limit belongs to `predictor`"
refused = []
for name, content in documents.items():
    try:
        list(yaml.safe_load_all(content))
    except yaml.YAMLError:
        refused.append(name)
assert (len(refused), len(documents)) == (4, 31), "Of the 31 files here, PyYAML refuses four"
assert sum("chart/templates" in name for name in refused) == 3, "three Helm templates, and one with a single bad document"
comments = [c for content in documents.values() for c in re.findall(r"^ *#.*", content, re.M)]
told = [q for q in lab.questions() if any(p in c for p in q.answer_contains for c in comments)]
assert (len(told), len(lab.questions())) == (17, 58), "the answers to 17 of our 58 questions are in comments"

# %% [markdown]
# The only container named here is `log-shipper`. But the limit belongs to `predictor`, whose name is more than
# 2,600 characters above it.
#
# In YAML, **the owner of a line is above it and further left**.
#
# ![Six lines of YAML and the tree that their indentation makes.](../labs/figures/indentation_tree.svg)
#
# Why not ask a parser? First, it needs valid files. Of the 31 files here, PyYAML refuses four: three
# [Helm templates](../labs/GLOSSARY.md#helm-template), and one with a single bad document. Second, PyYAML drops the comments, and there
# people write *why*: the answers to 17 of our 58 questions are in comments.

# %% [markdown]
# ## The first owner: the document
#
# A file holds any number of [YAML documents](../labs/GLOSSARY.md#yaml-document), with `---` between them. No line has its owner
# in another document, so no piece may cross this border. This file holds three documents that are not empty:
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
# `split("---")` also cuts in the note. But `re.finditer(r"^---(?=\s|\Z)", text, re.MULTILINE)` finds the right ones: dashes at the
# beginning of a line (`^`) before white space or the end of the text, which `(?=…)` leaves out of the match.
#
# ## Exercise 2.1: the documents
#
# Write `split_stream`, which decides what a document is: where it begins, where it ends, and which ones count.

# %% exercise="2.1"
from course_lib.loader.kubernetes import split_stream

# %%
lab.check("2.1", split_stream)

# %%
lab.hint("2.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a separator is a place between two documents, and nothing more. If you remove its whole line, you lose a comment or
# a mapping that is written after the dashes. `(?=\s|\Z)` leaves them to the next document. The pattern uses `^`, not
# `\n`, because the first line of a file has no line end before it.

# %% [markdown]
# ## Which resource is it?
#
# A document describes a [resource](../labs/GLOSSARY.md#resource). A piece has to say which one, so you need its kind, name,
# and [namespace](../labs/GLOSSARY.md#namespace). The first `name:` is not always right:
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
# It belongs to `labels`. So a key counts only with its *path*.
#
# ## Exercise 2.2: the identity
#
# Write `read_identity`, which gives `Identity("Role", "reader", None, "v1")` for this document. Go from line to line, and keep a list of the owners. The
# owners of a new key are left of its column: remove the others, then add the key. Given are:
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
# The mistake to remember: a key ends the blocks of *all* keys in its column and further right, and not only of the last one. One comparison
# is enough for this: `above.column < key.column` keeps the owners and drops the rest.

# %% [markdown]
# ## Break it: what no parser reads
#
# A parser refuses `odd/broken.yaml`: one of its four documents has the markers of a failed merge.
#
# > **Predict.** How many identities does your function find in this file?

# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.manifests import parsed_identity

split_stream = lab.use("split_stream")  # your function if its check passed, otherwise the course's
print(sum(len(split_stream(text)) for text in documents.values()), "documents in", len(documents), "files")
read_identity = lab.use("read_identity")
found = [(name, span.text) for name in documents for span in split_stream(documents[name])]
known = [(name, document, who) for name, document in found if (who := parsed_identity(document))]
differ = [(name, own, who) for name, document, who in known if (own := read_identity(document)) != who]
print(f"equal to the parser for {len(known) - len(differ)} of {len(known)} documents; different for")
for name, own, who in differ:
    print(f"  {name}: {own[:2]}, but the parser says {who[:2]}")
for name in ("odd/broken.yaml", "chart/templates/status-page.yaml"):
    print(name, *(read_identity(span.text)[:2] for span in split_stream(documents[name])), sep="\n  ")

# %% [markdown]
# It finds all four, and those of the template, because it needs no valid file. But another style breaks your function: where YAML is written in
# braces or in a [block scalar](../labs/GLOSSARY.md#block-scalar), it differs from the parser. There, `course split` asks a parser.

# %% [markdown]
# ## Where to cut a resource
#
# A resource can be too long for one [chunk](../labs/GLOSSARY.md#chunk). The model reads 256
# [word pieces](../labs/GLOSSARY.md#word-piece) and drops the rest without a warning. So cut, as in lab 01, at the strongest boundary. In YAML, **a boundary is stronger if its line begins further left**, because a larger block
# ends there.
#
# `lines_of` gives each line a number for this, its *depth*: the smaller it is, the stronger is the boundary before the line. It is twice
# the column. For an item of a list, one is added, because it may begin in the same column as its owner. The end of
# the text has depth −1, so it is the strongest boundary.

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
lines = lines_of(small, 0, len(small))
print(lines[3])
lab.show.outline(small, lines)

# %% [markdown]
# Before line 7. Otherwise the piece has a limit and then the name of the wrong container.
#
# The arrow ↳ marks the first line inside a block (`first` in the code). No piece should begin there, because the
# block would lose its key.

# %% [markdown]
# ## Exercise 2.3: the next cut
#
# Write `next_cut`:
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
# The mistake to remember: the strongest boundary in reach is not always the right one. A piece that begins inside a block ends where the
# block ends, even if there is room for more.

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
lab.show.outline(small, lines, cuts)

# %% tags=["claim"]
assert lines[5].start in cuts and lines[7].start in cuts, "The one that begins with `limits:`"
assert "Pod" not in small, "no piece names the Pod"

# %% [markdown]
# The one that begins with `limits:`. And no piece names the Pod. So write the owner above each piece, in a [header](../labs/GLOSSARY.md#header):
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
# The header counts towards the limit. But its length depends on where the piece ends. So you try, measure, and try again.
#
# For example, the limit is 160 characters, and a piece begins with line 2. If it ends before line 9, it has 189 characters with its
# header. So the next try ends before line 7.

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
# The mistake to remember: a piece that is measured without its header can be too long for the model, and nothing tells you. If a try does not
# fit, the next one must be *shorter*: `limit = end - 1` takes the last cut out of reach. This ends at `at + 1`, because a single line cannot be
# cut.

# %%
def pieces_of(name, text):
    for span in split_stream(text):
        resource = ResourceSpan(read_identity(span.text), span.start, span.end, span.start)
        yield from cut_document(text, resource, lines_of(text, span.start, span.end), name)


# %%
import pandas as pd
from IPython.display import display

cut_document = lab.use("cut_document")
cut = {name: list(pieces_of(name, content)) for name, content in documents.items()}
display(lab.show.tree(file, cut[file], mark="memory: 3Gi"))
[answer] = [piece for piece in cut[file] if "memory: 3Gi" in piece.text]
container = "spec.template.spec.containers[0]"
owner = next(line for line in lines_of(text, 0, len(text)) if line.path.startswith(container))
print(answer.header + text[owner.start : text.index("\n", owner.start)])

# %% [markdown]
# The limit is now in a piece whose header says where it is: in the first of the containers. The last line printed begins this container, so it is
# `predictor`.
#
# > **Predict.** How many pieces are too long for the model: of those with 1,000 characters, and of yours?

# %%
pieces = {
    "every 1,000": [one for content in documents.values() for one in every(content, 1_000)],
    "yours": [one for own in cut.values() for one in own],
}
count = {way: pd.Series([lab.embedder.count_tokens(one.text) for one in own]) for way, own in pieces.items()}
title = "too long: " + ", ".join(f"{(n > 256).sum()} of {len(n)} ({way})" for way, n in count.items())
axes = pd.DataFrame(count).plot.hist(bins=range(0, 381, 20), alpha=0.6, figsize=(6, 3), title=title)
axes.axvline(256, color="black", linestyle="--", label="the model's limit, 256")
axes.set(xlabel="word pieces", ylabel="pieces")
axes.set_xlim(0, 450)
axes.legend(loc="upper left", bbox_to_anchor=(0.6, 1))
lab.alt(axes, f"Histogram of the pieces' lengths in word pieces; {title}. The limit is 256, the dashed line.")

# %% tags=["claim"]
[piece] = [piece for piece in cut[file] if "memory: 3Gi" in piece.text]
assert piece.path.startswith("spec.template.spec.containers[0]"), "in the first of the containers"
assert text[owner.start :].startswith("        - name: predictor\n"), "The last line printed begins this container"
assert containers[0]["name"] == "predictor" and containers[0]["resources"]["limits"]["memory"] == "3Gi", "so it is `predictor`"
for name, content in documents.items():
    assert "".join(content[p.start : p.end] for p in cut[name]) == "".join(span.text for span in split_stream(content))
of_each = {way: ((found > 256).sum(), len(found)) for way, found in count.items()}
assert of_each["every 1,000"] == (11, 91), "Of the fixed pieces, 11 of 91 are right of the dashed line"
assert of_each["yours"][0] == 0, "Of yours there is none, so the model reads them all to the end"
from course_lib.loader.resource_chunks import make_header
from course_lib.loader.yaml_lines import next_cut as known_cut

tried = [(known_cut(lines, 2, limit), lines[known_cut(lines, 2, limit)].start) for limit in (180, 137)]
assert tried == [(9, 138), (7, 103)], "the next try ends before line 7"
header = make_header(web.identity, "w.yaml", "spec.containers", 80)
assert [len(header) + end - 20 for _, end in tried] == [189, 154], "it has 189 characters with its header"

# %% [markdown]
# Of the fixed pieces, 11 of 91 are right of the dashed line. Of yours there is none, so the model reads them all to the end.

# %% [markdown]
# ## Measure: found, and with its owner?
#
# [Recall@5](../labs/GLOSSARY.md#recallk) is the share of questions with an answering piece among the first five
# results. But the misleading piece counts there, too. So there are three more columns:
#
# - *gained*: recall minus that of your cuts without headers. In brackets: the [interval](../labs/GLOSSARY.md#confidence-interval) in which the
#   true gain probably is.
# - *owned*: for how many of the 58 questions a piece has the answer together with its resource's kind and name.
# - *place*: where the piece with the limit comes in the user's search.
#
# > **Predict.** What helps more, your cuts or your headers?

# %%
from course_lib.evaluation.statistics import paired_interval
from course_lib.loader.resource_chunks import chunk_resources
from course_lib.loader.word_pieces import fits_model
from course_lib.teaching.lab.retrieval import count_owned, passages_of, search_in


# Each split gives pairs: what a reader gets, and what is embedded.
def by_course(name, text):
    found = chunk_resources(text, 700, source_path=name, fits=fits_model)
    return [(text[one.start : one.end], one.text) for one in found]


# %%
splits = {"every 1,000": lambda name, text: [(one.text, one.text) for one in every(text, 1_000)]}
try:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    langchain = RecursiveCharacterTextSplitter(chunk_size=700, chunk_overlap=0)
    splits["LangChain, 700"] = lambda name, text: [(one, one) for one in langchain.split_text(text)]
except ImportError:
    print("not installed: pip install langchain-text-splitters, then run this cell again")
splits |= {
    "yours, no header": lambda name, text: [(text[p.start : p.end],) * 2 for p in cut[name]],
    "yours": lambda name, text: [(text[p.start : p.end], p.text) for p in cut[name]],
    "course split": by_course,
}


# %%
table, hits = pd.DataFrame(), {}
for name, split in splits.items():
    passages = passages_of(split, documents)
    search = search_in(passages, lab.encode)
    measured = lab.measure_retrieval(search)
    hits[name] = [one not in measured.missed for one in lab.questions()]
    results = search("Which container of forecast-api has a memory limit of 3Gi?")
    place = 1 + ["memory: 3Gi" in result.content for result in results].index(True)
    owned = count_owned(passages, lab.questions())
    table.loc[name, ["pieces", "recall@5", "owned", "place"]] = len(passages), measured.recall, owned, place

gained = {name: paired_interval(hits["yours, no header"], hit) for name, hit in hits.items()}
table.insert(2, "gained", pd.Series(gained).map(str))
table.loc["yours, no header", "gained"] = "(compared with this)"
print("recall@5, yours over every 1,000:", paired_interval(hits["every 1,000"], hits["yours"]))
table.astype({"pieces": int, "owned": int, "place": int}).round(2)

# %% tags=["claim"]
bare, uncut, yours = (table.loc[name] for name in ("yours, no header", "every 1,000", "yours"))
over = paired_interval(hits["every 1,000"], hits["yours"])
assert round(over.low, 3) <= 0 < over.mean, "not certainly better than *every 1,000* in recall: that interval contains 0, too"
assert gained["yours"].low > 0 and gained["course split"].low > 0, "with them, the whole interval is above 0"
others = [one for name, one in gained.items() if name in ("every 1,000", "LangChain, 700")]
assert all(one.low < 0 < one.high for one in others), "Other cuts alone decide nothing"
assert table.loc["course split"].pieces < 0.55 * yours.pieces, "course split has about half as many pieces"
assert bare.pieces > 2 * uncut.pieces and bare.owned < uncut.owned, "the smaller a piece is, the less it says about its resource"
assert yours.owned > uncut.owned and yours.place == 2, "With your headers, the piece with the limit is second"
assert bare.place > 20
if "LangChain, 700" in splits:
    assert uncut.owned > table.loc["LangChain, 700"].owned > bare.owned, "the smaller a piece is, the less it says about its resource"

# %% [markdown]
# Your headers do: with them, the whole interval is above 0. Other cuts alone decide nothing: the intervals of *every 1,000* and *LangChain*
# contain 0. Even cuts and headers together are not certainly better than *every 1,000* in recall: that interval contains 0, too. What they
# gain shows in *owned* and *place*.
#
# The column *owned* shows what is missing without headers: the smaller a piece is, the less it says about its resource.
#
# `course split` has about half as many pieces, because it joins small neighbours and leaves out most of a custom resource's schema.
#
# With your headers, the piece with the limit is second.
#
# ## In the field
#
# [kustomize](https://kubectl.docs.kubernetes.io/references/kustomize/) merges manifests into what the cluster gets.
#
# > **Predict.** A comment says why production still has version 4.1.3. Is it in kustomize's output?

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
    assert "4.1.3" in built and "its week in staging" not in built, "The version is there, but the reason is not"

# %% [markdown]
# The version is there, but the reason is not. So index kustomize's output if people ask what runs, and your files if they ask *why*.

# %% [markdown]
# ## Recap
#
# - The owner of a line is above it and further left. A name counts only with its path.
# - Cut where the indentation is smallest, but never after the end of the block in which the piece begins.
# - **At work**, take this splitter for manifests that people write. Begin with 700 characters, if your model reads them all.
#   `course split FILE.yaml` cuts a file of yours: read each piece alone. Whose is it?
#
# ## Three questions
#
# 1. A line of a script in a ConfigMap is `---`. When does it cut the document in two?
# 2. You do not count the header. What goes wrong, and how do you notice?
# 3. A colleague adds a *first* container to a Deployment. Which pieces must be embedded again?
#
# <details><summary>Answers</summary>
#
# 1. In column 0. A block scalar's lines are indented, so this happens only in a broken file.
# 2. If `fits` does not count it either, the model drops the end of a long piece. You notice it only if you count word pieces.
# 3. Those of all later containers: `containers[0]` in their headers is now `containers[1]`.
#
# </details>
#
# **Stretch.** Make paths that say `containers[predictor]`.
#
# **Next.** Code has blocks, too: [lab 03](../labs/03_code_splitters.ipynb).
