"""Wrong answers to lab 08 that a learner would plausibly write; see `mutants_lab01.py`."""

import asyncio
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator

from course_lib.service.models import Filter, search_response
from course_lib.service.problems import validation_problem

# --- 8.1 request_model ---

STRICT = ConfigDict(extra="forbid", strict=True)
QUERY = Field(min_length=1, max_length=1000, pattern=r"\S")
TOP_K = Field(default=5, ge=1, le=50)
THRESHOLD = Field(default=0.0, ge=0, le=1)
PARTITIONS = Field(default=None, min_length=1, max_length=20)


def _model(
    config=STRICT, query=QUERY, top_k=TOP_K, threshold=THRESHOLD, partitions=PARTITIONS,
    whole=int, name=Filter, base=None,
):  # fmt: skip
    fields = {
        "query": (str, query),
        "top_k": (whole, top_k),
        "similarity_threshold": (float, threshold),
        "partitions": (list[name] | None, partitions),
    }
    config = None if base else config
    return create_model("SearchRequest", __config__=config, __base__=base, **fields)


def returns_an_object():
    return _model()(query="drift")


def ignores_unknown_names():
    return _model(config=ConfigDict(strict=True))


def turns_quotes_into_numbers():
    return _model(config=ConfigDict(extra="forbid"))


def takes_white_space():
    return _model(query=Field(min_length=1, max_length=1000))


def takes_long_questions():
    return _model(query=Field(min_length=1, pattern=r"\S"))


def has_no_limit_to_top_k():
    return _model(top_k=Field(default=5, ge=1))


def excludes_the_largest_top_k():
    return _model(top_k=Field(default=5, gt=0, lt=50))


def takes_any_threshold():
    return _model(threshold=0.0)


def takes_an_empty_list():
    return _model(partitions=None)


def takes_names_without_a_character():
    return _model(name=str)


def has_no_limit_to_partitions():
    return _model(partitions=Field(default=None, min_length=1))


def wants_all_fields():
    return _model(top_k=Field(ge=1, le=50))


def has_another_default():
    return _model(top_k=Field(default=10, ge=1, le=50))


def takes_parts_of_a_result():
    return _model(whole=float)


def takes_none_for_a_whole_number():
    return _model(whole=int | None)


def is_strict_with_whole_numbers_only():
    return _model(threshold=Field(default=0.0, ge=0, le=1, strict=False))


def wants_a_letter():
    return _model(query=Field(min_length=1, max_length=1000, pattern=r"\w"))


def wants_a_single_line():
    return _model(query=Field(min_length=1, max_length=1000, pattern=r"^.*\S.*$"))


def knows_three_white_spaces():
    return _model(query=Field(min_length=1, max_length=1000, pattern=r"[^ \n\t]"))


class _ReturnsNothing(BaseModel):
    model_config = STRICT

    @field_validator("top_k", check_fields=False)
    @classmethod
    def limit(cls, value):
        assert 1 <= value <= 50


def loses_what_was_sent():
    return _model(top_k=5, base=_ReturnsNothing)


# --- 8.2 search_response ---


def _result(one):
    return {
        "chunk_id": one.chunk_id,
        "document_name": one.document_name,
        "content": one.content,
        "similarity_score": float(one.similarity_score),
        "metadata": {
            **one.metadata,
            "partition": one.partition,
            "repo": one.repo_slug,
            "branch": one.branch,
            "kind": one.kind,
            "name": one.name,
            "namespace": one.namespace,
            "chunk_index": one.chunk_index,
            "score": float(one.score),
        },
        "citation_url": one.citation_url if _is_link(one.citation_url) else None,
    }


def _is_link(url):
    return (url or "").lower().startswith(("https://", "http://"))


def _response(query, results, embedding_seconds, search_seconds):
    return {
        "query": query,
        "results": results,
        "total_results": len(results),
        "embedding_time_ms": round(embedding_seconds * 1000, 2),
        "search_time_ms": round(search_seconds * 1000, 2),
    }


