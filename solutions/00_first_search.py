# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 00 · A first search
#
# The answer is in your notes. But you ask with other words than you wrote, so a search for words finds nothing. A search by meaning can
# find the lines. In this lab you use the finished search. In the rest of the course you build it.
#
# | You will be able to | Time | Needs | Builds |
# |---|---|---|---|
# | search a folder of your own, and measure what is found · choose a threshold, and say what it costs · say whether a gain may be luck | about {minutes} min, and 10 more for your own questions | nothing but this notebook | the finished system, seen from outside |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %% [markdown]
# A notebook is a page of cells. Click into a code cell and press **Shift + Enter**. The cell runs, and its result appears below it. Run all
# cells from top to bottom.

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("00", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)

# %% [markdown]
# ## Search a folder of your own
#
# Begin with texts of your own: notes (`.md`, `.txt`), notebooks, YAML, Python, Go or shell. Write the path of their folder between the
# quotes, for example `r"~/notes"` or `r"d:\notes"`.
#
# If you leave the quotes empty, the lab takes five pages of the course. Then first read lines 1 to 60 of
# `data/documents/model-monitoring.md`, to judge the results.
#
# Your texts stay on the machine that runs this notebook.

# %%
my_folder = r""  # the path goes between the quotes

ask = lab.search_folder(my_folder)

# %% [markdown]
# Ask for something in one of the texts, but in *other* words than the text uses. Type the question into the box and press **Enter**.

# %%
lab.interact(
    lambda question: lab.show.passages(ask(question), question),
    question="How can I tell that the data has changed since training?",
)

# %% [markdown]
# Each row is a piece of a text, with its document, the heading above it and its lines. The text begins at the sentence that is most similar
# to the question. The bar and the number show the similarity that the search computes.
#
# **Your turn.** Find three questions whose answers you know. Write each into the next cell. After it, copy some words of the piece that has
# the answer. The cell asks again, and looks for your words in the five pieces.
#
# > **Predict.** Before you run it: for how many of your questions does the right piece come first?

# %%
mine = {  # your question: words of the right piece
    "How can I tell that the data has changed since training?": "Compare with the training data",
}


def place(question, words):
    right = ask(question).piece.str.contains(words, case=False, regex=False)
    return right.idxmax() if right.any() else "none"


for question, words in mine.items():
    print("place", place(question, words), "-", question)

# %% tags=["claim"]
if not my_folder:
    assert [place(*one) for one in mine.items()][0] == 2, (
        "The right piece of the first question is the second"
    )

# %% [markdown]
# The right piece of the first question is the second: it says what to compare the data with. *None* means that your words are in none of
# the five.
#
# **Your turn.** Take a question whose right piece was not first. Change one word of the question, and ask again. Which word helps?
#
# ## Why not search for the words?
#
# From here on, the lab uses five pages about machine learning in production. You ask which warnings deserve waking someone up. The first
# idea is to search the pages for these words.

# %% tags=["nbval-check-output"]
import pandas as pd

question = "Which warnings deserve waking someone up?"
documents = lab.documents()

pages = pd.DataFrame(index=list(documents))
for word in ("warning", "deserve", "waking", "someone"):
    pages[word] = [text.lower().count(word) for text in documents.values()]
pages

# %% tags=["claim"]
assert pages.to_numpy().sum() == 2 and (pages.sum(axis=1) == 1).sum() == 2, (
    "Two pages have one of these words each"
)
answer = "Page somebody at night for symptoms that users feel"
assert [name for name, text in documents.items() if answer in text] == ["model-monitoring.md"], (
    "it is on another page, `model-monitoring.md`"
)
assert pages.loc["model-monitoring.md"].sum() == 0, "This page has none of the four words"

# %% [markdown]
# Two pages have one of these words each.
#
# > **Predict.** Only one of the five pages has the answer. Is it one of these two?
#
# <details><summary>The answer</summary>
#
# No, it is on another page, `model-monitoring.md`. This page has none of the four words, so a search for exactly these words cannot find
# it.
#
# </details>
#
# The course's search compares *meanings* instead.
#
# ## The system, in four steps
#
# The strip below shows the whole course. In this lab you go through the first five boxes.

# %%
lab.show.pipeline()

# %% [markdown]
# **Step 1: an empty database.** The system stores its texts in PostgreSQL. This lab has its own, which is deleted after the notebook is
# shut down. The extension [pgvector](../labs/GLOSSARY.md#pgvector) stores long lists of numbers, and finds those that are most similar to a
# given list.
#
# **Step 2: a model.** A program cannot compare meanings, but it can compare numbers. So a [model](../labs/GLOSSARY.md#embedding) reads a
# text and gives back 384 numbers. Such a list is called a [vector](../labs/GLOSSARY.md#vector).
#
# The next cell opens the database and makes the vector of the question.

