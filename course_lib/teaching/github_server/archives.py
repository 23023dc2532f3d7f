"""Archives: a commit goes in, a packed tar file of its tree comes out, as `git archive` makes it.

A `.gitattributes` at the root may keep files out of it (`export-ignore`), or let the commit's hash
be written into them (`export-subst`), so an archive is not always what the tree lists.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from fnmatch import fnmatchcase

from course_lib.teaching.github_server.git import LINK, PROGRAM, SUBMODULE, TREE, Repository


def archive_of(repository: Repository, commit: str) -> bytes:
    r"""Return the archive of a commit.

    Examples
    --------
    >>> repository = Repository("ada/notes")
    >>> commit = repository.commit({"a.md": b"# A\n"})
    >>> with tarfile.open(fileobj=io.BytesIO(archive_of(repository, commit))) as archive:
    ...     [name.replace(commit[:7], "COMMIT") for name in archive.getnames()]
    ['ada-notes-COMMIT', 'ada-notes-COMMIT/a.md']
    """
    top = f"{repository.name.replace('/', '-')}-{commit[:7]}"
    attributes = _attributes(repository, commit)
    plain = io.BytesIO()
    headers = {"comment": commit}
    with tarfile.open(
        fileobj=plain, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers
    ) as archive:
        archive.addfile(_head(top, TREE))
        for path, node in repository.walk(repository.commits[commit].tree):
            marks = {mark for pattern, mark in attributes if _is_meant(pattern, path)}
            if "export-ignore" in marks:
                continue
            head = _head(f"{top}/{path}", node.mode)
            content = repository.blobs.get(node.sha, b"")
            if node.mode == LINK:
                head.type, head.mode, head.linkname = tarfile.SYMTYPE, 0o777, content.decode()
                content = b""
            elif "export-subst" in marks:
                content = content.replace(b"$Format:%H$", commit.encode("ascii"))
            head.size = len(content)
            archive.addfile(head, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), mtime=0)


def _head(name: str, mode: str) -> tarfile.TarInfo:
    head = tarfile.TarInfo(name)
    # A submodule is an empty folder.
    is_folder = mode in {TREE, SUBMODULE}
    head.type = tarfile.DIRTYPE if is_folder else tarfile.REGTYPE
    head.mode = 0o755 if is_folder or mode == PROGRAM else 0o644
    return head


def _attributes(repository: Repository, commit: str) -> list[tuple[str, str]]:
    """Return (pattern, attribute) of each line of the root's `.gitattributes`."""
    node = repository.find(repository.commits[commit].tree, ".gitattributes")
    text = repository.blobs[node.sha].decode("utf-8") if node else ""
    lines = (line.split() for line in text.splitlines())
    return [(pattern, mark) for pattern, *marks in filter(None, lines) for mark in marks]


def _is_meant(pattern: str, path: str) -> bool:
    name = path.rpartition("/")[2]
    return fnmatchcase(path, pattern.removeprefix("/")) or (
        "/" not in pattern and fnmatchcase(name, pattern)
    )
