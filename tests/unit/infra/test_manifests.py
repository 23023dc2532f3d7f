"""The manifests: Kubernetes knows their fields, references resolve, and pods have few rights."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.unit.infra.tools import INFRA, run_tool

BASE, KIND = INFRA / "k8s" / "base", INFRA / "k8s" / "overlays" / "kind"
COMPOSE = INFRA / "docker-compose.yml"
Resource = dict[str, Any]

each_layer = pytest.mark.parametrize("folder", [BASE, KIND], ids=lambda folder: folder.name)


@cache
def built(folder: Path) -> list[Resource]:
    text = run_tool("kubectl", "kustomize", folder)
    return [one for one in yaml.safe_load_all(text) if one]


def of_kind(folder: Path, *kinds: str) -> list[Resource]:
    return [one for one in built(folder) if one["kind"] in kinds]


def named(folder: Path, kind: str, name: str) -> Resource:
    (found,) = (one for one in of_kind(folder, kind) if one["metadata"]["name"] == name)
    return found


def workloads(folder: Path) -> Iterator[tuple[Resource, Resource, Resource]]:
    """Each Deployment and StatefulSet, its pod's template, and the one container in it."""
    for one in of_kind(folder, "Deployment", "StatefulSet"):
        template = one["spec"]["template"]
        (container,) = template["spec"]["containers"]
        yield one, template, container


def selected(folder: Path, selector: Resource) -> list[Resource]:
    wanted = selector.get("matchLabels", selector).items()
    return [one for one, pod, _ in workloads(folder) if wanted <= pod["metadata"]["labels"].items()]


@each_layer
def test_kubernetes_knows_every_field_and_lacks_none(folder: Path) -> None:
    """Read as Kubernetes' own models, which want their required fields, and written again."""
    from kubernetes import client  # type: ignore[import-untyped]

    api = client.ApiClient()
    for resource in built(folder):
        version = resource["apiVersion"].rpartition("/")[2]
        model = f"{version.capitalize()}{resource['kind']}"
        read = api.deserialize(SimpleNamespace(data=json.dumps(resource)), model)
        assert api.sanitize_for_serialization(read) == resource, resource["metadata"]["name"]


