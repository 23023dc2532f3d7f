"""The course as a site in `build/site`: Sphinx with the pages of the repository, and no network.

The pages are the repository's own: README, labs, solutions with their outputs, the READMEs of the
folders; `infra/site/conf.py` says how. The library's reference is made here, a page a room.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.settings import project_root


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
        modules = {
            ".".join(file.relative_to(package.parent).with_suffix("").parts): file
            for file in files
            if file.suffix == ".py" and not file.name.startswith("__main__")
        }
        modules = {name.removesuffix(".__init__"): file for name, file in modules.items()}
        taken = _taken(room / "__init__.py") if room.is_dir() else {}
        if modules:
            text = "\n".join(_section(name, taken) for name in modules)
            (folder / f"{room.stem}.rst").write_text(text, encoding="utf-8")


def _taken(package: Path) -> dict[str, list[str]]:
    """Return the names that a package takes from modules, by module."""
    tree = ast.parse(package.read_text(encoding="utf-8"))
    return {
        str(line.module): [alias.name for alias in line.names if not alias.name.isupper()]
        for line in tree.body
        if isinstance(line, ast.ImportFrom)
    }


def _section(module: str, taken: dict[str, list[str]]) -> str:
    """Describe a module; what its package takes from it is said on top of the page only."""
    top = module.count(".") == 1
    text = f"{module}\n{('=' if top else '-') * len(module)}\n\n"
    text += f".. automodule:: {module}\n   :members:\n"
    if not top:
        text += "   :ignore-module-all:\n"
        elsewhere = taken.get(module, [])
    else:
        others = [name for name in taken if not name.startswith(f"{module}.")]
        elsewhere = [one for name in others for one in taken[name]]
    return text + (f"   :exclude-members: +{', '.join(elsewhere)}\n" if elsewhere else "")
