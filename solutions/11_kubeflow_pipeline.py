# %% [markdown]
# # 11 · A pipeline
#
# Two machines share a job. It ends without an error, and a quarter of the files is missing. You mend it, and build the pipeline that fills
# the course's index. You will kill one of its steps, and no chunk will be lost.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | write a step that may run twice · notice what is lost on the way · decide what each step of a pipeline needs · find faults in a pipeline | `pipeline/` | about {minutes} min | Python functions; lab 01 for chunks |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("11", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
lab.show.pipeline("pipeline")

# %% [markdown]
# ## A job without a pipeline
#
# A job works on files of `data/`. Two machines (here, two processes) share them. Each takes a [shard](../labs/GLOSSARY.md#shard): the
# files for which `hash(name) % 2` is its own number, 0 or 1.

# %%
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from course_lib.teaching.lab.accidents import names_of_data, run_job

workshop = TemporaryDirectory()  # gone when the kernel ends
work = Path(workshop.name)
names = names_of_data()

# %% [markdown]
# `run_job` runs the text of this function in a new process. `shard` is "0/2" or "1/2", `out` a file. `work_on(name)` is a generator: it takes a moment,
# yields the name, and then prints it to the log.


# %%
def job(names, shard, out, work_on):
    number, of = map(int, shard.split("/"))
    with open(out, "a", encoding="utf-8") as file:
        for name in names:
            if hash(name) % of == number:
                for line in work_on(name):
                    print(line, file=file, flush=True)


# %% [markdown]
# > **Predict.** How many files are in neither shard, and how many in both?

# %%
zero, one = set(run_job(job, names, "0/2")), set(run_job(job, names, "1/2"))
neither, both = {*names} - zero - one, zero & one
print(f"of {len(names)} files, {len(neither)} are in neither, {len(both)} in both")

# %% tags=["claim"]
assert neither and both, "some files are in no shard, and others in both"
assert 0.05 < len(neither) / len(names) < 0.45 and 0.05 < len(both) / len(names) < 0.45, "a quarter"

# %% [markdown]
# <details><summary>The answer</summary>
#
# There is no error, but some files are in no shard, and others in both. Each process has its own `hash` of a string. On average, a
# quarter is in neither, and a quarter in both.
#
# </details>
#
# The course's `shard_of(name, 2)` uses the SHA-256 of the name, which is the same in every process.
#
# ## The job is killed
#
# Now one process takes all files ("0/1"). It is killed (`kill -9`) after five files, and started again.
#
# > **Predict.** Which lines are in its file at the end?

# %%
out = Path(mkdtemp(dir=work), "all.txt")
at_the_kill = len(run_job(job, names, "0/1", out, killed=True))
there = run_job(job, names, "0/1", out)
print(f"at the kill: {at_the_kill} lines · in the end: {len(there)} lines of {len({*there})} files")

# %% tags=["claim"]
assert at_the_kill >= 5 and len({*there}) == len(names), "All files are there"
assert len(there) == len(names) + at_the_kill, "what was written before the kill is there twice"

# %% [markdown]
# <details><summary>The answer</summary>
#
# All files are there, but what was written before the kill is there twice.
#
# </details>
#
# If the job deletes its file first, nothing is there twice, but until its end, a reader finds only a part.

# %% [markdown]
# ## Exercise 11.1: a step that survives

# %% exercise="11.1"
from course_lib.loader.shards import write_shard

# %%
lab.check("11.1", write_shard)

