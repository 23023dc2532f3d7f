# %% [markdown]
# # 12 · A fresh index
#
# An index is a copy, and a copy gets old. You will find out what has changed, and update only that. Then you will delete from a catalogue
# that two projects share, while both change it.
#
# **Elective.** It adds updates and deletions that are safe while another update runs. For you if your documents change.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | plan an update (a *sync*) of documents or packages that encodes only what changed · delete what no project uses any more · find out how two syncs disturb each other, and prevent it | `indexing/plan.py` · `xray/` | about {minutes} min | SQL; lab 05 for embeddings, lab 06 for transactions |

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
# ## The page that is gone
#
# Each night, an *ingest* indexes a folder of pages.

# %%
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

from course_lib.indexing import ingest
from course_lib.records import Scope
from course_lib.store import drop_schema

drop_schema(conn)  # so that you can run the cell again
folder = TemporaryDirectory()
pages = Path(copytree(lab.data_dir, Path(folder.name, "pages")))


def night():
    return ingest(pages, Scope(repo="wiki"), conn=conn, embedder=lab.embedder)


first_night = night()

# %% [markdown]
# We ask a question. Then an author deletes the page with the answer, and we ask again.

# %%
from course_lib.retriever import Query, search

question = "How do I undo a bad release quickly?"


def best():
    return search(conn, lab.encode(question), Query(question, top_k=1, repo="wiki"))


gone = pages / best()[0].document_name  # to run this cell again, run the one before it first
gone.unlink(missing_ok=True)
stale = best()
print("Is the page in the folder?", gone.exists())
lab.show.ranking(stale, question, most=240)

# %% tags=["claim"]
assert stale[0].document_name == gone.name and not gone.exists(), "The search still quotes the page"

# %% [markdown]
# The search still quotes the page, because the index was not updated. So the ingest runs in two more nights. Before night 2, an author adds
# a line to another page. Before night 3, nothing changes.
#
# > **Predict.** A page has about 24 chunks. How many chunks are inserted or updated in night 2, and how many in night 3?

# %%
import pandas as pd

edited = min(pages.glob("*.md"))
edited.write_text(edited.read_text("utf-8") + "\nOne more line.\n", "utf-8")
nights = [first_night, night(), night()]
done = pd.DataFrame(nights, index=["night 1", "night 2", "night 3"])
done["inserted or updated"] = done.inserted + done.updated
print("quoted now:", best()[0].document_name)
lab.show.stacked({"": done[["inserted or updated", "deleted", "unchanged"]]}, "chunks")

# %% tags=["claim"]
first, second, third = done.itertuples()
assert (second.inserted, second.updated) == (0, 1), "Only one chunk was inserted or updated in night 2"
assert (third.inserted, third.updated, third.deleted) == (0, 0, 0) and third.unchanged == second.updated + second.unchanged, "and none in night 3"
assert second.deleted == first.inserted - third.unchanged == 26, "In night 2, 26 chunks were deleted"
assert best()[0].document_name != gone.name, "and the search quotes another page now"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Only one chunk was inserted or updated in night 2, and none in night 3.
#
# </details>
#
# In night 2, 26 chunks were deleted, and the search quotes another page now.

# %% [markdown]
# ## By hand: one night
#
# Packages are harder than pages, because projects share them. Each project has a *list* of its packages. All projects share a *catalogue*,
# which holds each package and its vector once. (The course calls both *xray*.)
#
# Today, *rider-app* has a new [lock file](../labs/GLOSSARY.md#lock-file). For each row, decide what happens in its list, and then in the
# catalogue.
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
# In the list, httpx is *skipped*, spotipy *changed*, polars *added*, and pillow and bleach *removed*.
#
# The catalogue has polars already. Pillow stays there, because forecasting uses it. But no project uses bleach any more: it is an
# [orphan](../labs/GLOSSARY.md#orphan), so it is deleted.
#
# </details>

# %% [markdown]
# ## Exercise 12.1: the plan
#
# Your function compares the current states with the stored ones. `Plan()` has four empty lists: `skip`, `add`, `change` and `remove`.
# Append the keys to them.

# %% exercise="12.1"
from course_lib.indexing.plan import make_plan

# %%
lab.check("12.1", make_plan)

