"""Lab 07, the retrieval API: what is asked, what is answered, how errors and readiness are told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import replace
from http import HTTPStatus
from inspect import iscoroutine
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from course_lib.records import SearchResult
from course_lib.teaching.checks.awaiting import run_awaitable
from course_lib.teaching.checks.origin import stub_in
from course_lib.teaching.checks.probe import Case, Probe, StubReached, exercise

Body = dict[str, Any]
FINE: list[Body] = [{"query": "drift"}, {"query": "x" * 1000}, {"query": " a "}, {"query": "Как?"}]

ALLOWED: list[tuple[Body, str]] = [
    ({"top_k": 1}, "1 is allowed"),
    ({"top_k": 50}, "50 is allowed"),
    ({"similarity_threshold": 0}, "0 is allowed"),
    ({"similarity_threshold": 1}, "1 is allowed, and a whole number is a number"),
    ({"similarity_threshold": 0.25}, "0.25 lies between 0 and 1"),
    ({"partitions": ["issues", "documentation"]}, "a list of names is what it takes"),
    ({"partitions": None}, "None means all of them"),
]
REFUSED: list[tuple[Body, str, str]] = [
    ({}, "query", "without a question there is nothing to search"),
    ({"query": ""}, "query", "it has no character"),
    ({"query": "x" * 1001}, "query", "1,000 characters are the most"),
    ({"query": " \n\t"}, "query", "it is white space alone"),
    ({"query": 7}, "query", "a number is no question"),
    ({"query": None}, "query", "None is no question"),
    ({"query": "drift", "top_k": 0}, "top_k", "1 is the least"),
    ({"query": "drift", "top_k": 51}, "top_k", "50 is the most"),
    ({"query": "drift", "top_k": "5"}, "top_k", "a number in quotes is no number: strict"),
    ({"query": "drift", "top_k": True}, "top_k", "True is no number: strict"),
    (
        {"query": "drift", "similarity_threshold": -1},
        "similarity_threshold",
        "0 is the least",
    ),
    ({"query": "drift", "similarity_threshold": 1.1}, "similarity_threshold", "1 is the most"),
    ({"query": "drift", "partitions": "issues"}, "partitions", "a string is no list"),
    ({"query": "drift", "partitions": ["issues", 7]}, "partitions", "7 is no name"),
    ({"query": "drift", "partitions": []}, "partitions", "an empty list asks for nothing"),
    (
        {"query": "drift", "topk": 3},
        "topk",
        "an unknown name is a mistake, not nothing",
    ),
]


@exercise(
    "7.1",
    function="request_model",
    points=3,
    hints=(
        "Inside the function: `class SearchRequest(BaseModel):`, one line a field, then `return "
        "SearchRequest`. `top_k: int = Field(default=5, ge=1, le=50)` is a whole line.",
        '`model_config = ConfigDict(extra="forbid", strict=True)` refuses unknown names, and '
        "numbers in quotes. Text has `min_length` and `max_length`; so has a list.",
        "A field that may be missing has a default: `list[str] | None = Field(default=None, "
        "min_length=1)`. For a query of white space alone, ask that it matches a pattern: "
        r'`pattern=r"\S"` wants one character that is none.',
    ),
)
def check_request_model(call: Probe) -> None:
    """Give it what is allowed, then one mistake at a time, then look at the defaults."""
    model = call().value
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        call.fail("request_model()", got=repr(model), expected="a class made from BaseModel")
    for body in FINE:
        _accepts(call, model, body, "such a query is fine")
    for body, because in ALLOWED:
        _accepts(call, model, {"query": "drift", **body}, because)
    for body, field, because in REFUSED:
        _refuses(call, model, body, field, because)
    body = {"query": "drift"}
    Case(call, _posted(body), value=model.model_validate(body).model_dump()).gives(
        {"query": "drift", "top_k": 5, "similarity_threshold": 0.0, "partitions": None},
        because="these are the fields, and what they are where nothing is said",
    )


def _accepts(call: Probe, model: type[BaseModel], body: dict[str, Any], because: str) -> None:
    try:
        model.model_validate(body)
    except ValidationError as error:
        one = error.errors()[0]
        place = ".".join(map(str, one["loc"]))
        call.fail(_posted(body), got=f"refused: {place}: {one['msg']}", expected="accepted",
                  because=because)  # fmt: skip


def _refuses(
    call: Probe, model: type[BaseModel], body: dict[str, Any], field: str, because: str
) -> None:
    try:
        model.model_validate(body)
    except ValidationError as error:
        fields = {str(one["loc"][0]) if one["loc"] else "" for one in error.errors()}
        if fields == {field}:
            return
        got = f"refused for {', '.join(sorted(fields))}"
    else:
        got = "accepted"
    call.fail(_posted(body), got=got, expected=f"refused for {field}", because=because)


def _posted(body: dict[str, Any]) -> str:
    text = json.dumps(body, ensure_ascii=False)
    return f"POST /search  {text if len(text) < 90 else text[:60] + '…'}"


FOUND = SearchResult(
    chunk_id="c7",
    document_name="a.md",
    chunk_index=3,
    content="Roll back at once.",
    similarity_score=0.5,
    score=0.031,
    partition="documentation",
    repo_slug="documents",
    branch="",
    kind="doc-section",
    name="Rollback",
    metadata={"lineStart": 4, "lineEnd": 9},
)
NAMED = {"kind": "doc-section", "name": "Rollback", "chunk_index": 3}
RESULT = {
    "chunk_id": "c7",
    "document_name": "a.md",
    "content": "Roll back at once.",
    "similarity_score": 0.5,
    "metadata": {**NAMED, "lineStart": 4, "lineEnd": 9},
    "citation_url": None,
}


@exercise(
    "7.2",
    function="search_response",
    points=2,
    hints=(
        "Make one dictionary for each result, with its six names written out: a comprehension, or "
        "a loop that appends.",
        "`float(result.similarity_score)`, because JSON does not know NumPy's numbers. `{**one}` "
        "puts all entries of a dictionary into another.",
        "A second has 1000 milliseconds: `round(seconds * 1000, 2)`.",
    ),
)
def check_search_response(call: Probe) -> None:
    """Begin with the statement's result, go on to what JSON cannot write."""
    call("How?", [FOUND], 0.0123456, 0.0021).gives(
        _response("How?", [RESULT], 12.35, 2.1),
        because="these fields and no others: whoever reads one counts on it from then on",
    )
    call("How?", [], 0.01, 0.02).gives(
        _response("How?", [], 10.0, 20.0), because="nothing found is an answer, too"
    )
    url = "https://example.org/b#L4"
    as_numpy: Any = np.float32(0.25)
    cited = replace(FOUND, chunk_id="c8", similarity_score=as_numpy, citation_url=url, metadata={})
    second = {
        **RESULT,
        "chunk_id": "c8",
        "similarity_score": 0.25,
        "metadata": NAMED,
        "citation_url": url,
    }
    case = call("Why?", [cited, FOUND], 1.0, 0.0).gives(
        _response("Why?", [second, RESULT], 1000.0, 0.0), because="the order is the search's"
    )
    try:
        json.dumps(case.value)
    except TypeError as error:
        call.fail(
            case.label,
            got=f"something that JSON cannot hold: {error}",
            expected="text, numbers, lists, dictionaries and None of Python's own",
            because="an answer travels as JSON, and a similarity may be one of NumPy's numbers",
        )


