# %% [markdown]
# # 07 · The search query
#
# You will write the query that finds the nearest chunks. It still returns the five rows that you asked for when a filter removes
# nearly all rows.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | write a nearest-neighbour query with a similarity, a threshold and filters that are safe from injection · compare HNSW with IVFFlat by measuring both · say when an index gives you too few rows, and what to do | `retriever/query.py` | about {minutes} min | SQL; lab 06 for the table |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("07", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
conn = lab.connect(autocommit=True)  # as in lab 06: connect and register_vector
lab.show.pipeline("search")

# %% [markdown]
# ## A search that returns too few rows
#
# Imagine that all texts of a company are in one table: [chunks](../labs/GLOSSARY.md#chunk) of our five documents, of a handbook and
# of a forum. We have no handbook and no forum, so we make up 12,000 rows. For each section (`doc-section`) there are nine comments.
# Each row gets the [vector](../labs/GLOSSARY.md#vector) of a real chunk, changed a little. More than half of the comments and 12 of the
# sections are old: their `namespace` is `archive`.

# %% tags=["nbval-check-output"]
from course_lib.loader import read_documents, split_document

chunks = [chunk for document in read_documents(lab.data_dir) for chunk in split_document(document)]
vectors = lab.encode([chunk.embedded_text for chunk in chunks])
print(len(chunks), "chunks of our own, vectors of shape", vectors.shape)

# %% tags=["nbval-check-output"]
import numpy as np

from course_lib.store import create_schema, drop_schema, write_chunks

random = np.random.default_rng(6)  # the same rows on every run
anchor = random.integers(0, len(chunks), 12_000)
directions = (vectors - vectors.mean(axis=0)) / np.sqrt(len(chunks))
crowd = vectors[anchor] + random.normal(size=(12_000, len(chunks))) @ directions
crowd = (crowd / np.linalg.norm(crowd, axis=1, keepdims=True)).astype(np.float32)


def made_up(n):
    document, place = divmod(n, 10)  # a section, then its nine comments
    is_section = place == 0
    is_old = document % 100 == 0 if is_section else n % 2 == 1
    fields = {
        "repo_slug": "forum" if document % 9 else "handbook",
        "source_path": f"{document:04}.md",
        "kind": "doc-section" if is_section else "comment",
        "content": f"Something about {chunks[anchor[n]].name}.",
        "custom_meta": {"chunkIndex": place, "namespace": "archive" if is_old else "current"},
    }
    return chunks[anchor[n]].model_copy(update=fields)


# Writing the rows and building the index takes a few seconds.
drop_schema(conn)  # so that you can run a cell again
create_schema(conn, vectors.shape[1])  # lab 06's tables, with a B-tree index on each column that filters use
write_chunks(conn, chunks, vectors)
write_chunks(conn, [made_up(n) for n in range(len(crowd))], crowd)
conn.execute("CREATE INDEX chunks_hnsw ON document_chunks_documentation USING hnsw (embedding vector_cosine_ops)")
conn.execute("ANALYZE document_chunks")  # the statistics from which PostgreSQL plans
for row in conn.execute("SELECT repo_slug, kind, count(*) FROM document_chunks GROUP BY 1, 2 ORDER BY 3"):
    print(*row)

# %% [markdown]
# All these rows are in one partition. It has an [HNSW](../labs/GLOSSARY.md#hnsw) index with pgvector's default settings. Building an
# HNSW index includes random choices. So the numbers in this lab may differ a little from run to run.
#
# Now we want sections only, no comments: `WHERE kind = 'doc-section'`. We ask all questions about our documents, and want the five
# nearest sections for each question.
#
# > **Predict.** More than a thousand rows pass this filter. How many of the questions get five rows?

# %%
questions = lab.questions()
queries = lab.encode([each.question for each in questions])
sections = """
    SELECT document_name, chunk_index FROM document_chunks
    WHERE kind = 'doc-section' ORDER BY embedding <=> %(query)s LIMIT 5"""


def rows_found(statement):
    return [len(conn.execute(statement, {"query": query}).fetchall()) for query in queries]


