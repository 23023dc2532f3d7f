"""setup-kubeflow.sh, run for real, with tools on PATH that only write down their calls."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from google.protobuf.json_format import MessageToDict, ParseDict
from kfp.kubernetes.kubernetes_executor_config_pb2 import KubernetesExecutorConfig
from kfp.pipeline_spec.pipeline_spec_pb2 import (
    PipelineDeploymentConfig,
    PipelineSpec,
    PlatformSpec,
)

from course_lib import __version__
from course_lib.pipeline.catalogue import NAMES
from course_lib.pipeline.compiling import compiled_folder
from course_lib.teaching.doctor import read_pins
from tests.unit.infra.tools import INFRA, ROOT

SCRIPT = INFRA / "setup-kubeflow.sh"
STUB = Path(__file__).with_name("stub.sh")
BASH = shutil.which("bash") if sys.platform != "win32" else None
TOOLS = "docker kind kubectl git".split()
PROGRAMS = "awk base64 bash cat cut df dirname env grep mkdir od sed tail tr".split()

pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash")


@dataclass
class Desk:
    """A checkout with nothing but what the script reads, and a PATH of stubs."""

    root: Path
    state: Path

    def run(self, *words: str, code: int = 0, **variables: str) -> str:
        """Run the script, make sure how it ended, and return what it said."""
        (self.state / "log").unlink(missing_ok=True)
        done = subprocess.run(
            [str(BASH), str(self.root / "infra" / SCRIPT.name), *words],
            env={"PATH": str(self.state / "bin"), "STUB": str(self.state), **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def calls(self) -> list[str]:
        """What the last run asked of the tools."""
        log = self.state / "log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [" ".join(shlex.split(line)) for line in lines]

    def changes(self) -> list[str]:
        """The calls that the script announces: all but those that only ask, and the secrets."""
        asked = re.compile(r"docker info|kind (version|get)|kubectl \S+ \S+ get |.* -f -$")
        return [call for call in self.calls() if not asked.match(call)]

    def secrets(self) -> dict[str, str]:
        """Namespace/name/key → value."""
        folder = self.state / "secrets"
        return {
            file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
            for file in sorted(folder.glob("*/*/*"))
        }


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root, state = tmp_path / "a checkout", tmp_path / "state"
    for folder in (root / "infra", root / "course_lib", state / "bin"):
        folder.mkdir(parents=True)
    shutil.copy(SCRIPT, root / "infra")
    shutil.copy(ROOT / "course_lib" / "__init__.py", root / "course_lib")
    for name in (*PROGRAMS, *TOOLS):
        (state / "bin" / name).symlink_to(STUB if name in TOOLS else str(shutil.which(name)))
    # What Docker Desktop says of a machine to which it was given 8 GB.
    (state / "info").write_text("8217473024 4 /nowhere\n", encoding="utf-8")
    return Desk(root, state)


STEPS = f"""\
kind create cluster --name rag-kubeflow --config infra/kind-config.yaml
wait --for=condition=Ready node --all
apply -k .*/cluster-scoped-resources\\?ref=2.17.0
wait .*condition=Established crd --all
apply -k .*/env/platform-agnostic\\?ref=2.17.0
wait --namespace kubeflow .*condition=Available deployment --all
docker build .*rag-loader:{__version__}
docker build .*rag-embedder:{__version__}
docker build .*rag-retriever:{__version__}
kind load docker-image rag-loader:\\S+ rag-embedder:\\S+ rag-retriever:\\S+ --name rag-kubeflow
apply -f infra/k8s/base/namespace.yaml
apply -k infra/k8s/overlays/kind
rollout status statefulset/rag-postgres
rollout status deployment/rag-retriever
port-forward --namespace kubeflow service/ml-pipeline-ui 8080:80"""


def test_the_steps_come_in_their_order_and_a_dry_run_prints_them_and_runs_nothing(
    desk: Desk,
) -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert f"PIPELINE_VERSION={read_pins(lock)['kfp']}\n" in SCRIPT.read_text(encoding="utf-8")
    printed = re.findall("^   ((?:docker|kind|kubectl) .*)$", desk.run("--dry-run"), re.MULTILINE)
    assert desk.calls() == []
    desk.run()
    changes, calls = desk.changes(), desk.calls()
    assert [" ".join(shlex.split(line)) for line in printed] == changes
    for step, call in zip(STEPS.splitlines(), changes, strict=True):
        assert re.search(step, call), step
    kubectl = [call for call in calls if call.startswith("kubectl")]
    assert all(call.startswith("kubectl --context kind-rag-kubeflow ") for call in kubectl)
    # The secrets are there before what reads them.
    (secrets,) = (n for n, call in enumerate(calls) if call.endswith(" -f -"))
    assert secrets < [call.endswith("overlays/kind") for call in calls].index(True)


def test_a_second_run_keeps_cluster_and_passwords_and_completes_what_was_cut_short(
    desk: Desk,
) -> None:
    (desk.state / "clusters").write_text("old-rag-kubeflow\n", encoding="utf-8")
    desk.run("--no-ui")
    before = desk.secrets()
    shutil.rmtree(desk.state / "secrets" / "kubeflow")
    (desk.state / "jobs").write_text("job.batch/init-seaweedfs", encoding="utf-8")
    said = desk.run("--no-ui")
    assert "rag-kubeflow is there" in said and desk.secrets() == before
    changes = " ".join(desk.changes())
    assert "kind create" not in changes and "port-forward" not in changes
    assert "condition=Complete job --all" in changes
    assert "rollout restart deployment/rag-retriever" in changes, "images may be new"
    desk.run("teardown")
    assert desk.changes() == ["kind delete cluster --name rag-kubeflow"]
    assert "there is none" in desk.run("teardown") and desk.changes() == []


def test_the_secrets_are_those_that_pods_read_and_nobody_sees_them(desk: Desk) -> None:
    said = desk.run("--no-ui", GITHUB_TOKEN="ghp_one") + json.dumps(desk.calls())
    made = desk.secrets()
    password = made["rag/rag-postgres/RAG_PASSWORD"]
    admin = made["rag/rag-postgres/POSTGRES_PASSWORD"]
    url = f"postgresql://rag:{password}@rag-postgres.rag.svc.cluster.local:5432/rag"
    assert made == {
        "kubeflow/rag-database/DATABASE_URL": url,
        "kubeflow/rag-github/GITHUB_TOKEN": "ghp_one",
        "rag/rag-database/DATABASE_URL": url,
        "rag/rag-postgres/POSTGRES_PASSWORD": admin,
        "rag/rag-postgres/RAG_PASSWORD": password,
    }
    assert password != admin
    assert all(re.fullmatch("[0-9a-f]{48}", value) for value in (password, admin))
    assert [value for value in made.values() if value in said] == []
    for given, kept in (("", "ghp_one"), ("ghp_two", "ghp_two")):
        desk.run("--no-ui", GITHUB_TOKEN=given)
        assert desk.secrets() == {**made, "kubeflow/rag-github/GITHUB_TOKEN": kept}
    assert "injected" not in desk.run(GITHUB_TOKEN='x" injected: "y', code=1)


def test_what_cannot_succeed_is_told_with_what_to_do_and_nothing_comes_after_it(
    desk: Desk,
) -> None:
    for step, advice in (("kind create", "port 8000"), (" -f -", "be created")):
        (desk.state / "fail").write_text(step, encoding="utf-8")
        assert advice in desk.run(code=1).partition("\nStopped: ")[2]
        assert re.search(step, desk.calls()[-1])
    (desk.state / "info").write_text("4102029312 4 /nowhere", encoding="utf-8")
    assert "Docker has 4 GB of memory, and this needs 8" in desk.run(code=1)
    assert "--now" in desk.run("--now", code=2) and desk.changes() == []


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_that_is_missing_is_named_and_nothing_is_run(desk: Desk, tool: str) -> None:
    (desk.state / "bin" / tool).unlink()
    said = desk.run(code=1)
    assert f"Not on PATH: {tool}\n   {tool} " in said and desk.calls() == []
    needed_to_remove = tool in ("docker", "kind")
    assert (f"Not on PATH: {tool}" in desk.run("teardown", code=int(needed_to_remove))) == (
        needed_to_remove
    )


def wishes(name: str) -> Iterator[tuple[str, KubernetesExecutorConfig]]:
    """Of each step of a pipeline, read as Kubeflow's own types: its image, and its wishes."""
    spec, platform = yaml.safe_load_all(
        (compiled_folder() / f"{name}.yaml").read_text(encoding="utf-8")
    )
    read = ParseDict(spec, PipelineSpec())
    images = ParseDict(MessageToDict(read.deployment_spec), PipelineDeploymentConfig())
    kubernetes = ParseDict(platform, PlatformSpec()).platforms["kubernetes"].deployment_spec
    assert images.executors.keys() >= kubernetes.executors.keys()
    for executor, one in images.executors.items():
        wanted = MessageToDict(kubernetes.executors[executor])
        yield one.container.image, ParseDict(wanted, KubernetesExecutorConfig())


