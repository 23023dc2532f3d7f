"""The three images: how large they are, what is in them, and that they run without rights."""

from __future__ import annotations

import docker
import pytest

from course_lib import __version__

LOADER, EMBEDDER, RETRIEVER = (
    f"rag-{name}:{__version__}" for name in ("loader", "embedder", "retriever")
)
LIMITS = {LOADER: 150, EMBEDDER: 650, RETRIEVER: 650}
"""Megabytes beyond the base."""

HARDENED = {
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
    "tmpfs": {"/tmp": "", "/var/lib/course": "uid=10001,gid=10001"},
    "network_mode": "none",
}


def said(engine: docker.DockerClient, image: str, *command: str) -> str:
    """What a container says that has no rights and no network."""
    told: bytes = engine.containers.run(image, list(command), remove=True, stderr=True, **HARDENED)
    return told.decode("utf-8")


def test_what_an_image_adds_to_its_base_is_small(images: dict[str, int]) -> None:
    print({name: f"{size / 1e6:.0f} MB" for name, size in images.items()})
    assert [name for name, size in images.items() if size > LIMITS[name] * 1e6] == []


def test_a_command_takes_the_place_of_the_one_that_an_image_has(
    engine: docker.DockerClient, images: dict[str, int]
) -> None:
    for image in images:
        assert said(engine, image, "sh", "-c", "echo $0 is run", "this") == "this is run\n"
    assert "Usage: course" in said(engine, LOADER)


def test_the_loaders_image_has_neither_the_model_nor_the_database(
    engine: docker.DockerClient, images: dict[str, int]
) -> None:
    find = "import importlib.util as u; print([n for n in {} if u.find_spec(n)])"
    heavy = ["torch", "psycopg", "numpy", "openvino", "sentence_transformers"]
    assert said(engine, LOADER, "python", "-c", find.format(heavy)) == "[]\n"
    assert said(engine, EMBEDDER, "python", "-c", find.format(heavy)) == (
        "['psycopg', 'numpy', 'openvino']\n"
    )


@pytest.mark.parametrize("image", [LOADER, EMBEDDER, RETRIEVER])
def test_a_container_works_without_root_capabilities_or_a_disk_that_it_can_write(
    engine: docker.DockerClient, images: dict[str, int], image: str
) -> None:
    status = said(
        engine, image, "sh", "-c", "id -u; grep CapEff /proc/self/status; touch /app/x 2>&1 || true"
    )
    user, capabilities, refused = status.splitlines()
    assert user == "10001" and capabilities.split()[1].strip("0") == ""
    assert "Read-only file system" in refused
    works = {
        LOADER: "from course_lib.loader import split_text; print(len(split_text('a b ' * 900)))",
        EMBEDDER: "from course_lib.embedder import EmbeddingClient as E\n"
        "print(E().encode(['a']).shape)",
        RETRIEVER: "from course_lib.service import create_app\nprint(len(create_app().routes) > 5)",
    }
    shown = {LOADER: "8", EMBEDDER: "(1, 384)", RETRIEVER: "True"}
    assert said(engine, image, "python", "-c", works[image]).splitlines()[-1] == shown[image]


def test_the_image_of_the_api_is_healthy_by_its_own_check(
    engine: docker.DockerClient, images: dict[str, int]
) -> None:
    variables = {"DATABASE_URL": "postgresql://rag@127.0.0.1:1/rag"}
    service = engine.containers.run(RETRIEVER, detach=True, environment=variables, **HARDENED)
    try:
        check = engine.images.get(RETRIEVER).attrs["Config"]["Healthcheck"]["Test"]
        assert check[0] == "CMD"
        for _ in range(120):
            if (done := service.exec_run(check[1:])).exit_code == 0:
                break
        assert done.exit_code == 0, service.logs().decode()
        # Nobody is answered without the database, and it says so.
        ask = "import httpx; r = httpx.get('http://127.0.0.1:8000/ready'); print(r.status_code)"
        assert service.exec_run(["python", "-c", ask]).output == b"503\n"
        service.stop(timeout=30)
        assert service.wait()["StatusCode"] == 0
    finally:
        service.remove(force=True)
