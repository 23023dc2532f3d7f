# %% [markdown]
# # 13 · Packages for a prompt
#
# A model that writes code does not see your project's lock file. You can name packages in its prompt. You will find out what such a list
# contains, how many tokens it costs, and when no list is better.
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
# We asked a small model (Qwen2.5-Coder, 1.5 billion parameters), and kept its answers. This prompt names five packages of the project:

# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.package_lists import recorded

no_list, all_names, nearest_five = recorded()[:3]
print(nearest_five["prompt"]["user"])

# %% [markdown]
# We also asked without a list, and with the names of all packages. The answers begin so:

# %% tags=["nbval-check-output"]
for one in (no_list, all_names, nearest_five):
    print(f"— {one['condition']} —", *one["answer"].splitlines()[:7], sep="\n")

# %% [markdown]
# Without a list, the model imports *pandas*, which the project does not have. With each list, it imports *openpyxl*, which the project
# has, and with the five, all of them.
#
# The course has answers to 22 instructions: the first of 30 that a rule chose before the model was asked.
#
# - 12 need a package that the project has, the [gold](../labs/GLOSSARY.md#gold).
# - 10 need only Python's standard library.
#
# Each was asked in the same three ways. The five are those nearest in meaning.
#
# > **Predict.** For how many of the ten does the model import a package, without a list, and with the five?

# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.package_lists import judged_records

judged_records()

# %% tags=["claim"]
from packaging.utils import canonicalize_name

from course_lib.settings import project_root
from course_lib.teaching.lab.package_lists import failing
from course_lib.xray import find_lock_files

harm, records = judged_records(), recorded()
has = {
    name: find_lock_files(project_root() / "data/lockfiles" / name).packages("python")
    for name in ("rider-app", "forecasting")
}
needs, none = harm.loc["needs a package"], harm.loc["needs none"]
assert list(none["imports a package"]) == [0, 4, 9] and set(none["answers"]) == {10}, (
    "for none of them. With all names, it does so for four, and with the five, for nine"
)
assert none.loc["nearest five", "a module is missing"] == 4, "In four of the nine, a module is missing"
assert list(needs["a needed one"]) == [0, 5, 9] and set(needs["answers"]) == {12}, (
    "The model imports it in no answer without a list, in 5 with all names, and in 9 with the five"
)
assert needs.loc["nearest five", "only imports"] == 12, "all 12 contain only imports"
cut = [one["ended"] for one in records if one["condition"] == "nearest five" and one["gold_packages"]]
assert cut.count("length") == 2, "Two were cut off after 160 tokens"
named = set()
for one in records:
    failed = failing(one, has[one["project"]])
    own = [canonicalize_name(name) in has[one["project"]] for name in failed]
    assert one["condition"] == "no list" or all(own), "Modules are missing in two ways"
    named |= failed
assert "pandas" in failing(no_list, has["rider-app"]) and "python_dateutil" in named, (
    "and the answers above show both"
)
assert [one["id"] for one in records[:3]] == [records[0]["id"]] * 3

# %% [markdown]
# <details><summary>The answer</summary>
#
# Ten need no package. Without a list, the model imports a package for none of them. With all names, it does so for four, and
# with the five, for nine. In four of the nine, a module is missing. (We did not run the code, so more may fail.)
#
# Twelve need a package. The model imports it in no answer without a list, in 5 with all names, and in 9 with the five. But with the
# five, all 12 contain only imports, without code. (Two were cut off after 160 tokens.)
#
# Modules are missing in two ways, and the answers above show both: the project does not have *pandas*, and the module of `python_dateutil` is
# `dateutil`.
#
# </details>
#
# So this model often imports what the prompt names, needed or not. But the prompt also says "Prefer them to others". Another prompt or
# model may give other results.

# %% [markdown]
# ## Exercise 13.1: the packages of a lock file
#
# A project's [lock file](../labs/GLOSSARY.md#lock-file) says which packages it has. A tool such as Poetry writes into it all packages
# that it installs, with their versions. `poetry.lock` is [TOML](https://toml.io). Here is a short one:

# %%
short = """
[[package]]
name = "Flask_Login"
version = "0.10.0"
[[package]]
name = "flask-login"
version = "0.9.0"
[[package]]
name = "heron-common"
version = "0.3.0"
[package.source]
type = "directory"
"""

