# %% [markdown]
# # 06 · A table for vectors
#
# A search can return the same text twice, or a text that its author has deleted. You will write a table, and the SQL that fills it, so that
# neither happens, even if a job runs twice or stops halfway.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | give each chunk a key, so that none is stored twice · replace all chunks of a document in one transaction, so that no deleted text stays · decide when to build a vector index, and measure its cost and its recall | `store/schema.sql` · `store/writer.py` | about {minutes} min | SQL; lab 05 for embeddings |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
import psycopg

from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("06", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
# An empty database, made for this lab. At work: psycopg.connect(os.environ["DATABASE_URL"])
conn = psycopg.connect(lab.database_url, autocommit=True)  # each statement commits by itself
lab.show.pipeline("table")

# %% [markdown]
# ## A first table, without identity
#
# We cut five documents into [chunks](../labs/GLOSSARY.md#chunk), and make an [embedding](../labs/GLOSSARY.md#embedding) of each.

# %%
from course_lib.loader import read_documents, split_document

documents = read_documents(lab.data_dir)
chunks = [chunk for document in documents for chunk in split_document(document)]


def embed(chunks):
    return lab.encode([chunk.embedded_text for chunk in chunks])


# %% [markdown]
# [pgvector](../labs/GLOSSARY.md#pgvector) is an extension of PostgreSQL with the type `vector`. `ORDER BY embedding <=> %s` puts the rows
# nearest to a vector first.

# %%
from pgvector.psycopg import register_vector

conn.execute("CREATE EXTENSION IF NOT EXISTS vector")  # once a database, by a superuser
register_vector(conn)  # from now on, psycopg sends NumPy arrays as vectors


def ingest_plain(chunks):
    for chunk, vector in zip(chunks, embed(chunks), strict=True):
        row = chunk.source_path, chunk.content, vector
        conn.execute("INSERT INTO plain VALUES (%s, %s, %s)", row)


def search_plain(question):
    nearest = "SELECT document_name, content FROM plain ORDER BY embedding <=> %s LIMIT 5"
    return conn.execute(nearest, (lab.encode(question),)).fetchall()


# %% [markdown]
# The ingest runs every night.
#
# > **Predict.** How many rows are there after the second night? How many different texts are among the best five?

# %%
import pandas as pd

conn.execute("DROP TABLE IF EXISTS plain")
conn.execute("CREATE TABLE plain (document_name text, content text, embedding vector)")
for _ in range(2):  # two nights
    ingest_plain(chunks)

question = "How do I undo a bad release quickly?"
found, count = search_plain(question), conn.execute("SELECT count(*) FROM plain").fetchone()[0]
print(len(chunks), "chunks,", count, "rows")
pd.DataFrame(found, columns=["document", "chunk"])

# %% tags=["claim"]
assert count == 2 * len(chunks), "so each night adds all chunks again"
assert len(set(found)) == 3, "The best five hold only three different texts"

# %% [markdown]
# <details><summary>The answer</summary>
#
# No rule says which rows are the same chunk, so each night adds all chunks again. The best five hold only three different texts.
#
# </details>
#
# Before the third night, an author deletes the section about rollback from the first document.

# %%
from dataclasses import replace

original = documents[0]
shorter = replace(original, content=original.content.partition("\n## Rollback")[0])
pieces = split_document(shorter)
ingest_plain(pieces)  # the third night
best = search_plain(question)[0][1]
print("is it in the document?", best in shorter.content, best[:100], sep="\n")

# %% tags=["claim"]
assert best not in shorter.content, (
    "The document no longer says this, but the search still finds it"
)

# %% [markdown]
# The document no longer says this, but the search still finds it. Such a chunk is [stale](../labs/GLOSSARY.md#stale-chunk).
#
# So we have three wishes for the table:
#
# 1. It recognises a chunk that it has already, so a second night changes nothing.
# 2. It replaces a document in one step or not at all, and deletes what is no longer in it.
# 3. It stays quick when it grows.

# %% [markdown]
# ## By hand: three distances
#
# Three operators of pgvector compare two vectors. A smaller number means nearer:
#
# - `<->` is the [Euclidean distance](../labs/GLOSSARY.md#euclidean-distance)
# - `<#>` is the [inner product](../labs/GLOSSARY.md#inner-product) with its sign reversed
# - `<=>` is the [cosine distance](../labs/GLOSSARY.md#cosine-distance): 1 − inner product / (length · length)
#
# > **Predict.** The rows are *east* (1,0,0), *slant* (3,4,0), *up* (0,0,2) and *zeros* (0,0,0), and the query is (1,0,0). Compute the
# > distances of *slant* on paper. Which row is first by each operator?

# %%
tiny = conn.execute("""
    SELECT name, embedding <-> '[1,0,0]', embedding <#> '[1,0,0]', embedding <=> '[1,0,0]'
    FROM (VALUES ('east', '[1,0,0]'::vector), ('slant', '[3,4,0]'), ('up', '[0,0,2]'),
          ('zeros', '[0,0,0]')) AS tiny (name, embedding)""").fetchall()
distances = pd.DataFrame(tiny, columns=["name", "<->", "<#>", "<=>"]).set_index("name")
(distances.T.round(2) + 0).assign(first=distances.idxmin())  # + 0: shows -0.0 as 0.0

# %% tags=["claim"]
assert list(distances.loc["slant"].round(4)) == [round(20**0.5, 4), -3, 0.4], (
    "<-> is √20, <#> is −3"
)
assert distances["<#>"].idxmin() == "slant", "The inner product puts the longest vector first"
assert distances["<->"].idxmin() == distances["<=>"].idxmin() == "east", (
    "By the other two, east is first"
)
assert pd.isna(distances.loc["zeros", "<=>"]), (
    "A vector of zeros has no direction, so its cosine distance is NaN"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# For *slant*, `<->` is √20, `<#>` is −3, and `<=>` is 1 − 3 / (1 · 5). The inner product puts the longest vector first. By the other two,
# *east* is first.
#
# </details>
#
# The course uses `<=>`, which compares only directions.
#
# A vector of zeros has no direction, so its cosine distance is NaN. PostgreSQL treats NaN as larger than every number. So a similarity of
# NaN passes every `similarity >= 0.5`.
#
# A [constraint](../labs/GLOSSARY.md#constraint) can refuse such a vector: `CHECK (…)` holds a condition that every row must meet. The
# function `vector_norm(embedding)` returns a vector's length.

# %% [markdown]
# ## Which rows are the same?
#
# The first wish needs a [primary key](../labs/GLOSSARY.md#primary-key): columns whose values together are different in every row.
#
# Four chunks arrive:
#
# - *Stop.* and *Go.* are the two chunks of `a.md`.
# - *Halt.* is the new text of the first.
# - *Hello.* is from an `a.md` in another repository.
#
# The table skips a chunk whose key it has already.
#
# > **Predict.** Which of the four does it take with each key below?

# %%
four = [("docs", "a.md", 0, "Stop."), ("docs", "a.md", 1, "Go.")]
four += [("docs", "a.md", 0, "Halt."), ("wiki", "a.md", 0, "Hello.")]
columns = "repo text, name text, place int, content text"
taken = {}
for key in ("name", "name, place", "repo, name, place", "repo, name, place, content"):
    conn.execute("DROP TABLE IF EXISTS four")
    conn.execute(f"CREATE TABLE four ({columns}, PRIMARY KEY ({key}))")
    insert = "INSERT INTO four VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
    taken[key] = ["taken" if conn.execute(insert, one).rowcount else "skipped" for one in four]
pd.DataFrame(taken, index=[" · ".join(map(str, one)) for one in four])

# %% tags=["claim"]
assert taken["name"] == ["taken", *["skipped"] * 3], "The name alone is not enough"
assert taken["name, place"][2:] == ["skipped"] * 2, (
    "Without the repository, the chunk of the wiki is lost"
)
assert taken["repo, name, place"] == ["taken", "taken", "skipped", "taken"], (
    "It skips the edited chunk"
)
assert taken["repo, name, place, content"] == ["taken"] * 4, (
    "With the text in the key, the edited chunk counts as another chunk"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The name alone is not enough. Without the repository, the chunk of the wiki is lost. With the text in the key, the edited chunk counts as
# another chunk. The third key is right. It skips the edited chunk, but exercise 6.2 will update it.
#
# </details>
#
# So a chunk is identified by its document and its place there.

# %% [markdown]
# ## Exercise 6.1: the table
#
# A search of the documentation should not read other kinds of text. So the table is [partitioned](../labs/GLOSSARY.md#partition): you use
# it like one table, but it consists of several. A search with `WHERE partition = 'documentation'` reads only one of them
# ([*pruning*](https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITION-PRUNING)).
#
# The cell below is `schema.sql`. Complete its second table, `document_chunks`:
#
# - It refuses vectors without a direction.
# - Its primary key tells each chunk from all others. Two [tenants](../labs/GLOSSARY.md#tenant), or two branches, may each have an `a.md`.
#   PostgreSQL demands `partition` in the key, too.
# - The column `partition` decides where a row goes. Five partitions are given. All other rows go to `document_chunks_default`.
#
# Create no vector index yet.

# %% exercise="6.1"
# Given up to: embedding     vector({dimension}) STORAGE {storage} NOT NULL,
# Given lines: ^CREATE TABLE document_chunks_(documentation|issues|code)
from course_lib.store.schema import SCHEMA

# %%
from course_lib.store.schema import drop_schema, filled

lab.check("6.1", SCHEMA)

# %%
lab.hint("6.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a key with too few columns loses rows, and a key with too many keeps stale rows.
#
# PostgreSQL makes a [B-tree index](../labs/GLOSSARY.md#b-tree-index) of the key in each partition, so `partition` has to be in the key.
#
# This lab stores only chunks, so `document_chunks` has no foreign key to `documents`. At work, use one with `ON DELETE CASCADE`: without
# it, the table accepts a chunk whose document is gone.

# %% [markdown]
# ## Exercise 6.2: insert, or else update
#
# The new text of an edited chunk should replace the old one. An [upsert](../labs/GLOSSARY.md#upsert) inserts a row or, if its key is there
# already, updates that row.
#
# Here is an upsert for another table. `old` is the row in the table. `excluded` is the new row:
#
# ```sql
# INSERT INTO prices AS old (product, price) VALUES (%(product)s, %(price)s)
# ON CONFLICT (product) DO UPDATE SET changed_at = now(), price = excluded.price
# WHERE old.price > excluded.price
# ```
#
# The new values are given. You write the rest:
#
# - Two rows conflict if all key columns of 6.1 are equal.
# - An update also sets `updated_at` to now.
# - If all values are equal, the row is not updated.
#
# `(a, b) IS DISTINCT FROM (c, d)` compares several values at once, and treats two NULLs as equal.

# %% exercise="6.2"
# Given up to: %(content_hash)s, %(metadata)s, %(visibility)s, %(embedding)s)
# Given lines: ^ {4}(?! ?\(?old\.)
from course_lib.store.writer import UPSERT_CHUNK

# %%
lab.check("6.2", UPSERT_CHUNK)

# %%
lab.hint("6.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: without the `WHERE`, every night writes every row again, even if all values are the same. DELETE and INSERT of
# all rows would write as many.

# %% [markdown]
# We make your table, and write all chunks in two nights.

# %%
from course_lib.store.rows import make_rows


def rows_of(chunks):
    # A dict for each chunk, with a value for each placeholder of UPSERT_CHUNK.
    made = make_rows(chunks, embed(chunks), "documentation", "private")
    return [row for rows in made.values() for row in rows]


SCHEMA, UPSERT_CHUNK = lab.use("SCHEMA"), lab.use("UPSERT_CHUNK")
vectors = embed(chunks)
dimension = vectors.shape[1]
drop_schema(conn)  # so that you can run the cell again
conn.execute(filled(SCHEMA, dimension))
records = rows_of(chunks)
nights = [sum(conn.execute(UPSERT_CHUNK, record).rowcount for record in records) for _ in range(2)]
print("rows written in the first two nights:", nights)

# %% tags=["claim"]
assert nights == [len(chunks), 0], "a second run gives the same result as one run"

# %% [markdown]
# The second night wrote no row: a second run gives the same result as one run. Such an ingest is
# [idempotent](../labs/GLOSSARY.md#idempotent).
#
# On the third night, a second edition of a document arrives. For a chunk in its middle, the model returns zeros.
#
# > **Predict.** A loop writes the chunks one by one, and stops there with an error. Which rows of this document does the table hold then?

# %%
import numpy as np


editions = """
    SELECT count(*), count(*) FILTER (WHERE starts_with(content, '[2nd]'))
    FROM document_chunks WHERE document_name = %s"""
own = [record for record in records if record["document_name"] == original.name]
# Here only the text counts: its hash stays the old one.
second = [record | {"content": f"[2nd] {record['content']}"} for record in own]
second[len(second) // 2]["embedding"] = np.zeros(dimension)
try:
    for record in second:
        conn.execute(UPSERT_CHUNK, record)
except psycopg.Error as error:
    print(error.diag.message_primary)
print("rows, rows of the 2nd edition:", conn.execute(editions, [original.name]).fetchone())

# %% tags=["claim"]
assert conn.execute(editions, [original.name]).fetchone() == (len(own), len(second) // 2), (
    "a document that is half old and half new is worse than an old one"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The table holds the beginning of the second edition and the end of the first. Our second wish forbids this: a document that is half old and
# half new is worse than an old one.
#
# </details>

# %% [markdown]
# ## Exercise 6.3: all of a document, or nothing
#
# The second wish needs a [transaction](../labs/GLOSSARY.md#transaction). `with conn.transaction():` commits at the end of its block. If an
# exception leaves the block, all changes are undone.
#
# A placeholder can hold a list, so one statement can delete all stale rows:
#
# - `chunk_index = ANY(%(numbers)s)` is true if the number is in the list.
# - `chunk_index <> ALL(%(numbers)s)` is true if the number is not in the list.
# - `(a, b) = (%(a)s, %(b)s)` compares two columns at once.

# %% exercise="6.3"
from course_lib.store.writer import replace_document

# %%
lab.check("6.3", replace_document)

# %%
lab.hint("6.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: if the DELETE is outside the transaction, readers can still see a mixture. With both inside, they see the old
# document until the commit, and the new one after it.

# %% [markdown]
# Your function repairs the document, and then tries the broken edition.

# %%
from course_lib.store.rows import DOCUMENT_KEY

replace_document = lab.use("replace_document")
document = {name: own[0][name] for name in DOCUMENT_KEY}
repair = replace_document(conn, document, own)
print("rows written, rows deleted:", repair)
try:
    replace_document(conn, document, second)
except psycopg.Error as error:
    print(error.diag.message_primary)
print("rows, rows of the 2nd edition:", conn.execute(editions, [original.name]).fetchone())

# %% tags=["claim"]
assert repair == (len(second) // 2, 0), "The repair restored what the failed loop had overwritten"
assert conn.execute(editions, [original.name]).fetchone() == (len(own), 0), "The broken edition changed nothing"

# %% [markdown]
# The repair restored what the failed loop had overwritten. The broken edition changed nothing.
#
# Now the shorter document arrives.

# %%
print("rows written, rows deleted:", replace_document(conn, document, rows_of(pieces)))
left = conn.execute("SELECT count(*) FROM document_chunks WHERE content = %s", [best]).fetchone()
print("rows with the deleted text:", *left)

# %% tags=["claim"]
kept = conn.execute(editions, [original.name]).fetchone()[0]
assert len(own) > kept == len(pieces), "The table lost the document's last rows"
assert left == (0,) and best in {record["content"] for record in records}, "the deleted text is no longer there"

# %% [markdown]
# The table lost the document's last rows, and the deleted text is no longer there.

# %% [markdown]
# ## A vector index
#
# So far, each search is an [exact scan](../labs/GLOSSARY.md#exact-scan): it reads every row. With a vector index, a search reads fewer
# rows, but may miss some of the nearest.
#
# The index [HNSW](../labs/GLOSSARY.md#hnsw) is a graph, in which each row is linked to near ones. A search walks along these links towards
# the query. It keeps the best rows in a list of the length [`ef_search`](../labs/GLOSSARY.md#ef_search).
#
# ![A graph in three layers, through which a search walks towards the query.](../labs/figures/hnsw_walk.svg)
#
# We build one over 5,000 made-up issues, whose vectors are mixtures of ours. `write_chunks`, the course's writer, stores them. We measure
#
# - *[recall](../labs/GLOSSARY.md#recall)*: the share of the true ten nearest rows that a search finds
# - *share of pages*: how many pages of 8 kB a search visits, divided by those of an exact scan
#
# > **Predict.** A search should reach a recall of 0.95. What share of the pages of an exact scan does it visit?

# %%
from time import perf_counter

from course_lib.store import write_chunks

write_chunks(conn, *lab.mixtures(chunks, vectors), partition="issues")
HNSW = "CREATE INDEX ON graph USING hnsw (embedding vector_cosine_ops)"
INSERT = """INSERT INTO graph SELECT chunk_index, embedding FROM document_chunks
    WHERE partition = 'issues' ORDER BY 1"""


def build(*steps):
    # Make a table, and then its rows and its index in the order of the steps. Return the seconds.
    conn.execute("DROP TABLE IF EXISTS graph")
    conn.execute(f"CREATE TABLE graph (id int, embedding vector({dimension}) STORAGE plain)")
    begun = perf_counter()
    for step in steps:
        conn.execute(step)
    return perf_counter() - begun


# %% [markdown]
# In the figure, each point is a length of the list.

# %%
from course_lib.teaching.lab.searching import measure_index

queries = lab.encode([each.question for each in lab.questions()])
build(INSERT, HNSW)
curve = {}
for size in (10, 20, 40, 60, 80, 100, 150, 200):
    curve[size] = measure_index(conn, "graph", queries, f"hnsw.ef_search = {size}")
curve = pd.DataFrame(curve).T
axes = curve.plot("share of pages", "recall", ylabel="recall")
for size, point in curve.iterrows():
    axes.annotate(f"  {size}", point, va="top")
axes.axhline(0.95, color="gray", linestyle=":", marker="")
lab.alt(axes, curve.round(2).to_string())

# %% tags=["claim"]
share = curve["share of pages"]
assert 0.3 < share[curve.recall >= 0.95].iloc[0] < 1, "a search visits more than 30 % of these pages, but not all"
assert curve.recall[200] > curve.recall[10] and share.is_monotonic_increasing, (
    "A longer list finds more, and visits more pages"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The first point above the dotted line (0.95) says it: a search visits more than 30 % of these pages, but not all.
#
# </details>
#
# A longer list finds more, and visits more pages: at 200, more than an exact scan. Our rows are mixtures of 121 vectors, so measure with your
# own.
#
# ## Before the rows, or after?
#
# The index can also be there before the rows. A graph depends on chance, so we build five before the rows, and five after.
#
# > **Predict.** What is worse if the index comes before the rows: the time, the recall, both, or neither?

# %%
# This cell takes a while: it builds ten indexes.
builds = []
for built, steps in [("before", (HNSW, INSERT)), ("after", (INSERT, HNSW))] * 5:
    row = {"built": built, "seconds": build(*steps)}
    builds.append(row | measure_index(conn, "graph", queries, "hnsw.ef_search = 40"))
by = pd.DataFrame(builds).groupby("built")
by = by.agg({"recall": ["min", "mean", "max"], "seconds": "mean"})
by.round(3)

# %% tags=["claim"]
recalls, took = by["recall"], by["seconds", "mean"]
among = (recalls["max"] - recalls["min"]).max()
assert abs(recalls["mean"]["before"] - recalls["mean"]["after"]) < among, (
    "the two means differ less than the best and the worst build of one kind"
)
assert took["before"] > 1.5 * took["after"], "it takes much longer"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The time is worse: it takes much longer. So load the rows first.
#
# About the recall, ten builds say little: the two means differ less than the best and the worst build of one kind (`min` and `max`).
#
# </details>
#
# At work, you need these (not measured here; [pgvector's page](https://github.com/pgvector/pgvector) has more):
#
# - `maintenance_work_mem`: the memory of a build, by default 64 MB. If the graph does not fit, the build is slower, and only a notice says
#   so.
# - `m` (links of a row) and `ef_construction` (the list in a build): larger values find more, but a build is slower.
# - `CREATE INDEX CONCURRENTLY`: others can write during the build (one partition at a time).
# - `halfvec`: an index on `embedding::halfvec(384)` takes two bytes per number, not four.
# - `VACUUM`: removes the old versions of updated rows from the graph.
#
# ## In the field
#
# Many programs let [SQLAlchemy](https://docs.sqlalchemy.org) write their statements.
#
# > **Predict.** If we name only the columns, which two parts of your upsert are missing?

# %%
from sqlalchemy import column, table
from sqlalchemy.dialects.postgresql import insert

key = [column("document_name"), column("chunk_index")]
new = insert(table("chunks", *key, column("content")))
made = new.on_conflict_do_update(index_elements=key, set_={"content": new.excluded.content})
print(str(made).replace(" ON CONFLICT", "\nON CONFLICT"))

# %% tags=["claim"]
assert "WHERE" not in str(made) and "updated_at" not in str(made), "The WHERE and updated_at are missing"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The `WHERE` and `updated_at` are missing. Name them, too: `where=…`, and `"updated_at": func.now()` in `set_`.
#
# </details>
#
# ## Recap
#
# - A row's identity is its primary key. With a key, an upsert may run twice.
# - A document changes in one transaction, which also deletes its stale rows.
# - **At work**, begin with exact scans, which miss nothing, and a partition for each kind of text. If searches become too slow, build an
#   index, such as HNSW, on the loaded rows, and measure recall and pages with your own questions.
#
# ## Three questions
#
# 1. Why is an upsert alone not enough to keep an index fresh?
# 2. A colleague creates the HNSW index before there are rows. What is worse, and what did we not decide?
# 3. You leave `branch` out of the key. When does this go wrong, and what does a reader see?
#
# <details><summary>Answers</summary>
#
# 1. It does not delete the chunks that the new version lacks.
# 2. Loading the rows takes much longer. We did not decide about the recall.
# 3. It goes wrong with two branches. Each overwrites the other's chunks, and readers find texts of another version.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# pgvector's other index, [IVFFlat](../labs/GLOSSARY.md#ivfflat), sorts the vectors into cells ([`lists`](../labs/GLOSSARY.md#lists)). It
# learns their centres from the rows. A search reads only the cells nearest to the query ([`probes`](../labs/GLOSSARY.md#probes)).
#
# ![Five cells of points. A query near a border is compared with the rows of two cells.](../labs/figures/ivf_cells.svg)
#
# Build it before the rows and after: `CREATE INDEX ON graph USING ivfflat (embedding vector_cosine_ops) WITH (lists = 5)`. Measure with
# `ivfflat.probes = 1`. What is worse if it comes before the rows, and who warns you?
#
# Next is [lab 07](../labs/07_search_query.ipynb): why a filter and an HNSW index can return one row where you asked for five.
