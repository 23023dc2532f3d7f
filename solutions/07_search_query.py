# %% [markdown]
# # 07 · The search query
#
# A search asks for five rows and gets fewer, without an error. You will write the SQL that the course searches with, and repair this.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | write one search statement with filters that are safe from injection, and read its plan · find searches that return too few rows, and repair them · choose a threshold for the similarity | `retriever/statements.py` · `retriever/query.py` | about {minutes} min | SQL; lab 06 for the table |

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
# One table holds the [chunks](../labs/GLOSSARY.md#chunk) of our five documents, and 12,000 made-up rows of a handbook and a forum:
#
# - Each made-up section (`doc-section`) has nine comments.
# - Old rows have the namespace `archive`. More than half of the comments are old, but only twelve of the sections.
#
# For each question we want the five nearest sections.
#
# > **Predict.** More than a thousand rows are sections. What share of the questions gets fewer than five rows?

# %%
lab.crowd(conn)  # makes the table again, so that you can run the cell again
conn.execute("""
    CREATE INDEX chunks_hnsw ON document_chunks_documentation
    USING hnsw (embedding vector_cosine_ops);
    ANALYZE document_chunks""")  # the statistics from which PostgreSQL plans
questions = lab.questions()
queries = lab.encode([each.question for each in questions])

# %% [markdown]
# The chart shows how many rows the questions find.

# %%
import pandas as pd

sections = """
    SELECT document_name, chunk_index FROM document_chunks
    WHERE kind = 'doc-section' ORDER BY embedding <=> %(query)s LIMIT 5"""
counts = pd.Series([conn.execute(sections, {"query": query}).rowcount for query in queries])
found = counts.value_counts().sort_index()
title = f"{sum(counts < 5)} of {len(counts)} questions got fewer than five rows"
axes = found.plot.bar(rot=0, xlabel="rows found", ylabel="questions", title=title)
lab.alt(axes, f"Rows found, and by how many questions:\n{found.to_string()}")

# %% tags=["claim"]
sized = "SELECT kind, count(*), count(*) FILTER (WHERE namespace = 'archive') FROM document_chunks GROUP BY 1"
sizes = {kind: (count, old) for kind, count, old in conn.execute(sized)}
assert sizes["doc-section"][0] > 1000, "More than a thousand rows are sections"
assert sizes["doc-section"][1] == 12 and sizes["comment"][1] > sizes["comment"][0] / 2, "More than half of the comments are old, but only twelve of the sections"
assert 0.32 < (counts < 5).mean() < 0.48, "About two of five questions get fewer than five rows"

# %% [markdown]
# <details><summary>The answer</summary>
#
# About two of five questions get fewer than five rows.
#
# </details>
#
# In an [HNSW](../labs/GLOSSARY.md#hnsw) index, each row is linked to rows near it. A search walks along these links towards the query, and
# keeps a list of candidates. The list's length is [`ef_search`](../labs/GLOSSARY.md#ef_search), by default 40.
#
# ![A graph in three layers, and the way of a search through it.](../labs/figures/hnsw_walk.svg)
#
# PostgreSQL applies the [filter](../labs/GLOSSARY.md#filter) after the index has returned its candidates. The index does not replace the
# rows that the filter removes. Of our rows, 11 % are sections, so we expect about four of 40 candidates to pass.

# %% [markdown]
# ## By hand: 20 rows, 8 candidates
#
# Here are 20 rows, the nearest first. Rows 3, 8, 12, 15, 19 and 20 pass the filter. We want five rows, and the list has eight candidates.
#
# > **Predict.** How many rows come back? How many must a search read until it has five?

# %% [markdown]
# <details><summary>The answer</summary>
#
# ![20 rows: an index that gives 8 finds two; an iterative scan reads 19.](../labs/figures/filter_starves.svg)
#
# Two rows come back. An [iterative scan](../labs/GLOSSARY.md#iterative-scan) continues until five rows have passed, here after 19 rows.
#
# </details>
#
# ## How PostgreSQL runs a search
#
# `EXPLAIN (ANALYZE)` runs a statement and returns its [plan](../labs/GLOSSARY.md#query-plan), the steps that PostgreSQL took.

