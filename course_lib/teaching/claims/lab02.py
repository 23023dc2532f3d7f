"""What lab 02 says about its outputs."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claim, numbers

LIMITS = 'print("named in the piece:"'
REFUSED = 'print(f"{len(refused)} of'
FIRST = 'print(f"\\nthe first {key!r}'
PARSER = 'print(f"equal to the parser'
UNSURE = 'print(f"unsure about'
SCARS = "for name in refused:\n    for span"
WHOLE = 'print("read to the end, pieces of:"'
PIECES = 'print(f"{len(sizes)} pieces, nothing lost'
OWNER = "[piece] = [piece for piece in pieces"
SOURCES = "def course_pieces("
KUSTOMIZE = 'if not which("kubectl"):'
FOUR = "definitions  schemas  pieces"
MEASURED = "answer and owner in one piece"
PLACES = "places.index(True) + 1:3}"


def _row(shown: str, what: str) -> list[float]:
    """Return pieces, recall, MRR, answers with their owner, and questions."""
    return numbers(shown, f"{what} ".ljust(19))


def _definitions(shown: str, number: int, schemas: str) -> list[float]:
    """Return pieces, results from definitions, all results, recall and MRR."""
    return numbers(shown, f"{number:11}  {schemas:7}")


def _differ(shown: str) -> list[tuple[str, ...]]:
    """Return, where lines and parser differ: file, kind and name as read, kind and name."""
    return re.findall(
        r"^  (\S+): \((.+), (.+)\), but the parser says \((.+), (.+)\)$", shown, re.MULTILINE
    )


def _places(shown: str, what: str) -> list[float]:
    """Return at which place each of the two questions finds the limit."""
    return [float(place) for place in re.findall(rf"^  {what} +(\d+) of", shown, re.MULTILINE)]


CLAIMS = (
    Claim(
        "The piece names one container, log-shipper, and it is the wrong one",
        LIMITS,
        holds=lambda shown: (
            "predictor {'memory': '3Gi'}" in shown and "named in the piece: log-shipper\n" in shown
        ),
    ),
    Claim(
        "A parser refuses Helm templates. It also refuses a whole file because of one bad document",
        REFUSED,
        holds=lambda shown: "'chart/templates/" in shown and "'odd/broken.yaml'" in shown,
    ),
    Claim(
        "in comments people write why",
        REFUSED,
        holds=lambda shown: numbers(shown.splitlines()[-1])[0] >= 10,
    ),
    Claim(
        "There are three. The rule has two parts",
        "print(\"by '---':  \"",
        holds=lambda shown: (
            numbers(shown, "the parser:") == [3]
            and numbers(shown, "by '---':") != [3]
            and numbers(shown, r"by '\n---\n':") != [3]
        ),
    ),
    Claim(
        "The parser finds the same numbers",
        'print(f"{len(found)} documents in',
        holds=lambda shown: numbers(shown)[0] > numbers(shown)[1] and "the parser" not in shown,
    ),
    Claim(
        "A binding names the namespace of its subject",
        FIRST,
        holds=lambda shown: re.search(r": ClusterRoleBinding has None, not \S", shown),
    ),
    Claim(
        "A Kustomization gives a namespace to other resources and has none itself",
        FIRST,
        holds=lambda shown: len(re.findall(r": Kustomization has None, not heron-", shown)) == 2,
    ),
    Claim(
        "The differences are documents in braces, as in JSON, and a name in a block scalar",
        PARSER,
        holds=lambda shown: (
            len(differ := _differ(shown)) == numbers(shown)[1] - numbers(shown)[0]
            and {one[0] for one in differ} == {"odd/flow-style.yaml"}
            # What is in braces is not read at all; of a block scalar the sign is read.
            and sorted(one[2] for one in differ) == ["'>-'", *["None"] * (len(differ) - 1)]
            and {one[1] for one in differ if one[1] != one[3]} == {"None"}
        ),
    ),
    Claim(
        "For the few documents without a usual head it calls a parser",
        UNSURE,
        holds=lambda shown: (
            0 < numbers(shown)[0] < numbers(shown)[1] / 4
            and numbers(shown, "wrong about the others:") == [0]
        ),
    ),
    Claim(
        "You get all four, and those of the templates",
        REFUSED,
        SCARS,
        holds=lambda refused, shown: (
            shown.count("odd/broken.yaml") == 4
            and all(name in shown for name in re.findall(r"'(\S+\.yaml)'", refused))
        ),
    ),
    Claim(
        "All pieces that fit come from one file",
        WHOLE,
        holds=lambda shown: "read to the end, pieces of: {'crds/trainingruns.yaml'}" in shown,
    ),
    Claim(
        "and drops the rest without a warning",
        WHOLE,
        holds=lambda shown: numbers(shown, "word pieces;")[0] > 1,
    ),
    Claim(
        "with depth −1",
        "lines = lines_of(small, 0, len(small))",
        holds=lambda shown: "start depth first path" in shown,
    ),
    Claim(
        "Each piece ends with its block, or before",
        "lab.show.outline(small, lines, cuts)",
        holds=lambda shown: "cut into 4 pieces" in shown,
    ),
    Claim(
        "in the first of the containers",
        "def cut_document(",
        holds=lambda shown: shown.endswith("is in Deployment spec.template.spec.containers[0]."),
    ),
    Claim(
        "No line is missing, and everything fits",
        PIECES,
        holds=lambda shown: (
            "nothing lost: True" in shown
            and (sizes := numbers(shown, "at most"))[0] <= 700
            and sizes[1] <= 256
        ),
    ),
    Claim(
        "can follow the path",
        OWNER,
        holds=lambda shown: (
            "at spec.template.spec.containers[0]" in shown and shown.endswith("- name: predictor")
        ),
    ),
    Claim(
        "No other container is named in the piece",
        OWNER,
        holds=lambda shown: numbers(shown, "named in it:") == [0],
    ),
    Claim(
        "With its schema, one file is a large part of the index",
        SOURCES,
        holds=lambda shown: (
            numbers(shown, "whole schemas, the definition")[0]
            > numbers(shown, "whole schemas, all other files")[0] / 2
        ),
    ),
    Claim(
        "With one definition, recall is lower with the policy",
        FOUR,
        holds=lambda shown: _definitions(shown, 1, "top")[3] < _definitions(shown, 1, "whole")[3],
    ),
    Claim(
        "With four definitions, whole schemas find no more than the policy",
        FOUR,
        holds=lambda shown: _definitions(shown, 4, "whole")[3] <= _definitions(shown, 4, "top")[3],
    ),
    Claim(
        "the policy makes the index less than half as large",
        FOUR,
        holds=lambda shown: (
            _definitions(shown, 4, "top")[0] < _definitions(shown, 4, "whole")[0] / 2
        ),
    ),
    Claim(
        "The version is there, but the reason for it is not",
        KUSTOMIZE,
        holds=lambda shown: "not installed" in shown or "0 comments\nTrue False\n" in shown,
    ),
    Claim(
        "names of generated ConfigMaps end with a hash of their content",
        KUSTOMIZE,
        holds=lambda shown: "not installed" in shown or re.search(r"release-notes-\w{10}", shown),
    ),
    Claim(
        "With good cuts but no header, the search is worse",
        MEASURED,
        holds=lambda shown: (
            _row(shown, "yours, no header")[1] < _row(shown, "every 1,000")[1]
            and _row(shown, "yours, no header")[3] < _row(shown, "every 1,000")[3]
        ),
    ),
    Claim(
        "the smaller a piece is, the less it says about its resource",
        MEASURED,
        holds=lambda shown: _row(shown, "yours, no header")[0] > 2 * _row(shown, "every 1,000")[0],
    ),
    Claim(
        "With the header it is better",
        MEASURED,
        holds=lambda shown: (
            _row(shown, "yours")[2] > _row(shown, "every 1,000")[2] + 0.04
            and _row(shown, "yours")[1] > _row(shown, "yours, no header")[1] + 0.04
            and _row(shown, "yours")[3] > _row(shown, "every 1,000")[3]
        ),
    ),
    Claim(
        "it joins small neighbours into one piece",
        MEASURED,
        holds=lambda shown: _row(shown, "course split")[0] < 0.7 * _row(shown, "yours")[0],
    ),
    Claim(
        "Now the piece is second",
        PLACES,
        holds=lambda shown: _places(shown, "yours")[1] == 2,
    ),
    Claim(
        "Its header says whose limit it is",
        PLACES,
        holds=lambda shown: (
            "Deployment forecast-api:" in shown.partition("\n\n")[2]
            and "memory: 3Gi" in shown.partition("\n\n")[2]
        ),
    ),
    Claim(
        "The piece before it has the limits of the same Deployment's init container",
        PLACES,
        holds=lambda shown: ".spec.initContainers[0].resources" in shown.partition("\n\n")[2],
    ),
    Claim(
        "Without the header, the same lines are far down the list",
        PLACES,
        holds=lambda shown: _places(shown, "yours, no header")[1] > 10,
    ),
    Claim(
        "the question has only a number that a search can use, and vectors represent numbers badly",
        PLACES,
        holds=lambda shown: min(_places(shown, what)[0] for what in ("yours", "course split")) > 5,
    ),
)
