"""The notebook that is run: the master's, with the learner's answers and helpers put in.

An answer is found by its grade id, then by its cell id, then by its place; what it does not define
is looked for in the other cells. Of cells that a learner has added, the definitions of new names
count. Tags, metadata, outputs and changed checks of what was sent have no effect. What remains
unclear is for a person to decide.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.statements import (
    binding,
    changes,
    definitions,
    given_by,
    patches,
    plain,
    statements,
)
from course_lib.teaching.grade.submissions import LONGEST_SOURCE, SentCell
from course_lib.teaching.names import bound_names, read_names
from course_lib.teaching.notebooks.cells import checked_exercise, defined_names, parse_code


@dataclass(frozen=True)
class Added:
    """A cell of the learner's own, and the place of the master's cell that it precedes."""

    place: int
    kind: str
    source: str


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
    added
        The learner's own cells as they are, and others whose text no answer has, to be read.
    elsewhere
        Names that cells of theirs, or stubs, define besides what answers have to.
    changed
        Names of theirs whose values statements change that are not run.
    """

    answers: dict[str, str]
    untouched: frozenset[str]
    undecided: dict[str, str]
    notes: tuple[str, ...]
    helpers: Mapping[int, Sequence[str]] = field(default_factory=dict)
    added: tuple[Added, ...] = ()
    elsewhere: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()

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
    written = [(i, one) for i, one in enumerate(master.cells) if one.role in ("answer", "manual")]
    found = {cell.grade_id: finder.find(place, cell) for place, cell in written}
    answers = {cell.grade_id: cell.stub for _, cell in written}
    if answers and not finder.recognised():
        reason = f"nothing in it is of {master.name}"
        undecided, added = dict.fromkeys(answers, reason), finder.added(answers)
        return Merged(answers, frozenset(answers), undecided, (reason,), added=added)
    for _, cell in written:
        name = cell.grade_id
        if cell.kind == "code" and name not in finder.undecided:
            found[name] = finder.completed(cell, found[name])
        source = found[name]
        if source is None and name not in finder.undecided:
            finder.notes.append(f"{name} is missing")
        if source is not None and len(source) > LONGEST_SOURCE:
            finder.undecided[name] = f"the answer has {len(source):,} characters"
            source = None
        answers[name] = cell.stub if source is None else source
    untouched = {
        cell.grade_id
        for _, cell in written
        if cell.grade_id not in finder.undecided
        and plain(answers[cell.grade_id]) == plain(cell.stub)
    }
    finder.note_changed_checks()
    helpers, left_out = finder.helpers(answers)
    if left_out:
        plural = "added cells were" if left_out > 1 else "added cell was"
        finder.notes.append(f"{left_out} {plural} not run")
    return Merged(
        answers, frozenset(untouched), finder.undecided, tuple(finder.notes), helpers,
        finder.added(answers), finder.elsewhere(), finder.changed(),
    )  # fmt: skip


def solved(master: Master) -> Merged:
    """Return the master with its own answers."""
    written = [cell for cell in master.cells if cell.role in ("answer", "manual")]
    return Merged({cell.grade_id: cell.source for cell in written}, frozenset(), {}, ())


