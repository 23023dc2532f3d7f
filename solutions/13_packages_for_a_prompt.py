# %% [markdown]
# # 13 · Packages for a prompt
#
# A model that writes code knows the packages of your project only if its prompt names them. You will find out what a list contains, how
# many tokens it costs, and when no list is better.
#
# **Elective.** It adds a search for the packages of one project in a shared catalogue. For you if you build an assistant that writes code.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | read the packages of a project from a lock file · search a shared catalogue by meaning for one project only · suggest nothing where nothing fits | `xray/` | about {minutes} min | SQL; labs 05 and 07 |

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
# ## A package that the project does not have
#
# You write a comment, an *instruction*, in a Python file of the example project *rider-app*. A language model has to write the code below
# it. The model knows the project only from its [prompt](../labs/GLOSSARY.md#prompt).
#
# We asked a small model (Qwen2.5-Coder, 1.5 billion parameters), and kept its answers. The first instruction:

# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.package_lists import judged_records, plot_imports, recorded

records = recorded()
first = {one["condition"]: one for one in records if one["id"] == records[0]["id"]}
print(first["nearest five"]["prompt"]["user"])
for condition, one in first.items():
    print(f"— {condition} —", *one["answer"].splitlines()[:7], sep="\n")

# %% [markdown]
# Without a list, the model imports *pandas*, which the project does not have. With each list, it imports *openpyxl*, which the project
# has. With the five, it imports all five.
#
# The course has answers to 22 instructions, chosen by a rule before the model was asked:
#
# - 12 need a package that the project has, the [gold](../labs/GLOSSARY.md#gold).
# - 10 need only Python's standard library.
#
# Each instruction was asked without a list, with the names of all packages, and with the five nearest in meaning and their descriptions.
#
# > **Predict.** For how many of the ten does the model import a package, without a list, and with the five?

# %%
from course_lib.settings import project_root
from course_lib.xray import find_lock_files

folder = project_root() / "data" / "lockfiles"
lock_files = {name: find_lock_files(folder / name) for name in ("rider-app", "forecasting")}
locked = {name: files.packages("python") for name, files in lock_files.items()}
harm = judged_records(locked)
display(plot_imports(harm))
harm[["an import fails", "only imports"]]

# %% tags=["claim"]
from packaging.utils import canonicalize_name

from course_lib.teaching.lab.package_lists import failing

needs, none = harm.loc["needs a package"], harm.loc["needs none"]
assert list(none["imports a package"]) == [0, 4, 9] and set(none["answers"]) == {10}, (
    "for none of them. With all names, it does so for four, and with the five, for nine"
)
assert none.loc["nearest five", "an import fails"] == 4, "In four of the nine, an import fails"
assert list(needs["a needed one"]) == [0, 5, 9] and set(needs["answers"]) == {12}, (
    "The model imports it in no answer without a list, in 5 with all names, and in 9 with the five"
)
assert needs.loc["nearest five", "only imports"] == 11, "11 are only a list of imports"
assert needs.loc["no list", "an import fails"] == 3, "an import fails in three of 12"
for one in records:
    failed = failing(one, locked[one["project"]])
    own = [canonicalize_name(name) in locked[one["project"]] for name in failed]
    assert one["condition"] == "no list" or all(own), "With a list, other imports fail"
assert "pandas" in failing(records[0], locked["rider-app"]) and "python_dateutil" in {name for one in records for name in failing(one, locked[one["project"]])}, "The first output has an example of each"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Ten instructions need no package. Without a list, the model imports a package for none of them. With all names, it does so for four, and
# with the five, for nine. In four of the nine, an import fails.
#
# Twelve need a package. The model imports it in no answer without a list, in 5 with all names, and in 9 with the five. But with the
# five, 11 are only a list of imports, without code.
#
# Without a list, an import fails in three of 12. With a list, other imports fail. The first output has an example of each: the project
# does not have *pandas*, and the module of `python_dateutil` is `dateutil`.
#
# </details>
#
# So this model often imports what the prompt names, needed or not. But the prompt also says "Prefer them to others". Another prompt or
# model may give other results.

