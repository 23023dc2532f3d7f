"""Lab 02, whose line is it: documents, identities, cuts, and pieces under their headers."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from course_lib.loader.kubernetes import ResourceSpan
from course_lib.loader.resource_chunks import ResourcePiece, make_header
from course_lib.loader.resource_identity import Identity
from course_lib.loader.yaml_lines import Line, lines_of
from course_lib.records import Span
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.values import shown

SMALL = """\
spec:
  replicas: 2
  containers:
    - name: web
      image: web:1
      limits:
        memory: 1Gi
    - name: log
      image: log:2
"""
LINES = lines_of(SMALL, 0, len(SMALL))


@drawn(200)
def any_stream(random: Draws) -> Call:
    """Draw lines of the named cases, of which many separate."""
    known = [line for text, *_ in STREAMS for line in text.replace("\r", "").split("\n")]
    lines = random.choices([*known, *["---"] * (len(known) // 3)], k=random.randrange(9))
    end = random.choice(("\n", "\n", "\r\n"))
    return given(end.join(lines) + random.choice(("", end)))


@exercise("2.1", "loader.kubernetes:split_stream", 2, time_limit=2, draws=any_stream)
def check_split_stream(call: Probe) -> None:
    """Test each rule with one stream: separators, lines, and documents that hold nothing."""
    for about, streams in (
        ("separators, and where documents begin and end", SEPARATED),
        (
            "separators at the ends, lines that look like one, documents that hold nothing",
            UNUSUAL,
        ),
    ):
        with call.part(1, about):
            for text, places, because in streams:
                call(text).gives([Span(a, b, text[a:b]) for a, b in places], because=because)


Streams = tuple[tuple[str, list[tuple[int, int]], str], ...]
"""A stream, where its documents begin and end, and why."""

SEPARATED: Streams = (
    ("a: 1\n", [(0, 5)], "a stream without a separator is one document, to its last line end"),
    ("a: 1\n---\nb: 2\n", [(0, 5), (8, 14)],
     "line 2 is a separator: a document begins directly after the three dashes"),
    ("a: ----\n", [(0, 8)], "a separator begins its line"),
    ("{{ if .a }}\nb: 1\n", [(0, 17)], "a parser refuses it: only look at its lines"),
)  # fmt: skip
UNUSUAL: Streams = (
    ("a:\n ---\n", [(0, 8)], "a separator is in column 0: indented dashes are text"),
    ("---b: 2\n", [(0, 8)], "white space follows a separator, and here it is a letter"),
    ("a: 1\n----\n", [(0, 10)], "four dashes are not a separator"),
    ("---\na: 1", [(3, 8)], "a separator may be the first line; there is nothing before it"),
    ("a: 1\n---", [(0, 5)], "the end of the text may follow the dashes"),
    ("a: 1\n--- {b: 2}", [(0, 5), (8, 15)],
     "the rest of the separator's line belongs to the next document"),
    ("a: 1\n---\tb: 2\n", [(0, 5), (8, 14)], "a tab is white space, like a space"),
    ("a: 1\r\n---\r\nb: 2\r\n", [(0, 6), (9, 17)], "lines may end with CRLF"),
    ("a: x\u2028--- y\n", [(0, 11)], "a line feed or CRLF ends a line; U+2028 does not"),
    ("", [], "there is nothing in it"),
    ("\n  \n---\na: 1\n", [(7, 13)], "the first document holds only blank lines"),
    ("# nothing\n---\na: 1\n", [(13, 19)], "the first document holds only a comment"),
    ("  # nothing\n---\na: 1\n", [(15, 21)], "a comment may be indented; there is nothing else"),
    ("# above\na: 1\n# below\n", [(0, 21)],
     "comments above and below a resource stay in its document"),
    ("a: 1\n--- # two\nb: 2\n", [(0, 5), (8, 20)],
     "the second document has a line that is not a comment"),
    ("\t# nothing\n---\na: 1\n", [(14, 20)], "a tab before a comment is white space, too"),
    ("a: 1\n--- # nothing\n", [(0, 5)], "after the last dashes there is only a comment"),
    ("a: 1  # one\n", [(0, 12)], "a line is a comment only if it begins with a '#'"),
    ("# a\u2028b\n---\nc: 1\n", [(9, 15)], "U+2028 does not end a line: all of it is a comment"),
    ("a: 1\n...\nb: 2\n", [(0, 14)], "only `---` is a separator"),
    ("{}\n", [(0, 3)], "its line is not blank, and it is not a comment"),
    ("---\na: 1\n---\na: 1\n", [(3, 9), (12, 18)], "two documents may be equal: work with offsets"),
)  # fmt: skip
STREAMS = (*SEPARATED, *UNUSUAL)


@drawn(200)
def any_document(random: Draws) -> Call:
    """Draw blocks of the named cases in any order, `metadata` at most once."""
    text = "".join(text for text, *_ in DOCUMENTS).replace("\r", "")
    known = re.split(r"(?m)^(?=[^\s-])", text)
    blocks = random.choices([one for one in known if not one.startswith("metadata")], k=4)
    if random.chance(0.85):
        metadata = random.choice([one for one in known if one.startswith("metadata")])
        blocks.insert(random.randrange(5), metadata)
    return given("".join(blocks).replace("\n", random.choice(("\n", "\n", "\r\n"))))


@exercise("2.2", "loader.resource_identity:read_identity", 2, time_limit=2, draws=any_document)
def check_read_identity(call: Probe) -> None:
    """Begin with plain documents, then names that belong to something else."""
    with call.part(1, "what may be missing, other owners, and how a document may be written",
                   needed=False):  # fmt: skip
        for document, identity, because in DOCUMENTS:
            call(document).gives(identity, because=because)
    with call.part(1, "documents that have all four"):
        for document, identity, because in COMPLETE:
            call(document).gives(identity, because=because)


Documents = tuple[tuple[str, Identity, str], ...]
"""A document, who it is, and why."""

DOCUMENTS: Documents = (
    ("apiVersion: v1\nkind: Role\nmetadata:\n  name: reader\n  namespace: shop\n",
     Identity("Role", "reader", "shop", "v1"),
     "an Identity has kind, name, namespace and api_version, in this order; `kind` and "
     "`apiVersion` are in column 0, `name` and `namespace` are children of `metadata`"),
    ("metadata:\n  namespace: y\n  name: x\n", Identity(None, "x", "y", None),
     "the keys may come in any order; what is not there is None"),
    ("kind: Role\nmetadata: # none\nroleRef:\n  name: x\n", Identity("Role", None, None, None),
     "the owner of x is `roleRef`: `metadata` ends with the next key in column 0"),
    ("metadata:\n  labels:\n    name: x\n  name: y\n", Identity(None, "y", None, None),
     "the path of x is metadata, labels, name"),
    ("metadata:\n  name: x\n  labels:\n    name: y\n", Identity(None, "x", None, None),
     "the path of y is metadata, labels, name"),
    ("metadata:\n    name: web\n", Identity(None, "web", None, None),
     "keys may be indented by four spaces: an owner is further left, however far"),
    ("metadata:\n    labels:\n        name: x\n    name: web\n", Identity(None, "web", None, None),
     "`labels` has the column of `name`, so it ends there, however far keys are indented"),
    ("spec:\n  replicas: 2\nmetadata:\n    name: web\n", Identity(None, "web", None, None),
     "`replicas` is further left than `name`, but `metadata` ended its block"),
    ("metadata:\n  name: x\n  labels:\n    namespace: y\n", Identity(None, "x", None, None),
     "the path of y is metadata, labels, namespace"),
    ("kind: RoleBinding\nroleRef:\n  kind: Role\n", Identity("RoleBinding", None, None, None),
     "the second `kind` belongs to `roleRef`"),
    ("apiVersion: v1\nspec:\n  apiVersion: v2\n", Identity(None, None, None, "v1"),
     "the second `apiVersion` belongs to `spec`"),
    ("kind: A\nsubjects:\n- kind: B\n  name: z\n", Identity("A", None, None, None),
     "for a list item `read_key` gives None, and z belongs to `subjects`"),
    ("metadata:\n  name: x\n  namespace: y\nkind: A\n", Identity("A", "x", "y", None),
     "`metadata` may come before `kind`"),
    ("kind: Kustomization\nnamespace: shop\n", Identity("Kustomization", None, None, None),
     "this `namespace` has no owner"),
    ("kind: CronJob\nspec:\n  metadata:\n    name: y\n", Identity("CronJob", None, None, None),
     "the path of y is spec, metadata, name"),
    ("\n# a comment\nkind: Pod\nmetadata:\n\n  # another\n  name: web\n",
     Identity("Pod", "web", None, None),
     "blank lines and comments change nothing: they have no key, and end nothing"),
    ("metadata:\n  managedBy:\n  - kind: X\n    name: y\n  name: web\n",
     Identity(None, "web", None, None),
     "the path of y is metadata, managedBy, name"),
    ("metadata:  # whose\n  name: 'web'  # in front\n", Identity(None, "web", None, None),
     "keys and values have no quotes and comments, as `read_key` gives them"),
    ("metadata:\n  name: 12\n", Identity(None, "12", None, None),
     "a value is the text that is written there, not a number"),
    ("kind: Pod\nmetadata:\n  name:\n", Identity("Pod", "", None, None),
     "the key is there, and its value is empty"),
    ("kind:\napiVersion:\n", Identity("", None, None, ""),
     "both keys are there, and `read_key` gives an empty value for each"),
    ("kind: Pod\r\nmetadata:\r\n  name: web\r\n", Identity("Pod", "web", None, None),
     "lines may end with CRLF"),
    ("{{- if .on }}\nkind: Job\nmetadata:\n  name: {{ .name }}-x\n{{- end }}\n",
     Identity("Job", "{{ .name }}-x", None, None),
     "a template is read as it is written"),
    ("{{ if .x }}\nkind: A\n{{ else }}\nkind: B\n{{ end }}\nmetadata:\n  name: x\n  name: y\n",
     Identity("A", "x", None, None),
     "if a path comes twice, as in the branches of a template, the first one counts"),
    ("metadata:\n  generateName: x\n  name: y\n", Identity(None, "y", None, None),
     "`generateName` is another key than `name`"),
    ("metadata.name: x\n", Identity(None, None, None, None),
     "a key may hold a dot: this one has no owner"),
    ("kind:\nkind: B\nmetadata:\n  name:\n  name: y\n", Identity("", "", None, None),
     "the first of two keys counts, also if its value is empty"),
    ("metadata:\n  labels:\n    a: b\n    c: d\n  namespace: y\n", Identity(None, None, "y", None),
     "the block of `labels` ends where a key is in its column again"),
    ("metadata:\n- name: x\n", Identity(None, None, None, None),
     "a line with a dash is an item of a list: its keys are the item's, not `metadata`'s, and "
     "`read_key` gives None for it"),
    ("metadata: &web\n  name: x\n", Identity(None, "x", None, None),
     "`metadata` has an anchor as its value, and is above `name` and further left"),
    ("{{ if .on }}\n  kind: Job\n  apiVersion: v1\n{{ end }}\n",
     Identity("Job", None, None, "v1"),
     "no key is above them and further left, so their paths have one name"),
)  # fmt: skip
FULL = "apiVersion: v1\nkind: Pod\nmetadata:\n"
COMPLETE: Documents = (
    (FULL + "  namespace: shop\n  name: web\nspec:\n  kind: y\n",
     Identity("Pod", "web", "shop", "v1"), "the second `kind` belongs to `spec`"),
    (FULL + "  labels:\n    name: y\n  name: db\n  namespace: prod\n  annotations:\n    name: z\n",
     Identity("Pod", "db", "prod", "v1"), "`labels` and `annotations` have names of their own"),
    ("{{ if .on }}\n" + FULL
     + "  name: {{ .x }}\n  namespace: shop\nroleRef:\n  name: y\n{{ end }}",
     Identity("Pod", "{{ .x }}", "shop", "v1"), "a template is read as it is written"),
)  # fmt: skip


@drawn(400)
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


@exercise("2.3", "loader.yaml_lines:next_cut", 3, time_limit=2, draws=any_lines)
def check_next_cut(call: Probe) -> None:
    """Follow the lab's small example, then test each rule."""
    for about, cuts in CUTS:
        with call.part(1, about, needed=False):
            for lines, at, limit, number, because in cuts:
                case = call(lines, at, limit)
                if lines is LINES:
                    case.label = f"next_cut(lines, {at}, {limit})"  # the lab has the same `lines`
                if type(case.value) is int and case.value > len(LINES):
                    because = "what is returned is the number of a line, not its offset"
                case.gives(number, because=because)


