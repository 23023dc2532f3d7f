"""Bring the notebooks up to date with their sources, or say which are not.

`build_labs` writes; `check_labs` only looks, compares sources and metadata and never outputs, and
needs no kernel.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.teaching.build.assemble import LANGUAGE, Assembled, assemble
from course_lib.teaching.build.drawings import stale_drawings, write_drawings
from course_lib.teaching.build.execute import tidy_outputs
from course_lib.teaching.build.project import BuildError, Project, StaleError, write_atomically
from course_lib.teaching.build.readme import readme_is_current, update_readme
from course_lib.teaching.build.workers import Job, require_result, run_jobs
from course_lib.teaching.claims import broken

if TYPE_CHECKING:
    from nbformat import NotebookNode


@dataclass(frozen=True, slots=True)
class Built:
    """What was done for one lab.

    Attributes
    ----------
    lab
        Its number.
    written
        The files that changed.
    executed
        Whether the solution was executed.
    waiting
        Whether the solution should have been executed but was told not to; it still is the old one.
    """

    lab: str
    written: tuple[Path, ...]
    executed: bool
    waiting: bool = False


def build_labs(
    labs: Sequence[str] | None = None,
    *,
    project: Project | None = None,
    jobs: int = 2,
    execute: bool = True,
) -> list[Built]:
    """Write the labs' notebooks in `labs/` and `solutions/`, their drawings and README's table.

    A solution is executed only where its code, the library code it shows or its checks changed
    since; where only prose changed, it keeps its outputs. A notebook whose execution fails is left
    as it was, and the others go on.

    Parameters
    ----------
    labs
        Numbers or names; None for all.
    project
        Whose; the course's by default.
    jobs
        How many to execute at a time.
    execute
        False writes the learner's notebooks, and of the solutions only those that need no
        execution.

    Raises
    ------
    BuildError
        A source breaks a rule, or a cell failed; each lab that did is named.
    """
    project = project or Project()
    assembled = [assemble(source, project) for source in project.sources(labs)]
    stale = [one for one in assembled if not _carry_outputs(one, project)]
    done = [_write(one, project, executed=False) for one in assembled if one not in stale]
    if not execute:
        done += [_write(one, project, executed=False, waiting=True) for one in stale]
    failures: list[str] = []
    for one, result in _execute(stale if execute else [], project, jobs):
        if isinstance(result, str):
            failures.append(result)
            continue
        one.solution.cells = result.cells
        done.append(_write(one, project, executed=True))
    write_drawings(project)
    update_readme(project)
    if failures:
        raise BuildError(
            "\n".join(failures),
            hint="What failed was left as it was; mend the source and build it again.",
        )
    return sorted(done, key=lambda built: built.lab)


def stale_notebooks(
    labs: Sequence[str] | None = None, *, project: Project | None = None
) -> list[str]:
    """Return what is not up to date, each as one line; outputs are never compared."""
    import nbformat

    project = project or Project()
    sources = project.sources(labs)
    found: list[str] = []
    for source in sources:
        one = assemble(source, project)
        for path, wanted in (
            (project.lab_notebook(source), one.lab),
            (project.solution_notebook(source), one.solution),
        ):
            name = project.relative(path)
            if not path.is_file():
                found.append(f"{name} is missing")
            elif _read(path) is None:
                found.append(f"{name} is not a notebook")
            elif reason := _difference(_read(path), json.loads(nbformat.writes(wanted))):
                found.append(f"{name} is stale: {reason}")
    if not labs:
        stems = {source.stem for source in sources}
        for folder in (project.labs, project.solutions):
            for path in sorted(folder.glob("*.ipynb")):
                if path.stem not in stems:
                    found.append(f"{project.relative(path)} has no source")
        found += stale_drawings(project)
        if not readme_is_current(project):
            found.append("README.md: the table of labs is stale")
    return found


def check_labs(labs: Sequence[str] | None = None, *, project: Project | None = None) -> None:
    """Raise `StaleError` that names what is not up to date and the command that makes it so."""
    if found := stale_notebooks(labs, project=project):
        command = " ".join(["course build", *(labs or ())])
        raise StaleError("\n".join(found), hint=f"Run `{command}` and commit what it writes.")


def dump(notebook: NotebookNode) -> str:
    """Return a notebook as it is committed: sorted keys, one space, a newline at the end."""
    import nbformat

    text: str = nbformat.writes(notebook, version=4)
    return text.rstrip("\n") + "\n"


def _write(one: Assembled, project: Project, *, executed: bool, waiting: bool = False) -> Built:
    paths = {project.lab_notebook(one.source): one.lab}
    if not waiting:
        paths[project.solution_notebook(one.source)] = one.solution
    written = tuple(path for path, node in paths.items() if write_atomically(path, dump(node)))
    return Built(one.source.lab, written, executed, waiting)


def _carry_outputs(one: Assembled, project: Project) -> bool:
    """Take over the outputs on disk; False where there are none that fit."""
    old = _read(project.solution_notebook(one.source))
    fingerprint = one.solution.metadata["course"]["executed"]
    if old is None or old.get("metadata", {}).get("course", {}).get("executed") != fingerprint:
        return False
    import nbformat

    before = [cell for cell in nbformat.from_dict(old).cells if cell.cell_type == "code"]
    after = [cell for cell in one.solution.cells if cell.cell_type == "code"]
    if [cell.source for cell in before] != [cell.source for cell in after]:
        return False
    if any(cell.execution_count is None for cell in before):
        return False
    for new, was in zip(after, before, strict=True):
        new.outputs, new.execution_count = was.outputs, was.execution_count
    return True


def _execute(
    stale: Sequence[Assembled], project: Project, jobs: int
) -> list[tuple[Assembled, NotebookNode | str]]:
    """Execute solutions; give for each the notebook, or one line that says what failed."""
    import nbformat

    by_lab = {one.source.lab: one for one in stale}
    work = [
        Job(
            lab,
            "course_lib.teaching.build.execute",
            {
                "notebook": nbformat.writes(one.solution),
                "cwd": str(project.solutions),
                "cells": len(one.solution.cells),
            },
        )
        for lab, one in by_lab.items()
    ]
    results: list[tuple[Assembled, NotebookNode | str]] = []
    for ended in run_jobs(work, at_once=jobs, root=project.root, title="executing"):
        one = by_lab[ended.job.key]
        name = project.relative(project.solution_notebook(one.source))
        try:
            result = require_result(ended)
        except BuildError as died:
            results.append((one, f"{name}: {died}"))
            continue
        if error := result["error"]:
            where = f"{name}, cell {error['index']} ({error['cell']}, {error['line']!r})"
            results.append((one, f"{where} failed: {error['message']}"))
            continue
        notebook = nbformat.reads(result["notebook"], as_version=4)
        if faults := broken(notebook.cells, project.claims(one.source.lab)):
            results.append((one, f"{name} does not show what it says:\n" + "\n".join(faults)))
            continue
        tidy_outputs(notebook, project.root)
        results.append((one, notebook))
    return results


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("cells"), list):
        return None
    for cell in found["cells"]:  # on disk a source is a list of lines
        cell["source"] = "".join(cell.get("source", ""))
        for output in cell.get("outputs", []):
            if isinstance(output.get("text"), list):
                output["text"] = "".join(output["text"])
            for kind, value in output.get("data", {}).items():
                if isinstance(value, list) and not kind.endswith("json"):
                    output["data"][kind] = "".join(value)
    return found


def _difference(disk: dict[str, Any] | None, wanted: dict[str, Any]) -> str:
    """Say how a notebook on disk differs from what its source gives; empty where it does not."""
    assert disk is not None
    if disk.get("metadata") != wanted["metadata"]:
        keys = set(disk.get("metadata", {})) | set(wanted["metadata"])
        differing = [
            k for k in sorted(keys) if disk["metadata"].get(k) != wanted["metadata"].get(k)
        ]
        return f"its metadata ({', '.join(differing)})"
    if len(disk["cells"]) != len(wanted["cells"]):
        return f"{len(disk['cells'])} cells instead of {len(wanted['cells'])}"
    for index, (was, now) in enumerate(zip(disk["cells"], wanted["cells"], strict=True)):
        for key in ("cell_type", "id", "metadata", "source"):
            value = now.get(key)
            if was.get(key) != ("".join(value) if key == "source" else value):
                return f"{key} of cell {index} ({now['id']})"
    if (
        any(cell.get("outputs") for cell in disk["cells"])
        and "executed" not in disk["metadata"]["course"]
    ):
        return "a learner's notebook with outputs"
    return ""


__all__ = ["LANGUAGE", "Built", "build_labs", "check_labs", "dump", "stale_notebooks"]
