"""Runs on disk: a run goes into a file, and comes out of it to be compared with another."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from course_lib.errors import InputError
from course_lib.evaluation.questions import as_question
from course_lib.evaluation.runs import Answer, Run
from course_lib.files import read_file
from course_lib.loader import write_jsonl

FORMAT = "course-run-v1"
MOST_BYTES = 100_000_000
MAKE_ONE = "Make one: course eval … --save FILE"


def write_run(run: Run, path: Path) -> None:
    """Write a run to a file, to compare others with it; what was there stays if that fails.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    answers = [asdict(answer) | {"place": answer.place} for answer in run.answers]
    text = json.dumps(
        {"format": FORMAT, "name": run.name, "answers": answers}, ensure_ascii=False, indent=1
    )
    # Half of a surrogate pair, which UTF-8 has no bytes for, is written as JSON escapes it.
    write_jsonl(path, [text.encode("utf-8", "backslashreplace").decode("utf-8")])


def read_run(path: Path) -> Run:
    """Read what `write_run` wrote.

    Raises
    ------
    InputError
        If the file cannot be read or holds no run.
    """
    try:
        record = json.loads(read_file(path, MOST_BYTES).decode("utf-8-sig"))
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise ValueError(f"it is not of the format {FORMAT}")
        return Run(str(record["name"]), tuple(map(_answer, record["answers"])))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint=MAKE_ONE) from None
    except UnicodeDecodeError:
        reason = "it is no UTF-8"
    except json.JSONDecodeError as error:
        reason = f"it is no JSON: {error.msg} in line {error.lineno}"
    except RecursionError:
        reason = "it is nested too deep"
    except KeyError as error:
        reason = f"{error.args[0]} is missing"
    except (ValueError, TypeError) as error:
        reason = str(error)
    raise InputError(f"{path.name} holds no run: {reason}", hint=MAKE_ONE)


def _answer(record: dict[str, Any]) -> Answer:
    if not isinstance(record, dict):
        raise ValueError("an answer is no object")
    for name in ("files", "resources"):
        found = record[name]
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise ValueError(f"the {name} of an answer are no list of texts")
    return Answer(
        as_question(record["question"], ""),
        tuple(record["files"]),
        tuple(record["resources"]),
        float(record["seconds"]),
    )
