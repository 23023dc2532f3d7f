"""Wrong answers to lab 09 that a learner would plausibly write; see `mutants_lab01.py`."""

import asyncio
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, field_validator

from course_lib.service.models import Filter, not_blank
from course_lib.service.probes import readiness
from course_lib.service.problems import validation_problem
from tests.unit.teaching.edits import edits

# --- 9.1 request_model ---

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


class _CountsBytes(BaseModel):
    model_config = STRICT

    @field_validator("query", check_fields=False)
    @classmethod
    def limit(cls, value):
        assert len(value.encode()) <= 1000
        return value


def counts_bytes():
    return _model(base=_CountsBytes)


class _Strips(BaseModel):
    model_config = STRICT

    @field_validator("query", check_fields=False)
    @classmethod
    def strip(cls, value):
        return value.strip()


def strips_what_was_sent():
    return _model(base=_Strips)


def wants_a_letter_in_a_name():
    return _model(name=Annotated[Filter, AfterValidator(not_blank)])


def takes_none_for_a_name():
    return _model(name=Filter | None)


class _ReturnsNothing(BaseModel):
    model_config = STRICT

    @field_validator("top_k", check_fields=False)
    @classmethod
    def limit(cls, value):
        assert 1 <= value <= 50


def loses_what_was_sent():
    return _model(top_k=5, base=_ReturnsNothing)


# --- 9.3 readiness ---

ASKED = "await asyncio.wait_for(check(), timeout)"
GATHERED = "await asyncio.gather(*(state(check) for check in checks.values()))"


def _verdict(states):
    is_ready = set(states.values()) <= {"ready"}
    return (200 if is_ready else 503), {"status": "ready" if is_ready else "not ready", **states}


async def leaves_checks_at_work(checks, timeout=0.5):
    tasks = {name: asyncio.ensure_future(check()) for name, check in checks.items()}
    if tasks:
        await asyncio.wait(tasks.values(), timeout=timeout)
    there = {name: task.done() and not task.exception() for name, task in tasks.items()}
    return _verdict({name: tasks[name].result() if there[name] else "missing" for name in checks})


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
STUBS = {"9.3": _stub}


# --- found by playing learners ---


def strips_before_it_counts():
    return _model(config=STRICT | ConfigDict(str_strip_whitespace=True))


def takes_names_of_any_length():
    return _model(name=Annotated[str, Field(min_length=1)])


def has_another_name():
    return create_model("Request", __base__=_model())


