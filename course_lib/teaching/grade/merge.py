"""The notebook that is run: the master's, with the learner's answers and helpers put in.

An answer is found by its grade id, then by its cell id, then by its place. Of cells that a learner
has added, the definitions of new names count. Tags, metadata, outputs and changed checks of what
was sent have no effect. What remains unclear is for a person to decide.
"""

from __future__ import annotations

import ast
import difflib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.submissions import LONGEST_SOURCE, SentCell
from course_lib.teaching.names import bound_names
from course_lib.teaching.notebooks.cells import defined_names, parse_code


@dataclass(frozen=True)
class Merged:
    """What came of a merge.

    Attributes
    ----------
    answers
        By grade id: the learner's source; what was not found has the stub.
    untouched
        Grade ids whose answer is the stub or is missing.
    undecided
        Grade ids that a person has to look at, with the reason.
    notes
        What was noticed, a line each.
    helpers
        What cells of the learner's own define, by the place of the master's cell that it precedes.
    """

    answers: dict[str, str]
    untouched: frozenset[str]
    undecided: dict[str, str]
    notes: tuple[str, ...]
    helpers: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def source(self, cell: MasterCell) -> str:
        """Return what runs in a cell of the master."""
        return self.answers.get(cell.grade_id, cell.source) if cell.grade_id else cell.source


def merge(master: Master, sent: Sequence[SentCell]) -> Merged:
    """Find the learner's answers in the cells that were sent.

    Parameters
    ----------
    master
        What is graded with.
    sent
        The cells of the submission.
    """
    finder = _Finder(master, sent)
    answers: dict[str, str] = {}
    untouched: set[str] = set()
    for place, cell in enumerate(master.cells):
        if cell.role in ("answer", "manual"):
            source = finder.find(place, cell)
            if source is not None and len(source) > LONGEST_SOURCE:
                finder.undecided[cell.grade_id] = f"the answer has {len(source):,} characters"
                source = None
            answers[cell.grade_id] = cell.stub if source is None else source
            if cell.grade_id not in finder.undecided:
                if _plain(answers[cell.grade_id]) == _plain(cell.stub):
                    untouched.add(cell.grade_id)
    if answers and not finder.recognised():
        reason = f"nothing in it is of {master.name}"
        return Merged(answers, frozenset(), dict.fromkeys(answers, reason), (reason,))
    finder.note_changed_checks()
    helpers, left_out = finder.helpers()
    if left_out:
        plural = "added cells were" if left_out > 1 else "added cell was"
        finder.notes.append(f"{left_out} {plural} not run")
    return Merged(answers, frozenset(untouched), finder.undecided, tuple(finder.notes), helpers)


def solved(master: Master) -> Merged:
    """Return the master with its own answers."""
    written = [cell for cell in master.cells if cell.role in ("answer", "manual")]
    return Merged({cell.grade_id: cell.source for cell in written}, frozenset(), {}, ())


def definitions(source: str, taken: Collection[str]) -> str:
    r"""Return the imports, functions, classes and assignments of a cell that define new names.

    Parameters
    ----------
    source
        Of the cell.
    taken
        Names that are not new.

    Examples
    --------
    >>> definitions("def twice(x):\n    return 2 * x\nprint(twice(2))\nlab = 1", {"lab"})
    'def twice(x):\n    return 2 * x'
    """
    tree = parse_code(source)
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    kinds |= ast.Assign | ast.AnnAssign
    parts = []
    for node in tree.body if tree else ():
        names = bound_names(ast.unparse(node))
        if isinstance(node, kinds) and names and not names.intersection(taken):
            parts.append(ast.unparse(node))
    return "\n".join(parts)


