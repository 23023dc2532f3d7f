"""Questions over two real corpora go in, what is wrong with them comes out.

The structure is checked without the corpora (`tests/unit/test_data.py` does so). Given their
folders, every path, every resource and every exact copy of a gold resource is looked up as well:

    python tests/bench/check_questions.py --docs …/docs --manifests …/manifests
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

QUESTIONS = Path(__file__).parent / "questions" / "kubeflow.jsonl"

FIELDS = {
    "id": str,
    "question": str,
    "kind": str,
    "gold_paths": list,
    "gold_resources": list,
    "also_acceptable_paths": list,
    "split": str,
}
PREFIXES = {"docs": "kd", "manifests": "km"}

Question = dict[str, Any]


def read_questions(path: Path = QUESTIONS) -> list[Question]:
    """Read a file with one question on each line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def split_of(identifier: str) -> str:
    """Return the half that a question belongs to: odd numbers tune, even numbers test.

    Neighbours in the file ask about neighbouring subjects, so both halves cover all of them, and a
    question that is added later moves none of the others.
    """
    return "tune" if int(identifier[2:]) % 2 else "test"


def structural_problems(questions: list[Question]) -> list[str]:
    """Name what can be seen to be wrong without the corpora."""
    problems = [problem for question in questions for problem in _problems_of(question)]
    for field in ("id", "question"):
        counts = Counter(str(question.get(field)).casefold() for question in questions)
        problems += [f"{value!r}: {field} used twice" for value, n in counts.items() if n > 1]
    if problems:
        return problems
    for kind in PREFIXES:
        halves = Counter(one["split"] for one in questions if one["kind"] == kind)
        if abs(halves["tune"] - halves["test"]) > 1:
            problems.append(f"{kind}: {halves['tune']} to tune on, {halves['test']} to test on")
    return problems


def _problems_of(question: Question) -> list[str]:
    name = question.get("id")
    found = {field: type(value) for field, value in question.items()}
    if found != FIELDS:
        wrong = sorted({*found, *FIELDS} - {key for key in found if found[key] is FIELDS.get(key)})
        return [f"{name}: missing, unknown or of the wrong type: {', '.join(wrong)}"]
    problems = []
    if question["kind"] not in PREFIXES:
        return [f"{name}: the kind {question['kind']!r} is neither docs nor manifests"]
    if not re.fullmatch(PREFIXES[question["kind"]] + r"\d{2,3}", question["id"]):
        return [f"{name}: not of the form {PREFIXES[question['kind']]}01"]
    if question["split"] != split_of(question["id"]):
        problems.append(f"{name}: belongs to {split_of(question['id'])}")
    text = question["question"]
    if not text.endswith("?") or text != " ".join(text.split()):
        problems.append(f"{name}: the question does not end in '?', or has stray white space")
    gold, also = question["gold_paths"], question["also_acceptable_paths"]
    if not gold or len({*gold, *also}) != len(gold) + len(also):
        problems.append(f"{name}: no gold path, or a path named twice")
    ending = ".md" if question["kind"] == "docs" else ".yaml"
    problems += [
        f"{name}: {path} is no {ending}" for path in gold + also if path[-len(ending) :] != ending
    ]
    if bool(question["gold_resources"]) != (question["kind"] == "manifests"):
        problems.append(f"{name}: manifests need gold_resources, docs have none")
    if any(sorted(resource) != ["kind", "name"] for resource in question["gold_resources"]):
        problems.append(f"{name}: a resource has other fields than kind and name")
    return problems


def corpus_problems(questions: list[Question], docs: Path, manifests: Path) -> list[str]:
    """Name paths and resources that are not there, and copies of gold resources left out."""
    from course_lib.loader.kubernetes import split_resources

    problems = []
    pieces: dict[str, list[tuple[str, str, str]]] = {}
    copies: dict[str, set[str]] = defaultdict(set)
    for path in sorted(manifests.rglob("*.yaml")):
        name = path.relative_to(manifests).as_posix()
        text = path.read_bytes().decode("utf-8")
        pieces[name] = [
            (who.kind or "", who.name or "", _essence(text[span.start : span.end]))
            for span in split_resources(text)
            for who in [span.identity]
        ]
        for *_, essence in pieces[name]:
            copies[essence].add(name)
    for question in questions:
        root = docs if question["kind"] == "docs" else manifests
        named = {*question["gold_paths"], *question["also_acceptable_paths"]}
        missing = sorted(path for path in named if not (root / path).is_file())
        problems += [f"{question['id']}: there is no {path}" for path in missing]
        for resource in question["gold_resources"]:
            found = [
                essence
                for path in question["gold_paths"]
                for kind, name, essence in pieces.get(path, [])
                if (kind, name) == (resource["kind"], resource["name"])
            ]
            if not found:
                problems.append(f"{question['id']}: no gold path has {resource}")
            left_out = sorted({path for essence in found for path in copies[essence]} - named)
            problems += [
                f"{question['id']}: {path} holds a copy of {resource}" for path in left_out
            ]
    return problems


def _essence(text: str) -> str:
    """Return a text without comments, separators and empty lines."""
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(
        line for line in lines if line and not line.lstrip().startswith("#") and line[:3] != "---"
    )


def main() -> int:
    """Print every problem; 1 if there is one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("questions", nargs="?", type=Path, default=QUESTIONS)
    parser.add_argument("--docs", type=Path, help="the unpacked folder docs")
    parser.add_argument("--manifests", type=Path, help="the unpacked folder manifests")
    arguments = parser.parse_args()
    if (arguments.docs is None) != (arguments.manifests is None):
        parser.error("give both --docs and --manifests, or neither")
    questions = read_questions(arguments.questions)
    problems = structural_problems(questions)
    if arguments.docs is not None and not problems:
        problems = corpus_problems(questions, arguments.docs, arguments.manifests)
    for problem in problems:
        print(problem)
    counts = Counter((question["kind"], question["split"]) for question in questions)
    told = ", ".join(f"{n} {kind} to {split}" for (kind, split), n in sorted(counts.items()))
    print(f"{len(questions)} questions ({told}), {len(problems)} problems", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
