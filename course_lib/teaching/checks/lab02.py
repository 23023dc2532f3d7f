"""Lab 02, whose line is it: documents, identities, cuts along the indentation, and headers."""

from __future__ import annotations

from course_lib.loader.kubernetes import ResourceSpan
from course_lib.loader.resource_identity import Identity
from course_lib.records import Span
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.lab.manifests import Line, lines_of

LIBRARY = "course_lib.loader.resource_chunks"

WINDOWS = "kind: A\r\n---\r\nkind: B\r\n"
SCRIPT = "data:\n  run: |\n    ---\n    ----\n  note: a --- b\n---\nkind: B\n"

BINDING = """\
apiVersion: rbac/v1
metadata:
    namespace: "shop"
    name: readers  # all of them
roleRef:
    kind: Role
    name: reader
subjects:
- kind: ServiceAccount
  name: web
  namespace: elsewhere
kind: RoleBinding
"""
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
NESTED = "spec:\n  template:\n    metadata:\n      labels:\n        app: x\n"
INWARDS = lines_of(NESTED, 0, len(NESTED))
OUTWARDS = [
    Line(0, 12, False, "a.b.c"),
    Line(10, 12, False, "a.b.d"),
    Line(20, 8, False, "a.e"),
    Line(30, 4, False, "f"),
    Line(40, -1, False, ""),
]
"""A piece that begins deep inside, and two blocks that end behind it."""


@exercise(
    "2.1",
    function="split_stream",
    points=2,
    time_limit=2,
    hints=(
        "Find the separators first: `re.finditer` with `re.MULTILINE` gives their matches, and `^` "
        "is the beginning of a line. The document begins right behind the dashes, so the pattern "
        "may look at what follows them, and must not take it.",
        "A lookahead looks without taking: `---(?=…)`. Inside stands what may follow: white space, "
        "`\\s`, or the end of the text, `\\Z`.",
        "With n separators there are n + 1 stretches: they begin at 0 and at each match's `end()`, "
        "and they end at each match's `start()` and at `len(text)`. `zip` pairs the two lists. "
        'Keep a stretch if any of its lines, stripped, is neither empty nor begins with `"#"`.',
    ),
)
def check_split_stream(call: Probe) -> None:
    """Take one case a rule of the separator, then the documents that hold nothing."""
    call("a: 1\n---\nb: 2\n").gives(
        [Span(0, 5, "a: 1\n"), Span(8, 14, "\nb: 2\n")],
        because="a document begins right behind the three dashes",
    )
    call("a: 1\n").gives([Span(0, 5, "a: 1\n")], because="a stream without a separator")
    call("---\na: 1").gives(
        [Span(3, 8, "\na: 1")], because="a separator may be the first line; before it is nothing"
    )
    call("a: 1\n---").gives(
        [Span(0, 5, "a: 1\n")], because="the end of the text may follow the dashes"
    )
    call("a: ----\n ---\n---b: 2\n").gives(
        [Span(0, 21, "a: ----\n ---\n---b: 2\n")],
        because="a separator begins its line, and white space follows it",
    )
    call("a: 1\n---- \n---#\n").gives(
        [Span(0, 16, "a: 1\n---- \n---#\n")],
        because="four dashes are no separator, nor are three with a '#' right behind",
    )
    call("---\n# nothing\n--- {b: 2}").gives(
        [Span(17, 24, " {b: 2}")], because="what follows on the separator's line is the document's"
    )
    call("a: 1\n--- # the next\nb: 2\n---\t\nc: 3\n").gives(
        [
            Span(0, 5, "a: 1\n"),
            Span(8, 25, " # the next\nb: 2\n"),
            Span(28, 35, "\t\nc: 3\n"),
        ],
        because="a space or a tab is white space, too",
    )
    call(WINDOWS).gives(
        [Span(0, 9, "kind: A\r\n"), Span(12, 23, "\r\nkind: B\r\n")],
        because="lines may end with CRLF",
    )
    call(SCRIPT).gives(
        [Span(0, 48, SCRIPT[:48]), Span(51, 60, SCRIPT[51:])],
        because="within a script every line is indented, so its dashes separate nothing",
    )
    call("a: |\n  x\n---\nb: 2\n").gives(
        [Span(0, 9, "a: |\n  x\n"), Span(12, 18, "\nb: 2\n")],
        because="in column 0 it separates, even where a block of text was open",
    )
    call("").gives([], because="there is nothing in it")
    call("---\n\n---\n   # only this\n---\n").gives(
        [], because="every document is blank or a comment, if an indented one"
    )
    call("# above\na: 1\n").gives(
        [Span(0, 13, "# above\na: 1\n")], because="a comment stays with what follows it"
    )
    call("---\na: 1\n---\na: 1\n").gives(
        [Span(3, 9, "\na: 1\n"), Span(12, 18, "\na: 1\n")],
        because="two documents may say the same; offsets are counted, not looked up",
    )