def hands_on_all_it_has(query, results, embedding_seconds, search_seconds):
    results = [{**asdict(one), **_result(one)} for one in results]
    return _response(query, results, embedding_seconds, search_seconds)


def lets_the_sender_say_where_it_came_from(query, results, embedding_seconds, search_seconds):
    found = [_result(one) for one in results]
    for one, result in zip(found, results, strict=True):
        one["metadata"] = {**one["metadata"], **result.metadata}
    return _response(query, found, embedding_seconds, search_seconds)


def takes_the_other_score(query, results, embedding_seconds, search_seconds):
    results = [{**_result(one), "similarity_score": one.score} for one in results]
    return _response(query, results, embedding_seconds, search_seconds)


def leaves_numpys_numbers(query, results, embedding_seconds, search_seconds):
    results = [{**_result(one), "similarity_score": one.similarity_score} for one in results]
    return _response(query, results, embedding_seconds, search_seconds)


def returns_seconds(query, results, embedding_seconds, search_seconds):
    found = [_result(one) for one in results]
    return _response(query, found, embedding_seconds / 1000, search_seconds / 1000)


def sorts_the_results(query, results, embedding_seconds, search_seconds):
    found = sorted(map(_result, results), key=lambda one: -one["similarity_score"])
    return _response(query, found, embedding_seconds, search_seconds)


def leaves_out_what_is_none(query, results, embedding_seconds, search_seconds):
    found = [{k: v for k, v in _result(one).items() if v is not None} for one in results]
    return _response(query, found, embedding_seconds, search_seconds)


def spreads_the_metadata(query, results, embedding_seconds, search_seconds):
    found = [_result(one) for one in results]
    found = [{**one, **one.pop("metadata")} for one in found]
    return _response(query, found, embedding_seconds, search_seconds)


def rounds_one_time_of_two(query, results, embedding_seconds, search_seconds):
    response = _response(query, [*map(_result, results)], embedding_seconds, search_seconds)
    return response | {"search_time_ms": search_seconds * 1000}


def rounds_the_similarity(query, results, embedding_seconds, search_seconds):
    found = [_result(one) for one in results]
    found = [{**one, "similarity_score": round(one["similarity_score"], 4)} for one in found]
    return _response(query, found, embedding_seconds, search_seconds)


def _linked(query, results, embedding_seconds, search_seconds, is_link):
    found = [_result(one) for one in results]
    for one, result in zip(found, results, strict=True):
        one["citation_url"] = result.citation_url if is_link(result.citation_url or "") else None
    return _response(query, found, embedding_seconds, search_seconds)


def hands_on_every_address(*given):
    return _linked(*given, is_link=lambda url: True)


def minds_the_case_of_an_address(*given):
    return _linked(*given, is_link=lambda url: url.startswith(("https://", "http://")))


def finds_the_scheme_anywhere(*given):
    return _linked(*given, is_link=lambda url: "://" in url and "http" in url.lower())


def looks_at_four_letters(*given):
    return _linked(*given, is_link=lambda url: url.lower().startswith("http"))


def knows_https_alone(*given):
    return _linked(*given, is_link=lambda url: url.lower().startswith("https://"))


def keeps_an_empty_address(*given):
    return _linked(*given, is_link=lambda url: not url or _is_link(url))


def refuses_one_scheme(*given):
    return _linked(*given, is_link=lambda url: not url.lower().startswith("javascript:"))


def leaves_out_the_whole_result(query, results, embedding_seconds, search_seconds):
    known = [one for one in results if one.citation_url is None or _is_link(one.citation_url)]
    return _response(query, [*map(_result, known)], embedding_seconds, search_seconds)


# --- 8.3 validation_problem ---


def _field(error):
    return ".".join(str(part) for part in error["loc"][1:]) or str(error["loc"][0])


def _message(error):
    return error["msg"].removeprefix("Value error, ")


def _chosen(errors, key=lambda loc: loc[:2], better=lambda one, known: len(one) > len(known)):
    found = {}
    for error in errors:
        known = found.setdefault(key(error["loc"]), error)
        if better(error["loc"], known["loc"]):
            found[key(error["loc"])] = error
    return list(found.values())


