"""The notebook that is run: the master's, with the learner's answers and helpers put in.

An answer is found by its grade id, or else by its cell id. What it does not define is taken from
the one other cell that does. Of cells that a learner has added, the definitions of new names count,
and all imports. Tags, metadata, outputs and changed checks of what was sent have no effect. What
remains unclear is for a person to decide.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from course_lib.teaching.grade.added import Alignment, Own, own_cells
from course_lib.teaching.grade.master import Master, MasterCell, checks_of
from course_lib.teaching.grade.statements import Code, code_of, needed, of_statements
from course_lib.teaching.grade.submissions import LONGEST_SOURCE, SentCell


@dataclass(frozen=True)
class Merged:
    """What came of a merge.

    Attributes
    ----------
    codes
        By grade id: what the learner wrote; what was not found has the stub.
    untouched
        Grade ids whose answer is the stub or is missing.
    undecided
        Grade ids that a person has to look at, with the reason.
    notes
        What was noticed, a line each.
    own
        What the learner's own cells have.
    """

    codes: Mapping[str, Code]
    untouched: frozenset[str]
    undecided: Mapping[str, str]
    notes: tuple[str, ...]
    own: Own = field(default_factory=Own)

    @property
    def answers(self) -> dict[str, str]:
        """By grade id: the learner's source."""
        return {name: code.source for name, code in self.codes.items()}

    @property
    def written(self) -> dict[str, str]:
        """The answers that are not as the learner got them."""
        return {k: v for k, v in self.answers.items() if k not in self.untouched}

    def code(self, cell: MasterCell) -> Code:
        """Return what runs in a cell of the master."""
        return self.codes.get(cell.grade_id, cell.code)


class FoundAnswer(NamedTuple):
    """An answer, as far as it was found.

    Attributes
    ----------
    cells
        Of those that were sent: the ones that it has whole.
    code
        What is in them; None where nothing was found.
    why
        Why a person has to look; empty where it is clear.
    note
        What was noticed; may be empty.
    """

    cells: frozenset[int] = frozenset()
    code: Code | None = None
    why: str = ""
    note: str = ""


def merge(master: Master, sent: Sequence[SentCell]) -> Merged:
    """Find the learner's answers in the cells that were sent.

    Parameters
    ----------
    master
        What is graded with.
    sent
        The cells of the submission.
    """
    aligned = Alignment(master, sent, _places(master, sent))
    stubs = {cell.grade_id: cell.given for _, cell in master.written}
    found = {cell.grade_id: _found(aligned, place, cell) for place, cell in master.written}
    used = frozenset[int]().union(*(one.cells for one in found.values()))
    roles = {master.cells[place].role for place in aligned.places.values()}
    if stubs and not used and roles <= {"text", "code"}:
        reason = f"nothing in it is of {master.name}"
        own = own_cells(aligned, (), stubs)
        return Merged(
            stubs, frozenset(stubs), dict.fromkeys(stubs, reason), (reason,), Own(added=own.added)
        )
    answers = {name: one.code or stubs[name] for name, one in found.items()}
    untouched = {name for name, code in answers.items() if code.plain == stubs[name].plain}
    undecided = {name: one.why for name, one in found.items() if one.why}
    notes = [one.note for one in found.values() if one.note]
    return Merged(
        answers,
        frozenset(untouched.difference(undecided)),
        undecided,
        (*notes, *_changed_checks(aligned)),
        own_cells(aligned, used, answers),
    )


def solved(master: Master) -> Merged:
    """Return the master with its own answers."""
    codes = {cell.grade_id: cell.code for _, cell in master.written}
    return Merged(codes, frozenset(), {}, ())


def _places(master: Master, sent: Sequence[SentCell]) -> dict[int, int]:
    """Return which cells that were sent are the master's, and which: by ids, or of equal text."""
    cells = list(enumerate(master.cells))
    by_grade_id = {cell.grade_id: place for place, cell in cells if cell.grade_id}
    by_id = {cell.id: place for place, cell in cells if cell.id}
    by_text = {(cell.kind, cell.given.plain): place for place, cell in cells if cell.given.plain}
    found = {}
    for j, one in enumerate(sent):
        place = by_text.get((one.kind, one.code.plain))
        place = by_grade_id.get(one.grade_id, by_id.get(one.id, place))
        if place is not None:
            found[j] = place
    return found


def _found(aligned: Alignment, place: int, cell: MasterCell) -> FoundAnswer:
    """Return what was written into a cell, with what other cells define of it."""
    found = _in_its_cells(aligned, place, cell)
    if cell.kind == "code" and not found.why:
        found = _completed(aligned, cell, found)
    if found.why or (found.code and found.code.plain != cell.given.plain):
        return found
    if _is_checked_otherwise(aligned, cell):
        return found._replace(why="nothing is in its cell, and its check was given something else")
    return found if found.code else found._replace(note=f"{cell.grade_id} is missing")


