"""`python -m tests.bench.scale.shards`: what shards of a pipeline gain, in containers.

The same corpus is ingested by 1, 2 and 4 containers of the embedder's image (`make images`), each
with a quarter of a core, into a database outside of them. The seconds until a container's model
has encoded a first text are told apart: every shard needs them. `--folder course_lib`, the default,
takes half an hour; `--folder data` three minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from course_lib.errors import CourseError
from course_lib.pipeline.components import EMBEDDER
from course_lib.pipeline.corpus import shard_names, write_corpus
from course_lib.pipeline.sources import read_folder
from course_lib.store import fresh_database
from tests.bench.scale.results import Figures, keep

COUNTS = (1, 2, 4)
CORES = 0.25
"""Of each container."""

FOLDER = "course_lib"
"""What is ingested: more than ten minutes of one container."""


def main(words: list[str] | None = None) -> int:
    """Measure, and write the figures to the file of this hardware; 1 where it cannot be done."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.scale.shards",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--folder", default=FOLDER, help="what is ingested (default: %(default)s)")
    parser.add_argument(
        "--no-results", action="store_true", help="print the figures, and write none"
    )
    given = parser.parse_args(words)
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        refuse_without_image()
        with tempfile.TemporaryDirectory(prefix="bench-shards-") as name:
            folder = make_corpus(Path(name), given.folder)
            for count in COUNTS:
                figures = ingest(folder, count)
                console.print_json(json.dumps(figures))
                if not given.no_results:
                    keep("shards", str(count), figures)
    except CourseError as error:
        console.print("[red]error:[/red]", end=" ")
        console.print(error.args[0], error.hint or "", sep="\n", soft_wrap=True, markup=False)
        return 1
    return 0


def refuse_without_image() -> None:
    """Stop where Docker's engine does not answer, or does not have the image.

    Raises
    ------
    CourseError
        With what to do.
    """
    asked = ["docker", "image", "inspect", "--format", "{{.Id}}", EMBEDDER]
    try:
        done = subprocess.run(asked, capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError:
        raise CourseError("docker is not on PATH", hint="Install Docker's engine.") from None
    if done.returncode:
        raise CourseError(
            f"Docker has no image {EMBEDDER}: {done.stderr.strip()}",
            hint="Start the engine, or build the images with `make images`.",
        )


def make_corpus(folder: Path, source: str) -> Path:
    """Put the documents and a shard's program into a folder that a container's user can read."""
    write_corpus(folder / "documents.jsonl", read_folder(source, repo="shards"))
    shutil.copy(Path(__file__).with_name("shard.py"), folder)
    folder.chmod(0o755)
    return folder


def ingest(folder: Path, count: int) -> Figures:
    """Ingest the corpus by so many containers at once."""
    with fresh_database("shards") as database:
        begin = time.time()
        containers = [start(folder, shard, database.url) for shard in shard_names(count)]
        shards = [finish(container) for container in containers]
    return {
        "containers": count,
        "cores_each": CORES,
        "chunks": sum(shard["chunks"] for shard in shards),
        "most_chunks": max(shard["chunks"] for shard in shards),
        "start_seconds": max(shard["ready"] for shard in shards) - begin,
        "work_seconds": max(shard["end"] - shard["ready"] for shard in shards),
        "cpu_seconds": sum(shard["cpu"] for shard in shards),
    }


def start(folder: Path, shard: str, url: str) -> subprocess.Popen[str]:
    """Start the container of a shard; the database listens on this machine's loopback alone."""
    command = ["docker", "run", "--rm", "--network", "host", "--cpus", str(CORES)]
    command += ["--volume", f"{folder}:/job:ro", "--env", "DATABASE_URL", "--env", "RAG_THREADS=1"]
    command += ["--entrypoint", "python", EMBEDDER]
    command += ["/job/shard.py", "/job/documents.jsonl", shard]
    return subprocess.Popen(
        command, env=os.environ | {"DATABASE_URL": url}, stdout=subprocess.PIPE, encoding="utf-8"
    )


def finish(container: subprocess.Popen[str]) -> Figures:
    """Wait for a container and return what it printed last.

    Raises
    ------
    CourseError
        If it failed; what it said is on standard error.
    """
    said, _ = container.communicate()
    if container.returncode:
        raise CourseError(f"a container ended with {container.returncode}", hint="See above.")
    figures: Figures = json.loads(said.splitlines()[-1])
    return figures


if __name__ == "__main__":
    sys.exit(main())
