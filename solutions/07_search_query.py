# %% [markdown]
# # 07 · The search query
#
# A search asks for five rows, gets two, and nobody notices. You will write the SQL that the course searches with, and repair this.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | write one search statement with filters that are safe from injection, and read its plan · say when an index returns too few rows, repair it, and prove the repair · choose a threshold | `retriever/statements.py` · `retriever/query.py` | about {minutes} min | SQL; lab 06 for the table |

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
# Imagine all texts of a company in one table: the [chunks](../labs/GLOSSARY.md#chunk) of our five documents, and 12,000 made-up rows of a
# handbook and a forum. Each section (`doc-section`) has nine comments. Old rows have the namespace `archive`: more than half of the comments, and
# twelve sections. For each question we want the five nearest sections, and no comments.
#
# > **Predict.** More than a thousand rows are sections. How many of the questions get five rows?

# %%
from course_lib.loader import read_documents, split_document
from course_lib.store import create_schema, drop_schema, write_chunks

chunks = [chunk for document in read_documents(lab.data_dir) for chunk in split_document(document)]
vectors = lab.encode([chunk.embedded_text for chunk in chunks])
drop_schema(conn)  # so that you can run the cell again
create_schema(conn, vectors.shape[1])
write_chunks(conn, chunks, vectors)
write_chunks(conn, *lab.crowd(chunks, vectors))
index = "CREATE INDEX chunks_hnsw ON document_chunks_documentation USING hnsw (embedding vector_cosine_ops)"
for statement in (index, "ANALYZE document_chunks"):  # the statistics from which PostgreSQL plans
    conn.execute(statement)

# %%
import pandas as pd

questions = lab.questions()
queries = lab.encode([each.question for each in questions])
sections = """
    SELECT document_name, chunk_index FROM document_chunks
    WHERE kind = 'doc-section' ORDER BY embedding <=> %(query)s LIMIT 5"""


# %%
conn.execute("SET hnsw.iterative_scan = off; SET hnsw.ef_search = 40")  # pgvector's defaults
counts = pd.Series([conn.execute(sections, {"query": query}).rowcount for query in queries])
print(few := (counts < 5).sum(), "of", len(counts), "questions got fewer than five")
axes = counts.value_counts().reindex(range(6), fill_value=0).plot.bar(rot=0, xlabel="rows found, of five", ylabel="questions", title="Five rows were asked for")
lab.alt(axes, f"How many rows the questions got: {len(counts) - few} got five, {few} got fewer, and the fewest rows are {counts.min()}.")

# %% tags=["claim"]
sized = "SELECT kind, count(*), count(*) FILTER (WHERE namespace = 'archive') FROM document_chunks GROUP BY 1"
sizes = {kind: (count, old) for kind, count, old in conn.execute(sized)}
assert sizes["doc-section"][0] > 1000, "More than a thousand rows are sections"
assert sizes["doc-section"][1] == 12 and sizes["comment"][1] > sizes["comment"][0] / 2, "more than half of the comments, and twelve sections"
assert 5 < few < len(counts) / 2, "some lists are just shorter"

# %% [markdown]
# There is no error or warning: some lists are just shorter. An [HNSW](../labs/GLOSSARY.md#hnsw) index is a graph. A search walks towards
# the query and keeps the best rows that it has seen in a list of candidates, whose length is [`ef_search`](../labs/GLOSSARY.md#ef_search): 40
# by default. These rows leave the index, and only then is the [filter](../labs/GLOSSARY.md#filter) applied. The index does not replace the rows
# that the filter removes.
#
# ![A graph in three layers. A search goes from neighbour to neighbour towards the query.](../labs/figures/hnsw_walk.svg)

# %% [markdown]
# ## By hand: 20 rows, 8 candidates
#
# Here are 20 rows, the nearest first. Rows 3, 8, 12, 15, 19 and 20 pass the filter. We want five; the list has eight candidates.
#
# > **Predict.** How many of the five come back? How many rows must a search read to get all?
#
# <details><summary>Answer</summary>
#
# ![20 rows: an index that gives 8 finds two; an iterative scan reads 19.](../labs/figures/filter_starves.svg)
#
# Two come back. An [iterative scan](../labs/GLOSSARY.md#iterative-scan) continues until five have passed, here after 19 rows.
#
# </details>

