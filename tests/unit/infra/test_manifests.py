"""The manifests: Kubernetes knows their fields, references resolve, and pods have few rights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from tests.unit.infra.tools import INFRA, run_tool

BASE, KIND, PUBLIC = (INFRA / "k8s" / name for name in ("base", "overlays/kind", "overlays/public"))
COMPOSE = INFRA / "docker-compose.yml"
Resource = dict[str, Any]

VERSIONS = ("1.30", "1.34", "1.37")
"""Of Kubernetes: the oldest that the manifests are for, kind's, and the newest that has schemas."""

each_layer = pytest.mark.parametrize("folder", [BASE, KIND, PUBLIC], ids=lambda one: one.name)


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


@pytest.mark.parametrize("version", VERSIONS)
@each_layer
def test_kubernetes_knows_every_field_and_lacks_none(folder: Path, version: str) -> None:
    for resource in built(folder):
        kubernetes_validate.validate(resource, version, strict=True)


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


def test_compose_and_the_cluster_run_one_proxy_before_the_api() -> None:
    """Its configuration, its image and account, and the name and port that it has of the API."""
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    public, retriever = services["public"], services["retriever"]
    configuration = PUBLIC / "nginx.conf"
    mounted, target, _ = public["volumes"][0].split(":")
    assert COMPOSE.parent / mounted == configuration and target == "/etc/nginx/nginx.conf"
    assert {"public", "serve"} == {*public["profiles"], *retriever["profiles"]}
    assert (public["read_only"], public["cap_drop"]) == (True, ["ALL"])
    deployment = named(PUBLIC, "Deployment", "rag-public")
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    user, port = spec["securityContext"]["runAsUser"], container["ports"][0]["containerPort"]
    assert (container["image"], f"{user}:{user}") == (public["image"], public["user"])
    assert {"mountPath": target, "subPath": configuration.name, "readOnly": True}.items() <= (
        container["volumeMounts"][0].items()
    )
    assert public["ports"] == [f"${{RAG_PUBLIC_PORT:-8080}}:{port}"]
    text = configuration.read_text(encoding="utf-8")
    assert f"listen {port};" in text
    (api,) = re.findall(r"server (\S+):(\d+);", text)
    service = named(PUBLIC, "Service", api[0])["spec"]
    assert service["ports"][0]["port"] == int(api[1]) and api[0] in services
    for given in (retriever["environment"], named(PUBLIC, "ConfigMap", api_settings())["data"]):
        assert given["RAG_API_PROXIES"], "without it, all clients are the proxy to the API"


def api_settings() -> str:
    """The name of the ConfigMap that the public API reads."""
    (pod,) = named(PUBLIC, "Deployment", "rag-retriever")["spec"]["template"]["spec"]["containers"]
    return str(pod["envFrom"][0]["configMapRef"]["name"])


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
        for variable in container.get("env", []):
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
    assert mounts == {"/var/lib/course": False, "/tmp": False}
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
