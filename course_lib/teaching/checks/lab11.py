"""Lab 11, the pipeline: a component, counts that are compared, and how the steps are wired."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from course_lib.errors import InputError
from course_lib.loader.splitting import IngestOptions
from course_lib.loader.staged import Origin, split_to_files
from course_lib.pipeline.corpus import Shard
from course_lib.pipeline.storing import COUNTS
from course_lib.records import Document
from course_lib.teaching.checks.artifacts import (
    compiled_pipeline,
    corpus_of,
    dataset,
    lines_of,
    stands_alone,
    written_dataset,
)
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.outcomes import explained
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.values import difference, shown, written
from course_lib.teaching.checks.wiring import (
    AT_THE_END,
    CACHED,
    MEMORY,
    RETRIES,
    SECRETS,
    VOLUMES,
    Step,
    read_wiring,
)
from course_lib.teaching.taught import function_of

PASTED = "from course_lib.teaching.checks.artifacts import corpus, dataset\n"
"""What a cell needs before the calls that a failed check shows."""

LEFT = ["left by a failed attempt"]


@exercise("11.1", "pipeline.components:split_documents", 3, time_limit=15)
def check_split_documents(call: Probe) -> None:
    """Split one document, some of three, none, and write over what is there."""
    call.given = function_of(call.given)
    with call.part(1, "both files, of the documents of a shard", needed=False):
        stands_alone(call)
        for split in SHARDS:
            _files(_splits(call, *split))
        because = "the next step opens the files of every shard, even if it is empty"
        _files(_splits(call, ONE, "0/2", because))
        because = "overwrite what a failed attempt left, also if the shard is empty"
        _files(_splits(call, ONE, "0/2", because, before=LEFT))
    with call.part(1, "the counts and the shard, in both artifacts"):
        for split in (*SHARDS, EMPTY):
            _counts(_splits(call, *split))
        _counts(_splits(call, *TORN, kept=LOST))
    with call.part(1, "files that are there, sizes, the origin, and nothing returned"):
        _files(_splits(call, ONE, "0/1", "overwrite what a failed attempt left", before=LEFT))
        _files(_splits(call, *EMPTY))
        because = "the sizes are those that were given"
        _files(_splits(call, {"b.md": LONG}, "0/1", because, sizes=(200, 0)))
        done = _splits(call, *TORN, kept=LOST)
        _files(done)
        because = "the signature has no return type, so a component returns nothing"
        done.case.gives(None, because=because)


LOST = ("torn.md",)
ONE = {"a.md": "Apples."}
LONG = "Pears do not keep. " * 28
EMPTY = {"a.md": ""}, "0/1", "an empty document is one document without chunks"
TORN = ONE, "0/1", "a file that could not be read is kept in the origin"
SHARDS = (
    (ONE, "0/1", "shard 0 of 1 holds every document: here one, of one chunk"),
    ({"c.md": "Figs.", "b.md": "Pears.", **ONE}, "0/2",
     "a.md is in shard 1 of 2; the others keep the order of the file"),
    ({"x.md": "Figs."}, "10/12", "a shard's number may have more than one digit"),
    ({"docs/a.md": "Apples."}, "10/12",
     "the shard of a document is that of its whole name: here of 'docs/a.md', not of 'a.md'"),
)  # fmt: skip
"""The texts of documents by their names, a shard, and why it is split so."""


class _Split(NamedTuple):
    """A call, its artifacts and what they should hold."""

    case: Case
    artifacts: dict[str, Any]
    wanted: dict[str, Any]
    because: str


def _splits(
    call: Probe, texts: Mapping[str, str], shard: str, because: str, *, kept: Sequence[str] = (),
    before: Sequence[str] | None = None, sizes: tuple[int, int] = (512, 64),
) -> _Split:  # fmt: skip
    made = corpus_of(texts, kept)
    origin, lines = made.origin, list(made.lines())
    chunks, rows = dataset(before), dataset(before)
    case = call(dataset(lines), chunks, rows, shard, *sizes)
    empty = written_dataset(before)
    into = f"chunks := {empty}, rows := {empty}"
    more = f", kept={kept!r}" if kept else ""
    given = f"corpus({written(dict(texts))}{more}), {into}, {shard!r}, {sizes[0]}, {sizes[1]}"
    case.label = f"{PASTED}split_documents({given})"
    if case.error:
        case.gives(None, because=because)
    mine = [one for one in made.documents if Shard.parse(shard).holds(one.name)]
    wanted = _wanted(replace(origin, shard=shard), mine, sizes)
    return _Split(case, {"chunks": chunks, "rows": rows}, wanted, because)


def _files(done: _Split) -> None:
    case, because = done.case, done.because
    for name, artifact in done.artifacts.items():
        lines = lines_of(case.probe, case.label, artifact, because, name)
        lines.gives(done.wanted[name], because=because)


def _counts(done: _Split) -> None:
    wanted = done.wanted["counts"]
    for name, artifact in done.artifacts.items():
        counts = {one: artifact.metadata.get(one) for one in wanted}
        because = f"{done.because}; the counts and the shard are in both artifacts"
        if any(isinstance(one, float) for one in counts.values()):
            because = "counts are whole numbers, in both artifacts"
        Case(done.case.probe, f"{done.case.label}; {name}.metadata").holds(
            difference(counts, wanted) is None, f"{wanted}", got=f"{counts}", because=because
        )


def _wanted(origin: Origin, mine: Sequence[Document], sizes: tuple[int, int]) -> dict[str, Any]:
    options = IngestOptions(chunk_size=sizes[0], chunk_overlap=sizes[1])
    with TemporaryDirectory() as folder:
        rows, chunks = Path(folder, "rows"), Path(folder, "chunks")
        counts = split_to_files(origin, mine, options, rows, chunks)
        made = {
            one.name: one.read_text(encoding="utf-8").split("\n")[:-1] for one in (rows, chunks)
        }
    return {**made, "counts": {**counts, "shard": origin.shard}}


def _counted(chunks: float, split: float, others: float = 1) -> dict[str, float]:
    return {**dict.fromkeys(COUNTS, others), "chunks": chunks, "split": split}


@drawn()
def any_counts(random: Draws) -> Call:
    """Draw the counts of some shards, of which one may be wrong."""
    number = random.choice((int, float))
    shards = [
        {
            **{name: number(random.choice((0, 1, random.randint(0, 900)))) for name in COUNTS},
            "split": number(0),
        }
        for _ in range(random.randint(0, 4))
    ]
    for shard in shards:
        shard["split"] = shard["chunks"]
    if shards and random.chance(0.3):
        random.choice(shards)["split"] += random.choice((-1, 1, 10))
    return given(shards)


@exercise("11.2", "pipeline.storing:add_up", 2, draws=any_counts)
def check_add_up(call: Probe) -> None:
    """Add up one shard and two, as floats, then refuse shards that are wrong."""
    one = {name: at for at, name in enumerate(COUNTS, 1)}
    right = {**one, "split": one["chunks"]}
    twice = {name: 2 * value for name, value in one.items()}
    floats = {name: float(value) for name, value in right.items()}
    empty = {**dict.fromkeys(COUNTS, 0), "split": 0}
    fine: list[tuple[list[dict[str, Any]], dict[str, int], str]] = [
        ([right], one, "one shard, nothing lost; `split` is not in the result"),
        ([right, right], twice, "the sum of each count over all shards"),
        ([floats], one, "2 == 2.0 in Python, but the results are whole numbers"),
        ([right, empty], one, "the second shard was empty"),
        ([{**right, "split": float(right["split"])}], one,
         "`chunks` and `split` are equal, although only one of them is a float"),
        ([right, right, empty, right], {name: 3 * value for name, value in one.items()},
         "the sum of each count over all shards"),
    ]  # fmt: skip
    none = [
        ([empty], dict.fromkeys(COUNTS, 0), "a sum of 0 is a sum: each count has one"),
        ([], dict.fromkeys(COUNTS, 0), "without a shard, each sum is 0"),
    ]
    with call.part(1, "sums, in whole numbers", needed=False):
        for shards, total, because in fine + none:
            case = call(shards)
            case.gives(total, because=_why_counts(case) or because)
    with call.part(1, "shards that are refused, and those that are not"):
        for shards, _, because in fine:
            case = call(shards)
            case.holds(case.error is None, "no exception", got=case.raised, because=because)
        one_fine = _counted(3, 3)
        for shards, because in (
            ([_counted(3, 2)], "there is one chunk too many: `chunks` is 3, and `split` is 2"),
            ([_counted(2, 3)], "a chunk was lost: `chunks` is 2, and the splitter counted 3"),
            ([_counted(4000, 4001)], "one chunk of many was lost: `split` is 4001"),
            ([_counted(0, 3)], "all chunks were lost: `chunks` is 0, and the splitter counted 3"),
            ([_counted(3, 0)], "`chunks` is 3, although it is a shard that has none: `split` is 0"),
            ([one_fine, _counted(2.0, 3.0)], "the second shard has lost a chunk"),
            ([_counted(2.0, 3.0), one_fine], "the first shard has lost a chunk"),
            ([_counted(4, 3), _counted(2, 3)],
             "both shards are wrong, although the sums are equal: the first has a chunk too many "
             "(4 for 3), the second has lost one (2 of 3)"),
        ):  # fmt: skip
            call(shards).raises(InputError, because=because)


def _why_counts(case: Case) -> str:
    """Return what is wrong with the counts that were returned, whatever their values are."""
    if case.error is not None:
        return ""
    found = case.value
    if not isinstance(found, dict):
        return "one sum for each of the counts, by its name"
    if any(isinstance(one, float) for one in found.values()):
        return "2 == 2.0 in Python, but counts are whole numbers"
    if "split" in found:
        return "`split` is not in the result"
    if found.get("chunks") == 1:
        return (
            "one shard, nothing lost: `chunks` is the sum of the chunks, not the number of shards"
        )
    return ""


WHY = {
    CACHED: "a cached result would leave the database as it is",
    RETRIES: "up to 3 retries, after 2 seconds, and then each time after 3 times as long",
    MEMORY: 'the request is "512Mi", the limit "2Gi"',
    SECRETS: "DATABASE_URL of the Secret rag-database becomes the variable DATABASE_URL",
    VOLUMES: "a step without documents has no volume",
    AT_THE_END: "only an exit handler's task runs whatever happened",
}
"""What each setting of a step with the database is for."""


@exercise("11.3", "pipeline.pipelines:with_database", 2, time_limit=20)
def check_with_database(call: Probe) -> None:
    """Compile a pipeline of one step that went through it, and read the step's settings."""
    from kfp import dsl

    returned: list[tuple[object, bool]] = []

    def pipeline():  # type: ignore[no-untyped-def]
        task = _hollow()()
        found = call.given(task)
        returned.append((found, found is task))

    label = "task = with_database(step())"
    from course_lib.pipeline.pipelines import with_database

    def expected():  # type: ignore[no-untyped-def]
        with_database(_hollow()())

    [step] = _steps(call, pipeline, label).values()
    [wanted] = _steps(call, dsl.pipeline(expected), label).values()
    with call.part(1, "the step again, never cached, with the address of the database",
                   needed=False):  # fmt: skip
        found, is_task = returned[-1]
        Case(call, "with_database(task)").holds(
            is_task, "the task that it was given", got=shown(found),
            because="it returns the step, so that a pipeline can go on with it",
        )  # fmt: skip
        _same_settings(call, label, step, wanted, {CACHED, SECRETS})
    with call.part(1, "retries and memory"):
        _same_settings(call, label, step, wanted, wanted.settings.keys() - {CACHED, SECRETS})