# %% [markdown]
# ## What a list costs, and what it contains
#
# We compare lists, for the course's 39 Python instructions that need a package:
#
# - the names of all packages
# - the first fifty packages by the alphabet
# - the best packages *by words* (BM25, lab 05): each shares a word with the instruction
# - the packages whose vectors are *nearest* to the instruction's
#
# Some lists also have descriptions. Both searches read names and descriptions. Tokens are estimated: 3 bytes each.
#
# > **Predict.** The two projects, *rider-app* and *forecasting*, have 111 and 152 packages. Which lists contain every needed package, and
# > are shorter than the first fifty with descriptions?

# %% tags=["nbval-check-output"]
import pandas as pd

from course_lib.teaching.lab.package_lists import descriptions, ladder, shelf_of
from course_lib.xray.measure import read_instructions

about = descriptions("python")
instructions = [one for one in read_instructions() if one.language == "python"]
shelves = {name: shelf_of(packages, about, lab.encode) for name, packages in locked.items()}
small = ladder(shelves, instructions, lab.encode)
small.round(2)

# %% tags=["claim"]
best, names, first_fifty, five = (
    small.loc[name]
    for name in (
        "nearest fifty names",
        "all names",
        "first fifty, described",
        "nearest five, described",
    )
)
assert best["contains"] == names["contains"] == 1, "Two lists: the nearest fifty names"
assert (best["tokens"], names["tokens"]) == (165, 438), "for 165 tokens on average, and all names, for 438"
assert round(first_fifty["tokens"], -2) == 1100 and first_fifty["contains"] < 0.5, (
    "The first fifty with descriptions take about 1,100, and miss more than half"
)
assert five["tokens"] == 109 and round(1 / (1 - five["contains"])) == 8, "one in eight is missing"
words = small.loc["five by words, described"]
assert (round(words["contains"], 2), round(five["contains"], 2)) == (0.63, 0.87), "0.63 of the needed packages, and the nearest five 0.87"
assert round(small.loc["fifty names by words", "contains"], 1) == 0.7, "misses one in three"
assert small.loc["fifty names by words", "tokens"] == 20, "has only 20 tokens"
by_words = [(one, shelves[one.project], shelves[one.project].by_words([one.instruction])[0]) for one in instructions]
assert max(len(places) for _, _, places in by_words) < 50, "Few packages share a word with an instruction"
assert small["more than by words"].str.contains("-").sum() == 0, "whole interval is above 0"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Two lists: the nearest fifty names, for 165 tokens on average, and all names, for 438. The first fifty with descriptions take about
# 1,100, and miss more than half of the needed packages. So for these small projects, all names contain every needed package, without a
# search.
#
# The nearest five with descriptions take 109 tokens, but of the needed packages, one in eight is missing. The course wrote both
# instructions and descriptions. With yours, more may be missing.
#
# </details>
#
# A search by words finds less: its best five contain 0.63 of the needed packages, and the nearest five 0.87. The last column has this gain
# with its [interval](../labs/GLOSSARY.md#confidence-interval). The whole interval is above 0. Few packages share a word with an
# instruction, so even the longer list by words has only 20 tokens, and misses one in three.
#
# But in the records, the model imported the needed package 9 times of 12 with the five, and 5 times with all names. This does not show
# why: twelve are few, and only the five have descriptions.
#
# Now each project may also use 12,000 packages of a large company. We make them up: each is a copy of a real package, with a
# number in its name and a slightly changed vector. The results depend on how we made them.
#
# > **Predict.** Suppose that a prompt may have 32,768 tokens. Which lists fit?

# %%
from course_lib.teaching.lab.package_lists import plot_ladder, with_made_up

every = locked["rider-app"] | locked["forecasting"]
company = with_made_up(shelf_of(every, about, lab.encode), 12_000)
large = ladder(dict.fromkeys(locked, company), instructions, lab.encode)
plot_ladder({"the project's packages": small, "with the company's": large}, 32_768)