def _response(query: str, results: list[Any], encoding: float, searching: float) -> dict[str, Any]:
    return {
        "query": query,
        "results": results,
        "total_results": len(results),
        "embedding_time_ms": encoding,
        "search_time_ms": searching,
    }


MOST = {
    "type": "less_than_equal",
    "loc": ("body", "top_k"),
    "msg": "Input should be less than or equal to 50",
    "input": 99,
    "ctx": {"le": 50},
}
MISSING = {"type": "missing", "loc": ("body", "query"), "msg": "Field required", "input": {}}


@exercise(
    "7.3",
    function="validation_problem",
    points=2,
    hints=(
        "First the list `errors`: for each of pydantic's errors a dictionary with `field` and "
        "`message`. Everything else of it stays here.",
        '`loc[1:]` leaves out the first place; its parts may be numbers: `".".join(str(part) for '
        "part in loc[1:])`. Where nothing is left, take `loc[0]`.",
        '`"Value error, too long".removeprefix("Value error, ")` is `"too long"`. `detail` joins '
        '`f"{field}: {message}"` of the first three with `"; "`.',
    ),
)
def check_validation_problem(call: Probe) -> None:
    """Take one error, then each shape of a location, then more than three."""
    most = ("top_k", "Input should be less than or equal to 50")
    call([MOST]).gives(
        _problem(most), because="the field, the reason, and nothing of what was sent"
    )
    missing = ("query", "Field required")
    call([MISSING, MOST]).gives(_problem(missing, most), because="each error is told, in order")
    item = {"type": "string_type", "loc": ("body", "partitions", 1), "input": 7, "msg": "No text"}
    call([item]).gives(
        _problem(("partitions.1", "No text")), because="the second of a list stands in place 1"
    )
    whole = {"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}
    call([whole]).gives(
        _problem(("body", "Field required")), because="where it is about all of it, that is named"
    )
    own = {"type": "value_error", "loc": ("query", "q"), "msg": "Value error, is blank", "ctx": {}}
    call([own]).gives(
        _problem(("q", "is blank")), because="'Value error, ' is pydantic's, and says nothing"
    )
    many = [{**MISSING, "loc": ("body", name)} for name in ("a", "b", "c", "d")]
    call(many).gives(
        _problem(*[(name, "Field required") for name in "abcd"]),
        because="the detail names three, the list has all",
    )


def _problem(*errors: tuple[str, str]) -> dict[str, Any]:
    return {
        "type": "about:blank",
        "title": HTTPStatus(422).phrase,
        "status": 422,
        "detail": "; ".join(f"{field}: {message}" for field, message in errors[:3]),
        "errors": [{"field": field, "message": message} for field, message in errors],
    }


@exercise(
    "7.4",
    function="readiness",
    points=3,
    time_limit=5,
    hints=(
        "Write an inner `async def state(check)` first: `await asyncio.wait_for(check(), patience)"
        '` inside `try`, "missing" after `except Exception`, otherwise "ready". A check that takes '
        "too long raises as well.",
        "`await asyncio.gather(state(one), state(other))` runs both at once and gives a list of "
        "results. With a star it takes any number: `gather(*(state(check) for check in …))`.",
        "`dict(zip(checks, states))` puts names and results together again. All are ready where "
        '`set(states) <= {"ready"}`.',
    ),
)
def check_readiness(call: Probe) -> None:
    """Let parts be there, be away, hang, and wait for each other."""
    _answers(call, {"database": _there, "model": _there}, (200, "ready", "ready", "ready"),
             "nothing is missing")  # fmt: skip
    _answers(call, {"database": _away, "model": _there}, (503, "not ready", "missing", "ready"),
             "the check of the database raised an error")  # fmt: skip
    _answers(call, {"database": _there, "model": _away}, (503, "not ready", "ready", "missing"),
             "every part is asked and named, not only the first")  # fmt: skip
    _answers(call, {"database": _away, "model": _away}, (503, "not ready", "missing", "missing"),
             "both checks raised; the message of an error stays inside")  # fmt: skip
    _answers(call, {"database": _hangs, "model": _there}, (503, "not ready", "missing", "ready"),
             "what does not answer within `patience` seconds is missing")  # fmt: skip
    _answers(call, {}, (200, "ready"), "where nothing is needed, nothing is missing")
    met = _meeting()
    _answers(call, {"database": next(met), "model": next(met)}, (200, "ready", "ready", "ready"),
             "each check here waits until the other was begun: they are asked at once")  # fmt: skip


async def _there() -> None:
    await asyncio.sleep(0)


async def _away() -> None:
    raise ConnectionRefusedError("db.internal:5432 refused the password tulip-42")


async def _hangs() -> None:
    await asyncio.sleep(60)


def _meeting() -> Iterator[Callable[[], Awaitable[None]]]:
    begun = [asyncio.Event(), asyncio.Event()]

    def check(own: asyncio.Event, other: asyncio.Event) -> Callable[[], Awaitable[None]]:
        async def meet() -> None:
            own.set()
            await other.wait()

        meet.__name__ = meet.__qualname__ = "_meets"
        return meet

    yield check(begun[0], begun[1])
    yield check(begun[1], begun[0])


def _answers(
    call: Probe, checks: dict[str, Any], expected: tuple[int | str, ...], because: str
) -> None:
    status, overall, *states = expected
    body = {"status": overall, **dict(zip(checks, states, strict=True))}
    parts = ", ".join(f'"{name}": {check.__name__.strip("_")}' for name, check in checks.items())
    label = f"await readiness({{{parts}}}, patience=0.3)"
    left: list[Any] = []

    async def ask(learners: Coroutine[Any, Any, Any]) -> Any:
        found = await learners
        left.extend(asyncio.all_tasks() - {asyncio.current_task()})
        return found

    learners = call(checks, patience=0.3).value
    if not iscoroutine(learners):
        call.fail(label, got=repr(learners), expected="something to await: `async def`")
    call.calling = label
    try:
        case = Case(call, label, value=run_awaitable(ask(learners)))
    except Exception as error:
        if stub := stub_in(error):
            raise StubReached(stub) from None
        case = Case(call, label, error=error)
    call.calling = ""
    case.gives((status, body), because=because)
    if left:
        call.fail(
            label,
            got=f"{len(left)} of the checks still at work",
            expected="none of them after the answer",
            because="a check that is forgotten goes on, and holds what it has opened",
        )
