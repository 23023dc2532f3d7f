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
# Ask your own notes a question in words that are not in them, and find the lines that answer it. You build such a search in this course. In this lab you use the finished one.
#
# | You will be able to | Time | Needs | Builds |
# |---|---|---|---|
# | search a folder of your own, and judge what is found · say what each part of the system does · say what a search by meaning does if no text has the answer | about {minutes} min, and 10 more for your own questions | nothing but this notebook | the finished system, seen from outside |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %% [markdown]
# A notebook is a page of cells. Click into a code cell and press **Shift + Enter**: it runs, its result appears below it, and the next cell is selected. Run the cells from top to bottom, because each one uses what the cells before it made.

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("00", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)

# %% [markdown]
# ## Search a folder of your own
#
# Begin with texts of your own: notes (`.md`, `.txt`), notebooks, YAML, Python, Go or shell. Write the path of their folder between the quotes, for example `r"~/notes"` or `r"d:\notes"`.
#
# If you leave the quotes empty, the lab takes five pages of the course. Then first read lines 1 to 60 of
# `data/documents/model-monitoring.md`, so that you can judge the results.
#
# Your texts stay on the machine that runs this notebook.

# %%
my_folder = r""  # the path goes between the quotes

ask = lab.search_folder(my_folder)

# %% [markdown]
# Now ask. Think of something that is in one of the texts, and ask for it in *other* words than the text uses. Type the question into the box and press **Enter**.

# %%
lab.interact(
    lambda question: lab.show.passages(ask(question), question),
    question="How can I tell that the data has changed since training?",
)

# %% [markdown]
# Each row is a piece of a text. It is shown from the sentence that is most similar to the question. You see its document, the heading above
# it, and its lines. The bar and the number say how similar piece and question are in meaning.
#
# Ask three questions. For each, write into the next cell at which place the right piece is. For the question above, this is the second
# piece: it tells what to compare the data with.

# %%
judged = {  # a question, and the place of its right piece (0: it is not among the five)
    "How can I tell that the data has changed since training?": 2,
}
print(sum(place == 1 for place in judged.values()), "of", len(judged), "right pieces came first")

# %% [markdown]
# Take a question whose right piece was not first. Which word of this piece is not in the question? Ask again with this word. Which place
# has the piece now?
#
# ## Why not search for the words?
#
# To see what the system has done, look at texts that all readers of this lab have: the course's five pages about running machine learning in production. Suppose that a release went wrong and you want the old one back. The first idea is to search the pages for the word that you would use.

# %% tags=["nbval-check-output"]
import pandas as pd

pd.set_option("display.max_colwidth", None)  # whole questions
question = "How do I undo a release?"
documents = lab.documents()

pages = pd.DataFrame({"words": {name: len(text.split()) for name, text in documents.items()}})
pages["has 'undo'"] = ["undo" in text.lower() for text in documents.values()]
pages

# %% tags=["claim"]
assert "undoing of one" in documents["what-is-mlops.md"], "Only one page has it, in the word undoing"

# %% [markdown]
# Only one page has it, in the word *undoing*.
#
# > **Predict.** One of the five pages has a whole section on this subject. Is it the page with *undoing*?

# %% tags=["nbval-check-output"]
pages["has a section on it"] = ["## Rollback" in text for text in documents.values()]
pages

# %% [markdown]
# No, it is `ci-cd-for-ml.md`. The section is called *Rollback*. A search for the word *undo* cannot find this section, because such a search compares letters. What you need is a search that compares *meanings*.
#
# ## The system, in four steps
#
# The strip below shows the whole course. Text comes in on the left, and answers come out on the right. From lab 01 on, each lab is about one of the boxes, and marks it. In this lab you go through the first five boxes, from *documents* to *search*.

# %%
lab.show.pipeline()

