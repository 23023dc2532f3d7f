# %% [markdown]
# # 11 · A pipeline
#
# You will turn a notebook's functions into steps that can run on any machine. One of these steps will be killed in the middle, and you
# will lose nothing.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | make a component of a function, and pass on files with counts · build a pipeline that runs steps in parallel, repeats failed steps and skips finished ones · read the compiler's output, and run it here or on a cluster | `pipeline/` | about {minutes} min | Python functions; lab 01 for chunks |

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
# One day, a corpus is too large for your machine. You get a second machine, and each takes half of the files. The machines have the
# numbers 0 and 1, and each takes the files for which `hash(name) % 2` is its number. Each half is called a
# [shard](../labs/GLOSSARY.md#shard). Here, two processes play the two machines, and the corpus is every file below `data/` that ends in
# `.md`, `.yaml`, `.py`, `.go` or `.sh`.
#
# > **Predict.** How many files are taken by neither machine? How many are taken by both?

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
neither, both = set(names) - taken[0] - taken[1], taken[0] & taken[1]
print(f"of {len(names)} files, {len(neither)} are taken by neither, {len(both)} by both")

# %% tags=["claim"]
assert len(neither) > 2 and len(both) > 2, "There was no error and no warning, but many files are in no shard"

# %% [markdown]
# There was no error and no warning, but many files are in no shard. For the `hash` of a text, Python uses a new random number in every
# process. So the two machines compute different numbers for the same name. If you run the cell again, other files are missing.
#
# ## By hand: a hash that is the same everywhere
#
# SHA-256 uses no random number. Take the first 8 bytes of a name's digest as one large number, and divide it by the number of shards.
# The remainder is the shard. For two shards you can do this in your head: only the last hexadecimal digit matters, because it is odd
# or even. `a` is ten and even, `b` is eleven and odd.
#
# > **Predict.** The 8 bytes of `a.md` end in `ad`, those of `b.md` in `ae`, and those of `c.md` in `1e`. Which of two shards does each of
# > these names belong to?

# %% tags=["nbval-check-output"]
from hashlib import sha256

for name in ("a.md", "b.md", "c.md"):
    print(name, sha256(name.encode("utf-8")).digest()[:8].hex(" "))

# %% [markdown]
# The last digits are `d`, `e` and `e`. So the names belong to shard 1, shard 0 and shard 0, on every machine.
#
# ## Exercise 11.1: the shard of a name

# %% exercise="11.1"
from course_lib.pipeline.corpus import shard_of

# %%
lab.check("11.1", shard_of)

