"""Judging an exercise: outcomes of its calls held against what the course's version gives.

`Sheet` is what is asked: the named cases, and calls that are drawn from a seed. `judge` goes
through it with the outcomes, which are made as they are needed (in a notebook) or came out of the
fence as JSON (in the grader): the same outcomes give the same verdict. First the parts with their
named cases; where all of them hold, what the calls left behind, and the drawn calls. What only
these find costs one point.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from course_lib.teaching.checks import Exercise
from course_lib.teaching.checks.definition import Case
from course_lib.teaching.checks.drawn import from_json
from course_lib.teaching.checks.encoded import difference, tag_of, text_of
from course_lib.teaching.checks.outcomes import CheckFailed, Part
from course_lib.teaching.checks.running import Calls, Outcome, leave, looked

if TYPE_CHECKING:
    import psycopg

__all__ = ["SEED", "Outcomes", "Sheet", "Told", "Verdict", "differing", "judge"]

SEED = 1
"""What the calls of a check in a notebook are drawn with."""

WRONG = "is not right yet"
OTHER_VALUE = "the course's version gives another value"
SPARES = "a function leaves what it was given as it was: its caller still needs it"
KEEPS = (
    "a result belongs to the caller: a later call must not change it, and must not depend on an "
    "earlier one"
)
LEAVES = "a function leaves everything else as it was: other code of the same program needs it"
REMEMBERS = (
    "the first call would give something else by now: something stays from one call to the next, "
    "such as a default value that is changed"
)
SHORT = 60
"""Characters of each argument, where a call is too long for a message."""

DRAWN = "calls that are drawn at random, and what a call leaves behind"
ENDLESS = "the usual cause is a loop whose condition never becomes false, or a wait that never ends"


class Sheet:
    """What is asked of an answer, and what the course's version gives for it.

    Parameters
    ----------
    exercise
        Whose calls they are.
    seed
        What calls are drawn with; the named cases come before them.
    after
        Another sheet of the same exercise: this one has drawn calls alone, and their tables are
        beside those of the other one.
    reference
        Returns the course's version; it is asked for when its first value is needed.
    connect
        Opens a connection to a database of which the course's version may use schemas.
    """

    def __init__(
        self,
        exercise: Exercise,
        seed: int | str = SEED,
        *,
        reference: Callable[[], Any] | None = None,
        connect: Callable[[], psycopg.Connection[Any]] | None = None,
        after: Sheet | None = None,
    ) -> None:
        self.exercise = exercise
        self.parts = () if after else exercise.parts
        named = [] if after else exercise.calls
        self.named = len(named)
        self.first: int = len(after.calls) if after else 0
        self.calls: list[Any] = [*named, *exercise.draws.draw(seed)]
        self._reference, self._connect = reference, connect
        self._known: dict[int, Any] = {}
        self._outcomes: Outcomes | None = None

    def expected(self, place: int) -> Any:
        """Return what the course's version gives for a call."""
        if place not in self._known:
            if self._outcomes is None:
                assert self._reference is not None
                run = Calls(self.exercise.draws, self._reference(), self._connect)
                self._outcomes = Outcomes(self, run, self._connect)
            self._known[place] = self._outcomes[place]["value"]
        return self._known[place]

    def of_cases(self) -> Sheet:
        """Return the sheet without its drawn calls."""
        alone = copy.copy(self)
        alone.calls = self.calls[: self.named]
        return alone

    def make(self) -> None:
        """Make all expected values, so that no database is needed any more."""
        for place in range(len(self.calls)):
            self.expected(place)
        self.close()

    def close(self) -> None:
        """Close the connections."""
        if self._outcomes is not None:
            self._outcomes.close()


class Outcomes:
    """The outcomes of a sheet's calls, made when they are asked for.

    Parameters
    ----------
    sheet
        What is asked.
    run
        Makes a call.
    connect
        Opens the connection with which is looked at what a call has left in the database.
    """

    def __init__(
        self,
        sheet: Sheet,
        run: Calls,
        connect: Callable[[], psycopg.Connection[Any]] | None = None,
    ) -> None:
        self.sheet, self.run = sheet, run
        self._connect = connect
        self._watching: psycopg.Connection[Any] | None = None
        self._made: dict[int, Outcome] = {}

    def __getitem__(self, place: int) -> Outcome:
        """Return the outcome of a call, with what is compared."""
        if place not in self._made:
            self._made[place] = self._looked_at(place, self._come(place))
        return self._made[place]

    def _come(self, place: int) -> Outcome:
        return self.run.call(self.sheet.calls[place], self.sheet.first + place)

    def _looked_at(self, place: int, outcome: Outcome) -> Outcome:
        """Return the outcome with what is compared, and remove the call's tables."""
        draws, call = self.sheet.exercise.draws, self.sheet.calls[place]
        if not draws.needs_database:
            return outcome
        if self._watching is None or self._watching.closed:
            assert self._connect is not None
            self._watching = self._connect()
        try:
            return looked(draws, call, self.sheet.first + place, outcome, self._watching)
        finally:
            leave(self._watching, self.sheet.first + place)

    def later(self) -> Mapping[str, Any]:
        """Return results that have changed since their calls, by the places of the calls."""
        return self.run.later()

    def remember(self) -> bool:
        """Tell whether the first call gives something else by now, or its result has changed."""
        again = self.run.call(self.sheet.calls[0], self.sheet.first)
        if self.sheet.exercise.draws.needs_database:
            return bool(self.later())
        return bool(self.later()) or difference(again["value"], self[0]["value"]) is not None

    def close(self) -> None:
        """Close the connections."""
        self.run.close()
        if self._watching is not None:
            self._watching.close()