# %% tags=["nbval-check-output"]
conn = lab.connect(autocommit=True)
vector = lab.encode(question)

print(vector.shape, vector[:5].round(2))

# %% [markdown]
# The model was trained to give similar vectors to texts with similar meanings.
#
# **Step 3: fill the table.** The documents are cut into pieces of at most 512 characters, which are called
# [chunks](../labs/GLOSSARY.md#chunk). The model turns each chunk into a vector. Both are written into a table of the database.
#
# You can read the table with SQL. The last line of the next cell prints one row: the document, the heading above the chunk, the beginning
# of its text, and how many numbers its vector has.

# %% tags=["nbval-check-output"]
from course_lib.indexing import ingest

report = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)
print(report.documents, "documents became", report.chunks, "chunks")

statement = (
    "SELECT document_name, name, left(content, 70), vector_dims(embedding) FROM document_chunks"
)
print(conn.execute(statement).fetchone())

# %% [markdown]
# **Step 4: search.** The question becomes a vector, too. Then the database finds the chunks with the nearest vectors, here three.

# %%
from course_lib.retriever import Query, search

answer = "Page somebody at night for symptoms that users feel"
results = search(conn, lab.encode(question), Query(top_k=3))
lab.show.ranking(results, question, most=520, mark=answer)

# %% tags=["claim"]
assert [answer in one.content for one in results] == [True, False, False], (
    "The first chunk has the answer, which is marked"
)
assert {one.document_name for one in results} == {"model-monitoring.md"}, (
    "The other two are from the same page"
)
similarities = [result.similarity_score for result in results]
assert len(results) == 3 and similarities == sorted(similarities, reverse=True), (
    "the most similar chunk is the first"
)

# %% [markdown]
# The first chunk has the answer, which is marked. The other two are from the same page, and less similar.
#
# The number below each bar is the [cosine similarity](../labs/GLOSSARY.md#cosine-similarity) of the question's vector and the chunk's. It
# gives the order: the most similar chunk is the first.
#
# ## A question without an answer
#
# Users also ask for things that are not in the pages.
#
# > **Predict.** What will the search return for a question that has nothing to do with its documents?

# %%
nonsense = "How long does one boil an egg?"
off_topic = search(conn, lab.encode(nonsense), Query(top_k=3))
lab.show.ranking(off_topic, nonsense)

