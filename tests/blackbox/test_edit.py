"""`course edit`: a model's new text of a file is shown, or written so that nothing else changes."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.blackbox.course import Course, Done
from tests.blackbox.golden import hold_golden
from tests.blackbox.language_models import (
    CHAT,
    COMPLETIONS,
    SHOW,
    Reply,
    model_that_says,
    models,
    nobody,
    ollama,
    refusal,
    window,
)
from tests.blackbox.places import Place
from tests.needs import needs
from tests.repositories import git

pytestmark = needs("git")

BEFORE = "first = 1\nsecond = 2\n"
AFTER = "first = 1\nsecond = 3\n"
DIFF = "--- a/numbers.py\n+++ b/numbers.py\n@@ -1,2 +1,2 @@\n first = 1\n-second = 2\n+second = 3\n"
ALONE = ("--top-k", "0")
"""Without the index."""


def marked(text: str) -> str:
    """Return an answer in the form that a model is asked for."""
    return f"<<BEGIN_FILE>>\n{text}<<END_FILE>>"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with one committed file."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "numbers.py").write_bytes(BEFORE.encode())
    git(folder, "init", "-q")
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "as it is")


def edit(
    course: Course, root: Path, says: str | Reply, *words: str | Path, **environment: str
) -> Done:
    """Let a model that says something edit `numbers.py`, or the files among the words."""
    files = [] if any(isinstance(word, Path) for word in words) else [root / "numbers.py"]
    reply = ollama(*re.findall(r"(?s).{1,9}", says)) if isinstance(says, str) else says
    with models({CHAT: reply, SHOW: window(8192)}) as server:
        given = {"RAG_REPO_ROOT": str(root)} | server.ollama | environment
        return course("edit", *files, "--edit", "Make the second 3.", *ALONE, *words, **given)


@pytest.mark.parametrize("backend", ["ollama", "openai"])
def test_a_change_is_shown_and_only_written_on_demand(
    course: Course, repository: Path, backend: str
) -> None:
    """The diff in every case; the file with --rewrite; the text itself with --stdout."""
    file = repository / "numbers.py"
    words = ("edit", file, "--edit", "Make the second 3.", *ALONE)
    with model_that_says("<<BEGIN", "_FILE>>\nfirst = 1\nsecond", " = 3\n<<END_FILE>>\n") as server:
        environment = server.environment(backend) | {"RAG_REPO_ROOT": str(repository)}
        done = course(*words, **environment)
        assert (done.ok(), file.read_bytes()) == (DIFF, BEFORE.encode())
        assert done.err == f"numbers.py: {backend}, tiny\nNothing was written: see --rewrite.\n"
        done = course(*words, "--stdout", **environment)
        assert (done.ok(), done.err) == (AFTER, f"numbers.py: {backend}, tiny\n")
        assert file.read_bytes() == BEFORE.encode()
        done = course(*words, "--rewrite", **environment)
        assert (done.ok(), file.read_bytes()) == (DIFF, AFTER.encode())
        assert done.err == f"numbers.py: {backend}, tiny\nnumbers.py was written\n"
        assert git(repository, "status", "--porcelain") == "M numbers.py"
        commit(repository)
        done = course(*words, "--rewrite", **environment)
        assert (done.ok(), file.read_bytes()) == ("", AFTER.encode())
        assert done.err.endswith("numbers.py stays as it is: the model changed nothing\n")
        assert git(repository, "status", "--porcelain") == ""
    path = CHAT if backend == "ollama" else COMPLETIONS
    body = server.bodies(path)[0]
    system, user = (message["content"] for message in body["messages"])
    (mark,) = set(re.findall(r"^(?:BEGIN|END) ([0-9a-f]+)", user, re.MULTILINE))
    lines = [*system.split("\n"), "---", *user.replace(mark, "MARK").split("\n")]
    hold_golden("answers/edit-prompt", [{"line": line} for line in lines])


def test_the_index_adds_what_it_knows_but_not_the_file_itself(
    place: Place, repository: Path, tmp_path: Path
) -> None:
    """Passages of other files go along; without an index, it goes without and says so."""
    (repository / "guide.md").write_text("# Numbers\n\nThe second number is three.\n", "utf-8")
    commit(repository)
    words = ("edit", repository / "numbers.py", "--edit", "Correct the second number.")
    with model_that_says(marked(AFTER)) as server:
        environment = server.ollama | {"RAG_REPO_ROOT": str(repository)}
        done = place.course(*words, **environment)
        assert done.ok() == DIFF
        assert "without the index: there is no index in the database\n" in done.err
        place.course("ingest", repository, "--repo", "mine").ok()
        assert place.course(*words, **environment).ok() == DIFF
        place.rows("UPDATE documents SET model = 'another-model' RETURNING 1")
        said = place.course(*words, **environment).error()
    assert "the index was filled by another-model" in said
    without, with_index = (body["messages"][1]["content"] for body in server.bodies(CHAT))
    assert "PASSAGE" not in without
    assert re.findall(r"PASSAGE (.*)", with_index) == ["1: guide.md:1-3"]
    assert with_index.count("second = 2") == 1


KEPT: dict[str, tuple[str, bytes, str, bytes]] = {
    "CRLF": ("a.txt", b"one\r\ntwo\r\n", "one\n2\nthree\n", b"one\r\n2\r\nthree\r\n"),
    "old Mac": ("a.txt", b"one\rtwo\r", "one\n2\n", b"one\r2\r"),
    "no last line end": ("a.txt", b"one\ntwo", "one\n2\n", b"one\n2"),
    "BOM": ("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\n", "one\n2\n", b"\xef\xbb\xbfone\r\n2\r\n"),
    "form feed and U+2028": ("a.txt", "a\f\u2028b\ntwo\n".encode(), "a\f\u2028b\n2\n",
                             "a\f\u2028b\n2\n".encode()),
    "no newline at the end of a line of code": ("a.json", b'{"a": 1}', '{"a": 2}\n', b'{"a": 2}'),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_a_rewrite_keeps_what_a_model_does_not_see(
    course: Course, repository: Path, name: str
) -> None:
    """Line ends, a mark at the beginning, the last line end, the mode."""
    called, before, said, after = KEPT[name]
    file = repository / called
    file.write_bytes(before)
    file.chmod(0o4754)
    commit(repository)
    assert edit(course, repository, marked(said), file, "--rewrite").code == 0
    assert file.read_bytes() == after
    assert stat.S_IMODE(file.stat().st_mode) == 0o754
    assert sorted(path.name for path in repository.iterdir()) == sorted(
        {".git", "numbers.py", called}
    )


REFUSED: dict[str, tuple[str, str]] = {
    "no first marker": (f"{AFTER}<<END_FILE>>", "has no line <<BEGIN_FILE>>"),
    "no last marker": (f"<<BEGIN_FILE>>\n{AFTER}", "has no line <<END_FILE>>: it was cut off"),
    "words before": (f"Here you are:\n{marked(AFTER)}", "says something beside the file"),
    "words after": (f"{marked(AFTER)}\nI made it 3.", "says something beside the file"),
    "an empty file": (marked(" \n"), "holds an empty file"),
    "two files": (f"{marked(AFTER)}\n{marked(AFTER)}", "has <<BEGIN_FILE>> in the middle"),
    "a part in a code fence": ("```python\nsecond = 3\n```\n", "it is only a part"),
    "two code fences": (f"```\n{BEFORE}```\nto\n```\n{AFTER}```\n", "holds several blocks of code"),
    "no Python": (marked("first = (\n"), "numbers.py would not be Python any more: "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_answer_that_is_no_file_leaves_the_file_alone(
    course: Course, repository: Path, name: str
) -> None:
    """Markers that are missing or wrong, words around them, code that cannot be parsed."""
    answer, says = REFUSED[name]
    said = edit(course, repository, answer, "--rewrite").error()
    assert says in said and "The file was left as it is." in said
    assert (repository / "numbers.py").read_bytes() == BEFORE.encode()
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.parametrize("around", ["{}", "Here it is:\n\n{}\n\nI made it 3.", marked("{}\n")])
def test_the_only_block_of_code_of_an_answer_is_the_file(
    course: Course, repository: Path, around: str
) -> None:
    """As small models answer, whatever they were asked for."""
    answer = around.format(f"```python\n{AFTER}```")
    assert edit(course, repository, answer, "--rewrite").ok() == DIFF
    assert (repository / "numbers.py").read_bytes() == AFTER.encode()


@pytest.mark.parametrize(
    ("called", "before", "after", "kind"),
    [
        ("a.yaml", "a: [1]\n", "a: [1\n", "YAML"),
        ("a.yml", "a: !Ref b\n", "a: !Ref c\n", None),
        ("a.json", "{}\n", "{\n", "JSON"),
        ("a.toml", "a = 1\n", "a =\n", "TOML"),
        ("a.md", "# A\n", "# (\n", None),
        ("broken.py", "first = (\n", "second = (\n", None),
    ],
)
def test_a_file_stays_one_of_its_kind(
    course: Course, repository: Path, called: str, before: str, after: str, kind: str | None
) -> None:
    """What could be parsed before can be after; what could not, may stay so."""
    file = repository / called
    file.write_text(before, encoding="utf-8")
    commit(repository)
    done = edit(course, repository, marked(after), file, "--rewrite")
    if kind is None:
        assert (done.code, file.read_text("utf-8")) == (0, after), done
    else:
        assert f"{called} would not be {kind} any more: " in done.error()
        assert file.read_text("utf-8") == before


def test_a_model_that_breaks_off_or_is_not_there_changes_nothing(
    course: Course, repository: Path
) -> None:
    """Refusals, broken streams and a server that is away end with 1 and the file as it was."""
    for reply, says in (
        (refusal(404), "has no model 'tiny'"),
        (ollama("<<BEGIN_FILE>>\nfirst", end="cut"), "broke off"),
        (Reply([b"<html>\n"]), "sent something that is not Ollama's"),
        (ollama(""), "tiny gave an empty answer"),
    ):
        assert says in edit(course, repository, reply, "--rewrite").error()
    away = nobody()
    said = edit(course, repository, "", "--rewrite", OLLAMA_URL=away).error()
    assert f"there is no Ollama at {away}" in said
    assert (repository / "numbers.py").read_bytes() == BEFORE.encode()


def test_only_files_of_the_repository_are_edited(
    course: Course, repository: Path, tmp_path: Path
) -> None:
    """Outside RAG_REPO_ROOT, through a link, git's own, folders, no texts: refused unasked."""
    outside = tmp_path / "outside.py"
    outside.write_bytes(BEFORE.encode())
    (repository / "link.py").symlink_to(outside)
    (repository / "inside.py").symlink_to(repository / "numbers.py")
    (repository / "folder").mkdir()
    (repository / "bytes.md").write_bytes(b"caf\xe9\n")
    (repository / "utf16.md").write_bytes("caf\xe9\n".encode("utf-16"))
    (repository / "mixed.md").write_bytes(b"one\r\ntwo\n")
    (repository / "nul.md").write_bytes(b"a\0b\n")
    (repository / "large.md").write_bytes(b"x" * 1_000_001)
    commit(repository)
    for path, says in (
        (outside, f"{outside} is outside the repository {repository.resolve()}"),
        (repository / "link.py", "is outside the repository"),
        (repository / ".." / "outside.py", "is outside the repository"),
        (repository / ".git" / "config", ".git/config is git's own"),
        (repository / "folder", "folder is not a regular file"),
        (repository / "none.py", "none.py cannot be read: "),
        (repository / "bytes.md", "bytes.md is not UTF-8: byte 0xe9 at offset 3"),
        (repository / "utf16.md", "utf16.md is not UTF-8: byte 0xff at offset 0"),
        (repository / "mixed.md", "mixed.md has several kinds of line ends\nSave it with one"),
        (repository / "nul.md", "nul.md holds NUL: it is not text"),
        (repository / "large.md", "large.md has 1,000,001 bytes"),
    ):
        for force in ([], ["--force"]):
            said = edit(course, repository, refusal(500), path, "--rewrite", *force).error()
            assert says in said and len(said.splitlines()) >= 2, said
    assert outside.read_bytes() == BEFORE.encode()
    # A link within the repository stays one, and what it leads to is written.
    done = edit(course, repository, marked(AFTER), repository / "inside.py", "--rewrite")
    assert done.ok() == DIFF
    assert (repository / "inside.py").is_symlink()
    assert (repository / "numbers.py").read_bytes() == AFTER.encode()
    said = edit(course, repository, "", RAG_REPO_ROOT=str(tmp_path / "none")).error()
    assert "is not a folder" in said and "RAG_REPO_ROOT" in said


