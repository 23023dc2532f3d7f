"""Running each step in a container of its image, by the Docker engine of this machine.

What a step may see is what a pod sees on a cluster: its image, the project's `data/`, the folder of
the run and the database. It has no root, no capabilities, and a file system that it cannot write.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.errors import InputError
from course_lib.pipeline.catalogue import PipelineError
from course_lib.settings import project_root

if TYPE_CHECKING:
    import docker
    from kfp.local import DockerRunner

STOPPING = threading.Event()
"""Set while a run is being stopped: no step is started any more."""

LABEL = "course.run"
"""Each container of a run has it, with the name of the run's folder."""

APP = Path("/app")
"""Where a step's image sees the project."""

READ = ("source", "questions")
"""Parameters that name a file or a folder of this machine."""

OWN = {"RAG_EMBED_BACKEND", "RAG_API_KEYS"}
"""Variables that a step does not take from this machine: the image's own, and what it needs not."""


@contextmanager
def engine() -> Iterator[docker.DockerClient]:
    """Connect to the Docker engine: the one that ``DOCKER_HOST`` names, or this machine's.

    Raises
    ------
    PipelineError
        If no engine answers.
    """
    import docker

    try:
        client = docker.from_env()
    except docker.errors.DockerException as error:
        raise PipelineError(
            f"the Docker engine does not answer: {error}",
            hint="Start it (Docker Desktop, or: sudo systemctl start docker). Without one, the "
            "steps run as processes of this machine: --runner subprocess.",
        ) from error
    try:
        yield client
    finally:
        client.close()


def image_ids(pipeline: Any) -> dict[str, str]:
    """Return the images of a pipeline's steps, each with the id that it has in the engine.

    Parameters
    ----------
    pipeline
        What `kfp.dsl.pipeline` or `kfp.dsl.component` gave.

    Raises
    ------
    PipelineError
        If there is no engine, or it has not all of the images.
    """
    from google.protobuf.json_format import MessageToDict

    executors = MessageToDict(pipeline.pipeline_spec)["deploymentSpec"]["executors"].values()
    names = sorted({one["container"]["image"] for one in executors if "container" in one})
    with engine() as client:
        there = {tag: image.id for image in client.images.list() for tag in image.tags}
    if missing := [name for name in names if name not in there]:
        raise PipelineError(
            f"the Docker engine has no image {', '.join(missing)}",
            hint="Build the images of the steps: make images",
        )
    return {name: there[name] for name in names}


def is_ready(pipeline: Any) -> bool:
    """Tell whether an engine is here, with the images of a pipeline's steps; see `image_ids`."""
    try:
        image_ids(pipeline)
    except PipelineError:
        return False
    return True


def hash_of(ids: Mapping[str, str]) -> str:
    """Return a hash of images; what was cached with others is not used.

    Examples
    --------
    >>> hash_of({"rag-loader:0.1.0": "sha256:12"}) == hash_of({"rag-loader:0.1.0": "sha256:13"})
    False
    """
    return "images-" + hashlib.sha256(repr(sorted(ids.items())).encode()).hexdigest()[:16]


def docker_runner(run: str, url: str | None, arguments: Mapping[str, Any]) -> DockerRunner:
    """Return kfp's runner whose steps are containers.

    kfp (2.17) lets the engine remove a container as soon as it ends; one whose end kfp learns of
    too late counts as a success, a killed one too. So the container is waited for here, and then
    removed.

    Parameters
    ----------
    run
        The run's name, which labels its containers.
    url
        The steps' database.
    arguments
        The parameters of the pipeline: what they name on this machine is mounted, to be read.
    """
    from kfp.local import DockerRunner, docker_task_handler

    docker_task_handler.run_docker_container = _run
    with engine() as client:
        is_desktop = client.info().get("OperatingSystem") == "Docker Desktop"
    environment = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("RAG_", "GITHUB_", "OPENAI_")) and name not in OWN
    }
    environment |= {"HOME": "/tmp", "COURSE_STATE": "/tmp/course"}
    if url is not None:
        # The engine of Docker Desktop is another machine, from which this one has a name.
        host = "host.docker.internal" if is_desktop else "127.0.0.1"
        environment["DATABASE_URL"] = url.replace("@127.0.0.1:", f"@{host}:")
    return DockerRunner(
        environment=environment,
        mounts=mounts(arguments),
        labels={LABEL: run},
        network_mode="bridge" if is_desktop else "host",
        read_only=True,
        tmpfs={"/tmp": "size=1g,mode=1777"},
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        init=True,
        **({"user": f"{os.getuid()}:{os.getgid()}"} if hasattr(os, "getuid") else {}),
    )


def mounts(arguments: Mapping[str, Any]) -> list[docker.types.Mount]:
    """Return what a step sees of this machine, beside the folder of the run; all of it to be read.

    Raises
    ------
    InputError
        If a parameter names a place that is not there, or one that no container can be shown.
    """
    from docker.types import Mount

    root = project_root()
    shown = {"data", ".env"} | {_shown(name, arguments[name]) for name in READ if name in arguments}
    return [
        # As on a cluster: a path is relative to the project, or absolute.
        Mount(os.fspath(APP / path), os.fspath(root / path), type="bind", read_only=True)
        for path in sorted(shown)
        if (root / path).exists()
    ]


def _shown(parameter: str, given: str) -> str:
    """Return which place has to be mounted for a parameter; for one in `data/`, that."""
    root = project_root()
    place, data = (root / given).resolve(), (root / "data").resolve()
    if not place.exists():
        raise InputError(
            f"{parameter} is {given}, and {place} does not exist",
            hint="Name a place that is there, relative to the project or absolute.",
        )
    is_in_data = Path(os.path.normpath(root / given)).is_relative_to(root / "data")
    if is_in_data and not place.is_relative_to(data):
        raise InputError(
            f"{parameter} is {given}, a link out of data/, which a container cannot follow",
            hint=f"Name the place itself: {parameter}={place}",
        )
    if root.is_relative_to(place):
        raise InputError(
            f"{parameter} is {given}, which holds the whole project",
            hint="Name a folder in it: an image has a project of its own in that place.",
        )
    return "data" if is_in_data else given


def _run(
    client: docker.DockerClient, image: str, command: list[str], volumes: Any, **arguments: Any
) -> int:
    """Run a container to its end, print what it says, and return its exit code."""
    import docker

    if STOPPING.is_set():
        raise KeyboardInterrupt
    container = client.containers.run(image, command, detach=True, volumes=volumes, **arguments)
    try:
        if STOPPING.is_set():  # while it was made
            raise KeyboardInterrupt
        for part in container.logs(stream=True):
            print(part.decode("utf-8", "replace"), end="")
        return int(container.wait()["StatusCode"])
    except docker.errors.NotFound:
        print("the container was removed before its end")
        return 1
    finally:
        try:
            container.remove(force=True)
        except docker.errors.APIError as error:
            print(f"the container stays in the engine: {error}")


def is_of_engine(error: Exception) -> bool:
    """Tell whether the engine has refused something, or has gone away."""
    return type(error).__module__.partition(".")[0] in ("docker", "requests", "urllib3")


def stop_containers(run: str) -> None:
    """End all containers of a run; a step that is over stays over."""
    import docker

    with engine() as client:
        for container in client.containers.list(filters={"label": f"{LABEL}={run}"}):
            try:
                container.kill()
            except docker.errors.APIError:
                continue
