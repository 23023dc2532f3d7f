# %% [markdown]
# # 13 · Packages for a prompt
#
# A model that writes code knows the packages of your project only if its prompt names them. You will choose these packages by meaning,
# instead of the first fifty by name.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | read the packages of a project from a lock file · search a shared catalogue by meaning for one project only · choose the packages that a code-generation prompt names | `xray/` | about {minutes} min | SQL; labs 05, 07 and 12 |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("13", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
conn = lab.connect(autocommit=True)  # each statement commits by itself
lab.show.pipeline("search")

# %% [markdown]
# ## The package that the prompt does not name
#
# Imagine that you work on *rider-app*, one of the course's two example projects. In a Python file, you write the comment
# `# fetch top charts from Spotify`, and a language model has to write the code below it. The project has a package for this. But the model
# knows your project only from its [prompt](../labs/GLOSSARY.md#prompt). If the prompt does not name the package, the model may use one that
# you do not have.
#
# Why not name all packages? The 111 for Python alone would add about 7,700 characters to every request. So a simple program names only the
# first fifty, in the order of the alphabet. A better program names the few that fit the comment.
#
# To see both prompts, first fill the tables of [lab 12](../labs/12_a_fresh_index.ipynb) with the packages of both projects. Their descriptions
# come from a file.

# %% tags=["nbval-check-output"]
from course_lib.settings import project_root
from course_lib.xray import TableDescriber, create_tables, drop_tables, find_lock_files, sync_project

lock_files = {project: find_lock_files(project_root() / "data" / "lockfiles" / project) for project in ("rider-app", "forecasting")}
drop_tables(conn)
create_tables(conn)
for project, files in lock_files.items():
    sync_project(conn, project, files, embedder=lab.embedder, describer=TableDescriber())
print(len(lock_files), "projects,", conn.execute("SELECT count(*) FROM xray_packages").fetchone()[0], "packages in the catalogue")

# %% [markdown]
# Now the course's `generation_prompt` makes the prompt in both ways:

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from course_lib.xray import generation_prompt

with TemporaryDirectory() as folder:
    source = Path(folder, "charts.py")
    source.write_text("import json\n\n# fetch top charts from Spotify\n", encoding="utf-8")
    by_name = generation_prompt(source, 4, conn=conn, project="rider-app", embedder=None)
    by_meaning = generation_prompt(source, 4, conn=conn, project="rider-app", embedder=lab.embedder, k=3)
made = {"first fifty by name": by_name, "nearest three by meaning": by_meaning}
pd.DataFrame({way: {"characters": len(one.text), "names spotipy": "spotipy" in one.text} for way, one in made.items()}).T

# %% tags=["nbval-check-output"]
print(*by_name.text.splitlines()[:10], "… and 45 packages more", sep="\n")

# %% tags=["nbval-check-output"]
print(by_meaning.text)

# %% tags=["claim"]
of_all = conn.execute(
    "SELECT count(*), sum(length(name || version || coalesce(package.description, '')) + 6) FROM xray_report_packages AS mine "
    "JOIN xray_packages AS package USING (language, name) WHERE project = 'rider-app' AND language = 'python'"
).fetchone()
assert of_all[0] == 111 and round(of_all[1], -2) == 7700, "The 111 for Python alone would add about 7,700 characters to every request"
assert by_name.text.count("\n- ") == 50 and "spotipy" in by_meaning.text and "spotipy" not in by_name.text, "In the alphabet, it comes after the first fifty"
assert len(by_name.text) > 6 * len(by_meaning.text), "although it is more than six times as long"

# %% [markdown]
# The code needs *spotipy*. In the alphabet, it comes after the first fifty. So the prompt by name does not contain it, although it is more than
# six times as long. The short prompt names it first, and its description tells the model what it is for.
#
# The course has more such comments, for two projects and five languages. We call them *instructions*. Each is labelled
# with the packages that it needs, its [gold](../labs/GLOSSARY.md#gold).
#
# > **Predict.** Over all instructions, what share of the needed packages is among the first fifty?

# %%
from course_lib.xray.measure import read_instructions, score_suggestions

instructions = read_instructions()


def first_names(asked, count=50):
    return sorted(lock_files[asked.project].packages(asked.language))[:count]


groups = {}
for each in instructions:
    packages = len(lock_files[each.project].packages(each.language))
    groups.setdefault((f"{each.project}, {each.language}", packages), []).append(each)
