# %% [markdown]
# # 07 · The search query
#
# You will write the query that finds the nearest chunks, and that still brings the five rows you asked for when a filter throws
# nearly everything away.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | write a nearest-neighbour query with a similarity, a threshold and filters that are safe from injection · weigh HNSW against IVFFlat by measuring both · say when an index gives you too few rows, and what to do | `retriever/query.py` | about {minutes} min | SQL; lab 06 for the table |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("07", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
conn = lab.connect(autocommit=True)  # the lab's own database; each statement commits
lab.show.pipeline("search")

# %% [markdown]
# ## Five, please
#
# Imagine a whole company in one table: [chunks](../labs/GLOSSARY.md#chunk) of our five documents, of a handbook and of a forum.
# We have no handbook and no forum, so 12,000 rows are made up, with nine comments to a page (`doc-section`). Each gets the
# [vector](../labs/GLOSSARY.md#vector) of a real chunk, changed a little. More than half of the comments and 12 of the pages are old: their
# `namespace` is `archive`.

# %% tags=["nbval-check-output"]
from course_lib.loader import read_documents, split_document

chunks = [chunk for document in read_documents(lab.data_dir) for chunk in split_document(document)]
vectors = lab.encode([chunk.embedded_text for chunk in chunks])
print(len(chunks), "chunks of our own, vectors of shape", vectors.shape)

# %% tags=["nbval-check-output"]
import numpy as np

from course_lib.store import create_schema, drop_schema, write_chunks

random = np.random.default_rng(6)  # the same crowd on every run
anchor = random.integers(0, len(chunks), 12_000)
directions = (vectors - vectors.mean(axis=0)) / np.sqrt(len(chunks))
crowd = vectors[anchor] + random.normal(size=(12_000, len(chunks))) @ directions
crowd = (crowd / np.linalg.norm(crowd, axis=1, keepdims=True)).astype(np.float32)


def stand_in(n):
    is_page = n % 10 == 0  # the others are comments
    is_old = n % 1000 == 0 if is_page else n % 2 == 1
    fields = {
        "repo_slug": "forum" if n % 9 else "handbook",
        "source_path": f"{n:05}-{'page' if is_page else 'comment'}",
        "kind": "doc-section" if is_page else "comment",
        "content": f"Something about {chunks[anchor[n]].name}.",
        "custom_meta": {"chunkIndex": 0, "namespace": "archive" if is_old else "current"},
    }
    return chunks[anchor[n]].model_copy(update=fields)


drop_schema(conn)  # so that you can run a cell again
create_schema(conn, vectors.shape[1])  # lab 06's tables, with a B-tree on each column that is filtered on
write_chunks(conn, chunks, vectors)
write_chunks(conn, [stand_in(n) for n in range(len(crowd))], crowd)
conn.execute("CREATE INDEX chunks_hnsw ON document_chunks_documentation USING hnsw (embedding vector_cosine_ops)")
conn.execute("ANALYZE document_chunks")  # the statistics from which PostgreSQL plans
for row in conn.execute("SELECT repo_slug, kind, count(*) FROM document_chunks GROUP BY 1, 2 ORDER BY 3"):
    print(*row)

# %% [markdown]
# They are all in one partition, with an [HNSW](../labs/GLOSSARY.md#hnsw) index that has pgvector's default settings. An index is
# built with some chance, so that in this lab counts of rows and pages may differ a little from one run to the next.
#
# Now pages are wanted and no comments: `WHERE kind = 'doc-section'`. All the questions about our documents are asked, each for the
# five nearest.
#
# > **Predict.** More than a thousand rows qualify. How many of the questions get their five?

# %%
questions = lab.questions()
queries = lab.encode([each.question for each in questions])
sections = """
    SELECT document_name, chunk_index FROM document_chunks
    WHERE kind = 'doc-section' ORDER BY embedding <=> %(query)s LIMIT 5"""


