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
# You ask your own notes a question. The search can find the lines that answer it, even if they use other words. In this lab you use the
# finished search. In the rest of the course you build it.
#
# | You will be able to | Time | Needs | Builds |
# |---|---|---|---|
# | search a folder of your own, and judge what is found · say what each part of the system does · say what a search by meaning does if no text has the answer | about {minutes} min, and 10 more for your own questions | nothing but this notebook | the finished system, seen from outside |

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
# Ask three questions. For each question, write the place of the right piece into the next cell. For the question above, the right piece is
# the second: it says what to compare the data with.

# %%
judged = {  # a question, and the place of its right piece (0: it is not among the five)
    "How can I tell that the data has changed since training?": 2,
}
print(sum(place == 1 for place in judged.values()), "of", len(judged), "right pieces came first")

# %% [markdown]
# Take a question whose right piece was not first. Ask again with a word of this piece that the question did not have. At which place is the
# piece now?
#
# ## Why not search for the words?
#
# From here on, the lab uses the course's five pages about running machine learning in production. You ask which warnings deserve waking
# someone up. The first idea is to search the pages for these words.

# %% tags=["nbval-check-output"]
import numpy as np
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

# %% [markdown]
# Two pages have one of these words each.
#
# > **Predict.** Only one of the five pages has the answer. Is it one of these two?

# %% tags=["nbval-check-output"]
answer = "Page somebody at night for symptoms that users feel"
pages["has the answer"] = [answer in text for text in documents.values()]
pages

# %% tags=["claim"]
assert pages["has the answer"].to_list() == [name == "model-monitoring.md" for name in documents]
assert pages.loc["model-monitoring.md"].sum() == 1, "This page has none of the four words"

# %% [markdown]
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
# **Step 1: an empty database.** The system stores its texts in PostgreSQL. This lab has a database of its own, which is deleted after the
# notebook is shut down. The extension [pgvector](../labs/GLOSSARY.md#pgvector) stores long lists of numbers, and finds those that are most
# similar to a given list.
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

# %% tags=["nbval-check-output"]
from course_lib.indexing import IngestOptions, ingest

options = IngestOptions(progress=True)
report = ingest(lab.data_dir, options=options, conn=conn, embedder=lab.embedder)
print(report.documents, "documents became", report.chunks, "chunks")

# %% [markdown]
# **Step 4: search.** The question becomes a vector, too. Then the database finds the chunks with the nearest vectors, here three.

# %%
from course_lib.retriever import Query, search

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
# Each chunk is stored with its document, the heading above it and its lines. Without these, you could not check an answer.
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
from course_lib.teaching.lab.retrieval import without_answer

kinds = {"answered": [one.question for one in lab.questions()]} | without_answer()
refused = pd.DataFrame(index=np.arange(0, 0.61, 0.05).round(2))
for kind, asked in kinds.items():
    best = [search(conn, lab.encode(one), Query(top_k=1))[0].similarity_score for one in asked]
    refused[kind] = [np.mean(np.array(best) < at) for at in refused.index]
axes = refused.plot.line(xlabel="threshold", ylabel="share without a chunk")
lab.alt(
    axes, f"Share of the questions without a chunk, by threshold: {refused.round(2).to_dict()}."
)

# %% tags=["claim"]
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
# In your own folder, ask about a subject of your texts, but for a fact that they do not have. Is the first similarity lower than those of
# your right pieces?
#
# ## Where the chunks are stored
#
# The chunks are rows of a table, and you can read them with SQL.

# %% tags=["nbval-check-output"]
statement = """
    SELECT document_name, count(*) AS chunks, max(length(content)) AS longest,
           min(vector_dims(embedding)) AS numbers
    FROM document_chunks GROUP BY document_name ORDER BY document_name
"""
cursor = conn.execute(statement)
pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description])

# %% [markdown]
# In the next picture, each vector is reduced to two numbers. Each point is one chunk. The star is the question about warnings. The search
# found the chunks 1, 2 and 3.
#
# > **Predict.** Are these three the points nearest to the star?

# %%
statement = "SELECT document_name, content, embedding FROM document_chunks ORDER BY 1"
chunks = conn.execute(statement).fetchall()
vectors = np.stack([embedding.to_numpy() for *_, embedding in chunks])
places = {result.content: str(place) for place, result in enumerate(results, start=1)}
labels = [places.get(content, "") for _, content, _ in chunks]
groups = [name.removesuffix(".md") for name, *_ in chunks]

title = "121 chunks in two dimensions; the search found 1, 2 and 3"
lab.show.map_2d(vectors, groups, lab.encode(question), title, labels=labels)

# %% tags=["claim"]
from course_lib.teaching.lab.figures.vectors import plane

points, star, share = plane(vectors, lab.encode(question))
assert share < 0.25, (
    "The picture keeps less than a quarter of the differences (the variance) between the vectors"
)

