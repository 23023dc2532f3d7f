"""One download: a folder is brought to what a commit lists.

What is not wanted goes; what is wanted is fetched, unless the file that is there has its hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from course_lib.loader.documents import POINTER, is_pointer
from course_lib.loader.github.archive import needs_archive, read_archive
from course_lib.loader.github.client import GitHubClient
from course_lib.loader.github.errors import NotFoundError
from course_lib.loader.github.files import (
    FileReader,
    Revision,
    UnavailableError,
    fetch_all,
    resolve_ref,
    tree_reader,
)
from course_lib.loader.github.folder import Destination
from course_lib.loader.github.names import collisions, tells_cases_apart, why_refused
from course_lib.loader.github.tree import (
    LINK,
    SUBMODULE,
    TreeEntry,
    blob_sha,
    follow_link,
    is_folder,
    is_wanted,
    is_within,
    list_tree,
    plan_update,
)
from course_lib.progress import progress_bar
from course_lib.records import Skipped

EMPTY = blob_sha(b"")


@dataclass
class CodeRun:
    """A download into a folder that we hold.

    Attributes
    ----------
    api
        Whom to ask.
    destination
        The folder.
    repo, ref
        What was asked for.
    extensions, paths
        Which files of it.
    fetched
        How many files came over the network.
    targets
        Path of a link → path of the file that it leads to.
    skipped, failed
        Path → why it is left out, or could not be had.
    """

    api: GitHubClient
    destination: Destination
    repo: str
    ref: str
    extensions: tuple[str, ...]
    paths: tuple[str, ...]
    fetched: int = 0
    targets: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def bring_up_to_date(self, progress: bool) -> Revision:
        """Make the folder hold the revision, note what it holds, and return the revision.

        Raises
        ------
        NotFoundError
            If a path is not there, or no file that was asked for.
        GitHubError
            If something else went wrong that ends it all.
        """
        revision = resolve_ref(self.api, self.repo, self.ref)
        reader = FileReader(self.api, self.repo, revision.commit)
        listed = list_tree(tree_reader(self.api, self.repo), revision.tree, within=self.paths)
        entries = {entry.path: entry for entry in sorted(listed, key=lambda one: one.path)}
        wanted = self._choose(entries, reader)
        before, known = self.destination.note.files, set(self.destination.note.pointers)
        pointers = {path: one.sha for path, one in wanted.items() if one.sha in known}
        for path in pointers:
            del wanted[path]
        self.targets = {path: one.path for path, one in wanted.items() if one.path != path}
        # Killed from here on, the next run still knows which files are ours.
        files = {path: entry.sha for path, entry in wanted.items()}
        self.destination.save(before | files, known)
        # First: a folder may become a file, and some file systems take readme.md for README.md.
        for path in plan_update(files, before)[1]:
            self.destination.remove(path)
        self._fetch(wanted, entries, reader, progress)
        for path in self.failed:
            files.pop(path, None)
        for path in list(files):
            if is_pointer(self.destination.read(path) or b""):
                pointers[path] = files.pop(path)
                self.destination.remove(path)
        self.skipped |= dict.fromkeys(pointers, POINTER)
        self.destination.save(files, set(pointers.values()))
        return revision

    def _choose(self, entries: Mapping[str, TreeEntry], reader: FileReader) -> dict[str, TreeEntry]:
        """Return path → the entry whose content belongs there: the file's, or its link's target."""
        for path in self.paths:
            if not is_folder(path, entries) and path not in entries:
                tops = sorted({one.split("/", 1)[0] for one in entries})
                raise NotFoundError(
                    f"{self.repo} has no {path} at {self.ref}",
                    hint=f"At the top there are: {', '.join(tops[:20]) or 'nothing we looked at'}.",
                )
        text_of = cache(lambda link: reader.read(link).decode("utf-8", "replace"))
        wanted: dict[str, TreeEntry] = {}
        for path, entry in entries.items():
            if entry.mode == SUBMODULE:
                if not self.paths or any(is_within(path, folder) for folder in self.paths):
                    self.skipped[path] = f"is a submodule: another repository at {entry.sha[:12]}"
            elif not is_wanted(path, self.extensions, self.paths):
                continue
            elif reason := why_refused(path):
                self.failed[path] = reason
            else:
                try:
                    is_link = entry.mode == LINK
                    wanted[path] = follow_link(path, entries, text_of) if is_link else entry
                except ValueError as error:
                    self.skipped[path] = str(error)
                except UnavailableError as error:
                    self.failed[path] = str(error)
        if not tells_cases_apart(self.destination.folder):
            for path, other in collisions(wanted).items():
                self.failed[path] = f"has the same name as {other} on this file system"
                del wanted[path]
        if not wanted and not self.failed:
            raise self._nothing(entries)
        return wanted

    def _nothing(self, entries: Mapping[str, TreeEntry]) -> NotFoundError:
        below = f" below {', '.join(self.paths)}" if self.paths else ""
        left_out = [path for path in self.skipped if entries[path].mode != SUBMODULE]
        if left_out:
            return NotFoundError(
                f"all files of {self.repo} at {self.ref} that were asked for are left out:"
                + "".join(f"\n  {path} {self.skipped[path]}" for path in left_out[:10]),
                hint="Nothing was changed.",
            )
        names = [path.rsplit("/", 1)[-1] for path in entries]
        kinds = Counter(f".{name.rsplit('.', 1)[1]}" for name in names if "." in name)
        found = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(8))
        return NotFoundError(
            f"no file of {self.repo} at {self.ref}{below} ends in {', '.join(self.extensions)}",
            hint=f"Nothing was changed. There are: {found or 'no files'}.",
        )

    def _fetch(
        self,
        wanted: Mapping[str, TreeEntry],
        entries: Mapping[str, TreeEntry],
        reader: FileReader,
        progress: bool,
    ) -> None:
        """Bring the contents that are not there: in an archive, or else one by one."""
        read = self.destination.read
        # Hashed now: a file may have been changed since our note.
        kept = {path: blob_sha(text) for path in wanted if (text := read(path)) is not None}
        missing, _ = plan_update({path: entry.sha for path, entry in wanted.items()}, kept)
        self._write(missing.pop(EMPTY, []), b"")
        with progress_bar(len(missing), "download", "file", shown=progress) as advance:

            def arrive(entry: TreeEntry, content: bytes) -> None:
                self.fetched += 1
                self._write(missing.pop(entry.sha), content)
                advance(1)

            if needs_archive(missing, entries.values()):
                read_archive(reader, entries, missing, arrive)
            left = [wanted[paths[0]] for paths in missing.values()]
            for entry, found in fetch_all(reader.read, left):
                if isinstance(found, bytes):
                    arrive(entry, found)
                else:
                    self.failed |= dict.fromkeys(missing[entry.sha], str(found.args[0]))
                    advance(1)

    def _write(self, paths: list[str], content: bytes) -> None:
        for path in paths:
            try:
                self.destination.write(path, content)
            except OSError as error:
                self.failed[path] = f"cannot be written: {error.strerror or error}"


def listed(reasons: Mapping[str, str]) -> tuple[Skipped, ...]:
    """Return names and reasons in order; hostile ones must not harm who prints them."""
    return tuple(
        Skipped(_printable(path), _printable(reason)) for path, reason in sorted(reasons.items())
    )


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
