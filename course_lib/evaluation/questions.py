"""Questions with known answers: JSON Lines go in, checked records come out.

A measurement is worth what its questions are worth, so a file with a mistake is refused, by line
and field, before anything is measured with it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from course_lib.errors import InputError
from course_lib.loader.jsonl import read_lines
from course_lib.records import check_source_path

HINT = (
    'A question is a line of JSON: {"question": "…", "kind": "docs", "gold_paths": ["FILE.md"]}; '
    "data/README.md describes all fields."
)


LONGEST_NAME = 60
"""Characters of a field's name that are shown."""


@dataclass(frozen=True)
class Question:
    """A question, and where its answer stands.

    Attributes
    ----------
    id
        As in ``"q01"``.
    question
        What is asked.
    kind
        The corpus that it is about, as in ``"docs"``.
    gold_paths
        Names of the documents that hold the answer.
    gold_resources
        Kind and name of the resources in them, for manifests and code.
    also_acceptable_paths
        Documents that answer it too, if less directly.
    answer_contains
        Phrases of which the answering passage holds at least one.
    split
        The part of a set that it belongs to, such as ``"tune"`` or ``"test"``.
    """

    id: str
    question: str
    kind: str
    gold_paths: tuple[str, ...]
    gold_resources: tuple[dict[str, str], ...] = ()
    also_acceptable_paths: tuple[str, ...] = ()
    answer_contains: tuple[str, ...] = ()
    split: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """All documents that answer it, the best ones first."""
        return self.gold_paths + self.also_acceptable_paths

    def is_answered_by(self, document_name: str, content: str) -> bool:
        r"""Tell whether a passage holds the answer.

        It does if it comes from one of the documents and holds one of the phrases; case and line
        breaks do not count.

        Examples
        --------
        >>> q = Question("q", "?", "docs", ("a.md",), answer_contains=("at night",))
        >>> q.is_answered_by("a.md", "It runs at\nnight.")
        True
        >>> q.is_answered_by("b.md", "It runs at night.")
        False
        """
        if document_name not in self.paths:
            return False
        passage = _plain(content)
        return any(_plain(phrase) in passage for phrase in self.answer_contains)

    def names_owner(self, text: str) -> bool:
        """Tell whether a text names kind and name of a resource that holds the answer.

        Examples
        --------
        >>> q = Question("m", "?", "manifests", ("a.yaml",), ({"kind": "Role", "name": "reader"},))
        >>> q.names_owner("# v1 Role reader"), q.names_owner("# v1 Role writer")
        (True, False)
        """
        return any(one["kind"] in text and one["name"] in text for one in self.gold_resources)


def read_questions(
    path: Path,
    *,
    kinds: Sequence[str] = ("docs",),
    say: Callable[[str], None] = lambda sentence: None,
) -> list[Question]:
    r"""Read questions, one JSON object a line; empty lines are passed over.

    An `id` that is missing is the number of the line, as in ``"q03"``.

    Parameters
    ----------
    path
        A file of JSON Lines; its fields are described in `data/README.md`.
    kinds
        The corpora at hand. A question that names no kind is about the only one; where there are
        several, that is a mistake.
    say
        Told which fields have no effect, since no field is called so, and how many questions name
        no kind.

    Raises
    ------
    InputError
        If the file cannot be read or holds no question, or a line is none: the message names the
        line and the field.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "asked.jsonl")
    ...     _ = path.write_text('{"question": "When?", "gold_paths": ["a.md"]}\n', encoding="utf-8")
    ...     read_questions(path, kinds=["docs"], say=print)[0].kind
    asked.jsonl: lines without a kind: 1, the first is line 1; taken to be about docs
    'docs'
    """
    only = kinds[0] if len(kinds) == 1 else None
    questions: dict[str, Question] = {}
    lines_of: dict[str, int] = {}
    without_kind: list[int] = []
    strange: set[str] = set()
    for number, _, raw in read_lines(path):
        try:
            record = json.loads(raw.decode("utf-8"))
            for field, told in _strange_fields(record):
                if field not in strange:
                    say(f"{path.name}, line {number}: {told}")
                strange.add(field)
            if isinstance(record, Mapping) and "kind" not in record:
                without_kind.append(number)
                if only is None:
                    wanted = " or ".join(f'"kind": "{kind}"' for kind in kinds)
                    raise ValueError(f"kind: it is missing; write {wanted}")
            question = as_question(record, f"q{number:02d}", only)
            if question.id in questions:
                raise ValueError(f"id: {question.id!r} is that of line {lines_of[question.id]} too")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path.name}, line {number} is not UTF-8: {error}", hint="Save it as UTF-8."
            ) from None
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path.name}, line {number} is no JSON: {error.msg} in column {error.colno}",
                hint=HINT,
            ) from None
        except RecursionError:
            raise InputError(
                f"{path.name}, line {number} is nested too deep to be read", hint=HINT
            ) from None
        except ValueError as error:
            raise InputError(f"{path.name}, line {number}, {error}", hint=HINT) from None
        questions[question.id] = question
        lines_of[question.id] = number
    if not questions:
        raise InputError(f"{path.name} holds no question", hint=HINT)
    if without_kind:
        say(
            f"{path.name}: lines without a kind: {len(without_kind)}, the first is line "
            f"{without_kind[0]}; taken to be about {only}"
        )
    return list(questions.values())