def test_what_git_could_not_bring_back_is_written_with_force_only(
    course: Course, repository: Path, tmp_path: Path
) -> None:
    """Changed, new, ignored, and no repository at all: refused before a model is asked."""
    changed = repository / "numbers.py"
    changed.write_bytes(BEFORE.encode() + b"third = 3\n")
    (repository / ".gitignore").write_text("ignored.py\n", encoding="utf-8")
    new, ignored, bare = repository / "new.py", repository / "ignored.py", tmp_path / "bare.py"
    for file in (new, ignored, bare):
        file.write_bytes(BEFORE.encode())
    for file, says in (
        (changed, "has changes that are not committed"),
        (new, "is not under git's control"),
        (ignored, "is not under git's control"),
        (bare, "is not under git's control"),
    ):
        before = file.read_bytes()
        root = {"RAG_REPO_ROOT": str(tmp_path)}
        said = edit(course, repository, refusal(500), file, "--rewrite", **root).error()
        assert f"{says}\nCommit it first, or use --force.\n" in said
        assert edit(course, repository, marked(AFTER), file, **root).code == 0
        assert file.read_bytes() == before
        assert edit(course, repository, marked(AFTER), file, "--rewrite", "--force", **root).ok()
        assert file.read_bytes() == AFTER.encode()


