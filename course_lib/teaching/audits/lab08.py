"""Lab 08: requests with and without faults, results, errors, and parts that are ready or not.

`readiness` runs in a thread with an event loop of its own, because a notebook's kernel has one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance, some, text
from course_lib.teaching.checks.awaiting import run_awaitable

BODIES: dict[str, tuple[Any, ...]] = {
    "query": (
        ("x" * 1000, "x" * 1001, "", " a ", " \n\t", "\u00a0", "→", "a\nb", 7, None, True, ["x"])
    ),
    "top_k": (0, 1, 50, 51, 7, 2.5, "5", True, None),
    "similarity_threshold": (0, 1, 0.0, 1.0, 0.123, -0.1, 1.1, "0.5", None, True),
    "partitions": (
        (None, ["x"], ["x" * 500], ["x" * 501], ["x"] * 20, ["x"] * 21, [], [""], ["x", 7], "x")
    ),
    "topk": (3, None),
}
"""Values of each field, on both sides of each limit and of other types."""

VALUES = [(name, value) for name, values in BODIES.items() for value in values]


def _validated(function: Callable[..., Any], body: Any) -> Any:
    """Return what the model makes of a request, or which fields it refuses."""
    from pydantic import ValidationError

    model = function()
    if not isinstance(model, type):
        raise TypeError("no class")
    try:
        return model.model_validate(body).model_dump()  # type: ignore[attr-defined]
    except ValidationError as error:
        return sorted({str(one["loc"][0]) if one["loc"] else "" for one in error.errors()})


@audit("8.1", count=90, apply=_validated, paste="request_model().model_validate({0})")
def request_model(random: Draws) -> Call:
    """Draw a request in which each value comes up, alone or with another."""
    body = {} if chance(random, 0.1) else {"query": text(random)}
    return call(dict([*body.items(), random.choice(VALUES), VALUES[random.turn(len(VALUES))]]))


def _answered(function: Callable[..., Any], query: str, results: Any, *times: Any) -> Any:
    """Return what goes out, if JSON can hold it; the scores are numbers of NumPy's."""
    import numpy as np

    found = [
        replace(one, score=np.float32(one.score), similarity_score=np.float32(one.similarity_score))
        for one in results
    ]
    answer = function(query, found, *times)
    json.dumps(answer)
    return answer


ADDRESSES = (
    (None, "", "https://a.example/b", "HTTPS://a.example", "http://a.example", "httpx:b", "web")
    + ("javascript:alert('http://')", " https://a.example", "https:b", "data:text/html,b")
)  # fmt: skip


@audit("8.2", count=60, apply=_answered)
def search_response(random: Draws) -> Call:
    """Draw results, some with metadata that bears the names of a result's own fields."""
    from course_lib.records import SearchResult

    forged = {"repo": "elsewhere", "score": 1.0, "chunk_index": -1, "namespace": "x", "kind": "y"}
    results = []
    for place in range(random.randrange(4)):
        metadata: dict[str, Any] = {name: forged[name] for name in some(random, sorted(forged))}
        fields: dict[str, Any] = {
            name: f"{name}{random.randrange(99)}"
            for name in (
                "document_name",
                "content",
                "partition",
                "repo_slug",
                "branch",
                "kind",
                "name",
            )
        }
        fields["namespace"] = random.choice((None, "web"))
        fields["citation_url"] = random.choice(ADDRESSES)
        fields |= {name: random.uniform(-1, 1) for name in ("score", "similarity_score")}
        fields["name"] = text(random, 1)
        fields["metadata"] = {**metadata, "lineStart": random.randrange(99)}
        results.append(SearchResult(chunk_id=f"c{place}", chunk_index=place + 3, **fields))
    return call(text(random), results, random.random(), random.random() / 10)


@audit("8.3", count=60)
def validation_problem(random: Draws) -> Call:
    """Draw up to six errors of few fields, with places of all lengths."""
    messages = ("Too much", "Value error, a blank, alone", "It should be 1, 2 or 3", "x: y; z")
    errors = []
    for _ in range(random.randint(1, 6)):
        lists = ("repo", "list", random.randrange(9)), ("partitions", random.randrange(9))
        inside = random.choice(((), ("top_k",), ("repo", "str"), *lists, ("a", "b", 1)))
        error = {"loc": (random.choice(("body", "query")), *inside), "msg": random.choice(messages)}
        errors.append(error | random.choice(({}, {"type": "le", "input": 99})))
    return call(errors)


async def _asked(function: Callable[..., Any], parts: Mapping[str, str], timeout: float) -> Any:
    """Return the answer, and how many tasks are left a moment later."""
    here: list[str] = []

    def check(name: str, state: str) -> Callable[[], Awaitable[str]]:
        async def asked() -> str:
            here.append(name)
            while state == "meets" and len(here) < len(parts):
                await asyncio.sleep(0.001)
            if state == "hangs":
                await asyncio.sleep(30)
            if state.endswith("Error"):
                raise {"OSError": OSError, "KeyError": KeyError}[state]("secret")
            await asyncio.sleep(0.02 if state == "late" else 0)
            return "ready" if state in ("meets", "late") else state

        return asked

    answer = await function({name: check(name, state) for name, state in parts.items()}, timeout)
    for _ in range(5):  # what was cancelled ends as soon as the loop comes to it
        await asyncio.sleep(0)
    return [answer, len(asyncio.all_tasks()) - 1]


def _in_a_loop(function: Callable[..., Any], parts: Mapping[str, str], timeout: float) -> Any:
    return run_awaitable(_asked(function, parts, timeout))


@audit("8.4", count=14, apply=_in_a_loop)
def readiness(random: Draws) -> Call:
    """Draw parts: ready, late, loading, failing, hanging, or waiting until all have been asked."""
    names = some(random, ("database", "model", "cache", "disk"))
    states = ("ready", "ready", "late", "the model is being loaded", "OSError", "KeyError")
    parts = {name: random.choice(states) for name in names}
    sort = random.turn(4)
    if sort == 0 and names:
        return call({**parts, names[0]: "hangs"}, 0.1)
    if sort == 1:
        return call(dict.fromkeys(("database", "model"), "meets"), 1.0)
    return call(parts if sort == 2 else dict.fromkeys(names, "ready"), 1.0)
