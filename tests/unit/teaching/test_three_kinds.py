"""An answer is a function, a text of SQL or a pipeline: the last two are kept as functions are.

Through its check into the learner's `my/system/`, and from there into `course mine`. Functions are
in `test_kept_functions.py`. Where submissions run, all three are left out.
"""

import json
import linecache
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from course_lib.pipeline import pipelines
from course_lib.teaching import CheckFailed, Lab
from course_lib.teaching.lab.checking import run_check
from course_lib.teaching.mine.overlay import environment
from course_lib.teaching.mine.sections import read_sections
from course_lib.xray.catalogue import DELETE_ORPHANS
from tests.unit.teaching.answers import source_of

ROOT = Path(__file__).parents[3]
OWN = source_of(pipelines.docs_pipeline, "parallelism=PARALLELISM → parallelism=MOST")
OWN = OWN[OWN.index("def docs_pipeline") :]
USED = {"dsl", "PARALLELISM"} | set(re.findall(r"\w+", OWN)) & set(vars(pipelines)) - {
    "docs_pipeline"
}
NOTEBOOK = f"""
from course_lib.pipeline.pipelines import {", ".join(sorted(USED))}

MOST = 4

{OWN}

DELETE_ORPHANS = '''{DELETE_ORPHANS}  -- E\\\\n
'''
decorated = dsl.pipeline(name="my-own")(docs_pipeline)
"""
USES_BOTH = """
import json
from course_lib.pipeline.pipelines import docs_pipeline
from course_lib.xray.catalogue import DELETE_ORPHANS
print(json.dumps([DELETE_ORPHANS, "MOST" in docs_pipeline.pipeline_func.__code__.co_names]))
"""


@pytest.mark.parametrize(
    ("number", "given", "said"),
    [
        ("12.3", print, "expected  a text of SQL"),
        ("11.4", 3, "the function itself: docs_pipeline"),
    ],
)
def test_an_answer_of_another_kind_is_told(number: str, given: object, said: str) -> None:
    lab = Lab(number[:2])
    with pytest.raises(CheckFailed, match=said):
        run_check(lab.exercises[number], given, connect=lab.connect)


def test_what_passes_is_kept_and_runs_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("data", "solutions", "course_lib"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "my").mkdir()
    monkeypatch.setenv("COURSE_ROOT", str(tmp_path))
    monkeypatch.chdir(tmp_path / "my")
    file = Path("notebook.py").absolute()
    file.write_text(NOTEBOOK, encoding="utf-8")
    linecache.checkcache()
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(file)}
    exec(compile(NOTEBOOK, str(file), "exec"), names)
    for number, name, kept in (
        ("12.3", "DELETE_ORPHANS", "xray"),
        ("11.4", "docs_pipeline", "pipeline"),
        ("11.4", "decorated", "pipeline"),
    ):
        Lab(number[:2]).check(number, names[name])
        assert f"kept in my/system/{kept}.py" in capsys.readouterr().out
    pipeline = Path("system/pipeline.py").read_text(encoding="utf-8")
    assert pipeline.count("def docs_pipeline") == 1 and "my-own" not in pipeline
    assert "MOST = 4" in pipeline
    (sql,) = [one for one in read_sections(Path("system")) if one.name == "DELETE_ORPHANS"]
    assert sql.load() == names["DELETE_ORPHANS"] and names["DELETE_ORPHANS"].endswith("E\\n\n")
    done = subprocess.run(
        [sys.executable, "-c", USES_BOTH],
        env={**os.environ, **environment(Path("system").absolute())},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [names["DELETE_ORPHANS"], True]
    for number, answer in (("12.3", DELETE_ORPHANS), ("11.4", pipelines.docs_pipeline)):
        with pytest.raises(CheckFailed, match="was given the course's"):
            Lab(number[:2]).check(number, answer)