class _Finder:
    """Finds the cells of a master in those that were sent, and notes what is odd about them."""

    def __init__(self, master: Master, sent: Sequence[SentCell]) -> None:
        self.master = master
        self.sent = sent
        self.undecided: dict[str, str] = {}
        self.notes: list[str] = []
        self.used: set[int] = set()
        stubs = [_plain(cell.stub) for cell in master.cells]
        plain = [_plain(cell.source) for cell in sent]
        self.blocks = difflib.SequenceMatcher(None, stubs, plain, autojunk=False).get_opcodes()
        self.places: dict[int, int] = {}  # of cells that were sent, among the master's
        for tag, i1, i2, j1, j2 in self.blocks:
            if tag == "equal":
                self.places.update(zip(range(j1, j2), range(i1, i2), strict=True))
        for place, cell in enumerate(master.cells):
            for j, one in enumerate(sent):
                if {cell.id, cell.grade_id} & {one.id, one.grade_id} - {""}:
                    self.places[j] = place

    def find(self, place: int, cell: MasterCell) -> str | None:
        """Return what was written into a cell; None where that is missing or not clear."""
        name = cell.grade_id
        if same := [j for j, one in enumerate(self.sent) if one.grade_id == name]:
            return self._among(cell, same, "grade id")
        if same := [j for j, one in enumerate(self.sent) if cell.id and one.id == cell.id]:
            self.notes.append(f"{name} was found by its cell id: its nbgrader metadata are gone")
            return self._among(cell, same, "cell id")
        return self._by_position(place, cell)

    def recognised(self) -> bool:
        """Tell whether anything but prose speaks for this being the master's notebook."""
        found = {self.master.cells[place].role for place in self.places.values()}
        return bool(self.used or found - {"text", "code"})

    def note_changed_checks(self) -> None:
        stubs = {c.grade_id: _plain(c.stub) for c in self.master.cells if c.role == "check"}
        changed = {
            one.grade_id
            for one in self.sent
            if _plain(one.source) != stubs.get(one.grade_id, _plain(one.source))
        }
        self.notes += [f"{name} had been changed; the master's was run" for name in sorted(changed)]

    def helpers(self) -> tuple[dict[int, list[str]], int]:
        """Return what added cells define, by the place that it precedes, and how many do nothing.

        A name that the master gives a meaning to is not theirs to define, or an added cell could
        stand in for what a check relies on.
        """
        taken = frozenset().union(*(bound_names(cell.source) for cell in self.master.cells))
        helpers: dict[int, list[str]] = defaultdict(list)
        left_out, place = 0, len(self.master.cells)
        for j, one in reversed(list(enumerate(self.sent))):
            if j in self.places:
                place = self.places[j]
            elif one.kind == "code" and one.source.strip() and j not in self.used:
                source = definitions(one.source, taken)
                left_out += not source
                if source:
                    helpers[place].insert(0, source)
        return helpers, left_out

    def _among(self, cell: MasterCell, places: list[int], by: str) -> str | None:
        name, stub = cell.grade_id, _plain(cell.stub)
        self.used.update(places)
        right = [self.sent[j].source for j in places if self.sent[j].kind == cell.kind]
        if not right:
            self.undecided[name] = f"{name} is a {self.sent[places[0]].kind} cell"
            return None
        texts = {_plain(source): source for source in right}
        written = [source for text, source in texts.items() if text != stub] or right[:1]
        if len(written) > 1:
            self.undecided[name] = f"{len(written)} different cells bear the {by} of {name}"
            return None
        if len(right) > 1:
            which = ", equal" if len(texts) == 1 else "; the written one was taken"
            self.notes.append(f"{name} is there twice{which}")
        return written[0]

    def _by_position(self, place: int, cell: MasterCell) -> str | None:
        name, names = cell.grade_id, defined_names(cell.stub)
        free = [
            j for j, one in enumerate(self.sent) if j not in self.used and one.kind == cell.kind
        ]
        tag, i1, i2, j1, j2 = next(one for one in self.blocks if one[1] <= place < one[2])
        same = j1 + place - i1
        if tag == "equal":
            return self._take(same, place)
        near = [j for j in free if j1 <= j < j2 and not self.sent[j].grade_id]
        alike = [j for j in near if names and names <= defined_names(self.sent[j].source)]
        if not names and i2 - i1 == j2 - j1 and same in near:
            alike = [same]
        if len(alike) == 1:
            self.notes.append(f"{name} was found by its place: its metadata are gone")
            return self._take(alike[0], place)
        if alike:
            self.undecided[name] = f"{len(alike)} cells may be the answer to {name}"
        elif any(names & defined_names(self.sent[j].source) for j in free):
            defines = ", ".join(names)
            self.undecided[name] = f"{name} is missing, and another cell defines {defines}"
        else:
            self.notes.append(f"{name} is missing")
        return None

    def _take(self, j: int, place: int) -> str:
        self.used.add(j)
        self.places[j] = place
        return self.sent[j].source


def _plain(source: str) -> str:
    return "\n".join(line.rstrip() for line in source.strip().splitlines())