def _problem(errors, fields=None):
    fields = fields or [{"field": _field(e), "message": _message(e)} for e in _chosen(errors)]
    return {
        "type": "about:blank",
        "title": HTTPStatus(422).phrase,
        "status": 422,
        "detail": "; ".join(f"{one['field']}: {one['message']}" for one in fields[:3]),
        "errors": fields,
    }


def repeats_what_was_sent(errors):
    fields = [
        {"field": _field(e), "message": f"{_message(e)} ({e['input']})"}
        if "input" in e
        else {"field": _field(e), "message": _message(e)}
        for e in _chosen(errors)
    ]
    return _problem(errors, fields)


def names_the_body(errors):
    errors = _chosen(errors)
    fields = [{"field": ".".join(map(str, e["loc"])), "message": _message(e)} for e in errors]
    return _problem(errors, fields)


def takes_the_last_part(errors):
    errors = _chosen(errors)
    return _problem(errors, [{"field": str(e["loc"][-1]), "message": _message(e)} for e in errors])


def takes_numbers_for_text(errors):
    fields = [{"field": ".".join(e["loc"][1:]), "message": _message(e)} for e in _chosen(errors)]
    return _problem(errors, fields)


def forgets_a_bare_location(errors):
    fields = [
        {"field": ".".join(str(part) for part in e["loc"][1:]), "message": _message(e)}
        for e in _chosen(errors)
    ]
    return _problem(errors, fields)


def keeps_pydantics_prefix(errors):
    return _problem(errors, [{"field": _field(e), "message": e["msg"]} for e in _chosen(errors)])


def tells_the_first_only(errors):
    return _problem(errors[:1])


def tells_all_in_the_detail(errors):
    problem = _problem(errors)
    problem["detail"] = "; ".join(f"{e['field']}: {e['message']}" for e in problem["errors"])
    return problem


def lists_three(errors):
    return _problem(_chosen(errors)[:3])


def strips_characters(errors):
    prefix = "Value error, "
    fields = [{"field": _field(e), "message": e["msg"].lstrip(prefix)} for e in _chosen(errors)]
    return _problem(errors, fields)


def takes_what_follows_a_comma(errors):
    fields = [{"field": _field(e), "message": e["msg"].split(", ", 1)[-1]} for e in _chosen(errors)]
    return _problem(errors, fields)


def forgets_place_zero(errors):
    fields = [
        {
            "field": ".".join(str(p) for p in e["loc"][1:] if p) or e["loc"][0],
            "message": _message(e),
        }
        for e in _chosen(errors)
    ]
    return _problem(errors, fields)


def knows_one_first_place(errors):
    fields = [
        {
            "field": ".".join(str(p) for p in e["loc"] if p != "body") or "body",
            "message": _message(e),
        }
        for e in _chosen(errors)
    ]
    return _problem(errors, fields)


def _told(errors):
    return _problem(errors, [{"field": _field(e), "message": _message(e)} for e in errors])


def tells_every_error(errors):
    return _told(errors)


def keeps_the_first_of_a_field(errors):
    return _told(_chosen(errors, better=lambda one, known: False))


def keeps_the_last_of_a_field(errors):
    return _told(_chosen(errors, better=lambda one, known: True))


def keeps_the_last_of_the_longest(errors):
    return _told(_chosen(errors, better=lambda one, known: len(one) >= len(known)))


def keeps_the_shortest(errors):
    return _told(_chosen(errors, better=lambda one, known: len(one) < len(known)))


def merges_only_equal_places(errors):
    return _told(_chosen(errors, key=lambda loc: loc))


def merges_by_the_last_part(errors):
    return _told(_chosen(errors, key=lambda loc: loc[-1]))


def merges_query_and_body(errors):
    return _told(_chosen(errors, key=lambda loc: loc[1:2]))


def sorts_by_length(errors):
    return _told(_chosen(sorted(errors, key=lambda one: -len(one["loc"]))))


# --- 8.4 readiness ---


