# %% [markdown]
# # 11 · A pipeline
#
# You build the pipeline that fills the course's index, as Kubeflow runs it: each step may run on
# another machine. One step will be killed, and you will lose nothing.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | write a component that may run twice · set retries, cache, memory and secrets of a step · connect steps to a pipeline, and read what the compiler makes of it | `pipeline/` | about {minutes} min | Python functions; lab 01 for chunks |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("11", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
lab.show.pipeline("pipeline")

# %% [markdown]
# ## Two machines
#
# A corpus is too large for one machine, so two machines share it. Each machine takes the files for which `hash(name) % 2` is its own
# number, 0 or 1. Each part is called a [shard](../labs/GLOSSARY.md#shard). Here, two processes play the machines.
#
# > **Predict.** How many files are taken by neither machine, and how many by both?

# %%
import subprocess
import sys

from course_lib.loader import read_documents
from course_lib.settings import project_root

names = [document.name for document in read_documents(project_root() / "data", (".md", ".yaml", ".py", ".go", ".sh"))]

# %%
program = "import sys; print(*[name for name in sys.argv[2:] if hash(name) % 2 == int(sys.argv[1])], sep='\\n')"


def machine(number):
    command = [sys.executable, "-I", "-c", program, str(number), *names]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())


zero, one = machine(0), machine(1)
print(f"of {len(names)} files, {len({*names} - zero - one)} are taken by neither, {len(zero & one)} by both")

# %% tags=["claim"]
assert {*names} - zero - one and zero & one, "some files are in no shard, and others in both"

# %% [markdown]
# There was no error, but some files are in no shard, and others in both. Python's `hash` gives a text another number in every
# process. With SHA-256, the number is the same everywhere, so the course's shards use it.
#
# ## A machine is taken away
#
# The course's pipeline reads a folder, splits and stores two shards at once, and builds the index. On a cluster, each
# step is a [container](../labs/GLOSSARY.md#container). Here, `run_locally` makes it a process.
#
# A cloud provider may take a cheap machine away at any moment. Then the step is tried again. We kill a naive step that appends to a
# file, and a step of the pipeline: `KillFirst` ends the process of shard 0 as soon as its first documents are in the index.
#
# > **Predict.** What is in the file of the naive step? Which chunks are in the index at the end?

# %%
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from course_lib.pipeline.local import run_locally
from course_lib.teaching.lab.accidents import KillFirst

workshop = TemporaryDirectory()  # gone when the kernel ends
work = Path(workshop.name)
copy = shutil.copytree(lab.data_dir, work / "pages")
if embedding_model:
    os.environ["RAG_EMBED_MODEL"] = embedding_model


def naive_step(chunks, killed_after=None):
    with Path(work, "naive.txt").open("a", encoding="utf-8") as file:
        for chunk in chunks[:killed_after]:
            print(chunk, file=file)


# %%
naive_step("abcd", killed_after=2)
naive_step("abcd")  # the second attempt
in_file = Path(work, "naive.txt").read_text(encoding="utf-8").split()
print("naive step:", *in_file)
print("The pipeline takes one to two minutes.")
accident = KillFirst("embed-and-store", lab.database_url)
small = {"source": str(copy), "chunk_size": 200}  # small chunks, so there is time to kill the step
run = run_locally("docs_pipeline", small, root=work, url=lab.database_url, on_event=accident, caching=False)
split = sum(int(one["chunks"]) for one in run.metadata("split-documents", "chunks"))
with lab.connect() as conn:
    [rows] = conn.execute("SELECT count(*) FROM document_chunks").fetchone()
print(split, "chunks were split,", accident.stored, "of them were stored at the kill")
print("in the index at the end:", rows, "· if the step only appended:", split + accident.stored)
lab.show.attempts(run, f"Shard 0 is killed with {accident.stored} chunks stored, then tried again")

