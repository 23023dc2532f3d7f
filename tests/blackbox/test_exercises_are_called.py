"""One version: what a lab has its learners write is what the commands run.

The commands run with a learner's function in the place of each that a lab shows as the answer of an
exercise, as `course mine` does it. Each notes that it ran; what no command calls is found by that.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.blackbox.course import PLAIN, Course
from tests.blackbox.github import EXT, REPO
from tests.blackbox.language_models import CHAT, SHOW, models, ollama, window
from tests.blackbox.places import Place, new_place
from tests.blackbox.serving import serving
from tests.blackbox.snapshots import of, snapshot
from tests.blackbox.surface import GitHubServer, Repository, function_of, overlay

ROOT = Path(__file__).parents[2]
SOLUTIONS = ROOT / "solutions"

SKETCHES = {
    "1.1": "the recursive version, whose place 1.3 takes",
}
"""Exercises that are not functions of the library, and why: at most a tenth of all."""

MARKED_SQL = """
# %% {exercise} {name} · lab {lab} · 2026-11-25
# in the place of {module}.{name}

{name} = {text!r}
"""
"""A learner's text of SQL that leaves something behind."""

LEFT_BY = {
    "SCHEMA": ("CREATE EXTENSION", "CREATE VIEW learners AS SELECT 1 AS own;\nCREATE EXTENSION"),
    "UPSERT_CHUNK": ("%(metadata)s", """%(metadata)s || '{"own": true}'"""),
    "NEAREST": ("kind, name,", "kind, 'own' AS name,"),
    "DELETE_ORPHANS": (
        "DELETE FROM",
        "WITH own AS (INSERT INTO xray_packages (language, name) VALUES ('python', 'own') "
        "ON CONFLICT DO NOTHING) DELETE FROM",
    ),
    "RANK_BY_WORDS": ("WITH hit", "-- of a learner\nWITH hit"),
    "SEARCH_WORDS": ("    parts text;", "    parts text; -- of a learner"),
}
"""Which piece of a text is replaced, and by what."""

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


MARKED = """
# %% {exercise} {name} · lab {lab} · 2026-11-25
# in the place of {module}.{name}

{future}from functools import wraps

import {module} as library

globals().update({{key: value for key, value in vars(library).items() if key[:2] != "__"}})


{source}

_answer = {name}


@wraps(_answer)
def {name}(*args, **kwargs):
    with open({notes!r}, "a", encoding="utf-8") as notes:
        notes.write("{name}\\n")
    return _answer(*args, **kwargs)
"""
"""A learner's function that notes that it ran, and gives what the library's gives."""


def marked_source(answer: Any, name: str, notes: str) -> tuple[str, str]:
    """Return an answer's source without kfp's decorator, and the import that it can do with.

    kfp wants types for annotations, and takes nothing but the text of a component: that has to note
    that it ran by itself.
    """
    function = function_of(answer)
    lines = inspect.getsource(function).splitlines(keepends=True)
    [node] = ast.parse("".join(lines)).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if answer is function:
        return "".join(lines), "from __future__ import annotations\n\n"
    if hasattr(answer, "python_func"):
        note = f"    open({notes!r}, 'a', encoding='utf-8').write('{name}\\n')\n"
        lines.insert(node.body[0].end_lineno or 0, note)
    return "".join(lines[node.lineno - 1 :]), ""


class Marked:
    """A system in which every function is the learner's, and notes that it ran.

    Attributes
    ----------
    environment
        Under which a process, and what it starts, is that system.
    """

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "called.txt"
        for lab, exercise, named in exercises():
            for module, name in named:
                known = {"exercise": exercise, "name": name, "lab": lab, "module": module}
                answer = getattr(import_module(module), name)
                if isinstance(answer, str):
                    section = MARKED_SQL.format(**known, text=answer.replace(*LEFT_BY[name]))
                else:
                    source, future = marked_source(answer, name, str(self.notes))
                    known |= {"source": source, "future": future, "notes": str(self.notes)}
                    section = MARKED.format(**known)
                with (folder / f"{module.split('.')[1]}.py").open("a", encoding="utf-8") as file:
                    file.write(section)
        self.environment = overlay.environment(folder)
        self.environment["PYTHONPATH"] += f"{os.pathsep}{ROOT}"  # for this file
        del self.environment["RAG_COLLECTION"]

    def names(self) -> set[str]:
        """Return what has run since the last time."""
        found = set(self.notes.read_text(encoding="utf-8").split())
        self.notes.unlink()
        return found


def test_answers_are_functions_of_the_library_but_for_named_sketches() -> None:
    found = list(exercises())
    assert [exercise for _, exercise, named in found if not named] == list(SKETCHES)
    assert len(SKETCHES) <= len(found) / 10