nearest = np.linalg.norm(points - star, axis=1).argsort()
assert sorted(filter(None, labels)) == ["1", "2", "3"]
assert not any(labels[at] for at in nearest[:5]), "The three are not the nearest points"
assert [labels[at] for at in nearest].index("1") == 26, "many others are nearer than chunk 1"

apart = np.linalg.norm(points[:, None] - points[None], axis=2) + 9 * np.eye(len(points))
same_page = np.array(groups)[apart.argmin(axis=1)] == np.array(groups)
assert same_page.mean() > 0.8, "the points of one colour are near each other"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The three are not the nearest points: many others are nearer than chunk 1, which has the answer.
#
# </details>
#
# The picture keeps less than a quarter of the differences (the variance) between the vectors, but the search compares all 384 numbers. So
# do not judge a search by such a picture.
#
# You can still see that the points of one colour are near each other: the chunks of a page share its subject and its title.
#
# ## Break it
#
# In practice, the same documents are read in (*ingested*) again and again.
#
# > **Predict.** If you ingest the five pages a second time, how many chunks are in the table then?

# %% tags=["nbval-check-output"]
again = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)

print(f"{again.inserted} inserted, {again.unchanged} unchanged, {again.chunks} in the table")
print("anything encoded:", again.chunks_per_second > 0)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The table has as many chunks as before. The system notices that the documents have not changed, and encodes nothing.
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
axes = counts.plot.bar(rot=0, xlabel="place of the first answer", ylabel="questions")
lab.alt(axes, f"Place of the first answer, and how many questions: {counts.to_dict()}.")

# %% tags=["claim"]
recall = 1 - counts["none"] / counts.sum()
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
# > **Predict.** Between which two numbers are 95 % of the 2,000 shares? Is the range wider if you draw 13 questions, or 253? Move the
# > slider.

# %%
found = np.array([place != "none" for place in answered_at])


def draw_again(questions=63):
    random = np.random.default_rng(0)
    shares = pd.Series([random.choice(found, questions).mean() for _ in range(2_000)])
    low, high = shares.quantile([0.025, 0.975])
    title = f"{questions} questions: 95 % of the shares are from {low:.2f} to {high:.2f}"
    lab.alt(shares.plot.hist(bins=20, title=title, xlim=(0.4, 1), xlabel="share"), title)


lab.interact(draw_again, questions=(13, 403, 10))

# %% tags=["claim"]
from course_lib.evaluation.statistics import bootstrap_interval

wide = {}
for many in (13, 63, 253):
    random = np.random.default_rng(0)
    drawn = [random.choice(found, many).mean() for _ in range(2_000)]
    wide[many] = np.quantile(drawn, [0.025, 0.975])
assert wide[63].round(2).tolist() == [0.73, 0.92], "With 63 questions, the range is from 0.73 to 0.92"
assert np.allclose(wide[63], bootstrap_interval(found)[1:])
assert 0.45 < np.ptp(wide[253]) / np.ptp(wide[63]) < 0.55, (
    "With four times as many, it is half as wide"
)
assert 1.9 < np.ptp(wide[13]) / np.ptp(wide[63]) < 2.4, "with 13, it is a little more than twice as wide"

# %% [markdown]
# <details><summary>The answer</summary>
#
# With 63 questions, the range is from 0.73 to 0.92. With four times as many, it is half as wide, and with 13, it is a little more than
# twice as wide.
#
# </details>
#
# This range is called the *95 % [interval](../labs/GLOSSARY.md#confidence-interval)*, and is written 0.83 [0.73, 0.92]. The *true share* is
# that of all questions of this kind. Suppose that you draw many new sets of such questions at random, and make an interval from each set.
# Then roughly 95 of 100 intervals contain the true share, with small sets fewer.
#
# To compare two searches, ask both the same questions. In this example there are four (1 means answered). The mean of the *differences* is
# the *paired gain*:
#
# ```
# first search     1   1   0   0
# second search    1   0   1   1
# difference       0  −1   1   1     paired gain: 0.25
# ```
#
# Its interval is made in the same way, from the differences.
#
# - If the whole interval is above 0, the gain is hardly luck.
# - If it contains 0, these questions cannot tell which search is better.
#
# ## Recap
#
# - A document is cut into [chunks](../labs/GLOSSARY.md#chunk). Each chunk becomes a [vector](../labs/GLOSSARY.md#vector), and both are
#   stored in a table.
# - A question becomes a vector, too, and finds the nearest chunks. So question and answer may have different words.
# - Without a threshold, such a search always finds something, even if no text has the answer.
# - **At work**, ask many questions to which you know the answers, and give the interval, too.
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
recall_at_5 = 1 - answered_at.count("none") / len(answered_at)
lab.score(recall_at_5=recall_at_5, note="the five pages, by meaning")
