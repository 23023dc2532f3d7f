"""Python values as JSON: encoded, compared and written; strict about types.

What JSON has a form for is itself; anything else is an object whose first key, its tag, says what
it is, as in ``{"tuple": [1, 2]}``. `FORMS` has a row for each tag: all that a new one needs. What
comes out of the fence is compared as JSON, and never decoded.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import os
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Any, NamedTuple

from course_lib.teaching.checks.origin import named

LONGEST = 100_000
"""Items of an iterator that are read."""

TOLERANCE = 1e-5
WIDTH = 100
WHOLE = 1 << 30
"""As a width: nothing is left out."""

RUNS = re.compile(r"(.{1,9}?)\1{99,}", re.DOTALL)
"""A piece of a text that is there a hundred times."""

MISSING = {"object": "no such key"}
"""In the place of a dictionary's value."""

Difference = tuple[str, str, str]
"""Where two values differ (``"[2].start"``; empty for the whole), what came, what was expected."""


@dataclasses.dataclass(frozen=True)
class Json:
    """A value that is JSON already, such as that of an outcome: `encode` leaves it as it is."""

    value: Any


def encode(value: Any) -> Any:
    """Return a value as JSON.

    Examples
    --------
    >>> encode((1, {"a"}, {2: b"x"}))
    {'tuple': [1, {'set': ['a']}, {'dict': {'2': {'bytes': '78'}}}]}
    >>> from course_lib.records import Span
    >>> encode(Span(0, 2, "ab"))["record"]["fields"]
    {'start': 0, 'end': 2, 'text': 'ab'}
    """
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    if kind is list:
        return [encode(item) for item in value]
    if kind is Json:
        return value.value
    if isinstance(value, Enum):
        return encode(value.value)
    if isinstance(value, str):
        return str(value)
    if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
        return encode(value.item())
    tag, form = next(row for row in FORMS.items() if row[1].fits(value))
    return {tag: form.pack(value)}


def decode(value: Any) -> Any:
    """Return a new Python object for what `encode` returned.

    Examples
    --------
    >>> decode(encode((1, {"a"}, {2: b"x"})))
    (1, {'a'}, {2: b'x'})
    """
    if isinstance(value, list):
        return [decode(item) for item in value]
    tag = tag_of(value)
    return FORMS[tag].unpack(value[tag]) if tag else value  # type: ignore[misc]


def tag_of(value: Any) -> str:
    """Return the tag of what `encode` returned; empty for what JSON has a form for.

    Examples
    --------
    >>> tag_of(encode((1, 2))), tag_of({"raises": ["ValueError"]}), tag_of([1])
    ('tuple', 'raises', '')
    """
    return str(next(iter(value), "")) if isinstance(value, dict) else ""


def kind_of(value: Any) -> str:
    """Return the name of a value's type, as Python calls it.

    Examples
    --------
    >>> kind_of(encode((1, 2))), kind_of(encode({1})), kind_of("a")
    ('tuple', 'set', 'str')
    """
    tag = tag_of(value)
    if tag == "record":
        return str(value[tag]["class"])
    return str(value[tag]) if tag == "object" else tag or type(value).__name__


def error_value(error: BaseException, where: str = "") -> dict[str, Any]:
    """Return an exception as a value: its classes, its message, and the line it came from.

    Examples
    --------
    >>> error_value(UnicodeError("odd"))["raises"]
    ['UnicodeError', 'ValueError', 'Exception']
    """
    kinds = [c.__name__ for c in type(error).__mro__ if issubclass(c, BaseException)][:-1]
    return {"raises": kinds, "says": f"{named(error)}{where}", "message": str(error)[:2000]}


def alike(expected: Any, got: Any) -> bool:
    """Tell whether two values are the same, as JSON: `difference` finds nothing.

    Examples
    --------
    >>> alike(0.3, 0.1 + 0.2), alike(1.0, 1), alike(1, True), alike([1], {"tuple": [1]})
    (True, True, False, False)
    """
    return difference(got, expected) is None