# %% tags=["claim"]
tries = sorted(one.outcome for one in run.attempts if one.task.startswith("embed-and-store"))
assert tries == ["failed", "succeeded", "succeeded"] and not run.error, "The other shard was not repeated"
assert in_file == list("ababcd"), "some chunks are there twice, without an error"
assert 0 < accident.stored < split, "The killed process had stored some chunks"
assert rows == split, "At the end, each chunk is in the index once"

# %% [markdown]
# The killed process had stored some chunks. The second attempt found them and added only the rest. At the end, each chunk is in the index
# once.
# The other shard was not repeated. In the naive file, some chunks are there twice, without an error.
#
# Kubeflow only *starts* a step again. You have to write the step so that a second start does no harm. Such a step is
# [idempotent](../labs/GLOSSARY.md#idempotent). `embed_and_store` is idempotent: a row with the same key is not written
# twice, and a document is stored whole or not at all.

# %% [markdown]
# ## From a function to a component
#
# A step is made from a [component](../labs/GLOSSARY.md#component): a function with a decorator. The decorator names an *image*, the
# container's file system. Our image is `LOADER`. It already has kfp, so `install_kfp_package` is false.
#
# A step gets small values as parameters. Documents are in a file, an
# [artifact](../labs/GLOSSARY.md#artifact). It has a `path`, and a dictionary of facts, `metadata`.

# %%
from kfp import dsl
from kfp.dsl import Dataset, Output

from course_lib.pipeline.components import LOADER


@dsl.component(base_image=LOADER, install_kfp_package=False)
def read_pages(folder: str, pages: Output[Dataset]):
    from course_lib.pipeline.corpus import write_corpus
    from course_lib.pipeline.sources import read_folder

    counts = write_corpus(pages.path, read_folder(folder, repo="pages"))
    pages.metadata["documents"] = counts["documents"]


# %% [markdown]
# > **Predict.** `count_words` needs `read_documents`, which the notebook has imported. Does it work as a component, too?


# %% tags=["nbval-check-output"]
def count_words(folder: str) -> int:
    return sum(len(document.content.split()) for document in read_documents(folder))


component = dsl.component(count_words, base_image=LOADER, install_kfp_package=False)
print("as a function:", count_words(copy))
print(run_locally(component, {"folder": str(copy)}, root=work))
pages = run_locally(read_pages, {"folder": str(copy)}, root=work).outputs["pages"]
print(pages.metadata, len(Path(pages.path).read_text(encoding="utf-8").splitlines()), "lines")

# %% [markdown]
# No. As a component it fails, here and on a cluster, because kfp takes only the text of the function, without the notebook's imports.
#
# The first line of the file is the *origin*: it says where the documents belong. The others are the five documents.
#
# The component wrote 5, but you got 5.0: `kfp.local` makes a float of every number in metadata. (On a cluster you get 5.) So write `int(…)`
# where you read such a number.

# %% [markdown]
# ## Exercise 11.1: split one shard
#
# `origin` is the first line, and the dictionary `found` has a `Document` for each name.
# `replace(origin, shard=…)` returns a copy with another `shard`. `"0/2"` is the first of two shards.

# %% exercise="11.1"
# Given up to: origin, found = read_staged(documents.path, Document)
from course_lib.pipeline.components import split_documents

# %%
lab.check("11.1", split_documents)

