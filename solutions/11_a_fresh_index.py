# %% [markdown]
# # 11 · A fresh index
#
# You will keep a catalogue up to date that two projects share: what is new comes in, what is gone goes, what others still use stays.
# And code generation gets the packages that matter, in place of the first fifty.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | plan a sync, so that only what changed costs anything · delete what no project uses any more, with two syncs at once · search a shared catalogue by meaning and for one project only | `indexing/plan.py` · `xray/` | about {minutes} min | SQL; lab 05 for embeddings, lab 06 for transactions |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("11", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
conn = lab.connect(autocommit=True)  # each statement commits by itself
lab.show.pipeline("table")

# %% [markdown]
# ## The first fifty
#
# A comment in a Python file says `# fetch top charts from Spotify`, and a model has to write the code below it. It can use the
# project's packages if its [prompt](../labs/GLOSSARY.md#prompt) names them. They are listed in the project's
# [lock file](../labs/GLOSSARY.md#lock-file).

# %% tags=["nbval-check-output"]
from course_lib.settings import project_root
from course_lib.xray import find_lock_files

lock_files = {
    project: find_lock_files(project_root() / "data" / "lockfiles" / project)
    for project in ("rider-app", "forecasting")
}
rider, forecasting = (files.packages("python") for files in lock_files.values())
print(len(rider), "Python packages in rider-app,", len(forecasting), "in forecasting")
fifty = sorted(rider)[:50]
print("the first fifty go from", fifty[0], "to", fifty[-1])

# %% [markdown]
# All of them are too many for a prompt, so many programs take the first fifty. The client for Spotify is called spotipy, which comes
# after the fiftieth. Bad luck? The course has labelled instructions, each with the packages that serve it (its
# [gold](../labs/GLOSSARY.md#gold)), for two projects and five languages.
#
# > **Predict.** What share of the wanted packages is among the first fifty of its project and language?

# %%
from course_lib.xray.measure import read_instructions, score_suggestions

instructions = read_instructions()


def first_names(asked, count=50):
    return sorted(lock_files[asked.project].packages(asked.language))[:count]


first_fifty = score_suggestions(first_names, instructions)
print(f"{first_fifty.instructions} instructions: {first_fifty.recall:.0%} found")
kinds = sorted({(each.project, each.language) for each in instructions})
found = {
    " ".join(kind): score_suggestions(
        first_names, [each for each in instructions if (each.project, each.language) == kind]
    ).recall
    for kind in kinds
}
print({" ".join(kind): len(lock_files[kind[0]].packages(kind[1])) for kind in kinds})
lab.show.bars(found, "Share of the wanted packages among the first fifty")

# %% [markdown]
# Where a project has fewer than fifty packages, all are found; elsewhere the alphabet decides. We want a catalogue that
#
# 1. is brought up to date by doing only what has to be done,
# 2. is shared, so that a package is described and embedded once, however many projects use it,
# 3. loses packages that no project uses, and never one that a project uses,
# 4. is searched by meaning, but only among the names of one project.

# %% [markdown]
# ## By hand: one night
#
# Two projects, before and after a night in which *rider-app* changed its lock file. Decide for each row what happens to the
# project's list, and then what happens to the shared catalogue.
#
# | package | rider-app yesterday | rider-app today | forecasting |
# |---|---|---|---|
# | httpx | 0.28.1 | 0.28.1 | 0.28.1 |
# | spotipy | 2.25.1 | 2.26.0 | |
# | polars | | 1.32.2 | 1.32.2 |
# | pillow | 11.2.1 | | 11.3.0 |
# | bleach | 6.2.0 | | |
#
# <details><summary>The answer</summary>
#
# The list: httpx is *skipped*, spotipy *changed*, polars *added*, pillow and bleach *removed*. The catalogue: polars is there
# already. Pillow stays, because forecasting uses it. No project uses bleach any more: it is an [orphan](../labs/GLOSSARY.md#orphan), and goes.
#
# </details>

# %% [markdown]
# ## Exercise 11.1: the plan
#
# First the list. Compare what is there with what was stored, and write down what to do; doing it comes later. The plan knows no
# packages, only keys and states that are equal or not. A state may be anything, also an empty text or None. `Plan()` is a record of
# four empty lists: `skip`, `add`, `change`, `remove`. You append to them; the record itself is frozen.
#
# ```
# make_plan({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 0, "d": 4})
#   →  Plan(skip=['a'], add=['c'], change=['b'], remove=['d'])
# ```

