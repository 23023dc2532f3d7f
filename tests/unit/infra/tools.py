"""The tools that read files of infra/; where one is missing, its tests are skipped and say so."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import PACKAGES

ROOT = Path(__file__).resolve().parents[3]
INFRA = ROOT / "infra"


def run_tool(name: str, *words: str | Path) -> str:
    """Run a tool of this environment or machine, make sure that it has no complaint; its output."""
    program = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not here: {PACKAGES.get(name, 'make setup')}")
    done = subprocess.run(
        [program, *map(str, words)], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
