"""The sample: the course's own data as a repository on GitHub, with two versions and issues.

`data/github/history.json` says which folders make it up, what a release branch had instead, and
what a repository holds besides files: links, a submodule, a pointer to a file in Git LFS.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from course_lib.errors import InputError
from course_lib.settings import project_root
from course_lib.teaching.github_server.git import Entry, Repository, link, read_folder, submodule
from course_lib.teaching.github_server.issues import read_issues


def sample_repository() -> Repository:
    """Return ``heron/platform``, made of the course's data.

    It has the branches ``main`` and ``v1.0-branch`` and the tags ``v1.0.0`` and ``v1.1.0``.

    Raises
    ------
    InputError
        If the history speaks of a text that is not in its file any more.

    Examples
    --------
    >>> sorted(sample_repository().refs)
    ['heads/main', 'heads/v1.0-branch', 'tags/v1.0.0', 'tags/v1.1.0']
    """
    data = project_root() / "data"
    history = json.loads((data / "github" / "history.json").read_text(encoding="utf-8"))
    files: dict[str, Entry] = {}
    for at, folder in history["folders"].items():
        files |= read_folder(data / folder, at)
    files |= {path: link(target) for path, target in history["links"].items()}
    files |= {path: submodule(commit) for path, commit in history["submodules"].items()}
    files |= {path: pointer(path, size) for path, size in history["pointers"].items()}
    repository = Repository(history["name"])
    for commit in history["commits"]:
        repository.commit(
            _earlier(files, commit),
            branch=commit["branch"],
            tag=commit["tag"],
            message=commit["message"],
            date=commit["date"],
        )
    repository.issues = read_issues(data / "github" / "issues.jsonl")
    return repository


def pointer(path: str, size: int) -> Entry:
    """Return what Git LFS leaves in a repository in place of a large file."""
    digest = hashlib.sha256(path.encode("utf-8")).hexdigest()
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {size}\n"
    return Entry(text.encode("ascii"))


def _earlier(files: Mapping[str, Entry], commit: Mapping[str, Any]) -> dict[str, Entry]:
    """Return the files as they were at a commit."""
    before = dict(files)
    for change in commit.get("changes", ()):
        path, now = change["path"], change["now"].encode("utf-8")
        content = before[path].content
        if content.count(now) != 1:
            raise InputError(
                f"{path} does not hold {change['now']!r} exactly once",
                hint="Correct data/github/history.json, which says what the file was before.",
            )
        then = change["then"].encode("utf-8")
        before[path] = Entry(content.replace(now, then), before[path].mode)
    for path, old_path in commit.get("renamed", {}).items():
        before[old_path] = before.pop(path)
    for path in commit.get("without", ()):
        del before[path]
    return before