MUTANTS = {
    "9.1": {
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
        counts_bytes: "however many bytes",
        strips_what_was_sent: "with its spaces",
        wants_a_letter_in_a_name: "any characters",
        takes_none_for_a_name: "but not in it",
        strips_before_it_counts: "a space is a character",
        takes_names_of_any_length: "at most 500 characters",
        has_another_name: "shows this name",
    },
    "9.2": edits(
        validation_problem,
        repeats_what_was_sent=(
            'removeprefix("Value error, ")'
            ' -> removeprefix("Value error, ") + str(error.get("input", ""))',
            "only `loc` and `msg` are used",
        ),
        names_the_body=('error["loc"][1:] or error["loc"] -> error["loc"]', "its first part"),
        takes_the_last_part=('error["loc"][1:] or error["loc"] -> error["loc"][-1:]', "are joined"),
        takes_numbers_for_text=("map(str, place) -> place", "TypeError"),
        forgets_a_bare_location=(' or error["loc"] -> ', "this part is the field"),
        keeps_pydantics_prefix=('.removeprefix("Value error, ") -> ', "pydantic added"),
        tells_the_first_only=("one_a_field(errors) -> errors[:1]", "both are in the document"),
        tells_all_in_the_detail=("fields[:3] -> fields", "the detail has three"),
        lists_three=('"errors": fields -> "errors": fields[:3]', "the detail has three"),
        strips_characters=("removeprefix -> lstrip", "pydantic added"),
        takes_what_follows_a_comma=(
            'removeprefix("Value error, ") -> split(", ", 1)[-1]',
            "Input should be 1, 2 or 3",
        ),
        forgets_place_zero=(
            "map(str, place) -> (str(one) for one in place if one)",
            "partitions.0",
        ),
        knows_one_first_place=(
            'error["loc"][1:] or error["loc"]'
            ' -> [part for part in error["loc"] if part != "body"] or ["body"]',
            "whatever it is",
        ),
        tells_every_error=("one_a_field(errors) -> errors", "the first is used"),
        sorts_by_length=(
            'one_a_field(errors) -> sorted(one_a_field(errors), key=lambda one: -len(one["loc"]))',
            "the order of their first errors",
        ),
        tells_the_context=(
            '"message": message} -> "message": message, **({"ctx": error["ctx"]} if "ctx" in error '
            "else {})}",
            "only `loc` and `msg` are used",
        ),
        knows_one_bare_location=(
            'error["loc"][1:] or error["loc"]'
            ' -> error["loc"] if error["loc"] == ("body",) else error["loc"][1:]',
            "this part is the field, whatever it is",
        ),
        removes_every_body=(
            'error["loc"][1:] or error["loc"] -> '
            '[one for one in error["loc"][1:] if one != "body"] or error["loc"]',
            "only the first part is left out",
        ),
        removes_the_prefix_twice=(
            'removeprefix("Value error, ")'
            ' -> removeprefix("Value error, ").removeprefix("Value error, ")',
            "is left out once",
        ),
        removes_the_prefix_of_other_errors=(
            'removeprefix("Value error, ")'
            ' -> removeprefix("Value error, ").removeprefix("Assertion error, ")',
            "Assertion error, odd",
        ),
        takes_the_first_sentence=(
            '.removeprefix("Value error, ") -> .removeprefix("Value error, ").split(".")[0]',
            "stays as it is",
        ),
        cuts_the_message=(
            '.removeprefix("Value error, ") -> .removeprefix("Value error, ")[:80]',
            "stays as it is",
        ),
        writes_the_status_as_text=('"status": 422 -> "status": \'422\'', "a number"),
        forgets_the_kind=('"type": "about:blank",  -> ', "the document has type"),
        removes_the_prefix_everywhere=(
            '.removeprefix("Value error, ") -> .replace("Value error, ", "")',
            "is left out only at the beginning",
        ),
    ),
    "9.3": edits(
        readiness,
        asks_one_after_the_other=(
            "await asyncio.gather(*(state(check) for check in checks.values()))"
            " -> [await state(check) for check in checks.values()]",
            "all at the same time",
        ),
        waits_for_ever=("asyncio.wait_for(check(), timeout) -> check()", "a wait that never ends"),
        lets_the_error_out=("except Exception -> except ZeroDivisionError", "raises any exception"),
        tells_the_error=(
            'except Exception:\n            return "missing"'
            " -> except Exception as error:\n            return str(error)",
            "raises any exception",
        ),
        always_answers_200=("(200 if is_ready else 503) -> 200", "the status is 503"),
        forgets_to_await=(
            "return await asyncio.wait_for(check(), timeout)"
            ' -> check().close()\n            return "ready"',
            "under its own name",
        ),
        stops_at_the_first=(
            f"{GATHERED} -> []\n    for check in checks.values():\n"
            "        states.append(await state(check))\n        if states[-1] != 'ready':\n"
            "            break",
            "strict=True -> strict=False",
            "raises any exception",
        ),
        takes_every_answer_for_ready=(
            f"return {ASKED} -> {ASKED}\n            return 'ready'",
            "in the answer, unchanged",
        ),
        has_a_timeout_of_its_own=(", timeout) -> , 0.5)", "longer than `timeout`"),
        gives_each_a_share=(", timeout) -> , timeout / len(checks))", "each part has the whole"),
        asks_two_at_a_time=(
            "async def state -> turns = asyncio.Semaphore(2)\n\n    async def state",
            f"return {ASKED} -> async with turns:\n                return {ASKED}",
            "ask all at the same time",
        ),
        knows_one_kind_of_error=("except Exception -> except OSError", "raises any exception"),
        catches_three_kinds=(
            "except Exception -> except (TimeoutError, OSError, RuntimeError)",
            "an exception of any kind",
        ),
        finds_ready_in_a_text=(
            "set(states) <= {\"ready\"} -> all('ready' in one for one in states)",
            "only the text `ready`",
        ),
        begins_with_ready=(
            "set(states) <= {\"ready\"} -> all(one.startswith('ready') for one in states)",
            "not a text that begins with it",
        ),
        asks_twice=(
            f"except Exception: -> except Exception:\n            pass\n"
            f"        try:\n            return {ASKED}\n        except Exception:",
            "ask it once",
        ),
        names_them_as_they_answer=(
            f"{GATHERED}"
            " -> [await one for one in asyncio.as_completed([*map(state, checks.values())])]",
            "under its own name, also if another",
        ),
        waits_for_one_after_the_other=(
            "wait_for(check() -> wait_for(check",
            f"{GATHERED} -> [await state(one) for one in "
            "[asyncio.create_task(check()) for check in checks.values()]]",
            "the time of each begins when all are asked",
        ),
    )
    | {
        leaves_checks_at_work: "still running",
        is_no_coroutine: "something to await",
        blocks_the_loop: "no result after",
        gives_up_with_the_first: "even if another fails",
    },
}
