"""JupyterHub for a class, as `infra/site/jupyterhub.md` says: two learners with accounts.

The hub and its proxy are installed into build/jupyterhub, from pinned versions; its configuration
is the page's. The test needs root: it makes the two accounts and removes them. Where the Python of
this environment is in a folder that is closed to others, such as /root, the hub and its learners
see a way through it, in mounts of their own.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import pytest

from tests.needs import needs

pytest.importorskip("playwright", reason="playwright is not here: make setup")

from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.laboratory import HEIGHT, LABS, ROOT, WIDTH, Laboratory, wait_for

HUB, PROXY = "jupyterhub==6.1.1", "configurable-http-proxy@5.3.0"
LAB_VERSION = "jupyterlab==4.6.6"
BUILD = ROOT / "build" / "jupyterhub"
PROGRAMS = BUILD / "env" / "bin"
PAGE = (ROOT / "infra" / "site" / "jupyterhub.md").read_text(encoding="utf-8")
LEARNERS = ("course-hub-ada", "course-hub-zoe")
LIMIT = 2 * 1024**3
"""What the page says is enough for a learner."""

NOT_ROOT = "accounts are made and removed: run it as root, on Linux"
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    needs("chromium"),
    needs("npm"),
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("useradd"),
        reason=NOT_ROOT,
    ),
]

THROUGH = """\
set -e
hold=$(mktemp -d)
mount --bind "$2" "$hold"
mount -t tmpfs -o mode=755 none "$1"
mkdir -p "$2"
mount --bind "$hold" "$2"
shift 2
exec "$@"
"""
"""A way through a closed folder ($1) to a Python in it ($2), for one program and its children."""


@dataclass
class Hub:
    """A JupyterHub that runs."""

    address: str
    token: str
    process: subprocess.Popen[bytes]
    folder: Path

    def ask(self, method: str, path: str) -> httpx.Response:
        """Ask the hub's API, as an administrator."""
        headers = {"Authorization": f"token {self.token}"}
        return httpx.request(method, f"{self.address}/hub/api/{path}", headers=headers, timeout=60)

    def as_learner(self, name: str, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a learner's shell, with what the hub sees."""
        within = ("nsenter", "--mount", "--target", str(self.process.pid))
        return subprocess.run(
            (*within, "runuser", "-l", name, "-c", command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )

    def log(self) -> str:
        """Return what the hub and its learners' servers have said."""
        return (self.folder / "log").read_text(encoding="utf-8")[-8000:]


def closed_above(place: Path) -> list[Path]:
    """Return a folder and those above it that other accounts cannot go through."""
    place = place.resolve()
    return [one for one in (place, *place.parents) if not one.stat().st_mode & 0o001]


def in_sight(command: list[str]) -> list[str]:
    """Return a command that runs a program where other accounts can reach this Python."""
    base = Path(sys.base_prefix).resolve()
    if not (closed := closed_above(base)):
        return command
    return ["unshare", "--mount", "sh", "-c", THROUGH, "sh", str(closed[-1]), str(base), *command]


def run(*command: str | Path) -> str:
    """Return what a command prints, if it went well."""
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def installed() -> None:
    """Install the hub, JupyterLab and the proxy, and name the kernel there, as the page says."""
    BUILD.mkdir(parents=True, exist_ok=True)
    uv = (sys.executable, "-m", "uv")
    wanted = " ".join((HUB, LAB_VERSION, PROXY))
    stamp = BUILD / "installed"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        try:
            run(*uv, "venv", "-q", "--clear", "--python", sys.executable, BUILD / "env")
            run(*uv, "pip", "install", "-q", "--python", PROGRAMS / "python", HUB, LAB_VERSION)
            run("npm", "install", "--silent", "--prefix", BUILD / "proxy", PROXY)
        except AssertionError as error:
            pytest.skip(f"JupyterHub and its proxy cannot be had: {error}")
        stamp.write_text(wanted, encoding="utf-8")
    said = re.search(r"-m ipykernel (install .*?)```", PAGE, re.DOTALL)
    assert said
    words = [word.strip("\"'") for word in re.findall(r"\"[^\"]*\"|'[^']*'|[^\s\\]+", said[1])]
    words[words.index("PREFIX")] = str(BUILD / "env")
    run(sys.executable, "-m", "ipykernel", *words)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def processes(name: str) -> list[psutil.Process]:
    """Return what runs under an account."""
    uid, found = pwd.getpwnam(name).pw_uid, []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.uids().real == uid:
                found.append(process)
    return found


def memory(name: str) -> dict[str, int]:
    """Return the memory (PSS) of a learner's server, kernels and PostgreSQL, in bytes."""
    sums = {"JupyterLab": 0, "kernels": 0, "PostgreSQL": 0}
    for process in processes(name):
        with suppress(psutil.Error):
            line = " ".join(process.cmdline())
            kind = "kernels" if "ipykernel" in line else "JupyterLab"
            kind = "PostgreSQL" if process.name() == "postgres" or "postgres:" in line else kind
            sums[kind] += process.memory_full_info().pss
    return sums


def remove(names: Iterable[str]) -> None:
    """Remove accounts, and end what runs under them."""
    for name in names:
        with suppress(KeyError):
            for process in processes(name):
                with suppress(psutil.Error):
                    process.kill()
            subprocess.run(["userdel", "--remove", name], check=False, capture_output=True)


@pytest.fixture(scope="module")
def accounts() -> Iterator[dict[str, str]]:
    """Two accounts with passwords, by name; removed at the end with all that they run and have."""
    passwords = {name: secrets.token_urlsafe(12) for name in LEARNERS}
    remove(LEARNERS)  # what a run that was killed has left
    try:
        for name, password in passwords.items():
            run("useradd", "--create-home", name)
            lines = f"{name}:{password}\n"
            subprocess.run(["chpasswd"], input=lines, encoding="utf-8", check=True)
        yield passwords
    finally:
        remove(LEARNERS)


@pytest.fixture(scope="module")
def hub(accounts: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """The hub with its default spawner and PAM, and with the page's two hooks."""
    if closed := closed_above(ROOT):
        pytest.skip(f"{closed[0]} is closed to learners: clone the course into an open folder")
    installed()
    folder, token, port = tmp_path_factory.mktemp("hub"), secrets.token_urlsafe(16), free_port()
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 1
    hooks = blocks[0].replace("/opt/retrieval-course", str(ROOT))
    scopes = ["admin:users", "admin:servers", "access:servers", "list:users"]
    (folder / "jupyterhub_config.py").write_text(
        f"""{hooks}
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {free_port()}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{free_port()}"
c.ConfigurableHTTPProxy.command = "{BUILD}/proxy/node_modules/.bin/configurable-http-proxy"
c.Authenticator.allowed_users = {set(LEARNERS)!r}
c.Spawner.cmd = ["{PROGRAMS}/jupyterhub-singleuser"]
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = c.Spawner.http_timeout = 600
c.JupyterHub.services = [dict(name="instructor", api_token="{token}")]
c.JupyterHub.load_roles = [dict(name="all", scopes={scopes!r}, services=["instructor"])]
""",
        encoding="utf-8",
    )
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    with (folder / "log").open("w", encoding="utf-8") as log:
        command = in_sight([str(PROGRAMS / "jupyterhub"), "-f", "jupyterhub_config.py"])
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, "PATH": path}, stdout=log, stderr=log
        )
        hub = Hub(f"http://127.0.0.1:{port}", token, process, folder)
        try:
            wait_for(f"{hub.address}/hub/api", process)
            yield hub
        finally:
            process.terminate()
            process.wait(120)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        yield play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])