# %% [markdown]
# ## What PostgreSQL does with a query
#
# `EXPLAIN (ANALYZE)` runs a statement and returns its [plan](../labs/GLOSSARY.md#query-plan).

# %%
from IPython.display import display
from psycopg.rows import dict_row, namedtuple_row

as_dicts = conn.cursor(row_factory=dict_row)
plain = """
    SELECT document_name, content, 1 - (embedding <=> %(query)s) AS similarity_score
    FROM document_chunks WHERE partition = 'documentation'
    ORDER BY embedding <=> %(query)s, document_name, chunk_index LIMIT 5"""

# %%
question = {"query": lab.encode("How do I undo a bad release quickly?")}
display(pd.DataFrame(as_dicts.execute(plain, question).fetchall()))
explained = conn.execute(f"EXPLAIN (ANALYZE) {plain}", question).fetchall()
lab.show.plan(explained)

# %% tags=["claim"]
steps = "\n".join(line for (line,) in explained)
assert "Index Scan using chunks_hnsw" in steps, "The index scan returns rows by distance, and LIMIT stops it early"
assert "Incremental Sort" in steps, "sorts only rows of equal distance (Incremental Sort)"
assert "rows=6" in steps.partition("Index Scan")[2], "It reads a sixth row"

# %% [markdown]
# Read the innermost line first. The index scan returns rows by distance, and LIMIT stops it early. PostgreSQL sorts only rows of equal distance
# (Incremental Sort). It reads a sixth row, to see that no further row has the fifth's distance. With `ORDER BY similarity_score DESC` it would read
# the whole table, because no index is sorted that way. The [similarity](../labs/GLOSSARY.md#similarity-score) is 1 − distance: near rows score high.

# %% [markdown]
# ## A filter that leaks
#
# Filters come from outside, such as a URL. This search looks at the [partition](../labs/GLOSSARY.md#partition) *documentation*
# only. A note in *issues* must not be shown.
#
# > **Predict.** What does the second call print?

# %% tags=["nbval-check-output"]
secret = "Incident 88: nobody could sign in after the update. The root password is tulip-42."
fields = {"source_path": "incident-88.md", "repo_slug": "incidents", "kind": "note", "content": secret}
write_chunks(conn, [chunks[0].model_copy(update=fields)], lab.encode([secret]), partition="issues")


def first_in(repo, question):
    statement = f"""
        SELECT repo_slug, content FROM document_chunks
        WHERE partition = 'documentation' AND repo_slug = '{repo}'
        ORDER BY embedding <=> %s LIMIT 1"""
    return tuple(conn.execute(statement, (lab.encode(question),)).fetchone())


print(first_in("forum", "What is the root password?")[0])
print(first_in("forum' OR partition = 'issues", "What is the root password?"))

# %% [markdown]
# The value closed the string, and the rest was read as SQL.
#
# In a [parameterised query](../labs/GLOSSARY.md#parameterised-query), values are sent beside the statement and are never read as SQL. One
# statement is enough for all searches. The value of an unused filter is `None`, NULL in SQL. PostgreSQL takes a
# placeholder's type from where it occurs first. `IS NULL` gives it none, so `::text` names one:
#
# ```sql
# (%(kind)s::text IS NULL OR kind = %(kind)s)
# (%(partition)s::text[] IS NULL OR partition = ANY (%(partition)s))    -- a list; an empty one lets no row pass
# ```
#
# ## Exercise 7.1: the statement
#
# The order of the rows is an expression, so no placeholder can stand for it. In its place your statement has `{distance}`, which Python fills in:
# `NEAREST.format(distance=BY_VECTOR)` puts `embedding <=> %(query)s` there, the order of the index. Never fill it with text from outside.
#
# The columns of the result are given, and four of the seven filters. Complete the statement:
#
# - the similarity to `%(query)s`, as `similarity_score`, whatever the order is; from the table `document_chunks`
# - three filters: `partition` (a list), `kind` and `namespace`
# - first by `{distance}`; rows of equal distance by document name, then by chunk index; `%(top_k)s` rows

