"""Comparing and showing what a learner's code returned: strict about types, wary of odd objects.

`difference` says where two values differ, `mismatch` where a value is not of a type, `shown`
writes a value in little room, `written` writes it whole, so that it can be pasted into a cell. None
of them trusts the learner's object: one that claims to equal everything is not believed.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import os
import re
import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, cast, get_args, get_origin, get_type_hints

TOLERANCE = 1e-5
WIDTH = 100
DICTS = (dict, OrderedDict, defaultdict, Counter)
LIST_ITERATOR: type = type(iter([]))
STRICT = frozenset((bool, int, float, str, bytes, list, tuple, dict, set))
"""Types whose subclasses do not pass for them: True does not pass for 1."""


def difference(got: object, expected: object) -> tuple[str, str, str] | None:
    """Return the first place where two values differ, or None.

    Types count: ``True`` is not ``1`` and a tuple is not a list. NumPy's scalars pass for Python's,
    and numbers that are not whole may differ by `TOLERANCE` (absolute or relative).

    Returns
    -------
    tuple of str, or None
        Where (``"[2].start"``; empty for the whole), what was got there, what was expected.

    Examples
    --------
    >>> difference([1, 2], [1, 3])
    ('', '[1, 2]', '[1, 3]')
    >>> difference([1, 2, 3, 4, 6], [1, 2, 3, 4, 5])
    ('[4]', '6', '5')
    >>> difference(True, 1)
    ('', 'True (bool)', '1 (int)')
    >>> difference(0.1 + 0.2, 0.3) is None
    True
    """
    got = _python_scalar(got)
    expected = _python_scalar(expected)
    if isinstance(expected, float) and isinstance(got, float | int) and type(got) is not bool:
        return None if _close(float(got), expected) else ("", shown(got), shown(expected))
    if type(expected).__module__ == "numpy":
        return _array_difference(got, expected)
    if type(got) is not type(expected) and not (type(got) in DICTS and type(expected) in DICTS):
        return "", _with_type(got), _with_type(expected)
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        return _dict_difference(got, expected)
    if (names := field_names(expected)) is not None:
        return _field_difference(got, expected, names)
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        return _sequence_difference(got, expected)
    if isinstance(expected, set | frozenset) and isinstance(got, set | frozenset):
        if {(type(item), item) for item in got} != {(type(item), item) for item in expected}:
            return "", shown(got), shown(expected)
        return None
    return None if got == expected else ("", *shown_apart(got, expected))


def field_names(value: object) -> list[str] | None:
    """Return the fields of a named tuple, a data class or a pydantic model; None for others."""
    kind = type(value)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return list(kind._fields)
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    fields = getattr(kind, "model_fields", None)
    return list(fields) if isinstance(fields, dict) else None


def mismatch(value: object, wanted: Any, place: str = "") -> str | None:
    """Return how a value (at this place in another) is not of the type `wanted`, or None.

    Understands classes and ``list[X]``, and looks into the fields of named tuples.

    Examples
    --------
    >>> mismatch([1, "2"], list[int])
    "[1] is '2' (str), not int"
    >>> mismatch("1, 2", list[int])
    "'1, 2', a str"
    >>> mismatch([1, 2], list[int]) is None
    True
    """
    value, kind = _python_scalar(value), get_origin(wanted) or wanted
    is_right = type(value) is kind if kind in STRICT else issubclass(type(value), kind)
    if not is_right:
        name = type(value).__name__
        if not place:  # what was wanted is said beside it
            known = value is None or name in shown(value, 60)
            article = "an" if name[0] in "aeiouAEIOU" or name == "ndarray" else "a"
            return shown(value, 60) + ("" if known else f", {article} {name}")
        return f"{place} is {_with_type(value, 60)}, not {describe(wanted)}"
    parts: Iterable[tuple[object, Any, str]] = ()
    if kind is list:
        [inside] = get_args(wanted) or (object,)
        parts = ((item, inside, f"{place}[{i}]") for i, item in enumerate(cast(list[Any], value)))
    elif hasattr(kind, "_fields"):
        hints = _fields(kind)
        parts = ((getattr(value, name), hint, f"{place}.{name}") for name, hint in hints.items())
    found = (mismatch(*part) for part in parts)
    return next((one for one in found if one is not None), None)


def shown(value: object, width: int = WIDTH) -> str:
    """Return a value as Python would write it, shortened to about `width` characters.

    Examples
    --------
    >>> shown("ab" * 500, width=20)
    "'abababab…' (1,000 characters)"
    >>> shown(list(range(1000)), width=20)
    '[0, 1, 2, 3, 4, 5, 6, …] (1,000 items)'
    """
    if type(value) is str and len(value) > width:
        return f"{value[: width // 2 - 2] + '…'!r} ({len(value):,} characters)"
    if isinstance(value, list | tuple) and type(value) in (list, tuple) and len(value) > 3:
        opening, closing = "[]" if type(value) is list else "()"
        parts: list[str] = []
        for item in value:
            part = shown(item, width)
            if sum(map(len, parts)) + 2 * len(parts) + len(part) > width:
                break
            parts.append(part)
        if len(parts) < len(value):
            return f"{opening}{', '.join([*parts, '…'])}{closing} ({len(value):,} items)"
    try:
        text = repr(value)
    except Exception as error:
        return f"<a {type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= 2 * width else f"{text[:width]}…"


def shown_apart(got: object, expected: object) -> tuple[str, str]:
    """Return two values as `shown` does; of long texts the part in which they first differ.

    Examples
    --------
    >>> shown_apart("ab" * 100 + "!", "ab" * 100 + "?")[0]
    "'…babababababababababababababab!' (201 characters)"
    """
    if not isinstance(got, str) or not isinstance(expected, str):
        return shown(got), shown(expected)
    before = len(os.path.commonprefix([got, expected]))
    if max(len(got), len(expected)) <= WIDTH or before < WIDTH // 4:
        return shown(got), shown(expected)
    start = before - 29
    return _part(got, start), _part(expected, start)


def _part(text: str, start: int) -> str:
    end = start + WIDTH - 20
    inside = f"…{text[start:end]}{'…' if end < len(text) else ''}"
    return f"{inside!r} ({len(text):,} characters)"


def written(value: object) -> str:
    """Return a value as an expression, whole: what can be pasted into a cell.

    Connections are `conn`, as the labs call theirs; functions and types have their names.

    Examples
    --------
    >>> written(["ab" * 40, (1, None)])[-14:]
    "b', (1, None)]"
    >>> import numpy as np
    >>> written({"query": np.array([0.5, 1], dtype=np.float32)})
    "{'query': np.array([0.5, 1.0], dtype=np.float32)}"
    """
    kind = type(value)
    if kind.__module__.startswith("psycopg") and hasattr(value, "cursor"):
        return "conn"
    if kind.__name__ == "ndarray":
        array: Any = value
        if not array.size and array.ndim > 1:  # its items do not say its shape
            return f"np.zeros({array.shape}, dtype=np.{array.dtype})"
        return f"np.array({array.tolist()}, dtype=np.{array.dtype})"
    if isinstance(value, type | types.FunctionType):
        return value.__name__
    if kind is LIST_ITERATOR:
        again: Any = copy.copy(value)
        return f"iter({written(list(again))})"
    if kind is dict and isinstance(value, dict):
        return "{" + ", ".join(f"{written(k)}: {written(v)}" for k, v in value.items()) + "}"
    if kind in (list, set, tuple) and isinstance(value, list | set | tuple) and value:
        parts = ", ".join(written(item) for item in value)
        if kind is tuple:
            return f"({parts},)" if len(value) == 1 else f"({parts})"
        return f"[{parts}]" if kind is list else f"{{{parts}}}"
    try:
        return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))
    except Exception as error:
        return f"<a {kind.__name__} whose repr raises {type(error).__name__}>"


def describe(wanted: Any) -> str:
    """Return a type in words that fit a message.

    Examples
    --------
    >>> describe(list[int]), describe(int)
    ('list[int]', 'int')
    """
    arguments = ", ".join(map(describe, get_args(wanted)))
    return f"{wanted.__name__}[{arguments}]" if arguments else str(wanted.__name__)


def _with_type(value: object, width: int = WIDTH) -> str:
    return "None" if value is None else f"{shown(value, width)} ({type(value).__name__})"


def _python_scalar(value: object) -> object:
    module = type(value).__module__
    if module == "numpy" and getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    return value


def _close(got: float, expected: float) -> bool:
    if math.isnan(expected):
        return math.isnan(got)
    return math.isclose(got, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _array_difference(got: object, expected: Any) -> tuple[str, str, str] | None:
    import numpy as np

    if type(got) is not np.ndarray:
        return "", _with_type(got), f"an array of shape {expected.shape}"
    if got.shape != expected.shape:
        return "", f"an array of shape {got.shape}", f"shape {expected.shape}"
    if got.dtype.kind != expected.dtype.kind:
        return "", f"an array of {got.dtype}", f"{expected.dtype}"
    if expected.dtype.kind in "fc":
        unequal = ~np.isclose(got, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    else:
        unequal = got != expected
    if not unequal.any():
        return None
    at = tuple(int(i) for i in np.argwhere(unequal)[0])
    place = f"[{', '.join(map(str, at))}]"
    return place, str(got[at].item()), str(expected[at].item())


def _dict_difference(
    got: Mapping[Any, Any], expected: Mapping[Any, Any]
) -> tuple[str, str, str] | None:
    if got.keys() != expected.keys() and max(len(repr(got)), len(repr(expected))) <= WIDTH:
        return "", shown(got), shown(expected)
    for key in expected:
        if key not in got:
            return f"[{key!r}]", "no such key", shown(expected[key])
        if found := difference(got[key], expected[key]):
            return f"[{key!r}]{found[0]}", found[1], found[2]
    for key in got:
        if key not in expected:
            return f"[{shown(key)}]", shown(got[key]), "no such key"
    return None


def _sequence_difference(
    got: Sequence[Any], expected: Sequence[Any]
) -> tuple[str, str, str] | None:
    whole = shown(got), shown(expected)
    is_cut = any("…" in one for one in whole)
    for index, (one, other) in enumerate(zip(got, expected, strict=False)):
        if found := difference(one, other):
            if len(expected) <= 3 and len(got) <= 3 and not found[0] and not is_cut:
                return "", *whole
            return f"[{index}]{found[0]}", found[1], found[2]
    if len(got) == len(expected):
        return None
    told = [f"{len(one)} item{'s'[: len(one) != 1]}" for one in (got, expected)]
    if not is_cut:
        return "", f"{told[0]}: {whole[0]}", f"{told[1]}: {whole[1]}"
    at = min(len(got), len(expected))  # all before it are equal
    longer = max(got, expected, key=len)
    more, _ = shown_apart(longer[at], longer[at - 1] if at else "")
    said = [
        f"{count}: {text}" if "…" not in text
        else f"{count}, with [{at}]: {more}" if one is longer
        else f"{count}, without [{at}]"
        for count, text, one in zip(told, whole, (got, expected), strict=True)
    ]  # fmt: skip
    return "", said[0], said[1]


def _field_difference(
    got: object, expected: object, names: list[str]
) -> tuple[str, str, str] | None:
    for name in names:
        found = difference(getattr(got, name, None), getattr(expected, name, None))
        if found:
            return f".{name}{found[0]}", found[1], found[2]
    return None


@cache
def _fields(kind: type[Any]) -> dict[str, Any]:
    """Return the fields of a named tuple and their types; evaluating those takes long."""
    return get_type_hints(kind)
