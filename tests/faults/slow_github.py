"""The command line with the commands around GitHub and a slow model, as a program of its own."""

import signal

from slow_course import SlowClient

import course_lib.embedder
from course_lib.cli import front_door, main
from course_lib.indexing import update

if __name__ == "__main__":
    # A shell starts what runs in its background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    course_lib.embedder.EmbeddingClient = SlowClient  # type: ignore[misc]
    update.BATCH_CHUNKS = 8
    front_door.MODULES.setdefault("github", ("ingest-repo", "github-server"))
    main()
