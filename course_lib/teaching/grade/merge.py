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

from course_lib.teaching.build.source import parse_code
from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.submissions import LONGEST_SOURCE, SentCell
from course_lib.teaching.names import bound_names

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


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
    answers: dict[str, str] = {}
    untouched: set[str] = set()
    undecided: dict[str, str] = {}
    notes: list[str] = []
    finder = _Finder(master, sent)
    written = [cell for cell in master.cells if cell.role in ("answer", "manual")]
    for cell in written:
        found = finder.find(cell)
        notes += found.notes
        if found.why:
            undecided[cell.grade_id] = found.why
        source = cell.stub if found.source is None else found.source
        if len(source) > LONGEST_SOURCE:
            undecided[cell.grade_id] = f"the answer has {len(source):,} characters"
            source = cell.stub
        answers[cell.grade_id] = source
        if not found.why and _same(source, cell.stub):
            untouched.add(cell.grade_id)
    if written and not finder.recognised():
        reason = f"nothing in it is of {master.name}"
        return Merged(answers, frozenset(), {c.grade_id: reason for c in written}, (reason,))
    notes += finder.changed_checks()
    helpers, left_out = finder.helpers()
    if left_out:
        plural = "added cells were" if left_out > 1 else "added cell was"
        notes.append(f"{left_out} {plural} not run")
    return Merged(answers, frozenset(untouched), undecided, tuple(notes), helpers)


def solved(master: Master) -> Merged:
    """Return the master with its own answers."""
    written = [cell for cell in master.cells if cell.role in ("answer", "manual")]
    return Merged({cell.grade_id: cell.source for cell in written}, frozenset(), {}, ())


def defined_names(source: str) -> set[str]:
    """Return the functions and classes that a cell defines at its top level."""
    tree = parse_code(source)
    return {node.name for node in tree.body if isinstance(node, Definition)} if tree else set()


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
    kinds = Definition | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign
    parts = []
    for node in tree.body if tree else ():
        names = bound_names(ast.unparse(node))
        if isinstance(node, kinds) and names and not names.intersection(taken):
            parts.append(ast.unparse(node))
    return "\n".join(parts)


@dataclass(frozen=True)
class _Found:
    source: str | None = None
    why: str = ""
    notes: tuple[str, ...] = ()


