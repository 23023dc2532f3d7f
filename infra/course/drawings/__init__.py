"""The labs' drawings: pictures of an idea, made by the build and shown by a lab's prose.

A drawing is a module here with a function `draw() -> matplotlib.figure.Figure`; its name is the
picture's: `ivf_cells.py` becomes `labs/figures/ivf_cells.svg`. A lab shows it as
``![what is to be seen](../labs/figures/ivf_cells.svg)``, a path that holds in `labs/`, in
`solutions/` and in `my/`. Figures of data are not drawings: they are the outputs of cells.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.files import write_atomically
from course_lib.teaching.lab.figures.base import INK, PAPER
from course_lib.teaching.notebooks.project import BuildError, LabSource, Project

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
_SHOWN = re.compile(r"!\[([^\]]*)\]\(\.\./labs/figures/(\w+)\.svg\)")


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of this many inches, and axes over all of it that count in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return figure, axes


def box(axes: Axes, x: float, y: float, width: float, height: float, **look: Any) -> None:
    """Draw a rectangle whose lower left corner is at (x, y)."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, **look))


def label(axes: Axes, x: float, y: float, text: str, **look: Any) -> None:
    """Write a text whose middle is at the height y."""
    axes.text(x, y, text, **{"va": "center", **look})


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], **look: Any) -> None:
    """Draw an arrow."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", **look})


def write_drawings(project: Project) -> list[Path]:
    """Draw what the labs show and is not there, or is from an earlier version of its module.

    Raises
    ------
    BuildError
        A lab shows a drawing that no module draws, or shows one without a text for those who
        cannot see it.
    """
    return [path for path in _outdated(project) if write_atomically(path, _svg(path.stem))]


def stale_drawings(project: Project) -> list[str]:
    """Return which drawings are not up to date, and which no lab shows, each as one line."""
    names = {name for source in project.sources() for name in _shown_by(source)}
    found = [f"{project.relative(path)} is stale" for path in _outdated(project)]
    for path in sorted(_folder(project).glob("*.svg")):
        if path.stem not in names:
            found.append(f"{project.relative(path)} is shown by no lab")
    return found


def _folder(project: Project) -> Path:
    return project.labs / "figures"


def _outdated(project: Project) -> list[Path]:
    paths = []
    for source in project.sources():
        for name in _shown_by(source):
            path = _folder(project) / f"{name}.svg"
            if not path.is_file() or _fingerprint(name) not in path.read_text(encoding="utf-8"):
                paths.append(path)
    return paths


def _shown_by(source: LabSource) -> Sequence[str]:
    names = []
    for alt, name in _SHOWN.findall(source.path.read_text(encoding="utf-8")):
        if not (HERE / f"{name}.py").is_file():
            raise BuildError(
                f"{source.path.name} shows a drawing {name!r} that is not there",
                hint=f"Write {Path(__file__).parent.name}/{name}.py with a function draw().",
            )
        if not alt:
            raise BuildError(
                f"{source.path.name} shows the drawing {name!r} without a description",
                hint="Say between the brackets what is to be seen, for readers who cannot see it.",
            )
        names.append(name)
    return names


def _fingerprint(name: str) -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes() + (HERE / f"{name}.py").read_bytes())
    return f"drawn by {name}.py, {digest.hexdigest()[:16]}"


def _svg(name: str) -> str:
    """Return a drawing as SVG, the same on every machine."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever a person, or code before it, has set
        matplotlib.rcParams.update({"svg.hashsalt": name, "font.size": 10, "text.color": INK})
        figure = import_module(f"{__name__}.{name}").draw()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Title": _fingerprint(name)})
    return re.sub(r"[ \t]+$", "", buffer.getvalue(), flags=re.M)
