# %% [markdown]
# # 12 · A fresh index
#
# Two projects share a catalogue of packages, and you will keep it up to date: new packages are added, and packages that no project uses are
# deleted.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | plan a sync that encodes only what changed · delete what no project uses any more, also when two syncs run at once | `indexing/plan.py` · `xray/` | about {minutes} min | SQL; lab 05 for embeddings, lab 06 for transactions |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("12", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
conn = lab.connect(autocommit=True)  # each statement commits by itself
lab.show.pipeline("table")

# %% [markdown]
# ## Two projects
#
# Each project has [lock files](../labs/GLOSSARY.md#lock-file), which list its packages and their versions.

# %% tags=["nbval-check-output"]
from course_lib.settings import project_root
from course_lib.xray import find_lock_files

lock_files = {
    project: find_lock_files(project_root() / "data" / "lockfiles" / project)
    for project in ("rider-app", "forecasting")
}
rider, forecasting = (files.packages("python") for files in lock_files.values())
print(len(rider), "Python packages in rider-app,", len(forecasting), "in forecasting")

# %% [markdown]
# We want a catalogue that
#
# 1. is updated with as little work as possible,
# 2. is shared by all projects, so that each package is described and embedded only once,
# 3. loses the packages that no project uses, but never a package that a project uses.

# %% [markdown]
# ## By hand: one night
#
# Each night, a sync updates the catalogue. The table shows two projects; *rider-app* has a new lock file today. Decide for each row what
# happens to the list of *rider-app*, and then what happens to the shared catalogue.
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
# The list: httpx is *skipped*, spotipy is *changed*, polars is *added*, pillow and bleach are *removed*. The catalogue: polars is already in
# it. Pillow stays, because forecasting uses it. No project uses bleach any more: it is an [orphan](../labs/GLOSSARY.md#orphan) and is deleted.
#
# </details>

# %% [markdown]
# ## Exercise 12.1: the plan
#
# We begin with the list. Compare the current packages with the stored ones, and return what has to be done; the work itself comes later.
# The function does not know about packages. It gets keys with states, and compares two states with `==`. A state may be any value, also an
# empty text, None or a list. `Plan()` is a record of four empty lists: `skip`, `add`, `change` and `remove`. You append keys to these
# lists, but you cannot assign new lists, because the record is frozen.
#
# ```
# make_plan({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 0, "d": 4})
#   →  Plan(skip=['a'], add=['c'], change=['b'], remove=['d'])
# ```

# %% exercise="12.1"
from course_lib.indexing.plan import make_plan

# %%
lab.check("12.1", make_plan)

