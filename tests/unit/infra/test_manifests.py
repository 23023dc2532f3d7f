"""The manifests: Kubernetes knows their fields, references resolve, and pods have few rights."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg.conninfo
import pytest
import yaml

from course_lib import __version__
from tests.unit.infra.tools import INFRA, ROOT, run_tool

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
def test_services_policies_and_budgets_select_pods_that_are_there(folder: Path) -> None:
    ports = {
        one["metadata"]["name"]: {port["name"] for port in container["ports"]}
        for one, _, container in workloads(folder)
    }
    for one in of_kind(folder, "Service", "PodDisruptionBudget"):
        (chosen,) = selected(folder, one["spec"]["selector"])
        wanted = {port["targetPort"] for port in one["spec"].get("ports", [])}
        assert wanted <= ports[chosen["metadata"]["name"]]
    for one in of_kind(folder, "NetworkPolicy"):
        for pod in selected(folder, one["spec"]["podSelector"]):
            for rule in one["spec"].get("ingress", []):
                assert {port["port"] for port in rule["ports"]} <= ports[pod["metadata"]["name"]]
    scaler = named(folder, "HorizontalPodAutoscaler", "rag-retriever")["spec"]
    target = named(folder, scaler["scaleTargetRef"]["kind"], scaler["scaleTargetRef"]["name"])
    assert "replicas" not in target["spec"], "the autoscaler's count would be overwritten"
    assert scaler["minReplicas"] == (1 if folder == KIND else 2)


@each_layer
def test_a_workload_finds_its_pods_its_account_and_its_volumes(folder: Path) -> None:
    accounts = {one["metadata"]["name"] for one in of_kind(folder, "ServiceAccount")}
    maps = {one["metadata"]["name"] for one in of_kind(folder, "ConfigMap")}
    for one, template, container in workloads(folder):
        assert selected(folder, one["spec"]["selector"]) == [one]
        assert template["spec"]["serviceAccountName"] in accounts
        volumes = template["spec"]["volumes"]
        claims = one["spec"].get("volumeClaimTemplates", [])
        there = [*(claim["metadata"]["name"] for claim in claims), *(v["name"] for v in volumes)]
        assert sorted(mount["name"] for mount in container["volumeMounts"]) == sorted(there)
        assert {v["configMap"]["name"] for v in volumes if "configMap" in v} <= maps


@each_layer
def test_only_clients_and_pipelines_reach_the_database_and_the_api_reaches_nothing_else(
    folder: Path,
) -> None:
    def rules(workload: str, way: str) -> list[Resource]:
        found = []
        for one in of_kind(folder, "NetworkPolicy"):
            chosen = selected(folder, one["spec"]["podSelector"])
            if workload in [pod["metadata"]["name"] for pod in chosen]:
                found += one["spec"].get(way, [])
        return found

    senders = [sender for rule in rules("rag-postgres", "ingress") for sender in rule["from"]]
    pipelines = {"matchLabels": {"kubernetes.io/metadata.name": "kubeflow"}}
    assert senders == [
        {"podSelector": {"matchLabels": {"rag/database-client": "true"}}},
        *([{"namespaceSelector": pipelines}] if folder == KIND else []),
    ]
    asked = rules("rag-retriever", "egress")
    assert [[port["port"] for port in one["ports"]] for one in asked] == [["postgresql"], [53, 53]]
    denied = named(folder, "NetworkPolicy", "rag-deny-all")["spec"]
    assert denied == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


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
    labels = named(folder, "Namespace", "rag")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


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
    text = (INFRA / "docker" / "retriever.Dockerfile").read_text(encoding="utf-8")
    template = named(folder, "Deployment", "rag-retriever")["spec"]["template"]
    (one,) = template["spec"]["containers"]
    asked = {
        probe: one[probe]["httpGet"]["path"]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    assert list(asked.values()) == ["/health", "/health", "/ready"]
    # In-flight requests end within the grace, and the pause before it, of a pod that goes.
    assert template["spec"]["terminationGracePeriodSeconds"] >= 5 + 20 + 5
    assert one["image"] == f"rag-retriever:{__version__}"
    assert "command" not in one and "args" not in one, "the image's entry point serves"
    assert f"EXPOSE {one['ports'][0]['containerPort']}" in text
    user = template["spec"]["securityContext"]["runAsUser"]
    assert f"USER {user}:{user}" in text
    state = re.search(r"COURSE_STATE=(\S+)", text)
    writable = {v["name"] for v in template["spec"]["volumes"] if "emptyDir" in v}
    mounts = {mount["mountPath"]: mount for mount in one["volumeMounts"]}
    assert state
    assert {path for path in mounts if mounts[path]["name"] in writable} == {state[1], "/tmp"}
    # All replicas derive the roles' passwords from one secret; see store.databases.state_secret.
    assert mounts[f"{state[1]}/secret"]["readOnly"] is True


def test_docker_starts_the_database_alone_and_shows_it_to_this_machine_alone() -> None:
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    postgres, retriever = services["postgres"], services["retriever"]
    assert [name for name, one in services.items() if not one.get("profiles")] == ["postgres"]
    published = [port for one in services.values() for port in one["ports"]]
    assert published == ["127.0.0.1:5432:5432", "127.0.0.1:8000:8000"]
    given = postgres["environment"]
    url = psycopg.conninfo.conninfo_to_dict(retriever["environment"]["DATABASE_URL"])
    assert (url["host"], url["port"]) == ("postgres", "5432")
    assert [url[name] for name in ("user", "password", "dbname")] == list(given.values())
    assert retriever["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert (retriever["read_only"], retriever["cap_drop"]) == (True, ["ALL"])
    assert retriever["image"] == f"rag-retriever:{__version__}"
    assert (INFRA / retriever["build"]["context"] / retriever["build"]["dockerfile"]).is_file()
    assert "./init.sql:/docker-entrypoint-initdb.d/init.sql:ro" in postgres["volumes"]
    # The same database as in the cluster.
    manifest = (BASE / "postgres.yaml").read_text(encoding="utf-8")
    assert f"image: {postgres['image']}\n" in manifest


def test_the_cluster_its_overlay_and_the_pipelines_fit_together() -> None:
    config = yaml.safe_load((INFRA / "kind-config.yaml").read_text(encoding="utf-8"))
    (node,) = config["nodes"]
    assert re.fullmatch(r"kindest/node:v1\.\d+\.\d+@sha256:[0-9a-f]{64}", node["image"])
    (mapping,) = node["extraPortMappings"]
    service = named(KIND, "Service", "rag-retriever")["spec"]
    assert service["type"] == "NodePort" and mapping["listenAddress"] == "127.0.0.1"
    assert service["ports"][0]["nodePort"] == mapping["containerPort"]
    (mount,) = node["extraMounts"]
    volume = named(KIND, "PersistentVolume", "rag-documents")["spec"]
    assert volume["hostPath"]["path"] == mount["containerPath"] and mount["readOnly"] is True
    assert (ROOT / mount["hostPath"] / "documents").is_dir()
    claim = named(KIND, "PersistentVolumeClaim", "rag-documents")
    assert claim["metadata"]["namespace"] == volume["claimRef"]["namespace"] == "kubeflow"
    assert claim["spec"]["volumeName"] == volume["claimRef"]["name"] == "rag-documents"
    assert claim["spec"]["storageClassName"] == volume["storageClassName"] == ""
    # Several steps read at once, perhaps on several nodes; none writes.
    assert claim["spec"]["accessModes"] == volume["accessModes"] == ["ReadOnlyMany"]
    pipeline = (INFRA / "pipelines" / "docs_pipeline.yaml").read_text(encoding="utf-8")
    asked = next(yaml.safe_load_all(pipeline))["root"]["inputDefinitions"]["parameters"]
    assert asked["documents_claim"]["defaultValue"] == claim["metadata"]["name"]
