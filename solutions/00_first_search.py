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
# You will spend this course building one machine; in this lab you use the finished one, so that you know what you are building.
#
# | You will be able to | Time | Needs | Builds |
# |---|---|---|---|
# | check that your set-up works · ask an index a question and read its answer · say what each part of the machine does | about {minutes} min | nothing but this notebook | the finished system, seen from outside |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %% [markdown]
# ## How to use a notebook
#
# A notebook is a page of cells. Click into a code cell and press **Shift + Enter**: it runs, its result appears below it, and the next cell is selected. Run them from top to bottom; a cell knows what the cells before it did.
#
# The next cell opens the lab. It says which lab this is and where its documents are.

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("00", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)

# %%
lab.show.pipeline()

# %% [markdown]
# That strip is the whole course. Text comes in on the left; answers come out on the right. Each lab works on one of the boxes and marks it.
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
# The word that you used leads to the wrong page, and the right one calls the thing *rollback*. A search for words finds only what is written the way you would write it. What you need is a search for *meaning*.

# %% [markdown]
# ## The machine, in four steps
#
# First a database: a real PostgreSQL with the extension [pgvector](../labs/GLOSSARY.md#pgvector), which can store and compare lists of numbers. This lab gets an empty one of its own, which goes away when the notebook's kernel stops.

# %% tags=["nbval-check-output"]
conn = lab.connect(autocommit=True)

version = conn.execute("SHOW server_version").fetchone()[0]
print("PostgreSQL", version.split(".")[0])

# %% [markdown]
# Then the [model](../labs/GLOSSARY.md#embedding). It reads a piece of text and gives back 384 numbers, a [vector](../labs/GLOSSARY.md#vector), chosen so that texts of like meaning get like numbers.

# %% tags=["nbval-check-output"]
vector = lab.encode(question)

print(vector.shape, vector.dtype)
print(vector[:5].round(2))

# %% [markdown]
# These numbers cannot be read. They mean something only when they are compared.
#
# Now the work: read the documents, cut them into pieces of at most 512 characters ([chunks](../labs/GLOSSARY.md#chunk)), turn every piece into a vector, and write pieces and vectors into the table.

# %%
from course_lib.indexing import ingest

report = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)

# %% tags=["nbval-check-output"]
print(report.documents, "documents became", report.chunks, "chunks")

# %% [markdown]
# And the search: the question becomes a vector as well, and the database looks for the pieces whose vectors are nearest to it.

# %%
from course_lib.retriever import Query, search

results = search(conn, lab.encode(question), Query(top_k=3))

# %%
for result in results:
    print(f"{result.similarity_score:.2f}  {result.document_name}  undo: {'undo' in result.content.lower()}")
lab.show.ranking(results, question, mark="rollback")

# %% [markdown]
# The first two pieces are from the right page, around the section on rollback, and the word *undo* is in neither.
#
# The number beside each piece is its [cosine similarity](../labs/GLOSSARY.md#cosine-similarity) to the question: 1 would be the same direction, 0 nothing in common. What matters is the order; you will see in lab 05 what the numbers can and cannot tell you.

# %% tags=["nbval-check-output"]
best = results[0]

print(best.document_name, "·", best.name)
print("lines", best.metadata["lineStart"], "to", best.metadata["lineEnd"])

# %% [markdown]
# Every piece knows where it came from: the document, the heading above it and its lines. Without that, an answer could not be checked.
#
# ## Your turn to ask
#
# There is no exercise in this lab, but there is a question: yours. Change the text below and run the cell again, as often as you like.

# %%
my_question = "How can I tell that the data has changed since training?"

lab.show.ranking(search(conn, lab.encode(my_question), Query(top_k=3)), my_question)

# %% [markdown]
# > **Predict.** What will the machine answer to a question that has nothing to do with its documents? Nothing? An error? Decide, then run the next cell.

# %%
nonsense = "How long does one boil an egg?"

off_topic = search(conn, lab.encode(nonsense), Query(top_k=3))
print(len(off_topic), "pieces for the egg; the nearest has a similarity of", f"{off_topic[0].similarity_score:.2f}")
lab.show.ranking(off_topic, nonsense)

