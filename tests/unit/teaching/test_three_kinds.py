"""An answer is a function, a text of SQL or a pipeline: a sample of each is kept and hidden.

Through its check into the learner's `my/system/`, from there into `course mine`, and out of sight
where submissions run. `test_exercises.py` and `make build CHECK=1` hold the cells of the labs.
"""

import importlib
import json
import linecache
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import course_lib
from course_lib.teaching import CheckFailed, Lab
from course_lib.teaching.checks import Exercise
from course_lib.teaching.checks.artifacts import compiled_pipeline
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.grade.library import library_for
from course_lib.teaching.lab.checking import run_check
from course_lib.teaching.lab.dag import read_dag
from course_lib.teaching.mine.overlay import environment
from course_lib.teaching.mine.sections import read_sections

ROOM = "sample.words"
PLACE = f"course_lib.{ROOM}"
MODULE = '''
"""A sample: words and how often they are there."""

from pathlib import Path

from kfp import dsl

TABLE = Path(__file__).with_name("table.sql").read_text(encoding="utf-8")
"""The table."""

# To replace is the trick.
INSERT = """
-- Write how often a word is there.
-- A word that is there gets the new number.
INSERT INTO words VALUES (%(word)s, %(number)s)
ON CONFLICT (word) DO UPDATE SET number = EXCLUDED.number
"""
"""Takes `word` and `number`."""


def longest(words):
    """Return the longest word."""
    return max(words, key=len)


@dsl.component(base_image="sample", install_kfp_package=False)
def read(folder: str) -> int:
    return len(folder)


@dsl.component(base_image="sample", install_kfp_package=False)
def count(number: int) -> int:
    return number


@dsl.pipeline(name="count-words", description="Words of a folder.")
def count_words(folder: str = "pages") -> None:
    """Read a folder, and then count what was read, with 2 retries."""
    pages = read(folder=folder)
    count(number=pages.output).set_retry(num_retries=2)
'''
TABLE = """-- A table `words`: `word`, and `number`, which is not negative.
CREATE TABLE words (word text PRIMARY KEY, number integer NOT NULL CHECK (number >= 0));
"""
NOTEBOOK = '''
from kfp import dsl

from course_lib.sample.words import count, read

TIMES = 2


def longest(words):
    return sorted(words, key=len)[-1]


TABLE = "CREATE TABLE words (word text PRIMARY KEY, number int NOT NULL CHECK (number > -1))"
INSERT = """
INSERT INTO words (number, word) VALUES (%(number)s, %(word)s)
ON CONFLICT (word) DO UPDATE SET number = %(number)s  -- E\\\\n
"""


def count_words(folder: str = "pages"):
    my_count = count(number=read(folder=folder).output)
    my_count.set_retry(num_retries=TIMES)


decorated = dsl.pipeline(name="my-own")(count_words)
'''


@exercise("1.1", function=f"{ROOM}:longest", points=1)
def check_longest(call: Probe) -> None:
    call(["a", "bcd", "ef"]).gives("bcd")


@exercise("1.2", function=f"{ROOM}:TABLE", points=1, time_limit=20)
def check_table(call: Probe) -> None:
    with call.scratch() as db:
        db.runs(call.sql)
        db.execute("INSERT INTO words VALUES ('mill', 1)")
        db.rejects("INSERT INTO words VALUES ('mill', 2)", because="a word is there once")
        db.rejects("INSERT INTO words VALUES ('sail', -1)", because="a number is not negative")


@exercise("1.3", function=f"{ROOM}:INSERT", points=1, waits_for=["1.2"], time_limit=20)
def check_insert(call: Probe) -> None:
    with call.scratch() as db:
        db.execute("CREATE TABLE words (word text PRIMARY KEY, number integer)")
        for number in (1, 2):
            db.runs(call.sql, {"word": "mill", "number": number})
        db.runs("TABLE words").gives([("mill", 2)], because="the new number is taken")


@exercise("1.4", function=f"{ROOM}:count_words", points=1, time_limit=20)
def check_count_words(call: Probe) -> None:
    dag = read_dag(compiled_pipeline(call, call.given)[0])
    edges = [(one.producer, one.consumer) for one in dag.edges if one.label]
    Case(call, "the edges", value=edges).gives([("read", "count")])
    notes = [one for one in dag.tasks["count"].notes if "retr" in one]
    Case(call, "the retries of count", value=notes).gives(["2 retries"])