def run_commands(place: Place, folder: Path) -> None:
    """Take documents, code, manifests and records in, and questions out."""
    for name, content in CONTENTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    questions = folder.with_name("questions.jsonl")
    asked = {"kind": "docs", "gold_paths": ["docs/mill.md"], "answer_contains": ["turns into"]}
    lines = [{"id": f"q{at}", "question": QUESTION, **asked} for at in range(3)]
    questions.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    course = place.course
    course("ingest", folder, "--repo", "mill").ok()
    records = folder.with_name("records.jsonl")
    records.write_text(course("split", folder / "mill/sail.py", "--jsonl").ok(), "utf-8")
    course("ingest-tenant", records, "--tenant", "acme", "--repo", "mill").ok()
    course("search", QUESTION).ok()
    course("ask", QUESTION).ok()
    said = "The miller looks after it [1: docs/mill.md]."
    with models({CHAT: ollama(said), SHOW: window(8192)}) as model:
        course("ask", QUESTION, **model.ollama).ok()
    changed = "<<BEGIN_FILE>>\nThe sail stands still.\n<<END_FILE>>"
    with models({CHAT: ollama(changed), SHOW: window(8192)}) as model:
        wish = ("--edit", "Stop the mill.")
        given = {"RAG_REPO_ROOT": str(folder)} | model.ollama
        (folder / "docs/note.md").write_text("The mill turns.\n", "utf-8")
        course("edit", folder / "docs/note.md", *wish, **given).ok()
    evaluation = ("eval", questions, "-c", f"docs={folder}")
    run = folder.with_name("run.json")
    Course({})(*evaluation, "--save", run).ok()
    Course({})(*evaluation, "--against", run).ok()
    course("ingest-repo", REPO, "--ref", "main", *EXT, "--partition", "code_manifests").ok()
    (folder / "requirements.txt").write_text("rich==14.1.0\n", "utf-8")
    lock = '[[package]]\nname = "click"\nversion = "8.2.1"\n\n[metadata]\nlock-version = "2.1"\n'
    (folder / "poetry.lock").write_text(lock, "utf-8")
    course("ingest", folder, "--repo", "mill").ok()
    course("xray", "scan", folder, "--project", "mill").ok()
    course("xray", "suggest", "print a table", "-p", "mill", "-l", "python").ok()


def test_a_learners_function_in_the_place_of_every_answer_runs_in_the_commands(
    place: Place, database_url: str, tmp_path: Path
) -> None:
    """In a process for all commands, in a service, and in the steps that a pipeline starts.

    The pipeline brings in the repository that a command has brought in, and gives the same rows.
    """
    wanted = {name for _, _, named in exercises() for _, name in named} - LEFT_BY.keys()
    system, folder = tmp_path / "system", tmp_path / "mill"
    system.mkdir()
    marked = Marked(system)
    repository = Repository(REPO)
    repository.commit(CONTENTS)
    with GitHubServer([repository]) as server, new_place(database_url) as elsewhere:
        state = {"COURSE_STATE": str(tmp_path / "state")}
        where = {"GITHUB_API_URL": server.url, "GITHUB_RAW_URL": server.raw_url, **state}
        course, other = (one.course.with_(**where) for one in (place, elsewhere))
        words = (place.url, place.schema, json.dumps(course.environment), str(folder))
        program = f"from {__name__} import main; main()"
        environment = {**os.environ, **PLAIN, **marked.environment}
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            env=environment, cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        ran = marked.names()
        run = ("pipeline", "run", "-p", "code_pipeline", "-s", f"repo={REPO}", "-s", "ref=main")
        run += ("-s", f"extensions={EXT[1]}", "-s", "paths=", "-s", "shards=1")
        said = other.in_a_process(*run, **marked.environment).ok()
        assert "4 documents, " in said and " 0 updated, 0 unchanged, 0 deleted\n" in said
        in_pipeline = marked.names()
        expected = of(snapshot(place), repo_slug=REPO)
        assert of(snapshot(elsewhere), repo_slug=REPO) == expected
        assert {row["partition"] for rows in expected.values() for row in rows} == {
            "code_manifests"
        }
        assert {row["document_name"] for row in expected["chunks"]} == {*FILES}
    assert place.one("SELECT own FROM learners") == 1, "SCHEMA"
    assert place.one("SELECT count(*) FROM document_chunks WHERE metadata ? 'own'"), "UPSERT_CHUNK"
    assert not place.one("SELECT count(*) FROM document_chunks WHERE NOT metadata ? 'own'")
    asked = ("search", QUESTION, "--mode", "dense", "--json")
    found = json.loads(place.course.in_a_process(*asked, **marked.environment).ok())
    assert {one["name"] for one in found} == {"own"}, "NEAREST"
    of_words = "SELECT prosrc FROM pg_proc WHERE oid = '{}'::regproc"
    assert "-- of a learner" in place.one(of_words.format("chunks_with_words")), "RANK_BY_WORDS"
    assert "-- of a learner" in place.one(of_words.format("search_words")), "SEARCH_WORDS"
    assert place.one("SELECT count(*) FROM xray_packages WHERE name = 'own'"), "DELETE_ORPHANS"
    with serving(place.course.with_(**marked.environment)) as service:
        assert service.client.post("/search", json={"query": "mill"}).status_code == 200
        dense = {"query": QUESTION, "mode": "dense"}
        served = service.client.post("/search", json=dense).json()["results"]
        assert {one["metadata"]["name"] for one in served} == {"own"}, "NEAREST"
        assert service.client.post("/search", json={}).status_code == 422
    in_service = marked.names()
    assert wanted - ran - in_service - in_pipeline == set()
    assert {"request_model", "readiness", "validation_problem"} <= in_service
    assert {"encode_in_batches", "find_nearest", "search_filtered", "fuse"} <= in_service
    assert {"split_text", "replace_document"} <= in_pipeline and "ndcg_at" in ran
    assert {"write_shard", "add_up", "faults_of", "docs_pipeline"} <= in_pipeline


def main() -> None:
    """Run the commands in this process, which the test has started as the learner's system."""
    url, schema, environment, folder = sys.argv[1:]
    run_commands(Place(url, schema, Course(json.loads(environment))), Path(folder))
