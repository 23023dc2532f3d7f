"""setup-kubeflow.sh, run for real, with tools on PATH that only write down their calls."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from course_lib import __version__
from course_lib.teaching.lock import read_pins

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "infra" / "setup-kubeflow.sh"
STUB = Path(__file__).with_name("stub.sh")
BASH = shutil.which("bash") if sys.platform != "win32" else None
TOOLS = ("docker", "kind", "kubectl", "git")
PROGRAMS = "awk base64 bash cat cut df dirname env grep mkdir od sed tail tr".split()

pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash")


@dataclass
class Desk:
    """A checkout with nothing but what the script reads, and a PATH of stubs."""

    root: Path
    state: Path
    path: Path

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        assert BASH
        return subprocess.run(
            [BASH, str(self.root / "infra" / SCRIPT.name), *arguments],
            cwd=self.state,
            env={"PATH": str(self.path), "STUB": str(self.state), **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def calls(self) -> list[list[str]]:
        log = self.state / "log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [shlex.split(line) for line in lines]

    def changes(self) -> list[list[str]]:
        """The calls that the script announces: all but those that only ask, and the secrets."""
        asked = re.compile(r"docker info|kind (version|get)|kubectl \S+ \S+ get |.* -f -$")
        return [call for call in self.calls() if not asked.match(" ".join(call))]

    def forget(self) -> None:
        (self.state / "log").unlink()

    def fail(self, pattern: str) -> None:
        (self.state / "fail").write_text(pattern, encoding="utf-8")

    def secrets(self) -> dict[str, dict[str, str]]:
        """Namespace/name → key → value."""
        found: dict[str, dict[str, str]] = {}
        for file in sorted((self.state / "secrets").glob("*/*/*")):
            name = f"{file.parent.parent.name}/{file.parent.name}"
            found.setdefault(name, {})[file.name] = file.read_text(encoding="utf-8")
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root = tmp_path / "a checkout"
    (root / "infra").mkdir(parents=True)
    (root / "course_lib").mkdir()
    shutil.copy(SCRIPT, root / "infra")
    shutil.copy(ROOT / "course_lib" / "__init__.py", root / "course_lib")
    path = tmp_path / "bin"
    path.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found, name
        (path / name).symlink_to(found)
    for name in TOOLS:
        (path / name).symlink_to(STUB)
    state = tmp_path / "state"
    state.mkdir()
    # What Docker Desktop says of a machine to which it was given 8 GB.
    (state / "info").write_text("8217473024 4 /nowhere\n", encoding="utf-8")
    return Desk(root, state, path)


def printed(output: str) -> list[list[str]]:
    """The commands that a run printed."""
    lines = re.findall(r"^   ((?:docker|kind|kubectl) \S.*)$", output, flags=re.MULTILINE)
    return [shlex.split(line) for line in lines]


def place(calls: list[list[str]], *words: str) -> int:
    """Where the one call with all these words is."""
    (found,) = (
        at for at, call in enumerate(calls) if all(word in " ".join(call) for word in words)
    )
    return found


# The script itself


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize(
    "script", sorted((ROOT / "infra").rglob("*.sh")), ids=lambda script: script.name
)
def test_shellcheck_has_nothing_to_say_about_a_script(script: Path) -> None:
    done = subprocess.run(["shellcheck", str(script)], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout


def test_the_script_can_be_run_as_it_is_checked_out() -> None:
    assert os.access(SCRIPT, os.X_OK)
    assert SCRIPT.read_bytes().startswith(b"#!/usr/bin/env bash\n")


def test_the_version_of_kubeflow_is_the_one_of_the_library() -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "PIPELINE_VERSION=2.17.0\n" in text
    assert read_pins(lock)["kfp"] == "2.17.0"
    config = (ROOT / "infra" / "kind-config.yaml").read_text(encoding="utf-8")
    version = re.search(r"KIND_VERSION=(\S+)", text)
    assert version and f"kind {version[1]}" in config


def test_the_help_names_every_command_and_option(desk: Desk) -> None:
    done = desk.run("--help")
    assert done.returncode == 0 and done.stderr == ""
    for word in "up ui teardown --dry-run --no-ui --force GITHUB_TOKEN UI_PORT".split():
        assert word in done.stdout
    assert desk.calls() == []


@pytest.mark.parametrize(("given", "code"), [("--now", 2), ("down", 2), ("up teardown", 1)])
def test_what_it_does_not_know_is_refused(desk: Desk, given: str, code: int) -> None:
    done = desk.run(*given.split())
    assert done.returncode == code and given.split()[-1] in done.stderr
    assert desk.calls() == []


# A dry run


@pytest.mark.parametrize("command", ["up", "ui", "teardown"])
def test_a_dry_run_runs_nothing(desk: Desk, command: str) -> None:
    done = desk.run(command, "--dry-run")
    assert done.returncode == 0 and done.stderr == ""
    assert printed(done.stdout)
    assert desk.calls() == []


def test_a_dry_run_prints_what_a_run_does(desk: Desk) -> None:
    said = printed(desk.run("--dry-run").stdout)
    done = desk.run()
    assert done.returncode == 0, done.stderr
    assert said == desk.changes() == printed(done.stdout)


def test_a_dry_run_goes_on_without_the_tools_and_names_them(desk: Desk) -> None:
    for tool in TOOLS:
        (desk.path / tool).unlink()
    done = desk.run("--dry-run")
    assert done.returncode == 0 and "Not on PATH: docker kind kubectl git" in done.stdout
    assert len(printed(done.stdout)) > 10


# A run


def test_the_steps_come_in_their_order(desk: Desk) -> None:
    done = desk.run()
    assert done.returncode == 0, done.stderr
    calls = desk.changes()
    order = [
        place(calls, "kind create cluster --name rag-kubeflow --config infra/kind-config.yaml"),
        place(calls, "wait --for=condition=Ready node --all"),
        place(calls, "apply -k", "/cluster-scoped-resources?ref=2.17.0"),
        place(calls, "wait", "condition=Established crd --all"),
        place(calls, "apply -k", "/env/platform-agnostic?ref=2.17.0"),
        place(calls, "wait --namespace kubeflow", "condition=Available deployment --all"),
        place(calls, "docker build", "rag-loader"),
        place(calls, "docker build", "rag-embedder"),
        place(calls, "docker build", "rag-retriever"),
        place(calls, "kind load docker-image"),
        place(calls, "apply -f infra/k8s/base/namespace.yaml"),
        place(calls, "apply -k infra/k8s/overlays/kind"),
        place(calls, "rollout status statefulset/rag-postgres"),
        place(calls, "rollout status deployment/rag-retriever"),
        place(calls, "port-forward --namespace kubeflow service/ml-pipeline-ui 8080:80"),
    ]
    assert order == list(range(len(calls)))
    # The secrets are there before what reads them.
    every = desk.calls()
    assert place(every, " -f -") < place(every, "apply -k infra/k8s/overlays/kind")


def test_kubectl_works_in_this_cluster_and_no_other(desk: Desk) -> None:
    desk.run()
    for call in desk.calls():
        if call[0] == "kubectl":
            assert call[1:3] == ["--context", "kind-rag-kubeflow"]
        if call[:2] in (["kind", "create"], ["kind", "load"]):
            assert call[call.index("--name") + 1] == "rag-kubeflow"


def test_kubeflow_comes_from_its_repository_at_one_version_without_the_parts_of_gcp(
    desk: Desk,
) -> None:
    desk.run()
    sources = [call[-1] for call in desk.calls() if call[-2] == "-k" and "kubeflow" in call[-1]]
    for source in sources:
        where, _, query = source.partition("?")
        assert where.startswith("github.com/kubeflow/pipelines/manifests/kustomize/")
        assert "ref=2.17.0" in query.split("&") and "env/dev" not in where
    assert len(sources) == 2


def test_images_are_built_loaded_and_deployed_under_the_version_of_the_package(desk: Desk) -> None:
    desk.run()
    images = [f"rag-{name}:{__version__}" for name in ("loader", "embedder", "retriever")]
    built = [call for call in desk.calls() if call[:2] == ["docker", "build"]]
    assert [call[call.index("--tag") + 1] for call in built] == images
    for call in built:
        assert (ROOT / call[call.index("--file") + 1]).is_file() and call[-1] == "."
    (load,) = (call for call in desk.calls() if call[:2] == ["kind", "load"])
    assert load[3:6] == images


def test_without_the_ui_it_ends_by_itself(desk: Desk) -> None:
    assert desk.run("--no-ui").returncode == 0
    assert [call for call in desk.calls() if "port-forward" in call] == []


def test_the_ui_can_be_shown_on_another_port(desk: Desk) -> None:
    done = desk.run("ui", UI_PORT="8099")
    assert done.returncode == 0 and "http://localhost:8099" in done.stdout
    (call,) = desk.calls()
    assert call[-1] == "8099:80"


# Once more


def test_a_second_run_keeps_the_cluster_and_tells_the_pods_of_new_images(desk: Desk) -> None:
    assert desk.run().returncode == 0
    desk.forget()
    done = desk.run()
    assert done.returncode == 0, done.stderr
    assert "rag-kubeflow is there" in done.stdout
    calls = desk.changes()
    assert [call for call in calls if call[:2] == ["kind", "create"]] == []
    place(calls, "kind export kubeconfig --name rag-kubeflow")
    assert place(calls, "overlays/kind") < place(calls, "rollout restart deployment/rag-retriever")


def test_a_second_run_keeps_the_passwords(desk: Desk) -> None:
    desk.run()
    before = desk.secrets()
    assert desk.run().returncode == 0
    assert desk.secrets() == before


def test_a_run_after_one_that_was_cut_short_completes_the_secrets(desk: Desk) -> None:
    desk.run()
    before = desk.secrets()
    for name in ("rag/rag-database", "kubeflow/rag-database", "kubeflow/rag-github"):
        shutil.rmtree(desk.state / "secrets" / name)
    assert desk.run().returncode == 0
    after = desk.secrets()
    assert after["rag/rag-postgres"] == before["rag/rag-postgres"]
    assert after["kubeflow/rag-database"] == before["kubeflow/rag-database"]


def test_another_cluster_is_not_taken_for_this_one(desk: Desk) -> None:
    (desk.state / "clusters").write_text("rag-kubeflow-2\nold-rag-kubeflow\n", encoding="utf-8")
    desk.run()
    place(desk.changes(), "kind create cluster --name rag-kubeflow")


# Secrets


def test_the_secrets_are_those_that_the_manifests_read(desk: Desk) -> None:
    desk.run()
    secrets = desk.secrets()
    applied = yaml.safe_load_all((desk.state / "applied.yaml").read_text(encoding="utf-8"))
    assert [one["stringData"] for one in applied] == [
        secrets["rag/rag-postgres"],
        secrets["rag/rag-database"],
        secrets["kubeflow/rag-database"],
        secrets["kubeflow/rag-github"],
    ]
    for file in (ROOT / "infra" / "k8s").rglob("*.yaml"):
        text = json.dumps(list(yaml.safe_load_all(file.read_text(encoding="utf-8"))))
        for name, key in re.findall(r'"secretKeyRef": {"name": "([^"]+)", "key": "(\w+)"', text):
            assert key in secrets[f"rag/{name}"], (file, name)
        for name, items in re.findall(r'"secretName": "([^"]+)".*?"items": (\[.*?\])', text):
            for item in json.loads(items):
                assert item["key"] in secrets[f"rag/{name}"], (file, name)
    assert set(secrets) == {
        "rag/rag-postgres",
        "rag/rag-database",
        "kubeflow/rag-database",
        "kubeflow/rag-github",
    }


def test_both_namespaces_reach_one_database_with_the_password_that_it_is_made_with(
    desk: Desk,
) -> None:
    desk.run()
    secrets = desk.secrets()
    password = secrets["rag/rag-postgres"]["RAG_PASSWORD"]
    url = f"postgresql://rag:{password}@rag-postgres.rag.svc.cluster.local:5432/rag"
    assert secrets["rag/rag-database"]["DATABASE_URL"] == url
    assert secrets["kubeflow/rag-database"] == {"DATABASE_URL": url}
    made = [
        password,
        secrets["rag/rag-postgres"]["POSTGRES_PASSWORD"],
        secrets["rag/rag-database"]["COURSE_SECRET"],
    ]
    assert len(set(made)) == 3
    assert all(re.fullmatch(r"[0-9a-f]{48}", value) for value in made)


def test_no_secret_is_shown_or_handed_over_as_an_argument(desk: Desk) -> None:
    done = desk.run(GITHUB_TOKEN="ghp_0123456789")
    values = {value for secret in desk.secrets().values() for value in secret.values() if value}
    shown = done.stdout + done.stderr + json.dumps(desk.calls())
    assert "ghp_0123456789" in values
    assert [value for value in values if value in shown] == []


def test_a_token_is_taken_from_the_environment_and_stays_until_there_is_another(desk: Desk) -> None:
    desk.run()
    assert desk.secrets()["kubeflow/rag-github"] == {"GITHUB_TOKEN": ""}
    for given, kept in (("ghp_one", "ghp_one"), ("", "ghp_one"), ("ghp_two", "ghp_two")):
        desk.run("--no-ui", GITHUB_TOKEN=given)
        assert desk.secrets()["kubeflow/rag-github"] == {"GITHUB_TOKEN": kept}


def test_a_token_that_is_none_is_refused_and_not_shown(desk: Desk) -> None:
    done = desk.run(GITHUB_TOKEN='x" injected: "y')
    assert done.returncode == 1 and "GITHUB_TOKEN" in done.stderr
    assert "injected" not in done.stdout + done.stderr
    assert desk.secrets() == {}


# What can go wrong


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_that_is_missing_is_named_before_anything_happens(desk: Desk, tool: str) -> None:
    (desk.path / tool).unlink()
    done = desk.run()
    assert done.returncode == 1
    assert f"Not on PATH: {tool}\n   {tool} " in done.stdout
    assert "Stopped: install what is missing" in done.stderr
    assert desk.calls() == []


def test_an_engine_that_does_not_answer_is_said_to_be_down(desk: Desk) -> None:
    desk.fail("docker info")
    done = desk.run()
    assert done.returncode == 1 and "the Docker engine does not answer. Start it" in done.stderr
    assert desk.changes() == []


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ("4102029312 4 /nowhere", "Docker has 4 GB of memory, and this needs 8"),
        ("16000000000 1 /nowhere", "Docker has 1 CPUs, and this needs 2"),
        ("Server: none", "docker info gave no sizes"),
    ],
)
def test_a_machine_that_is_too_small_is_told_so(desk: Desk, info: str, said: str) -> None:
    (desk.state / "info").write_text(info, encoding="utf-8")
    done = desk.run()
    assert done.returncode == 1 and said in done.stderr
    assert desk.changes() == []


def test_who_insists_may_go_on_with_a_small_machine(desk: Desk) -> None:
    (desk.state / "info").write_text("4102029312 1 /nowhere", encoding="utf-8")
    done = desk.run("--force")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Going on, because of --force.") == 2


def test_a_full_disk_is_told(desk: Desk) -> None:
    (desk.state / "info").write_text(f"16000000000 4 {desk.state}", encoding="utf-8")
    (desk.path / "df").unlink()
    (desk.path / "df").write_text(
        f"#!{BASH}\nprintf 'Filesystem 1024-blocks Used Available\\n/dev/x 9 9 2000000\\n'\n",
        encoding="utf-8",
    )
    (desk.path / "df").chmod(0o755)
    done = desk.run()
    assert done.returncode == 1 and "Docker has 2 GB of free disk" in done.stderr


@pytest.mark.parametrize(
    ("step", "advice"),
    [
        ("kind create", "port 8000"),
        ("condition=Ready node", "docker start rag-kubeflow-control-plane"),
        ("cluster-scoped-resources", "GitHub"),
        ("condition=Established", "get pods --namespace kubeflow"),
        ("env/platform-agnostic", "GitHub"),
        ("condition=Available", "get pods --namespace kubeflow"),
        ("docker build .*embedder", "pip"),
        ("kind load", "docker system df"),
        ("namespace.yaml", "Run this again"),
        ("get secret", "cannot be read"),
        (" -f -", "cannot be created"),
        ("overlays/kind", "Run this again"),
        ("rollout status deployment", "describe pods"),
        ("port-forward", "UI_PORT=8081"),
    ],
)
def test_a_step_that_fails_is_the_last_one_and_says_what_to_do(
    desk: Desk, step: str, advice: str
) -> None:
    desk.fail(step)
    done = desk.run()
    assert done.returncode == 1
    said = done.stderr[done.stderr.index("\nStopped: ") :]
    assert advice in said and said.count("\n") <= 2
    assert re.search(step, " ".join(desk.calls()[-1]))
    (desk.state / "fail").unlink()
    assert desk.run().returncode == 0, "it goes on from there"


def test_a_job_of_kubeflow_is_waited_for_where_there_is_one(desk: Desk) -> None:
    assert desk.run().returncode == 0
    waits = [call for call in desk.changes() if "wait" in call]
    assert not any("condition=Complete" in word for call in waits for word in call)
    (desk.state / "jobs").write_text("job.batch/init-seaweedfs", encoding="utf-8")
    desk.forget()
    assert desk.run().returncode == 0
    calls = desk.changes()
    assert place(calls, "condition=Complete job --all") < place(calls, "docker build", "loader")


# Away with it


def test_a_teardown_deletes_the_cluster_and_nothing_else(desk: Desk) -> None:
    desk.run()
    desk.forget()
    done = desk.run("teardown")
    assert done.returncode == 0, done.stderr
    assert desk.changes() == [["kind", "delete", "cluster", "--name", "rag-kubeflow"]]
    desk.forget()
    again = desk.run("teardown")
    assert again.returncode == 0 and "there is none" in again.stdout
    assert desk.changes() == []


def test_after_a_teardown_a_run_makes_everything_anew(desk: Desk) -> None:
    desk.run()
    desk.run("teardown")
    desk.forget()
    assert desk.run().returncode == 0
    place(desk.changes(), "kind create cluster")