# %% [markdown]
# **Step 1: an empty database.** The system needs a place for its texts, so it uses a real PostgreSQL. This lab gets a database of its own, which is deleted after the notebook is shut down. With the extension [pgvector](../labs/GLOSSARY.md#pgvector), the database can also store long lists of numbers, and find the lists that are most similar to a given one.
#
# **Step 2: a model.** A program cannot compare meanings, but it can compare numbers. So a [model](../labs/GLOSSARY.md#embedding) reads a text and gives back 384 numbers. Such a list is called a [vector](../labs/GLOSSARY.md#vector).
#
# The next cell does steps 1 and 2: it opens the database, and makes the vector of the question. It shows the length of the vector and its first five numbers.

# %% tags=["nbval-check-output"]
conn = lab.connect(autocommit=True)
vector = lab.encode(question)

print(vector.shape, vector[:5].round(2))

# %% [markdown]
# These numbers alone say nothing to a reader. A vector becomes useful when you compare it with another one: the model was trained so that texts with similar meanings get similar vectors.
#
# **Step 3: fill the table.** This step reads the documents and cuts them into pieces of at most 512 characters, which are called [chunks](../labs/GLOSSARY.md#chunk). Then it turns each chunk into a vector, and writes chunks and vectors into a table of the database.

# %% tags=["nbval-check-output"]
from course_lib.indexing import IngestOptions, ingest

report = ingest(lab.data_dir, options=IngestOptions(progress=True), conn=conn, embedder=lab.embedder)
print(report.documents, "documents became", report.chunks, "chunks")

# %% [markdown]
# **Step 4: search.** The question becomes a vector, too. Then the database looks for the chunks with the nearest vectors, here for the nearest three.

# %%
from course_lib.retriever import Query, search

results = search(conn, lab.encode(question), Query(top_k=3))
print(sum("undo" in one.content.lower() for one in results), "of 3 chunks have 'undo'")
lab.show.ranking(results, question, most=520, mark="rollback")

# %% tags=["claim"]
assert {result.name for result in results} == {"Rollback"}, "All three chunks are from the section on rollback"
assert not any("undo" in one.content.lower() for one in results), "the word undo is in none of them"
assert "going back" in results[0].content and all("rollback" in one.content for one in results[1:]), "they speak of rollback, which is marked, or of going back, as the first one does"

similarities = [result.similarity_score for result in results]
assert len(results) == 3 and similarities == sorted(similarities, reverse=True), "the most similar chunk is the first"

# %% [markdown]
# All three chunks are from the section on rollback, although the word *undo* is in none of them: they speak of *rollback*, which is marked, or of *going back*, as the first one does. The search has found them by their meaning.
#
# The number below each bar is the [cosine similarity](../labs/GLOSSARY.md#cosine-similarity) of the two vectors. It gives the order: the most similar chunk is the first. Lab 05 shows what this number tells you and what it does not.
#
# Each chunk is stored with its document, the heading above it and its lines. Without these, you could not check an answer.
#
# ## A question without an answer
#
# So far, you have asked for something that is in the pages. But users do not know the pages, so they will also ask for things that are not
# in them.
#
# > **Predict.** What will the search return for a question that has nothing to do with its documents?

# %%
nonsense = "How long does one boil an egg?"
off_topic = search(conn, lab.encode(nonsense), Query(top_k=3))
lab.show.ranking(off_topic, nonsense)

# %% tags=["claim"]
assert len(off_topic) == 3 and off_topic[0].similarity_score < similarities[-1], (
    "It returns three chunks again, with lower similarities, although no chunk is about eggs"
)

# %% [markdown]
# It returns three chunks again, with lower similarities, although no chunk is about eggs. The reason is how it works: it looks for the *nearest* vectors, and some vectors are always the nearest, even if they are far away.
#
# One way out is a [threshold](../labs/GLOSSARY.md#threshold). The search then leaves out each chunk whose similarity to the question is below it. The next cell counts what is left of three chunks for three thresholds.

# %% tags=["nbval-check-output"]
def count(asked, threshold):
    return len(search(conn, lab.encode(asked), Query(top_k=3, threshold=threshold)))


rows = [(at, count(question, at), count(nonsense, at)) for at in (0.0, 0.2, 0.4)]
pd.DataFrame(rows, columns=["threshold", question, nonsense])

