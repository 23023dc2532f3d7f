# %% [markdown]
# # 02 · Whose line is it?
#
# A line of a manifest says little without its owner. You will write a splitter that keeps the owner, also in files that a parser refuses.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | find and name the resources of a YAML file without a parser · cut a resource along its indentation · measure what a header is worth | about {minutes} min | a little `re` |

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
# A [manifest](../labs/GLOSSARY.md#manifest), written in [YAML](../labs/GLOSSARY.md#yaml), tells Kubernetes what to run. A user asks:
# *Which container has the memory limit of 3Gi?* We cut the file every 1,000 characters. The piece with the answer is open.

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

# %% [markdown]
# > **Predict.** A [container](../labs/GLOSSARY.md#container) is an item of a list and has a `name`. Which one has the 3Gi? A parser knows
# > it. How many files does it refuse, and how many answers are in comments, which it drops?

# %% tags=["nbval-check-output"]
import re

import yaml

containers = next(yaml.safe_load_all(text))["spec"]["template"]["spec"]["containers"]
for container in containers:
    print(container["name"], container["resources"]["limits"])

refused = {}
for name, content in documents.items():
    try:
        list(yaml.safe_load_all(content))
    except yaml.YAMLError as error:
        refused[name] = error.problem
print(f"\nrefused: {len(refused)} of {len(documents)} files", *refused.items(), sep="\n  ")

comments = [c for content in documents.values() for c in re.findall(r"^ *#.*", content, re.M)]
told = [q for q in lab.questions() if any(p in c for p in q.answer_contains for c in comments)]
print(f"{len(told)} of {len(lab.questions())} questions are answered in a comment")

# %% [markdown]
# `predictor` has the 3Gi. The piece names only `log-shipper`: the name of `predictor` is far above. This cut breaks no word. It is
# worse: the piece says something false. In YAML, **the owner of a line is above it and further left** (for a
# list item, not always further left).
#
# ![Six lines of YAML and their tree: name and labels are below metadata, app is below labels.](../labs/figures/indentation_tree.svg)
#
# The parser refuses four files: three [Helm templates](../labs/GLOSSARY.md#helm-template), and one with a bad document. With the comments,
# it drops the answers to 17 questions. So you will read the text itself, with [offsets](../labs/GLOSSARY.md#offset) as in lab 01.

# %% [markdown]
# ## Where a document ends
#
# A file holds any number of [YAML documents](../labs/GLOSSARY.md#yaml-document). There are three in this one:
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
# > **Predict.** Which lines do `split("---")` and `split("\n---\n")` get wrong?
#
# The first also cuts in the note. The second overlooks the first line, and separators that share their line with something.

# %% [markdown]
# ## Exercise 2.1: the documents
#
# Write `split_stream`. With `re.MULTILINE`, `^` matches at the beginning of every line. `(?=…)` tests what follows, and is not part of the
# match. `is_empty` is given.
#
# ```
# split_stream("a: ----\n ---\n---b: 2\n")  →  one span: none of these is a separator
# ```

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
# A document describes a [resource](../labs/GLOSSARY.md#resource). Is its name the first `name:` in it, and its
# [namespace](../labs/GLOSSARY.md#namespace) (its part of the cluster) the first `namespace:`?
#
# > **Predict.** In which kind of document does the first `namespace:` belong to something else?

# %%
import pandas as pd

from course_lib.teaching.lab.manifests import parsed_identity


def first(key, document):
    hit = re.search(rf"\b{key}: *([^\s,}}]+)", document)
    return hit[1].strip("\"'") if hit else ""


# %%
split_stream = lab.use("split_stream")  # your function if its check passed, otherwise the course's
found = [(name, span.text) for name in documents for span in split_stream(documents[name])]
known = [(name, document, who) for name, document in found if (who := parsed_identity(document))]


def both(key):
    return [(who.kind, key, first(key, text), getattr(who, key) or "") for _, text, who in known]


