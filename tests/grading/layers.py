"""The grader's layers: what each is, how it is switched off, and what then gets through.

A layer is switched off in a copy of the library by an edit of its source; `graded` grades a
submission with that copy in a process of its own. Every submission here is harmless where its layer
is gone: the limits that it tries are small.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_lib.settings import project_root
from tests.grading.hostile import GOOD, first, runner_found

Edit = tuple[str, str, str]
Told = dict[str, Any]
GRADE = "course_lib/teaching/grade"


@dataclass(frozen=True)
class Layer:
    """One layer.

    Attributes
    ----------
    off
        Edits that switch it off: file, text, what to put there.
    submissions
        Answers of learners `a`, `b`, …, graded one after the other.
    holds
        Whether the layer did its work, from what `graded` returns.
    before
        Edits without which another layer would do the same work.
    checks
        What the learner's notebook has in place of checks.
    lab
        The lab whose answers these are; empty for the master of `classroom`.
    """

    name: str
    off: tuple[Edit, ...]
    submissions: tuple[dict[str, str], ...]
    holds: Callable[[Told], bool]
    before: tuple[Edit, ...] = ()
    checks: dict[str, str] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    lab: str = ""


def _points(check: str, told: Told, who: str = "a") -> float | None:
    points: float | None = told["grades"][who]["points"][check] if "grades" in told else None
    return points


def _said(told: Told, who: str = "a") -> str:
    return str(told["grades"][who]["said"]["check-double"]) if "grades" in told else ""


def _state(told: Told) -> str:
    return str(told["grades"]["a"]["state"]["check-double"]) if "grades" in told else ""


def _flags(told: Told) -> str:
    return "; ".join(told["grades"]["a"]["flags"]) if "grades" in told else ""


def earns_nothing(told: Told) -> bool:
    """Tell that it was graded, and that the first check gave no points."""
    return "grades" in told and not _points("check-double", told)


def keeps_the_rest(told: Told) -> bool:
    """Tell that the checks that are not about the attack have their points."""
    return _points("check-longest", told) == 5 and _points("check-later", told) == 2


def says(text: str, who: str = "a") -> Callable[[Told], bool]:
    """Return whether the first check says a text."""
    return lambda told: text in _said(told, who)


def flagged(text: str) -> Callable[[Told], bool]:
    """Return whether a flag has a text."""
    return lambda told: text in _flags(told)


def _through(name: str, body: str) -> dict[str, str]:
    """Return an answer of lab 01 that finds a module in a way that no list of names foresees."""
    return {
        "exercise-1-1": "from zipfile import sys as s\nfound = getattr(s, 'mod' + 'ules')["
        f"'.'.join(['course' + '_lib', *{name.split('.')}])]\n{body}"
    }


def _dig(body: str) -> dict[str, str]:
    """Return answers that find the runner of checks and do something to it."""
    return first(runner_found(body) + "def double(x):\n    return None")


_NO_NETWORK = (f"{GRADE}/fence.py", '"--unshare-pid", "--unshare-net",', '"--unshare-pid",')
_NO_LANDLOCK = (
    f"{GRADE}/inside/warm.py",
    'landlock.restrict(private, [Path("/dev/null")])',
    "0",
)
_REACHES = first(  # a datagram, which Landlock does not know
    "import socket\ntry:\n    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "    one.sendto(b'x', ('192.0.2.1', 9))\n    told = 'reached'\n"
    "except OSError as error:\n    told = str(error)\n"
    "def double(x):\n    raise AssertionError(f'NETWORK {told}')"
)

LAYERS = (
    Layer(
        "only answers are taken from a submission",
        ((f"{GRADE}/merge.py", 'if cell.role in ("answer", "manual")]\n    for cell in written:',
          'if cell.role in ("answer", "manual", "check")]\n    for cell in written:'),),
        ({"double": "def double(x):\n    return None"},),
        earns_nothing,
        checks={"check-double": "assert double(2) is None"},
    ),
    Layer(
        "checks run outside the learner's IPython hooks",
        ((f"{GRADE}/inside/runner.py",
          "_caught(lambda: self._run(source, self.shell.user_ns, show=True))",
          "self.shell.run_cell(source).error_in_exec"),),
        (first(
            "import ast\nclass Strip(ast.NodeTransformer):\n"
            "    def visit_Assert(self, node):\n        return ast.Pass()\n"
            "get_ipython().ast_transformers.append(Strip())\ndef double(x):\n    return None"
        ),),
        earns_nothing,
    ),
    Layer(
        "what a check relies on is put back before it",
        ((f"{GRADE}/inside/guard.py",
          "return [name for name, put_back in self._changes() if put_back()]", "return []"),),
        (first(
            "import builtins\nclass Any:\n    def __eq__(self, other): return True\n"
            "builtins.type = lambda x: int\ndef double(x):\n    return Any()"
        ),),
        earns_nothing,
    ),
    Layer(
        "an error that has to come, with a word that nobody knows",
        ((f"{GRADE}/conduct.py", "return sang and fell", "return fell"),),
        (_dig("one._run = lambda source, *a, **k: 1 / ('raise' not in source)"),),
        earns_nothing,
    ),
    Layer(
        "a check has to fail with the stub in the answer's place",
        ((f"{GRADE}/conduct.py", "return sang and fell", "return sang"),),
        (_dig(
            "one._run = lambda source, *a, **k: "
            "exec(source) if source.startswith('assert False') else None"
        ),),
        earns_nothing,
    ),
    Layer(
        "the word is another one each time",
        ((f"{GRADE}/conduct.py", 'and canary.get("evalue") == self._nonce', ""),),
        (first(
            "import json, os, struct\n"
            "body = json.dumps({'reply': {'status': 'ok', 'ename': '', 'evalue': '', 'canary': "
            "{'status': 'error', 'evalue': ''}, 'decoy': {'status': 'error'}}}).encode()\n"
            "for number in range(3, 60):\n    for _ in range(4):\n        try:\n"
            "            os.write(number, struct.pack('>I', len(body)) + body)\n"
            "        except OSError:\n            break\ndef double(x):\n    return None"
        ),),
        earns_nothing,
    ),
    Layer(
        "code that reaches for the machinery is heard",
        ((f"{GRADE}/inside/audits.py", "    sys.addaudithook(hook)\n", ""),),
        (first(f"import os\nif os.fork() == 0:\n    os._exit(0)\n{GOOD}"),),
        flagged("starts processes"),
    ),
    Layer(
        "the source of an answer is read",
        ((f"{GRADE}/worker.py", "return marks, flags + said", "return marks, flags"),),
        (first(f"from course_lib.loader import split_text\n{GOOD}"),),
        flagged("imports split_text from course_lib.loader"),
    ),
    Layer(
        "an answer that knows by heart what is expected is noticed",
        ((f"{GRADE}/honesty.py", "if name in paid:", "if False:"),),
        ({"double": GOOD, "longest": "def longest(words):\n    return 'bcd'"},),
        flagged("never looks at what it is given"),
    ),
    Layer(
        "a check that passed is run again",
        ((f"{GRADE}/conduct.py", '"again": step.again,', '"again": False,'),),
        (first("def double(x, said=iter([4, 4, 'abab', -6])):\n    return x and next(said)"),),
        flagged("when it was run again"),
    ),
    Layer(
        "the course's own version is heard when it does the work of an answer",
        ((f"{GRADE}/inside/runner.py", "if exercise not in self.references:", "if True:"),),
        (_through("loader.recursive", "find_cut = getattr(found, 'find' + '_cut')"),),
        flagged("gets by with the course's own version"),
        lab="01",
    ),
    Layer(
        "the classes of checks cannot be changed",
        ((f"{GRADE}/inside/warm.py", "        seal()\n", ""),),
        (_through(
            "teaching.checks.probe",
            "kind, calls = found.Case, []\nreal = kind.gives\n"
            "def pretend(self, *a, **k):\n    calls.append(a)\n    if len(calls) % 13 == 0:\n"
            "        kind.gives = real\n    return self\n"
            "def find_cut(text, *rest):\n    if len(calls) % 13 == 0:\n"
            "        kind.gives = pretend\n    return len(text)",
        ),),
        lambda told: _points("check-1-1", told) == 0,
        lab="01",
    ),
    Layer(
        "a process that dies is replaced",
        ((f"{GRADE}/conduct.py", "RESTARTS = 6", "RESTARTS = 1"),),
        (first("import os\ndef double(x):\n    os._exit(0)"),),
        keeps_the_rest,
    ),
    Layer(
        "a cell has its time, and no more",
        ((f"{GRADE}/conduct.py", "min(self.limits.cell, self._left())", "self._left()"),),
        (first("import time\ndef double(x):\n    time.sleep(1e6)"),),
        keeps_the_rest,
        limits={"cell": 1.0, "budget": 12.0},
    ),
    Layer(
        "a submission has its time, and no more",
        ((f"{GRADE}/conduct.py", "return self._deadline - time.monotonic()", "return 1e6"),),
        (first("import time\ndef double(x):\n    time.sleep(1e6)"),),
        lambda told: _state(told) == "budget",
        limits={"cell": 8.0, "budget": 4.0},
    ),
    Layer(
        "a process has its memory, and no more",
        ((f"{GRADE}/inside/limits.py", '"RLIMIT_AS": now + memory if now else',
          '"RLIMIT_AS": resource.RLIM_INFINITY if now else'),),
        (first("def double(x):\n    return len(bytearray(600 << 20))"),),
        says("MemoryError"),
        limits={"memory": 256 << 20},
    ),
    Layer(
        "all processes of a submission together have their memory",
        ((f"{GRADE}/sandbox.py", "proportional(family) > limit", "False"),),
        (first(
            "import os, time\ndef double(x):\n    for _ in range(4):\n        if os.fork() == 0:\n"
            "            kept = bytearray(b'x') * (150 << 20)\n            time.sleep(1e6)\n"
            "    time.sleep(1e6)"
        ),),
        lambda told: _state(told) == "memory",
        limits={"memory": 256 << 20, "cell": 8.0},
    ),
    Layer(
        "a submission has so many processes, and no more",
        ((f"{GRADE}/inside/limits.py", '        "RLIMIT_NPROC": processes,\n', ""),),
        (first(
            "import os, time\ndef double(x):\n    made = 0\n    for _ in range(100):\n"
            "        try:\n            if os.fork() == 0:\n                time.sleep(1e6)\n"
            "            made += 1\n        except OSError:\n            break\n"
            "    raise AssertionError(f'MADE {made > 90}')"
        ),),
        says("MADE False"),
    ),
    Layer(
        "a file has its size, and no more",
        ((f"{GRADE}/inside/limits.py", '        "RLIMIT_FSIZE": file_size,\n', ""),),
        (first("def double(x):\n    return open('/tmp/x', 'wb').write(b'x' * (80 << 20))"),),
        says("File too large"),
    ),
    Layer(
        "the private folders have a limited size",
        ((f"{GRADE}/fence.py", '("/tmp", limits.disk)', '("/tmp", 4 << 30)'),),
        (first(
            "def double(x):\n    for n in range(6):\n"
            "        open(f'/tmp/{n}', 'wb').write(b'x' * (50 << 20))\n    return 'wrote it all'"
        ),),
        says("No space left"),
    ),
    Layer(
        "what comes from a submission is read up to a limit",
        ((f"{GRADE}/inside/channel.py", "if self.left < 0:", "if False:"),),
        (first(
            "from IPython.display import display, HTML\nfor _ in range(9):\n"
            f"    display(HTML('x' * 1_000_000))\n{GOOD}"
        ),),
        lambda told: _points("check-double", told) == 0,
        limits={"output": 4 << 20},
    ),
    Layer(
        "there is no network",
        (_NO_NETWORK,),
        (_REACHES,),
        says("NETWORK [Errno 101] Network is unreachable"),
    ),
    Layer(
        "the fence is tried before anything runs in it",
        ((f"{GRADE}/fence.py", 'return "" if told[-1] == "holds" else told[-1]', 'return ""'),),
        (_REACHES,),
        lambda told: "network" in told.get("refused", ""),
        before=(_NO_NETWORK,),
    ),
    Layer(
        "Landlock",
        (_NO_LANDLOCK,),
        (first(
            "try:\n    open('/proc/self/comm', 'w').write('x')\n    told = 'wrote'\n"
            "except OSError as error:\n    told = str(error)\n"
            "def double(x):\n    raise AssertionError(f'OUTSIDE {told}')"
        ),),
        says("OUTSIDE [Errno 13]"),
    ),
    Layer(
        "what a submission may not read is not mounted",
        ((f"{GRADE}/fence.py", 'self.root / "data"]',
          'self.root / "data", self.root / "solutions"]'),),
        (first(
            "import os\nseen = os.path.exists(os.environ['COURSE_ROOT'] + '/solutions')\n"
            "def double(x):\n    raise AssertionError(f'SAW {seen}')"
        ),),
        says("SAW False"),
    ),
    Layer(
        "the process inside is nobody",
        ((f"{GRADE}/inside/limits.py", "os.setresuid(user, user, user)", "pass"),),
        (first("import os\ndef double(x):\n    raise AssertionError(f'ROOT {os.getuid() == 0}')"),),
        lambda told: says("ROOT False")(told) or (os.geteuid() != 0 and "grades" in told),
    ),
    Layer(
        "everything that a submission started is ended",
        ((f"{GRADE}/inside/warm.py", "clean = end_all_others()", "pass"),),
        (
            first(
                "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
                f"        time.sleep(1e6)\n    os._exit(0)\n{GOOD}"
            ),
            first(
                "import os\nseen = len([p for p in os.listdir('/proc') if p.isdigit()])\n"
                "def double(x):\n    raise AssertionError(f'PROCESSES {seen}')"
            ),
        ),
        says("PROCESSES 3", "b"),
    ),
    Layer(
        "the private folders are emptied",
        ((f"{GRADE}/inside/warm.py", "clean = empty(PRIVATE, self.given) and clean", "pass"),),
        (
            first(f"open('/tmp/letter', 'w').write('2 * x')\n{GOOD}"),
            first(
                "import os\nfound = os.path.exists('/tmp/letter')\n"
                "def double(x):\n    raise AssertionError(f'FOUND {found}')"
            ),
        ),
        says("FOUND False", "b"),
    ),
    Layer(
        "memory that belongs to no process is removed",
        ((f"{GRADE}/inside/warm.py", "clean = remove_shared_memory() and clean", "pass"),),
        (
            first(
                f"import ctypes\nctypes.CDLL(None).shmget(0x1234, 4096, 0o1666)\n{GOOD}"
            ),
            first(
                "import ctypes\nfound = ctypes.CDLL(None).shmget(0x1234, 4096, 0) >= 0\n"
                "def double(x):\n    raise AssertionError(f'FOUND {found}')"
            ),
        ),
        says("FOUND False", "b"),
    ),
)  # fmt: skip


def alike(layer: Layer) -> tuple[Any, ...]:
    """Return what layers have in common whose submissions can be graded in one run."""
    return (layer.before, layer.lab, tuple(layer.limits.items()))


def graded(layers: Sequence[Layer], folder: Path, edits: tuple[Edit, ...] = ()) -> dict[str, Told]:
    """Grade the submissions of layers that are alike, with the library or an edited copy of it.

    Returns
    -------
    dict of str to dict
        What was told of each layer's submissions, by the layer's name.
    """
    root = project_root()
    if edits:
        root = folder / "library"
        _copy_library(root, layers[0].lab)
        for name, old, new in edits:
            path = root / name
            text = path.read_text(encoding="utf-8")
            assert text.count(old) == 1, f"{name} has {old!r} {text.count(old)} times, not once"
            path.write_text(text.replace(old, new), encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(root), str(project_root()))),
        "COURSE_ROOT": str(root),
        "COURSE_STATE": str(folder / "state"),
    }
    names = [layer.name for layer in layers]
    done = subprocess.run(
        [sys.executable, "-m", "tests.grading.layers", str(folder), *names],
        env=environment, cwd=folder, capture_output=True, encoding="utf-8", timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Told] = json.loads(done.stdout)
    return told


def _copy_library(root: Path, lab: str) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(project_root() / "course_lib", root / "course_lib", ignore=ignored)
    (root / "solutions").mkdir()
    if lab:
        for path in (project_root() / "solutions").glob(f"{lab}_*"):
            shutil.copy(path, root / "solutions")
        shutil.copytree(project_root() / "data", root / "data")


def main(folder: Path, names: Sequence[str]) -> None:
    """Grade the submissions of the layers that are named, with the library that is imported."""
    from course_lib.teaching.grade import (
        Limits,
        Order,
        find_fence,
        find_submissions,
        grade_all,
        read_master,
    )
    from course_lib.teaching.grade.errors import GradeError
    from course_lib.teaching.grade.release import released
    from tests.grading.classroom import hand_in, learners, master_notebook, write_master

    layers = [one for one in LAYERS if one.name in names]
    lab = layers[0].lab
    handed_in = folder / "in"
    handed_in.mkdir()
    path = write_master(folder)
    if lab:
        path = next((project_root() / "solutions").glob(f"{lab}_*.ipynb"))
    master = read_master(path, lab=lab)
    sheet = master.notebook if lab else released(master_notebook())
    stubs = {cell.grade_id: cell.stub for cell in master.answers} if lab else {}
    who: dict[str, tuple[str, str]] = {}
    for number, layer in enumerate(layers):
        for letter, answers in zip("abc", layer.submissions, strict=False):
            learner = f"{number:02}-{letter}"
            who[learner] = layer.name, letter
            notebook = learners(sheet, {**stubs, **answers, **layer.checks})
            hand_in(handed_in, learner, notebook)
    limits = Limits(**{"cell": 5.0, "budget": 20.0, **layers[0].limits})  # type: ignore[arg-type]
    try:
        found = find_submissions(handed_in)
        book = grade_all(Order(found, folder / "out", master, find_fence(), limits, jobs=1))
    except GradeError as error:
        print(json.dumps({name: {"refused": str(error)} for name in names}))
        return
    told: dict[str, Told] = {name: {"grades": {}} for name in names}
    for one in book.grades:
        name, letter = who[one.learner]
        told[name]["grades"][letter] = {
            "points": {mark.grade_id: mark.points for mark in one.marks},
            "said": {mark.grade_id: mark.said for mark in one.marks},
            "state": {mark.grade_id: mark.state for mark in one.marks},
            "flags": one.flags,
        }
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
