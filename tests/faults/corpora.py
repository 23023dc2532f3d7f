"""Folders of documents that change: made from a seed, so that a failure can be had again."""

from __future__ import annotations

from pathlib import Path
from random import Random

WORDS = (
    "sail brake hopper millstone bonnet stock wind grain flour miller tower shaft wheel gear "
    "bearing sack hoist ladder storm calm north meadow river harvest repair oak iron rope"
).split()


class Folder:
    """A folder of notes, manifests and code, that is changed again and again.

    Parameters
    ----------
    path
        Where it is; made when missing.
    rng
        What decides.
    documents
        How many there are, about.
    """

    def __init__(self, path: Path, rng: Random, documents: int = 40) -> None:
        self.path, self.rng, self.documents = path, rng, documents
        path.mkdir(parents=True, exist_ok=True)
        self.edition = 0
        for number in range(documents):
            self._write(number)

    def change(self) -> int:
        """Rewrite about a third, take some away, add some; return how many files differ."""
        self.edition += 1
        changed = 0
        for number in range(self.documents + 4):
            draw = self.rng.random()
            if draw < 0.3:
                self._write(number)
            elif draw < 0.36 and number:
                self._file(number).unlink(missing_ok=True)
            changed += draw < 0.36
        return changed

    def write_big(self, number: int, characters: int) -> None:
        """Write a note of about that length."""
        file = self.path / "notes" / f"big-{number:03}.md"
        parts = [self._note(number, part) for part in range(characters // 500)]
        file.write_text("\n".join(parts), encoding="utf-8", newline="\n")

    def _file(self, number: int) -> Path:
        kinds = ("notes", ".md"), ("notes", ".md"), ("manifests", ".yaml"), ("code", ".py")
        folder, ending = kinds[number % 4]
        return self.path / folder / f"{number:03}{ending}"

    def _write(self, number: int) -> None:
        file = self._file(number)
        file.parent.mkdir(exist_ok=True)
        made = {".md": self._note, ".yaml": self._manifest, ".py": self._code}[file.suffix]
        parts = [made(number, part) for part in range(self.rng.randint(2, 7))]
        file.write_text("\n".join(parts), encoding="utf-8", newline="\n")

    def _said(self, least: int = 8, most: int = 60) -> str:
        return " ".join(self.rng.choices(WORDS, k=self.rng.randint(least, most)))

    def _note(self, number: int, part: int) -> str:
        head = f"{'#' if part == 0 else '##'} Note {number}.{part} of edition {self.edition}"
        return f"{head}\n\n{self._said().capitalize()}.\n\n{self._said().capitalize()}.\n"

    def _manifest(self, number: int, part: int) -> str:
        return (
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n"
            f"  name: mill-{number}-{part}\n  namespace: edition-{self.edition}\n"
            f"data:\n  said: {self._said()}\n"
        )

    def _code(self, number: int, part: int) -> str:
        return (
            f"def turn_{number}_{part}(wind: int) -> str:\n"
            f'    """Edition {self.edition}: {self._said(4, 9)}."""\n'
            f"    return {self._said(4, 12)!r} * wind\n\n"
        )
