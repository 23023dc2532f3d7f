# %% [markdown]
# # 14 · Choosing passages
#
# An answer cannot be better than the passages that it is made from. You will choose these passages, and make them fit into a model's window.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | find the files that a question names · choose passages that do not repeat each other · count tokens, and fit passages into a budget | `answers/` | about {minutes} min | lab 08 for the search |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("14", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
conn = lab.connect(autocommit=True)
lab.show.pipeline("answers")

# %% [markdown]
# ## Wrong answers
#
# This lab searches code: `kfp.dsl`, the language of lab 11's pipelines. The next cell copies it from the package `kfp`, adds `STRUCTURE.md`, a
# list of all files, and indexes it.

# %%
import importlib.util
import shutil
import tempfile
from pathlib import Path

from course_lib.answers.structure import structure_text
from course_lib.indexing import IngestOptions, ingest
from course_lib.records import Scope

source = Path(importlib.util.find_spec("kfp").origin).parent / "dsl"
left_out = shutil.ignore_patterns("*_test.py", "v1_*", "__pycache__")
folder = Path(shutil.copytree(source, Path(tempfile.mkdtemp()) / "dsl", ignore=left_out))
page = structure_text(folder, "kfp.dsl")
(folder / "STRUCTURE.md").write_text(page, encoding="utf-8")
report = ingest(folder, Scope(repo="kfp-dsl"), IngestOptions(chunk_size=1200, progress=True), conn=conn, embedder=lab.embedder)

# %% [markdown]
# Thirty of our sixty questions about this code name a file. The *context* of each answer is the five passages that the
# [hybrid](../labs/GLOSSARY.md#hybrid-retrieval) search finds.
#
# No language model comes with the course. So its *quoting answerer* answers: it copies the lines that are most like the question. The wrong
# answers below are its own.

# %%
from course_lib.answers import ContextOptions, Prompt, find_citations, retrieve_context
from course_lib.answers.generators import Request, generator
from course_lib.retriever import Query
from course_lib.settings import settings

speaker = generator(settings(), backend="extractive", embedder=lab.embedder)


# %%
def choose(question, options, top_k=5):
    return retrieve_context(conn, lab.embedder, Query(question, top_k=top_k), options).passages


# %%
def quote(question, passages):  # an answer, and the files that it quotes
    text = "".join(speaker.stream(Request(Prompt("", ""), question, tuple(passages), 400, 0)))
    cited = find_citations(text, passages).cited
    return text, list(dict.fromkeys(one.path for one in passages if one.index in cited))


# %% [markdown]
# > **Predict.** How many of the thirty answers quote no line of the file that their question names?

# %%
from pathlib import PurePosixPath

import pandas as pd

from course_lib.evaluation import read_questions
from course_lib.settings import project_root

pd.set_option("display.max_colwidth", None)
questions = read_questions(project_root() / "data/questions/kfp_dsl.jsonl")
naming = [one for one in questions if PurePosixPath(one.gold_paths[0]).name in one.question]


# %%
def ask_all(options):
    rows = [(one.question, one.gold_paths[0], *quote(one.question, choose(one.question, options))) for one in naming]
    table = pd.DataFrame(rows, columns=["question", "file", "answer", "quotes"]).set_index("question")
    return table.assign(quotes_it=[file in quoted for file, quoted in zip(table.file, table.quotes, strict=True)])


# %%
search_alone = ContextOptions(hint_max_chunks=0, structure_max_chunks=0, diversity=0.0)
first = ask_all(search_alone)
asked = "Which arguments has the decorator in component_decorator.py?"
print(asked, first.answer[asked], sep="\n")
first.quotes[~first.quotes_it].to_frame()

# %% tags=["claim"]
assert (~first.quotes_it).sum() == 3 and not first.quotes_it[asked], "Three"
assert "defined under component_decorator.py" in first.answer[asked], "This answer even says where to look"

