"""Lab 02, whose line is it: documents, identities, cuts along the indentation, and headers."""

from __future__ import annotations

import re
from typing import Any

from course_lib.loader.kind_words import KIND_WORDS
from course_lib.loader.resource_identity import Identity
from course_lib.loader.yaml_lines import Line, lines_of
from course_lib.records import Span
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Probe, exercise

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
    lines = random.choices([*known, *["---"] * len(known)], k=random.randrange(9))
    end = random.choice(("\n", "\n", "\r\n"))
    return given(end.join(lines) + random.choice(("", end)))


@exercise("2.1", "loader.kubernetes:split_stream", 2, time_limit=2, draws=any_stream)
def check_split_stream(call: Probe) -> None:
    """Test each rule with one stream: separators, lines, and documents that hold nothing."""
    for text, places, because in STREAMS:
        call(text).gives([Span(a, b, text[a:b]) for a, b in places], because=because)


STREAMS: tuple[tuple[str, list[tuple[int, int]], str], ...] = (
    ("a: 1\n", [(0, 5)], "a stream without a separator is one document, to its last line end"),
    ("a: 1\n---\nb: 2\n", [(0, 5), (8, 14)],
     "line 2 is a separator: a document begins directly after the three dashes"),
    ("---\na: 1", [(3, 8)], "a separator may be the first line; there is nothing before it"),
    ("a: 1\n---", [(0, 5)], "the end of the text may follow the dashes"),
    ("a: ----\n", [(0, 8)], "a separator begins its line"),
    ("a:\n ---\n", [(0, 8)], "a separator is in column 0: indented dashes are text"),
    ("---b: 2\n", [(0, 8)], "white space follows a separator, and here it is a letter"),
    ("{{ if .a }}\nb: 1\n", [(0, 17)], "a parser refuses it: only look at its lines"),
    ("a: 1\n----\n", [(0, 10)], "four dashes are not a separator"),
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
"""A stream, where its documents begin and end, and why."""


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


@exercise("2.2", "loader.resource_identity:read_identity", 3, time_limit=2, draws=any_document)
def check_read_identity(call: Probe) -> None:
    """Begin with plain documents, then names that belong to something else."""
    for document, identity, because in DOCUMENTS:
        call(document).gives(identity, because=because)


DOCUMENTS = (
    ("apiVersion: v1\nkind: Role\nmetadata:\n  name: reader\n  namespace: shop\n",
     Identity("Role", "reader", "shop", "v1"),
     "`kind` and `apiVersion` are in column 0, `name` and `namespace` are children of "
     "`metadata`; an Identity has kind, name, namespace and api_version, in this order"),
    ("metadata:\n  namespace: y\n  name: x\n", Identity(None, "x", "y", None),
     "the children of `metadata` may come in any order; what is not there is None"),
    ("metadata:\n  labels:\n    name: x\n  name: y\n", Identity(None, "y", None, None),
     "x is the `name` of `labels`, which is deeper than the children of `metadata`"),
    ("metadata:\n  name: x\n  labels:\n    name: y\n", Identity(None, "x", None, None),
     "y is the `name` of `labels`, which is deeper than the children of `metadata`"),
    ("metadata:\n    name: web\n", Identity(None, "web", None, None),
     "children may be indented by four spaces: all are in the column of the first child"),
    ("spec:\n  replicas: 2\nmetadata:\n    name: web\n", Identity(None, "web", None, None),
     "`replicas` is a child of `spec`: the children of `metadata` have a column of their own"),
    ("metadata:\n  name: x\n  labels:\n    namespace: y\n", Identity(None, "x", None, None),
     "y is the `namespace` of `labels`, which is deeper than the children of `metadata`"),
    ("kind: Role\nmetadata: # none\nroleRef:\n  name: x\n", Identity("Role", None, None, None),
     "`metadata` ends with the next key in column 0"),
    ("kind: RoleBinding\nroleRef:\n  kind: Role\n", Identity("RoleBinding", None, None, None),
     "the second `kind` is not in column 0: it belongs to `roleRef`"),
    ("apiVersion: v1\nspec:\n  apiVersion: v2\n", Identity(None, None, None, "v1"),
     "the second `apiVersion` is not in column 0: it belongs to `spec`"),
    ("kind: A\nsubjects:\n- kind: B\n  name: z\n", Identity("A", None, None, None),
     "a line with a dash is an item of a list; its keys are the item's"),
    ("metadata:\n  name: x\n  namespace: y\nkind: A\n", Identity("A", "x", "y", None),
     "`metadata` may come before `kind`"),
    ("kind: Kustomization\nnamespace: shop\n", Identity("Kustomization", None, None, None),
     "this `namespace` is in column 0, so it is not a child of `metadata`"),
    ("kind: CronJob\nspec:\n  metadata:\n    name: y\n", Identity("CronJob", None, None, None),
     "this `metadata` is not in column 0"),
    ("\n# a comment\nkind: Pod\nmetadata:\n\n  # another\n  name: web\n",
     Identity("Pod", "web", None, None),
     "blank lines and comments change nothing: they have no key, and end nothing"),
    ("metadata:\n  managedBy:\n  - kind: X\n    name: y\n  name: web\n",
     Identity(None, "web", None, None),
     "an item's keys are deeper than the children"),
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
     "if a key comes twice, as in the branches of a template, the first one counts"),
    ("metadata:\n  generateName: x\n  name: y\n", Identity(None, "y", None, None),
     "`generateName` is another key than `name`"),
    ("metadata:\n    name: x\n  namespace: y\n", Identity(None, "x", None, None),
     "all direct children begin in the column of the first: this `namespace` does not"),
    ("kind:\nkind: B\nmetadata:\n  name:\n  name: y\n", Identity("", "", None, None),
     "the first of two keys counts, also if its value is empty"),
    ("{{ if .x }}\nmetadata:\n  labels: x\n{{ else }}\nmetadata:\n    name: y\n{{ end }}\n",
     Identity(None, "y", None, None),
     "the children of the second `metadata` have a column of their own"),
)  # fmt: skip
"""A document, who it is, and why."""


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
    for lines, at, limit, number, because in CUTS:
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
CUTS: tuple[tuple[list[Line], int, int, int, str], ...] = (
    (LINES, 0, 70, 2,
     "lines 1 to 5 are in reach: 1 and 2 have the smallest depth, 4, and line 1 is a first"),
    (LINES, 2, 90, 5,
     "lines 3 to 6 are in reach: 3 is a first, 4 and 5 are equal, and the last one counts"),
    (LINES, 5, 139, 7, "line 7 has depth 9, which is less than 12: the block is over"),
    (LINES, 7, 173, 9, "the end has depth -1, and no depth is smaller"),
    (LINES, 5, 89, 6, "line 6 is a first, and no other line is in reach"),
    (LINES, 4, 60, 5, "no line starts at 60 or before, so cut before the next line"),
    (LINES, 0, 20, 2, "a line that starts at the limit is in reach: the piece ends there"),
    (LINES, 0, 138, 9, "the end of the resource is in reach, and its depth is smaller than 0"),
    (INWARDS, 0, 10, 1, "every line in reach is a first, so cut before the next line"),
    (OUTWARDS, 0, 25, 1, "line 1 is the first with a smaller depth; line 2 comes later"),
    (OUTWARDS, 2, 99, 3, "the last piece ends where the resource ends"),
    (ALIKE, 0, 25, 3, "no line in reach has a smaller depth than line 0, so rule 2 decides"),
)  # fmt: skip
"""Lines, where a piece of them begins, the limit, the line before which it ends, and why."""