# %% [markdown]
# > **Predict.** The file names one package that other projects can install, too. How many does the next cell find?

# %% tags=["nbval-check-output"]
from course_lib.files import read_toml

{one["name"]: one["version"] for one in read_toml(short)["package"]}

# %% [markdown]
# <details><summary>The answer</summary>
#
# The cell finds three packages. The first four of these traps are in the file:
#
# 1. `Flask_Login` and `flask-login` are one package for Python's tools.
# 2. Of two versions, the newer one counts, here 0.10.0, and not the last one.
# 3. heron-common is a folder of the project itself, which no other project can install.
# 4. The end of the file is missing, without an error. A whole file ends with the table `[metadata]`.
# 5. A later format may write packages in another way.
#
# </details>
#
# Write a function that avoids the five traps. Why refuse a file without its end? A sync (lab 12) removes the packages that a file does
# not name any more: from half a file, it would remove the other half.

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
# With its end, the short file has one package:

# %% tags=["nbval-check-output"]
parse_poetry_lock = lab.use("parse_poetry_lock")  # yours if its check passed, else the course's
parse_poetry_lock(short + "[metadata]")

# %% [markdown]
# ## What a list costs, and what it contains
#
# `find_lock_files` reads all lock files in a folder. We count the Python packages of our two projects:

# %% tags=["nbval-check-output"]
from course_lib.settings import project_root
from course_lib.xray import find_lock_files

folder = project_root() / "data" / "lockfiles"
lock_files = {name: find_lock_files(folder / name) for name in ("rider-app", "forecasting")}
locked = {name: files.packages("python") for name, files in lock_files.items()}
print({name: len(packages) for name, packages in locked.items()})

# %% [markdown]
# We compare lists, for the course's 39 Python instructions that need a package:
#
# - the names of all packages
# - the first fifty packages by the alphabet
# - the best packages *by words* (BM25, lab 05): each shares a word with the instruction
# - the packages whose vectors are *nearest* to the instruction's
#
# Some lists also have descriptions, which both searches read. Tokens are estimated: 3 bytes each.
#
# > **Predict.** Which lists contain every needed package, and are shorter than the first fifty with descriptions?

# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.package_lists import ladder, shelf_of
from course_lib.xray.measure import read_instructions

instructions = [one for one in read_instructions() if one.language == "python"]
shelves = {name: shelf_of(packages, lab.encode) for name, packages in locked.items()}
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
assert (best["tokens"], names["tokens"]) == (165, 438), (
    "for 165 tokens on average, and all names, for 438"
)
assert round(first_fifty["tokens"], -2) == 1100 and first_fifty["contains"] < 0.5, (
    "The first fifty with descriptions take about 1,100, and miss more than half"
)
assert five["tokens"] == 109 and round(1 / (1 - five["contains"])) == 8, "one in eight is missing"
words = small.loc["five by words, described"]
assert (round(words["contains"], 2), round(five["contains"], 2)) == (0.63, 0.87), (
    "0.63 of the needed packages, and the nearest five 0.87"
)
assert round(small.loc["fifty names by words", "contains"], 1) == 0.7, "misses one in three"
assert small.loc["fifty names by words", "tokens"] == 20, "has only 20 tokens"
by_words = [
    (one, shelves[one.project], shelves[one.project].by_words([one.instruction])[0])
    for one in instructions
]
assert max(len(places) for _, _, places in by_words) < 50, (
    "Few packages share a word with an instruction"
)
assert small["more than by words"].str.contains("-").sum() == 0, "All of it is above 0"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Two lists: the nearest fifty names, for 165 tokens on average, and all names, for 438. The first fifty with descriptions take about
# 1,100, and miss more than half of the needed packages.
#
# The nearest five with descriptions take 109 tokens, but of the needed packages, one in eight is missing. The course wrote both
# instructions and descriptions. With yours, more may be missing.
#
# </details>
#
# A search by words finds less: its best five contain 0.63 of the needed packages, and the nearest five 0.87. The last column has this
# gain with its [interval](../labs/GLOSSARY.md#confidence-interval). All of it is above 0. Few packages share a word with an instruction,
# so even the longer list by words has only 20 tokens, and misses one in three.
#
# But in the records, the model imported the needed package 9 times of 12 with the five, and 5 times with all names. This does not show
# why: only the five have descriptions, and twelve are few.
#
# Now each project may also use 12,000 packages of a large company. We make them up, and the results depend on how: each is a copy of a
# real package, with a number in its name and a slightly changed vector.
#
# > **Predict.** Suppose that a prompt may have 32,768 tokens. Which lists fit?