# %% [markdown]
# Three. The table shows what they quote instead. This answer even says where to look: *defined under component_decorator.py*. But
# no passage of this file is in the context, although its name is in the question. A program can read it there.

# %% [markdown]
# ## Exercise 14.1: which file is meant
#
# `extract_file_hints` finds the words of a question that look like a file's name. Your function decides which files such a *hint* means.
# People write the base name alone, with some of its folders, or with folders above the indexed one:
#
# ```
# "main.go"         in  ["web/cmd/main.go", "main.go"]  →  both
# "app/cmd/main.go" in  ["web/cmd/main.go", "main.go"]  →  ["web/cmd/main.go"], which shares the folder cmd
# ```

# %% exercise="14.1"
from course_lib.answers.hints import find_hinted

# %%
lab.check("14.1", find_hinted)

# %%
lab.hint("14.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a rule that always finds something. If `web/main.go` meant any `main.go`, the context would hold passages that
# no question asked for. The opposite mistake is a rule that wants the whole path: few people write it.

# %% [markdown]
# > **Predict.** Which of the five names below means several files, and which means none?

# %%
from course_lib.answers import extract_file_hints, file_manifest

find_hinted = lab.use("find_hinted")
manifest = file_manifest(conn)
names = r"Is `importer_node.py` or kfp\dsl\types\type_utils.py:7 older than TYPE_UTILS.py, __init__.py and setup.py?"
meant = pd.Series({hint: find_hinted(hint, manifest) for hint in extract_file_hints(names, {".py"})})
meant.map(", ".join).rename("means").to_frame()

# %% tags=["claim"]
assert len(meant["__init__.py"]) > 1 and not meant["setup.py"], "__init__.py means several files, and setup.py none"
assert meant["kfp/dsl/types/type_utils.py"] == meant["TYPE_UTILS.py"] == ["types/type_utils.py"], "the others mean one each"

# %% [markdown]
# `__init__.py` means several files, and `setup.py` none; the others mean one each. Large repositories have hundreds of files called
# `__init__.py`, so the library takes passages from four files at most, and first from those that the search found. They come first in the
# context.

# %% [markdown]
# ## Where is what?
#
# *Where do I find artifacts?* names no file. The list of all files answers it: `structure_text` wrote a line for each file, with the first
# sentence of its docstring. The list can have a place of its own in the context.
#
# > **Predict.** `types/artifact_types.py` defines the artifacts. Do five passages of the search name this file?

# %%
where = "Where do I find artifacts?"
with_list = ContextOptions(hint_max_chunks=0, structure_max_chunks=1, diversity=0.0)


def marked(passage):
    return passage.place + (" ← names it" if "artifact_types.py" in passage.place + passage.text else "")


contexts = {"search alone": search_alone, "with the list": with_list}
pages = pd.DataFrame({name: list(map(marked, choose(where, options))) for name, options in contexts.items()}, index=range(1, 6))
pages

# %% tags=["claim"]
names_it = pages.apply(lambda column: column.str.contains("names it"))
assert not names_it["search alone"].any(), "None of them names it"
assert names_it["with the list"].any() and pages["with the list"][1].startswith("STRUCTURE.md"), "The list does"

# %% [markdown]
# None of them names it: the search finds code that *uses* artifacts. The list does. But it takes a place away from the search.

# %% [markdown]
# ## Passages that repeat each other
#
# The search fills the other places, and code repeats itself.
#
# > **Predict.** How similar are the two most similar of ten passages about a task's memory limit, if 1 means equal?

# %%
import matplotlib.pyplot as plt

from course_lib.retriever import retrieve

memory = "How do I set the memory limit of a task?"
found = retrieve(conn, lab.embedder, Query(memory, top_k=10))
vectors = lab.encode([one.content for one in found])
likeness = vectors @ vectors.T
labels = [f"{place} {one.name}" for place, one in enumerate(found, 1)]

# %%
figure, axes = plt.subplots(figsize=(7, 3.6))
figure.colorbar(axes.imshow(likeness, cmap="Blues", vmin=0, vmax=1, aspect="auto"), label="cosine similarity")
axes.set_xticks(range(10), range(1, 11))
axes.set_yticks(range(10), labels)
pairs = pd.DataFrame(likeness).where(lambda table: table.index.to_numpy()[:, None] < table.columns).stack()
lab.alt(axes, f"Similarities of ten passages; the largest of two different ones is {pairs.max():.2f}.")

# %% tags=["claim"]
assert f"{pairs.max():.2f}" == "0.99", "0.99: two of the passages are nearly the same"

# %% [markdown]
# 0.99: two of the passages are nearly the same: functions that differ in a word or two. The second adds little.
# [Maximal marginal relevance](../labs/GLOSSARY.md#maximal-marginal-relevance) (MMR) takes one passage after the other, each time the one that
# *adds* most:
#
# (1 − diversity) · relevance − diversity · similarity to the most similar passage already taken
#
# By hand, with diversity 0.5. Passages a, b, c have the relevances 1.0, 0.9, 0.6; b is a copy of a, and c has nothing in common with them.
# First, a is taken: it adds 0.5. Now b adds 0.45 − 0.5 = −0.05, and c adds 0.3 − 0. So c is next.

# %% [markdown]
# ## Exercise 14.2: the passage that adds most
#
# All vectors have length 1, so an inner product is a similarity. Passages of named files are in the context before MMR begins; these are `taken`.

# %% exercise="14.2"
from course_lib.answers.selection import maximal_marginal_relevance

# %%
lab.check("14.2", maximal_marginal_relevance)

# %%
lab.hint("14.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: comparing with the passage that was taken last, instead of with all. Then every second passage may be a copy. A
# mean over the taken passages is wrong, too: a copy of one of five would look different enough.

# %% [markdown]
# > **Predict.** With which diversity is *3* taken before *2*?

# %%
maximal_marginal_relevance = lab.use("maximal_marginal_relevance")
relevance = [1 - place / 10 for place in range(10)]
orders = {diversity: maximal_marginal_relevance(relevance, vectors, 5, diversity=diversity) for diversity in (0.0, 0.3, 0.7, 1.0)}
pd.DataFrame({f"diversity {diversity}": [labels[place] for place in order] for diversity, order in orders.items()}, index=range(1, 6))

# %% tags=["claim"]
assert orders[0.0] == [0, 1, 2, 3, 4] and orders[0.3].index(2) < orders[0.3].index(1), "Already with 0.3"
assert {8, 5, 6} < set(orders[1.0]), "With 1.0, MMR takes places 9, 6 and 7"
pick_a, pick_b = orders[1.0], orders[0.0]
assert likeness[pick_a][:, pick_a].mean() < likeness[pick_b][:, pick_b].mean(), "these passages differ more"
fits = vectors @ lab.encode(memory)
assert fits[pick_a].mean() < fits[pick_b].mean(), "and fit the question less"
assert found[5].name == found[6].name == "set_accelerator_limit" and found[5].content != found[6].content, "6 and 7 are parts of one function"

# %% [markdown]
# Already with 0.3, which the library uses. With 1.0, MMR takes places 9, 6 and 7 of the search: these passages differ more, and fit the
# question less. (6 and 7 are parts of one function.) The relevance here is the *place* in the ranking: scores of different
# searches have different scales.

# %% [markdown]
# ## The window
#
# A model reads and writes [tokens](../labs/GLOSSARY.md#token): words, or pieces of words. All of them share one
# [context window](../labs/GLOSSARY.md#context-window). To count tokens exactly, you need the tokenizer of the model that answers: `tiktoken`
# has those of OpenAI's models, and `AutoTokenizer` of `transformers` those of open ones. Where it is missing, you estimate. The course counts
# three bytes as a token. An English letter has one byte, a Chinese character three.
#
# > **Predict.** Compare with MiniLM's tokenizer (lab 05). For which texts is the estimate too low?

# %%
from course_lib.answers import count_tokens

texts = {
    "English": lab.document("ci-cd-for-ml.md"),
    "code": (folder / "executor.py").read_text(encoding="utf-8"),
    "the list of files": page,
    "Chinese": "特征库为模型提供特征。" * 50,
}
counts = pd.DataFrame({name: [len(text.encode()), lab.embedder.count_tokens(text), count_tokens(text)] for name, text in texts.items()})
counts = counts.T.set_axis(["bytes", "MiniLM's tokens", "estimate"], axis=1)
counts

# %% tags=["claim"]
ratio = counts["estimate"] / counts["MiniLM's tokens"]
assert ratio[["English", "code"]].min() > 1.2, "For English and code it is far above"
chinese = counts.loc["Chinese"]
assert (ratio >= 1).sum() == 3 and chinese["MiniLM's tokens"] - chinese["estimate"] == 2, "For Chinese it is 2 tokens too low"
assert lab.embedder.count_tokens(texts["Chinese"][:11]) == 11 + 2, "MiniLM adds two to each text"
assert lab.embedder.count_tokens("Αθήνα") > count_tokens("Αθήνα"), "Names, other scripts and other models may need more"

# %% [markdown]
# For Chinese it is 2 tokens too low: MiniLM adds two to each text. Names, other scripts and other models may need more, so a *margin* stays
# free. For English and code it is far above, which wastes a part of the window.
#
# By hand: a window of 1,000 tokens, a margin of 100, an answer of up to 200, and 250 for instructions and question. The
# [budget](../labs/GLOSSARY.md#context-budget) for passages is 1,000 − 100 − 200 − 250 = 450.

# %% [markdown]
# ## Exercise 14.3: what goes
#
# If the passages need more, whole passages go, because half a function misleads. Which? Packing as many tokens as possible may keep two bad
# passages in place of a good one. So the worst goes, again and again, until the rest fits.
#
# `room` is for instructions, question and passages: in the example, 1,000 − 100 − 200 = 700.

# %% exercise="14.3"
from course_lib.answers.budget import fit_passages

# %%
lab.check("14.3", fit_passages)

# %%
lab.hint("14.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: letting a dropped passage back in because it is short. Then a worse passage stays while a better one is gone.
# Without any rule, the server decides: hosted APIs refuse a prompt that is too long, and some local servers cut off its *beginning*, where
# the instructions are.

# %% [markdown]
# Back to the wrong answer. Of ten passages, the first three are from the named file. Your function decides how many are read.
#
# > **Predict.** A larger window has room for more passages. Does the answer get better? Move the slider.

# %%
from course_lib.answers import fence
from course_lib.answers.prompts import SYSTEM_PROMPT

chosen = ContextOptions(hint_max_chunks=3, structure_max_chunks=0)
candidates = choose(asked, chosen, top_k=10)
costs = [count_tokens(fence(one.place, one.text, "0" * 12)) for one in candidates]
fixed = count_tokens(SYSTEM_PROMPT) + count_tokens(asked)


def kept_in(window):  # 512 tokens of margin, 400 for the answer
    return [candidates[i] for i in fit_passages(fixed, costs, [one.score for one in candidates], window - 512 - 400)]


# %%
fit_passages = lab.use("fit_passages")


def fill(window=2300):
    kept = kept_in(window)
    parts = {"instructions and question": fixed, "named file": 0, "search": 0, "answer": 400, "margin": 512}
    for one in kept:
        parts["named file" if one.origin == "hint" else "search"] += costs[one.index - 1]
    parts["free"] = window - sum(parts.values())
    axes = pd.DataFrame(parts, index=[""]).plot.barh(stacked=True, figsize=(8, 2.2), xlabel="tokens", xlim=(0, 5000))
    axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
    lab.alt(axes, f"A window of {window} tokens: {parts}.")
    print(f"{len(kept)} of {len(candidates)} passages; the answer quotes", *quote(asked, kept)[1])


lab.interact(fill, window=(1500, 5000, 100))

# %% tags=["claim"]
short, long = (quote(asked, kept_in(window)) for window in (2300, 5000))
assert [one.origin for one in candidates[:4]] == ["hint"] * 3 + ["search"] and len(kept_in(2300)) == 3, "With the three passages of the named file"
assert short[1] == ["component_decorator.py"] and "pip_index_urls" in short[0], "it quotes the descriptions of the arguments"
assert "component_factory.py" in long[1] and "component_decorator.py" not in long[1], "With all ten, the answer is wrong again"
assert len(kept_in(5000)) == 10 and "defined under component_decorator.py" in long[0], "it quotes *defined under component_decorator.py*"

# %% [markdown]
# No. With the three passages of the named file, the answer is right: it quotes the descriptions of the arguments. With all ten, the answer is
# wrong again: it quotes *defined under component_decorator.py*, which is more like the question. Language models are misled, too:
# [one irrelevant sentence in a maths problem](https://arxiv.org/abs/2302.00093) made their answers clearly worse. So do not fill a window
# because it is large.

# %% [markdown]
# ## The prompt
#
# This is all that a language model gets: instructions, passages and question.
#
# > **Predict.** A passage may contain any text. How does the [prompt](../labs/GLOSSARY.md#prompt) show where it ends?

# %%
from course_lib.answers import build_prompt

print(build_prompt(asked, []).system)
print(build_prompt(asked, kept_in(2300)[1:2]).user)

# %% [markdown]
# Lines with BEGIN and END enclose it. Both have a code that is computed from the texts, so no author of a passage knows it. The
# passage keeps its number, 2, although the first one is missing: answers cite number and path. Lab 15 checks these citations.

# %% [markdown]
# ## Measure
#
# Now all sixty questions. For most we know a phrase that the right passage contains. If a question only asks for a file, the list of files is
# right, too. We add step after step. By how much does 1 / the place of the first right passage ([MRR](../labs/GLOSSARY.md#mrr)) change from
# row to row? In brackets: the interval of 95 %.
#
# > **Predict.** Which step helps if a question names a file? Which step harms if it names none?

# %%
def helps(passage, one):
    if one.answer_contains:
        return one.is_answered_by(passage.path, passage.text)
    is_listed = passage.path == "STRUCTURE.md" and f"`{PurePosixPath(one.gold_paths[0]).name}`" in passage.text
    return is_listed or passage.path in one.gold_paths


def ranks(group, options):
    for one in group:
        right = [passage.index for passage in choose(one.question, options) if helps(passage, one)]
        yield 1 / min(right) if right else 0.0


# %%
from itertools import pairwise

from course_lib.evaluation.statistics import paired_interval

named_files = ContextOptions(hint_max_chunks=3, structure_max_chunks=0, diversity=0.0)
listed = ContextOptions(hint_max_chunks=3, structure_max_chunks=1)
ways = {"search alone": search_alone, "+ named files": named_files, "+ diversity": chosen, "+ list of files": listed}
groups = {"names a file": naming, "names none": [one for one in questions if one not in naming]}

# %%
found = {group: pd.DataFrame({way: list(ranks(some, options)) for way, options in ways.items()}) for group, some in groups.items()}
table = pd.DataFrame(index=list(ways))
for group, rank in found.items():
    table[f"{group}: found"] = (rank > 0).mean().round(2)
    changes = [paired_interval(rank[before], rank[after]) for before, after in pairwise(ways)]
    table[f"{group}: change of 1 / place"] = ["", *map(str, changes)]
table

# %% tags=["claim"]
named, none = found["names a file"], found["names none"]
assert (named["+ named files"] > 0).sum() - (named["search alone"] > 0).sum() == 3 and named["+ named files"].mean() > named["search alone"].mean(), "three more questions of thirty"
assert (none["+ named files"] == none["search alone"]).all(), "nothing changes for the others"
assert none["+ list of files"].mean() < none["+ diversity"].mean() - 0.05, "With the list of files, right passages of the others come later"
assert (none["+ diversity"] > 0).sum() - (none["+ named files"] > 0).sum() == 2, "With diversity, two more of the others have one"

# %% [markdown]
# With named files, three more questions of thirty have a right passage, and nothing changes for the others. But the interval contains 0, so
# thirty questions do not decide yet. With diversity, two more of the others have one. With the list of files, right passages of the others come
# later. For *Where is …?* it may be the only help, so it is a setting: `RAG_STRUCTURE_MAX_CHUNKS`.
#
# > **Predict.** And the wrong answers? Are they right now?

# %%
second = ask_all(chosen)
third = ask_all(listed)
answers = {"search alone": first, "named files": second, "and the list of files": third}
pd.Series({name: some.quotes_it.sum() for name, some in answers.items()}, name="quote the named file, of 30").to_frame()

# %% tags=["claim"]
assert second.quotes_it[asked] and (second.quotes_it & ~first.quotes_it).sum() == 1, "One of three is: the answer about the decorator"
assert (~first.quotes_it).sum() == 3 and (~second.quotes_it).sum() == 2 and second.quotes_it[first.quotes_it].all(), "One of three is"
lost = third[second.quotes_it & first.quotes_it & ~third.quotes_it]
assert len(lost) == 2 and lost.quotes.map(lambda some: "STRUCTURE.md" in some).all(), "two that were right quote the list instead"

# %% [markdown]
# One of three is: the answer about the decorator. With the list of files, two that were right quote the list instead. So leave it out for such
# questions. Good passages do not guarantee a good answer.

# %% [markdown]
# ## In the field
#
# LangChain has MMR, too. Its `lambda_mult` is 1 − diversity, and its relevance is the similarity to the question.
#
# > **Predict.** Does it take the same passages as yours?

# %%
try:
    from langchain_core.vectorstores.utils import maximal_marginal_relevance as langchain_mmr
except ImportError:
    print("not installed: pip install langchain-core, then run this cell again")
else:
    query = lab.encode(memory)
    theirs = langchain_mmr(query, vectors, lambda_mult=0.7, k=5)
    same_relevance = maximal_marginal_relevance(vectors @ query, vectors, 5)
    print("LangChain:", theirs, "yours, by place:", orders[0.3], "yours, by similarity:", same_relevance)

# %% tags=["claim"]
assert theirs == same_relevance != orders[0.3], "With the same relevance, yes"

# %% [markdown]
# With the same relevance, yes. Yours by place uses the order of the hybrid search, which also compares words.
#
# ## Recap
#
# - Read the names of files in a question, before you search.
# - Of two passages that say the same, one is enough. MMR takes the one that adds most.
# - Instructions, passages, answer and a margin share one window. Whole passages go, the worst first.
# - More passages can make an answer worse.
#
# ## Three questions to test yourself
#
# 1. A question names `__init__.py`, and the repository has 300 files with this name. What should happen?
# 2. Why does a passage keep its number when another one is dropped?
# 3. Your estimate counts 3 bytes as a token. For which of your users is this too low, and what happens then?
#
# <details><summary>Answers</summary>
#
# 1. A few passages of the few files that the search ranks highest. All 300 would fill the window.
# 2. The number is what the answer cites, and a person looks it up.
# 3. For those who write in other scripts, or ask about names and numbers. The margin absorbs it, or the server refuses or cuts the prompt.
#
# </details>
#
# ## Stretch, and what comes next
#
# A reranker reads question and passage together: add `rerank="maxsim"` to `chosen`, and measure it.
# Or choose the diversity on one half of the questions, and measure it on the other.
#
# Next is [lab 15](../labs/15_checking_an_answer.ipynb): an answer cites passages. Do they say what it says?
