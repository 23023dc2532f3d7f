"""The search page: one form, one list of results, rendered here; no script and no outside asset."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from pydantic import BaseModel, StringConstraints, ValidationError

from course_lib import __version__
from course_lib.addresses import is_link
from course_lib.answers.excerpts import excerpt, words_in
from course_lib.records import PARTITIONS
from course_lib.retriever.versions import named
from course_lib.service.access import CurrentContext, reading_tenant
from course_lib.service.models import SearchRequest
from course_lib.service.problems import ProblemError
from course_lib.service.routes import find

router = APIRouter()

SECURITY_HEADERS = {
    # What is found was written by others: nothing of it may run or load anything.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
Words = Annotated[str, StringConstraints(max_length=1000)]


class SearchForm(BaseModel):
    """What the form sends: every field is text, and an empty one asks for nothing."""

    q: Words = ""
    partition: Words = ""
    repo: Words = ""
    kind: Words = ""
    mode: Words = "hybrid"
    top_k: Words = "5"

    def request(self) -> SearchRequest:
        """Return the search that is asked for.

        Raises
        ------
        ValidationError
            If a field does not make sense.
        """
        return SearchRequest(
            query=self.q.strip(),
            mode=self.mode,
            partitions=[self.partition] if self.partition else None,
            repo=self.repo.strip() or None,
            kind=self.kind.strip() or None,
            top_k=int(self.top_k) if self.top_k.isdecimal() else self.top_k,
        )


@router.get("/", response_class=HTMLResponse, include_in_schema=False)
async def page(
    request: Request, context: CurrentContext, form: Annotated[SearchForm, Query()]
) -> HTMLResponse:
    """Show the form, and what was found where something was asked."""
    message, status, found, timing = "", 200, None, ""
    if form.q.strip():
        try:
            tenant = reading_tenant(request, context)
            found, encoding, searching = await find(context, form.request(), tenant)
            timing = f"{encoding * 1000:.0f} ms to encode, {searching * 1000:.0f} ms to search"
        except ValidationError as error:
            status, message = 422, _said(error)
        except ProblemError as problem:
            status, message = problem.status, problem.detail
    html = _template().render(
        form=form,
        partitions=PARTITIONS,
        found=found,
        named=named,
        is_link=is_link,
        content=lambda result: highlighted(excerpt(result), form.q),
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