# %% exercise="7.1"
# Given up to: kind, name, namespace, citation_url, metadata, tenant_id,
# Given lines: \((repo_slug|branch|document_name|tenant_id)\)s::text
from course_lib.retriever.statements import NEAREST

# %%
from course_lib.retriever.statements import BY_VECTOR, EXACT

lab.check("7.1", NEAREST)

# %%
lab.hint("7.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: `coalesce(%(kind)s, '') = ''` in place of `IS NULL`. It takes an empty value for no filter. For the list of partitions,
# `cardinality(…) = 0` would be this mistake, and the worst case: a person who may see none of them, `[]`, would see all. A condition such as
# `namespace = coalesce(%(namespace)s, namespace)` is wrong in another way: it loses all rows whose namespace is NULL.

# %% [markdown]
# `Query(…).filters` returns all seven values under the names of the columns; `partitions` fills `partition`, and `repo` fills `repo_slug`. What you
# do not name is None.
#
# > **Predict.** We ask for the kind `doc-section`, in one partition. How many of the seven conditions are in the plan?

# %%
from course_lib.retriever import Query

NEAREST = lab.use("NEAREST")


def asked(query, top_k=5, **filters):
    return Query(**filters).filters | {"query": query, "top_k": top_k}


nearest = NEAREST.format(distance=BY_VECTOR)
in_plan = []
for filters in ({"kind": "doc-section"}, {}):
    values = asked(queries[0], partitions="documentation", **filters)
    plan = conn.execute(f"EXPLAIN {nearest}", values, prepare=False).fetchall()  # planned for these values
    in_plan.append([line.strip() for (line,) in plan if "Filter" in line])
    print(filters, *in_plan[-1])
leaked = conn.execute(nearest, asked(queries[0], repo="forum' OR partition = 'issues")).rowcount
print(leaked, "rows leaked")

# %% tags=["claim"]
assert "NULL" not in str(in_plan) and "kind" in in_plan[0][0] and "kind" not in str(in_plan[1]), "A condition whose value is NULL is not in the plan"
assert leaked == 0, "never read as SQL"

# %% [markdown]
# Two are in the first plan. A condition whose value is NULL is not in the plan: PostgreSQL knew the values, and dropped what is always true.

# %% [markdown]
# ## Planned for which values?
#
# PostgreSQL can keep a statement [prepared](../labs/GLOSSARY.md#prepared-statement), with a plan. psycopg prepares a statement after five uses;
# `prepare=True` does so at once.
#
# > **Predict.** We ask for five chunks of our documents, ten times for five of the handbook, and for our documents again. How many come each time?

# %%
short = """
    SELECT document_name FROM document_chunks
    WHERE repo_slug = %(repo_slug)s ORDER BY embedding <=> %(query)s LIMIT 5"""

# %%
with lab.connect(autocommit=True) as fresh:
    repos = ["documents", *["handbook"] * 10, "documents"]
    rows = [fresh.execute(short, asked(queries[26], repo=repo), prepare=True).rowcount for repo in repos]
    plans = fresh.execute("SELECT custom_plans, generic_plans FROM pg_prepared_statements").fetchone()
print("rows: {} · planned for its values: {}, for any value: {}".format(rows, *plans))

# %% tags=["claim"]
assert rows[0] == 5 and rows[-1] < 5, "the last search did not get its five"
assert plans == (6, 6), "Here it was the seventh run"

# %% [markdown]
# PostgreSQL plans the first five runs for their values. After that, it takes a generic plan, one plan for all values, if this costs less than the
# average of these plans. Here it was the seventh run: our documents are cheap to search, so they kept the average low for one run more. The generic
# plan assumes an average repository and walks the graph. But only one row in a hundred is from our documents, so the last search did not get its
# five. With `prepare=False`, PostgreSQL plans each search for its own values.
#
# ## Exercise 7.2: a walk that continues
#
# pgvector continues a walk if `hnsw.iterative_scan` allows it. `strict_order` returns rows by distance; `relaxed_order` may swap some. A setting
# must not stay for the next user of a connection: `SET LOCAL …` inside `with conn.transaction():` ends with the transaction.

# %% exercise="7.2"
from course_lib.retriever.query import find_nearest

# %%
lab.check("7.2", find_nearest)

# %%
lab.hint("7.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: `SET LOCAL` outside a transaction. PostgreSQL gives a warning that most programs do not show, and changes nothing. A
# plain `SET` works, and stays: with a pool, the next search on this connection has your setting.

# %% [markdown]
# Are these the *nearest* five that pass? The truth is an [exact scan](../labs/GLOSSARY.md#exact-scan) of the rows that pass: B-trees may find these
# rows, but none is left out. `EXACT` is the distance plus zero, and no index is sorted by that. [Recall](../labs/GLOSSARY.md#recall) is the share
# of the true rows that a search finds. Times differ, so we count the pages of 8 kB that a search visits. *rows expected* is PostgreSQL's estimate
# of how many rows pass; *walks* is the share of searches that walk.

# %%
from course_lib.evaluation.metrics import recall_at

named = conn.cursor(row_factory=namedtuple_row)


def walk(values):
    return named.execute(nearest, values, prepare=False).fetchall()


# %%
def costs(values, distance=BY_VECTOR, iterative="off"):
    statement = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {NEAREST.format(distance=distance)}"
    with conn.transaction():
        conn.execute(f"SET LOCAL hnsw.iterative_scan = {iterative}")
        plan = conn.execute(statement, values, prepare=False).fetchone()[0][0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], plan["Plans"][0]["Plan Rows"], "chunks_hnsw" in str(plan)


# %%
def measure(way, filters, top_k=5, some=queries[:20], **how):
    measured = []
    for query in some:
        values = asked(query, top_k, **filters)
        found = [row.chunk_id for row in way(values)]
        truth = [row.chunk_id for row in find_nearest(conn, values, EXACT)]
        measured.append((len(found), recall_at(found, truth, k=top_k), *costs(values, **how)))
    return pd.DataFrame(measured, columns=["rows", "recall", "pages", "rows expected", "walks"]).mean()


# %% [markdown]
# > **Predict.** Twelve of 12,000 rows are archived sections. How many pages does the walk visit for them, compared with all sections?

# %%
# This cell takes a while: 140 searches, some of which walk through the whole graph.
FILTERS = {"sections": {"kind": "doc-section"}, "archived sections": {"kind": "doc-section", "namespace": "archive"}}
ways = {}
find_nearest = lab.use("find_nearest")
for name, filters in FILTERS.items():
    ways[name, "iterative scan off"] = measure(walk, filters)
    ways[name, "iterative scan on"] = measure(lambda values: find_nearest(conn, values), filters, iterative="strict_order")
    ways[name, "exact scan"] = measure(lambda values: find_nearest(conn, values, EXACT), filters, distance=EXACT)
archived = FILTERS["archived sections"]
conn.execute("CREATE STATISTICS kind_and_namespace (mcv) ON kind, namespace FROM document_chunks_documentation")
conn.execute("ANALYZE document_chunks_documentation")
ways["archived sections", "on, with statistics"] = measure(lambda values: find_nearest(conn, values), archived, iterative="strict_order")
conn.execute("DROP STATISTICS kind_and_namespace")
conn.execute("ANALYZE document_chunks_documentation")
ways = pd.DataFrame(ways).T
pages = ways.pages.unstack(0)
axes = pages.plot.barh(logx=True, xlim=(1, 1e5), figsize=(6, 3.8), xlabel="pages a search visits", title="Cost of a search; beside it, its recall")
axes.invert_yaxis()  # the first bar at the top, as in the legend
for bars, name in zip(axes.containers, pages, strict=True):
    axes.bar_label(bars, [f" {ways.recall[name, way]:.2f}" if (name, way) in ways.index else "" for way in pages.index], fontsize=9)
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.1), ncols=2)
lab.alt(axes, f"Pages a search visits: {ways.pages.round().to_dict()}; recall: {ways.recall.round(2).to_dict()}")
ways.round(2)

