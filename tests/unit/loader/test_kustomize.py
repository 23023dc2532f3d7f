"""Kustomizations: which of their links are paths."""

import pytest

from course_lib.loader.kustomize import read_kustomization


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
