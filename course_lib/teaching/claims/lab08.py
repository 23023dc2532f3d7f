"""What lab 08 says about its outputs."""

import re

from course_lib.teaching.claims import Claims, numbers


def statuses(shown: str, request: str) -> list[str]:
    """Return what a request was answered over time, as the timeline's description has it."""
    found = re.search(rf"{request} ((?:\w+ from [\d.]+ s(?:, )?)+)", shown)
    return re.findall(r"(\w+) from", found[1]) if found else []


CLAIMS: Claims = {
    "first = FastAPI()": {
        "It works": lambda shown: shown.startswith("200 "),
    },
    "mistakes = [": {
        "For three of the mistakes, the service reports an error of its own and gives no reason": (
            lambda shown: shown.count("500 Internal Server Error to") == 3
        ),
        "the client wanted one result, got five, and there was no error": (
            "200 5 results to {'query': 'drift', 'topk': 1}"
        ),
    },
    "/payroll": {
        "The answer contains the address of the database. Its status is 200": lambda shown: (
            shown.startswith("200 ") and "127.0.0.1" in shown
        ),
    },
    "def four_at_once(path)": {
        "only one request at a time waits in the database": lambda shown: (
            numbers(shown, "/async-def") == [1]
        ),
        "FastAPI runs a plain def in a thread": lambda shown: numbers(shown, "/def") > [1],
        "there are never more connections than you allow: at most two at a time here": (
            lambda shown: numbers(shown, "/pool") == [2]
        ),
    },
    "print(refused.status_code, refused.json())": {
        "the bad request gets a 422: your model refuses the unknown field": lambda shown: (
            shown.startswith("422 ") and "password" in shown and "3 results" in shown
        ),
        "It repeats what the client sent, here a password": "tulip-42",
    },
    "for body in [*mistakes": {
        "Every refusal now names a field and a reason, and none of them repeats the password": (
            lambda shown: (
                all(re.fullmatch(r"422 \w+: .+", line) for line in shown.splitlines())
                and len(shown.splitlines()) == 5
                and "tulip" not in shown
            )
        ),
    },
    "database.stop()": {
        "/health answers 200 all the time": lambda shown: statuses(shown, "GET /health") == ["200"],
        "/ready says 503 while the database is stopped": lambda shown: (
            "503" in statuses(shown, "GET /ready") and "'database': 'missing'" in shown
        ),
        "a refused search says when to try again": lambda shown: (
            "503" in statuses(shown, "POST /search")
            and re.search(r"Service Unavailable.* Retry-After: [1-9]", shown) is not None
        ),
        "all three answer 200 without a restart": lambda shown: (
            {statuses(shown, one)[-1] for one in ("GET /health", "GET /ready", "POST /search")}
            == {"200"}
        ),
    },
    "silent_database})": {
        '"not ready" names the database': lambda shown: (
            "/plain no answer" in shown and "'database': 'missing'" in shown
        ),
    },
    "encoder.batches": {
        "So there are fewer batches than texts": lambda shown: (
            numbers(shown, "in ", " batches")[0] < numbers(shown, "", " texts")[0] == 126
        ),
    },
    "/openapi.json": {
        "The cell prints the list of addresses, and the headings of this page for a question": (
            lambda shown: 0 < shown.find("POST /search") < shown.find("on the page: 1. ")
        ),
    },
    "direct = lab.measure_retrieval": {
        "The two results agree: an API must not change what the search finds": lambda shown: all(
            abs(there - here) < 0.025
            for here, there in zip(
                numbers(shown.partition(";")[0], "recall@5"), numbers(shown, "HTTP"), strict=True
            )
        ),
    },
}