def rows_found(statement):
    return [len(conn.execute(statement, {"query": query}).fetchall()) for query in queries]


conn.execute("SET hnsw.iterative_scan = off")  # the default, as is 40 of this:
conn.execute("SET hnsw.ef_search = 40")
counts = rows_found(sections)
print(sum(n < 5 for n in counts), "of", len(counts), "questions get fewer than five")
lab.show.bars({f"{n} rows": counts.count(n) for n in range(6)}, "Five were asked for", "questions")

# %% [markdown]
# No error and no warning: some lists are just shorter. The index handed over the rows that are nearest, 40 of them by default, and
# only then was the [filter](../labs/GLOSSARY.md#filter) applied. What it threw away is not replaced. You will mend this; first the
# query itself.

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
# The inner products are 18, 2, 14 and 0. So the distance of *c* is 1 − 14 / (3 · 5); *a* points the same way, and that it is twice as
# long does not matter; *d* is perpendicular. People expect a large score for what is near, so results carry the
# [similarity](../labs/GLOSSARY.md#similarity-score), 1 − distance.
#
# ## Exercise 7.1: the plain query
#
# The same on the real table. The vector and the number of rows are placeholders in psycopg's style, `%(query)s`: values travel
# beside the statement and are never written into it. One placeholder may occur more than once.
#
# Whatever is no value, such as a column, cannot be a placeholder. For it a statement has gaps, which psycopg's `sql.SQL` fills with
# other pieces of SQL:
#
# ```python
# sql.SQL("SELECT {what} FROM goods ORDER BY {order}").format(what=sql.SQL("name, price"), order=sql.SQL("price"))
# ```
#
# Yours has three. `COLUMNS` lists what a result shows of its row. `condition` and `distance` stay as they are for now: every row
# passes, and the distance is the cosine's.

# %% exercise="7.1"
from course_lib.retriever.query import nearest_sql

# %%
lab.check("7.1", nearest_sql)

