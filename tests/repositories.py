"""Git, for tests: by its own program, and with nobody's configuration."""

import os
import subprocess
from pathlib import Path

NOBODYS = {
    **{"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
    **{f"GIT_{role}_NAME": "Ada" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "ada@example.org" for role in ("AUTHOR", "COMMITTER")},
}


def git(folder: Path, *words: str | Path, **environment: str) -> str:
    """Run git in a folder and return what it prints."""
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**os.environ, **NOBODYS, **environment},
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return done.stdout.strip()
