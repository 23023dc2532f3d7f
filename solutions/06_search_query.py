# %% [markdown]
# # 06 · The search query
#
# You will write the query that finds the nearest chunks, and that still brings the five rows you asked for when a filter throws
# nearly everything away.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | write a nearest-neighbour query with a similarity, a threshold and filters that nobody can inject into · weigh HNSW against IVFFlat by measuring both · say when an index gives you too few rows, and what to do | `retriever/query.py` | 45 min | SQL; lab 05 for the table |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from psycopg.rows import namedtuple_row

from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("06", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
conn = lab.connect(autocommit=True)  # the lab's own database; each statement commits
lab.show.pipeline("search")

# %% [markdown]
# ## Five, please
#
# Imagine a whole company in one table: [chunks](../labs/GLOSSARY.md#chunk) of our five documents, of a handbook and of a forum.
# The last two are stand-ins. Each of their [vectors](../labs/GLOSSARY.md#vector) is a real one, moved in directions in which real
# texts differ, so it lies where text lies.

# %% tags=["nbval-check-output"]
from course_lib.loader import read_documents, split_document

chunks = [chunk for document in read_documents(lab.data_dir) for chunk in split_document(document)]
vectors = lab.encode([chunk.content for chunk in chunks])
print(len(chunks), "chunks of our own, vectors of shape", vectors.shape)

# %%
import numpy as np

random = np.random.default_rng(6)  # the same crowd on every run
anchor = random.integers(0, len(chunks), 12_000)
directions = (vectors - vectors.mean(axis=0)) / np.sqrt(len(chunks))
crowd = vectors[anchor] + random.normal(size=(12_000, len(chunks))) @ directions
crowd = (crowd / np.linalg.norm(crowd, axis=1, keepdims=True)).astype(np.float32)


def stand_in(n):
    is_page = n % 10 == 0  # the others are comments
    is_old = n % 1000 == 0 if is_page else n % 2 == 1
    fields = {
        "repo_slug": "handbook" if is_page else "forum",
        "source_path": f"{'page' if is_page else 'comment'}-{n:05}",
        "kind": "doc-section" if is_page else "comment",
        "content": f"Something about {chunks[anchor[n]].name}.",
        "custom_meta": {"chunkIndex": 0, "namespace": "archive" if is_old else "current"},
    }
    return chunks[anchor[n]].model_copy(update=fields)


# %% tags=["nbval-check-output"]
from course_lib.store import build_vector_indexes, create_schema, write_chunks

create_schema(conn, vectors.shape[1])  # lab 05's tables
write_chunks(conn, chunks, vectors)
write_chunks(conn, [stand_in(n) for n in range(len(crowd))], crowd)
build_vector_indexes(conn)  # HNSW
conn.execute("ANALYZE document_chunks")
for row in conn.execute("SELECT repo_slug, kind, count(*) FROM document_chunks GROUP BY 1, 2 ORDER BY 3"):
    print(*row)

# %% [markdown]
# Somebody wants pages and no comments: `WHERE kind = 'doc-section'`. All the questions about our documents are asked, each for the
# five nearest.
#
# > **Predict.** More than a thousand rows qualify. How many of the questions get their five?

# %%
questions = lab.questions()
queries = lab.encode([each.question for each in questions])
sections = """
    SELECT document_name, chunk_index FROM document_chunks
    WHERE kind = 'doc-section' ORDER BY embedding <=> %s LIMIT 5"""


def rows_found(statement):
    return [len(conn.execute(statement, (query,)).fetchall()) for query in queries]


counts = rows_found(sections)
lab.show.bars({f"{n} rows": counts.count(n) for n in range(6)}, "Five were asked for", "questions")

# %% [markdown]
# No error and no warning: a shorter list, and nobody notices. The [HNSW](../labs/GLOSSARY.md#hnsw) index handed over the rows
# that lie nearest, 40 of them by default, and only then was the [filter](../labs/GLOSSARY.md#filter) applied. What it
# threw away is not replaced. You will mend this; first the query itself.

# %% [markdown]
# ## By hand: four distances
#
# [Cosine distance](../labs/GLOSSARY.md#cosine-distance) is 1 minus the [inner product](../labs/GLOSSARY.md#inner-product)
# divided by both lengths. The query is (1, 2, 2), and its length is 3.
#
# | name | vector | length |
# |---|---|---|
# | a | (2, 4, 4) | 6 |
# | b | (2, 0, 0) | 2 |
# | c | (0, 4, 3) | 5 |
# | d | (−2, −1, 2) | 3 |
#
# > **Predict.** Take a pen: the four distances, and the order.

# %% tags=["nbval-check-output"]
conn.execute("DROP TABLE IF EXISTS tiny")  # so that you can run a cell again
conn.execute("CREATE TABLE tiny (name text, embedding vector(3))")
conn.execute("INSERT INTO tiny VALUES ('a', '[2,4,4]'), ('b', '[2,0,0]'), ('c', '[0,4,3]'), ('d', '[-2,-1,2]')")
for name, distance in conn.execute("SELECT name, embedding <=> '[1,2,2]' FROM tiny ORDER BY 2"):
    print(f"{name}  distance {distance:.3f}  similarity {1 - distance:.3f}")

# %% [markdown]
# The inner products are 18, 2, 14 and 0. So *c* lies at 1 − 14 / (3 · 5); *a* points the same way, and that it is twice as long
# does not matter; *d* is perpendicular. People expect a score that is large for near, so results carry the
# [similarity](../labs/GLOSSARY.md#similarity-score), 1 − distance.
#
# ## Exercise 6.1: the plain query
#
# The same on the real table. The vector and the number of rows are placeholders in psycopg's style, `%(query)s`: values travel
# beside the statement and are never written into it. One placeholder may occur more than once.

# %% exercise="6.1"
def nearest_sql() -> str:
    """Return the statement that finds the rows of `document_chunks` nearest to a vector.

    Its placeholders are `%(query)s`, a vector, and `%(top_k)s`, how many rows. Its columns are
    `document_name`, `chunk_index`, `content` and `similarity_score`, the cosine similarity. The
    nearest row comes first; equals come by document name, then by chunk index. A vector index
    serves an `ORDER BY embedding <=> …` and no other; the statement has to be one that it serves.

    Examples
    --------
    >>> conn.execute(nearest_sql(), {"query": vector, "top_k": 2}).fetchall()
    [('a.md', 0, 'Roll back at once.', 0.81), ('b.md', 3, 'A release …', 0.64)]
    """
    ### BEGIN SOLUTION
    return """
        SELECT document_name, chunk_index, content, 1 - (embedding <=> %(query)s) AS similarity_score
        FROM document_chunks
        ORDER BY embedding <=> %(query)s, document_name, chunk_index
        LIMIT %(top_k)s
    """
    ### END SOLUTION


# %%
lab.check("6.1", nearest_sql)

# %%
lab.hint("6.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `ORDER BY similarity_score DESC` gives the same rows and reads the whole table for them: no index is sorted that way. The two
# names behind the distance settle ties. The index delivers by distance, and PostgreSQL sorts only the equals among them (an
# *incremental sort*).

# %%
nearest_sql = lab.use("nearest_sql")
conn.row_factory = namedtuple_row  # rows with names: row.similarity_score
question = "How do I undo a bad release quickly?"
values = {"query": lab.encode(question), "top_k": 5}
lab.show.ranking(conn.execute(nearest_sql(), values).fetchall(), question)

# %% [markdown]
# ## A threshold
#
# Comments, pages and documents, mixed. Five rows always come, because something is always nearest. A
# [threshold](../labs/GLOSSARY.md#threshold) on the similarity should turn away what has nothing to do with the question.
#
# > **Predict.** Below are strangers: questions that no chunk of our documents answers. Which of them comes nearest to one?

# %% tags=["nbval-check-output"]
strangers = [
    "How long do I boil an egg?", "Who won the football match last night?",
    "What is the capital of France?", "How do I repair a flat bicycle tyre?",
    "How do I train for a marathon?", "What time does the train leave?",
    "Which guitar should a beginner buy?", "How do I grow tomatoes on a balcony?",
]  # fmt: skip
strange = (lab.encode(strangers) @ vectors.T).max(axis=1)
for similarity, text in sorted(zip(strange, strangers, strict=True), reverse=True)[:4]:
    print(f"{similarity:.2f}  {text}")

# %% [markdown]
# You *train* models, and that is enough. Now every threshold from 0 to 0.7: how many strangers does it turn away, and how many
# of our own questions keep their answer among the first five?

# %%
own = queries @ vectors.T


def answered(question, scores, threshold):
    best = [i for i in np.argsort(-scores, kind="stable")[:5] if scores[i] >= threshold]
    return any(question.is_answered_by(chunks[i].source_path, chunks[i].content) for i in best)


steps = [step / 20 for step in range(15)]
keep = [(t, np.mean([answered(q, s, t) for q, s in zip(questions, own, strict=True)])) for t in steps]
turn_away = [(t, np.mean(strange < t)) for t in steps]
curves = {"questions that keep their answer": keep, "strangers turned away": turn_away}
lab.show.lines(curves, "What a threshold does", across="threshold", up="share")

# %% [markdown]
# "Take 0.7" is advice you will read. Here nothing survives it, right answers included: every model has a scale of its own, and
# where the two curves cross, both sides lose something. Set a threshold low, and from your own questions.

# %% [markdown]
# ## A filter that leaks
#
# Filters come from outside: a menu, a URL, a chat. In the [partition](../labs/GLOSSARY.md#partition) *issues* lies a note that
# this search must not show; it looks at *documentation* only.
#
# > **Predict.** What does the second call print?

# %% tags=["nbval-check-output"]
secret = "Incident 88: nobody could sign in after the update. The root password is tulip-42."
fields = {"source_path": "incident-88.md", "repo_slug": "incidents", "kind": "note", "content": secret}
with lab.connect() as other:
    write_chunks(other, [chunks[0].model_copy(update=fields)], lab.encode([secret]), partition="issues")


def first_in(repo, question):
    statement = f"""
        SELECT repo_slug, content FROM document_chunks
        WHERE partition = 'documentation' AND repo_slug = '{repo}'
        ORDER BY embedding <=> %s LIMIT 1"""
    return tuple(conn.execute(statement, (lab.encode(question),)).fetchone())


print(first_in("forum", "What is the root password?")[0])
print(first_in("forum' OR partition = 'issues", "What is the root password?"))

# %% [markdown]
# The value ended the string and went on as SQL: AND binds more tightly than OR, so the second half stands alone. In a
# [parameterised query](../labs/GLOSSARY.md#parameterised-query) a value can never do that.
#
# ## Exercise 6.2: filters as parameters
#
# Write one function for all filters. Names of columns cannot be parameters; `sql.Identifier` quotes them. Pieces of SQL are put
# together by `format` and `join`, and `= ANY(…)` compares with each element of a list:
#
# ```python
# sql.SQL("{} < {}").format(sql.Identifier("price"), sql.Placeholder("most"))   # "price" < %(most)s
# sql.SQL(", ").join([sql.Identifier("price"), sql.Identifier("name")])         # "price", "name"
# ```

# %% exercise="6.2"
from psycopg import sql


def conditions(filters: dict) -> tuple[sql.Composable, dict]:
    """Turn filters into a condition for WHERE, and the values for its placeholders.

    `filters` says for names of columns what has to be there: one value; a list, of which it has to
    be one element (none passes an empty list); or None, which means anything. A row has to pass
    all of them. Without any, the condition is `true`. Each placeholder bears its column's name.

    Examples
    --------
    >>> condition, values = conditions({"kind": "note", "partition": ["issues", "code"], "name": None})
    >>> print(condition.as_string())
    "kind" = %(kind)s AND "partition" = ANY(%(partition)s)
    >>> values
    {'kind': 'note', 'partition': ['issues', 'code']}
    """
    ### BEGIN SOLUTION
    values = {name: value for name, value in filters.items() if value is not None}
    parts = []
    for name, value in values.items():
        form = "{} = ANY({})" if isinstance(value, list) else "{} = {}"
        parts.append(sql.SQL(form).format(sql.Identifier(name), sql.Placeholder(name)))
    return (sql.SQL(" AND ").join(parts) if parts else sql.SQL("true")), values
    ### END SOLUTION


# %%
lab.check("6.2", conditions)

# %%
lab.hint("6.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `if value` in the place of `is not None` is the bug to remember: it drops the chunk index 0, the empty string, and, worst of all,
# the empty list. Somebody who may see no partition would see all of them.

# %% tags=["nbval-check-output"]
conditions = lab.use("conditions")


def count(**filters):
    condition, values = conditions(filters)
    statement = sql.SQL("SELECT count(*) FROM document_chunks WHERE {}").format(condition)
    return conn.execute(statement, values).fetchone()[0]


sections_kept, old_kept = count(kind="doc-section"), count(kind="doc-section", namespace="archive")
print(f"{count()} rows, {sections_kept} of them sections, {old_kept} of these archived")
print(count(repo_slug="forum' OR partition = 'issues"), "leaked;", count(partition=[]), "in no partition")

# %% [markdown]
# ## Two indexes, two knobs
#
# [IVFFlat](../labs/GLOSSARY.md#ivfflat) sorts the vectors into cells and looks into the nearest few:
# [`probes`](../labs/GLOSSARY.md#probes). HNSW is a graph of neighbours; the search walks towards the query and keeps the best
# candidates in a list of length [`ef_search`](../labs/GLOSSARY.md#ef_search). More of either finds more and takes longer.
#
# ## Exercise 6.3: how much is found?
#
# [Recall](../labs/GLOSSARY.md#recall), measured against a scan that looks at every row.

# %% exercise="6.3"
def recall_at_k(found: list, exact: list, k: int) -> float:
    """Return which share of the exact scan's first k rows an index has found.

    `found` and `exact` hold rows, best first; only the first k of each count, and their order does
    not matter. The exact scan may have fewer than k rows; if it has none, the recall is 1.

    Examples
    --------
    >>> recall_at_k(["a", "c", "x", "b"], ["a", "b", "c", "d"], 3)
    0.6666666666666666
    >>> recall_at_k(["a"], ["b", "a"], 5)
    0.5
    """
    ### BEGIN SOLUTION
    wanted = set(exact[:k])
    return len(wanted.intersection(found[:k])) / len(wanted) if wanted else 1.0
    ### END SOLUTION


# %%
lab.check("6.3", recall_at_k)

# %%
lab.hint("6.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Sets do the comparing, so a row that comes twice counts once. The divisor is what there was to find, never what was found: an
# index that returns one right row out of ten must not look perfect.

# %%
from time import perf_counter

recall_at_k = lab.use("recall_at_k")
conn.execute("DROP TABLE IF EXISTS cells")
conn.execute("CREATE TABLE cells (LIKE document_chunks_documentation INCLUDING STORAGE)")
conn.execute("INSERT INTO cells TABLE document_chunks_documentation")
conn.execute("CREATE INDEX ON cells USING ivfflat (embedding vector_cosine_ops) WITH (lists = 100)")


def measure(statement, truth, label):
    milliseconds, recalls = [], []
    for query, exact in zip(queries, truth, strict=False):
        begun = perf_counter()
        found = conn.execute(statement, (query,)).fetchall()
        milliseconds.append((perf_counter() - begun) * 1000)
        recalls.append(recall_at_k(found, exact, 10))
    return np.median(milliseconds), np.mean(recalls), label


# %% [markdown]
# The same rows now lie in two tables: one has the HNSW index, *cells* has an IVFFlat index with 100 cells. The truth comes from an
# [exact scan](../labs/GLOSSARY.md#exact-scan). In SQL, `+ 0` behind the distance is enough: no index is sorted by that.
#
# > **Predict.** `ef_search` from 10 to 400, `probes` from 1 to 50. Which index comes nearer to the upper left corner?

# %%
ten = "SELECT document_name, chunk_index FROM {} ORDER BY {} LIMIT 10"
walk = ten.format("document_chunks_documentation", "embedding <=> %s")
cell = ten.format("cells", "embedding <=> %s")
scan = ten.format("cells", "(embedding <=> %s) + 0")

conn.execute("SET max_parallel_workers_per_gather = 0")  # one process each: a fair comparison
truth = [conn.execute(scan, (query,)).fetchall() for query in queries]
points = {"HNSW": [], "IVFFlat": [], "exact scan": [measure(scan, truth, "all rows")]}
for ef_search in (10, 20, 40, 100, 200, 400):
    conn.execute(f"SET hnsw.ef_search = {ef_search}")
    points["HNSW"].append(measure(walk, truth, f"ef {ef_search}"))
for probes in (1, 2, 5, 10, 20, 50):
    conn.execute(f"SET ivfflat.probes = {probes}")
    points["IVFFlat"].append(measure(cell, truth, f"{probes} probes"))
conn.execute("RESET hnsw.ef_search")
lab.show.recall_latency(points, "The ten nearest of 12,000")

# %% [markdown]
# "HNSW is simply better" is often said. Here neither is far ahead: that depends on the data and on the size of the table, so
# measure yours. What holds everywhere: the first turns of a knob are cheap, and the last per cent is dear.
#
# ## Back to the failure
#
# From version 0.8 on pgvector can go on walking when a filter has thrown its rows away: an
# [iterative scan](../labs/GLOSSARY.md#iterative-scan). Two filters, sections and archived sections; you counted both above.
#
# > **Predict.** How many rows will each get, and which one pays more for it?

# %%
archived = sections.replace("WHERE", "WHERE namespace = 'archive' AND")
for name, statement in {"sections": sections, "archived sections": archived}.items():
    for mode in ("off", "strict_order"):
        conn.execute(f"SET hnsw.iterative_scan = {mode}")
        begun = perf_counter()
        counts = rows_found(statement)
        took = (perf_counter() - begun) * 1000 / len(counts)
        print(f"{name:18} {mode:13} {np.mean(counts):.1f} of 5 rows  {took:6.1f} ms a search")

# %% [markdown]
# All five, and for the sections it costs little. For the archived ones the walk becomes a march. Here are three
# [plans](../labs/GLOSSARY.md#query-plan): without a filter, for archived sections, and for our own repository. Compare what was
# expected, what was found, and how many rows the filter removed.

# %%
from IPython.display import display

everything = sections.replace("kind = 'doc-section'", "partition = 'documentation'")
for more in ("", "AND kind = 'doc-section' AND namespace = 'archive'", "AND repo_slug = 'documents'"):
    statement = everything.replace("ORDER", f"{more} ORDER")
    display(lab.show.plan(conn.execute(f"EXPLAIN (ANALYZE) {statement}", (queries[0],)).fetchall()))

# %% [markdown]
# The planner multiplies the shares of both and [expects](../labs/GLOSSARY.md#row-estimate) hundreds of rows; it cannot know that
# archived *sections* are rare. A single column it knows, and leaves the graph alone: it fetches the rows that pass and compares
# each. A [selective](../labs/GLOSSARY.md#selectivity) filter needs this exact way.
#
# The walk has a brake, too: `hnsw.max_scan_tuples`, 20,000 rows by default.
#
# > **Predict.** How far must it walk to find what the exact way finds?

# %%
exactly = archived.replace("embedding <=> %s", "(embedding <=> %s) + 0")
truth = [conn.execute(exactly, (query,)).fetchall() for query in queries[:20]]
walked = {}
for most in (500, 1000, 2000, 5000, 10_000, 20_000):
    conn.execute(f"SET hnsw.max_scan_tuples = {most}")
    walked[most] = measure(archived, truth, "")
exact_ms, exact_recall, _ = measure(exactly, truth, "")
print(f"the walk, at most 20,000 rows: {walked[20_000][0]:.1f} ms; the exact way: {exact_ms:.1f} ms")
curves = {"iterative scan": [(most, recall) for most, (_, recall, _) in walked.items()]}
curves["exact way"] = [(500, exact_recall), (20_000, exact_recall)]
lab.show.lines(curves, "A filter that keeps one row in a thousand", across="hnsw.max_scan_tuples", up="recall")

# %% [markdown]
# Where the brake grips, rows are missing again, without a word. The walk that may go on to the end finds five, though not always
# the nearest five, and is slower by far than a look at a dozen rows.
#
# Iterative scan is still on. Now a threshold, once *inside* the statement and once around it.
#
# > **Predict.** Nothing is as similar as 0.8. What does the walk do when the threshold is inside?

# %%
scored = "SELECT 1 - (embedding <=> %(q)s) AS similarity_score FROM document_chunks"
order = "ORDER BY embedding <=> %(q)s LIMIT 5"
inside = f"{scored} WHERE 1 - (embedding <=> %(q)s) >= 0.8 {order}"
outside = f"SELECT * FROM ({scored} {order}) AS five WHERE similarity_score >= 0.8"
for name, statement in {"inside": inside, "outside": outside}.items():
    begun = perf_counter()
    counts = [len(conn.execute(statement, {"q": query}).fetchall()) for query in queries[:20]]
    print(f"{name:8} {sum(counts)} rows  {(perf_counter() - begun) * 1000 / len(counts):6.1f} ms a search")

# %% [markdown]
# Inside, a threshold is one more filter. After the first row that fails, all others fail too; the index does not know that and
# walks on. Outside, five are fetched and the dissimilar ones dropped.
#
# ## Exercise 6.4: five, whatever the filter keeps
#
# All of it together. Your statement from 6.1 gets a WHERE and two gaps, `{condition}` and `{order}`, which
# `sql.SQL(statement).format(condition=…, order=sql.SQL(WALK))` fills. Whether few rows pass is found out by counting them, up to
# one more than `few`.

# %% exercise="6.4"
COUNT = "SELECT count(*) FROM (SELECT FROM document_chunks WHERE {condition} LIMIT %(few)s + 1) AS passing"
WALK = "embedding <=> %(query)s"
LOOK_AT_ALL = "(embedding <=> %(query)s) + 0"


def search_filtered(conn, query, filters, top_k=5, threshold=0.0, few=10_000) -> list:
    """Return the rows nearest to a vector that pass the filters: `top_k`, if that many pass.

    Up to `few` passing rows are all looked at. If there are more, the index is walked with
    `hnsw.iterative_scan = strict_order`; if it comes back with fewer than `top_k` rows, all are
    looked at after all. Of the rows found, those at least as similar as `threshold` are results; one
    whose similarity is not a number is none.

    `conn` is in autocommit mode and returns rows with names (`row.similarity_score`). The columns
    and the order are those of `nearest_sql()`, the filters those of `conditions`. The setting is for
    this search alone: `SET LOCAL …` inside `with conn.transaction():`.

    Examples
    --------
    >>> rows = search_filtered(conn, vector, {"kind": "doc-section", "namespace": "archive"}, 3)
    >>> [(row.document_name, round(row.similarity_score, 2)) for row in rows]
    [('page-03000', 0.31), ('page-11000', 0.28), ('page-00000', 0.17)]
    """
    ### BEGIN SOLUTION
    nearest = """
        SELECT document_name, chunk_index, content, 1 - (embedding <=> %(query)s) AS similarity_score
        FROM document_chunks
        WHERE {condition}
        ORDER BY {order}, document_name, chunk_index
        LIMIT %(top_k)s
    """
    condition, values = conditions(filters)
    values |= {"query": query, "top_k": top_k, "few": few}

    def run(statement, order="true"):
        composed = sql.SQL(statement).format(condition=condition, order=sql.SQL(order))
        return conn.execute(composed, values).fetchall()

    rows = []
    with conn.transaction():
        if run(COUNT)[0][0] > few:
            conn.execute("SET LOCAL hnsw.iterative_scan = strict_order")
            rows = run(nearest, WALK)
        if len(rows) < top_k:
            rows = run(nearest, LOOK_AT_ALL)
    return [row for row in rows if row.similarity_score >= threshold]
    ### END SOLUTION


# %%
lab.check("6.4", search_filtered)

# %%
lab.hint("6.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# One rule decides, and it counts instead of guessing. The index path ends in the exact one wherever it falls short. The threshold
# compares in Python, where NaN is never `>=` anything; in PostgreSQL NaN is larger than every number.

# %% tags=["nbval-check-output"]
search_filtered = lab.use("search_filtered")
old = {"kind": "doc-section", "namespace": "archive"}
for filters in ({}, {"kind": "doc-section"}, old, {"partition": ["issues"]}):
    lengths = {len(search_filtered(conn, query, filters, threshold=-1)) for query in queries}
    print(f"{count(**filters):5} rows qualify, {lengths} are found for every question, by {filters}")

# %% [markdown]
# ## Break it
#
# A program asks the same statement all day, so PostgreSQL keeps it [prepared](../labs/GLOSSARY.md#prepared-statement); psycopg
# sees to that after five uses, here at once.
#
# > **Predict.** Five of our documents' chunks, then five of the handbook's, six times, then five of our own again. What comes?

# %%
prepared = """
    SELECT document_name FROM document_chunks
    WHERE repo_slug = %(repo)s ORDER BY embedding <=> %(query)s LIMIT 5"""
with lab.connect(autocommit=True) as fresh:
    for repo in ("documents", *["handbook"] * 6, "documents"):
        rows = fresh.execute(prepared, {"repo": repo, "query": queries[0]}, prepare=True)
        print(f"{repo:10} {rows.rowcount} rows")
    plans = fresh.execute("SELECT custom_plans, generic_plans FROM pg_prepared_statements")
    print("planned for its values, and for any value:", plans.fetchone())

# %% [markdown]
# After five runs PostgreSQL weighed a generic plan, one for any value. It assumed an average repository, chose the graph, and our
# documents, one row in a hundred, starve. `plan_cache_mode = force_custom_plan` forbids that, and the library sets it.
#
# Last, a query of zeros, which an encoder that failed quietly may hand you, against the four vectors from the beginning.
#
# > **Predict.** How many of the four are at least 0.9 similar to nothing?

# %% tags=["nbval-check-output"]
from course_lib.errors import InputError
from course_lib.retriever import search

similarity = "1 - (embedding <=> '[0,0,0]')"
print(conn.execute(f"SELECT count(*) FROM tiny WHERE {similarity} >= 0.9").fetchone()[0])
try:
    search(conn, np.zeros(vectors.shape[1]))
except InputError as error:
    print(error)

# %% [markdown]
# All: the similarity is NaN, and PostgreSQL holds NaN to be larger than any number.
#
# ## Measure
#
# The library's `search` is your `search_filtered`, grown up: vectors are checked, travel in binary, and each filtered
# question is planned for its own values: PostgreSQL knows from its statistics whether to walk the index or to look at the rows. Read
# `course_lib/retriever/query.py`; nothing in there should surprise you.

# %%
encoded = {each.question: query for each, query in zip(questions, queries, strict=True)}


def ask(text, top_k=5, **more):
    return search(conn, encoded[text], top_k, repo="documents", partitions="documentation", **more)


print("by meaning:", lab.measure_retrieval(ask))

# %% [markdown]
# The right rows out of 12,000, and the same recall as over our documents alone: a filter costs no quality now, only the time to
# count. What is still missing is missed by the vectors themselves. Would words find it? And both together? The library's
# `search` takes the question's words too, and then fuses two rankings. Three of the missed questions:

# %%
by_words = """
    SELECT document_name, content FROM document_chunks, LATERAL (
        SELECT replace(plainto_tsquery('english', %s)::text, '&', '|')::tsquery AS words) AS asked
    WHERE repo_slug = 'documents'
    ORDER BY ts_rank_cd(to_tsvector('english', content), words, 1) DESC, document_name, chunk_index"""


def rank(each, rows):
    return next(n for n, row in enumerate(rows, 1) if each.is_answered_by(row.document_name, row.content))


for each in [each for each in questions if each.id in ("q18", "q38", "q56")]:
    meant = rank(each, ask(each.question, len(chunks)))
    said = rank(each, conn.execute(by_words, (each.question,)).fetchall())
    both = rank(each, ask(each.question, len(chunks), question=each.question))
    print(f"{each.question}\n  the answer by meaning: number {meant}; by words: {said}; by both: {both}")

# %% [markdown]
# A search for words lifts one of the three, and buries another, whose answer uses other words than the question. Their scores
# cannot be added, as one is a cosine and the other a count. Their *places* can:
# [reciprocal rank fusion](../labs/GLOSSARY.md#reciprocal-rank-fusion) gives every chunk 1 / (60 + place) from each ranking.
# A chunk that is third by meaning and first by words gets 1/63 + 1/61, more than one that only one of them likes.

# %%
found = lab.measure_retrieval(lambda text: ask(text, question=text))
print("by both:", found)
lab.score(recall_at_5=found.recall, mrr=found.mrr, note="hybrid: meaning and words")

# %% [markdown]
# ## Recap
#
# - Sort by the distance itself, or no index will help; settle ties by name.
# - Values are parameters, names are identifiers, and an empty list lets nothing pass.
# - An index answers first and the filter thins out: too few rows, silently. Iterative scans mend that for broad filters, the exact
#   way for narrow ones.
# - A threshold belongs outside, and its value comes from your own questions.
# - `ef_search` and `probes` buy recall with time. Measure against an exact scan.
# - Meaning and words find different things. Fuse their places, not their scores.
#
# ## Three questions to test yourself
#
# 1. Ten million rows, a filter that keeps half of them. Which way does `search_filtered` take, and why is counting them cheap?
# 2. Why does a threshold of 0.8 inside the statement make a search slow that finds nothing?
# 3. A colleague reports recall 1.0 for `probes = lists`. What did they measure?
#
# <details><summary>Answers</summary>
#
# 1. The walk with iterative scan: one row in two passes. The count stops at `few` + 1 rows, however large the table is.
# 2. To the index it is a filter that nothing passes, so it walks on until `hnsw.max_scan_tuples`. It has no idea that rows
#    farther away can only be worse.
# 3. An exact scan with a detour: all cells are looked at.
#
# </details>
#
# ## Stretch, and what comes next
#
# Make the stand-ins differ in *all* directions, adding `random.normal(size=(12_000, 384)) / 30` in the place of the real ones, and
# draw the first curves again. Which index suffers?
#
# Next is [lab 07](../labs/07_retrieval_api.ipynb), where this query gets an address: an API that answers, says when it is ready, and fails politely.
