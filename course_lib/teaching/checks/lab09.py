"""Lab 09, the retrieval API: what is asked, and how errors and readiness are told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from inspect import iscoroutine
from typing import Any

from pydantic import BaseModel, ValidationError

from course_lib.teaching.checks.awaiting import run_awaitable, settled
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.origin import stub_in
from course_lib.teaching.checks.probe import Case, Probe, StubReached, exercise
from course_lib.teaching.checks.values import written
from course_lib.teaching.lab.parts import hangs, loads, meeting, raises, works

Body = dict[str, Any]
DRIFT: Body = {"query": "drift"}

ALLOWED: list[tuple[Body, str]] = [
    (DRIFT, "only the query must be present"),
    ({"query": "x" * 1000}, "1,000 characters are allowed"),
    ({"query": " a "}, "it has a character that is not white space"),
    ({"query": "Как?"}, "letters of any alphabet are text"),
    ({"query": "ä" * 1000}, "1,000 characters are allowed, however many bytes they have"),
    ({"query": "→"}, "a text without a letter is a text, too"),
    ({"query": "a\nb"}, "a text of two lines is a text, too"),
    ({**DRIFT, "top_k": 1}, "1 is allowed"),
    ({**DRIFT, "top_k": 50}, "50 is allowed"),
    ({**DRIFT, "similarity_threshold": 0}, "0 is allowed"),
    ({**DRIFT, "similarity_threshold": 1}, "1 is allowed, and a whole number is a number"),
    ({**DRIFT, "similarity_threshold": 0.123}, "0.123 is between 0 and 1"),
    ({**DRIFT, "partitions": ["issues"]}, "a list of one name is allowed"),
    ({**DRIFT, "partitions": ["issues"] * 20}, "20 names are allowed"),
    ({**DRIFT, "partitions": ["x" * 500]}, "a name may have 500 characters: `Filter`"),
    ({**DRIFT, "partitions": [" "]}, "a name may have any characters: `Filter`"),
    ({**DRIFT, "partitions": None}, "None means all partitions"),
]
REFUSED: list[tuple[Body, str, str]] = [
    ({}, "query", "without a query there is nothing to search for"),
    ({"query": ""}, "query", "it is empty"),
    ({"query": "x" * 1001}, "query", "1,000 characters are the maximum"),
    ({"query": "x" * 1000 + " "}, "query", "it has 1,001 characters: a space is a character"),
    ({"query": " \n\t"}, "query", "it is only white space"),
    ({"query": "\u00a0"}, "query", "it is only white space: a no-break space"),
    ({"query": 7}, "query", "a number is not a text"),
    ({"query": None}, "query", "None is not a text"),
    ({**DRIFT, "top_k": 0}, "top_k", "1 is the minimum"),
    ({**DRIFT, "top_k": 51}, "top_k", "50 is the maximum"),
    ({**DRIFT, "top_k": 2.5}, "top_k", "2.5 is not a whole number"),
    ({**DRIFT, "top_k": "5"}, "top_k", "a number in quotes is not a number: strict"),
    ({**DRIFT, "top_k": True}, "top_k", "True is not a number: strict"),
    ({**DRIFT, "top_k": None}, "top_k", "None is not a number, although the field may be missing"),
    ({**DRIFT, "similarity_threshold": -0.1}, "similarity_threshold", "0 is the minimum"),
    ({**DRIFT, "similarity_threshold": 1.1}, "similarity_threshold", "1 is the maximum"),
    ({**DRIFT, "similarity_threshold": "0.5"}, "similarity_threshold",
     "a number in quotes is not a number: strict"),
    ({**DRIFT, "similarity_threshold": None}, "similarity_threshold",
     "None is not a number, although the field may be missing"),
    ({**DRIFT, "partitions": "issues"}, "partitions", "a text is not a list"),
    ({**DRIFT, "partitions": ["issues", 7]}, "partitions", "7 is not a text"),
    ({**DRIFT, "partitions": [None]}, "partitions", "None may stand for the list, but not in it"),
    ({**DRIFT, "partitions": [""]}, "partitions", "a name has at least one character: `Filter`"),
    ({**DRIFT, "partitions": ["x" * 501]}, "partitions", "a name has at most 500 characters"),
    ({**DRIFT, "partitions": []}, "partitions", "an empty list holds no name"),
    ({**DRIFT, "partitions": ["issues"] * 21}, "partitions", "20 names are the maximum"),
    ({**DRIFT, "topk": 3}, "topk", "an unknown field is a mistake and must not be ignored"),
]  # fmt: skip


BODIES: list[Body] = [body for body, _ in ALLOWED] + [body for body, *_ in REFUSED]
VALUES = [pair for body in BODIES for pair in body.items() if pair != ("query", "drift")]


def _refused(model: Any, body: Any) -> tuple[set[str], str]:
    """Return which fields of a request a model refuses, and what it says of the first."""
    try:
        model.model_validate(body)
    except ValidationError as error:
        fields = {str(one["loc"][0]) if one["loc"] else "no field" for one in error.errors()}
        return fields, error.errors()[0]["msg"]
    return set(), ""


def _answer(function: Callable[..., Any], body: Any) -> Any:
    """Return what the model makes of a request, or which fields it refuses."""
    model: Any = function()
    if not issubclass(model, BaseModel):
        raise TypeError("no model")
    return _refused(model, body)[0] or model.model_validate(body).model_dump()


@drawn(90, apply=_answer, paste="request_model().model_validate({0})")
def any_body(random: Draws) -> Call:
    """Draw a request in which each value comes up, alone or with another."""
    body = {} if random.chance(0.1) else {"query": random.text()}
    return given(dict([*body.items(), random.choice(VALUES), VALUES[random.turn(len(VALUES))]]))


@exercise("9.1", "service.models:request_model", 3, draws=any_body)
def check_request_model(call: Probe) -> None:
    """Give it what is allowed, then one mistake at a time, then look at what it holds."""
    model = call().value
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        call.fail("request_model()", got=repr(model), expected="a class made from BaseModel")
    for about, names in (
        ("the query and top_k", {"query", "top_k"}),
        ("the threshold and the partitions", {"similarity_threshold", "partitions"}),
    ):
        with call.part(1, about, needed=False):
            for body, because in ALLOWED:
                if _about(body) in names:
                    _judges(call, model, body, set(), because)
            for body, field, because in REFUSED:
                if field in names:
                    _judges(call, model, body, {field}, because)
    with call.part(1, "the name, unknown fields, and what is in a request"):
        Case(call, "request_model().__name__", value=model.__name__).gives(
            "SearchRequest", because="the description of the API shows this name"
        )
        for body, field, because in REFUSED:
            if field == "topk":
                _judges(call, model, body, {field}, because)
        missing = {"top_k": 5, "similarity_threshold": 0.0, "partitions": None}
        for body, because in (
            (DRIFT,
             "these are the fields, and their values if they are missing; a validator returns the "
             "value"),
            ({**DRIFT, "top_k": 3, "similarity_threshold": 0.5, "partitions": ["issues"]},
             "the search has to get the values that were sent"),
            ({"query": " a "}, "the search has to get the text that was sent, with its spaces"),
        ):  # fmt: skip
            label = f"{_validated(body)}.model_dump()"
            Case(call, label, value=model.model_validate(body).model_dump()).gives(
                {**missing, **body}, because=because
            )


def _about(body: Body) -> str:
    """Return the field that a request is about: its last."""
    return [*body][-1]


def _judges(
    call: Probe, model: type[BaseModel], body: Body, wanted: set[str], because: str
) -> None:
    """Expect a body to be refused for these fields, or accepted if there are none."""
    fields, says = _refused(model, body)
    got = f"refused for {', '.join(sorted(fields))}: {says}" if fields else "accepted"
    Case(call, _validated(body)).holds(
        fields == wanted, f"refused for {', '.join(wanted)}" if wanted else "accepted", got=got,
        because=because,
    )  # fmt: skip


def _validated(body: Body) -> str:
    text = written(body).replace(repr("x" * 1000 + " "), "'x' * 1000 + ' '")
    for letter, length in ("x", 500), ("x", 501), ("x", 1000), ("x", 1001), ("ä", 1000):
        text = text.replace(repr(letter * length), f"{letter!r} * {length}")
    return f"request_model().model_validate({text})"


PHRASES = ("Unprocessable Content", "Unprocessable Entity")
"""The phrase of status 422; up to Python 3.12 it is the second."""


def _error(*place_and_message: str | int) -> dict[str, Any]:
    *place, message = place_and_message
    return {"loc": ("body", *place), "msg": message}


PROBLEMS: list[tuple[list[dict[str, Any]], list[tuple[str, str]], str]] = [
    ([_error("top_k", "Too much")], [("top_k", "Too much")],
     "the document has type, title, status (a number), detail (a text) and errors; the field is "
     "`loc` without its first part, the message is `msg`, and nothing else is told"),
    ([{"type": "le", "loc": ("body", "top_k"), "msg": "Too much", "input": 99,
       "ctx": {"le": 50}, "url": "https://errors.pydantic.dev/2/v/less_than_equal"}],
     [("top_k", "Too much")],
     "only `loc` and `msg` are used, and nothing that the client sent"),
    ([_error("query", "Too long"), _error("top_k", "Too much")],
     [("query", "Too long"), ("top_k", "Too much")],
     "two fields have one error each: both are in the document, in this order; `; ` joins them "
     "in the detail"),
    ([_error("partitions", 0, "No text")], [("partitions.0", "No text")],
     "all parts after the first are joined; the first item of a list has the number 0"),
    ([{"loc": ("body",), "msg": "Field required"}], [("body", "Field required")],
     "if `loc` has only one part, this part is the field"),
    ([{"loc": ("header",), "msg": "Field required"}], [("header", "Field required")],
     "if `loc` has only one part, this part is the field, whatever it is"),
    ([{"loc": ("query", "q"), "msg": "Too long"}], [("q", "Too long")],
     "the first part is left out, whatever it is"),
    ([_error("mail", "body", "Too long")], [("mail.body", "Too long")],
     "only the first part is left out"),
    ([_error("q", "Value error, a blank, alone")], [("q", "a blank, alone")],
     "pydantic added 'Value error, ' at the beginning; the rest of the message stays as it is"),
    ([_error("q", "Value error, no 'Value error, ' please")], [("q", "no 'Value error, ' please")],
     "'Value error, ' is left out only at the beginning"),
    ([_error("q", "Value error, Value error, odd")], [("q", "Value error, odd")],
     "'Value error, ' is left out once: the rest of the message stays as it is"),
    *(([_error("q", said)], [("q", said)], "a message without that beginning stays as it is")
      for said in ("Input should be 1, 2 or 3", "Assertion error, odd", "Value errors: two",
                   f"Input should be {', '.join(map(str, range(40)))} or 40. Nothing else")),
    ([_error("top_k", "Too much"), _error("top_k", "Too odd")], [("top_k", "Too much")],
     "two errors of one field with equally long `loc`: the first is used"),
    ([_error("repo", "str", "No text"), _error("repo", "list", 1, "No text")],
     [("repo.list.1", "No text")],
     "`repo` may be a text or a list: the error with the longest `loc` got furthest"),
    ([_error("texts", place, "No text") for place in (3, 4, 5)], [("texts.3", "No text")],
     "three items of one list are wrong: only the first is used"),
    ([_error("b", "Odd"), _error("a", "str", "No text"), _error("b", "str", "No text")],
     [("b.str", "No text"), ("a.str", "No text")],
     "`b` has two errors, although one of `a` is between them; the fields keep the order of "
     "their first errors"),
    ([_error("a", "Odd"), _error("b", 0, "No text")], [("a", "Odd"), ("b.0", "No text")],
     "the fields keep the order of their first errors"),
    ([{"loc": ("query", "q"), "msg": "Odd"}, {"loc": ("body", "q"), "msg": "Too odd"}],
     [("q", "Odd"), ("q", "Too odd")],
     "one `q` is in the query and one in the body: the first two parts of `loc` differ"),
    ([_error(name, "Missing") for name in "abcd"], [(name, "Missing") for name in "abcd"],
     "the detail has three of the errors, the list has all of them"),
]  # fmt: skip

ONE_ERROR = next(place for place, (errors, *_) in enumerate(PROBLEMS[3:], 3) if len(errors) > 1)
"""So many problems have one error each, but for the third."""


@drawn()
def any_errors(random: Draws) -> Call:
    """Draw up to six errors of the named cases."""
    known = [error for errors, *_ in PROBLEMS for error in errors]
    return given(random.choices(known, k=random.randint(1, 6)))


@exercise("9.2", "service.problems:validation_problem", 3, draws=any_errors)
def check_validation_problem(call: Probe) -> None:
    """Take one error, several of one field, each shape of a location, and more than three."""
    with call.part(1, "type, title, status and detail", needed=False):
        for errors, fields, because in (*PROBLEMS[:3], PROBLEMS[-1]):
            case = call(errors)
            told, wanted = _told(case, fields, because), _document(fields)
            if told.get("title") in PHRASES:
                wanted["title"] = told["title"]
            if type(told.get("status")) is HTTPStatus:  # which is a number, too
                wanted["status"] = HTTPStatus(422)
            told.pop("errors", None), wanted.pop("errors")
            Case(call, case.label, value=told).gives(wanted, because=because)
    for about, problems in (
        ("the field and the message of an error", PROBLEMS[:ONE_ERROR]),
        ("several errors, of one field too, in their order", PROBLEMS[ONE_ERROR:]),
    ):
        with call.part(1, about):
            for errors, fields, because in problems:
                case = call(errors)
                found = _told(case, fields, because).get("errors")
                Case(call, f'{case.label}["errors"]', value=found).gives(
                    _document(fields)["errors"], because=because
                )


def _document(fields: list[tuple[str, str]]) -> dict[str, Any]:
    """Return the document for fields and their messages."""
    return {
        "type": "about:blank",
        "title": PHRASES[0],
        "status": 422,
        "detail": "; ".join(f"{field}: {message}" for field, message in fields[:3]),
        "errors": [{"field": field, "message": message} for field, message in fields],
    }


def _told(case: Case, fields: list[tuple[str, str]], because: str) -> dict[str, Any]:
    """Return the document; where the call failed, say what document was expected."""
    if case.error is not None:
        case.gives(_document(fields), because=because)
    return dict(case.returns(dict))


PARTS: list[tuple[str, float, tuple[Any, ...], str]] = [
    ('{"database": works, "model": works}', 1, (200, "ready", "ready", "ready"),
     "nothing is missing: the status comes first, then the body, with `status` and each part"),
    ('{"database": lambda: asyncio.sleep(0.1, "ready"), "model": loads}', 1,
     (503, "not ready", "ready", "the model is being loaded"),
     "the text that a function returns is in the answer, unchanged and under its own name, also "
     "if another function is faster; unless all return `ready`, the status is 503"),
    ('{"database": raises, "model": works}', 1, (503, "not ready", "missing", "ready"),
     "a part is missing, under its own name, if its function raises any exception; the others "
     "are asked and named, and the status is 503"),
    ('{"database": works, "model": raises}', 1, (503, "not ready", "ready", "missing"),
     "every part is asked and named, not only the first, and each state has its own name"),
    ('{"database": lambda: asyncio.sleep("a"), "model": works}', 1,
     (503, "not ready", "missing", "ready"),
     "the first function raises a TypeError: an exception of any kind means missing"),
    ('{"database": lambda: asyncio.sleep(0, "not ready yet")}', 1,
     (503, "not ready", "not ready yet"),
     "only the text `ready` means that a part is ready"),
    ('{"database": (lambda times: lambda: asyncio.sleep(next(times), "ready"))(iter(["a", 0]))}', 1,
     (503, "not ready", "missing"),
     "the function raises an exception the first time, so the part is missing: ask it once"),
    ('{"database": hangs, "model": works}', 0.1, (503, "not ready", "missing", "ready"),
     "a part that does not answer within `timeout` seconds is missing; the others are not"),
    ('{"database": lambda: asyncio.sleep(0.1, "ready")}', 0.01, (503, "not ready", "missing"),
     "0.1 seconds are longer than `timeout`"),
    ('{"database": hangs, "model": lambda: asyncio.sleep(0.45, "ready")}', 0.3,
     (503, "not ready", "missing", "missing"),
     "both take longer than `timeout`: the time of each begins when all are asked, and not when "
     "the one before has ended"),
    ('{"database": raises, "model": lambda: asyncio.sleep(0.1, "ready")}', 1,
     (503, "not ready", "missing", "ready"),
     "each part is asked even if another fails: the model answers in time"),
    ("{}", 1, (200, "ready"), "if no part is needed, no part is missing"),
    ('dict(zip(["database", "model", "disk"], meeting(3)))', 0.5,
     (200, "ready", "ready", "ready", "ready"),
     "each function here waits until the others were called: ask all at the same time"),
    ('{"database": lambda: asyncio.sleep(0, "ready in a minute")}', 1,
     (503, "not ready", "ready in a minute"),
     "only the text `ready` means that a part is ready, and not a text that begins with it"),
    ('dict.fromkeys(["database", "model"], lambda: asyncio.sleep(0.35, "ready"))', 0.6,
     (200, "ready", "ready", "ready"), "each part has the whole `timeout`"),
]  # fmt: skip


STATES: dict[str, Callable[[], Awaitable[str]]] = {
    **{one.__name__: one for one in (works, loads, raises, hangs)},
    "late": lambda: asyncio.sleep(0.02, "ready"),
    "odd": lambda: asyncio.sleep("a"),  # type: ignore[call-overload]
}


def _asked(function: Callable[..., Any], parts: Mapping[str, str], timeout: float) -> Any:
    """Return the answer, and how many tasks are left a moment later."""
    meets = iter(meeting())
    checks = {name: STATES.get(state) or next(meets) for name, state in parts.items()}
    return run_awaitable(settled(function(checks, timeout)))


@drawn(14, apply=_asked)
def any_parts(random: Draws) -> Call:
    """Draw parts: ready, late, loading, failing, hanging, or waiting until all have been asked."""
    names = random.some(("database", "model", "cache", "disk"))
    parts = {name: random.choice(("works", "loads", "late", "raises", "odd")) for name in names}
    sort = random.turn(4)
    if sort == 0 and names:
        return given({**parts, names[0]: "hangs"}, 0.3)
    if sort == 1:
        return given(dict.fromkeys(("database", "model"), "meets"), 1.0)
    return given(parts if sort == 2 else dict.fromkeys(names, "works"), 1.0)


@exercise("9.3", "service.probes:readiness", 4, time_limit=5, draws=any_parts)
def check_readiness(call: Probe) -> None:
    """Let parts be there, be away, hang, and wait for each other."""
    for about, places in (
        ("what each function returns", (0, 1, 5, 11, 13)),
        ("functions that raise", (2, 3, 4, 6, 10)),
        ("functions that take too long", (7, 8, 9, 14)),
        ("all asked at the same time, and none left running", (12, 7)),
    ):
        with call.part(1, about, needed=False):
            for place in places:
                _answers(call, *PARTS[place], none_left=places[0] == 12)


def _answers(
    call: Probe, checks: str, timeout: float, answer: tuple[Any, ...], because: str,
    *, none_left: bool,
) -> None:  # fmt: skip
    """Expect this status, the state of all, and the state of each of the parts."""
    status, overall, *states = answer
    label = f"await readiness({checks}, timeout={timeout})"
    known = (works, loads, raises, hangs, meeting)
    parts = eval(checks, {"asyncio": asyncio} | {one.__name__: one for one in known})
    body = {"status": overall, **dict(zip(parts, states, strict=True))}
    left = 0
    learners = call(parts, timeout=timeout).value
    if not iscoroutine(learners):
        call.fail(label, got=repr(learners), expected="something to await: `async def`")
    call.calling = label
    try:
        found, left = run_awaitable(settled(learners))
        case = Case(call, label, value=found)
    except Exception as error:
        if stub := stub_in(error):
            raise StubReached(stub) from None
        case = Case(call, label, error=error)
    call.calling = ""
    case.gives((status, body), because=because)
    case.holds(
        not (left and none_left),
        "none of them is running after the answer",
        got=f"{left} of the functions are still running",
        because="a function that takes too long has to be cancelled, or it goes on running",
    )
