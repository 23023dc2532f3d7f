"""The cells of a learner's own: what they define for the answers, and what of them is lost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from course_lib.teaching.grade.master import Master
from course_lib.teaching.grade.statements import Code, Statement, needed, of_statements, union
from course_lib.teaching.grade.submissions import SentCell


@dataclass(frozen=True)
class Added:
    """A cell of the learner's own, and the place of the master's cell that it precedes."""

    place: int
    kind: str
    source: str


@dataclass(frozen=True)
class Own:
    """What the learner's own cells have.

    Attributes
    ----------
    helpers
        What they define, by the place of the master's cell that it precedes.
    added
        The cells as they are, and others whose text no answer has, to be read.
    lost
        Names that code defines or changes which is not run. The names of an ``import *`` are not
        known: there is a ``*`` for it among them.
    """

    helpers: Mapping[int, Sequence[Code]] = field(default_factory=dict)
    added: tuple[Added, ...] = ()
    lost: frozenset[str] = frozenset()

    @property
    def statements(self) -> list[Statement]:
        """What of them is run."""
        return [one for some in self.helpers.values() for code in some for one in code.statements]


@dataclass(frozen=True)
class Alignment:
    """The cells that were sent, beside the master's.

    Attributes
    ----------
    master, cells
        Both.
    places
        Of cells that were sent, among the master's.
    """

    master: Master
    cells: Sequence[SentCell]
    places: Mapping[int, int]

    def own(self, used: Collection[int] = ()) -> list[tuple[int, SentCell]]:
        """Return the cells outside the master's, each with the place that it precedes.

        Those that are `used` in an answer are left out.
        """
        place, found = len(self.master.cells), []
        for j, one in reversed(list(enumerate(self.cells))):
            if j in self.places:
                place = self.places[j]
            elif one.source.strip() and j not in used:
                found.append((place, one))
        return found[::-1]


def own_cells(aligned: Alignment, used: Collection[int], answers: Mapping[str, Code]) -> Own:
    """Return what the learner's own cells have.

    Parameters
    ----------
    aligned, used
        What was sent, and which of its cells answers have whole.
    answers
        By grade id.
    """
    own = aligned.own(used)
    taken = _not_to_be_defined(aligned.master, own, answers)
    defined = [(place, _new(aligned.master, one.code.statements, taken)) for place, one in own]
    read = union(code.reads for code in (*answers.values(), *(code for _, code in defined)))
    imports = [
        (place, _new(aligned.master, [one for one in new if one.kind == "import"], taken))
        for place, new in _changed_cells(aligned)
    ]
    imports = [(place, of_statements(needed(read, code.statements))) for place, code in imports]
    placed = [one for one in (*imports, *defined) if one[1].statements]
    return Own(
        _in_their_places(aligned.master, placed, answers),
        _to_be_read(aligned, own, answers),
        _lost(aligned, own, [one for _, code in placed for one in code.statements]),
    )


def _not_to_be_defined(
    master: Master, own: Sequence[tuple[int, SentCell]], answers: Mapping[str, Code]
) -> frozenset[str]:
    """Return the names that an added cell does not define: it could replace what a check reads.

    Functions and classes that an answer reads, and no check, may be a learner's own.
    """
    fixed = union(cell.code.reads for cell in master.cells if cell.role == "check")
    statements = [one for _, cell in own for one in cell.code.statements]
    functions = [one for one in statements if one.kind in ("function", "class")]
    used = needed(union(one.reads for one in answers.values()), functions)
    return master.taken - (union(one.binds for one in used) - fixed - master.all_asked) - {"_"}


def _new(master: Master, statements: Sequence[Statement], taken: frozenset[str]) -> Code:
    """Return the statements that define new names, and imports that the master has as well."""
    named = [one for one in statements if one.kind != "other" and one.binds]  # no `import *`
    return of_statements(
        one for one in named if one.text in master.imports or not one.binds & taken
    )


def _changed_cells(aligned: Alignment) -> Iterator[tuple[int, list[Statement]]]:
    """Yield the places of the master's own cells, with what is new in those that were sent."""
    for j, place in aligned.places.items():
        cell = aligned.master.cells[place]
        if cell.role not in ("answer", "manual"):
            sent = aligned.cells[j].code.statements
            yield place, [one for one in sent if one not in cell.code.statements]


def _in_their_places(
    master: Master, placed: Sequence[tuple[int, Code]], answers: Mapping[str, Code]
) -> dict[int, Sequence[Code]]:
    """Return definitions by their places; what an answer reads is there before it runs, too."""
    helpers, early = dict[int, Sequence[Code]](), list[Code]()
    for place, cell in enumerate(master.cells):
        later = [code for at, code in placed if at > place and code not in early]
        before = needed(answers[cell.grade_id].reads, later) if cell.grade_id in answers else []
        early += before
        if here := before + [code for at, code in placed if at == place]:
            helpers[place] = here
    return helpers


def _to_be_read(
    aligned: Alignment, own: Sequence[tuple[int, SentCell]], answers: Mapping[str, Code]
) -> tuple[Added, ...]:
    """Return the cells that a person reads besides the answers, in their order."""
    by_hand = any(cell.role == "manual" for cell in aligned.master.cells)
    found = [Added(place, one.kind, one.source) for place, one in own]
    for j, place in aligned.places.items():
        cell, one = aligned.master.cells[place], aligned.cells[j]
        known = [cell.code, cell.given, *(answers[n] for n in {cell.grade_id} & answers.keys())]
        is_read = cell.grade_id in answers or (by_hand and cell.role == "text")
        if is_read and not any(one.code.plain in of.plain for of in known):
            found.append(Added(place + 1, one.kind, one.source))
    return tuple(sorted(found, key=lambda one: one.place))


def _lost(
    aligned: Alignment, own: Sequence[tuple[int, SentCell]], run: Sequence[Statement]
) -> frozenset[str]:
    """Return names that code defines or changes which is not run.

    Whatever is not run may change a value that it mentions, itself or by a function that it calls;
    of functions and classes it may set attributes.
    """
    added = [one for _, cell in own for one in cell.code.statements]
    new = [*added, *(one for _, changed in _changed_cells(aligned) for one in changed)]
    left = [one for one in new if one not in run]
    defined = union(one.binds for one in left if one.kind != "import") - aligned.master.all_asked
    stars = {"*" for one in left if one.text.endswith(" import *")}
    functions = [one for one in run if one.kind in ("function", "class")]
    values = union(one.binds for one in run if one.kind in ("text", "value"))
    mentioned = [one for of in left for one in (of, *needed(of.reads, functions))]
    changed = values & union(one.reads for one in mentioned)
    sets = [
        one for one in left if "setattr" in one.reads or (one.kind == "value" and not one.binds)
    ]
    patched = union(one.reads for one in sets) & union(one.binds for one in functions)
    return defined | stars | changed | patched
