"""What lab 09 builds: which requests are refused, and how errors and readiness are told."""

import asyncio
from http import HTTPStatus
from typing import Any

import pytest
from pydantic import ValidationError

from course_lib.service.models import request_model
from course_lib.service.probes import readiness
from course_lib.service.problems import validation_problem
from course_lib.teaching.service_parts import hangs, loads, meeting, raises, works


@pytest.mark.parametrize(
    "sent",
    [{"query": "ä" * 1000}, {"query": " a "}, {"top_k": 50}, {"similarity_threshold": 1},
     {"partitions": [" "]}, {"partitions": ["issues"] * 20}],
)  # fmt: skip
def test_a_request_is_taken_as_it_was_sent(sent: dict[str, Any]) -> None:
    usual = {"query": "drift", "top_k": 5, "similarity_threshold": 0.0, "partitions": None}
    assert request_model().model_validate({"query": "drift", **sent}).model_dump() == usual | sent


@pytest.mark.parametrize(
    ("field", "value"),
    [("query", "x" * 1000 + " "), ("query", "\u00a0"), ("top_k", 51), ("top_k", True),
     ("top_k", None), ("similarity_threshold", "0.5"), ("partitions", []),
     ("partitions", [None]), ("partitions", ["x" * 501]), ("topk", 3)],
)  # fmt: skip
def test_a_request_out_of_bounds_is_refused_for_its_field(field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        request_model().model_validate({"query": "drift", field: value})
    assert {error["loc"][0] for error in refused.value.errors()} == {field}


def test_a_problem_has_one_error_a_field_and_nothing_that_was_sent() -> None:
    errors = [
        {"loc": ("body", "repo", "str"), "msg": "No text"},
        {"loc": ("header",), "msg": "Field required", "input": "tulip-42"},
        {"loc": ("body", "repo", "list", 0), "msg": "Value error, Value error, odd"},
        {"loc": ("query", "q"), "msg": "Odd"},
        {"loc": ("body", "q"), "msg": "Too odd"},
    ]
    told = [("repo.list.0", "Value error, odd"), ("header", "Field required"), ("q", "Odd")]
    told.append(("q", "Too odd"))
    assert validation_problem(errors) == {
        "type": "about:blank",
        "title": HTTPStatus(422).phrase,
        "status": 422,
        "detail": "repo.list.0: Value error, odd; header: Field required; q: Odd",
        "errors": [{"field": field, "message": message} for field, message in told],
    }


@pytest.mark.parametrize(
    ("parts", "status", "states"),
    [
        ({}, 200, {"status": "ready"}),
        ({"model": loads}, 503, {"status": "not ready", "model": "the model is being loaded"}),
        ({"database": raises, "model": works}, 503,
         {"status": "not ready", "database": "missing", "model": "ready"}),
        ({"database": hangs, "model": hangs}, 503,
         {"status": "not ready", "database": "missing", "model": "missing"}),
    ],
)  # fmt: skip
def test_readiness_names_each_part(
    parts: dict[str, Any], status: int, states: dict[str, str]
) -> None:
    assert asyncio.run(readiness(parts, timeout=0.1)) == (status, states)


def test_all_parts_are_asked_at_the_same_time() -> None:
    async def ask() -> tuple[int, dict[str, str]]:
        return await readiness(dict(zip("abc", meeting(3), strict=True)), timeout=5)

    assert asyncio.run(ask())[0] == 200
