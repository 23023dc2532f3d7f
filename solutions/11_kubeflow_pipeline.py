# %% [markdown]
# # 11 · A pipeline
#
# You will build the pipeline that fills the course's index, as Kubeflow runs it. One of its steps will
# be killed, and you will lose nothing.
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
# ## A machine is taken away
#
# This is what you will build. A solid arrow is a file that one step hands to another. A dashed arrow is a small value.

# %%
import yaml

from course_lib.pipeline.compiling import compile_pipeline

lab.show.dag(next(yaml.safe_load_all(compile_pipeline("docs_pipeline"))))

# %% [markdown]
# The documents are split into two parts, which are called [shards](../labs/GLOSSARY.md#shard). On a cluster, each step is a
# [container](../labs/GLOSSARY.md#container) of its own, perhaps on another machine. Here, `run_locally` makes each step a process.
#
# A cloud provider may take a cheap machine away at any moment. Here, `kill_first` kills the first process that stores a shard.
#
# > **Predict.** What happens to the other shard, and to the index?

# %%
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from course_lib.pipeline.local import run_locally
from course_lib.teaching.lab.accidents import kill_first

workshop = TemporaryDirectory()  # gone when the kernel ends
work = Path(workshop.name)
copy = shutil.copytree(lab.data_dir, work / "pages")
if embedding_model:
    os.environ["RAG_EMBED_MODEL"] = embedding_model

# %%
print("This takes about a minute.")
taken_away = kill_first("embed-and-store")
run = run_locally("docs_pipeline", {"source": str(copy)}, root=work, url=lab.database_url, on_event=taken_away)
with lab.connect() as conn:
    [rows] = conn.execute("SELECT count(*) FROM document_chunks").fetchone()
print("error:", run.error or "none", "·", rows, "chunks in the index")
lab.show.attempts(run, "One step is killed and tried again")

# %% tags=["claim"]
tries = sorted(one.outcome for one in run.attempts if one.task.startswith("embed-and-store"))
assert tries == ["failed", "succeeded", "succeeded"] and not run.error, "The step was tried again, and the other shard was not repeated"
assert rows == 121, "No chunk is lost, and none is there twice"

# %% [markdown]
# The step was tried again, and the other shard was not repeated. No chunk is lost, and none is there twice. A cluster does the same, with a
# new container. But it only *starts* the step again. That a second start does no harm is your work: the step must be
# [idempotent](../labs/GLOSSARY.md#idempotent).

# %% [markdown]
# ## From a function to a component
#
# A step is made from a [component](../labs/GLOSSARY.md#component): a function with a decorator. Its image is the file system of the container:
# Python, kfp and `course_lib`. `LOADER` is the name of our image. It has kfp already, so `install_kfp_package=False`.
#
# Small values are parameters. Documents are too large for that: they go into a file, an [artifact](../labs/GLOSSARY.md#artifact). It has a
# `path`, and a dictionary `metadata`: facts for readers who do not open the file.

# %%
from kfp import dsl
from kfp.dsl import Dataset, Output

from course_lib.loader import read_documents
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
print("here:", count_words(copy))
print(run_locally(component, {"folder": str(copy)}, root=work))
pages = run_locally(read_pages, {"folder": str(copy)}, root=work).outputs["pages"]
print(pages.metadata, len(Path(pages.path).read_text(encoding="utf-8").splitlines()), "lines")

# %% [markdown]
# It does not: kfp takes only the text of the function, here and on a cluster. A component imports everything that it needs, as `read_pages` does.
#
# Its file has a first line, the *origin*, that says where the documents belong, and then five documents. The component
# wrote 5, and you got 5.0: `kfp.local` hands numbers on as floats (protobuf's `Struct`). A cluster hands on 5. Write code that works with both.

# %% [markdown]
# ## Exercise 11.1: split one shard
#
# The name of a document alone decides which shard it is in. Python's own `hash` gives another number in every process, so `Shard` uses SHA-256.
#
# Complete the component. `origin` is the file's first line, and the dictionary `found` has a `Document` for each name.
# `replace(origin, shard=…)` returns a copy with another `shard`. `artifact.metadata.update({"a": 1}, b=2)` sets two values.
# `kept` counts files that could not be read or split.

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
# We call your function without kfp. `Dataset(uri=…)` is an artifact at a path of our choice.
#
# > **Predict.** Which number of shards leaves one empty? Move the slider.

# %%
import pandas as pd


def chunks_of(shards):
    parts = {}
    for n in range(shards):
        some, own = Dataset(uri=str(work / "some.jsonl")), Dataset(uri=str(work / "own.jsonl"))
        split_function(pages, some, own, f"{n}/{shards}", 512, 64)
        parts[f"{n}/{shards}"] = some.metadata["chunks"]
    return parts


# %%
def look(shards=2):
    parts = chunks_of(shards)
    axes = pd.Series(parts).plot.bar(rot=0, xlabel="shard", ylabel="chunks", title="Five documents, split into shards")
    lab.alt(axes, f"A bar for each shard, with its number of chunks: {parts}.")


