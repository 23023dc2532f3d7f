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
# | search a folder of your own, and judge what is found · say what each part of the system does · say why a search by meaning always finds something | about {minutes} min | nothing but this notebook | the finished system, seen from outside |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %% [markdown]
# A notebook is a page of cells. Click into a code cell and press **Shift + Enter**: it runs, its result appears below it, and the next cell is selected. Run the cells from top to bottom, because each one uses what the cells before it made. The next cell opens the lab.

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("00", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)

# %% [markdown]
# ## Search a folder of your own
#
# Write the path of a folder with texts of yours between the quotes, such as `r"~/notes"` or `r"d:\notes"`. These may be notes (`.md`, `.txt`), notebooks, YAML, Python, Go or shell. If you leave it empty, the lab takes five pages of the course. Nothing leaves the machine that runs this notebook. When its kernel ends, the index is deleted; only vectors, without their texts, stay in the course's cache.

# %%
my_folder = r""  # the path goes between the quotes

ask = lab.search_folder(my_folder)

# %% [markdown]
# Now ask. Think of something that is in one of the texts, and ask for it in *other* words. Type the question into the box and press **Enter**.

# %%
import pandas as pd

pd.set_option("display.max_colwidth", 200)
lab.interact(ask, question="How do I undo a release?")

# %% [markdown]
# Each row is a piece of a text, with its document and its lines. The number says how similar its meaning is to that of the question. Is the right piece the first one? Ask some more questions before you go on.
#
# ## What has happened?

# %%
lab.show.pipeline()

# %% [markdown]
# This strip shows the whole course. Text comes in on the left; answers come out on the right. From lab 01 on, each lab is about one of the boxes, and marks it. Your folder went from the documents to the search. Now look inside, with the course's documents: five pages about running machine learning in production. Which of them have the word *undo*?

# %% tags=["nbval-check-output"]
question = "How do I undo a release?"
documents = lab.documents()

pages = pd.DataFrame({"words": {name: len(text.split()) for name, text in documents.items()}})
pages["has 'undo'"] = ["undo" in text.lower() for text in documents.values()]
pages

# %% [markdown]
# > **Predict.** One of these pages has a whole section on the subject. Is it the page with the word?

# %% tags=["nbval-check-output"]
pages["has a section on it"] = ["## Rollback" in text for text in documents.values()]
pages

# %% [markdown]
# It is not: the right page uses another word, *rollback*. A search for the word *undo* cannot find it. What you need is a search for *meaning*.
#
# ## The system, in four steps
#
# First a database: a real PostgreSQL with the extension [pgvector](../labs/GLOSSARY.md#pgvector), which can store and compare lists of numbers. The lab gets an empty one of its own.
#
# Then the [model](../labs/GLOSSARY.md#embedding). It reads a text and gives back 384 numbers, a [vector](../labs/GLOSSARY.md#vector). Texts with similar meaning get similar numbers. One vector alone tells you nothing: you have to compare two.

# %% tags=["nbval-check-output"]
conn = lab.connect(autocommit=True)
vector = lab.encode(question)

print(vector.shape, vector[:5].round(2))

# %% [markdown]
# The third step does the main work. It reads the documents, cuts them into pieces of at most 512 characters ([chunks](../labs/GLOSSARY.md#chunk)), turns every piece into a vector, and writes pieces and vectors into a table.

# %% tags=["nbval-check-output"]
from course_lib.indexing import IngestOptions, ingest

report = ingest(lab.data_dir, options=IngestOptions(progress=True), conn=conn, embedder=lab.embedder)
print(report.documents, "documents became", report.chunks, "chunks")

# %% [markdown]
# The fourth step is the search. The question becomes a vector, too, and the database looks for the chunks with the nearest vectors.

# %%
from course_lib.retriever import Query, search


def as_table(results):
    rows = [(one.similarity_score, one.document_name, one.name, one.metadata["lineStart"], one.content) for one in results]
    return pd.DataFrame(rows, columns=["similarity", "document", "heading", "line", "text"], index=range(1, len(rows) + 1)).round(2)


results = search(conn, lab.encode(question), Query(top_k=3))
as_table(results)

# %% tags=["claim"]
assert {result.name for result in results} == {"Rollback"}, "All three chunks are from the section on rollback"
assert not any("undo" in result.content.lower() for result in results), "the word undo is in none of them"

similarities = [result.similarity_score for result in results]
assert len(results) == 3 and similarities == sorted(similarities, reverse=True), "What matters is the order"

# %% [markdown]
# All three chunks are from the section on rollback, and the word *undo* is in none of them. The number is the [cosine similarity](../labs/GLOSSARY.md#cosine-similarity) to the question: 1 means the same direction, and 0 means nothing in common. What matters is the order. Lab 05 shows what these numbers mean and what they do not mean.
#
# Every chunk is stored with its source: the document, the heading above it and its lines. Without these, you could not check an answer.
#
# > **Predict.** What will the system answer to a question that has nothing to do with its documents? Nothing? An error?

# %%
nonsense = "How long does one boil an egg?"
off_topic = search(conn, lab.encode(nonsense), Query(top_k=3))
as_table(off_topic)

# %% tags=["claim"]
assert len(off_topic) == 3 and off_topic[0].similarity_score < 0.25, "The search returns three chunks, although no chunk is about eggs"

