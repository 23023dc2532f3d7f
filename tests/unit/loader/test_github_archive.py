"""A first download in one request: what an archive may give, and what it cannot."""

import gzip
import io
import math
import random
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

from course_lib.loader.github.errors import AnswerError, RateLimitError
from course_lib.teaching.github_server import Repository, link, submodule
from tests import github_faults as faults
from tests.github_faults import FaultyGitHub

YAML = {f"apps/{number:02}.yaml": f"number: {number}\n".encode() for number in range(20)}
OTHERS = {f"images/{number}.png": b"%d" % number for number in range(5)}


@pytest.fixture
def repository(github: FaultyGitHub) -> Repository:
    repository = Repository("heron/platform")
    repository.commit(YAML | OTHERS)
    github.add(repository)
    return repository


def test_less_than_half_of_a_tree_comes_file_by_file(
    github: FaultyGitHub, repository: Repository, checkout: Any
) -> None:
    names = list(YAML)[:12]  # of 25 contents in all
    assert checkout.download(paths=names).fetched == 12
    assert checkout.there() == {name: YAML[name] for name in names}
    assert (github.count("codeload"), github.count("blobs")) == (0, 12)


def test_the_token_stays_with_the_api_and_a_private_archive_comes(
    github: FaultyGitHub, repository: Repository, checkout: Any
) -> None:
    repository.private = True
    checkout.download(token="ghp_secret")
    assert checkout.there() == YAML
    assert {(one.host, one.has_token) for one in github.seen} == {
        ("api", True),
        ("codeload", False),
    }
    assert github.count("blobs") == 0


def test_what_an_archive_leaves_out_or_rewrites_comes_by_its_hash(
    github: FaultyGitHub, repository: Repository, checkout: Any
) -> None:
    marks = b"apps/03.yaml export-ignore\nversion.yaml export-subst\n"
    files = YAML | {"version.yaml": b"commit: $Format:%H$\n"}
    repository.commit({**files, ".gitattributes": marks})
    checkout.download()
    assert checkout.there() == files
    assert (github.count("codeload"), github.count("blobs")) == (1, 2)


def test_links_submodules_and_long_names_come_as_they_do_one_by_one(
    github: FaultyGitHub, repository: Repository, checkout: Any
) -> None:
    long = f"{'deep/' * 30}ü.yaml"
    files: dict[str, Any] = YAML | {long: b"long\n", "same.yaml": YAML["apps/00.yaml"]}
    links = {"link.yaml": link("apps/01.yaml"), "lib": submodule("3f" * 20)}
    repository.commit(files | links)
    found = checkout.download()
    assert checkout.there() == files | {"link.yaml": YAML["apps/01.yaml"]}
    assert [file.name for file in found.skipped] == ["lib"]
    # The text of the link.
    assert github.count("blobs") == 1


def test_an_archive_that_breaks_off_is_continued_file_by_file(
    github: FaultyGitHub, repository: Repository, checkout: Any
) -> None:
    noise = {name: random.Random(name).randbytes(9_000) for name in YAML}
    repository.commit(noise)
    github.fail("codeload", faults.short_body(0.9))
    checkout.download()
    assert checkout.there() == noise
    assert github.count("codeload") == 1
    assert 0 < github.count("blobs") < 20


@pytest.mark.parametrize(
    "fault",
    [faults.refused(404, "Not Found"), faults.hang_up(), faults.redirect("ftp://127.0.0.1/x")],
)
def test_without_an_archive_the_files_come_one_by_one(
    github: FaultyGitHub, repository: Repository, checkout: Any, fault: faults.Fault
) -> None:
    github.fail("codeload", fault, times=math.inf)
    checkout.download()
    assert checkout.there() == YAML
    assert github.count("blobs") == 20


def test_a_limit_that_takes_too_long_and_a_page_to_sign_in_end_it(
    github: FaultyGitHub, repository: Repository, checkout: Any
) -> None:
    github.fail("codeload", faults.status(429, retry_after=3_600), times=math.inf)
    with pytest.raises(RateLimitError, match="GitHub asked for a pause"):
        checkout.download()
    assert github.count("blobs") == 0
    github.heal()
    github.fail("tarball|blobs", faults.html_page(), times=math.inf)
    with pytest.raises(AnswerError, match="a page in HTML"):
        checkout.download()
    assert checkout.there() == {}


# --- archives that lie ---


def made_of(*members: tuple[str, bytes, dict[str, Any]]) -> bytes:
    """Return a packed archive with these members: name, content, and what else its head says."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, content, head in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for key, value in head.items():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(plain.getvalue())


NAMES = list(YAML)
HOSTILE: dict[str, Callable[[], bytes]] = {
    "no archive": lambda: b"hello",
    "other contents": lambda: made_of(*((f"top/{name}", b"number: 99\n", {}) for name in NAMES)),
    "outside": lambda: made_of(
        ("top/../../outside.yaml", b"x", {}),
        ("/etc/outside.yaml", b"x", {}),
        *((f"../{name}", YAML[name], {}) for name in NAMES[:3]),
    ),
    "links": lambda: made_of(
        *((f"top/{name}", b"", {"type": kind, "linkname": "/etc/passwd"})
          for name in NAMES[:3] for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE)),
        (f"top/{NAMES[4]}", b"", {"type": tarfile.FIFOTYPE}),
    ),
    "zeros without end": lambda: made_of(("top/zeros.yaml", bytes(100_000_000), {})),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_an_archive_that_lies_gives_every_file_as_it_was_listed(
    github: FaultyGitHub, repository: Repository, tmp_path: Path, checkout: Any, name: str
) -> None:
    body = HOSTILE[name]()

    def lie(answer: Response) -> Response:
        return faults.changed(answer, body)

    github.fail("codeload", lie)
    checkout.download()
    assert checkout.there() == YAML
    assert not any(path.is_symlink() for path in checkout.dest.rglob("*"))
    assert [path.name for path in tmp_path.iterdir()] == ["dest"]
    assert github.count("codeload") == 1
