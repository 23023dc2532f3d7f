"""Lab 09, the retrieval API: what is asked, and how errors and readiness are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import iscoroutine
from typing import Any

from pydantic import BaseModel, ValidationError

from course_lib.teaching.checks.awaiting import run_awaitable, settled
from course_lib.teaching.checks.definition import Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.service_parts import hangs, loads, meeting, raises, works

DRIFT: dict[str, Any] = {"query": "drift"}
VALUES: dict[str, list[tuple[list[Any], str]]] = {
    "query": [
        (["x" * 1000, "ä" * 1000], "1,000 characters are allowed, however many bytes they have"),
        ([" a ", "Как?", "→", "a\nb"], "it has a character that is not white space"),
        (["", " \n\t", "\u00a0"], "it is empty, or it is only white space: a no-break space too"),
        (["x" * 1001, "x" * 1000 + " "], "1,000 characters are the maximum: a space is one, too"),
        ([7, None], "a number is not a text, and neither is None"),
    ],
    "top_k": [
        ([1, 50], "1 is allowed, and 50 is allowed"),
        ([0, 51], "1 is the minimum, and 50 is the maximum"),
        ([2.5, "5", True], "it is not a whole number; one in quotes is not a number: strict"),
        ([None], "None is not a number, although the field may be missing"),
    ],
    "similarity_threshold": [
        ([0, 1, 0.123], "0 to 1 are allowed, and a whole number is a number"),
        ([-0.1, 1.1], "0 is the minimum, and 1 is the maximum"),
        (["0.5", None], "a number in quotes is not a number: strict; neither is None"),
    ],
    "partitions": [
        ([["issues"], ["issues"] * 20, None], "1 to 20 names are allowed, and None means all"),
        ([["x" * 500], [" "]], "a name may have any characters, and 500 of them: `Filter`"),
        (["issues", ["issues", 7]], "a text is not a list, and 7 is not a text"),
        ([[None]], "None may stand for the list, but not in it"),
        ([[""], ["x" * 501]], "a name has at least one character, and at most 500: `Filter`"),
        ([[], ["issues"] * 21], "an empty list holds no name, and 20 names are the maximum"),
    ],
}
ALL = [(name, one) for name, groups in VALUES.items() for known, _ in groups for one in known]
ALL.append(("topk", 3))


def _answer(function: Callable[..., Any], looked_at: str, body: Any) -> Any:
    """Return what the model makes of a request: is it accepted, and with which values."""
    model: Any = function()
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        return f"not a class made from BaseModel: {model!r}"
    if looked_at == "name":
        return model.__name__
    try:
        values = model.model_validate(body).model_dump()
    except ValidationError as error:
        fields = {str(one["loc"][0]) if one["loc"] else "no field" for one in error.errors()}
        return f"refused for {', '.join(sorted(fields))}"
    return values if looked_at == "values" else "accepted"


@drawn(90, apply=_answer, paste="request_model().model_validate({1})")
def any_body(random: Draws) -> Call:
    """Draw a request in which each value comes up, alone or with another, in any order."""
    body = {} if random.chance(0.1) else {"query": random.prose()}
    items = [*body.items(), random.choice(ALL), ALL[random.turn(len(ALL))]]
    return given("values", dict(random.sample(items, len(items))))


@exercise("9.1", "service.models:request_model", draws=any_body)
def check_request_model() -> Parts:
    """Give it what is allowed and one mistake at a time, then look at what it holds."""

    def judged(*names: str) -> Any:
        for name in names:
            for values, because in VALUES[name]:
                for value in values:
                    yield case("limits", {**DRIFT, name: value}, because=because)

    sent = {**DRIFT, "top_k": 3, "similarity_threshold": 0.5, "partitions": ["issues"]}
    return [
        part(1, "the query and top_k",
            (("limits", DRIFT), "only the query must be present"),
            (("limits", {}), "without a query there is nothing to search for"),
            *judged("query", "top_k"), needed=False),
        part(1, "the threshold and the partitions", *judged("similarity_threshold", "partitions")),
        part(1, "the name, unknown fields, and what is in a request",
            (("name", {}), "as `__name__`: the description of the API shows this name"),
            (("limits", {**DRIFT, "topk": 3}), "an unknown field is a mistake: it is refused"),
            (("values", DRIFT), "the fields and their defaults; a validator returns the value"),
            (("values", sent), "the search has to get the values that were sent"),
            (("values", {"query": " a "}), "the search gets the text as sent, with its spaces")),
    ]  # fmt: skip


def _errors(*given: tuple[str | int, ...]) -> list[dict[str, Any]]:
    """Return errors of these locations and, last, messages."""
    return [{"loc": loc, "msg": message} for *place, message in given for loc in [tuple(place)]]


Errors = list[tuple[list[dict[str, Any]], str]]
LONG = f"Input should be {', '.join(map(str, range(40)))} or 40. Nothing else"
SECRET = {"type": "le", "input": 99, "ctx": {"le": 50}, "url": "https://errors.pydantic.dev/2/v/le"}
WHOLE: Errors = [
    (_errors(("body", "top_k", "Too much")),
     "the document has type, title, status (a number), detail (a text) and errors; the field is "
     "`loc` without its first part, the message is `msg`, and nothing else is told"),
    ([_errors(("body", "top_k", "Too much"))[0] | SECRET], "only `loc` and `msg` are used"),
    (_errors(("body", "query", "Too long"), ("body", "top_k", "Too much")),
     "two fields have one error each: both are told, in order, with `; ` between in the detail"),
    (_errors(*(("body", name, "Odd") for name in "abcd")), "the detail has three, the list all"),
]  # fmt: skip
FIELDS: Errors = [
    (_errors(("body", "partitions", 0, "No text")), "all parts after the first are joined, also 0"),
    *((_errors((place, "Field required")), "if `loc` has only one part, this part is the field")
      for place in ("body", "header")),
    *((_errors((*place, "Too long")), "only the first part is left out, whatever it is")
      for place in (("query", "q"), ("body", "mail", "body"))),
    *((_errors(("body", "q", f"Value error, {said}")),
       "pydantic added 'Value error, ' at the beginning: there it is left out, once")
      for said in ("a blank, alone", "no 'Value error, ' please", "Value error, odd")),
    *((_errors(("body", "q", said)), "a message without that beginning stays as it is")
      for said in ("Input should be 1, 2 or 3", "Assertion error, odd", "Value errors: two", LONG)),
]  # fmt: skip
SEVERAL: Errors = [
    (_errors(("body", "top_k", "Too much"), ("body", "top_k", "Too odd")),
     "two errors of one field with equally long `loc`: the first is used"),
    (_errors(("body", "repo", "str", "No text"), ("body", "repo", "list", 1, "No text")),
     "`repo` may be a text or a list: the error with the longest `loc` got furthest"),
    (_errors(("body", "a", "Odd"), ("body", "b", 0, "No text")),
     "the fields keep the order of their first errors"),
    (_errors(("query", "q", "Odd"), ("body", "q", "Too odd")),
     "one `q` is in the query and one in the body: the first two parts of `loc` differ"),
]  # fmt: skip


def _told(function: Callable[..., Any], looked_at: str, errors: list[dict[str, Any]]) -> Any:
    """Return the document, or its errors alone, or all but these."""
    found = function(errors)
    if not isinstance(found, dict):
        return found
    if found.get("title") == "Unprocessable Entity":  # so it is called up to Python 3.12
        found = {**found, "title": "Unprocessable Content"}
    names = {"all": [*found], "errors": ["errors"]}
    wanted = names.get(looked_at, [name for name in found if name != "errors"])
    return {name: found.get(name) for name in wanted}


@drawn(apply=_told, paste="validation_problem({1})")
def any_errors(random: Draws) -> Call:
    """Draw up to six errors of the named cases."""
    known = [error for errors, _ in (*WHOLE, *FIELDS, *SEVERAL) for error in errors]
    return given("all", random.choices(known, k=random.randint(1, 6)))


@exercise("9.2", "service.problems:validation_problem", draws=any_errors)
def check_validation_problem() -> Parts:
    """Take one error, several of one field, each shape of a location, and more than three."""

    def told(looked_at: str, *cases: Any) -> Any:
        return (case(looked_at, errors, because=because) for errors, because in cases)

    several = "several errors, of one field too, in their order"
    return [
        part(1, "type, title, status and detail", *told("document", *WHOLE), needed=False),
        part(1, "the field and the message of an error", *told("errors", *WHOLE[:2], *FIELDS)),
        part(1, several, *told("errors", *WHOLE[2:], *SEVERAL)),
    ]


SERVED = {one.__name__: one for one in (works, loads, raises, hangs, meeting)}


def _asked(function: Callable[..., Any], looked_at: str, checks: str, timeout: float) -> Any:
    """Return the answer, and how many of the functions are running a moment later."""
    made = function(eval(checks, {"asyncio": asyncio, **SERVED}), timeout=timeout)
    if not iscoroutine(made):
        return f"nothing to await, as `async def` gives: {made!r}"
    answer, left = run_awaitable(settled(made))
    told = {"the answer": answer, "still running": left}
    return {name: value for name, value in told.items() if name in looked_at}


@drawn(
    12, apply=_asked,
    paste=lambda _, checks, timeout: f"await readiness({checks}, timeout={timeout})",
)  # fmt: skip
def any_parts(random: Draws) -> Call:
    """Draw parts: ready, late, loading, failing, hanging, or waiting until all have been asked."""
    names = random.some(("database", "model", "cache", "disk"), 1)
    states = ("works", "loads", "raises", 'lambda: asyncio.sleep("a")')
    late = 'lambda: asyncio.sleep(0.02, "ready")'
    sort = random.turn(4)
    some = states if sort == 0 else (*states, late) if sort < 3 else ("works", late)
    parts = {name: random.choice(some) for name in names}
    if sort == 0:
        parts[names[-1]] = "hangs"
    checks = f"{{{', '.join(f'{name!r}: {state}' for name, state in parts.items())}}}"
    if sort == 1:
        checks = f"dict(zip({names}, meeting({len(names)})))"
    return given("the answer, still running", checks, 1 if sort else 0.05)


@exercise("9.3", "service.probes:readiness", time_limit=3, draws=any_parts)
def check_readiness() -> Parts:
    """Let parts be there, be away, hang, and wait for each other."""

    def answers(*cases: tuple[str, float, str]) -> Any:
        return (case("the answer", *call, because=because) for *call, because in cases)

    return [
        part(1, "what each function returns", *answers(
            ('{"database": works, "model": works}', 1,
             "the status comes first, then the body, with `status` and each part; none is missing"),
            ('{"database": lambda: asyncio.sleep(0.02, "ready"), "model": loads}', 1,
             "each text is in the answer, unchanged, under its name; unless all are `ready`: 503"),
            ("{}", 1, "if no part is needed, no part is missing"),
            ('{"database": lambda: asyncio.sleep(0, "ready, or not ready")}', 1,
             "only the text `ready` means that a part is ready, and not one that has it")),
            needed=False),
        part(1, "functions that raise", *answers(
            ('{"database": raises, "model": works}', 1,
             "a part whose function raises is missing; the others are named; the status is 503"),
            ('{"database": lambda: asyncio.sleep("a"), "model": works}', 1,
             "the first function raises a TypeError: an exception of any kind means missing"),
            ('{"database": (lambda times: lambda: asyncio.sleep(next(times), "ready"))'
             '(iter(["a", 0]))}', 1,
             "the function raises an exception the first time: the part is missing, ask it once"),
            ('{"database": raises, "model": lambda: asyncio.sleep(0.02, "ready")}', 1,
             "each part is asked even if another fails: the model answers in time"))),
        part(1, "functions that take too long", *answers(
            ('{"database": hangs, "model": works}', 0.05,
             "a part that does not answer within `timeout` seconds is missing; the others are not"),
            ('{"database": lambda: asyncio.sleep(0.1, "ready")}', 0.01, "it takes 0.1 seconds"),
            ('{"database": hangs, "model": lambda: asyncio.sleep(0.22, "ready")}', 0.15,
             "both take too long: the time of each begins when all are asked, not one by one"),
            ('dict.fromkeys(["database", "model"], lambda: asyncio.sleep(0.25, "ready"))', 0.45,
             "each part has the whole `timeout`"))),
        part(1, "all asked at the same time, and none left running",
            *answers(('dict(zip(["database", "model", "disk"], meeting(3)))', 0.5,
             "each function here waits until the others were called: ask all at the same time")),
            (("the answer, still running", '{"database": hangs, "model": works}', 0.05),
             "a function that takes too long has to be cancelled, or it goes on running")),
    ]  # fmt: skip
