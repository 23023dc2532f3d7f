"""Lab 02, whose line is it: documents, identities, cuts, and pieces under their headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from course_lib.loader.kubernetes import ResourceSpan
from course_lib.loader.resource_chunks import ResourcePiece, make_header
from course_lib.loader.resource_identity import Identity
from course_lib.loader.yaml_lines import Line, lines_of, shared_path
from course_lib.teaching.checks.definition import Case, Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.encoded import LONGEST

SMALL = (
    "spec:\n  replicas: 2\n  containers:\n    - name: web\n      image: web:1\n      limits:\n"
    "        memory: 1Gi\n    - name: log\n      image: log:2\n"
)
LINES = lines_of(SMALL, 0, len(SMALL))


def _texts(check: Any) -> list[str]:
    """Return the texts of an exercise's named cases."""
    return [one.call.args[0].replace("\r", "") for part in check.parts for one in part.cases]


@drawn(200)
def any_stream(random: Draws) -> Call:
    """Draw lines of the named cases, of which many separate."""
    others = ("  ", "{}", "----", "{{ if .a }}", "a: 1  # one", "\t# nothing", "# a\u2028b")
    known = [line for text in _texts(check_split_stream) for line in text.split("\n")]
    known += others
    lines = random.choices([*known, *["---"] * (len(known) // 3)], k=random.randrange(9))
    end = random.choice(("\n", "\n", "\r\n"))
    return given(end.join(lines) + random.choice(("", end)))


@exercise("2.1", "loader.kubernetes:split_stream", time_limit=2, draws=any_stream)
def check_split_stream() -> Parts:
    """Test each rule with one stream: separators, lines, and documents that hold nothing."""
    return [
        part(1, "separators, and where documents begin and end",
            (("a: 1\n",), "without a separator it is one document, to its last line end"),
            (("a: 1\n---\nb: 2\n",), "a document begins directly after the three dashes"),
            (("a: ----\n",), "a separator begins its line")),
        part(1, "separators at the ends, lines that look like one, documents that hold nothing",
            (("a:\n ---\n",), "a separator is in column 0: indented dashes are text"),
            (("---b: 2\n",), "white space follows a separator, and here it is a letter"),
            (("---\na: 1",), "a separator may be the first line; there is nothing before it"),
            (("a: 1\n---",), "the end of the text may follow the dashes"),
            (("a: 1\n--- {b: 2}",), "the rest of the separator's line is in the next document"),
            (("a: 1\n---\tb: 2\n",), "a tab is white space, like a space"),
            (("a: 1\r\n---\r\nb: 2\r\n",), "lines may end with CRLF"),
            (("a: x\u2028--- y\n",), "a line feed or CRLF ends a line; U+2028 does not"),
            (("",), "there is nothing in it"),
            (("# nothing\n---\na: 1\n",), "the first document holds only a comment"),
            (("# above\na: 1\n# below\n",), "comments above and below it stay in its document"),
            (("a: 1\n--- # nothing\n",), "after the last dashes there is only a comment"),
            (("a: 1\n...\nb: 2\n",), "only `---` is a separator"),
            (("---\na: 1\n---\na: 1\n",), "two documents may be equal: work with offsets")),
    ]  # fmt: skip


@drawn(200)
def any_document(random: Draws) -> Call:
    """Draw blocks of the named cases in any order, `metadata` at most once."""
    known = re.split(r"(?m)^(?=[^\s-])", "".join(_texts(check_read_identity)) + OTHERS)
    blocks = random.choices([one for one in known if not one.startswith("metadata")], k=4)
    if random.chance(0.85):
        metadata = random.choice([one for one in known if one.startswith("metadata")])
        blocks.insert(random.randrange(5), metadata)
    return given("".join(blocks).replace("\n", random.choice(("\n", "\n", "\r\n"))))


OTHERS = (
    "roleRef:\n  kind: B\nspec:\n  apiVersion: v2\nsubjects:\n- kind: C\n  name: z\nmetadata:\n"
    "  labels:\n    a: b\n    c: d\n  namespace: y\nmetadata:\n  m:\n  - kind: X\n    name: y\n"
    "  name: w\nmetadata:\n  name: x\n  labels:\n    name: y\n    namespace: z\n"
)
"""Blocks that are drawn, too."""

FULL = "apiVersion: v1\nkind: Pod\nmetadata:\n"


@exercise("2.2", "loader.resource_identity:read_identity", time_limit=2, draws=any_document)
def check_read_identity() -> Parts:
    """Begin with plain documents, then names that belong to something else."""
    return [
        part(1, "what may be missing, other owners, and how a document may be written",
            (("apiVersion: v1\nkind: Role\nmetadata:\n  name: reader\n  namespace: shop\n",),
             "an Identity has kind, name, namespace and api_version, in this order; `kind` and "
             "`apiVersion` are in column 0, `name` and `namespace` are children of `metadata`"),
            (("metadata:\n  namespace: y\n  name: x\n",), "in any order; what is missing is None"),
            (("kind: Role\nmetadata: # none\nroleRef:\n  name: x\n",), "x belongs to `roleRef`"),
            (("metadata:\n  labels:\n    name: x\n  name: y\n",), "the owner of x is `labels`"),
            (("metadata:\n    name: web\n",), "an owner is further left, here by four spaces"),
            (("metadata:\n    labels:\n        name: x\n    name: web\n",),
             "`labels` ends at `name`, in its column, however far keys are indented"),
            (("kind: Kustomization\nnamespace: shop\n",), "this `namespace` has no owner"),
            (("kind: CronJob\nspec:\n  metadata:\n    name: y\n",), "`spec` owns this `metadata`"),
            (("\n# a comment\nkind: Pod\nmetadata:\n\n  # another\n  name: web\n",),
             "blank lines and comments change nothing"),
            (("metadata:  # a\n  name: 'web'  # b\n",), "`read_key` drops quotes and comments"),
            (("metadata:\n  name: 12\n",), "a value is the text that is written, not a number"),
            (("kind: Pod\nmetadata:\n  name:\n",), "the key is there, and its value is empty"),
            (("{{ if .x }}\nkind: A\n{{ else }}\nkind: B\n{{ end }}\nmetadata:\n  name: x\n"
              "  name: y\n",), "if a path comes twice, the first one counts"),
            (("metadata:\n  generateName: x\n  name: y\n",), "`generateName` is another key"),
            (("metadata.name: x\n",), "a key may hold a dot: this one has no owner"),
            (("kind:\nkind: B\nmetadata:\n  name:\n  name: y\n",), "the first counts: it is empty"),
            (("metadata:\n- name: x\n",), "`metadata` does not own an item: `read_key` gives None"),
            (("metadata: &web\n  name: x\n",), "`metadata` has an anchor, and owns `name`"),
            (("{{ if .on }}\n  kind: Job\n  apiVersion: v1\n{{ end }}\n",),
             "no owner is above them, so their paths have one name"), needed=False),
        part(1, "documents that have all four",
            ((FULL + "  labels:\n    name: y\n  name: db\n  namespace: prod\n"
              "  annotations:\n    name: z\n",), "`labels` and `annotations` have own names"),
            (("{{ if .on }}\n" + FULL + "  name: {{ .x }}\n  namespace: shop\nroleRef:\n"
              "  name: y\n{{ end }}",), "a template is read as it is written")),
    ]  # fmt: skip


def _offset_for_number(value: Any, lines: list[Line], at: int, limit: int) -> str:
    is_offset = type(value) is int and value > len(lines)
    return "what is returned is the number of a line, not its offset" if is_offset else ""


@drawn(
    250, why=_offset_for_number, known={"lines": LINES},
    paste="from course_lib.loader.yaml_lines import Line\nnext_cut({0}, {1}, {2})",
)  # fmt: skip
def any_lines(random: Draws) -> Call:
    """Draw the lines of a resource, where a piece begins, and a limit that is often a line's."""
    lines, start, depth = [], random.randrange(5), 2 * random.randrange(3)
    for place in range(random.randint(1, 9)):
        deeper = place > 0 and random.chance(0.4)
        depth = depth + random.choice((1, 3, 4)) if deeper else random.randint(0, depth)
        lines.append(Line(start, depth, deeper, f"spec[{place}]"))
        start += random.randint(3, 20)
    lines.append(Line(start, -1, False, ""))
    at = random.randrange(len(lines) - 1)
    limit = random.choice(lines[at:]).start + random.choice((0, 0, 2, -1))
    return given(lines, at, max(limit, lines[at].start))


def _lines(text: str) -> list[Line]:
    return lines_of(text, 0, len(text))


INWARDS = _lines("a:\n  b:\n    c:\n")
ALIKE, ITEMS = _lines("    b:\n      c:\n    d:\n    e:\n"), _lines("a:\n- \nb:\nc:\n")


@exercise("2.3", "loader.yaml_lines:next_cut", time_limit=4, draws=any_lines)
def check_next_cut() -> Parts:
    """Follow the lab's small example, then test each rule."""
    return [
        part(1, "the smallest depth in reach",
            ((LINES, 0, 70), "in lines 1 to 5, 1 and 2 have the smallest depth, 4; 1 is a first"),
            ((LINES, 2, 90), "of lines 3 to 6, 3 is a first, 4 and 5 are equal: the last counts"),
            ((ALIKE, 0, 25), "no line in reach has a smaller depth than line 0, so rule 2 decides"),
            needed=False),
        part(1, "a block that is over",
            ((LINES, 5, 139), "line 7 has depth 9, which is less than 12: the block is over"),
            ((LINES, 7, 173), "the end has depth -1, which is smaller than 9: the block is over"),
            ((LINES, 0, 138), "what starts at the limit is in reach: here the end, with depth -1"),
            ((ITEMS, 1, 99), "line 2 is in the column of the item; its depth, 0, is less than 1")),
        part(1, "lines that nothing else is in reach of, and a line at the limit",
            ((LINES, 5, 89), "line 6 is a first, and no other line is in reach"),
            ((LINES, 4, 60), "no line starts at 60 or before, so cut before the next line"),
            ((LINES, 0, 20), "a line that starts at the limit is in reach: the piece ends there"),
            ((INWARDS, 0, 10), "every line in reach is a first, so cut before the next line")),
    ]  # fmt: skip


def _pieces(
    function: Any, text: str, resource: Any, lines: Any, path: str, most: int, *read: list[int]
) -> dict[str, Any]:
    """Return where the pieces are, which a message shows first, and what came, as a list."""
    fits = [lambda written: len(written) <= read[0][0]] * len(read)
    value = function(text, resource, lines, path, most, *fits)
    if isinstance(value, Iterator):
        value = list(islice(value, LONGEST))
    places = value
    if isinstance(value, list):
        places = [(one.start, one.end) if isinstance(one, ResourcePiece) else one for one in value]
    return {"from and to": places, "pieces": value}


def _odd_piece(value: Any, text: str, resource: ResourceSpan, *others: Any) -> str:
    """Return what is not true of a piece, wherever it ends."""
    lines, file, most, *_ = others
    numbers = {line.start: number for number, line in enumerate(lines)}
    pieces = value["dict"]['"pieces"']
    for piece in [None] if pieces is None else pieces:
        if not isinstance(piece, dict):
            return "each piece is a ResourcePiece; yield them, or return them in a list"
        found = piece["record"]["fields"]
        start, end = found["start"], found["end"]
        path = shared_path(lines[numbers[start] : numbers[end]])
        if found["path"] != path:
            return f"{path!r} is the path that all lines of the piece from {start} share"
        if found["header"] != make_header(resource.identity, file, path, most // 2):
            return (
                "the resource of a header is `resource.identity`, its file `source_path`, and it "
                "has at most half of `most` characters"
            )
        if found["text"] != found["header"] + text[start:end]:
            return "a text is header and content"
    return ""


WEB = ResourceSpan(Identity("Pod", "web", None, "v1"), 0, len(SMALL), 0)
READ = {f"lambda text: len(text) <= {longest}": [longest] for longest in (0, 100, 154, 180)}
"""What `fits` is, as it is written, by how many characters the model reads."""


@drawn(
    120, apply=_pieces, why=_odd_piece, varies=(3, 4),
    known={"small": SMALL, "web": WEB, "lines": LINES, **READ},
    paste="from course_lib.loader.yaml_lines import Line\nlist(cut_document({rest}))",
)  # fmt: skip
def any_resource(random: Draws) -> Call:
    """Draw a resource of nested keys, its file, and a limit that few or many of its lines fit."""
    above = random.choice(("", "kind: Other\n---\n"))
    rows, column = [], 0
    for place in range(random.randint(1, 14)):
        deeper = place > 0 and random.chance(0.4)
        column = column + 2 if deeper else random.choice(range(0, column + 1, 2))
        many = random.choice(("é" * 20, "x" * random.choice((9, 30, 90, 300)), "90210 " * 20))
        value = random.choice(("", "1", many, many))
        dash = "- " if place and random.chance(0.3) else ""
        rows.append(f"{' ' * column}{dash}key{place}: {value}\n")
        column += len(dash)
    text = above + "".join(rows)
    who = Identity(random.choice(("Pod", "Recipe", None)), random.choice(("web", None)))
    resource = ResourceSpan(who, len(above), len(text), len(above))
    path = random.choice(("", "w.yaml", "platform/base/files/w.yaml"))
    lines = lines_of(text, len(above), len(text))
    if random.chance(0.3):  # a run of lines, as of a definition without its schema
        first = random.randrange(len(lines) - 1)
        last = random.randrange(first + 1, len(lines))
        lines = [*lines[first:last], Line(lines[last].start, -1, False, "")]
    read = random.choice(([], [], [], [[100]], [[180]]))
    return given(text, resource, lines, path, random.choice((120, 150, 200, 260, 700)), *read)


CODES = Identity("Codes", "pi")
NUMBERS = "".join(f"- {number:05d} {'31415926 ' * 4}\n" for number in range(12))
BLOB = f"data:\n  a: {'x' * 300}\n  b: 1\n"
SECOND = "kind: A\n---\nkind: B\nspec:\n  one: 1\n"


def _cut(
    most: int, because: str, text: str = SMALL, who: Identity = WEB.identity,
    path: str = "w.yaml", read: int | None = None,
) -> Case:  # fmt: skip
    start = text.find("---\n") + 4 if "---\n" in text else 0
    lines = lines_of(text, start, len(text))
    resource = ResourceSpan(who, start, len(text), start)
    fits = [] if read is None else [[read]]
    return case(text, resource, lines, path, most, *fits, because=because)


@exercise("2.4", "loader.resource_chunks:cut_document", time_limit=4, draws=any_resource)
def check_cut_document() -> Parts:
    """Cut the lab's small example at several limits, then test each rule with a resource."""
    some = [*LINES[3:7], LINES[7]._replace(depth=-1, first=False, path="")]
    return [
        part(1, "path, header and text of a resource that fits",
            _cut(250, "header and content have 198 characters, so one piece holds all"),
            needed=False),
        part(1, "where pieces begin and end",
            _cut(160, "the header counts: line 2 and all after it do not fit under it"),
            _cut(150, "line 1 does not fit, and stays alone", BLOB, Identity("ConfigMap", "web"))),
        part(1, "each piece as a whole, under any limit and header, in any file",
            _cut(154, "the second piece has 154 characters with its header, and may"),
            _cut(153, "lines 2 to 6 are one character too long: the best cut is line 5"),
            _cut(700, "`fits` says that the model would not read all of it", NUMBERS, CODES, ""),
            _cut(250, "the second piece, with its header, may have 250, too", NUMBERS, CODES, ""),
            _cut(154, "é is one of the second piece's 154", SMALL.replace("web:1", "wéb:1")),
            _cut(700, "offsets are of the whole file; this is document 2", SECOND, Identity("B")),
            _cut(700, "this `fits` allows 154 characters, those of the header too", read=154),
            _cut(700, "nothing fits, so each line is a piece of its own", read=0),
            case(SMALL, WEB, some, "w.yaml", 700, because="only these `lines` are cut")),
    ]  # fmt: skip