# %%
split_function = lab.use("split_documents")
lab.interact(look, shards=(1, 6, 1))

# %% tags=["claim"]
parts = {shards: chunks_of(shards).values() for shards in range(1, 7)}
assert chunks_of(3)["1/3"] == 0, "Shard 1/3 is empty"
assert [shards for shards in parts if min(parts[shards]) == 0] == [3, 4, 5, 6], "Three, and each larger number up to six"
assert max(parts[3]) > max(parts[2]), "the largest shard of three is larger than that of two"

# %% [markdown]
# Three, and each larger number up to six. Shard 1/3 is empty: the hash spreads five names unevenly. And the largest shard of three is larger
# than that of two, so a third machine would not help.
#
# ## Half a file
#
# Now the file of the chunks has two accidents: ten chunks are there twice, or the last ten are missing. `store_shard` is what the next step, `embed_and_store`, calls.
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
# Lines that are there twice are refused, because a chunk has an identity. Lost lines are not noticed: the file looks like a shorter
# document, and the missing chunks are removed from the index. A cluster would not notice either: only the counts show it. So `embed_and_store` returns two
# numbers: `chunks`, which it has read, and `split`, which the splitter counted. `build_index` gets those of all shards.
#
# ## Exercise 11.2: compare the counts
#
# `COUNTS` has the names of all counts, from `documents` to `kept`.

# %% exercise="11.2"
from course_lib.pipeline.storing import add_up

# %%
lab.check("11.2", add_up)