# %%
lab.hint("11.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Only the name decides, not its place in a list. So a file that is added next week does not move other files to another shard. If you
# change the number of shards, most files move. So this number belongs to the configuration of the corpus.

# %% tags=["nbval-check-output"]
from collections import Counter

shard_of = lab.use("shard_of")
print(f"all {len(names)} files in 2 shards:", sorted(Counter(shard_of(name, 2) for name in names).items()))
documents = lab.documents()
for shard in range(3):
    print(f"documents in shard {shard} of 3:", [name for name in documents if shard_of(name, 3) == shard])

# %% [markdown]
# Every file is in exactly one shard. A hash does not make shards of equal size. With few files, a shard may be empty, and the code has
# to work then, too.
#
# ## From a function to a component
#
# Kubeflow runs each step in its own [container](../labs/GLOSSARY.md#container), perhaps on another machine. Such a step is called a
# [component](../labs/GLOSSARY.md#component). In Python, it is a function with a decorator. Its image is the file system of the
# container: Python, kfp and `course_lib`. `LOADER` is the name of our image.
#
# `run_locally` calls `kfp.local`, which runs each step as a process on this machine, without a container. The files that the steps
# write are below `root`.
#
# > **Predict.** This function counts words in a notebook. Does it also work as a component?

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
# kfp takes only the text of the function, without the notebook's imports, variables and other functions. So a component has to import
# everything that it needs. Its parameters are small values (text, numbers, lists) that can be written as JSON. A returned value has no
# name, so kfp calls it `Output`.

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
# By default, every task begins with a `pip install` of kfp. This takes time and needs a network, and in a local run, only one task can
# install at a time. Our image already has kfp, so `install_kfp_package=False` switches this off.
#
# `run_locally` hides three lines of kfp. After `local.init`, a call of a component runs it. The runner decides where:
# `SubprocessRunner` starts a process with this Python, `DockerRunner` starts a container with the component's image.

# %%
import io
from contextlib import redirect_stderr, redirect_stdout

from kfp import local

local.init(local.SubprocessRunner(use_venv=False), pipeline_root=str(work / "plain"))
with redirect_stdout(io.StringIO()) as log, redirect_stderr(log):
    task = count_words(folder=str(lab.data_dir))
print("words:", task.output, "· lines of kfp's log:", len(log.getvalue().splitlines()))

# %% [markdown]
# kfp prints a log, which the cell does not show. `run_locally` writes this log to a file. If a step fails, it returns a result that
# says so.
#
# ## Artifacts
#
# Thousands of documents are too large for a parameter. They are written to a file, which kfp calls an
# [artifact](../labs/GLOSSARY.md#artifact). `Output[Dataset]` in the signature declares an artifact. The component gets a path for
# the file, and a small dictionary, the metadata, for facts that you want to know without opening the file.

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
# The component wrote 5, and you got 5.0. kfp keeps metadata in a `Struct` of protocol buffers. This format has only one kind of number,
# a float. The same happens to numbers in lists and dictionaries. Soon this will cause an error.
#
# ## Exercise 11.2: split one shard
#
# The next step reads this artifact and writes another one. Write it as a plain function, with its imports inside. We make a component
# of it later. `split_document(Document(Path(name), name, content))` returns a list of [chunks](../labs/GLOSSARY.md#chunk), and
# `to_json()` makes a line of text from a chunk. `write_jsonl(path, lines)` adds a line feed to each line and writes the whole file, or
# nothing if it fails.
# `Shard.parse("0/3").holds(name)` is the same as your `shard_of(name, 3) == 0`.

# %% exercise="11.2"
def split_part(documents: Input[Dataset], chunks: Output[Dataset], shard: str):
    """Split the documents of one shard, such as "0/3", the first of three.

    Each line of the file at `documents.path` is a JSON object with `name` and `content`. Split the
    documents that are in the shard, and write their chunks to the file at `chunks.path`, in order,
    each as one line of JSON. If a failed attempt has left a file there, overwrite it. Then set
    `documents` and `chunks` in `chunks.metadata`: the number of documents in the shard, including
    documents without chunks, and the number of chunks. Return nothing.

    Import everything inside the function: `json`, `pathlib.Path`, `split_document` and
    `write_jsonl` from `course_lib.loader`, `Shard` from `course_lib.pipeline.corpus`, and
    `Document` from `course_lib.records`.

    Examples
    --------
    >>> split_part(documents, chunks, "0/3")
    >>> chunks.metadata
    {'documents': 3, 'chunks': 77}
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
lab.check("11.2", split_part)

# %%
lab.hint("11.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# For an empty shard, the function writes an empty file and two zeros, so the next step needs no special case. If the file were opened
# with the mode `"a"`, it would be right after the first attempt and wrong after a retry.

# %% [markdown]
# You can call a component's function like any other function. `Dataset(uri=…)` makes an artifact at a path that you choose.

# %% tags=["nbval-check-output"]
split_part = lab.use("split_part")
parts = [Dataset(uri=str(work / f"part-{shard}.jsonl")) for shard in range(3)]
for shard, part in enumerate(parts):
    split_part(read, part, f"{shard}/3")
    print(shard, part.metadata)

# %% [markdown]
# ## Collect
#
# Three files are three artifacts. A component that takes all of them has a parameter of the type `Input[list[Dataset]]`.
# `dsl.Collected` gives it all artifacts that a loop has made. Here is a simple component of this kind.
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
# The counts are floats. kfp compares the result with the signature, and a sum of floats is not an `int`. Counts that are collected as
# parameters would be floats, too. `int(sum(…))` repairs it.
#
# ## Exercise 11.3: one file, and the counts compared
#
# On the way from the shards to one file, chunks can be lost, for example if a disk was full and a part is incomplete. You can notice it:
# the number of lines is not the count in the metadata, or the last line is only half a line and has no line feed.

# %% exercise="11.3"
def collect(parts: Input[list[Dataset]], chunks: Output[Dataset]) -> int:
    """Write the chunks of all parts into one file and return the number of chunks.

    Each part is a file at its `path`. Its lines end with a line feed. Its `metadata` has the counts
    `documents` and `chunks`, as floats. Write all lines to `chunks.path` without a change, in the
    order of the parts, also equal lines and empty lines. A file that is opened as text may change
    line ends, so open the files as bytes, with the modes "rb" and "wb". If there is a file already,
    overwrite it. Set the sums of both counts in `chunks.metadata`, as whole numbers.

    If for any part the number of lines differs from its `chunks`, or its last line does not end
    with a line feed, raise a `ValueError`.

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
        with open(part.path, "rb") as file:
            own = file.readlines()
        if len(own) != part.metadata["chunks"]:
            raise ValueError(f"{len(own)} lines, but {part.metadata['chunks']} chunks")
        if own and not own[-1].endswith(b"\n"):
            raise ValueError("the last line has no line feed")
        lines += own
    with open(chunks.path, "wb") as file:
        file.writelines(lines)
    count = int(sum(part.metadata["documents"] for part in parts))
    chunks.metadata.update(documents=count, chunks=len(lines))
    return len(lines)
    ### END SOLUTION


# %%
lab.check("11.3", collect)

# %%
lab.hint("11.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# In Python, `2 == 2.0` is true, so only the results have to be made whole numbers. For bytes, `readlines` splits only at line feeds.
# `str.splitlines` would also split at characters such as U+2028, which may be inside a line, and count too many lines.

# %% tags=["nbval-check-output"]
collect = lab.use("collect")
collect_step = dsl.component(collect, base_image=LOADER, install_kfp_package=False)
print(collect(parts, Dataset(uri=str(work / "all.jsonl"))), "chunks of", [part.metadata["chunks"] for part in parts])

# %% [markdown]
# ## Connect the steps
#
# A [pipeline](../labs/GLOSSARY.md#pipeline) is a function, too. kfp calls it once, when it compiles it. The components in it do not
# run then. kfp only records which component gets which output of which other component. Here is an example about another subject:
#
# ```python
# @dsl.pipeline(name="bakery")
# def bakery(flour: str, cakes: list[str] = ["plum", "apple"]) -> Dataset:
#     dough = knead(flour=flour)
#     with dsl.ParallelFor(cakes, parallelism=4) as cake:           # at most four at a time
#         baked = bake(dough=dough.outputs["dough"], kind=cake)     # knead has an Output[...] named dough
#         baked.set_retry(num_retries=1)
#     packed = pack(cakes=dsl.Collected(baked.outputs["cake"]))
#     return packed.outputs["box"]
# ```
#
# ## Exercise 11.4: from folder to chunks

# %% exercise="11.4"
def build_pipeline(read_folder, split_part, collect):
    """Return the pipeline "split-in-shards", made of the three given components.

    It has two parameters: `folder`, a text without a default, and `shards`, a list of texts with
    the default ["0/3", "1/3", "2/3"]. It reads the folder once. It splits each shard, at most 2 at
    the same time, with 2 retries. Then it collects the `chunks` of all shards. The output of the
    pipeline is a `Dataset`: the `chunks` of this last step.

    The components are `read_folder(folder)` with the output `documents`,
    `split_part(documents, shard)` with the output `chunks`, and `collect(parts)` with the output
    `chunks`.

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
lab.check("11.4", build_pipeline)

# %%
lab.hint("11.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The outputs decide the order: a task that needs an output waits for the task that makes it. While this function runs, `shard` is not
# a text but only a placeholder. So `if shard == "0/3"` would be decided only once, when the pipeline is compiled.

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
# No task has run yet. The figure shows a file that the compiler wrote, the
# [intermediate representation](../labs/GLOSSARY.md#intermediate-representation) or IR. A cluster gets only this file. In it, a *task*
# names its component, and a component names its *executor*, which has the image and the code. A loop is a component with tasks of its
# own. The next cell prints all names, and then the task `collect` and its executor.
#
# All these names are text. Suppose that two of them are changed by mistake: the component of one task, and the output that another
# task needs.
#
# > **Predict.** Does kfp report an error when it loads this file?

# %% tags=["nbval-check-output"]
from kfp import components

print("tasks:      ", *spec["root"]["dag"]["tasks"])
print("in the loop:", *spec["components"]["comp-for-loop-1"]["dag"]["tasks"])
print("components: ", *spec["components"])
print("executors:  ", *spec["deploymentSpec"]["executors"])
print(yaml.safe_dump({"collect": spec["root"]["dag"]["tasks"]["collect"]}))
container = spec["deploymentSpec"]["executors"]["exec-collect"]["container"]
print("image:", container["image"])
print("code:", *container["command"][-1].split("\n")[1:7], "    ...\n", sep="\n  ")

renamed = text.replace("name: comp-collect", "name: comp-colect").replace("Key: documents", "Key: document")
print("loaded:     ", components.load_component_from_text(renamed).name)

# %% [markdown]
# It does not. A cluster finds the first mistake when you submit the pipeline: before any task runs, it looks up the component of every
# task and the executor of every component. It finds the second mistake only in the middle of the run, when the loop needs an output of
# `read-folder` that does not exist. So do not edit this file. Change the Python and compile it again: the compiler writes names that fit.

# %% [markdown]
# ## Run it
#
# Now we run the pipeline twice with a copy of `data/documents`. A [run](../labs/GLOSSARY.md#run) begins with the path of a folder and
# ends with one artifact. Each bar in the figure is one process, except for a task from the cache, which needs no process.
#
# > **Predict.** How many of the five tasks will run the first time? How many will run the second time?

# %%
import shutil
from tempfile import mkdtemp

copy = shutil.copytree(lab.data_dir, mkdtemp(dir=work), dirs_exist_ok=True)
first, second = (run_locally(pipeline, {"folder": str(copy)}, root=work) for _ in range(2))
for run in (first, second):
    print(run.count("succeeded"), "succeeded,", run.count("cached"), "cached,", run.outputs["Output"].metadata["chunks"], "chunks")
lab.show.attempts(first, "The first run")

# %% tags=["claim"]
assert [(run.count("succeeded"), run.count("cached")) for run in (first, second)] == [(5, 0), (0, 5)], "The second time, no task ran"
assert first.outputs["Output"].metadata["chunks"] == second.outputs["Output"].metadata["chunks"], "Here it found these results and returned them"
assert [one.outcome for one in first.attempts] == ["succeeded"] * 5, "Each bar in the figure is one process, except for a task from the cache"

# %% [markdown]
# The second time, no task ran. kfp stores the result of a task under a hash of its code, its image and its inputs. Here it found these
# results and returned them. For an input artifact, kfp hashes only the address and the metadata, and does not open the file. A
# cluster does this a little differently: it uses only runs of the same pipeline in the same namespace, and it identifies an artifact
# by the name that the cluster's metadata store has given it.
#
# The time of each bar includes the start of Python and its imports. Every step costs this time, and starting a container costs more. So
# a step should do enough work.
#
# ## A machine is taken away
#
# A cloud provider can take away cheap machines at short notice. The splitter below is killed like this in the middle of shard 2, without
# an exception. When it starts again, it finds an incomplete file, so it knows that it was killed before, and the second attempt
# succeeds. The pipeline is yours, with this splitter as one step. `without_cache` makes a step that always runs, so that you can run the
# cell again.
#
# > **Predict.** Which bars will the figure have? How many chunks will there be at the end?

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
                        os._exit(137)  # the exit code of a killed container
    chunks.metadata.update(counts)


def without_cache(step):
    return lambda **inputs: step(**inputs).set_caching_options(False)


with_dying = build_pipeline(read_folder, without_cache(dies_once), collect_step)
third = run_locally(with_dying, {"folder": str(copy)}, root=work)
one, other = (Path(run.outputs["Output"].path).read_text(encoding="utf-8") for run in (first, third))
print(one.count("\n"), "and", other.count("\n"), "chunks, and both files are equal:", one == other)
lab.show.attempts(third, "Shard 2 is killed and tried again")

# %% tags=["claim"]
assert one == other, "No chunk is lost, and none is there twice"
tried = [(step.task, step.outcome) for step in third.attempts]
assert sorted(step for step in tried if step[0].startswith("dies-once")) == [
    ("dies-once[0]", "succeeded"), ("dies-once[1]", "succeeded"), ("dies-once[2]", "failed"), ("dies-once[2]", "succeeded"),
], "The other shards were not repeated"
assert ("read-folder", "cached") in tried, "Each bar in the figure is one process, except for a task from the cache"

# %% [markdown]
# No chunk is lost, and none is there twice. The other shards were not repeated. `set_retry` only starts the task again. You have to
# write the task so that it may run twice. Such a task is called [idempotent](../labs/GLOSSARY.md#idempotent).
#
# ## Break it: append instead of overwrite
#
# In the next cell, `partial` makes the splitter open its file with the mode `"a"`.
#
# > **Predict.** What does your `collect` do?

# %% tags=["nbval-check-output"]
from functools import partial

appends = without_cache(partial(dies_once, mode="a"))
appending = build_pipeline(read_folder, appends, collect_step)
print(run_locally(appending, {"folder": str(copy), "shards": ["2/3"]}, root=work))

# %% [markdown]
# The ten chunks of the first attempt are still in the file. Without the comparison of counts, they would be in the index twice, and no
# step would have failed. On a cluster, each attempt has a new container without the old file, so this mistake would do no harm there.
# But rows in a database and files on a shared disk stay from one attempt to the next, on a cluster as well as here.
#
# ## Break it: an old result from the cache
#
# We add a sixth document to the folder of the pipeline.
#
# > **Predict.** Will the pipeline find five documents or six?

# %% tags=["nbval-check-output"]
Path(copy, "rollback.md").write_text("# Rollback\n\nGo back to the last release that worked.\n", encoding="utf-8")
after = run_locally(pipeline, {"folder": str(copy)}, root=work)
print(len(list(Path(copy).glob("*.md"))), "files in the folder")
print(after.count("succeeded"), "succeeded,", after.count("cached"), "cached,", after.outputs["Output"].metadata["documents"], "documents")

# %% [markdown]
# The path of the folder is still the same text. So the input is the same, and no task runs. The [cache](../labs/GLOSSARY.md#cache)
# compares only code, image and inputs. It does not check anything else that a step reads, such as a folder, a database or a branch on GitHub.
#
# So the library's pipeline begins with a small task that is never cached. It returns a hash of the folder's content, and the next step
# gets this hash as a parameter. If the content is the same, the hash is the same, and the next step comes from the cache. Otherwise it
# runs.

# %%
from course_lib.pipeline.compiling import compile_pipeline

docs = next(yaml.safe_load_all(compile_pipeline("docs_pipeline")))
lab.show.dag(docs)

# %% tags=["claim"]
graphs = (docs["root"], *docs["components"].values())
tasks = {name: task for graph in graphs if "dag" in graph for name, task in graph["dag"]["tasks"].items()}
assert not tasks["fingerprint-documents"]["cachingOptions"], "begins with a small task that is never cached"
assert tasks["load-documents"]["dependentTasks"] == ["fingerprint-documents"], "the next step gets this hash as a parameter"
assert not tasks["embed-and-store"]["cachingOptions"], "The step that stores the chunks is never cached"
assert tasks["report"]["triggerPolicy"]["strategy"] == "ALL_UPSTREAM_TASKS_COMPLETED", "report runs at the end, even if one of them fails"

# %% [markdown]
# A solid arrow is an artifact. A dashed arrow is a small value, or only says which step comes first. For each shard, `embed-and-store`
# computes [vectors](../labs/GLOSSARY.md#embedding) and stores them with the chunks in a database. So the parts meet in the database, and
# no `collect` is needed. `build-index` makes the search in it fast, and `evaluate` measures the search with questions.
#
# The step that stores the chunks is never cached, because its result is rows in a database and not a file. An *exit handler* contains
# all these steps: `report` runs at the end, even if one of them fails.
#
# The address of the database is a secret, and parameters appear in logs. So the address is an environment variable. Here `run_locally`
# sets it to its `url`; on a cluster, a Kubernetes Secret sets it.

# %%
import os

from course_lib.pipeline.pipelines import docs_pipeline

if embedding_model:
    os.environ["RAG_EMBED_MODEL"] = embedding_model
print("This takes about half a minute.")
filled = run_locally(docs_pipeline, {"source": str(copy), "shards": 2}, root=work, url=lab.database_url)
print(filled)
with lab.connect() as conn:
    rows = conn.execute("SELECT count(*), document_name FROM document_chunks GROUP BY 2 ORDER BY 2").fetchall()
print(*[f"{count} {name}" for count, name in rows], sep="\n")
assert not filled.error, filled.error
lab.show.attempts(filled, "The whole pipeline")

# %% tags=["claim"]
assert len(rows) == 6 and (1, "rollback.md") in rows, "The sixth document is in the index"
assert sum(count for count, _ in rows) == 122, "How many of the 122 chunks does it write?"

# %% [markdown]
# The sixth document is in the index. Run the cell again: which steps come from the cache, which steps run, and how many rows are there
# then?
#
# ## Measure: the scorecard
#
# Several processes have filled this index, and they shared only files. Would a single process have made the same index? `ingest` reads
# the same folder in this notebook. It writes only chunks that are missing or different.
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

# %% tags=["claim"]
assert (done.inserted, done.updated, done.unchanged, done.deleted) == (0, 0, 122, 0), "It writes none: every chunk is already there"

# %% [markdown]
# It writes none: every chunk is already there, with the same text, from the same parser and the same model.

# %% [markdown]
# ## On a cluster
#
# For a cluster, you compile the same Python to the same file and submit it to Kubeflow. With Docker,
# [kind](https://kind.sigs.k8s.io) and kubectl, you can run a cluster on a laptop:
#
# ```bash
# infra/setup-kubeflow.sh --dry-run      # shows what it would do
# infra/setup-kubeflow.sh                # cluster, Kubeflow, images, secrets; the UI is at http://localhost:8080
# course pipeline compile --check        # checks that the committed YAML belongs to this code
# course pipeline submit --host http://localhost:8080 --pipeline-name docs_pipeline --set shards=4
# infra/setup-kubeflow.sh teardown
# ```
#
# ## In the field
#
# `course pipeline submit` uses `kfp.Client`, as every Kubeflow user does. The code is **not run here**, because it needs a cluster:
#
# ```python
# from kfp import Client
#
# client = Client(host="http://localhost:8080")
# run = client.create_run_from_pipeline_package("docs_pipeline.yaml", arguments={"shards": 4}, experiment_name="course")
# client.wait_for_run_completion(run.run_id, timeout=3600)
# ```
#
# The client sends only the YAML. So a cluster runs the same pipeline whenever it gets the same YAML, whichever program made it. Airflow
# or Dagster could call the same functions instead of Kubeflow. By default, they run Python on their own workers, and a container for
# each step is an option.
#
# With `run` instead of `submit --host …`, the pipeline runs on this machine. `infra/README.md` says how your documents get into the
# cluster. A cluster works as you have seen here, except for the cache and for files that a failed attempt left. A few more things can
# go wrong:
#
# | problem | solution |
# |---|---|
# | numbers in metadata, lists and dictionaries become floats | `int(sum(…))` |
# | `install_kfp_package` is true by default | install kfp in the image, and set it to false |
# | a `ParallelFor` over an empty list is an error in a local run | make sure that the list has at least one item |
# | a local run deletes the folder that it gets as `workspace_root` | give it a folder that nothing else uses |
# | in a local run, a component cannot open what `dsl.importer` imports from a `file://` address | import a plain path |
# | a long text as a parameter is stored in databases and logs | use an artifact |

# %% [markdown]
# ## Recap
#
# - A component is the text of a function. The function imports what it needs, and the image has the packages that it imports.
# - Use parameters for small values, and artifacts with counts in their metadata for data. Compare the counts when you join parts.
# - A pipeline is compiled once. Its graph follows from the outputs that each task needs. The IR is a file that you can read and check.
# - To split work over machines, you need a hash that is the same everywhere. If each step may run twice, a retry does no harm.
# - A cache compares code and inputs. If a step reads anything else, make it an input. If a step changes anything else, do not cache it.
# - Of these four exercises, `shard_of` is part of your system. The other three are only for this lab.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. A pipeline function contains `shards=len(os.listdir(folder))`. What happens?
# 2. Why may `collect` be cached, but not `embed_and_store`?
# 3. One shard fails three times. You run the pipeline again. What happens to the shards that succeeded the first time?
#
# <details><summary>Answers</summary>
#
# 1. It raises an error, because `folder` is a placeholder and not a path while this function runs. If it worked, it would count only
#    once, on your machine, when the pipeline is compiled. Code that depends on data belongs in a component.
# 2. `collect` makes only its artifact. `embed_and_store` changes a database. If the database is new and the step comes from the
#    cache, the database stays empty.
# 3. Their chunks come from the cache. The step that stores them looks into the database and finds them there. So only the failed
#    shard has to be processed.
#
# </details>
#
# ## Stretch, and what comes next
#
# Give `split-in-shards` an empty list of shards and read kfp's error. Then make `read_folder` return the names of the shards, as the
# library's `load_documents` does, so that the list is never empty.
#
# Next is [lab 12](../labs/12_a_fresh_index.ipynb), where you keep an index up to date: what to skip, what to add, and what to remove.