# %% tags=["claim"]
both = ways.xs("iterative scan on", level=1)
old = ways.loc["archived sections"]
assert old.rows["iterative scan off"] < 1, "it found almost none of the archived sections"
assert (both.rows == 5).all(), "Now there are five rows for each filter"
assert ways.recall["sections", "iterative scan off"] + 0.01 < both.recall["sections"] < 1, "For all sections, a few of the five are not the true ones"
assert 500 < old.pages["iterative scan on"] / old.pages["exact scan"] < 2000, "about a thousand times as many pages"
assert 1.1 < ways.pages["sections", "exact scan"] / both.pages["sections"] < 1.4, "the exact scan visits a quarter to a third more pages"
assert 300 < old["rows expected"]["iterative scan on"] < 1500, "It expected hundreds of archived sections to pass"
assert old["rows expected"]["on, with statistics"] < 50 and old.pages["on, with statistics"] < 100, "it fetches the twelve rows by the B-trees"

# %% [markdown]
# Now there are five rows for each filter. Without the iterative scan a search is cheap because it gives up: it found almost none of the archived
# sections. For all sections, a few of the five are not the true ones, because an index is approximate, and the exact scan visits a quarter to a third more
# pages: so small a table hardly needs an index.
#
# For the archived sections the walk visits about a thousand times as many pages as the exact scan of twelve rows. PostgreSQL chooses by its
# [estimate](../labs/GLOSSARY.md#row-estimate). It expected hundreds of archived sections to pass: it multiplied the shares of the two columns. But
# sections are rarely old, and comments often. `CREATE STATISTICS … (mcv)` has it count the most common combinations of values. With them, it
# fetches the twelve rows by the B-trees. This is the best repair, if you know the columns.
#
# Every walk has a limit: 20,000 rows by default (`hnsw.max_scan_tuples`), more than this table has, or its memory (`hnsw.scan_mem_multiplier`). In
# a larger table rows are missing again when it is reached, and there is no message. But your program can count: if too few rows come, it can look
# at all that pass. If they are many, this is slow: `statement_timeout` ends it after a time that you set.

