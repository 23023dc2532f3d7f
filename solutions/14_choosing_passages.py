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
# ## Three wrong answers
#
# The search of lab 08 finds passages, and a language model makes an answer of them. Of your repository, it knows only what you give it to read:
# the *context*.
#
# No language model comes with the course. In its place, a *quoting answerer* copies the lines of the context that are most like the question.
# It invents nothing, so a wrong answer often shows what is wrong with the context.
#
# In this lab you search code: `kfp.dsl`, the language of lab 11's pipelines. The
# context is what a [hybrid](../labs/GLOSSARY.md#hybrid-retrieval) search finds: five passages.

# %%
from course_lib.answers import ContextOptions, retrieve_context
from course_lib.retriever import Query
from course_lib.teaching.lab.quoting import index_kfp_dsl, quoting_answerer

folder = index_kfp_dsl(conn, lab.embedder)
quote = quoting_answerer(lab.embedder)  # question, passages → an answer, and the files that it quotes


def passages_for(question, options, top_k=5):  # the context
    return retrieve_context(conn, lab.embedder, Query(question, top_k=top_k), options).passages


# %% [markdown]
# We ask thirty of the course's questions about this code.
#
# > **Predict.** Each of these thirty questions names a file. How many of the answers quote no line of this file?

# %%
from pathlib import PurePosixPath

import pandas as pd

from course_lib.evaluation import read_questions
from course_lib.settings import project_root

pd.set_option("display.max_colwidth", None)
questions = read_questions(project_root() / "data/questions/kfp_dsl.jsonl")
naming = [one for one in questions if PurePosixPath(one.gold_paths[0]).name in one.question]


def ask_all(options):
    rows = [(one.question, one.gold_paths[0], *quote(one.question, passages_for(one.question, options))) for one in naming]
    table = pd.DataFrame(rows, columns=["question", "file", "answer", "quotes"]).set_index("question")
    return table.assign(quotes_it=[file in quoted for file, quoted in zip(table.file, table.quotes, strict=True)])


# %%
search_alone = ContextOptions(hint_max_chunks=0, diversity=0.0, structure_max_chunks=0)
first = ask_all(search_alone)
asked = "Which arguments does the decorator in component_decorator.py have?"
print(asked, *first.answer[asked].splitlines()[:9], "…", sep="\n")
first.quotes[~first.quotes_it].to_frame()

# %% tags=["claim"]
assert (~first.quotes_it).sum() == 3 and not first.quotes_it[asked], "Three"
assert "defined under component_decorator.py" in first.answer[asked], "The answer above the table even says where to look"

# %% [markdown]
# Three. The answer above the table even says where to look: *defined under component_decorator.py*.
# But no passage of this file is in the context, although the question names it.

# %% [markdown]
# ## Exercise 14.1: which file is meant
#
# `extract_file_hints` finds the words of a question that look like a file's name: its *hints*. Your function decides which files of the index
# a hint means.
#
# People write only the base name, or put some folders before it. The index may not know all of these folders:
#
# ```
# "app/cmd/main.go" in  ["web/cmd/main.go", "main.go"]  →  ["web/cmd/main.go"], which shares the folder cmd
# ```

# %% exercise="14.1"
from course_lib.answers.hints import find_hinted

# %%
lab.check("14.1", find_hinted)

