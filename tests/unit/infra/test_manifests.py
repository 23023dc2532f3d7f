"""The manifests: Kubernetes knows their fields, references resolve, and pods have few rights."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from course_lib import __version__

ROOT = Path(__file__).resolve().parents[3]
INFRA = ROOT / "infra"
BASE, KIND = INFRA / "k8s" / "base", INFRA / "k8s" / "overlays" / "kind"
LAYERS = sorted(file.parent for file in (INFRA / "k8s").rglob("kustomization.yaml"))
Resource = dict[str, Any]

each_layer = pytest.mark.parametrize("folder", LAYERS, ids=lambda folder: folder.name)


@cache
def built(folder: Path) -> list[Resource]:
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("kubectl is not on PATH: kustomizations cannot be built")
    done = subprocess.run(
        [program, "kustomize", str(folder)], capture_output=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def of_kind(folder: Path, kind: str) -> list[Resource]:
    return [one for one in built(folder) if one["kind"] == kind]


def named(folder: Path, kind: str, name: str) -> Resource:
    (found,) = (one for one in of_kind(folder, kind) if one["metadata"]["name"] == name)
    return found


def templates(folder: Path) -> Iterator[tuple[str, Resource]]:
    """The pods that a layer makes: name → template."""
    for one in built(folder):
        if "template" in one.get("spec", {}):
            yield one["metadata"]["name"], one["spec"]["template"]


def containers(template: Resource) -> list[Resource]:
    spec = template["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]


def selects(selector: Resource, template: Resource) -> bool:
    labels = template["metadata"]["labels"]
    return bool((selector.get("matchLabels") or selector).items() <= labels.items())


def ports(template: Resource) -> set[str]:
    return {port["name"] for one in containers(template) for port in one.get("ports", [])}


# What Kubernetes would say


def test_there_is_a_base_and_an_overlay_for_kind() -> None:
    assert {BASE, KIND} <= set(LAYERS)


@each_layer
def test_kubernetes_knows_every_field_and_lacks_none(folder: Path) -> None:
    """Read as Kubernetes' own models, which want their required fields, and written again."""
    for resource in built(folder):
        version = resource["apiVersion"].rpartition("/")[2]
        model = f"{version.capitalize()}{resource['kind']}"
        assert read_and_written(resource, model) == resource, resource["metadata"]["name"]


def read_and_written(resource: Resource, model: str) -> Any:
    from kubernetes import client  # type: ignore[import-untyped]

    api = client.ApiClient()
    read = api.deserialize(SimpleNamespace(data=json.dumps(resource)), model)
    return api.sanitize_for_serialization(read)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"selector": None}, "selector"),
        ({"replica": 2}, "replica"),
        ({"replicas": "two"}, "two"),
    ],
)
def test_a_field_that_is_missing_or_wrong_is_found(change: Resource, said: str) -> None:
    resource = named(BASE, "Deployment", "rag-retriever")
    spec = {key: value for key, value in {**resource["spec"], **change}.items() if value}
    wrong = {**resource, "spec": spec}
    try:
        assert read_and_written(wrong, "V1Deployment") != wrong
    except ValueError as error:
        assert said in str(error)


def test_the_base_has_what_a_service_needs() -> None:
    kinds = {(one["kind"], one["metadata"]["name"]) for one in built(BASE)}
    assert {
        ("Namespace", "rag"),
        ("Deployment", "rag-retriever"),
        ("Service", "rag-retriever"),
        ("HorizontalPodAutoscaler", "rag-retriever"),
        ("PodDisruptionBudget", "rag-retriever"),
        ("NetworkPolicy", "rag-retriever"),
        ("StatefulSet", "rag-postgres"),
        ("Service", "rag-postgres"),
        ("NetworkPolicy", "rag-postgres"),
    } <= kinds
    namespaced = [one for one in built(BASE) if one["kind"] != "Namespace"]
    assert {one["metadata"]["namespace"] for one in namespaced} == {"rag"}


# References


@each_layer
def test_services_policies_and_budgets_select_pods_that_are_there(folder: Path) -> None:
    pods = [template for _, template in templates(folder)]
    for one in built(folder):
        spec = one.get("spec", {})
        if one["kind"] in {"Service", "PodDisruptionBudget"}:
            chosen = [pod for pod in pods if selects(spec["selector"], pod)]
            assert len(chosen) == 1, one["metadata"]["name"]
            for port in spec.get("ports", []):
                assert port["targetPort"] in ports(chosen[0])
        if one["kind"] == "NetworkPolicy":
            chosen = [pod for pod in pods if selects(spec["podSelector"], pod)]
            assert chosen, one["metadata"]["name"]
            for rule in spec.get("ingress", []):
                for port in rule["ports"]:
                    assert all(port["port"] in ports(pod) for pod in chosen)
        if one["kind"] == "HorizontalPodAutoscaler":
            target = spec["scaleTargetRef"]
            found = named(folder, target["kind"], target["name"])
            assert "replicas" not in found["spec"], "the autoscaler's count would be overwritten"
            assert spec["minReplicas"] <= spec["maxReplicas"]