EXERCISES: dict[str, Exercise] = {
    one.id: one for one in (check_longest, check_table, check_insert, check_count_words)
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout whose library has the sample, too; the test runs in its folder `my`."""
    library = Path(course_lib.__file__).parent
    shutil.copytree(library, tmp_path / "course_lib", ignore=lambda *_: ["__pycache__"])
    sample = tmp_path / "course_lib" / "sample"
    sample.mkdir()
    (sample / "__init__.py").touch()
    (sample / "words.py").write_text(MODULE, encoding="utf-8")
    (sample / "table.sql").write_text(TABLE, encoding="utf-8")
    (tmp_path / "data").symlink_to(library.parent / "data")
    (tmp_path / "my").mkdir()
    monkeypatch.setenv("COURSE_ROOT", str(tmp_path))
    monkeypatch.chdir(tmp_path / "my")
    monkeypatch.setattr(course_lib, "__path__", [*course_lib.__path__, str(sample.parent)])
    monkeypatch.setattr(course_lib, "__file__", str(sample.parent / "__init__.py"))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("course_lib.sample")]:
        del sys.modules[name]


def sample_module() -> Any:
    return importlib.import_module(PLACE)


@pytest.mark.parametrize(
    ("asked", "given", "said"),
    [
        (check_table, print, "expected  a text of SQL"),
        (check_count_words, 3, "the function of a pipeline"),
    ],
)
def test_an_answer_of_another_kind_is_told(asked: Exercise, given: object, said: str) -> None:
    with pytest.raises(CheckFailed, match=said):
        run_check(asked, given, connect=Lab("01").connect)


USES_ALL = f"""
import json
from {PLACE} import INSERT, TABLE, count_words, longest
spec = count_words.pipeline_spec
tasks = sorted(spec.root.dag.tasks)
print(json.dumps([longest(["a", "bcd"]), TABLE, INSERT, spec.pipeline_info.name, tasks]))
"""


def used(variables: dict[str, str]) -> list[Any]:
    """Return what a process with these variables finds in the sample."""
    done = subprocess.run(
        [sys.executable, "-c", USES_ALL], env={**os.environ, **variables},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def test_what_passes_is_kept_and_runs_in_its_place(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "my" / "notebook.py"
    file.write_text(NOTEBOOK, encoding="utf-8")
    linecache.checkcache()
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(file)}
    exec(compile(NOTEBOOK, str(file), "exec"), names)
    lab = Lab("01")
    lab.exercises = EXERCISES
    given = [names[one.name] for one in EXERCISES.values()]
    for number, answer in zip(EXERCISES, given, strict=True):
        lab.check(number, answer)
        assert "kept in my/system/sample.py" in capsys.readouterr().out
    lab.check("1.4", names["decorated"])
    assert "kept in my/system/sample.py" in capsys.readouterr().out
    kept = (home / "my" / "system" / "sample.py").read_text(encoding="utf-8")
    assert kept.count("def count_words") == 1 and "my-own" not in kept and "TIMES = 2" in kept
    assert [one.load() for one in read_sections(home / "my" / "system")][1:3] == given[1:3]
    found = used(environment(home / "my" / "system"))
    assert found == ["bcd", names["TABLE"], names["INSERT"], "count-words", ["count", "read"]]
    lab.check("1.1", names["longest"])
    for number, name in (("1.3", "INSERT"), ("1.4", "count_words")):
        with pytest.raises(CheckFailed, match=f"was given the course's {name}"):
            lab.check(number, getattr(sample_module(), name))


def test_where_submissions_run_no_text_and_no_pipeline_can_be_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course_lib.teaching.checks.load", lambda _: EXERCISES)
    words = home / "course_lib" / "sample" / "words.py"
    subprocess.run([sys.executable, "-m", "compileall", "-q", words.parent], check=True)
    library = library_for("01", home / "fence")
    for path in (library / "sample").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for piece in (b"ON CONFLICT (word)", b"CREATE TABLE words", b"set_retry", b"the trick"):
            assert piece not in content, path
    found = used({"PYTHONPATH": str(library.parent)})
    module = sample_module()
    assert found[1:] == [module.TABLE, module.INSERT, "count-words", ["count", "read"]]
