"""Lab 11, the pipeline: shards, two components, and how they are wired."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

from course_lib.loader import split_document
from course_lib.records import Document
from course_lib.teaching.checks.artifacts import (
    counts_of,
    dataset,
    lines_of,
    stands_alone,
    written_dataset,
)
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.values import shown

IMAGE = "checked:11.4"
"""Of the components that a check hands over, by which they are known in what was compiled."""

PASTED = "from course_lib.teaching.checks.artifacts import dataset; "
"""What a cell needs before the calls that a failed check shows."""

WHOLE = 2**64
"""So many shards that the remainder is the number itself."""


@drawn()
def any_shard(random: Draws) -> Call:
    """Draw a name, and few shards, very many, or none."""
    name = random.choice((random.text(), *random.names(2)))
    return given(name, random.choice((1, random.randint(2, 9), 2**64, 1000, 0, -2)))


@exercise("11.1", "pipeline.corpus:shard_of", 1, draws=any_shard)
def check_shard_of(call: Probe) -> None:
    """Take one shard, then as many as there are numbers, then few, then none."""
    call.cases(
        (("a.md", 1), 0, "shards are counted from 0, and a single shard has every name"),
        (("a.md", WHOLE), 18_360_274_731_189_692_333,
         "the first 8 bytes of the digest are fe cc cc 97 53 24 67 ad, the most significant "
         "first; with so many shards, the remainder is the number itself"),
        (("A.md", WHOLE), 3_270_483_378_732_478_427,
         "A.md and a.md are different names and have different digests"),
        (("docs/a.md", WHOLE), 5_922_788_355_801_945_178,
         "docs/a.md is another name than a.md: its folder counts"),
        ((" a.md", WHOLE), 12_867_377_367_227_000_807,
         "a blank is a character of the name like any other"),
        (("ü.md", WHOLE), 3_913_720_615_600_961_492,
         "in UTF-8 the name is the bytes c3 bc 2e 6d 64, whose digest begins with 36 50"),
    )  # fmt: skip
    for shards, shard in {2: 1, 3: 2, 7: 4}.items():
        call("a.md", shards).gives(
            shard, because=f"18360274731189692333 divided by {shards} has the remainder {shard}"
        )
    call("a.md", 0).raises(ValueError, because="there has to be at least 1 shard")
    call("a.md", -2).raises(ValueError, because="there has to be at least 1 shard")


@exercise("11.2", "split_part", 3, time_limit=10)
def check_split_part(call: Probe) -> None:
    """Split one document, three, a long one, none, an empty one, and write over a file."""
    stands_alone(call)
    one, left = {"a.md": "Apples."}, ["left by a failed attempt"]
    for corpus, shard, mine, before, because in (
        (one, "0/1", ["a.md"], None,
         "shard 0 of 1 takes every document: here one, of one chunk, which is a line of JSON"),
        ({"c.md": "Überall Äpfel.", "b.md": "Pears.", **one}, "0/2", ["c.md", "b.md"], None,
         "a.md is in shard 1 of 2; the others follow in the order of the file"),
        ({"docs/a.md": "Apples."}, "0/1", ["docs/a.md"], None,
         "a document's name is all of its `name`, with the folder"),
        ({"a.md": "Apples,\u2028pears."}, "0/1", ["a.md"], None,
         "only a line feed ends a line; U+2028 is a character inside of one"),
        ({"x.md": "Figs."}, "10/12", ["x.md"], None,
         "a shard's number may have more than one digit"),
        ({"b.md": "Pears do not keep. " * 28}, "0/1", ["b.md"], None,
         "a longer document gives two chunks"),
        (one, "0/2", [], None, "the next step opens the file of every shard, even if it is empty"),
        (one, "0/2", [], left, "overwrite what a failed attempt left, also with an empty file"),
        (one, "0/1", ["a.md"], left, "overwrite what a failed attempt left"),
        ({"a.md": ""}, "0/1", ["a.md"], None, "an empty document is one document without chunks"),
    ):  # fmt: skip
        _splits(call, corpus, shard, mine, because, before)


def _splits(
    call: Probe, corpus: Mapping[str, str], shard: str, mine: Sequence[str], because: str,
    before: Sequence[str] | None,
) -> None:  # fmt: skip
    records = [
        json.dumps({"name": name, "content": text}, ensure_ascii=False)
        for name, text in corpus.items()
    ]
    lines = [line for name in mine for line in _chunks(name, corpus[name])]
    chunks = dataset(before)
    case = call(dataset(records), chunks, shard)
    into = f"chunks := {written_dataset(before)}"
    case.label = f'{PASTED}split_part({written_dataset(records)}, {into}, "{shard}")'
    nothing = "the signature has no return type, so a component must return nothing"
    case.gives(None, because=because if case.error else nothing)
    lines_of(call, case.label, chunks, because).gives(lines, because=because)
    counts = counts_of(call, case.label, chunks)
    _whole(counts, {"documents": len(mine), "chunks": len(lines)}, because)


def _whole(counts: Case, wanted: Mapping[str, int], because: str) -> None:
    """Expect these counts, and then that they are whole numbers."""
    counts.holds(bool(counts.value == wanted), f"{wanted}", because=because)
    counts.gives(wanted, because="counts are whole numbers")


def _chunks(name: str, text: str) -> list[str]:
    return [one.to_json() for one in split_document(Document(Path(name), name, text))]


@exercise("11.3", "collect", 3)
def check_collect(call: Probe) -> None:
    """Collect complete parts, with one difficulty at a time, then incomplete parts."""
    stands_alone(call)
    left = ["left by a failed attempt"]
    for parts, before, because in (
        ([(['"a"', '"b"'], 2, 1), (['"c"'], 1, 2)], None, "all lines, in the order of the parts"),
        ([(['"b"'], 1, 1), (['"a"'], 1, 1)], None,
         "keep the order of the parts, and do not sort the lines"),
        ([(["{}"], 1, 1), (["{}"], 1, 1)], None, "two equal lines are two chunks"),
        ([(["{}"], 1, 1), ([], 0, 0)], None, "the second shard was empty"),
        ([(["{}"], 1, 1)], left, "overwrite what a failed attempt left"),
        ([([], 0, 0)], left, "overwrite what a failed attempt left, also with an empty file"),
        ([(['"\u2028"'], 1, 1)], None,
         "only a line feed ends a line; U+2028 is a character inside a line"),
        ([(["", "{}"], 2, 1)], None, "all lines are in the file, also an empty line"),
        ([([" {} "], 1, 1)], None, "lines are written without a change, with their spaces"),
        ([(["{}\r"], 1, 1)], None,
         "lines are not changed, also a carriage return: open files as bytes"),
    ):  # fmt: skip
        _collects(call, parts, because, before)
    ok, short, long = (["{}"], 1, 1), (["{}"], 2, 1), (["{}", "{}"], 1, 1)
    for parts, end, because in (
        ([short], "\n", "a line is missing: the metadata say 2 chunks, the file has 1"),
        ([long], "\n", "there is one line too many: the metadata say 1 chunk, the file has 2"),
        ([([], 2, 1)], "\n", "all lines are missing: the metadata say 2 chunks, the file has 0"),
        ([(["{}"], 0, 0)], "\n",
         "there is one line too many: the metadata say 0 chunks, the file has 1"),
        ([(["", "{}"], 1, 1)], "\n", "an empty line is a line, too: the file has 2"),
        ([ok, short], "\n", "the second part has 1 line and not 2"),
        ([short, ok], "\n", "the first part has 1 line and not 2"),
        ([long, short], "\n",
         "both parts are wrong, although the sums are equal: one has a line too many, the other "
         "has lost one"),
        ([(["{}", "{"], 2, 1), ok], "",
         "the first part ends with half a line without a line feed, and the next part would be "
         "added to this line"),
    ):  # fmt: skip
        case, _ = _collect(call, parts, None, end)
        case.raises(ValueError, because=because)


Part = tuple[list[str], int, int]
"""The lines of a part, and what its metadata say: how many chunks, of how many documents."""


def _collects(
    call: Probe, parts: Sequence[Part], because: str, before: Sequence[str] | None
) -> None:
    case, chunks = _collect(call, parts, before)
    lines = [line for own, _, _ in parts for line in own]
    if case.error or case.value != len(lines):
        case.gives(len(lines), because=because)
    case.gives(len(lines), because="the signature says int, but a sum of floats is a float")
    lines_of(call, case.label, chunks, because).gives(lines, because=because)
    sums = {"documents": sum(part[2] for part in parts), "chunks": len(lines)}
    _whole(counts_of(call, case.label, chunks), sums, "the sums of both counts")


def _collect(
    call: Probe, parts: Sequence[Part], before: Sequence[str] | None, end: str = "\n"
) -> tuple[Case, Any]:
    """Call it with parts as files, the first of which ends with `end`."""
    ends = [end, *"\n" * (len(parts) - 1)]
    counts = [{"documents": float(of), "chunks": float(count)} for _, count, of in parts]
    files = [(own, end, n) for (own, _, _), end, n in zip(parts, ends, counts, strict=True)]
    made = [dataset(own, end=end, **n) for own, end, n in files]
    chunks = dataset(before)
    case = call(made, chunks)
    given = [written_dataset(own, end=end, **n) for own, end, n in files]
    case.label = f"{PASTED}collect([{', '.join(given)}], chunks := {written_dataset(before)})"
    return case, chunks


@exercise("11.4", "build_pipeline", 3, time_limit=30)
def check_build_pipeline(call: Probe) -> None:
    """Compile what it returns, and read the wiring."""
    from kfp.dsl.graph_component import GraphComponent

    label = "build_pipeline(read_folder, split_step, collect_step)"
    case = call(*_components())
    case.label = label
    case.holds(
        case.error is None,
        "a pipeline that compiles: a function under @dsl.pipeline, returned and not called",
        got=case.raised,
    )
    given = case.value
    if not isinstance(given, GraphComponent):
        kind = "the three components were called, and nothing was returned"
        call.fail(label, got=kind if given is None else f"{shown(given)} ({type(given).__name__})",
                  expected="a pipeline: a function under @dsl.pipeline")  # fmt: skip
    for what, value, expected, because in _wiring(_as_dict(given)):
        read = Case(call, f"{label}.pipeline_spec  # {what}", value=value)
        read.gives(expected, because=because)


def _wiring(spec: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any, str]]:
    """Give what is read in a compiled pipeline, its value, what is expected, and why.

    One after the other, as each can only be read if what comes before it is right.
    """
    from course_lib.teaching.lab.dag import read_dag

    yield "its name", spec["pipelineInfo"]["name"], "split-in-shards", ""
    parameters = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    kinds = {name: one["parameterType"] for name, one in parameters.items()}
    yield "its parameters", kinds, {"folder": "STRING", "shards": "LIST"}, ""
    default = parameters["shards"].get("defaultValue")
    yield "the default of shards", default, ["0/3", "1/3", "2/3"], ""
    optional = [name for name, one in parameters.items() if one.get("isOptional")]
    yield ("parameters with a default", optional, ["shards"],
           "the folder has no default, because without it there is nothing to read")  # fmt: skip
    dag = read_dag(spec)
    yield ("its tasks", sorted(dag.tasks), ["collect", "read-folder", "split-part"],
           "each component is used once")  # fmt: skip
    loops = [(group.label, group.members) for group in dag.groups]
    yield ("its loops", loops, [("for each of shards, 2 at once", ["split-part"])],
           "only the splitting is done for each shard, 2 at the same time")  # fmt: skip
    retries = [one for one in dag.tasks["split-part"].notes if "retr" in one]
    yield "retries of split-part", retries, ["2 retries"], "the task in the loop has 2 retries"
    edges = sorted((one.producer, one.label, one.consumer) for one in dag.edges if one.label)
    wanted = [("read-folder", "documents", "split-part"), ("split-part", "chunks", "collect")]
    because = "each step gets the output of the step before it"
    yield "who gives what to whom", edges, wanted, because
    tasks = spec["root"]["dag"]["tasks"]
    folder = tasks["read-folder"].get("inputs", {}).get("parameters", {}).get("folder", {})
    yield ("the folder that is read", folder, {"componentInputParameter": "folder"},
           "it is the pipeline's parameter")  # fmt: skip
    [loop] = [one for one in spec["components"].values() if "dag" in one]
    shard = loop["dag"]["tasks"]["split-part"]["inputs"]["parameters"].get("shard", {})
    item = {"componentInputParameter": "pipelinechannel--shards-loop-item"}
    yield "the shard that is split", shard, item, "each turn of the loop has its own shard"
    outputs = spec["root"]["dag"].get("outputs", {}).get("artifacts", {})
    selected = [one["artifactSelectors"] for one in outputs.values()]
    collected = {"producerSubtask": "collect", "outputArtifactKey": "chunks"}
    yield ("its outputs", selected, [[collected]],
           "it returns the output of collect, and its return type is `Dataset`")  # fmt: skip
    declared = spec["root"]["outputDefinitions"]["artifacts"].values()
    titles = [one["artifactType"]["schemaTitle"] for one in declared]
    yield ("the type of its output", titles, ["system.Dataset"],
           "the pipeline's own `-> Dataset` says what it returns")  # fmt: skip
    executors = spec["deploymentSpec"]["executors"].values()
    others = sorted({one["container"]["image"] for one in executors} - {IMAGE})
    yield ("images of components other than the three that it was given", others, [],
           "use the three arguments, and not the components of the notebook")  # fmt: skip


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