END = Line(30, -1, False, "")
INWARDS = [Line(0, 0, False, "a"), Line(3, 4, True, "a.b"), Line(8, 8, True, "a.b.c"), END]
OUTWARDS = [Line(0, 12, False, "a.b.c"), Line(10, 8, False, "a.d"), Line(20, 4, False, "e"), END]
ALIKE = [
    Line(0, 8, False, "a.b"),
    Line(5, 12, True, "a.b.c"),
    Line(10, 8, False, "a.d"),
    Line(20, 8, False, "a.e"),
    END,
]
ITEMS = [
    Line(0, 0, False, "a"),
    Line(3, 1, True, "a[0]"),
    Line(10, 0, False, "b"),
    Line(20, 0, False, "c"),
    END,
]
CUTS: tuple[tuple[str, tuple[tuple[list[Line], int, int, int, str], ...]], ...] = (
    ("the smallest depth in reach", (
        (LINES, 0, 70, 2,
         "lines 1 to 5 are in reach: 1 and 2 have the smallest depth, 4, and line 1 is a first"),
        (LINES, 2, 90, 5,
         "lines 3 to 6 are in reach: 3 is a first, 4 and 5 are equal, and the last one counts"),
        (ALIKE, 0, 25, 3, "no line in reach has a smaller depth than line 0, so rule 2 decides"),
    )),
    ("a block that is over", (
        (LINES, 5, 139, 7, "line 7 has depth 9, which is less than 12: the block is over"),
        (LINES, 7, 173, 9, "the end has depth -1, which is smaller than 9: the block is over"),
        (LINES, 0, 138, 9, "what starts at the limit is in reach: here the end, with depth -1"),
        (OUTWARDS, 0, 25, 1, "line 1 is the first with a smaller depth; line 2 comes later"),
        (OUTWARDS, 2, 99, 3, "the last piece ends where the resource ends"),
        (ITEMS, 1, 99, 2, "line 2 is in the column of the item, but its depth, 0, is less than 1"),
    )),
    ("lines that nothing else is in reach of, and a line at the limit", (
        (LINES, 5, 89, 6, "line 6 is a first, and no other line is in reach"),
        (LINES, 4, 60, 5, "no line starts at 60 or before, so cut before the next line"),
        (LINES, 0, 20, 2, "a line that starts at the limit is in reach: the piece ends there"),
        (INWARDS, 0, 10, 1, "every line in reach is a first, so cut before the next line"),
    )),
)  # fmt: skip
"""Lines, where a piece of them begins, the limit, the line before which it ends, and why."""