@each_layer
def test_a_workload_selects_its_own_pods_and_names_an_account_that_is_there(folder: Path) -> None:
    accounts = {one["metadata"]["name"] for one in of_kind(folder, "ServiceAccount")}
    for one in built(folder):
        if "template" in one.get("spec", {}):
            assert selects(one["spec"]["selector"], one["spec"]["template"])
            assert one["spec"]["template"]["spec"]["serviceAccountName"] in accounts


@each_layer
def test_every_mount_has_its_volume_and_every_config_map_is_there(folder: Path) -> None:
    maps = {one["metadata"]["name"] for one in of_kind(folder, "ConfigMap")}
    for name, template in templates(folder):
        claims = [
            claim["metadata"]["name"]
            for one in of_kind(folder, "StatefulSet")
            if one["metadata"]["name"] == name
            for claim in one["spec"]["volumeClaimTemplates"]
        ]
        volumes = template["spec"].get("volumes", [])
        there = {*claims, *(volume["name"] for volume in volumes)}
        mounted = {
            mount["name"] for one in containers(template) for mount in one.get("volumeMounts", [])
        }
        assert mounted == there, name
        assert {v["configMap"]["name"] for v in volumes if "configMap" in v} <= maps


@each_layer
def test_only_clients_of_the_database_and_pipelines_reach_it(folder: Path) -> None:
    (server,) = (pod for name, pod in templates(folder) if name == "rag-postgres")
    rules = [
        rule
        for one in of_kind(folder, "NetworkPolicy")
        if selects(one["spec"]["podSelector"], server)
        for rule in one["spec"].get("ingress", [])
    ]
    senders = [sender for rule in rules for sender in rule["from"]]
    assert all(rule["from"] and rule["ports"] for rule in rules)
    expected: list[Resource] = [
        {"podSelector": {"matchLabels": {"rag/database-client": "true"}}},
    ]
    if folder == KIND:
        label = {"kubernetes.io/metadata.name": "kubeflow"}
        expected.append({"namespaceSelector": {"matchLabels": label}})
    assert senders == expected
    denied = named(folder, "NetworkPolicy", "rag-deny-all")["spec"]
    assert denied == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


@each_layer
def test_the_retriever_may_ask_the_database_and_the_name_server_alone(folder: Path) -> None:
    (pod,) = (pod for name, pod in templates(folder) if name == "rag-retriever")
    rules = [
        rule
        for one in of_kind(folder, "NetworkPolicy")
        if selects(one["spec"]["podSelector"], pod)
        for rule in one["spec"].get("egress", [])
    ]
    assert [[port["port"] for port in rule["ports"]] for rule in rules] == [
        ["postgresql"],
        [53, 53],
    ]


# Rights


@each_layer
def test_no_pod_has_more_rights_than_the_restricted_standard_allows(folder: Path) -> None:
    for name, template in templates(folder):
        spec = template["spec"]
        context = spec["securityContext"]
        assert context["runAsNonRoot"] is True and context["runAsUser"] > 0, name
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert spec["automountServiceAccountToken"] is False, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys(), name
        assert not any("hostPath" in volume for volume in spec.get("volumes", [])), name
        for one in containers(template):
            mine = one["securityContext"]
            assert mine["allowPrivilegeEscalation"] is False, name
            assert mine["readOnlyRootFilesystem"] is True, name
            assert mine["capabilities"] == {"drop": ["ALL"]}, name
    labels = named(folder, "Namespace", "rag")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


@each_layer
def test_every_container_has_requests_limits_and_an_image_of_a_version(folder: Path) -> None:
    for name, template in templates(folder):
        for one in containers(template):
            assert {"cpu", "memory"} == one["resources"]["requests"].keys(), name
            assert {"cpu", "memory"} == one["resources"]["limits"].keys(), name
            tag = one["image"].partition(":")[2]
            assert tag and tag != "latest", one["image"]