# %% [markdown]
# ## A threshold, inside or outside
#
# Some rows are always the nearest, even if no text answers. A [threshold](../labs/GLOSSARY.md#threshold) on the similarity should
# remove them.
#
# > **Predict.** No row has a similarity of 0.8. What does the walk do when this threshold is in the statement?

# %%
inside = f"{plain.partition('ORDER')[0]} AND 1 - (embedding <=> %(query)s) >= 0.8 ORDER BY embedding <=> %(query)s LIMIT 5"
visited, read = {}, {}
with conn.transaction():
    conn.execute("SET LOCAL hnsw.iterative_scan = strict_order")
    for name, statement in {"inside": inside, "after it": plain}.items():
        plan = conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", question).fetchone()[0][0]["Plan"]
        visited[name] = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        read[name] = plan["Plans"][0].get("Rows Removed by Filter", 0)
pd.Series(visited, name="pages")

# %% tags=["claim"]
assert visited["inside"] > 10 * visited["after it"], "the walk goes on to its limit"
assert read["inside"] > 11_000, "through nearly the whole table"

# %% [markdown]
# Inside the statement, a threshold is one more filter. The index does not know that all later rows fail, too: the walk goes on to its limit, or, as
# here, through nearly the whole table. So the threshold comes after the statement, in Python. Which value? We ask eight questions that no document answers, and our own.

# %%
import numpy as np

unrelated = [
    "How long do I boil an egg?", "Who won the football match last night?",
    "What is the capital of France?", "How do I repair a flat bicycle tyre?",
    "How do I train for a marathon?", "What time does the train leave?",
    "Which guitar should a beginner buy?", "How do I grow tomatoes on a balcony?",
]

# %%
highest = (lab.encode(unrelated) @ vectors.T).max(axis=1)
own = queries @ vectors.T


