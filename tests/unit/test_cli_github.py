"""`course ingest-repo` and `course github-server` as they are called."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.store import connect
from course_lib.store.databases import FreshDatabase
from course_lib.teaching.github_server import GitHubServer, environment, local_github

PROGRAM = (
    "from course_lib.cli import front_door, main;"
    "front_door.MODULES.setdefault('github', ('ingest-repo', 'github-server'));"
    "main()"
)
REPO = ("ingest-repo", "heron/platform", "--ref")


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with local_github() as server:
        yield server


@pytest.fixture
def surroundings(server: GitHubServer, database: FreshDatabase, tmp_path: Path) -> dict[str, str]:
    return environment(server) | {
        "DATABASE_URL": database.url,
        "GITHUB_TOKEN": "",
        "GH_TOKEN": "",
        "COLUMNS": "120",
        "PYTHONIOENCODING": "utf-8",
        "NO_COLOR": "1",
    }


def course(*arguments: str | Path, **surroundings: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        env=os.environ | surroundings,
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_one_command_fills_the_partitions_of_code_and_issues(
    surroundings: dict[str, str], database: FreshDatabase, tmp_path: Path
) -> None:
    options = ["--ext", ".yaml,.md", "--ext", "sh", "--path", "docs", "--path", "code/scripts"]
    options += ["--path", "manifests/training-runs.yaml", "--dest", str(tmp_path / "dest")]
    done = course(*REPO, "main", *options, "--issues", "--since", "2026-09-01", **surroundings)
    assert done.returncode == 0, done.stderr
    assert re.match(
        r"heron/platform at main is commit [0-9a-f]{12}: \d+ files downloaded, 1 here already\n",
        done.stdout,
    )
    for name in ("code_manifests", "code_pipelines", "documentation", "issues"):
        assert re.search(rf"  {name}: \d+ documents?, \d+ chunks?: ", done.stdout)
    assert "5 issues of heron/platform" in done.stderr
    again = course(
        *REPO, "main", *options, "--issues", "--since", "2026-09-01", "--json", **surroundings
    )
    report = json.loads(again.stdout)
    assert report["fetched"] == 0
    assert all(part["inserted"] == 0 for part in report["partitions"].values())
    found = course("search", "the disk of the backup is full", "--json", **surroundings)
    results = json.loads(found.stdout)
    assert all(result["citation_url"] for result in results)
    shown = course("search", "the disk of the backup is full", **surroundings)
    assert f"   {results[0]['citation_url']}\n" in shown.stdout
    with connect(database.url) as conn:
        partitions = conn.execute("SELECT DISTINCT partition FROM document_chunks").fetchall()
    assert len(partitions) == 4


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*REPO, "v9", "--ext", ".yaml"), "has no branch, tag or commit v9"),
        ((*REPO, "main", "--ext", ".yaml", "--path", "apps"), "has no apps at main"),
        ((*REPO, "main", "--ext", ".rs"), "ends in .rs"),
        ((*REPO, "main", "--ext", ","), "which files are wanted"),
        (("ingest-repo", "heron", "--ref", "main", "--ext", ".md"), "is no repository"),
        ((*REPO, "main", "--ext", ".md", "--since", "2026-01-01"), "--since is about issues"),
        ((*REPO, "main", "--ext", ".md", "--issues", "--since", "then"), "'then' is no time"),
    ],
)
def test_what_cannot_be_done_ends_with_1_and_says_what_to_do(
    surroundings: dict[str, str], tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = course(*arguments, "--dest", tmp_path / "dest", **surroundings)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: " in done.stderr and says in done.stderr
    assert len(done.stderr.strip().splitlines()) >= 2  # the error and what to do


def test_a_ref_and_endings_have_to_be_given() -> None:
    for arguments in (("ingest-repo", "a/b", "--ext", ".md"), (*REPO, "main")):
        assert course(*arguments).returncode == 2


def test_the_help_speaks_of_the_token_and_there_is_no_option_for_it() -> None:
    told = course("ingest-repo", "--help", COLUMNS="120", NO_COLOR="1").stdout
    assert "GITHUB_TOKEN" in told and "GITHUB_API_URL" in told
    assert "--token" not in told
    for option in ("--ref", "--ext", "--path", "--partition", "--issues", "--since", "--max-wait"):
        assert option in told


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_the_server_serves_a_folder_and_shows_what_it_is_asked(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", PROGRAM, "github-server", "--serve", f"me/mine={folder}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert process.stdout is not None
        assert "me/mine" in process.stdout.readline()
        printed = [process.stdout.readline().strip() for _ in range(2)]
        assert all(line.startswith("export ") for line in printed)
        variables = dict(line.removeprefix("export ").split("=", 1) for line in printed)
        assert set(variables) == {"GITHUB_API_URL", "GITHUB_RAW_URL"}
        assert "course ingest-repo me/mine --ref main" in process.stdout.readline()
        from course_lib.loader.github.client import GitHubClient

        with GitHubClient(variables["GITHUB_API_URL"]) as client:
            client.json("repos/me/mine/commits/main")
        assert process.stdout.readline() == "200  api/repos/me/mine/commits/main\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert (process.returncode, "Traceback" in err) == (130, False)
    finally:
        process.kill()
        process.communicate()


def test_a_folder_that_is_not_there_is_no_repository() -> None:
    done = course("github-server", "--serve", "me/mine=/does/not/exist")
    assert done.returncode == 1
    assert "names no folder" in done.stderr