# %%
lab.hint("12.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The function does not use a database, so you can test it without one. The same function plans packages, documents and whole
# repositories. Only the state is different: the version of a package, or the content hash of a document.

# %% tags=["nbval-check-output"]
make_plan = lab.use("make_plan")
today = {**rider, "spotipy": "2.26.0", "polars": forecasting["polars"]}
del today["pillow"], today["bleach"]
plan = make_plan(today, rider)
print(len(plan.skip), "skipped; add", plan.add, "change", plan.change, "remove", plan.remove)

# %% [markdown]
# ## Two tables
#
# The table `xray_report_packages` is the list: it has a row for each package of each project. The table `xray_packages` is the catalogue,
# which all projects share. A [foreign key](../labs/GLOSSARY.md#foreign-key) leads from the list to the catalogue: the database rejects a
# row of the list if its package is not in the catalogue.
#
# `xray_used` is a view of the list that shows which packages are used, but not by which project. All our projects belong to one
# [tenant](../labs/GLOSSARY.md#tenant), "local". `carry_out` below applies a plan to the list of a project.

# %% tags=["nbval-check-output"]
from course_lib.xray import create_tables, drop_tables

drop_tables(conn)
create_tables(conn)
for table in ("xray_report_packages", "xray_packages", "xray_used"):
    print(f"{table}:", *[column.name for column in conn.execute(f"SELECT * FROM {table}").description])

# %% tags=["nbval-check-output"]
ADD_TO_CATALOGUE = """
    INSERT INTO xray_packages (language, name)
    SELECT 'python', unnest(%s::text[]) ON CONFLICT DO NOTHING"""
ADD_TO_LIST = """
    INSERT INTO xray_report_packages (tenant_id, project, language, name, version)
    SELECT 'local', %s, 'python', unnest(%s::text[]), unnest(%s::text[])
    ON CONFLICT (tenant_id, project, language, name) DO UPDATE SET version = excluded.version"""
REMOVE_FROM_LIST = "DELETE FROM xray_report_packages WHERE project = %s AND name = ANY(%s)"


def carry_out(conn, project, plan, packages):
    written = [*plan.add, *plan.change]
    conn.execute(ADD_TO_CATALOGUE, [plan.add])
    conn.execute(ADD_TO_LIST, [project, written, [packages[name] for name in written]])
    conn.execute(REMOVE_FROM_LIST, [project, plan.remove])


def stored(conn, project):
    query = "SELECT name, version FROM xray_report_packages WHERE project = %s"
    return dict(conn.execute(query, [project]).fetchall())


for project, packages in {"rider-app": rider, "forecasting": forecasting}.items():
    carry_out(conn, project, make_plan(packages, stored(conn, project)), packages)
in_catalogue = conn.execute("SELECT count(*) FROM xray_packages WHERE language = 'python'").fetchone()[0]
print(len(rider), "and", len(forecasting), "packages in the lock files,", in_catalogue, "in the catalogue")

# %% [markdown]
# The catalogue has fewer packages than both lock files together, because it holds each shared package once.
#
# ## Exercise 12.2: what has to be embedded
#
# The search finds a package by the [embedding](../labs/GLOSSARY.md#embedding) of its name and description. Encoding is the most expensive
# step. A vector can be kept if exactly the same text and the same model made it; the version of the package does not matter. The catalogue
# stores the text and the model beside each vector.

# %% exercise="12.2"
from course_lib.xray.catalogue import names_to_embed

# %%
lab.check("12.2", names_to_embed)

# %%
lab.hint("12.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# This is a plan, too, in which the state is the pair (text, model): the answer is `add` and `change` together. The model belongs to the
# state, because vectors of two models cannot be compared.

# %% [markdown]
# Here, a table has the descriptions. A language model could write them, but this costs money. `embed` encodes the texts whose vectors are
# missing and returns their number.
#
# We run it for three nights. In the first night, everything is new. In the second, nothing changes. In the third, *rider-app* has today's
# lock file, and one description is better than before. A naive job encodes both lock files every night.
#
# > **Predict.** How many texts does `embed` encode in each night?

# %%
from course_lib.xray import Package, TableDescriber

names_to_embed = lab.use("names_to_embed")
model = lab.embedder.model_name
[described] = TableDescriber().describe([Package("python", name) for name in {**rider, **forecasting}])
texts = {package.name: f"{package.name}: {text}" for package, text in described.items()}
STORE_VECTOR = """
    UPDATE xray_packages SET embedded_text = %s, model = %s, embedding = %s
    WHERE language = 'python' AND name = %s"""


def embed(texts):
    rows = conn.execute("SELECT name, embedded_text, model FROM xray_packages WHERE language = 'python' AND model IS NOT NULL")
    names = names_to_embed(texts, {name: (text, by) for name, text, by in rows}, model)
    for name, vector in zip(names, lab.encode([texts[name] for name in names]), strict=True):
        conn.execute(STORE_VECTOR, [texts[name], model, vector, name])
    return len(names)


# %%
# Go back to the state before the first night, so that you can run this cell again.
carry_out(conn, "rider-app", make_plan(rider, stored(conn, "rider-app")), rider)
conn.execute("UPDATE xray_packages SET model = NULL, embedding = NULL WHERE language = 'python'")

better = {**texts, "twilio": "twilio: Sends text messages and makes phone calls"}
nights = [embed(texts), embed(texts)]
carry_out(conn, "rider-app", make_plan(today, stored(conn, "rider-app")), today)
nights.append(embed(better))
print("encoded in each night:", nights)
every_night = 2 * (len(rider) + len(forecasting)) + len(today) + len(forecasting)
spent = {"everything, every night": every_night, "only what changed": sum(nights)}
lab.show.bars(spent, "Texts encoded in three nights")

# %% tags=["claim"]
assert nights[:2] == [len(texts), 0], "In the first night, everything is new. In the second, nothing changes"
assert nights[2] == 1, "polars needed no encoding, because forecasting already uses it. Spotipy needed none either"
assert every_night > 3 * sum(nights), "A naive job encodes both lock files every night"

# %% [markdown]
# In the third night, polars needed no encoding, because *forecasting* already uses it. Spotipy needed none either: its version is new, but
# its description is the same.
#
# ## Packages that other projects use
#
# *rider-app* no longer uses pillow and bleach. Both are still in the catalogue. The naive job deletes both from it.
#
# > **Predict.** *forecasting* uses pillow. What does the database do?

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
# The foreign key has prevented the loss of pillow. But bleach was not deleted either. It would be safe to delete nothing at all, but then
# the catalogue would fill up with packages that no project uses.
#
# ## Exercise 12.3: orphans
#
# Write a deletion that first checks whether a package is used. `names` are the packages that one project has just removed from its list. A
# package is identified by its language *and* its name: `redis` in Python and `redis` in Ruby are two packages.

# %% exercise="12.3"
from course_lib.xray.catalogue import delete_orphans

# %%
lab.check("12.3", delete_orphans)

# %%
lab.hint("12.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# One statement checks and deletes. Between two statements, another sync could begin to use the package. Because of `names`, the statement
# is fast: it checks only the packages that this sync has removed, not the whole catalogue.

# %% tags=["nbval-check-output"]
delete_orphans = lab.use("delete_orphans")
conn.execute(ADD_TO_CATALOGUE, [plan.remove])  # so that you can run this cell again
print("removed from the list:", plan.remove, "deleted:", delete_orphans(conn, "python", plan.remove))
left = conn.execute("SELECT name FROM xray_packages WHERE name IN ('bleach', 'pillow')").fetchall()
print("in the catalogue:", left)

# %% [markdown]
# ## Break it: two at once
#
# Here is a complete sync in one [transaction](../labs/GLOSSARY.md#transaction). It is correct as long as no other sync runs at the same time.
# `meet` does nothing yet. It marks the two places where another sync can run in between.

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
# Two syncs rarely meet by chance, so we make them meet. `at_once` runs two syncs in two threads, each with its own
# [connection](../labs/GLOSSARY.md#database-connection). At `meet()`, each sync waits for the other.
#
# Project *one* replaces `shared` by `mine`. At the same moment, project *two* begins to use `shared`. For this test, we remove the foreign
# key, because many schemas do not have one.
#
# > **Predict.** A transaction does not see changes that the other has not committed yet. What is in the catalogue at the end?

# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.meeting import at_once


def look(met):
    used = {name for (name,) in conn.execute("SELECT name FROM xray_used")}
    there = {name for (name,) in conn.execute("SELECT name FROM xray_packages")}
    print("they met:", met)
    print("used, but not in the catalogue:", sorted(used - there))
    print("in the catalogue, but not used:", sorted(there - used))


begin(one={"shared": "1"})
conn.execute("ALTER TABLE xray_report_packages DROP CONSTRAINT xray_report_packages_in_catalogue")
look(at_once(lab.connect, naive_sync, ("one", {"mine": "1"}), ("two", {"shared": "1"})))

# %% [markdown]
# A package in use was lost. *Two* found it in the catalogue and had nothing to add. *One* saw no use of it and deleted it. With the foreign
# key, one of the two syncs would have failed instead. That is better, but then a sync fails from time to time.
#
# The next cell has the foreign key again, and another case: both projects use `shared`, and both remove it.
#
# > **Predict.** Which of the two syncs deletes it from the catalogue?

# %% tags=["nbval-check-output"]
begin(one={"shared": "1", "mine": "1"}, two={"shared": "1", "yours": "1"})
look(at_once(lab.connect, naive_sync, ("one", {"mine": "1"}), ("two", {"yours": "1"})))

# %% [markdown]
# Neither deletes it, because each sees that the other still uses it. The orphan stays forever, because no later sync removes `shared` from
# a list.
#
# | | one | two |
# |---|---|---|
# | 1 | removes its use of `shared` | removes its use of `shared` |
# | 2 | does any project use it? *Two does* | does any project use it? *One does* |
# | 3 | commits | commits |
#
# A constraint cannot prevent this, because each row is valid. The two syncs must run one after the other.
#
# An [advisory lock](../labs/GLOSSARY.md#advisory-lock) is a lock on a number that the program chooses. PostgreSQL gives it to one transaction
# at a time: `SELECT pg_advisory_xact_lock(…)`. The library's `alone_in` takes a lock for each language, so that a sync of Go packages does
# not wait for one of Python packages.

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
# The two syncs cannot meet any more. The second one waits, and then reads what the first one has committed. The sync holds the lock while it
# plans, updates the list and deletes orphans. It describes and embeds packages without the lock: a language model may need minutes, and
# no other sync should wait for it.
#
# ## All languages
#
# The library's `sync_project` calls `make_plan`, `delete_orphans` and `names_to_embed` for all languages of a project. It skips a language if
# the checksum of its lock file is the same as last time. Otherwise it takes the lock and syncs the list. Then it encodes the packages that
# have no vector yet.

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
# *rider-app* adds 453 packages. Two of them are forks without a description in our table, so only their names are encoded. Of the 498 packages
# of *forecasting*, 170 are also in *rider-app* and are not encoded again. So 328 are encoded.
#
# ## The same planner for documents
#
# Documents change, too. `ingest` also plans with `make_plan`; the state of a page is a hash of its text, its parser, its settings and the
# model. In the third night below, one page has been edited and another deleted.
#
# > **Predict.** A page has about 24 chunks. How many of them are new or changed after one line is added at the end of the page?

# %% tags=["nbval-check-output"]
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

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
        print(f"{done.unchanged} unchanged, {done.deleted} deleted")

# %% [markdown]
# Only one chunk changed. The other chunks of the edited page are unchanged.
#
# ## In the field
#
# LangChain's `index` also keeps a vector store up to date by a hash of each document. A *record manager* stores the hashes.
#
# > **Predict.** First, the packages get a new version. Then another model replaces the first one. What does `index` do each time?

# %%
try:
    from langchain_core import documents, embeddings, indexing, vectorstores
except ImportError:
    print("not installed: pip install langchain-core, then run this cell again")
else:
    records = indexing.InMemoryRecordManager("packages")
    models = [embeddings.DeterministicFakeEmbedding(size=size) for size in (8, 16)]
    one, other = map(vectorstores.InMemoryVectorStore, models)
    done = {}
    for night, version, store in (("first", "1", one), ("same", "1", one), ("version", "2", one), ("model", "2", other)):
        packages = [documents.Document(texts[name], metadata={"source": name, "version": version}) for name in ("attrs", "pillow")]
        done[night] = indexing.index(packages, records, store, cleanup="full", source_id_key="source", key_encoder="sha256")
        print(f"{night:8}", done[night])

# %% tags=["claim"]
assert done["version"]["num_added"] == 2, "so a new version needs a new vector for the same text"
assert (done["model"]["num_added"], done["model"]["num_skipped"]) == (0, 2), "so index skips everything, and the store of the other model stays empty"

# %% [markdown]
# The hash is made of text and metadata, so a new version needs a new vector for the same text. The hash does not depend on the model, so
# `index` skips everything, and the store of the other model stays empty. Use it where texts change but the model does not. Or give each
# model its own record manager, with another name.
#
# ## Recap
#
# - A plan only compares states: skip, add, change, remove. So the sync works only on what has changed.
# - A vector is made again if its text or its model has changed, but not for a new version alone.
# - A package that one project removes is deleted from the shared catalogue only if no other project uses it.
# - Two syncs can each be correct alone and still fail at the same time. A foreign key prevents the loss of a package in use. A lock also
#   prevents the orphan.
#
# ## Three questions to test yourself
#
# 1. Why does a sync update the list and delete orphans in one transaction? And why does it embed outside of this transaction?
# 2. The isolation level `SERIALIZABLE` would also detect that the two syncs conflict. What would the program have to do then?
# 3. A project is renamed. What does the next sync do, and how much does it encode?
#
# <details><summary>Answers</summary>
#
# 1. If the program were killed between two transactions, an orphan would stay in the catalogue forever. A missing vector is less harmful:
#    the package is stored, and the next `course xray scan` embeds it. And with the embedding inside, all other syncs would wait for the model.
# 2. One of the two transactions would end with an error, and the program would have to run it again from the beginning.
# 3. It adds all packages under the new project name. It encodes nothing, because they are already in the catalogue. `course xray forget`
#    removes the old project name.
#
# </details>
#
# ## Stretch, and what comes next
#
# `course xray scan DIR --project P` reads the lock files of your own project. Run it twice, then update a package and run it again.
#
# Next is [lab 13](../labs/13_packages_for_a_prompt.ipynb). It searches this catalogue for the packages that a prompt needs.