@pytest.mark.parametrize("name", NAMES)
def test_every_image_and_secret_that_a_pipeline_names_is_made_here(desk: Desk, name: str) -> None:
    desk.run("--no-ui")
    builds = [call.split() for call in desk.calls() if call.startswith("docker build ")]
    built = {call[call.index("--tag") + 1]: call[call.index("--file") + 1] for call in builds}
    assert all((ROOT / file).is_file() for file in built.values())
    for image, wanted in wishes(name):
        assert image in built
        for secret in wanted.secret_as_env:
            for key in secret.key_to_env:
                assert f"kubeflow/{secret.secret_name}/{key.secret_key}" in desk.secrets()


def test_images_are_built_without_a_cluster_and_loaded_into_one_that_is_there(desk: Desk) -> None:
    said = desk.run("images")
    assert [call.rpartition(" --tag ")[2] for call in desk.changes() if "build" in call] == [
        f"rag-{name}:{__version__} ." for name in ("loader", "embedder", "retriever")
    ]
    assert f"rag-loader     {__version__}    555 MB" in said
    assert not [call for call in desk.changes() if call.startswith("kubectl")]
    assert not [call for call in desk.calls() if "kind load" in call]
    desk.run("--no-ui")
    desk.run("images", BUILD_OPTIONS="--network host")
    assert [call for call in desk.calls() if "kind load docker-image rag-loader" in call]
    assert [call for call in desk.calls() if call.startswith("docker build --network host --file")]


def test_an_engine_that_does_not_answer_or_is_not_there_is_named(desk: Desk) -> None:
    (desk.state / "fail").write_text("docker info", encoding="utf-8")
    assert "docker does not answer. Start it" in desk.run("images", code=1)
    assert desk.changes() == []
    assert "podman   https://" in desk.run("images", code=1, ENGINE="podman")
    assert "kind takes them from Docker" in desk.run(code=1, ENGINE="podman")