# %% [markdown]
# The search returns three chunks, although no chunk is about eggs. A search by meaning always finds the *nearest* ones, even if they are far away. So the search can have a [threshold](../labs/GLOSSARY.md#threshold): it leaves out chunks whose similarity to the question is lower.

# %% tags=["nbval-check-output"]
def count(asked, threshold):
    return len(search(conn, lab.encode(asked), Query(top_k=3, threshold=threshold)))


pd.DataFrame({asked: {at: count(asked, at) for at in (0.0, 0.2, 0.4)} for asked in (question, nonsense)}).rename_axis("threshold")

# %% [markdown]
# With 0.2 the search finds chunks for the release and none for the egg. These are two questions about five pages. A larger collection has a chunk that is a little similar to nearly anything, so a threshold has to be measured on your own texts.
#
# ## Where the chunks are stored
#
# They are rows of a table, and SQL can read them.

# %% tags=["nbval-check-output"]
statement = """
    SELECT document_name, count(*) AS chunks, max(length(content)) AS longest, min(vector_dims(embedding)) AS numbers
    FROM document_chunks GROUP BY document_name ORDER BY document_name
"""
cursor = conn.execute(statement)
pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description])

# %% [markdown]
# The chunks can also be drawn. Each point below is one chunk. Its 384 numbers were reduced to two, so that similar chunks are roughly near each other. The star is the question about the release, and 1, 2 and 3 are the chunks that the search found for it.
#
# > **Predict.** Are these three the points nearest to the star?

# %%
import numpy as np

chunks = conn.execute("SELECT document_name, content, embedding FROM document_chunks ORDER BY 1").fetchall()
vectors = np.stack([embedding.to_numpy() for *_, embedding in chunks])
places = {result.content: str(place) for place, result in enumerate(results, start=1)}
labels = [places.get(content, "") for _, content, _ in chunks]
groups = [name.removesuffix(".md") for name, *_ in chunks]

lab.show.map_2d(vectors, groups, lab.encode(question), labels=labels)

# %% tags=["claim"]
from course_lib.teaching.lab.figures.vectors import plane

points, star, share = plane(vectors, lab.encode(question))
assert share < 0.25, "The two axes show less than a quarter of the variance"

nearest = np.linalg.norm(points - star, axis=1).argmin()
assert sorted(filter(None, labels)) == ["1", "2", "3"] and not labels[nearest], "other points look nearer to the star than those that the search found"

# %% [markdown]
# They are not. The two axes show less than a quarter of the variance, so other points look nearer to the star than those that the search found. The search compares all 384 numbers. Still, the chunks of one page are near each other, although the model was not told which page a chunk is from: it has only read the text.
#
# ## Break it
#
# > **Predict.** What if the documents are ingested a second time: how many chunks are in the table then?

# %% tags=["nbval-check-output"]
again = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)

print(f"{again.inserted} inserted, {again.unchanged} unchanged, {again.chunks} in the table")
print("anything encoded:", again.chunks_per_second > 0)

# %% [markdown]
# As many as before. In a badly made system, every chunk would be there twice, and every search would find it twice. Nothing was encoded either: a document that has not changed needs no encoding. You will build that in lab 06.
#
# ## Measure
#
# One good answer proves little. The course has labelled questions, each with the page and the words that answer it. They give two numbers: [recall@5](../labs/GLOSSARY.md#recallk), the share of questions whose answer is among the first five chunks, and [MRR](../labs/GLOSSARY.md#mrr), which is higher the nearer to the top the answer is.
#
# A lab that measures ends with a scorecard. Its first line is what the lab itself has measured. The table below it is about the whole system: how often it finds the right files among the documents, the manifests and the code. A number below 1.00 has an interval, which lab 16 explains. When a check has passed in your own copy of a lab, the table also shows the system with your functions, beside the course's. Later labs show only the first line, and the lines of the table that your functions changed.

# %%
measured = lab.measure_retrieval(lambda asked: search(conn, lab.encode(asked), Query(top_k=10)))

lab.score(recall_at_5=measured.recall, mrr=measured.mrr, note=f"by meaning, {measured.questions} questions")

# %% tags=["claim"]
assert 5 < 1 / (1 - measured.recall) < 7, "about one question in six goes without its answer"

# %% [markdown]
# With five chunks of five pages, about one question in six goes without its answer. The labs to come make this better, and find out where they do not.
#
# ## Recap
#
# A document is cut into [chunks](../labs/GLOSSARY.md#chunk). Each chunk becomes a [vector](../labs/GLOSSARY.md#vector), and both are stored in a table. A question finds the chunks with the nearest vectors. Such a search compares meanings, so the words may differ. It always finds something. Its quality can be measured.
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
# Keep the index of your folder. In a terminal, `course ingest ~/notes --repo notes` makes it, and `course search "your question" --repo notes` asks it. Its order also counts the words of the question (lab 08): which of your questions does this help?
#
# ## Next
#
# The first step was to cut the documents into pieces. The places of the cuts decide what a search can find. This is the subject of [lab 01](../labs/01_recursive_splitter.ipynb).
#
# From there on you write the system yourself. Each of your functions that passes its check is kept in `my/system/`. `course mine` runs the whole system with your functions in place of the course's, and shows which are yours.
