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
# In this course you build a search system. In this lab you use the finished one, so that you know what you are building.
#
# | You will be able to | Time | Needs | Builds |
# |---|---|---|---|
# | check that your set-up works · ask an index a question and read its answer · say what each part of the system does | about {minutes} min | nothing but this notebook | the finished system, seen from outside |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %% [markdown]
# ## How to use a notebook
#
# A notebook is a page of cells. Click into a code cell and press **Shift + Enter**: it runs, its result appears below it, and the next cell is selected. Run the cells from top to bottom, because each one uses what the cells before it made.
#
# The next cell opens the lab. It says which lab this is and where its documents are.

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("00", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)

# %%
lab.show.pipeline()

# %% [markdown]
# This strip shows the whole course. Text comes in on the left; answers come out on the right. From lab 01 on, each lab is about one of the boxes, and marks it.
#
# ## The problem
#
# Here are the documents that you will work with: five pages about running machine learning in production.

# %% tags=["nbval-check-output"]
documents = lab.documents()

for name, text in documents.items():
    print(f"{len(text.split()):>5} words  {name}")

# %% [markdown]
# Suppose a release went wrong and you want to know how to get the old one back. The first idea is to search for the words that you would use.

# %% tags=["nbval-check-output"]
question = "How do I undo a release?"

for name, text in documents.items():
    print(f"{'undo' in text.lower()!s:>5}  {name}")

# %% [markdown]
# > **Predict.** One of these pages has a whole section on the subject. Is it the page that contains the word? Decide, then run the next cell, which looks for the section's heading.

# %% tags=["nbval-check-output"]
for name, text in documents.items():
    print(f"{'## Rollback' in text!s:>5}  {name}")

# %% [markdown]
# The word that you used leads to the wrong page. The right page uses another word, *rollback*. A search for words finds a text only if it uses the same words as the question. What you need is a search for *meaning*.

# %% [markdown]
# ## The system, in four steps
#
# First a database: a real PostgreSQL with the extension [pgvector](../labs/GLOSSARY.md#pgvector), which can store and compare lists of numbers. This lab gets an empty database of its own, which is deleted when you close the notebook's kernel.

# %% tags=["nbval-check-output"]
conn = lab.connect(autocommit=True)

version = conn.execute("SHOW server_version").fetchone()[0]
print("PostgreSQL", version.split(".")[0])

# %% [markdown]
# Then the [model](../labs/GLOSSARY.md#embedding). It reads a piece of text and gives back 384 numbers, a [vector](../labs/GLOSSARY.md#vector). Texts with similar meaning get similar numbers.

# %% tags=["nbval-check-output"]
vector = lab.encode(question)

print(vector.shape, vector.dtype)
print(vector[:5].round(2))

# %% [markdown]
# One vector alone tells you nothing. You have to compare two vectors.
#
# The next cell does the main work: it reads the documents, cuts them into pieces of at most 512 characters ([chunks](../labs/GLOSSARY.md#chunk)), turns every piece into a vector, and writes pieces and vectors into the table. This takes some seconds the first time.

# %%
from course_lib.indexing import IngestOptions, ingest

options = IngestOptions(progress=True)  # a wait of over two seconds shows a bar
report = ingest(lab.data_dir, options=options, conn=conn, embedder=lab.embedder)

# %% tags=["nbval-check-output"]
print(report.documents, "documents became", report.chunks, "chunks")

# %% [markdown]
# Now search: the question becomes a vector, too, and the database looks for the pieces with the nearest vectors.

# %%
from course_lib.retriever import Query, search

results = search(conn, lab.encode(question), Query(top_k=3))

# %%
for result in results:
    print(f"{result.similarity_score:.2f}  {result.document_name}  undo: {'undo' in result.content.lower()}")
lab.show.ranking(results, question, mark="rollback")

# %% tags=["claim"]
assert {result.document_name for result in results} == {"ci-cd-for-ml.md"}, "All three pieces are from the right page"
assert not any("undo" in result.content.lower() for result in results[:2]), "the word undo is in neither of them"

similarities = [result.similarity_score for result in results]
assert len(results) == 3 and similarities == sorted(similarities, reverse=True), "What matters is the order"

# %% [markdown]
# All three pieces are from the right page. The first two are from around its section on rollback, and the word *undo* is in neither of them.
#
# The number beside each piece is its [cosine similarity](../labs/GLOSSARY.md#cosine-similarity) to the question: 1 means the same direction, and 0 means nothing in common. What matters is the order. Lab 05 shows what these numbers mean and what they do not mean.

# %% tags=["nbval-check-output"]
best = results[0]

print(best.document_name, "·", best.name)
print("lines", best.metadata["lineStart"], "to", best.metadata["lineEnd"])

# %% [markdown]
# Every piece is stored with its source: the document, the heading above it and its lines. Without this, you could not check an answer.
#
# ## Your turn to ask
#
# This lab has no exercise. Ask a question of your own instead: change the text below and run the cell again, as often as you like.

# %%
my_question = "How can I tell that the data has changed since training?"

lab.show.ranking(search(conn, lab.encode(my_question), Query(top_k=3)), my_question)

# %% [markdown]
# > **Predict.** What will the system answer to a question that has nothing to do with its documents? Nothing? An error? Decide, then run the next cell.

# %%
nonsense = "How long does one boil an egg?"

off_topic = search(conn, lab.encode(nonsense), Query(top_k=3))
print(len(off_topic), "pieces for the egg; the nearest has a similarity of", f"{off_topic[0].similarity_score:.2f}")
lab.show.ranking(off_topic, nonsense)

# %% tags=["claim"]
assert len(off_topic) == 3 and off_topic[0].similarity_score < 0.25, "The search returns three pieces, although no piece is about eggs"

