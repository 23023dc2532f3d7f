"""The search page: one form, one list of results, rendered here; no script and no outside asset."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from pydantic import StringConstraints, ValidationError

from course_lib import __version__
from course_lib.records import PARTITIONS
from course_lib.retriever.excerpts import excerpt, words_in
from course_lib.retriever.versions import Found, named
from course_lib.service.models import SearchRequest
from course_lib.service.problems import ProblemError
from course_lib.service.routes import Here, find, reading_tenant

router = APIRouter()

SECURITY_HEADERS = {
    # What is found was written by others: nothing of it may run or load anything.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
Field = Annotated[str, StringConstraints(max_length=1000)]


@router.get("/", response_class=HTMLResponse, include_in_schema=False)
async def page(
    request: Request,
    here: Here,
    q: Field = "",
    partition: Field = "",
    repo: Field = "",
    kind: Field = "",
    mode: Field = "hybrid",
    rerank: Field = "",
    top_k: Field = "5",
) -> HTMLResponse:
    """Show the form, and what was found where something was asked."""
    form = {
        "q": q, "partition": partition, "repo": repo, "kind": kind, "mode": mode,
        "rerank": rerank, "top_k": top_k,
    }  # fmt: skip
    message, status, shown, timing = "", 200, None, ""
    if q.strip():
        try:
            tenant = reading_tenant(request, here)
            found, encoding, searching = await find(here, _request(form), tenant)
            shown = [_shown(one, q) for one in found]
            timing = f"{encoding:.0f} ms to encode, {searching:.0f} ms to search"
        except ValidationError as error:
            status, message = 422, _said(error)
        except ProblemError as problem:
            status, message = problem.status, problem.detail
    html = _template().render(
        form=form,
        partitions=PARTITIONS,
        results=shown,
        timing=timing,
        message=message,
        version=__version__,
    )
    return HTMLResponse(html, status_code=status, headers=SECURITY_HEADERS)


def highlighted(text: str, question: str) -> Markup:
    """Return a text as HTML with the question's words marked, in their common forms.

    Examples
    --------
    >>> print(highlighted("Drifts & <b>decay</b>", "What is drift?"))
    <mark>Drifts</mark> &amp; &lt;b&gt;decay&lt;/b&gt;
    """
    pattern = words_in(question)
    if pattern is None:
        return escape(text)
    # Every second part is a word that was found.
    parts = pattern.split(text)
    return Markup("").join(
        Markup("<mark>{}</mark>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def _request(form: dict[str, str]) -> SearchRequest:
    given: dict[str, Any] = {
        "query": form["q"].strip(),
        "mode": form["mode"],
        "partitions": [form["partition"]] if form["partition"] else None,
        "repo": form["repo"].strip() or None,
        "kind": form["kind"].strip() or None,
        "rerank": form["rerank"] or None,
        "top_k": int(form["top_k"]) if form["top_k"].isdecimal() else form["top_k"],
    }
    return SearchRequest.model_validate(given)


def _shown(one: Found, question: str) -> dict[str, Any]:
    result = one.result
    first, last = result.metadata.get("lineStart"), result.metadata.get("lineEnd")
    link = result.citation_url or ""
    return {
        "name": result.name,
        "kind": result.kind,
        "place": f"{result.document_name}:{first}-{last}" if first else result.document_name,
        "partition": result.partition,
        "repo": result.repo_slug,
        "branch": result.branch,
        "also_in": named(one.also_in),
        # An address may come from a tenant's record: only the web's own kinds become links.
        "link": link if urlsplit(link).scheme in ("http", "https") else "",
        "similarity": result.similarity_score,
        "content": highlighted(excerpt(result), question),
    }


def _said(error: ValidationError) -> str:
    names = {"query": "the question", "top_k": "the number of results"}
    return "; ".join(
        f"{names.get(str(one['loc'][0]), one['loc'][0])}: "
        + str(one["msg"]).removeprefix("Value error, ")
        for one in error.errors()
    )


@cache
def _template() -> Any:
    environment = Environment(
        loader=PackageLoader("course_lib.service"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("search.html")
