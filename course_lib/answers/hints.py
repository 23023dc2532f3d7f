"""File hints: a question goes in, the files that it names come out, as the index knows them.

Someone who writes `registry.py` wants to read about that file, whatever its text is like.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import takewhile
from pathlib import PurePosixPath
from unicodedata import normalize

import psycopg

from course_lib.retriever.execution import search_errors_explained

EXTENSIONS = frozenset(
    ".adoc .cfg .conf .css .csv .env .go .html .ini .ipynb .java .js .json .md .mod .proto .py .rs "
    ".rst .sh .sql .sum .toml .tpl .ts .tsx .txt .xml .yaml .yml".split()
)
"""What is taken for the end of a file's name where no index says which ends there are."""

_WORD = re.compile(r"[\w.@+\-/\\]+")
_WAY_HERE = re.compile(r"^(?:\.{0,2}/|-)+")


def extract_file_hints(question: str, extensions: Collection[str] | None = None) -> list[str]:
    r"""Return the names of files in a question, with or without a path, each once and in its order.

    Quotes, brackets and punctuation around a name are left out, and what leads to a file from here
    (``../``). Backslashes count as slashes, and what no name holds separates words, such as the
    ``:7`` of a line. An ending alone, such as ``.py``, is not a name.

    Parameters
    ----------
    question
        In any words.
    extensions
        Ends of names, with the dot, that make a word a file; None takes `EXTENSIONS`. Upper and
        lower case are the same.

    Returns
    -------
    list of str
        As they are written, but with forward slashes, without ``./`` in front, and each once.

    Examples
    --------
    >>> extract_file_hints("What do registry.py and apps\\kustomization.yaml share?")
    ['registry.py', 'apps/kustomization.yaml']
    >>> extract_file_hints("Is v1.2.3 newer, e.g. in `./cmd/main.go`'s version.txt:7?")
    ['cmd/main.go', 'version.txt']
    >>> extract_file_hints("Look at a.proto.", {".yaml"})
    []
    """
    endings = {ending.lower() for ending in (EXTENSIONS if extensions is None else extensions)}
    words = (word.replace("\\", "/").rstrip(".-/") for word in _WORD.findall(question))
    names = (_WAY_HERE.sub("", word) for word in words)
    return list(dict.fromkeys(name for name in names if _ending(name) in endings))


def file_manifest(
    conn: psycopg.Connection,
    *,
    tenant: str | None = None,
    repo: str | None = None,
    branch: str | None = None,
) -> dict[str, list[str]]:
    """Return basename → full paths of the documents in the index.

    Every ingest keeps the row of a document in `documents`, so this is always what the index holds.

    Parameters
    ----------
    conn
        A connection from `connect`.
    tenant, repo, branch
        Only documents with these values; None means any.

    Raises
    ------
    DatabaseError
        If there is no index, or the database went away.
    """
    with search_errors_explained():
        rows = conn.execute(
            "SELECT DISTINCT document_name FROM documents WHERE (%(tenant)s::text IS NULL "
            "OR tenant_id = %(tenant)s) AND (%(repo)s::text IS NULL OR repo_slug = %(repo)s) "
            "AND (%(branch)s::text IS NULL OR branch = %(branch)s) ORDER BY document_name",
            {"tenant": tenant, "repo": repo, "branch": branch},
        ).fetchall()
    manifest: dict[str, list[str]] = {}
    for (path,) in rows:
        manifest.setdefault(PurePosixPath(path).name, []).append(path)
    return manifest


def files_named(question: str, manifest: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return what a question names, as it writes it → the paths that are meant; maybe none.

    Examples
    --------
    >>> files_named("my notes.md or b.md?", {"my notes.md": ["docs/my notes.md"]})
    {'my notes.md': ['docs/my notes.md'], 'b.md': []}
    """
    # macOS writes é as two characters, and a keyboard as one.
    written = {normalize("NFC", path): path for paths in manifest.values() for path in paths}
    question = normalize("NFC", question)
    by_name: dict[str, list[str]] = {}
    for path in written:
        by_name.setdefault(PurePosixPath(path).name, []).append(path)
    # Where a name with spaces ends, only the index can tell.
    spaced = [name for name in by_name if " " in name and name in question]
    named = {name: by_name[name] for name in spaced}
    for name in spaced:
        question = question.replace(name, " ")
    endings = {_ending(name) for name in by_name} - {""}
    for hint in extract_file_hints(question, endings):
        is_path = "/" in hint and hint in written
        named[hint] = [hint] if is_path else find_hinted(hint, by_name)
    return {hint: [written[path] for path in paths] for hint, paths in named.items()}


def find_hinted(hint: str, manifest: Mapping[str, list[str]]) -> list[str]:
    """Return the paths that a file's name in a question may mean, in the manifest's order.

    1. Look for the exact base name first. If there is none, ignore case.
    2. If the hint has folders, compare them from the right, and stop at the first that differs.
       Keep the paths with the most equal folders. Ignore case here. If no path shares a folder,
       keep the paths that have no folder.

    Parameters
    ----------
    hint
        The name, with or without folders, as a person writes it.
    manifest
        Base name → the paths of all files with this base name.

    Examples
    --------
    >>> manifest = {"main.go": ["cmd/main.go", "tools/cmd/main.go", "main.go"]}
    >>> find_hinted("MAIN.go", manifest)
    ['cmd/main.go', 'tools/cmd/main.go', 'main.go']
    >>> find_hinted("home/ada/tools/cmd/main.go", manifest)
    ['tools/cmd/main.go']
    >>> find_hinted("web/main.go", manifest)
    ['main.go']
    >>> find_hinted("web/main.go", {"main.go": ["cmd/main.go"]})
    []
    """
    *folders, name = hint.split("/")
    alike = [path for base in manifest if base.lower() == name.lower() for path in manifest[base]]
    shared = {}
    for path in manifest.get(name, alike):
        pairs = zip(reversed(folders), reversed(path.split("/")[:-1]), strict=False)
        shared[path] = len(list(takewhile(lambda pair: pair[0].lower() == pair[1].lower(), pairs)))
    most = max(shared.values(), default=0)
    is_enough = bool(most or not folders)
    return [path for path in shared if shared[path] == most and (is_enough or "/" not in path)]


def _ending(path: str) -> str:
    return PurePosixPath(path).suffix.lower()