# %%
plain = """
    SELECT document_name, content, 1 - (embedding <=> %(query)s) AS similarity_score
    FROM document_chunks WHERE partition = 'documentation'
    ORDER BY embedding <=> %(query)s, document_name, chunk_index LIMIT 5"""
question = {"query": lab.encode("How do I undo a bad release quickly?")}
[explained] = conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {plain}", question).fetchone()
lab.show.plan(explained[0]["Plan"])

# %% tags=["claim"]
scan = explained[0]["Plan"]
while "Plans" in scan:
    [scan] = scan["Plans"]
planned, found = scan["Plan Rows"], scan["Actual Rows"]
assert scan["Index Name"] == "chunks_hnsw", scan
assert (planned, found) == (12121, 6), "LIMIT stops it after 6 rows"

# %% [markdown]
# Read the plan from its innermost line. The index scan returns rows in the order of their distance, and LIMIT stops it after 6 rows. Why
# not 5? Rows with the same distance are sorted by their names, so it looks at one more. (The 12,121 expected rows are a bad estimate: a list
# of 40 gives at most 40.)
#
# The index helps because the statement sorts by the distance itself, not by `similarity_score DESC`.

# %% [markdown]
# ## A filter from outside
#
# A filter's value often comes from a URL. The search below pastes it into its SQL. It should show the
# [partition](../labs/GLOSSARY.md#partition) *documentation*, and never *issues*, where a note has a password.
#
# > **Predict.** What does the second call print?

# %% tags=["nbval-check-output"]
def first_in(repo, question):
    statement = f"""
        SELECT repo_slug, content FROM document_chunks
        WHERE partition = 'documentation' AND repo_slug = '{repo}'
        ORDER BY embedding <=> %s LIMIT 1"""
    return tuple(conn.execute(statement, (lab.encode(question),)).fetchone())


print(first_in("forum", "What is the root password?")[0])
print(first_in("forum' OR partition = 'issues", "What is the root password?"))

# %% [markdown]
# <details><summary>The answer</summary>
#
# The second call prints the note with the password. The quote in the value closed the string, and PostgreSQL read the rest as SQL.
#
# </details>
#
# The repair is a [parameterised query](../labs/GLOSSARY.md#parameterised-query). Its values are sent beside the statement, and are never
# read as SQL.
#
# An unused filter has the value `None`, in SQL NULL. Then this condition lets every row pass:
#
# ```sql
# (%(kind)s::text IS NULL OR kind = %(kind)s)
# ```
#
# ## Exercise 7.1: the statement
#
# Complete the course's search statement. Its columns and four of its seven filters are given. You write:
#
# - `similarity_score`: the similarity to `%(query)s`; do not use `{distance}`
# - the table, `document_chunks`
# - the filters `kind`, `namespace` and `partition`. The value of `partition` is a list (`text[]`), and `= ANY (…)` compares with each
#   element. An empty list lets no row pass.
# - the order: by `{distance}`, then by document name, then by chunk index
# - at most `%(top_k)s` rows
#
# A placeholder can only be a value. `{distance}` is SQL, so Python fills it in: `NEAREST.format(distance=BY_VECTOR)` puts `embedding <=>
# %(query)s` there.

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
# The mistake to remember: `coalesce(%(kind)s, '') = ''` in place of `IS NULL`. It treats an empty value as no filter. For partitions, the
# same mistake is `cardinality(…) = 0`. Then a person who may see no partition (`[]`) sees all.
#
# A program that forgets the tenant would search all tenants' texts. So the course's tables also have *row-level security*: PostgreSQL
# leaves out the private rows of other tenants. It does not bind the tables' owner or a superuser, nor a person who writes SQL and names
# another tenant.

# %% [markdown]
# `Query(…).filters` returns the values of all seven filters, by the names in your statement: `partitions=` becomes `partition`, a list. A
# filter that you do not name is None.
#
# > **Predict.** We ask for the kind `doc-section`, in one partition. How many of the seven conditions are in the plan?

# %%
from course_lib.retriever import Query

NEAREST = lab.use("NEAREST")


def asked(query, **filters):
    return Query(**filters).filters | {"query": query, "top_k": 5}