# %%
lab.hint("7.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `ORDER BY similarity_score DESC` reads the whole table: no index is sorted that way, and a similarity that is not a number would come
# first. The two names after the distance settle ties. The index delivers by distance, and PostgreSQL sorts only the equals among its
# rows (an *incremental sort*), as the plan below shows.

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
# To read a [plan](../labs/GLOSSARY.md#query-plan), begin with its innermost lines. The index scan gives rows by distance, and few of
# them leave it, because LIMIT stops it early. The other scans are those of the other partitions, which hold next to nothing.
#
# ## A threshold
#
# Five rows always come, because something is always nearest. A
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
# Our documents speak of *training* models, and one word in common is enough, although *train* means something else here. Now every
# threshold from 0 to 0.7: how many strangers does it turn away, and how many of our own questions keep their answer among the first
# five?

# %%
own = queries @ vectors.T


def answered(question, scores, threshold):
    best = [i for i in np.argsort(-scores, kind="stable")[:5] if scores[i] >= threshold]
    return any(question.is_answered_by(chunks[i].source_path, chunks[i].content) for i in best)


steps = [step / 20 for step in range(15)]
keep = [(t, np.mean([answered(q, s, t) for q, s in zip(questions, own, strict=True)])) for t in steps]
turn_away = [(t, np.mean(strange < t)) for t in steps]
curves = {"questions that keep their answer": keep, "strangers turned away": turn_away}
best = max(steps, key=lambda t: min(dict(keep)[t], dict(turn_away)[t]))
print(f"at {best}: {dict(keep)[best]:.0%} keep their answer, {dict(turn_away)[best]:.0%} are turned away")
lab.show.lines(curves, "What a threshold does", across="threshold", up="share")

# %% [markdown]
# "Take 0.7" is advice you will read. Here it turns away nearly every answer, even the right ones: every model has a scale of its own. Even at the
# best threshold both sides lose something. Set it low, and from your own questions.

# %% [markdown]
# ## A filter that leaks
#
# Filters come from outside: a menu, a URL, a chat. In the [partition](../labs/GLOSSARY.md#partition) *issues* there is a note that
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
# ## Exercise 7.2: filters as parameters
#
# Write one function for all filters; it returns a condition, for the gap of that name, and its values. `sql.Identifier` quotes the name of a column.
# Pieces of SQL are put together by `format` and `join`, and `= ANY(…)` compares with each element of a list:
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
# `if value` in the place of `is not None` is the bug to remember: it drops the chunk index 0, the empty string, and, worst of all,
# the empty list. A person who may see no partition would see all of them.

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
# candidates in a list of length [`ef_search`](../labs/GLOSSARY.md#ef_search). More of either finds more and reads more.
#
# ![A graph in three layers. The search begins in the top layer with few rows, goes to the neighbour that is nearest to the query until no neighbour is nearer, and continues from there in the layer below.](../labs/figures/hnsw_walk.svg)
#
# How much is found is the [recall](../labs/GLOSSARY.md#recall), measured against a scan that looks at every row: of its first ten rows,
# the share that the index has among its own. You will write this measure in lab 13; here it is the library's.

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
# The same rows are now in two tables: one has the HNSW index, *cells* has an IVFFlat index with 12 cells, which is the number of rows
# divided by 1,000, as pgvector suggests. The truth comes from an [exact scan](../labs/GLOSSARY.md#exact-scan). With
# `enable_indexscan = off` PostgreSQL reads a table without its index. `SET LOCAL` changes a setting until the transaction ends.
#
# Times differ from machine to machine. The number of pages of 8 kB that a search reads hardly does: PostgreSQL counts them for you
# as its *buffers*.
#
# > **Predict.** `ef_search` from 10 to 200, `probes` from 1 to 6. Which index finds more for the same number of pages?

# %%
conn.execute("SET max_parallel_workers_per_gather = 0")  # one process each: a fair comparison
ten = "SELECT document_name, chunk_index FROM {} ORDER BY embedding <=> %(query)s LIMIT 10"
walk, cell = ten.format("document_chunks_documentation"), ten.format("cells")
with conn.transaction():
    conn.execute("SET LOCAL enable_indexscan = off")  # an exact scan
    truth = [conn.execute(cell, {"query": query}, prepare=False).fetchall() for query in queries]
settings = [("HNSW", walk, f"hnsw.ef_search = {n}") for n in (10, 20, 40, 100, 200)]
settings += [("IVFFlat", cell, f"ivfflat.probes = {n}") for n in (1, 2, 3, 4, 6)]
points = {}
for name, statement, setting in [*settings, ("exact scan", cell, "enable_indexscan = off")]:
    with conn.transaction():
        conn.execute(f"SET LOCAL {setting}")
        begun = perf_counter()
        share = recall(statement, truth)
        milliseconds = (perf_counter() - begun) * 1000 / len(truth)
        print(f"{name:10} {setting:22} recall {share:.3f}  {pages(statement):6,.0f} pages a search")
    points.setdefault(name, []).append((milliseconds, share, setting.split()[-1]))
lab.show.recall_latency(points, "The ten nearest of 12,000")

# %% [markdown]
# With `ef_search` at 40, HNSW finds more than IVFFlat with 3 probes, and reads about as many pages. Which one is quicker for the same recall on
# your machine? That depends on the data and on the size of the table, too, so measure yours. Common to both: the first
# steps cost little, and the last per cent costs a lot.
#
# ## Back to the failure
#
# From version 0.8 on pgvector can go on walking when a filter has thrown its rows away: an
# [iterative scan](../labs/GLOSSARY.md#iterative-scan). Two filters, sections and archived sections; you counted both above.
#
# ![Rows from the nearest to the farthest; a mark shows which ones pass the filter. An index that gives its 8 nearest leaves 2 of 5 results. An iterative scan goes on until 5 have passed, after 19 rows.](../labs/figures/filter_starves.svg)
#
# > **Predict.** How many rows will each get, and which one pays more for it?

# %%
archived = sections.replace("WHERE", "WHERE namespace = 'archive' AND")
for name, statement in {"sections": sections, "archived sections": archived}.items():
    for mode in ("off", "strict_order"):
        conn.execute(f"SET hnsw.iterative_scan = {mode}")
        print(f"{name:18} {mode:13} {np.mean(rows_found(statement)):.2f} of 5 rows  {pages(statement):6,.0f} pages")

# %% [markdown]
# All five, and for the sections it costs only a few more pages. For the archived ones the walk reads more pages than an exact scan. Here are
# four plans: without a filter, for sections, for archived sections, and for our own repository. Compare what was expected, what was
# found, and how many rows the filter removed.

# %%
everything = sections.replace("kind = 'doc-section'", "partition = 'documentation'")
pages_only = "AND kind = 'doc-section'"
for more in ("", pages_only, f"{pages_only} AND namespace = 'archive'", "AND repo_slug = 'documents'"):
    statement = everything.replace("ORDER", f"{more} ORDER")
    display(lab.show.plan(conn.execute(f"EXPLAIN (ANALYZE) {statement}", {"query": queries[0]}).fetchall()))

# %% [markdown]
# For archived sections the planner multiplies the shares of both and [expects](../labs/GLOSSARY.md#row-estimate) hundreds of rows; it
# cannot know that there are 12. For a single column it knows how many rows pass. Our repository has few, so it does not use the HNSW
# index: it fetches the rows that pass and compares each. A [selective](../labs/GLOSSARY.md#selectivity) filter needs this exact way.
#
# The walk has a limit, too: `hnsw.max_scan_tuples`, 20,000 rows by default.
#
# > **Predict.** How far must it walk to find what the exact way finds?

# %%
# No index is sorted by the distance + 0, so PostgreSQL does without the HNSW index here, too.
exactly = archived.replace("embedding <=> %(query)s", "(embedding <=> %(query)s) + 0")
nearest = [conn.execute(exactly, {"query": query}).fetchall() for query in queries[:20]]
walked = []
for most in (500, 1000, 2000, 5000, 10_000, 20_000):
    conn.execute(f"SET hnsw.max_scan_tuples = {most}")
    walked.append((most, recall(archived, nearest)))
print(f"the walk to the end: {pages(archived):,.0f} pages; the exact way: {pages(exactly):,.0f} pages")
conn.execute("RESET hnsw.max_scan_tuples")
curves = {"iterative scan": walked, "exact way": [(most, recall(exactly, nearest)) for most in (500, 20_000)]}
lab.show.lines(curves, "A filter that keeps one row in a thousand", across="hnsw.max_scan_tuples", up="recall")

# %% [markdown]
# Where the limit ends the walk, rows are missing again, and no message says so. The walk that may go on to the end finds what the
# exact way finds, or nearly, and reads more than a hundred times as many pages. The exact way looks at a dozen rows.
#
# Iterative scan is still on. Now a threshold, once *inside* the statement and once around it.
#
# > **Predict.** Nothing is as similar as 0.8. What does the walk do when the threshold is inside?

# %%
scored = "SELECT 1 - (embedding <=> %(query)s) AS similarity_score FROM document_chunks"
inside = f"{scored} WHERE 1 - (embedding <=> %(query)s) >= 0.8 ORDER BY embedding <=> %(query)s LIMIT 5"
outside = f"SELECT * FROM ({scored} ORDER BY embedding <=> %(query)s LIMIT 5) AS five WHERE similarity_score >= 0.8"
for name, statement in {"inside": inside, "outside": outside}.items():
    print(f"{name:8} {sum(rows_found(statement))} rows  {pages(statement, queries[:20]):6,.0f} pages a search")

# %% [markdown]
# Inside, a threshold is one more filter. After the first row that fails, all others fail too; the index does not know that and
# walks on, over more pages than an exact scan would read. Outside, five are fetched and the dissimilar ones dropped.
#
# ## Exercise 7.3: five, whatever the filter keeps
#
# All of it together. The `ways` are two orders for your statement: `WALK`, in which the index delivers rows, and `LOOK_AT_ALL`, in which
# it cannot. How many rows will pass, PostgreSQL estimates, and it decides by that whether to walk. Where the estimate was wrong and the
# walk came back short, the second way is taken after all.

# %% exercise="7.3"
from course_lib.retriever.query import search_filtered

# %%
lab.check("7.3", search_filtered)

# %%
lab.hint("7.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Nothing is counted first: PostgreSQL's statistics decide, and wherever they mislead it into a walk that comes back short, the exact way
# ends the search. The threshold compares in Python, where NaN is never `>=` anything; in PostgreSQL NaN is larger than every number.

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
# > **Predict.** Five of our documents' chunks, then five of the handbook's, ten times, then five of our own again. How many rows come
# > each time?

# %%
prepared = """
    SELECT document_name FROM document_chunks
    WHERE repo_slug = %(repo)s ORDER BY embedding <=> %(query)s LIMIT 5"""
with lab.connect(autocommit=True) as fresh:
    repos = ["documents", *["handbook"] * 10, "documents"]
    asked = [{"repo": repo, "query": queries[26]} for repo in repos]
    print("rows:", *[fresh.execute(prepared, each, prepare=True).rowcount for each in asked])
    plans = fresh.execute("SELECT custom_plans, generic_plans FROM pg_prepared_statements")
    print("planned for its values: {}, for any value: {}".format(*plans.fetchone()))

# %% [markdown]
# After five runs PostgreSQL begins to consider a generic plan, one for any value. It assumes an average repository and walks the
# graph, where our documents are one row in a hundred: the last search does not get its five. `plan_cache_mode = force_custom_plan`
# forbids such plans. Your search gets the same with `prepare=False`: it is planned anew each time, for the values of its filters.
#
# Last, a query of zeros, which an encoder that failed quietly may hand you, against the four vectors from the beginning.
#
# > **Predict.** How many of the four are at least 0.9 similar to nothing?

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
# All: the similarity is NaN, and PostgreSQL holds NaN to be larger than any number.
#
# ## Measure
#
# Your functions are the library's: its `search` calls them. Around them it checks what it was asked, sets `ef_search` by the size of
# the table, and says in words what went wrong. Read `course_lib/retriever/query.py`: nothing in there should surprise you. Both are now
# asked about our own documents, and so is a search in memory that sees nothing else.

# %%
encoded = {each.question: query for each, query in zip(questions, queries, strict=True)}


def ask(text, top_k=5, words=None):
    query = Query(words, top_k=top_k, repo="documents", partitions="documentation")
    return search(conn, encoded[text], query)


def ask_mine(text):
    return search_filtered(conn, encoded[text], {"repo_slug": "documents", "partition": "documentation"})


in_memory = np.mean([answered(q, s, 0) for q, s in zip(questions, own, strict=True)])
mine, meant = lab.measure_retrieval(ask_mine), lab.measure_retrieval(ask)
print(f"recall@5 by meaning: yours {mine.recall:.2f}, the library's {meant.recall:.2f}, in memory {in_memory:.2f}")

# %% [markdown]
# The right rows out of 12,000, and the same recall as over our documents alone: the filter costs no quality. What is still missing is
# missed by the vectors themselves. Would words find it? Three of the missed questions:

# %%
by_words = """
    SELECT document_name, content FROM document_chunks, LATERAL (
        SELECT replace(plainto_tsquery('english', %s)::text, '&', '|')::tsquery AS words) AS asked
    WHERE repo_slug = 'documents'
    ORDER BY ts_rank_cd(to_tsvector('english', content), words, 1) DESC, document_name, chunk_index"""


def rank(each, passages):
    return next(n for n, passage in enumerate(passages, 1) if each.is_answered_by(*passage))


rankings = {}
for each in [each for each in questions if each.id in ("q09", "q25", "q56")]:
    near = [(one.document_name, one.content) for one in ask(each.question, len(chunks))]
    said = conn.execute(by_words, (each.question,)).fetchall()
    rankings[each] = near, said
    print(f"{each.question}\n  the answer by meaning: number {rank(each, near)}; by words: {rank(each, said)}")

# %% [markdown]
# A search for words lifts two of the three to the top, and puts the third further down: its answer uses other words than the
# question.
#
# ## Exercise 7.4: two rankings, one list
#
# The two scores cannot be added, because each has a scale of its own. The *places* can:
# [reciprocal rank fusion](../labs/GLOSSARY.md#reciprocal-rank-fusion) gives every chunk 1 / (60 + place) from each ranking.
# A chunk that is third by meaning and first by words gets 1/63 + 1/61, more than a chunk that is in one ranking only.
#
# ![Two rankings of four documents each, by meaning and by words, and the fused one between them. The two documents that are in both rankings are first and second.](../labs/figures/rankings_fused.svg)

# %% exercise="7.4"
from course_lib.retriever.query import fuse

# %%
lab.check("7.4", fuse)

# %%
lab.hint("7.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `sorted` leaves equals in the order in which they came, and a dictionary remembers that order. With a constant of 60 the first place counts
# little more than the second one, so that it takes two rankings to lift something to the top.

# %%
fuse = lab.use("fuse")
for each, (near, said) in rankings.items():
    both = [passage for passage, _ in fuse(near, said)]
    print(f"{each.question}\n  by both: number {rank(each, both)}")

# %%
found = lab.measure_retrieval(lambda text: ask(text, words=text))
print(f"recall@5 by meaning {meant.recall:.2f}, by both {found.recall:.2f}")
lab.score(recall_at_5=found.recall, mrr=found.mrr, note="hybrid: meaning and words")

# %% [markdown]
# Both together have two of the three among the first five. Over all questions they are about even with meaning alone: these pages say
# everything in whole sentences, and what words lift for one question they bury for another. Manifests and code are full of names that a
# model has never read. There words bring much more, which lab 13 measures.
#
# The library's `search`, asked last, takes the question's words, looks them up in an index of its own, and fuses the two lists with
# your function.
#
# ## Recap
#
# - Sort by the distance itself, or no index will help; settle ties by name.
# - Values are parameters, names are identifiers, and an empty list lets nothing pass.
# - An index answers first and the filter thins out: too few rows, silently. Iterative scans mend that for broad filters, the exact
#   way for narrow ones.
# - A threshold belongs outside, and its value comes from your own questions.
# - `ef_search` and `probes` buy recall with work. Measure against an exact scan.
# - Meaning and words find different things. Fuse their places, not their scores, and measure what it brings on your own texts.
#
# ## Three questions to test yourself
#
# 1. Ten million rows, a filter that keeps half of them. Which way does `search_filtered` take, and who decides?
# 2. Why does a threshold of 0.8 inside the statement make a search slow that finds nothing?
# 3. A colleague reports recall 1.0 for `probes = lists`. What did they measure?
#
# <details><summary>Answers</summary>
#
# 1. The walk with iterative scan: one row in two passes. PostgreSQL decides, from what its statistics say about the filter's value.
# 2. To the index it is a filter that no row passes, so it walks on until `hnsw.max_scan_tuples`. It does not know that rows
#    farther away can only be worse.
# 3. An exact scan: all cells are looked at.
#
# </details>
#
# ## Stretch, and what comes next
#
# Make the stand-ins differ in *all* directions, adding `random.normal(size=(12_000, 384)) / 30` in the place of the real ones, and
# draw the first curves again. Which index suffers?
#
# Next is [lab 08](../labs/08_retrieval_api.ipynb), where this query gets an address: an API that answers, says when it is ready, and fails politely.
