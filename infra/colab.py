"""Make Colab's own Python able to run a lab: install what is missing, and leave what is there.

`infra/site/start.md` has the cell that calls this. Colab does not let a notebook choose another
kernel, so the course's environment cannot be used there, and the versions are Colab's.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def missing(root: Path = ROOT) -> list[str]:
    """Return the packages that the labs need and this Python does not have, with their pins."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["field"]]
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?(==[^\s;]+)", lock, re.M))
    found = []
    for requirement in needed:
        name = re.match(r"[\w.-]+", requirement)[0]  # type: ignore[index]
        try:
            version(name)
        except PackageNotFoundError:
            asked, _, marker = requirement.partition(";")
            asked = asked.strip() + ("" if "==" in asked else pins.get(name, ""))
            found.append(asked + (f"; {marker.strip()}" if marker else ""))
    return found


if __name__ == "__main__":
    if packages := missing():
        print("Installing", *(one.split(";")[0] for one in packages), flush=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", *packages]
        raise SystemExit(subprocess.run(command, check=False).returncode)
