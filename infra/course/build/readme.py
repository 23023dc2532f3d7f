"""README's table of labs, made from the learner's notebooks' metadata, between two markers."""

from __future__ import annotations

import json
import re

from course_lib.teaching.notebooks.project import BuildError, Project, write_atomically

BEGIN_MARK = "<!-- labs:begin -->"
END_MARK = "<!-- labs:end -->"

_ESTIMATED = (
    "for a reader who writes Python functions and classes and knows SQL. The times are estimates "
    "from the words, cells and exercises of each lab; no class has been timed yet."
)


def readme_table(project: Project) -> str:
    """Return the table of labs in Markdown: link, promise, minutes, objectives, what is built."""
    minutes = 0
    lines = ["| Lab | Time | You will be able to | Builds |", "|---|---|---|---|"]
    for source in project.sources():
        path = project.lab_notebook(source)
        if not path.is_file():
            continue
        meta = json.loads(path.read_text(encoding="utf-8"))["metadata"]["course"]
        builds = ", ".join(f"`{b}`" if b.endswith(".py") else b for b in meta["builds"]) or "—"
        # a link leads from labs/
        promise = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", meta["promise"])
        cells = (
            f"[**{meta['lab']} · {meta['title']}**]({project.relative(path)})<br>{promise}",
            f"{meta['minutes']} min",
            " · ".join(meta["objectives"]),
            builds,
        )
        minutes += meta["minutes"]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines += ["", f"About {round(minutes / 60)} hours in all, {_ESTIMATED}"]
    return "\n".join(lines)


def update_readme(project: Project) -> None:
    """Write the table into README.md where it has the markers."""
    if (wanted := _with_table(project)) is not None:
        write_atomically(project.root / "README.md", wanted)


def readme_is_current(project: Project) -> bool:
    """Tell whether README.md holds the table that the notebooks give (or has no place for one)."""
    wanted = _with_table(project)
    return wanted is None or wanted == (project.root / "README.md").read_text(encoding="utf-8")


def _with_table(project: Project) -> str | None:
    path = project.root / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if BEGIN_MARK not in text:
        return None
    before, _, rest = text.partition(BEGIN_MARK)
    _, end, after = rest.partition(END_MARK)
    if not end:
        raise BuildError(f"README.md has {BEGIN_MARK} without {END_MARK}")
    return f"{before}{BEGIN_MARK}\n{readme_table(project)}\n{END_MARK}{after}"