# %% tags=["claim"]
assert large.loc["all names", "tokens"] > 60_000, "all names take more than 60,000"
assert large.loc["first fifty, described", "contains"] == 0, "no needed package"
assert round(large.loc["nearest fifty names", "contains"], 1) == 0.7, "seven of ten"
assert 0.5 < large.loc["nearest five, described", "contains"] < 0.6, "more than half"
assert large["tokens"].le(32_768).sum() == 6, "Only the short lists fit"
third = large.loc[["fifty names by words", "five by words, described"], "contains"]
assert third.round(2).eq(0.33).all(), "Both lists by words contain one third"
assert large["more than by words"].str.contains("-").sum() == 0, "it found more than a search by words"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Only the short lists fit: all names take more than 60,000 tokens.
#
# - The first fifty contain no needed package.
# - The nearest fifty names contain seven of ten.
# - The nearest five with descriptions contain more than half, for about half the tokens.
# - Both lists by words contain one third.
#
# So here, names need a search first.
#
# </details>

# %% [markdown]
# ## Exercise 13.1: the packages of a lock file
#
# A project's [lock file](../labs/GLOSSARY.md#lock-file) says which packages it has. A tool such as Poetry writes into it all packages
# that it installs, with their versions. `poetry.lock` is [TOML](https://toml.io). The next cell reads a short one in the obvious way.
#
# > **Predict.** The file names three packages that other projects can install, too. How many packages does the obvious way find, and what
# > is wrong?

# %% tags=["nbval-check-output"]
from course_lib.files import read_toml

short = """
[[package]]
name = "Flask_Login"
version = "0.6.3"
[[package]]
name = "flask-login"
version = "0.5.0"
[[package]]
name = "numpy"
version = "2.10.0"
[[package]]
name = "numpy"
version = "2.9.0"
[[package]]
name = "heron-common"
version = "0.3.0"
[package.source]
type = "directory"
[[package]]
name = "torch"
version = "2.4.0+cpu"
"""
obvious = {one["name"]: one["version"] for one in read_toml(short)["package"]}
print(len(obvious), obvious)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The obvious way finds five packages. The first four of these traps are in the file:
#
# 1. `Flask_Login` and `flask-login` are one package for Python's tools.
# 2. Of numpy, the older version came last and stayed.
# 3. heron-common is a folder of the project itself, which no other project can install.
# 4. The end of the file is missing, without an error. A whole file ends with the table `[metadata]`.
# 5. A later format may write packages in another way.
#
# </details>
#
# Write a function that avoids the five traps.

# %% exercise="13.1"
# Given up to: check_version(written.split(".")[0], "1", "2")
from course_lib.xray.lock_python import parse_poetry_lock

# %%
lab.check("13.1", parse_poetry_lock)

