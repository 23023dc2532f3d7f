"""Descriptions from a language model.

Packages go in; batches of descriptions come out, until they are all described, the budget of
tokens is used up, or the model cannot be asked any more. Nothing that was answered is lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from course_lib.errors import CourseError
from course_lib.xray.descriptions import DescriberStoppedError, Descriptions, clean
from course_lib.xray.packages import Package

BATCH = 20
"""Packages in a request."""

TOKENS_OF_AN_ANSWER = 60
"""Tokens that one description may take, with its name and its braces."""

_SYSTEM = (
    "You describe software packages for programmers. For each package answer with one line of "
    'JSON, {"name": "…", "description": "…"}, and nothing else. A description says in at most 20 '
    "words what the package is used for. Leave out packages that you do not know."
)


class ModelDescriber:
    """Asks a language model what packages do.

    Parameters
    ----------
    ask
        Gets the instructions, the question, and how many tokens the answer may have; returns the
        answer, or raises a `CourseError`.
    token_budget
        Tokens of questions and answers together, for the life of this object.

    Attributes
    ----------
    spent
        Tokens used until now; rather too many are counted than too few.

    Examples
    --------
    >>> describer = ModelDescriber(
    ...     lambda system, question, most: '{"name": "rich", "description": "Colours."}'
    ... )
    >>> [found] = describer.describe([Package("python", "rich"), Package("python", "unknown")])
    >>> {package.name: text for package, text in found.items()}
    {'rich': 'Colours.'}
    """

    def __init__(self, ask: Callable[[str, str, int], str], token_budget: int = 50_000) -> None:
        self.ask = ask
        self.token_budget = token_budget
        self.spent = 0

    def describe(self, packages: Sequence[Package]) -> Iterator[Descriptions]:
        """Yield descriptions, one batch a request; a batch is of one language.

        Raises
        ------
        DescriberStoppedError
            If the budget is used up, or the model cannot be asked.
        """
        for batch in _batches(packages):
            names = "\n".join(f"{one.name} {one.version}".rstrip() for one in batch)
            question = f"Packages for {batch[0].language}:\n{names}"
            most = TOKENS_OF_AN_ANSWER * len(batch)
            dearest = _tokens(_SYSTEM + question) + most
            if self.spent + dearest > self.token_budget:
                raise DescriberStoppedError(
                    f"{self.spent} of {self.token_budget} tokens are used, and the next "
                    f"request may take {dearest}",
                    hint="Scan again for the rest.",
                )
            try:
                text = self.ask(_SYSTEM, question, most)
            except CourseError as error:
                raise DescriberStoppedError(
                    str(error.args[0]), hint="Scan again for the rest."
                ) from error
            self.spent += _tokens(_SYSTEM + question + text)
            if found := _read_answer(text, batch):
                yield found


def _batches(packages: Sequence[Package]) -> Iterator[list[Package]]:
    for language in dict.fromkeys(one.language for one in packages):
        some = [one for one in packages if one.language == language]
        for at in range(0, len(some), BATCH):
            yield some[at : at + BATCH]


def _tokens(text: str) -> int:
    """Return tokens of a text, rather too many than too few: names have short word pieces."""
    return len(text) // 3 + 20


def _read_answer(text: str, batch: Sequence[Package]) -> Descriptions:
    """Return the descriptions in an answer, of packages that were asked for.

    An object that was cut off by the limit, and what models like to add around them, is left out.
    """
    asked = {one.name: one for one in batch}
    found: Descriptions = {}
    for raw in re.findall(r"\{[^{}]*\}", text):
        try:
            row = json.loads(raw)
            package, description = asked.get(row["name"]), clean(row["description"])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if package is not None and description:
            found[package] = description
    return found
