"""Models from a hub: one that does not answer is asked once, and what was fetched needs none."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def encode(model: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Encode a text in a process of its own, whose hub cannot be reached."""
    program = """
import sys
from course_lib.embedder import EmbeddingClient
from course_lib.errors import ModelError
try:
    print(EmbeddingClient(sys.argv[1]).encode(["q"]).shape)
except ModelError as error:
    print(error, error.hint)
"""
    return subprocess.run(
        [sys.executable, "-c", program, model],
        env=os.environ | {"HF_HOME": str(home), "HF_ENDPOINT": "http://127.0.0.1:9"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )


def test_an_unreachable_hub_costs_one_attempt(tmp_path: Path) -> None:
    done = encode("nobody/nothing", tmp_path)
    assert done.stdout.startswith("the model 'nobody/nothing' could not be loaded: ")
    assert "RAG_EMBED_MODEL" in done.stdout and "Retrying" not in done.stderr


@pytest.mark.long
def test_a_model_that_was_fetched_earlier_needs_no_hub(tmp_path: Path, model: Path) -> None:
    repository = tmp_path / "hub" / "models--somebody--something"
    commit = "0" * 40
    shutil.copytree(model, repository / "snapshots" / commit, ignore=shutil.ignore_patterns("*.py"))
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit, encoding="utf-8")
    done = encode("somebody/something", tmp_path)
    assert json.loads(done.stdout.replace("(", "[").replace(")", "]")) == [1, 384]
    assert "Retrying" not in done.stderr
