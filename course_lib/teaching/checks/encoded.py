"""Python values as JSON, and JSON compared: strict about types, with a tolerance for numbers.

`encode` and `decode` are each other's inverse for what exercises take and return: tuples, sets,
dictionaries, iterators, bytes, NumPy arrays, named tuples, data classes and pydantic's models have
a tag. What comes out of the fence is never decoded.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import islice
from typing import Any

from course_lib.teaching.checks.values import difference, field_names

LONGEST = 100_000
"""Items of an iterator that are read."""


def encode(value: Any) -> Any:
    """Return a value as JSON.

    Examples
    --------
    >>> encode((1, {"a"}, {2: b"x"}))
    {'tuple': [1, {'set': ['a']}, {'dict': {'2': {'bytes': '78'}}}]}
    >>> from course_lib.records import Span
    >>> encode(Span(0, 2, "ab"))["fields"]
    {'start': 0, 'end': 2, 'text': 'ab'}
    """
    kind = type(value)
    if kind.__module__ == "numpy" and hasattr(value, "tolist"):
        if getattr(value, "shape", None) == ():
            return encode(value.item())
        array = {"array": encode(value.tolist()), "dtype": str(value.dtype)}
        is_empty = value.size == 0 and value.ndim > 1  # its items do not say its shape
        return array | ({"shape": list(value.shape)} if is_empty else {})
    if value is None or kind in (bool, int, str):
        return value
    if isinstance(value, Enum):
        return encode(value.value)
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is list:
        return [encode(item) for item in value]
    if kind is tuple:
        return {"tuple": [encode(item) for item in value]}
    if kind in (set, frozenset):
        return {"set": sorted((encode(item) for item in value), key=_key)}
    if isinstance(value, Mapping):
        return {"dict": {_key(encode(key)): encode(item) for key, item in value.items()}}
    if isinstance(value, bytes | bytearray):
        return {"bytes": value.hex()}
    if isinstance(value, Iterator):
        return {"iter": [encode(item) for item in islice(value, LONGEST)]}
    if (names := field_names(value)) is not None:
        fields = {name: encode(getattr(value, name)) for name in names}
        return {"record": kind.__qualname__, "fields": fields, "module": kind.__module__}
    return {"object": kind.__qualname__}


def decode(value: Any) -> Any:
    """Return a new Python object for what `encode` returned.

    Examples
    --------
    >>> decode(encode((1, {"a"}, {2: b"x"})))
    (1, {'a'}, {2: b'x'})
    """
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag, inside = next(iter(value.items()))
    if tag == "array":
        import numpy as np

        array = np.array(inside, dtype=value["dtype"])
        return array.reshape(value["shape"]) if "shape" in value else array
    if tag == "record":
        made = getattr(importlib.import_module(value["module"]), inside)
        return made(**{name: decode(item) for name, item in value["fields"].items()})
    if tag == "dict":
        return {decode(json.loads(key)): decode(item) for key, item in inside.items()}
    makes = {"tuple": tuple, "set": set, "iter": iter, "bytes": bytes.fromhex, "float": float}
    return makes[tag](decode(inside))  # type: ignore[operator]


def error_value(error: BaseException) -> dict[str, list[str]]:
    """Return an exception as a value: the names of its class and of those that it comes from.

    Examples
    --------
    >>> error_value(UnicodeError())
    {'raises': ['UnicodeError', 'ValueError', 'Exception']}
    """
    return {
        "raises": [c.__name__ for c in type(error).__mro__ if issubclass(c, BaseException)][:-1]
    }


def alike(expected: Any, got: Any) -> bool:
    """Tell whether two values are the same, as JSON.

    They are compared by `difference`, as in the checks; but a whole number passes for a float. The
    order of a dictionary does not count. An exception may be of a subclass of the expected one.

    Examples
    --------
    >>> alike(0.3, 0.1 + 0.2), alike(1.0, 1), alike(1, True), alike([1], {"tuple": [1]})
    (True, True, False, False)
    """
    if isinstance(expected, dict) and "raises" in expected:
        raised = got.get("raises") if isinstance(got, dict) else None
        return isinstance(raised, list) and expected["raises"][0] in raised
    return difference(_compared(got), _compared(expected)) is None


def _compared(value: Any) -> Any:
    """Leave out what does not count: sizes of numbers, and where a class was defined."""
    if isinstance(value, list):
        return [_compared(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: str(item).rstrip("0123456789") if name == "dtype" else _compared(item)
        for name, item in value.items()
        if name not in ("module", "shape")
    }


def text_of(value: Any, width: int = 160) -> str:
    """Return what `encode` returned as Python would write it, shortened in the middle.

    Examples
    --------
    >>> text_of(encode((1, {"a": "b" * 99})), 20)
    "(1, {'a': 'bbbbbbbbbb … bbbbbbbbb'})"
    """
    if isinstance(value, str):
        half = width // 2
        return repr(value if len(value) <= width else f"{value[:half]} … {value[1 - half :]}")
    if isinstance(value, list):
        return f"[{_items(value, width)}]"
    if not isinstance(value, dict):
        return repr(value)
    tag, inside = next(iter(value.items()))
    if tag == "dict":
        texts = ((text_of(json.loads(key), width), text_of(inside[key], width)) for key in inside)
        pairs = [": ".join(pair) for pair in texts]
        return f"{{{_joined(pairs, width)}}}"
    if tag == "record":
        fields = [f"{name}={text_of(item, width)}" for name, item in value["fields"].items()]
        return f"{inside}({', '.join(fields)})"
    if tag == "array" and "shape" in value:
        return f"np.zeros({tuple(value['shape'])}, dtype=np.{value['dtype']})"
    if tag == "array":
        return f"np.array({text_of(inside, width)}, dtype=np.{value['dtype']})"
    if tag == "bytes":
        return repr(bytes.fromhex(inside)) if len(inside) <= width else f"b'… {len(inside) // 2}'"
    if tag == "raises":
        return str(inside[0])
    forms = {"set": "{{{}}}", "iter": "iter([{}])"}
    if tag == "tuple":
        return f"({_items(inside, width)}{',' if len(inside) == 1 else ''})"
    return forms[tag].format(_items(inside, width)) if tag in forms else f"<{inside}>"


def _items(values: list[Any], width: int) -> str:
    return _joined([text_of(item, width) for item in values], width)


def _joined(parts: list[str], width: int) -> str:
    """Join what fits into twice the width; say how much is left out."""
    kept: list[str] = []
    room = 2 * width
    for part in parts:
        room -= len(part) + 2
        if room < 0 and kept:
            return ", ".join([*kept, f"… {len(parts) - len(kept)} more"])
        kept.append(part)
    return ", ".join(kept)


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
