"""How good suggestions are: labelled instructions go in, the share of found packages comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from course_lib.errors import InputError
from course_lib.settings import project_root


@dataclass(frozen=True, slots=True)
class Instruction:
    """What has to be programmed, and the packages of the project that serve it.

    Each of `gold_packages` is wanted; those of `also_acceptable_packages` are not a mistake, and no
    merit either.
    """

    id: str
    instruction: str
    project: str
    language: str
    gold_packages: tuple[str, ...]
    also_acceptable_packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SuggestionScore:
    """How well packages were suggested.

    Attributes
    ----------
    recall
        Mean share of an instruction's gold packages among those suggested.
    suggested
        Packages in a suggestion, on average: what they cost in a prompt.
    instructions
        How many were tried.
    missed
        The instructions of which not all gold packages were suggested.
    """

    recall: float
    suggested: float
    instructions: int
    missed: tuple[Instruction, ...]


def read_instructions(questions: str = "packages") -> list[Instruction]:
    """Return the course's labelled instructions; those of "no_package" need no package."""
    file = project_root() / "data" / "questions" / f"{questions}.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines()
    return [TypeAdapter(Instruction).validate_json(line) for line in lines]


def score_suggestions(
    suggest_names: Callable[[Instruction], Sequence[str]], instructions: Iterable[Instruction]
) -> SuggestionScore:
    """Try every instruction and return how many of the wanted packages were suggested.

    Parameters
    ----------
    suggest_names
        Instruction → names of packages.
    instructions
        At least one.

    Raises
    ------
    InputError
        If there is no instruction.

    Examples
    --------
    >>> wanted = [Instruction("a", "Plot it", "p", "python", ("matplotlib", "numpy"))]
    >>> score_suggestions(lambda one: ["numpy", "rich"], wanted).recall
    0.5
    """
    tried = list(instructions)
    if not tried:
        raise InputError("there is no instruction to try", hint="Pass at least one.")
    recalls, sizes, missed = [], [], []
    for one in tried:
        names = suggest_names(one)
        found = set(names).intersection(one.gold_packages)
        recalls.append(len(found) / len(one.gold_packages))
        sizes.append(len(names))
        if len(found) < len(one.gold_packages):
            missed.append(one)
    count = len(tried)
    return SuggestionScore(sum(recalls) / count, sum(sizes) / count, count, tuple(missed))