@exercise(
    "2.2",
    function="read_identity",
    points=3,
    time_limit=2,
    hints=(
        "Go through `document.splitlines()`, call `read_key` on each, and skip the lines for which "
        "it gives None.",
        "Remember under which key in column 0 you are. Where that is `metadata`, a key is a child.",
        "The first child's column is the column of all direct children: remember it, and skip what "
        "stands in any other. Forget it where the next key in column 0 comes.",
        'Two dictionaries will do, one for keys in column 0 and one for the children: `own.get("'
        'kind")` is None where there is none. Order of the fields: `Identity(kind, name, namespace,'
        " api_version)`.",
    ),
)
def check_read_identity(call: Probe) -> None:
    """Begin with plain documents, go on to every name that is somebody else's."""
    call("kind: Role\nmetadata:\n  name: reader\n").gives(
        Identity("Role", "reader", None, None), because="what is not there is None"
    )
    call("kind: Role\nmetadata:\n  labels:\n    name: x\n  name: y\n").gives(
        Identity("Role", "y", None, None), because="a label is a child of `labels`"
    )
    call("metadata:\n  name: x\n  labels:\n    namespace: y\n").gives(
        Identity(None, "x", None, None), because="below a label nothing is the resource's own"
    )
    call("kind: Role\nmetadata: # none\nroleRef:\n  name: x\n").gives(
        Identity("Role", None, None, None),
        because="`metadata` ends with the next key in column 0",
    )
    call("spec:\n  kind: Pod\nkind: Job\napiVersion: v1\n").gives(
        Identity("Job", None, None, "v1"), because="the resource's own `kind` is in column 0"
    )
    call("metadata:\n  name: x\nsubjects:\n- kind: Y\n  name: z\nkind: A\n").gives(
        Identity("A", "x", None, None), because="`metadata` may come before `kind`"
    )
    call(BINDING).gives(
        Identity("RoleBinding", "readers", "shop", "rbac/v1"),
        because="`roleRef` and `subjects` are not `metadata`, and keys come in any order",
    )
    call("kind: Kustomization\nnamespace: shop\nresources:\n- web.yaml\n").gives(
        Identity("Kustomization", None, None, None),
        because="a `namespace` in column 0 is not the resource's own",
    )
    call("kind: CronJob\nspec:\n  name: x\n  metadata:\n    name: y\n").gives(
        Identity("CronJob", None, None, None), because="this `metadata` is not in column 0"
    )
    call("metadata:\n    name: web\n    labels:\n        namespace: x\nkind: Pod\n").gives(
        Identity("Pod", "web", None, None), because="`metadata` may be indented by four spaces"
    )
    call("\n# a comment\n\nkind: 'Pod'\nmetadata:\n\n  # another\n  name: 12\n").gives(
        Identity("Pod", "12", None, None), because="blank lines and comments change nothing"
    )
    call("kind: Pod\r\nmetadata:\r\n  name: web\r\n").gives(
        Identity("Pod", "web", None, None), because="lines may end with CRLF"
    )
    call("{{- if .on }}\nkind: Job\nmetadata:\n  name: {{ .name }}-x\n{{- end }}\n").gives(
        Identity("Job", "{{ .name }}-x", None, None), because="a template is read as it is written"
    )
    call("kind: Pod\nmetadata:\n  name:\n").gives(
        Identity("Pod", "", None, None), because="the key is there, its value is empty"
    )
    call("apiVersion: v1\nmetadata:\n  managedBy:\n  - kind: X\n    name: y\n  name: web\n").gives(
        Identity(None, "web", None, "v1"), because="an item's keys are deeper than the children"
    )
    call("just text\n").gives(Identity(None, None, None, None), because="there are no keys in it")