# %%
lab.hint("14.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a rule that always finds something. If `web/main.go` meant any `main.go`, the context would begin with passages
# that no question asked for.

# %%
from course_lib.answers import extract_file_hints, file_manifest

find_hinted = lab.use("find_hinted")
manifest = file_manifest(conn)
names = r"Is `importer_node.py` or kfp\dsl\types\type_utils.py:7 older than TYPE_UTILS.py, __init__.py and setup.py?"
meant = pd.Series({hint: find_hinted(hint, manifest) for hint in extract_file_hints(names, {".py"})})
meant.map(", ".join).rename("means").to_frame()

# %% tags=["claim"]
assert find_hinted("kfp/dsl/executor.py", manifest) == [] and manifest["executor.py"] == ["executor.py"], "Nothing, although it is the right file: `executor.py` has no folder to compare"
assert len(meant["__init__.py"]) > 1 and not meant["setup.py"], "__init__.py means several files, and setup.py none"
assert meant["kfp/dsl/types/type_utils.py"] == meant["TYPE_UTILS.py"] == ["types/type_utils.py"], "`__init__.py` means several files, and `setup.py` none"

# %% [markdown]
# `__init__.py` means several files, and `setup.py` none. In a large repository, one name can mean hundreds of files, so the library takes at
# most four. Files that the search found come first.

# %% [markdown]
# ## A question that names no file
#
# *Where do I find artifacts?* names no file. For such questions, the index has a *structure page*, `STRUCTURE.md`. It has a line for each file, such as: `artifact_types.py`: Classes and utilities for using and creating artifacts in components.
#
# > **Predict.** Where should this page be in the context, if a question names a file? And if it names none?

# %%
where = "Where do I find artifacts?"
with_page = ContextOptions(hint_max_chunks=3, structure_max_chunks=1)


def marked(passage):
    return passage.place + (" ← names artifact_types.py" if "artifact_types.py" in passage.text else "")


pages = pd.DataFrame({one: [marked(passage) for passage in passages_for(one, with_page)] for one in (asked, where)}, index=range(1, 6))
pages

# %% tags=["claim"]
place = {one: pages[one].str.startswith("STRUCTURE.md").idxmax() for one in pages}
assert place == {asked: 4, where: 1}, "If none is named, at place 1"
assert pages[asked][:3].str.startswith("component_decorator.py").all(), "If a file is named, at place 4, after its three passages"
assert pages[where].str.contains("←").to_list() == [True, False, False, False, False], "Only this page names artifact_types.py"

# %% [markdown]
# If a file is named, at place 4, after its three passages. If none is named, at place 1. Only this page names `artifact_types.py`.

# %% [markdown]
# ## Passages that repeat each other
#
# If two of five passages say the same, a place is lost.
#
# The next figure compares the ten best passages for a question about a task's memory limit. Each number is the similarity of two of them.

# %%
import matplotlib.pyplot as plt
import numpy as np

from course_lib.retriever import retrieve

memory = "How do I set the memory limit of a task?"
found = retrieve(conn, lab.embedder, Query(memory, top_k=10))
vectors = lab.encode([one.content for one in found])
likeness = vectors @ vectors.T
labels = [f"{place} {one.name}" for place, one in enumerate(found, 1)]

# %%
figure, axes = plt.subplots(figsize=(7, 3.6))
axes.imshow(likeness, cmap="Blues", vmin=0, vmax=1, aspect="auto")
axes.set_xticks(range(10), range(1, 11))
axes.set_yticks(range(10), labels)
for (one, other), similarity in np.ndenumerate(likeness):
    axes.text(other, one, f"{similarity:.2f}", ha="center", va="center", size=8, color="white" if similarity > 0.6 else "black")
    if one != other and similarity > 0.9:
        axes.add_patch(plt.Rectangle((other - 0.5, one - 0.5), 1, 1, fill=False, edgecolor="tab:orange", linewidth=3))
axes.set_title("In orange: two passages with nearly the same text", size=10)
pairs = pd.Series({f"{one} and {other}": likeness[one - 1, other - 1] for one in range(1, 11) for other in range(one + 1, 11)})
best = ", ".join(f"{similarity:.2f} for {pair}" for pair, similarity in pairs.nlargest(3).items())
lab.alt(axes, f"Cosine similarities of ten passages, of different ones from {pairs.min():.2f} to {best}.")

# %% tags=["claim"]
assert [f"{one:.2f}" for one in pairs.nlargest(3)] == ["0.99", "0.98", "0.72"], "8 and 10 have 0.99, and 1 and 2 have 0.98"
assert [*pairs.nlargest(2).index] == ["8 and 10", "1 and 2"], "8 and 10 have 0.99, and 1 and 2 have 0.98"

# %% [markdown]
# Two pairs are nearly equal: 8 and 10 have 0.99, and 1 and 2 have 0.98.
#
# [Maximal marginal relevance](../labs/GLOSSARY.md#maximal-marginal-relevance) (MMR) takes one passage after the other, each time the one that
# *adds* most. What a passage adds is its relevance minus what it repeats:
#
# (1 − diversity) · relevance − diversity · similarity to the most similar passage already taken
#
# By hand, with a *diversity* of 0.5: passages a, b and c have the relevances 1.0, 0.9 and 0.6. Passage b is a copy of a, and c has nothing in
# common with them. First, a is taken. Now b adds 0.45 − 0.5 = −0.05, and c adds 0.3 − 0 = 0.3. So c is next.

# %% [markdown]
# ## Exercise 14.2: the passage that adds most
#
# Why is a candidate compared with the most similar passage taken, not with the mean of all?
#
# Passages of named files are in the context already, so your function gets their vectors as `taken`. All vectors have length 1, so an inner
# product is a similarity.

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
# A copy of one passage can be far from the mean of all.
#
# Your function chooses five of these ten passages. The relevance of each is its *place* in the search, because the scores of different searches
# have different scales.
#
# > **Predict.** Passage 2 repeats 1. With which diversity is 3 taken before 2?

# %%
maximal_marginal_relevance = lab.use("maximal_marginal_relevance")
relevance = [1 - place / 10 for place in range(10)]
orders = {diversity: maximal_marginal_relevance(relevance, vectors, 5, diversity=diversity) for diversity in (0.0, 0.3, 0.7)}
pd.DataFrame({f"diversity {diversity}": [labels[place] for place in order] for diversity, order in orders.items()}, index=range(1, 6))

# %% tags=["claim"]
assert orders[0.0] == [0, 1, 2, 3, 4] and orders[0.3].index(2) < orders[0.3].index(1), "With 0.3, the value of the library, 3 is already before 2"
assert 8 in orders[0.7] and 8 not in orders[0.3], "With 0.7, passage 9 comes in: a table of types"

# %% [markdown]
# With 0.3, the value of the library, 3 is already before 2. With 0.7, passage 9 comes in: a table of types.

# %% [markdown]
# ## The window
#
# What a model reads and what it writes share one
# [context window](../labs/GLOSSARY.md#context-window). Its size is a number of [tokens](../labs/GLOSSARY.md#token): words, or pieces of words.
#
# Only the tokenizer of the model that answers counts them exactly. Without it, you estimate: the course counts three bytes as one token.
#
# > **Predict.** For which text is this too low, compared with MiniLM's tokenizer (lab 05): English, code, or a list of hashes?

# %%
from hashlib import sha256

from course_lib.answers import count_tokens

texts = {
    "English": lab.document("ci-cd-for-ml.md"),
    "code": (folder / "executor.py").read_text(encoding="utf-8"),
    "hashes": "\n".join(sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.py"))),
}
counts = pd.DataFrame({name: [len(text.encode()), lab.embedder.count_tokens(text), count_tokens(text)] for name, text in texts.items()})
counts = counts.T.set_axis(["bytes", "MiniLM's tokens", "estimate"], axis=1)
counts

# %% tags=["claim"]
ratio = counts["estimate"] / counts["MiniLM's tokens"]
assert (ratio >= 1).to_list() == [True, True, False] and ratio["hashes"] < 0.5, "For the hashes: they have more than twice as many tokens as estimated"

# %% [markdown]
# For the hashes: they have more than twice as many tokens as estimated. They contain no words, so the tokenizer cuts them into tiny pieces. Because an estimate
# can be too low, a *margin* of the window stays free.
#
# By hand: the window has 1,000 tokens, the margin 100, and the answer may take 200. So there is `room` for 700. Instructions and question
# take 250 of it. The passages get the other 450, their [budget](../labs/GLOSSARY.md#context-budget).

# %% [markdown]
# ## Exercise 14.3: what goes
#
# What if the passages need more? Half a function misleads, so whole passages have to go. Which? If you drop the longest one, few have to go.
# If you pack as many tokens as possible, no room is lost. Why does your function do neither?

# %% exercise="14.3"
from course_lib.answers.budget import fit_passages

# %%
lab.check("14.3", fit_passages)

# %%
lab.hint("14.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Both can drop the best passage, because they ignore its score. The mistake to remember: letting a dropped passage back in because it is short.
# Then, too, a worse one stays while a better one is gone.

# %% [markdown]
# The longest passage may be the best. And packing may drop the best one for two worse ones that fill the room.
#
# Back to the wrong answer, now with ten passages: three of the named file, then seven of the search.
#
# > **Predict.** A larger window has room for more passages. Does the answer get better?

# %%
from course_lib.answers import fence
from course_lib.answers.prompts import SYSTEM_PROMPT

chosen = ContextOptions(hint_max_chunks=3, structure_max_chunks=0)
candidates = passages_for(asked, chosen, top_k=10)
costs = [count_tokens(fence(one.place, one.text, "0" * 12)) for one in candidates]
fixed = count_tokens(SYSTEM_PROMPT) + count_tokens(asked)
origins = {"hint": ("named file", "tab:orange"), "search": ("search", "tab:cyan")}


def kept_in(window):  # 512 tokens of margin, 400 for the answer
    return [candidates[i] for i in fit_passages(fixed, costs, [one.score for one in candidates], window - 512 - 400)]


# %%
fit_passages = lab.use("fit_passages")


def fill(window=3400):
    kept = kept_in(window)
    parts = [("instructions and question", fixed, "lightblue")]
    for one in kept:
        origin, color = origins[one.origin]
        parts.append((f"{one.index} {origin}: {one.place}", costs[one.index - 1], color))
    parts += [("answer", 400, "plum"), ("margin", 512, "silver")]
    free = window - sum(tokens for _, tokens, _ in parts)
    parts += [("free", free, "white")] * (free > 0)
    bar = pd.DataFrame(parts, columns=["part", "tokens", "color"])
    bar["start"] = bar.tokens.cumsum() - bar.tokens
    figure, axes = plt.subplots(figsize=(8, 4))
    for color, some in bar.groupby("color", sort=False):
        axes.bar(0, some.tokens, bottom=some.start, width=0.8, color=color, edgecolor="black")
    for one in bar.itertuples():
        axes.text(0.5, one.start + one.tokens / 2, f"{one.part} ({one.tokens})", va="center", size=8)
    left_out = [f"{one.index} {one.place}" for one in candidates if one not in kept]
    axes.text(0.5, window + 250, "\n".join(["did not fit:", *left_out] if left_out else []), va="bottom", size=8, color="dimgray")
    title = f"{len(kept)} passages. The answer quotes {', '.join(quote(asked, kept)[1])}"
    axes.set(xlim=(-0.5, 5), ylim=(0, 5500), xticks=[], ylabel="tokens")
    axes.set_title(title, size=10)
    lab.alt(axes, f"A window of {window} tokens: {', '.join(f'{name} ({tokens})' for name, tokens, _ in parts)}. {title}.")



# %%
lab.interact(fill, window=(1600, 5000, 100))
rows = {}
for window in (2300, 2700, 3200, 3400, 5000):
    kept = kept_in(window)
    rows[window] = [len(kept), ", ".join(quote(asked, kept)[1])]
pd.DataFrame(rows, index=["passages", "the answer quotes"]).T.rename_axis("window")

# %% tags=["claim"]
assert [one.origin for one in candidates[:4]] == ["hint"] * 3 + ["search"] and len(kept_in(2300)) == 3, "With the three passages of the named file"
assert quote(asked, kept_in(2300))[1] == ["component_decorator.py"], "the answer quotes only this file"
text, files = quote(asked, kept_in(3400))
assert len(kept_in(3400)) == 7 and "component_decorator.py" not in files, "In a window of 3,400, with seven passages, it no longer quotes this file"
assert "defined under component_decorator.py" in text, "quotes the sentence defined under component_decorator.py"

# %% [markdown]
# No. With the three passages of the named file, the answer quotes only this file. This is the right place, although the answer is not complete. In
# a window of 3,400, with seven passages, it no longer quotes this file. Again, it quotes the sentence *defined under component_decorator.py*, because this is
# more like the question.
#
# Language models are misled, too, by [one irrelevant sentence](https://arxiv.org/abs/2302.00093) in a maths problem.

# %% [markdown]
# ## The prompt
#
# Here is the [prompt](../labs/GLOSSARY.md#prompt) for a language model, in a window of 2,000 tokens.

# %%
from course_lib.answers import build_prompt

prompt = build_prompt(asked, kept_in(2000))
shown = prompt.user.splitlines()
print(prompt.system, "", *shown[:5], "…", *shown[-6:], sep="\n")

# %% tags=["claim"]
assert all(f"PASSAGE {one.index}: {one.place}\n{one.text[:20]}" in prompt.user for one in kept_in(2000)), "The line before each passage has its number and its path"

# %% [markdown]
# The line before each passage has its number and its path, so the model can cite it. The twelve characters after BEGIN and END show which END is the real one
# ([lab 15](../labs/15_checking_an_answer.ipynb)).

# %% [markdown]
# ## Measure
#
# We ask all sixty questions, and count those with a right passage in the context. A passage is right if it has a phrase that
# we know. For questions that ask for a file, it is right if it is from this file, or is the structure page and names it.
#
# > **Predict.** How many of the thirty questions that name a file get a right passage only because of this name?

# %%
def helps(passage, one):
    if one.answer_contains:
        return one.is_answered_by(passage.path, passage.text)
    file = PurePosixPath(one.gold_paths[0])
    return passage.path in one.gold_paths or (passage.path == "STRUCTURE.md" and file.name in passage.text)


def is_found(one, options):
    return any(helps(passage, one) for passage in passages_for(one.question, options))


# %%
named_files = ContextOptions(hint_max_chunks=3, diversity=0.0, structure_max_chunks=0)
ways = {"search alone": search_alone, "+ named files": named_files, "+ diversity": chosen, "+ structure page": with_page}
groups = {"names a file": naming, "names none": [one for one in questions if one not in naming]}
found = {group: pd.DataFrame({way: [is_found(one, options) for one in some] for way, options in ways.items()}) for group, some in groups.items()}
pd.DataFrame({f"{group}, of {len(some)}": some.sum() for group, some in found.items()})

# %% tags=["claim"]
named, none = found["names a file"], found["names none"]
assert named["+ named files"].sum() - named["search alone"].sum() == 3, "with named files, three more of the thirty questions have a right passage"
assert (none["+ named files"] == none["search alone"]).all(), "For the others, it changes nothing"
assert none["+ diversity"].sum() - none["+ named files"].sum() == 2, "With diversity, two more of them have one"
assert none["+ diversity"].sum() - none["+ structure page"].sum() == 1, "With it, one question less has a right passage"
assert all((some["+ structure page"] <= some["+ diversity"]).all() for some in (named, none)), "It gains nothing here"
which = none[[not one.answer_contains for one in groups["names none"]]]
assert which["+ diversity"].sum() == len(which) == 10, "ten questions ask for a file, and the search already finds all ten files"
page = next(one for one in passages_for(asked, with_page) if one.path == "STRUCTURE.md")
assert 650 < count_tokens(page.text) < 750, "about 700 tokens"

# %% [markdown]
# Three: with named files, three more of the thirty questions have a right passage. For the others, it changes nothing. With diversity, two more
# of them have one. But two or three of thirty may be chance ([lab 16](../labs/16_measuring_retrieval.ipynb)).
#
# The structure page takes about 700 tokens. With it, one question less has a right passage. It gains nothing here: ten questions ask for a file, and the search already finds all ten files.
#
# > **Predict.** How many of the three wrong answers quote the named file now?

# %%
second = ask_all(chosen)
print("quote the named file:", first.quotes_it.sum(), "of 30 with search alone,", second.quotes_it.sum(), "with your steps")
second.loc[~first.quotes_it, ["quotes", "quotes_it"]]

# %% tags=["claim"]
assert second.quotes_it[asked] and (second.quotes_it & ~first.quotes_it).sum() == 1, "One, the decorator's"
assert [*first.quotes_it.index[~first.quotes_it & second.quotes_it]] == [asked], "One, the decorator's"
still = second[~second.quotes_it]
assert all(file in {one.path for one in passages_for(question, chosen)} for question, file in still.file.items()), "For the other two, the named file is in the context now"

# %% [markdown]
# One, the decorator's. For the other two, the named file is in the context now, but the answerer quotes others. No model can quote what is not in its context. So repair the context first, then check the answer (lab 15).

# %% [markdown]
# ## In the field
#
# Which step pays depends on *your* users. To find out, take thirty questions that they asked. Count how many name a file, and how many have a
# right passage in the context, with and without each step: `RAG_FILE_HINT_MAX_CHUNKS` and `RAG_STRUCTURE_MAX_CHUNKS` switch them (0 is off).
#
# If the right passage is often among the first fifty, but not the first five, try a *cross-encoder*: a model that reads question and passage
# together (`RAG_RERANK=1`, with its name in `RAG_RERANK_MODEL`).
#
# Log the tokens of each prompt. A local server such as Ollama may cut off the beginning of a long one, with your instructions, and
# [report nothing](https://github.com/ollama/ollama/issues/3839).
#
# ## Recap
#
# - If a question names a file, put passages of it into the context.
# - Of two passages that say the same, one is enough.
# - Prompt, answer and a margin share one window. Whole passages go, the worst first.
#
# ## Three questions to test yourself
#
# 1. A question names `__init__.py`, and the repository has 300 files with this name. What should happen?
# 2. A file and its old copy are both found. Which step can keep the copy out?
# 3. A question names `kfp/dsl/executor.py`, and the index has it as `executor.py`. What does your function return?
#
# <details><summary>Answers</summary>
#
# 1. A few passages of the few files that the search ranks highest.
# 2. Diversity: the copy adds little.
# 3. Nothing, although it is the right file: `executor.py` has no folder to compare. Otherwise, `tests/executor.py` would mean it, too.
#
# </details>
#
# ## What comes next
#
# Next is [lab 15](../labs/15_checking_an_answer.ipynb): does an answer say what its passages say?
