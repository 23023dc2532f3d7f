"""Which pipelines there are: a name goes in, the pipeline comes out.

Only asking for one imports kfp, which takes a second.
"""

from __future__ import annotations

import inspect
from typing import Any

from course_lib.errors import CourseError, InputError

NAMES = ("docs_pipeline", "code_pipeline", "ingest_everything")


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
