"""Runs on disk: a run goes into a file, and comes out of it to be compared with another."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from course_lib.errors import InputError
from course_lib.evaluation.questions import Question
from course_lib.evaluation.runs import Answer, Run

FORMAT = "course-run-v1"


def write_run(run: Run, path: Path) -> None:
    """Write a run to a file, to compare others with it.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    answers = [asdict(answer) | {"place": answer.place} for answer in run.answers]
    text = json.dumps(
        {"format": FORMAT, "name": run.name, "answers": answers}, ensure_ascii=False, indent=1
    )
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def read_run(path: Path) -> Run:
    """Read what `write_run` wrote.

    Raises
    ------
    InputError
        If the file cannot be read or holds no run.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["format"] != FORMAT:
            raise ValueError(f"its format is {record['format']!r}")
        return Run(record["name"], tuple(_answer(one) for one in record["answers"]))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path.name} holds no run: {error!r}", hint="Make one: course eval … --save FILE"
        ) from None


def _answer(record: dict[str, Any]) -> Answer:
    asked: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in record["question"].items()
    }
    files, resources = tuple(record["files"]), tuple(record["resources"])
    return Answer(Question(**asked), files, resources, float(record["seconds"]))