# %%
from course_lib.teaching.lab.package_lists import plot_ladder, with_made_up

every = locked["rider-app"] | locked["forecasting"]
company = with_made_up(shelf_of(every, lab.encode), 12_000)
large = ladder(dict.fromkeys(locked, company), instructions, lab.encode)
plot_ladder({"the project's packages": small, "with the company's": large}, 32_768)

# %% tags=["claim"]
assert large.loc["all names", "tokens"] > 60_000, "all names take more than 60,000"
assert large.loc["first fifty, described", "contains"] == 0, "no needed package"
assert round(large.loc["nearest fifty names", "contains"], 1) == 0.7, "seven of ten"
assert 0.5 < large.loc["nearest five, described", "contains"] < 0.6, "more than half"
assert large["tokens"].le(32_768).sum() == 5, "Only the short lists fit"
third = large.loc[["fifty names by words", "five by words, described"], "contains"]
assert third.round(2).eq(0.33).all(), "Both lists by words contain one third"
assert large["more than by words"].str.contains("-").sum() == 0, (
    "it found more than a search by words"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# Only the short lists fit: all names take more than 60,000 tokens. So here, names need a search first.
#
# - The first fifty contain no needed package.
# - The nearest fifty names contain seven of ten.
# - The nearest five with descriptions contain more than half, for about half the tokens.
# - Both lists by words contain one third.
#
# </details>

# %% [markdown]
# ## Whose packages?
#
# The packages go into two tables:
#
# - `xray_report_packages` says which project uses which package.
# - `xray_packages`, the shared catalogue, has each package once, with its description and its vector.
#
# A made-up project, *fleet*, uses the company's 12,000 packages. *rider-app* does not.

# %%
from course_lib.teaching.lab.package_lists import compare_ways, store_catalogue

store_catalogue(conn, lock_files, company, lab.embedder)

# %% [markdown]
# A simple way to search for *rider-app* is to *over-fetch*: take more packages than you need, and keep the project's.

# %%
from functools import partial


def over_fetch(text, count):
    query = """
        SELECT name FROM (
            SELECT * FROM xray_packages WHERE language = 'python'
            ORDER BY embedding <=> %(vector)s LIMIT %(count)s
        ) AS near JOIN xray_report_packages USING (language, name)
        WHERE project = 'rider-app' ORDER BY embedding <=> %(vector)s LIMIT 5"""
    return conn.execute(query, {"vector": lab.encode(text), "count": count}).fetchall()


ways = {f"the {count:,} nearest": partial(over_fetch, count=count) for count in (5, 100, 1_000)}

# %% [markdown]
# > **Predict.** A prompt has five places for packages. How many does each way fill, on average?

# %%
asked = [one for one in instructions if one.project == "rider-app"]
compare_ways(ways, asked).round(2)

# %% [markdown]
# <details><summary>The answer</summary>
#
# Over-fetching fills too few places from the 5 nearest (fewer than one) and from the 100 nearest (2.3). The 1,000 nearest fill all five.
#
# </details>
#
# But 1,000 is a guess. In a larger catalogue, or for a smaller project, it may be too few.
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


def nearest(text, project="rider-app"):
    model = lab.embedder.model_name
    query = nearest_packages_query(lab.encode(text), project, "python", model)
    return conn.execute(*query).fetchall()


compare_ways({**ways, "yours": nearest}, asked).round(2)

# %% tags=["claim"]
compared = compare_ways({**ways, "yours": nearest}, asked)
five, hundred, thousand, yours = compared.itertuples(index=False)
assert five[1] < 1, "from the 5 nearest (fewer than one)"
assert round(hundred[1], 1) == 2.3, "and from the 100 nearest (2.3)"
assert thousand[1] == 5, "The 1,000 nearest fill all five"
assert tuple(yours) == tuple(thousand), "as much as the 1,000 nearest"
assert round(yours[0], 2) == 0.91 and yours[1] == 5, "Yours fills all five places, and finds 0.91"
assert sum(len(one.gold_packages) for one in asked) == 23, "0.91 of the 23 needed packages"
assert all(row[0] in locked["rider-app"] for one in asked for row in nearest(one.instruction))

# %% [markdown]
# Yours fills all five places, and finds 0.91 of the 23 needed packages, as much as the 1,000 nearest. It needs no guess.
#
# ## Break it: an index for the catalogue
#
# The course's table has no vector index. Now we add one, to make the search faster (lab 06).
#
# > **Predict.** Does PostgreSQL use the index? How many of five packages does rider-app get?

# %%
vector = lab.encode("fetch top charts from Spotify")
query, values = nearest_packages_query(vector, "rider-app", "python", lab.embedder.model_name)
with conn.transaction(force_rollback=True):
    conn.execute(f"ALTER TABLE xray_packages ALTER embedding TYPE vector({len(vector)})")
    conn.execute("CREATE INDEX ON xray_packages USING hnsw (embedding vector_cosine_ops)")
    [[[explained]]] = conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", values).fetchall()
    conn.execute("SET LOCAL hnsw.iterative_scan = strict_order")
    continued = conn.execute(query, values).fetchall()
print(len(continued), "packages if the walk continues")
lab.show.plan(explained["Plan"])

# %% tags=["claim"]
plan = str(explained["Plan"])
assert "hnsw" in plan or "xray_packages_embedding_idx" in plan, "PostgreSQL uses the index"
assert explained["Plan"]["Actual Rows"] < 5 == len(continued), "the project gets fewer than five"
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
# The course has 30 instructions that need no package. For *parse a date such as 2026-03-01*, python-dateutil is near, but not needed. We
# look at half of these 30, and at half of the 39.
#
# > **Predict.** Is there a least similarity that keeps nearly all needed packages, and suggests nothing where nothing is needed?

# %%
from course_lib.teaching.lab.package_lists import thresholds

cases = [*instructions, *read_instructions("no_package")]
near = {one.id: nearest(one.instruction, one.project) for one in cases}
tuning = thresholds(near, cases, tuning=True)
axes = tuning.plot(title="Wanted: the first curve at 1, the second at 0", marker="", ylabel="share")
lab.alt(axes, f"Both curves fall: {tuning[::10].round(2).to_dict()}")

# %% [markdown]
# <details><summary>The answer</summary>
#
# No such similarity exists on this half. At 0.3, one in four needed packages is missing. But more than half of the instructions that need
# nothing still get a suggestion.
#
# </details>
#
# We count both mistakes alike: a needed package that is missing, and a suggestion that is not needed. This is our decision. We choose the
# least similarity on this half, and look at the other half once.

# %% tags=["nbval-check-output"]
import pandas as pd

gain = tuning["needed packages kept"] - tuning["suggests where nothing is needed"]
least = gain.idxmax()
held_out = thresholds(near, cases, tuning=False)
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
# On the half where we chose, half of the needed packages are left, and on the other half, only a quarter. The halves have 21 and 23
# needed packages, so the difference may be luck.
#
# A similarity says what is *near*, and not what is *needed*. So compare the answer's imports with the lock file, too.
#
# ## Exercise 13.3: three kinds of nothing
#
# Your last function decides which packages a prompt names. It meets three kinds of nothing:
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
rows = nearest("shorten a comment to 80 characters")
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

# %% [markdown]
# Four cases: an instruction that needs a package, one that needs none, a new model, and a project without packages.

# %% tags=["nbval-check-output"]
choose = lab.use("choose")
for found in (nearest("fetch top charts from Spotify"), rows, []):
    chosen = choose(found, by_name, "no vectors of this model", least)
    print(len(chosen.packages), [one.name for one in chosen.packages[:2]], chosen.fallback)
print(choose([], [], "no vectors of this model", least))

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
# One danger: others wrote the descriptions. A description may contain an instruction
# ([lab 15](../labs/15_checking_an_answer.ipynb)). We did not ask a model whether it obeys.
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