@exercise(
    "2.3",
    function="next_cut",
    points=3,
    time_limit=2,
    hints=(
        "Begin with the numbers of the lines in reach: those behind `at`, up to and with the last "
        "line of the list, whose `start` is at most `limit`. Each rule looks at these.",
        "Rule 1: the first of them with `lines[i].depth < lines[at].depth`. Return its number.",
        "Rule 2: leave out those that are `first`. Of the others you need the smallest depth and, "
        "among equals, the last: `min(…, key=…)` takes the first of equals, so give it the numbers "
        "in reverse.",
        "Rule 3: `min` has a `default` for when there is nothing to choose from.",
    ),
)
def check_next_cut(call: Probe) -> None:
    """Follow the small example, then take one case a rule."""
    steps = (
        (0, 70, 2, "lines 1 and 2 have depth 4, and line 1 is a first"),
        (2, 90, 5, "lines 4 and 5 have depth 12, and the last of equals counts"),
        (5, 139, 7, "line 7 has depth 9, which is less than 12: the block is over"),
        (7, 173, 9, "the end has depth -1, and nothing is shallower"),
    )
    for at, limit, gives, because in steps:
        judged(call(LINES, at, limit), gives, because)
    judged(call(LINES, 5, 89), 6, "line 6 is a first, and nothing else is in reach")
    judged(call(LINES, 4, 60), 5, "no line starts at 60 or before, so the next one it is")
    judged(call(INWARDS, 0, 45), 1, "every line in reach is a first, so the next one it is")
    judged(
        call(LINES, 0, 138), 9, "the end of the resource is in reach, and it is shallower than 0"
    )
    judged(
        call(LINES, 0, 20), 2, "a line that starts at the limit is in reach: the piece ends there"
    )
    judged(call(LINES, 0, 137), 2, "line 2 is the shallowest; 3, 7 and 8 are deeper")
    judged(call(LINES, 3, 110), 7, "line 7 is as deep as line 3, and the shallowest in reach")
    judged(
        call(OUTWARDS, 0, 35), 2, "depths 12, 12, 8, 4: the piece ends with the first block to end"
    )
    judged(call(OUTWARDS, 0, 15), 1, "depths 12, 12: line 1 is no shallower than line 0, so rule 2")
    judged(call(OUTWARDS, 3, 99), 4, "the last piece ends where the resource ends")


@exercise(
    "2.4",
    function="make_header",
    points=2,
    library=LIBRARY,
    time_limit=2,
    hints=(
        "Put the words of the first line into a list and join those that are there: "
        '`" ".join(filter(None, …))` leaves out None and "".',
        "Then add `in namespace …`, behind a space if anything stands before it.",
        "The second line is the path, then `at` and the place inside, where there is one. Begin "
        'each line that is not empty with `"# "` and end it with a line feed; `" ".join(line.split('
        "))` makes one line of a value that has several.",
    ),
)
def check_make_header(call: Probe) -> None:
    """Leave out one part after the other."""
    web = ResourceSpan("Deployment", "web", "shop", "apps/v1", 0, 9, 1, 1, 0)
    call(web, "base/web.yaml", "spec.template").gives(
        "# apps/v1 Deployment web in namespace shop\n# base/web.yaml at spec.template\n",
        because="two lines, each a comment with its line end",
    )
    call(web, "base/web.yaml").gives(
        "# apps/v1 Deployment web in namespace shop\n# base/web.yaml\n",
        because="a whole resource lies nowhere inside itself",
    )
    call(web).gives(
        "# apps/v1 Deployment web in namespace shop\n", because="a line of nothing is left out"
    )
    call(web, "", "spec.template").gives(
        "# apps/v1 Deployment web in namespace shop\n# at spec.template\n",
        because="no path, so no space before `at`",
    )
    call(ResourceSpan("Deployment", "web", None, "apps/v1", 0, 9, 1, 1, 0), "a.yaml").gives(
        "# apps/v1 Deployment web\n# a.yaml\n", because="a resource may have no namespace"
    )
    call(ResourceSpan("Role", None, "shop", None, 0, 9, 1, 1, 0), "a.yaml").gives(
        "# Role in namespace shop\n# a.yaml\n", because="a resource may have no name"
    )
    call(ResourceSpan("Kustomization", "", "", "v1", 0, 9, 1, 1, 0), "a.yaml").gives(
        "# v1 Kustomization\n# a.yaml\n", because="an empty name is no name"
    )
    call(ResourceSpan(None, None, "shop", None, 0, 9, 1, 1, 0), "a.yaml").gives(
        "# in namespace shop\n# a.yaml\n", because="no word before it, so no space"
    )
    call(ResourceSpan(None, None, None, None, 0, 9, 1, 1, 0), "a.yaml", "jobs[2]").gives(
        "# a.yaml at jobs[2]\n", because="nothing is known about it but where it lies"
    )
    call(ResourceSpan(None, None, None, None, 0, 9, 1, 1, 0)).gives("", because="nothing is known")
    call(ResourceSpan("Job", "two\nlines", None, "v1", 0, 9, 1, 1, 0), "a  b.yaml").gives(
        "# v1 Job two lines\n# a b.yaml\n", because="any run of white space becomes one space"
    )


def judged(case: Case, number: int, because: str) -> None:
    """Expect the number of a line; an offset is told apart from it.

    Parameters
    ----------
    case
        A call of `next_cut`.
    number, because
        What it should have returned, and why.
    """
    if type(case.value) is int and case.value > len(LINES):
        because = "what is returned is the number of a line, not its offset"
    case.gives(number, because=because)