class _Finder:
    def __init__(self, master: Master, sent: Sequence[SentCell]) -> None:
        self.master = master
        self.sent = sent
        self.used: set[int] = set()
        self.found: dict[int, int] = {}
        stubs = [_plain(cell.stub) for cell in master.cells]
        plain = [_plain(cell.source) for cell in sent]
        matcher = difflib.SequenceMatcher(None, stubs, plain, autojunk=False)
        self.blocks = matcher.get_opcodes()
        self.anchors: dict[int, int] = {}
        for tag, i1, i2, j1, _ in self.blocks:
            if tag == "equal":
                self.anchors.update({i1 + k: j1 + k for k in range(i2 - i1)})

    def find(self, cell: MasterCell) -> _Found:
        name = cell.grade_id
        same = [i for i, one in enumerate(self.sent) if one.grade_id == name]
        if same:
            return self._among(cell, same, "grade id")
        same = [i for i, one in enumerate(self.sent) if cell.id and one.id == cell.id]
        if same:
            found = self._among(cell, same, "cell id")
            note = f"{name} was found by its cell id: its nbgrader metadata are gone"
            return _Found(found.source, found.why, (note, *found.notes))
        return self._by_position(cell)

    def recognised(self) -> bool:
        """Tell whether anything but prose speaks for this being the master's notebook."""
        graded = [i for i, c in enumerate(self.master.cells) if c.role not in ("text", "code")]
        known = {self.master.cells[i].grade_id for i in graded}
        known |= {self.master.cells[i].id for i in graded} - {""}
        return (
            bool(self.used)
            or any(i in self.anchors for i in graded)
            or any({one.grade_id, one.id} & known for one in self.sent)
        )

    def changed_checks(self) -> list[str]:
        stubs = {c.grade_id: c.stub for c in self.master.cells if c.role == "check"}
        changed = [
            one.grade_id
            for one in self.sent
            if one.grade_id in stubs and not _same(one.source, stubs[one.grade_id])
        ]
        return [f"{name} had been changed; the master's was run" for name in sorted(set(changed))]

    def helpers(self) -> tuple[dict[int, list[str]], int]:
        """Return what added cells define, by the place that it precedes, and how many do nothing.

        A name that the master gives a meaning to is not theirs to define, or an added cell could
        stand in for what a check relies on.
        """
        taken = frozenset().union(*(bound_names(cell.source) for cell in self.master.cells))
        places = {j: i for i, j in self.anchors.items()}
        for place, cell in enumerate(self.master.cells):
            for j, one in enumerate(self.sent):
                if {cell.id, cell.grade_id} & {one.id, one.grade_id} - {""}:
                    places[j] = place
        places |= {j: i for i, j in self.found.items()}
        helpers: dict[int, list[str]] = defaultdict(list)
        left_out, place = 0, len(self.master.cells)
        for j in reversed(range(len(self.sent))):
            if j in places:
                place = places[j]
            elif self.sent[j].kind == "code" and self.sent[j].source.strip() and j not in self.used:
                source = definitions(self.sent[j].source, taken)
                left_out += not source
                if source:
                    helpers[place].insert(0, source)
        return helpers, left_out

    def _among(self, cell: MasterCell, places: list[int], by: str) -> _Found:
        name = cell.grade_id
        right = [i for i in places if self.sent[i].kind == cell.kind]
        self.used.update(places)
        if not right:
            return _Found(why=f"{name} is a {self.sent[places[0]].kind} cell")
        if len(right) == 1:
            return _Found(self.sent[right[0]].source)
        texts = {_plain(self.sent[i].source): self.sent[i].source for i in right}
        if len(texts) == 1:
            return _Found(self.sent[right[0]].source, notes=(f"{name} is there twice, equal",))
        written = [text for plain, text in texts.items() if plain != _plain(cell.stub)]
        if len(written) == 1:
            return _Found(written[0], notes=(f"{name} is there twice; the written one was taken",))
        return _Found(why=f"{len(written)} different cells bear the {by} of {name}")

    def _by_position(self, cell: MasterCell) -> _Found:
        name, place = cell.grade_id, self.master.cells.index(cell)
        if place in self.anchors:
            self.used.add(self.anchors[place])
            self.found[place] = self.anchors[place]
            return _Found(self.sent[self.anchors[place]].source)
        names = defined_names(cell.stub)
        for _, i1, i2, j1, j2 in self.blocks:
            if not i1 <= place < i2:
                continue
            free = [
                j
                for j in range(j1, j2)
                if j not in self.used and self.sent[j].kind == cell.kind
                and not self.sent[j].grade_id
            ]  # fmt: skip
            alike = [j for j in free if names and names <= defined_names(self.sent[j].source)]
            if not names and i2 - i1 == j2 - j1 and (j := j1 + place - i1) in free:
                alike = [j]
            if len(alike) == 1:
                self.used.add(alike[0])
                self.found[place] = alike[0]
                note = f"{name} was found by its place: its metadata are gone"
                return _Found(self.sent[alike[0]].source, notes=(note,))
            if alike:
                return _Found(why=f"{len(alike)} cells may be the answer to {name}")
        stray = [
            j
            for j, one in enumerate(self.sent)
            if j not in self.used and one.kind == cell.kind and names
            and names & defined_names(one.source)
        ]  # fmt: skip
        if stray:
            return _Found(why=f"{name} is missing, and another cell defines {', '.join(names)}")
        return _Found(notes=(f"{name} is missing",))


def _plain(source: str) -> str:
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def _same(one: str, other: str) -> bool:
    return _plain(one) == _plain(other)