table = pd.DataFrame([*both("name"), *both("namespace")], columns=["kind", "key", "first", "right"])
wrong = table[table["first"] != table.right]
print(f"{len(found)} documents; {len(wrong)} of {len(table)} values are wrong, such as")
wrong[wrong.kind.notna() & (wrong.right == "")].drop_duplicates("kind", keep="last")

# %% tags=["claim"]
for name in documents.keys() - refused:
    parts = [part for part in yaml.safe_load_all(documents[name]) if part is not None]
    assert len(parts) == len(split_stream(documents[name]))
elsewhere = wrong[(wrong.key == "namespace") & (wrong.right == "")]
assert "ClusterRoleBinding" in set(elsewhere.kind), "A ClusterRoleBinding names the namespace of the account that gets its rights"
assert "Kustomization" in set(elsewhere.kind), "gives one to other resources and has none itself"

# %% [markdown]
# A ClusterRoleBinding names the namespace of the account that gets its rights. A
# [Kustomization](../labs/GLOSSARY.md#kustomization) gives one to *other* resources and has none itself.

# %% [markdown]
# ## Exercise 2.2: the identity
#
# Write `read_identity`. Given are:
#
# ```
# read_key('  name: "web"  # front')  →  Key(column=2, name="name", value="web")
# read_key("- kind: User")            →  None, as for all lines that begin with no key
# IDENTITY_PATHS                      =  ("kind",), ("metadata", "name"), ("metadata", "namespace"), ("apiVersion",)
#
# kind: Role
# metadata:
#   labels:
#     name: not-this-one        path: metadata, labels, name
#   name: reader                path: metadata, name
# apiVersion: v1                →  Identity("Role", "reader", None, "v1")
# ```

# %% exercise="2.2"
from course_lib.loader.resource_identity import read_identity

# %%
lab.check("2.2", read_identity)

# %%
lab.hint("2.2")

# %% [markdown] tags=["solution"]
# The mistake to remember: a key ends the blocks of *all* keys in its column and further right, and not only of the last one. One comparison
# does it: `above.column < key.column` keeps the owners and drops the rest.

# %% [markdown]
# > **Predict.** `odd/broken.yaml` holds four documents, one with the markers of a failed merge. How many identities do you get?

# %% tags=["nbval-check-output"]
read_identity = lab.use("read_identity")
differ = [(name, own, who) for name, document, who in known if (own := read_identity(document)) != who]
print(f"equal to the parser for {len(known) - len(differ)} of {len(known)} documents; different for")
for name, own, who in differ:
    print(f"  {name}: {own[:2]}, but the parser says {who[:2]}")
print("in the files that it refuses:")
for name, who in [(name, read_identity(document)) for name, document in found if name in refused]:
    if who.kind:  # one document holds only the beginning of a loop
        print(f"  {name:35} {who.kind} {who.name}")

# %% [markdown]
# All four, and the templates too: your function needs no valid file. It differs where YAML is written in braces or in a
# [block scalar](../labs/GLOSSARY.md#block-scalar). So `course split` calls `read_identity` for the usual style, a parser for the rest, and
# `read_identity` again if it refuses.

# %% [markdown]
# ## Where to cut a resource
#
# Can the Deployment from the beginning be one [chunk](../labs/GLOSSARY.md#chunk)? The model reads 256
# [word pieces](../labs/GLOSSARY.md#word-piece) and drops the rest without a warning.
#
# Lab 01 cut at the strongest boundary. In YAML, **a boundary is stronger if its line begins further left**. The *depth* of
# a line is twice its column. A list item has one more, because it may begin in the same column as its key.

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

# %%
lines = lines_of(small, 0, len(small))
deployment = split_stream(text)[0].text
word_pieces = lab.embedder.count_tokens(deployment)
print(f"the Deployment: {len(deployment):,} characters, {word_pieces:,} word pieces. A small one:")
print(lines[3])
lab.show.outline(small, lines)

# %% tags=["claim"]
assert word_pieces > 3 * 256, "The Deployment is far too long"

