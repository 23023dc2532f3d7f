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


def one_a_field(errors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the error of each field that says most, in the order of the fields' first errors.

    Pydantic reports one error for each type that a value may have, and one for each item of a list.
    The one with the longest `loc` got furthest; of several, the first.

    Examples
    --------
    >>> one_a_field([{"loc": ("body", "repo", "str")}, {"loc": ("body", "repo", "list", 1)}])
    [{'loc': ('body', 'repo', 'list', 1)}]
    """
    furthest: dict[tuple[str | int, ...], dict[str, Any]] = {}
    for error in errors:
        known = furthest.setdefault(error["loc"][:2], error)
        if len(error["loc"]) > len(known["loc"]):
            furthest[error["loc"][:2]] = error
    return list(furthest.values())


def validation_problem(errors: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the problem document for a request that does not validate.

    - `one_a_field(errors)` chooses one error of each field. Tell these.
    - Write each as `{"field": …, "message": …}`. The rest of an error may be a secret.
    - `field` is `loc` without its first part, joined by dots: `partitions.0`.
    - If `loc` has only one part, this part is the field.
    - `message` is `msg` without `Value error, ` at its beginning.
    - `detail` has the first three as `field: message`, joined by `; `.
    - `type` is `about:blank`. `status` is 422. `title` is the phrase of this status,
      `HTTPStatus(422).phrase`.

    Examples
    --------
    >>> validation_problem([{"loc": ("body", "top_k"), "msg": "Too much", "input": 99}])
    {'type': 'about:blank', 'title': HTTPStatus(422).phrase, 'status': 422,
     'detail': 'top_k: Too much',
     'errors': [{'field': 'top_k', 'message': 'Too much'}]}
    """
    fields = []
    for error in one_a_field(errors):
        place = error["loc"][1:] or error["loc"]
        message = error["msg"].removeprefix("Value error, ")
        fields.append({"field": ".".join(map(str, place)), "message": message})
    detail = "; ".join(f"{one['field']}: {one['message']}" for one in fields[:3])
    problem = {"type": "about:blank", "title": HTTPStatus(422).phrase, "status": 422}
    return {**problem, "detail": detail, "errors": fields}


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
