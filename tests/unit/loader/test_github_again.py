"""Downloads into a folder that was used before, and files that cannot be had."""

import json
import math
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from course_lib.errors import InputError
from course_lib.loader.github import DownloadOptions, Selection, download_github_code
from course_lib.loader.github.errors import AnswerError, IncompleteDownloadError
from course_lib.loader.github.tree import blob_sha
from course_lib.teaching.github_server import Repository
from tests import github_faults as faults
from tests.github_faults import FaultyGitHub


def test_a_folder_may_become_a_file_and_a_file_a_folder(
    repository: Repository, checkout: Any
) -> None:
    repository.commit({"x.yaml/a.yaml": b"1", "y.yaml": b"2"})
    checkout.download()
    changed = {"x.yaml": b"1", "y.yaml/b.yaml": b"2"}
    repository.commit(changed)
    checkout.download()
    assert checkout.there() == changed


def test_files_that_were_damaged_are_brought_again(repository: Repository, checkout: Any) -> None:
    checkout.download()
    (checkout.dest / "apps" / "a.yaml").write_bytes(b"kind: mine")
    (checkout.dest / "apps" / "b.YAML").unlink()
    assert checkout.download().fetched == 2
    assert checkout.there() == checkout.yaml


def test_a_folder_that_holds_other_files_is_not_touched(
    repository: Repository, checkout: Any
) -> None:
    checkout.dest.mkdir()
    (checkout.dest / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"no download wrote, such as mine\.txt"):
        checkout.download()
    assert checkout.there() == {"mine.txt": b"mine"}


def test_a_folder_of_another_repository_is_not_touched(
    repository: Repository, checkout: Any
) -> None:
    checkout.download()
    with pytest.raises(InputError, match=r"holds heron/platform, not heron/other"):
        download_github_code(
            Selection("heron/other", "main", [".yaml"]), DownloadOptions(dest=checkout.dest)
        )
    assert checkout.there() == checkout.yaml


@pytest.mark.parametrize("note", ["{}", '{"version": 2}', "{"])
def test_a_note_that_cannot_be_read_is_an_error_that_says_what_to_do(
    repository: Repository, note: str, checkout: Any
) -> None:
    checkout.download()
    (checkout.dest / ".github-download.json").write_text(note, encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read") as caught:
        checkout.download()
    assert "download again" in caught.value.hint


def test_a_note_cannot_make_us_delete_what_is_not_ours(
    repository: Repository, tmp_path: Path, checkout: Any
) -> None:
    checkout.download()
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    place = checkout.dest / ".github-download.json"
    note = json.loads(place.read_text(encoding="utf-8"))
    note["files"]["../mine.txt"] = blob_sha(b"mine")
    place.write_text(json.dumps(note), encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        checkout.download()
    assert (tmp_path / "mine.txt").exists()


def test_a_destination_that_is_a_file_is_an_error(repository: Repository, checkout: Any) -> None:
    checkout.dest.write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be used"):
        checkout.download()


def test_a_destination_of_its_own_for_each_repository_and_ref(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkout: Any
) -> None:
    monkeypatch.setenv("COURSE_STATE", str(tmp_path))
    repository.commit(checkout.files, branch="feature/x")
    folders = [
        download_github_code(Selection("heron/platform", ref, [".yaml"])).folder
        for ref in ("main", "feature/x")
    ]
    assert folders == [
        tmp_path / "github" / "heron" / "platform" / name for name in ("main", "feature%2Fx")
    ]


# --- what could not be had ---


def test_a_server_that_has_stopped_to_answer_ends_it(
    github: FaultyGitHub, repository: Repository, checkout: Any
) -> None:
    repository.commit({f"{number:03}.yaml": b"%d" % number for number in range(100)})
    github.fail("tarball|blobs", faults.status(503), times=math.inf)
    with pytest.raises(Exception, match="answered 503"):
        checkout.download(partial=True)
    assert checkout.asked() < 100


def test_few_requests_are_made_at_once(
    github: FaultyGitHub, repository: Repository, checkout: Any
) -> None:
    repository.commit({f"{number:03}.yaml": b"%d" % number for number in range(30)})
    github.fail("tarball", faults.refused(404, "Not Found"))
    at_once: list[int] = []
    slots = threading.Semaphore(10)

    def wait(answer: Response) -> Response:
        with slots:
            at_once.append(10 - slots._value)
            time.sleep(0.02)
        return answer

    github.fail("blobs", wait, times=math.inf)
    checkout.download()
    assert 2 <= max(at_once) <= 4


def test_a_path_of_many_names_costs_no_more_than_it_is_long(
    github: FaultyGitHub, repository: Repository, checkout: Any
) -> None:
    """Each of its folders by itself would be 200 MB in all."""

    def add(answer: Any) -> Any:
        value = json.loads(answer.body)
        value["tree"].append(value["tree"][0] | {"path": "x/" * 20_000 + "a.yaml"})
        return JSONResponse(value)

    github.fail("git/trees", add)
    tracemalloc.start()
    checkout.download(paths=["apps"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000
    assert set(checkout.there()) == {"apps/a.yaml", "apps/b.YAML", "apps/deep/c.yaml"}


@pytest.mark.parametrize("given", [None, [7], [{"path": 7}]])
def test_a_tree_of_another_form_is_an_error_that_says_so(
    github: FaultyGitHub, repository: Repository, checkout: Any, given: Any
) -> None:
    body = json.dumps({"tree": given}).encode()
    github.fail("git/trees", lambda answer: faults.changed(answer, body))
    with pytest.raises(AnswerError, match="a tree"):
        checkout.download()


def test_a_link_in_the_destination_leads_to_nothing_that_we_change(
    repository: Repository, checkout: Any, tmp_path: Path
) -> None:
    """Somebody moved a folder of the download away and left a link; then the file is renamed."""
    checkout.download()
    mine = tmp_path / "mine"
    (checkout.dest / "apps").rename(mine)
    (checkout.dest / "apps").symlink_to(mine)
    mine_before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    content = checkout.files["apps/a.yaml"]
    repository.commit({"moved/a.yaml": content, "apps/new/deep/b.yaml": b"kind: B\n"})
    with pytest.raises(IncompleteDownloadError, match="leads out of the destination"):
        checkout.download()
    assert {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()} == mine_before
    assert not (mine / "new").exists()
    assert (checkout.dest / "moved" / "a.yaml").read_bytes() == content