def test_compose_knows_every_field() -> None:
    run_tool("check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE)


# References


@each_layer
def test_services_find_their_pods_and_these_their_volumes(folder: Path) -> None:
    for one in of_kind(folder, "Service", "PodDisruptionBudget"):
        (chosen,) = selected(folder, one["spec"]["selector"])
        (container,) = chosen["spec"]["template"]["spec"]["containers"]
        ports = {port["name"] for port in container["ports"]}
        assert {port["targetPort"] for port in one["spec"].get("ports", [])} <= ports
    for one, template, container in workloads(folder):
        assert selected(folder, one["spec"]["selector"]) == [one]
        named(folder, "ServiceAccount", template["spec"]["serviceAccountName"])
        claims = [claim["metadata"] for claim in one["spec"].get("volumeClaimTemplates", [])]
        there = {volume["name"] for volume in [*claims, *template["spec"]["volumes"]]}
        assert {mount["name"] for mount in container["volumeMounts"]} == there
    scaler = named(folder, "HorizontalPodAutoscaler", "rag-retriever")["spec"]
    target = named(folder, scaler["scaleTargetRef"]["kind"], scaler["scaleTargetRef"]["name"])
    assert "replicas" not in target["spec"], "the autoscaler's count would be overwritten"


@each_layer
def test_only_clients_of_the_database_and_pipelines_reach_it(folder: Path) -> None:
    policies = of_kind(folder, "NetworkPolicy")
    everyone = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert everyone in [one["spec"] for one in policies], "what is not allowed is denied"
    database = [
        rule
        for one in policies
        if "rag-postgres" in one["spec"]["podSelector"].get("matchLabels", {}).values()
        for rule in one["spec"]["ingress"]
    ]
    assert [sender for rule in database for sender in rule["from"]] == [
        {"podSelector": {"matchLabels": {"rag/database-client": "true"}}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kubeflow"}}},
    ][: 2 if folder == KIND else 1]
    assert all(rule["ports"] == [{"port": "postgresql", "protocol": "TCP"}] for rule in database)


@each_layer
def test_the_api_asks_for_keys_and_lets_in_its_clients_unless_only_this_machine_reaches_it(
    folder: Path,
) -> None:
    (pod,) = named(folder, "Deployment", "rag-retriever")["spec"]["template"]["spec"]["containers"]
    given = named(folder, "ConfigMap", pod["envFrom"][0]["configMapRef"]["name"])["data"]
    assert given["RAG_API_KEY_REQUIRED"] == ("0" if folder == KIND else "1")
    service = named(folder, "Service", "rag-retriever")["metadata"]["name"]
    assert given["RAG_API_HOSTS"].split(",")[:2] == [service, f"{service}.rag"]
    (rule,) = named(folder, "NetworkPolicy", "rag-retriever")["spec"]["ingress"]
    clients = [{"namespaceSelector": {"matchLabels": {"rag/api-client": "true"}}}]
    assert rule.get("from", "everywhere") == ("everywhere" if folder == KIND else clients)


# Rights


@each_layer
def test_no_pod_has_more_rights_than_the_restricted_standard_allows(folder: Path) -> None:
    for one, template, container in workloads(folder):
        spec, name = template["spec"], one["metadata"]["name"]
        context = spec["securityContext"]
        assert context["runAsNonRoot"] is True and context["runAsUser"] > 0, name
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert spec["automountServiceAccountToken"] is False, name
        assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & spec.keys(), name
        assert not any("hostPath" in volume for volume in spec["volumes"]), name
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        for bound in ("requests", "limits"):
            assert container["resources"][bound].keys() == {"cpu", "memory"}, name
        tag = container["image"].partition(":")[2]
        assert tag and tag != "latest", name
    (namespace,) = of_kind(folder, "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


@each_layer
def test_no_secret_is_in_a_manifest(folder: Path) -> None:
    assert of_kind(folder, "Secret") == []
    for _, _, container in workloads(folder):
        for variable in container["env"]:
            if re.search("PASSWORD|SECRET|TOKEN|KEY|URL", variable["name"]):
                value = variable.get("value", "/run/secrets/")
                assert "valueFrom" in variable or value.startswith("/run/secrets/"), variable
    for file in folder.rglob("*"):
        assert "postgresql://" not in file.read_text(encoding="utf-8"), file


# The retriever, its image, and the other ways to run it


@each_layer
def test_the_retriever_s_pod_fits_its_image(folder: Path) -> None:
    image = (INFRA / "docker" / "retriever.Dockerfile").read_text(encoding="utf-8")
    spec = named(folder, "Deployment", "rag-retriever")["spec"]["template"]["spec"]
    (one,) = spec["containers"]
    asked = [one[f"{probe}Probe"]["httpGet"]["path"] for probe in ("liveness", "readiness")]
    assert asked == ["/health", "/ready"] and "command" not in one and "args" not in one
    user, port = spec["securityContext"]["runAsUser"], one["ports"][0]["containerPort"]
    assert f"USER {user}:{user}\n" in image and f"EXPOSE {port}\n" in image
    mounts = {mount["mountPath"]: mount.get("readOnly", False) for mount in one["volumeMounts"]}
    # All replicas derive the roles' passwords from one secret; see store.databases.state_secret.
    assert mounts == {"/var/lib/course": False, "/var/lib/course/secret": True, "/tmp": False}
    assert "COURSE_STATE=/var/lib/course\n" in image


def test_docker_starts_the_database_alone_and_shows_it_to_this_machine_alone() -> None:
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    postgres, retriever = services["postgres"], services["retriever"]
    assert [name for name, one in services.items() if not one.get("profiles")] == ["postgres"]
    assert postgres["ports"] + retriever["ports"] == ["127.0.0.1:5432:5432", "127.0.0.1:8000:8000"]
    user, password, name = postgres["environment"].values()
    url = f"postgresql://{user}:{password}@postgres:5432/{name}"
    assert retriever["environment"]["DATABASE_URL"] == url
    assert (retriever["read_only"], retriever["cap_drop"]) == (True, ["ALL"])
    # The same database as in the cluster.
    manifest = (BASE / "postgres.yaml").read_text(encoding="utf-8")
    assert f"image: {postgres['image']}\n" in manifest


def test_the_cluster_its_overlay_and_the_pipelines_fit_together() -> None:
    (node,) = yaml.safe_load((INFRA / "kind-config.yaml").read_text(encoding="utf-8"))["nodes"]
    assert re.fullmatch(r"kindest/node:v1\.\d+\.\d+@sha256:[0-9a-f]{64}", node["image"])
    (port,), (mount,) = node["extraPortMappings"], node["extraMounts"]
    service = named(KIND, "Service", "rag-retriever")["spec"]
    assert service["ports"][0]["nodePort"] == port["containerPort"]
    assert port["listenAddress"] == "127.0.0.1" and mount["readOnly"] is True
    volume = named(KIND, "PersistentVolume", "rag-documents")["spec"]
    assert volume["hostPath"]["path"] == mount["containerPath"] and mount["hostPath"] == "data"
    claim = named(KIND, "PersistentVolumeClaim", "rag-documents")
    assert claim["metadata"]["namespace"] == volume["claimRef"]["namespace"] == "kubeflow"
    assert claim["spec"]["volumeName"] == volume["claimRef"]["name"] == "rag-documents"
    # Several steps read at once, perhaps on several nodes; none writes.
    assert claim["spec"]["accessModes"] == volume["accessModes"] == ["ReadOnlyMany"]
    text = (INFRA / "pipelines" / "docs_pipeline.yaml").read_text(encoding="utf-8")
    assert "defaultValue: rag-documents\n" in text
