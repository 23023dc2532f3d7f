"""Make Colab's own Python able to run a lab: install what is missing or too old, no more.

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
    """Return the packages that this Python lacks or has too old for the labs, with their pins."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["field"]]
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?(==[^\s;]+)", lock, re.M))
    found = []
    for requirement in needed:
        asked, _, marker = requirement.partition(";")
        name = re.match(r"[\w.-]+", asked)[0]  # type: ignore[index]
        asked, _, least = asked.strip().partition(">=")
        try:
            is_there = numbers(version(name)) >= numbers(least)
        except PackageNotFoundError:
            is_there = False
        if not is_there:
            asked += "" if "==" in asked else pins.get(name, "")
            found.append(asked + (f"; {marker.strip()}" if marker else ""))
    return found


def numbers(text: str) -> list[int]:
    """Return the numbers of a version, of which the first that differs decides."""
    return [int(number) for number in re.findall(r"\d+", text)]


if __name__ == "__main__":
    if packages := missing():
        print("Installing", *(one.split(";")[0] for one in packages), flush=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", *packages]
        raise SystemExit(subprocess.run(command, check=False).returncode)