nearest = NEAREST.format(distance=BY_VECTOR)
values = asked(queries[0], partitions="documentation", kind="doc-section")
# prepare=False: planned for these values
plan = conn.execute(f"EXPLAIN {nearest}", values, prepare=False).fetchall()
print(*[line for (line,) in plan if "Filter" in line])
attack = asked(queries[0], repo="forum' OR partition = 'issues")
print(conn.execute(nearest, attack).rowcount, "rows leaked")

# %% tags=["claim"]
[condition] = [line for (line,) in plan if "Filter" in line]
assert "NULL" not in condition and condition.count("AND") == 1, "Two conditions are in the plan"
assert "kind" in condition and "partition" in condition, "A condition whose value is NULL is not in the plan"
assert conn.execute(nearest, attack).rowcount == 0, "never read as SQL"
secrets = conn.execute("SELECT count(*) FROM document_chunks WHERE partition = 'issues'").fetchone()
assert secrets == (1,), "a note has a password"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Two conditions are in the plan. A condition whose value is NULL is not in the plan, because it is always true.
#
# </details>

# %% [markdown]
# ## A plan for other values
#
# PostgreSQL can keep a statement [prepared](../labs/GLOSSARY.md#prepared-statement), with a plan. psycopg prepares a statement after five
# uses, and with `prepare=True` at once.
#
# > **Predict.** For each question, which searches return fewer than five rows?
# >
# > - Search 0 wants five chunks of our documents.
# > - Searches 1 to 10 want five of the handbook.
# > - Search 11 is search 0 again.

# %%
short = """
    SELECT document_name FROM document_chunks
    WHERE repo_slug = %(repo_slug)s ORDER BY embedding <=> %(query)s LIMIT 5"""
repos = ["documents", *["handbook"] * 10, "documents"]
rows, plans = [], set()
for query in queries:
    values = [asked(query, repo=repo) for repo in repos]
    with lab.connect(autocommit=True) as fresh:  # on a new connection, the iterative scan is off
        rows.append([fresh.execute(short, one, prepare=True).rowcount for one in values])
        plans |= {*fresh.execute("SELECT custom_plans, generic_plans FROM pg_prepared_statements")}
print("searches planned for their values, and for any value, on each connection:", *plans)
pd.DataFrame(rows).lt(5).sum().to_frame("questions with fewer than five rows").T

# %% tags=["claim"]
assert all(each[0] == 5 > each[-1] for each in rows), "Search 11 returns fewer for every question, although search 0 returned five"
assert plans == {(6, 6)}, "Here, six of twelve runs used it"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Search 11 returns fewer for every question, although search 0 returned five. The handbook's searches return too few for many questions.
#
# PostgreSQL plans the first five runs for their values. Later it may use a *generic* plan, one for all values. It does so if this plan does
# not seem to cost more than the earlier ones on average. Here, six of twelve runs used it.
#
# The generic plan assumes a repository of average size, and walks the graph. But only one row in a hundred is from our documents.
#
# </details>
#
# With `prepare=False`, each search is planned for its own values. (PostgreSQL's switch is `plan_cache_mode = force_custom_plan`.)
#
# ## Exercise 7.2: a walk that continues
#
# pgvector continues a walk if `hnsw.iterative_scan` is not `off`. With `strict_order`, the rows are in the order of their distance.
#
# `SET …` changes a setting of the connection, also for its next user. `SET LOCAL …` changes it only until the transaction ends. `with
# conn.transaction():` opens a transaction, or joins the one that is open. Which `SET` do you need?

# %% exercise="7.2"
from course_lib.retriever.query import find_nearest

# %%
lab.check("7.2", find_nearest)

