"""Finding lock files: a directory (or files that somebody sent) goes in, `LockFiles` comes out.

Reading is lazy: the checksum of a language's files is known before one of them is parsed, so that
an unchanged project costs no parsing.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from course_lib.errors import InputError
from course_lib.files import NOT_OURS, files_below, read_file
from course_lib.records import Skipped
from course_lib.xray.lock_go import names_all_modules
from course_lib.xray.lock_python import included_files, parse_requirements
from course_lib.xray.lock_reading import add_versions
from course_lib.xray.lockfiles import FORMATS, INSTEAD_OF, MANIFESTS, NOT_READ, lock_format

SCANNER = "5"
"""Counts up when a parser reads the same text differently: the checksums change with it."""

LARGEST = 50_000_000
"""Bytes of the largest lock file that is read."""

LONGEST_NAME = 500
"""Characters of a package's name: those of the registries are shorter, and an index has limits."""


@dataclass(frozen=True, slots=True)
class LockFiles:
    """A project's lock files.

    Attributes
    ----------
    texts
        Path (relative, forward slashes) → text.
    unreadable
        Lock files that are there and could not be read, and why.
    others
        Lock files that are not read, and why.

    Examples
    --------
    >>> files = LockFiles({"api/requirements.txt": "rich==14.1.0", "README.md": "Rich."})
    >>> files.languages(), files.packages("python")
    (['python'], {'rich': '14.1.0'})
    """

    texts: Mapping[str, str]
    unreadable: tuple[Skipped, ...] = field(default=())
    others: tuple[Skipped, ...] = ()

    def languages(self) -> list[str]:
        """Return the languages that there are lock files of."""
        names = [*self.texts, *(file.name for file in self.unreadable)]
        return sorted({one.language for name in names if (one := lock_format(name))})

    def paths(self, language: str) -> list[str]:
        """Return the paths of a language's lock files, without those that add nothing.

        These are a `go.sum` beside a `go.mod` that names all, and one that its tool does not read.
        """
        return [
            path
            for path in sorted(self.texts)
            if (one := lock_format(path)) and one.language == language and not self._is_spare(path)
        ]

    def not_read(self) -> list[str]:
        """Return a sentence for each file whose packages are not known, though they are used.

        That is a lock file of another format, and what a `requirements.txt` includes; and one that
        its tool does not read.

        Examples
        --------
        >>> print(*LockFiles({"requirements.txt": "-r base.txt"}).not_read())
        requirements.txt includes base.txt, whose packages are not known: call it requirements-….txt
        """
        known = self.paths("python")
        others = {one.name: one.reason for one in self.others}
        for path in self.texts:
            if reason := NOT_READ.get(posixpath.basename(path)):
                others[path] = reason
        sentences = [f"{path} is not read: {reason}" for path, reason in sorted(others.items())]
        sentences += [
            f"{path} is not read: its tool takes {other}, which is beside it"
            for path in sorted(self.texts)
            if (other := self._instead(path))
        ]
        return sentences + [
            f"{path} includes {name}, whose packages are not known: call it requirements-….txt"
            for path in known
            if (one := lock_format(path)) and one.parse is parse_requirements
            for name in included_files(self.texts[path])
            if posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) not in known
        ]

    def checksum(self, language: str) -> str:
        """Return what changes whenever one of a language's lock files does."""
        digest = hashlib.sha256(f"scanner {SCANNER}\n".encode())
        for path in self.paths(language):
            text = self.texts[path].encode("utf-8", "surrogatepass")
            digest.update(f"{path} {hashlib.sha256(text).hexdigest()}\n".encode())
        return digest.hexdigest()

    def packages(self, language: str) -> dict[str, str]:
        """Parse a language's lock files and return name → version, newest where they differ.

        Raises
        ------
        InputError
            If one of them cannot be read or is broken: what a language's packages are is not known
            then.
        """
        for file in self.unreadable:
            if (one := lock_format(file.name)) and one.language == language:
                raise InputError(f"{file.name} {file.reason}", hint="Mend it and scan again.")
        found: dict[str, str] = {}
        for path in self.paths(language):
            one = lock_format(path)
            assert one is not None
            try:
                if "\0" in self.texts[path]:
                    raise ValueError("it holds a NUL character")
                packages = one.parse(self.texts[path])
                for name, version in packages.items():
                    _check(name, version)
            except (ValueError, RecursionError) as error:
                raise InputError(
                    f"{path} is not a {one.id} that can be read: {error}",
                    hint="Make it again with the tool that wrote it, and scan again.",
                ) from error
            add_versions(found, packages.items())
        return dict(sorted(found.items()))

    def _instead(self, path: str) -> str:
        """Return the name of the file beside one that its tool reads in its place; or nothing."""
        other = INSTEAD_OF.get(posixpath.basename(path), "")
        return other if other and str(PurePosixPath(path).with_name(other)) in self.texts else ""

    def _is_spare(self, path: str) -> bool:
        if self._instead(path):
            return True
        if not path.endswith("go.sum"):
            return False
        beside = str(PurePosixPath(path).with_name("go.mod"))
        return names_all_modules(self.texts.get(beside, ""))


