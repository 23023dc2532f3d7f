"""What lab 08 says about its outputs."""

import re

from course_lib.teaching.claims import Claim, numbers

PLUG = "database.stop()"
"""In the cell that stops the database and starts it again."""


def statuses(shown: str, request: str) -> list[str]:
    """Return what a request was answered over time, as the timeline's description has it."""
    found = re.search(rf"{request} ((?:\w+ from [\d.]+ s(?:, )?)+)", shown)
    return re.findall(r"(\w+) from", found[1]) if found else []


CLAIMS = (
    Claim("It works", "first = FastAPI()", holds=lambda shown: shown.startswith("200 ")),
    Claim(
        "For three of the mistakes, the service reports an error of its own and gives no reason",
        "mistakes = [",
        holds=lambda shown: shown.count("500 Internal Server Error to") == 3,
    ),
    Claim(
        "the client wanted one result, got five, and there was no error",
        "mistakes = [",
        holds=lambda shown: "200 5 results to {'query': 'drift', 'topk': 1}" in shown,
    ),
    Claim(
        "The answer contains the address of the database. Its status is 200",
        "/payroll",
        holds=lambda shown: shown.startswith("200 ") and "127.0.0.1" in shown,
    ),
    Claim(
        "only one request at a time waits in the database",
        "def four_at_once(path)",
        holds=lambda shown: numbers(shown, "/async-def") == [1],
    ),
    Claim(
        "FastAPI runs a plain def in a thread",
        "def four_at_once(path)",
        holds=lambda shown: numbers(shown, "/def") > [1],
    ),
    Claim(
        "there are never more connections than you allow: at most two at a time here",
        "def four_at_once(path)",
        holds=lambda shown: numbers(shown, "/pool") == [2],
    ),
    Claim(
        "the bad request gets a 422: your model refuses the unknown field",
        "print(refused.status_code, refused.json())",
        holds=lambda shown: (
            shown.startswith("422 ") and "password" in shown and "3 results" in shown
        ),
    ),
    Claim(
        "It repeats what the client sent, here a password",
        "print(refused.status_code, refused.json())",
        holds=lambda shown: "tulip-42" in shown,
    ),
    Claim(
        "Every refusal now names a field and a reason, and none of them repeats the password",
        "for body in [*mistakes",
        holds=lambda shown: (
            all(re.fullmatch(r"422 \w+: .+", line) for line in shown.splitlines())
            and len(shown.splitlines()) == 5
            and "tulip" not in shown
        ),
    ),
    Claim(
        "/health answers 200 all the time",
        PLUG,
        holds=lambda shown: statuses(shown, "GET /health") == ["200"],
    ),
    Claim(
        "/ready says 503 while the database is stopped",
        PLUG,
        holds=lambda shown: (
            "503" in statuses(shown, "GET /ready") and "'database': 'missing'" in shown
        ),
    ),
    Claim(
        "a refused search says when to try again",
        PLUG,
        holds=lambda shown: (
            "503" in statuses(shown, "POST /search")
            and re.search(r"Service Unavailable.* Retry-After: [1-9]", shown) is not None
        ),
    ),
    Claim(
        "all three answer 200 without a restart",
        PLUG,
        holds=lambda shown: (
            {statuses(shown, one)[-1] for one in ("GET /health", "GET /ready", "POST /search")}
            == {"200"}
        ),
    ),
    Claim(
        '"not ready" names the database',
        "silent_database})",
        holds=lambda shown: "/plain no answer" in shown and "'database': 'missing'" in shown,
    ),
    Claim(
        "So there are fewer batches than texts",
        "encoder.batches",
        holds=lambda shown: (
            numbers(shown, "in ", " batches")[0] < numbers(shown, "", " texts")[0] == 126
        ),
    ),
    Claim(
        "The cell prints the list of addresses, and the headings of this page for a question",
        "/openapi.json",
        holds=lambda shown: 0 < shown.find("POST /search") < shown.find("on the page: 1. "),
    ),
    Claim(
        "The two results agree: an API must not change what the search finds",
        "direct = lab.measure_retrieval",
        holds=lambda shown: all(
            abs(there - here) < 0.025
            for here, there in zip(
                numbers(shown.partition(";")[0], "recall@5"), numbers(shown, "HTTP"), strict=True
            )
        ),
    ),
)
