"""A plugin for pytest with nbval: after a notebook's last cell has run, its lab's claims must hold.

`python -m pytest --nbval -p course_lib.teaching.claims.in_nbval solutions`
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from course_lib.teaching.claims import broken, claims_file, claims_of


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Generator[None, Any, Any]:
    """Keep what a cell has shown; at the last one, fail if a claim does not hold."""
    result = yield
    if type(item).__name__ == "IPyNbCell":
        notebook = item.parent.nb
        item.cell.outputs = item.test_outputs
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        lab = notebook.metadata.get("course", {}).get("lab")
        if item.cell is code[-1] and lab:
            if faults := broken(notebook.cells, claims_of(lab)):
                raise AssertionError("\n".join([f"{claims_file(lab)}:", *faults]))
    return result