def test_several_files_are_edited_one_by_one(course: Course, repository: Path) -> None:
    """One that fails is named and left, the others are done, and the exit code is 1."""
    names = ("a.py", "b.py", "c.py")
    files = [repository / name for name in names]
    for file in files:
        file.write_bytes(BEFORE.encode())
    commit(repository)

    def edit_all(answers: Sequence[str], *words: str) -> Done:
        with models({CHAT: [ollama(one) for one in answers], SHOW: window(8192)}) as server:
            given = server.ollama | {"RAG_REPO_ROOT": str(repository)}
            return course("edit", *files, "-e", "Make it 3.", *ALONE, *words, **given)

    done = edit_all([marked(AFTER), "no", marked(AFTER)], "--rewrite")
    assert done.code == 1
    assert done.out == "".join(DIFF.replace("numbers.py", name) for name in ("a.py", "c.py"))
    assert "error: the answer has no line <<BEGIN_FILE>>\n" in done.err
    assert done.err.endswith("1 of 3 files were left as they are\n")
    texts = [file.read_bytes().decode() for file in files]
    assert texts == [AFTER, BEFORE, AFTER]
    said = edit_all([marked(AFTER)], "--stdout").error()
    assert said.startswith("error: --stdout prints one file, and several were given\n")


def test_an_edit_that_cannot_be_says_why(course: Course, repository: Path) -> None:
    """No model, no wish, no room: each with its way out, and the file as it was."""
    for words, environment, says in (
        ((), {"RAG_GENERATOR": "extractive"}, "the extractive generator quotes and cannot write"),
        (("--backend", "openai"), {}, "OPENAI_API_KEY is not set"),
        (("--edit", "  "), {}, "nothing is to be changed"),
        ((), {"OPENAI_MAX_OUTPUT": "64"}, "about 72 tokens, of 64 at most"),
        ((), {"RAG_CONTEXT_WINDOW": "700"}, "the question does not fit"),
    ):  # fmt: skip
        done = edit(course, repository, marked(AFTER), "--rewrite", *words, **environment)
        said = done.error()
        assert says in said and len(said.splitlines()) >= 2, said
    assert "--edit" in course("edit", repository / "numbers.py").error(2)
    assert (repository / "numbers.py").read_bytes() == BEFORE.encode()


