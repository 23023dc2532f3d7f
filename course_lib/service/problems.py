"""Errors as problem documents (RFC 9457): what happened and what to do, and nothing of our insides.

A refusal has the type ``application/problem+json`` and the members `type`, `title`, `status` and
`detail`. The refusal of a request that does not validate also has `errors`, one for each field.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import psycopg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from psycopg_pool import PoolTimeout
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import MAX_BODY_SIZE_SCOPE_KEY

from course_lib.errors import CourseError, DatabaseError, InputError

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 2

log = logging.getLogger("course.service")


class FieldError(BaseModel):
    """One field that does not validate."""

    field: str
    message: str


class Problem(BaseModel):
    """A problem document (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[FieldError] | None = None


class ProblemError(Exception):
    """An answer that is a problem document.

    Parameters
    ----------
    status
        HTTP status.
    detail
        What happened, and what to do.
    headers
        Of the answer, such as Retry-After.
    """

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})

    def response(self) -> JSONResponse:
        """Return it as a response."""
        return problem_response(self.status, self.detail, self.headers)


class UnavailableError(ProblemError):
    """The database or the model is missing; the same request may succeed soon."""

    def __init__(self, detail: str) -> None:
        super().__init__(503, detail, {"Retry-After": str(RETRY_SECONDS)})


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what a route declares about its problem documents in the OpenAPI description."""
    return {
        status: {
            "model": Problem,
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


def validation_problem(errors: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the problem document for a request that does not validate.

    Each of pydantic's `errors` has a place, `loc`, and a message, `msg`. The document contains
    nothing else of them. `loc` begins with the part of the request and the name of the field, as in
    `("body", "top_k")`. Errors are about the same field if the first two parts of `loc` are equal.

    One field can have many errors: one for each type that its value may have, or one for each item
    of a list. The document contains only one error for each field: the error with the longest
    `loc`, because this check got furthest. If several are equally long, it is the first of them.
    The fields are in the order of their first errors.

    Each of these errors becomes a `field` and a `message`. The field is `loc` without its first
    part, joined by dots. If `loc` has only one part, the field is that part. The message is `msg`
    without `Value error, ` at its beginning.

    `type` is `about:blank`, `title` the status's phrase, `HTTPStatus(422).phrase` ("Unprocessable
    Content"; up to Python 3.12 "Unprocessable Entity"), and `detail` the first three of
    these errors as `field: message`, joined by `; `.

    Examples
    --------
    >>> validation_problem([
    ...     {"loc": ("body", "repo", "str"), "msg": "Not a text", "input": ["a", 7]},
    ...     {"loc": ("body", "repo", "list", 1), "msg": "Not a name", "input": 7},
    ... ])
    {'type': 'about:blank', 'title': HTTPStatus(422).phrase, 'status': 422,
     'detail': 'repo.list.1: Not a name',
     'errors': [{'field': 'repo.list.1', 'message': 'Not a name'}]}
    """
    furthest: dict[tuple[str | int, ...], dict[str, Any]] = {}
    for error in errors:
        known = furthest.setdefault(error["loc"][:2], error)
        if len(error["loc"]) > len(known["loc"]):
            furthest[error["loc"][:2]] = error
    fields = []
    for error in furthest.values():
        place = error["loc"][1:] or error["loc"][:1]
        field = ".".join(str(part) for part in place)
        fields.append({"field": field, "message": error["msg"].removeprefix("Value error, ")})
    return {
        "type": "about:blank",
        "title": HTTPStatus(422).phrase,
        "status": 422,
        "detail": "; ".join(f"{one['field']}: {one['message']}" for one in fields[:3]),
        "errors": fields,
    }


def problem_response(
    status: int, detail: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return a problem document as a response."""
    problem = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail)
    return JSONResponse(problem.model_dump(exclude_none=True), status, headers, MEDIA_TYPE)


def add_problem_handlers(app: FastAPI) -> None:
    """Let every error that a route raises leave as a problem document."""

    @app.exception_handler(ProblemError)
    def _problem(request: Request, error: ProblemError) -> JSONResponse:
        return error.response()

    @app.exception_handler(RequestValidationError)
    def _validation(request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse(validation_problem(list(error.errors())), 422, media_type=MEDIA_TYPE)

    @app.exception_handler(413)
    def _too_large(request: Request, error: HTTPException) -> JSONResponse:
        return problem_response(413, too_large(request.scope[MAX_BODY_SIZE_SCOPE_KEY]))

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> JSONResponse:
        # The framework's own: no such path, a method that a path does not take.
        return problem_response(error.status_code, str(error.detail), error.headers)

    @app.exception_handler(InputError)
    def _input(request: Request, error: InputError) -> JSONResponse:
        return problem_response(422, _said(error))

    @app.exception_handler(DatabaseError)
    @app.exception_handler(psycopg.OperationalError)
    @app.exception_handler(PoolTimeout)
    def _database(request: Request, error: Exception) -> JSONResponse:
        log.warning("the database is not available: %s", error)
        return UnavailableError("the database is not available; try again soon").response()

    @app.exception_handler(Exception)
    def _any(request: Request, error: Exception) -> JSONResponse:
        request_id = getattr(request.state, "request_id", "")
        log.error("request %s failed", request_id, exc_info=error)
        told = "the service has made a mistake; its log says more"
        return problem_response(500, told, {"X-Request-ID": request_id})


def too_large(limit: int) -> str:
    """Return what a client is told whose request has more than so many bytes."""
    return f"the request is larger than {limit} bytes; send it in parts"


def _said(error: CourseError) -> str:
    return f"{error.args[0]}. {error.hint}" if error.hint else str(error.args[0])