# %%
lab.hint("11.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: opening `path` with the mode `"w"`. Then a reader may get only a part of the file. `os.replace` moves a
# finished temporary file to `path` at once.
#
# After a kill, the next attempt writes the *whole* result to the same place, so nothing is there twice.

# %% [markdown]
# The job with the course's `write_shard`, killed once:


# %%
def safe_job(names, shard, out, work_on):
    from course_lib.loader.shards import write_shard

    write_shard(out, {name: work_on(name) for name in names}, shard)


out = Path(mkdtemp(dir=work), "safe.txt")
print("lines after the kill:", len(run_job(safe_job, names, "0/1", out, killed=True)))
again = [run_job(safe_job, names, "0/1", out) for _ in ("second", "third")]
print("after the second and third attempt:", *map(len, again), "lines of", len(names), "files")

# %% tags=["claim"]
assert again == [names, names], "a second start does no harm"

# %% [markdown]
# Now a second start does no harm: the step is [idempotent](../labs/GLOSSARY.md#idempotent).
#
# ## The same step in Kubeflow
#
# [Kubernetes](../labs/GLOSSARY.md#kubernetes) runs containers on many machines.
# [Kubeflow Pipelines](../labs/GLOSSARY.md#kubeflow-pipelines) starts the steps of a job there. It may start a failed step again. So each
# step has to be idempotent. [kfp](../labs/GLOSSARY.md#kfp) is its Python package.
#
# Each part of your job has a name there:
#
# | your job | Kubeflow |
# |---|---|
# | a process | a [pod](../labs/GLOSSARY.md#pod), with a container. Here, it is a process, too |
# | what is installed | the container's *image*. `LOADER` has kfp and `course_lib` |
# | the program | a [component](../labs/GLOSSARY.md#component), a function with a decorator |
# | `shard`, a small value | a parameter |
# | the file at `path` | an [artifact](../labs/GLOSSARY.md#artifact). It also has a dictionary of facts, `metadata` |
#
# On a cluster, each start has a new pod with an empty disk. A second start can only harm what is outside: a file on a shared disk, or a row
# in a table.

# %%
from kfp import dsl
from kfp.dsl import Dataset, Output

from course_lib.pipeline.components import LOADER


@dsl.component(base_image=LOADER, install_kfp_package=False)
def list_shard(folder: str, shard: str, pages: Output[Dataset]):
    from pathlib import Path

    from course_lib.loader.shards import write_shard

    lines = {page.name: [page.name] for page in sorted(Path(folder).iterdir())}
    pages.metadata["lines"] = write_shard(Path(pages.path), lines, shard)


# %% [markdown]
# `run_locally` runs it on this machine:

# %% tags=["nbval-check-output"]
from course_lib.pipeline.local import run_locally

source = lab.data_dir.as_posix()
run = run_locally(list_shard, {"folder": source, "shard": "0/2"}, root=work)
pages = run.outputs["pages"]
print(pages.metadata, Path(pages.path).read_text(encoding="utf-8").split())

# %% tags=["claim"]
assert isinstance(pages.metadata["lines"], float), "makes a float of each number in `metadata`"

# %% [markdown]
# kfp takes only the text of the function, so the imports are inside. Here, it makes a float of each number in `metadata`.
#
# ## A shard that is not whole
#
# The splitter writes the chunks of a shard to a file, and their number to `metadata`. An upload of the file may be cut off or repeated, and
# the number is still right. We damage the file in four ways: doubled, ten lines lost, cut off in a line, empty.
#
# > **Predict.** Which of the four files does the storing step refuse?

# %%
import pandas as pd

from course_lib.teaching.lab.accidents import SplitPages

pages = SplitPages(lab.data_dir, work)
lines = pages.lines
cut = [*lines[:-1], lines[-1][:-100]]
damages = {"doubled": lines * 2, "ten lines lost": lines[:-10], "cut off": cut, "empty": []}
with lab.connect() as conn:
    came = {name: pages.store(damaged, conn, lab.embedder) for name, damaged in damages.items()}
pd.DataFrame(came).T

# %% tags=["claim"]
says = {name: one["the step says"] for name, one in came.items()}
assert "two chunks with chunkIndex" in says["doubled"], "two chunks have the same number"
assert "not JSON" in says["cut off"], "the cut line, because it is not JSON"
assert says["ten lines lost"] == says["empty"] == "no error", "not notice the other two"
stored_chunks = [one["chunks stored"] for one in came.values()]
assert stored_chunks == [0, len(lines) - 10, 0, 0], "The step refuses doubled lines"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The step refuses doubled lines, because two chunks have the same number. It also refuses the cut line, because it is not JSON.
# It does not notice the other two: *no error*.
#
# </details>
#
# The results of all shards meet at the [fan-in](../labs/GLOSSARY.md#fan-in):
#
# ```
#            ┌─ split 0/2 ── store 0/2 ─┐
# documents ─┤                          ├─ fan-in
#            └─ split 1/2 ── store 1/2 ─┘
# ```
#
# There, we check that each shard came, with all its chunks.

# %% [markdown]
# ## Exercise 11.2: the fan-in

# %% exercise="11.2"
from course_lib.pipeline.storing import add_up

# %%
lab.check("11.2", add_up)

# %%
lab.hint("11.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: comparing sums or lengths.
#
# - If one shard lost a chunk and another has one too many, the sums are equal.
# - If one shard came twice and another did not come, the number of shards is right.

# %%
add_up = lab.use("add_up")
says = {name: pages.fan_in(add_up, one) for name, one in came.items()}
pd.DataFrame(came).T.assign(**{"your fan-in says": says})

# %% tags=["claim"]
assert "no error" not in says.values(), "Your fan-in notices all four"

# %% [markdown]
# Your fan-in notices all four: a step that refuses its file gives no result, so its shard is missing.
#
# ## Find four faults
#
# A pipeline is a function that calls components. kfp compiles it to a YAML file, the
# [intermediate representation](../labs/GLOSSARY.md#intermediate-representation).
#
# - If code, image and inputs of a step are the same as before, Kubeflow takes its result from the [cache](../labs/GLOSSARY.md#cache).
# - A password belongs in a [Secret](../labs/GLOSSARY.md#secret). Kubernetes gives it to the step as a variable.
#
# A colleague wrote three components. They store pages in a table (here, a folder), and publish their number.

# %%
from datetime import date


@dsl.component(base_image=LOADER, install_kfp_package=False)
def list_names(folder: str) -> list[str]:
    from pathlib import Path

    return sorted(page.name for page in Path(folder).iterdir())


@dsl.component(base_image=LOADER, install_kfp_package=False)
def store(page: str, table: str, password: str) -> int:
    from pathlib import Path

    return Path(table, page).write_text(page, encoding="utf-8")


@dsl.component(base_image=LOADER, install_kfp_package=False)
def publish(table: str) -> str:
    from pathlib import Path

    return f"{date.today()}: {len(list(Path(table).iterdir()))} pages"


# %% [markdown]
# The pipeline calls them. `dsl.ParallelFor` is a loop over the names, with two turns at once:

# %%
from kfp import kubernetes


@dsl.pipeline(name="nightly")
def nightly(folder: str, table: str, password: str = "hunter2"):
    names = list_names(folder=folder).set_caching_options(enable_caching=False)
    with dsl.ParallelFor(names.output, parallelism=2) as page:
        stored = store(page=page, table=table, password=password)
        kubernetes.use_secret_as_env(stored, "rag-database", {"DATABASE_URL": "DATABASE_URL"})
    publish(table=table).set_caching_options(enable_caching=False)


# %% [markdown]
# > **Predict.** Which four faults does the pipeline have?
#
# `steps_of` reads what kfp compiled. `unknown` are names that the step does not define, `used` are steps whose outputs another step gets.

# %%
from kfp import compiler

from course_lib.pipeline.faults import steps_of

compiler.Compiler().compile(nightly, str(work / "nightly.yaml"))
text = (work / "nightly.yaml").read_text(encoding="utf-8")
print(*(line for line in text.splitlines() if "hunter2" in line), sep="\n")
steps, used = steps_of(nightly)
print("used:", used)
pd.set_option("display.max_colwidth", None)
pd.DataFrame(steps).set_index("name").sort_index()

# %% [markdown]
# Two nights, each with an empty table:

# %%
table, root, nights = Path(mkdtemp(dir=work)), mkdtemp(dir=work), {}
for night in ("first", "second"):
    for page in table.iterdir():
        page.unlink()
    run = run_locally(nightly, {"folder": source, "table": table.as_posix()}, root=root)
    nights[f"{night} night: {len(list(table.iterdir()))} pages in the table"] = run
print(*(f"{one.task}: {one.error}" for one in run.attempts if one.error))
lab.show.attempts(nights)

# %% tags=["claim"]
pages_stored = [name.rpartition(": ")[2] for name in nights]
assert pages_stored == ["5 pages in the table", "0 pages in the table"], "the table stays empty"
assert {one.outcome for one in run.attempts if one.task == "store"} == {"cached"}, "from the cache"
[ended] = [one for one in run.attempts if one.task == "publish"]
assert "'date' is not defined" in ended.error, "`publish` fails, because `date` is `unknown`"
assert used == {"list-names"} and text.count("hunter2") == 2, "readable in the YAML file"

# %% [markdown]
# <details><summary>The four faults</summary>
#
# - `store` may come from the cache. So in the second night, the table stays empty.
# - The password is a parameter, so it is readable in the YAML file, and Kubeflow stores it with each run.
# - No step gets what `store` returns: it is not in `used`. So `publish` waits for nothing, and may begin first.
# - `publish` fails, because `date` is `unknown` in it: it is imported only in the notebook.
#
# </details>

# %% [markdown]
# ## Exercise 11.3: a check for every pipeline

# %% exercise="11.3"
from course_lib.pipeline.faults import faults_of

# %%
lab.check("11.3", faults_of)

# %%
lab.hint("11.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a cached step that writes to a table. The cache compares the path of the table, and does not see that the table
# is empty.

# %% tags=["nbval-check-output"]
faults_of = lab.use("faults_of")
for step in sorted(steps, key=lambda step: step["name"]):
    print(step["name"], faults_of(step, used))

# %% [markdown]
# ## The real pipeline
#
# Connect the course's steps:
#
# - `fingerprint_documents` makes a hash of all documents of the folder.
# - `load_documents` reads them, makes the file `documents`, and returns the shards' names. The hash is its input, so after a change, the
#   cache is not used.
# - `split_documents`, once for each shard, reads its input file.
# - `embed_and_store`, once for each shard, and `build_index` read and change the database.
# - `ask_questions` adds two steps, which measure the index.
# - `report` says what is in the index. As the task of an [exit handler](../labs/GLOSSARY.md#exit-handler), it runs last, even if a step
#   has failed.
#
# Two functions are given:
#
# - `with_documents` mounts the folder's [volume](../labs/GLOSSARY.md#volume), a disk, and allows one more attempt.
# - `with_database` gives the Secret, sets memory aside, switches the cache off, and allows three more attempts.
#
# kfp calls your function once, to compile it. So its variables are placeholders for later values. A step waits for the steps whose
# outputs it gets.
#
# ```python
# dough = knead(flour=flour)                                      # returns names ("Output"), makes a file
# with dsl.ParallelFor(dough.outputs["Output"], parallelism=4) as name:
#     baked = bake(mass=dough.outputs["mass"], name=name)         # makes the files `cake` and `crumbs`
#     sold = sell(**baked.outputs, shop=shop)                     # cake=…, crumbs=…; returns a number
# count(sold=dsl.Collected(sold.output))                          # a list: the output of every turn
# ```

# %% [markdown]
# ## Exercise 11.4: the pipeline

# %% exercise="11.4"
# Given up to: sizes = {"chunk_size": chunk_size, "chunk_overlap": chunk_overlap}
from course_lib.pipeline.pipelines import docs_pipeline

# %%
lab.check("11.4", docs_pipeline)

# %%
lab.hint("11.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: using a placeholder as a value. An `if shard == "0/2"` would be decided when the pipeline is compiled.

# %% [markdown]
# ## Kill it
#
# Run your pipeline twice (this can take minutes). In the first run, `KillFirst` kills the step that stores shard 0, in its work.
# If 0 chunks are stored then, the step ended too early: run the cell again.
#
# > **Predict.** Which step runs twice in the first run? Which come from the cache in the second?

# %%
from secrets import token_hex

from course_lib.teaching.lab.accidents import KillFirst, chunks_of

pipeline = dsl.pipeline(lab.use("docs_pipeline"), name="docs-pipeline")
repo = f"killed-{token_hex(3)}"  # a name of its own, also if you run this cell again
wanted = {"source": source, "chunk_size": 200}  # small chunks, so there is time to kill the step
url = lab.database_url
accident = KillFirst("embed-and-store", url, repo)
first = run_locally(pipeline, wanted | {"repo": repo}, root=work, url=url, on_event=accident)
split = sum(int(one["chunks"]) for one in first.metadata("split-documents", "chunks"))
print(f"chunks: {split} split, {accident.stored} at the kill, {chunks_of(repo, url)} in the end")

# %% [markdown]
# The second run:

# %%
second = run_locally(pipeline, wanted | {"repo": repo}, root=work, url=url)
lab.show.attempts({"first run: a step is killed": first, "second run": second})

# %% tags=["claim"]
tries = sorted(one.outcome for one in first.attempts if one.task.startswith("embed-and-store"))
assert tries == ["failed", "succeeded", "succeeded"], "the killed step ran again"
ran = [one.task for one in first.attempts]
assert not first.error and len(ran) == len({*ran}) + 1, "Only the killed step ran again"
assert 0 < accident.stored < split == chunks_of(repo, url), "each chunk is in the index once"

cached = {one.task for one in second.attempts if one.outcome == "cached"}
known = {"load-documents", "split-documents"}
cached = {one.partition("[")[0] for one in cached}
assert cached == known, "only reading and splitting come from the cache"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Only the killed step ran again. As many chunks are stored as were split, and the table takes no key twice, so each chunk is in the index once. In the second
# run, only reading and splitting come from the cache.
#
# </details>
#
# ## On a cluster
#
# [infra/README.md](../infra/README.md#what-a-run-on-a-cluster-needs) has what a run needs there. It was **not tried**.
#
# In the source code of Kubeflow Pipelines 2.17.0 and of Argo Workflows 4.0.5, which runs its steps, a step without success has one of two states:
#
# - *Failed*: its program stopped early (an exception, `kill -9`, too much memory), or its machine was shut down in order.
# - *Error*: its pod is gone, for example because its machine vanished.
#
# Which state is tried again:
#
# - Argo's default: only *Failed*.
# - The installation of 2.17.0 (`OnError`): only *Error*, at most twice. Your killed step would **not** be tried again.
# - `retryPolicy: Always` in Argo's settings: both.
#
# There are open reports that retries in a loop are ignored (kubeflow/pipelines 12389, 13897): test them on your cluster.
#
# ## Measure
#
# A crontab, a table of commands and their times, stores the same pages. Cron logs the command, so the database's address (`…`) is in another line:
#
# ```
# DATABASE_URL=…
# 0 2 * * * cd /srv/course && .venv/bin/course ingest data/documents
# ```

# %%
from course_lib.teaching.lab.accidents import ingest_as_cron

repos = [f"{name}-{token_hex(3)}" for name in ("pipeline", "cron")]
third = run_locally(pipeline, wanted | {"repo": repos[0]}, root=work, url=url, caching=False)
[built] = [one for one in third.attempts if one.task == "build-index"]
by_pipeline = built.at + built.seconds  # cron does not measure the index: not counted
by_cron = ingest_as_cron(source, "--chunk-size", "200", "--repo", repos[1], url=url)
more = by_pipeline - max(one.seconds for one in third.attempts if "store" in one.task)
stored = [chunks_of(repo, url) for repo in repos]
print(f"pipeline: {stored[0]} chunks in {by_pipeline:.0f} s, {more:.0f} s not for storing")
print(f"cron:     {stored[1]} chunks in {by_cron:.0f} s")
print(f"with about {2 * more * split / by_cron:.0f} chunks, half of cron's time is also {more:.0f} s")

# %% tags=["claim"]
assert stored == [split, split], "Both stored as many chunks"
assert 1 < more < 60, "Apart from storing, the pipeline's steps take seconds"

# %% [markdown]
# Both stored as many chunks as were split. Apart from storing, the pipeline's steps take seconds.
#
# On two machines, a pipeline saves at most half of cron's time. So it needs at least the number of chunks in the last line. This is a rough
# estimate: on a cluster, pods must start, too.
#
# A pipeline also gives you a log, retries and a cache for each step. If you need none, and have few chunks, take cron.

# %% [markdown]
# ## In the field
#
# `course mine pipeline run --set shards=2` runs the pipeline in `my/system/`.
#
# It is not only Kubeflow: [Airflow](https://airflow.apache.org/docs/apache-airflow/stable/best-practices.html), too, asks for tasks with the
# same outcome on every re-run.
#
# **On Monday**, ask of each step of a job:
#
# - May it run twice?
# - Does it read a folder or a table? Its cached result may be old.
# - Which counts show that something is lost?

# %% [markdown]
# ## Recap
#
# - A step may be started again at any moment: write the whole result, then rename it.
# - Where shards meet, check that each came, with all its chunks.
# - Switch the cache off for a step that writes to a database.
# - Passwords come from Secrets. Imports are inside the component.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. A pipeline function contains `shards=len(os.listdir(source))`. What happens?
# 2. Why may `split_documents` be cached, but not `embed_and_store`?
# 3. A step appends to a file on a volume, and its pod is killed. Would more retries help?
#
# <details><summary>Answers</summary>
#
# 1. The function raises an error, because `source` is only a placeholder.
# 2. `split_documents` makes only files. `embed_and_store` changes a database, which may be a new one.
# 3. No: each attempt appends its lines again.
#
# </details>
#
# ## Stretch, and what comes next
#
# A fifth fault is a cached step that reads a folder. What does `faults_of` have to know to find it?
#
# **Next.** In [lab 15](../labs/15_checking_an_answer.ipynb), you check answers. In
# [lab 12](../labs/12_a_fresh_index.ipynb), an elective, you keep an index up to date.