# %% tags=["claim"]
assert not any("egg" in one.lower() for one in lab.documents().values()), "no chunk is about eggs"
assert len(off_topic) == 3 and off_topic[0].similarity_score < similarities[-1], (
    "The search returns three chunks again, with lower similarities, although no chunk is about eggs"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The search returns three chunks again, with lower similarities, although no chunk is about eggs. It looks for the *nearest* vectors, even
# if they are far away.
#
# </details>
#
# A [threshold](../labs/GLOSSARY.md#threshold) is the lowest similarity that counts. The search leaves out all chunks below it. If none is
# left, the question is *refused*. The next cell tries thresholds with three kinds of questions:
#
# - 63 *answered* ones, whose answer is in the pages.
# - 16 *far* ones, such as the egg.
# - 28 *near* ones, about subjects of the course, but with no answer in its texts.
#
# > **Predict.** Is there a threshold that refuses all near questions, but nearly none of the answered ones?

# %%
import numpy as np

from course_lib.teaching.lab.retrieval import without_answer

kinds = {"answered": [one.question for one in lab.questions()]} | without_answer()
refused = pd.DataFrame(index=np.arange(0, 0.61, 0.05).round(2))
for kind, asked in kinds.items():
    best = [search(conn, lab.encode(one), Query(top_k=1))[0].similarity_score for one in asked]
    refused[kind] = [np.mean(np.array(best) < at) for at in refused.index]
axes = refused.plot.line(xlabel="threshold", ylabel="share refused", grid=True)
lab.alt(axes, f"Share of questions refused, by threshold: {refused.round(2).to_dict()}.")

# %% tags=["claim"]
assert [len(each) for each in kinds.values()] == [63, 28, 16], "63 *answered* ones"
assert refused.answered[refused.near == 1].min() > 0.1, "No, not with this model and these questions"
assert refused.loc[0.25, "far"] == 1 and 0.28 < refused.loc[0.25, "near"] < 0.38, (
    "0.25 refuses all far questions, but only a third of the near ones"
)
assert 0.03 < refused.loc[0.25, "answered"] < 0.07, "It also refuses one of twenty answered ones"
assert 0.75 < refused.loc[0.35, "near"] < 0.85 and 0.18 < refused.loc[0.35, "answered"] < 0.25, (
    "0.35 refuses four fifths of the near ones, but also a fifth of the answered ones"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# No, not with this model and these questions:
#
# - 0.25 refuses all far questions, but only a third of the near ones. It also refuses one of twenty answered ones.
# - 0.35 refuses four fifths of the near ones, but also a fifth of the answered ones.
#
# So you still have to check whether a chunk has the answer.
#
# </details>
#
# **Your turn.** Choose a threshold for your own folder. Write questions about its subjects to which no text has the answer. What does your
# threshold get wrong?

# %%
missing = ["Which Slack channel gets the drift alerts?"]  # no text has the answer
threshold = 0.25

for question in [*mine, *missing]:
    best = ask(question).similarity.max()
    print(f"{best:.2f}", "refused:" if best < threshold else "kept:   ", question)

# %% tags=["claim"]
if not my_folder:
    assert ask(missing[0]).similarity.max() > threshold, "0.25 keeps the last question"
    assert not any("slack" in one.lower() for one in lab.documents().values()), "no text of the course names such a channel"

# %% [markdown]
# 0.25 keeps the last question, although no text of the course names such a channel.
#
# ## Break it
#
# In practice, the same documents are read in (*ingested*) again and again.
#
# > **Predict.** If you ingest the five pages a second time, how many chunks are in the table then?

# %% tags=["nbval-check-output"]
again = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)

print(f"{again.inserted} inserted, {again.unchanged} unchanged, {again.chunks} in the table")

# %% [markdown]
# <details><summary>The answer</summary>
#
# The table has as many chunks as before. The system notices that the documents have not changed, and inserts nothing.
#
# </details>
#
# ## Measure
#
# The course has labelled questions: for each, the page and the words of the answer are known. The share of questions whose answer is among
# the first five chunks is called [recall@5](../labs/GLOSSARY.md#recallk).
#
# > **Predict.** Of ten such questions about the five pages, how many have their answer among the first five chunks?

# %%
answered_at = []
for asked in lab.questions():
    five = search(conn, lab.encode(asked.question), Query(top_k=5))
    right = [asked.is_answered_by(one.document_name, one.content) for one in five]
    answered_at.append(str(1 + right.index(True)) if any(right) else "none")

counts = pd.Series(answered_at).value_counts().reindex([*"12345", "none"], fill_value=0)
recall = 1 - counts["none"] / len(answered_at)
title = f"Place of the first answer among five: recall@5 is {recall:.2f}"
axes = counts.plot.bar(rot=0, color=5 * ["C0"] + ["C1"], title=title, ylabel="questions")
lab.alt(axes, f"{title}. Questions: {counts.to_dict()}.")

# %% tags=["claim"]
assert 8 <= 10 * recall <= 9, "Eight or nine of ten questions have their answer there"
assert 5 < 1 / (1 - recall) < 7, "for about one question in six, the answer is not there"
assert counts["1"] > counts.sum() / 2, (
    "For more than half of the questions, the first chunk has the answer"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# Eight or nine of ten questions have their answer there. For more than half of the questions, the first chunk has the answer. But for about
# one question in six, the answer is not there.
#
# </details>
#
# ## How sure is this number?
#
# Other questions would have given another share. The next cell shows how much the share varies:
#
# 1. It draws 63 questions at random from our 63. Some come more than once, and some not at all.
# 2. It computes their recall@5, a share.
# 3. It repeats this 2,000 times.
#
# > **Predict.** In which range are 95 % of the 2,000 shares?

# %%
found = np.array([place != "none" for place in answered_at])


def draw(questions):
    random = np.random.default_rng(0)
    return [random.choice(found, questions).mean() for _ in range(2_000)]


shares = pd.Series(draw(63))
low, high = shares.quantile([0.025, 0.975])
title = f"95 % of the shares are in the coloured range, from {low:.2f} to {high:.2f}"
axes = shares.plot.hist(
    bins=20, title=title, xlabel="recall@5 of 63 drawn questions", ylabel="draws"
)
axes.axvspan(low, high, color="C1", alpha=0.3, zorder=0)
lab.alt(axes, f"Histogram: {title}.")

# %% tags=["claim"]
from course_lib.evaluation.statistics import bootstrap_interval

assert (round(recall, 2), round(low, 2), round(high, 2)) == (0.83, 0.73, 0.92), "0.83 [0.73, 0.92]"
assert np.allclose([low, high], bootstrap_interval(found)[1:])

# %% [markdown]
# This range is called the *95 % [interval](../labs/GLOSSARY.md#confidence-interval)*, and is written 0.83 [0.73, 0.92].
#
# Your own questions are only three. The next cell draws 3, 13 or 253 questions from our 63.
#
# > **Predict.** How wide is the interval with 3 questions, with 13, and with 253?

# %%
ranges = {f"{n} questions": np.quantile(draw(n), [0.025, 0.975]) for n in (253, 63, 13, 3)}
intervals = pd.DataFrame(ranges, index=["low", "high"]).T.assign(mean=recall)
lab.show.intervals(intervals, "recall@5", zero=False)

# %% tags=["claim"]
from itertools import pairwise

wide = (intervals.high - intervals.low).to_dict()
for more, fewer in pairwise(wide.values()):
    assert 0.45 < more / fewer < 0.6, "it is about half as wide"
assert intervals.loc["3 questions", ["low", "high"]].round(2).to_list() == [0.33, 1.0], (
    "With 3 questions, it goes from 0.33 to 1"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# With 3 questions, it goes from 0.33 to 1, so they say nearly nothing. With four to five times as many questions, it is about half as wide.
#
# </details>
#
# The *true share* is the share of all questions of this kind. Draw many new sets of them at random, and make an interval from each. Roughly
# 95 of 100 intervals contain the true share. With small sets, fewer do.
#
# ## Compare two searches
#
# Ask both searches the same questions. In this example there are ten (1 means answered). The mean of the *differences* is the *paired
# gain*. Its interval is made in the same way, from the differences.

# %% tags=["nbval-check-output"]
from course_lib.evaluation.statistics import paired_interval

first = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
second = [1, 1, 1, 1, 0, 1, 1, 0, 0, 0]
print("differences:", np.subtract(second, first))
print("paired gain:", paired_interval(first, second))

# %% tags=["claim"]
gain = paired_interval(first, second)
assert gain.low < 0 < gain.high and round(gain.mean, 1) == 0.1, "If it contains 0, as here"
three, four = (paired_interval(first, [1] * (5 + more) + [0] * (5 - more)) for more in (3, 4))
assert three.low == 0 and four.low > 0, "Four questions. With three, the interval begins at 0"

# %% [markdown]
# - If the whole interval is above 0, the gain is hardly luck. (With only ten questions it may be luck all the same:
#   [lab 16](../labs/16_measuring_retrieval.ipynb).)
# - If it contains 0, as here, these questions cannot tell which search is better.
#
# > **Predict.** If the second search loses none, how many questions must it gain, until the whole interval is above 0? Change its row, and
# > try.
#
# <details><summary>The answer</summary>
#
# Four questions. With three, the interval begins at 0.
#
# </details>
#
# ## Recap
#
# - A document is cut into [chunks](../labs/GLOSSARY.md#chunk). Each chunk becomes a [vector](../labs/GLOSSARY.md#vector), and both are
#   stored in a table.
# - A question becomes a vector, too, and finds the nearest chunks. So question and answer may have different words.
# - Without a threshold, such a search always finds something, even if no text has the answer.
# - **At work**, ask many questions to which you know the answers, and give the interval, too. The course keeps vectors in PostgreSQL
#   (pgvector). Elasticsearch, Qdrant and other databases search by meaning, too, and need the same questions.
#
# ## Three questions to test yourself
#
# 1. Why did the search find the answer although its page has none of the four words?
# 2. What does the search return for a question that the documents cannot answer, and what can you do about it?
# 3. Why is it not enough to store only the vector of each chunk?
#
# <details><summary>Answers</summary>
#
# 1. The model was trained to give similar vectors to texts with similar meanings, so the answer's vector is near the question's.
# 2. It returns the nearest chunks, even if they are far away. A threshold can refuse far questions, but here it could not separate near
#    questions from answered ones.
# 3. To read and check the answer, a reader needs the text, the document and the place in it.
#
# </details>
#
# ## If you want to go on
#
# You can keep an index of your folder. In a terminal, `course ingest ~/notes --repo notes` makes it, and
# `course search "your question" --repo notes` asks it.
#
# ## Next
#
# Step 3 cuts the documents into pieces. Where to cut is the subject of [lab 01](../labs/01_recursive_splitter.ipynb).
#
# From there on you write the system yourself. Each function that passes its check is kept in `my/system/`. `course mine` runs the system
# with your functions.
#
# The last cell shows what the course's system reaches. It searches these pages (*docs*), the manifests of lab 02 and the code of lab 03
# together.
#
# - *recall@10* is the share of questions with the right file among the first ten results. Do not compare it with the recall@5 above: a file
#   among ten results is easier to find than a passage among five.
# - [MRR](../labs/GLOSSARY.md#mrr) is higher if the right file is nearer to the top.

# %%
lab.score(recall_at_5=recall, note="the five pages, by meaning")
