"""One download: what the folder holds is compared with what a commit lists, and the rest fetched.

The steps are those of every sync: resolve, list, choose, keep what is the same, fetch what is not,
remove what is gone, and write down what is there now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tqdm import tqdm

from course_lib.loader.github.archive import needs_archive, read_archive
from course_lib.loader.github.client import GitHubClient
from course_lib.loader.github.errors import NotFoundError
from course_lib.loader.github.files import (
    FileReader,
    Revision,
    UnavailableError,
    fetch_all,
    is_too_large,
    resolve_ref,
    tree_reader,
)
from course_lib.loader.github.folder import Destination, Note
from course_lib.loader.github.names import collisions, is_sha, tells_cases_apart, why_refused
from course_lib.loader.github.tree import (
    LFS_MARK,
    LINK,
    SUBMODULE,
    TreeEntry,
    blob_sha,
    follow_link,
    is_folder,
    is_wanted,
    is_within,
    list_tree,
)
from course_lib.records import Skipped

EMPTY = blob_sha(b"")


@dataclass
class CodeRun:
    """A download into a folder that we hold.

    Attributes
    ----------
    api
        Whom to ask.
    destination, before
        The folder, and what it held.
    ref
        What was asked for.
    selection
        Endings of names, and paths.
    progress
        Whether to show a bar on a terminal.
    entries
        Path → entry, of the whole tree.
    fetched
        How many files came over the network.
    skipped, failed
        Path → why it is left out, or could not be had.
    texts
        Hash → where a link of that content points.
    """

    api: GitHubClient
    destination: Destination
    before: Note
    ref: str
    selection: tuple[tuple[str, ...], tuple[str, ...]]
    progress: bool
    entries: dict[str, TreeEntry] = field(default_factory=dict)
    fetched: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def repo(self) -> str:
        """``OWNER/NAME``."""
        return self.destination.repo

    def bring_up_to_date(self) -> Note:
        """Make the folder hold the revision, and return the note of what it holds.

        Raises
        ------
        NotFoundError
            If a path is not there, or no file that was asked for.
        GitHubError
            If something else went wrong that ends it all.
        """
        revision = self._resolve()
        if self._is_up_to_date(revision):
            note = replace(self.before, ref=self.ref, etag=revision.etag)
        else:
            self.entries = self._list(revision.tree)
            reader = FileReader(self.api, self.repo, revision.commit)
            wanted = self._choose(reader)
            # Killed from here on, the next run still knows which files are ours.
            files = {path: entry.sha for path, entry in wanted.items()}
            self.destination.save(
                replace(self.before, files={**files, **self.before.files}, is_complete=False)
            )
            self._bring(wanted, reader)
            note = self._note(revision, wanted)
        self.destination.save(note)
        return note

    def _resolve(self) -> Revision:
        before = self.before
        known = Revision(before.commit, before.commit, before.web, before.etag)
        if is_sha(self.ref) and self.ref == before.commit:
            return known
        etag = before.etag if before.ref == self.ref else ""
        return resolve_ref(self.api, self.repo, self.ref, etag) or known

    def _is_up_to_date(self, revision: Revision) -> bool:
        before = self.before
        return (
            before.is_complete
            and (before.commit, before.selection) == (revision.commit, self.selection)
            and all(self.destination.has(path, sha) for path, sha in before.files.items())
        )

    # --- what is wanted ---

    def _list(self, tree: str) -> dict[str, TreeEntry]:
        """Return path → entry, of all files, links and submodules, in order of the paths."""
        _, paths = self.selection
        listed = list_tree(tree_reader(self.api, self.repo), tree, within=paths)
        return {entry.path: entry for entry in sorted(listed, key=lambda one: one.path)}

    def _choose(self, reader: FileReader) -> dict[str, TreeEntry]:
        """Return path → the entry whose content belongs there."""
        endings, paths = self.selection
        for path in paths:
            if not is_folder(path, self.entries) and path not in self.entries:
                raise self._no_such_path(path)
        wanted: dict[str, TreeEntry] = {}
        for path, entry in self.entries.items():
            if entry.mode == SUBMODULE:
                if not paths or any(is_within(path, folder) for folder in paths):
                    self.skipped[path] = f"is a submodule: another repository at {entry.sha[:12]}"
            elif is_wanted(path, endings, paths):
                if reason := why_refused(path):
                    self.failed[path] = reason
                elif content := self._target(entry, reader):
                    wanted[path] = content
        if not tells_cases_apart(self.destination.folder):
            for path, other in collisions(wanted).items():
                self.failed[path] = f"has the same name as {other} on this file system"
                del wanted[path]
        if not wanted and not self.failed:
            raise self._nothing()
        return wanted

    def _target(self, entry: TreeEntry, reader: FileReader) -> TreeEntry | None:
        """Return the file itself, or the one that a link leads to; None if there is none."""
        path = entry.path
        if entry.mode == LINK:
            try:
                return follow_link(path, self.entries, partial(self._text_of, reader))
            except ValueError as error:
                self.skipped[path] = str(error)
                return None
            except UnavailableError as error:
                self.failed[path] = str(error)
                return None
        return entry

    def _text_of(self, reader: FileReader, link: TreeEntry) -> str:
        if link.sha not in self.texts:
            self.texts[link.sha] = reader.read(link).decode("utf-8", "replace")
        return self.texts[link.sha]

    def _no_such_path(self, path: str) -> NotFoundError:
        tops = sorted({path.split("/", 1)[0] for path in self.entries})
        return NotFoundError(
            f"{self.repo} has no {path} at {self.ref}",
            hint=f"At the top there are: {', '.join(tops[:20]) or 'nothing we looked at'}.",
        )

    def _nothing(self) -> NotFoundError:
        endings, paths = self.selection
        below = f" below {', '.join(paths)}" if paths else ""
        left_out = [path for path in self.skipped if self.entries[path].mode != SUBMODULE]
        if left_out:
            return NotFoundError(
                f"all files of {self.repo} at {self.ref} that were asked for are left out:"
                + "".join(f"\n  {path} {self.skipped[path]}" for path in left_out[:10]),
                hint="Nothing was changed.",
            )
        names = [path.rsplit("/", 1)[-1] for path in self.entries]
        kinds = Counter(f".{name.rsplit('.', 1)[1]}" for name in names if "." in name)
        found = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(8))
        return NotFoundError(
            f"no file of {self.repo} at {self.ref}{below} ends in {', '.join(endings)}",
            hint=f"Nothing was changed. There are: {found or 'no files'}.",
        )

    # --- what is brought ---

    def _bring(self, wanted: Mapping[str, TreeEntry], reader: FileReader) -> None:
        """Keep, copy and fetch files until the folder holds what is wanted."""
        destination = self.destination
        shas = {entry.sha for entry in wanted.values()}
        moved = {EMPTY: b""}
        for path, sha in self.before.files.items():
            if path not in wanted:
                if sha in shas and destination.has(path, sha):
                    moved[sha] = destination.read(path)
                destination.remove(path)
        # Looked at only now: a file system may take README.md for the readme.md that is wanted.
        missing = [path for path, entry in wanted.items() if not destination.has(path, entry.sha)]
        here = {wanted[path].sha: path for path in wanted.keys() - missing}
        awaited: dict[str, list[str]] = {}
        for path in missing:
            sha = wanted[path].sha
            if sha in here:
                self._write([path], destination.read(here[sha]))
            elif sha in moved:
                self._write([path], moved[sha])
            else:
                awaited.setdefault(sha, []).append(path)
        self._fetch(awaited, wanted, reader)

    def _fetch(
        self,
        awaited: dict[str, list[str]],
        wanted: Mapping[str, TreeEntry],
        reader: FileReader,
    ) -> None:
        """Bring contents, by their hashes, to their paths: in an archive, or else one by one."""

        def arrive(entry: TreeEntry, content: bytes) -> None:
            self._arrive(awaited.pop(entry.sha), content)
            bar.update()

        missing = {sha for sha, paths in awaited.items() if not is_too_large(wanted[paths[0]])}
        # None shows a bar on a terminal alone.
        is_hidden = None if self.progress and awaited else True
        with tqdm(total=len(awaited), desc="download", unit="file", disable=is_hidden) as bar:
            if needs_archive(missing, self.entries.values()):
                read_archive(reader, self.entries, missing, arrive)
            left = [wanted[paths[0]] for paths in awaited.values()]
            for entry, found in fetch_all(reader.read, left):
                if isinstance(found, bytes):
                    arrive(entry, found)
                else:
                    self.failed |= dict.fromkeys(awaited[entry.sha], str(found.args[0]))
                    bar.update()

    def _arrive(self, paths: Sequence[str], content: bytes) -> None:
        self.fetched += 1
        if content.startswith(LFS_MARK) and len(content) < 1024:
            reason = "is a pointer to Git LFS, where the file itself is"
            self.skipped |= dict.fromkeys(paths, reason)
        else:
            self._write(paths, content)

    def _write(self, paths: Sequence[str], content: bytes) -> None:
        for path in paths:
            try:
                self.destination.write(path, content)
            except OSError as error:
                self.failed[path] = f"cannot be written: {error.strerror or error}"

    def _note(self, revision: Revision, wanted: Mapping[str, TreeEntry]) -> Note:
        left = self.skipped.keys() | self.failed.keys()
        return Note(
            repo=self.repo,
            ref=self.ref,
            commit=revision.commit,
            web=revision.web,
            etag=revision.etag,
            selection=self.selection,
            files={path: entry.sha for path, entry in wanted.items() if path not in left},
            skipped=_listed(self.skipped),
            failed=_listed(self.failed),
            is_complete=not self.failed,
        )


def _listed(reasons: Mapping[str, str]) -> tuple[Skipped, ...]:
    """Return names and reasons in order; hostile ones must not harm who prints them."""
    return tuple(
        Skipped(_printable(path), _printable(reason)) for path, reason in sorted(reasons.items())
    )


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