# %% [markdown]
# It answers all the same. A search by meaning always finds *nearest* pieces, however far away the nearest are. So it has a [threshold](../labs/GLOSSARY.md#threshold): pieces that are less similar than this are not shown.

# %% tags=["nbval-check-output"]
for threshold in (0.0, 0.2, 0.4):
    on, off = (
        len(search(conn, lab.encode(asked), Query(top_k=3, threshold=threshold)))
        for asked in (question, nonsense)
    )
    print(f"threshold {threshold}: {on} for the release, {off} for the egg")

# %% [markdown]
# With 0.2 the search keeps the one and drops the other. Whether this threshold does so for *every* question is something to measure.
#
# ## Where all this is
#
# Nothing is hidden. The pieces are rows of a table, and you know how to look at those.

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
# The pieces of the five pages can also be drawn. Each point below is one chunk; its 384 numbers were reduced to two, so that near things stay roughly near. The star is the question about the release.

# %%
import numpy as np

chunks = conn.execute("SELECT document_name, embedding FROM document_chunks ORDER BY 1").fetchall()

lab.show.map_2d(
    np.stack([embedding.to_numpy() for _, embedding in chunks]),
    groups=[name.removesuffix(".md") for name, _ in chunks],
    query=lab.encode(question),
)

# %% [markdown]
# Does one of the pages keep to itself? The model was not told which page a piece is from: it has only read the text. The two axes show less than a quarter of the variance, so take the picture as a sketch.
#
# ## Break it
#
# What if the documents are ingested a second time? In a careless system every piece would now be there twice, and every answer would come twice.

# %% tags=["nbval-check-output"]
again = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)

print(f"{again.inserted} inserted, {again.unchanged} unchanged, {again.chunks} in the table")
print("anything encoded:", again.chunks_per_second > 0)

# %% [markdown]
# Nothing was inserted, and nothing was encoded either: a document that has not changed needs no encoding. You will build that in lab 06.
#
# ## Measure
#
# One good answer proves little. The course brings labelled questions along, each with the page and the words that answer it. Asking them all gives two numbers: [recall@5](../labs/GLOSSARY.md#recallk), the share of questions whose answer is among the first five pieces, and [MRR](../labs/GLOSSARY.md#mrr), which also counts how far up it is.

# %%
measured = lab.measure_retrieval(lambda asked: search(conn, lab.encode(asked), Query(top_k=10)))

# %% tags=["nbval-check-output"]
print(f"{measured.questions} questions: recall@5 {measured.recall:.2f}, MRR {measured.mrr:.2f}")

# %% [markdown]
# This is where you start from. The scorecard below grows with every lab, so that you see what each change is worth.

# %%
lab.score(
    recall_at_5=measured.recall,
    mrr=measured.mrr,
    note="the finished system, seen from outside",
)

# %% [markdown]
# ## Recap
#
# A document is cut into [chunks](../labs/GLOSSARY.md#chunk), each becomes a [vector](../labs/GLOSSARY.md#vector), both go into a table, and a question finds the chunks whose vectors are nearest. It finds meaning rather than words, it always finds something, and how good it is can be measured.
#
# ## Three questions to test yourself
#
# 1. Why did the search find the section on rollback although the question does not contain that word?
# 2. What does the search return for a question that the documents cannot answer, and what can be done about it?
# 3. Why is a vector on its own not enough to be stored with a chunk?
#
# <details><summary>Answers</summary>
#
# 1. The question and the section got vectors that are near each other, because the model learned from many texts that *undo a release* and *roll back* are used alike.
# 2. The nearest chunks, however far away they are. A threshold leaves out what is not similar enough; where to put it has to be measured.
# 3. An answer has to be checked: the text, the document and the place in it belong to it.
#
# </details>
#
# ## If you want to go on
#
# Put a Markdown file of your own into a folder, ingest that folder as another `repo`, and search with `repo=…`: do the two collections get into each other's way?
#
# ## Next
#
# Everything began with cutting the documents into pieces, and where the cuts go decides what can be found. That is [lab 01](../labs/01_recursive_splitter.ipynb).
#
# From there on you write the machine yourself. Each function that passes its check is kept in `my/system/`, and `course mine` runs the whole machine with your functions in place of the course's, and shows which are yours.