# %% [markdown]
# The Deployment is far too long. `lines_of` gives a `Line` for each line that begins with a key or an item, and one for the end, with
# depth −1. The arrow marks a `first`, the first line of a block: a cut before it would separate the block from its key.
#
# > **Predict.** A piece may have 70 characters. One begins with `limits:`, line 5, and all the rest would fit. Where should it end?
#
# Before line 7. Otherwise the piece has a limit and, after it, the name of the wrong container.

# %% [markdown]
# ## Exercise 2.3: the next cut
#
# Write `next_cut`. Look at the lines after `at` that start at `limit` or before and are not a `first`. The first rule that applies
# decides:
#
# 1. **The block ends.** Take the first line with a smaller depth than `lines[at]`.
# 2. **The strongest boundary.** Take the smallest depth; of several, the last. (`min` takes the first.)
# 3. **No such line.** Take `at + 1`.
#
# ```
# next_cut(lines, 2, 90)   →  5    rule 2: 4 and 5 have depth 12
# next_cut(lines, 5, 139)  →  7    rule 1: 9 is less than 12
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
# block ends, even if there is room for more. The line for the end needs no special case: its depth, −1, is smaller than all others, so rule 1
# ends the last piece there.

# %% [markdown]
# > **Predict.** From which limit on is each container whole? Move the slider.

# %%
next_cut = lab.use("next_cut")


def cut_small(limit=70):
    at, cuts = 0, []
    while at < len(lines) - 1:
        at = next_cut(lines, at, lines[at].start + limit)
        cuts.append(lines[at].start)
    return lab.show.outline(small, lines, cuts)


lab.interact(cut_small, limit=(20, 140, 10))

# %% tags=["claim"]
assert "cut into 4 pieces" in cut_small(70).alt, "At 70, `limits:` begins a piece of its own"
assert "cut into 4 pieces" in cut_small(80).alt and "cut into 3 pieces" in cut_small(90).alt, "At 90, both containers are whole"

# %% [markdown]
# At 90, both containers are whole. At 70, `limits:` begins a piece of its own, without its owner. Every limit is too small for some
# block.

# %%
from course_lib.loader.kubernetes import ResourceSpan
from course_lib.loader.resource_identity import Identity

web = ResourceSpan(Identity("Pod", "web", None, "v1"), 0, len(small), 0)

# %% [markdown]
# ## Exercise 2.4: a document in pieces
#
# So write the owner above each piece, in a [header](../labs/GLOSSARY.md#header): its resource, with words for the kind (people ask for the
# *firewall*, not for a NetworkPolicy), its file, and its path. Given are:
#
# ```
# shared_path(lines[3:5])  →  "spec.containers[0]"
# make_header(web.identity, "w.yaml", "spec.containers[0]", 350)          at most 350 characters
#     →  "# v1 Pod web: containers that run together\n# w.yaml at spec.containers[0]\n"
# ResourcePiece(text=…, header=…, start=…, end=…, path=…, resource=web)    text: the header, then the content
# ```
#
# Put everything together in `cut_document`. The header counts towards the limit. But it names the path that the lines below it share: you
# know it only when you know where the piece ends. So try, measure, and try again. With 160 characters, the piece that begins with line 2,
# at offset 20, takes two tries:
#
# ```
# limit  next_cut  header + lines
# 180    9         71 + 118 = 189, too long; line 9 starts at 138
# 137    7         71 +  83 = 154, a piece
#
# cut_document(small, web, lines, "w.yaml", 160)  →  three: lines 0 to 1, 2 to 6, 7 to 8
# ```

# %% exercise="2.4"
from course_lib.loader.resource_chunks import cut_document

# %%
lab.check("2.4", cut_document)

# %%
lab.hint("2.4")

# %% [markdown] tags=["solution"]
# The mistake to remember: a piece that is measured without its header is too long for the model, and nothing tells you. When the first try
# does not fit, the next one must be *shorter*: `limit = end - 1` takes the last cut out of reach. It ends at `at + 1`, because a single line
# has nothing that could be left out.

