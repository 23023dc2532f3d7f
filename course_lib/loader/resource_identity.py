"""Who a resource is: a YAML document goes in, its kind, apiVersion, name and namespace come out.

Three readers stand behind each other. The plain one reads the head of an ordinary manifest with two
regular expressions and declines whatever it is not certain of; then a real parser decides; and what
no parser accepts (a Helm template) is read line by line, as a person would.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from course_lib.loader.yaml_documents import YamlDocument
from course_lib.loader.yaml_nodes import Node


class Identity(NamedTuple):
    """What a resource says it is, each as it is written; None where it does not say."""

    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    api_version: str | None = None


NOBODY = Identity()

_IDENTITY_KEYS = frozenset({"apiVersion:", "kind:", "metadata:"})
_OTHER_KEYS = frozenset({"spec:", "status:", "rules:", "data:", "subjects:", "roleRef:", "-"})
_KEY = re.compile(r"[A-Za-z_$][\w./-]*:", re.ASCII)

# A value that begins and ends on its line, whatever surrounds it: a plain word or words, a quoted
# string without escapes, a flow collection without anything inside that could be nested.
_PLAIN = r"[A-Za-z0-9_./$(<=^+;](?:[^\s:\#]|(?<=\S)\#|:(?=\S)|\ ++(?=[^\s:\#]))*+"
_DOUBLE, _SINGLE = r"[^\"\\\n\r]*+", r"[^'\n\r]*+"
_FLOW = r"[\[{][^\n\r\"'\[\]{}\#&*!|]*+[\]}]"
_VALUE = rf"""(?:{_PLAIN}|"{_DOUBLE}"|'{_SINGLE}'(?!')|{_FLOW})"""
_SCALAR = re.compile(
    rf"""\ ++(?:({_PLAIN})|"({_DOUBLE})"|'({_SINGLE})'|{_FLOW})""", re.VERBOSE | re.ASCII
)
# An indented dash behind a value would go on with it: "a\n  - b" is the scalar "a - b".
_TAIL = r"\ *+(?:(?<=\ )\#[^\n]*+)?+\r?(?:\n|\Z)"
_NO_DASH = r"(?!(?:\ *+\r?\n)*+\ ++-)"
_SIMPLE_LINES = re.compile(
    rf"""(?: \ *+ (?:
      (?:-\ ++)*+ [A-Za-z0-9_$][\w./-]*+: (?:\ ++{_VALUE}{_TAIL}{_NO_DASH} | {_TAIL})
    | (?:-\ ++)++ {_VALUE}{_TAIL}{_NO_DASH}
    | (?:\#[^\n]*+)?+ \r?(?:\n|\Z) ))*+""",
    re.VERBOSE | re.ASCII,
)
_BLOCK_SCALAR = re.compile(r"( *(?:- +)*)[\w$][\w./-]*: +[|>][-+0-9]*[ \r]*(?= #|\n)", re.ASCII)
_EMPTY_REST = re.compile(rf"{_TAIL}", re.VERBOSE)
_FIRST_CHILD = re.compile(r"(?: *+(?:#[^\n]*+)?\r?\n)*+( ++)(?=\S)")


def read_plainly(text: str, document: YamlDocument) -> Identity | None:
    """Read the identity of an ordinary document; None where it takes a parser to be certain."""
    lines = document.lines
    if not lines or lines[0][0] != document.content:
        return None
    found: dict[str, int] = {}
    for index, (_, word) in enumerate(lines):
        if word in _IDENTITY_KEYS:
            if word in found:
                return None
            found[word] = index
        elif word not in _OTHER_KEYS and not _KEY.fullmatch(word):
            return None
    if not found:
        return NOBODY
    after = max(found.values()) + 1
    head_end = lines[after][0] if after < len(lines) else document.end
    if lines[0][1] == "-" or not _is_simple(text, document.content, head_end):
        return None
    kind = api_version = name = namespace = None
    if "kind:" in found:
        kind = _scalar(text, lines[found["kind:"]][0] + 5)
    if "apiVersion:" in found:
        api_version = _scalar(text, lines[found["apiVersion:"]][0] + 11)
    if "metadata:" in found:
        after = found["metadata:"] + 1
        end = lines[after][0] if after < len(lines) else document.end
        rest = _EMPTY_REST.match(text, lines[after - 1][0] + 9, end)
        if not rest:
            return None
        child = _FIRST_CHILD.match(text, rest.end(), end)
        if child:
            name = _child(text, "name:", child[1], rest.end() - 1, end)
            namespace = _child(text, "namespace:", child[1], rest.end() - 1, end)
    if kind == "List" or _UNCERTAIN in (kind, api_version, name, namespace):
        return None
    return Identity(kind, name, namespace, api_version)


_UNCERTAIN = "\0"


def _is_simple(text: str, start: int, end: int) -> bool:
    """Return whether every line means what it says: nothing but block scalars spans lines."""
    while True:
        match = _SIMPLE_LINES.match(text, start, end)
        start = match.end() if match else start
        if start == end:
            return True
        block = _BLOCK_SCALAR.match(text, start, end)
        if block is None:
            return False
        # Its text is all that is indented more than its key; a parser takes nothing else there.
        behind = re.compile(rf"\n {{0,{len(block[1])}}}(?=[^ \r\n])").search(text, start, end)
        start = behind.start() + 1 if behind else end


def _scalar(text: str, at: int) -> str:
    """Return the scalar behind a key; its line is known to be simple."""
    match = _SCALAR.match(text, at)
    return match[match.lastindex] if match and match.lastindex else _UNCERTAIN


def _child(text: str, key: str, indentation: str, start: int, end: int) -> str | None:
    wanted = f"\n{indentation}{key}"
    at = text.find(wanted, start, end)
    if at < 0:
        return None
    at += len(wanted)
    return _scalar(text, at) if text.find(wanted, at, end) < 0 else _UNCERTAIN


def read_node(root: Node, text: str) -> Identity:
    """Return what a parsed document says.

    Raises
    ------
    ValueError
        If a value is a Helm expression, which parses as a mapping in a mapping.
    """
    entries = root.entries()
    metadata = entries.get("metadata")
    children = metadata.entries() if metadata else {}
    values: list[str | None] = []
    for node in (
        entries.get("kind"),
        children.get("name"),
        children.get("namespace"),
        entries.get("apiVersion"),
    ):
        if node is not None and node.kind == "mapping" and text.startswith("{{", node.start):
            raise ValueError("is a template")
        values.append(node.value if node is not None and node.kind == "scalar" else None)
    return Identity(*values)


_ANY_LINE = re.compile(
    r"^(?P<indent>[ \t]*(?:- +)?)(?P<quote>[\"']?)(?P<key>[A-Za-z_][\w./-]*)(?P=quote)[ \t]*:"
    r"(?=[ \t\r]|$)[ \t]*(?P<value>[^\r\n]*)",
    re.MULTILINE,
)


def is_template(text: str, document: YamlDocument) -> bool:
    """Return whether a line begins with ``{{-``, which no parser takes outside of quotes."""
    for at, word in document.lines:
        if word.startswith("{{-"):
            return not any(mark in text[document.content : at] for mark in "\"'")
    return False


def read_roughly(text: str) -> list[tuple[Identity, int]]:
    r"""Return the resources of a document that no parser accepts, read line by line.

    The least indented keys are a resource's own, and the first of each counts. Where `apiVersion`
    or `kind` comes again behind other keys, another resource begins (a branch of a template, or a
    separator is missing). Template expressions stay as they are written.

    Returns
    -------
    list of tuple
        The identity and the first offset of each, at least one.

    Examples
    --------
    >>> read_roughly("{{- if .on }}\nkind: Role\nmetadata:\n  name: {{ .name }}-x\n{{- end }}\n")
    [(Identity(kind='Role', name='{{ .name }}-x', namespace=None, api_version=None), 0)]
    """
    lines = [(len(match["indent"]), match) for match in _ANY_LINE.finditer(text)]
    outer = min((indent for indent, _ in lines), default=0)
    found: list[tuple[Identity, int]] = []
    own: dict[str, str] = {}
    children: dict[str, str] = {}
    inside, depth, start = "", 0, 0
    for indent, match in lines:
        key = match["key"]
        if indent == outer:
            if key in ("apiVersion", "kind") and "kind" in own and own.keys() - _FIRST_KEYS:
                found.append((_rough_identity(own, children), start))
                own, children, start = {}, {}, _above(text, match.start())
            # What follows a second `metadata:` (a branch of a template) is not the first one's.
            inside, depth = ("" if key in own else key), 0
            own.setdefault(key, match["value"])
        elif inside == "metadata":
            depth = depth or indent
            if indent == depth:
                children.setdefault(key, match["value"])
    return [*found, (_rough_identity(own, children), start)]


_FIRST_KEYS = {"apiVersion", "kind"}


def _above(text: str, start: int) -> int:
    """Return where the comments and template lines right above an offset begin."""
    while start:
        line = text.rfind("\n", 0, start - 1) + 1
        if not text[line:start].lstrip().startswith(("{{", "#")):
            break
        start = line
    return start


def _rough_identity(own: dict[str, str], children: dict[str, str]) -> Identity:
    return Identity(
        _as_written(own.get("kind")),
        _as_written(children.get("name")),
        _as_written(children.get("namespace")),
        _as_written(own.get("apiVersion")),
    )


def _as_written(value: str | None) -> str | None:
    """Return a value without its quotes, its comment and JSON's comma."""
    if value is None:
        return None
    value = value.strip()
    if value[:1] in ('"', "'"):
        closing = value.find(value[0], 1)
        return value[1:closing] if closing > 0 else value[1:]
    value = re.split(r"(?:^|\s)#", value, maxsplit=1)[0].rstrip()
    return value.removesuffix(",")
