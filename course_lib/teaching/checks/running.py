"""Making the calls of one answer: what each gives, as JSON, and what it leaves behind.

It runs in the learner's process. `Calls.call` gives an outcome, ``{"value": …}``, where an error
is a value too; with ``"changed"`` for arguments that the call changed, and ``"left"`` for what it
left changed in the process or on the connection. `Calls.later` says at the end which results of
earlier calls have changed since. Where the answer writes SQL, or works on a database, `looked` says
what is compared: it may be called elsewhere, by a role that may look into that database.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from course_lib.teaching.checks.drawn import Drawn, from_json
from course_lib.teaching.checks.encoded import encode, error_value
from course_lib.teaching.checks.origin import stub_in, where_in_given
from course_lib.teaching.time_limit import OutOfTime, stop_behind, within

if TYPE_CHECKING:
    import psycopg

__all__ = ["Outcome", "Calls", "leave", "looked", "outcomes_of"]

Outcome = dict[str, Any]
State = dict[str, Any]

MOST_KEPT = 300
"""Results that are looked at again at the end."""

ENVIRONMENT = "the environment variable "
FOLDER = "the working directory"
RANDOM = "the state of the random numbers that all code shares"
FACTORY = "the connection's row factory"
SETTINGS = "SELECT name, setting FROM pg_settings WHERE source = 'session'"


class Calls:
    """The calls of one answer.

    Parameters
    ----------
    draws
        How it is called.
    answer
        The learner's object, or the course's.
    connect
        Opens a connection to the database that the answer works on.
    """

    def __init__(
        self,
        draws: Drawn,
        answer: Any,
        connect: Callable[[], psycopg.Connection[Any]] | None = None,
    ) -> None:
        self.draws = draws
        self.answer = answer
        self.calling: Any = None
        self._connect = connect
        self._own: Any = None
        self._kept: list[tuple[int, Any, Any]] = []

    def call(self, call: Mapping[str, Any], place: int = 0) -> Outcome:
        """Make one call; `place` tells its schema from those of the others."""
        self.calling = call
        outcome, left = self._once(call, place)
        if left:  # a first import changes a process too, and a second call does not
            outcome, left = self._once(call, place)
        self.calling = None
        return {**outcome, "left": left} if left else outcome

    def later(self) -> dict[str, Any]:
        """Return results that have changed since their calls, by the places of the calls."""
        now = ((place, encode(value), then) for place, value, then in self._kept)
        return {str(place): value for place, value, then in now if value != then}

    def close(self) -> None:
        """Close the connection."""
        if self._own is not None:
            self._own.close()

    def _once(self, call: Mapping[str, Any], place: int) -> tuple[Outcome, dict[str, Any]]:
        args, named = from_json(call)
        given, connection = args, None
        if self.draws.takes_connection:
            connection = self._open()
            enter(self.draws, connection, place, args, new=True)
            given = (connection, *args)
        before = _of_process() | _of_connection(connection)
        value, kept = self._value(given, named)
        left = _differences(before, _of_process() | _of_connection(connection))
        if left:
            _restore(before, connection)
        outcome: Outcome = {"value": value}
        if kept is not None and len(self._kept) < MOST_KEPT:
            self._kept.append((place, kept, value))
        if changed := _changed(call, args, named):
            outcome["changed"] = changed
        return outcome, left

    def _open(self) -> psycopg.Connection[Any]:
        """Return the answer's connection; a new one if the answer has closed it."""
        if self._own is None or self._own.closed:
            if self._connect is None:
                raise ValueError(f"the calls of {self.draws.id} need a connection")
            self._own = self._connect()
        own: psycopg.Connection[Any] = self._own
        return own

    def _value(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the value as JSON, and the object if it can be looked at again."""
        try:
            value = self.draws.apply(self.answer, *args, **named)
            return encode(value), None if isinstance(value, Iterator) else value
        except (Exception, SystemExit) as error:
            if stop := stop_behind(error):
                raise stop from None
            if stub := stub_in(error):
                return {"stub": stub}, None
            return error_value(error, where_in_given(error, self.answer)), None


def looked(
    draws: Drawn, call: Mapping[str, Any], place: int, outcome: Outcome, connection: Any
) -> Outcome:
    """Return an outcome with what is compared: its value, or what the database says of it."""
    value = outcome["value"]
    ended = {"stub"} if draws.takes_connection else {"stub", "raises"}  # there is nothing to run
    if draws.look is None or (isinstance(value, dict) and ended & value.keys()):
        return outcome
    try:
        args, _ = from_json(call)
        enter(draws, connection, place, args, new=not draws.takes_connection)
        found = encode(draws.look(connection, value, *args))
    except Exception as error:
        if stop := stop_behind(error):
            raise stop from None
        found = error_value(error)
    return {**outcome, "value": found}


def outcomes_of(run: Calls, calls: Sequence[Any], first: int, seconds: float) -> dict[str, Any]:
    """Return the outcomes of calls as JSON, until they are made or the time is up."""
    outcomes: list[Outcome] = []
    told: dict[str, Any] = {"outcomes": outcomes, "stopped": "time"}

    def work() -> None:
        for place, call in enumerate(calls, first):
            outcomes.append(run.call(call, place))

    try:
        within(seconds, work)
        told["later"] = {str(int(at) - first): value for at, value in run.later().items()}
    except OutOfTime as stop:
        told["stopped"] = "memory" if stop.args == ("memory",) else "time"
        told["where"] = where_in_given(stop, run.answer).strip()
    finally:
        run.close()
    return told


def leave(connection: Any, place: int) -> None:
    """Remove a call's tables, unless a statement was stopped before its end."""
    if not connection.closed and connection.info.transaction_status.name != "ACTIVE":
        connection.rollback()
        connection.autocommit = True
        connection.execute("RESET ALL")
        connection.execute(f"DROP SCHEMA IF EXISTS check_{place} CASCADE")


def enter(draws: Drawn, connection: Any, place: int, args: tuple[Any, ...], *, new: bool) -> None:
    """Go into the schema of a call; make it and its tables first, where it is new."""
    connection.rollback()
    connection.autocommit = True
    connection.isolation_level = None
    connection.execute("RESET ALL")
    schema = f"check_{place}"
    if new:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        connection.execute(f"CREATE SCHEMA {schema}")
    connection.execute(f"SET search_path TO {schema}, public")
    if new and draws.prepare is not None:
        draws.prepare(connection, *args)


def _changed(
    call: Mapping[str, Any], args: tuple[Any, ...], named: Mapping[str, Any]
) -> list[Any] | None:
    """Return the first argument that is another now: its name, and what it is."""
    before: dict[int | str, Any] = dict(enumerate(call["args"], 1))
    after: dict[int | str, Any] = dict(enumerate(args, 1))
    if named:
        before |= {name: encode(value) for name, value in from_json(call).named.items()}
        after.update(named)
    for name, value in after.items():
        if not isinstance(value, Iterator) and (now := encode(value)) != before[name]:
            return [name, now, before[name]]
    return None


def _of_process() -> State:
    """Return what a call should leave as it was, by its name in a message."""
    numpy = sys.modules.get("numpy")
    states = random.getstate(), numpy.random.get_state() if numpy else None
    environment = {f"{ENVIRONMENT}{name}": value for name, value in os.environ.items()}
    return {FOLDER: _folder(), RANDOM: pickle.dumps(states), **environment}


def _of_connection(connection: psycopg.Connection[Any] | None) -> State:
    if connection is None:
        return {}
    if connection.closed:
        return {"the connection": "closed"}
    from psycopg.rows import tuple_row

    status = connection.info.transaction_status.name
    state = {
        "the connection": "open",
        "the connection's transaction": status,
        "the connection's autocommit": connection.autocommit,
        FACTORY: connection.row_factory,
        "the connection's isolation level": connection.isolation_level,
    }
    if status == "INERROR":
        return state
    with connection.cursor(row_factory=tuple_row) as cursor:
        settings = cursor.execute(SETTINGS).fetchall()
    if status == "IDLE":
        connection.rollback()
    return state | {f"the connection's setting {name}": value for name, value in settings}


def _differences(was: State, now: State) -> dict[str, Any]:
    """Return what is another now, with how it was and how it is."""
    names = ["the connection"] if now.get("the connection") == "closed" else [*(was | now)]
    return {
        name: [_told(was.get(name)), _told(now.get(name))]
        for name in names
        if was.get(name) != now.get(name)
    }


def _told(value: Any) -> str:
    if isinstance(value, bytes):
        return "another one"
    return "not set" if value is None else str(getattr(value, "__name__", value))


def _restore(state: State, connection: psycopg.Connection[Any] | None) -> None:
    """Put back what was; a connection's settings are put back by `enter`."""
    if state[FOLDER] not in ("", _folder()):
        os.chdir(state[FOLDER])
    own, numpys = pickle.loads(state[RANDOM])
    random.setstate(own)
    if numpys:
        sys.modules["numpy"].random.set_state(numpys)
    variables = (one for one in state if one.startswith(ENVIRONMENT))
    os.environ.clear()
    os.environ.update({one.removeprefix(ENVIRONMENT): state[one] for one in variables})
    if connection is not None and not connection.closed:
        connection.row_factory = state[FACTORY]


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""
