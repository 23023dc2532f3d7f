import numpy as np

from course_lib.records import Span
from course_lib.teaching.checks import encoded
from course_lib.teaching.checks.encoded import WHOLE, decode, encode, text_of


class EqualToEverything:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def difference(got: object, expected: object) -> tuple[str, str, str] | None:
    return encoded.difference(encode(got), encode(expected))


def written(value: object) -> str:
    return text_of(encode(value), WHOLE)


VECTOR = np.array([0.6, 0.8], dtype=np.float32)


SAME = [
    (1, 1),
    (np.int64(7), 7),
    (np.float32(0.1), 0.1),
    (np.bool_(True), True),
    (1, 1.0),
    ([Span(0, 1, "a")], [Span(0, 1, "a")]),
    ({"a": [1, {2}]}, {"a": [1, {2}]}),
    (VECTOR + np.float32(1e-7), VECTOR),
    (VECTOR.astype(np.float64), VECTOR),
    (float("nan"), float("nan")),
]


def test_what_is_the_same_has_no_difference():
    for got, expected in SAME:
        assert difference(got, expected) is None, (got, expected)


DIFFERENT = [
    (EqualToEverything(), 1),
    (EqualToEverything(), [Span(0, 1, "a")]),
    ([EqualToEverything()], [1]),
    ({"a": EqualToEverything()}, {"a": "b"}),
    (EqualToEverything(), VECTOR),
    (EqualToEverything(), 0.5),
    (EqualToEverything(), None),
    (True, 1),
    (1, True),
    ("1", 1),
    ((1, 2), [1, 2]),
    ((0, 1, "a"), Span(0, 1, "a")),
    ({1, 3}, {2}),
    ({1.0}, {1}),
    ([1, 2], [1, 2, 3]),
    ({"a": 1, "b": 2}, {"a": 1}),
    ([0.6, 0.8], VECTOR),
    (VECTOR[:1], VECTOR),
    (VECTOR * 2, VECTOR),
    (VECTOR.astype(int), VECTOR),
    (None, False),
]


def test_what_differs_in_value_or_type_is_found():
    for got, expected in DIFFERENT:
        assert difference(got, expected) is not None, (got, expected)


def test_the_place_of_a_difference_is_named():
    got = [Span(0, 2, "ab"), Span(2, 4, "cd"), Span(4, 6, "ef"), Span(6, 9, "gh")]
    expected = [*got[:3], Span(6, 8, "gh")]
    assert difference(got, expected) == ("[3].end", "9", "8")


ROWS = [f'{{"schema": 1, "tenant": "local", "path": "{name}", "text": "Apples."}}' for name in "ab"]
LONG = [f"{name}: {'x' * 90}" for name in "abc"]
CUT = [
    (ROWS[0] * 3, ROWS[0] * 2 + ROWS[1]),
    ([ROWS[0]], [ROWS[1]]),
    ([*ROWS, "more"], ROWS),
    (LONG[:2], LONG),
    (LONG, [*LONG[:2], "c"]),
    (["x" * 300, ["x" * 300]], ["x" * 300, ["x" * 300, "x" * 300]]),
    ({"a": LONG}, {"a": LONG[:1]}),
    ({(1, "a"): LONG[0]}, {(1, "a"): LONG[1]}),
]


def test_where_values_differ_is_in_what_is_shown():
    for got, expected in CUT:
        _, *told = difference(got, expected) or ("", "", "")
        assert told[0] != told[1], (got, expected)
    assert '"path": "a"' in difference([ROWS[0]], [ROWS[1]])[1]
    assert difference([*ROWS, ROWS[0], "more"], [*ROWS, ROWS[0]])[1:] == (
        "4 items, with [3]: 'more'",
        "3 items, without [3]",
    )


def test_a_small_dict_is_shown_whole_where_a_key_is_missing():
    assert difference({"b": 1}, {"a": 1}) == ("", "{'b': 1}", "{'a': 1}")


def test_an_object_that_json_does_not_know_is_named_and_equals_nothing():
    assert encode(EqualToEverything()) == {"object": "EqualToEverything"}
    assert difference(EqualToEverything(), 1) == ("", "<EqualToEverything>", "1 (int)")


def test_a_generator_is_no_list():
    made = difference((one for one in (1, 2)), [1, 2])
    assert made == ("", "iter([1, 2]) (iterator)", "[1, 2] (list)")


def test_an_exception_may_be_of_a_subclass_and_says_what_came():
    wanted = encoded.error_value(ValueError("a limit"))
    assert encoded.difference(encoded.error_value(UnicodeError("odd")), wanted) is None
    came = encoded.error_value(KeyError("a"))
    assert encoded.difference(came, wanted)[1] == "KeyError: 'a'"
    assert encoded.difference([1], wanted)[1] == "[1], and no exception"


WRITTEN = [
    "a 'quoted'\r\n text \u2028 of many characters" * 50,
    [Span(0, 1, "é")] * 20,
    {"a": (1,), "b": {2, 3}, "c": [None, b"x", ()], "d": set()},
]


def test_what_is_written_can_be_pasted():
    for value in WRITTEN:
        assert eval(written(value), {"Span": Span}) == value


def test_an_array_is_written_with_its_type():
    again = eval(written({"query": VECTOR}), {"np": np})["query"]
    assert again.dtype == VECTOR.dtype and (again == VECTOR).all()


def test_what_is_encoded_comes_back_as_it_was():
    for value in (*WRITTEN, VECTOR, np.empty((0, 3)), float("inf"), [Span(0, 1, "a")]):
        again = decode(encode(value))
        assert type(again) is type(value) and difference(again, value) is None
    assert list(decode(encode(iter(["a", "b"])))) == ["a", "b"]