def _pieces(function: Any, *args: Any) -> list[ResourcePiece]:
    """Return what a learner's function yields, or returns in a list."""
    return list(function(*args))


@drawn(150, apply=_pieces)
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
    return given(text, resource, lines, path, random.choice((120, 150, 200, 260, 700)))


@exercise("2.4", "loader.resource_chunks:cut_document", 3, time_limit=2, draws=any_resource)
def check_cut_document(call: Probe) -> None:
    """Cut the lab's small example at several limits, then test each rule with a resource."""
    with call.part(1, "path, header and text of a resource that fits", needed=False):
        for resource in FITTING:
            _cuts(call, *resource)
    with call.part(1, "where pieces begin and end"):
        for resource in LONG:
            _cuts(call, *resource, whole=False)
    with call.part(1, "each piece as a whole, under any limit and header, in any file"):
        for resource in (*LONG, *TIGHT):
            _cuts(call, *resource)
        web = ResourceSpan(POD, 0, len(SMALL), 0)
        # Of a definition, the library leaves lines out: a run of lines is not all of a resource.
        for asked, fits, places, because in FITS:
            label = f"cut_document(small, web, lines, 'w.yaml', 700, {asked})"
            case = call.shown_as(label)(SMALL, web, LINES, "w.yaml", 700, fits)
            _judge(case, SMALL, web, "w.yaml", 700, places, because, whole=False)
        some = [*LINES[3:7], LINES[7]._replace(depth=-1, first=False, path="")]
        label = "cut_document(small, web, [*lines[3:7], their end], 'w.yaml', 700)"
        case = call.shown_as(label)(SMALL, web, some, "w.yaml", 700)
        _judge(case, SMALL, web, "w.yaml", 700, [(34, 103, "spec.containers[0]")],
               "only these lines are cut, from `lines[0].start` to `lines[-1].start`")  # fmt: skip


