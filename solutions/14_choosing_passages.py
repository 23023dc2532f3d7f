# %% [markdown]
# # 14 · Choosing passages
#
# You will choose the passages that a model reads, and make them fit into the model's window.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | find the files that a question names · choose passages that do not repeat each other · fit passages into a token budget | `answers/` | about {minutes} min | lab 07 for the search |

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
# ## A file that the search does not find
#
# This time the index contains code: `kfp.dsl`, the language in which the pipelines of lab 11 are written. You have this code already, as
# part of the package `kfp`. The next cell makes a copy without the tests.

# %% tags=["nbval-check-output"]
import importlib.util
import shutil
import tempfile
from pathlib import Path

from course_lib.answers.structure import structure_text

source = Path(importlib.util.find_spec("kfp").origin).parent / "dsl"
folder = Path(tempfile.mkdtemp()) / "dsl"
shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*_test.py", "v1_*", "__pycache__"))
page = structure_text(folder, "kfp.dsl")  # a list of all files; more about it below
(folder / "STRUCTURE.md").write_text(page, encoding="utf-8")
print(page.partition("## Folders")[0])

# %% [markdown]
# Now the code goes into the index. A [chunk](../labs/GLOSSARY.md#chunk) is a whole function if the function is short enough. The first run
# takes a while, because it encodes all chunks. Later runs read the vectors from the [cache](../labs/GLOSSARY.md#cache).

# %%
from course_lib.indexing import IngestOptions, ingest
from course_lib.records import Scope

options = IngestOptions(chunk_size=1200, progress=True)
report = ingest(folder, Scope(repo="kfp-dsl"), options, conn=conn, embedder=lab.embedder)
print(report.documents, "documents in", report.chunks, "chunks")

# %% [markdown]
# Here are two questions. Each contains the name of a file. Each is asked twice: once with a [dense](../labs/GLOSSARY.md#dense-retrieval)
# search, which compares meanings only, as in lab 07, and once with a [hybrid](../labs/GLOSSARY.md#hybrid-retrieval)
# search, which compares meanings and words.
#
# > **Predict.** Which of the two files does the dense search find?

# %%
from course_lib.retriever import Query, retrieve

main_file = "What does executor_main.py do with its command line?"
node_file = "What does importer_node.py return?"
files = {}
for question in (main_file, node_file):
    for mode in ("dense", "hybrid"):
        files[question, mode] = [one.document_name for one in retrieve(conn, lab.embedder, Query(question, mode=mode))]
        print(f"{question} {mode}:", *(f"{place} {name}" for place, name in enumerate(files[question, mode], 1)))

# %% tags=["claim"]
assert files[main_file, "dense"][0] == "executor_main.py", "the words executor, main and command line lead to executor_main.py"
assert "importer_node.py" not in files[node_file, "dense"], "The dense search does not find importer_node.py"
assert files[node_file, "hybrid"].index("importer_node.py") == 1, "The hybrid search finds it, but only after another file"

# %% [markdown]
# The [vector](../labs/GLOSSARY.md#vector) of a question contains some of the meaning of a name: the words *executor*, *main* and *command
# line* lead to `executor_main.py`. But the vector does not say that the question is about one particular file. The dense search does not
# find `importer_node.py`. The hybrid search finds it, but only after another file. Yet the question *contains* the name of the file, and a
# program can read this name.
#
# ## Exercise 14.1: which file is meant
#
# A word in a question is the name of a file if it has an ending that also occurs in the index. `extract_file_hints` finds these words and
# removes quotes and commas around them. Your function decides which files such a name *means*. It uses the *manifest* of the index, which
# maps each base name to the paths of all files with this base name.
#
# People write the base name alone, or some of its folders with it, or even folders that are above the indexed folder, as in
# `kfp/dsl/types/type_utils.py`:
#
# ```
# find_hinted("main.go", {"main.go": ["cmd/main.go", "main.go"]})         →  ["cmd/main.go", "main.go"]
# find_hinted("app/cmd/main.go", {"main.go": ["cmd/main.go", "main.go"]})  →  ["cmd/main.go"]
# ```

# %% exercise="14.1"
from course_lib.answers.hints import find_hinted

# %%
lab.check("14.1", find_hinted)