shares = pd.Series({f"{name}: {packages} packages, {len(some)} instructions": 100 * score_suggestions(first_names, some).recall for (name, packages), some in groups.items()})
axes = shares.sort_values().plot.barh(figsize=(7, 3), xlim=(0, 105), xlabel="needed packages among the first fifty, %")
axes.bar_label(axes.containers[0], fmt="%.0f", padding=3)
axes.containers[0][-1].set_facecolor("tab:orange")
by_name_found = score_suggestions(first_names, instructions).recall
axes.set_title(f"All {len(instructions)} instructions: {by_name_found:.0%} found", size=10)
lab.alt(axes, f"Found in per cent: {shares.round().astype(int).to_dict()}, of all {by_name_found:.0%}.")

# %% tags=["claim"]
small = [100 * score_suggestions(first_names, some).recall for (_, packages), some in groups.items() if packages < 50]
large = [100 * score_suggestions(first_names, some).recall for (_, packages), some in groups.items() if packages > 50]
assert len(small) == 1 and min(small) == 100, "Only the orange bar is full: this project has fewer than fifty packages in this language"
assert len(large) > 5 and max(large) <= 50, "In each of the other bars, at least half of the needed packages are missing"
assert round(10 * by_name_found) == 4, "Four of ten needed packages are found"

# %% [markdown]
# Four of ten needed packages are found. Only the orange bar is full: this project has fewer than fifty packages in this
# language. In each of the other bars, at least half of the needed packages are missing.
#
# You will build a better choice, in three steps:
#
# ```
# lock file → 13.1: names and versions → tables → 13.2: the nearest of this project ─┐
#                                               → the first fifty by name ───────────┴→ 13.3: which of them → prompt
# ```

# %% [markdown]
# ## Exercise 13.1: the packages of a lock file
#
# Which packages does a project have? Its [lock file](../labs/GLOSSARY.md#lock-file) says it: there, a tool such as Poetry writes down all
# packages that it installs, with their versions. You will read `poetry.lock`, which is [TOML](https://toml.io). One entry:
#
# ```toml
# [[package]]
# name = "heron-common"
# version = "0.3.0"
# [package.source]
# type = "directory"
# ```
#
# Decide: may a prompt suggest the folders of your own project, too? Are `Flask_Login` and `flask-login` one package?
# And what happens if the end of the file is missing, for example after a broken download?

# %% exercise="13.1"
# Given up to: check_version(written.split(".")[0], "1", "2")
from course_lib.xray.lock_python import parse_poetry_lock

# %%
lab.check("13.1", parse_poetry_lock)