def difference(got: Any, expected: Any) -> Difference | None:
    """Return the first place where two values differ, or None.

    Types count: ``True`` is not ``1`` and a tuple is not a list. Numbers that are not whole may
    differ by `TOLERANCE` (absolute or relative), and a whole number passes for one of them. The
    order of a dictionary does not count, nor where a class was defined, nor the size of an array's
    numbers. An exception may be of a subclass of the expected one.

    Examples
    --------
    >>> difference([1, 2], [1, 3])
    ('', '[1, 2]', '[1, 3]')
    >>> difference([1, 2, 3, 4, 6], [1, 2, 3, 4, 5])
    ('[4]', '6', '5')
    >>> difference(True, 1)
    ('', 'True (bool)', '1 (int)')
    """
    if isinstance(expected, float) and isinstance(got, float | int) and type(got) is not bool:
        close = math.isclose(got, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        return None if close else ("", text_of(got), text_of(expected))
    tag = tag_of(expected)
    if tag == "raises":
        said = text_of(got)
        if tag_of(got) != tag:
            return "", f"{said}, and no exception", text_of(expected)
        return None if expected[tag][0] in got[tag] else ("", said, text_of(expected))
    if kind_of(got) != kind_of(expected):
        return "", _with_type(got), _with_type(expected)
    if _key(got) == _key(expected):  # most are, and this is quick
        return None
    if isinstance(expected, list):
        return _of_sequences(got, expected, text_of)
    if tag in FORMS and (differ := FORMS[tag].differ):
        return differ(got[tag], expected[tag])
    return "", *_apart(got, expected)


def text_of(value: Any, width: int = WIDTH) -> str:
    """Return what `encode` returned as Python would write it, shortened to about `width`.

    Examples
    --------
    >>> text_of(encode((1, {"a": "b" * 99})), 20)
    "(1, {'a': 'bbbbbbbb…' (99 characters)})"
    >>> text_of(encode(list(range(1000))), 20)
    '[0, 1, 2, 3, 4, 5, 6, …] (1,000 items)'
    """
    if isinstance(value, str):
        if len(value) <= width:
            return repr(value) if width < WHOLE else _written_text(value)
        return f"{value[: width // 2 - 2] + '…'!r} ({len(value):,} characters)"
    if isinstance(value, list):
        return _items("[]", value, width)
    if not (tag := tag_of(value)):
        return repr(value)
    if tag == "raises":
        return str(value.get("says", value[tag]))
    return FORMS.get(tag, FORMS["object"]).write(value[tag], width)


def _written_text(text: str) -> str:
    """Return a text as Python writes it; what it repeats a hundred times is multiplied."""
    parts, end = [], 0
    for run in RUNS.finditer(text):
        parts += [repr(text[end : run.start()])] if run.start() > end else []
        parts.append(f"{run[1]!r} * {len(run[0]) // len(run[1]):_}")
        end = run.end()
    return " + ".join([*parts, repr(text[end:])] if end < len(text) else parts) or "''"


def _items(brackets: str, items: Sequence[Any], width: int) -> str:
    opening, closing = brackets[0], brackets[1]
    parts: list[str] = []
    room = width if len(items) > 3 else 2 * width
    for item in items:
        part = text_of(item, width)
        if parts and sum(map(len, parts)) + 2 * len(parts) + len(part) > room:
            return f"{opening}{', '.join([*parts, '…'])}{closing} ({len(items):,} items)"
        parts.append(part)
    return f"{opening}{', '.join(parts)}{closing}"


def _apart(got: Any, expected: Any) -> tuple[str, str]:
    """Return two values as text; of long texts the part in which they first differ."""
    if not isinstance(got, str) or not isinstance(expected, str):
        return text_of(got), text_of(expected)
    before = len(os.path.commonprefix([got, expected]))
    if max(len(got), len(expected)) <= WIDTH or before < WIDTH // 4:
        return text_of(got), text_of(expected)
    return _part(got, before - 29), _part(expected, before - 29)


def _part(text: str, start: int) -> str:
    end = start + WIDTH - 20
    inside = f"…{text[start:end]}{'…' if end < len(text) else ''}"
    return f"{inside!r} ({len(text):,} characters)"


def _with_type(value: Any) -> str:
    """Return a value with its type, where its text does not say it."""
    text, kind = text_of(value), kind_of(value)
    known = value is None or kind in ("raises", "ndarray") or kind in text
    return text if known else f"{text} ({kind})"


def _of_sequences(
    got: Sequence[Any], expected: Sequence[Any], write: Callable[[Any, int], str]
) -> Difference | None:
    whole = write(got, WIDTH), write(expected, WIDTH)
    is_cut = any("…" in one for one in whole)
    for index, pair in enumerate(zip(got, expected, strict=False)):
        if found := difference(*pair):
            if len(expected) <= 3 and len(got) <= 3 and not found[0] and not is_cut:
                return "", *whole
            return f"[{index}]{found[0]}", found[1], found[2]
    if len(got) == len(expected):
        return None
    told = [f"{len(one)} item{'s'[: len(one) != 1]}" for one in (got, expected)]
    if not is_cut:
        return "", f"{told[0]}: {whole[0]}", f"{told[1]}: {whole[1]}"
    at = min(len(got), len(expected))  # all before it are equal
    more = f", with [{at}]: {text_of(max(got, expected, key=len)[at])}"
    ends = [more if len(one) > at else f", without [{at}]" for one in (got, expected)]
    return "", told[0] + ends[0], told[1] + ends[1]


def _of_dicts(got: Mapping[str, Any], expected: Mapping[str, Any]) -> Difference | None:
    texts = _written_dict(got, WIDTH), _written_dict(expected, WIDTH)
    if got.keys() != expected.keys() and max(map(len, texts)) <= WIDTH:
        return "", *texts
    for key in {**expected, **got}:
        if found := difference(got.get(key, MISSING), expected.get(key, MISSING)):
            return f"[{text_of(json.loads(key))}]{found[0]}", found[1], found[2]
    return None


def _of_records(got: Any, expected: Any) -> Difference | None:
    for name, wanted in expected["fields"].items():
        if found := difference(got["fields"].get(name), wanted):
            return f".{name}{found[0]}", found[1], found[2]
    return None


def _of_arrays(got: Any, expected: Any) -> Difference | None:
    kinds = [one["dtype"].rstrip("0123456789") for one in (got, expected)]
    if kinds[0] != kinds[1]:
        return "", f"an array of {got['dtype']}", str(expected["dtype"])
    if got["shape"] != expected["shape"]:
        return "", f"an array of shape {tuple(got['shape'])}", f"shape {tuple(expected['shape'])}"
    return difference(got["items"], expected["items"])


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _packed_items(value: Iterable[Any]) -> list[Any]:
    return [encode(item) for item in islice(value, LONGEST)]


def _packed_record(value: Any) -> dict[str, Any]:
    fields = {name: encode(getattr(value, name)) for name in _fields(value) or ()}
    return {"class": type(value).__qualname__, "module": type(value).__module__, "fields": fields}


def _fields(value: object) -> list[str] | None:
    """Return the fields of a named tuple, a data class or a pydantic model; None for others."""
    kind = type(value)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return list(kind._fields)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [field.name for field in dataclasses.fields(value)]
    fields = getattr(kind, "model_fields", None)
    return list(fields) if isinstance(fields, dict) else None


def _made_record(told: Any) -> Any:
    made = getattr(importlib.import_module(told["module"]), told["class"])
    return made(**{name: decode(item) for name, item in told["fields"].items()})


def _packed_array(value: Any) -> dict[str, Any]:
    return {"items": encode(value.tolist()), "dtype": str(value.dtype), "shape": [*value.shape]}


def _made_array(told: Any) -> Any:
    import numpy as np

    return np.array(told["items"], dtype=told["dtype"]).reshape(told["shape"])


def _written_tuple(items: Sequence[Any], width: int) -> str:
    return f"({text_of(items[0], width)},)" if len(items) == 1 else _items("()", items, width)


def _written_dict(items: Mapping[str, Any], width: int) -> str:
    texts = ((text_of(json.loads(key), width), text_of(items[key], width)) for key in items)
    return f"{{{', '.join(map(': '.join, texts))}}}"


def _written_record(told: Any, width: int) -> str:
    fields = (f"{name}={text_of(item, width)}" for name, item in told["fields"].items())
    return f"{told['class']}({', '.join(fields)})"


def _written_array(told: Any, width: int) -> str:
    if 0 in told["shape"][:-1]:  # its items do not say its shape
        return f"np.zeros({tuple(told['shape'])}, dtype=np.{told['dtype']})"
    return f"np.array({text_of(told['items'], width)}, dtype=np.{told['dtype']})"


def _named(value: Any) -> str:
    kind = type(value).__qualname__
    is_named = isinstance(value, types.FunctionType | types.BuiltinFunctionType | type)
    return f"{kind} {value.__name__}" if is_named else kind


class Form(NamedTuple):
    """How values of a type are told for which JSON has no form.

    Attributes
    ----------
    fits
        Tells whether a value is of this type.
    pack
        Returns what is told of it after its tag.
    write
        Returns this as Python writes the value, shortened to about so many characters.
    unpack
        Returns a new value for this; None where calls never have one as an argument.
    differ
        Returns where two of them differ; None where both are shown as a whole.
    """

    fits: Callable[[Any], bool]
    pack: Callable[[Any], Any]
    write: Callable[[Any, int], str]
    unpack: Callable[[Any], Any] | None = None
    differ: Callable[[Any, Any], Difference | None] | None = None


FORMS = {
    "float": Form(lambda one: type(one) is float, repr, lambda one, width: str(one), float),
    "tuple": Form(
        lambda one: type(one) is tuple, _packed_items, _written_tuple,
        lambda one: tuple(decode(one)),
        lambda got, expected: _of_sequences(got, expected, _written_tuple),
    ),
    "dict": Form(
        lambda one: isinstance(one, Mapping),
        lambda one: {_key(encode(key)): encode(item) for key, item in one.items()},
        _written_dict,
        lambda one: {decode(json.loads(key)): decode(item) for key, item in one.items()},
        _of_dicts,
    ),
    "set": Form(
        lambda one: type(one) in (set, frozenset), lambda one: sorted(map(encode, one), key=_key),
        lambda one, width: _items("{}", one, width) if one else "set()",
        lambda one: set(decode(one)),
    ),
    "ndarray": Form(
        lambda one: type(one).__module__ == "numpy" and hasattr(one, "tolist"),
        _packed_array, _written_array, _made_array, _of_arrays,
    ),
    "bytes": Form(
        lambda one: isinstance(one, bytes | bytearray), lambda one: one.hex(),
        lambda one, width: repr(bytes.fromhex(one)), bytes.fromhex,
    ),
    "iterator": Form(
        lambda one: isinstance(one, Iterator), _packed_items,
        lambda one, width: f"iter({text_of(one, width)})", lambda one: iter(decode(one)),
    ),
    "record": Form(
        lambda one: _fields(one) is not None, _packed_record, _written_record, _made_record,
        _of_records,
    ),
    "object": Form(lambda one: True, _named, lambda one, width: f"<{one}>"),
}  # fmt: skip
"""How values are told, by their tags; a value has the first that fits."""
