"""Lab 10 asks another server than its own when one variable says so."""

from pathlib import Path

import nbformat
import papermill
import pytest

from course_lib.settings import project_root
from course_lib.teaching.github_server import GitHubServer, PrimaryLimit, Repository

FOLDER = "apps/pipeline/upstream/base/pipeline"


def manifest(name: str, memory: str) -> bytes:
    return (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  template:\n"
        f"    spec:\n      containers:\n      - name: {name}\n        resources:\n"
        f"          requests:\n            memory: {memory}\n"
    ).encode()


@pytest.mark.long
def test_with_one_variable_the_lab_asks_another_server_and_no_more_than_it_gives_in_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    other = Repository("kubeflow/manifests")
    files = {f"{FOLDER}/{name}.yaml": manifest(name, "500Mi") for name in ("api", "ui", "gone")}
    files |= {"common/a.yaml": manifest("a", "1Mi"), "README.md": b"# Manifests\n"}
    other.commit(files, tag="v1.8.1")
    del files[f"{FOLDER}/gone.yaml"]
    other.commit(files | {f"{FOLDER}/cache/new.yaml": manifest("new", "7Mi")}, tag="v1.9.1")
    with GitHubServer([other], primary=PrimaryLimit(60)) as server:
        papermill.execute_notebook(
            next((project_root() / "solutions").glob("10_*.ipynb")),
            tmp_path / "run.ipynb",
            parameters={"github_api": server.url},
            cwd=project_root() / "solutions",
            progress_bar=False,
        )
    notebook = nbformat.read(tmp_path / "run.ipynb", as_version=4)
    printed = "".join(
        output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ())
    )
    assert f"removed from the index: {FOLDER}/gone.yaml" in printed
    assert f"added to the index:     {FOLDER}/cache/new.yaml" in printed
    assert "only the newer commit is in the index: True" in printed
    assert all(one.status in {200, 304} for one in server.seen)
    assert not any("common" in one.path or "README" in one.path for one in server.seen)