# %% [markdown]
# From file to resources to pieces:


# %%
def pieces_of(name, text):
    for span in split_stream(text):
        resource = ResourceSpan(read_identity(span.text), span.start, span.end, span.start)
        yield from cut_document(text, resource, lines_of(text, span.start, span.end), name)


def rejoined(name):
    pieces = [documents[name][one.start : one.end] for one in cut[name]]
    return "".join(pieces) == "".join(span.text for span in split_stream(documents[name]))


# %%
from IPython.display import display

cut_document = lab.use("cut_document")
cut = {name: list(pieces_of(name, content)) for name, content in documents.items()}
print("joined, the pieces are the documents again:", all(map(rejoined, documents)))
display(lab.show.tree(file, cut[file], mark="memory: 3Gi"))

found_by = {"every 1,000 characters": [every(content, 1_000) for content in documents.values()], "yours": cut.values()}
count = {way: pd.Series([lab.embedder.count_tokens(one.text) for own in files for one in own]) for way, files in found_by.items()}
axes = pd.DataFrame(count).plot.hist(bins=range(0, 541, 20), alpha=0.6, xlabel="word pieces", ylabel="pieces", figsize=(6, 3))
axes.axvline(256, color="black", linestyle="--")
unread = [f"{(found > 256).sum()} of {len(found)} ({way})" for way, found in count.items()]
lab.alt(axes, f"Histogram of the pieces' lengths in word pieces. Longer than 256, the dashed line: {', '.join(unread)}.")

# %% tags=["claim"]
[piece] = [piece for piece in cut[file] if "memory: 3Gi" in piece.text]
assert piece.path.startswith("spec.template.spec.containers[0]"), "in the first of the containers"
assert containers[0]["name"] == "predictor" and containers[0]["resources"]["limits"]["memory"] == "3Gi", "which is `predictor`"
assert not any(f"name: {one['name']}" in piece.text for one in containers), "It names no other container"
assert all(map(rejoined, documents)), "No character of a document is lost"
assert count["yours"].max() <= 256 < count["every 1,000 characters"].max(), "the model reads all of your pieces to the end"
tried = [(next_cut(lines, 2, limit), lines[next_cut(lines, 2, limit)].start) for limit in (180, 137)]
assert tried == [(9, 138), (7, 103)], "takes two tries"
from course_lib.loader.resource_chunks import make_header

header = make_header(web.identity, "w.yaml", "spec.containers", 80)
assert [len(header) + end - 20 for _, end in tried] == [189, 154], "71 + 118 = 189"

# %% [markdown]
# The limit is now in a piece whose header says where it is: in the first of the containers, which is `predictor`. It names no
# other container. No character of a document is lost, and the model reads all of your pieces to the end (left of the dashed line).

# %% [markdown]
# ## Measure: found, and with its owner?
#
# [Recall@5](../labs/GLOSSARY.md#recallk) is the share of questions with an answering piece among the first five results;
# [MRR](../labs/GLOSSARY.md#mrr) is higher if it is nearer to the top. The naive piece counts, too. So:
#
# - *gained*: recall minus that of your cuts without headers. If its [interval](../labs/GLOSSARY.md#confidence-interval) contains 0, these
#   questions do not decide.
# - *owned*: questions for which a piece has the answer and its resource's kind and name.
# - *place*: the rank of the `memory: 3Gi` piece for the user's question; *named*: if it asks for a container *of forecast-api*.
#
# > **Predict.** What helps more, your cuts or your headers?

# %%
from types import SimpleNamespace

from course_lib.evaluation.statistics import paired_interval
from course_lib.loader.resource_chunks import chunk_resources
from course_lib.loader.word_pieces import fits_model


# %%
def passages(split, files=documents):  # what is searched: a split gives pairs of content and embedded text
    return [
        SimpleNamespace(document_name=name, content=content, text=embedded)
        for name, text in files.items()
        for content, embedded in split(name, text)
    ]