conn.execute("SET hnsw.iterative_scan = off")  # pgvector's default
conn.execute("SET hnsw.ef_search = 40")  # the default, too
counts = rows_found(sections)
print(sum(n < 5 for n in counts), "of", len(counts), "questions get fewer than five")
lab.show.bars({f"{n} of 5 rows": counts.count(n) for n in range(6)}, "How many rows the questions got", "questions")

# %% [markdown]
# There is no error and no warning: some lists are just shorter. The index returned the nearest rows, 40 of them by default. Only then
# was the [filter](../labs/GLOSSARY.md#filter) applied. The index does not replace the rows that the filter removes. You will repair this
# later in this lab. First you write the query itself.

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
# > **Predict.** Compute the four distances on paper. In which order do the rows come?

# %% tags=["nbval-check-output"]
conn.execute("DROP TABLE IF EXISTS tiny")  # so that you can run a cell again
conn.execute("CREATE TABLE tiny (name text, embedding vector(3))")
conn.execute("INSERT INTO tiny VALUES ('a', '[2,4,4]'), ('b', '[2,0,0]'), ('c', '[0,4,3]'), ('d', '[-2,-1,2]')")
for name, distance in conn.execute("SELECT name, embedding <=> '[1,2,2]' FROM tiny ORDER BY 2"):
    print(f"{name}  distance {distance:.3f}  similarity {1 - distance:.3f}")

# %% [markdown]
# The inner products are 18, 2, 14 and 0. So the distance of *c* is 1 − 14 / (3 · 5). Row *a* points in the same direction as the query.
# It is twice as long, but this does not matter. Row *d* is perpendicular to the query. People expect a high score for near rows, so
# results carry the [similarity](../labs/GLOSSARY.md#similarity-score), which is 1 − distance.
#
# ## Exercise 7.1: the plain query
#
# Now you write the same query for the real table. The vector and the number of rows are placeholders in psycopg's style, `%(query)s`.
# psycopg sends the values separately and never writes them into the statement. A placeholder may occur more than once.
#
# Only values can be placeholders. A column's name, for example, cannot be one. For such parts a statement has gaps, and psycopg's
# `sql.SQL` fills them with other pieces of SQL:
#
# ```python
# sql.SQL("SELECT {what} FROM goods ORDER BY {order}").format(what=sql.SQL("name, price"), order=sql.SQL("price"))
# ```
#
# Your statement has three gaps. `COLUMNS` lists what a result shows of its row. `condition` and `distance` keep their defaults for
# now: `EVERY_ROW`, which is `true`, and `WALK`, which is `embedding <=> %(query)s`.

# %% exercise="7.1"
from course_lib.retriever.query import nearest_sql

# %%
lab.check("7.1", nearest_sql)

