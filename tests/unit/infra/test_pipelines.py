"""What the compiled pipelines ask of a cluster is what the set-up and the overlay for kind give."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

INFRA = Path(__file__).resolve().parents[3] / "infra"
COMPILED = sorted((INFRA / "pipelines").glob("*.yaml"))
each_pipeline = pytest.mark.parametrize("file", COMPILED, ids=lambda file: file.stem)


def asked(file: Path) -> list[dict[str, Any]]:
    """What each step of a pipeline asks of Kubernetes."""
    _, platform = yaml.safe_load_all(file.read_text(encoding="utf-8"))
    wishes = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    return list(wishes.values())


def test_three_pipelines_are_committed() -> None:
    assert len(COMPILED) == 3


@each_pipeline
def test_every_secret_is_made_by_the_set_up_in_the_namespace_of_the_pipelines(file: Path) -> None:
    script = (INFRA / "setup-kubeflow.sh").read_text(encoding="utf-8")
    made = dict(re.findall(r"^ +secret kubeflow ([\w-]+) (\w+) ", script, re.MULTILINE))
    wanted = {
        (secret["secretName"], pair["secretKey"])
        for wish in asked(file)
        for secret in wish.get("secretAsEnv", [])
        for pair in secret["keyToEnv"]
    }
    assert (
        wanted
        == set(made.items())
        == {
            ("rag-database", "DATABASE_URL"),
            ("rag-github", "GITHUB_TOKEN"),
        }
    )


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_the_claim_that_is_mounted_by_default_is_in_the_overlay_for_kind() -> None:
    built = subprocess.run(
        ["kubectl", "kustomize", str(INFRA / "k8s" / "overlays" / "kind")],
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    there = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(built)}
    pipeline = yaml.safe_load_all((INFRA / "pipelines/docs_pipeline.yaml").read_text("utf-8"))
    claim = next(pipeline)["root"]["inputDefinitions"]["parameters"]["documents_claim"]
    found = there["PersistentVolumeClaim", claim["defaultValue"]]
    assert found["metadata"]["namespace"] == "kubeflow"
    # Several steps read at once, perhaps on several nodes; none writes.
    assert found["spec"]["accessModes"] == ["ReadOnlyMany"]
    volume = there["PersistentVolume", found["spec"]["volumeName"]]
    kind = yaml.safe_load((INFRA / "kind-config.yaml").read_text(encoding="utf-8"))
    (mount,) = kind["nodes"][0]["extraMounts"]
    assert mount["containerPath"] == volume["spec"]["hostPath"]["path"]
    # It holds data/ itself, and so does the folder that it is mounted as.
    assert mount["hostPath"] == "data"
    mounts = {
        one["mountPath"]
        for wish in asked(INFRA / "pipelines/docs_pipeline.yaml")
        for one in wish.get("pvcMount", [])
    }
    assert mounts == {"/app/data"}
