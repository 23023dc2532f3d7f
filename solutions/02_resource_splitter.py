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
# A [manifest](../labs/GLOSSARY.md#manifest) tells Kubernetes what to run. It is written in [YAML](../labs/GLOSSARY.md#yaml). A user asks:
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
# > it. How many files does it refuse? How many questions are answered in comments, which it drops?

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
# The piece names one container, `log-shipper`, and it is the wrong one: the name of `predictor` is far above. This cut breaks no word.
# It is worse: the piece is easy to read, but it says something false. In YAML, **the owner of a line is above it and further left** (for a
# list item, not always further left).
#
# ![Six lines of YAML and the tree that they make: name and labels are below metadata, and app is below labels.](../labs/figures/indentation_tree.svg)
#
# A parser refuses [Helm templates](../labs/GLOSSARY.md#helm-template), and a whole file because of one bad document, and drops
# comments. So you will read the text itself, with [offsets](../labs/GLOSSARY.md#offset) as in lab 01.

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
# Write `split_stream`. With `re.MULTILINE`, `^` matches at the beginning of every line. The given `is_empty` tells whether every line is
# blank or a comment.
#
# ```
# split_stream("a: 1\n---\nb: 2\n")         →  [Span(0, 5, "a: 1\n"), Span(8, 14, "\nb: 2\n")]
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
# a mapping that is written after the dashes. `(?=\s|\Z)` tests what follows, but the match does not include it. The pattern uses `^`, not
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
# Write `read_identity`. These are given:
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
# `read_identity` again if the parser refuses.

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
# 2. **The strongest boundary.** Take the smallest depth; of several, the last.
# 3. **No such line.** Take `at + 1`.
#
# ```
# next_cut(lines, 0, 70)   →  2    rule 2: line 1 is a first
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
# At 90, both containers are whole. At 70, `limits:` begins a piece of its own, without its owner. Every limit is too small for
# some block.

# %%
from course_lib.loader.kubernetes import ResourceSpan
from course_lib.loader.resource_identity import Identity

web = ResourceSpan(Identity("Pod", "web", None, "v1"), 0, len(small), 0)

# %% [markdown]
# ## Exercise 2.4: a document in pieces
#
# So each piece gets a [header](../labs/GLOSSARY.md#header): its resource, with words for the kind (people ask for the *firewall*, not for
# a NetworkPolicy), its file, and its path. These are given:
#
# ```
# shared_path(lines[3:5])  →  "spec.containers[0]"
# make_header(web.identity, "w.yaml", "spec.containers[0]", 350)
#     →  "# v1 Pod web: containers that run together\n# w.yaml at spec.containers[0]\n"
# ResourcePiece(text=…, header=…, start=…, end=…, path=…, resource=web)    text: the header, then the content
# ```
#
# The last argument is the header's largest length. A longer one loses the folders of its file first, then it is cut.
#
# Put everything together in `cut_document`. The header counts towards the limit. But its length depends on where the piece ends, and where
# the piece ends depends on the header. So try, and try again.
#
# ```
# cut_document(small, web, lines, "w.yaml", 250)  →  one piece; its path is spec
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
# From a file to its resources to their pieces:

# %%
cut_document = lab.use("cut_document")


def pieces_of(name, text):
    for span in split_stream(text):
        resource = ResourceSpan(read_identity(span.text), span.start, span.end, span.start)
        yield from cut_document(text, resource, lines_of(text, span.start, span.end), name)


cut = {name: list(pieces_of(name, content)) for name, content in documents.items()}
kept = sum(one.end - one.start for own in cut.values() for one in own)
longest = max(lab.embedder.count_tokens(one.text) for own in cut.values() for one in own)
print(f"{kept:,} of {sum(len(span[1]) for span in found):,} characters kept; the longest piece has {longest} word pieces")
lab.show.tree(file, cut[file], mark="memory: 3Gi")

# %% tags=["claim"]
[piece] = [piece for piece in cut[file] if "memory: 3Gi" in piece.text]
assert piece.path.startswith("spec.template.spec.containers[0]"), "in the first of the containers"
assert containers[0]["name"] == "predictor" and containers[0]["resources"]["limits"]["memory"] == "3Gi", "which is `predictor`"
assert not any(f"name: {one['name']}" in piece.text for one in containers), "It names no other container"
for name, content in documents.items():
    whole = "".join(span.text for span in split_stream(content))
    assert whole == "".join(content[one.start : one.end] for one in cut[name]), "No character of a document is lost"
assert longest <= 256, "the model reads every piece to its end"

# %% [markdown]
# The limit is now in a piece whose header says where it is: in the first of the containers, which is `predictor`. It names no
# other container. No character of a document is lost, and the model reads every piece to its end.

# %% [markdown]
# ## Measure: found, and with its owner?
#
# [Recall@5](../labs/GLOSSARY.md#recallk) is the share of questions with an answering piece among the first five results.
# [MRR](../labs/GLOSSARY.md#mrr) is higher if it is nearer to the top. The naive piece counts as an answer, but misleads. So there are two
# more columns.
#
# - *owned*: questions for which a piece has the answer and its resource's kind and name.
# - *place*: the rank of the piece with `memory: 3Gi`, for a question that names forecast-api.
#
# > **Predict.** Does the search find more with your cuts, also without headers?

# %%
from types import SimpleNamespace

