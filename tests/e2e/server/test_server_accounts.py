"""Under whose account the embedded server runs, behind closed doors and in moved folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from course_lib.store.binaries import PACKAGE, find_binaries
from course_lib.store.server import ensure_server, remove_server, stop_server
from tests.e2e.server.acts import (
    START,
    answers,
    has_the_row,
    keep_a_row,
    kill_postmaster,
    postmaster_pid,
    run_start,
)

pytestmark = pytest.mark.long


@pytest.fixture
def closed(open_folder: Path, root: None) -> Path:
    """A folder like root's home: nobody else may enter."""
    folder = open_folder / "closed"
    folder.mkdir(mode=0o700)
    return folder


def copy_of_the_wheel(target: Path) -> Path:
    for part in find_binaries().bin_dir.parents[2].glob(f"{PACKAGE}*"):
        shutil.copytree(part, target / part.name, ignore=shutil.ignore_patterns("pginstall"))
    return target


def test_below_a_closed_folder_roots_server_runs_as_an_account_without_rights(
    closed: Path,
) -> None:
    site = copy_of_the_wheel(closed / "site")
    run_start(closed / "state", env=os.environ | {"PYTHONPATH": str(site)})
    server = ensure_server(closed / "state")
    assert answers(server)
    process = psutil.Process(postmaster_pid(server))
    assert process.uids().effective == server.pgdata.stat().st_uid != 0
    assert process.gids().effective != 0
    house = server.pgdata.parent
    assert house.parent == Path("/var/lib") and house in server.bin_dir.parents
    assert (house.stat().st_uid, house.stat().st_mode & 0o777) == (0, 0o711)
    assert closed.stat().st_mode & 0o777 == 0o700
    writable = [
        path
        for path in server.bin_dir.parent.rglob("*")
        if not path.is_symlink() and (path.stat().st_uid != 0 or path.stat().st_mode & 0o022)
    ]
    assert writable == []
    with psycopg.connect(server.url()) as conn:
        conn.execute("CREATE EXTENSION vector")
    remove_server(closed / "state")
    assert not house.exists()


def test_a_new_house_is_made_where_the_old_one_is_gone(closed: Path) -> None:
    """As in a new container: the state folder was kept, and /var/lib was not."""
    first = ensure_server(closed / "state")
    stop_server(closed / "state")
    shutil.rmtree(first.pgdata.parent)
    second = ensure_server(closed / "state")
    assert second.pgdata != first.pgdata and answers(second)


def test_a_checkout_that_moves_behind_a_closed_door_takes_its_data_along(
    open_folder: Path, closed: Path
) -> None:
    keep_a_row(ensure_server(open_folder / "state"))
    stop_server(open_folder / "state")
    (open_folder / "state").rename(closed / "state")
    assert has_the_row(ensure_server(closed / "state"))
    stop_server(closed / "state")
    (closed / "state").rename(closed / "elsewhere")
    assert has_the_row(ensure_server(closed / "elsewhere"))


def without(capabilities: str, state: Path) -> subprocess.CompletedProcess[str]:
    """Start the server as a root that lacks some rights, as root in a container does."""
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv (util-linux)")
    script = START + "print(ensure_server(Path(sys.argv[1])).port)"
    command = ["setpriv", f"--bounding-set={capabilities}", sys.executable, "-c", script]
    return subprocess.run([*command, str(state)], capture_output=True, encoding="utf-8")


def test_root_without_the_right_to_look_at_processes_finds_and_recovers_the_server(
    root: None, state: Path
) -> None:
    first = without("-sys_ptrace", state)
    assert first.stdout != "", first.stderr
    server = ensure_server(state)
    keep_a_row(server)
    kill_postmaster(server)
    third = without("-sys_ptrace", state)
    assert third.stdout == first.stdout, third.stderr
    assert has_the_row(ensure_server(state))


def test_root_that_may_not_change_its_account_gets_a_clear_error(root: None, state: Path) -> None:
    ended = without("-setuid,-setgid", state)
    assert "cannot be run under the account" in ended.stderr and "DATABASE_URL" in ended.stderr
