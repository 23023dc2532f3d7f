"""Lab 09, the pipeline: shards, two components, how they are wired, and what the compiler wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

from course_lib.loader import split_document
from course_lib.records import Document
from course_lib.teaching.checks.artifacts import artifacts, lines_of, metadata_of, stands_alone
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.values import shown

IMAGE = "checked:9.4"
"""Of the components that a check hands over, by which they are known in what was compiled."""

NAMES = ("a.md", "b.md", "guide/Übersicht.md", "数据.md", "notes/2024 plan.md", "")


@exercise(
    "9.1",
    function="shard_of",
    points=1,
    hints=(
        '`sha256(name.encode("utf-8")).digest()` gives 32 bytes; `[:8]` takes the first 8.',
        '`int.from_bytes(some_bytes, "big")` makes a whole number of bytes, and `%` gives the '
        "remainder.",
    ),
)
def check_shard_of(call: Probe) -> None:
    """Take the names of the text, then names with other letters, then what is no number."""
    call("a.md", 2).gives(1, because="its eighth byte is dd, which is odd")
    call("a.md", 3).gives(2, because="the remainder by 3 of the same number")
    call("a.md", 7).gives(4, because="the remainder by 7 of the same number")
    for name in NAMES:
        call(name, 1).gives(0, because="there is no other shard")
    call("数据.md", 1000).gives(911, because="the bytes are those of the name in UTF-8")
    call("A.md", 1000).gives(427, because="another name, another number")
    call("a.md", 0).raises(ValueError, because="there has to be a shard")
    call("a.md", -2).raises(ValueError, because="there has to be a shard")


CORPUS = {
    "a.md": "# Apples\n\nApples keep for weeks.\n",
    "b.md": "# Pears\n\n" + "Pears do not keep at all, and so on. " * 40,
    "c.md": "# Überall\n\nÄpfel, in einer anderen Sprache.\n",
}


@exercise(
    "9.2",
    function="split_part",
    points=3,
    time_limit=10,
    hints=(
        "Open `documents.path`, go through its lines, and make each a dictionary with "
        '`json.loads(line)`. Skip it unless `Shard.parse(shard).holds(one["name"])`.',
        "Collect the lines of all chunks in one list: `lines += [chunk.to_json() for chunk in "
        "split_document(…)]`. At the end, `write_jsonl(chunks.path, lines)` writes them, even if "
        "there are none.",
        "`chunks.metadata` is a dictionary: `chunks.metadata.update(documents=…, chunks=…)`. And "
        "every import stands inside the function, because its text is all that travels.",
    ),
)
def check_split_part(call: Probe) -> None:
    """Split all, then a shard, then an empty one, twice, and look at what it needs."""
    stands_alone(call)
    with artifacts() as artifact:
        documents = artifact("documents", _records(CORPUS))
        chunks = artifact("chunks")
        for shard in ("0/1", "0/2", "1/2", "0/2"):
            mine = [name for name in CORPUS if _holds(shard, name)]
            label = f'split_part(documents, chunks, "{shard}")'
            _split(call, label, documents, chunks, shard)
            lines = [line for name in mine for line in _chunks(name)]
            because = f"of a.md, b.md and c.md, {_listed(mine)} in shard {shard}"
            if shard != "0/1":
                because += ", and what was in the file before is overwritten"
            lines_of(call, label, chunks, because).gives(lines, because=because)
            metadata_of(call, label, chunks).gives(
                {"documents": len(mine), "chunks": len(lines)},
                because="whole numbers, under these names",
            )
        empty = artifact("empty")
        label = 'split_part(documents, chunks, "0/3"), with no document in that shard'
        _split(call, label, artifact("few", _records({"a.md": "Apples."})), empty, "0/3")
        lines_of(call, label, empty, "").gives(
            [], because="the next step opens the file of every shard, also of an empty one"
        )
        metadata_of(call, label, empty).gives({"documents": 0, "chunks": 0})


@exercise(
    "9.3",
    function="collect",
    points=2,
    hints=(
        "For each part: open `part.path`, take its `readlines()`, compare how many there are with "
        '`part.metadata["chunks"]`, and add them to one list.',
        '`file.writelines(lines)` writes them as they are. Open with the mode `"w"`.',
        '`int(sum(part.metadata["documents"] for part in parts))` is the sum as a whole number; '
        "`len(lines)` is one already.",
    ),
)
def check_collect(call: Probe) -> None:
    """Collect two parts, then none, then one with a line too few or too many."""
    stands_alone(call)
    with artifacts() as artifact:
        parts = [
            artifact("part 0", ['{"n": 0}', '{"n": 1}'], documents=1.0, chunks=2.0),
            artifact("part 1", [], documents=0.0, chunks=0.0),
            artifact("part 2", ['{"n": "\u2028"}', '{"n": 3}', "{}"], documents=2.0, chunks=3.0),
        ]
        chunks = artifact("chunks", ["left by an attempt that failed"])
        label = "collect([2 chunks, 0 chunks, 3 chunks], chunks)"
        _collect(call, label, parts, chunks).gives(5, because="a whole number, and no float")
        lines_of(call, label, chunks, "").gives(
            ['{"n": 0}', '{"n": 1}', '{"n": "\u2028"}', '{"n": 3}', "{}"],
            because="all lines in the order of the parts, and none that was there before",
        )
        metadata_of(call, label, chunks).gives(
            {"documents": 3, "chunks": 5}, because="sums, as whole numbers"
        )
        label = "collect([0 chunks], chunks)"
        _collect(call, label, parts[1:2], chunks).gives(0, because="nothing is a number, too")
        metadata_of(call, label, chunks).gives({"documents": 0, "chunks": 0})
        for count, said in ((1.0, "fewer"), (3.0, "more")):
            part = artifact("wrong", ["{}", "{}"], documents=1.0, chunks=count)
            _collect(call, f"collect([2 lines, {count} chunks], chunks)", [part], chunks).raises(
                ValueError, because=f"the metadata say {said} than the file holds"
            )


@exercise(
    "9.4",
    function="build_pipeline",
    points=2,
    time_limit=30,
    hints=(
        "Write the pipeline inside: `@dsl.pipeline(name=…)`, `def split_in_shards(folder: str, "
        "shards: list[str] = [...]) -> Dataset:`, and at the end of `build_pipeline` return it, "
        "without brackets.",
        "Three calls, with names for all arguments. The second stands in `with "
        "dsl.ParallelFor(shards, parallelism=2) as shard:`, the other two do not.",
        "What a task gives to another is `task.outputs[…]`; from a loop, "
        "`dsl.Collected(task.outputs[…])`. Retries are a call on the task: "
        "`.set_retry(num_retries=2)`.",
    ),
)
def check_build_pipeline(call: Probe) -> None:
    """Compile what it returns, and read the wiring."""
    from kfp.dsl.graph_component import GraphComponent

    label = "build_pipeline(read_folder, split_part, collect)"
    parts = _components()
    given = call(*parts).value
    if not isinstance(given, GraphComponent):
        kind = "the three components were called, and nothing was returned"
        call.fail(label, got=kind if given is None else f"{shown(given)} ({type(given).__name__})",
                  expected="a pipeline: a function under @dsl.pipeline")  # fmt: skip
    spec = _as_dict(given)

    def compiled(what: str, value: Any) -> Case:
        return Case(call, f"{label}, compiled: {what}", value=value)

    compiled("its name", spec["pipelineInfo"]["name"]).gives("split-in-shards")
    parameters = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    kinds = {name: one["parameterType"] for name, one in parameters.items()}
    compiled("its parameters", kinds).gives({"folder": "STRING", "shards": "LIST"})
    default = parameters["shards"].get("defaultValue")
    compiled("the default of shards", default).gives(["0/3", "1/3", "2/3"])
    compiled("the default of folder", parameters["folder"].get("defaultValue")).gives(None)
    _wiring(call, compiled, spec)
    executors = spec["deploymentSpec"]["executors"].values()
    others = sorted({one["container"]["image"] for one in executors} - {IMAGE})
    compiled("images of components other than the three that it was given", others).gives(
        [], because="it calls its arguments, and none of the notebook's components"
    )


def _wiring(call: Probe, compiled: Callable[[str, Any], Case], spec: Mapping[str, Any]) -> None:
    from course_lib.teaching.lab.dag import read_dag

    dag = read_dag(spec)
    compiled("its tasks", sorted(dag.tasks)).gives(
        ["collect", "read-folder", "split-part"], because="each component is used once"
    )
    loops = [(group.label, group.members) for group in dag.groups]
    compiled("its loops", loops).gives(
        [("for each of shards, 2 at once", ["split-part"])],
        because="only the splitting is done for each shard, 2 at the same time",
    )
    notes = {name: [one for one in task.notes if "retr" in one] for name, task in dag.tasks.items()}
    compiled("retries of split-part", notes["split-part"]).gives(["2 retries"])
    edges = sorted((one.producer, one.label, one.consumer) for one in dag.edges if one.label)
    compiled("who gives what to whom", edges).gives(
        [("read-folder", "documents", "split-part"), ("split-part", "chunks", "collect")]
    )
    tasks = spec["root"]["dag"]["tasks"]
    folder = tasks["read-folder"].get("inputs", {}).get("parameters", {}).get("folder", {})
    compiled("the folder that is read", folder).gives(
        {"componentInputParameter": "folder"}, because="it is the pipeline's parameter"
    )
    [loop] = [one for name, one in spec["components"].items() if "dag" in one]
    shard = loop["dag"]["tasks"]["split-part"]["inputs"]["parameters"].get("shard", {})
    compiled("the shard that is split", shard).gives(
        {"componentInputParameter": "pipelinechannel--shards-loop-item"},
        because="each turn of the loop has its own",
    )
    outputs = spec["root"]["dag"].get("outputs", {}).get("artifacts", {})
    selected = [one["artifactSelectors"] for one in outputs.values()]
    compiled("its outputs", selected).gives(
        [[{"producerSubtask": "collect", "outputArtifactKey": "chunks"}]],
        because="it returns what collect has made, and says `-> Dataset`",
    )


@exercise(
    "9.5",
    function="dangling",
    points=2,
    hints=(
        "Begin with a list of all dags: that of `root`, and those of the components that have one.",
        "A set of the names that the tasks of all dags use, minus the names of the components, are "
        "the components that are missing. `set(dictionary)` holds its keys.",
        "The same for executors: the labels of all components that have one, minus the names in "
        '`spec["deploymentSpec"]["executors"]`. `sorted(one | other)` is the answer.',
    ),
)
def check_dangling(call: Probe) -> None:
    """Begin with one that is whole, then take away a name at a time."""
    _names(call, "a pipeline", _spec(), [], "every name that is used is defined")
    missing = {
        "comp-split": "the loop's task uses it, and no component has that name",
        "comp-read": "a task of the root uses it, and no component has that name",
        "comp-for-loop-1": "a loop is a component, too",
        "exec-split": "comp-split uses it, and no executor has that name",
    }
    for name, because in missing.items():
        _names(call, f"a pipeline without {name}", _spec(without=[name]), [name], because)
    names = ["comp-collect", "exec-read", "exec-split"]
    label = f"a pipeline without {', '.join(names)}"
    _names(call, label, _spec(without=names), names, "all of them, sorted")
    twice = _spec(without=["comp-read"])
    twice["root"]["dag"]["tasks"]["again"] = {"componentRef": {"name": "comp-read"}}
    label = "a pipeline without comp-read, which two tasks use"
    _names(call, label, twice, ["comp-read"], "it is told once")
    unused = _spec()
    unused["components"]["comp-old"] = {"executorLabel": "exec-read"}
    because = "what is defined and never used is no harm"
    _names(call, "a pipeline with a component comp-old that no task uses", unused, [], because)


def _names(call: Probe, label: str, spec: dict[str, Any], wanted: list[str], because: str) -> None:
    case = call(spec)
    case.label = f"dangling({label})"
    case.gives(wanted, because=because)


def _spec(without: Sequence[str] = ()) -> dict[str, Any]:
    def task(name: str) -> dict[str, Any]:
        return {"componentRef": {"name": name}}

    steps = ("read", "split", "collect")
    components: dict[str, Any] = {f"comp-{one}": {"executorLabel": f"exec-{one}"} for one in steps}
    components["comp-for-loop-1"] = {"dag": {"tasks": {"split": task("comp-split")}}}
    executors: dict[str, Any] = {f"exec-{one}": {} for one in steps if f"exec-{one}" not in without}
    tasks = {one: task(f"comp-{one}") for one in ("read", "for-loop-1", "collect")}
    return {
        "root": {"dag": {"tasks": tasks}},
        "components": {name: one for name, one in components.items() if name not in without},
        "deploymentSpec": {"executors": executors},
    }


def _split(call: Probe, label: str, documents: Any, chunks: Any, shard: str) -> None:
    case = call(documents, chunks, shard)
    case.label = label
    case.gives(None, because="what it makes goes into the artifact")


def _collect(call: Probe, label: str, parts: list[Any], chunks: Any) -> Case:
    case = call(parts, chunks)
    case.label = label
    return case


def _records(documents: Mapping[str, str]) -> list[str]:
    return [json.dumps({"name": name, "content": text}) for name, text in documents.items()]


def _holds(shard: str, name: str) -> bool:
    from course_lib.pipeline.corpus import Shard

    return Shard.parse(shard).holds(name)


def _chunks(name: str) -> list[str]:
    return [one.to_json() for one in split_document(Document(Path(name), name, CORPUS[name]))]


def _listed(names: Sequence[str]) -> str:
    return f"{' and '.join(names) or 'none'} {'is' if len(names) < 2 else 'are'}"


def _components() -> tuple[Any, Any, Any]:
    """Return three components with the signatures of the lab's that do nothing."""
    from kfp import dsl

    def make(function: Callable[..., Any]) -> Any:
        # kfp wants types for annotations, and this module postpones its own
        hints = get_type_hints(function, localns={"dsl": dsl}, include_extras=True)
        function.__annotations__ = hints
        return dsl.component(function, base_image=IMAGE, install_kfp_package=False)

    def read_folder(folder: str, documents: dsl.Output[dsl.Dataset]):  # type: ignore[no-untyped-def]
        pass

    def split_part(  # type: ignore[no-untyped-def]
        documents: dsl.Input[dsl.Dataset], chunks: dsl.Output[dsl.Dataset], shard: str
    ):
        pass

    def collect(parts: dsl.Input[list[dsl.Dataset]], chunks: dsl.Output[dsl.Dataset]) -> int:
        return 0

    return make(read_folder), make(split_part), make(collect)


def _as_dict(pipeline: Any) -> dict[str, Any]:
    from google.protobuf import json_format

    found: dict[str, Any] = json_format.MessageToDict(pipeline.pipeline_spec)
    return found
