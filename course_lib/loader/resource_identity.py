"""Who a resource is: a YAML document goes in, its kind, name, namespace and apiVersion come out.

`read_identity` looks at lines and never fails. It is right about documents in the usual style;
`usual_head` tells which these are. The others are a parser's business (see `kubernetes`).
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Identity(NamedTuple):
    """What a resource says about itself, as it is written; None for what it does not say."""

    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    api_version: str | None = None


class Key(NamedTuple):
    """A line that says ``name: value``, and the column in which the name begins."""

    column: int
    name: str
    value: str


_KEY = re.compile(r"""([ \t]*)(?:([\w$./-]+)|"([^"\\]*)"|'([^']*)'):(?:\s+(.*))?""")
_QUOTED = re.compile(r"""(["'])((?:(?!\1)[^\\])*)\1,?(?:\s+#.*)?""")


def read_key(line: str) -> Key | None:
    """Return the key that a line begins with, or None (for an item, a comment, text).

    The value has no quotes and no comment after it. It is empty if the line ends with the colon. A
    quoted value keeps its quotes if it goes on in the next line, or holds quotes or escapes.

    Examples
    --------
    >>> read_key('  name: "web"  # in front')
    Key(column=2, name='name', value='web')
    >>> read_key("metadata:"), read_key("- name: web"), read_key("# name: web")
    (Key(column=0, name='metadata', value=''), None, None)
    """
    found = _KEY.fullmatch(line.rstrip())
    if found is None:
        return None
    indent, plain, double, single, value = found.groups(default="")
    if quoted := _QUOTED.fullmatch(value):
        value = quoted[2]
    else:
        value = re.sub(r"(?:^|\s)#.*", "", value).strip()
    return Key(len(indent), plain or double or single, value)


IDENTITY_PATHS = (("kind",), ("metadata", "name"), ("metadata", "namespace"), ("apiVersion",))
"""Where the four fields of an `Identity` are written, in its order."""


def read_identity(document: str) -> Identity:
    r"""Return the identity of a resource, read from its lines.

    - The path of a key is the names of its owners, then its own name.
    - An owner is above the key and further left. It owns nothing after the next key in its
      column or further left.
    - Only the four paths in `IDENTITY_PATHS` count.
    - If a path comes twice (in the branches of a template), the first one counts.

    Returns
    -------
    Identity
        The values that `read_key` gives; None where there is no such path.

    Examples
    --------
    >>> read_identity("namespace: shop\nmetadata:\n    labels:\n        name: x\n    name: web\n")
    Identity(kind=None, name='web', namespace=None, api_version=None)
    """
    path: list[Key] = []
    values: dict[tuple[str, ...], str] = {}
    for key in filter(None, map(read_key, document.split("\n"))):
        path = [*(above for above in path if above.column < key.column), key]
        values.setdefault(tuple(one.name for one in path), key.value)
    return Identity(*map(values.get, IDENTITY_PATHS))


_HEAD_KEYS = ("apiVersion", "kind", "metadata")
_OUTER_LINE = re.compile(r"^[^\s#].*", re.MULTILINE)
_USUAL_VALUE = re.compile(r"(?:[\w./(][\w./:@+,=() -]*)?")


def usual_head(document: str) -> str | None:
    r"""Return the lines that say who a resource is, or None where `read_identity` could be wrong.

    The head ends with the last of the blocks `kind`, `apiVersion` and `metadata` in column 0: what
    comes after it cannot matter. It is usual where each of its lines is blank, a comment, or a key
    with a simple value that ends on its line, and where no key comes twice in
    one column. So it has no flow
    style, anchors, tags or templates, and no scalar that takes several lines, in which something
    could look like a key. The rest of the document has only keys and list items in column 0.
    Where this is too careful, the parser is asked, and nothing is lost but time.

    Examples
    --------
    >>> usual_head("kind: Role\nmetadata: # whose\n  name: reader\nrules: [\n")
    'kind: Role\nmetadata: # whose\n  name: reader\n'
    >>> usual_head("{kind: Role, metadata: {name: reader}}") is None
    True
    """
    outer = list(_OUTER_LINE.finditer(document))
    keys = [read_key(line[0]) for line in outer]
    items = [re.match(r"-(\s|$)", line[0]) for line in outer]
    if not outer or not all(key or item for key, item in zip(keys, items, strict=True)):
        return None
    last = max((i for i, key in enumerate(keys) if key and key.name in _HEAD_KEYS), default=-1)
    starts = [*(line.start() for line in outer), len(document)]
    head = document[: starts[last + 1]]
    lines = [line for line in head.split("\n") if not re.match(r"\s*(#|$)", line)]
    usual = [key for key in map(read_key, lines) if key and _USUAL_VALUE.fullmatch(key.value)]
    places = {(key.column, key.name) for key in usual}
    # Fewer places than lines: some line is not usual, or a key comes twice.
    return head if len(places) == len(lines) else None