# %% exercise="11.1"
from course_lib.indexing.plan import make_plan

# %%
lab.check("11.1", make_plan)

# %%
lab.hint("11.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Nothing in it touches a database, so it can be tried without one, and the same function serves packages, documents and whole
# repositories. Only the state differs: a version here, a hash of the content there.

# %% tags=["nbval-check-output"]
make_plan = lab.use("make_plan")
today = {**rider, "spotipy": "2.26.0", "polars": forecasting["polars"]}
del today["pillow"], today["bleach"]
plan = make_plan(today, rider)
print(len(plan.skip), "skipped; add", plan.add, "change", plan.change, "remove", plan.remove)

# %% [markdown]
# ## Two tables
#
# What each project uses is in one table, what a package is in another, which all projects share. A
# [foreign key](../labs/GLOSSARY.md#foreign-key) leads from the first to the second:
# the database refuses a use of a package that the catalogue does not have.
#
# `xray_used` is a view of the first table: that a package is used, not by whom. All of ours belong to one
# [tenant](../labs/GLOSSARY.md#tenant), "local". `carry_out` does what a plan says, on a project's list.

# %% tags=["nbval-check-output"]
from course_lib.xray import create_tables, drop_tables

drop_tables(conn)
create_tables(conn)
for table in ("xray_report_packages", "xray_packages", "xray_used"):
    print(f"{table}:", *[column.name for column in conn.execute(f"SELECT * FROM {table}").description])

# %% tags=["nbval-check-output"]
CATALOGUED = """
    INSERT INTO xray_packages (language, name)
    SELECT 'python', unnest(%s::text[]) ON CONFLICT DO NOTHING"""
LISTED = """
    INSERT INTO xray_report_packages (tenant_id, project, language, name, version)
    SELECT 'local', %s, 'python', unnest(%s::text[]), unnest(%s::text[])
    ON CONFLICT (tenant_id, project, language, name) DO UPDATE SET version = excluded.version"""
UNLISTED = "DELETE FROM xray_report_packages WHERE project = %s AND name = ANY(%s)"


def carry_out(conn, project, plan, packages):
    written = [*plan.add, *plan.change]
    conn.execute(CATALOGUED, [plan.add])
    conn.execute(LISTED, [project, written, [packages[name] for name in written]])
    conn.execute(UNLISTED, [project, plan.remove])


def stored(conn, project):
    query = "SELECT name, version FROM xray_report_packages WHERE project = %s"
    return dict(conn.execute(query, [project]).fetchall())


for project, packages in {"rider-app": rider, "forecasting": forecasting}.items():
    carry_out(conn, project, make_plan(packages, stored(conn, project)), packages)
in_catalogue = conn.execute("SELECT count(*) FROM xray_packages WHERE language = 'python'").fetchone()[0]
print(len(rider), "and", len(forecasting), "packages in the lock files,", in_catalogue, "in the catalogue")

# %% [markdown]
# That is fewer than in both lock files together: what they have in common is there once.
#
# ## Exercise 11.2: what has to be embedded
#
# A package is found by the [embedding](../labs/GLOSSARY.md#embedding) of its name and description, and encoding is what costs most. A
# vector stays good as long as it was made of the same text by the same model; the version does not matter. The table keeps text and
# model beside each vector.

# %% exercise="11.2"
from course_lib.xray.catalogue import names_to_embed

# %%
lab.check("11.2", names_to_embed)

# %%
lab.hint("11.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# This is a plan once more, with the pair (text, model) for a state: what has to be made is `add` and `change` together. The model
# belongs to the state, because vectors of two models cannot be compared.

# %% [markdown]
# Descriptions come from a table here; they might come from a language model and cost money. `embed` makes the vectors that are
# missing and returns how many.
#
# Then three nights: in the first everything is new, in the second nothing happens, in the third *rider-app* has today's lock file,
# and one description was improved. A naive job encodes both lock files every night.
#
# > **Predict.** How many texts does each night encode?

# %%
from course_lib.xray import Package, TableDescriber

names_to_embed = lab.use("names_to_embed")
model = lab.embedder.model_name
[described] = TableDescriber().describe([Package("python", name) for name in {**rider, **forecasting}])
texts = {package.name: f"{package.name}: {text}" for package, text in described.items()}
FILLED = """
    UPDATE xray_packages SET embedded_text = %s, model = %s, embedding = %s
    WHERE language = 'python' AND name = %s"""


def embed(texts):
    rows = conn.execute("SELECT name, embedded_text, model FROM xray_packages WHERE language = 'python' AND model IS NOT NULL")
    names = names_to_embed(texts, {name: (text, by) for name, text, by in rows}, model)
    for name, vector in zip(names, lab.encode([texts[name] for name in names]), strict=True):
        conn.execute(FILLED, [texts[name], model, vector, name])
    return len(names)


# %%
# As before the first night, also where this cell is run again.
carry_out(conn, "rider-app", make_plan(rider, stored(conn, "rider-app")), rider)
conn.execute("UPDATE xray_packages SET model = NULL, embedding = NULL WHERE language = 'python'")

better = {**texts, "twilio": "twilio: Sends text messages and makes phone calls"}
nights = [embed(texts), embed(texts)]
carry_out(conn, "rider-app", make_plan(today, stored(conn, "rider-app")), today)
nights.append(embed(better))
print("encoded in each night:", nights)
every_night = 2 * (len(rider) + len(forecasting)) + len(today) + len(forecasting)
spent = {"everything, every night": every_night, "what changed": sum(nights)}
lab.show.bars(spent, "Texts encoded in three nights")

# %% [markdown]
# Polars cost nothing, because *forecasting* had brought it in. Neither did spotipy: another version, but the same description.
#
# ## What others still use
#
# *rider-app* has dropped pillow and bleach. Both are still in the catalogue. The naive job deletes there what it has removed.
#
# > **Predict.** *forecasting* uses pillow. What does the database say?

# %% tags=["nbval-check-output"]
import psycopg

try:
    conn.execute("DELETE FROM xray_packages WHERE name = ANY(%s)", [plan.remove])
except psycopg.errors.ForeignKeyViolation as error:
    print(error.diag.message_primary)
    print(error.diag.message_detail)
still = conn.execute("SELECT name FROM xray_packages WHERE name = ANY(%s) ORDER BY 1", [plan.remove]).fetchall()
print("in the catalogue:", [name for (name,) in still])

# %% [markdown]
# The foreign key has prevented the loss, and bleach is still there. Deleting nothing at all would be safe as well, but a catalogue that
# only grows fills up with what no project has.
#
# ## Exercise 11.3: orphans
#
# Write the deletion that looks first. Its `names` are those that one project has just let go. A package is a language *and* a name:
# `redis` is one thing in Python and another in Ruby.

# %% exercise="11.3"
from course_lib.xray.catalogue import delete_orphans

# %%
lab.check("11.3", delete_orphans)

# %%
lab.hint("11.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Looking and deleting is one statement. Between two statements, another sync may begin to use the package. `names` keeps it cheap: what
# else is in the catalogue was not let go by this sync and need not be looked at.

# %% tags=["nbval-check-output"]
delete_orphans = lab.use("delete_orphans")
conn.execute(CATALOGUED, [plan.remove])  # both are there, also where this cell is run again
print("let go:", plan.remove, "deleted:", delete_orphans(conn, "python", plan.remove))
left = conn.execute("SELECT name FROM xray_packages WHERE name IN ('bleach', 'pillow')").fetchall()
print("in the catalogue:", left)

# %% [markdown]
# ## Break it: two at once
#
# Here is a whole sync, in one [transaction](../labs/GLOSSARY.md#transaction). It is right, as long as no other sync runs. `meet` does
# nothing yet: it is where another sync may come in between.

# %%
def naive_sync(conn, project, packages, meet):
    with conn.transaction():
        plan = make_plan(packages, stored(conn, project))
        carry_out(conn, project, plan, packages)
        meet()
        delete_orphans(conn, "python", plan.remove)
        meet()


def begin(**projects):
    drop_tables(conn)
    create_tables(conn)
    for project, packages in projects.items():
        naive_sync(conn, project, packages, lambda: None)


# %% [markdown]
# Waiting for bad luck takes weeks, so we arrange it. `at_once` runs two syncs in two threads, each with a
# [connection](../labs/GLOSSARY.md#database-connection) of its own; at `meet()` each waits until the other is there as well.
#
# Project *one* drops `shared` and has `mine` instead; at the same moment, project *two* begins to use `shared`. We remove the foreign
# key for this once: many schemas have none.
#
# > **Predict.** Neither sees what the other has not committed yet. What is in the catalogue at the end?

# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.meeting import at_once


def look(met):
    used = {name for (name,) in conn.execute("SELECT name FROM xray_used")}
    there = {name for (name,) in conn.execute("SELECT name FROM xray_packages")}
    print("they met:", met)
    print("used, and not in the catalogue:", sorted(used - there))
    print("in the catalogue, and not used:", sorted(there - used))


begin(one={"shared": "1"})
conn.execute("ALTER TABLE xray_report_packages DROP CONSTRAINT xray_report_packages_in_catalogue")
look(at_once(lab.connect, naive_sync, ("one", {"mine": "1"}), ("two", {"shared": "1"})))

# %% [markdown]
# A package in use was lost. *Two* found it in the catalogue and had nothing to add; *one* saw no use of it and deleted it. With the
# foreign key one of them would have failed instead, which is better, and still a sync that fails now and then.
#
# Now with the foreign key, and another night: both have `shared`, and both drop it.
#
# > **Predict.** Which of them deletes it from the catalogue?

# %% tags=["nbval-check-output"]
begin(one={"shared": "1", "mine": "1"}, two={"shared": "1", "yours": "1"})
look(at_once(lab.connect, naive_sync, ("one", {"mine": "1"}), ("two", {"yours": "1"})))

# %% [markdown]
# Neither: each sees that the other still uses it, and leaves it to the other. The orphan stays, since no later sync lets go of it.
#
# | | one | two |
# |---|---|---|
# | 1 | removes its use of `shared` | removes its use of `shared` |
# | 2 | does any project use it? *Two does* | does any project use it? *One does* |
# | 3 | commits | commits |
#
# A constraint cannot help, because each row is right. What helps is taking turns.
#
# An [advisory lock](../labs/GLOSSARY.md#advisory-lock) is a lock on a number of our own, and PostgreSQL gives it to one transaction
# at a time: `SELECT pg_advisory_xact_lock(…)`. The library's `alone_in` takes one for a language, so that Go does not wait for Python.

# %% tags=["nbval-check-output"]
from course_lib.xray.tables import alone_in


def careful_sync(conn, project, packages, meet):
    with alone_in(conn, "python"):
        naive_sync(conn, project, packages, meet)


begin(one={"shared": "1", "mine": "1"}, two={"shared": "1", "yours": "1"})
look(at_once(lab.connect, careful_sync, ("one", {"mine": "1"}), ("two", {"yours": "1"}), patience=1))
begin(one={"shared": "1"})
look(at_once(lab.connect, careful_sync, ("one", {"mine": "1"}), ("two", {"shared": "1"}), patience=1))

# %% [markdown]
# They cannot meet any more. The second one waits, and then reads what the first one has committed. Plan, list and orphans are done
# under the lock; describing and embedding are not, since a language model may take minutes, and no other sync should wait for that.
#
# ## Near, and ours
#
# The library's `sync_project` calls `make_plan`, `delete_orphans` and `names_to_embed`. It takes all languages of a project, skips a
# language whose lock file's checksum is the same as last time, takes the lock, and encodes what the catalogue has no vector for.

# %% tags=["nbval-check-output"]
from course_lib.xray import sync_project

begin()
for project, files in lock_files.items():
    done = sync_project(conn, project, files, embedder=lab.embedder, describer=TableDescriber())
    print(project, {each.language: len(each.added) for each in done.languages})
    print("  described:", done.filled.described, " embedded:", done.filled.embedded)
done = sync_project(conn, "rider-app", lock_files["rider-app"], embedder=lab.embedder)
print("again: unchanged", [each.language for each in done.languages if each.unchanged])

# %% [markdown]
# *rider-app* brings 453 packages. Two of them are forks that our table of descriptions leaves out: their names alone are encoded. Of
# the 498 packages of *forecasting*, 170 are in *rider-app* as well and cost nothing; 328 are left.
#
# So: five packages for *fetch top charts from Spotify*, in Python, for *rider-app*. Take the five nearest and keep what is ours.
#
# > **Predict.** How many of the five are left?

# %% tags=["nbval-check-output"]
instruction = "fetch top charts from Spotify"
nearest = conn.execute(
    "SELECT language, name FROM xray_packages ORDER BY embedding <=> %s, language, name LIMIT 5",
    [lab.encode(instruction)],
).fetchall()
print(nearest)
print("ours:", [name for language, name in nearest if language == "python" and name in rider])

# %% [markdown]
# Five clients for Spotify, in five languages, and one of them is ours. In a catalogue of a thousand projects there might be none.
# Filtered after the choice, five suggestions become one; the filter has to come before it.
#
# ## Exercise 11.4: the nearest of this project
#
# Write the query that chooses among the project's names only, and return it with the values of its placeholders: `conn.execute` takes
# both. `<=>` is pgvector's [cosine distance](../labs/GLOSSARY.md#cosine-distance), and `COLUMNS` lists what is told of a package.
#
# Vectors of two models cannot be compared, so the model is a filter as well. A package without a vector has no model either.

# %% exercise="11.4"
from course_lib.xray.suggestions import nearest_packages_query

# %%
lab.check("11.4", nearest_packages_query)

# %%
lab.hint("11.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# There is no vector index, and none is needed: a project has hundreds of names at most, and PostgreSQL compares each of them, exactly.
# With an HNSW index over the whole catalogue, the filter could leave too few of them, as in lab 07.

# %% tags=["nbval-check-output"]
nearest_packages_query = lab.use("nearest_packages_query")


def find_packages(instruction, project, language, k=5):
    return conn.execute(*nearest_packages_query(lab.encode(instruction), project, language, model, k)).fetchall()


for name, version, description, similarity in find_packages(instruction, "rider-app", "python"):
    print(f"{similarity:.2f}  {name:17} {version:7} {description}")

# %%
import numpy as np

asked = [instruction, "charge the rider's card", "resize the photo", "retry the request"]
names = ["spotipy", "stripe", "pillow", "tenacity", "fastapi", "attrs"]
likeness = lab.encode(asked) @ lab.encode([texts[name] for name in names]).T
for each, row in zip(asked, likeness, strict=True):
    print(f"{each}: {names[row.argmax()]}")
lab.show.heat_map(likeness, asked, names, title="Cosine similarity")

# %% [markdown]
# Each instruction is most like the package that serves it, although it does not hold the package's name: the descriptions make the
# difference.
#
# ## Measure
#
# All labelled instructions. Three ways to choose: your search, the same with vectors of the bare names, and the alphabet.
#
# > **Predict.** How many suggestions does your search need for what the first fifty find?

# %%
from IPython.display import display


def near(asked):
    found = find_packages(asked.instruction, asked.project, asked.language, 50)
    return [name for name, *_ in found]


def bare(asked):
    names = first_names(asked, None)
    similarity = lab.encode(names) @ lab.encode(asked.instruction)
    return [names[at] for at in np.argsort(-similarity, kind="stable")]


def recall(names, count):
    return score_suggestions(lambda asked: names[asked][:count], instructions).recall


counts = (1, 3, 5, 10, 20, 50)
ways = {"name and description": near, "name alone": bare, "first by name": first_names}
names = {way: {each: choose(each) for each in instructions} for way, choose in ways.items()}
curves = {way: [(count, recall(names[way], count)) for count in counts] for way in ways}
display(lab.show.lines(curves, "Wanted packages that were suggested", across="suggestions", up="share found"))
best = score_suggestions(lambda asked: near(asked)[:5], instructions)
for name, score in {"first 50 by name": first_fifty, "nearest 5": best}.items():
    print(f"{name:16} {score.recall:.0%} found, {score.suggested:.0f} packages in the prompt")
for each in best.missed[:3]:
    print(f"not all found: {each.instruction!r} wants {each.gold_packages}")
print("geoalchemy2 is described as:", texts["geoalchemy2"])
ranks = [[name in each.gold_packages for name in near(each)] for each in instructions]
mrr = np.mean([1 / (1 + hits.index(True)) if True in hits else 0 for hits in ranks])
lab.score(recall_at_5=best.recall, mrr=mrr, note="packages for instructions, not documents")

# %% [markdown]
# Far more is found, with a tenth of the packages in the prompt. Look also at what is missed: the description of geoalchemy2 names
# PostGIS, and the question about stations within 500 metres does not. A better description costs one vector.

# %% [markdown]
# ## Into the prompt
#
# The library's `suggest` runs your query and adds one thing: without a model the first fifty come after all, marked as a fallback.
# `generation_prompt` finds the comment above the cursor.

# %% tags=["nbval-check-output"]
from pathlib import Path
from tempfile import TemporaryDirectory

from course_lib.xray import generation_prompt

ours = {"conn": conn, "project": "rider-app", "k": 3}
with TemporaryDirectory() as folder:
    source = Path(folder, "charts.py")
    source.write_text("import json\n\n# fetch top charts from Spotify\n", encoding="utf-8")
    prompt = generation_prompt(source, 4, embedder=lab.embedder, **ours)
    without = generation_prompt(source, 4, embedder=None, **ours)
print(prompt.text)
print("without a model:", len(without.suggestions.packages), "packages,", without.suggestions.fallback)

# %% [markdown]
# ## One planner for all
#
# Documents get out of date, too. `ingest` plans with the same `make_plan`; a page's state is a hash of its text, its parser, its
# settings and the model. One page is edited, another deleted.
#
# > **Predict.** A page has about 24 chunks. How many of them are new or changed after one line was added?

# %% tags=["nbval-check-output"]
import shutil

from course_lib.indexing import ingest
from course_lib.records import Scope
from course_lib.store import drop_schema

drop_schema(conn)  # so that you can run the cell again
with TemporaryDirectory() as folder:
    pages = Path(shutil.copytree(lab.data_dir, Path(folder, "pages")))
    for night in ("first", "nothing changed", "one edited, one deleted"):
        if night.startswith("one"):
            edited, deleted, *_ = sorted(pages.glob("*.md"))
            with edited.open("a", encoding="utf-8") as page:
                page.write("\nOne more line.\n")
            deleted.unlink()
        done = ingest(pages, Scope(repo="pages"), conn=conn, embedder=lab.embedder)
        print(f"{night}: {done.inserted} new, {done.updated} changed", end=", ")
        print(f"{done.unchanged} as before, {done.deleted} deleted")

# %% [markdown]
# One. The other chunks of the edited page stay as they are.
#
# ## In the field
#
# LangChain's `index` keeps a vector store fresh by a hash of each document, too. A *record manager* remembers the hashes.
#
# > **Predict.** A package gets another version, and then all are to be encoded by another model. What does `index` do each time?

# %%
try:
    from langchain_core import documents, embeddings, indexing, vectorstores
except ImportError:
    print("not installed: pip install langchain-core, then run this cell again")
else:
    records = indexing.InMemoryRecordManager("packages")
    models = [embeddings.DeterministicFakeEmbedding(size=size) for size in (8, 16)]
    one, other = map(vectorstores.InMemoryVectorStore, models)
    for night, version, store in (("first", "1", one), ("same", "1", one), ("version", "2", one), ("model", "2", other)):
        packages = [documents.Document(texts[name], metadata={"source": name, "version": version}) for name in ("attrs", "pillow")]
        done = indexing.index(packages, records, store, cleanup="full", source_id_key="source", key_encoder="sha256")
        print(f"{night:8}", done)

# %% [markdown]
# The hash holds text and metadata, so another version costs a vector for the same text. It does not hold the model, so `index` skips
# everything, and the other model's store stays empty. Take it where texts change and models do not, or give each model a record
# manager with a name of its own.
#
# ## Recap
#
# - A plan compares states and does nothing: skip, add, change, remove. Only what changed costs anything.
# - A vector is made again where its text or its model is another, never for a version alone.
# - What one project drops leaves the shared catalogue only if no other project uses it.
# - Two syncs that are right alone are wrong together. A foreign key prevents the loss, a lock the orphan as well.
# - A filter comes before the choice. Five by meaning beat fifty by name.
#
# ## Three questions to test yourself
#
# 1. Why is the removal of a use and the search for orphans one transaction, and the embedding not a part of it?
# 2. `SERIALIZABLE` would also notice the two syncs. What would the program have to do then that it does not have to do with a lock?
# 3. A project is renamed. What does the next sync do, and what does it cost?
#
# <details><summary>Answers</summary>
#
# 1. Between the two, the catalogue would hold what no project uses, for ever if the program is killed there. A missing vector does no
#    such harm: the package is stored, and `course xray backfill` embeds it later. And all other syncs would wait for the model.
# 2. One of the two transactions ends with an error, and has to be tried again from the beginning.
# 3. It adds every package under the new name, and encodes nothing: the catalogue has them. `course xray forget` removes the old name.
#
# </details>
#
# ## Stretch, and what comes next
#
# `course xray scan DIR --project P` does it with a project of yours, and `course xray suggest` asks it. Write three instructions of your
# own: which of its packages would you describe differently?
#
# Next is [lab 12](../labs/12_grounded_answers.ipynb), where passages and packages become a prompt, and the prompt an answer with its sources.