def log_in(browser: Browser, hub: Hub, name: str, password: str) -> Laboratory:
    """Log a learner in, in a browser of their own, and wait for their JupyterLab."""
    page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
    page.set_default_timeout(300_000)
    page.goto(f"{hub.address}/hub/login")
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", password)
    page.click("#login_submit")
    page.wait_for_url(f"{hub.address}/user/{name}/lab**")
    return Laboratory(page, f"{hub.address}/user/{name}", hub.token)


def answer(name: str, lab: str) -> None:
    """Write the first answer of a lab into a learner's notebook, as that learner."""
    place = Path(pwd.getpwnam(name).pw_dir, "retrieval", "my", f"{lab}.ipynb")
    notebook = json.loads(place.read_text(encoding="utf-8"))
    solved = json.loads((ROOT / "solutions" / f"{lab}.ipynb").read_text(encoding="utf-8"))
    wanted = f"exercise-{int(lab[:2])}-1"
    (source,) = (cell["source"] for cell in solved["cells"] if cell["id"] == wanted)
    (cell,) = (cell for cell in notebook["cells"] if cell["id"] == wanted)
    cell["source"] = source
    place.write_text(json.dumps(notebook), encoding="utf-8")  # its owner stays


def choose_the_kernel(laboratory: Laboratory) -> None:
    """Choose the course's kernel, as a learner does."""
    page = laboratory.page
    page.locator(".jp-Notebook-ExecutionIndicator, .jp-KernelName").first.wait_for()
    page.locator(".jp-KernelName").first.click()
    page.locator(".jp-Dialog select").select_option(label="Retrieval course")
    page.locator(".jp-Dialog button.jp-mod-accept").click()
    expect(page.locator(".jp-KernelName").first).to_have_text("Retrieval course")
    laboratory.ready()


def work(laboratory: Laboratory, lab: str) -> str:
    """Run a lab up to its first check, and return what the check said."""
    laboratory.open(f"retrieval/my/{lab}.ipynb")
    choose_the_kernel(laboratory)
    check = f"check-{int(lab[:2])}-1"
    (index,) = (i for i, cell in enumerate(laboratory.cells()) if cell["id"] == check)
    laboratory.select(index + 1)
    laboratory.run("Run All Above Selected Cell")
    assert laboratory.failed() == {}
    outputs = laboratory.cells()[index]["outputs"]
    return "".join("".join(one.get("text", "")) for one in outputs)