def _verdict(states):
    is_ready = set(states.values()) <= {"ready"}
    return (200 if is_ready else 503), {"status": "ready" if is_ready else "not ready", **states}


async def _state(check, timeout):
    try:
        return await asyncio.wait_for(check(), timeout)
    except Exception:
        return "missing"


async def asks_one_after_the_other(checks, timeout=0.5):
    return _verdict({name: await _state(check, timeout) for name, check in checks.items()})


async def waits_for_ever(checks, timeout=0.5):
    async def state(check):
        try:
            return await check()
        except Exception:
            return "missing"

    return _verdict(
        dict(zip(checks, await asyncio.gather(*map(state, checks.values())), strict=True))
    )


async def lets_the_error_out(checks, timeout=0.5):
    waits = (asyncio.wait_for(check(), timeout) for check in checks.values())
    return _verdict(dict(zip(checks, await asyncio.gather(*waits), strict=True)))


async def tells_the_error(checks, timeout=0.5):
    async def state(check):
        try:
            return await asyncio.wait_for(check(), timeout)
        except Exception as error:
            return str(error)

    return _verdict(
        dict(zip(checks, await asyncio.gather(*map(state, checks.values())), strict=True))
    )


async def stops_at_the_first(checks, timeout=0.5):
    states = {}
    for name, check in checks.items():
        states[name] = await _state(check, timeout)
        if states[name] != "ready":
            break
    return _verdict(states)


async def always_answers_200(checks, timeout=0.5):
    states = await asyncio.gather(*(_state(check, timeout) for check in checks.values()))
    return 200, _verdict(dict(zip(checks, states, strict=True)))[1]


async def forgets_to_await(checks, timeout=0.5):
    async def state(check):
        check().close()
        return "ready"

    return _verdict(
        dict(zip(checks, await asyncio.gather(*map(state, checks.values())), strict=True))
    )


async def leaves_checks_at_work(checks, timeout=0.5):
    tasks = {name: asyncio.ensure_future(check()) for name, check in checks.items()}
    if tasks:
        await asyncio.wait(tasks.values(), timeout=timeout)
    there = {name: task.done() and not task.exception() for name, task in tasks.items()}
    return _verdict({name: tasks[name].result() if there[name] else "missing" for name in checks})


async def takes_every_answer_for_ready(checks, timeout=0.5):
    states = await asyncio.gather(*(_state(check, timeout) for check in checks.values()))
    words = ["missing" if state == "missing" else "ready" for state in states]
    return _verdict(dict(zip(checks, words, strict=True)))


async def has_a_timeout_of_its_own(checks, timeout=0.5):
    states = await asyncio.gather(*(_state(check, 0.5) for check in checks.values()))
    return _verdict(dict(zip(checks, states, strict=True)))


async def knows_one_kind_of_error(checks, timeout=0.5):
    async def state(check):
        try:
            return await asyncio.wait_for(check(), timeout)
        except OSError:  # a TimeoutError is one, too
            return "missing"

    return _verdict(
        dict(zip(checks, await asyncio.gather(*map(state, checks.values())), strict=True))
    )


async def gives_up_with_the_first(checks, timeout=0.5):
    states = dict.fromkeys(checks, "missing")

    async def ask(name, check):
        states[name] = await check()

    try:
        async with asyncio.timeout(timeout), asyncio.TaskGroup() as group:
            for name, check in checks.items():
                group.create_task(ask(name, check))
    except (TimeoutError, ExceptionGroup):
        pass
    return _verdict(states)


def is_no_coroutine(checks, timeout=0.5):
    return _verdict(dict.fromkeys(checks, "ready"))


async def blocks_the_loop(checks, timeout=0.5):
    while True:
        pass


async def _stub(checks, timeout=0.5):
    raise NotImplementedError()


_stub.__name__ = _stub.__qualname__ = "readiness"
STUBS = {"8.4": _stub}


# --- found by playing learners ---


def strips_before_it_counts():
    return _model(config=STRICT | ConfigDict(str_strip_whitespace=True))


