"""Fetching: a list of files goes in, their contents come out, a few at a time.

One file that cannot be had does not keep the others from coming. A limit that would take too long,
or a token that is refused, ends it all at once; so does a server that has stopped to answer.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from course_lib.loader.github.api import FileReader, UnavailableError
from course_lib.loader.github.errors import UnreachableError
from course_lib.loader.github.tree import TreeEntry

IN_A_ROW = 5
"""So many files that fail one after the other for the server's sake end the download."""

Outcome = tuple[TreeEntry, bytes, BaseException | None]


def fetch_all(
    reader: FileReader,
    entries: Iterable[TreeEntry],
    store: Callable[[TreeEntry, bytes], None],
    fail: Callable[[TreeEntry, str], None],
    *,
    concurrency: int,
    stop: Callable[[], None],
    progress: bool = False,
) -> None:
    """Read files and hand each over as it comes, in the thread of the caller.

    Parameters
    ----------
    reader
        Reads one file.
    entries
        What to read; a content that stands at several paths is read once if the caller names it
        once.
    store, fail
        Get the content of a file, or why it could not be had.
    concurrency
        Requests at once.
    stop
        Ends the waiting of all threads; called where the download ends early.
    progress
        Whether to show a bar on a terminal.

    Raises
    ------
    GitHubError
        What ends it all.
    """
    waiting = list(entries)[::-1]
    todo: SimpleQueue[TreeEntry | None] = SimpleQueue()
    done: SimpleQueue[Outcome] = SimpleQueue()
    # Daemons: one that hangs on a dead connection must not keep the process from ending.
    for _ in range(min(concurrency, len(waiting))):
        threading.Thread(target=_work, args=(reader, todo, done), daemon=True).start()
    running = in_a_row = 0
    try:
        with _bar(len(waiting), progress) as advance:
            while waiting or running:
                # No more than can run at once: an early end leaves nothing queued.
                while waiting and running < concurrency:
                    todo.put(waiting.pop())
                    running += 1
                entry, content, error = _next(done)
                running -= 1
                if error is None:
                    in_a_row = 0
                    store(entry, content)
                elif isinstance(error, UnavailableError):
                    fail(entry, str(error))
                elif isinstance(error, UnreachableError) and in_a_row + 1 < IN_A_ROW:
                    in_a_row += 1
                    fail(entry, str(error.args[0]))
                else:
                    raise error
                advance(1)
    except BaseException:
        stop()
        raise
    finally:
        for _ in range(concurrency):
            todo.put(None)


def _work(
    reader: FileReader, todo: SimpleQueue[TreeEntry | None], done: SimpleQueue[Outcome]
) -> None:
    while (entry := todo.get()) is not None:
        try:
            done.put((entry, reader.read(entry), None))
        except BaseException as error:
            done.put((entry, b"", error))


def _next(done: SimpleQueue[Outcome]) -> Outcome:
    while True:
        try:
            # With a time limit, Ctrl-C gets through on Windows as well.
            return done.get(timeout=0.2)
        except Empty:
            continue


@contextmanager
def _bar(total: int, progress: bool) -> Iterator[Callable[[int], object]]:
    if not progress or not total or not sys.stderr.isatty():
        yield lambda count: None
        return
    from tqdm import tqdm

    with tqdm(total=total, desc="download", unit="file") as bar:
        yield bar.update