# %%
lab.hint("13.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: looking for the word `metadata` in the text. A description can contain this word. Look for the
# table.

# %% [markdown]
# Why refuse a file without its end? The next cell cuts a lock file of *forecasting* in half.

# %% tags=["nbval-check-output"]
parse_poetry_lock = lab.use("parse_poetry_lock")  # yours if its check passed, else the course's
jobs = (folder / "forecasting/jobs/poetry.lock").read_text(encoding="utf-8")
half = read_toml(jobs[: jobs.index("[[package]]", len(jobs) // 2)])["package"]
print(len(parse_poetry_lock(jobs)), "packages, and in the half", len(half))

# %% [markdown]
# One of the 19 is the project's own folder, so the half has 18 of the 36 packages. If this were the project's only Python lock file,
# syncing the half (lab 12) would remove the other 18, without an error.

# %% [markdown]
# ## Whose packages?
#
# The packages go into two tables:
#
# - `xray_report_packages` says which project uses which package.
# - `xray_packages`, the shared catalogue, has each package once, with its description and its vector.
#
# Two made-up projects, *fleet* and *rider-app-2*, use the company's 12,000 packages. *rider-app* does not.
#
# Two simple ways to search for *rider-app*:
#
# - *Over-fetch*: take more packages than you need, and keep the project's.
# - Compare only the beginning of the project's name.

# %%
from course_lib.teaching.lab.package_lists import compare_ways, plot_ways, store_made_up
from course_lib.xray import TableDescriber, create_tables, drop_tables, sync_project

drop_tables(conn)
create_tables(conn)
for project, files in lock_files.items():
    sync_project(conn, project, files, embedder=lab.embedder, describer=TableDescriber())
store_made_up(conn, company, lab.embedder.model_name, ["fleet", "rider-app-2"])


# %%
def over_fetch(vector, count, project="rider-app"):
    query = """
        SELECT name FROM (
            SELECT * FROM xray_packages WHERE language = 'python'
            ORDER BY embedding <=> %s LIMIT %s
        ) AS near JOIN xray_report_packages AS mine USING (language, name)
        WHERE mine.project LIKE %s ORDER BY near.embedding <=> %s LIMIT 5"""
    return conn.execute(query, [vector, count, project, vector]).fetchall()


ways = {
    "the 5 nearest, filtered": lambda vector: over_fetch(vector, 5),
    "the 100 nearest, filtered": lambda vector: over_fetch(vector, 100),
    "begins with rider-app": lambda vector: over_fetch(vector, 20_000, "rider-app%"),
}

# %% [markdown]
# > **Predict.** What share of the packages that rider-app needs does each way suggest?

# %%
asked = [one for one in instructions if one.project == "rider-app"]
plot_ways(compare_ways(ways, asked, locked["rider-app"], lab.encode))

# %% [markdown]
# <details><summary>The answer</summary>
#
# Over-fetching 5 or 100 packages suggests too few. On average, of the five nearest, fewer than one is the project's, and of the 100
# nearest, 2.3.
#
# With the beginning of the name, there are always five. But more than four of them are of *rider-app-2*, another project.
#
# </details>
#
# ## Exercise 13.2: the nearest packages of a project
#
# Your query first keeps the packages of one project, and then takes the nearest. It also filters by the model, because a distance between
# vectors of two models means nothing. `<=>` is pgvector's [cosine distance](../labs/GLOSSARY.md#cosine-distance).

# %% exercise="13.2"
from course_lib.xray.suggestions import nearest_packages_query

# %%
lab.check("13.2", nearest_packages_query)

# %%
lab.hint("13.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: joining by the name alone. Ruby has a package *stripe*, too. Its description would come into the prompt.

# %%
nearest_packages_query = lab.use("nearest_packages_query")
model = lab.embedder.model_name


def query_for(vector, project="rider-app", k=5):
    return nearest_packages_query(vector, project, "python", model, k)


ways["yours"] = lambda vector: conn.execute(*query_for(vector)).fetchall()
compared = compare_ways(ways, asked, locked["rider-app"], lab.encode)
plot_ways(compared)

# %% tags=["claim"]
five, hundred, prefix, yours = compared.itertuples(index=False)
assert five[1] < 1, "of the five nearest, fewer than one is the project's"
assert hundred[1] == 2.3, "of the 100 nearest, 2.3"
assert prefix[3] == 0 and prefix[2] > 4, "more than four of them are of *rider-app-2*"
assert tuple(yours) == (91, 5, 0, 0), "Yours finds 91 %"

# %% [markdown]
# Yours finds 91 % of the 23 needed packages, and all five are the project's.
#
# ## Break it: an index for the catalogue
#
# The course's table has no vector index. Now we add one, to make the search faster (lab 06).
#
# > **Predict.** Does PostgreSQL use the index? How many of five packages does rider-app get?

# %%
vector = lab.encode("fetch top charts from Spotify")
query, values = query_for(vector)
with conn.transaction(force_rollback=True):
    conn.execute(f"ALTER TABLE xray_packages ALTER embedding TYPE vector({len(vector)})")
    conn.execute("CREATE INDEX ON xray_packages USING hnsw (embedding vector_cosine_ops)")
    conn.execute("ANALYZE xray_packages")
    [[[explained]]] = conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", values).fetchall()
    walked = conn.execute(query, values).fetchall()
    conn.execute("SET LOCAL hnsw.iterative_scan = strict_order")
    continued = conn.execute(query, values).fetchall()
print(f"{len(walked)} with the index, {len(continued)} if the walk continues")
lab.show.plan(explained["Plan"])

# %% tags=["claim"]
plan = str(explained["Plan"])
assert "hnsw" in plan or "xray_packages_embedding_idx" in plan, "PostgreSQL uses the index"
assert len(walked) < 5 == len(continued), "the project gets fewer than five"
expected = explained["Plan"]["Plans"][0]["Plan Rows"]
assert expected > 200, "PostgreSQL expected hundreds"

# %% [markdown]
# <details><summary>The answer</summary>
#
# PostgreSQL uses the index, and the project gets fewer than five. The index returns about 40 packages (its `ef_search`, lab 06), and
# hardly any of them is the project's. PostgreSQL expected hundreds: compare *rows expected* and *rows found* in the first lines.
#
# If the walk continues (pgvector's `iterative_scan`, lab 07), there are five. The simplest repair is to drop the index. Then PostgreSQL
# compares all packages of the project exactly.
#
# </details>

# %% [markdown]
# ## The right to suggest nothing
#
# Can the similarity tell when to name no package? We try a *least* similarity: if no package is at least this near, suggest nothing.
#
# The course has 30 instructions that need no package. They are not easy: for *parse a date such as 2026-03-01*, python-dateutil is near,
# but not needed. We look at half of these 30, and at half of the 39.
#
# > **Predict.** Is there a least similarity that keeps nearly all needed packages, and suggests nothing where nothing is needed?

# %%
from course_lib.teaching.lab.package_lists import thresholds

unneeded = read_instructions("no_package")
near = {
    one.id: conn.execute(*query_for(lab.encode(one.instruction), one.project)).fetchall()
    for one in [*instructions, *unneeded]
}

tuning = thresholds(near, [*instructions, *unneeded], tuning=True)
axes = tuning.plot(title="Wanted: the first curve at 1, the second at 0", marker="", ylabel="share")
axes.axvline(0.3, color="gray", linestyle=":", marker="")
lab.alt(axes, f"Both curves fall: {tuning[::10].round(2).to_dict()}")

# %% [markdown]
# <details><summary>The answer</summary>
#
# No such similarity exists on this half. At 0.3 (the dotted line), one in four needed packages is missing (one in ten already at 0). But most instructions that need
# nothing still get a suggestion.
#
# </details>
#
# We count both mistakes alike: a needed package that is missing, and a suggestion that is not needed. This is our decision. We choose the
# least similarity on this half, and look at the other half once.

# %% tags=["nbval-check-output"]
gain = tuning["needed packages kept"] - tuning["suggests where nothing is needed"]
least = gain.idxmax()
held_out = thresholds(near, [*instructions, *unneeded], tuning=False)
pd.DataFrame({"chosen on": tuning.loc[least], "the other half": held_out.loc[least]}).round(2)

# %% tags=["claim"]
import numpy as np

from course_lib.teaching.lab.package_lists import is_tuning

assert 0.7 < tuning.iloc[30, 0] < 0.8 and tuning.iloc[30, 1] > 0.5, (
    "one in four needed packages is missing"
)
assert 0.45 < tuning.iloc[:, 0][least] < 0.55, "half of the needed packages are left"
assert 0.2 < held_out.iloc[:, 0][least] < 0.3, "only a quarter"
halves = [[one for one in instructions if is_tuning(one.id) == half] for half in (True, False)]
counts = [sum(len(one.gold_packages) for one in half) for half in halves]
assert counts == [21, 23], "The halves have 21 and 23"
shares = tuning.iloc[:, 0][least], held_out.iloc[:, 0][least]
random = np.random.default_rng(0)
first, second = (random.binomial(n, s, 2000) / n for n, s in zip(counts, shares, strict=True))
assert np.quantile(first - second, 0.025) < 0, "so the difference may be luck"

# %% [markdown]
# On the half where we chose, half of the needed packages are left. On the other half, only a quarter are left. The halves have 21 and 23
# needed packages, so the difference may be luck.
#
# A similarity says what is *near*, and not what is *needed*. So compare the answer's imports with the lock file, too.
#
# ## Exercise 13.3: three kinds of nothing
#
# Your last function decides which packages a prompt names. There are three kinds of nothing:
#
# - Nothing was compared: there is no model, or all vectors are of an old model.
# - Nothing is near enough.
# - Nothing is there: the project has no packages.
#
# A *fallback* is a list of the first fifty packages by name. It tells a person that something is broken. An obvious way: keep what is near
# enough, and if nothing is left, take the fallback.
#
# > **Predict.** How many packages does the obvious way suggest for *shorten a comment to 80 characters*, which needs none?

# %% tags=["nbval-check-output"]
by_name = [(name, version, None) for name, version in sorted(locked["rider-app"].items())[:50]]
rows = conn.execute(*query_for(lab.encode("shorten a comment to 80 characters"))).fetchall()
print(len([row for row in rows if row[3] >= least] or by_name), "packages")

# %% [markdown]
# <details><summary>The answer</summary>
#
# The obvious way suggests fifty packages, although nothing is broken: packages were compared, and none is near enough.
#
# </details>
#
# In which of the three cases is something broken? Your function suggests the fallback only then, and says why.

# %% exercise="13.3"
from course_lib.xray.suggestions import choose

# %%
lab.check("13.3", choose)

# %%
lab.hint("13.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: calling an empty list a fallback. A project without packages is not broken.

# %%
choose = lab.use("choose")
tried = {"a new model": ([], by_name), "no packages": ([], [])}
for text in ("fetch top charts from Spotify", "shorten a comment to 80 characters"):
    tried[text] = conn.execute(*query_for(lab.encode(text))).fetchall(), by_name
shown = {}
for case, (rows, first) in tried.items():
    chosen = choose(rows, first, "no vectors of this model", least)
    names = [one.name for one in chosen.packages]
    shown[case] = len(names), ", ".join(names[:2]), chosen.fallback
pd.DataFrame(shown, index=["suggested", "the first two", "a fallback, because"]).T

# %% [markdown]
# The two instructions get what is right: *spotipy*, and nothing. Only the new model gets a fallback. But on the other half above, the same
# `least` loses most needed packages.
#
# ## In the field
#
# GitLab's [Repository X-Ray](https://docs.gitlab.com/user/duo_agent_platform/code_suggestions/repository_xray/) reads lock files, too,
# and names at most 300 libraries. Projects with more than 1,000 could get a prompt that was too long, or cut off
# ([issue](https://gitlab.com/gitlab-org/gitlab/-/issues/500365)).
#
# One danger: others wrote the descriptions. A description may contain an instruction that a model obeys
# ([lab 15](../labs/15_checking_an_answer.ipynb)).
#
# **On Monday**, count the tokens of all names. If they fit, compare them with the nearest five. Ask your model 20 things that need no
# package, too. What does it import?

# %% [markdown]
# ## Recap
#
# - Our small model often imported what its prompt named, needed or not.
# - If all names fit into the prompt, they contain every needed package of the project. If not, search by meaning: here it found more than
#   a search by words.
# - Refuse a lock file without its end.
# - Filter by the project before you take the nearest. An index over all projects may return too few.
# - A similarity says what is near, not what is needed.
# - Say when a list is only a fallback.
#
# ## Three questions to test yourself
#
# 1. What happens to a package whose vector is of another model?
# 2. A catalogue has ten million packages, and each project has 300 of them. Which index does the query need?
# 3. A larger model imports what is not needed in 1 of 10 cases. Would you choose a higher or a lower least similarity?
#
# <details><summary>Answers</summary>
#
# 1. The package is missing from the answer until the next `course xray scan` makes its vector.
# 2. The query needs no index of the vectors: the primary keys find the 300 rows, and all are compared.
# 3. A lower one: suggestions that are not needed do less harm, so keep more needed packages.
#
# </details>
#
# ## Stretch, and what comes next
#
# Run `course xray scan DIR --project P` on a project of yours, then `course xray suggest`, with and without `--least`.
#
# Next is [lab 14](../labs/14_choosing_passages.ipynb), which chooses passages for a prompt, and makes them fit.
