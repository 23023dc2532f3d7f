# %% [markdown]
# # 09 · A pipeline
#
# You will take the functions of a notebook apart into steps that run anywhere, see one of them die half-way, and lose nothing by
# it.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | turn a function into a component, and hand on files with counts · wire a pipeline that fans out, retries and skips what is done · read what the compiler wrote, and run it here or on a cluster | `pipeline/` | 45 min | Python functions; lab 01 for chunks |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("09", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
lab.show.pipeline("pipeline")

# %% [markdown]
# ## Two machines
#
# One day a corpus outgrows your machine. A second one is found, and each takes half of the files: those whose
# `hash(name) % 2` is its own number. Each half is a [shard](../labs/GLOSSARY.md#shard). Two processes of this machine stand in
# for the two machines; the corpus is all that lies below `data/`.
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
# No error, no warning, and a good part of the corpus is gone. Python adds a secret of its own to every process's `hash` of a
# text, so the two machines do not speak of the same numbers. Run the cell again: other files.
#
# ## By hand: a hash that is the same everywhere
#
# SHA-256 has no secret. Take the first 8 bytes of a name's digest as one large number and divide by the number of shards: the
# remainder is the shard. For two shards you can do it in your head, because only the last hexadecimal digit counts: `a` is ten and
# even, `b` is eleven and odd.
#
# > **Predict.** Which shard of two do these names belong to?

# %% tags=["nbval-check-output"]
from hashlib import sha256

for name in ("a.md", "b.md", "c.md"):
    print(name, sha256(name.encode("utf-8")).digest()[:8].hex(" "))

# %% [markdown]
# `d`, `e`, `e`: shard 1, shard 0, shard 0, on every machine of the world.
#
# ## Exercise 9.1: the shard of a name