# %%
lab.hint("13.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# For Python's tools, Flask_Login, flask.login and flask-login are one package. If you keep three names, the catalogue has three packages, and
# describes and encodes each of them.

# %% [markdown]
# Why refuse a file without an end? The next cell reads half of a real file without this rule, and makes lab 12's plan for it.
#
# > **Predict.** The forecasting jobs have 36 packages. What does the plan do with them?

# %% tags=["nbval-check-output"]
from course_lib.files import read_toml
from course_lib.indexing.plan import make_plan

parse_poetry_lock = lab.use("parse_poetry_lock")  # your function if its check passed, otherwise the course's
text = (project_root() / "data/lockfiles/forecasting/jobs/poetry.lock").read_text(encoding="utf-8")
jobs = parse_poetry_lock(text)
half = text[: text.index("[[package]]", len(text) // 2)]
plan = make_plan({one["name"]: one["version"] for one in read_toml(half)["package"]}, jobs)
print(f"of {len(jobs)} packages, it keeps {len(plan.skip)} and removes {len(plan.remove)}")
try:
    parse_poetry_lock(half)
except ValueError as error:
    print("your function:", error)

# %% [markdown]
# Half of them would be removed, and no error would say so. But the project still uses them.
#
# The other decisions matter, too. With two spellings, one package would look like two. And your own folders stay out of the shared catalogue, because other projects cannot install them.

# %% [markdown]
# ## Filter first
#
# Now the packages are in two tables. `xray_report_packages` says which project uses which package. `xray_packages` is the catalogue that all
# projects share: for each package a description, and one vector made of name and description.
#
# The vectors are in the catalogue, so the naive way begins there. It takes the five nearest packages, and then keeps those that the project uses.
#
# > **Predict.** How many of the five remain?

# %% tags=["nbval-check-output"]
instruction = "fetch top charts from Spotify"
model = lab.embedder.model_name
nearest = conn.execute(
    "SELECT language, name FROM xray_packages ORDER BY embedding <=> %s, language, name LIMIT 5", [lab.encode(instruction)]
).fetchall()
rider = lock_files["rider-app"].packages("python")
table = pd.DataFrame(nearest, columns=["language", "name"])
table.assign(remains=[language == "python" and name in rider for language, name in nearest])

# %% [markdown]
# One remains, because the five nearest are clients for Spotify in five languages. A filter by language is not enough: Python packages of the other project could still be among the five.

# %% [markdown]
# ## Exercise 13.2: the nearest packages of a project
#
# So your query has to go the other way. It joins the two tables, keeps the packages of one project, and only then takes the nearest.
#
# It also filters by the model, because a distance between vectors of two models means nothing. `<=>` is pgvector's
# [cosine distance](../labs/GLOSSARY.md#cosine-distance).

# %% exercise="13.2"
from course_lib.xray.suggestions import nearest_packages_query

# %%
lab.check("13.2", nearest_packages_query)

# %%
lab.hint("13.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The table has no vector index, and needs none: a project has only hundreds of packages, so PostgreSQL compares all of them, exactly. With
# an HNSW index over the whole catalogue, the filter could leave too few results, as in lab 07.

# %% [markdown]
# Try it with *charge the rider's card* and *retry the request*, then a search of your own.

# %%
nearest_packages_query = lab.use("nearest_packages_query")
pd.set_option("display.max_colwidth", None)


def find_packages(instruction, project, language, k=5):
    return conn.execute(*nearest_packages_query(lab.encode(instruction), project, language, model, k)).fetchall()


def look(instruction=instruction, project="rider-app", language="python", k=5):
    rows = find_packages(instruction, project, language, k)
    return pd.DataFrame(rows, columns=["name", "version", "description", "similarity"]).round(2)


lab.interact(look, instruction=instruction, project=["rider-app", "forecasting"], language=["python", "javascript", "go", "ruby", "rust"], k=(1, 20, 1))

# %% tags=["claim"]
for asked, wanted in {instruction: "spotipy", "charge the rider's card": "stripe", "retry the request": "tenacity"}.items():
    assert find_packages(asked, "rider-app", "python", 1)[0][0] == wanted, "For each of the three comments, the first row is the package that the code needs"
assert "stripe" not in "charge the rider's card", "charge the rider's card does not contain the name stripe"
(*_, first), (*_, second) = find_packages(instruction, "rider-app", "python", 2)
assert first > 1.4 * second, "After spotipy, the similarity falls clearly"

# %% [markdown]
# For each of the three comments, the first row is the package that the code needs: spotipy, stripe, tenacity. *charge the rider's card* does
# not contain the name stripe.
#
# After *spotipy*, the similarity falls clearly: the others only fill the list. A least similarity would drop them; lab 15 chooses such a threshold.
#
# The next figure shows how often this works. It compares three ways on all instructions: vectors of name and description, vectors of the name
# alone, and the alphabet.
#
# > **Predict.** The first fifty by name find 39 %. How many suggestions of your search find as many?

# %%
import numpy as np


def near(asked):
    return [name for name, *_ in find_packages(asked.instruction, asked.project, asked.language, 50)]


def bare(asked):
    names = first_names(asked, None)
    similarity = lab.encode(names) @ lab.encode(asked.instruction)
    return [names[at] for at in np.argsort(-similarity, kind="stable")]


counts = [1, 3, 5, 10, 20, 50]
ways = {"name and description": near, "name alone": bare, "first by name": first_names}
names = {way: {each: choose(each) for each in instructions} for way, choose in ways.items()}


def recall(way, count):
    return score_suggestions(lambda asked: names[way][asked][:count], instructions).recall


found = pd.DataFrame({way: [recall(way, count) for count in counts] for way in ways}, index=counts)
axes = found.plot.line(marker="o", figsize=(6, 3.5), xlabel="suggestions", ylabel="share of the needed packages", ylim=(0, 1.02))
for way, count, offset in (("name and description", 1, (8, -14)), ("name alone", 1, (8, -14)), ("first by name", 50, (-40, 8))):
    axes.annotate(f"{count}: {found[way][count]:.2f}", (count, found[way][count]), xytext=offset, textcoords="offset points")
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
lab.alt(axes, f"Share of the needed packages for 1 to 50 suggestions: {found.round(2).to_dict()}")

# %% tags=["claim"]
described, bare_names, alphabet = (found[way] for way in ways)
assert 2.6 < described[1] / bare_names[1] < 3, "descriptions find nearly three times as much as names"
assert described[1] > alphabet[50], "one suggestion by meaning finds more than fifty by name"
assert described[5] - described[1] > 2 * (described[20] - described[10]), "After about five, it rises only slowly"
missed = score_suggestions(lambda asked: names["name and description"][asked][:5], instructions).missed
assert any("metres" in each.instruction and "geoalchemy2" in each.gold_packages for each in missed), "stations within 500 metres"

# %% [markdown]
# One is enough. Look at 1 on the upper line and at 50 on the lowest: one suggestion by meaning finds more than fifty by name. At the left of the upper two, descriptions find nearly three times as much as names.
#
# The upper line also says how many to suggest. After about five, it rises only slowly. Some packages need better descriptions. One comment asks for *stations within 500 metres*. The right package is *geoalchemy2*, but its description speaks of PostGIS, not of metres.
#
# The course wrote these instructions and descriptions itself. So label twenty instructions of yours before you rely on such numbers.

# %% [markdown]
# ## Exercise 13.3: when nothing can be compared
#
# Sometimes there are no nearest packages. Perhaps there is no model, so the instruction has no vector. Or the model is new, and all vectors
# are still from the old one.
#
# What should the prompt name then? The first fifty by name are better than nothing. But the list must say that it is only a *fallback*. If a list only looks chosen, no reader notices the fault. So your function also returns why its list is a fallback.
#
# A person who reads this reason will look for a fault. Suppose that a project has no packages. Is there a fault to look for?

# %% exercise="13.3"
from course_lib.xray.suggestions import choose

# %%
lab.check("13.3", choose)

# %%
lab.hint("13.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# It is tempting to say *fallback* whenever nothing is near. But in a project without packages, a warning about a missing model would send a person
# to look for a fault that is not there.

# %% [markdown]
# First, your function in three situations: there are nearest packages; the model is new; the project has no packages.

# %% tags=["nbval-check-output"]
choose = lab.use("choose")
first = [(name, version, None) for name, version in sorted(rider.items())[:50]]
new_model = conn.execute(*nearest_packages_query(lab.encode(instruction), "rider-app", "python", "a new model")).fetchall()
for near_rows, by_name_rows in ((find_packages(instruction, "rider-app", "python"), first), (new_model, first), (new_model, [])):
    chosen = choose(near_rows, by_name_rows, "no vectors of this model")
    print(len(chosen.packages), "packages, fallback:", repr(chosen.fallback))

# %% [markdown]
# Only the second list is a fallback. The empty one replaces nothing.
#
# Now your three functions work together. The packages that 13.1 read become a project *jobs*. For this project and for rider-app, 13.2 finds the
# nearest packages, and 13.3 chooses.

# %% tags=["nbval-check-output"]
from course_lib.xray import sync_packages

sync_packages(conn, "jobs", "python", jobs)
first_of = {"rider-app": first, "jobs": [(name, version, None) for name, version in sorted(jobs.items())[:50]]}
for asked, project in ((instruction, "rider-app"), ("query the Parquet files with SQL", "jobs")):
    chosen = choose(find_packages(asked, project, "python", 3), first_of[project], "no vectors of this model")
    print(f"# {asked}", *(f"- {one.name} {one.version}: {one.description}" for one in chosen.packages), "", sep="\n")

# %% tags=["claim"]
made_by_yours = [f"- {one.name} {one.version}: {one.description}" for one in choose(find_packages(instruction, "rider-app", "python", 3), [], "").packages]
assert "\n".join(made_by_yours) in by_meaning.text, "The first three lines are the list of the short prompt"
assert chosen.packages[0].name == "duckdb", "duckdb is the package for the second comment"

# %% [markdown]
# The first three lines are the list of the short prompt, now made by your functions. *duckdb* is the package for the second comment.
#
# ## In the field
#
# GitLab's [Repository X-Ray](https://docs.gitlab.com/user/duo_agent_platform/code_suggestions/repository_xray/) reads such files. It names
# at most 300 libraries. Without this limit, projects with more than 1,000 could get a prompt that was far too long, or cut off
# ([issue](https://gitlab.com/gitlab-org/gitlab/-/issues/500365)).
#
# At work, read the lock files in CI after each change, make vectors only for new packages, and log how often the list is a fallback.
#
# One danger: others wrote the descriptions, and each goes into your prompt. One may contain an instruction, and a model may obey it.
# [Lab 15](../labs/15_checking_an_answer.ipynb) comes back to this.

# %% [markdown]
# ## Recap
#
# - A lock file says which packages a project has. Compare names in one form, and refuse a file without its end.
# - Filter before you choose the nearest.
# - If nothing can be compared, the first fifty are a fallback, and the answer says so.
#
# ## Three questions to test yourself
#
# 1. What happens to a package whose vector is of another model?
# 2. A catalogue has ten million packages, and each project has 300 of them. Which index does the query need?
# 3. Why does 13.1 refuse a format that it does not know, instead of reading what it can?
#
# <details><summary>Answers</summary>
#
# 1. It is missing from the answer until the next `course xray scan` makes its vector.
# 2. None for the vectors: the primary keys find the 300 rows, and all are compared. An HNSW index could even miss some of them.
# 3. A new format may write packages in another way. What is not found would look removed, as in the half file.
#
# </details>
#
# ## Stretch, and what comes next
#
# Run `course xray scan DIR --project P` on a project of yours, then `course xray suggest`.
#
# Next is [lab 14](../labs/14_choosing_passages.ipynb), which chooses passages for a prompt, and makes them fit.