def strips_addresses(query, results, embedding_seconds, search_seconds):
    def fair(url):
        return url if url and url.strip().lower().startswith(("https://", "http://")) else None

    answer = search_response(query, results, embedding_seconds, search_seconds)
    for one, told in zip(results, answer["results"], strict=True):
        told["citation_url"] = fair(one.citation_url)
    return answer


def removes_the_prefix_everywhere(errors):
    changed = [{**one, "msg": one["msg"].replace("Value error, ", "")} for one in errors]
    return validation_problem(changed)


def _ready(is_ready=lambda state: state == "ready", kinds=Exception, tries=1):
    async def readiness(checks, timeout=0.5):
        async def state(check):
            for left in reversed(range(tries)):
                try:
                    return await asyncio.wait_for(check(), timeout)
                except kinds:
                    if not left:
                        return "missing"

        states = await asyncio.gather(*map(state, checks.values()))
        good = all(map(is_ready, states))
        parts = dict(zip(checks, states, strict=True))
        return (200 if good else 503), {"status": "ready" if good else "not ready", **parts}

    return readiness


def _named(name, function):
    function.__name__ = name
    return function


catches_three_kinds = _named(
    "catches_three_kinds", _ready(kinds=(TimeoutError, OSError, RuntimeError))
)
finds_ready_in_a_text = _named(
    "finds_ready_in_a_text", _ready(is_ready=lambda state: "ready" in state)
)
asks_twice = _named("asks_twice", _ready(tries=2))


def takes_names_of_any_length():
    return _model(name=Annotated[str, Field(min_length=1)])


def has_another_name():
    return create_model("Request", __base__=_model())


def _with_metadata(query, results, embedding_seconds, search_seconds, of):
    answer = search_response(query, results, embedding_seconds, search_seconds)
    for one, told in zip(results, answer["results"], strict=True):
        told["metadata"] = of(one, told["metadata"])
    return answer


def takes_the_senders_namespace(*given):
    return _with_metadata(
        *given,
        of=lambda one, own: own | {"namespace": one.namespace or one.metadata.get("namespace")},
    )


def protects_repo_and_score_only(*given):
    return _with_metadata(
        *given,
        of=lambda one, own: own | one.metadata | {name: own[name] for name in ("repo", "score")},
    )


def knows_two_spellings(query, results, embedding_seconds, search_seconds):
    answer = search_response(query, results, embedding_seconds, search_seconds)
    for one, told in zip(results, answer["results"], strict=True):
        if not (one.citation_url or "").startswith(("https://", "http://", "HTTPS://", "HTTP://")):
            told["citation_url"] = None
    return answer


async def names_them_as_they_answer(checks, timeout=0.5):
    async def state(check):
        try:
            return await asyncio.wait_for(check(), timeout)
        except Exception:
            return "missing"

    asked = asyncio.as_completed([state(check) for check in checks.values()])
    parts = dict(zip(checks, [await one for one in asked], strict=True))
    good = all(state == "ready" for state in parts.values())
    return (200 if good else 503), {"status": "ready" if good else "not ready", **parts}


async def waits_for_one_after_the_other(checks, timeout=0.5):
    tasks = {name: asyncio.create_task(check()) for name, check in checks.items()}
    parts = {}
    for name, task in tasks.items():
        try:
            parts[name] = await asyncio.wait_for(task, timeout)
        except Exception:
            parts[name] = "missing"
    good = all(state == "ready" for state in parts.values())
    return (200 if good else 503), {"status": "ready" if good else "not ready", **parts}