class Stopped(Exception):
    """A call that came out of the fence without an end; `args` has its place, why and where."""


class Told(Outcomes):
    """Outcomes that came out of the fence, as JSON of any shape.

    Parameters
    ----------
    sheet
        What was asked.
    told
        What came: ``{"outcomes": […], "later": {…}}``.
    connect
        Opens a connection to the submission's database, with no more rights than it has.
    """

    def __init__(
        self,
        sheet: Sheet,
        told: Mapping[str, Any],
        connect: Callable[[], psycopg.Connection[Any]] | None = None,
    ) -> None:
        super().__init__(sheet, Calls(sheet.exercise.draws, None), connect)
        self._told, self._later = told.get("outcomes"), told.get("later")
        self._stopped = str(told.get("stopped", "time")), str(told.get("where", ""))[:500]

    def _come(self, place: int) -> Outcome:
        if not isinstance(self._told, list) or place >= len(self._told):
            raise Stopped(place, *self._stopped)
        return _readable(self._told[place])

    def later(self) -> Mapping[str, Any]:
        """Return what came of results that have changed since."""
        later = self._later if isinstance(self._later, dict) else {}
        return {at: value for at, value in later.items() if at.isdecimal() and _is_shown(value)}

    def remember(self) -> bool:
        """Tell whether the result of an earlier call has changed."""
        return bool(self.later())


def _readable(outcome: Any) -> Outcome:
    """Return an outcome of which a message can be made, whatever came."""
    is_outcome = isinstance(outcome, dict) and "value" in outcome
    if not is_outcome or not _is_shown(outcome["value"]):
        return {"value": {"object": "nothing that can be read"}}
    kept: Outcome = {"value": outcome["value"]}
    changed, left = outcome.get("changed"), outcome.get("left")
    if isinstance(changed, list) and len(changed) == 3 and all(map(_is_shown, changed)):
        kept["changed"] = changed
    if isinstance(left, dict):
        pairs = {what: told for what, told in left.items() if isinstance(told, list)}
        kept["left"] = {what: ["", "", *map(str, told)][-2:] for what, told in pairs.items()}
    return kept


def _is_shown(value: Any) -> bool:
    """Tell whether a value is one that `encode` could have returned."""
    try:
        text_of(value), difference(value, value)
    except Exception:
        return False
    return True


class Fault(NamedTuple):
    """What is wrong with a call, as the parts of a `CheckFailed`."""

    called: str
    got: str
    expected: str = ""
    because: str = ""
    short: str = ""

    def __str__(self) -> str:
        return f"{self.called} gives {self.got}, not {self.expected}"


@dataclass
class Verdict:
    """What was found so far.

    Attributes
    ----------
    parts
        The parts that were judged.
    fault
        What is shown to the learner; None if nothing was found.
    stub
        The function that was not implemented, if a call ended there.
    ran_out
        Whether a call did not come to an end.
    """

    exercise: Exercise
    parts: list[Part] = field(default_factory=list)
    fault: CheckFailed | None = None
    stub: str = ""
    ran_out: bool = False

    @property
    def earned(self) -> int:
        """The points."""
        if self.stub:
            return 0
        return self.fault.earned if self.fault else self.exercise.points

    def fail(self, fault: Fault, headline: str = WRONG) -> None:
        """Note a fault, unless there is one already."""
        if self.fault is None:
            name = f"{self.exercise.name} {headline}"
            self.fault = CheckFailed(self.exercise.id, name, **fault._asdict())
            self.fault.parts, self.fault.most = self.parts, self.exercise.points

    def stopped(self, call: Any, kind: str, where: str = "") -> None:
        """Note that a call did not come to an end."""
        self.ran_out, exercise, self.fault = True, self.exercise, None
        if sum(part.points for part in self.parts) == exercise.points:
            self.parts.append(Part(-1, DRAWN, passed=False))
        seconds = f"{exercise.time_limit:g} second{'' if exercise.time_limit == 1 else 's'}"
        ends = {"memory": "more and more memory, until it was stopped"}
        got = "\n".join(filter(None, (ends.get(kind, f"no result after {seconds}"), where)))
        cases = (one for part in exercise.parts for one in part.cases)
        known = zip(exercise.calls, cases, strict=True)
        because = next((f"{one.because}; " for made, one in known if made == call), "")
        called = exercise.draws.call_text(call) if call else ""
        self.fail(Fault(called, got, because=because + ENDLESS), "did not come to an end")


