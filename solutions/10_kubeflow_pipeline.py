# %% [markdown]
# # 10 · A pipeline
#
# You will split a notebook's functions into steps that run anywhere, see one of these steps die half-way, and lose nothing.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | turn a function into a component, and hand on files with counts · wire a pipeline that fans out, retries and skips what is done · read what the compiler wrote, and run it here or on a cluster | `pipeline/` | about {minutes} min | Python functions; lab 01 for chunks |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("10", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
lab.show.pipeline("pipeline")

# %% [markdown]
# ## Two machines
#
# One day a corpus is too large for your machine. You get a second one, and each takes half of the files: those whose
# `hash(name) % 2` is its own number. Each half is a [shard](../labs/GLOSSARY.md#shard). Two processes of this machine stand in
# for the two machines; the corpus is every file below `data/`.
#
# > **Predict.** How many files does neither take? How many do both?

# %%
import subprocess
import sys

from course_lib.loader import read_documents
from course_lib.settings import project_root

corpus = read_documents(project_root() / "data", (".md", ".yaml", ".py", ".go", ".sh"))
names = [document.name for document in corpus]
program = "import sys; print(*[name for name in sys.argv[2:] if hash(name) % 2 == int(sys.argv[1])], sep='\\n')"


def machine(number):
    command = [sys.executable, "-I", "-c", program, str(number), *names]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())


taken = [machine(0), machine(1)]
print(f"of {len(names)} files, {len(set(names) - taken[0] - taken[1])} by neither, {len(taken[0] & taken[1])} by both")

# %% [markdown]
# No error, no warning, and many files are in no shard at all. Python adds a new random number to `hash` of a text in every process, so
# the two machines compute different numbers for the same name. Run the cell again: other files.
#
# ## By hand: a hash that is the same everywhere
#
# SHA-256 adds nothing. Take the first 8 bytes of a name's digest as one large number and divide by the number of shards: the
# remainder is the shard. For two shards you can do it in your head, because only the last hexadecimal digit counts: `a` is ten and
# even, `b` is eleven and odd.
#
# > **Predict.** Which shard of two do these names belong to?

# %% tags=["nbval-check-output"]
from hashlib import sha256

for name in ("a.md", "b.md", "c.md"):
    print(name, sha256(name.encode("utf-8")).digest()[:8].hex(" "))

# %% [markdown]
# `d`, `e`, `e`: shard 1, shard 0, shard 0, on every machine.
#
# ## Exercise 10.1: the shard of a name

# %% exercise="10.1"
from course_lib.pipeline.corpus import shard_of

# %%
lab.check("10.1", shard_of)