MUTANTS = {
    "8.1": {
        returns_an_object: "a class made from BaseModel",
        ignores_unknown_names: "an unknown field is a mistake",
        turns_quotes_into_numbers: "a number in quotes is not a number",
        takes_white_space: "it is only white space",
        takes_long_questions: "1,000 characters are the maximum",
        has_no_limit_to_top_k: "50 is the maximum",
        excludes_the_largest_top_k: "50 is allowed",
        takes_any_threshold: "similarity_threshold",
        takes_an_empty_list: "an empty list holds no name",
        takes_names_without_a_character: "a name has at least one character",
        has_no_limit_to_partitions: "20 names are the maximum",
        wants_all_fields: "only the query must be present",
        has_another_default: "their values if they are missing",
        takes_parts_of_a_result: "2.5 is not a whole number",
        takes_none_for_a_whole_number: "None is not a number",
        is_strict_with_whole_numbers_only: "a number in quotes is not a number",
        wants_a_letter: "a text without a letter",
        wants_a_single_line: "a text of two lines",
        knows_three_white_spaces: "it is only white space",
        loses_what_was_sent: "the values that were sent",
        strips_before_it_counts: "a space is a character",
        takes_names_of_any_length: "at most 500 characters",
        has_another_name: "shows this name",
    },
    "8.2": {
        hands_on_all_it_has: "and no others",
        lets_the_sender_say_where_it_came_from: "must not replace the result's own repo",
        takes_the_other_score: "similarity_score",
        leaves_numpys_numbers: "import numpy as np; search_response('Why?'",
        returns_seconds: "embedding_time_ms",
        sorts_the_results: "in the order of the search",
        leaves_out_what_is_none: "citation_url",
        spreads_the_metadata: "and no others",
        rounds_one_time_of_two: "rounded to two decimals",
        rounds_the_similarity: "similarity_score",
        hands_on_every_address: "a browser runs this address",
        minds_the_case_of_an_address: "capital letters",
        finds_the_scheme_anywhere: "not at its beginning",
        looks_at_four_letters: "all of https://",
        knows_https_alone: "http is allowed",
        keeps_an_empty_address: "an empty text",
        refuses_one_scheme: "all of https://",
        leaves_out_the_whole_result: "a browser runs this address",
        strips_addresses: "it begins with a space",
        takes_the_senders_namespace: "`namespace` stays None",
        protects_repo_and_score_only: "forged all eight",
        knows_two_spellings: "only the first letter",
    },
    "8.3": {
        repeats_what_was_sent: "only `loc` and `msg` are used",
        names_the_body: "without its first part",
        takes_the_last_part: "are joined",
        takes_numbers_for_text: "TypeError",
        forgets_a_bare_location: "this part is the field",
        keeps_pydantics_prefix: "pydantic added",
        tells_the_first_only: "both are in the document",
        tells_all_in_the_detail: "the detail has three",
        lists_three: "the detail has three",
        strips_characters: "pydantic added",
        takes_what_follows_a_comma: "Input should be 1, 2 or 3",
        forgets_place_zero: "partitions.0",
        knows_one_first_place: "whatever it is",
        tells_every_error: "the first is used",
        keeps_the_first_of_a_field: "got furthest",
        keeps_the_last_of_a_field: "the first is used",
        keeps_the_last_of_the_longest: "the first is used",
        keeps_the_shortest: "got furthest",
        merges_only_equal_places: "got furthest",
        merges_by_the_last_part: "got furthest",
        merges_query_and_body: "in the query and one in the body",
        sorts_by_length: "the order of their first errors",
        removes_the_prefix_everywhere: "is left out only at the beginning",
    },
    "8.4": {
        asks_one_after_the_other: "all at the same time",
        waits_for_ever: "a wait that never ends",
        lets_the_error_out: "raises any exception",
        tells_the_error: "raises any exception",
        stops_at_the_first: "raises any exception",
        always_answers_200: "the status is 503",
        forgets_to_await: "under its own name",
        leaves_checks_at_work: "still running",
        is_no_coroutine: "something to await",
        blocks_the_loop: "no result after",
        takes_every_answer_for_ready: "in the answer, unchanged",
        has_a_timeout_of_its_own: "longer than `timeout`",
        knows_one_kind_of_error: "raises any exception",
        gives_up_with_the_first: "even if another fails",
        catches_three_kinds: "an exception of any kind",
        finds_ready_in_a_text: "only the text `ready`",
        asks_twice: "ask it once",
        names_them_as_they_answer: "under its own name, also if another",
        waits_for_one_after_the_other: "the time of each begins when all are asked",
    },
}
