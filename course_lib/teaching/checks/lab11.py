"""Lab 11, the pipeline: a step that survives, a fan-in, faults, and how the steps are wired."""

from __future__ import annotations

import json
from typing import Any

from course_lib.errors import InputError
from course_lib.pipeline.faults import SECRETS
from course_lib.pipeline.storing import COUNTS
from course_lib.teaching.checks.artifacts import RENAMING, writing
from course_lib.teaching.checks.definition import Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Drawn, Draws, drawn, given
from course_lib.teaching.checks.encoded import alike, kind_of
from course_lib.teaching.checks.wiring import wiring


def of_what_is_left(value: Any, *call: Any) -> str:
    """Say what is wrong, if a file of the step's own is left beside the one that it writes."""
    if not value["dict"]['"other files"']:
        return ""
    killed = "".join(call[3:4]) and (
        ": a kill runs no `except` and no `finally`, and the next attempt has another process id"
    )
    return f"a file is left beside it{killed}"


@drawn(
    60,
    apply=writing,
    why=of_what_is_left,
    says={"'ascii' codec": "without `encoding=…`, the encoding is the machine's"},
    paste=lambda *call: (
        "from course_lib.teaching.checks.artifacts import writing\n"
        f"writing(write_shard, {', '.join(map(repr, call))})"
    ),
    varies=(1,),
)
def any_shard(random: Draws) -> Call:
    """Draw names with lines, one of a few shards, an old file, and where an attempt fails."""
    names = random.names(random.randint(0, 6))
    lines = {name: [random.choice(WORDS) for _ in range(random.randint(0, 3))] for name in names}
    shard = random.choice(("0/1", "0/1", "0/2", "1/2", "2/3", "10/12", "0/30"))
    fails = random.choice(names) if names and random.chance(0.4) else ""
    return given(lines, shard, random.chance(0.6), fails)


WORDS = ("", "Figs.", "Äpfel", " plums ", '{"a": 1}', "日本")


@exercise("11.1", "loader.shards:write_shard", draws=any_shard, time_limit=10)
def check_write_shard() -> Parts:
    """Write the lines of a shard, over an old file, and after an attempt that failed."""
    one, two = {"a.md": ["Apples."]}, {"a.md": ["Apples."], "b.md": ["Figs.", "Plums."]}
    none: dict[str, list[str]] = {"a.md": []}
    many = {f"{letter}.md": [letter] for letter in "abcdefghijklmnop"}
    order = {"c.md": ["Kiwis."], "b.md": ["Figs.", "Plums."], "a.md": ["Apples."]}
    return [
        part(1, "the lines of this shard, and of no other",
            ((one, "0/1"), "shard 0 of 1 has every name"),
            ((two, "0/2"), "a.md is in shard 1 of 2: its lines are not written, and not made"),
            ((order, "0/2"), "the names keep their order, and the lines of each theirs"),
            (({"x.md": ["Figs."]}, "10/12"), "a shard's number may have more than one digit"),
            (({"docs/a.md": ["Figs."]}, "10/12"), "a shard is that of the whole name"),
            ((one, "0/2"), "an empty shard has a file, too: the next step opens it"),
            ((none, "0/1"), "a name may have no lines"),
            (({"a.md": ["Äpfel"]}, "0/1"), "the file is UTF-8"),
            ((one, "0/1", False, "", False, True),
             r'Windows writes "\r\n" for each "\n", unless you say newline="\n"'),
            ((many, "0/2"), "the names of shard 0 of 2 are the same in every process"),
            needed=False),
        part(1, "the whole file, or the old one",
            ((one, "0/1", True), "the new file takes the old one's place in one step: it is made "
             "beside it (another folder may be on another disk), closed, and then renamed"),
            ((one, "0/2", True), "also if this shard is empty"),
            ((two, "0/1", True, "b.md"), "after an error, the old file is as it was"),
            ((two, "0/1", False, "a.md"), "after an error there is no file, and not half of one"),
            ((two, "0/1", True, "", True), "shard.1 is made in this folder at the same time, and "
             "notes.part is not yours: both stay, so take and delete only files of your own")),
        part(1, "a second attempt",
            ((two, "0/1", False, "b.md"), "the second attempt writes each line once"),
            ((two, "0/1", True, "a.md"), "the second attempt writes each line once"),
            ((two, "0/1", True, RENAMING), "the first attempt was killed just before the rename")),
    ]  # fmt: skip


