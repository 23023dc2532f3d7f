"""Kustomizations: their links, and the names that kubectl builds."""

import shutil
from pathlib import Path

import pytest

from course_lib.loader.documents import read_documents
from course_lib.loader.kubernetes_records import parse_kubernetes
from course_lib.loader.kustomize import (
    Kustomization,
    is_kustomization,
    link_kustomizations,
    parse_kustomization,
    read_kustomization,
)
from course_lib.loader.kustomize_build import add_resolved_names, resolve_names

FILES = {
    "base/kustomization.yaml": "resources:\n- web.yaml\n- all.yaml\n",
    "base/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec: {}\n",
    "base/all.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n---\n"
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: web-metrics\n",
    "overlays/dev/kustomization.yaml": "resources:\n- ../../base\nnamespace: dev\n"
    "namePrefix: dev-\ncomponents:\n- ../../tls\npatches:\n- path: replicas.yaml\n- patch: |-\n"
    "    apiVersion: v1\n    kind: Service\n    metadata: {name: web}\n"
    "images:\n- name: web\n  newTag: '2'\n- name: db\nbuildMetadata:\n- managedByLabel\n",
    "overlays/dev/replicas.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n"
    "spec:\n  replicas: 2\n",
    "tls/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
    "remote/kustomization.yaml": "resources:\n- https://example.org/a.yaml\n- ../base\n",
    "above/kustomization.yaml": "resources:\n- ../remote\n",
    "broken/kustomization.yaml": "resources: [\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return tmp_path / "tree"


def test_a_kustomization_names_its_links() -> None:
    path = "overlays/dev/kustomization.yaml"
    assert read_kustomization(FILES[path], path) == Kustomization(
        path=path,
        namespace="dev",
        name_prefix="dev-",
        bases=("base",),
        components=("tls",),
        patches=("overlays/dev/replicas.yaml",),
        images=("web -> web:2", "db"),
    )


def test_a_base_knows_its_overlays() -> None:
    linked = link_kustomizations(
        read_kustomization(text, path) for path, text in FILES.items() if is_kustomization(path)
    )
    assert linked["base/kustomization.yaml"].overlays == (
        "overlays/dev/kustomization.yaml",
        "remote/kustomization.yaml",
    )
    assert linked["tls/kustomization.yaml"].overlays == ("overlays/dev/kustomization.yaml",)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a.yaml",
        "github.com/a/b//c?ref=v1",
        "git@example.org:a/b",
        "ssh://example.org/a",
    ],
)
def test_what_lies_elsewhere_is_no_path(url: str) -> None:
    found = read_kustomization(f"resources:\n- {url}\n- local.com\n", "kustomization.yaml")
    assert (found.remote, found.bases) == ((url,), ("local.com",))


def test_records_of_a_kustomization_hold_its_links(tree: Path) -> None:
    documents = {document.name: document for document in read_documents(tree, (".yaml",))}
    linked = link_kustomizations(
        read_kustomization(document.content, name)
        for name, document in documents.items()
        if is_kustomization(name)
    )
    [record] = parse_kustomization(documents["base/kustomization.yaml"], linked=linked)
    assert (record.kind, record.name, record.parser_id) == ("Kustomization", "base", "kustomize")
    assert record.custom_meta["kustomize"] == {
        "overlays": ["overlays/dev/kustomization.yaml", "remote/kustomization.yaml"],
        "resources": ["base/web.yaml", "base/all.yaml"],
    }
    [record] = parse_kustomization(documents["broken/kustomization.yaml"])
    assert record.custom_meta["kustomize"] == {}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")
def test_resolved_names_become_metadata_of_the_raw_pieces(tree: Path) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    resolved = resolve_names(tree)
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before
    dev = "overlays/dev/kustomization.yaml"
    names = {
        key: [(name.name, name.namespace) for name in found if name.kustomization == dev]
        for key, found in resolved.names.items()
    }
    assert names == {
        ("base/web.yaml", "Deployment", "web"): [("dev-web", "dev")],
        ("base/all.yaml", "Service", "web"): [("dev-web", "dev")],
        ("base/all.yaml", "Service", "web-metrics"): [("dev-web-metrics", "dev")],
    }
    reasons = {skipped.name: skipped.reason for skipped in resolved.skipped}
    for name in ("remote", "above"):
        assert "https://example.org/a.yaml" in reasons[f"{name}/kustomization.yaml"]
    assert reasons["broken/kustomization.yaml"]
    [document] = [each for each in read_documents(tree, (".yaml",)) if each.name == "base/web.yaml"]
    plain = parse_kubernetes(document)
    [record] = add_resolved_names(plain, resolved)
    assert record.content == plain[0].content
    assert {"kustomization": dev, "name": "dev-web", "namespace": "dev"} in record.custom_meta[
        "resolved"
    ]  # type: ignore[operator]


def test_without_kubectl_the_reason_is_given(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    resolved = resolve_names(tree)
    assert resolved.names == {}
    assert [skipped.reason for skipped in resolved.skipped] == ["was not found on PATH"]