# %%
lab.hint("11.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a special case for an empty shard. Its two files have no documents, but they are there. So the next step needs no special
# case. And a second attempt writes over the whole file. If the file were opened with the mode `"a"`, its lines would be there twice.

# %% [markdown]
# ## Half a file
#
# What if a file is damaged before `embed_and_store` reads it? A step that *appends* is killed and tried
# again, so ten chunks are there twice. Or the disk was full, and the last ten are missing.
#
# > **Predict.** Which of the two does it notice?

# %%
from course_lib.errors import CourseError
from course_lib.pipeline.storing import store_shard


def stored_of(lines):
    Path(work, "broken").write_bytes(b"".join(lines))
    with lab.connect() as conn:
        try:
            return store_shard(rows.path, work / "broken", conn=conn, embedder=lab.embedder)["chunks"]
        except CourseError as error:
            return error.args[0]


# %%
split_function = lab.use("split_documents")
split_documents = dsl.component(split_function, base_image=LOADER, install_kfp_package=False)
chunks, rows = Dataset(uri=str(work / "chunks.jsonl")), Dataset(uri=str(work / "rows.jsonl"))
split_function(pages, chunks, rows, "0/1", 512, 64)
lines = Path(chunks.path).read_bytes().splitlines(keepends=True)
twice, half = stored_of(lines + lines[:10]), stored_of(lines[:-10])
print("twice:", twice)
print("half: ", half, "chunks are stored; the splitter counted", chunks.metadata["chunks"])

# %% tags=["claim"]
assert "two chunks" in twice, "Lines that are there twice are refused"
assert half == chunks.metadata["chunks"] - 10, "Lost lines are not noticed"

# %% [markdown]
# Lines that are there twice are refused, because two chunks have the same identity. Lost lines are not noticed.
#
# So `embed_and_store` returns the splitter's count and its own. In `build_index`, your function compares the counts of all shards.
#
# ## Exercise 11.2: compare the counts

# %% exercise="11.2"
from course_lib.pipeline.storing import add_up

# %%
lab.check("11.2", add_up)

# %%
lab.hint("11.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: comparing the sums and not the shards. If one shard has lost a chunk and another has one too many, the sums are
# equal. For Python, `2 == 2.0` is true, so only the results have to be made whole.

# %% tags=["nbval-check-output"]
from course_lib.pipeline.storing import COUNTS

add_up = lab.use("add_up")
try:
    add_up([{**dict.fromkeys(COUNTS, 0), "chunks": half, "split": chunks.metadata["chunks"]}])
except CourseError as error:
    print("error:", error)
stored_of(lines)  # split again: the whole file
with lab.connect() as conn:
    print("split and stored again:", *conn.execute("SELECT count(*) FROM document_chunks WHERE repo_slug = 'pages'").fetchone(), "chunks")

# %% [markdown]
# This would stop the run in `build_index`. If you only repeat the run, the cache returns the same half file. With `caching=False`, the shard
# is split again, and the missing ten chunks are added. The half file stays in the cache until you delete it.

# %% [markdown]
# ## An old result from the cache
#
# A second run does not have to repeat everything: the [cache](../labs/GLOSSARY.md#cache) takes the result of a step from an earlier run. This
# pipeline counts the pages in a folder.
#
# > **Predict.** Between two runs, a page is added. What does the second run return?


# %%
@dsl.component(base_image=LOADER, install_kfp_package=False)
def count_pages(folder: str) -> int:
    from pathlib import Path

    return len(list(Path(folder).iterdir()))


# %% tags=["nbval-check-output"]
@dsl.pipeline(name="counting")
def counting(folder: str) -> int:
    return count_pages(folder=folder).output


before = run_locally(counting, {"folder": str(copy)}, root=work)
Path(copy, "rollback.md").write_text("# Rollback\n\nGo back to the last release that worked.\n", encoding="utf-8")
after = run_locally(counting, {"folder": str(copy)}, root=work)
print("first run: ", before.outputs["Output"], "pages")
print("second run:", after.outputs["Output"], "pages,", after.attempts[0].outcome, "· in the folder:", len(list(copy.iterdir())))

# %% [markdown]
# It returns the old count, as a cluster would. The cache compares code, image and inputs of a step, and the path is the same text as before. It does not see what is
# *at* the path, or in a database. There are two remedies:
#
# - Switch the cache off for a step that reads or changes something outside: a folder, a database.
# - Or add a quick step that returns a hash of the content, the *fingerprint*. The slow step takes this as an
#   input, so an old result is used only for the same content.

# %% [markdown]
# ## What a step needs
#
# In a pipeline, a call of a component returns a *task*, which you can set up:
#
# ```python
# task = bake(dough=dough)
# task.set_retry(num_retries=2, backoff_duration="5s", backoff_factor=4)   # after 5 s, then after 5 · 4 = 20 s
# task.set_memory_request("1Gi").set_memory_limit("4Gi")                  # reserved; above the second, the container is killed
# task.set_caching_options(enable_caching=False)
# kubernetes.use_secret_as_env(task, "bakery", {"key": "OVEN_KEY"})       # `key` of the Secret "bakery" → variable OVEN_KEY
# ```
#
# Parameters are stored in databases and logs. So a long text is an artifact, and a password comes from a Secret.
#
# ## Exercise 11.3: a step with the database

# %% exercise="11.3"
from course_lib.pipeline.pipelines import with_database

# %%
lab.check("11.3", with_database)

# %%
lab.hint("11.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a cached step that writes. If the database is new and the result is old, the step is left out. The table stays
# empty, and there is no error. Retries do no harm here, because the step may run twice.

# %% [markdown]
# For a cluster, the compiler writes a YAML file, the [intermediate representation](../labs/GLOSSARY.md#intermediate-representation).
# Here is one step, and the whole pipeline as a drawing.
#
# > **Predict.** Everybody who gets this file can read it. Which of your five settings does it show in full?

# %%
import yaml
from kfp import compiler

from course_lib.pipeline.compiling import compile_pipeline


def compiled(pipeline, step):
    compiler.Compiler().compile(pipeline, str(work / "pipeline.yaml"))
    spec, platform = yaml.safe_load_all((work / "pipeline.yaml").read_text(encoding="utf-8"))
    wishes = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    return spec["root"]["dag"]["tasks"][step], spec["deploymentSpec"]["executors"][f"exec-{step}"]["container"], wishes[f"exec-{step}"]


# %%
with_database = lab.use("with_database")


@dsl.pipeline(name="one-step")
def one_step():
    with_database(count_pages(folder="pages"))


task, container, wishes = compiled(one_step, "count-pages")
print("retries:", task["retryPolicy"]["maxRetryCount"])
print("cache:  ", task["cachingOptions"])
print("memory: ", container["resources"]["resourceMemoryRequest"], "reserved")
print("limit:  ", container["resources"]["resourceMemoryLimit"])
print("secret: ", wishes["secretAsEnv"][0]["secretName"])
lab.show.dag(next(yaml.safe_load_all(compile_pipeline("docs_pipeline"))))

# %% tags=["claim"]
assert wishes["secretAsEnv"][0]["secretName"] == "rag-database" and "postgresql://" not in (work / "pipeline.yaml").read_text(encoding="utf-8"), "the file has only the name of the secret"
assert task["cachingOptions"] == {}, "Empty braces mean that the cache is off"

# %% [markdown]
# All but the password: the file has only the name of the secret. Empty braces mean that the cache is off.
#
# ## Connect the steps
#
# What is missing is the order. In the figure, a dashed arrow is a small value, or only the order.
#
# kfp calls your pipeline function only once: when it compiles the pipeline. So the variables are placeholders for later
# values:
#
# ```python
# dough = knead(flour=flour)                                          # returns a list of names, and has an artifact `mass`
# with dsl.ParallelFor(dough.outputs["Output"], parallelism=4) as name:   # at most 4 at once
#     baked = bake(mass=dough.outputs["mass"], name=name)             # has the artifacts `cake` and `crumbs`
#     sold = sell(**baked.outputs, shop=shop)                         # cake=…, crumbs=…; returns a number
# count(sold=dsl.Collected(sold.output))                              # a list: the output of every turn
# ```
#
# ## Exercise 11.4: the pipeline
#
# The beginning is given: the two steps that read the folder, and the exit handler. Its task, `report`, runs last, even if a step inside has failed.
# `with_documents` gives a step the folder, as `with_database` gives it the database. You write the loop,
# the index, the questions, and one setting of `seen`.

# %% exercise="11.4"
# Given up to: with_documents(loaded, documents_claim)
from course_lib.pipeline.pipelines import docs_pipeline

# %%
lab.check("11.4", docs_pipeline)

# %%
lab.hint("11.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: using a placeholder as a value. While this function runs, `shards` and `shard` have no values. An `if shard == "0/2"` would be
# decided once, when the pipeline is compiled. Outputs decide the order: a task waits for the tasks whose outputs it gets.

# %% [markdown]
# ## Run it
#
# Now run your pipeline twice. If you have Docker and ran `make images`, a third run starts each step as a container.
#
# > **Predict.** Which steps come from the cache in the second run?

# %%
import pandas as pd

from course_lib.pipeline.containers import is_ready

print("This takes one to two minutes.")
pipeline = dsl.pipeline(lab.use("docs_pipeline"), name="docs-pipeline")
wanted = {"source": str(copy), "shards": 2, "chunk_size": 500}  # another size: nothing is in the cache yet
ways = {"first": "subprocess", "second": "subprocess"} | ({"in containers": "docker"} if is_ready(pipeline) else {})
runs = {name: run_locally(pipeline, wanted, root=work, url=lab.database_url, runner=way) for name, way in ways.items()}
outcomes = pd.DataFrame({name: {one.task.partition("[")[0]: one.outcome for one in run.attempts} for name, run in runs.items()})
outcomes

# %% tags=["claim"]
cached = set(outcomes.index[outcomes["second"] == "cached"])
assert cached == {"load-documents", "split-documents"}, "Only reading and splitting come from the cache"
assert set(outcomes["first"]) == {"succeeded"} and not any(run.error for run in runs.values()), "Only reading and splitting come from the cache"

# %% [markdown]
# Only reading and splitting come from the cache, because the fingerprint is the same. The other steps look at
# something outside, or change it, so they ran again.
#
# ## Measure
#
# Would a single process have made the same index? `ingest` reads the same folder.
#
# > **Predict.** How many chunks does it write?

# %%
from course_lib.indexing import IngestOptions, ingest

with lab.connect() as conn:
    done = ingest(copy, options=IngestOptions(chunk_size=500), conn=conn, embedder=lab.embedder)
print(f"{done.inserted} new, {done.updated} changed, {done.unchanged} as before, {done.deleted} deleted")

# %% tags=["claim"]
assert (done.inserted, done.updated, done.deleted) == (0, 0, 0), "It writes none: every chunk is there already"

# %% [markdown]
# It writes none: every chunk is there already.

# %% [markdown]
# ## In the field
#
# What passed is in `my/system/`, and `course mine pipeline run --set shards=2` runs it here. A cluster gets the same compiled YAML. With Docker,
# [kind](https://kind.sigs.k8s.io) and kubectl, you can have one on a laptop (**not run here**):
#
# ```bash
# infra/setup-kubeflow.sh
# course pipeline submit --host http://localhost:8080 --set shards=4
# ```
#
# **On Monday**, ask of each step of a job: may it run twice? What does
# it read that the tool does not see? Which counts show that something is lost?

# %% [markdown]
# ## Recap
#
# - A component is the text of a function. It imports what it needs.
# - A retry only starts a step again. You make sure that it may run twice.
# - Compare counts where parts meet.
# - The cache compares code and inputs. Switch it off for a step that looks at anything else, or use a fingerprint.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. A pipeline function contains `shards=len(os.listdir(source))`. What happens?
# 2. Why may `split_documents` be cached, but not `embed_and_store`?
# 3. One shard fails four times. You run the pipeline again. What happens to the other shards?
#
# <details><summary>Answers</summary>
#
# 1. It raises an error, because `source` is only a placeholder.
# 2. `split_documents` makes only files. `embed_and_store` changes a database, which may be a new one.
# 3. Splitting comes from the cache. `embed_and_store` runs again, finds its rows and encodes nothing.
#
# </details>
#
# ## Stretch, and what comes next
#
# Kill a step of your own pipeline: run it with `wanted | {"repo": "killed", "chunk_size": 200}`, `caching=False` and
# `on_event=KillFirst("embed-and-store", lab.database_url, "killed")`. Is each chunk of `killed` there once?
#
# Next is [lab 12](../labs/12_a_fresh_index.ipynb), where you keep an index up to date.
