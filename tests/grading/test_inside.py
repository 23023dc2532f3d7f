import builtins
import string
import sys
from pathlib import Path

import pytest

from course_lib.teaching.grade import proof
from course_lib.teaching.grade.inside.cleaning import empty, present
from course_lib.teaching.grade.inside.guard import Guard
from course_lib.teaching.grade.inside.quick import without
from course_lib.teaching.grade.proof import Proof, recall, remember


def test_folders_are_emptied_but_for_what_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "kept.py").touch()
    kept = present((tmp_path,))
    (tmp_path / "library" / "letter").touch()
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "deep").chmod(0)
    assert empty((tmp_path,), kept)
    assert {path.name for path in tmp_path.rglob("*")} == {"library", "kept.py"}
    assert empty((tmp_path,)) and not list(tmp_path.iterdir())


@pytest.fixture
def guard():
    guard = Guard()
    yield guard
    guard.restore()


def test_nothing_is_put_back_where_nothing_was_replaced(guard) -> None:
    assert guard.restore() == []


def test_a_replaced_builtin_is_put_back(guard) -> None:
    real = builtins.sorted
    vars(builtins)["sorted"] = lambda *_: "mine"
    assert guard.restore() == ["builtins.sorted"] and builtins.sorted is real


def test_what_a_function_consists_of_is_put_back(guard) -> None:
    string.capwords.__code__ = (lambda s, sep=None: "mine").__code__
    assert guard.restore() == ["string.capwords"] and string.capwords("a b") == "A B"
    string.capwords.__defaults__ = ("b",)
    assert guard.restore() == ["string.capwords"] and string.capwords("a b") == "A B"
    string.capwords.__kwdefaults__ = {"sep": "b"}
    assert guard.restore() == ["string.capwords"] and string.capwords.__kwdefaults__ is None


def test_something_equal_to_what_it_replaces_is_put_back(guard) -> None:
    class Equal:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    vars(string)["capwords"] = Equal()
    assert guard.restore() == ["string.capwords"] and string.capwords("a b") == "A B"


def test_a_module_is_hidden_for_an_import_and_there_again_afterwards() -> None:
    with without("wave", "string"):
        with pytest.raises(ImportError):
            import wave
    import wave

    assert sys.modules["wave"] is wave and sys.modules["string"] is string


def test_a_proof_is_remembered_until_it_is_damaged(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("COURSE_STATE", str(tmp_path))
    monkeypatch.setattr(proof, "KEPT", 2)
    given = Proof(("check-1",), {"setup": "import math"}, ("math",), 1)
    assert recall("key") is None
    for key in ("another", "key", "key again"):
        remember(key, given)
    assert recall("key again") == given
    files = list((tmp_path / "grade").iterdir())
    assert len(files) == 2
    for path in files:
        path.write_text('{"decoys": 3}', encoding="utf-8")
    assert recall("key again") is None
