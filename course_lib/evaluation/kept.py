"""Runs on disk: a run goes into a file, and comes out of it to be compared with another."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from course_lib.errors import InputError
from course_lib.evaluation.runs import Ranking, Run
from course_lib.files import read_file
from course_lib.loader import write_jsonl
from course_lib.records import explain

FORMAT: Literal["course-run-v1"] = "course-run-v1"
MOST_BYTES = 100_000_000
MAKE_ONE = "Make one: course eval … --save FILE"


class _Kept(BaseModel):
    format: Literal["course-run-v1"]
    name: str
    answers: tuple[Ranking, ...]


def write_run(run: Run, path: Path) -> None:
    """Write a run to a file, to compare others with it; what was there stays if that fails.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    answers = [asdict(answer) | {"place": answer.place} for answer in run.answers]
    kept = {"format": FORMAT, "name": run.name, "answers": answers}
    write_jsonl(path, [json.dumps(kept, ensure_ascii=False, indent=1)])


def read_run(path: Path) -> Run:
    """Read what `write_run` wrote.

    Raises
    ------
    InputError
        If the file cannot be read or holds no run.
    """
    try:
        raw = read_file(path, MOST_BYTES).removeprefix(BOM_UTF8)
        kept = _Kept.model_validate_json(raw)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint=MAKE_ONE) from None
    except ValueError as error:
        raise InputError(f"{path.name} holds no run: {explain(error)}", hint=MAKE_ONE) from None
    return Run(kept.name, kept.answers)