def _cuts(
    call: Probe, text: str, who: Identity, path: str, most: int,
    expected: list[tuple[int, int, str]], because: str, *, whole: bool = True,
) -> None:  # fmt: skip
    start = text.find("---\n") + 4 if "---\n" in text else 0
    lines = lines_of(text, start, len(text))
    resource = ResourceSpan(who, start, len(text), start)
    named = "small, web" if (text, who) == (SMALL, POD) else f"{shown(text)}, resource"
    label = f"cut_document({named}, lines, {path!r}, {most})"
    case = call.shown_as(label)(text, resource, lines, path, most)
    _judge(case, text, resource, path, most, expected, because, whole=whole)


def _judge(
    case: Case, text: str, resource: ResourceSpan, source_path: str, most: int,
    expected: list[tuple[int, int, str]], because: str, *, whole: bool = True,
) -> None:  # fmt: skip
    """Judge where the pieces are before what they are, so that a message stays short."""
    pieces = case.returns(list[ResourcePiece])
    places = [(piece.start, piece.end) for piece in pieces]
    wanted = [(start, end) for start, end, _ in expected]
    case.holds(places == wanted, f"pieces from and to {wanted}", got=f"{places}", because=because)
    for piece, (start, end, path) in zip(pieces, expected if whole else (), strict=whole):
        at = f"  (the piece from {start})"
        case.holds(piece.path == path, f"path={path!r}{at}", got=f"path={piece.path!r}",
                   because="it is the path that all lines of the piece share")  # fmt: skip
        header = make_header(resource.identity, source_path, path, most // 2)
        case.holds(piece.header == header, f"header={header!r}{at}", got=f"header={piece.header!r}",
                   because="its resource is `resource.identity`, its file `source_path`, and it "
                   "has at most half of `most` characters")  # fmt: skip
        case.holds(piece.text == header + text[start:end], f"{header + text[start:end]!r}{at}",
                   got=f"text={piece.text!r}", because="a text is header and content")  # fmt: skip
        case.holds(piece.resource == resource, f"{resource}{at}", got=f"{piece.resource}",
                   because="a piece knows its resource")  # fmt: skip


FOLDERS = "a/rather/long/path/of/folders/w.yaml"
POD = Identity("Pod", "web", None, "v1")
NUMBERS = "".join(f"- {number:05d} {'31415926 ' * 4}\n" for number in range(12))
SECOND = "kind: A\n---\nkind: B\nspec:\n  one: 1\n"
BLOB = f"data:\n  a: {'x' * 300}\n  b: 1\n"
Resources = tuple[tuple[str, Identity, str, int, list[tuple[int, int, str]], str], ...]
"""A text, its resource and file, the limit, its pieces (start, end, path), and why."""

FITTING: Resources = (
    (SMALL, POD, "w.yaml", 250, [(0, 138, "spec")],
     "header and content have 198 characters, so one piece holds all"),
    ("just text\n", Identity(), "", 700, [(0, 10, "")],
     "a resource of one line without keys is a piece"),
)  # fmt: skip
LONG: Resources = (
    (SMALL, POD, "w.yaml", 160,
     [(0, 20, "spec"), (20, 103, "spec.containers"), (103, 138, "spec.containers[1]")],
     "the header counts: line 2 and all after it do not fit under it"),
    (BLOB, Identity("ConfigMap", "web"), "w.yaml", 150,
     [(0, 6, "data"), (6, 312, "data.a"), (312, 319, "data.b")],
     "line 1 does not fit alone, so it is a piece of its own"),
)  # fmt: skip
TIGHT: Resources = (
    (SMALL, POD, "w.yaml", 154,
     [(0, 20, "spec"), (20, 103, "spec.containers"), (103, 138, "spec.containers[1]")],
     "the second piece has 154 characters with its header, as many as it may have"),
    (SMALL, POD, "w.yaml", 153,
     [(0, 20, "spec"), (20, 69, "spec.containers"), (69, 103, "spec.containers[0].limits"),
      (103, 138, "spec.containers[1]")],
     "lines 2 to 6 are one character too long, so the best cut before line 7 is taken: line 5"),
    (NUMBERS, Identity("Codes", "pi"), "", 700, [(0, 315, ""), (315, 540, "")],
     "all characters fit, but `fits` says that the model would not read them to the end"),
    (NUMBERS, Identity("Codes", "pi"), "", 250, [(0, 225, ""), (225, 450, ""), (450, 540, "")],
     "the second piece, too, may have 250 characters from where it begins, with its header"),
    (SMALL.replace("web:1", "wéb:1"), POD, "w.yaml", 154,
     [(0, 20, "spec"), (20, 103, "spec.containers"), (103, 138, "spec.containers[1]")],
     "the second piece has 154 characters with its header, and é is one"),
    (SECOND, Identity("B"), "w.yaml", 700, [(12, 35, "")],
     "offsets are those of the whole file, in which this is the second document"),
    (SMALL, Identity("Recipe", "soup", "kitchen", "v1"), FOLDERS, 160,
     [(0, 20, "spec"), (20, 103, "spec.containers"), (103, 138, "spec.containers[1]")],
     "a header of more than 80 characters loses its folders"),
)  # fmt: skip
Fits = tuple[tuple[str, Callable[[str], bool], list[tuple[int, int, str]], str], ...]
"""What tells whether a text is read to its end, as text and as function; the pieces, and why."""

FITS: Fits = (
    ("lambda text: len(text) <= 154", lambda text: len(text) <= 154,
     [(0, 20, ""), (20, 103, ""), (103, 138, "")],
     "this `fits` is false for a text of more than 154 characters, and the header is in the text"),
    ("lambda text: False", lambda text: False,
     [(one.start, after.start, "") for one, after in pairwise(LINES)],
     "nothing fits, so each line is a piece of its own"),
)  # fmt: skip