def _in_its_cells(aligned: Alignment, place: int, cell: MasterCell) -> FoundAnswer:
    """Return what is in the cells that bear an answer's id; a cell that was split is two."""
    name, stub = cell.grade_id, cell.given.plain
    cells = [(j, aligned.cells[j]) for j, at in aligned.places.items() if at == place]
    if not cells:
        return FoundAnswer()
    right = [one.code for _, one in cells if one.kind == cell.kind]
    places = frozenset(j for j, _ in cells)
    if not right:
        return FoundAnswer(places, why=f"{name} is a {cells[0][1].kind} cell")
    if (size := max(len(one.source) for one in right)) > LONGEST_SOURCE:
        return FoundAnswer(places, why=f"the answer has {size:,} characters")
    written = list({one.plain: one for one in right if one.plain != stub}.values())
    if len(written) < 2:
        known = any(one.grade_id == name for _, one in cells)
        note = "" if known else f"{name} was found without its nbgrader metadata"
        return FoundAnswer(places, next(iter(written), right[0]), note=note)
    joined = code_of("\n".join(one.source for one in written), cell.kind)
    asked = aligned.master.asked.get(name, ())
    answers = [one for one in written if _defined(aligned.master, one, asked)]
    if cell.kind == "code" and (len(answers) > 1 or not joined.is_python):
        return FoundAnswer(places, why=f"{len(written)} different cells bear the id of {name}")
    note = f"{name} was in {len(written)} cells, which were joined"
    return FoundAnswer(places, joined, note=note)


def _completed(aligned: Alignment, cell: MasterCell, own: FoundAnswer) -> FoundAnswer:
    """Return an answer with what it does not define itself, where one other cell does."""
    master, asked = aligned.master, aligned.master.asked.get(cell.grade_id, frozenset())
    has = _defined(master, own.code, asked) if own.code else {}
    makers = _makers(aligned, asked, has, own.cells)
    for name, texts in makers.items():
        if (count := len(texts.keys() | {has.get(name, next(iter(texts)))})) > 1:
            return own._replace(why=f"{count} cells define {name}, each in another way")
    lacking = asked - has.keys()
    homes = sorted({j for name in lacking & makers.keys() for j in makers[name].values()})
    if lacking and (why := _is_broken(aligned, own, lacking - makers.keys(), bool(homes))):
        return own._replace(why=why)
    if not homes:
        return own
    is_written = own.code and own.code.plain not in ("", cell.given.plain)
    filled = of_statements(one for one in cell.given.statements if not one.is_empty)
    parts, whole, where = [own.code if own.code and is_written else filled], set(own.cells), ""
    for j in homes:
        one, code = aligned.cells[j], aligned.cells[j].code
        if j in aligned.places or _defined(master, code, master.all_asked - asked):
            code = of_statements(needed(asked, code.statements))
        else:
            whole.add(j)
        parts.append(code)
        where = one.grade_id if j in aligned.places else "an added cell"
    source = "\n\n".join(one.source for one in parts if one.source.strip())
    note = f"{cell.grade_id} was taken from {where}"
    return FoundAnswer(frozenset(whole), code_of(source), note=note)


def _makers(
    aligned: Alignment, asked: Collection[str], has: Mapping[str, str], own: Collection[int]
) -> dict[str, dict[str, int]]:
    """Return by name the statements of other cells that define it, each with its cell.

    Another answer that defines what this one has itself runs in its own place.
    """
    answers = [j for j, at in aligned.places.items() if aligned.master.cells[at].role == "answer"]
    makers: dict[str, dict[str, int]] = {}
    for j, one in enumerate(aligned.cells):
        if j not in own:
            for name, text in _defined(aligned.master, one.code, asked).items():
                if name not in has or j not in answers:
                    makers.setdefault(name, {}).setdefault(text, j)
    return makers


def _is_broken(aligned: Alignment, own: FoundAnswer, missing: Collection[str], other: bool) -> str:
    """Say why a person looks where an answer, or what may be one, is not Python."""
    broken = [one for _, one in aligned.own() if not one.code.is_python]
    if own.code and own.code.plain and not own.code.is_python:
        is_half = any(one.kind == "code" for one in broken)
        return "its cell is not Python, and another one may be meant" * (other or is_half)
    for name in sorted(missing):
        begins = re.compile(rf"^\s*(?:(?:async )?def|class) {name}\b|^{name}\s*=", re.M)
        if any(begins.search(one.source) for one in broken):
            return f"another cell seems to define {name}, and cannot be taken as it is"
    return ""


def _defined(master: Master, code: Code, names: Collection[str]) -> dict[str, str]:
    """Return the statements of a cell that define names, by name: none that learners got."""
    return {
        name: one.text
        for one in code.definitions
        if one.text not in master.given
        for name in one.binds.intersection(names)
    }


def _is_checked_otherwise(aligned: Alignment, answer: MasterCell) -> bool:
    """Tell whether a learner's own text of a check reads other names than the answer's."""
    for j, place in aligned.places.items():
        check, read = aligned.master.cells[place], aligned.cells[j].code.reads
        asked = aligned.master.asked.get(answer.grade_id, frozenset()) & check.given.reads
        if asked and read and not read & asked and check in checks_of(aligned.master, answer):
            return True
    return False


def _changed_checks(aligned: Alignment) -> list[str]:
    """Say which checks learners have changed."""
    pairs = [(aligned.cells[j], aligned.master.cells[at]) for j, at in aligned.places.items()]
    checks = [(one, cell) for one, cell in pairs if cell.role == "check"]
    changed = {cell.grade_id for one, cell in checks if one.code.plain != cell.given.plain}
    return [f"{name} had been changed; the master's was run" for name in sorted(changed)]
