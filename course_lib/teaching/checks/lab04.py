"""Lab 04, what may be skipped: one hash of texts, the key of a vector, a stranger's record."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from course_lib.records import Chunk, Scope
from course_lib.teaching.checks.definition import Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given

RECORD: dict[str, Any] = {
    "schemaVersion": "1.0.0", "tenantId": "acme", "repoSlug": "docs", "name": "hello",
    "rootKind": "external-source", "sourcePath": "a.py", "content": "Hello.", "kind": "function",
    "hashInputs": ["content"], "parserId": "mine", "parserVersion": "1.0.0",
}  # fmt: skip
"""A record that keeps the contract."""


def piece(**changes: Any) -> Chunk:
    """Return the chunk of a small record, of which some fields differ.

    Examples
    --------
    >>> piece(name="bye").name, piece().content
    ('bye', 'Hello.')
    """
    return Chunk.model_validate(RECORD | changes)


MARKS = (",", ", ", "|", "/", "-", ":", ";", " ", "\t", "\n", "\r\n", "\0", "\x1e", "\x1f", "\\")
"""What is often put between texts."""


def _equal(first: Any, second: Any) -> Any:
    """Return whether two hashes are equal; or one that is not a SHA-256."""
    for one in (first, second):
        if not isinstance(one, str) or not re.fullmatch("[0-9a-f]{64}", one):
            return f"not 64 hexadecimal digits: {one!r:.90}"
    return first == second


def _hashed(function: Callable[..., Any], one: list[str], other: list[str]) -> Any:
    return _equal(function(list(one)), function(list(other)))


@drawn(200, apply=_hashed, paste="hash_texts({0}) == hash_texts({1})", varies=(1,))
def any_texts(random: Draws) -> Call:
    """Draw texts, and others that are nearly the same: cut, joined or ordered otherwise."""
    some = (*MARKS, "", "1", "12", "a", "ab", "3:", "ü", "日本", "x" * 11, random.prose(2))
    texts = random.choices(some, k=random.randrange(5))
    other, at = list(texts), random.randrange(len(texts) + 1)
    change = random.turn(6)
    if change == 1:
        other.insert(at, "")
    elif change == 2 and len(texts) > 1:
        other = [random.choice(("", *MARKS)).join(texts)]
    elif change == 3 and texts:
        cut = random.randrange(len(texts[-1]) + 1)
        other[-1:] = [texts[-1][:cut], texts[-1][cut:]]
    elif change == 4:
        other.reverse()
    elif change == 5 and texts:
        other[at - 1] += random.choice((" ", "\n", "\r", "\u0308"))
    return given(texts, other)


@exercise("4.1", "records:hash_texts", draws=any_texts)
def check_hash_texts() -> Parts:
    """Compare two lists: the same texts cut otherwise, and texts with any characters."""
    marks = [
        case(*texts, because=f"a text may hold {mark!r}, too")
        for mark in MARKS
        for texts in ((["a", "b"], [f"a{mark}b"]), ([f"a{mark}", "b"], ["a", f"{mark}b"]))
    ]
    return [
        part(1, "where a text ends",
            ((["acme", "platform"], ["acme", "platform"]), "equal lists have equal hashes"),
            ((["acme", "platform"], ["acmep", "latform"]), "joined, both are acmeplatform"),
            ((["a", "b"], ["b", "a"]), "the order of the texts counts"),
            ((["a"], ["a", "a"]), "a text that is there twice counts twice"),
            (([], [""]), "an empty text is a text"),
            ((["a", ""], ["", "a"]), "the empty text has another place"),
            ((["a"], ["a", ""]), "an empty text at the end is a text")),
        part(1, "any characters",
            *marks,
            case(["a", "b"], ["a', 'b"], because="quotes may be in a text, too"),
            case(["a", "b"], ['a","b'], because="quotes may be in a text, too"),
            case(["a", "b"], ["a][b"], because="brackets may be in a text, too"),
            case(["1", "dddd", "eeeee"], ["4dddd5eeeee"],
                 because="a text may begin with digits, and a length ends with one"),
            case(["dddd", "eeeee", "1"], ["dddd4eeeee5"],
                 because="a text may end with digits, and a length begins with one"),
            case(["a", "1b"], ["a1b", ""], because="digits may be in a text, too"),
            case(["a\r\n"], ["a\n"], because="line ends are part of a text"),
            case(["a"], [" a"], because="white space is part of a text"),
            case(["a"], ["a\n"], because="white space is part of a text"),
            case(["A"], ["a"], because="a capital is another character"),
            case(["\u00fc"], ["u\u0308"], because="they look alike, but the characters differ"),
            case(["日"], ["本"], because="characters beyond ASCII count, too"),
            case(["x" * 300], ["x" * 300], because="a text may be long"),
            case(["x", "y" * 252], ["x252:" + "y" * 252], because="a text may have 257 bytes"),
            case(["x" * 70_000 + "a"], ["x" * 70_000 + "b"], because="a text may be very long")),
    ]  # fmt: skip


Changes = dict[str, Any]


def _keys(
    function: Callable[..., Any], one: Changes, other: Changes, model: str = "mini", *more: str
) -> Any:
    """Return whether two pieces have one key: of one model, or of two."""
    first = function(piece(**one), model)
    return _equal(first, function(piece(**other), more[0] if more else model))


def _keys_pasted(one: Changes, other: Changes, model: str = "mini", *more: str) -> str:
    texts = [
        ", ".join(f"{name}={value!r}" for name, value in each.items()) for each in (one, other)
    ]
    second = more[0] if more else model
    return (
        "from course_lib.teaching.checks.lab04 import piece\n"
        f"vector_key(piece({texts[0]}), {model!r}) == vector_key(piece({texts[1]}), {second!r})"
    )


def _header(text: str, **more: Any) -> Changes:
    return {"customMeta": {"header": text}} | more


ELSEWHERE: tuple[tuple[Changes, str], ...] = (
    ({"sourcePath": "b.py"}, "the file has another name"),
    ({"name": "bye"}, "the name of a piece is not in the text that the model reads"),
    ({"line_start": 3, "line_end": 4}, "the piece has moved"),
    ({"customMeta": {"chunkIndex": 7}}, "there are more pieces above it"),
    ({"customMeta": {"branch": "next"}}, "another branch has the same text"),
    ({"parserVersion": "2.0.0"}, "the new parser cuts the same piece"),
    ({"parserId": "other"}, "another parser cuts the same piece"),
    ({"kind": "class"}, "the model does not read the kind"),
    ({"className": "Mill", "extends": "Machine"}, "the model does not read the class"),
    ({"repoSlug": "code"}, "another repository of this tenant has the same text"),
    ({"hashInputs": ["content", "name"]}, "it is the same text"),
    ({"rootKind": "bare-repo"}, "it is the same text"),
)
"""What changes, and why the model reads the same."""


@drawn(120, apply=_keys, paste=_keys_pasted)
def any_pieces(random: Draws) -> Call:
    """Draw two pieces, and perhaps two models: the same ones, or nearly."""
    contents = ("Hello.", "Hello. ", "a", "b\nHello.", random.prose(2) or "a")
    headers = ("", "a", "a\n", "a\nb", "a\nb\n", "Hello.")

    def any_piece() -> Changes:
        changes: Changes = {"content": random.choice(contents)}
        for change, _ in random.choices(ELSEWHERE, k=random.randrange(3)):
            changes |= change
        if random.chance(0.6):
            changes["customMeta"] = {"header": random.choice(headers), "chunkIndex": 3}
        if random.chance(0.2):
            changes["tenantId"] = "globex"
        return changes

    one = any_piece()
    other = any_piece() if random.chance(0.3) else dict(one)
    for change, _ in random.choices(ELSEWHERE, k=2):
        kept = {name: value for name, value in change.items() if name != "customMeta"}
        other |= kept
    if random.chance(0.3):
        other["content"] = random.choice(contents)
    models = random.choice((("mini",), ("mini",), ("mini", "mini-2"), ("a", "a")))
    return given(one, other, *models)


@exercise("4.2", "records:vector_key", draws=any_pieces)
def check_vector_key() -> Parts:
    """Compare the keys of two pieces: other texts, the same text elsewhere, models, tenants."""
    wasted = "the model reads the same text, so the vector can stay"
    return [
        part(2, "another text for the model",
            (({}, {}), "it is the same piece"),
            (({}, {"content": "Bye."}), "the content is another one"),
            (({}, {"content": "Hello. "}), "white space is part of the text"),
            (({}, {"content": "hello."}), "a capital is another character"),
            (({"content": "a" * 600}, {"content": "a" * 601}), "the end of a text counts, too"),
            (({}, _header("def f():\n")), "one of them has a header"),
            ((_header("def inspect():\n"), _header("def compare():\n")),
             "only the header is another one, and the model reads it"),
            ((_header("a\n", content="b"), _header("b\n", content="a")), "the order is another"),
            ((_header("a\n"), _header("a\n", content="a\nHello.")), "a line is there twice"),
            ((_header("def f():\n"), _header("def f():\n    if x:\n")), "one header is longer")),
        part(1, "the same text for the model",
            *(case({}, change, because=f"{because}: the vector can stay")
              for change, because in ELSEWHERE),
            (({"line_start": 1, "line_end": 2}, {"line_start": 4, "line_end": 5}), wasted),
            ((_header("def f():\n", line_start=8), _header("def f():\n", line_start=9)), wasted),
            ((_header("a\n"), _header("a")), f"below the header, a line begins: {wasted}"),
            (({}, _header("")), f"an empty header is none: {wasted}"),
            (({"content": "a\nb"}, _header("a\n", content="b")),
             f"'a' is the first line of both, in one of them as the header: {wasted}"),
            ((_header("a\nb\n", content="c"), _header("a\n", content="b\nc")),
             f"the header ends at another line: {wasted}")),
        part(1, "models and tenants",
            (({}, {}, "mini", "mini-2"), "vectors of two models cannot be compared"),
            (({}, {}, "mini-2"), "it is the same model"),
            (({}, {"tenantId": "globex"}), "no tenant gets the vector of another one"),
            (({"tenantId": "globex"}, {"tenantId": "globex"}), "it is the same tenant"),
            (({"content": "a"}, {"content": "ab"}, "bc", "c"), "joined, both are abc"),
            (({"tenantId": "a", "content": "bc"}, {"tenantId": "ab", "content": "c"}),
             "joined, both are abc"),
            (({"content": "a/b"}, {"content": "a"}, "c", "b/c"), "joined by '/', both are a/b/c"),
            (({"content": "a", "tenantId": "b"}, {"content": "b", "tenantId": "a"}),
             "text and tenant are not the same thing")),
    ]  # fmt: skip


ACME, LOGGED_IN = "acme", "umbrella"

Judged = tuple[tuple[Changes, str], ...]
"""What differs from a good record (`...`: the field is not there), and why it is refused or not."""

PROBLEMS: Judged = (
    ({}, "it keeps the contract, and becomes a chunk"),
    ({"name": None}, "name must be a string"),
    ({"kind": ...}, "the field is missing"),
    ({"line_strat": 3}, "there is no field with this name"),
    ({"sourcePath": "../a.py"}, "a path must not go up to parent folders"),
    ({"line_start": "3"}, "types are not converted: '3' is not a number"),
    ({"line_start": True}, "types are not converted: true is not a number"),
    ({"line_start": 3.0}, "types are not converted: 3.0 is not a whole number"),
    ({"name": b"hi"}, "types are not converted: b'hi' is not a string"),
    ({"line_start": 9, "line_end": 3}, "the last line is before the first"),
    ({"name": None, "kind": None}, "two fields are wrong, so there are two problems"),
    ({"sourcePath": ..., "source_path": "a.py"}, "in JSON, the name of the field is sourcePath"),
    ({"content": "embedding", "customMeta": {"embedding": 0}}, "no field has the name embedding"),
)
VECTORS: Judged = (
    ({"embedding": [0.1]}, "a record must not have a vector: the only problem is `NO_VECTORS`"),
    ({"embedding": None}, "there is a field `embedding`, and its value does not matter"),
    ({"embedding": []}, "there is a field `embedding`, and its value does not matter"),
    ({"embedding": [0.1], "kind": ...}, "kind is missing, too, but only the vector is reported"),
    ({"embedding": [0.1], "tenantId": "globex"}, "the vector is refused, whoever sends it"),
)
CLAIMS: Judged = (
    ({"tenantId": "globex"}, "it is of who has logged in, whatever it says"),
    ({"repoSlug": "theirs"}, "the repository is also the scope's, whatever it says"),
    ({"tenantId": "globex", "repoSlug": "theirs"}, "tenant and repository are the scope's"),
    ({"tenantId": "Not Kebab"}, "a tenant in a wrong form is a problem as any other"),
    ({"tenantId": ...}, "a record has to say whose it is, although this decides nothing"),
    ({"tenantId": "globex", "kind": ...}, "one field is missing, and the tenant is not a problem"),
)


def _changed(change: Changes) -> Changes:
    return {key: one for key, one in {**RECORD, **change}.items() if one is not ...}


def _received(
    function: Callable[..., Any], values: Changes, where: str, tenant: str = "", branch: str = ""
) -> Any:
    scope = Scope(tenant=tenant, repo=f"{tenant}-docs", branch=branch) if tenant else None
    return function(values, where, scope)


def _receipt(values: Changes, where: str, tenant: str = "", branch: str = "") -> str:
    named = f"tenant={tenant!r}, repo={f'{tenant}-docs'!r}" + f", branch={branch!r}" * bool(branch)
    return f"receive({values!r}, {where!r}, {f'Scope({named})' if tenant else None})"


@drawn(120, apply=_received, paste=_receipt)
def any_record(random: Draws) -> Call:
    """Draw a record with up to three changes, and who has logged in."""
    change: Changes = {}
    for one, _ in random.choices((*PROBLEMS, *VECTORS, *CLAIMS), k=random.choice((0, 1, 1, 2, 3))):
        change |= one
    values = _changed({"content": random.prose(3) or "a", **change})
    values = dict(random.sample([*values.items()], len(values)))
    who = random.choice(((), (ACME,), (LOGGED_IN,), (LOGGED_IN, "main")))
    return given(values, f"line {random.randrange(99)}", *who)


@exercise("4.3", "loader.contract:receive", draws=any_record)
def check_receive() -> Parts:
    """Break a record in each way, and send it in the name of another tenant."""

    def received(rows: Judged, *who: str) -> Any:
        for change, because in rows:
            yield case(_changed(change), "line 7", *who, because=because)

    own = {"customMeta": {"branch": "next"}}
    return [
        part(2, "a record that is right, and what is wrong with others",
            *received(PROBLEMS, ACME)),
        part(1, "records with a vector", *received(VECTORS, LOGGED_IN)),
        part(1, "whose a record is",
            *received(CLAIMS, LOGGED_IN),
            case(_changed({}), "line 7", LOGGED_IN, "main", because="the branch is the scope's"),
            case(_changed(own), "line 7", LOGGED_IN, "main",
                 because="`stamp` leaves a branch that the record has"),
            case(_changed({"tenantId": "globex"}), "line 7",
                 because="for None, nobody has logged in: its tenant stays"),
            case(_changed({"kind": ...}), "line 7", because="for None, it is judged as well")),
    ]  # fmt: skip
