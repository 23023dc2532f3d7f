"""The command line itself: its help, its settings, its small commands, and how it ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.blackbox.course import PLAIN, Course
from tests.blackbox.golden import hold_golden
from tests.blackbox.places import Place

NOWHERE = Course({"DATABASE_URL": "postgresql://nobody:hush-hush@127.0.0.1:1/none"})
"""Most of these need no database: there is none here."""

ROOT = Path(__file__).parents[2]
COURSE = Path(sys.executable).with_name("course")
GROUPS = ("class", "db", "pipeline", "xray")


def shown(*words: str) -> list[str]:
    """Return a command's help in a terminal of 120 columns, without its frames and columns."""
    text = NOWHERE(*words, "--help").ok()
    lines = (" ".join(re.sub("[│╭╮╰╯─]+", " ", line).split()) for line in text.splitlines())
    boxes = [bool(re.match("╭─ ", line)) for line in text.splitlines()]
    return [f"[{line}]" if box else line for line, box in zip(lines, boxes, strict=True) if line]


def commands(lines: list[str]) -> list[str]:
    """Return the commands that a help names: the first words in its boxes of commands."""
    found, is_listed = [], False
    for line in lines:
        if line.startswith("["):
            is_listed = line not in ("[Options]", "[Arguments]")
        elif is_listed:
            found.append(line.split()[0])
    return found


def test_the_help_names_each_command_with_its_options_and_defaults() -> None:
    """What `--help` says, everywhere."""
    first = shown()
    listed = [*commands(first), *[f"{one} {sub}" for one in GROUPS for sub in commands(shown(one))]]
    assert len(listed) == len(set(listed)) > 45
    helps = [{"command": "course", "help": first}]
    helps += [{"command": f"course {one}", "help": shown(*one.split())} for one in sorted(listed)]
    hold_golden("commands/help", helps)
    pages = "README.md", "infra/site/using.md", "infra/site/start.md", "labs/CLASS.md"
    told = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"`(?:\.venv/bin/)?course ([a-z][\w-]*)", told))
    assert named and named <= set(listed), named - set(listed)


def test_a_wrong_call_ends_with_2_and_says_so() -> None:
    """A command, an option, a value or an argument that is none; and -h is --help."""
    assert "No such command 'nonsense'." in NOWHERE("nonsense").error(2)
    assert "No such command 'nonsense'." in NOWHERE("xray", "nonsense").error(2)
    assert "No such option: --nonsense" in NOWHERE("settings", "--nonsense").error(2)
    assert "Missing argument" in NOWHERE("ingest").error(2)
    assert "Missing argument" in NOWHERE("search").error(2)
    many = NOWHERE("search", "a", "--top-k", "many").error(2)
    assert "'--top-k' / '-k': Input should be a valid integer" in many
    nothing = NOWHERE()
    assert (nothing.code, nothing.out.count("Commands")) == (2, 1)
    assert NOWHERE("settings", "-h").ok() == NOWHERE("settings", "--help").ok()
    says = r"course \d+\.\d+\.\d+, (no commit known|commit \w{12} of 20\d\d-\d\d-\d\d.*)\n"
    assert re.fullmatch(says, NOWHERE("--version").ok())