# %%
lab.hint("7.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `ORDER BY similarity_score DESC` reads the whole table, because no index is sorted that way. Also, a similarity that is not a number
# would come first. The two columns after the distance decide the order of rows with the same distance. The index delivers rows by
# distance, so PostgreSQL sorts only rows with the same distance (an *incremental sort*), as the plan below shows.

# %%
from IPython.display import display
from psycopg import sql
from psycopg.rows import namedtuple_row

nearest_sql = lab.use("nearest_sql")
question = "How do I undo a bad release quickly?"
values = {"query": lab.encode(question), "top_k": 5}
with_names = conn.cursor(row_factory=namedtuple_row)  # row.similarity_score
display(lab.show.ranking(with_names.execute(nearest_sql(), values).fetchall(), question))
lab.show.plan(conn.execute(sql.SQL("EXPLAIN (ANALYZE, BUFFERS) ") + nearest_sql(), values).fetchall())

# %% [markdown]
# `EXPLAIN (ANALYZE, BUFFERS)` before a statement runs it and returns its [plan](../labs/GLOSSARY.md#query-plan). Read the innermost
# lines first. The index scan returns rows by distance. Only few rows leave it, because LIMIT stops it early. The other scans read
# the other partitions, which hold almost nothing.
#
# ## A threshold
#
# You always get five rows, because some rows are always the nearest. A
# [threshold](../labs/GLOSSARY.md#threshold) on the similarity should remove rows that have nothing to do with the question.
#
# > **Predict.** No chunk of our documents answers the questions below. Which of them is most similar to a chunk?

# %% tags=["nbval-check-output"]
unrelated = [
    "How long do I boil an egg?", "Who won the football match last night?",
    "What is the capital of France?", "How do I repair a flat bicycle tyre?",
    "How do I train for a marathon?", "What time does the train leave?",
    "Which guitar should a beginner buy?", "How do I grow tomatoes on a balcony?",
]
highest = (lab.encode(unrelated) @ vectors.T).max(axis=1)
for similarity, text in sorted(zip(highest, unrelated, strict=True), reverse=True)[:4]:
    print(f"{similarity:.2f}  {text}")

# %% [markdown]
# Our documents write about *training* models. One word in common is enough, although *train* means something else here. Now we try
# every threshold from 0 to 0.7. How many of these questions get no result? And how many of our own questions keep their answer among
# the first five results?

# %%
own = queries @ vectors.T


def answered(question, scores, threshold):
    best = [i for i in np.argsort(-scores, kind="stable")[:5] if scores[i] >= threshold]
    return any(question.is_answered_by(chunks[i].source_path, chunks[i].content) for i in best)


steps = [step / 20 for step in range(15)]
keep = [(t, np.mean([answered(q, s, t) for q, s in zip(questions, own, strict=True)])) for t in steps]
no_result = [(t, np.mean(highest < t)) for t in steps]
curves = {"answer kept": keep, "unrelated, no result": no_result}
best = max(steps, key=lambda t: min(dict(keep)[t], dict(no_result)[t]))
print(f"without a threshold, {dict(keep)[0]:.0%} of our questions have their answer among the first five results")
print(f"at {best}: {dict(keep)[best]:.0%} of our questions keep their answer, {dict(no_result)[best]:.0%} of the unrelated ones get no result")
lab.show.lines(curves, "What a threshold does", across="threshold", up="share")

# %% [markdown]
# The curve of our own questions does not start at 1, because some answers are not among the first five, even without a threshold.
#
# You will read the advice "take 0.7". Here this threshold removes nearly every answer, also the right ones: every model has a scale of
# its own. Even at the best threshold, some of our own questions lose their answer, and some unrelated questions get a result. Choose
# a low threshold, and use your own questions to find it.
#
# ## A filter that leaks
#
# Filters come from outside: from a menu, a URL or a chat. The [partition](../labs/GLOSSARY.md#partition) *issues* holds a note that
# this search must not show. The search looks at *documentation* only.
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
# The value closed the string, and the rest of it was read as SQL. AND is evaluated before OR, so rows of *issues* need to pass only the
# second half. In a [parameterised query](../labs/GLOSSARY.md#parameterised-query) a value is never read as SQL.
#
# ## Exercise 7.2: filters as parameters
#
# Write one function for all filters. It returns a condition, for the gap of that name, and the values. `sql.Identifier` quotes the
# name of a column. `format` and `join` combine pieces of SQL, and `= ANY(…)` compares with each element of a list:
#
# ```python
# sql.SQL("{} < {}").format(sql.Identifier("price"), sql.Placeholder("most"))   # "price" < %(most)s
# sql.SQL(", ").join([sql.Identifier("price"), sql.Identifier("name")])         # "price", "name"
# ```

# %% exercise="7.2"
from course_lib.retriever.query import conditions

# %%
lab.check("7.2", conditions)

# %%
lab.hint("7.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `if value` instead of `is not None` is the mistake to remember. It ignores the chunk index 0, the empty string and, worst of all, the
# empty list: a person who may see no partition would see all of them.

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
# ## Two indexes, two settings
#
# [IVFFlat](../labs/GLOSSARY.md#ivfflat) sorts the vectors into cells. A search reads only the nearest few cells, and
# [`probes`](../labs/GLOSSARY.md#probes) says how many. HNSW is a graph of neighbours. The search walks towards the query and keeps the
# best candidates in a list of length [`ef_search`](../labs/GLOSSARY.md#ef_search). With a larger value of either, a search finds more and
# reads more.
#
# ![A graph in three layers. The search begins in the top layer with few rows, goes to the neighbour that is nearest to the query until no neighbour is nearer, and continues from there in the layer below.](../labs/figures/hnsw_walk.svg)
#
# We measure what an index finds by its [recall](../labs/GLOSSARY.md#recall). The truth is the first ten rows of a scan that reads every
# row. Recall is the share of these ten that the index finds, too. You will write this measure in lab 16; here we use the library's.

# %%
from time import perf_counter

from course_lib.evaluation.metrics import recall_at

conn.execute("DROP TABLE IF EXISTS cells")
conn.execute("CREATE TABLE cells (LIKE document_chunks_documentation INCLUDING STORAGE)")
conn.execute("INSERT INTO cells TABLE document_chunks_documentation")
conn.execute("CREATE INDEX ON cells USING ivfflat (embedding vector_cosine_ops) WITH (lists = 12)")
conn.execute("ANALYZE cells")


def recall(statement, truth):
    asked = [{"query": query} for query in queries[: len(truth)]]
    found = [conn.execute(statement, each, prepare=False).fetchall() for each in asked]
    return np.mean([recall_at(*both, k=10) for both in zip(found, truth, strict=True)])


def pages(statement, queries=queries):
    asked = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"
    plans = [conn.execute(asked, {"query": query}).fetchone()[0][0]["Plan"] for query in queries]
    return np.mean([plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans])


# %% [markdown]
# The same rows are now in two tables. One has the HNSW index. The other one, *cells*, has an IVFFlat index with 12 cells: pgvector
# suggests the number of rows divided by 1,000. The truth comes from an [exact scan](../labs/GLOSSARY.md#exact-scan). With
# `enable_indexscan = off`, PostgreSQL does not use the index. `SET LOCAL` changes a setting until the transaction ends.
#
# Times differ from machine to machine. So we also count *pages*: PostgreSQL stores rows in pages of 8 kB, and how many of them a search
# reads hardly differs. The plan calls them *buffers*, and `pages` takes this number from it. A page counts each time it is visited.
#
# > **Predict.** `ef_search` goes from 10 to 200, `probes` from 1 to 6. Which index finds more for the same number of pages?

# %%
conn.execute("SET max_parallel_workers_per_gather = 0")  # one process for each search: a fair comparison
ten = "SELECT document_name, chunk_index FROM {} ORDER BY embedding <=> %(query)s LIMIT 10"
walk, cell = ten.format("document_chunks_documentation"), ten.format("cells")
with conn.transaction():
    conn.execute("SET LOCAL enable_indexscan = off")  # an exact scan
    truth = [conn.execute(cell, {"query": query}, prepare=False).fetchall() for query in queries]
settings = [("HNSW", walk, f"hnsw.ef_search = {n}") for n in (10, 20, 40, 100, 200)]
settings += [("IVFFlat", cell, f"ivfflat.probes = {n}") for n in (1, 2, 3, 4, 6)]
settings += [("exact scan", cell, "enable_indexscan = off")]
shares, times = {}, {setting: [] for _, _, setting in settings}
for turn in range(6):
    for name, statement, setting in settings:
        with conn.transaction():
            conn.execute(f"SET LOCAL {setting}")
            if turn == 0:  # no time is taken in the first pass, which also reads everything into memory
                shares[setting] = recall(statement, truth)
                print(f"{name:10} {setting:22} recall {shares[setting]:.3f}  {pages(statement):6,.0f} pages a search")
            else:
                begun = perf_counter()
                recall(statement, truth[:20])
                times[setting].append((perf_counter() - begun) * 1000 / 20)
points = {}
for name, _, setting in settings:
    label = setting.split()[-1].replace("off", "")
    points.setdefault(name, []).append((np.median(times[setting]), shares[setting], label))
lab.show.recall_latency(points, "The ten nearest of 12,000")

# %% [markdown]
# The small numbers in the chart are `ef_search` and `probes`. A time is the median of five passes, each with 20 questions.
#
# With `ef_search` at 40, HNSW finds more than IVFFlat with 3 probes, and reads about as many pages. Which of the two is quicker for the
# same recall on your machine? This depends on the data and on the size of the table, so measure with yours. One thing is the same for
# both: the first steps cost little, and the last per cent costs a lot.
#
# ## Back to the failure
#
# From version 0.8 on, pgvector can continue its walk when a filter has removed rows. This is an
# [iterative scan](../labs/GLOSSARY.md#iterative-scan). We try it with two filters, sections and archived sections. You counted the rows
# of both above.
#
# ![Rows from the nearest to the farthest; a mark shows which ones pass the filter. An index that gives its 8 nearest leaves 2 of 5 results. An iterative scan goes on until 5 have passed, after 19 rows.](../labs/figures/filter_starves.svg)
#
# > **Predict.** How many rows will each filter get? With which of the two does the walk read more pages?

# %%
archived = sections.replace("WHERE", "WHERE namespace = 'archive' AND")
for name, statement in {"sections": sections, "archived sections": archived}.items():
    for mode in ("off", "strict_order"):
        conn.execute(f"SET hnsw.iterative_scan = {mode}")
        print(f"{name:18} {mode:13} {np.mean(rows_found(statement)):.2f} of 5 rows  {pages(statement):6,.0f} pages")

# %% [markdown]
# Both get all five rows. For the sections the walk reads about 30 % more pages than before. For the archived ones it reads more pages than
# an exact scan, because it visits many pages more than once. Here are four plans: without a filter, for sections, for archived sections,
# and for our own repository. LIMIT stops the scan at five, so compare the expected rows with the counts above: 1,321 sections, and 12
# archived ones. Also look how many rows the filter removed.

# %%
everything = sections.replace("kind = 'doc-section'", "partition = 'documentation'")
sections_only = "AND kind = 'doc-section'"
for more in ("", sections_only, f"{sections_only} AND namespace = 'archive'", "AND repo_slug = 'documents'"):
    plan = conn.execute("EXPLAIN (ANALYZE) " + everything.replace("ORDER", f"{more} ORDER"), {"query": queries[0]})
    display(lab.show.plan(plan.fetchall(), of=more[4:] or "without a filter"))

# %% [markdown]
# For archived sections, the planner multiplies the shares of the two conditions and
# [expects](../labs/GLOSSARY.md#row-estimate) hundreds of rows. It cannot know that there are 12. For a single column the estimate is
# right. Our repository has few rows, so PostgreSQL does not use the HNSW index: it fetches the rows that pass and compares each of them.
# A [selective](../labs/GLOSSARY.md#selectivity) filter needs this exact search.
#
# The walk has a limit, too: `hnsw.max_scan_tuples`, 20,000 rows by default.
#
# > **Predict.** How many rows must the walk visit before it finds what the exact search finds?

# %%
# No index is sorted by the distance + 0, so this is an exact search, too.
exactly = archived.replace("embedding <=> %(query)s", "(embedding <=> %(query)s) + 0")
nearest = [conn.execute(exactly, {"query": query}).fetchall() for query in queries[:20]]
walked = []
for most in (500, 1000, 2000, 5000, 10_000, 20_000):
    conn.execute(f"SET hnsw.max_scan_tuples = {most}")
    walked.append((most, recall(archived, nearest)))
print(f"the walk to the end: {pages(archived):,.0f} pages; the exact search: {pages(exactly):,.0f} pages")
conn.execute("RESET hnsw.max_scan_tuples")
curves = {"iterative scan": walked, "exact search": [(most, recall(exactly, nearest)) for most in (500, 20_000)]}
lab.show.lines(curves, "A filter that keeps one row in a thousand", across="hnsw.max_scan_tuples", up="recall")

# %% [markdown]
# When the limit ends the walk, rows are missing again, and there is no message. A walk that may continue to the end finds what the exact
# search finds, or nearly all of it, and reads hundreds of times as many pages. The exact search compares only a dozen rows.
#
# The iterative scan is still on. Now we use a threshold, once *inside* the statement and once around it.
#
# > **Predict.** No row has a similarity of 0.8. What does the walk do when the threshold is inside?

# %%
scored = "SELECT 1 - (embedding <=> %(query)s) AS similarity_score FROM document_chunks"
inside = f"{scored} WHERE 1 - (embedding <=> %(query)s) >= 0.8 ORDER BY embedding <=> %(query)s LIMIT 5"
outside = f"SELECT * FROM ({scored} ORDER BY embedding <=> %(query)s LIMIT 5) AS five WHERE similarity_score >= 0.8"
for name, statement in {"inside": inside, "outside": outside}.items():
    print(f"{name:8} {sum(rows_found(statement))} rows  {pages(statement, queries[:20]):6,.0f} pages a search")

# %% [markdown]
# Inside the statement, a threshold is one more filter. After the first row that fails, all later rows fail, too. But the index does not
# know this. It walks on, over more pages than an exact scan would read. With the threshold outside, the search fetches five rows and then
# drops those that are not similar enough.
#
# ## Exercise 7.3: five rows, whatever the filter removes
#
# Now you combine all of it. The `ways` are two expressions for the ORDER BY of your statement. With `WALK` the index can deliver the
# rows, with `LOOK_AT_ALL` it cannot. PostgreSQL estimates how many rows will pass, and decides by this number whether to walk. Sometimes the
# estimate is wrong, and the walk returns too few rows. Then your function takes the second way. `ITERATIVE` is the statement that switches
# the iterative scan on until the transaction ends.

# %% exercise="7.3"
from course_lib.retriever.query import search_filtered

# %%
lab.check("7.3", search_filtered)

# %%
lab.hint("7.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Nothing is counted first: PostgreSQL's statistics decide. If they are wrong and the walk returns too few rows, the exact search follows.
# The threshold is compared in Python, where NaN is never `>=` a number. In PostgreSQL, NaN is larger than every number.

# %% tags=["nbval-check-output"]
search_filtered = lab.use("search_filtered")
old = {"kind": "doc-section", "namespace": "archive"}
for filters in ({}, {"kind": "doc-section"}, old, {"partition": ["issues"]}):
    lengths = {len(search_filtered(conn, query, filters, threshold=-1)) for query in queries}
    print(f"{count(**filters):5} rows qualify, {lengths} are found for every question, by {filters}")

# %% [markdown]
# ## Break it
#
# A program runs the same statement all day, so PostgreSQL keeps it [prepared](../labs/GLOSSARY.md#prepared-statement). psycopg prepares
# a statement after five uses; here `prepare=True` does so at once.
#
# > **Predict.** We ask for five chunks of our documents, then ten times for five of the handbook, then for five of our documents again.
# > How many rows come each time?

# %%
prepared = """
    SELECT document_name FROM document_chunks
    WHERE repo_slug = %(repo)s ORDER BY embedding <=> %(query)s LIMIT 5"""
with lab.connect(autocommit=True) as fresh:  # a new connection: its iterative scan is off, as by default
    repos = ["documents", *["handbook"] * 10, "documents"]
    asked = [{"repo": repo, "query": queries[26]} for repo in repos]
    print("rows:", *[fresh.execute(prepared, each, prepare=True).rowcount for each in asked])
    plans = fresh.execute("SELECT custom_plans, generic_plans FROM pg_prepared_statements")
    print("planned for its values: {}, for any value: {}".format(*plans.fetchone()))

# %% [markdown]
# After five runs PostgreSQL begins to consider a generic plan: one plan for all values. It uses this plan as soon as it looks cheaper than
# the plans before it on average: here one run later. This plan assumes an average repository and walks the graph. But only one row in a
# hundred is from our documents, so the last search does not get its five.
# `plan_cache_mode = force_custom_plan` forbids such plans. `prepare=False` in your search has the same effect: PostgreSQL plans each search
# again, for the values of its filters.
#
# Last, a query vector of zeros. An encoder that fails without an error may return one. We compare it with the four vectors from the
# beginning.
#
# > **Predict.** How many of the four have a similarity of at least 0.9 to it?

# %% tags=["nbval-check-output"]
from course_lib.errors import InputError
from course_lib.retriever import Query, search

similarity = "1 - (embedding <=> '[0,0,0]')"
print(conn.execute(f"SELECT count(*) FROM tiny WHERE {similarity} >= 0.9").fetchone()[0])
try:
    search(conn, np.zeros(vectors.shape[1]))
except InputError as error:
    print(error)

# %% [markdown]
# All four: the similarity is NaN, and for PostgreSQL NaN is larger than any number.
#
# ## Measure
#
# The library's `search` is made of the same functions, in the course's version. Around them, it checks its arguments, sets `ef_search`
# by the size of the table, and explains errors in words. Read `course_lib/retriever/query.py`: you know its parts now. We ask both
# searches about our own documents. For comparison, a search in memory sees nothing but our documents.

# %%
encoded = {each.question: query for each, query in zip(questions, queries, strict=True)}


def ask(text):
    return search(conn, encoded[text], Query(repo="documents", partitions="documentation"))


def ask_mine(text):
    return search_filtered(conn, encoded[text], {"repo_slug": "documents", "partition": "documentation"})


in_memory = np.mean([answered(q, s, 0) for q, s in zip(questions, own, strict=True)])
mine, meant = lab.measure_retrieval(ask_mine), lab.measure_retrieval(ask)
print(f"recall@5 by meaning: yours {mine.recall:.2f}, the library's {meant.recall:.2f}, in memory {in_memory:.2f}")

# %% [markdown]
# Both searches find the right rows among 12,000 others, with the same recall as over our documents alone: the filter costs no quality.

# %%
lab.score(recall_at_5=meant.recall, mrr=meant.mrr, note="an index and filters")

# %% [markdown]
# ## In the field
#
# LangChain's [PGVectorStore](https://github.com/langchain-ai/langchain-postgres) makes the table, the upsert and the query for you. **Not
# run here**, because its package needs an older version of `pgvector` than this course:
#
# ```python
# from langchain_postgres import Column, PGEngine, PGVectorStore  # pip install langchain-postgres
# from langchain_postgres.v2.indexes import HNSWIndex
#
# engine = PGEngine.from_connection_string("postgresql+psycopg://user:password@host:5432/database")
# engine.init_vectorstore_table("pages", 384, metadata_columns=[Column("kind", "TEXT")])
# store = PGVectorStore.create_sync(engine, embeddings, "pages", metadata_columns=["kind"])
# store.add_documents(documents)
# store.apply_vector_index(HNSWIndex())
# store.similarity_search_with_score("How do I roll back?", k=5, filter={"kind": "doc-section"})
# ```
#
# Take it where a program uses LangChain anyway. Values are parameters there, too. In version 0.0.19 you can now see three problems:
#
# - You can set `ef_search`, but not the iterative scan. So the search above may return fewer than five rows, without an error.
#   `?options=-c%20hnsw.iterative_scan%3Dstrict_order` at the end of the URL repairs this.
# - Its score is the distance: small means near.
# - Fields that are not in `metadata_columns` are stored as JSON, and PostgreSQL has no statistics about fields in JSON.

# %% [markdown]
# ## Recap
#
# - Sort by the distance itself, otherwise PostgreSQL cannot use the index. Sort rows of equal distance by name.
# - Values are parameters, names are identifiers, and an empty list lets no row pass.
# - The index returns its nearest rows first, then the filter removes some of them. So there may be too few rows, without an error. Iterative
#   scans repair this for filters that keep many rows, and an exact search for filters that keep few.
# - A threshold belongs outside the statement. Choose its value with your own questions.
# - Larger values of `ef_search` and `probes` find more and cost more. Measure against an exact scan.
#
# ## Three questions to test yourself
#
# 1. A table has ten million rows, and a filter keeps half of them. Which way does `search_filtered` take, and what decides this?
# 2. A search finds nothing, and a threshold of 0.8 inside the statement makes it slow. Why?
# 3. A colleague reports recall 1.0 for `probes = lists`. What was measured?
#
# <details><summary>Answers</summary>
#
# 1. The walk with an iterative scan, because every second row passes. PostgreSQL decides this by its statistics about the filter's value.
# 2. For the index, the threshold is a filter that no row passes. So it walks on until `hnsw.max_scan_tuples`. It does not know that all
#    rows farther away are even less similar.
# 3. An exact scan: all cells are read.
#
# </details>
#
# ## Stretch, and what comes next
#
# Change the made-up rows in *all* directions: add `random.normal(size=(12_000, 384)) / 30` instead of the real directions. Then draw the
# curves of the two indexes again. Which index finds less than before?
#
# Next is [lab 09](../labs/09_retrieval_api.ipynb). There this query becomes an API that answers requests, says when it is ready, and
# returns clear errors.