# %% [markdown]
# The search returns three pieces, although no piece is about eggs. A search by meaning always finds the *nearest* pieces, even if they are far away. So the search can have a [threshold](../labs/GLOSSARY.md#threshold): it leaves out pieces whose similarity to the question is lower.

# %% tags=["nbval-check-output"]
for threshold in (0.0, 0.2, 0.4):
    on, off = (
        len(search(conn, lab.encode(asked), Query(top_k=3, threshold=threshold)))
        for asked in (question, nonsense)
    )
    print(f"threshold {threshold}: {on} for the release, {off} for the egg")

# %% [markdown]
# With 0.2 the search finds pieces for the release and none for the egg. To know whether this threshold is right for *every* question, you have to measure.
#
# ## Where the pieces are stored
#
# The pieces are rows of a table, and SQL can read them.

# %% tags=["nbval-check-output"]
rows = conn.execute(
    """
    SELECT document_name, count(*), round(avg(length(content))), max(length(content))
    FROM document_chunks GROUP BY document_name ORDER BY document_name
    """
).fetchall()

for name, count, average, longest in rows:
    print(f"{count:>3} chunks of about {average} characters, at most {longest}  {name}")

# %% [markdown]
# The pieces of the five pages can also be drawn. Each point below is one chunk. Its 384 numbers were reduced to two, so that similar chunks are roughly near each other. The star is the question about the release, and 1, 2 and 3 are the pieces that the search found for it.
#
# > **Predict.** Are these three the points nearest to the star?

# %%
import numpy as np

chunks = conn.execute(
    "SELECT document_name, content, embedding FROM document_chunks ORDER BY 1"
).fetchall()
vectors = np.stack([embedding.to_numpy() for *_, embedding in chunks])
places = {result.content: str(place) for place, result in enumerate(results, start=1)}
labels = [places.get(content, "") for _, content, _ in chunks]

lab.show.map_2d(
    vectors,
    labels=labels,
    groups=[name.removesuffix(".md") for name, *_ in chunks],
    query=lab.encode(question),
)

# %% tags=["claim"]
from course_lib.teaching.lab.figures.vectors import plane

points, star, share = plane(vectors, lab.encode(question))
assert share < 0.25, "The two axes show less than a quarter of the variance"

nearest = np.linalg.norm(points - star, axis=1).argmin()
assert sorted(filter(None, labels)) == ["1", "2", "3"] and not labels[nearest], "other points look nearer to the star than those that the search found"

# %% [markdown]
# The pieces of one page are near each other, although the model was not told which page a piece is from: it has only read the text. The two axes show less than a quarter of the variance. Therefore other points look nearer to the star than those that the search found. The search compares all 384 numbers.
#
# ## Break it
#
# What if the documents are ingested a second time? In a badly made system every piece would then be in the table twice, and every search would find it twice.

# %% tags=["nbval-check-output"]
again = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)

print(f"{again.inserted} inserted, {again.unchanged} unchanged, {again.chunks} in the table")
print("anything encoded:", again.chunks_per_second > 0)

# %% [markdown]
# Nothing was inserted, and nothing was encoded either: a document that has not changed needs no encoding. You will build that in lab 06.
#
# ## Measure
#
# One good answer proves little. The course has a set of labelled questions, each with the page and the words that answer it. They give two numbers: [recall@5](../labs/GLOSSARY.md#recallk), the share of questions whose answer is among the first five pieces, and [MRR](../labs/GLOSSARY.md#mrr), which is higher the nearer to the top the answer is.

# %%
measured = lab.measure_retrieval(lambda asked: search(conn, lab.encode(asked), Query(top_k=10)))

# %% tags=["nbval-check-output"]
print(f"{measured.questions} questions: recall@5 {measured.recall:.2f}, MRR {measured.mrr:.2f}")

# %% [markdown]
# A lab that measures ends with a scorecard. Its first line is what the lab itself has measured. The table below it is about the whole system: how often it finds the right files among the documents, the manifests and the code. Each number has an interval, which lab 16 explains. When a check has passed in your own copy of a lab, the table also shows the system with your functions, beside the course's. Later labs show only the first line, and the lines of the table that your functions changed.

# %%
lab.score(
    recall_at_5=measured.recall,
    mrr=measured.mrr,
    note="the finished system, seen from outside",
)

# %% [markdown]
# ## Recap
#
# A document is cut into [chunks](../labs/GLOSSARY.md#chunk). Each chunk becomes a [vector](../labs/GLOSSARY.md#vector), and both are stored in a table. A question finds the chunks with the nearest vectors. Such a search compares meanings and not words. It always finds something. Its quality can be measured.
#
# ## Three questions to test yourself
#
# 1. Why did the search find the section on rollback although the question does not contain that word?
# 2. What does the search return for a question that the documents cannot answer, and what can be done about it?
# 3. Why is it not enough to store only the vector of each chunk?
#
# <details><summary>Answers</summary>
#
# 1. The question and the section got vectors that are near each other, because the model learned from many texts that *undo a release* and *roll back* are used in similar sentences.
# 2. The nearest chunks, even if they are far away. A threshold leaves out what is not similar enough; its value has to be found by measuring.
# 3. A reader wants to check an answer. This needs the text, the document and the place in the document.
#
# </details>
#
# ## If you want to go on
#
# Put a Markdown file of your own into a folder, ingest that folder as another `repo`, and search with `repo=…`: does a search in one `repo` find pieces of the other?
#
# ## Next
#
# The first step was to cut the documents into pieces. The places of the cuts decide what a search can find. This is the subject of [lab 01](../labs/01_recursive_splitter.ipynb).
#
# From there on you write the system yourself. Each of your functions that passes its check is kept in `my/system/`. `course mine` runs the whole system with your functions in place of the course's, and shows which are yours.
