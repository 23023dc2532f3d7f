"""pin_images.py, run for real, with a docker on PATH that answers as one with a registry does."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.infra.tools import INFRA

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a script stands for docker")

DOCKER = """\
import hashlib, json, sys
*words, tag = sys.argv[1:]
assert words == ["buildx", "imagetools", "inspect", "--format", "{{{{json .Manifest}}}}"], words
if tag == {away!r}:
    sys.exit("ERROR: failed to do request: connection refused")
print(json.dumps({{"digest": "sha256:" + hashlib.sha256(tag.encode()).hexdigest(), "size": 7}}))
"""


def pinned(folder: Path, away: str = "") -> subprocess.CompletedProcess[str]:
    """Run the program of a copy, with that docker, from which one image cannot be had."""
    program, docker = folder.parent / "docker.py", folder.parent / "docker"
    program.write_text(DOCKER.format(away=away), encoding="utf-8")
    # Not the interpreter in the first line: its path may hold a blank.
    docker.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program}" "$@"\n', encoding="utf-8")
    docker.chmod(0o755)
    return subprocess.run(
        [sys.executable, folder / "pin_images.py"],
        env=os.environ | {"PATH": str(folder.parent)},
        capture_output=True,
        encoding="utf-8",
    )


@pytest.fixture
def infra(tmp_path: Path) -> Path:
    return shutil.copytree(INFRA, tmp_path / "infra", ignore=shutil.ignore_patterns("site"))


def texts(infra: Path) -> dict[str, str]:
    files = [file for file in sorted(infra.rglob("*")) if file.is_file()]
    return {str(file.relative_to(infra)): file.read_text("latin-1") for file in files}


def test_every_image_of_others_gets_its_digest_and_nothing_else_changes(infra: Path) -> None:
    digest = re.compile("@sha256:[0-9a-f]{64}")
    before = texts(infra)
    done = pinned(infra)
    assert done.returncode == 0, done.stderr
    after = texts(infra)
    assert {name: digest.sub("", text) for name, text in after.items()} == {
        name: digest.sub("", text) for name, text in before.items()
    }
    for name, image in (
        ("docker/loader.Dockerfile", "python:3.13-slim"),
        ("docker-compose.yml", "pgvector/pgvector:pg16"),
        ("k8s/base/postgres.yaml", "pgvector/pgvector:pg16"),
        ("kind-config.yaml", "kindest/node:v1.34.0"),
    ):
        sha = hashlib.sha256(image.encode()).hexdigest()
        assert f"{image}@sha256:{sha}" in after[name]
    said = "\n".join(after.values())
    used = re.findall(r"^(?:FROM|[ -]*image:) ([\w./-]+:\S+)", said, re.MULTILINE)
    assert all(one.startswith("rag-") for one in used if not digest.search(one))
    assert pinned(infra).stdout == "" and texts(infra) == after


def test_without_a_registry_or_docker_nothing_is_changed(infra: Path) -> None:
    before = texts(infra)
    done = pinned(infra, away="python:3.13-slim")
    assert done.returncode == 1
    assert done.stderr.startswith("Nothing was changed: docker cannot tell the digest of python:3")
    (infra.parent / "docker").unlink()
    done = subprocess.run(
        [sys.executable, infra / "pin_images.py"], env={"PATH": ""}, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stderr.startswith("Nothing was changed: ")
    assert texts(infra) == before
