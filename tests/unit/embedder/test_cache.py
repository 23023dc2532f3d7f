"""The disk cache: shared by processes, limited in size, separate for each backend."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from course_lib.embedder import EmbeddingClient, VectorCache
from course_lib.embedder.weights import DEFAULT_MODEL

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from course_lib.embedder import VectorCache
cache = VectorCache(Path(sys.argv[1]))
for number in range(100):
    cache.put("model", [f"{sys.argv[2]} {number}"], np.full((1, 4), number, dtype=np.float32))
"""


def test_what_is_cached_needs_no_model(tmp_path: Path, client_of: Any) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite")
    texts = ["one", "two", "one"]
    first = EmbeddingClient(DEFAULT_MODEL, backend="openvino", cache=cache).encode(texts)
    again = EmbeddingClient(DEFAULT_MODEL, backend="openvino", cache=cache)
    np.testing.assert_array_equal(again.encode(texts), first)
    assert "backend" not in vars(again)  # nothing was loaded


def test_precisions_and_servers_do_not_share_vectors(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite")
    exact = EmbeddingClient(DEFAULT_MODEL, cache=cache)
    rounded = EmbeddingClient(DEFAULT_MODEL, cache=cache, precision="bfloat16")
    exact.encode(["one"])
    assert list(cache.get(exact._cache_key, ["one"])) == [0]
    assert cache.get(rounded._cache_key, ["one"]) == {}
    server = EmbeddingClient(DEFAULT_MODEL, backend="openai", cache=cache)
    assert cache.get(server._cache_key, ["one"]) == {}


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite"
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, str(path), name]) for name in "ab"]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    texts = [f"{name} {number}" for name in "ab" for number in range(100)]
    assert len(VectorCache(path).get("model", texts)) == 200


def test_the_oldest_vectors_make_room(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite", limit_bytes=1600)
    texts = [str(number) for number in range(150)]
    for at in range(0, 150, 10):
        cache.put("model", texts[at : at + 10], np.ones((10, 4), dtype=np.float32))
    kept = sorted(cache.get("model", texts))
    assert kept == list(range(kept[0], 150))
    assert 80 <= len(kept) <= 100


def test_a_spoilt_cache_costs_time_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "vectors.sqlite"
    path.write_bytes(b"no database" * 1000)
    client = EmbeddingClient(DEFAULT_MODEL, backend="openvino", cache=VectorCache(path))
    assert client.encode(["one"]).shape == (1, 384)
    assert caplog.text.count("is not used") == 1


def test_a_lone_surrogate_can_be_cached(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite")
    cache.put("model", ["\ud800"], np.ones((1, 4), dtype=np.float32))
    assert list(cache.get("model", ["?", "\ud800"])) == [1]
