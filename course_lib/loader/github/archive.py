"""An archive: one request for all files of a commit, of which those are taken that are wanted.

It is trusted with nothing: its size and the number of its members are bounded
by what the tree lists, its names are looked up there, and a content counts by its hash.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO

import httpx

from course_lib.loader.github.errors import AnswerError, GitHubError, RateLimitError
from course_lib.loader.github.files import MOST_FILE_BYTES, FileReader
from course_lib.loader.github.tree import SUBMODULE, TreeEntry, blob_sha

FEWEST_FOR_ARCHIVE = 10
"""Files: fewer are fetched as quickly one by one."""

MOST_ARCHIVE_BYTES = 500_000_000
"""Of all files of a tree; a larger one is fetched file by file."""

BROKEN = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, RecursionError)
"""What `tarfile` raises over what is not an archive, or only the beginning of one."""

SLACK_BYTES = 1_000_000
"""By which an archive may be larger than what the tree lists: blocks are filled up."""


def needs_archive(missing: Collection[str], entries: Collection[TreeEntry]) -> bool:
    """Return whether an archive costs less than the missing files (by their hashes) one by one."""
    files = [entry for entry in entries if entry.mode != SUBMODULE]
    contents = {entry.sha for entry in files}
    return (
        len(missing) >= FEWEST_FOR_ARCHIVE
        and 2 * len(missing) > len(contents)
        and sum(entry.size or 0 for entry in files) <= MOST_ARCHIVE_BYTES
    )


def read_archive(
    reader: FileReader,
    entries: Mapping[str, TreeEntry],
    missing: Collection[str],
    arrive: Callable[[TreeEntry, bytes], None],
) -> None:
    """Ask for a commit's archive, and hand over those of its files that are missing.

    A name in it is looked up in the tree and used for nothing else, and a content that has not the
    listed hash is left: what an archive lacks or changes (``export-ignore`` and ``export-subst`` in
    a ``.gitattributes``), or the rest of one that breaks off, has to come file by file.

    Parameters
    ----------
    reader
        Says of which commit, and whom to ask.
    entries
        Path → entry, of the whole tree.
    missing
        Hashes of the contents that are wanted.
    arrive
        Is called once with each of them that came.

    Raises
    ------
    RateLimitError
        If the server lets us wait for too long.
    """
    left = set(missing)
    # Files and the folders on the way to them; one with a long path has two heads of two blocks.
    heads = sum(1 + path.count("/") for path in entries) + 2
    most = 2_048 * heads + sum(entry.size or 0 for entry in entries.values())

    def unpack(parts: Iterator[bytes]) -> None:
        with TemporaryFile() as file:
            # Of an archive that breaks off, or is too long, what came counts.
            with suppress(httpx.TransportError, OSError, AnswerError):
                file.writelines(parts)
            file.seek(0)
            with suppress(*BROKEN):
                for path, content in _members(file, entries, left, heads, most):
                    if (sha := blob_sha(content)) in left and sha == entries[path].sha:
                        left.remove(sha)
                        arrive(entries[path], content)

    try:
        place = f"repos/{reader.repo}/tarball/{reader.commit}"
        reader.api.get(place, most_bytes=most + SLACK_BYTES, unpack=unpack)
    except RateLimitError:
        raise
    except GitHubError:
        # Whatever else is wrong shows again, and is told, where the files come one by one.
        pass


def _members(
    file: IO[bytes], entries: Mapping[str, TreeEntry], left: Collection[str], heads: int, most: int
) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the files in an archive that may be among those that are left."""
    with tarfile.open(fileobj=file, mode="r:gz") as archive:
        for number, member in enumerate(archive):
            if number > heads or not left or member.offset_data + member.size > most:
                return
            # The first folder is named after repository and commit.
            path = member.name.partition("/")[2]
            entry = entries.get(path)
            is_file = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE)
            is_fit = is_file and member.size <= MOST_FILE_BYTES
            if is_fit and entry and entry.sha in left and member.size == entry.size:
                content = archive.extractfile(member)
                assert content is not None
                yield path, content.read()
