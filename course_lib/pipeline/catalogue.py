"""Which pipelines there are: a name goes in, the pipeline comes out.

Only asking for one imports kfp, which takes a second.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from course_lib.errors import CourseError, InputError
from course_lib.records import KEBAB, KEBAB_LENGTH

NAMES = ("docs_pipeline", "code_pipeline", "ingest_everything")

MOST_CHARACTERS = 1_000_000
"""Of a chunk."""

MOST_TEXTS = 10_000
"""Of a batch to encode."""


class PipelineError(CourseError):
    """A pipeline did not succeed, or cannot be run or compiled."""


def find_pipeline(name: str) -> Any:
    """Return a pipeline by its name; ``docs-pipeline`` is ``docs_pipeline``.

    Raises
    ------
    InputError
        If there is none of that name.

    Examples
    --------
    >>> find_pipeline("nothing")
    Traceback (most recent call last):
    course_lib.errors.InputError: there is no pipeline 'nothing'
    There are docs_pipeline, code_pipeline and ingest_everything.
    """
    found = name.replace("-", "_")
    if found not in NAMES:
        raise InputError(
            f"there is no pipeline {name!r}",
            hint=f"There are {', '.join(NAMES[:-1])} and {NAMES[-1]}.",
        )
    from course_lib.pipeline import pipelines

    return getattr(pipelines, found)


def parameters_of(name: str) -> dict[str, Any]:
    """Return the parameters of a pipeline by their names, each with its default.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    signature = inspect.signature(find_pipeline(name).pipeline_func)
    return {one.name: one.default for one in signature.parameters.values()}


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Refuse what a step would refuse, before anything runs; other names are left alone.

    Raises
    ------
    InputError
        If a value cannot be used.

    Examples
    --------
    >>> check_arguments({"shards": 0})
    Traceback (most recent call last):
    course_lib.errors.InputError: shards is 0
    Give a number from 1 to 1,000.
    """
    from course_lib.loader.github.issues import iso_time
    from course_lib.loader.github.names import check_repository
    from course_lib.pipeline.corpus import MOST_SHARDS

    limits = {
        "shards": (1, MOST_SHARDS),
        "chunk_size": (1, MOST_CHARACTERS),
        "chunk_overlap": (0, arguments.get("chunk_size", MOST_CHARACTERS) - 1),
        "batch_size": (1, MOST_TEXTS),
    }
    for name, (least, most) in limits.items():
        value = arguments.get(name, least)
        if not least <= value <= most:
            also = ": it is less than chunk_size" if name == "chunk_overlap" else ""
            raise InputError(
                f"{name} is {value}", hint=f"Give a number from {least} to {most:,}{also}."
            )
    tenant = str(arguments.get("tenant", "local"))
    if len(tenant) > KEBAB_LENGTH or not re.fullmatch(KEBAB, tenant):
        raise InputError(
            f"tenant is {tenant!r}", hint="Lowercase letters, digits and single dashes."
        )
    if "ref" in arguments:
        check_repository(str(arguments.get("repo", "")))
    iso_time(arguments.get("since") or None)