# %%
lab.hint("10.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The name alone decides, not its place in a list: a file that is added next week moves no other. Change the number of shards,
# though, and most files move, so the number is part of the corpus's configuration.

# %% tags=["nbval-check-output"]
from collections import Counter

shard_of = lab.use("shard_of")
print("all of data/ in 2 shards:", sorted(Counter(shard_of(name, 2) for name in names).items()))
documents = lab.documents()
for shard in range(3):
    print(f"documents in shard {shard} of 3:", [name for name in documents if shard_of(name, 3) == shard])

# %% [markdown]
# Every file is in one shard, and in one only. A hash does not make shards of equal size: with few files a shard may stay empty, and the
# code has to work then, too.
#
# ## From a function to a component
#
# Kubeflow runs each step in a [container](../labs/GLOSSARY.md#container) of its own, perhaps on another machine. Such a step is a
# [component](../labs/GLOSSARY.md#component), and in Python it is a function with a decorator. Its image is the file system that
# it finds there: Python, kfp and `course_lib`.
#
# `run_locally` calls `kfp.local`, which runs each step as a process of this machine, without a container.
# What the steps write is kept below `root`.
#
# > **Predict.** This function counts words in a notebook. Does it as a component?

# %% tags=["nbval-check-output"]
from pathlib import Path
from tempfile import TemporaryDirectory

from kfp import dsl

from course_lib.pipeline.components import LOADER
from course_lib.pipeline.local import run_locally

workshop = TemporaryDirectory()  # gone when the kernel ends
work = Path(workshop.name)


def count_words(folder: str) -> int:
    return sum(len(document.content.split()) for document in read_documents(folder))


print("here:", count_words(lab.data_dir))
component = dsl.component(count_words, base_image=LOADER, install_kfp_package=False)
print(run_locally(component, {"folder": str(lab.data_dir)}, root=work))

# %% [markdown]
# kfp takes the text of the function and nothing else: no imports from above, no variables, no helpers. So everything that a
# component needs, it imports itself. Parameters are small values (text, numbers, lists) that can be written as JSON.

# %% tags=["nbval-check-output"]
@dsl.component(base_image=LOADER, install_kfp_package=False)
def count_words(folder: str) -> int:
    from course_lib.loader import read_documents

    return sum(len(document.content.split()) for document in read_documents(folder))


run = run_locally(count_words, {"folder": str(lab.data_dir)}, root=work)
print(run, run.outputs)

by_default = dsl.component(count_words.python_func, base_image=LOADER)
for name, each in {"ours": count_words, "by default": by_default}.items():
    script = "\n".join(each.component_spec.implementation.container.command)
    print(f"{name}:", *[line[line.index("pip") :][:59] for line in script.splitlines() if "pip install" in line])

# %% [markdown]
# That is what `install_kfp_package=False` is for. By default every task begins with a `pip install` of kfp: it takes time, it needs a
# network, and kfp lets only one task of a local run install at a time. The image has kfp already, so we switch this off.
#
# `run_locally` hides three lines of kfp. After `local.init`, calling a component runs it. The runner says where: `SubprocessRunner`
# starts a process of this Python, `DockerRunner` a container of the component's image.

# %%
import io
from contextlib import redirect_stderr, redirect_stdout

from kfp import local

local.init(local.SubprocessRunner(use_venv=False), pipeline_root=str(work / "plain"))
with redirect_stdout(io.StringIO()) as log, redirect_stderr(log):
    task = count_words(folder=str(lab.data_dir))
print("words:", task.output, "· lines of kfp's log:", len(log.getvalue().splitlines()))

# %% [markdown]
# kfp prints its log, which we kept out of sight. `run_locally` writes it to a file, and returns a result where a step fails.
#
# ## Artifacts
#
# Thousands of documents are too large for a parameter. They go into a file, an [artifact](../labs/GLOSSARY.md#artifact): the component
# gets a path to write to, and a small dictionary for what you want to know without opening the file. `Output[Dataset]` in the
# signature asks for one.

# %% tags=["nbval-check-output"]
from kfp.dsl import Dataset, Input, Output


@dsl.component(base_image=LOADER, install_kfp_package=False)
def read_folder(folder: str, documents: Output[Dataset]):
    import json

    from course_lib.loader import read_documents

    found = read_documents(folder)
    with open(documents.path, "w", encoding="utf-8") as file:
        for one in found:
            print(json.dumps({"name": one.name, "content": one.content}), file=file)
    documents.metadata["documents"] = len(found)


read = run_locally(read_folder, {"folder": str(lab.data_dir)}, root=work).outputs["documents"]
print(type(read).__name__, read.metadata)
with open(read.path, encoding="utf-8") as file:
    print(len(file.readlines()), "lines")

# %% [markdown]
# The component wrote 5 and you got 5.0. kfp keeps metadata in a `Struct` of protocol buffers, which, like JSON, has one kind of number:
# a float. The same happens to numbers in lists and dictionaries. Remember it: in a moment it becomes an error.
#
# ## Exercise 10.2: split one shard
#
# The next step takes that artifact and makes another one. Write it as a plain function, imports inside, and decorate it later. You
# need `split_document(Document(Path(name), name, content))`, which gives a list of [chunks](../labs/GLOSSARY.md#chunk); a chunk's
# `to_json()` is its line. `write_jsonl(path, lines)` writes a file whole or not at all, and
# `Shard.parse("0/3").holds(name)` is your `shard_of(name, 3) == 0`.

# %% exercise="10.2"
def split_part(documents: Input[Dataset], chunks: Output[Dataset], shard: str):
    """Split the documents of one shard, such as "0/3", the first of three.

    Each line of the file at `documents.path` is a JSON object with `name` and `content`. The chunks
    of those in the shard go to the file at `chunks.path`, a line of JSON each, in order. A file
    that is there already, from an attempt that failed, is overwritten. Then `chunks.metadata` gets
    `documents` and `chunks`: how many documents the shard has, also those without any chunk, and
    how many chunks. Nothing is returned.

    All that is needed is imported inside: `json`, `pathlib.Path`, `split_document` and
    `write_jsonl` from `course_lib.loader`, `Shard` from `course_lib.pipeline.corpus`, and
    `Document` from `course_lib.records`.

    Examples
    --------
    >>> split_part(documents, chunks, "0/3")
    >>> chunks.metadata
    {'documents': 3, 'chunks': 74}
    """
    ### BEGIN SOLUTION
    import json
    from pathlib import Path

    from course_lib.loader import split_document, write_jsonl
    from course_lib.pipeline.corpus import Shard
    from course_lib.records import Document

    mine, lines = 0, []
    with open(documents.path, encoding="utf-8") as file:
        for line in file:
            one = json.loads(line)
            if Shard.parse(shard).holds(one["name"]):
                document = Document(Path(one["name"]), one["name"], one["content"])
                lines += [chunk.to_json() for chunk in split_document(document)]
                mine += 1
    write_jsonl(chunks.path, lines)
    chunks.metadata.update(documents=mine, chunks=len(lines))
    ### END SOLUTION


# %%
lab.check("10.2", split_part)

# %%
lab.hint("10.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# An empty shard writes an empty file and two zeros, so the next step needs no special case. With the mode `"a"` the file would be
# right at the first attempt and wrong after the first retry.

# %% [markdown]
# A component that is a function can be tried like one. `Dataset(uri=…)` is an artifact at a path of yours.

# %% tags=["nbval-check-output"]
split_part = lab.use("split_part")
parts = [Dataset(uri=str(work / f"part-{shard}.jsonl")) for shard in range(3)]
for shard, part in enumerate(parts):
    split_part(read, part, f"{shard}/3")
    print(shard, part.metadata)

# %% [markdown]
# ## Collect
#
# Three files are three artifacts. A component that takes all of them has an `Input[list[Dataset]]`, and `dsl.Collected` gives it
# the artifacts that a loop has made. Here is the simplest one.
#
# > **Predict.** It adds the counts of all parts and returns an `int`. What can go wrong?

# %% tags=["nbval-check-output"]
@dsl.component(base_image=LOADER, install_kfp_package=False)
def add_up(parts: Input[list[Dataset]]) -> int:
    return sum(part.metadata["chunks"] for part in parts)


split_step = dsl.component(split_part, base_image=LOADER, install_kfp_package=False)


@dsl.pipeline(name="plain")
def plain(folder: str, shards: list[str]):
    read = read_folder(folder=folder)
    with dsl.ParallelFor(shards) as shard:
        part = split_step(documents=read.outputs["documents"], shard=shard)
    add_up(parts=dsl.Collected(part.outputs["chunks"]))


*_, last = run_locally(plain, {"folder": str(lab.data_dir), "shards": ["0/2", "1/2"]}, root=work).attempts
print(last.task, last.outcome, last.error)

# %% [markdown]
# The floats: kfp compares the result with the signature, and a sum of floats is no `int`. A list of counts collected as parameters
# would come as floats, too. One call helps: `int(sum(…))`.
#
# ## Exercise 10.3: one file, and the counts compared
#
# Between the shards and the one file, chunks can get lost: a part half written, a disk that was full. The counts in the metadata let
# you notice it.

# %% exercise="10.3"
def collect(parts: Input[list[Dataset]], chunks: Output[Dataset]) -> int:
    """Put the chunks of all parts into one file and return how many there are.

    Each part is a file at its `path`, of lines that end with a line feed. Its `metadata` hold
    `documents` and `chunks`, as floats. All lines go to `chunks.path` as they are, in the order of
    the parts, also equal and empty ones; what is there already is overwritten. `chunks.metadata`
    gets the sums of both counts, as whole numbers.

    If the `chunks` of any part is not the number of its lines, raise a `ValueError`.

    Examples
    --------
    >>> collect([part_0, part_1], chunks)    # of 2.0 and 3.0 chunks, from 1.0 document each
    5
    >>> chunks.metadata
    {'documents': 2, 'chunks': 5}
    """
    ### BEGIN SOLUTION
    lines = []
    for part in parts:
        with open(part.path, encoding="utf-8") as file:
            own = file.readlines()
        if len(own) != part.metadata["chunks"]:
            raise ValueError(f"{len(own)} lines, but {part.metadata['chunks']} chunks")
        lines += own
    with open(chunks.path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    count = int(sum(part.metadata["documents"] for part in parts))
    chunks.metadata.update(documents=count, chunks=len(lines))
    return len(lines)
    ### END SOLUTION


# %%
lab.check("10.3", collect)

# %%
lab.hint("10.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `2 != 2.0` is false in Python, so the comparison can stay as it is, and only the results become whole numbers. `readlines`
# splits at line ends alone; `str.splitlines` would also split inside a line, at characters such as U+2028, and count too many.

# %% tags=["nbval-check-output"]
collect = lab.use("collect")
collect_step = dsl.component(collect, base_image=LOADER, install_kfp_package=False)
print(collect(parts, Dataset(uri=str(work / "all.jsonl"))), "chunks of", [part.metadata["chunks"] for part in parts])

# %% [markdown]
# ## Wire it
#
# A [pipeline](../labs/GLOSSARY.md#pipeline) is a function, too. It is called once, when it is compiled; the components in it do
# not run, kfp only records which of them takes what from which. An example from another field:
#
# ```python
# @dsl.pipeline(name="bakery")
# def bakery(flour: str, cakes: list[str] = ["plum", "apple"]) -> Dataset:
#     dough = knead(flour=flour)
#     with dsl.ParallelFor(cakes, parallelism=4) as cake:           # four ovens
#         baked = bake(dough=dough.outputs["dough"], kind=cake)     # dough is an Output[...] of knead
#         baked.set_retry(num_retries=1)
#     packed = pack(cakes=dsl.Collected(baked.outputs["cake"]))
#     return packed.outputs["box"]
# ```
#
# ## Exercise 10.4: from folder to chunks

# %% exercise="10.4"
def build_pipeline(read_folder, split_part, collect):
    """Return the pipeline "split-in-shards", made of the three components it is given.

    It has the parameters `folder`, a text without a default, and `shards`, a list of texts whose
    default is ["0/3", "1/3", "2/3"]. The folder is read once. Each shard is split, at most 2 at
    the same time, with 2 retries. Then the `chunks` of all shards are collected, and the `chunks`
    of that are the pipeline's output, a `Dataset`.

    The components are: `read_folder(folder)` with the output `documents`,
    `split_part(documents, shard)` with `chunks`, and `collect(parts)` with `chunks`.

    Examples
    --------
    >>> pipeline = build_pipeline(read_folder, split_part, collect)
    >>> pipeline.name
    'split-in-shards'
    """
    ### BEGIN SOLUTION
    @dsl.pipeline(name="split-in-shards")
    def split_in_shards(
        folder: str,
        shards: list[str] = ["0/3", "1/3", "2/3"],  # noqa: B006
    ) -> Dataset:
        read = read_folder(folder=folder)
        with dsl.ParallelFor(shards, parallelism=2) as shard:
            part = split_part(documents=read.outputs["documents"], shard=shard)
            part.set_retry(num_retries=2)
        collected = collect(parts=dsl.Collected(part.outputs["chunks"]))
        return collected.outputs["chunks"]

    return split_in_shards
    ### END SOLUTION


# %%
lab.check("10.4", build_pipeline)

# %%
lab.hint("10.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The order follows from the outputs: a task that takes one waits for the task that makes it. `shard` is no text while the function
# runs, only a placeholder, so an `if shard == "0/3"` in there would be decided once, when the pipeline is compiled.

# %%
import yaml
from kfp import compiler

build_pipeline = lab.use("build_pipeline")
pipeline = build_pipeline(read_folder, split_step, collect_step)

compiler.Compiler().compile(pipeline, str(work / "pipeline.yaml"))
text = (work / "pipeline.yaml").read_text(encoding="utf-8")
spec = yaml.safe_load(text)
lab.show.dag(spec)

# %% [markdown]
# Nothing has run. The graph is drawn from a file that the compiler wrote, the
# [intermediate representation](../labs/GLOSSARY.md#intermediate-representation) or IR, and this file is all that a cluster ever sees.
# In it a *task* names the component that it uses, a component names the *executor* with its image and code, and a loop is a
# component with tasks of its own.
#
# All these names are text. Two of them get changed, by hand or by a script: the component of one task, and the output that another
# one takes.
#
# > **Predict.** Does kfp's own loader notice?

# %% tags=["nbval-check-output"]
from kfp import components

from course_lib.pipeline.references import find_problems

print("tasks:      ", *spec["root"]["dag"]["tasks"])
print("in the loop:", *spec["components"]["comp-for-loop-1"]["dag"]["tasks"])
print("components: ", *spec["components"])
print("executors:  ", *spec["deploymentSpec"]["executors"])

renamed = text.replace("name: comp-collect", "name: comp-colect").replace("Key: documents", "Key: document")
print("loaded:     ", components.load_component_from_text(renamed).name)
print("problems:   ", *find_problems(renamed), sep="\n  ")

# %% [markdown]
# It does not. A cluster notices the first one when you submit the pipeline: it looks up the component of every task and the executor of
# every component before any task runs. It notices the second one only in the middle of the run, when the loop asks `read-folder` for an
# output that it does not have. The library's `find_problems` looks up all names before anything is submitted: `course pipeline compile`
# calls it.

# %% [markdown]
# ## Run it
#
# Now the pipeline over a copy of `data/documents`, twice. A [run](../labs/GLOSSARY.md#run) begins with a folder's path and ends with one
# artifact. Each bar below is a process of its own.
#
# > **Predict.** How many of the five tasks will run the first time, how many the second?

# %%
import shutil
from tempfile import mkdtemp

copy = shutil.copytree(lab.data_dir, mkdtemp(dir=work), dirs_exist_ok=True)
first, second = (run_locally(pipeline, {"folder": str(copy)}, root=work) for _ in range(2))
for run in (first, second):
    print(run.count("succeeded"), "succeeded,", run.count("cached"), "cached,", run.outputs["Output"].metadata["chunks"], "chunks")
lab.show.attempts(first, "The first run")

# %% [markdown]
# The second time nothing ran. kfp keeps a task's result under a hash of its code, its image and its inputs, and here it gives back what
# it found there. Of an artifact only the address and the metadata count; nothing opens the file. A cluster compares differently: it looks
# only among runs of the same pipeline in the same namespace, and an artifact is known by the name that the cluster's metadata
# store has given it.
#
# A bar includes the start of a Python and its imports. That is the price of a step, and a container costs more: do enough work in a
# step to be worth it.
#
# ## A machine is taken away
#
# Cheap machines in a cloud are taken away at short notice. This splitter dies like that in the middle of shard 2, without an exception.
# A half-written file tells it that it died before, so the second attempt succeeds. The wiring is yours. `afresh` makes a step that
# is never taken from the cache, so that you can run the cell again.
#
# > **Predict.** Which bars will there be, and how many chunks at the end?

# %%
@dsl.component(base_image=LOADER, install_kfp_package=False)
def dies_once(documents: Input[Dataset], chunks: Output[Dataset], shard: str, mode: str = "w"):
    import json
    import os
    from pathlib import Path

    from course_lib.loader import split_document
    from course_lib.pipeline.corpus import Shard
    from course_lib.records import Document

    doomed = shard == "2/3" and not Path(chunks.path).exists()
    counts = {"documents": 0, "chunks": 0}
    with open(documents.path, encoding="utf-8") as source, open(chunks.path, mode, encoding="utf-8") as file:
        for one in map(json.loads, source):
            if Shard.parse(shard).holds(one["name"]):
                counts["documents"] += 1
                for chunk in split_document(Document(Path(one["name"]), one["name"], one["content"])):
                    print(chunk.to_json(), file=file)
                    counts["chunks"] += 1
                    if doomed and counts["chunks"] == 10:
                        file.flush()
                        os._exit(137)  # what a killed container ends with
    chunks.metadata.update(counts)


def afresh(step):
    return lambda **inputs: step(**inputs).set_caching_options(False)


third = run_locally(build_pipeline(read_folder, afresh(dies_once), collect_step), {"folder": str(copy)}, root=work)
one, other = (Path(run.outputs["Output"].path).read_text(encoding="utf-8") for run in (first, third))
print(one.count("\n"), "and", other.count("\n"), "chunks, the same to the last character:", one == other)
lab.show.attempts(third, "Shard 2 is killed and tried again")

# %% [markdown]
# Nothing is lost and nothing is there twice. The other shards were not done again. `set_retry` only starts the task once more; that this
# does no harm is your work: a step that may be repeated is [idempotent](../labs/GLOSSARY.md#idempotent).
#
# ## Break it: append instead of write
#
# `partial` below gives the splitter the mode `"a"`.
#
# > **Predict.** What does your `collect` say?

# %% tags=["nbval-check-output"]
from functools import partial

appends = afresh(partial(dies_once, mode="a"))
appending = build_pipeline(read_folder, appends, collect_step)
print(run_locally(appending, {"folder": str(copy), "shards": ["2/3"]}, root=work))

# %% [markdown]
# The ten chunks of the first attempt are still in the file. Without the comparison of counts they would be in the index twice, and no
# step would have failed. On a cluster each attempt gets a new container with an empty file, so this one is safe there. What stays
# from one attempt to the next is the same everywhere: rows in a database, files on a shared disk.
#
# ## Break it: yesterday's answer
#
# The folder that you ran the pipeline over gets a sixth document.
#
# > **Predict.** Five or six?

# %% tags=["nbval-check-output"]
Path(copy, "rollback.md").write_text("# Rollback\n\nGo back to the last release that worked.\n", encoding="utf-8")
after = run_locally(pipeline, {"folder": str(copy)}, root=work)
print(len(list(Path(copy).glob("*.md"))), "files in the folder")
print(after.count("succeeded"), "succeeded,", after.count("cached"), "cached,", after.outputs["Output"].metadata["documents"], "documents")

# %% [markdown]
# The path is the same text, so it is the same input, and nothing runs. The [cache](../labs/GLOSSARY.md#cache) knows only the inputs.
# It does not know what a step reads besides them: a folder, a database, a branch on GitHub.
#
# So the library's pipeline begins with a small task that is never cached and returns a hash of the folder's content. That goes into
# the next step as a parameter: equal folder, equal hash, cached; otherwise not.

# %%
from course_lib.pipeline.compiling import compile_pipeline

lab.show.dag(next(yaml.safe_load_all(compile_pipeline("docs_pipeline"))))

# %% [markdown]
# You know the middle. Storing is never cached either, since its result is not a file but rows in a database. An *exit handler*
# is around everything: `report` runs whatever happens inside.
#
# The address of the database is a secret, and parameters are written into logs. It comes from the environment: here
# `run_locally` puts its `url` there, on a cluster a Kubernetes Secret does.

# %%
import os

from course_lib.pipeline.pipelines import docs_pipeline

if embedding_model:
    os.environ["RAG_EMBED_MODEL"] = embedding_model
filled = run_locally(docs_pipeline, {"source": str(copy), "shards": 2}, root=work, url=lab.database_url)
print(filled)
with lab.connect() as conn:
    for row in conn.execute("SELECT count(*), document_name FROM document_chunks GROUP BY 2 ORDER BY 2"):
        print(*row)
assert not filled.error, filled.error
lab.show.attempts(filled, "The whole pipeline")

# %% [markdown]
# The sixth document is there. Run the cell once more: what is cached, what is not, and how many rows are there then?
#
# ## Measure: the scorecard
#
# The index was filled by processes that shared nothing but files. Is it the index that one process would have made? `ingest` reads the
# same folder in this notebook, and writes only what is missing or different.
#
# > **Predict.** How many of the 122 chunks does it write?

# %%
from course_lib.indexing import ingest
from course_lib.retriever import Query, search

with lab.connect() as conn:
    done = ingest(copy, conn=conn, embedder=lab.embedder)
    found = lab.measure_retrieval(lambda question: search(conn, lab.encode(question), Query(question)))
print(f"{done.inserted} new, {done.updated} changed, {done.unchanged} as before, {done.deleted} deleted")
lab.score(recall_at_5=found.recall, mrr=found.mrr, note="filled by the pipeline")

# %% [markdown]
# None: each chunk is there, with the same text, from the same parser and the same model.

# %% [markdown]
# ## On a cluster
#
# The same Python, compiled to the same file, goes to Kubeflow. With Docker, [kind](https://kind.sigs.k8s.io) and kubectl at hand, a
# cluster fits on a laptop:
#
# ```bash
# infra/setup-kubeflow.sh --dry-run      # shows what it would do
# infra/setup-kubeflow.sh                # cluster, Kubeflow, images, secrets; the UI on http://localhost:8080
# course pipeline compile --check        # the committed YAML is what the code compiles to
# course pipeline submit --host http://localhost:8080 --pipeline-name docs_pipeline --set shards=4
# infra/setup-kubeflow.sh teardown
# ```
#
# ## In the field
#
# `course pipeline submit` does what every Kubeflow user does with `kfp.Client`. **Not run here**, because it needs a cluster:
#
# ```python
# from kfp import Client
#
# client = Client(host="http://localhost:8080")
# run = client.create_run_from_pipeline_package("docs_pipeline.yaml", arguments={"shards": 4}, experiment_name="course")
# client.wait_for_run_completion(run.run_id, timeout=3600)
# ```
#
# The client only sends the YAML. So what the compiler wrote is the contract: two programs with the same YAML do the same. In place of
# Kubeflow, Airflow or Dagster could call the same functions; they run Python where the scheduler is, and a container is an extra there.
#
# With `run` in place of `submit --host …`, it runs on this machine. `infra/README.md` says how your documents get into the cluster.
# Except for the cache and for what is left of a failed attempt, a cluster does what you have seen here. A few things to know:
#
# | trap | what helps |
# |---|---|
# | numbers in metadata, lists and dictionaries come back as floats | `int(sum(…))` |
# | `install_kfp_package` is true unless you say otherwise | bake kfp into the image, and say so |
# | a `ParallelFor` over an empty list is an error in a local run | make sure that the list has at least one item |
# | a local run deletes the `workspace_root` that it was given | give it a folder of its own |
# | a component cannot open what `dsl.importer` imports from a `file://` address in a local run | import a plain path |
# | a long text as a parameter ends up in databases and logs | an artifact |

# %% [markdown]
# ## Recap
#
# - A component is the text of a function: it imports what it needs, and its image has what it imports.
# - Small values are parameters, data are artifacts with counts in their metadata. Compare the counts where parts are joined.
# - A pipeline is compiled once; its graph follows from which task takes which output. The IR is a file that you can read and check.
# - Fan-out needs a hash that is the same everywhere, and steps that may be repeated. Then a retry is harmless.
# - A cache knows code and inputs. What a step reads besides must become an input, and what it changes must not be cached.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. A pipeline function says `shards=len(os.listdir(folder))`. What happens?
# 2. Why may `collect` be cached and `embed_and_store` not?
# 3. A shard fails three times. What becomes of the shards that went through, when you run the pipeline again?
#
# <details><summary>Answers</summary>
#
# 1. While the function runs, `folder` is a placeholder, not a path: an error. And if it worked, it would count once, at compile time,
#    on your machine. What depends on data belongs in a component.
# 2. All that `collect` makes is its artifact. `embed_and_store` changes a database, perhaps another one than last time, and a
#    cached "done" would leave that empty.
# 3. Their splitting comes out of the cache. Storing looks at the database and finds everything there. Only the failed shard has to
#    be done.
#
# </details>
#
# ## Stretch, and what comes next
#
# Give `split-in-shards` an empty list of shards and read what kfp says. Then make `read_folder` return the names of the shards, as
# the library's `load_documents` does, so that the list is never empty.
#
# Next is [lab 11](../labs/11_a_fresh_index.ipynb), where an index is kept fresh: what to skip, what to add, what to remove.
