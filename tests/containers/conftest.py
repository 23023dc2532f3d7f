"""An engine, the images of others or stand-ins for them, and the three images, built once a run."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import docker
import pytest

from course_lib import __version__
from course_lib.settings import project_root
from tests.containers.bases import DATABASE, PROXY, PYTHON, make_stand_ins
from tests.course_copies import remove_without_waiting

T = TypeVar("T")

WHAT_TO_DO = (
    "there is no Docker engine: start Docker Desktop, or `sudo systemctl start docker`; as root, "
    "with Debian's docker.io installed, these tests start an engine of their own"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder need an engine."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.containers)


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    """The engine of this machine; where there is none, one of our own, as root."""
    try:
        client = docker.from_env()
    except docker.errors.DockerException:
        if shutil.which("dockerd") is None or os.geteuid() != 0:
            pytest.fail(WHAT_TO_DO)
    else:
        yield client
        client.close()
        return
    # Sockets need short names, and images more room than /tmp may have.
    folder = Path(tempfile.mkdtemp(prefix="engine-", dir=_build()))
    short = tempfile.mkdtemp(prefix="engine-")
    socket = f"unix://{short}/socket"
    command = ["dockerd", "--host", socket, "--pidfile", f"{short}/pid"]
    command += ["--data-root", f"{folder}/data", "--exec-root", f"{short}/run"]
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    os.environ["DOCKER_HOST"] = socket
    try:
        client = within(60, docker.from_env)
        yield client
        client.close()
    finally:
        del os.environ["DOCKER_HOST"]
        process.terminate()
        process.wait(60)
        for place in (folder, Path(short)):
            remove_without_waiting(place)


def _build() -> Path:
    folder = project_root() / "build"
    folder.mkdir(exist_ok=True)
    return folder


def within(seconds: float, ask: Callable[[], T]) -> T:
    """What `ask` returns as soon as it raises nothing."""
    end = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


@pytest.fixture(scope="session")
def bases(engine: docker.DockerClient) -> dict[str, int]:
    """The images of others, each with its size: pulled, or where that fails stood in for."""
    missing = set()
    for name in (PYTHON, DATABASE, PROXY):
        try:
            engine.images.get(name)
        except docker.errors.ImageNotFound:
            try:
                engine.images.pull(name)
            except docker.errors.APIError:
                missing.add(name)
    if missing:
        if shutil.which("debootstrap") is None or os.geteuid() != 0:
            pytest.fail(
                f"the images {', '.join(sorted(missing))} cannot be pulled; as root, with "
                "Debian's debootstrap installed, these tests make something that stands in for them"
            )
        make_stand_ins(missing)
    return {name: engine.images.get(name).attrs["Size"] for name in (PYTHON, DATABASE, PROXY)}


@pytest.fixture(scope="session")
def images(engine: docker.DockerClient, bases: dict[str, int]) -> dict[str, int]:
    """The three images, built by `make images`: the bytes of each beyond its base."""
    environment = {"BUILD_OPTIONS": "--network host", **os.environ}
    done = subprocess.run(
        ["make", "images"],
        cwd=project_root(),
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout[-5000:]
    sizes = {}
    for name in ("loader", "embedder", "retriever"):
        tag = f"rag-{name}:{__version__}"
        size = engine.images.get(tag).attrs["Size"]
        assert f"rag-{name:10} {__version__}  {size // 1_000_000:5d} MB" in done.stdout
        sizes[tag] = size - bases[PYTHON]
    return sizes
