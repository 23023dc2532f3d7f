"""The local generator: what is refused before anything starts; with a GGUF file, a real answer."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from course_lib.answers import GenerationError, Prompt, Request, generator
from course_lib.answers.generators.local import Local, Server, model_file
from course_lib.settings import Settings

FILE = Path(os.environ.get("RAG_MODEL_FILE") or model_file())
"""A GGUF file, if there is one."""

with_a_model = [
    pytest.mark.long,
    pytest.mark.skipif(
        not FILE.is_file() or find_spec("xllamacpp") is None,
        reason="no language model on this machine: make model",
    ),
]


def refused(file: Path) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        generator(Settings(RAG_MODEL_FILE=file), backend="local")
    return caught.value


def test_a_file_that_is_missing_or_another_kind_is_refused_with_a_way_out(tmp_path: Path) -> None:
    missing = refused(tmp_path / "none.gguf")
    assert "there is no model at" in str(missing) and "none.gguf" in str(missing)
    assert "`make model` fetches one (1.1 GB)" in str(missing.hint)
    (tmp_path / "text.gguf").write_text("no model", encoding="utf-8")
    other = refused(tmp_path / "text.gguf")
    assert "text.gguf is not a GGUF file" in str(other) and "RAG_MODEL_FILE" in str(other.hint)


@pytest.mark.skipif(find_spec("xllamacpp") is not None, reason="xllamacpp is installed here")
def test_without_the_package_the_error_says_what_installs_it(tmp_path: Path) -> None:
    (tmp_path / "some.gguf").write_bytes(b"GGUF")
    error = refused(tmp_path / "some.gguf")
    assert "the package xllamacpp is not installed" in str(error)
    assert "`make model` installs it" in str(error.hint)


def test_more_memory_than_is_free_is_refused_before_a_process_starts(tmp_path: Path) -> None:
    file = tmp_path / "large.gguf"
    with file.open("wb") as opened:
        opened.write(b"GGUF")
        opened.truncate(psutil.virtual_memory().total)  # a file with a hole: it takes no room
    with pytest.raises(GenerationError, match="MB of memory; .* MB are free") as caught:
        Server.of(file, 8192, None)
    assert "RAG_CONTEXT_WINDOW" in str(caught.value.hint)
    assert (file, 8192, None) not in Server.running


def asked(question: str) -> Request:
    return Request(Prompt("Answer with one word.", question), question, (), 20, 900)


class TestWithAModel:
    pytestmark = with_a_model

    def test_it_answers_and_one_process_serves_all_questions(self) -> None:
        model = Local(FILE, window=2048)
        first = "".join(model.stream(asked("What is the capital of France?")))
        assert "Paris" in first
        process = Server.running[FILE, 2048, None].process
        assert "".join(model.stream(asked("What is the capital of France?"))) == first
        assert Server.running[FILE, 2048, None].process is process
        process.kill()
        process.wait()
        assert "Rome" in "".join(model.stream(asked("What is the capital of Italy?")))

    def test_a_prompt_that_is_too_long_is_refused(self) -> None:
        model = Local(FILE, window=2048)
        with pytest.raises(GenerationError, match="longer than 2048 tokens"):
            "".join(model.stream(asked("word " * 4000)))

    def test_a_file_that_is_cut_off_cannot_be_loaded(self, tmp_path: Path) -> None:
        with FILE.open("rb") as whole:
            (tmp_path / "cut.gguf").write_bytes(whole.read(1 << 20))
        with pytest.raises(GenerationError, match="llama.cpp cannot load .*cut.gguf"):
            "".join(Local(tmp_path / "cut.gguf").stream(asked("Are you there?")))

    def test_it_ends_with_the_process_that_asked_however_that_ends(self) -> None:
        program = (
            "import os, sys\nfrom pathlib import Path\n"
            "from course_lib.answers.generators.local import Server\n"
            "print(Server.of(Path(sys.argv[1]), 512, None).process.pid, flush=True)\nos._exit(9)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, FILE],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        end = time.monotonic() + 30
        while psutil.pid_exists(int(done.stdout)) and time.monotonic() < end:
            time.sleep(0.1)
        assert done.returncode == 9 and not psutil.pid_exists(int(done.stdout))
