"""Lab 12, a fresh index: the plan, what has to be embedded, orphans, and the lock.

What the learner's statement leaves in the X-Ray's own tables, in an empty schema, is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psycopg

from course_lib.indexing.plan import Plan
from course_lib.teaching.checks import package_rows as rows
from course_lib.teaching.checks.definition import Case, Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.statements import TIME_LIMIT


def _plan(function: Callable[..., Any], *args: Any) -> Any:
    """Return a plan, each of its lists in one order."""
    plan = function(*args)
    if isinstance(plan, Plan):
        for keys in (plan.skip, plan.add, plan.change, plan.remove):
            if isinstance(keys, list):
                keys.sort(key=repr)
    return plan


@drawn(150, apply=_plan, varies=(0, 1))
def any_states(random: Draws) -> Call:
    """Draw keys that are on one side or on both, and states of all kinds."""
    near = ((1, 2, "1"), (1, 1.0, None), ("", None, "A"), ("A", "a", "5f2c"), ([1], [2], [1]),
            ({"x": 1, "y": 2}, {"y": 2, "x": 1}, {"x": 1}), (0, 0.0, ""))  # fmt: skip
    few: Any = near[random.turn(len(near))]
    keys = ("a", "b", "c", "", ("docs", "a.md"), ("docs", "b.md"), "A", 0)
    return given(*({key: random.choice(few) for key in random.some(keys)} for _ in range(2)))


@exercise("12.1", "indexing.plan:make_plan", draws=any_states)
def check_make_plan() -> Parts:
    """Test one key for each list, other orders, no keys, and many kinds of states."""
    return [
        part(1, "a list for each key",
            (({"a": 1}, {"a": 1}), "nothing has changed"),
            (({"a": 2}, {"a": 1}), "the same key has another state"),
            (({"a": 1}, {"a": 2}), "a smaller state is another state, too"),
            (({}, {"a": 1}), "it is not there any more"),
            (({"a": 1, "b": 2}, {"b": 2, "a": 1}), "both are as stored; only the order differs"),
            (({"a": 1}, {"b": 1}), "a and b are two keys, although their states are equal")),
        part(1, "states that are equal, and states that are not",
            *((({"a": now}, {"a": before}), why) for now, before, why in (
                ("5f2c", "".join(("5f", "2c")), "two objects, but the states are equal"),
                (1, "1", "1 and '1' are not equal"),
                ("A", "a", "'A' and 'a' are not equal"),
                ("A ", "A", "'A ' and 'A' are not equal"),
                ("5f2c1d9a0b", "5f2c1d9a7e", "the states are not equal, although they begin alike"),
                ([1], [1], "a state may be a list, which cannot be in a set"),
                ([1, 2], [2, 1], "the order of a list counts: the states are not equal"),
                ({"x": 1, "y": 2}, {"y": 2, "x": 1}, "dictionaries are equal in any order"),
                (1, 1.0, "1 and 1.0 are equal, although their types differ"),
            ))),
        part(1, "states that are empty or None, and keys of any type",
            (({"rich": ""}, {"rich": ""}), "an empty text is a state, too"),
            (({"rich": None}, {}), "it was not stored, and its state is None now"),
            (({"rich": None}, {"rich": None}), "it was stored, and its state was None"),
            (({"a": 1, 7: 1}, {}), "a key may be anything: 'a' and 7 are in no order"),
            (({0: 1, "": 1}, {0: 1, (): 1}), "0, an empty text and an empty pair are keys, too"),
            (({"A": 1}, {"a": 1}), "A and a are two keys"),
            (({}, {"rich": None}), "it is not there any more; its state was None")),
    ]  # fmt: skip


@drawn(80, varies=(0, 1, 2))
def any_names(random: Draws) -> Call:
    """Draw names with texts and models that are at times others than those of their vectors."""
    texts = ("Colours", "colours ", "Commands", "")
    files = ("rich", "typer", "httpx", "Rich", "rich-click")
    asked = {name: random.choice(texts) for name in random.some(files)}
    made_of = {}
    for name in random.some(files):
        text = random.choice((asked.get(name, "Colours"), *texts))
        made_of[name] = (text, random.choice(("mini", "mini-2")))
    return given(asked, made_of, random.choice(("mini", "mini", "mini-2")))


@exercise("12.2", "xray.catalogue:names_to_embed", draws=any_names)
def check_names_to_embed() -> Parts:
    """Test each reason for a new vector, both together, and names that need none."""
    one, colours = {"rich": "Colours"}, ("Colours", "mini")
    two, begin = {"typer": "Commands", **one}, "Colours, " * 12
    both = "text and model are both different"
    other = "with another capital or blank is another text"
    return [
        part(1, "names without a vector, and with a vector of another text or model",
            ((one, {"rich": colours}, "mini"), "this text and this model made the vector"),
            *((({"rich": text}, {"rich": made_of}, "mini"), why) for text, made_of, why in (
                ("Colours", ("Pictures", "mini"), "another text made the vector"),
                ("Colours", ("colours", "mini"), f"a text {other}"),
                ("Colours", ("Colours ", "mini"), f"a text {other}"),
                ("Colours", ("Colours", "mini-2"), "another model, mini-2, made the vector"),
                ("Colours", ("Colours", "Mini"), "Mini is another model than mini"),
                ("Colours", ("Colours", "my/mini"), "my/mini is another model than mini"),
                ("Colours", ("Coluors", "mini"), "the letters are in another order"),
                (f"{begin}a", (f"{begin}b", "mini"), "another text, although both begin alike"),
                ("Colours", ("Pictures", "mini-2"), f"{both}, but each name is returned once"),
                ("mini", ("mini", "mini-2"), "the text is 'mini', but the model was mini-2"),
                ("Colours", ("Colour", "smini"), f"{both}, although both together read the same"),
            ))),
        part(1, "names that need none, empty and equal texts, and the order",
            ((one, {"typer": colours}, "mini"), "typer has this text's vector, but rich has none"),
            ((two, {}, "mini"), "the names are in the order of `texts`"),
            ((two, {"rich": ("Old", "mini")}, "mini"), "the order is still that of `texts`"),
            ((two, {"typer": ("Old", "mini")}, "mini"), "the order is still that of `texts`"),
            ((one, {"Rich": colours}, "mini"), "Rich is another name, and rich has no vector"),
            (({"typer": "Colours", **one}, {}, "mini"), "both need a vector, of equal texts"),
            ((two, {"typer": ("Commands", "old"), "rich": colours}, "mini"),
             "only typer's vector was made by another model"),
            (({"rich": ""}, {}, "mini"), "an empty text is a text, too"),
            (({"rich": ""}, {"rich": ("", "mini")}, "mini"), "an empty text made this vector")),
    ]  # fmt: skip


CATALOGUE = "SELECT language, name FROM xray_packages ORDER BY 1, 2"
USES = "SELECT project, tenant_id, language, name FROM xray_report_packages ORDER BY 1, 2, 3, 4"


def _left(connection: Any, text: str, _: Any, names: Any, language: str) -> dict[str, Any]:
    """Return the names that a statement returned, and what it left of the tables."""
    found = connection.execute(text.encode(), {"language": language, "names": names}).fetchall()
    left = {"the catalogue": CATALOGUE, "what projects use": USES}
    tables = {table: connection.execute(query).fetchall() for table, query in left.items()}
    return {"returned": sorted(found), **tables}


def _deleting(there: Sequence[str], names: Any, language: str) -> str:
    """Return how a call is pasted."""
    values = {"language": language, "names": names}
    return rows.pasted(there, f"DELETE_ORPHANS, {values}", repr(CATALOGUE), repr(USES))


@drawn(10, prepare=rows.catalogue, look=_left, paste=_deleting)
def any_orphans(random: Draws) -> Call:
    """Draw a catalogue, and names of which some are used, by others or in another language."""
    names = random.some((*rows.NAMES, "never seen"))
    return given(rows.any_stored(random), names, random.choice(("python", "go")))


def _orphans(there: Mapping[Any, str], names: str, because: str, language: str = "python") -> Case:
    """Return a case: packages with who uses them (of Python without a language), and the named."""
    packages = {one if isinstance(one, tuple) else ("python", one): there[one] for one in there}
    by = [(one, user.partition("@")) for one, users in packages.items() for user in users.split()]
    uses = [(tenant or "local", project, *package) for package, (project, _, tenant) in by]
    made = rows.stored(dict.fromkeys(packages), uses, told={"bleach": "Cleans HTML"})
    return case(made, names.split(", ") if names else [], language, because=because)


@exercise("12.3", "xray.catalogue:DELETE_ORPHANS", time_limit=TIME_LIMIT, draws=any_orphans)
def check_delete_orphans() -> Parts:
    """Test packages that others use, that no project uses, and that another language has."""
    jobs, go = "forecasting", ("go", "rich")
    return [
        part(2, "what no project uses, of the packages that are named",
            _orphans({"bleach": "", "pillow": jobs}, "bleach, pillow",
                     "no project uses bleach, but another project uses pillow"),
            _orphans({"bleach": "", "lonely": ""}, "bleach", "lonely is not in `names`"),
            _orphans({"pillow": f"{jobs}@acme"}, "pillow", "another tenant's project uses pillow"),
            _orphans({"pillow": f"{jobs} rider-app"}, "pillow", "two projects use pillow"),
            _orphans({"rich": ""}, "", "`names` is empty"),
            _orphans(dict.fromkeys(("a_b", "A_B", "axb", "a_b2", " a_b"), ""), "a_b",
                     "A_B, axb, a_b2 and ' a_b' are not a_b"),
            _orphans({"rich": "", "Rich": jobs, "rich-click": jobs}, "rich",
                     "Rich and rich-click are in use, but rich is not")),
        part(1, "packages of one name in two languages",
            _orphans({go: "", "rich": ""}, "rich", "delete only Python's rich, not Go's"),
            _orphans({go: jobs, "rich": "", "typer": jobs}, "rich", "only Go's rich is in use"),
            _orphans({go: "", "rich": ""}, "rich", "delete only Go's rich, not Python's", "go"),
            _orphans({go: "", ("Go", "rich"): "", ("golang", "rich"): ""}, "rich",
                     "Go and golang are other languages than go", "go")),
    ]  # fmt: skip


HELD = "SELECT objid::bigint, mode FROM pg_locks WHERE pid = pg_backend_pid() "
HELD += "AND locktype = 'advisory'"
LEVEL = "SELECT replace(current_setting('transaction_isolation'), 'uncommitted', 'committed')"
LOCK_TIMEOUT = "SHOW lock_timeout"
IMPATIENT = "SET lock_timeout = '100ms'"
NUMBER = "SELECT pg_advisory_xact_lock(hashtextextended('course xray {}', 0))"


def _locked(
    function: Callable[..., Any], two: Any, language: str, query: str = "", first: str = "",
    end: str = "", level: str = "READ COMMITTED",
) -> dict[str, Any]:  # fmt: skip
    """Call the function in a transaction, at times after another one, and look there."""
    with psycopg.connect(two.info.dsn, password=two.info.password, autocommit=True) as one:
        one.execute("BEGIN")
        if first:
            one.execute(first) if first.startswith("SELECT ") else function(one, first)
        one.execute(end)
        two.execute(f"BEGIN ISOLATION LEVEL {level}")
        try:
            told = {"the call": "goes on", "returned": function(two, language)}
            is_open = two.info.transaction_status is psycopg.pq.TransactionStatus.INTRANS
            told["the transaction"] = "goes on" if is_open else "has ended"
            told |= {query: two.execute(query).fetchall()} if query else {}
            two.execute("COMMIT")
            return {**told, "locks after COMMIT": two.execute(HELD).fetchall()}
        except psycopg.errors.LockNotAvailable:
            return {"the call": "waits"}
        finally:
            two.rollback()
            two.execute("SELECT pg_advisory_unlock_all()")


def _locking(language: str, query: str = "", first: str = "", end: str = "",
             level: str = "READ COMMITTED") -> str:  # fmt: skip
    """Return how a call is pasted."""
    run = f"one.execute({first!r})" if first.startswith("SELECT ") else f"take_lock(one, {first!r})"
    looks = [f"print(two.execute({query!r}).fetchall())"] if query else []
    before = ["one.execute('BEGIN')", run, *([f"one.execute({end!r})"] if end else [])]
    return "\n    ".join([
        "with lab.connect(autocommit=True) as one, lab.connect(autocommit=True) as two:",
        *(before if first else []), f'two.execute("{IMPATIENT}")',
        f"two.execute('BEGIN ISOLATION LEVEL {level}')", f"print(take_lock(two, {language!r}))",
        *looks, "two.execute('COMMIT')", f'print(two.execute("{HELD}").fetchall())',
    ])  # fmt: skip


@drawn(10, takes_connection=True, apply=_locked, paste=_locking,
       prepare=lambda connection, *_: connection.execute(IMPATIENT))  # fmt: skip
def any_language(random: Draws) -> Call:
    """Draw the names of languages, and a lock that another transaction has."""
    language = random.choice(("python", "go", "ruby", "c#", random.text(2).strip() or "C"))
    other = random.choice(("python", "go", "Python", "python 2"))
    first = random.choice(("", other, NUMBER.format(other)))
    end = random.choice(("", "COMMIT", "ROLLBACK"))
    level = random.choice(("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"))
    return given(language, random.choice((HELD, LEVEL, LOCK_TIMEOUT)), first, end, level)


@exercise("12.4", "xray.tables:take_lock", time_limit=TIME_LIMIT, draws=any_language)
def check_take_lock() -> Parts:
    """Take the lock on two connections, of which the second does not wait for long."""
    return [
        part(1, "who comes second waits, but not for another language",
            (("python",), "only the caller commits or rolls back, and then its lock has ended"),
            (("python", LOCK_TIMEOUT), "how long it waits for a lock is the caller's to say"),
            (("python", "", "python"), "one transaction has the lock, so the other waits"),
            *(((name, "", "python"), f"{name!r} is not 'python': only syncs of one language wait")
              for name in ("go", "python 2", "python ", "Python", "it's"))),
        part(1, "the lock's number, and what is seen after the wait",
            (("python", "", NUMBER.format("python")), "another program holds the lock's number"),
            *((("python", LEVEL, "", "", level), "only READ COMMITTED sees what came in the wait")
              for level in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"))),
    ]  # fmt: skip