# %%
lab.hint("7.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: `SET LOCAL` outside a transaction. PostgreSQL only gives a warning, and changes nothing. A plain `SET` works, but
# it stays for the connection's next user.

# %% [markdown]
# Are these five rows the nearest that pass? An [exact scan](../labs/GLOSSARY.md#exact-scan) compares all rows that pass. We compare
#
# - *off*: `NEAREST` alone, with lists of 40, 100 and 200 candidates
# - *on*: your `find_nearest`, with a list of 40
# - *exact scan*: `find_nearest` with `EXACT`. It sorts by the distance plus zero, and no index has this order
#
# Each way runs for 20 questions.

# %%
find_nearest = lab.use("find_nearest")
archived = {"kind": "doc-section", "namespace": "archive"}
wanted = {
    "sections": [asked(query, kind="doc-section") for query in queries[:20]],
    "archived sections": [asked(query, **archived) for query in queries[:20]],
}

# %% [markdown]
# Here are the means:
#
# - *rows*: how many rows a search returns
# - *[recall](../labs/GLOSSARY.md#recall)*: which share of the true rows a search finds
# - *pages*: how many pages of 8 kB it visits (repeated visits count)
# - *walks*: the share of the searches whose plan has the HNSW index
#
# > **Predict.** Compared with five of all sections, how many pages does a walk visit for five archived ones?

# %%
# This cell takes a while.
from course_lib.teaching.lab.searching import measure_search, plan_of

ways = {
    "off, 40": measure_search(conn, wanted, "off"),
    "off, 100": measure_search(conn, wanted, "off", ef_search=100),
    "off, 200": measure_search(conn, wanted, "off", ef_search=200),
    "on, 40": measure_search(conn, wanted, "on", find_nearest),
    "exact scan": measure_search(conn, wanted, "exact", find_nearest),
}
ways = pd.DataFrame(ways).T
ways.drop(columns="rows expected", level=1).round(2)

# %% tags=["claim"]
all_of, old = ways["sections"], ways["archived sections"]
assert old.rows["off, 40"] < 0.5 and old.rows["off, 100"] < 0.5, "a search found almost none of the archived sections, also with a list of 100"
assert old.walks["off, 100"] == all_of.walks["off, 100"] == old.walks["on, 40"] == 1, "also with a list of 100"
assert (old.rows["on, 40"], all_of.rows["on, 40"]) == (5, 5), "each search gets five rows"
assert all_of.recall["off, 100"] > all_of.recall["off, 40"] and all_of.pages["off, 100"] > 1.4 * all_of.pages["off, 40"], "a longer list finds more, and visits more pages"
assert old.walks["off, 200"] == all_of.walks["off, 200"] == 0, "With a list of 200, PostgreSQL does not walk"
assert max(abs(one.pages["off, 200"] - one.pages["exact scan"]) for one in (old, all_of)) < 3, "it plans an exact scan"
assert 0.85 < all_of.recall["on, 40"] < 0.95, "the walk misses about one true row in ten"
assert all_of.recall["exact scan"] == 1 and all_of.pages["exact scan"] > all_of.pages["on, 40"], "The exact scan finds all, but visits more pages"
assert old.pages["on, 40"] > 10 * all_of.pages["on, 40"], "more than ten times as many pages as for all sections"
assert 800 < old.pages["on, 40"] / old.pages["exact scan"] < 1250, "about a thousand times as many pages as the exact scan"
exact = f"EXPLAIN {NEAREST.format(distance=EXACT)}"
used = str(conn.execute(exact, asked(queries[0], **archived), prepare=False).fetchall())
assert all(f"_{name}_idx" in used for name in ("kind", "namespace")) and "hnsw" not in used and old.pages["exact scan"] < 50, "finds its twelve rows by the B-tree indexes of `kind` and `namespace`"

# %% [markdown]
# <details><summary>The answer</summary>
#
# For archived sections, the walk visits
#
# - more than ten times as many pages as for all sections
# - about a thousand times as many pages as the exact scan, which finds its twelve rows by the B-tree indexes of `kind` and `namespace`
#
# </details>
#
# Without the iterative scan, a search found almost none of the archived sections, also with a list of 100. With the iterative scan, each
# search gets five rows.
#
# For all sections, compare 40 and 100: a longer list finds more, and visits more pages. With the iterative scan, the walk misses about one
# true row in ten. The exact scan finds all, but visits more pages than this walk.
#
# With a list of 200, PostgreSQL does not walk: it plans an exact scan. So not the longer list is the repair here, but the exact scan.
#
# ## Why does it walk for twelve rows?
#
# PostgreSQL [estimates](../labs/GLOSSARY.md#row-estimate) how many rows pass a filter. It knows how many rows are sections (11 %), and how
# many are archived (half).
#
# > **Predict.** It knows nothing about both together, and multiplies. How many of 12,121 rows does it expect?

# %%
old = {"without statistics": ways.loc["on, 40", "archived sections"]}
conn.execute("""
    DROP STATISTICS IF EXISTS pairs;  -- so that you can run the cell again
    CREATE STATISTICS pairs (mcv) ON kind, namespace FROM document_chunks_documentation;
    ANALYZE document_chunks_documentation""")
old["with statistics"] = measure_search(conn, wanted, "on", find_nearest)["archived sections"]
conn.execute("DROP STATISTICS pairs; ANALYZE document_chunks_documentation")
pd.DataFrame(old).T[["rows expected", "walks", "pages"]].round(2)

# %% tags=["claim"]
before, after = old["without statistics"], old["with statistics"]
assert 640 < before["rows expected"] < 680, "It expects about 660 archived sections"
assert after["rows expected"] < 50 and after.walks == 0 and after.pages < 100, "With the statistics, it expects few rows and does not walk"

# %% [markdown]
# <details><summary>The answer</summary>
#
# It expects about 660 archived sections: 0.11 · 0.5 · 12,121. But nearly all archived rows are comments, and only twelve are sections.
#
# </details>
#
# `CREATE STATISTICS` lets PostgreSQL count how often a kind has a namespace. With the statistics, it expects few rows and does not walk.

# %% [markdown]
# ## A threshold, inside or outside
#
# A search returns the nearest rows, even if none answers the question. A [threshold](../labs/GLOSSARY.md#threshold) on the similarity
# should remove them.
#
# > **Predict.** No row has a similarity of 0.8. What does the walk do when this threshold is in the statement?

# %%
inside = plain.replace("ORDER BY", "AND 1 - (embedding <=> %(query)s) >= 0.8 ORDER BY")
with conn.transaction():
    conn.execute("SET LOCAL hnsw.iterative_scan = strict_order")
    plans = {"inside": plan_of(conn, inside, question), "after it": plan_of(conn, plain, question)}
pd.DataFrame(plans).T[["Pages", "Rows Removed"]]

# %% tags=["claim"]
assert plans["inside"]["Pages"] > 10 * plans["after it"]["Pages"], "the walk goes on"
assert plans["inside"]["Rows Removed"] > 11_000, "through nearly the whole table"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Inside the statement, a threshold is one more filter. The index does not know that all later rows are even less similar. So the walk goes
# on, through nearly the whole table.
#
# </details>
#
# We ask our own questions, and two kinds that no document answers: *far* ones are about something else, and *near* ones are about the
# documents' topics.
#
# > **Predict.** Which threshold keeps our own questions, and refuses both other kinds?

# %%
similar = []  # of our questions that find their answer: the similarity of this answer
for one, query in zip(questions, queries, strict=True):
    rows = find_nearest(conn, asked(query, repo="documents"))
    answers = [row for row in rows if one.is_answered_by(row.document_name, row.content)]
    similar += [row.similarity_score for row in answers[:1]]

# %% [markdown]
# Here is a curve for each kind.

# %%
import numpy as np

from course_lib.teaching.lab.retrieval import without_answer

steps = np.arange(0, 0.75, 0.05).round(2)
kept = [np.mean(np.array(similar) >= step) for step in steps]
shares = pd.DataFrame({f"{len(similar)} of ours, answer kept": kept}, steps)
for kind, texts in without_answer().items():
    found = [find_nearest(conn, asked(query, repo="documents")) for query in lab.encode(texts)]
    highest = np.array([rows[0].similarity_score for rows in found])
    shares[f"{len(texts)} {kind}, no result"] = [np.mean(highest < step) for step in steps]
title = "How many questions a threshold keeps or refuses"
axes = shares.plot(xlabel="threshold", ylabel="share of the questions", xticks=steps, title=title)
lab.alt(axes, shares.round(2).to_string())

# %% tags=["claim"]
kept, near, far = (shares[name] for name in shares)
assert not ((kept == 1) & (near == 1)).any(), "No threshold keeps all of ours and refuses all near ones"
assert kept[0.7] < 0.05, "0.7 removes nearly every answer"
assert kept[0.25] > 0.95 and far[0.25] == 1, "0.25 keeps nearly every answer, and refuses every far question"
assert 0.28 < near[0.25] < 0.38, "But it refuses only a third of the near ones"
assert 0.75 < near[0.35] < 0.85, "0.35 refuses four of five near ones"
assert 0.12 < 1 - kept[0.35] < 0.18, "and loses about 15 % of the answers"

# %% [markdown]
# <details><summary>The answer</summary>
#
# No threshold keeps all of ours and refuses all near ones. Here 0.7 removes nearly every answer. 0.25 keeps nearly every answer, and refuses every far question. But it refuses only a third of the
# near ones. 0.35 refuses four of five near ones, and loses about 15 % of the answers.
#
# </details>
#
# Choose your threshold with your own questions, and test it with others (we did not).
# Similarity does not tell whether a near text answers the question: [lab 15](../labs/15_checking_an_answer.ipynb) checks answers.

# %% [markdown]
# ## Exercise 7.3: five rows, whatever the filter removes
#
# - A walk may end too early: it has a limit of rows (`hnsw.max_scan_tuples`, 20,000) and of memory.
# - An exact scan misses nothing, but may be slow.
# - A threshold removes rows.
#
# In which order do you use these three? Which of them is not always needed?

# %% exercise="7.3"
from course_lib.retriever.query import search_filtered

# %%
lab.check("7.3", search_filtered)

# %%
lab.hint("7.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: drop rows by the threshold first, and then count. A question that no text answers has no similar rows, so every
# such search would also run an exact scan.

# %% [markdown]
# Our table has only 12,000 rows, so we end each walk after 2,000.

# %%
# This cell takes a while.
from functools import partial

search_filtered = lab.use("search_filtered")
without_threshold = partial(search_filtered, threshold=-1)  # a similarity can be below 0
conn.execute("SET hnsw.max_scan_tuples = 2000")
proof = {
    "on": measure_search(conn, wanted, "on", find_nearest),
    "on, then exact": measure_search(conn, wanted, "on", without_threshold),
}
conn.execute("RESET hnsw.max_scan_tuples")
proof = pd.DataFrame(proof).T
proof.drop(columns=["pages", "walks", "rows expected"], level=1).round(2)

# %% tags=["claim"]
all_of, old = proof["sections"], proof["archived sections"]
assert old.recall["on, then exact"] > 0.95, "recall is 1 for the archived sections, or nearly"
assert old.rows["on"] < 4, "With the iterative scan alone, rows are missing"
assert all_of.recall["on, then exact"] == all_of.recall["on"], "For all sections, recall is the same as without it"

# %% [markdown]
# With the iterative scan alone, rows are missing. With your function, recall is 1 for the archived sections, or nearly. For all sections,
# recall is the same as without it, because the walk found five rows.

# %% [markdown]
# ## Measure
#
# This search wants only our documents.

# %%
mine = lab.measure_retrieval(
    lambda text: search_filtered(conn, asked(lab.encode(text), repo="documents"))
)
lab.score(recall_at_5=mine.recall, mrr=mine.mrr, note="by meaning, in a table of 12,000")

# %% [markdown]
# ## Recap
#
# - Send values as parameters. A plan that is made for them has no condition for a NULL filter.
# - A filter can leave a walk with too few rows. Let the walk continue. If rows are still missing, run an exact scan.
# - Apply a low threshold, after the statement.
# - **At work**, run your rarest filter for twenty questions, and count the rows. Switch the iterative scan on, and compare with an exact
#   scan.
# - If a library writes your SQL, search its source for `iterative_scan`. If it is not there, set it for each connection. (We did not find
#   it in [`langchain-postgres` 0.0.19](https://pypi.org/project/langchain-postgres/0.0.19/).)

# %% [markdown]
# ## Three questions to test yourself
#
# 1. A filter keeps half of a large table. When does `search_filtered` run an exact scan?
# 2. A search finds nothing, and a threshold of 0.8 inside the statement makes it slow. Why?
# 3. A colleague replaces `prepare=False` by `prepare=True`, and all tests pass. What can still go wrong?
#
# <details><summary>Answers</summary>
#
# 1. It runs one only if the walk returns fewer than `top_k` rows.
# 2. To the index, the threshold is a filter that no row passes, so the walk goes on to its limit.
# 3. After some searches on one connection, PostgreSQL may take a generic plan. For rare values, this plan walks, too.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# Measure another repair: a partial index (`… WHERE kind = 'doc-section'`).
#
# Next is [lab 08](../labs/08_words_and_meaning.ipynb): a search by words finds what vectors miss.