# %% [markdown]
# With a threshold of 0.2, the search still finds its chunks for the release, and none for the egg. But do not take this number to work.
# With more texts, some text is more often similar to a question by chance.
#
# So find a threshold for your own folder. The next cell shows the similarity of each right piece, and the best one for the egg.

# %%
right = {asked: ask(asked).similarity[place] for asked, place in judged.items() if place}
right[nonsense] = ask(nonsense).similarity.max()
pd.DataFrame({"similarity": right})

# %% [markdown]
# Set the threshold just above the egg. Does it lose a right piece? Then use no threshold: show all results with their similarity. If it
# loses none, try it with more questions before you trust it.
#
# ## Where the chunks are stored
#
# The chunks are rows of a table, and you can read them with SQL. Look at the column *longest*: no chunk is longer than 512 characters.

# %% tags=["nbval-check-output"]
statement = """
    SELECT document_name, count(*) AS chunks, max(length(content)) AS longest,
           min(vector_dims(embedding)) AS numbers
    FROM document_chunks GROUP BY document_name ORDER BY document_name
"""
cursor = conn.execute(statement)
pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description])

# %% [markdown]
# You can also draw the chunks. A point in a picture has two numbers, but a vector has 384. So each vector is reduced to two numbers. Similar chunks stay roughly near each other.
#
# You need not read the next cell: it draws. Each point below is one chunk, and each colour and shape is one page. The star is the question about the release. The circles 1, 2 and 3 are the chunks that the search found for it.
#
# > **Predict.** Are these three the points nearest to the star?

# %%
import numpy as np

chunks = conn.execute("SELECT document_name, content, embedding FROM document_chunks ORDER BY 1").fetchall()
vectors = np.stack([embedding.to_numpy() for *_, embedding in chunks])
places = {result.content: str(place) for place, result in enumerate(results, start=1)}
labels = [places.get(content, "") for _, content, _ in chunks]
groups = [name.removesuffix(".md") for name, *_ in chunks]

title = "121 chunks in two dimensions; the search found 1, 2 and 3"
lab.show.map_2d(vectors, groups, lab.encode(question), title, labels=labels)

# %% tags=["claim"]
from course_lib.teaching.lab.figures.vectors import plane

points, star, share = plane(vectors, lab.encode(question))
assert share < 0.25, "The picture keeps less than a quarter of the differences (the variance) between the vectors"

nearest = np.linalg.norm(points - star, axis=1).argsort()[:5]
assert {groups[at] for at in nearest} == {"feature-stores", "model-monitoring"}, "points of feature-stores.md and model-monitoring.md look nearer"
assert sorted(filter(None, labels)) == ["1", "2", "3"] and not any(labels[at] for at in nearest), "They are not"

apart = np.linalg.norm(points[:, None] - points[None], axis=2) + 9 * np.eye(len(points))
same_page = np.array(groups)[apart.argmin(axis=1)] == np.array(groups)
assert same_page.mean() > 0.8, "the points of one colour are near each other"

# %% [markdown]
# They are not: points of `feature-stores.md` and `model-monitoring.md` look nearer. The picture keeps less than a quarter of the differences (the variance) between the vectors, and the search compares all 384 numbers. So never judge a search by such a picture.
#
# The picture is good for something else. Look at the colours: the points of one colour are near each other. So chunks on one subject have similar vectors. They also share some words, because the model reads each chunk together with its page's title and headings.
#
# ## Break it
#
# In practice, the same documents are read in (*ingested*) again and again, for example each night.
#
# > **Predict.** If you ingest the five pages a second time, how many chunks are in the table then?

# %% tags=["nbval-check-output"]
again = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)

print(f"{again.inserted} inserted, {again.unchanged} unchanged, {again.chunks} in the table")
print("anything encoded:", again.chunks_per_second > 0)