def _same_settings(
    call: Probe, label: str, step: Step, wanted: Step, topics: AbstractSet[str]
) -> None:
    for topic, value in wanted.settings.items():
        if topic in topics:
            said = Case(call, f"{label}  # compiled: {topic}", value=step.settings[topic])
            said.gives(value, because=WHY[topic])


def _hollow() -> Callable[[], Any]:
    """Return a component that does nothing."""
    from kfp import dsl

    def step():  # type: ignore[no-untyped-def]
        pass

    made: Callable[[], Any] = dsl.component(step, base_image="none", install_kfp_package=False)
    return made


def _steps(call: Probe, pipeline: Any, label: str = "") -> dict[str, Step]:
    return read_wiring(*compiled_pipeline(call, pipeline, label))


@exercise("11.4", "pipeline.pipelines:docs_pipeline", 3, waits_for=["11.3"], time_limit=30)
def check_docs_pipeline(call: Probe) -> None:
    """Compile it, and compare its steps with the library's: what each gets, and its settings."""
    from course_lib.pipeline.pipelines import docs_pipeline

    label = "dsl.pipeline(docs_pipeline)"
    with explained(COMPILES):
        found = _steps(call, call.given)
    wanted = _steps(call, docs_pipeline)
    with call.part(1, "each step once, in the exit handler and in the loop", needed=False):
        without = sorted(wanted.keys() - found.keys())
        more = sorted(found.keys() - wanted.keys())
        Case(call, f"{label}  # its steps").holds(
            not without and not more,
            f"each once: {', '.join(sorted(wanted))}",
            got="; ".join(
                f"{word} {', '.join(names)}"
                for word, names in (("no", without), ("one more:", more))
                if names
            ),
            because="each component is used once",
        )
        _same_steps(call, label, found, wanted, {AT_THE_END, "is in"})
    with call.part(1, "what each step gets"):
        _same_steps(call, label, found, wanted, {"gets"})
    with call.part(1, "what each step was set to"):
        _same_steps(call, label, found, wanted, READ.keys() - {AT_THE_END, "is in", "gets"})