def answered(question, scores, threshold):
    best = [i for i in np.argsort(-scores, kind="stable")[:5] if scores[i] >= threshold]
    return any(question.is_answered_by(chunks[i].source_path, chunks[i].content) for i in best)


# %%
steps = [step / 20 for step in range(15)]
kept = [np.mean([answered(one, scores, step) for one, scores in zip(questions, own, strict=True)]) for step in steps]
shares = pd.DataFrame({"own, answer kept": kept, "unrelated, no result": [np.mean(highest < step) for step in steps]}, index=steps)
axes = shares.plot(xlabel="threshold (cosine similarity)", ylabel="share of the questions", ylim=(0, 1.05))
lab.alt(axes, f"Kept falls from {kept[0]:.2f} to {kept[-1]:.2f}, no result rises to 1; they cross near {shares.min(axis=1).idxmax():.2f}.")

# %% tags=["claim"]
assert shares.iloc[-1, 1] == 1 and kept[14] < 0.05, "Here 0.7 removes nearly every answer"
best = shares.min(axis=1).idxmax()
assert shares.loc[best, "own, answer kept"] < kept[0] and shares.loc[best, "unrelated, no result"] < 1, "No value separates the two"
assert kept[5] > 0.95 * kept[0] and 0.5 < shares.iloc[5, 1] < 1, "0.25 keeps nearly every answer and refuses most of the eight"
assert kept[7] < 0.95 * kept[0] and shares.iloc[7, 1] == 1, "0.35 refuses all eight, and loses more answers"

# %% [markdown]
# Some advise 0.7. Here 0.7 removes nearly every answer: each model has its own scale. No value separates the two: 0.25 keeps nearly every
# answer and refuses most of the eight; 0.35 refuses all eight, and loses more answers. Choose a low value, with your own questions.

# %% [markdown]
# ## Exercise 7.3: the nearest rows, whatever the filter removes
#
# Put it together: walk; where too few came, look at all rows that pass; apply the threshold last.

# %% exercise="7.3"
from course_lib.retriever.query import search_filtered

# %%
lab.check("7.3", search_filtered)