# %%
def by_course(name, text, full_schemas=False):
    found = chunk_resources(text, 700, source_path=name, fits=fits_model, full_schemas=full_schemas)
    return [(text[one.start : one.end], one.text) for one in found]


# %%
splits = {
    "every 1,000": lambda name, text: [(one.text, one.text) for one in every(text, 1_000)],
    "yours, no header": lambda name, text: [(text[p.start : p.end],) * 2 for p in cut[name]],
    "yours": lambda name, text: [(text[p.start : p.end], p.text) for p in cut[name]],
    "course split": by_course,
}
try:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    langchain = RecursiveCharacterTextSplitter(chunk_size=700, chunk_overlap=0)
    splits["LangChain, 700"] = lambda name, text: [(one, one) for one in langchain.split_text(text)]
except ImportError:
    print("not installed: pip install langchain-text-splitters, then run this cell again")


# %%
def search_in(passages):
    vectors = lab.encode([passage.text for passage in passages])
    return lambda question: [passages[i] for i in (-vectors @ lab.encode(question)).argsort(kind="stable")]


# %%
def owned(passages):
    return sum(
        any(q.names_owner(p.text) and q.is_answered_by(p.document_name, p.content) for p in passages)
        for q in lab.questions()
    )


# %%
def place(search, question):
    return 1 + ["memory: 3Gi" in result.content for result in search(question)].index(True)


# %%
table, hits = pd.DataFrame(), {}
for name, split in splits.items():
    search = search_in(searched := passages(split))
    measured = lab.measure_retrieval(search)
    hits[name] = [one not in measured.missed for one in lab.questions()]
    places = [place(search, f"Which container{of} has the memory limit of 3Gi?") for of in ("", " of forecast-api")]
    columns = ["pieces", "recall@5", "MRR", "owned", "place", "named"]
    table.loc[name, columns] = len(searched), measured.recall, measured.mrr, owned(searched), *places

gained = {name: paired_interval(hits["yours, no header"], hit) for name, hit in hits.items()}
table.insert(2, "gained", pd.Series({name: str(one) for name, one in gained.items() if name != "yours, no header"}))
table.astype({"pieces": int, "owned": int, "place": int, "named": int}).round(2).fillna("")

# %% tags=["claim"]
uncut, bare, yours, course = (table.loc[name] for name in ("every 1,000", "yours, no header", "yours", "course split"))
assert gained["yours"].low > 0, "The headers: only with them is the whole interval above 0"
assert gained["every 1,000"].low < 0 < gained["every 1,000"].high, "Between all the others, LangChain's too, these questions do not decide"
assert bare.pieces > 2 * uncut.pieces and bare.owned < uncut.owned, "the smaller a piece is, the less it says about its resource"
assert yours.owned > uncut.owned and yours.named == 2 < uncut.named < bare.named, "the piece with the limit is second"
above = search_in(passages(splits["yours"]))("Which container of forecast-api has the memory limit of 3Gi?")[0].text
assert "initContainers[0]" in above and "Deployment forecast-api" in above, "after a limit of its init container"
assert min(uncut.place, bare.place, yours.place) > 5, "Without the name, no split has it among the first five"
assert course.pieces < 0.75 * yours.pieces, "joins small neighbours"
if "LangChain, 700" in table.index:
    langchain_gain = gained["LangChain, 700"]
    assert langchain_gain.low < 0 < langchain_gain.high, "Between all the others, LangChain's too, these questions do not decide"

# %% [markdown]
# The headers: only with them is the whole interval above 0. Between all the others, LangChain's too, these questions do not decide. *Owned* shows:
# the smaller a piece is, the less it says about its resource. If the question names forecast-api, the piece with the limit is second, after a
# limit of its init container. Without the name, no split has it among the first five: only a number is left, and vectors represent numbers
# badly. [Lab 08](../labs/08_words_and_meaning.ipynb) adds a search by words.
#
# Around your `cut_document`, `course split` joins small neighbours, opens Lists, and cuts lines that are too long.

