"""The file of a shard: whole or as it was, the same after an attempt that was killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.loader.shards import shard_of, write_shard

LINES = {"a.md": ["Äpfel"], "b.md": ["Figs", "Plums"], "c.md": []}
SLOW = """
import sys, time
from pathlib import Path
from course_lib.loader.shards import write_shard

def lines():
    yield "one"
    print("in the middle", flush=True)
    time.sleep(60)

write_shard(Path(sys.argv[1]), {"a.md": lines()}, "0/1")
"""


def test_a_shard_has_its_own_names_and_the_lines_of_others_are_not_made(tmp_path: Path) -> None:
    made = []

    def slow(name: str):  # type: ignore[no-untyped-def]
        made.append(name)
        yield name

    numbers = {name: shard_of(name, 2) for name in LINES}
    assert numbers == {"a.md": 1, "b.md": 0, "c.md": 0}
    assert write_shard(tmp_path / "file", {name: slow(name) for name in LINES}, "0/2") == 2
    assert made == ["b.md", "c.md"]
    assert write_shard(tmp_path / "file", LINES, "1/2") == 1
    assert (tmp_path / "file").read_bytes() == "Äpfel\n".encode()


def test_an_error_leaves_the_old_file_and_the_next_attempt_writes_the_whole_one(
    tmp_path: Path,
) -> None:
    file = tmp_path / "file"
    file.write_text("old\n", encoding="utf-8")

    def broken():  # type: ignore[no-untyped-def]
        yield "new"
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_shard(file, {"a.md": broken()}, "0/1")
    assert file.read_text(encoding="utf-8") == "old\n"
    (tmp_path / "file.part").write_text("left by a killed attempt", encoding="utf-8")
    assert write_shard(file, {"a.md": ["new"]}, "0/1") == 1
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    assert file.read_text(encoding="utf-8") == "new\n"


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_killed_process_leaves_no_half_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    command = [sys.executable, "-c", SLOW, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert not file.exists()
