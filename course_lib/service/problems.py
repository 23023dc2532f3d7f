"""Errors as problem documents (RFC 9457): what happened and what to do, and nothing of our insides.

Every answer that is no success has the type ``application/problem+json`` and the members `type`,
`title`, `status` and `detail`; a request that does not validate also has `errors`, one for each
field.
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


class UnavailableError(ProblemError):
    """The database or the model is not there; the same request may succeed soon."""

    def __init__(self, detail: str) -> None:
        super().__init__(503, detail, {"Retry-After": str(RETRY_SECONDS)})


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what a route declares about its problem documents in the OpenAPI description."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


def problem_response(
    status: int,
    detail: str,
    *,
    errors: list[FieldError] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return a problem document as a response."""
    problem = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, errors=errors)
    return JSONResponse(
        problem.model_dump(exclude_none=True),
        status_code=status,
        media_type=MEDIA_TYPE,
        headers=dict(headers or {}),
    )


def add_problem_handlers(app: FastAPI) -> None:
    """Let every error that a route raises leave as a problem document."""

    @app.exception_handler(ProblemError)
    def _problem(request: Request, error: ProblemError) -> JSONResponse:
        return problem_response(error.status, error.detail, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    def _validation(request: Request, error: RequestValidationError) -> JSONResponse:
        fields = [_field_error(one) for one in error.errors()]
        detail = "; ".join(f"{one.field}: {one.message}" for one in fields[:3])
        return problem_response(422, detail, errors=fields)

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> JSONResponse:
        # The framework's own: no such path, a method that a path does not take.
        return problem_response(error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(InputError)
    def _input(request: Request, error: InputError) -> JSONResponse:
        return problem_response(422, _said(error))

    @app.exception_handler(DatabaseError)
    @app.exception_handler(psycopg.OperationalError)
    @app.exception_handler(PoolTimeout)
    def _database(request: Request, error: Exception) -> JSONResponse:
        log.warning("the database is not available: %s", error)
        return problem_response(
            503,
            "the database is not available; try again soon",
            headers={"Retry-After": str(RETRY_SECONDS)},
        )

    @app.exception_handler(Exception)
    def _any(request: Request, error: Exception) -> JSONResponse:
        log.error("a request failed", exc_info=error)
        return problem_response(500, "the service has made a mistake; its log says more")


def _said(error: CourseError) -> str:
    return f"{error.args[0]}. {error.hint}" if error.hint else str(error.args[0])


def _field_error(error: Mapping[str, Any]) -> FieldError:
    # The first part of a location is where the value stood: in the body, the query, the path.
    parts = [str(part) for part in error["loc"][1:]] or [str(error["loc"][0])]
    message = str(error["msg"]).removeprefix("Value error, ")
    return FieldError(field=".".join(parts), message=message)