@each_layer
def test_no_secret_is_in_a_manifest(folder: Path) -> None:
    assert of_kind(folder, "Secret") == []
    for name, template in templates(folder):
        for one in containers(template):
            for variable in one["env"]:
                if re.search("PASSWORD|SECRET|TOKEN|KEY|URL", variable["name"]):
                    value = variable.get("value", "/run/secrets/")
                    assert "valueFrom" in variable or value.startswith("/run/secrets/"), name
    for file in folder.rglob("*"):
        assert "postgresql://" not in file.read_text(encoding="utf-8"), file


# The retriever and its image


@each_layer
def test_the_probes_ask_health_for_life_and_ready_for_requests(folder: Path) -> None:
    (pod,) = (pod for name, pod in templates(folder) if name == "rag-retriever")
    (one,) = containers(pod)
    probes = ("startupProbe", "livenessProbe", "readinessProbe")
    asked = {probe: one[probe]["httpGet"] for probe in probes}
    assert {probe: get["path"] for probe, get in asked.items()} == {
        "startupProbe": "/health",
        "livenessProbe": "/health",
        "readinessProbe": "/ready",
    }
    assert {get["port"] for get in asked.values()} == {"http"}
    # In-flight requests end within the grace, and the pause before it, of a pod that goes.
    assert pod["spec"]["terminationGracePeriodSeconds"] >= 5 + 20 + 5


@each_layer
def test_the_retriever_s_pod_fits_its_image(folder: Path) -> None:
    text = (INFRA / "docker" / "retriever.Dockerfile").read_text(encoding="utf-8")
    (pod,) = (pod for name, pod in templates(folder) if name == "rag-retriever")
    (one,) = containers(pod)
    assert one["image"] == f"rag-retriever:{__version__}"
    assert "command" not in one and "args" not in one, "the image's entry point serves"
    assert f"EXPOSE {one['ports'][0]['containerPort']}" in text
    user = pod["spec"]["securityContext"]["runAsUser"]
    assert f"USER {user}:{user}" in text
    writable = {volume["name"] for volume in pod["spec"]["volumes"] if "emptyDir" in volume}
    paths = {mount["mountPath"] for mount in one["volumeMounts"] if mount["name"] in writable}
    state = re.search(r"COURSE_STATE=(\S+)", text)
    assert state and paths == {state[1], "/tmp"}
    # All replicas derive the roles' passwords from one secret; see store.databases.state_secret.
    (secret,) = (mount for mount in one["volumeMounts"] if mount["name"] == "secret")
    assert secret["mountPath"] == f"{state[1]}/secret" and secret["readOnly"] is True


# kind


def test_the_cluster_and_its_overlay_fit_together() -> None:
    config = yaml.safe_load((INFRA / "kind-config.yaml").read_text(encoding="utf-8"))
    assert (config["kind"], config["apiVersion"]) == ("Cluster", "kind.x-k8s.io/v1alpha4")
    assert config["name"] == "rag-kubeflow"
    (node,) = config["nodes"]
    assert re.fullmatch(r"kindest/node:v1\.\d+\.\d+@sha256:[0-9a-f]{64}", node["image"])
    (mapping,) = node["extraPortMappings"]
    service = named(KIND, "Service", "rag-retriever")["spec"]
    assert service["type"] == "NodePort"
    assert [port["nodePort"] for port in service["ports"]] == [mapping["containerPort"]]
    assert mapping["listenAddress"] == "127.0.0.1" and mapping["hostPort"] == 8000
    (mount,) = node["extraMounts"]
    volume = named(KIND, "PersistentVolume", "rag-documents")["spec"]
    assert volume["hostPath"]["path"] == mount["containerPath"]
    assert (ROOT / mount["hostPath"] / "documents").is_dir() and mount["readOnly"] is True


def test_the_claim_of_the_pipelines_and_its_volume_name_each_other() -> None:
    volume = named(KIND, "PersistentVolume", "rag-documents")["spec"]
    claim = named(KIND, "PersistentVolumeClaim", "rag-documents")
    assert claim["metadata"]["namespace"] == volume["claimRef"]["namespace"] == "kubeflow"
    assert volume["claimRef"]["name"] == claim["metadata"]["name"]
    assert claim["spec"]["volumeName"] == "rag-documents"
    assert claim["spec"]["storageClassName"] == volume["storageClassName"] == ""
    assert claim["spec"]["accessModes"] == volume["accessModes"] == ["ReadOnlyMany"]
    asked = claim["spec"]["resources"]["requests"]["storage"]
    assert asked == volume["capacity"]["storage"]


def test_on_a_laptop_one_retriever_is_enough() -> None:
    assert named(KIND, "HorizontalPodAutoscaler", "rag-retriever")["spec"]["minReplicas"] == 1
    assert named(BASE, "HorizontalPodAutoscaler", "rag-retriever")["spec"]["minReplicas"] == 2
