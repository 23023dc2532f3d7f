"""Which files of a folder are one's own; the authority is git, where it is on the machine."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.ignored import Ignored, own_files
from course_lib.loader import read_documents
from course_lib.records import Skipped
from tests.needs import needs

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: what the person at this machine ignores does not count."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return folder


def write(root: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return root


def raise_it(error: OSError) -> None:
    raise error


def own(root: Path, **options: bool) -> list[str]:
    found = own_files(root, raise_it, **options)
    return sorted(file.relative_to(root).as_posix() for file in found)


def git(root: Path, *arguments: str | Path) -> bytes:
    return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True).stdout


def own_by_git(root: Path) -> list[str]:
    """What git would not ignore, without hidden files; each name as its bytes are."""
    listed = git(root, "ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    names = [name for name in listed if name and b"/." not in b"/" + name]
    return sorted(os.fsdecode(name) for name in names)


NAMES = ["a", "b", "foo", "a.md", "b.md", "foo.txt", "keep", "x y", "[a]", "#x"]
PARTS = ["a", "b", "foo", "*.md", "*", "**", "fo?", "[ab]", "keep", "a.md", "\\#x", "f*o", "x y"]


def drawn_patterns(rng: random.Random) -> bytes:
    """Return the text of a .gitignore."""
    lines = []
    for _ in range(rng.randint(1, 5)):
        line = "/".join(rng.choice(PARTS) for _ in range(rng.choice([1, 1, 1, 2, 2, 3])))
        lines.append(rng.choice(["", "", "", "!", "/"]) + line + rng.choice(["", "", "", "/"]))
    return "\n".join(lines).encode("utf-8")


def draw_repository(rng: random.Random, root: Path) -> None:
    folders = [root]
    for _ in range(rng.randint(1, 6)):
        folder = rng.choice(folders) / rng.choice(NAMES)
        if folder not in folders:
            folder.mkdir()
            folders.append(folder)
    for folder in folders:
        for _ in range(rng.randint(1, 4)):
            file = folder / rng.choice(NAMES)
            if not file.exists():
                file.write_bytes(b"x")
        if folder == root or rng.random() < 0.3:
            (folder / ".gitignore").write_bytes(drawn_patterns(rng))
    if rng.random() < 0.3:
        (root / ".git" / "info").mkdir(exist_ok=True)
        (root / ".git" / "info" / "exclude").write_bytes(drawn_patterns(rng))


@linux
@needs("git")
def test_in_repositories_that_are_drawn_it_is_what_git_says(tmp_path: Path) -> None:
    rng = random.Random(1)
    for number in range(50):
        root = tmp_path / str(number)
        git(tmp_path, "init", "-q", "--template=", root)
        draw_repository(rng, root)
        rules = {str(one): one.read_bytes() for one in root.rglob(".gitignore")}
        assert own(root) == own_by_git(root), (number, rules)


def test_what_tools_install_stays_out_with_or_without_git(tmp_path: Path) -> None:
    write(
        tmp_path / "shop",
        **{
            "README.md": "# Shop",
            "node_modules/x/README.md": "# X",
            "web/venv/lib/a.txt": "",
            "target": "a file is no folder",
            ".gitignore": "secrets.txt\n",
            "secrets.txt": "hush",
        },
    )
    found: list[Ignored] = []
    assert [file.name for file in own_files(tmp_path / "shop", raise_it, found.append)] == [
        "README.md",
        "target",
    ]
    assert [(one.name, one.reason) for one in found] == [
        ("node_modules/", "is ignored by name"),
        ("secrets.txt", "is ignored by .gitignore"),
        ("web/venv/", "is ignored by name"),
    ]
    everything = own(tmp_path / "shop", no_ignore=True)
    assert len(everything) == 5 and ".gitignore" not in everything


def test_a_folder_that_is_ignored_is_not_looked_into(tmp_path: Path) -> None:
    write(tmp_path, **{".gitignore": "big/", "node_modules/a/a.md": "", "big/b/b.md": ""})
    opened: list[str] = []
    sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "os.scandir"
                     else None)  # fmt: skip
    assert own(tmp_path) == []
    assert str(tmp_path) in opened
    assert not [one for one in opened if "node_modules" in one or "big" in one]


def repository(root: Path, **files: str | bytes) -> Path:
    """Write a folder that is a repository to git."""
    start = {".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\tbare = false\n"}
    write(root, **start, **files)
    for name in ("objects", "refs"):
        (root / ".git" / name).mkdir(exist_ok=True)
    return root


def test_a_folder_below_has_the_patterns_of_those_above_it_in_its_repository(
    tmp_path: Path,
) -> None:
    write(tmp_path, **{".gitignore": "*.md"})  # not in the repository
    repository(
        tmp_path / "shop",
        **{
            ".gitignore": "*.log\n/docs/old/\n",
            ".git/info/exclude": "mine.txt\n",
            "docs/.gitignore": "!keep.log\n",
            "docs/a/a.md": "",
            "docs/a/a.log": "",
            "docs/a/keep.log": "",
            "docs/a/mine.txt": "",
            "docs/old/b.txt": "",
        },
    )
    assert own(tmp_path / "shop" / "docs" / "a") == ["a.md", "keep.log"]
    assert own(tmp_path / "shop" / "docs") == ["a/a.md", "a/keep.log"]
    assert own(tmp_path / "shop" / "docs" / "old") == ["b.txt"], "who names a folder wants it"


@needs("git")
def test_a_repository_within_one_has_its_own_patterns_alone(tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer", **{".gitignore": "*.txt\ngone/\n", "a.txt": ""})
    repository(outer / "inner", **{".git/info/exclude": "b.md", "a.txt": "", "b.md": ""})
    repository(outer / "gone", **{"a.txt": "", "c.md": ""})
    write(outer / "broken", **{".git": "gitdir: nowhere", ".gitignore": "d.md", "d.md": ""})
    write(outer / "broken", **{"e.txt": ""})
    name = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
    git(outer, *name, "commit", "-q", "--allow-empty", "-m", "one")
    write(outer, **{".git/info/exclude": "f.md"})
    git(outer, "worktree", "add", "-q", tmp_path / "two")
    write(tmp_path / "two", **{"f.md": "", "g.md": ""})
    assert own(outer) == ["broken/e.txt", "inner/a.txt"]
    assert own(tmp_path / "two") == ["g.md"]


@needs("git")
def test_what_its_user_ignores_everywhere_is_ignored_in_repositories(
    tmp_path: Path, home: Path
) -> None:
    write(home, **{".gitconfig": "[core]\n\texcludesFile = ~/mine\n", "mine": "*.bak\n"})
    folder = write(tmp_path / "docs", **{"a.md": "", "b.bak": ""})
    assert own(folder) == ["a.md", "b.bak"]
    git(folder, "init", "-q")
    found: list[Ignored] = []
    assert [file.name for file in own_files(folder, raise_it, found.append)] == ["a.md"]
    assert found == [Ignored("b.bak", f"is ignored by {home / 'mine'}")]


@pytest.mark.parametrize("program", ["no git", "git"])
def test_gitignores_count_outside_of_a_repository_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    if program == "no git":
        monkeypatch.setenv("PATH", str(tmp_path))
    write(
        tmp_path / "docs",
        **{
            ".gitignore": "*.log\n/old/\n",
            "a/.gitignore": "!keep.log\nb.md\n",
            "a/keep.log": "",
            "a/b.md": "",
            "a/c/b.md": "",
            "a/c/c.md": "",
            "b.md": "",
            "d.log": "",
            "old/e.md": "",
        },
    )
    assert own(tmp_path / "docs") == ["a/c/c.md", "a/keep.log", "b.md"]


def test_case_counts_unless_the_repository_says_that_it_does_not(tmp_path: Path) -> None:
    files = {".gitignore": "*.LOG\nBuild/\n", "a.log": "", "b.LOG": "", "build/c.md": ""}
    assert own(repository(tmp_path / "a", **files)) == ["a.log", "build/c.md"]
    write(tmp_path / "a", **{".git/config": "[core]\n\tignorecase = true\n"})
    assert own(tmp_path / "a") == []


@linux
@pytest.mark.parametrize("is_repository", [False, True])
def test_names_and_patterns_may_be_no_text(tmp_path: Path, is_repository: bool) -> None:
    write(tmp_path, **{".gitignore": b"\xff.md\n\xc3\xa0\n", "\u00e0": "", ":(top)x": ""})
    if is_repository:
        git(tmp_path, "init", "-q")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")).write_bytes(b"")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xfe.md")).write_bytes(b"")
    assert [os.fsencode(name) for name in own(tmp_path)] == [b":(top)x", b"\xfe.md"]


def test_a_gitignore_that_is_a_folder_or_a_link_says_nothing(tmp_path: Path) -> None:
    write(tmp_path, **{".gitignore/x": "", "patterns": "*.md", "sub/a.md": ""})
    try:
        (tmp_path / "sub" / ".gitignore").symlink_to("../patterns")
    except OSError:
        pytest.skip("links need a privilege here")
    assert own(tmp_path) == ["patterns", "sub/a.md"]


def test_of_a_folder_nothing_is_read_where_it_is_not_known_what_it_ignores(tmp_path: Path) -> None:
    docs = write(tmp_path / "docs", **{"sub/a.md": "", "b.md": "", "sub/deep/c.md": ""})
    (docs / "sub" / ".gitignore").write_bytes(b"#" * 1_000_001)
    skipped: list[Skipped] = []
    found = read_documents(docs, on_skip=skipped.append)
    assert [document.name for document in found] == ["b.md"]
    assert [one.name for one in skipped] == ["sub/"]
    assert ".gitignore, which says what is ignored in it: has 1.0 MB" in skipped[0].reason
    with pytest.raises(InputError, match="which says what is ignored in it"):
        read_documents(docs / "sub")
    assert len(read_documents(docs, no_ignore=True)) == 3


def test_links_that_lead_to_folders_are_neither_followed_nor_counted(tmp_path: Path) -> None:
    write(tmp_path, **{"real/a.md": "", ".gitignore": "linked\n"})
    try:
        for name in ("node_modules", "linked", "other"):
            (tmp_path / name).symlink_to("real", target_is_directory=True)
    except OSError:
        pytest.skip("links need a privilege here")
    found: list[Ignored] = []
    assert [one.name for one in own_files(tmp_path, raise_it, found.append)] == ["a.md"]
    assert found == []