@pytest.mark.skipif(os.name == "nt", reason="links")
@pytest.mark.parametrize("option", ["--force", ""])
def test_a_folder_that_becomes_a_link_while_the_model_answers_is_not_written_through(
    course: Course, repository: Path, tmp_path: Path, option: str
) -> None:
    """The file is written in the repository or not at all; what the link leads to stays."""
    inside, outside = repository / "a" / "b", tmp_path / "outside"
    for folder in (inside, outside / "b"):
        folder.mkdir(parents=True)
        (folder / "c.py").write_bytes(BEFORE.encode())
    commit(repository)
    pieces = ollama(marked(AFTER)).pieces

    def answer() -> Iterator[bytes]:
        yield pieces[0]
        (repository / "a").rename(repository / "was a")
        (repository / "a").symlink_to(outside)
        yield from pieces[1:]

    reply = Reply(answer())  # type: ignore[arg-type]
    words = ["--rewrite", *filter(None, [option])]
    said = edit(course, repository, reply, inside / "c.py", *words).error()
    assert "cannot be written: a folder on the way to it is a link by now" in said or not option
    for folder in (outside / "b", repository / "was a" / "b"):
        assert [path.name for path in folder.iterdir()] == ["c.py"]
        assert (folder / "c.py").read_bytes() == BEFORE.encode()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("first = 1\nsecond = '\0'\n", "the answer holds NUL"),
        ("# more\n" * 400_000, "the answer has more than 1,000,000 characters"),
        ("# \N{ELEPHANT}\n" * 170_000, "the answer has 1,190,000 bytes"),
    ],
)
def test_an_answer_that_could_not_be_edited_again_is_refused(
    course: Course, repository: Path, answer: str, says: str
) -> None:
    """NUL, 2.8 MB, and what is too large in bytes only; with --force as well."""
    file = repository / "numbers.txt"
    file.write_bytes(BEFORE.encode())
    commit(repository)
    reply = ollama(*re.findall(r"(?s).{1,9999}", marked(answer)))
    for words in (["--rewrite", "--force"], ["--rewrite"], ["--stdout"]):
        said = edit(course, repository, reply, file, *words).error()
        assert says in said and "The file was left as it is." in said
    assert file.read_bytes() == BEFORE.encode()


