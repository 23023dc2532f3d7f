"""What lab 02 says about its outputs."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claims, numbers

REFUSED = 'print(f"{len(refused)} of'


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


CLAIMS: Claims = {
    'print("named in the piece:"': {
        "The piece names one container, log-shipper, and it is the wrong one": lambda shown: (
            "predictor {'memory': '3Gi'}" in shown and "named in the piece: log-shipper\n" in shown
        ),
    },
    REFUSED: {
        (
            "A parser refuses Helm templates. "
            "It also refuses a whole file because of one bad document"
        ): (lambda shown: "'chart/templates/" in shown and "'odd/broken.yaml'" in shown),
        "in comments people write why": lambda shown: numbers(shown.splitlines()[-1])[0] >= 10,
    },
    "print(\"by '---':  \"": {
        "There are three. The rule has two parts": lambda shown: (
            numbers(shown, "the parser:") == [3]
            and numbers(shown, "by '---':") != [3]
            and numbers(shown, r"by '\n---\n':") != [3]
        ),
    },
    'print(f"{len(found)} documents in': {
        "The parser finds the same numbers": lambda shown: (
            numbers(shown)[0] > numbers(shown)[1] and "the parser" not in shown
        ),
    },
    'print(f"\\nthe first {key!r}': {
        "A binding names the namespace of its subject": lambda shown: re.search(
            r": ClusterRoleBinding has None, not \S", shown
        ),
        "A Kustomization gives a namespace to other resources and has none itself": lambda shown: (
            len(re.findall(r": Kustomization has None, not heron-", shown)) == 2
        ),
    },
    'print(f"equal to the parser': {
        "The differences are documents in braces, as in JSON, and a name in a block scalar": (
            lambda shown: (
                len(differ := _differ(shown)) == numbers(shown)[1] - numbers(shown)[0]
                and {one[0] for one in differ} == {"odd/flow-style.yaml"}
                # What is in braces is not read at all; of a block scalar the sign is read.
                and sorted(one[2] for one in differ) == ["'>-'", *["None"] * (len(differ) - 1)]
                and {one[1] for one in differ if one[1] != one[3]} == {"None"}
            )
        ),
    },
    'print(f"unsure about': {
        "For the few documents without a usual head it calls a parser": lambda shown: (
            0 < numbers(shown)[0] < numbers(shown)[1] / 4
            and numbers(shown, "wrong about the others:") == [0]
        ),
    },
    (REFUSED, "for name in refused:\n    for span"): {
        "You get all four, and those of the templates": lambda refused, shown: (
            shown.count("odd/broken.yaml") == 4
            and all(name in shown for name in re.findall(r"'(\S+\.yaml)'", refused))
        ),
    },
    'print("read to the end, pieces of:"': {
        "All pieces that fit come from one file": (
            "read to the end, pieces of: {'crds/trainingruns.yaml'}"
        ),
        "and drops the rest without a warning": lambda shown: numbers(shown, "word pieces;")[0] > 1,
    },
    "lines = lines_of(small, 0, len(small))": {
        "with depth −1": "start depth first path",
    },
    "lab.show.outline(small, lines, cuts)": {
        "Each piece ends with its block, or before": "cut into 4 pieces",
    },
    "def cut_document(": {
        "in the first of the containers": lambda shown: shown.endswith(
            "is in Deployment spec.template.spec.containers[0]."
        ),
    },
    'print(f"{len(sizes)} pieces, nothing lost': {
        "No line is missing, and everything fits": lambda shown: (
            "nothing lost: True" in shown
            and (sizes := numbers(shown, "at most"))[0] <= 700
            and sizes[1] <= 256
        ),
    },
    "[piece] = [piece for piece in pieces": {
        "can follow the path": lambda shown: (
            "at spec.template.spec.containers[0]" in shown and shown.endswith("- name: predictor")
        ),
        "No other container is named in the piece": lambda shown: (
            numbers(shown, "named in it:") == [0]
        ),
    },
    "def course_pieces(": {
        "With its schema, one file is a large part of the index": lambda shown: (
            numbers(shown, "whole schemas, the definition")[0]
            > numbers(shown, "whole schemas, all other files")[0] / 2
        ),
    },
    "definitions  schemas  pieces": {
        "With one definition, recall is lower with the policy": lambda shown: (
            _definitions(shown, 1, "top")[3] < _definitions(shown, 1, "whole")[3]
        ),
        "With four definitions, whole schemas find no more than the policy": lambda shown: (
            _definitions(shown, 4, "whole")[3] <= _definitions(shown, 4, "top")[3]
        ),
        "the policy makes the index less than half as large": lambda shown: (
            _definitions(shown, 4, "top")[0] < _definitions(shown, 4, "whole")[0] / 2
        ),
    },
    'if not which("kubectl"):': {
        "The version is there, but the reason for it is not": lambda shown: (
            "not installed" in shown or "0 comments\nTrue False\n" in shown
        ),
        "names of generated ConfigMaps end with a hash of their content": lambda shown: (
            "not installed" in shown or re.search(r"release-notes-\w{10}", shown)
        ),
    },
    "answer and owner in one piece": {
        "With good cuts but no header, the search is worse": lambda shown: (
            _row(shown, "yours, no header")[1] < _row(shown, "every 1,000")[1]
            and _row(shown, "yours, no header")[3] < _row(shown, "every 1,000")[3]
        ),
        "the smaller a piece is, the less it says about its resource": lambda shown: (
            _row(shown, "yours, no header")[0] > 2 * _row(shown, "every 1,000")[0]
        ),
        "With the header it is better": lambda shown: (
            _row(shown, "yours")[2] > _row(shown, "every 1,000")[2] + 0.04
            and _row(shown, "yours")[1] > _row(shown, "yours, no header")[1] + 0.04
            and _row(shown, "yours")[3] > _row(shown, "every 1,000")[3]
        ),
        "it joins small neighbours into one piece": lambda shown: (
            _row(shown, "course split")[0] < 0.7 * _row(shown, "yours")[0]
        ),
    },
    "places.index(True) + 1:3}": {
        "Now the piece is second": lambda shown: _places(shown, "yours")[1] == 2,
        "Its header says whose limit it is": lambda shown: (
            "Deployment forecast-api:" in shown.partition("\n\n")[2]
            and "memory: 3Gi" in shown.partition("\n\n")[2]
        ),
        "The piece before it has the limits of the same Deployment's init container": (
            lambda shown: ".spec.initContainers[0].resources" in shown.partition("\n\n")[2]
        ),
        "Without the header, the same lines are far down the list": lambda shown: (
            _places(shown, "yours, no header")[1] > 10
        ),
        (
            "the question has only a number that a search can use, "
            "and vectors represent numbers badly"
        ): (lambda shown: min(_places(shown, what)[0] for what in ("yours", "course split")) > 5),
    },
}