# %% [markdown]
# As many as before. If the system simply wrote everything again, each search would find each chunk twice. This one notices that the documents have not changed. So it does not encode them either. You will build that in lab 06.
#
# ## Measure
#
# One good answer proves little, because it may be luck. So the course has labelled questions: for each of them, it is known which page and which words answer it. The share of questions whose answer is among the first five chunks is called [recall@5](../labs/GLOSSARY.md#recallk).
#
# > **Predict.** Of ten such questions about the five pages, how many have their answer among the first five chunks?
#
# You need not read the next cell: it counts at which place each question finds its first answer.

# %%
answered_at = []
for asked in lab.questions():
    five = search(conn, lab.encode(asked.question), Query(top_k=5))
    right = [asked.is_answered_by(one.document_name, one.content) for one in five]
    answered_at.append(str(1 + right.index(True)) if any(right) else "none")

counts = pd.Series(answered_at).value_counts().reindex([*"12345", "none"], fill_value=0)
told = f"{counts['none']} of {counts.sum()} questions have no answer among the first five chunks"
axes = counts.plot.bar(rot=0, figsize=(6, 2.8), color=[*["C0"] * 5, "C1"], title=told)
axes.set(xlabel="place of the first answer", ylabel="questions")
axes.bar_label(axes.containers[0])
axes.margins(y=0.15)
lab.alt(axes, f"{told}. Place of the first answer, and questions: {counts.to_dict()}.")

# %% tags=["claim"]
recall = 1 - counts["none"] / counts.sum()
assert 8 <= 10 * recall <= 9, "Eight or nine"
assert 5 < 1 / (1 - recall) < 7, "about one question in six goes without its answer"
assert counts["1"] > counts.sum() / 2, "For more than half of the questions, the first chunk has the answer"

# %% [markdown]
# Eight or nine: about one question in six goes without its answer, although there are only five pages. For more than half of the questions, the first chunk has the answer.
#
# ## Recap
#
# - A document is cut into [chunks](../labs/GLOSSARY.md#chunk). Each chunk becomes a [vector](../labs/GLOSSARY.md#vector), and both are stored in a table.
# - A question becomes a vector, too, and finds the chunks with the nearest vectors. So the words of question and answer may differ.
# - Such a search always finds something, even if no text has the answer.
# - One good answer proves little. **At work**, ask a search many questions to which you know the answers before you trust it.
#
# ## Three questions to test yourself
#
# 1. Why did the search find the section on rollback although the question does not contain that word?
# 2. What does the search return for a question that the documents cannot answer, and what can you do about it?
# 3. Why is it not enough to store only the vector of each chunk?
#
# <details><summary>Answers</summary>
#
# 1. The question and the section have vectors that are near each other, because the model was trained to give similar vectors to texts with similar meanings.
# 2. It returns the nearest chunks, even if they are far away. A threshold leaves out what is not similar enough, but you have to measure which threshold fits your texts.
# 3. A reader wants to read the answer and to check it. This needs the text, the document and the place in the document.
#
# </details>
#
# ## If you want to go on
#
# Keep the index of your folder. In a terminal, `course ingest ~/notes --repo notes` makes it, and `course search "your question" --repo notes` asks it. This search also counts the words of the question (lab 08). Which of your questions does this help?
#
# ## Next
#
# The third step began with cutting the documents into pieces. The places of the cuts decide what a search can find. This is the subject of [lab 01](../labs/01_recursive_splitter.ipynb).
#
# From there on you write the system yourself. Each of your functions that passes its check is kept in `my/system/`. `course mine` runs the whole system with your functions in place of the course's, and shows which are yours.
#
# The last cell shows what the course's system reaches. It searches these pages (*docs*), the manifests of lab 02 and the code of lab 03
# together. Here, *recall@10* is the share of questions with the right file among the first ten results. [MRR](../labs/GLOSSARY.md#mrr) is
# higher if this file is nearer to the top. ([Lab 16](../labs/16_measuring_retrieval.ipynb) explains the brackets.) When you have written a
# function, run the cell again: your own numbers then appear, too.

# %%
lab.score(recall_at_5=1 - answered_at.count("none") / len(answered_at), note="the five pages, by meaning")