def find_lock_files(directory: str | os.PathLike[str]) -> LockFiles:
    """Read the lock files of a directory and the folders below it.

    Hidden folders, links and folders of installed packages are not entered.

    Raises
    ------
    InputError
        If there is no such directory, a folder in it cannot be read, or no lock file is found:
        what is stored of a project is not thrown away for a mistyped path.
    """
    root = Path(directory)
    if not root.is_dir():
        raise InputError(f"{root} is not a directory", hint="Nothing was changed. Check the path.")
    texts: dict[str, str] = {}
    others: list[Skipped] = []
    unreadable: list[Skipped] = []
    for file in files_below(root, _is_ours, _refuse):
        path = file.relative_to(root).as_posix()
        if reason := NOT_READ.get(file.name) or MANIFESTS.get(file.name):
            others.append(Skipped(path, reason))
        if lock_format(path) is None or not file.is_file():
            continue
        if file.is_symlink():
            others.append(Skipped(path, "it is a link"))
            continue
        try:
            raw = read_file(file, LARGEST)
            # PowerShell writes UTF-16 where a command's output goes into a file.
            is_wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            texts[path] = raw.decode("utf-16" if is_wide else "utf-8-sig")
        except UnicodeDecodeError:
            unreadable.append(Skipped(path, "is not UTF-8"))
        except ValueError as error:
            unreadable.append(Skipped(path, str(error)))
        except OSError as error:
            unreadable.append(Skipped(path, f"cannot be read: {error.strerror}"))
    if not texts and not unreadable:
        other = "".join(
            f"; {one.name} is not read: {one.reason}"
            for one in sorted(others, key=lambda one: one.name)
        )
        known = ", ".join(dict.fromkeys(one.id for one in FORMATS))
        raise InputError(
            f"there is no lock file in {root}{other}",
            hint=f"Nothing was changed. Known are {known}.",
        )
    locks = (one for one in others if posixpath.basename(one.name) not in MANIFESTS)
    return LockFiles(texts, tuple(unreadable), tuple(locks))


def _is_ours(folder: str) -> bool:
    return not folder.startswith(".") and folder not in NOT_OURS


def _refuse(error: OSError) -> None:
    raise InputError(
        f"{error.filename} cannot be read: {error.strerror}",
        hint="Nothing was changed. Give yourself the right to read it, or scan a folder below.",
    ) from error


def _check(name: str, version: str) -> None:
    """Refuse what no table can hold; an escape in JSON or TOML can write any character."""
    if len(name) > LONGEST_NAME:
        raise ValueError(f"a name in it has {len(name)} characters: {name[:40]!r}…")
    if any(one == "\0" or "\ud800" <= one <= "\udfff" for one in name + version):
        raise ValueError(f"{name[:40]!r} holds what is not a character")
