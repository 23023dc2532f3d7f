"""`course edit` from end to end: a model on loopback, a git repository, an index."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.answers.edit import BEGIN_FILE, END_FILE, EditError
from course_lib.answers.edit_files import read_original
from course_lib.answers.editing import context_for_edit, propose
from course_lib.answers.generators.ollama import Ollama
from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing import ingest
from course_lib.settings import state_dir
from tests.blackbox.language_models import CHAT, SHOW, Models, models, ollama, window
from tests.schemas import OwnSchema
from tests.unit.command_line import Course

BEFORE = "def area(r):\n    return 3.14 * r * r\n"
AFTER = "def area(radius):\n    return 3.14 * radius * radius\n"


def answer(text: str) -> str:
    return f"{BEGIN_FILE}\n{text}{END_FILE}\n"


@pytest.fixture
def model() -> Iterator[Models]:
    """A model that gives the file back as it should be."""
    with models({CHAT: ollama(*answer(AFTER)), SHOW: window(8192)}) as server:
        yield server


def says(model: Models, text: str) -> None:
    model.replies[CHAT] = [ollama(text)]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with two files, and a file beside it."""
    root = tmp_path / "repo"
    root.mkdir()
    (tmp_path / "outside.py").write_bytes(BEFORE.encode())
    (root / "area.py").write_bytes(BEFORE.encode())
    (root / "length.py").write_bytes(b"def length(r):\n    return 6.28 * r\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "core.autocrlf=false"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True)
    return root


@pytest.fixture
def course(repository: Path, model: Models, tmp_path: Path) -> Course:
    """The command line with that model and repository; the index is asked where a test says so."""
    return Course(
        {
            "COURSE_ROOT": str(tmp_path),
            "COURSE_STATE": str(state_dir()),  # which engine is fastest is not measured again
            "RAG_REPO_ROOT": str(repository),
            "RAG_GENERATOR": "ollama",
            "OLLAMA_URL": model.url,
        }
    )


EDIT = ("--edit", "write r out as radius", "--top-k", "0")


def test_the_diff_is_shown_and_nothing_written_until_it_is_asked_for(
    course: Course, repository: Path
) -> None:
    file = repository / "area.py"
    shown = course("edit", file, *EDIT)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("--- a/area.py\n+++ b/area.py\n")
    assert "-def area(r):\n" in shown.stdout and "+def area(radius):\n" in shown.stdout
    assert file.read_bytes() == BEFORE.encode()
    printed = course("edit", file, *EDIT, "--stdout")
    assert printed.stdout == AFTER
    assert file.read_bytes() == BEFORE.encode()
    written = course("edit", file, *EDIT, "--rewrite")
    assert written.returncode == 0 and "was written" in written.stderr
    assert file.read_bytes() == AFTER.encode()


def test_what_git_could_not_bring_back_is_not_overwritten_but_by_force(
    course: Course, repository: Path, model: Models
) -> None:
    file = repository / "area.py"
    file.write_bytes(BEFORE.encode() + b"# mine\n")
    assert "not committed" in course.fails("edit", file, *EDIT, "--rewrite")
    assert not model.asked  # a model costs time, or money
    assert file.read_bytes().endswith(b"# mine\n")
    assert course("edit", file, *EDIT, "--rewrite", "--force").returncode == 0
    assert file.read_bytes() == AFTER.encode()


def test_an_answer_that_no_longer_parses_leaves_the_file(
    course: Course, repository: Path, model: Models
) -> None:
    says(model, answer("def area(radius:\n"))
    said = course.fails("edit", repository / "area.py", *EDIT, "--rewrite", "--force")
    assert "would not be Python any more" in said
    assert (repository / "area.py").read_bytes() == BEFORE.encode()


def test_several_files_are_edited_and_one_that_fails_stops_no_other(
    course: Course, repository: Path
) -> None:
    files = [repository / name for name in ("area.py", "nowhere.py", "length.py")]
    done = course("edit", *files, *EDIT, "--rewrite")
    assert done.returncode == 1 and "1 of 3 files" in done.stderr
    assert [file.read_bytes() for file in files[::2]] == [AFTER.encode()] * 2
    assert "one file" in course.fails("edit", *files, *EDIT, "--stdout")


def test_a_generator_that_only_quotes_says_which_can_write(
    course: Course, repository: Path
) -> None:
    said = course.fails("edit", repository / "area.py", *EDIT, RAG_GENERATOR="extractive")
    assert "cannot write" in said and "--backend ollama" in said


def test_the_index_is_in_the_prompt_and_the_file_only_once(
    course: Course, repository: Path, model: Models, database: OwnSchema,
    embedder: EmbeddingClient,
) -> None:  # fmt: skip
    with database.connect() as conn:
        ingest(repository, conn=conn, embedder=embedder, repo="shop")
        for name in ("area.py", "src/shop/area.py"):  # the index may have another root
            passages = context_for_edit(conn, embedder, name, "write r out as radius", top_k=5)
            assert [passage.path for passage in passages] == ["length.py"]
    done = course(
        "edit", repository / "area.py", "--edit", "write r out", DATABASE_URL=database.url
    )
    assert done.returncode == 0, done.stderr
    said = model.asked[-1][2]["messages"][1]["content"]
    assert said.count("return 3.14") == 1
    assert "PASSAGE 1: length.py" in said and "return 6.28" in said


def test_a_file_too_long_for_an_answer_is_refused_before_the_model_is_asked(
    tmp_path: Path, model: Models
) -> None:
    (tmp_path / "long.md").write_text("word " * 9_000, encoding="utf-8")
    original = read_original(tmp_path / "long.md", tmp_path)
    generator = Ollama(model.url, "llama3")
    with pytest.raises(EditError, match="tokens, and an answer at most 4,096"):
        propose(original, "shorten it", generator)
    with pytest.raises(InputError, match="does not fit"):
        propose(original, "shorten it", generator, max_output=100_000)
    assert not [asked for asked in model.asked if asked[0] == "/api/chat"]
    with pytest.raises(EditError, match="nothing is to be changed"):
        propose(original, "  ", generator)
