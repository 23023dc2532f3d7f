# %% [markdown]
# # 05 · A table for vectors
#
# You will build the table that the rest of the course searches, so that it stays right when a job runs twice, when a page
# gets shorter, and when something fails halfway.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | give chunks an identity, so that nothing doubles or goes stale · build a vector index at the right moment · read what the planner expects and what it found | `store/schema.py` · `store/writer.py` | 45 min | SQL; lab 04 for embeddings |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
import numpy as np
import psycopg

from course_lib.teaching import start

lab = start("05", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
conn = lab.connect(autocommit=True)  # each statement commits by itself
lab.show.pipeline("table")

# %% [markdown]
# ## The table that anybody would write
#
# Five documents, cut into [chunks](../labs/GLOSSARY.md#chunk), each with its [embedding](../labs/GLOSSARY.md#embedding). They
# have to be kept somewhere. A vector is a list of numbers, and PostgreSQL has a type for lists: JSON. Let us try that.

# %% tags=["nbval-check-output"]
from course_lib.loader import read_documents, split_document

documents = read_documents(lab.data_dir)
chunks = [chunk for document in documents for chunk in split_document(document)]
vectors = lab.encode([chunk.content for chunk in chunks])
print(len(documents), "documents,", len(chunks), "chunks, vectors of shape", vectors.shape)

# %%
from psycopg.types.json import Json


def new_table(name, columns):
    conn.execute(f"DROP TABLE IF EXISTS {name}")  # so that you can run a cell again
    conn.execute(f"CREATE TABLE {name} ({columns})")


def ingest_plain(chunks, vectors):
    rows = [
        (c.source_path, c.content, Json(v.tolist())) for c, v in zip(chunks, vectors, strict=True)
    ]
    conn.cursor().executemany("INSERT INTO plain VALUES (%s, %s, %s)", rows)


new_table("plain", "document_name text, content text, embedding json")
ingest_plain(chunks, vectors)

# %% [markdown]
# The search fetches every row and compares in Python. It works, and the job that fills the table is set to run every night.
#
# > **Predict.** After the second night: how many rows are there? You ask for the five best. How many different texts do you get?


# %% tags=["nbval-check-output"]
def search_plain(question, k=5):
    rows = conn.execute("SELECT document_name, content, embedding FROM plain").fetchall()
    scores = np.array([embedding for *_, embedding in rows]) @ lab.encode(question)
    return [rows[i][:2] for i in np.argsort(-scores, kind="stable")[:k]]


ingest_plain(chunks, vectors)  # the second night
question = "How do I undo a bad release quickly?"
for name, content in search_plain(question):
    print(f"{name}  {' '.join(content.split())[:70]}")
print(conn.execute("SELECT count(*) FROM plain").fetchone()[0], "rows")

# %% [markdown]
# Nothing in this table says which row is which, so each night adds all chunks again. Now something worse: the section about
# rollback is deleted from the page, and the job runs once more.

# %% tags=["nbval-check-output"]
from dataclasses import replace

page = documents[0]
shorter = replace(page, content=page.content.partition("\n## Rollback")[0])
pieces = split_document(shorter)
ingest_plain(pieces, lab.encode([piece.content for piece in pieces]))  # the third night
best = search_plain(question)[0][1]
print("first result:", " ".join(best.split())[:70])
print("does it stand in the page?", best in shorter.content)

# %% [markdown]
# The page no longer says this, and the search goes on quoting it: a [stale chunk](../labs/GLOSSARY.md#stale-chunk). So we want
# a table that
#
# 1. knows vectors and compares them itself,
# 2. knows which row is which, so that a second night changes nothing,
# 3. lets go of what a new version no longer has, in one step or not at all,
# 4. stays quick when it grows.

# %% [markdown]
# ## By hand: three distances
#
# [pgvector](../labs/GLOSSARY.md#pgvector) adds the type `vector(n)` and three operators: `<->`
# [Euclidean distance](../labs/GLOSSARY.md#euclidean-distance), `<#>` [inner product](../labs/GLOSSARY.md#inner-product) with
# its sign reversed, `<=>` [cosine distance](../labs/GLOSSARY.md#cosine-distance). Small always means near.
#
# | name | vector | length |
# |---|---|---|
# | east | (1, 0, 0) | 1 |
# | far east | (2, 0, 0) | 2 |
# | slant | (3, 4, 0) | 5 |
# | up | (0, 0, 2) | 2 |
#
# > **Predict.** The query is (1, 0, 0). Work out the three distances of *slant* on paper. Which row comes first by each operator?

# %% tags=["nbval-check-output"]
new_table("tiny", "name text, embedding vector(3)")
conn.execute(
    "INSERT INTO tiny VALUES ('east', '[1,0,0]'), ('far east', '[2,0,0]'), "
    "('slant', '[3,4,0]'), ('up', '[0,0,2]')"
)
for operator in ("<->", "<#>", "<=>"):
    distance = f"embedding {operator} '[1,0,0]'"
    rows = conn.execute(f"SELECT name, {distance} FROM tiny ORDER BY {distance}, name")
    print(operator, ", ".join(f"{name} {d:.3g}" for name, d in rows))

# %% [markdown]
# *Slant*: the difference is (−2, −4, 0), so `<->` is √20. The inner product is 3, so `<#>` is −3. The cosine is 3 / (1 · 5), so
# `<=>` is 1 − 0.6.
#
# Three operators, three orders. The inner product puts the longest vector first although it points elsewhere. MiniLM's vectors
# all have length 1, and for those the three orders are the same. We use `<=>`, which does not care about length.

# %% [markdown]
# ## The table of every tutorial
#
# Next step in most tutorials: a table with a vector column and, right away, an index. [IVFFlat](../labs/GLOSSARY.md#ivfflat)
# sorts vectors into cells ([`lists`](../labs/GLOSSARY.md#lists)) around centres that it learns, and a search looks into a few
# of them ([`probes`](../labs/GLOSSARY.md#probes)).
#
# Our documents are too few to need an index. So we make a crowd: each vector is a mixture of two real ones and a little
# noise, and lies where real text lies.


# %%
def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


dimension = vectors.shape[1]
random = np.random.default_rng(5)  # the same crowd on every run
one, other = random.integers(0, len(chunks), (2, 5000))
share = random.random((5000, 1))
mixture = unit(share * vectors[one] + (1 - share) * vectors[other])
crowd = unit(mixture + 0.3 * unit(random.normal(size=mixture.shape)))


# %%
def fill(table, count=5000):
    with conn.cursor().copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int4", "text", "vector"])
        for i in range(count):
            copy.write_row((i, chunks[one[i]].content, crowd[i]))


columns = f"id int, content text, embedding vector({dimension})"
new_table("early", columns)
new_table("late", columns)

# %% [markdown]
# The same index on two tables. The table *early* gets it while it is empty, as a script of DDL would do it; *late* gets it when
# its rows are there. psycopg hides the server's notices unless you ask for them.
#
# > **Predict.** The centres of *early* were learned from no rows at all. Will that matter, and how much?


# %%
def say(notice):
    print(f"{notice.severity}: {notice.message_primary}. {notice.message_hint}.")


ivfflat = "CREATE INDEX ON {} USING ivfflat (embedding vector_cosine_ops) WITH (lists = 100)"
conn.add_notice_handler(say)
conn.execute(ivfflat.format("early"))
conn.remove_notice_handler(say)
fill("early")

fill("late")
conn.execute(ivfflat.format("late"))

# %% [markdown]
# An index of this kind may miss rows. Its [recall](../labs/GLOSSARY.md#recall) is the share of the true ten nearest that it
# finds; the truth comes from an [exact scan](../labs/GLOSSARY.md#exact-scan), which looks at every row.

# %%
asked = [each.question for each in lab.questions()]
queries = lab.encode(asked)


def ten_nearest(table, query):
    rows = conn.execute(f"SELECT id FROM {table} ORDER BY embedding <=> %s LIMIT 10", (query,))
    return {row[0] for row in rows}


def recall(table, vectors):
    truth = [set(np.argsort(-(vectors @ query))[:10].tolist()) for query in queries]
    hits = [len(ten_nearest(table, q) & right) for q, right in zip(queries, truth, strict=True)]
    return np.mean(hits) / 10


# %%
from time import perf_counter


def seconds(work, *arguments):
    begun = perf_counter()
    work(*arguments)
    return perf_counter() - begun


def all_queries(table):
    for query in queries:
        ten_nearest(table, query)


# %%
conn.execute("SET enable_seqscan = off")  # the index, also where the planner would rather not
points = {"early": [], "late": []}
for probes in (1, 5, 10, 20, 40):
    conn.execute(f"SET ivfflat.probes = {probes}")
    for table, series in points.items():
        milliseconds = seconds(all_queries, table) * 1000 / len(queries)
        series.append((milliseconds, recall(table, crowd), f"{probes}"))
conn.execute("RESET enable_seqscan")
empty, full = (series[2][1] for series in points.values())
print(f"at 10 probes: early {empty:.2f}, late {full:.2f}: {empty / full:.0%} of what it could find")
lab.show.recall_latency(points, "IVFFlat on 5,000 rows, the numbers are the probes")

# %% [markdown]
# Ten probes, the square root of `lists`, is what pgvector's documentation suggests to start with. Look at one probe, the default,
# too: there the gap is wider still. With no rows to learn from, pgvector makes the centres up at random, and they stay as they are
# however much data arrives later.
#
# The server said so, in the notice above. Most programs never show it.

# %% [markdown]
# ## Exercise 5.1: rows that know who they are
#
# Back to the real chunks and to the second wish. What makes a chunk *that* chunk is its document and its place in the document,
# so these two columns are the [primary key](../labs/GLOSSARY.md#primary-key). A row that has no identity, text or vector is
# refused as well. Write the statement that creates the table.


# %% exercise="5.1"
def chunks_table_sql(dimension: int = 384) -> str:
    """Return the SQL that creates the table `chunks`.

    Its columns are `document_name` (text), `chunk_index` (integer), `content` (text) and
    `embedding` (a vector of `dimension` numbers). None may be NULL. No two rows have both the same
    document and the same index.

    Examples
    --------
    >>> conn.execute(chunks_table_sql(3))
    then  ('a.md', 0, 'Hi', '[1,2,3]')   is stored
    again ('a.md', 0, 'Ho', '[3,2,1]')   UniqueViolation
    and   ('a.md', 1, 'Hi', '[1,2]')     DataException: expected 3 dimensions, not 2
    """
    ### BEGIN SOLUTION
    return f"""
        CREATE TABLE chunks (
            document_name text NOT NULL,
            chunk_index   integer NOT NULL,
            content       text NOT NULL,
            embedding     vector({dimension}) NOT NULL,
            PRIMARY KEY (document_name, chunk_index)
        )
    """
    ### END SOLUTION


# %%
lab.check("5.1", chunks_table_sql)

# %%
lab.hint("5.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The dimension is part of the column's type, so a vector of another model is refused at the door. The key over both columns
# also gives the table a [B-tree index](../labs/GLOSSARY.md#b-tree-index) that begins with the document's name, which is what
# finds "all rows of this document" later on.

# %% tags=["nbval-check-output"]
chunks_table_sql = lab.use("chunks_table_sql")
conn.execute("DROP TABLE IF EXISTS chunks")
conn.execute(chunks_table_sql(dimension))
names = ("document_name", "chunk_index", "content", "embedding")
insert = f"INSERT INTO chunks ({', '.join(names)}) VALUES (%({')s, %('.join(names)})s)"
rows = [
    dict(zip(names, (c.source_path, c.custom_meta["chunkIndex"], c.content, vector), strict=True))
    for c, vector in zip(chunks, vectors, strict=True)
]
try:
    conn.execute(insert, rows[0])
    conn.execute(insert, rows[0])  # the second night
except psycopg.errors.UniqueViolation as error:
    print(error.diag.message_detail)

# %% [markdown]
# ## Exercise 5.2: insert, or else update
#
# An error is better than a silent double, but a job should be able to run twice. An [upsert](../labs/GLOSSARY.md#upsert) inserts
# a row, or updates the one that is there. On another table it looks like this; `excluded` is the row that wanted to come in:
#
# ```sql
# INSERT INTO visits (page, times) VALUES ('index', 1)
# ON CONFLICT (page) DO UPDATE SET times = visits.times + excluded.times
# WHERE visits.page <> 'hidden'
# ```


# %% exercise="5.2"
def upsert_sql() -> str:
    """Return one statement that inserts a row into `chunks`, or updates the row with its identity.

    The values are the placeholders `%(document_name)s`, `%(chunk_index)s`, `%(content)s` and
    `%(embedding)s`. An update takes over text and vector. A row that is equal already is left
    alone, which one sees in the number of rows that the statement touched.

    Examples
    --------
    >>> conn.execute(upsert_sql(), row).rowcount                         # a new row
    1
    >>> conn.execute(upsert_sql(), row).rowcount                         # the same once more
    0
    >>> conn.execute(upsert_sql(), row | {"content": "New."}).rowcount   # another text
    1
    """
    ### BEGIN SOLUTION
    return """
        INSERT INTO chunks (document_name, chunk_index, content, embedding)
        VALUES (%(document_name)s, %(chunk_index)s, %(content)s, %(embedding)s)
        ON CONFLICT (document_name, chunk_index)
        DO UPDATE SET content = excluded.content, embedding = excluded.embedding
        WHERE (chunks.content, chunks.embedding)
            IS DISTINCT FROM (excluded.content, excluded.embedding)
    """
    ### END SOLUTION


# %%
lab.check("5.2", upsert_sql)

# %%
lab.hint("5.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `ON CONFLICT` is decided by the primary key's index, so two jobs at once cannot slip past it, as they can with "look first, then
# insert". The `WHERE` is not cosmetic: PostgreSQL updates by writing a new copy of the row and of its index entries, which is
# dear for vectors.

# %% tags=["nbval-check-output"]
upsert_sql = lab.use("upsert_sql")
conn.execute("TRUNCATE chunks")
for night in (1, 2):
    written = sum(conn.execute(upsert_sql(), row).rowcount for row in rows)
    total = conn.execute("SELECT count(*) FROM chunks").fetchone()[0]
    print(f"night {night}: {written} rows written, {total} in the table")

# %% [markdown]
# The operation is now [idempotent](../labs/GLOSSARY.md#idempotent). But an upsert deletes nothing, so stale chunks stay; and
# a document is many rows. Suppose page one gets a second edition, and the model hands over a broken vector in the middle.
#
# > **Predict.** The loop below stops with an error. What does the table hold of this page?

# %% tags=["nbval-check-output"]
edition = [
    row | {"content": f"[2nd] {row['content']}"}
    for row in rows
    if row["document_name"] == page.name
]
edition[12]["embedding"] = np.full(dimension, np.nan, dtype=np.float32)
count_editions = """
    SELECT count(*) FILTER (WHERE starts_with(content, '[2nd]')),
           count(*) FILTER (WHERE NOT starts_with(content, '[2nd]'))
    FROM chunks WHERE document_name = %s"""
try:
    for row in edition:
        conn.execute(upsert_sql(), row)
except psycopg.Error as error:
    print(error.diag.message_primary)
print("second and first edition:", conn.execute(count_editions, (page.name,)).fetchone())

# %% [markdown]
# ## Exercise 5.3: all of a document, or nothing
#
# A page that is half old and half new is worse than an old one. Put the whole change into one
# [transaction](../labs/GLOSSARY.md#transaction): with psycopg, `with conn.transaction():` commits where its block ends and takes
# everything back where an exception leaves it. Inside a transaction of the caller's it becomes a part of that one.


# %% exercise="5.3"
def replace_document(conn, document_name, contents, vectors) -> tuple[int, int]:
    """Make `chunks` hold exactly these pieces of a document, or change nothing.

    Piece i has the text `contents[i]`, the vector `vectors[i]` and the chunk_index i, and is
    written with `upsert_sql()`. Rows of this document from `len(contents)` on are deleted. If
    anything fails, the exception goes on to the caller, and the table is as it was before.
    `conn` is in autocommit mode or inside a transaction of the caller's.

    Returns how many rows were written (new or changed) and how many deleted.

    Examples
    --------
    >>> replace_document(conn, "a.md", ["one", "two", "three"], three_vectors)
    (3, 0)
    >>> replace_document(conn, "a.md", ["one", "2"], three_vectors[:2])
    (1, 1)
    """
    ### BEGIN SOLUTION
    with conn.transaction():
        written = 0
        for index, (content, vector) in enumerate(zip(contents, vectors, strict=True)):
            row = {
                "document_name": document_name,
                "chunk_index": index,
                "content": content,
                "embedding": vector,
            }
            written += conn.execute(upsert_sql(), row).rowcount
        deleted = conn.execute(
            "DELETE FROM chunks WHERE document_name = %s AND chunk_index >= %s",
            (document_name, len(contents)),
        ).rowcount
    return written, deleted
    ### END SOLUTION


# %%
lab.check("5.3", replace_document)

# %%
lab.hint("5.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `conn.transaction()` opens a transaction, or a savepoint where one is open already, so that whoever calls several of these can
# still make them one. Readers see the old page until the commit and the new one after it, and never a mixture.

# %% tags=["nbval-check-output"]
replace_document = lab.use("replace_document")
own = [row for row in rows if row["document_name"] == page.name]
texts, embeddings = [r["content"] for r in own], [r["embedding"] for r in own]
print("repair:  ", replace_document(conn, page.name, texts, embeddings))

try:
    broken = [row["embedding"] for row in edition]
    replace_document(conn, page.name, [row["content"] for row in edition], broken)
except psycopg.Error as error:
    print("broken:  ", error.diag.message_primary)
print("second and first edition:", conn.execute(count_editions, (page.name,)).fetchone())

texts = [piece.content for piece in pieces]
print("shorter: ", replace_document(conn, page.name, texts, lab.encode(texts)))

# %% [markdown]
# The repair wrote back what the failed loop had overwritten. The broken edition left no trace. The shorter page lost its last
# rows, and with them the passage about rollback. The first three wishes are fulfilled.

# %% [markdown]
# ## Exercise 5.4: a room for each kind of source
#
# The course will index issues and code, too, and a search of the documentation should not even open them. A
# [partitioned](../labs/GLOSSARY.md#partition) table is one table to whoever writes and reads, and several tables underneath.
# `PARTITION BY LIST (column)` sorts rows by the value of a column, and a partition is declared with
# `CREATE TABLE … PARTITION OF … FOR VALUES IN ('…')`, or `… PARTITION OF … DEFAULT` for all other values.


# %% exercise="5.4"
def partitioned_table_sql(partitions: list[str], dimension: int = 384) -> str:
    """Return the SQL that creates the table `pieces` and its partitions.

    The columns are `partition` (text) and those of `chunks`, none NULL. Identity is now
    `partition`, `document_name` and `chunk_index` together. For each name there is a partition
    called `pieces_<name>` that holds the rows with this value in the column `partition`, and
    `pieces_default` takes all others. The names are lowercase letters and underscores.

    Examples
    --------
    >>> conn.execute(partitioned_table_sql(["documentation", "issues"], 3))
    then  ('issues', 'a.md', 0, 'Hi', '[1,2,3]')    lies in pieces_issues
    and   ('recipes', 'a.md', 0, 'Hi', '[1,2,3]')   lies in pieces_default
    """
    ### BEGIN SOLUTION
    statements = [
        f"""CREATE TABLE pieces (
            partition     text NOT NULL,
            document_name text NOT NULL,
            chunk_index   integer NOT NULL,
            content       text NOT NULL,
            embedding     vector({dimension}) NOT NULL,
            PRIMARY KEY (partition, document_name, chunk_index)
        ) PARTITION BY LIST (partition)"""
    ]
    for name in partitions:
        statements.append(
            f"CREATE TABLE pieces_{name} PARTITION OF pieces FOR VALUES IN ('{name}')"
        )
    statements.append("CREATE TABLE pieces_default PARTITION OF pieces DEFAULT")
    return ";\n".join(statements)
    ### END SOLUTION


# %%
lab.check("5.4", partitioned_table_sql)

# %%
lab.hint("5.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The column that decides about the partition has to be part of the primary key: each partition has an index of its own, and none
# spans them all. That is also the price: PostgreSQL cannot promise that a key is unique across partitions.

# %%
partitioned_table_sql = lab.use("partitioned_table_sql")
conn.execute("DROP TABLE IF EXISTS pieces")
conn.execute(partitioned_table_sql(["documentation", "issues"], dimension))
into = "INSERT INTO pieces (partition, document_name, chunk_index, content, embedding) SELECT"
conn.execute(f"{into} 'documentation', document_name, chunk_index, content, embedding FROM chunks")
conn.execute(f"{into} 'issues', 'crowd', id, content, embedding FROM late")  # stand-ins
conn.execute("ANALYZE pieces")

nearest = "ORDER BY embedding <=> %s LIMIT 5"
explain = "EXPLAIN (ANALYZE) SELECT content FROM pieces"
lab.show.plan(conn.execute(f"{explain} {nearest}", (queries[0],)).fetchall())

# %% [markdown]
# This is a [query plan](../labs/GLOSSARY.md#query-plan), read from the bottom up: every partition is read, the results are put
# together, sorted, and five are kept.
#
# > **Predict.** Which lines go away with `WHERE partition = 'documentation'`?

# %%
only = "WHERE partition = 'documentation'"
lab.show.plan(conn.execute(f"{explain} {only} {nearest}", (queries[0],)).fetchall())

# %% [markdown]
# The planner compared the condition with the partitions' values and left out all but one, before it read a single row. This
# is called pruning. Each partition also gets a vector index of its own, so a search of one never walks through the others.

# %% [markdown]
# ## A column, or a field in JSON
#
# [JSONB](../labs/GLOSSARY.md#jsonb) takes any field without a change of the table, so it is tempting to put everything there.
# Here both hold the same value, the kind of text. Before it runs a query, the planner
# [estimates](../labs/GLOSSARY.md#row-estimate) how many rows pass the filter.
#
# > **Predict.** For which of the two will the estimate be right?

# %% tags=["nbval-check-output"]
conn.execute("DROP TABLE IF EXISTS kinds")
conn.execute(r"""
    CREATE TABLE kinds AS
    WITH decided AS (SELECT *, CASE WHEN content LIKE '%```%' THEN 'code'
        WHEN content LIKE E'%\n| %' THEN 'table' ELSE 'prose' END AS kind FROM late)
    SELECT id, kind, jsonb_build_object('kind', kind) AS metadata, embedding FROM decided""")
conn.execute("ANALYZE kinds")


def rows_of(filter):
    explained = conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) SELECT id FROM kinds WHERE {filter}")
    plan = explained.fetchone()[0][0]["Plan"]
    return f"{plan['Plan Rows']:5} expected, {int(plan['Actual Rows']):5} found"


for kind in ("prose", "code", "table"):
    for column in ("kind", "metadata->>'kind'"):
        filter = f"{column} = '{kind}'"
        print(f"{filter:28} {rows_of(filter)}")

# %% [markdown]
# PostgreSQL keeps statistics about columns and none about what is inside a JSON value, so it falls back to a fixed share of the
# rows, whatever you ask for. Does it matter? Give the table an [HNSW](../labs/GLOSSARY.md#hnsw) index, the other kind that
# pgvector has, and ask for the five nearest.

# %%
conn.execute("CREATE INDEX ON kinds USING hnsw (embedding vector_cosine_ops)")
explain = "EXPLAIN (ANALYZE) SELECT id FROM kinds WHERE"
by_column = conn.execute(f"{explain} kind = 'prose' {nearest}", (queries[0],)).fetchall()
by_field = conn.execute(f"{explain} metadata->>'kind' = 'prose' {nearest}", (queries[0],))
print("by column:", by_column[1][0].split("  (")[0].strip())
lab.show.plan(by_field.fetchall())

# %% [markdown]
# With the right estimate it takes the index. With the wrong one it believes that few rows are left after the filter, reads the
# whole table and sorts. Nobody wrote a bad query; the planner was told nothing. So what is filtered on becomes a column, and
# JSONB keeps the rest.

# %% [markdown]
# ## How it is stored, and how it gets in
#
# A row of more than about 2 kB does not stay whole: PostgreSQL moves its largest values to a side table,
# [TOAST](../labs/GLOSSARY.md#toast). A vector of 384 numbers takes 1,544 bytes and with its text passes that mark, so it is moved,
# and a scan looks up each one. `STORAGE PLAIN` keeps it in the row.

# %%
conn.execute("SET max_parallel_workers_per_gather = 0")  # one process each: a fair comparison
for table, storage in (("outside", "EXTERNAL"), ("inside", "PLAIN")):
    new_table(table, f"id int, content text, embedding vector({dimension}) STORAGE {storage}")
    fill(table)
spent = {
    table: min(seconds(all_queries, table) for _ in range(3)) for table in ("outside", "inside")
}
ratio = spent["outside"] / spent["inside"]
print(f"with the vectors outside, an exact scan takes {ratio:.1f} times as long")

# %% [markdown]
# Now the way in. You wrote rows one by one; `fill` above used binary [COPY](../labs/GLOSSARY.md#copy), one stream for all of
# them.
#
# > **Predict.** How many times as long do 500 single INSERTs take? And if all of them share one transaction?


# %%
def single_inserts():
    for i in range(500):
        row = (i, chunks[one[i]].content, crowd[i])
        conn.execute("INSERT INTO bulk VALUES (%s, %s, %s)", row)


def in_one_transaction():
    with conn.transaction():
        single_inserts()


def by_copy():
    fill("bulk", 500)


# %%
spent = {}
for write in (by_copy, in_one_transaction, single_inserts):
    new_table("bulk", columns)
    spent[write.__name__.replace("_", " ")] = seconds(write)
relative = {name: time / spent["by copy"] for name, time in spent.items()}
lab.show.bars(relative, "500 rows, as a multiple of the time of COPY")

# %% [markdown]
# Most of what single INSERTs cost is not the INSERT: it is a commit for each, which waits for the disk. COPY cannot upsert,
# though. So the library's writer copies into a [temporary table](../labs/GLOSSARY.md#temporary-table) and runs one upsert from
# there.
#
# And the index? You know that IVFFlat must come after the data. It is often said of HNSW as well, so let us test it.


# %%
def build():
    conn.execute("CREATE INDEX ON graph USING hnsw (embedding vector_cosine_ops)")


def load():
    fill("graph", 1500)


for name, first, then in (("before", build, load), ("after", load, build)):
    new_table("graph", columns)
    spent[name] = seconds(first) + seconds(then)
    print(f"HNSW built {name} the load: recall {recall('graph', crowd[:1500]):.2f}")
print(f"built before, it takes {spent['before'] / spent['after']:.1f} times as long")

# %% [markdown]
# HNSW learns no centres, so both find the same, give or take. It is a matter of time alone: built once over rows that are
# there, it is far quicker.

# %% [markdown]
# ## Break it: vectors that are none
#
# You saw that pgvector refuses NaN. It takes a vector of zeros, which is what `np.zeros` leaves behind when a batch is forgotten.
# It has no direction, so it has no cosine.
#
# > **Predict.** With a threshold of 0.9 on the similarity: does the zero vector pass?

# %% tags=["nbval-check-output"]
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
# Its similarity is NaN, and PostgreSQL sorts NaN above every number: it passes any threshold, and a sort by similarity, largest
# first, puts it on top. A sort by distance puts it last. A constraint keeps it out:
# `CHECK (vector_norm(embedding) > 0)`.

# %% [markdown]
# ## Measure
#
# The library's schema is yours, grown up: identity as primary key, real columns for what is filtered on, LIST partitions,
# `STORAGE PLAIN`, and `write_chunks` with COPY, upsert and the deletion of stale rows in one transaction. Read it in
# `course_lib/store/schema.py` and `writer.py`; nothing in there should surprise you.

# %% tags=["nbval-check-output"]
from course_lib.store import create_schema, drop_schema, write_chunks

drop_schema(conn)
create_schema(conn, dimension)
print(write_chunks(conn, chunks, vectors))
print(write_chunks(conn, chunks, vectors))  # the second night

# %%
from psycopg.rows import namedtuple_row

statement = """
    SELECT document_name, chunk_index, content, 1 - (embedding <=> %(query)s) AS similarity_score
    FROM document_chunks
    WHERE partition = 'documentation'
    ORDER BY embedding <=> %(query)s, document_name, chunk_index
    LIMIT 5"""
encoded = dict(zip(asked, queries, strict=True))  # encoded already: what is timed is the table


def search(question):
    vector = encoded[question] if question in encoded else lab.encode(question)
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(statement, {"query": vector}).fetchall()


lab.show.ranking(search(question), question)


# %%
def search_in_memory(question):
    order = np.argsort(-(vectors @ encoded[question]), kind="stable")[:5]
    return [(chunks[i].source_path, chunks[i].custom_meta["chunkIndex"]) for i in order]


same = sum([row[:2] for row in search(text)] == search_in_memory(text) for text in asked)
print(f"the same five in the same order as in memory: {same} of {len(asked)} questions")

# %%
measured = lab.measure_retrieval(search)
lab.score(
    recall_at_5=measured.recall,
    mrr=measured.mrr,
    latency_ms=measured.latency_ms,
    note="rows in PostgreSQL, exact scan",
)

# %% [markdown]
# A table changes where the vectors live, not what is found: the figures are those of the search in memory. What you gained is
# that they stay right tomorrow.
#
# ## Recap
#
# - Identity is a primary key. With it, an upsert makes a second run harmless.
# - A document changes in one transaction, stale rows included.
# - IVFFlat is built on data, or it finds little. HNSW after a bulk load, to save time.
# - What is filtered on is a column; partitions are left out before they are read.
# - The planner's guess decides. `EXPLAIN (ANALYZE)` shows it beside the truth.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. Why does an upsert alone not keep an index fresh?
# 2. A colleague creates the IVFFlat index in the same script as the table. What will you see, and what will you not see?
# 3. Rows with 50-dimensional vectors and short texts: does `STORAGE PLAIN` make their scans quicker?
#
# <details><summary>Answers</summary>
#
# 1. It writes what the new version has and knows nothing of what it lost. Chunks beyond the end of a shorter document stay, and
#    are found.
# 2. You will see poor recall, and queries that are quick and look fine. You will not see an error: there is only a notice, which
#    most programs swallow.
# 3. No. Such a row stays below 2 kB, so its vector was never moved out. Measure before you tune.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# It is often said that PostgreSQL *cannot* estimate a JSONB field. Run
# `CREATE STATISTICS ON (metadata->>'kind') FROM kinds`, then `ANALYZE kinds`, and look at the estimates again. What would you
# have to know beforehand, compared with a column? (`course db psql --lab 05` opens this lab's database while the notebook runs.)
#
# Next is lab 06, the search query: thresholds, filters, and why an HNSW index and a filter together can return one row where
# you asked for five.