# %%
lab.hint("11.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: comparing the sums and not the shards. If one shard has lost a chunk and another has one too many, the sums are
# equal. For Python, `2 == 2.0` is true, so only the results have to be made whole.

# %% [markdown]
# ## An old result from the cache
#
# The [cache](../labs/GLOSSARY.md#cache) takes the result of a task from an earlier run. Here is a pipeline of one step.
#
# > **Predict.** Between its two runs, a page is added. What does the second run return?


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
# It returns the old count, here and on a cluster: the cache compares code, image and inputs, and the path is the same text as before. It does
# not see what is *at* the path, in a database, or in a branch on GitHub. There are two remedies:
#
# - Switch the cache off for a step that must look, or that changes something.
# - If the work is long, let a small step look. It returns a *fingerprint*, a hash of the content. The long step takes this as an input.

# %% [markdown]
# ## What a step needs
#
# In a pipeline, a call of a component returns a *task*. A task can be set up:
#
# ```python
# task = bake(dough=dough)
# task.set_retry(num_retries=2, backoff_duration="5s", backoff_factor=4)   # after 5 s, then after 5 · 4 = 20 s
# task.set_memory_request("1Gi").set_memory_limit("4Gi")                  # reserved; above the second, the container is killed
# task.set_caching_options(enable_caching=False)
# kubernetes.use_secret_as_env(task, "bakery", {"key": "OVEN_KEY"})       # `key` of the Secret "bakery" → variable OVEN_KEY
# ```
#
# Parameters are shown in logs. So a password comes from a Secret of the cluster.
#
# ## Exercise 11.3: a step with the database
#
# The docstring says what such a step needs. You decide how to set it up.

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
# ## Connect the steps
#
# kfp calls a pipeline's function once, when it compiles it. No component runs then. An example about another subject:
#
# ```python
# dough = knead(flour=flour)                                          # returns a list of names, and has an artifact `mass`
# with dsl.ParallelFor(dough.outputs["Output"], parallelism=4) as name:   # for each name, at most 4 at the same time
#     baked = bake(mass=dough.outputs["mass"], name=name)             # has the artifacts `cake` and `crumbs`
#     sold = sell(**baked.outputs, shop=shop)                         # cake=…, crumbs=…; returns a number
# count(sold=dsl.Collected(sold.output))                              # a list: the output of every turn
# ```
#
# ## Exercise 11.4: the pipeline
#
# The frame is given: the exit handler, whose task runs at the end whatever happens inside it, and the two steps that read the folder.
# (`with_documents` mounts the folder.) You decide on the cache, the loop, the order, and which steps get the database.

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
# ## Five lines of the compiled file
#
# The compiler writes the [intermediate representation](../labs/GLOSSARY.md#intermediate-representation), a YAML file. A cluster gets nothing
# else. Its first document has tasks, components and *executors* (image and code). Its second document is for Kubernetes.

# %%
from kfp import compiler


def compiled(pipeline, step):
    compiler.Compiler().compile(pipeline, str(work / "pipeline.yaml"))
    spec, platform = yaml.safe_load_all((work / "pipeline.yaml").read_text(encoding="utf-8"))
    graphs = [one["dag"] for one in (spec["root"], *spec["components"].values()) if "dag" in one]
    [task] = [graph["tasks"][step] for graph in graphs if step in graph["tasks"]]
    wishes = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    return task, spec["deploymentSpec"]["executors"][f"exec-{step}"]["container"], wishes[f"exec-{step}"]


# %% tags=["nbval-check-output"]
with_database, docs_pipeline = lab.use("with_database"), lab.use("docs_pipeline")
pipeline = dsl.pipeline(docs_pipeline, name="docs-pipeline")
task, container, wishes = compiled(pipeline, "embed-and-store")
print("waits for:", task["dependentTasks"])
print("retries:  ", task["retryPolicy"]["maxRetryCount"])
print("cache:    ", task["cachingOptions"])
print("memory:   ", container["resources"]["resourceMemoryLimit"], "at most")
print("secret:   ", wishes["secretAsEnv"][0]["secretName"])

# %% [markdown]
# Empty braces mean that the cache is off. The file has only the name of the secret.

# %% [markdown]
# ## Run it
#
# > **Predict.** You run your pipeline twice with two shards. Which steps come from the cache in the second run?

# %%
print("This takes about a minute.")
wanted = {"source": str(copy), "shards": 2, "chunk_size": 500}  # another size: nothing is in the cache yet
runs = [run_locally(pipeline, wanted, root=work, url=lab.database_url) for _ in range(2)]
outcomes = [{one.task.partition("[")[0]: one.outcome for one in run.attempts} for run in runs]
outcomes = pd.DataFrame(outcomes, index=["first", "second"]).T
outcomes

# %% tags=["claim"]
cached = set(outcomes.index[outcomes["second"] == "cached"])
assert cached == {"load-documents", "split-documents"}, "Only reading and splitting come from the cache"
assert set(outcomes["first"]) == {"succeeded"} and not runs[1].error, "The first time, every step ran"

# %% [markdown]
# The first time, every step ran. Only reading and splitting come from the cache, because the fingerprint is the same. The others
# looked again.
#
# ## Measure
#
# Several processes have filled this index. Would a single one have made the same? `ingest` reads the same
# folder, and writes only chunks that are missing or different.
#
# > **Predict.** How many chunks does it write?

# %%
from course_lib.indexing import IngestOptions, ingest
from course_lib.retriever import Query, search


def measured(repo):
    found = lab.measure_retrieval(lambda asked: search(conn, lab.encode(asked), Query(asked, mode="dense", repo=repo)))
    return {"recall@5": found.recall, "MRR": found.mrr}


with lab.connect() as conn:
    done = ingest(copy, options=IngestOptions(chunk_size=500), conn=conn, embedder=lab.embedder)
    quality = pd.DataFrame({"your documents": measured("documents"), "the whole table": measured(None)}).T
print(f"{done.inserted} new, {done.updated} changed, {done.unchanged} as before, {done.deleted} deleted")
quality.round(2)

# %% tags=["claim"]
assert (done.inserted, done.updated, done.deleted) == (0, 0, 0), "It writes none: every chunk is there already"
assert quality.loc["the whole table", "recall@5"] < quality.loc["your documents", "recall@5"], "Each copy takes a place among the first five"

# %% [markdown]
# It writes none: every chunk is there already, with the same text, parser and model.
#
# The whole table is worse, because "Half a file" stored the same passages as the repository `pages`. Each copy takes a place among the
# first five. In any index, remove what a trial has left, or search with `repo`.

# %% [markdown]
# ## In the field
#
# What passed is in `my/system/`, and this command runs it:
#
# ```bash
# course mine pipeline run --set shards=2
# ```
#
# After `make images`, `course pipeline run --runner docker` runs the library's in containers.
#
# A cluster gets the same file. This starts one on a laptop, with Docker, [kind](https://kind.sigs.k8s.io) and kubectl (**not run here**):
#
# ```bash
# infra/setup-kubeflow.sh                # cluster, Kubeflow, images, secrets; the UI is at http://localhost:8080
# course pipeline submit --host http://localhost:8080 --set shards=4
# ```
#
# On a cluster, each attempt has a new container, without the files of a failed attempt. The cache uses only
# runs of the same pipeline.

# %% [markdown]
# ## Recap
#
# - A component is the text of a function. It imports what it needs from its image.
# - A retry only starts a step again. Overwrite whole files, and give rows an identity.
# - Compare counts where parts meet. Lost data raises no error by itself.
# - The cache compares code and inputs. If a step reads anything else, make a fingerprint of it an input. If it changes anything else, do not cache it.
# - The compiled file is all that a cluster gets. It has no secrets.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. A pipeline function contains `shards=len(os.listdir(source))`. What happens?
# 2. Why may `split_documents` be cached, but not `embed_and_store`?
# 3. One shard fails four times. You run the pipeline again. What happens to the other shards?
#
# <details><summary>Answers</summary>
#
# 1. It raises an error: `source` is a placeholder when the pipeline is compiled.
# 2. `split_documents` makes only its files. `embed_and_store` changes a database, which may be a new one.
# 3. Their chunks come from the cache. `embed_and_store` finds their rows in the database, and writes none.
#
# </details>
#
# ## Stretch, and what comes next
#
# Write `shard_of(name, shards)`: the first 8 bytes of the name's SHA-256 digest as one large number, and its remainder.
# Compare it with `hash(name) % shards` in two processes.
#
# Next is [lab 12](../labs/12_a_fresh_index.ipynb), where you keep an index up to date: what to skip, add and remove.