def sums_of(answer: Any, sort: str, stored: Any, shards: Any) -> Any:
    """Return the sums, if JSON can hold them, or only that there was no exception."""
    found = answer(stored, shards)
    return "no exception" if sort == "accepts" else json.dumps(found) and found


@drawn(apply=sums_of, paste="add_up({1}, {2})", says={
    "not JSON serializable": "a step returns JSON: whole numbers of Python, not of NumPy"
})  # fmt: skip
def any_counts(random: Draws) -> Call:
    """Draw the counts of some shards, of which one may be wrong, in the middle as at the ends."""
    of, sources = random.choice((1, 2, 3, 5, 12)), random.choice((1, 1, 2))
    names = [f"{number}/{of}" for number in range(of)] * sources
    stored: list[dict[str, Any]] = []
    for name in names:
        number = random.choice((int, float))
        counts = random.sample(COUNTS, len(COUNTS))
        one = {each: number(random.choice((0, 1, random.randint(0, 900)))) for each in counts}
        stored.append({"split": one["chunks"], "shard": name, **one})
    place = random.choice((0, len(stored) // 2, -1))
    harm = random.choice(("none", "none", "none", "lost", "missing", "twice", "instead"))
    if harm == "lost":
        stored[place]["split"] += random.choice((-1, 1, 10))
    if harm == "twice":
        stored.append(dict(stored[place]))
    if harm == "missing":
        del stored[place]
    if harm == "instead" and of > 1:
        stored[place] = dict(stored[place - 1])
    random.shuffle(stored)
    return given("sums", stored, names)


@exercise("11.2", "pipeline.storing:add_up", draws=any_counts)
def check_add_up() -> Parts:
    """Add up shards, as floats and in any order, then refuse those that are wrong."""
    right: dict[str, float] = {name: at for at, name in enumerate(COUNTS, 1)}
    right["split"] = right["chunks"]
    empty = dict.fromkeys(right, 0.0)

    def came(*shards: tuple[int, dict[str, float]], of: int = 3) -> list[dict[str, Any]]:
        return [{"shard": f"{number}/{of}", **one} for number, one in shards]

    def cut(there: float, split: float) -> dict[str, float]:
        return {**right, "chunks": there, "split": split}

    three, two, one = ([f"{number}/{of}" for number in range(of)] for of in (3, 2, 1))
    floats = {name: float(value) for name, value in right.items()}
    fine = (
        (came((0, right), of=1), one, "one shard, nothing lost; `split` is not in the result"),
        (came((0, right), (1, right), (2, right)), three, "the sum of each count over all shards"),
        (came((2, right), (0, empty), (1, right)), three, "shards come in any order; one is empty"),
        (came((0, floats), of=1), one, "2 == 2.0 in Python, but the results are whole numbers"),
        (came((0, {**right, "split": 2.0}), of=1), one, "2 chunks are not less than 2.0"),
        (came((0, right), (1, right), (0, right), (1, right), of=2), two * 2,
         "two sources have shards of these names: each has to come twice"),
    )  # fmt: skip
    alone = came((0, right), of=1)
    names: tuple[tuple[list[dict[str, Any]], list[str], str, str], ...] = (
        (came((0, right), (2, right)), three, "1/3", "the shard in the middle is missing"),
        (came((0, right), (1, right)), three, "2/3", "the last shard is missing"),
        ([], one, "0/1", "no shard came at all"),
        (came((0, right), (1, right), (1, right), (2, right)), three, "1/3", "one came twice"),
        (came((0, right), (2, right), (2, right)), three, "1/3",
         "there are three, but one came twice and another not at all"),
        (came((0, right), (1, right), of=2), one, "1/2", "a shard came that nobody waits for"),
        (alone, two[:1] * 2, "0/2", "the shard of another division came"),
        (came((0, right), (0, right), (1, right), of=2), two * 2, "1/2",
         "of two sources, the second has lost a shard"),
    )  # fmt: skip
    lost = (
        (came((0, right), (1, cut(2, 3)), (2, right)), "1/3", "in the middle, a chunk was lost"),
        (came((0, right), (1, cut(0, 3)), (2, right)), "1/3", "in the middle, a file was empty"),
        (came((0, right), (1, cut(6.0, 3.0)), (2, right)), "1/3", "its lines are there twice"),
        (came((0, cut(4000, 4001)), (1, right), (2, right)), "0/3", "one of many chunks was lost"),
        (came((0, right), (1, right), (2, cut(3, 0))), "2/3", "chunks of a shard that has none"),
        (came((2, cut(2, 3)), (0, right), (1, right)), "2/3", "the last shard came first"),
        (came((0, cut(4, 3)), (1, cut(2, 3)), (2, right)), "0/3",
         "two shards are wrong (4 for 3, 2 for 3), although the sums are equal"),
    )  # fmt: skip
    return [
        part(1, "sums, and shards that are missing or came twice",
            *(case("sums", *args, because=because) for *args, because in fine),
            case("sums", [], [], because="without a shard, each sum is 0"),
            *(case("accepts", stored, shards, raises=InputError, because=because)
              for stored, shards, _, because in names),
            needed=False),
        part(1, "chunks that were lost, or are there twice",
            *(case("accepts", *args, because=because) for *args, because in fine),
            *(case("sums", stored, three, raises=InputError, mentions=name, because=because)
              for stored, name, because in lost)),
    ]  # fmt: skip


def any_inputs(random: Draws) -> dict[str, str]:
    """Draw inputs with what each comes from; few are secrets."""
    known = ("page", "pages", "tokens", "passwords", "folder", "url", *sorted(SECRETS))
    some = random.sample(known, random.randint(0, 3))
    return {name: random.choice(("the parameter url", "list-pages's Output")) for name in some}


@drawn(80)
def any_step(random: Draws) -> Call:
    """Draw a step with any of the faults, and almost with one."""
    step = {
        "name": random.choice(("store", "split")),
        "cached": random.chance(0.5),
        "secrets": random.some(("DATABASE_URL", "GITHUB_TOKEN")),
        "inputs": any_inputs(random),
        "loop": random.chance(0.6),
        "unknown": random.some(("datetime", "re")),
    }
    return given(step, random.some(("store", "split", "load")))


@exercise("11.3", "pipeline.faults:faults_of", draws=any_step)
def check_faults_of() -> Parts:
    """Find no fault, each of the four alone, what is almost one, and all together."""
    right = {"name": "store", "cached": False, "secrets": ["DATABASE_URL"],
             "inputs": {"page": "one list-pages"}, "loop": True, "unknown": []}  # fmt: skip
    used = ["list-pages", "store"]

    def step(**other: Any) -> dict[str, Any]:
        return {**right, **other}

    password = {"page": "one list-pages", "database_url": "the parameter url"}
    first = {"token": "the parameter t", "page": "one list-pages"}
    both = {"database_url": "the parameter url", "token": "the parameter t"}
    every = step(cached=True, inputs=password, unknown=["re"])
    return [
        part(1, "the cache and the loop",
            ((right, used), "nothing is wrong with this step: the list is empty"),
            ((step(cached=True), used), "an old result would leave a new database empty"),
            ((step(cached=True, secrets=[]), used), "a step that changes nothing may be cached"),
            ((step(cached=True, secrets=["GITHUB_TOKEN"]), used), "it reads GitHub: no database"),
            ((step(secrets=["GITHUB_TOKEN", "DATABASE_URL"], cached=True), used),
             "the database may be one of several secrets"),
            ((step(secrets=["TEST_DATABASE_URL", "database_url"], cached=True), used),
             "these are other variables than DATABASE_URL"),
            ((right, ["list-pages"]), "nobody waits for the turns of this loop"),
            ((step(loop=False), ["list-pages"]), "it is the last step, and in no loop"),
            ((right, ["store-all", "list-pages"]), "store-all is another step"),
            needed=False),
        part(1, "passwords, names, and several faults",
            ((step(inputs=password), used), "whoever may see the run reads its parameters"),
            ((step(inputs={"token": "the parameter t"}), used), "a token is a secret"),
            ((step(inputs=first), used), "the secret need not be the last input"),
            ((step(inputs=both), used), "one fault, however many secrets"),
            ((step(inputs={"tokens": "the parameter t"}), used), "`tokens` is not in `SECRETS`"),
            ((step(inputs={"Token": "the parameter t"}), used), "`Token` is not in `SECRETS`"),
            ((step(inputs={"page": "the parameter password"}), used), "the input's name counts"),
            ((step(inputs={}), used), "a step without inputs has no password among them"),
            ((step(unknown=["datetime"]), used), "the import is outside of the function"),
            ((step(unknown=["re", "json"]), used), "one fault, however many names"),
            ((every, ["list-pages"]), "all four, in the order of the statement")),
    ]  # fmt: skip


COMPILES = {
    "a placeholder has no value": "Python's `if` is decided now, once for all runs",
    "'PipelineParameterChannel'": "a placeholder has no value yet: loop with dsl.ParallelFor(…)",
    "within a dsl.ExitHandler": "every step but report is inside of `with dsl.ExitHandler(…):`",
    "within a dsl.ParallelFor": "the index is built after the loop, of a dsl.Collected(…)",
    "in an exit task": "report is the task of the exit handler: with dsl.ExitHandler(…):",
    "multiple outputs": 'a step with several outputs has a name for each: outputs["…"]',
    "PipelineTask": "a step gets an output, .output or outputs[…], and not the step that has it",
    "no attribute 'replace'": 'a duration is a text, such as "5s"',
    "expected string or bytes-like object": 'an amount of memory is a text, such as "1Gi"',
    "'stored' of component": "dsl.Collected(…) makes one list of what the steps of a loop returned",
    "of component 'evaluate'": "evaluate gets what build_index returned, so it comes after it",
}
"""What a pipeline needs to compile, by what kfp says."""


def same_steps(expected: Any, got: Any) -> bool:
    """Compare what both say of a step: one call that is missing costs its own part alone."""
    if kind_of(expected) == kind_of(got) == "dict":
        wanted, found = expected["dict"], got["dict"]
        both = [name for name in wanted if name in found]
        if both and len(wanted) - len(both) <= 2:
            return all(alike(wanted[name], found[name]) for name in both)
    return alike(expected, got)


COMPILED = Drawn(
    apply=lambda answer, topic: wiring(answer)[topic],
    agrees=same_steps,
    paste="from course_lib.teaching.checks.wiring import wiring\nwiring(docs_pipeline)[{0}]",
    says=COMPILES,
)
"""How a topic of what was compiled is read."""


NOTHING_ELSE = "nothing else is set: all who get the compiled file can read it, also a password"

ALL_STEPS = (
    ("kfp says", "kfp calls the function once, to compile it"),
    ("steps", "each component is used once"),
    ("is in", "report is the task of the exit handler, and all other steps are in it; splitting "
     "and storing, and nothing else, are done for each shard, 4 at once"),
    ("gets", "each input is the output of another step, or the parameter of its name"),
    ("parameters", "parameters and defaults stay as they were given; no parameter is a secret"),
    ("what else is set", NOTHING_ELSE),
    ("secrets", "with_database(…) wraps each step that uses the database, and no other one"),
    ("volumes", "with_documents(…) mounts documents_claim where a step reads a file of data/"),
    ("may come from the cache", "only what looks at a folder or a database is never cached"),
    ("retries after so many seconds", "with_database and with_documents set them"),
    ("memory in Mi: request, limit", "with_database sets it"),
)  # fmt: skip
"""What is compared of the pipeline, the most important first, and why it is so."""


@exercise("11.4", "pipeline.pipelines:docs_pipeline", draws=COMPILED, time_limit=120)
def check_docs_pipeline() -> Parts:
    """Compile it, and compare its steps with the library's: what each gets, and its settings."""
    rows = [((topic,), because) for topic, because in ALL_STEPS]
    return [
        part(1, "each step once, in the exit handler and in the loop", *rows[:3], needed=False),
        part(1, "what each step gets", *rows[3:5]),
        part(1, "what each step was set to", *rows[5:]),
    ]
