"""Tidying up: what the course made and can make again is removed, the learner's work is not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from course_lib.settings import project_root, state_dir

CACHES = (
    ".hypothesis",
    ".import_linter_cache",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "htmlcov",
)


def clean(root: Path | None = None) -> Iterator[str]:
    """Stop the embedded server and remove its data, the build products and the caches.

    `.venv` and `my/` stay. Yields the name of each folder or file as it is removed.
    """
    from course_lib.store.server import remove_server

    base = root or project_root()
    state = state_dir() if root is None else base / ".course"
    if state.is_dir():
        remove_server(state)
        shutil.rmtree(state)
        yield str(state.name)
    for name in ("build", *CACHES):
        if (base / name).is_dir():
            shutil.rmtree(base / name)
            yield name
    for path in sorted(base.glob(".coverage*")):
        if path.is_file():
            path.unlink()
            yield path.name
