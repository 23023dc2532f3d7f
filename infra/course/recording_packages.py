"""Recorded code of a language model: instructions go in, `data/answers/packages.jsonl` comes out.

    python -m infra.course.recording_packages

has a short Python function written for each instruction under each condition, one line an answer.
What is there already is not asked again.

The rule was written before anything was asked: of each project, the Python instructions in the
order of the SHA-256 of their ids; the first ten that need a package, and the first five that need
none, all in that order of their ids. What is in the file ends after the first 22 of these 30.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

import typer
from tqdm import tqdm

from course_lib.answers.prompts import Prompt
from course_lib.settings import project_root
from course_lib.store import connect, fresh_database
from course_lib.xray import TableDescriber, create_tables, find_lock_files, suggest, sync_project
from course_lib.xray.generation import build_prompt
from course_lib.xray.suggestions import Suggestion
from infra.course.recording import ANSWERS, QUESTIONS, ask, read_lines

FILE = ANSWERS / "packages.jsonl"
MOST_TOKENS = 160
PROJECTS = ("rider-app", "forecasting")
CONDITIONS = ("no list", "all names", "nearest five")
SYSTEM = (
    "You write Python. Write one short function and the imports that it needs. "
    "Write no example and no explanation."
)


def instructions() -> list[dict[str, str]]:
    """Return the instructions, by the rule above."""
    chosen = []
    for questions, count in (("packages", 10), ("no_package", 5)):
        lines = sorted(read_lines(QUESTIONS / f"{questions}.jsonl"), key=_digest)
        for project in PROJECTS:
            own = [one for one in lines if (one["project"], one["language"]) == (project, "python")]
            chosen += own[:count]
    return sorted(chosen, key=_digest)  # so that a recording that broke off has some of each


def _digest(question: dict[str, str]) -> str:
    return hashlib.sha256(question["id"].encode("utf-8")).hexdigest()


def record(most: int | None = None) -> None:
    """Have the code written, and add it to the file.

    Parameters
    ----------
    most
        How many answers are made at most, for a try.
    """
    from course_lib.embedder import EmbeddingClient

    embedder = EmbeddingClient()
    locks = project_root() / "data" / "lockfiles"
    files = {project: find_lock_files(locks / project) for project in PROJECTS}
    there = read_lines(FILE) if FILE.is_file() else []
    known = {(one["id"], one["condition"]) for one in there}
    asked = [(one, how) for one in instructions() for how in CONDITIONS]
    asked = [(one, how) for one, how in asked if (one["id"], how) not in known][:most]
    ANSWERS.mkdir(parents=True, exist_ok=True)
    with fresh_database("packages") as database, connect(database.url, autocommit=True) as conn:
        create_tables(conn)
        for project in PROJECTS:
            sync_project(
                conn, project, files[project], embedder=embedder, describer=TableDescriber()
            )
        for one, how in tqdm(asked, unit="answer"):
            packages: list[Suggestion] = []
            if how == "all names":
                names = ", ".join(sorted(files[one["project"]].packages("python")))
                packages = [Suggestion(names, "", None)]
            if how == "nearest five":
                project = one["project"]
                found = suggest(
                    conn, embedder, one["instruction"], project=project, language="python"
                )
                packages = list(found.packages)
            above = [f"# {one['instruction']}"]
            text = build_prompt("new.py", above, one["instruction"], "python", packages)
            said = {**one, "condition": how, **ask(Prompt(SYSTEM, text), most_tokens=MOST_TOKENS)}
            with FILE.open("a", encoding="utf-8") as file:
                file.write(json.dumps(said, ensure_ascii=False) + "\n")


def main(
    most: Annotated[int | None, typer.Option(help="Answers that are made, at most.")] = None,
) -> None:
    """Have a language model on this machine write code, and keep it in data/answers/."""
    record(most)


if __name__ == "__main__":
    typer.run(main)
