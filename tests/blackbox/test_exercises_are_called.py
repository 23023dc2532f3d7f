"""One version: what a lab has its learners write is what the commands run.

The commands run under a profiler, those in processes of their own too. It notes which functions of
the library were called; every one that a lab shows as the answer of an exercise has to be among
them.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tests.blackbox.course import Course
from tests.blackbox.github import hub_of
from tests.blackbox.language_models import CHAT, SHOW, models, ollama, window
from tests.blackbox.places import Place
from tests.blackbox.serving import serving

SOLUTIONS = Path(__file__).parents[2] / "solutions"

SKETCHES = {
    "1.4": "a test of a splitter, which is no part of one",
    "3.5": "a parser of the learner's own",
    "9.2": "of the smallest pipeline; the library's steps hand on the rows of documents, too",
    "9.3": "of the smallest pipeline; the library's shards are stored each for itself",
    "9.4": "the smallest pipeline",
}
"""Exercises that are no function of the library, and why: at most a tenth of all."""

QUESTION = "Who looks after the mill?"
PAGE = "# Mill\n\n" + "The sail turns into the wind.\r\n\r\nThe miller looks after it.\n" * 20
FILES = {
    "docs/mill.md": PAGE,
    "mill/sail.py": "import os\n\n\ndef turn(degrees):\n    return degrees % 360\n",
    "mill/torn.py": "def a(:\n    return (\n\n\n# Grinds.\ndef grind(corn):\n    return corn\n",
    "k8s/mill.yaml": "kind: Service\nmetadata:\n  name: mill\nspec:\n"
    + "".join(f"  - name: port-{at}\n    note: {'x' * 60}\n" for at in range(12)),
}
CONTENTS = {name: text.encode() for name, text in FILES.items()}


def exercises() -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield lab, exercise, and the functions that its cell takes from the library."""
    for path in sorted(SOLUTIONS.glob("*.py")):
        cells = re.split(r"^# %%", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for cell in cells:
            if found := re.match(r' exercise="([\d.]+)"', cell):
                tree = ast.parse(cell[cell.index("\n") :])
                imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
                named = [(str(node.module), one.name) for node in imports for one in node.names]
                whole = all(not isinstance(node, ast.FunctionDef) for node in tree.body)
                yield path.name[:2], found[1], named if whole else []


class Calls:
    """Notes which of some functions are called, in this process and in those that it starts."""

    def __init__(self, wanted: list[tuple[str, str]], folder: Path) -> None:
        self.wanted = {(_file_of(module), name) for module, name in wanted}
        self.seen: set[tuple[str, str]] = set()
        self.notes = folder / "called.txt"
        self.notes.touch()
        paths = [str(folder), os.environ.get("PYTHONPATH", "")]
        self.environment = {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        (folder / "sitecustomize.py").write_text(
            textwrap.dedent(f"""
                import sys, threading
                wanted = {self.wanted!r}
                def note(frame, event, value):
                    code = frame.f_code
                    if event == "call" and (key := (code.co_filename, code.co_name)) in wanted:
                        wanted.discard(key)
                        with open({str(self.notes)!r}, "a") as notes:
                            notes.write(f"{{code.co_name}}\\n")
                sys.setprofile(note)
                threading.setprofile(note)
            """),
            encoding="utf-8",
        )

    def note(self, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if event == "call" and (code.co_filename, code.co_name) in self.wanted:
            self.seen.add((code.co_filename, code.co_name))

    @contextmanager
    def here(self) -> Iterator[None]:
        before = sys.getprofile()
        sys.setprofile(self.note)
        threading.setprofile(self.note)
        try:
            yield
        finally:
            sys.setprofile(before)
            threading.setprofile(None)  # type: ignore[arg-type]

    def names(self) -> set[str]:
        """Return what was called, here or elsewhere."""
        return {name for _, name in self.seen} | {*self.notes.read_text().split()}


def _file_of(module: str) -> str:
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None
    return found.origin


def test_answers_are_functions_of_the_library_but_for_named_sketches() -> None:
    found = list(exercises())
    assert [exercise for _, exercise, named in found if not named] == list(SKETCHES)
    assert len(SKETCHES) <= len(found) / 10


def test_every_answer_that_a_lab_takes_from_the_library_is_called_by_a_command(
    place: Place, tmp_path: Path
) -> None:
    """Under a profiler: documents, code, manifests and records in, a question out, a pipeline."""
    wanted = [pair for _, _, named in exercises() for pair in named]
    folder = tmp_path / "mill"
    for name, content in CONTENTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    questions = tmp_path / "questions.jsonl"
    asked = {"kind": "docs", "gold_paths": ["docs/mill.md"], "answer_contains": ["turns into"]}
    lines = [{"id": f"q{at}", "question": QUESTION, **asked} for at in range(3)]
    questions.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    traced = tmp_path / "traced"
    traced.mkdir()
    calls = Calls(wanted, traced)
    course = place.course
    with calls.here():
        course("ingest", folder, "--repo", "mill").ok()
        records = tmp_path / "records.jsonl"
        records.write_text(course("split", folder / "mill/sail.py", "--jsonl").ok(), "utf-8")
        course("ingest-tenant", records, "--tenant", "acme", "--repo", "mill").ok()
        course("search", QUESTION).ok()
        course("ask", QUESTION).ok()
        changed = "<<BEGIN_FILE>>\nThe sail stands still.\n<<END_FILE>>"
        with models({CHAT: ollama(changed), SHOW: window(8192)}) as model:
            wish = ("--edit", "Stop the mill.")
            given = {"RAG_REPO_ROOT": str(folder)} | model.ollama
            course("edit", folder / "docs/mill.md", *wish, **given).ok()
        evaluation = ("eval", questions, "-c", f"docs={folder}")
        Course({})(*evaluation, "--save", tmp_path / "run.json").ok()
        Course({})(*evaluation, "--against", tmp_path / "run.json").ok()
        with hub_of(place, tmp_path, CONTENTS) as hub:
            hub.report()
        (folder / "requirements.txt").write_text("rich==14.1.0\n", "utf-8")
        course("sync", folder, "--name", "mill").ok()
        course("xray", "suggest", "print a table", "-p", "mill", "-l", "python").ok()
    with serving(course, **calls.environment) as service:
        assert service.client.post("/search", json={"query": "mill"}).status_code == 200
        assert service.client.post("/search", json={}).status_code == 422
    run = ("pipeline", "run", "-s", f"source={folder}", "-s", "repo=run", "-s", "shards=1")
    course.in_a_process(*run, "-s", f"questions={questions}", **calls.environment).ok()
    assert {name for _, name in wanted} - calls.names() == set()