def test_no_program_that_the_repository_names_is_run(
    course: Course, repository: Path, tmp_path: Path
) -> None:
    """Filters, their processes, a monitor and hooks: a look with git is a look."""
    ran = tmp_path / "ran"
    attributes = "*.py filter=one\n*.md filter=two.three\n*.txt text eol=crlf\n"
    (repository / ".gitattributes").write_text(attributes, encoding="utf-8")
    (repository / "a.md").write_bytes(BEFORE.encode())
    (repository / "a.txt").write_bytes(BEFORE.replace("\n", "\r\n").encode())
    commit(repository)
    program = f"touch '{ran.as_posix()}'; cat"
    for name in ("one.clean", "one.smudge", "two.three.process"):
        git(repository, "config", f"filter.{name}", program)
        git(repository, "config", f"filter.{name.rpartition('.')[0]}.required", "true")
    git(repository, "config", "core.fsmonitor", program)
    for name in ("post-index-change", "fsmonitor-watchman"):
        hook = repository / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
        hook.chmod(0o755)
    for name in ("numbers.py", "a.md", "a.txt"):
        os.utime(repository / name, (0, 0))  # git would look at the content again
        assert edit(course, repository, marked(AFTER), repository / name, "--rewrite").code == 0
        said = edit(course, repository, refusal(500), repository / name, "--rewrite").error()
        assert "has changes that are not committed" in said
    assert (repository / "a.txt").read_bytes() == AFTER.replace("\n", "\r\n").encode()
    assert not ran.exists()