class _Finder:
    """Finds the cells of a master in those that were sent, and notes what is odd about them."""

    def __init__(self, master: Master, sent: Sequence[SentCell]) -> None:
        self.master = master
        self.sent = sent
        self.undecided: dict[str, str] = {}
        self.notes: list[str] = []
        self.used: set[int] = set()
        self.own: dict[str, list[int]] = {}  # of cells that were sent, by the answer's grade id
        self.gave: set[int] = set()  # cells of other places that define what an answer has to
        self.redefined = frozenset[str]()  # names of the lab that answers read, and that are theirs
        stubs = [plain(cell.stub) for cell in master.cells]
        texts = [plain(cell.source) for cell in sent]
        self.blocks = difflib.SequenceMatcher(None, stubs, texts, autojunk=False).get_opcodes()
        self.places: dict[int, int] = {}  # of cells that were sent, among the master's
        for tag, i1, i2, j1, j2 in self.blocks:
            if tag == "equal":
                self.places.update(zip(range(j1, j2), range(i1, i2), strict=True))
        for place, cell in enumerate(master.cells):
            for j, one in enumerate(sent):
                if {cell.id, cell.grade_id} & {one.id, one.grade_id} - {""}:
                    self.places[j] = place
        self.given = {statement for cell in master.cells for statement in statements(cell.stub)}
        self.asked = {cell.grade_id: self._asked(cell) for cell in master.answers}

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
        stubs = {c.grade_id: plain(c.stub) for c in self.master.cells if c.role == "check"}
        changed = {
            one.grade_id
            for one in self.sent
            if plain(one.source) != stubs.get(one.grade_id, plain(one.source))
        }
        self.notes += [f"{name} had been changed; the master's was run" for name in sorted(changed)]

    def helpers(self, answers: Mapping[str, str]) -> tuple[dict[int, list[str]], int]:
        """Return what added cells define, by the place that it precedes, and how many do nothing.

        A name that the master gives a meaning to is not theirs to define, or an added cell could
        replace what a check relies on: except a function that an answer reads, and no check.
        What an answer reads is there before it runs, too.
        """
        taken = frozenset[str]().union(*(bound_names(cell.source) for cell in self.master.cells))
        self.redefined = taken & self._own_functions(answers)
        taken -= self.redefined | {"_"}  # a name that is not read, as singledispatch has it
        placed: list[tuple[int, str]] = []
        left_out = 0
        for j, place in self._unplaced():
            if self.sent[j].kind == "code":
                source = definitions(self.sent[j].source, taken)
                left_out += not source and j not in self.gave
                placed += [(place, source)] if source else []
        helpers: dict[int, list[str]] = defaultdict(list)
        early: set[int] = set()  # of those that are before their own place
        for place, cell in enumerate(self.master.cells):
            read = set(read_names(answers.get(cell.grade_id, "")))
            later = {n: one for n, (at, one) in enumerate(placed) if at > place and n not in early}
            chosen: set[int] = set()
            while more := {n for n in later.keys() - chosen if bound_names(later[n]) & read}:
                chosen |= more
                read = read.union(*(read_names(later[n]) for n in more))
            helpers[place] = [later[n] for n in sorted(chosen)]
            early |= chosen
            helpers[place] += [source for at, source in placed if at == place]
        helpers[len(self.master.cells)] = []
        return {place: sources for place, sources in helpers.items() if sources}, left_out

    def _own_functions(self, answers: Mapping[str, str]) -> frozenset[str]:
        """Return functions of added cells that answers read, directly or not, and no check."""
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        nodes = [node for node in self._nodes() if isinstance(node, kinds)]
        reads = {node.name: read_names(ast.unparse(node)) for node in nodes}
        found = frozenset[str]()
        more = frozenset[str]().union(*map(read_names, answers.values())) & reads.keys()
        while more - found:
            found |= more
            more = frozenset[str]().union(*(reads[name] for name in more)) & reads.keys()
        checks = [cell.source for cell in self.master.cells if cell.role == "check"]
        return found.difference(*map(read_names, checks), *self.asked.values())

    def added(self, answers: Mapping[str, str]) -> tuple[Added, ...]:
        """Return the cells that a person reads besides the answers, in their order."""
        by_hand = any(cell.role == "manual" for cell in self.master.cells)
        found = [Added(i, self.sent[j].kind, self.sent[j].source) for j, i in self._unplaced()]
        for j, place in self.places.items():
            cell, text = self.master.cells[place], plain(self.sent[j].source)
            is_read = cell.grade_id in answers or (by_hand and cell.role == "text")
            known = (cell.source, cell.stub, answers.get(cell.grade_id, ""))
            if is_read and not any(text in plain(one) for one in known):
                found.append(Added(place + 1, self.sent[j].kind, self.sent[j].source))
        return tuple(sorted(found, key=lambda one: one.place))

    def completed(self, cell: MasterCell, own: str | None) -> str | None:
        """Return an answer with what it does not define itself, where other cells define it."""
        name, asked = cell.grade_id, self.asked.get(cell.grade_id, set())
        if own is not None and plain(own) != plain(cell.stub):
            own = self._with_its_half(name, own)
        has = self._gives(own or "", asked)
        makers: dict[str, dict[str, int]] = {one: {} for one in asked}
        for j, one in enumerate(self.sent):
            if one.kind != "code" or j in self.own.get(name, ()):
                continue
            for which, text in self._gives(one.source, asked).items():
                if which not in has or not self._is_answer(j):
                    makers[which].setdefault(text, j)
                    self.gave.add(j)
        for which, texts in makers.items():
            cells = len(texts.keys() | ({has[which]} if which in has else set()))
            if cells > 1:
                self.undecided[name] = f"{cells} cells define {which}, each in another way"
                return own
        homes = sorted({j for which in asked - has.keys() for j in makers[which].values()})
        if not homes:
            self._ask_about_text(name, asked - has.keys())
            self._ask_about_check(name, asked - has.keys())
            return own
        if own is not None and own.strip() and parse_code(own) is None:
            self.undecided[name] = (
                f"{name} is not Python, and another cell defines what it asks for"
            )
            return own
        is_stub = own is None or plain(own) in ("", plain(cell.stub))
        parts = [given_by(cell.stub) if is_stub else own or ""]
        for j in homes:
            source, others = self.sent[j].source, set[str]().union(*self.asked.values()) - asked
            if j in self.places or self._gives(source, others):
                source = binding(source, set(asked))
            else:
                self.used.add(j)
            parts.append(source)
            where = self.sent[j].grade_id if j in self.places else ""
            self.notes.append(f"{name} was taken from {where or 'an added cell'}")
        return "\n\n".join(filter(str.strip, parts))

    def _asked(self, cell: MasterCell) -> set[str]:
        """Return the names that an answer has to define: those that checks read, or the stub's."""
        checks = (one.source for one in self.master.cells if one.role == "check")
        read = frozenset[str]().union(*map(read_names, checks))
        return set(bound_names(cell.source) & read) or defined_names(cell.stub)

    def _gives(self, source: str, names: Collection[str]) -> dict[str, str]:
        """Return the statements of a cell that define names, by name: none that learners got."""
        return {
            name: statement
            for statement in statements(source)
            if statement not in self.given
            for name in bound_names(statement).intersection(names)
        }

    def _with_its_half(self, name: str, own: str) -> str:
        """Return an answer with the cell beside it, where these are Python together only."""
        places = self.own.get(name, [])
        for j in (max(places) + 1, min(places) - 1) if places else ():
            if j in self.places or j in self.used or not 0 <= j < len(self.sent):
                continue
            other = self.sent[j]
            if other.kind != "code" or parse_code(other.source) is not None:
                continue
            halves = (own, other.source) if j > places[0] else (other.source, own)
            if parse_code(joined := "\n".join(halves)) is not None:
                self.used.add(j)
                self.notes.append(f"{name} was in two cells, which were joined")
                return joined
        return own

    def _unplaced(self) -> list[tuple[int, int]]:
        """Return the cells outside the answers, with the place that each precedes."""
        place, found = len(self.master.cells), []
        for j, one in reversed(list(enumerate(self.sent))):
            if j in self.places:
                place = self.places[j]
            elif one.source.strip() and j not in self.used:
                found.append((j, place))
        return found[::-1]

    def elsewhere(self) -> frozenset[str]:
        """Return names that an answer may miss, because the cell that defines them is not run.

        The names of an ``import *`` are not known: there is a ``*`` for it among them.
        """
        own = {s for one in self.sent if one.kind == "code" for s in statements(one.source)}
        stubs = {s for cell in self.master.answers for s in statements(cell.stub)}
        texts = (own - self.given) | stubs | set(map(ast.unparse, self._nodes()))
        names = frozenset[str]().union(*map(bound_names, texts)).difference(*self.asked.values())
        return names | ({"*"} if any(text.endswith(" import *") for text in texts) else set())

    def changed(self) -> frozenset[str]:
        """Return what loops, calls and items of added cells change, and names that are not new."""
        nodes = self._nodes()
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        made = {one.name: ast.unparse(one) for one in nodes if isinstance(one, kinds)}
        values = [one for one in nodes if isinstance(one, ast.Assign | ast.AnnAssign)]
        own = frozenset[str]().union(*(bound_names(ast.unparse(one)) for one in values))
        changed = own & {name for node in nodes for name in changes(node, made)}
        changed |= (own | made.keys()) & {name for node in nodes for name in patches(node)}
        imports = ast.Import, ast.ImportFrom
        texts = [ast.unparse(one) for one in nodes if not isinstance(one, imports)]
        again = frozenset[str]().union(*(bound_names(s) for s in texts if s not in self.given))
        labs = frozenset[str]().union(*(bound_names(cell.source) for cell in self.master.cells))
        return (changed | again & labs).difference(self.redefined, *self.asked.values())

    def _nodes(self) -> list[ast.stmt]:
        """Return the statements of the learner's own cells."""
        trees = [parse_code(self.sent[j].source) for j, _ in self._unplaced() if self._is_code(j)]
        return [node for tree in trees if tree for node in tree.body]

    def _is_code(self, j: int) -> bool:
        return self.sent[j].kind == "code"

    def _ask_about_text(self, name: str, missing: Collection[str]) -> None:
        """Leave it to a person where text, or a part of a cell, seems to define what is missing."""
        texts = [self.sent[j].source for j, _ in self._unplaced()]
        for which in missing:
            written = re.compile(rf"^\s*(?:(?:async )?def|class)\s+{which}\b|^{which}\s*=", re.M)
            if any(map(written.search, texts)):
                self.undecided[name] = (
                    f"another cell seems to define {which}, and cannot be taken as it is"
                )

    def _ask_about_check(self, name: str, missing: Collection[str]) -> None:
        """Leave it to a person where a learner has given a check something of another name."""
        own = {which for j in range(len(self.sent)) for which in self._writes(j)}
        for cell in self.master.cells:
            asked = read_names(cell.stub).intersection(missing)  # hidden tests are not theirs
            for j in self._checking(cell) if cell.role == "check" and asked else ():
                source, [which, *_] = self.sent[j].source, sorted(asked)
                given = sorted(own & read_names(source)) or ["a lambda"] * ("lambda" in source)
                if given and not read_names(source) & asked and plain(source) != plain(cell.stub):
                    self.undecided[name] = (
                        f"its check was given {given[0]}, and nothing is named {which}"
                    )

    def _checking(self, cell: MasterCell) -> list[int]:
        """Return the cells that were sent and check what a check of the master's does."""
        exercise = checked_exercise(cell.source)
        codes = [j for j, one in enumerate(self.sent) if one.kind == "code"]
        if exercise is not None:
            return [j for j in codes if checked_exercise(self.sent[j].source) == exercise]
        return [j for j in codes if j in self.places and self.master.cells[self.places[j]] is cell]

    def _writes(self, j: int) -> frozenset[str]:
        """Return the names that the learner gave something in a cell, but for imports."""
        if not self._is_code(j):
            return frozenset()
        own = [one for one in statements(self.sent[j].source) if one not in self.given]
        own = [one for one in own if not one.startswith(("import ", "from "))]
        return frozenset[str]().union(*map(bound_names, own))

    def _is_answer(self, j: int) -> bool:
        """Tell whether a cell that was sent is one of the answers, which runs in its place."""
        return j in self.places and self.master.cells[self.places[j]].grade_id in self.asked

    def _among(self, cell: MasterCell, places: list[int], by: str) -> str | None:
        name, stub = cell.grade_id, plain(cell.stub)
        self.used.update(places)
        self.own[name] = [j for j in places if self.sent[j].kind == cell.kind]
        right = [self.sent[j].source for j in self.own[name]]
        if not right:
            self.undecided[name] = f"{name} is a {self.sent[places[0]].kind} cell"
            return None
        texts = {plain(source): source for source in right}
        written = [source for text, source in texts.items() if text != stub] or right[:1]
        if len(written) > 1:
            joined = "\n".join(written)
            if not self._are_halves(cell, written, joined):
                self.undecided[name] = f"{len(written)} different cells bear the {by} of {name}"
                return None
            self.notes.append(f"{name} was in {len(written)} cells, which were joined")
            return joined
        if len(right) > 1:
            which = ", equal" if len(texts) == 1 else "; the written one was taken"
            self.notes.append(f"{name} is there twice{which}")
        return written[0]

    def _are_halves(self, cell: MasterCell, parts: Sequence[str], joined: str) -> bool:
        """Tell whether cells are one that was split: one defines what is asked, or they adjoin."""
        if cell.role == "manual" and cell.kind != "code":
            return True  # a person reads it
        if parse_code(joined) is None:
            return False
        asked = self.asked.get(cell.grade_id, set())
        given = [which for part in parts for which in self._gives(part, asked)]
        own = self.own[cell.grade_id]
        return len(given) == len(set(given)) and (bool(given) or own[-1] - own[0] == len(own) - 1)

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
        if not names and i2 - i1 == j2 - j1 and same in near and cell.role != "manual":
            alike = [same]  # of what a person grades, a person says what it belongs to
        if len(alike) != 1:
            return None
        self.notes.append(f"{name} was found by its place: its metadata are gone")
        return self._take(alike[0], place)

    def _take(self, j: int, place: int) -> str:
        self.used.add(j)
        self.places[j] = place
        self.own[self.master.cells[place].grade_id] = [j]
        return self.sent[j].source
