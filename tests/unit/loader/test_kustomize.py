"""Kustomizations: what they link to."""

import pytest

from course_lib.loader.kustomize import read_kustomization

OVERLAY = """\
resources:
- ../../base
namespace: dev
namePrefix: dev-
components:
- ../../tls
patches:
- path: replicas.yaml
- patch: |-
    apiVersion: v1
    kind: Service
    metadata: {name: web}
images:
- name: web
  newTag: '2'
- name: db
"""


def test_a_kustomization_names_its_links() -> None:
    path = "overlays/dev/kustomization.yaml"
    assert read_kustomization(OVERLAY, path) == {
        "namespace": "dev",
        "name_prefix": "dev-",
        "bases": ["base"],
        "components": ["tls"],
        "patches": ["overlays/dev/replicas.yaml"],
        "images": ["web -> web:2", "db"],
    }


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a.yaml",
        "github.com/a/b//c?ref=v1",
        "git@example.org:a/b",
        "ssh://example.org/a",
        "git::https://git.example.eu/org/repo",
        "me@git.example.eu:org/repo",
        "git.example.eu/org/repo.git//deploy/base",
        "git.example.eu/org/repo//deploy/base?timeout=120",
        "example.eu/org/repo.git",
    ],
)
def test_what_lies_elsewhere_is_no_path(url: str) -> None:
    found = read_kustomization(f"resources:\n- {url}\n- local.com\n", "kustomization.yaml")
    assert (found["remote"], found["bases"]) == ([url], ["local.com"])
