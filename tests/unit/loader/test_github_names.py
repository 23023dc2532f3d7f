"""Names that people type, places that repositories name, and where a reader finds a line."""

import pytest

from course_lib.errors import InputError
from course_lib.loader.github.errors import AnswerError
from course_lib.loader.github.names import (
    check_address,
    check_endings,
    check_ref,
    check_repository,
    clean_path,
    collisions,
    next_hop,
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


def test_a_name_with_a_backslash_is_refused_for_it() -> None:
    for path in ("a\\b.md", "a\\..\\b.md", "docs/a\\b.md"):
        assert why_refused(path) == "has a backslash in its name"


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
