"""Names that people type, places that repositories name, and where a reader finds a line."""

from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.loader.github.errors import AnswerError
from course_lib.loader.github.names import (
    check_address,
    check_endings,
    check_ref,
    check_repository,
    citation_url,
    clean_path,
    collisions,
    is_inside,
    next_hop,
    next_page,
    origin,
    why_refused,
)


@pytest.mark.parametrize(
    "repo", ["", "heron", "heron/", "/platform", "a/b/c", "a/..", "a/.", "a b/c", "-a/b", "a/b?x"]
)
def test_what_is_no_repository_is_refused_before_anything_is_asked(repo: str) -> None:
    with pytest.raises(InputError, match="is not a repository"):
        check_repository(repo)


@pytest.mark.parametrize("ref", ["main", "v1.9-branch", "feature/x", "refs/tags/v1", "a@b", "ä"])
def test_names_that_git_takes_are_refs(ref: str) -> None:
    assert check_ref(ref) == ref


@pytest.mark.parametrize(
    "ref",
    ["", "a..b", "a b", "/a", "a/", "a//b", "-x", "a^", "a:b", "a?b", "a\n", "x.lock", "@{1}"],
)
def test_names_that_git_does_not_take_are_refused(ref: str) -> None:
    with pytest.raises(InputError, match="is not a ref"):
        check_ref(ref)


def test_endings_are_taken_with_and_without_their_dot() -> None:
    assert check_endings([" .YAML", "md", ""]) == (".md", ".yaml", "md")
    for given in ([], [""], ["."], ["a/b"]):
        with pytest.raises(InputError, match="which files are wanted"):
            check_endings(given)


def test_paths_are_cleaned_and_do_not_lead_out() -> None:
    assert [clean_path(path) for path in ("./a//b/", "a\\b", "/", "")] == ["a/b", "a/b", "", ""]
    with pytest.raises(InputError, match="leads out of the repository"):
        clean_path("a/../../b")


@pytest.mark.parametrize(
    "path",
    ["", "../a.md", "a/../../b.md", "/etc/passwd", "a//b.md", "./a.md", "a\\..\\b.md"]
    + ["a\0b.md", "a\nb.md", "\ud800.md", ".git/config", "x/.GIT/hooks/a.sh", "x/" * 600 + "a.md"]
    + [
        ".github-download.json",
        ".GitHub-Download.lock",
        ".github-download-1.part",
        "a/.git./config",
    ],
)
@pytest.mark.parametrize("windows", [False, True])
def test_a_path_that_would_do_harm_is_refused_everywhere(path: str, windows: bool) -> None:
    assert why_refused(path, windows=windows)


@pytest.mark.parametrize(
    "path",
    ["aux.md", "x/CON", "nul.tar.gz", "com1.yaml", "LPT9", "a:b.md", 'a".md', "a?.md", "a*.md"]
    + ["dot./a.md", "blank /a.md", "a|b.md", "<a>.md", "conin$", "COM¹.md", "aux .md"]
    + ["C:a.md", "C:/Windows/a.md"],
)
def test_a_name_that_windows_refuses_is_refused_there_alone(path: str) -> None:
    assert why_refused(path, windows=True) == "has a name that Windows refuses"
    assert why_refused(path, windows=False) == ""


@pytest.mark.parametrize(
    "path", [".github/workflows/ci.yaml", "a..b.md", "ü/日本.md", "auxiliary.md", "a b.md", "...md"]
)
def test_ordinary_names_are_taken_everywhere(path: str) -> None:
    assert why_refused(path, windows=True) == why_refused(path, windows=False) == ""


def test_names_that_a_file_system_may_take_for_the_same_are_found() -> None:
    given = ["README.md", "a/ü.md", "readme.md", "a/u\u0308.md", "b.md"]
    assert collisions(given) == {"readme.md": "README.md", "a/u\u0308.md": "a/ü.md"}


def test_a_link_on_the_way_is_seen(tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    assert is_inside(tmp_path / "in", tmp_path / "in" / "sub")
    try:
        (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    except OSError:
        pytest.skip("this account may not make links")
    assert not is_inside(tmp_path / "in", tmp_path / "in" / "link")


WEB = "https://github.com/kubeflow/manifests"
SHA = "53af14bd662f01044ef464113849020f704fc278"


@pytest.mark.parametrize(
    ("path", "first", "last", "expected"),
    [
        ("a/b.yaml", 10, 20, "a/b.yaml#L10-L20"),
        ("a/b.yaml", 10, 10, "a/b.yaml#L10"),
        ("a/b.yaml", 10, None, "a/b.yaml#L10"),
        ("a/b.yaml", None, None, "a/b.yaml"),
        ("a b/c#d?é%.py", 1, 2, "a%20b/c%23d%3F%C3%A9%25.py#L1-L2"),
        ("README.md", 3, 4, "README.md?plain=1#L3-L4"),
        ("README.md", None, None, "README.md"),
    ],
)
def test_a_citation_leads_to_the_lines_of_one_commit(
    path: str, first: int | None, last: int | None, expected: str
) -> None:
    assert citation_url(WEB, SHA, path, first, last) == f"{WEB}/blob/{SHA}/{expected}"


def test_the_next_page_is_where_the_header_says() -> None:
    link = (
        '<https://api/r/7/issues?page=1>; rel="first", <https://api/r/7/issues?page=3>; rel="next"'
    )
    assert next_page(link) == "https://api/r/7/issues?page=3"
    assert next_page('<https://api/x>;rel="next"') == "https://api/x"
    for last in ("", '<https://api/x>; rel="prev"', "nonsense"):
        assert next_page(last) is None


def test_an_origin_is_scheme_host_and_port() -> None:
    assert origin("https://API.github.com/x") == ("https", "api.github.com", 443)
    assert len({origin(f"http://127.0.0.1{port}") for port in ("", ":80", ":81")}) == 2


@pytest.mark.parametrize(
    ("base", "token", "says"),
    [
        ("api.github.com", "", "not an address of the web"),
        ("ftp://api.github.com", "", "not an address of the web"),
        ("https://", "", "not an address of the web"),
        ("https://[", "", "is not an address"),
        ("https://ada:secret@api.github.com", "", "more than a host and a path"),
        ("https://api.github.com?access_token=secret", "", "more than a host and a path"),
        ("http://api.github.com", "secret", "unencrypted"),
        ("https://api.github.com", "sec ret", "characters that no token has"),
        ("https://api.github.com", "sec\nret", "characters that no token has"),
    ],
)
def test_an_address_that_would_give_the_token_away_is_refused(
    base: str, token: str, says: str
) -> None:
    with pytest.raises(InputError, match=says) as caught:
        check_address(base, token)
    assert "secret" not in str(caught.value)


def test_an_address_loses_its_last_slash_and_keeps_its_path() -> None:
    assert check_address("https://ghe.example.com/api/v3/", "t") == "https://ghe.example.com/api/v3"
    assert check_address("http://127.0.0.1:80/", "t") == "http://127.0.0.1:80"


@pytest.mark.parametrize(
    "location",
    ["ftp://x/y", "javascript:alert(1)", "http://x/y", "https://[", "https://x:99999/y"],
)
def test_a_redirect_leads_nowhere_but_to_the_web_and_not_away_from_https(location: str) -> None:
    with pytest.raises(AnswerError, match="where we do not go"):
        next_hop("https://api.github.com/a", location)