from course_lib.loader.resource_chunks import chunk_resources
from course_lib.loader.word_pieces import fits_model


def passages(split, files=documents):
    """Return what is searched: a split gives pairs of content and embedded text."""
    return [
        SimpleNamespace(document_name=name, content=content, text=embedded)
        for name, text in files.items()
        for content, embedded in split(name, text)
    ]


# %%
def by_course(name, text, full_schemas=False):
    found = chunk_resources(text, 700, source_path=name, fits=fits_model, full_schemas=full_schemas)
    return [(text[one.start : one.end], one.text) for one in found]


splits = {
    "every 1,000": lambda name, text: [(one.text, one.text) for one in every(text, 1_000)],
    "yours, no header": lambda name, text: [(text[p.start : p.end],) * 2 for p in cut[name]],
    "yours": lambda name, text: [(text[p.start : p.end], p.text) for p in cut[name]],
    "course split": by_course,
}


# %%
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


def row(passages):
    search = search_in(passages)
    measured = lab.measure_retrieval(search)
    results = search("Which container of forecast-api has the memory limit of 3Gi?")
    place = 1 + ["memory: 3Gi" in result.content for result in results].index(True)
    return len(passages), measured.recall, measured.mrr, owned(passages), place


# %%
columns = ["pieces", "recall@5", "MRR", "owned", "place"]
whole = {"pieces": int, "owned": int, "place": int}
table = pd.DataFrame({name: row(passages(split)) for name, split in splits.items()}, columns).T
table.astype(whole).round(2)

# %% tags=["claim"]
uncut, bare, yours, course = (table.loc[name] for name in ("every 1,000", "yours, no header", "yours", "course split"))
assert bare["recall@5"] < uncut["recall@5"] and bare.owned < uncut.owned, "With good cuts but no header, the search finds no more"
assert 58 * (uncut["recall@5"] - bare["recall@5"]) < 5, "a few questions less, which do not decide"
assert bare.pieces > 2 * uncut.pieces, "the smaller a piece is, the less it says about its resource"
assert yours["recall@5"] > bare["recall@5"] + 0.04 and yours.MRR > uncut.MRR + 0.04, "With the header it is better"
assert yours.owned > uncut.owned and yours.place <= 2 < bare.place, "the piece with the limit is near the top"
assert course.pieces < 0.75 * yours.pieces, "it joins small neighbours"
if "LangChain, 700" in table.index:
    assert table.loc["LangChain, 700"]["recall@5"] <= uncut["recall@5"], "LangChain's pieces, without headers, are found no more often"

# %% [markdown]
# With good cuts but no header, the search finds *no more* (a few questions less, which do not decide): the smaller a piece is, the less it
# says about its resource. LangChain's pieces, without headers, are found no more often. With the header it is better, and the
# piece with the limit is near the top. Around your `cut_document`, `course split` does more: it joins small neighbours,
# opens Lists, and cuts lines that are too long.

# %% [markdown]
# ## Break it: one definition
#
# `crds/trainingruns.yaml` defines a [custom resource](../labs/GLOSSARY.md#custom-resource), with a schema of every field. The
# course has a *policy*: of a schema it indexes only the descriptions at its top. We measure both ways, also
# with three copies under other names.
#
# > **Predict.** Which way is better?

# %%
definition = documents["crds/trainingruns.yaml"]
four = dict(documents)
for kind in ("ScoringRun", "NotebookServer", "DataExport"):
    renamed = definition.replace("TrainingRun", kind).replace("trainingrun", kind.lower())
    four[f"crds/{kind.lower()}s.yaml"] = renamed


def with_schemas(name, text):
    return by_course(name, text, full_schemas=True)


rows = {
    "1 definition, whole": row(passages(with_schemas)),
    "1 definition, top": row(passages(by_course)),
    "4 definitions, whole": row(passages(with_schemas, four)),
    "4 definitions, top": row(passages(by_course, four)),
}
schemas = pd.DataFrame(rows, columns).T.astype(whole)[["pieces", "recall@5", "MRR"]]
schemas.round(2)

# %% tags=["claim"]
recall, pieces = schemas["recall@5"], schemas["pieces"]
assert recall.iloc[1] < recall.iloc[0], "With one definition, recall is lower with the policy"
assert recall.iloc[2] <= recall.iloc[3], "With four, whole schemas find no more than the policy"
assert pieces.iloc[3] < pieces.iloc[2] / 3, "the index is less than a third as large"
assert 58 * abs(recall.iloc[[0, 2]].to_numpy() - recall.iloc[[1, 3]].to_numpy()).max() < 3, "these questions do not decide"

# %% [markdown]
# With one definition, recall is lower with the policy: answers deep in the schema are no longer in the index. With four, whole schemas find
# no more than the policy, because their pieces take the places of others, and with the policy the index is less than a third as large. But
# these questions do not decide which way is better.

# %% [markdown]
# ## Recap
#
# - The owner of a line is above it and further left. A name counts only with its path.
# - Cut where the indentation is smallest, but never after the end of the block in which the piece begins.
# - A piece needs a header, which counts towards the limit.
# - What is not in an index cannot be found, but takes no other piece's place. Measure both.
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
# - Make paths that say `containers[predictor]`, if an item has a `name`. Does MRR change?
#
# **Next.** Code has blocks, too: [lab 03](../labs/03_code_splitters.ipynb). Or the vectors: [lab 05](../labs/05_embeddings.ipynb).