# %% [markdown]
# ## Break it: one definition
#
# `crds/trainingruns.yaml` defines a [custom resource](../labs/GLOSSARY.md#custom-resource), with a schema of every field. The
# course has a *policy*: of a schema it indexes only the descriptions at its top. We also measure with three copies.
#
# > **Predict.** What share of the first five results do four whole schemas take?

# %%
definition = documents["crds/trainingruns.yaml"]
four = dict(documents)
for kind in ("ScoringRun", "NotebookServer", "DataExport"):
    renamed = definition.replace("TrainingRun", kind).replace("trainingrun", kind.lower())
    four[f"crds/{kind.lower()}s.yaml"] = renamed


def with_schemas(name, text):
    return by_course(name, text, full_schemas=True)


def from_them(passages):
    return sum(passage.document_name.startswith("crds/") for passage in passages)


# %%
schemas = pd.DataFrame()
for number, files in ((1, documents), (4, four)):
    for how, split in (("whole", with_schemas), ("top", by_course)):
        search = search_in(searched := passages(split, files))
        results = [result for one in lab.questions() for result in search(one.question)[:5]]
        answered = len(lab.questions()) - len(lab.measure_retrieval(search).missed)
        row = from_them(searched), len(searched) - from_them(searched), from_them(results) / len(results), answered
        schemas.loc[f"{number}, {how}", ["of definitions", "of other files", "share of results", "answered"]] = row
axes = schemas[::-1].iloc[:, :2].plot.barh(stacked=True, xlabel="pieces in the index", ylabel="definitions", figsize=(6, 2.5))
lab.alt(axes, f"Pieces of definitions and of other files, stacked. Of definitions: {schemas['of definitions'].to_dict()}.")
schemas.astype({"of definitions": int, "of other files": int, "answered": int}).round(2)

# %% tags=["claim"]
share, answered = schemas["share of results"], schemas["answered"]
assert 0.15 < share["4, whole"] < 0.25 and share["4, whole"] > 1.5 * share["1, whole"], "About a fifth"
assert schemas.loc["4, whole", "of definitions"] > 3 * schemas.loc["4, whole", "of other files"], "most of the index is schema"
assert answered.max() - answered.min() < 5, "A question more or fewer does not decide which way is better"

# %% [markdown]
# About a fifth, where most of the index is schema. Whole schemas answer what is deep inside them, and take the places of others. A question
# more or fewer does not decide which way is better.
#
# ## In the field
#
# [kustomize](https://kubectl.docs.kubernetes.io/references/kustomize/), a part of `kubectl`, merges base, patches and images into what a
# cluster gets, and drops the comments. **Index the sources for *why*, and the output of `kustomize build` for what runs.**

# %% [markdown]
# ## Recap
#
# - The owner of a line is above it and further left. A name counts only with its path.
# - Cut where the indentation is smallest, but never after the end of the block in which the piece begins.
# - A piece needs a header, which counts towards the limit.
# - `course mine split FILE` cuts a file with your functions.
#
# ## Three questions
#
# 1. A ConfigMap holds a script, and one of its lines is `---`. When does this line cut the document in two?
# 2. You raise the limit to 1,000 characters and do not count the header. What goes wrong, and how do you notice it?
# 3. A colleague adds a *first* container to a Deployment. Which pieces must be embedded again?
#
# <details><summary>Answers</summary>
#
# 1. In column 0. A block scalar's lines are indented, so this happens only in a broken file.
# 2. The model drops the end of a text with more than 256 word pieces. You notice it only if you count.
# 3. Those of all later containers: `containers[0]` in their headers is now `containers[1]`.
#
# </details>
#
# ## Stretch
#
# - Make paths that say `containers[predictor]`, if an item has a `name`.
# - Run `kubectl kustomize data/manifests/platform/overlays/prod`. Does it say *why* production has version 4.1.3?
#
# **Next.** Code has blocks, too: [lab 03](../labs/03_code_splitters.ipynb). Or the vectors: [lab 05](../labs/05_embeddings.ipynb).
