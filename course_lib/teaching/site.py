"""The course as a site in `build/site`: Sphinx with the pages of the repository, and no network.

The pages are the repository's own: README, labs, solutions with their outputs, the READMEs of the
folders; `infra/site/conf.py` says how. The library's reference is made here, a page a room. The
slides of each lab are added in `slides/`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.settings import project_root
from course_lib.teaching.slides import write_decks


def build_site(root: Path | None = None) -> Path:
    """Build the site and return its first page.

    Parameters
    ----------
    root
        The folder of the course; None takes the project that this package belongs to.

    Raises
    ------
    CourseError
        Sphinx warns of something, such as a link to a page or heading that does not exist.
    """
    root = root or project_root()
    pages, site = root / "build" / "reference", root / "build" / "site"
    shutil.rmtree(site, ignore_errors=True)
    write_reference(root / "course_lib", pages)
    command = [sys.executable, "-m", "sphinx", "-c", str(root / "infra" / "site")]
    command += ["--fail-on-warning", "--quiet", "--jobs", "auto"]
    command += ["--doctree-dir", str(root / "build" / "site-doctrees"), str(root), str(site)]
    done = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise CourseError(
            f"Sphinx could not build the site:\n{done.stderr.strip()}",
            hint="Mend the pages that it names, and build again.",
        )
    write_decks(root / "solutions", site, root / "infra" / "site" / "slides")
    shutil.copyfile(site / "README.html", site / "index.html")
    return site / "index.html"


def write_reference(package: Path, folder: Path) -> None:
    """Write a page for each room of the library, with a section for each of its modules.

    Parameters
    ----------
    package
        The folder of `course_lib`.
    folder
        Where the pages are written; what is there goes.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for room in sorted(package.iterdir()):
        if room.name.startswith("_") or room.name in ("cli", "teaching"):
            continue
        files = sorted(room.rglob("*.py")) if room.is_dir() else [room]
        names = [
            ".".join(file.relative_to(package.parent).with_suffix("").parts)
            for file in files
            if file.suffix == ".py" and not file.name.startswith("__main__")
        ]
        names = [name.removesuffix(".__init__") for name in names]
        if names:
            text = "\n".join(_section(name) for name in names)
            (folder / f"{room.stem}.rst").write_text(text, encoding="utf-8")


def _section(module: str) -> str:
    depth = "=" if module.count(".") == 1 else "-"
    text = f"{module}\n{depth * len(module)}\n\n.. automodule:: {module}\n   :members:\n"
    # What a package takes from its modules is said once more on top of the page, and no third time.
    return text if module.count(".") == 1 else f"{text}   :ignore-module-all:\n"