@drawn(100)
def any_identity(random: Draws) -> Call:
    """Draw who a resource is, with gaps, at times a file and a place in it, and how much fits."""
    from course_lib.loader import resource_chunks

    kind = random.choice((random.choice(sorted(KIND_WORDS)), "Recipe", None))
    names = random.choices(("web", "two\n\tlines", "", None, "a  b"), k=2)
    who = Identity(kind, names[0], names[1], random.choice(("v1", None)))
    paths = ("", "base/web.yaml", "a/b/c.yaml", "a  b.yaml")
    where: list[Any] = [random.choice(paths), "spec.ports[2]"][: random.randrange(3)]
    if random.chance(0.4):
        return given(who, *where)
    length = len(resource_chunks.make_header(who, *where))
    most = max(length - random.choice((0, 1, 5, 9, random.randrange(length + 1))), 4)
    return given(who, *where, most=most)


@exercise("2.4", "loader.resource_chunks:make_header", 2, time_limit=2, draws=any_identity)
def check_make_header(call: Probe) -> None:
    """Leave out one part after the other, then make the header shorter."""
    web = Identity("Secret", "web", "shop", "v1")
    first = f"# v1 Secret web in namespace shop: {KIND_WORDS['Secret']}\n"
    recipe = Identity("Recipe", "soup", None, "v1")
    full, short = "# v1 Recipe soup\n# a/b/c.yaml at x\n", "# v1 Recipe soup\n# c.yaml at x\n"
    call.cases(
        ((web, "base/web.yaml", "data"), f"{first}# base/web.yaml at data\n",
         "there are two lines; each is a comment and ends with a line feed. The first has "
         "version, kind, name, namespace and the words, the second the path with its folders"),
        ((web, "base/web.yaml"), f"{first}# base/web.yaml\n",
         "no place inside it is given, so there is no `at`"),
        ((web,), first, "an empty line is left out"),
        ((web, "", "data"), f"{first}# at data\n", "there is no path, so no space before `at`"),
        ((Identity("Deployment", "web", None, "apps/v1"), "a.yaml"),
         f"# apps/v1 Deployment web: {KIND_WORDS['Deployment']}\n# a.yaml\n",
         "a resource may have no namespace"),
        ((Identity("Role", None, "shop", None), "a.yaml"),
         f"# Role in namespace shop: {KIND_WORDS['Role']}\n# a.yaml\n",
         "a resource may have no name"),
        ((Identity("Recipe", "", "", "v1"), "a.yaml"), "# v1 Recipe\n# a.yaml\n",
         "an empty name is left out, and KIND_WORDS has no words for this kind"),
        ((Identity(None, None, "shop", None), "a.yaml"), "# in namespace shop\n# a.yaml\n",
         "there is no word before `in`, so no space"),
        ((Identity(None, None, None, None), "a.yaml", "jobs[2]"), "# a.yaml at jobs[2]\n",
         "an empty line is left out, here the first"),
        ((Identity(None, None, None, None),), "", "nothing is known"),
        ((Identity("Recipe", "two\n\tlines", None, "v1"), "a  b.yaml"),
         "# v1 Recipe two lines\n# a b.yaml\n",
         "white space characters in a row become one space"),
        ((Identity("Recipe\tbook", "soup", "a  b", "v1"), "a.yaml", "x\n y"),
         "# v1 Recipe book soup in namespace a b\n# a.yaml at x y\n",
         "white space characters in a row become one space, also in kind, namespace and place"),
        ((recipe, "a/b/c.yaml", "x", len(full)), full,
         f"it has {len(full)} characters, as many as it may have, so nothing is lost"),
        ((recipe, "a/b/c.yaml", "x", len(full) - 1), short,
         "it is one character too long, so it loses its folders, and only these"),
        ((recipe, "a/b/c.yaml", "x", len(short)), short,
         "without the folders it is just short enough, so it is not cut"),
        ((recipe, "a/b/c.yaml", "x", len(short) - 1), short[:-2] + "\n",
         "without folders it is still too long, so it is cut; its line feed counts and stays at "
         "the end"),
        ((recipe, "c.yaml", "x", 8), "# v1 Re\n",
         "8 characters are left, and the last one is the line feed"),
        ((Identity("Secret", "web", None, "v1"), "", "", 20), "# v1 Secret web: pa\n",
         "what is lost is at the end, even if there is no file"),
    )  # fmt: skip
