"""Downloads: exactly one commit, all of it, nothing twice, and nothing outside the destination."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from course_lib.loader.github.errors import (
    IncompleteDownloadError,
)
from course_lib.loader.github.tree import blob_sha
from course_lib.records import Skipped
from course_lib.teaching.github_server import Repository, link, pointer, submodule
from tests.github_faults import FaultyGitHub


def test_a_branch_that_moves_during_the_download_changes_nothing(
    github: FaultyGitHub, repository: Repository, checkout: Any
) -> None:
    def move(answer: Any) -> Any:
        repository.commit({"apps/a.yaml": b"kind: Changed\n"})
        return answer

    github.fail("git/trees", move)
    found = checkout.download()
    assert found.commit != repository.refs["heads/main"]
    assert checkout.there() == checkout.yaml


def test_files_of_every_size_that_github_gives_come_whole(
    github: FaultyGitHub, repository: Repository, checkout: Any
) -> None:
    sizes = {"small.yaml": 1_000_000, "large.yaml": 1_000_001, "one-mebibyte.yaml": 2**20 + 1}
    contents = {name: bytes([65 + size % 7]) * size for name, size in sizes.items()}
    repository.commit({**contents, "huge.yaml": b"#" * 3000, "link.yaml": link("small.yaml")})
    github.sizes.raw_bytes = 2**21
    checkout.download()
    assert checkout.there() == {
        **contents,
        "huge.yaml": b"#" * 3000,
        "link.yaml": contents["small.yaml"],
    }


def test_with_a_token_only_the_api_is_asked(
    github: FaultyGitHub, repository: Repository, monkeypatch: pytest.MonkeyPatch, checkout: Any
) -> None:
    monkeypatch.setenv("GITHUB_RAW_URL", github.raw_url)
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_secret")
    repository.private = True
    checkout.download()
    assert github.count("raw/") == 0
    assert all(one.has_token for one in github.seen)


def test_an_empty_token_is_nobody(
    github: FaultyGitHub, repository: Repository, monkeypatch: pytest.MonkeyPatch, checkout: Any
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_secret")
    checkout.download(token="")
    assert not any(one.has_token for one in github.seen)


def test_names_that_an_address_would_misread_arrive(repository: Repository, checkout: Any) -> None:
    names = ["a b.yaml", "c#d.yaml", "e?f=1.yaml" if os.name != "nt" else "e.yaml", "100%.yaml"]
    names += ["ü/日本.yaml", "+&=;,.yaml", "x%2Fy.yaml", ".github/workflows/ci.yaml"]
    contents = {name: name.encode() for name in names}
    repository.commit(contents)
    checkout.download()
    assert checkout.there() == contents


# --- what is left out ---


def test_submodules_and_lfs_pointers_are_left_out_with_a_reason(
    repository: Repository, checkout: Any
) -> None:
    repository.commit(
        {
            "a.yaml": b"a",
            "model.yaml": pointer("model", 10**8),
            "same.yaml": link("model.yaml"),
            "vendor/lib": submodule("3f0a1c5d7e9b2468ace013579bdf02468ace1357"),
        }
    )
    found = checkout.download()
    assert found.skipped == (
        Skipped("model.yaml", "is a pointer to Git LFS, where the file itself is"),
        Skipped("same.yaml", "is a pointer to Git LFS, where the file itself is"),
        Skipped("vendor/lib", "is a submodule: another repository at 3f0a1c5d7e9b"),
    )
    assert list(found.files) == ["a.yaml"]
    again = checkout.download()
    assert (again.fetched, again.skipped, again.files) == (0, found.skipped, found.files)
    assert checkout.there() == {"a.yaml": b"a"}, "a pointer stays on the disk"
    repository.commit({"a.yaml": b"b", "model.yaml": pointer("model", 10**8)})
    assert checkout.download().skipped == (found.skipped[0],)
    assert checkout.there() == {"a.yaml": b"b"}
    repository.commit({"a.yaml": b"b", "model.yaml": b"kind: A\n"})
    assert checkout.download().skipped == ()
    assert checkout.there() == {"a.yaml": b"b", "model.yaml": b"kind: A\n"}


def test_a_pointer_that_an_earlier_version_kept_is_removed(
    repository: Repository, checkout: Any
) -> None:
    repository.commit({"a.yaml": b"a", "model.yaml": pointer("model", 10**8)})
    found = checkout.download()
    kept = pointer("model", 10**8).content
    (checkout.dest / "model.yaml").write_bytes(kept)
    files = found.files | {"model.yaml": blob_sha(kept)}
    note = {"repo": "heron/platform", "files": files}
    (checkout.dest / ".github-download.json").write_text(json.dumps(note), encoding="utf-8")
    again = checkout.download()
    assert (again.fetched, again.skipped, again.files) == (0, found.skipped, found.files)
    assert checkout.there() == {"a.yaml": b"a"}


def test_links_are_read_as_the_files_they_lead_to(repository: Repository, checkout: Any) -> None:
    repository.commit(
        {
            "v2/a.yaml": b"kind: A\n",
            "now": link("v2"),
            "docs/a.yaml": link("../v2/a.yaml"),
            "docs/b.yaml": link("../now/a.yaml"),
            "docs/out.yaml": link("../../../etc/passwd"),
            "docs/gone.yaml": link("missing.yaml"),
            "docs/loop.yaml": link("loop.yaml"),
            "docs/folder.yaml": link("../v2"),
        }
    )
    found = checkout.download()
    assert checkout.there() == dict.fromkeys(
        ["v2/a.yaml", "docs/a.yaml", "docs/b.yaml"], b"kind: A\n"
    )
    assert not any(path.is_symlink() for path in checkout.dest.rglob("*"))
    cited = {found.citation_url(path, 1) for path in found.files}
    assert cited == {f"{found.web}/blob/{found.commit}/v2/a.yaml#L1"}
    assert {file.name: file.reason for file in found.skipped} == {
        "docs/out.yaml": "is a link that leads out of the repository",
        "docs/gone.yaml": "is a link to docs/missing.yaml, which is not in the repository",
        "docs/loop.yaml": "is a link that leads to itself",
        "docs/folder.yaml": "is a link to the folder v2, whose files are listed there",
    }


@pytest.mark.parametrize(
    "path",
    ["../evil.yaml", "/etc/evil.yaml", ".git/evil.yaml", "a\nb.yaml", "a\\b.yaml", "a\x1bb.yaml"]
    + ["n" * 300 + ".yaml", "/".join(["n" * 200] * 6) + ".yaml"],
)
def test_a_path_that_would_leave_the_destination_does_not(
    repository: Repository, tmp_path: Path, path: str, checkout: Any
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert before == []
    repository.commit({path: b"evil", "good.yaml": b"good"})
    with pytest.raises(IncompleteDownloadError, match="1 of 2 files") as stopped:
        checkout.download(dest=tmp_path / "in" / "dest")
    assert "--partial" in stopped.value.hint, "the way out is not named"
    assert [one.name for one in tmp_path.rglob("*.yaml")] == ["good.yaml"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["in"]
    found = checkout.download(dest=tmp_path / "in" / "dest", partial=True)
    assert len(found.failed) == 1
    assert "\n" not in found.failed[0].name


def test_names_that_differ_in_case_alone_are_not_mixed_up(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, checkout: Any
) -> None:
    repository.commit({"A.yaml": b"upper", "a.yaml": b"lower"})
    monkeypatch.setattr("course_lib.loader.github.sync.tells_cases_apart", lambda folder: False)
    found = checkout.download(partial=True)
    assert found.failed == (Skipped("a.yaml", "has the same name as A.yaml on this file system"),)
    assert checkout.there() == {"A.yaml": b"upper"}
