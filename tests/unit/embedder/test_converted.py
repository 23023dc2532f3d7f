"""Converted models on disk: shared, checked, replaced; in memory where nothing can be written."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.engines import engine_of
from course_lib.embedder.weights import DEFAULT_MODEL, SHA256

PROGRAM = """
import sys
import numpy as np
from course_lib.embedder import EmbeddingClient
vector = EmbeddingClient("all-MiniLM-L6-v2", backend=sys.argv[1]).encode(["one text"])
np.save(sys.argv[2], vector)
"""


def encode(backend: str) -> np.ndarray:
    client = EmbeddingClient(DEFAULT_MODEL, backend=backend)  # type: ignore[arg-type]
    return client.encode(["one text"])


def conversions(state: Path, backend: str) -> list[Path]:
    place = state / "models" / SHA256[:16]
    return [path for path in place.glob(f"{engine_of(backend)}-*") if path.is_dir()]


def the_file(state: Path, backend: str) -> Path:
    (folder,) = conversions(state, backend)
    (file,) = folder.iterdir()
    return file


@pytest.fixture(params=[pytest.param("openvino", marks=pytest.mark.long), "onnx"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB; skipped where this account may not mount one."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount a file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_conversion_is_kept_and_made_anew_where_it_is_spoilt(state: Path, backend: str) -> None:
    expected = encode(backend)
    record = state / "models" / SHA256[:16] / f"{engine_of(backend)}.json"
    file = the_file(state, backend)
    before = file.stat()
    np.testing.assert_array_equal(encode(backend), expected)
    assert the_file(state, backend).stat() == before or os.name == "nt"
    os.utime(file, ns=(1, 1))  # a copy has another time
    np.testing.assert_array_equal(encode(backend), expected)
    assert the_file(state, backend) == file

    def truncate() -> None:
        os.truncate(file, before.st_size // 2)

    def alter() -> None:
        with file.open("r+b") as changed:
            changed.seek(before.st_size // 2)
            changed.write(b"\xff" * 64)

    def of_another_version() -> None:
        content = json.loads(record.read_text(encoding="utf-8"))
        record.write_text(json.dumps({**content, "version": "1 0.0.1"}), encoding="utf-8")

    for spoil in (truncate, alter, of_another_version):
        file = the_file(state, backend)
        spoil()
        np.testing.assert_array_equal(encode(backend), expected)
        assert the_file(state, backend) != file, spoil
        assert the_file(state, backend).stat().st_size > 0.99 * before.st_size


@pytest.mark.long
def test_a_spoilt_record_is_replaced(state: Path) -> None:
    encode("onnx")
    record = state / "models" / SHA256[:16] / "onnx-f32.json"
    for spoilt in ("", "[]", '{"version": 3}', "\x00\x01"):
        record.write_text(spoilt, encoding="utf-8")
        encode("onnx")
        assert json.loads(record.read_text(encoding="utf-8"))["folder"]
        assert len(conversions(state, "onnx")) == 1


@pytest.mark.long
def test_processes_that_convert_at_once_share_one_conversion(
    state: Path, tmp_path: Path, backend: str
) -> None:
    outputs = [tmp_path / f"{number}.npy" for number in range(3)]
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, backend, str(output)])
        for output in outputs
    ]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    vectors = [np.load(output) for output in outputs]
    np.testing.assert_array_equal(vectors[0], vectors[1])
    np.testing.assert_array_equal(vectors[0], vectors[2])
    assert len(conversions(state, backend)) == 1


def one_line(caplog: pytest.LogCaptureFixture) -> str:
    lines = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(lines) == 1, lines
    assert "stays in memory" in lines[0]
    return lines[0]


def test_a_file_where_the_state_folder_should_be_leaves_the_model_in_memory(
    state: Path, backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    state.write_text("not a folder", encoding="utf-8")
    assert encode(backend).shape == (1, 384)
    assert str(state) in one_line(caplog)
    assert state.read_text(encoding="utf-8") == "not a folder"


@pytest.mark.long
def test_a_read_only_state_folder_leaves_the_model_in_memory(
    tmpfs: Path, backend: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(tmpfs)], check=True)
    monkeypatch.setenv("COURSE_STATE", str(tmpfs))
    assert encode(backend).shape == (1, 384)
    one_line(caplog)


def test_a_full_disk_leaves_the_model_in_memory_and_nothing_behind(
    tmpfs: Path, backend: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("COURSE_STATE", str(tmpfs))
    assert encode(backend).shape == (1, 384)
    assert "space" in one_line(caplog)
    assert not conversions(tmpfs, backend)