def attempts(name: str) -> list[tuple[str, str]]:
    log = Path(pwd.getpwnam(name).pw_dir, "retrieval", "my", "attempts.jsonl")
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [(row["exercise"], row["event"]) for row in map(json.loads, lines)]


def files(name: str) -> dict[Path, bytes]:
    """Return what a learner has made."""
    own = Path(pwd.getpwnam(name).pw_dir, "retrieval", "my")
    return {one: one.read_bytes() for one in own.rglob("*") if one.is_file()}


def server_of(name: str) -> dict[str, str]:
    """Return what a learner's PostgreSQL has written down of itself."""
    place = Path(pwd.getpwnam(name).pw_dir, "retrieval", ".course", "server.json")
    facts: dict[str, str] = json.loads(place.read_text(encoding="utf-8"))
    return facts


def in_database(hub: Hub, name: str, statement: str) -> str:
    """Return what a learner's own database answers to them."""
    url = "$(COURSE_ROOT=~/retrieval ~/retrieval/.venv/bin/course db url 2>/dev/null)"
    psql = f"{server_of(name)['bin_dir']}/psql"
    return hub.as_learner(name, f'{psql} -qtA "{url}" -c "{statement}"').stdout.strip()


def test_two_learners_have_the_course_to_themselves_and_lose_nothing(
    hub: Hub, accounts: dict[str, str], browser: Browser, tmp_path: Path
) -> None:
    laboratories = {}
    for name, password in accounts.items():
        laboratories[name] = log_in(browser, hub, name, password)
        print(f"\n{len(laboratories)} logged in:", memory(name), flush=True)
    ada, zoe = LEARNERS

    # Each passes an exercise of two labs, one with a database, and has a log of their own.
    for name, labs in ((ada, (LABS[1], LABS[6])), (zoe, (LABS[6], LABS[1]))):
        for lab in labs:
            answer(name, lab)
            exercise = f"{int(lab[:2])}.1"
            assert f"✓ {exercise} passed" in work(laboratories[name], lab), hub.log()
            assert (exercise, "passed") in attempts(name)
        assert [one for one, event in attempts(name) if event == "passed"] == [
            f"{int(lab[:2])}.1" for lab in labs
        ]
        print(name, memory(name), flush=True)
        assert sum(memory(name).values()) < LIMIT

    # A database of their own: different ports, and what one writes the other does not have.
    for name in LEARNERS:
        assert in_database(hub, name, f"CREATE TABLE mine AS SELECT '{name}' AS name") == ""
    for name in LEARNERS:
        assert in_database(hub, name, "SELECT name FROM mine") == name

    # The other's files are closed, and so is their server, and nobody writes into the course.
    for path in ("my/attempts.jsonl", f"my/{LABS[1]}.ipynb", ".course/server.json", ""):
        said = hub.as_learner(zoe, f"ls ~{ada}/retrieval/{path}; cat ~{ada}/retrieval/{path}")
        assert said.returncode and "Permission denied" in said.stdout, (path, said.stdout)
    facts = server_of(ada)
    psql = f"{facts['bin_dir']}/psql -w -h 127.0.0.1 -p {facts['port']} -U postgres -c 'SELECT 1'"
    assert "no password supplied" in hub.as_learner(zoe, psql).stdout
    others = laboratories[zoe].page.request.get(f"{hub.address}/user/{ada}/api/contents")
    assert others.status in (403, 404)
    for place in ("labs", "course_lib", ".venv", "data"):
        assert hub.as_learner(zoe, f"touch {ROOT}/{place}/mine").returncode, place

    # A server that is stopped leaves no process and loses nothing.
    kept = {name: files(name) for name in LEARNERS}
    for name in LEARNERS:
        laboratories[name].page.goto("about:blank")
        assert hub.ask("DELETE", f"users/{name}/server").status_code in (202, 204)
        deadline = time.monotonic() + 120
        while left := processes(name):
            assert time.monotonic() < deadline, (left, hub.log())
            time.sleep(0.5)
    assert {name: files(name) for name in LEARNERS} == kept
    again = log_in(browser, hub, ada, accounts[ada])
    now = files(ada)  # the log of attempts has a line more
    assert all(now[one].startswith(before) for one, before in kept[ada].items())
    for lab in (LABS[1], LABS[6]):
        assert f"✓ {int(lab[:2])}.1 passed" in work(again, lab), hub.log()
    assert in_database(hub, ada, "SELECT name FROM mine") == ada

    # The instructor collects both.
    roster = "login\n" + "\n".join(LEARNERS) + "\n"
    (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")
    course = Path(sys.executable).with_name("course")
    run(course, "class", "init", tmp_path / "my-class", "--roster", tmp_path / "roster.csv")
    (block,) = re.findall(r"```\n(mkdir handed-in.*?)```", PAGE, re.DOTALL)
    block = block.replace("course class", f"{course} class")
    done = subprocess.run(["sh", "-ec", block], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done
    for name in LEARNERS:
        (taken,) = (tmp_path / "my-class" / "submitted" / name).rglob("*.ipynb")
        own = Path(pwd.getpwnam(name).pw_dir, "retrieval", "my", taken.name)
        assert taken.read_bytes() == own.read_bytes()