def test_settings_are_listed_with_value_origin_and_default(tmp_path: Path) -> None:
    """For people, for programs, and as .env.example; secrets are hidden."""
    example = NOWHERE("settings", "--example").ok()
    assert example == (ROOT / ".env.example").read_text(encoding="utf-8")
    rows = NOWHERE("settings", "--json").json()
    described = [{name: row[name] for name in ("name", "default", "description")} for row in rows]
    hold_golden("commands/settings", described)
    (tmp_path / ".env").write_text("RAG_TENANT=acme\nRAG_TOP_K=9\nOTHER=1\n", encoding="utf-8")
    given = {"COURSE_ROOT": str(tmp_path), "RAG_TOP_K": "7", "OPENAI_API_KEY": "sk-hush-hush"}
    course = NOWHERE.with_(**given, GITHUB_TOKEN="ghp_hush-hush", RAG_API_KEYS=f"acme:{'0' * 64}")
    rows = {
        row["name"]: (row["value"], row["origin"]) for row in course("settings", "--json").json()
    }
    assert {name: rows[name] for name in ("RAG_TENANT", "RAG_TOP_K", "RAG_CHUNK_SIZE")} == {
        "RAG_TENANT": ("acme", ".env"),
        "RAG_TOP_K": ("7", "environment"),
        "RAG_CHUNK_SIZE": ("512", "default"),
    }
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN"):
        assert rows[name] == ("***", "environment")
    assert rows["DATABASE_URL"][0] == "postgresql://nobody:***@127.0.0.1:1/none"
    text = course("settings").ok()
    assert "RAG_TENANT=acme  (.env)\n" in text and "RAG_TOP_K=7  (environment)\n" in text
    assert "RAG_CHUNK_SIZE=512\n" in text and "hush-hush" not in text
    (tmp_path / ".env").write_text("RAG_TENANT=acme\n\nRAG_TOP_K 7\n", encoding="utf-8")
    said = course("settings").error()
    assert said.startswith(f"error: {tmp_path / '.env'}, line 3: this is not NAME=value\n")
    assert "dotenv" not in said
    (tmp_path / ".env").write_bytes(b"RAG_TENANT=caf\xe9\n")
    assert ".env is not UTF-8" in course("settings").error()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RAG_TOP_K", "six", "Input should be a valid integer, unable to parse string"),
        ("RAG_TOP_K", "0", "Input should be greater than or equal to 1"),
        ("RAG_CHUNK_SIZE", "-5", "Input should be greater than or equal to 1"),
        ("RAG_VECTOR_DIM", "16001", "Input should be less than or equal to 16000"),
        ("RAG_TENANT", "Not Kebab", "String should match pattern '^[a-z0-9]+(-[a-z0-9]+)*$'"),
        ("RAG_COLLECTION", "1 2", "String should match pattern '^[a-z][a-z0-9_-]*$'"),
        ("RAG_COLLECTION", "Upper", "String should match pattern '^[a-z][a-z0-9_-]*$'"),
        ("RAG_COLLECTION", "a" * 64, "String should have at most 63 characters"),
        ("RAG_COLLECTION", "public", "it is PostgreSQL's own schema"),
        ("RAG_COLLECTION", "information_schema", "it is PostgreSQL's own schema"),
        ("RAG_USE_DEFAULT_PARSERS", "maybe", "Input should be a valid boolean"),
        ("RAG_EMBED_BACKEND", "tpu", "Input should be 'auto', 'torch', 'openvino', 'sbert'"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(name: str, value: str, message: str) -> None:
    """Every command says which, what it should be, and where to correct it."""
    said = NOWHERE("settings", **{name: value}).error()
    assert said.startswith(f"error: {name}: {message}"), said
    assert said.endswith("Correct it in the environment or in .env, or unset it.\n")
    # A search reads its words by itself, and says the same.
    assert NOWHERE("search", "what is drift?", **{name: value}).error() == said


def test_the_database_is_told_opened_and_its_password_hidden(place: Place, tmp_path: Path) -> None:
    """`course db status`, `url` and `psql`; an address that is none, and one where nobody is."""
    told = place.course("db", "status").ok()
    assert re.fullmatch(r"DATABASE_URL is used and answers: postgresql://\w+:\*\*\*@.+\n", told)
    url = place.course("db", "url")
    assert url.err.startswith("database: postgresql://") and ":***@" in url.err
    assert place.schema in url.ok() and "***" not in url.out
    start = tmp_path / "psqlrc"
    start.write_text("SELECT 40 + 2 AS answer, current_schemas(false) AS seen;\n", encoding="utf-8")
    place.course("ingest", ROOT / "data/documents/what-is-mlops.md", "--repo", "one").ok()
    opened = place.course.in_a_process("db", "psql", PSQLRC=str(start)).ok()
    assert re.search(r"^\s+42 \| \{" + place.schema, opened, re.MULTILINE), opened
    away = NOWHERE("db", "status").error()
    assert away.startswith("error: postgresql://nobody:***@127.0.0.1:1/none cannot be reached")
    wrong = NOWHERE("db", "status", DATABASE_URL="nonsense").error()
    assert wrong.startswith("error: nonsense is not a connection URL")


def test_an_index_of_an_earlier_version_is_refused_and_dropped_when_asked(place: Place) -> None:
    """Ingest and search name `course db reset`, which asks first and leaves X-Ray's tables."""
    page = ROOT / "data/documents/what-is-mlops.md"
    assert place.course("db", "reset", "--yes").ok().startswith("there is no index")
    place.course("ingest", page, "--repo", "one").ok()
    place.course("xray", "scan", ROOT / "data/lockfiles/rider-app/push", "-p", "push")
    packages = place.one("SELECT count(*) FROM xray_packages")
    chunks = place.one("SELECT count(*) FROM document_chunks")
    assert packages and chunks
    with psycopg.connect(place.url) as conn:
        conn.execute("COMMENT ON TABLE document_chunks IS NULL")
    for words in (
        ("ingest", page, "--repo", "one"),
        ("search", "mlops"),
        ("ask", "What is mlops?"),
    ):
        said = place.course(*words).error()
        assert "another version of the schema" in said and "`course db reset`" in said
    for answer in ("n\n", ""):
        asked = place.course("db", "reset", stdin=answer)
        assert asked.code == 1 and f"all its {chunks} chunks?" in asked.err, asked
    assert place.one("SELECT count(*) FROM document_chunks") == chunks
    assert place.course("db", "reset", "--yes").ok().startswith(f"dropped: {chunks} chunks")
    assert place.one("SELECT to_regclass('documents') IS NULL")
    assert place.one("SELECT count(*) FROM xray_packages") == packages
    place.course("ingest", page, "--repo", "one").ok()
    assert "what-is-mlops.md" in place.course("search", "what is mlops?").ok()


def test_the_doctor_names_what_it_looks_at_and_a_fix_for_what_it_finds(tmp_path: Path) -> None:
    """One line each: ok, warn or fail; below what is not ok, the fix; 1 if something fails."""
    done = NOWHERE("doctor")
    states = dict(re.findall(r"^(?:ok|warn|fail) +(\S+) ()", done.out, re.MULTILINE))
    looked_at = "Python packages model database disk bubblewrap".split()
    assert sorted(states) == sorted(looked_at), done.out
    assert "could not be looked at" not in done.out and "hush-hush" not in done.out + done.err
    assert re.search(r"^fail +\S", done.out, re.MULTILINE), "there is no database"
    assert done.code == 1
    lines = done.out.splitlines()
    for at, line in enumerate(lines):
        if line.startswith(("warn", "fail")):
            assert lines[at + 1].startswith(" "), f"no fix: {line}"


def checkout(folder: Path) -> Path:
    """Make what the commands of the course take for a checkout: two labs and a pyproject.toml."""
    labs = folder / "labs"
    labs.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[project]\nname = 'course'\n", encoding="utf-8")
    for name in ("01_first", "02_second"):
        cell = {
            "cell_type": "markdown",
            "metadata": {},
            "source": f"# {name}\n[on](../labs/02_second.ipynb)",
        }
        notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (labs / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return folder


def test_starting_a_lab_copies_all_labs_and_overwrites_none(tmp_path: Path) -> None:
    """`my/` holds the learner's copies, whose links lead to each other."""
    root = checkout(tmp_path / "course")
    course = NOWHERE.with_(COURSE_ROOT=str(root))
    begun = course("start", "1").ok()
    mine = Path("my", "01_first.ipynb")
    assert begun == (
        f"{mine} is ready, and so are the other labs\nOpen it with `make lab` (or `course lab`).\n"
    )
    copies = sorted(file.name for file in (root / "my").iterdir())
    assert copies == ["01_first.ipynb", "02_second.ipynb", "attempts.jsonl"]
    assert "](02_second.ipynb)" in (root / mine).read_text(encoding="utf-8")
    (root / mine).write_text("my answers", encoding="utf-8")
    again = course("start", "01").ok()
    assert f"{mine} is ready, it was copied before, and what you wrote in it is kept" in again
    assert course("progress").ok() == (
        "No exercise was checked in my/ yet. Begin with: make start LAB=01\n"
    )
    assert (root / mine).read_text(encoding="utf-8") == "my answers"
    assert course("start", "99").error() == (
        "error: there is no lab '99'\nThere are: 01, 02. Example: make start LAB=01\n"
    )
    shutil.rmtree(root / "my")
    (root / "my").write_text("no folder", encoding="utf-8")
    assert "my cannot be written" in course("start", "01").error()
    for command in (("start", "01"), ("run", "01"), ("doctor",), ("clean",), ("up",)):
        said = course(*command, COURSE_ROOT=str(tmp_path / "nothing")).error()
        assert said.startswith(f"error: {tmp_path / 'nothing'} is not a checkout of the course: ")


def test_without_docker_up_and_down_say_that_it_is_not_needed(tmp_path: Path) -> None:
    """The course runs its own PostgreSQL."""
    for command in ("up", "down"):
        assert NOWHERE(command, PATH=str(tmp_path)).error() == (
            "error: docker is not installed\n"
            "It is not needed: without DATABASE_URL the course runs its own PostgreSQL.\n"
        )


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another signal there")
def test_ctrl_c_ends_a_command_with_130_and_one_word() -> None:
    """Also while it waits for a database that says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://a:b@127.0.0.1:{silent.getsockname()[1]}/none"
        with Course({"DATABASE_URL": url}).process("search", "what is drift?") as running:
            waiting, _ = silent.accept()
            with waiting:
                assert waiting.recv(8)
                running.send_signal(signal.SIGINT)
                out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, "", "stopped\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    """`course settings | head -1`."""
    with NOWHERE.process("settings") as running:
        assert running.stdout and running.stderr
        running.stdout.close()
        err = running.stderr.read()
    assert running.returncode in (0, 1) and err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("words", [("settings",), ("--help",)])
def test_a_full_disk_is_told(words: tuple[str, ...]) -> None:
    """Exit code 1, what cannot be written, and what to do."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [COURSE, *words], env={**os.environ, **PLAIN}, check=False,
            stdout=full, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        "error: what the command writes to cannot be written: No space left on device\n"
        "Free some space on that disk and run the same command again.\n",
    )


def test_a_terminal_that_is_no_utf8_gets_question_marks_and_no_traceback(tmp_path: Path) -> None:
    """An old console, or a pipe with an encoding of its own."""
    file = tmp_path / "a.md"
    file.write_text("# Tokyo\n\nIt is 東京 🙂.\n", encoding="utf-8")
    done = NOWHERE.in_a_process("split", file, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert "# Tokyo It is ?? ?.\n" in done.ok()
