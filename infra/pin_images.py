"""Pin the images that others made by their digests: a tag can be given to another image tomorrow.

`python infra/pin_images.py` asks the registries, with docker's buildx, which image each tag names
now, and writes its digest after the tag, wherever the tag stands in this folder. Run again, it
takes what the tags name by then; `git diff` shows what changed. It needs docker and the network;
where one digest cannot be had, no file is changed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

INFRA = Path(__file__).resolve().parent
FILES = ("docker/*.Dockerfile", "docker-compose.yml", "kind-config.yaml", "k8s/**/*.yaml")
IMAGE = re.compile(
    r"^(?P<before>FROM |[ -]*image: )(?!rag-)(?P<tag>[\w./-]+:[\w.-]+)(?:@sha256:[0-9a-f]{64})?",
    re.MULTILINE,
)
"""An image with a tag; those that begin with `rag-` are built here."""


def digest_of(tag: str) -> str:
    """Return the digest that a registry gives for a tag.

    Raises
    ------
    OSError
        docker cannot be run.
    ValueError
        The registry cannot be reached, or says something else.
    """
    command = ["docker", "buildx", "imagetools", "inspect", "--format", "{{json .Manifest}}", tag]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise ValueError(f"docker cannot tell the digest of {tag}: {done.stderr.strip()}")
    digest = str(json.loads(done.stdout)["digest"])
    if not re.fullmatch("sha256:[0-9a-f]{64}", digest):
        raise ValueError(f"docker gave {digest!r} as the digest of {tag}")
    return digest


def main() -> int:
    """Write the digests and return the exit code."""
    files = sorted(file for pattern in FILES for file in INFRA.glob(pattern))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    tags = sorted({found["tag"] for text in texts.values() for found in IMAGE.finditer(text)})
    try:
        digests = {tag: digest_of(tag) for tag in tags}
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"Nothing was changed: {error}", file=sys.stderr)
        return 1
    for file, text in texts.items():
        pinned = IMAGE.sub(lambda one: f"{one['before']}{one['tag']}@{digests[one['tag']]}", text)
        if pinned != text:
            file.write_text(pinned, encoding="utf-8", newline="\n")
            print(f"{file.relative_to(INFRA)}: changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
