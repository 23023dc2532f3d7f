"""Questions with known answers: JSON Lines go in, checked records come out.

A measurement is worth what its questions are worth, so a file with a mistake is refused, by line
and field, before anything is measured with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated
from unicodedata import normalize

from pydantic import AfterValidator, Field, TypeAdapter
from pydantic_core import from_json, to_json
from typing_extensions import TypedDict

from course_lib.errors import InputError
from course_lib.loader.jsonl import read_lines
from course_lib.records import check_source_path, explain

HINT = (
    'A question is a line of JSON: {"question": "…", "kind": "docs", "gold_paths": ["FILE.md"]}; '
    "data/README.md describes all fields."
)

LONGEST = 300
"""Characters of the names of fields that are shown."""


def _readable(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


def _once(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(given))


def composed(path: str) -> str:
    r"""Return a file's name as it is compared: macOS writes é as two characters, others as one.

    Examples
    --------
    >>> len("cafe\u0301.md"), len(composed("cafe\u0301.md"))
    (8, 7)
    """
    return normalize("NFC", path)


Text = Annotated[str, AfterValidator(_readable)]
Texts = Annotated[tuple[Text, ...], AfterValidator(_once)]
SourcePath = Annotated[Text, AfterValidator(check_source_path), AfterValidator(composed)]
Paths = Annotated[tuple[SourcePath, ...], AfterValidator(_once)]


class Resource(TypedDict):
    """Kind and name of a resource; the name may be empty, as that of a Kustomization mostly is."""

    kind: str
    name: str


@dataclass(frozen=True)
class Question:
    """A question, and where its answer is.

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

    id: Text
    question: Text
    kind: Text
    gold_paths: Annotated[Paths, Field(min_length=1)]
    gold_resources: tuple[Resource, ...] = ()
    also_acceptable_paths: Paths = ()
    answer_contains: Texts = ()
    split: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """All documents that answer it, the best ones first."""
        return self.gold_paths + self.also_acceptable_paths

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes a question of another run the same."""
        return self.id, self.kind, self.question

    @property
    def right(self) -> tuple[object, ...]:
        """What is taken for right."""
        return self.gold_paths, self.gold_resources, self.also_acceptable_paths

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
        if composed(document_name) not in self.paths:
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


_QUESTION = TypeAdapter(Question)


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
        The corpora that there are. A question that names no kind is about the only one; if there
        are several, that is a mistake.
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
    known_fields, strange = {field.name for field in fields(Question)}, set[str]()
    for number, _, raw in read_lines(path):
        try:
            record = from_json(raw)
        except ValueError as error:
            why = str(error).replace(" at line 1 column ", " in column ")
            raise InputError(f"{path.name}, line {number} is not JSON: {why}", hint=HINT) from None
        try:
            if isinstance(record, dict):
                strange |= record.keys() - known_fields
                if "kind" not in record:
                    without_kind.append(number)
                    if only is None:
                        wanted = " or ".join(f'"kind": "{kind}"' for kind in kinds)
                        raise ValueError(f"kind: it is missing; write {wanted}")
                record = {"id": f"q{number:02d}", "kind": only, **record}
            question = _QUESTION.validate_json(to_json(record))  # its errors speak of JSON
            if question.id in questions:
                raise ValueError(f"id: {question.id!r} is that of line {lines_of[question.id]} too")
        except ValueError as error:
            raise InputError(f"{path.name}, line {number}: {explain(error)}", hint=HINT) from None
        questions[question.id] = question
        lines_of[question.id] = number
    if not questions:
        raise InputError(f"{path.name} holds no question", hint=HINT)
    if strange:
        say(f"{path.name}: fields that have no effect: {', '.join(sorted(strange))[:LONGEST]}")
    if without_kind:
        say(
            f"{path.name}: lines without a kind: {len(without_kind)}, the first is line "
            f"{without_kind[0]}; taken to be about {only}"
        )
    return list(questions.values())


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