# %%
lab.hint("7.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: drop rows by the threshold first, and then count. A question that no text answers has no similar rows, so every such
# search would look at the whole table. The comparison is in Python also because of NaN, which is never `>=` a number; to PostgreSQL, NaN is
# larger than every number.

# %% [markdown]
# Our table is small, so we end the walk after 2,000 rows.

# %%
# This cell takes a while.
search_filtered = lab.use("search_filtered")
conn.execute("SET hnsw.max_scan_tuples = 2000")
proof = {}
for name, filters in FILTERS.items():
    proof[name, "iterative scan off"] = measure(walk, filters)
    proof[name, "iterative scan on"] = measure(lambda values: find_nearest(conn, values), filters)
    # -1: no threshold, because archived sections can have a negative similarity
    proof[name, "on, then exact"] = measure(lambda values: search_filtered(conn, values, -1), filters)
proof = pd.DataFrame(proof).T[["rows", "recall"]]
conn.execute("RESET hnsw.max_scan_tuples")
axes = proof.recall.unstack().plot.bar(rot=0, xlabel="filter", ylabel="recall", ylim=(0, 1.25), title="A walk that ends after 2,000 rows")
axes.legend(loc="upper center", ncols=3)
lab.alt(axes, f"Recall of three ways for two filters: {proof.recall.round(2).to_dict()}")
proof.round(2)

# %% tags=["claim"]
assert proof.recall["archived sections", "on, then exact"] == 1, "For the archived sections recall is 1 now"
assert proof.rows["archived sections", "iterative scan on"] < 4, "rows are missing again"
assert proof.recall["sections", "on, then exact"] == proof.recall["sections", "iterative scan on"], "For all sections it is still that of the walk"

# %% [markdown]
# For the archived sections recall is 1 now. For all sections it is still that of the walk: it found five rows, so there was no second search. In
# JupyterLab, move the controls: which setting helps which filter, and what does it cost?

# %%
def look(filter="sections", top_k=5, ef_search=40, iterative="off"):
    conn.execute(f"SET hnsw.ef_search = {ef_search}")
    way = walk if iterative == "off" else lambda values: find_nearest(conn, values)
    return measure(way, FILTERS[filter], top_k, queries[:8], iterative=iterative).round(2).to_frame("mean")


lab.interact(look, filter=list(FILTERS), top_k=(1, 20, 1), ef_search=(10, 200, 10), iterative=["off", "strict_order"])

# %% tags=["claim"]
lists = {(filter, size): look(filter, 5, size, "strict_order")["mean"] for filter in FILTERS for size in (10, 100, 200)}
conn.execute("RESET hnsw.ef_search")
few, wide = lists["sections", 10], lists["sections", 100]
assert wide.walks == 1 and wide.pages > few.pages and wide.recall > few.recall, "a longer list improves recall, and costs pages"
assert lists["archived sections", 100].pages > 10_000 and lists["archived sections", 100].walks == 1, "only the iterative scan helps"
assert all(lists[filter, 200].walks == 0 and lists[filter, 200].recall == 1 for filter in FILTERS), "PostgreSQL no longer walks"
assert lists["archived sections", 200].pages < 100, "the pages are those of the exact scan, and recall is 1"

# %% [markdown]
# For all sections, a longer list improves recall, and costs pages. For the archived sections only the iterative scan helps, and it visits thousands
# of pages. A longer list raises the estimated cost of the walk. From some length on PostgreSQL no longer walks (`walks` is 0): the pages are those
# of the exact scan, and recall is 1.
#
# ## Measure
#
# The library's `search` calls `search_filtered`, and sets `ef_search` to the square root of the largest partition's rows, at
# least 100: `SET_EF_SEARCH` in `statements.py`. We ask both about our own documents.

# %%
from course_lib.retriever import search

encoded = dict(zip([each.question for each in questions], queries, strict=True))
mine = lab.measure_retrieval(lambda text: search_filtered(conn, asked(encoded[text], repo="documents")))
library = lab.measure_retrieval(lambda text: search(conn, encoded[text], Query(repo="documents")))
in_memory = np.mean([answered(one, scores, 0) for one, scores in zip(questions, own, strict=True)])
print(f"recall@5: yours {mine.recall:.2f}, the library's {library.recall:.2f}, in memory {in_memory:.2f}")
lab.score(recall_at_5=mine.recall, mrr=mine.mrr, note="by meaning, as in lab 00, in a table of 12,000")

# %% tags=["claim"]
assert abs(mine.recall - in_memory) < 0.01, "The filter costs no quality here"
plan = conn.execute(f"EXPLAIN {nearest}", asked(queries[0], repo="documents"), prepare=False).fetchall()
assert "chunks_hnsw" not in str(plan), "PostgreSQL did not walk: it compared all of them"

# %% [markdown]
# The filter costs no quality here. Our chunks are so few that PostgreSQL did not walk: it compared all of them.
#
# ## Recap
#
# - Sort by the distance itself, or PostgreSQL cannot use the index.
# - Values are parameters, and a filter that is NULL disappears from a plan for its values.
# - A filter starves a walk: continue it, correct the estimate by statistics, and where too few rows came, look at all.
# - A row count proves nothing; recall against an exact scan does.
# - A threshold comes after the statement.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. A filter keeps half of ten million rows. Which way does `search_filtered` take, and why?
# 2. A search finds nothing, and a threshold of 0.8 inside the statement makes it slow. Why?
# 3. A colleague replaces `prepare=False` by `prepare=True`, and all tests pass. What can still go wrong, and when?
#
# <details><summary>Answers</summary>
#
# 1. The walk: PostgreSQL knows from its statistics that every second row passes.
# 2. To the index, the threshold is a filter that no row passes.
# 3. After five runs, PostgreSQL may take a generic plan, which walks for rare values, too.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# Try a partial index (`… WHERE kind = 'doc-section'`).
#
# Next is [lab 08](../labs/08_words_and_meaning.ipynb): a search for words finds what vectors miss.
