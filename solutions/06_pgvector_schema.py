# %% [markdown]
# # 06 · A table for vectors
#
# You will build the table that the rest of the course searches. It stays right when a job runs twice, when a page gets shorter, and
# when something fails halfway.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | give chunks an identity, so that no chunk is stored twice or gets stale · build a vector index at the right moment · read what the planner expects and what it found | `store/columns.py` · `store/schema.py` · `store/writer.py` | about {minutes} min | SQL; lab 05 for embeddings |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
import psycopg

from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("06", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
conn = psycopg.connect(lab.database_url, autocommit=True)  # each statement commits by itself
lab.show.pipeline("table")

# %% [markdown]
# ## A first table, without identity
#
# `psycopg.connect` takes the URL of a database. This lab made a new, empty database for you, and `lab.database_url` is its URL. The
# database is on the server of `DATABASE_URL` if that is set, otherwise on the server that the course starts. At work you write
# `psycopg.connect(os.environ["DATABASE_URL"])`.
#
# We cut five documents into [chunks](../labs/GLOSSARY.md#chunk). Each chunk has an
# [embedding](../labs/GLOSSARY.md#embedding). Now we want to store them. A vector is a list of numbers. PostgreSQL can store a list as an
# array or as JSON, and most programs can read JSON. So let us try JSON.

# %% tags=["nbval-check-output"]
from course_lib.loader import read_documents, split_document

documents = read_documents(lab.data_dir)
chunks = [chunk for document in documents for chunk in split_document(document)]
vectors = lab.encode([chunk.embedded_text for chunk in chunks])
print(len(documents), "documents,", len(chunks), "chunks, vectors of shape", vectors.shape)

# %%
import numpy as np
from psycopg.types.json import Json

print(conn.info.dsn)  # what the URL says, without the password


def ingest_plain(chunks, vectors):
    rows = [
        (c.source_path, c.content, Json(v.tolist())) for c, v in zip(chunks, vectors, strict=True)
    ]
    conn.cursor().executemany("INSERT INTO plain VALUES (%s, %s, %s)", rows)


def search_plain(question, k=5):
    rows = conn.execute("SELECT document_name, content, embedding FROM plain").fetchall()
    scores = np.array([embedding for *_, embedding in rows]) @ lab.encode(question)
    return [rows[i][:2] for i in np.argsort(-scores, kind="stable")[:k]]


def beginning(content):  # without its first word, which may be cut off
    return "… " + " ".join(content.split()[1:])[:70]


# The table is dropped first, so that you can run the cell again.
conn.execute("DROP TABLE IF EXISTS plain; CREATE TABLE plain (document_name text, content text, embedding json)")
ingest_plain(chunks, vectors)

# %% [markdown]
# The search fetches every row and compares in Python. This works, so the job runs every night from now on.
#
# > **Predict.** How many rows are there after the second night? You ask for the five best. How many different texts do you get?


# %% tags=["nbval-check-output"]
ingest_plain(chunks, vectors)  # the second night
question = "How do I undo a bad release quickly?"
for name, content in search_plain(question):
    print(f"{name}  {beginning(content)}")
print(conn.execute("SELECT count(*) FROM plain").fetchone()[0], "rows")

# %% [markdown]
# Nothing in this table says which row is which, so each night adds all chunks again. Now something worse happens: an author deletes the
# section about rollback from the page, and the job runs once more.

# %% tags=["nbval-check-output"]
from dataclasses import replace

page = documents[0]
shorter = replace(page, content=page.content.partition("\n## Rollback")[0])
pieces = split_document(shorter)
ingest_plain(pieces, lab.encode([piece.embedded_text for piece in pieces]))  # the third night
best = search_plain(question)[0][1]
print("first result:", beginning(best))
print("is it in the page?", best in shorter.content)

# %% [markdown]
# The page no longer says this, but the search still finds it: a [stale chunk](../labs/GLOSSARY.md#stale-chunk). So we want a table that
#
# 1. stores vectors and compares them itself,
# 2. can tell which row is which, so that a second night changes nothing,
# 3. deletes what a new version no longer has, in one step or not at all,
# 4. stays quick when it grows.
#
# ## By hand: three distances
#
# [pgvector](../labs/GLOSSARY.md#pgvector) adds the type `vector(n)` and three operators: `<->`
# [Euclidean distance](../labs/GLOSSARY.md#euclidean-distance), `<#>` [inner product](../labs/GLOSSARY.md#inner-product) with
# its sign reversed, `<=>` [cosine distance](../labs/GLOSSARY.md#cosine-distance), which is 1 − inner product / (length · length).
# A small number always means near.
#
# The extension has to be created once in each database. `register_vector` is called once for each connection. After that, psycopg sends
# NumPy arrays as vectors. (`lab.connect()`, which the checks and the next lab use, does the same.)
#
# | name | vector | length |
# |---|---|---|
# | east | (1, 0, 0) | 1 |
# | far east | (2, 0, 0) | 2 |
# | slant | (3, 4, 0) | 5 |
# | up | (0, 0, 2) | 2 |
#
# > **Predict.** The query is (1, 0, 0). Compute the three distances of *slant* on paper. Which row comes first by each operator?

# %% tags=["nbval-check-output"]
from pgvector.psycopg import register_vector

conn.execute("CREATE EXTENSION IF NOT EXISTS vector")  # needs the rights of a superuser
register_vector(conn)
conn.execute("DROP TABLE IF EXISTS tiny")
conn.execute("CREATE TABLE tiny (name text, embedding vector(3))")
conn.execute(
    "INSERT INTO tiny VALUES ('east', '[1,0,0]'), ('far east', '[2,0,0]'), "
    "('slant', '[3,4,0]'), ('up', '[0,0,2]')"
)
for operator in ("<->", "<#>", "<=>"):
    distance = f"embedding {operator} '[1,0,0]'"
    found = conn.execute(f"SELECT name, {distance} FROM tiny ORDER BY {distance}, name")
    print(operator, ", ".join(f"{name} {number + 0:.3g}" for name, number in found))  # + 0: no -0

# %% [markdown]
# For *slant*, the difference is (−2, −4, 0), so `<->` is √20. The inner product is 3, so `<#>` is −3. The cosine is 3 / (1 · 5), so
# `<=>` is 1 − 0.6.
#
# Three operators give three orders. The inner product puts the longest vector first, although it points in another direction. All of
# MiniLM's vectors have length 1, and for such vectors the three orders are the same. We use `<=>`, which does not depend on the length.
#
# ## The table of every tutorial
#
# Most tutorials create a table with a vector column and create an index at once.
# [IVFFlat](../labs/GLOSSARY.md#ivfflat) sorts vectors into cells ([`lists`](../labs/GLOSSARY.md#lists)). It learns the centres of the
# cells from the rows. A search reads only a few of the cells ([`probes`](../labs/GLOSSARY.md#probes)).
#
# ![Points in five cells, each with a centre. The query is near the border of two cells, and only the rows in these two are compared with it.](../labs/figures/ivf_cells.svg)
#
# Our documents have too few chunks to need an index. So we make up 5,000 rows. Each vector is a mixture of two real ones, so it is similar
# to the vector of a real text.

# %%
random = np.random.default_rng(5)  # the same rows on every run
one, other = random.integers(0, len(chunks), (2, 5000))
share = random.random((5000, 1), dtype=np.float32)
made_up = share * vectors[one] + (1 - share) * vectors[other]
rows = [(i, chunks[one[i]].content, made_up[i]) for i in range(len(made_up))]

# %% [markdown]
# We create the same index for two tables: *early* gets it before its rows, as in a script that creates tables; *late* gets it after its
# rows. For 5,000 rows the index has 5 cells: pgvector's documentation suggests the number of rows divided by 1,000. We also print the
# server's notices, which psycopg does not show by default (`conn.add_notice_handler`).
#
# [Recall](../labs/GLOSSARY.md#recall) is the share of the true ten nearest rows that a search finds. The truth comes from an
# [exact scan](../labs/GLOSSARY.md#exact-scan), which reads every row. For it, we forbid PostgreSQL to use an index.
#
# > **Predict.** The index of *early* learns its centres from an empty table. Which recall do you expect?

# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.tables import notices_shown


def fill(table, rows):  # in one stream; explained below
    with conn.cursor().copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int4", "text", "vector"])
        for row in rows:
            copy.write_row(row)


dimension = vectors.shape[1]
columns = f"id int, content text, embedding vector({dimension})"
index = "CREATE INDEX ON {} USING ivfflat (embedding vector_cosine_ops) WITH (lists = 5)"
for table in ("early", "late"):
    conn.execute(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} ({columns})")
with notices_shown(conn):
    conn.execute(index.format("early"))
    fill("early", rows)
    fill("late", rows)
    conn.execute(index.format("late"))

# %%
queries = lab.encode([each.question for each in lab.questions()])


def ten_nearest(table, forbidden):
    statement = f"SELECT id FROM {table} ORDER BY embedding <=> %s LIMIT 10"
    with conn.transaction():
        conn.execute(f"SET LOCAL {forbidden} = off")  # until the transaction ends
        # prepare=False: a statement that psycopg has prepared may keep the plan of another setting
        return [{row[0] for row in conn.execute(statement, (query,), prepare=False)} for query in queries]


truth = ten_nearest("late", "enable_indexscan")  # no index scan, so this is an exact scan
recall = {"probes = 1": {}, "probes = 2": {}}
for setting, of_table in recall.items():
    conn.execute(f"SET ivfflat.{setting}")
    for table in ("early", "late"):
        found = ten_nearest(table, "enable_seqscan")  # no scan of the whole table, so the index is used
        hits = [len(some & all_ten) for some, all_ten in zip(found, truth, strict=True)]
        of_table[table] = np.mean(hits) / 10
lab.show.bars(recall, "Recall of IVFFlat, lists = 5, 5,000 rows")

# %% [markdown]
# pgvector's documentation suggests to begin with two probes, about the square root of `lists`. One probe is the default, and with it both
# tables find less. Without rows, pgvector chooses the centres at random. They stay as they are, even when many rows arrive. The notice
# above said so, but most programs do not show notices.

# %% [markdown]
# ## Exercise 6.1: rows with an identity
#
# Now we return to the real chunks and to wish 2. A real index has more than one table, and its tables get new columns every year. So
# programs make the statement from a list of columns. PostgreSQL also has to know the
# [primary key](../labs/GLOSSARY.md#primary-key): the columns that together tell one row from all others. Write the function that makes
# the statement.

# %% exercise="6.1"
from course_lib.store.schema import create_table_sql

# %%
lab.check("6.1", create_table_sql)

# %%
lab.hint("6.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The dimension is part of the column's type, so PostgreSQL rejects vectors with another number of dimensions. The primary key also creates
# a [B-tree index](../labs/GLOSSARY.md#b-tree-index), which begins with the key's first column. This index will find "all rows of this
# document" later in the lab.

# %% [markdown]
# You decide which columns are the key. Three chunks arrive: the first two chunks of a page, and then an edited version of the first. A row
# whose key exists already would cause an error; with `ON CONFLICT DO NOTHING` it is skipped.
#
# > **Predict.** Which of the three does the table take with each of these keys: the document; document, index and text; document
# > and index?

# %% tags=["nbval-check-output"]
create_table_sql = lab.use("create_table_sql")
COLUMNS = {
    "document_name": "text NOT NULL",
    "chunk_index": "integer NOT NULL",
    "content": "text NOT NULL",
    "updated_at": "timestamptz NOT NULL DEFAULT now()",
    "embedding": f"vector({dimension}) NOT NULL",
}
KEY = ["document_name", "chunk_index"]
three = [(page.name, i, text, vectors[0]) for i, text in ((0, "Stop."), (1, "Go."), (0, "Halt."))]
insert = "INSERT INTO chunks (document_name, chunk_index, content, embedding) VALUES (%s, %s, %s, %s)"
for key in (KEY[:1], [*KEY, "content"], KEY):
    conn.execute(f"DROP TABLE IF EXISTS chunks; {create_table_sql('chunks', COLUMNS, key)}")
    taken = [conn.execute(f"{insert} ON CONFLICT DO NOTHING", row).rowcount for row in three]
    print(f"{', '.join(key)}:", taken)

# %% [markdown]
# The document alone is not enough: the second chunk is not taken. With the text in the key, the edited chunk counts as another chunk, and
# the page has two beginnings. A chunk's identity is its document and its place in this document.
#
# ## Exercise 6.2: insert, or else update
#
# A rejected row is better than a second copy of it, but the edited text has to be stored. An [upsert](../labs/GLOSSARY.md#upsert)
# inserts a row, or updates the row that is there. On another table it looks like this; `excluded` is the new row:
#
# ```sql
# INSERT INTO visits (page, times) VALUES (%(page)s, %(times)s)
# ON CONFLICT (page) DO UPDATE SET (times, updated_at) = (visits.times + excluded.times, now())
# WHERE visits.page <> 'hidden'
# ```
#
# Write the function that makes such a statement for any table. `columns` are the columns that a row has a value for. `updated_at` is not
# among them, because the database fills it.

# %% exercise="6.2"
from course_lib.store.writer import upsert_sql

# %%
lab.check("6.2", upsert_sql)

# %%
lab.hint("6.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# PostgreSQL decides about `ON CONFLICT` by the primary key's index. So it is safe with two jobs at once; "look first, then insert" is not.
# The `WHERE` is necessary: PostgreSQL updates a row by writing a new copy of it, even if all values are the same. Names of tables and
# columns are written into the statement, because they come from our own list. Values are always placeholders, because a text may hold
# quotes or SQL.

# %% tags=["nbval-check-output"]
upsert_sql = lab.use("upsert_sql")


def records_of(chunks):
    vectors = lab.encode([chunk.embedded_text for chunk in chunks])
    return [
        {"document_name": c.source_path, "chunk_index": c.custom_meta["chunkIndex"]}
        | {"content": c.content, "embedding": vector}
        for c, vector in zip(chunks, vectors, strict=True)
    ]


records = records_of(chunks)
upsert = upsert_sql("chunks", list(records[0]), KEY)
conn.execute("TRUNCATE chunks")
for night in (1, 2):
    written = sum(conn.execute(upsert, record).rowcount for record in records)
    total = conn.execute("SELECT count(*) FROM chunks").fetchone()[0]
    print(f"night {night}: {written} rows written, {total} in the table")

# %% [markdown]
# Now a second run gives the same result as one run: the ingest is [idempotent](../labs/GLOSSARY.md#idempotent). But a document has many
# rows. Suppose that its second edition arrives, and the model returns a broken vector in the middle.
#
# > **Predict.** The loop below stops with an error. Which rows of this page does the table hold then?

# %% tags=["nbval-check-output"]
own = [record for record in records if record["document_name"] == page.name]
second = [record | {"content": f"[2nd] {record['content']}"} for record in own]
second[len(second) // 2]["embedding"] = np.full(dimension, np.nan)
try:
    for record in second:
        conn.execute(upsert, record)
except psycopg.Error as error:
    print(error.diag.message_primary)


def editions():
    of_second = "count(*) FILTER (WHERE starts_with(content, '[2nd]'))"
    counts = f"SELECT count(*), {of_second} FROM chunks WHERE document_name = %s"
    both, new = conn.execute(counts, (page.name,)).fetchone()
    return f"{both} rows, {new} of the 2nd edition"


print(editions())

# %% [markdown]
# ## Exercise 6.3: all of a document, or nothing
#
# A page that is half old and half new is worse than an old one. Put the whole change into one
# [transaction](../labs/GLOSSARY.md#transaction). In psycopg, `with conn.transaction():` commits at the end of its block. If an exception
# leaves the block, all changes are undone. Inside another transaction it becomes a part of that one.
#
# One placeholder can hold a list: `chunk_index = ANY(%(numbers)s)` is true if the number is in the list, and
# `chunk_index <> ALL(%(numbers)s)` is true if it is not.

# %% exercise="6.3"
from course_lib.store.writer import replace_document

# %%
lab.check("6.3", replace_document)

# %%
lab.hint("6.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `conn.transaction()` opens a transaction, or a savepoint if a transaction is open already. So a caller can put several of these calls into
# one transaction. Readers see the old page until the commit and the new one after it, but never a mixture.

# %% tags=["nbval-check-output"]
replace_document = lab.use("replace_document")


def update(records):
    return replace_document(conn, "chunks", {"document_name": page.name}, records)


print("repair:      ", update(own))
try:
    update(second)
except psycopg.Error as error:
    print("2nd edition: ", error.diag.message_primary)
print("the table:   ", editions())
print("shorter page:", update(records_of(pieces)))
first = "SELECT content FROM chunks ORDER BY embedding <=> %s LIMIT 1"
best = conn.execute(first, (lab.encode(question),)).fetchone()[0]
print("first result:", beginning(best))

# %% [markdown]
# The repair restored what the failed loop had overwritten. The broken edition changed nothing, and the shorter page lost its last rows.
# One row was written, because its last chunk now ends one line break earlier. Three wishes are fulfilled.
#
# ## Exercise 6.4: a partition for each kind of source
#
# The course will also index issues and code. A search of the documentation should not even open them. A
# [partitioned](../labs/GLOSSARY.md#partition) table is used like one table, but it consists of several tables.
# `PARTITION BY LIST (column)` sorts rows by the value of a column. `CREATE TABLE … PARTITION OF … FOR VALUES IN ('…')` creates a
# partition, and `… PARTITION OF … DEFAULT` creates one for all other values.


# %% exercise="6.4"
from course_lib.store.schema import partitioned_table_sql

# %%
lab.check("6.4", partitioned_table_sql)

# %%
lab.hint("6.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The column that decides about the partition has to be part of the primary key, because each partition has its own index and there is no
# index for all partitions together. This has a price: PostgreSQL cannot ensure that a key is unique across partitions.

# %% [markdown]
# Your table gets the real chunks and, in place of issues, the made-up rows. `EXPLAIN (ANALYZE)` before a statement runs it and returns its
# [plan](../labs/GLOSSARY.md#query-plan). Read a plan from the bottom up: it says what was read and what was done with it.
#
# > **Predict.** The first plan is for a search of all partitions. Which of its lines will be missing in the second plan?

# %%
from IPython.display import display


def explain(statement, *values):
    return conn.execute(f"EXPLAIN (ANALYZE) {statement}", values).fetchall()


partitioned_table_sql = lab.use("partitioned_table_sql")
of_pieces = {"partition": "text NOT NULL", **COLUMNS}, ["partition", *KEY], ["documentation", "issues"]
conn.execute(f"DROP TABLE IF EXISTS pieces; {partitioned_table_sql('pieces', *of_pieces)}")
conn.execute("""
    INSERT INTO pieces (partition, document_name, chunk_index, content, embedding)
    SELECT 'documentation', document_name, chunk_index, content, embedding FROM chunks
    UNION ALL SELECT 'issues', 'made up', id, content, embedding FROM late""")
conn.execute("ANALYZE pieces")
nearest = "ORDER BY embedding <=> %s LIMIT 5"
for where in ("", "WHERE partition = 'documentation'"):
    plan = explain(f"SELECT content FROM pieces {where} {nearest}", queries[0])
    display(lab.show.plan(plan))

# %% [markdown]
# The planner compared the condition with the values that each partition may hold. It left out all partitions but one before it read a row.
# This is called pruning. A vector index, too, exists once for each partition, so a search of one partition never uses the index of another.
#
# ## A column, or a field in JSON
#
# [JSONB](../labs/GLOSSARY.md#jsonb) takes any field without a change of the table, so it is tempting to put everything there. Below, a
# column and a JSON field hold the same: the kind of text. Before the planner runs a filter, it
# [estimates](../labs/GLOSSARY.md#row-estimate) how many rows will pass.
#
# > **Predict.** For which of the two will the estimate be right?

# %% tags=["nbval-check-output"]
import re

conn.execute("DROP TABLE IF EXISTS kinds")
conn.execute(r"""
    CREATE TABLE kinds AS
    WITH decided AS (SELECT *, CASE WHEN content LIKE '%```%' THEN 'code'
        WHEN content LIKE E'%\n| %' THEN 'table' ELSE 'prose' END AS kind FROM late)
    SELECT id, kind, jsonb_build_object('kind', kind) AS metadata, embedding FROM decided""")
conn.execute("ANALYZE kinds")
for kind in ("prose", "code", "table"):
    for filter in (f"kind = '{kind}'", f"metadata->>'kind' = '{kind}'"):
        top = explain(f"SELECT id FROM kinds WHERE {filter}")[0][0]
        expected, found = re.findall(r"rows=(\d+)", top)
        print(f"{filter:28} {expected:>5} expected, {found:>5} found")

# %% [markdown]
# PostgreSQL keeps statistics about columns, but not about fields inside a JSON value. So it assumes a fixed share of the rows for every
# value. Does this matter? We add an [HNSW](../labs/GLOSSARY.md#hnsw) index, pgvector's other kind of index, and ask for the five nearest
# pieces of prose.

# %%
conn.execute("DROP INDEX IF EXISTS kinds_hnsw")  # so that you can run the cell again
conn.execute("CREATE INDEX kinds_hnsw ON kinds USING hnsw (embedding vector_cosine_ops)")
for filter in ("kind = 'prose'", "metadata->>'kind' = 'prose'"):
    plan = explain(f"SELECT id FROM kinds WHERE {filter} {nearest}", queries[0])
    display(lab.show.plan(plan))

# %% [markdown]
# With the right estimate, PostgreSQL uses the index. With the wrong estimate, it expects that few rows will be left, reads the whole table
# and sorts. So use a column for everything that you filter by, and JSONB for the rest.
#
# ## How a vector is stored
#
# If a row has more than about 2 kB, PostgreSQL moves its largest values to a side table, [TOAST](../labs/GLOSSARY.md#toast). A vector takes
# four bytes for each number and eight more. With its text, a row is often larger than this limit, and then every scan has to look up its
# vector in the side table. `STORAGE PLAIN` keeps the vector in the row.
#
# > **Predict.** PostgreSQL counts the pages of 8 kB that a query reads as *buffers*. How many more pages will an exact scan read with the
# > vectors in the side table?

# %%
for storage in ("external", "plain"):
    conn.execute(f"DROP TABLE IF EXISTS {storage}; CREATE TABLE {storage} ({columns} STORAGE {storage})")
    fill(storage, rows)
    asked = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT id FROM {storage} {nearest}"
    plan = conn.execute(asked, (queries[0],)).fetchone()[0][0]["Plan"]
    print(f"{storage:8} {plan['Shared Hit Blocks'] + plan['Shared Read Blocks']:6,} pages")

# %% [markdown]
# It reads several times as many: to fetch a vector from the side table, PostgreSQL also reads that table's index.
#
# ## How rows get in
#
# You wrote rows one by one, and waited for the server's answer to each. psycopg's `executemany` sends all rows and reads the answers
# afterwards. `fill` used binary [COPY](../labs/GLOSSARY.md#copy), which sends all rows in one stream. The index can be built before the rows
# arrive or after.
#
# > **Predict.** Order these by time, for 300 rows: COPY; single INSERTs; the same INSERTs in one transaction; `executemany`; COPY
# > into a table with an HNSW index; COPY, and the index afterwards.


# %%
from course_lib.teaching.lab.tables import seconds


def inserts():
    for row in rows[:300]:
        conn.execute("INSERT INTO bulk VALUES (%s, %s, %s)", row)


def many():
    conn.cursor().executemany("INSERT INTO bulk VALUES (%s, %s, %s)", rows[:300])


def copy():
    fill("bulk", rows[:300])


def hnsw():
    conn.execute("CREATE INDEX ON bulk USING hnsw (embedding vector_cosine_ops)")


def time_of(*steps):
    def once():
        conn.execute(f"DROP TABLE IF EXISTS bulk; CREATE TABLE bulk ({columns})")
        return sum(seconds(step) for step in steps)

    return min(once() for _ in range(3))


# %%
times = {"COPY": time_of(copy), "executemany": time_of(many), "single INSERTs": time_of(inserts)}
with conn.transaction():
    times["INSERTs, one transaction"] = time_of(inserts)
times |= {"COPY, then HNSW": time_of(copy, hnsw), "HNSW, then COPY": time_of(hnsw, copy)}
lab.show.bars({name: t / times["COPY"] for name, t in times.items()}, "Writing 300 rows, as a multiple of COPY", log=True)

# %% [markdown]
# Which order did your machine give? Each step of the scale means ten times as long. Single INSERTs make 299 more commits than INSERTs in one
# transaction, and each commit waits for the disk. COPY cannot upsert, so the library uses `executemany` with your upsert. HNSW learns no
# centres, so you may build it early. But compare the last two bars before you do this for a large table.
#
# ## Break it: a vector without a direction
#
# pgvector rejects NaN, as you saw. It accepts zeros, which is what `np.zeros` leaves if a batch is forgotten. A vector of zeros has no
# direction, so it has no cosine.
#
# > **Predict.** You ask for rows with a similarity of at least 0.9. Is the row of zeros among them?

# %% tags=["nbval-check-output"]
conn.execute("DELETE FROM tiny WHERE name = 'blank'")  # so that you can run the cell again
for vector in ("[1,2]", "[1,nan,2]", "[0,0,0]"):
    try:
        conn.execute("INSERT INTO tiny VALUES ('blank', %s)", (vector,))
        print(f"{vector:10} is taken")
    except psycopg.DataError as error:
        print(f"{vector:10} {error.diag.message_primary}")
similarity = "1 - (embedding <=> '[1,0,0]')"
passed = f"SELECT name, {similarity} FROM tiny WHERE {similarity} >= 0.9 ORDER BY 2 DESC, 1"
print(conn.execute(passed).fetchall())

# %% [markdown]
# It is even the first. Its similarity is NaN, and PostgreSQL sorts NaN above all numbers, so it passes every threshold. A constraint
# rejects such a vector: `CHECK (vector_norm(embedding) > 0)`.
#
# ## In the field
#
# psycopg and pgvector's Python package are the field's tools, and you used both directly. Many programs use them through
# [SQLAlchemy](https://docs.sqlalchemy.org). There a table is a Python object, and SQLAlchemy makes the statements.
#
# > **Predict.** SQLAlchemy makes your table `chunks` and your upsert. Which parts of your upsert will be missing?

# %%
try:
    from pgvector.sqlalchemy import VECTOR
    from sqlalchemy import Column, Integer, MetaData, Table, Text
    from sqlalchemy.dialects.postgresql import insert as insert_into
    from sqlalchemy.schema import CreateTable
except ImportError:
    print("not installed: pip install sqlalchemy, then run this cell again")
else:
    key = [Column("document_name", Text, primary_key=True), Column("chunk_index", Integer, primary_key=True)]
    others = [Column("content", Text, nullable=False), Column("embedding", VECTOR(dimension), nullable=False)]
    table = Table("chunks", MetaData(), *key, *others)
    new = insert_into(table)
    changed = {"content": new.excluded.content, "embedding": new.excluded.embedding}
    print(CreateTable(table), new.on_conflict_do_update(index_elements=KEY, set_=changed), sep="")

# %% [markdown]
# Two parts are missing. Without the `WHERE`, a second night writes all rows again. Without `updated_at`, the old time stays: an upsert ignores
# a column's `onupdate`. You can add both (`where=`, `set_=`). Take SQLAlchemy where a program has many tables; Alembic then makes the
# scripts that change them. Two more traps: `session.merge` looks first and then inserts, so it is not an upsert. And an index that belongs
# to the table object is created with the empty table, as in *early*.
#
# ## Measure
#
# The library has its own versions of your functions. `partitioned_table_sql`, in `course_lib/store/schema.py`, makes its two tables from
# the lists of columns in `course_lib/store/columns.py`. A new column is one line there: new tables, existing tables and the upsert take it
# from the list. `write_chunks`, in `course_lib/store/writer.py`, calls `replace_document` for one document after the other, in one transaction.
# Its key has more columns: each tenant, repository and branch has its own documents. The top of `write_chunks` shows what it adds to
# these functions. It checks vectors and texts. And jobs that write to the same partition, tenant, repository and branch run one after the other.
#
# The second table, `documents`, keeps the text of each document and the settings of its indexing, so the next run can skip what has not
# changed. Read the three files now; collections, tenants and the search for words belong to later labs. The search below is an exact scan in
# plain SQL. It has to find what comparing in memory found in lab 05.

# %% tags=["nbval-check-output"]
from course_lib.store import create_schema, drop_schema, write_chunks

drop_schema(conn)
create_schema(conn, dimension)
for _ in range(2):  # two nights
    print(write_chunks(conn, chunks, vectors))

# %%
from psycopg.rows import namedtuple_row

statement = """
    SELECT document_name, chunk_index, content, 1 - (embedding <=> %(query)s) AS similarity_score
    FROM document_chunks WHERE partition = 'documentation'
    ORDER BY embedding <=> %(query)s, document_name, chunk_index LIMIT 5"""


def search(question):
    cursor = conn.cursor(row_factory=namedtuple_row)
    return cursor.execute(statement, {"query": lab.encode(question)}).fetchall()


def search_in_memory(question):
    order = np.argsort(-(vectors @ lab.encode(question)), kind="stable")[:5]
    return [(chunks[i].source_path, chunks[i].custom_meta["chunkIndex"]) for i in order]


display(lab.show.ranking(search(question), question))
asked = [each.question for each in lab.questions()]
same = sum([row[:2] for row in search(each)] == search_in_memory(each) for each in asked)
print(f"the same five pieces in the same order: {same} of {len(asked)} questions")
found = lab.measure_retrieval(search)
note = "rows in PostgreSQL, exact scan"
lab.score(recall_at_5=found.recall, mrr=found.mrr, note=note)

# %% [markdown]
# ## Recap
#
# - A row's identity is its primary key. With it, an upsert makes a second run harmless.
# - A document changes in one transaction, which also deletes its stale rows.
# - Build IVFFlat when the rows are there, otherwise it finds less. You can build HNSW before or after.
# - What you filter by is a column. A partition that cannot match is never read.
# - `EXPLAIN (ANALYZE)` shows what the planner expected beside what it found.
#
# ## Three questions to test yourself
#
# 1. Why is an upsert alone not enough to keep an index fresh?
# 2. A colleague creates the IVFFlat index in the same script as the table. What will you see, and what will you not see?
# 3. Rows have 50-dimensional vectors and short texts. Does `STORAGE PLAIN` make their scans quicker?
#
# <details><summary>Answers</summary>
#
# 1. It writes the chunks of the new version, but it does not delete those that the new version lacks. Chunks after the end of a shorter
#    document stay in the table, and searches find them.
# 2. You will see queries that are quick and results that look plausible. You will not see an error: there is only a notice, which most
#    programs do not show, and some rows are not found.
# 3. No. Such a row has less than 2 kB, so its vector was never moved out. Measure before you tune.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# People often say that PostgreSQL *cannot* estimate a field of a JSONB value. Run
# `CREATE STATISTICS ON (metadata->>'kind') FROM kinds` and `ANALYZE kinds`, and look at the estimates again. What do you have to
# know beforehand that you need not know for a column? (Run both here, with `conn.execute`.)
#
# Next is [lab 07](../labs/07_search_query.ipynb), the search query: thresholds, filters, and why a filter together with an HNSW index can return
# one row where you asked for five.