def _strange_fields(record: object) -> Iterator[tuple[str, str]]:
    """Yield each field that no question has, and what to say of it."""
    if not isinstance(record, Mapping):
        return
    known = [field.name for field in fields(Question)]
    for name in record:
        if name in known:
            continue
        absent = [field for field in known if field not in record]
        meant = difflib.get_close_matches(name.lower(), absent, n=1, cutoff=0.75)
        told = f"{name[:LONGEST_NAME]!r} is no field of a question and has no effect"
        yield name, f"{told}; is {meant[0]} meant?" if meant else told


def as_question(record: object, id: str, kind: str | None = None) -> Question:
    """Return the question that a JSON object holds.

    Parameters
    ----------
    record
        What a line of a file of questions says.
    id, kind
        What holds where the object does not say; None means that it has to.

    Raises
    ------
    ValueError
        If it holds none; the message begins with the field's name.

    Examples
    --------
    >>> as_question({"question": "Who?", "gold_paths": ["a.md"]}, "q01", "docs").gold_paths
    ('a.md',)
    """
    if not isinstance(record, Mapping):
        raise ValueError(f"question: a JSON object is expected, not {_kind(record)}")
    question = Question(
        id=_text(record, "id", id),
        question=_text(record, "question"),
        kind=_text(record, "kind", kind),
        gold_paths=_paths(record, "gold_paths"),
        gold_resources=_resources(record),
        also_acceptable_paths=_paths(record, "also_acceptable_paths"),
        answer_contains=_texts(record, "answer_contains"),
        split=_text(record, "split", ""),
    )
    if "gold_paths" not in record:
        raise ValueError("gold_paths: it is missing")
    if not question.gold_paths:
        raise ValueError("gold_paths: at least one path is needed")
    return question


def _text(record: Mapping[str, Any], field: str, otherwise: str | None = None) -> str:
    value = record.get(field, otherwise)
    if value is None:
        raise ValueError(f"{field}: it is missing")
    if not isinstance(value, str):
        raise ValueError(f"{field}: text is expected, not {_kind(value)}")
    if not value.strip() and value != otherwise:
        raise ValueError(f"{field}: it is empty")
    return value


def _texts(record: Mapping[str, Any], field: str) -> tuple[str, ...]:
    values = record.get(field, [])
    if not isinstance(values, list):
        raise ValueError(f"{field}: a list is expected, not {_kind(values)}")
    for value in values:
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{field}: it holds {json.dumps(value)}, which is no text")
    return tuple(dict.fromkeys(values))


def _paths(record: Mapping[str, Any], field: str) -> tuple[str, ...]:
    paths = _texts(record, field)
    for path in paths:
        try:
            check_source_path(path)
        except ValueError as error:
            raise ValueError(f"{field}: {path!r} {error}") from None
    return paths


def _resources(record: Mapping[str, Any]) -> tuple[dict[str, str], ...]:
    field = "gold_resources"
    values = record.get(field, [])
    if not isinstance(values, list):
        raise ValueError(f"{field}: a list is expected, not {_kind(values)}")
    for value in values:
        # A resource may be without a name: a Kustomization mostly is.
        if not isinstance(value, Mapping) or not all(
            isinstance(value.get(part), str) for part in ("kind", "name")
        ):
            raise ValueError(f"{field}: {json.dumps(value)} has no kind and name that are text")
    return tuple({"kind": value["kind"], "name": value["name"]} for value in values)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return "nothing" if value is None else names.get(type(value), "a number")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