# %%
lab.hint("12.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: `stored.get(key)`. It gives None for a key that is missing, but also for a key whose state is None.

# %% [markdown]
# The state of a package is its version. We make the plan of *rider-app*.

# %%
from course_lib.settings import project_root
from course_lib.xray import find_lock_files

lock_files = project_root() / "data" / "lockfiles"
rider = find_lock_files(lock_files / "rider-app").packages("python")
forecasting = find_lock_files(lock_files / "forecasting").packages("python")
today = {name: version for name, version in rider.items() if name not in ("pillow", "bleach")}
today |= {"spotipy": "2.26.0", "polars": forecasting["polars"]}

# %%
make_plan = lab.use("make_plan")
plan = make_plan(today, rider)
print("skip:", len(plan.skip), "packages")
print("add:", plan.add, "change:", plan.change, "remove:", plan.remove)

# %% tags=["claim"]
assert (plan.add, plan.change, sorted(plan.remove)) == (["polars"], ["spotipy"], ["bleach", "pillow"]), "The plan is the one that you made by hand"
assert len(plan.skip) > 100, "with more packages to skip"

# %% [markdown]
# The plan is the one that you made by hand, with more packages to skip.

# %% [markdown]
# ## Two tables
#
# - `xray_report_packages` holds the lists: a row for each package of each project.
# - `xray_packages` is the catalogue.
#
# A [foreign key](../labs/GLOSSARY.md#foreign-key) leads from the lists to the catalogue. So the database rejects a row of a list if its
# package is not in the catalogue.
#
# Two functions are given: `stored` returns the list of a project, and `carry_out` applies a plan to it and fills the catalogue.

# %%
from course_lib.teaching.lab.meeting import carry_out, stored


def update(project, packages):
    carry_out(conn, project, make_plan(packages, stored(conn, project)), packages)


# %% [markdown]
# ## Exercise 12.2: what has to be encoded
#
# A search finds a package by the [embedding](../labs/GLOSSARY.md#embedding) of its name and description. Encoding is slow, so make a vector
# again only if its text or its model has changed.

# %% exercise="12.2"
from course_lib.xray.catalogue import names_to_embed

# %%
lab.check("12.2", names_to_embed)

# %%
lab.hint("12.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: comparing too much or too little. With the version, each new version is encoded again. Without the model, a
# search compares vectors of two models.

# %% [markdown]
# A naive job encodes all packages of both lock files every night. A better one encodes each name once. In the first night, all are new. In
# the second, nothing changes. In the third, *rider-app* has today's lock file and one description is better.
#
# > **Predict.** How many texts does your plan encode in the second night, and how many in the third?

# %%
from course_lib.xray import Package, TableDescriber

names = {**rider, **forecasting}
[described] = TableDescriber().describe([Package("python", name) for name in names])
texts = {package.name: f"{package.name}: {text}" for package, text in described.items()}
better = {**texts, "twilio": "twilio: Sends text messages and makes phone calls"}
used = {
    "first night": (rider, texts), "nothing changed": (rider, texts),
    "a new lock file": (today, better),
}

# %% [markdown]
# In each night, the jobs update the list of *rider-app*. Then `embed` encodes and stores the texts that your function chooses, and returns
# how many these are.

# %%
from course_lib.teaching.lab.meeting import embed
from course_lib.xray import create_tables, drop_tables

drop_tables(conn)  # so that you can run the cell again
create_tables(conn)
names_to_embed = lab.use("names_to_embed")
update("forecasting", forecasting)
spent = {}
for which, (packages, said) in used.items():
    update("rider-app", packages)
    both = [*packages, *forecasting]
    spent[which] = len(both), len({*both}), embed(lab, said, names_to_embed)
counts = pd.DataFrame(spent, index=["naive", "each name once", "planned"]).T
lab.show.bars(counts, "texts to encode")

# %% tags=["claim"]
naive, once, planned = zip(*spent.values(), strict=True)
assert planned == (len(texts), 0, 1), "The third night needs only one vector, for the better description"
assert naive[0] - len(texts) == 62, "In the first night, the plan saves 62 vectors"
assert len({*rider} & {*forecasting}) == 62, "because a package that both projects use is encoded once"
assert once[0] == once[1] == 201 and once[2] == 200, "also saves these 62. But in the second night, it encodes all 201 again"

# %% [markdown]
# <details><summary>The answer</summary>
#
# No text is encoded in the second night. The third night needs only one vector, for the better description. Polars has a vector already,
# and spotipy's description is the same.
#
# </details>
#
# In the first night, the plan saves 62 vectors, because a package that both projects use is encoded once. The better job also saves these
# 62. But in the second night, it encodes all 201 again. (A cache by text and model was not tried.)

# %% [markdown]
# ## Packages that other projects use
#
# *rider-app* no longer uses pillow and bleach, so the naive job tries to delete both from the catalogue.
#
# > **Predict.** *forecasting* uses pillow. What does the database do?

# %% tags=["nbval-check-output"]
import psycopg

try:
    conn.execute("DELETE FROM xray_packages WHERE name = ANY(%s)", [plan.remove])
except psycopg.errors.ForeignKeyViolation as error:
    print(error.diag.message_detail)

# %% tags=["claim"]
bleach = conn.execute("SELECT name FROM xray_packages WHERE name = 'bleach'").fetchall()
assert bleach == [("bleach",)], "So bleach stays in the catalogue, too"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The database refuses the whole statement, because of pillow. So bleach stays in the catalogue, too.
#
# </details>

# %% [markdown]
# ## Exercise 12.3: orphans
#
# Complete the statement, so that it deletes only what no project uses.
#
# - `%(names)s` is the list of packages that one project has just removed.
# - `%(language)s` is their language: `redis` in Python and `redis` in Ruby are two packages.
# - The view `xray_used` has a row (`language`, `name`) for each use of a package, in all projects of all
#   [tenants](../labs/GLOSSARY.md#tenant).
# - `name = ANY(list)` is true if the name is in the list.
# - `NOT EXISTS (SELECT FROM … WHERE …)` is true if the inner query finds no row. The inner query may use columns of the outer table, such
#   as `package.name`.

# %% exercise="12.3"
# Given up to: DELETE FROM xray_packages AS package
# Given from: RETURNING package.name
from course_lib.xray.catalogue import DELETE_ORPHANS

# %%
lab.check("12.3", DELETE_ORPHANS)

# %%
lab.hint("12.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: comparing names alone. Then `redis` in Ruby, which a project uses, also keeps an unused `redis` in Python.

# %% tags=["nbval-check-output"]
DELETE_ORPHANS = lab.use("DELETE_ORPHANS")
update("rider-app", rider)  # so that you can run the cell again
update("rider-app", today)
deleted = conn.execute(DELETE_ORPHANS, {"language": "python", "names": plan.remove}).fetchall()
print("deleted:", deleted)

# %% [markdown]
# ## Break it: two at once
#
# A sync is one [transaction](../labs/GLOSSARY.md#transaction) of three steps: it carries out the plan, deletes orphans, and commits.
#
# PostgreSQL's default [isolation level](../labs/GLOSSARY.md#isolation-level) is READ COMMITTED: a statement sees what others have committed
# before it began.
#
# The generator `sync` stops after each step (`yield`). At one such stop, `meet` runs the whole other sync.

# %%
def sync(conn, project, packages, events):
    plan = make_plan(packages, stored(conn, project))
    carry_out(conn, project, plan, packages)
    changes = [f"+{name}" for name in plan.add] + [f"−{name}" for name in plan.remove]
    events.append((project, " ".join(changes)))
    yield
    rows = conn.execute(DELETE_ORPHANS, {"language": "python", "names": plan.remove}).fetchall()
    events.append((project, f"deletes {' '.join(name for (name,) in rows) or 'nothing'}"))
    yield
    events.append((project, "commits"))
    conn.commit()
    yield


# %% [markdown]
# Two cases:
#
# - **both stop**: the projects *app* and *jobs* stop using `shared`.
# - **jobs starts, app stops**: *jobs* begins to use `shared`, and *app* stops.
#
# The tables have no foreign key here.
#
# In the figure, a white box is a step, and blue means that the transaction is open. The lowest row says who uses `shared`, as far as it
# is committed.
#
# > **Predict.** The other sync runs between steps 2 and 3 of the first. What is wrong at the end of each case? Then move the slider: when
# > does nothing go wrong?

# %%
from course_lib.teaching.lab.meeting import CASES, at_once, meet, over_time


def look(steps=2):
    return over_time(meet(lab, sync, CASES, steps))


lab.interact(look, steps=(0, 3, 1))

# %% tags=["claim"]
stopped, started = ([title.partition(": ")[2] for title in titles] for titles in zip(*(meet(lab, sync, CASES, steps) for steps in range(4)), strict=True))
assert stopped == ["all is well", "all is well", "shared is an orphan", "all is well"], "After two steps, `shared` is an orphan in the first case"
assert started == ["all is well", "shared is lost", "shared is lost", "all is well"], "and lost in the second"
[kept] = meet(lab, sync, {"both stop": CASES["both stop"]}, 2, foreign_key=True)
assert kept == "both stop: shared is an orphan", "The foreign key does not prevent it"

# %% [markdown]
# <details><summary>The answer</summary>
#
# After two steps, `shared` is an orphan in the first case, and lost in the second.
#
# The slider shows the rest. With 0 or 3 steps, one sync runs after the other, and all is well. With 1, only the second case goes wrong.
#
# </details>
#
# **The orphan.** Each sync still sees that the other project uses `shared`, so neither deletes it. The foreign key does not prevent it,
# because it says nothing about unused packages. Later nights do not repair it: a sync checks only names that its project just removed.
#
# **The lost package.** *app* does not see what *jobs* has not committed yet, and deletes `shared`. With the foreign key, this deletion
# would wait until *jobs* commits, and then fail (not tried here).
#
# So one sync has to wait for the other, or to fail and run again.

# %% [markdown]
# ## Exercise 12.4: take turns
#
# An [advisory lock](../labs/GLOSSARY.md#advisory-lock) is a lock on a number. `hashtextextended(text, 0)` turns a text into a number.
#
# | function | if another holds the lock | it ends |
# |---|---|---|
# | `pg_advisory_lock(number)` | waits | with the session, or if it is given back |
# | `pg_advisory_xact_lock(number)` | waits | with the transaction |
# | `pg_try_advisory_xact_lock(number)` | returns false | with the transaction |
#
# Which function lets two syncs take turns, even if one of them fails?
#
# A caller may have chosen the isolation level REPEATABLE READ. Then a transaction sees the database as it was when its first query began.
# Here, the first query is the one that waits for the lock. So after the wait, it still sees the old data. Which statement must come first?
# ([SET TRANSACTION](https://www.postgresql.org/docs/current/sql-set-transaction.html))

# %% exercise="12.4"
from course_lib.xray.tables import take_lock

# %%
lab.check("12.4", take_lock)

# %%
lab.hint("12.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a lock of the session. It stays when the transaction has failed, so the next night waits for a sync that has
# ended. With [pgbouncer](https://www.pgbouncer.org/features.html) in transaction mode, another client can get the session and its lock.

# %% [markdown]
# Now both syncs start at once, in two threads.
#
# > **Predict.** In which order do the six steps run now?

# %%
def careful_sync(conn, project, packages, events):
    take_lock(conn, "python")
    yield from sync(conn, project, packages, events)


take_lock = lab.use("take_lock")
runs = at_once(lab, careful_sync, CASES)
over_time(runs)

# %% tags=["claim"]
assert all(order in (["app"] * 3 + ["jobs"] * 3, ["jobs"] * 3 + ["app"] * 3) for order in ([who for who, _ in run.events] for run in runs.values())), "One sync does all three steps. The second waits, then reads what the first has committed"
assert all(title.endswith("all is well") for title in runs), "Nothing is lost, and no orphan stays"

# %% [markdown]
# <details><summary>The answer</summary>
#
# One sync does all three steps. The second waits, then reads what the first has committed.
#
# </details>
#
# Nothing is lost, and no orphan stays. But each language has one lock, and the syncs of all tenants wait for it. So do not encode while you
# hold it.
#
# ## In the field
#
# The same mistakes can happen wherever a program checks whether a thing is still used, and then deletes it: images of a registry, files of
# a bucket, rows of a catalogue. There are simpler ways than a lock, if old rows may stay for a while: mark a row as unused (*soft delete*),
# and let a job delete at night what nobody has used for a week.
#
# **On Monday**, look for one such place in your code. On a test system, stop the program in a debugger between the two steps. From another
# session, begin to use what the program will delete. Then let it continue.

# %% [markdown]
# ## Recap
#
# - A plan only compares states: skip, add, change, remove.
# - For a vector, the state is text and model, not the version.
# - Delete from a shared catalogue only what no project uses.
# - Two syncs can each be right alone, and together leave an orphan. A foreign key does not prevent this. A lock does.
#
# ## Three questions to test yourself
#
# 1. Why does a sync update the list and delete orphans in one transaction, but encode outside of it?
# 2. The isolation level `SERIALIZABLE` would also detect that the two syncs conflict. What would the program have to do then?
# 3. A project is renamed. What does the next sync do, and how much does it encode?
#
# <details><summary>Answers</summary>
#
# 1. If the program were killed between two transactions, an orphan would stay. If the encoding were inside, all others would wait.
# 2. One of the two syncs would fail, and the program would have to run it again.
# 3. The next sync adds all packages under the new name and encodes nothing. `course xray forget` removes the list of the old name.
#
# </details>
#
# ## Stretch, and what comes next
#
# Run `course xray scan DIR --project P` twice for a project of your own. What does the second run encode, and why?
#
# Next is [lab 13](../labs/13_packages_for_a_prompt.ipynb), which searches this catalogue.
