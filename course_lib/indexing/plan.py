"""The planner: what a source holds and what is indexed go in, what has to be done comes out.

It only compares states, so it serves documents, repositories and packages alike, and can be tested
without any of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Plan(Generic[Key]):
    """What to do with each key; every key is in exactly one list, in the order it was given."""

    skip: list[Key] = field(default_factory=list)
    add: list[Key] = field(default_factory=list)
    change: list[Key] = field(default_factory=list)
    remove: list[Key] = field(default_factory=list)


def make_plan(current: Mapping[Key, State], stored: Mapping[Key, State]) -> Plan[Key]:
    """Compare what is there now with what was stored.

    Parameters
    ----------
    current
        Key → state of what the source holds now. A state is any value, also None, an empty text or
        a list. Where two states are equal (``==``), nothing has to be done.
    stored
        Key → state as it was stored last time. Neither argument is changed.

    Returns
    -------
    Plan
        Each key is in exactly one list: `skip` (in both, with equal states), `add` (only in
        `current`), `change` (in both, with different states) or `remove` (only in `stored`).

    Examples
    --------
    >>> make_plan({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 0, "d": 4})
    Plan(skip=['a'], add=['c'], change=['b'], remove=['d'])
    """
    plan: Plan[Key] = Plan()
    for key, state in current.items():
        if key not in stored:
            plan.add.append(key)
        elif stored[key] == state:
            plan.skip.append(key)
        else:
            plan.change.append(key)
    plan.remove.extend(key for key in stored if key not in current)
    return plan
