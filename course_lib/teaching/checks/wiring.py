"""What a compiled pipeline says about each step: what it gets, and what it was set to.

A learner's pipeline is compiled here, and read by `course_lib.pipeline.reading`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, cast

from course_lib.pipeline.reading import as_json, topics_of
from course_lib.teaching.checks.origin import is_library
from course_lib.teaching.taught import function_of

CHANNEL = "pipelinechannel--"

Json = Mapping[str, Any]


def compiled(pipeline: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what kfp compiles a pipeline to, and what it asks of Kubernetes.

    Parameters
    ----------
    pipeline
        Its function, decorated or not. A line of it that asks whether a placeholder is true, which
        kfp lets pass, is refused.
    """
    from kfp import dsl

    with _placeholders_have_no_value(), _quick_stack():
        return as_json(dsl.pipeline(function_of(pipeline)))


def wiring(pipeline: Any) -> dict[str, Any]:
    """Return what a pipeline is compiled to, by topics, and most of them by steps.

    The topic "what else is set" has variables, and all else that Kubernetes is asked.

    Parameters
    ----------
    pipeline
        Its function, decorated or not. A component that is used again has a number: ``"report
        (2)"``.

    Examples
    --------
    >>> from course_lib.pipeline.pipelines import docs_pipeline
    >>> wiring(docs_pipeline)["gets"]["build-index"]
    {'stored': "embed-and-store's Output"}
    """
    return topics_of(*compiled(pipeline))


@contextmanager
def _placeholders_have_no_value() -> Iterator[None]:
    """Refuse lines, other than kfp's own, that ask whether a placeholder is true."""
    from kfp.dsl.pipeline_channel import ConditionOperation, PipelineChannel

    def refuse(placeholder: Any) -> bool:
        if is_library(sys._getframe(1).f_code.co_filename):
            return True
        raise TypeError("a placeholder has no value while the pipeline is compiled")

    one, other = cast(Any, ConditionOperation), cast(Any, PipelineChannel)
    one.__bool__ = other.__bool__ = refuse
    try:
        yield
    finally:
        del one.__bool__, other.__bool__


def frames(context: int = 1) -> list[inspect.FrameInfo]:
    """Return the frames of a call without their source, as `inspect.stack` does with it."""
    frame: FrameType | None = sys._getframe(1)
    found = []
    while frame:
        code = frame.f_code
        known = (frame, code.co_filename, frame.f_lineno, code.co_name, None, None)
        found.append(inspect.FrameInfo(*known))
        frame = frame.f_back
    return found


@contextmanager
def _quick_stack() -> Iterator[None]:
    """Let kfp, which asks for the stack at each setting of a task, get it without the source.

    A notebook's cells are not files, so `inspect.stack` would look for them in each of thousands of
    modules: 0.5 seconds a pipeline, and a check compiles dozens.
    """
    usual, inspect.stack = inspect.stack, frames
    try:
        yield
    finally:
        inspect.stack = usual