# %%
lab.hint("14.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The first rule is the strictest, and each later rule accepts more. The first rule that finds a file decides. If a rule always found
# something, files that the question does not mean would fill the context.

# %% tags=["nbval-check-output"]
from course_lib.answers import extract_file_hints, file_manifest

find_hinted = lab.use("find_hinted")
manifest = file_manifest(conn)
print({name: paths for name, paths in manifest.items() if len(paths) > 1})
asked = r"Is `importer_node.py` or kfp\dsl\types\type_utils.py:7 older than TYPE_UTILS.py, __init__.py and setup.py?"
for named in extract_file_hints(asked, {".py"}):
    print(f"{named}:", find_hinted(named, manifest))

# %% [markdown]
# The context begins with chunks of these files, even if the search gives them a low score. The name `__init__.py` means more than one file,
# and `setup.py` means no file of the index. Large repositories have hundreds of files called `__init__.py`. Therefore each named file gets
# only a few passages, and if a name means many files, only the best of them are used.
#
# ## What is where
#
# The next question names no file: *where do I find artifacts?* A page that lists all files can answer it. Such a page was indexed above.
# It shows the size of each file, and the first sentence of its docstring:

# %% tags=["nbval-check-output"]
at = page.index("## `types/`")
print(page[at : at + 420])

# %% [markdown]
# Most of these files have such a text, and the page shows its first line. The page is split by folder, and its chunks have the kind
# `structure`. The next cell makes two contexts: one without the page, and one that keeps a place for it.

# %%
from course_lib.answers import ContextOptions, retrieve_context

where = "Where do I find artifacts?"
contexts = []
for places in (0, 1):
    options = ContextOptions(diversity=0, structure_max_chunks=places)
    context = retrieve_context(conn, lab.embedder, Query(where, top_k=5), options)
    contexts.append(context)
    print(f"{places} for the page:", *(f"[{one.origin} {one.place}]" for one in context.passages))
    print("    artifact_types.py is in:", *(one.place for one in context.passages if "artifact_types.py" in one.place + one.text))

# %% tags=["claim"]
without, with_page = ([(one.origin, one.path, "artifact_types.py" in one.text) for one in context.passages] for context in contexts)
assert "types/artifact_types.py" not in {path for _, path, _ in without}, "The file that defines them is not in the first context"
assert ("structure", "STRUCTURE.md", True) in with_page, "In the second context, the page names this file"

# %% [markdown]
# The search finds code that *uses* artifacts. The file that defines them is not in the first context. In the second context, the page names
# this file.
#
# ## Passages that repeat each other
#
# The search fills the other places, and here is a new problem: code repeats itself. The functions `set_memory_limit`, `set_memory_request`,
# `set_cpu_limit` … differ only in a word or two.

# %%
asked = "How do I set the memory limit of a task?"
found = retrieve(conn, lab.embedder, Query(asked, top_k=10))
vectors = lab.encode([one.content for one in found])
names = [f"{place} {one.name}" for place, one in enumerate(found, 1)]
lab.show.heat_map(vectors @ vectors.T, names, title="How similar the ten best passages are")

# %% tags=["claim"]
from itertools import combinations

first_of_two, second = max(combinations(range(len(found)), 2), key=lambda pair: vectors[pair[0]] @ vectors[pair[1]])
assert vectors[first_of_two] @ vectors[second] > 0.9 and all(found[place].name.startswith("set_") for place in (first_of_two, second)), "differ only in a word or two"

# %% [markdown]
# A dark field outside the diagonal means that two passages say nearly the same. [Maximal marginal
# relevance](../labs/GLOSSARY.md#maximal-marginal-relevance) (MMR) takes one passage after the other. Each time it takes the passage with the
# largest value of
#
# (1 − diversity) · relevance − diversity · similarity to the most similar passage already taken.
#
# An example by hand, with diversity 0.5: three passages have the relevances 1.0, 0.9 and 0.6. The second is a copy of the first (similarity
# 1). The third has nothing in common with them (similarity 0). The first passage is taken first. Now the value of the copy is 0.45 − 0.5,
# and the value of the third passage is 0.3 − 0. So the third passage is taken next.
#
# ## Exercise 14.2: the passage that adds most
#
# All vectors have length 1, so their inner product is the similarity. `taken` contains the vectors of passages that are in the context
# already, such as the chunks of a named file. Copies of these passages are not wanted either.

# %% exercise="14.2"
from course_lib.answers.selection import maximal_marginal_relevance

# %%
lab.check("14.2", maximal_marginal_relevance)

# %%
lab.hint("14.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Only the similarity to the *most similar* taken passage counts. So it is enough to keep one maximum for each candidate, and each round
# needs only one product of a matrix and a vector.

# %% [markdown]
# > **Predict.** Five of the ten passages in the figure are taken. Which one is taken second if similarity counts against a passage?

# %%
maximal_marginal_relevance = lab.use("maximal_marginal_relevance")
relevance = [1 - place / len(found) for place in range(len(found))]
orders = {}
for diversity in (0.0, 0.3, 0.7):
    order = orders[diversity] = maximal_marginal_relevance(relevance, vectors, 5, diversity=diversity)
    print(diversity, [names[place] for place in order])

# %% tags=["claim"]
assert orders[0.0] == [0, 1, 2, 3, 4] and max(orders[0.7]) > max(orders[0.3]) >= 4, "With a higher diversity, MMR takes passages from further down the list"

# %% [markdown]
# With a higher diversity, MMR takes passages from further down the list. Near 1, the passages differ from each other but no longer fit the
# question. The library uses 0.3. As here, it computes the relevance from the *place* in the ranking, because the scores of different
# searches have different scales.
#
# ## The window
#
# The text that a model reads and the text that it writes share one [context window](../labs/GLOSSARY.md#context-window). Its size is
# counted in [tokens](../labs/GLOSSARY.md#token). A small example: the window has 1,000 tokens. 100 tokens stay free, because our count may
# differ a little from the model's. The answer may take 200. Instructions and question take 250. So 1000 − 100 − 200 − 250 = 450 tokens are
# left for the passages. This is the [context budget](../labs/GLOSSARY.md#context-budget).
#
# The passages may need more. Then the rule is simple and easy to explain: drop the passage with the lowest score, again and again, until the
# rest fits.
#
# > **Predict.** There are passages of 200, 150, 150 and 60 tokens, the best one first. Which of them stay?
#
# ## Exercise 14.3: drop passages until the rest fits
#
# Here, `room` is the number of tokens for instructions, question and passages together. In the example it is 1000 − 100 − 200 = 700.

# %% exercise="14.3"
from course_lib.answers.budget import fit_passages

# %%
lab.check("14.3", fit_passages)

# %%
lab.hint("14.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# After the passage of 150 tokens was dropped, the last passage of 60 tokens would fit again. But it stays out. Another rule could pack as
# many tokens as possible. With that rule, a worse passage may stay although a better one was dropped.

# %% [markdown]
# In the example, the passages of 200 and 150 tokens stay: 350 of 450 tokens. Without such a rule, the server decides. If a prompt is too
# long, hosted APIs return an error. Some local servers, such as Ollama, may cut off the *beginning* of the prompt without an error, and the
# instructions are at the beginning. Now a real prompt: the question names two files, and the window is small. The figure shows what fills
# the window, passage by passage.

# %%
from course_lib.answers import build_prompt, ensure_prompt_fits

asked = "How does executor_main.py find the function that python_component.py wraps?"
context = retrieve_context(conn, lab.embedder, Query(asked, top_k=10), ContextOptions(hint_max_chunks=2))
fitted = ensure_prompt_fits(
    lambda passages: build_prompt(asked, passages),
    context.passages, model="llama3", window=4096, margin=512, max_output=768, least_output=768,
)
lab.show.budget(fitted, "4,096 tokens")

# %% tags=["claim"]
hinted = [one.path for one in fitted.passages if one.origin == "hint"]
assert len(hinted) == 4 and {*hinted} == {"executor_main.py", "python_component.py"}, "the question names two files, and the window is small"
assert fitted.passages[0].origin == "hint", "Passages of named files come first"
assert fitted.dropped and min(one.index for one in fitted.dropped) > max(one.index for one in fitted.passages), "so the last results of the search are dropped first"

# %% [markdown]
# The colour shows where a passage came from. Passages of named files come first, so the last results of the search are dropped first. The
# passages that stay keep their numbers: [3] is the same passage, however large the window is.
#
# ## The prompt
#
# The [prompt](../labs/GLOSSARY.md#prompt) asks the model to cite passages by number and path, as in `[1: executor_main.py]`, and to say "I
# don't know" if the passages do not contain the answer. The next cell shows a whole prompt: the instructions, two passages and the
# question. Nothing else is sent. The model knows nothing about your repository except these lines.

# %%
asked = "What does set_retry do with num_retries?"
two = retrieve_context(conn, lab.embedder, Query(asked, top_k=2), ContextOptions(structure_max_chunks=0))
for message in build_prompt(asked, two.passages).messages:
    print(f"--- {message['role']} ---\n{message['content']}\n")

# %% [markdown]
# ## Measure
#
# There are sixty questions about `kfp.dsl`. Thirty name a file, and thirty do not. For each question we know the file, and a phrase that
# the right passage contains. If a question asks only for the file, the list of files is a right passage, too. We measure two numbers for
# each way of making a context: the share of questions with the answer in their five passages, and the [MRR](../labs/GLOSSARY.md#mrr), which
# is higher if the answer is nearer to the top.
#
# > **Predict.** There are six ways. Each adds one step to the way before it. Which step helps questions that name a file? Does a step make
# > the results worse for the other questions?
#
# The second cell may take a minute or two. The last way, `+ rerank`, takes most of this time.

# %%
from pathlib import PurePosixPath
from statistics import mean

from course_lib.evaluation import read_questions
from course_lib.evaluation.statistics import bootstrap_interval
from course_lib.settings import project_root

asked_about = read_questions(project_root() / "data/questions/kfp_dsl.jsonl")
names_its_file = {one.id: PurePosixPath(one.gold_paths[0]).name in one.question for one in asked_about}


def helps(passage, one):
    if one.answer_contains:
        return one.is_answered_by(passage.path, passage.text)
    is_listed = passage.path == "STRUCTURE.md" and f"`{PurePosixPath(one.gold_paths[0]).name}`" in passage.text
    return is_listed or passage.path in one.gold_paths


def ranks(mode="hybrid", **how):
    for one in asked_about:
        query = Query(one.question, top_k=5, mode=mode)
        passages = retrieve_context(conn, lab.embedder, query, ContextOptions(**how)).passages
        yield one.id, next((passage.index for passage in passages if helps(passage, one)), None)

# %%
from IPython.display import display

alone = {"hint_max_chunks": 0, "structure_max_chunks": 0, "diversity": 0.0}
ways = {
    "dense only": {"mode": "dense", **alone},
    "hybrid": alone,
    "+ hints": {**alone, "hint_max_chunks": 3},
    "+ structure": {"hint_max_chunks": 3, "diversity": 0.0},
    "+ diversity": {"hint_max_chunks": 3},
    "+ rerank": {"hint_max_chunks": 3, "rerank": "maxsim", "rerank_k": 8},
}
found = {}


def scores(found, wanted):
    some = [rank for id, rank in found.items() if names_its_file[id] in wanted]
    return mean(rank is not None for rank in some), mean(1 / rank if rank else 0 for rank in some)


print(f"{'':12}  names a file      does not       all")
for name, how in ways.items():
    if "rerank" in how:
        print("The last way is much slower …")
    found[name] = dict(ranks(**how))
    columns = [scores(found[name], wanted) for wanted in ((True,), (False,), (True, False))]
    print(f"{name:12}", *(f"  {recall:.2f} MRR {mrr:.2f}" for recall, mrr in columns))
shares = {name: bootstrap_interval([float(rank is not None) for rank in found[name].values()]) for name in ways}
display(lab.show.intervals(shares, "The answer is in the context", "share of all questions, with its interval of 95 %"))
recall, mrr = scores(found["+ diversity"], (True, False))
lab.score(recall_at_5=recall, mrr=mrr, note="hints, structure, diversity; over kfp.dsl")

# %% tags=["claim"]
by_name, unnamed = ({name: tuple(round(value, 2) for value in scores(found[name], wanted)) for name in ways} for wanted in ((True,), (False,)))
recalls = {name: share for name, (share, _) in unnamed.items()}
mrrs = {name: rank for name, (_, rank) in unnamed.items()}
assert by_name["+ hints"][0] > by_name["hybrid"][0] > by_name["dense only"][0], "finds named files more often than the dense search, and hints find them most often"
assert recalls["hybrid"] <= recalls["dense only"] and 0 < mrrs["dense only"] - mrrs["hybrid"] < 0.05, "the hybrid search finds no more answers, and it ranks them slightly lower (see the MRR)"
assert unnamed["+ hints"] == unnamed["hybrid"], "Hints change nothing for these questions"
assert mrrs["+ structure"] < mrrs["+ hints"] and recalls["+ structure"] <= recalls["+ hints"], "the answers to these questions rank lower, and no more of them are found"
assert 0.02 < recalls["+ diversity"] - recalls["+ structure"] < 0.05, "Diversity finds one more answer to these questions"
assert mrrs["+ rerank"] > mrrs["+ diversity"] and by_name["+ rerank"][1] < by_name["+ diversity"][1], "It ranks answers higher if the question names no file, and lower if it names one"
assert max(share.low for share in shares.values()) < min(share.high for share in shares.values()), "The intervals in the figure all overlap"

# %% [markdown]
# A file name is a word. So the hybrid search, which compares words, finds named files more often than the dense search, and hints find them
# most often. For questions that name no file, the hybrid search finds no more answers, and it ranks them slightly lower (see the MRR).
# Hints change nothing for these questions. The list of files takes one of the five places from the search. With it, the answers to these
# questions rank lower, and no more of them are found. The list is useful if no passage says where things are, as you saw above. Diversity
# finds one more answer to these questions. [Reranking](../labs/GLOSSARY.md#reranking) by MaxSim compares every passage with the question
# word by word. It ranks answers higher if the question names no file, and lower if it names one, because it also reorders the passages of
# the named file.
#
# So each step helps one kind of question and may make another kind worse. Therefore each step has a setting: `RAG_FILE_HINT_MAX_CHUNKS`,
# `RAG_STRUCTURE_MAX_CHUNKS`, `RAG_RERANK`. Which kind of question do *you* ask? One question of thirty changes a share by 0.03, so such a
# difference means nothing. The intervals in the figure all overlap. Lab 16 shows how to decide whether a difference is real.

# %% [markdown]
# ## In the field
#
# The standard tool for reranking is a *cross-encoder*: a model that reads a question and a passage together and returns one score. The
# package [rerankers](https://pypi.org/project/rerankers/) has one interface for many cross-encoders. This code is not run here, because it
# downloads a model:
#
# ```python
# from rerankers import Reranker  # uv pip install "rerankers[transformers]"
#
# ranker = Reranker("cross-encoder/ms-marco-MiniLM-L-6-v2", model_type="cross-encoder")
# ranked = ranker.rank(query=where, docs=[one.text for one in context.passages])
# print([one.document.doc_id for one in ranked.results])  # places in `docs`, best first
# ```
#
# Use it if the right passage is among the first fifty results but not among the first five. It must run the model once for each pair of
# question and passage, after the question was asked. It cannot find a passage that the search did not find. It scores each passage alone,
# so five copies of one passage get the same score. In the course, `RAG_RERANK_MODEL` chooses a cross-encoder.

# %% [markdown]
# ## Recap
#
# - A context has several sources: the files that the question names, a page that lists all files, and the search.
# - If two passages say the same, one is enough. MMR takes passages that differ.
# - Input, output and margin share one window. Decide yourself which passages are dropped. Otherwise the server decides.
#
# ## Three questions to test yourself
#
# 1. Passages are dropped by their score. Why do the others keep their order and their numbers?
# 2. A question names `__init__.py`, and the repository has 300 files with this name. What should happen?
# 3. With a diversity of 1, which passage is taken second?
#
# <details><summary>Answers</summary>
#
# 1. The score tells which passage is least useful. The order and the numbers are what the model sees, and a reader uses the numbers to
#    look up passages.
# 2. The context should get a few passages from each of the few files that the search ranks highest. All 300 would fill the window, and
#    most of them do not matter.
# 3. The passage that is least similar to the first, whether it fits the question or not.
#
# </details>
#
# ## Stretch, and what comes next
#
# Measure the six ways with another number of passages. Next is [lab 15](../labs/15_checking_an_answer.ipynb): an answer cites these passages.
# Do they say what it says?
