"""Many clients that ask at once, in a process of their own: `python -m tests.service.crowd URL …`.

Questions come as JSON on standard input; each client asks one after the other over a connection
that it keeps. What it found is printed as JSON: requests, answers that were not success, and the
seconds that each request took.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from course_lib.settings import project_root


@dataclass(frozen=True)
class Crowd:
    """What a crowd met: the seconds of each answer, and everything that was not a good answer."""

    seconds: list[float]
    failures: list[str]


def ask_all(url: str, questions: Sequence[str], clients: int, seconds: float) -> Crowd:
    """Let `clients` ask for `seconds`, in another process than the caller's."""
    command = [sys.executable, "-m", "tests.service.crowd", url, str(clients), str(seconds)]
    done = subprocess.run(
        command,
        cwd=project_root(),
        input=json.dumps(list(questions)),
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=seconds + 300,
    )
    return Crowd(**json.loads(done.stdout))


def _client(
    url: str, questions: Sequence[str], number: int, end: float, crowd: Crowd, gate: threading.Event
) -> None:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=120)
    gate.wait()
    turn = number
    while time.monotonic() < end:
        body = json.dumps({"query": questions[turn % len(questions)], "top_k": 5})
        turn += 1
        begin = time.perf_counter()
        try:
            connection.request("POST", "/search", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
        except OSError as error:
            crowd.failures.append(repr(error))
            connection.close()
            continue
        crowd.seconds.append(time.perf_counter() - begin)
        if answer.status != 200 or not json.loads(content)["results"]:
            crowd.failures.append(f"{answer.status} {content[:200]!r}")
    connection.close()


def main() -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("clients", type=int)
    parser.add_argument("seconds", type=float)
    given = parser.parse_args()
    questions = json.load(sys.stdin)
    crowd, gate = Crowd([], []), threading.Event()
    end = time.monotonic() + given.seconds
    threads = [
        threading.Thread(target=_client, args=(given.url, questions, number, end, crowd, gate))
        for number in range(given.clients)
    ]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"seconds": crowd.seconds, "failures": crowd.failures}))


if __name__ == "__main__":
    main()