def _same_steps(
    call: Probe, label: str, found: Mapping[str, Step], wanted: Mapping[str, Step],
    topics: AbstractSet[str],
) -> None:  # fmt: skip
    """Compare what is said of each step; a call that is missing (of one or two) costs its part."""
    few = len(wanted.keys() - found.keys()) <= 2
    names = [name for name in wanted if name in found or not few]
    for topic, because in READ.items():
        for name in names if topic in topics else ():
            said = f"{label}  # compiled: {name}: {topic}"
            got = _read(found[name], topic) if name in found else "no such step"
            why = _unwrapped(found[name], wanted[name], topic) if name in found else ""
            Case(call, said, value=got).gives(_read(wanted[name], topic), because=why or because)


COMPILES = {
    "in an exit task": "report is the task of the exit handler: with dsl.ExitHandler(…):",
    "fanned-in": "the index is built once, after the loop, of what dsl.Collected(…) collects",
    "'stored' of component": "dsl.Collected(…) makes one list of what the steps of a loop returned",
    "of component 'evaluate'": "evaluate gets what build_index returned, so it comes after it",
}
"""What a pipeline needs to compile, by what kfp says."""


def _unwrapped(found: Step, wanted: Step, topic: str) -> str:
    """Return which function a step's settings lack, where that is the cause."""
    if topic not in wanted.settings:
        return ""
    had, needs = found.settings, wanted.settings
    for name, setting, what in (
        ("with_documents(…)", VOLUMES, "reads a file of data/"),
        ("with_database(…)", SECRETS, "needs the database"),
    ):
        if needs[setting] and not had[setting]:
            return f"this step {what}: wrap it in {name}"
        if had[setting] and not needs[setting]:
            return f"this step is wrapped in {name}, and it needs nothing of it"
    return ""


READ = {
    AT_THE_END: "report is the task of the exit handler",
    "is in": "all other steps are in the exit handler; splitting and storing, and nothing else, "
    "are done for each shard, 4 at once",
    "gets": "each input is the output of another step, or the parameter of its name",
    CACHED: "what looks at the world outside is never cached: a folder, a database; the others are",
    SECRETS: "the address of the database is for steps that use it, and no other",
    RETRIES: "with_database and with_documents set them",
    MEMORY: "with_database sets it",
    VOLUMES: "with_documents mounts documents_claim where a step reads a file of data/",
}
"""What is compared of each step, the most important first, and why it is so."""


def _read(step: Step, topic: str) -> Any:
    return {"is in": step.around, "gets": step.inputs, **step.settings}[topic]