def judge(sheet: Sheet, outcomes: Outcomes, verdict: Verdict) -> None:
    """Judge the answer that these outcomes are of, and write what is found into the verdict.

    Parameters
    ----------
    sheet
        What was asked.
    outcomes
        What came, by the places of the calls.
    verdict
        It holds the parts that were judged until then, also where a call never ends.
    """
    try:
        _judge_parts(sheet, outcomes, verdict)
        if not verdict.fault and not verdict.stub:
            if fault := next(_unnamed_faults(sheet, outcomes), None):
                verdict.parts.append(Part(-1, DRAWN, passed=False))
                verdict.fail(fault)
    except Stopped as stop:
        place, *told = stop.args
        verdict.stopped(sheet.calls[place], *told)


def differing(sheet: Sheet, outcomes: Outcomes) -> tuple[str, float]:
    """Return the shortest drawn call with another value, and the share of such calls.

    Returns
    -------
    tuple
        What the call gives and should give, as one line, empty where all agree; and the share.
    """
    places = range(sheet.named, len(sheet.calls))
    faults: list[object] = []
    try:
        for place in places:
            if fault := _fault(sheet, place, outcomes[place]["value"]):
                faults.append(fault)
    except Stopped as stop:
        place, *_ = stop.args
        ends = f"{sheet.exercise.draws.call_text(sheet.calls[place])} does not end"
        faults += [ends] * (len(sheet.calls) - place)
    return str(faults[0]) if faults else "", len(faults) / max(1, len(places))


def _judge_parts(sheet: Sheet, outcomes: Outcomes, verdict: Verdict) -> None:
    places = count()
    for part in sheet.parts:
        is_needed = part.needed and not verdict.parts
        held = True
        for case, place in zip(part.cases, places, strict=False):
            value = outcomes[place]["value"]
            if tag_of(value) == "stub":
                verdict.stub = str(value["stub"])
                return
            if fault := _fault(sheet, place, value, case):
                held = False
                if not verdict.fault and place and outcomes.remember():
                    fault = fault._replace(because=REMEMBERS)
                verdict.fail(fault)
                if is_needed:
                    break
        verdict.parts.append(Part(part.points, part.about, passed=held))
        if is_needed and not held:
            return


def _unnamed_faults(sheet: Sheet, outcomes: Outcomes) -> Iterator[Fault]:
    """Find what calls left behind, drawn calls with another value, and results that changed."""
    draws = sheet.exercise.draws
    for place, call in enumerate(sheet.calls):
        outcome = outcomes[place]
        if place >= sheet.named and (fault := _fault(sheet, place, outcome["value"])):
            yield fault
        if "changed" in outcome:
            name, now, before = outcome["changed"]
            at, became, was = difference(now, before) or ("", text_of(now), text_of(before))
            called = draws.call_text(call)
            became = f"{became}  (at argument {name}{at}, after the call)"
            yield Fault(called, became, f"{was}, as before the call", SPARES)
        for name, (before, now) in outcome.get("left", {}).items():
            called = draws.call_text(call)
            yield Fault(called, f"{name} is {now}", f"{before}, as before the call", LEAVES)
    for key, now in outcomes.later().items():
        place = int(key)
        then = outcomes[place]["value"] if place < len(sheet.calls) else now
        if changed := difference(now, then):
            at, got, expected = changed
            called = f"first = {draws.call_text(sheet.calls[place])}\n… other calls …\nfirst"
            was = f"{expected}{_at(at)}, as when it was returned"
            yield Fault(called, f"{got}{_at(at)}", was, KEEPS)


def _fault(sheet: Sheet, place: int, got: Any, case: Case | None = None) -> Fault | None:
    """Return what is wrong with the value of a call; None if nothing is."""
    draws, call = sheet.exercise.draws, sheet.calls[place]
    refuses = case.raises.__name__ if case and case.raises else ""
    wanted = {"raises": [refuses]} if refuses else sheet.expected(place)
    try:
        agrees = draws.agrees(wanted, got)
    except Exception:  # what came is of any shape
        agrees = False
    mentions = case.mentions if case else ""
    if agrees and (not mentions or mentions.casefold() in str(got.get("message")).casefold()):
        return None
    at, came, expected = difference(got, wanted) or ("", text_of(got), text_of(wanted))
    if tag_of(wanted) == "raises":
        expected = wanted["raises"][0]
        expected += f" with a message that names {mentions!r}" if mentions else ""
    because = case.because if case else OTHER_VALUE
    if draws.why:
        with suppress(Exception):  # as above
            because = draws.why(got, *from_json(call).args) or because
    if tag_of(got) == "raises" and tag_of(wanted) != "raises":
        because = f"it must not fail here: {because}"
    more = next((f": {why}" for said, why in draws.says.items() if said in came), "")
    got, expected = f"{came}{_at(at)}", f"{expected}{_at(at)}"
    short = draws.call_text(call, SHORT)
    return Fault(draws.call_text(call), got, expected, because + more, short)


def _at(place: str) -> str:
    return f"  (at {place})" if place else ""