# %% exercise="9.1"
def shard_of(name: str, shards: int) -> int:
    """Return the number of the shard that a name belongs to, from 0 to `shards` - 1.

    It is the remainder of a whole number by `shards`. The number is made of the first 8 bytes of
    the SHA-256 digest of the name in UTF-8, the most significant byte first. Fewer than 1 shard
    is a `ValueError`.

    Examples
    --------
    >>> shard_of("a.md", 2), shard_of("a.md", 3), shard_of("a.md", 7)
    (1, 2, 4)
    >>> shard_of("a.md", 0)
    ValueError: 0 shards
    """
    ### BEGIN SOLUTION
    if shards < 1:
        raise ValueError(f"{shards} shards")
    digest = sha256(name.encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") % shards
    ### END SOLUTION


# %%
lab.check("9.1", shard_of)

# %%
lab.hint("9.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The name alone decides, not the place in a list: a file that is added next week moves no other. Change the number of shards,
# though, and nearly every file moves, so it belongs to the corpus and not to the mood of the day.

# %% tags=["nbval-check-output"]
from collections import Counter

shard_of = lab.use("shard_of")
print("all of data/ in 2 shards:", sorted(Counter(shard_of(name, 2) for name in names).items()))
documents = lab.documents()
for shard in range(3):
    print(f"documents in shard {shard} of 3:", [name for name in documents if shard_of(name, 3) == shard])

# %% [markdown]
# Every file is in one shard, and in one only. A hash does not deal cards: with few files a shard may stay empty, which the code
# has to bear.
#
# ## From a function to a component
#
# Kubeflow runs each step in a [container](../labs/GLOSSARY.md#container) of its own, perhaps on another machine. Such a step is a
# [component](../labs/GLOSSARY.md#component), and in Python it is a function with a decorator. Its image is the file system that
# it finds there: Python, kfp and `course_lib`.
#
# `run_locally` does what a cluster would, with a process in the place of each container.
#
# > **Predict.** This function counts words in a notebook. Does it as a component?

# %% tags=["nbval-check-output"]
from kfp import dsl

from course_lib.pipeline.components import LOADER
from course_lib.teaching.lab.local_runs import run_locally


def count_words(folder: str) -> int:
    return sum(len(document.content.split()) for document in read_documents(folder))


print("here:", count_words(lab.data_dir))
component = dsl.component(count_words, base_image=LOADER, install_kfp_package=False)
print(run_locally(component, folder=str(lab.data_dir)))

# %% [markdown]
# What travels is the text of the function and nothing else: no imports from above, no variables, no helpers. So everything that a
# component needs, it imports itself. Parameters are small things, text, numbers, lists, that can be written down as JSON.

# %% tags=["nbval-check-output"]
@dsl.component(base_image=LOADER, install_kfp_package=False)
def count_words(folder: str) -> int:
    from course_lib.loader import read_documents

    return sum(len(document.content.split()) for document in read_documents(folder))


run = run_locally(count_words, folder=str(lab.data_dir))
print(run, run.outputs)

by_default = dsl.component(count_words.python_func, base_image=LOADER)
for name, each in {"ours": count_words, "by default": by_default}.items():
    script = "\n".join(each.component_spec.implementation.container.command)
    print(f"{name}:", *[line[line.index("pip") :][:59] for line in script.splitlines() if "pip install" in line])

# %% [markdown]
# That is what `install_kfp_package=False` is for. By default every task begins with a `pip install` of kfp: seconds a task, a
# network that has to be there, and, run locally, one task after the other, so that no two installations get in each other's way.
# The image has kfp, so we say so.
#
# ## Artifacts
#
# Thousands of documents are no parameter. They go into a file, an [artifact](../labs/GLOSSARY.md#artifact): the component gets a
# path to write to, and a small dictionary for what one wants to know without opening the file. `Output[Dataset]` in the signature
# asks for one.

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


read = run_locally(read_folder, folder=str(lab.data_dir)).outputs["documents"]
print(type(read).__name__, read.metadata)
with open(read.path, encoding="utf-8") as file:
    print(len(file.readlines()), "lines")

# %% [markdown]
# Somebody counted to 5 and you got 5.0. Metadata travel as JSON by way of protocol buffers, which know one kind of number: a
# float. The same happens to numbers in lists and dictionaries. Remember it; it will bite in a moment.
#
# ## Exercise 9.2: split one shard
#
# The next step takes that artifact and makes another one. Write it as a plain function, imports inside, and decorate it later. You
# need `split_document(Document(Path(name), name, content))`, which gives a list of [chunks](../labs/GLOSSARY.md#chunk); a chunk's
# `to_json()` is its line. `write_jsonl(path, lines)` writes a file whole or not at all, and
# `Shard.parse("0/3").holds(name)` is your `shard_of(name, 3) == 0`.

# %% exercise="9.2"
def split_part(documents: Input[Dataset], chunks: Output[Dataset], shard: str):
    """Split the documents of one shard, such as "0/3", the first of three.

    Each line of the file at `documents.path` is a JSON object with `name` and `content`. The chunks
    of those in the shard go to the file at `chunks.path`, a line of JSON each, in order. A file
    that is there already, from an attempt that failed, is overwritten. Then `chunks.metadata` gets
    `documents` and `chunks`, how many there are.

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
lab.check("9.2", split_part)

# %%
lab.hint("9.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# An empty shard writes an empty file with two zeros: the next step then has nothing to ask about. And whoever opens the file with
# `"a"` has it right once and wrong after the first retry.

# %% [markdown]
# A component that is a function can be tried like one. `Dataset(uri=…)` is an artifact at a path of yours.

# %% tags=["nbval-check-output"]
from pathlib import Path
from tempfile import TemporaryDirectory

split_part = lab.use("split_part")
workshop = TemporaryDirectory()  # gone when the kernel ends
folder = Path(workshop.name)
parts = [Dataset(uri=str(folder / f"part-{shard}.jsonl")) for shard in range(3)]
for shard, part in enumerate(parts):
    split_part(read, part, f"{shard}/3")
    print(shard, part.metadata)

# %% [markdown]
# ## Collect
#
# Three files are three artifacts. A component that takes all of them has an `Input[list[Dataset]]`, and `dsl.Collected` gives it
# what the turns of a loop have made. Here is the plainest.
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


print(run_locally(plain, folder=str(lab.data_dir), shards=["0/2", "1/2"]))

# %% [markdown]
# The floats. kfp holds a component to its signature, and a sum of floats is no `int`. A list of counts collected as parameters
# would come as floats, too. The cure is one call: `int(sum(…))`.
#
# ## Exercise 9.3: one file, and the books balanced
#
# On the way from shards to one file things get lost: a part half written, a disk that was full. The counts in the metadata are
# there to notice.

# %% exercise="9.3"
def collect(parts: Input[list[Dataset]], chunks: Output[Dataset]) -> int:
    """Put the chunks of all parts into one file and return how many there are.

    Each part is a file of lines at its `path`, and its `metadata` hold `documents` and `chunks`, as
    floats. The lines go to `chunks.path` in the order of the parts, and over what is there already.
    `chunks.metadata` gets the sums of both counts, as whole numbers.

    A part whose `chunks` is not the number of its lines is incomplete: raise a `ValueError`.

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
lab.check("9.3", collect)

# %%
lab.hint("9.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `2 != 2.0` is false in Python, so the comparison needs no cure, and only what is handed on is turned into whole numbers. `readlines`
# splits at line ends alone; `str.splitlines` would split at a few other characters as well, and the books would not balance.

# %% [markdown]
# ## Wire it
#
# A [pipeline](../labs/GLOSSARY.md#pipeline) is a function, too. It is called once, when it is compiled; the components in it do
# not run but leave a note of what they would get from whom. On another subject:
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
# ## Exercise 9.4: from folder to chunks

# %% exercise="9.4"
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
lab.check("9.4", build_pipeline)

# %%
lab.hint("9.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Nobody says "after": what takes an output waits for whoever makes it. `shard` is no text while the function runs, only a
# placeholder, so an `if shard == "0/3"` in there would be decided once, for ever, when the pipeline is compiled.

# %%
import yaml
from kfp import compiler

build_pipeline = lab.use("build_pipeline")
collect_step = dsl.component(lab.use("collect"), base_image=LOADER, install_kfp_package=False)
pipeline = build_pipeline(read_folder, split_step, collect_step)

compiler.Compiler().compile(pipeline, str(folder / "pipeline.yaml"))
text = (folder / "pipeline.yaml").read_text(encoding="utf-8")
spec = yaml.safe_load(text)
lab.show.dag(spec)

# %% [markdown]
# Nothing has run. The graph is drawn from a file that the compiler wrote, the
# [intermediate representation](../labs/GLOSSARY.md#intermediate-representation) or IR, and this file is all that a cluster ever sees.
# In it a *task* names the component that it uses, a component names the *executor* with its image and code, and a loop is a
# component with tasks of its own.
#
# All these names are text. Somebody changes two of them, by hand or by a script.
#
# > **Predict.** Does kfp's own loader notice?

# %% tags=["nbval-check-output"]
from kfp import components

print("tasks:      ", *spec["root"]["dag"]["tasks"])
print("in the loop:", *spec["components"]["comp-for-loop-1"]["dag"]["tasks"])
print("components: ", *spec["components"])
print("executors:  ", *spec["deploymentSpec"]["executors"])

broken = text.replace("name: comp-collect", "name: comp-colect").replace("Label: exec-split-part", "Label: exec-split")
print("loaded:     ", components.load_component_from_text(broken).name)

# %% [markdown]
# It does not. You would hear of it from the cluster, after the first steps have run for an hour.
#
# ## Exercise 9.5: names that lead nowhere

# %% exercise="9.5"
def dangling(spec: dict) -> list[str]:
    """Return the names that a compiled pipeline uses and does not define, sorted, each once.

    - A *dag* stands in `spec["root"]["dag"]`, and in `["dag"]` of some of `spec["components"]`, a
      dictionary by name.
    - Each task of a dag, the values of `dag["tasks"]`, uses a component:
      `task["componentRef"]["name"]`.
    - Each component that has an `"executorLabel"` uses the executor of that name, one of
      `spec["deploymentSpec"]["executors"]`.

    Examples
    --------
    >>> task = {"componentRef": {"name": "comp-reed"}}
    >>> dangling({"root": {"dag": {"tasks": {"read": task}}},
    ...           "components": {"comp-read": {"executorLabel": "exec-read"}},
    ...           "deploymentSpec": {"executors": {}}})
    ['comp-reed', 'exec-read']
    """
    ### BEGIN SOLUTION
    known = spec["components"]
    dags = [one["dag"] for one in [spec["root"], *known.values()] if "dag" in one]
    used = {task["componentRef"]["name"] for dag in dags for task in dag["tasks"].values()}
    labels = {one["executorLabel"] for one in known.values() if "executorLabel" in one}
    return sorted((used - set(known)) | (labels - set(spec["deploymentSpec"]["executors"])))
    ### END SOLUTION


# %%
lab.check("9.5", dangling)

# %%
lab.hint("9.5")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Sets do all the work: used minus defined. No recursion is needed although loops nest, because the IR keeps the components of all
# levels side by side. The library's `find_problems` asks further: does the other task exist, and has it such an output?

# %% tags=["nbval-check-output"]
dangling = lab.use("dangling")
print("as compiled:", dangling(spec))
print("renamed:    ", dangling(yaml.safe_load(broken)))

# %% [markdown]
# ## Run it
#
# Now the pipeline over `data/documents`, twice. A [run](../labs/GLOSSARY.md#run) begins with a folder's path and ends with one
# artifact. Each bar below is a process of its own.
#
# > **Predict.** How many of the five tasks will run the first time, how many the second? `read_folder` has run before, in `plain`.

# %%
first, second = (run_locally(pipeline, folder=str(lab.data_dir)) for _ in range(2))
print(second)
print("in the end:", second.outputs["Output"].metadata)
print(f"the first run took {first.seconds / second.seconds:,.0f} times as long")
lab.show.attempts(first, "The first run")

# %% [markdown]
# The second time nothing ran. kfp remembers a task by its code, its image and its inputs, in whatever pipeline it stands, and gives
# back what it gave last time. Of an artifact it looks at the address and the metadata; nobody opens the file.
#
# Most of each bar is Python starting and importing. That is the price of a step, and a container costs more: a step should be worth
# it.
#
# ## A machine is taken away
#
# Cheap machines in a cloud go without a warning. This splitter dies like that in the midst of shard 2: no exception, no farewell.
# From its own half-written file it knows that it died before; the second time it goes through. The wiring is yours.
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


third = run_locally(build_pipeline(read_folder, dies_once, collect_step), folder=str(lab.data_dir))
one, other = (Path(run.outputs["Output"].path).read_text(encoding="utf-8") for run in (first, third))
print(one.count("\n"), "and", other.count("\n"), "chunks, the same to the last character:", one == other)
lab.show.attempts(third, "Shard 2 is killed and tried again")

# %% [markdown]
# Nothing is lost and nothing is there twice. The other shards knew nothing of it and were not done again. `set_retry` only starts
# the task once more; that it is allowed to is your work: a step that may be repeated is
# [idempotent](../labs/GLOSSARY.md#idempotent).
#
# ## Break it: append instead of write
#
# One letter makes the difference. `partial` below gives the splitter the mode `"a"`.
#
# > **Predict.** What does your `collect` say?

# %% tags=["nbval-check-output"]
from functools import partial

appends = partial(dies_once, mode="a")
print(run_locally(build_pipeline(read_folder, appends, collect_step), folder=str(lab.data_dir), shards=["2/3"]))

# %% [markdown]
# The ten chunks of the first attempt are still in the file. Without the balanced books they would be in the index twice, and no
# step would have failed.
#
# ## Break it: yesterday's answer
#
# A copy of the documents gets a sixth one between two runs, both in a single shard.
#
# > **Predict.** Five or six?

# %% tags=["nbval-check-output"]
import shutil

copy = shutil.copytree(lab.data_dir, folder / "documents")
before = run_locally(pipeline, folder=str(copy), shards=["0/1"])
(copy / "rollback.md").write_text("# Rollback\n\nGo back to the last release that worked.\n", encoding="utf-8")
after = run_locally(pipeline, folder=str(copy), shards=["0/1"])
for run in (before, after):
    counted = run.outputs["Output"].metadata["documents"]
    print(run.count("done"), "done,", run.count("cached"), "cached, documents:", counted)

# %% [markdown]
# The path is the same text, so it is the same input, so nothing has to run. What a step reads besides its inputs, a folder, a
# database, a branch on GitHub, the [cache](../labs/GLOSSARY.md#cache) knows nothing about.
#
# So the library's pipeline begins with a small task that is never cached and returns a hash of the folder's content. That goes into
# the next step as a parameter: equal folder, equal hash, cached; otherwise not.

# %%
from course_lib.pipeline.compiling import compile_pipeline

docs = next(yaml.safe_load_all(compile_pipeline("docs_pipeline")))
print("dangling:", dangling(docs))
lab.show.dag(docs)

# %% [markdown]
# You know the middle. Storing is never cached either, since its result is not a file but rows in a database. An *exit handler*
# stands around it all: `report` runs whatever happens inside.
#
# The address of the database is a secret, and parameters are written into logs. It comes from the environment; on a cluster a
# Kubernetes Secret puts it there.

# %%
import os

from course_lib.pipeline.pipelines import docs_pipeline

os.environ["DATABASE_URL"] = lab.database_url
if embedding_model:
    os.environ["RAG_EMBED_MODEL"] = embedding_model
filled = run_locally(docs_pipeline, source=str(copy), shards=2)
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
# The index was filled by processes that knew each other only by files. Is it the same index?

# %%
from course_lib.retriever import search

with lab.connect() as conn:
    found = lab.measure_retrieval(lambda question: search(conn, lab.encode(question), question=question))
print(found)
lab.score(recall_at_5=found.recall, mrr=found.mrr, note="filled by the pipeline")

# %% [markdown]
# Compare with lab 06: the same parser, the same model, the same search. What is left of a difference is the sixth document. It
# answers questions, too, and nobody has labelled its answers as right.

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
# Put `run` in the place of `submit --host …`, and it runs on this machine. How your documents get into the cluster stands in
# `infra/README.md`. What you have seen here holds there, and so do a few things that bite:
#
# | trap | what helps |
# |---|---|
# | numbers in metadata, lists and dictionaries come back as floats | `int(sum(…))` |
# | `install_kfp_package` is true unless you say otherwise | bake kfp into the image, and say so |
# | a `ParallelFor` over an empty list crashes locally | see that the list has at least one item |
# | local runs delete the `workspace_root` that they were given | give them a folder of their own |
# | `dsl.importer` with a `file://` address fails locally | read the file in a component |
# | a long text as a parameter ends up in databases and logs | an artifact |

# %% [markdown]
# ## Recap
#
# - A component is the text of a function: it imports what it needs, and its image has what it imports.
# - Small values are parameters, data are artifacts with counts in their metadata. Check the counts where things come together.
# - A pipeline is compiled once; its graph follows from who takes whose output. The IR is a file that you can read and check.
# - Fan-out needs a hash that is the same everywhere, and steps that may be repeated. Then a retry is harmless.
# - A cache knows code and inputs. What a step reads besides must become an input, and what it changes must not be cached.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. Somebody writes `shards=len(os.listdir(folder))` inside the pipeline function. What happens?
# 2. Why may `collect` be cached and `embed_and_store` not?
# 3. A shard fails three times. What becomes of the shards that went through, when you run the pipeline again?
#
# <details><summary>Answers</summary>
#
# 1. While the function runs, `folder` is a placeholder, not a path: an error at best. And if it worked, it would count once, at
#    compile time, on your machine. What depends on data belongs into a component.
# 2. All that `collect` makes is its artifact. `embed_and_store` changes a database, perhaps another one than last time, and a
#    cached "done" would leave that empty.
# 3. Their splitting comes out of the cache. Storing looks at the database and finds everything there. Only the failed shard is
#    work.
#
# </details>
#
# ## Stretch, and what comes next
#
# Give `split-in-shards` an empty list of shards and read what kfp says. Then make `read_folder` return the names of the shards, as
# the library's `load_documents` does, so that nobody can.
#
# Next is lab 10, where an index is kept fresh: what to skip, what to add, what to remove.
