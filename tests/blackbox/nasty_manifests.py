"""Manifests that trip a YAML splitter up; see `nasty.py`."""

from __future__ import annotations

from tests.blackbox.nasty import nasty


@nasty("yaml/crlf.yaml")
def crlf() -> str:
    """Windows line ends, in separators too."""
    return "kind: A\r\nmetadata:\r\n  name: one\r\n---\r\nkind: B\r\nmetadata:\r\n  name: two\r\n"


@nasty("yaml/cr-only.yaml")
def cr_only() -> str:
    """Carriage returns alone, which are line ends in YAML."""
    return "kind: A\rmetadata:\r  name: one\r---\rkind: B\rmetadata:\r  name: two\r"


@nasty("yaml/bom.yaml")
def bom() -> bytes:
    """A byte order mark before a separator."""
    return b"\xef\xbb\xbf---\nkind: A\nmetadata:\n  name: marked\n"


@nasty("yaml/line-separators.yaml")
def line_separators() -> str:
    """U+2028 and U+0085, which end lines in YAML 1.1 and not in an editor."""
    return "kind: A\u2028metadata:\x85  name: one\n---\u2028kind: B\nmetadata: {name: 'a\u2028b'}\n"


@nasty("yaml/helm.yaml")
def helm() -> str:
    """Helm templates: no YAML before they are rendered."""
    return (
        "{{- if .Values.on }}\napiVersion: v1\nkind: Service\nmetadata:\n"
        '  name: {{ include "x" . }}'
        "\n  labels:\n    {{- toYaml .Values.labels | nindent 4 }}\nspec:\n  ports:\n"
        "  {{- range .Values.ports }}\n  - port: {{ . }}\n  {{- end }}\n{{- end }}\n---\n"
        "{{/*\nkind: Comment\n*/}}\nkind: {{ .Values.kind }}\nmetadata:\n  name: plain\n"
    )


@nasty("yaml/list.yaml")
def a_list() -> str:
    """`kind: List`, with a List in it: each item is a resource."""
    return (
        "apiVersion: v1\nkind: List\nitems:\n# of the first\n- kind: A\n  metadata:\n"
        "    name: one\n"
        "- apiVersion: v1\n  kind: List\n  items:\n  - kind: B\n    metadata: {name: two}\n"
        "  - kind: C\n    metadata:\n      name: three\n      namespace: inner\n"
        "- kind: D\n  metadata: {name: four}\nmetadata:\n  resourceVersion: ''\n"
    )


@nasty("yaml/list-empty.yaml")
def list_empty() -> str:
    """A List without items, and one whose items are null."""
    return "kind: List\nitems: []\n---\nkind: List\nitems:\n---\nkind: List\n"


@nasty("yaml/sequence.yaml")
def sequence() -> str:
    """A list of resources without a List around it."""
    return "- kind: A\n  metadata: {name: one}\n- kind: B\n  metadata: {name: two}\n"


@nasty("yaml/flow.yaml")
def flow() -> str:
    """Flow style, over several lines, keys out of order."""
    return (
        "{metadata: {namespace: n, name: flowing},\n kind: A, apiVersion: v1,\n"
        " spec: [1, {a: b}]}\n"
    )


@nasty("yaml/json.yaml")
def as_json() -> str:
    """JSON, which is YAML, with a List."""
    return (
        '{"kind": "List", "items": [\n  {"kind": "A", "metadata": {"name": "one"}},\n'
        '  {"kind": "B", "metadata": {"name": "two", "namespace": "n\\u0061me"}}\n]}\n'
    )


@nasty("yaml/block-scalars.yaml")
def block_scalars() -> str:
    """Block scalars that hold what looks like separators, kinds and comments."""
    return (
        "kind: ConfigMap\nmetadata:\n  name: holder\ndata:\n  a: |\n    ---\n    kind: Fake\n"
        "    metadata:\n      name: fake\n    # no comment\n  b: >-\n    folded\n    ...\n"
        '  c: "---\n    kind: Fake"\n  d: |2\n      indented\n---\nkind: Real\n'
        "metadata: {name: real}\n"
    )


@nasty("yaml/block-at-0.yaml")
def block_at_0() -> str:
    """A block scalar as the whole document, and one whose name spans lines."""
    return (
        "--- |\nkind: Fake\n---\nkind: >-\n  Folded\n  Kind\nmetadata:\n  name: |\n    two\n"
        "    lines\n"
    )


@nasty("yaml/separators.yaml")
def separators() -> str:
    """What separates documents, and what only looks like it."""
    return (
        "--- # first\nkind: A\n----\nkind: B\n---#no\nkind: C\n ---\nkind: D\n---\tkind: E\n...\n"
        "# after the end\n---\n---\n--- {kind: F}\n...\nkind: G\n---"
    )


@nasty("yaml/directives.yaml")
def directives() -> str:
    """Directives before documents, and one that is content."""
    return (
        "%YAML 1.1\n%TAG ! tag:x,2000:\n# c\n---\nkind: A\n%kind: B\n...\n%YAML 1.2\n---\nkind: C\n"
    )


@nasty("yaml/anchors.yaml")
def anchors() -> str:
    """Anchors, aliases, merge keys and tags where kind and name are."""
    return (
        "base: &base {name: anchored, namespace: shared}\nkind: &k Deployment\n"
        "metadata: *base\n---\n"
        "kind: !!str A\nmetadata:\n  <<: {name: merged}\n  namespace: !mine own\n---\nkind: List\n"
        "items:\n- &one {kind: A, metadata: {name: one}}\n- *one\n"
    )


@nasty("yaml/comments.yaml")
def comments() -> str:
    """Comments alone: no resource."""
    return "# only\n---\n# comments\n\n...\n  # here\n"


@nasty("yaml/empty.yaml")
def empty() -> str:
    """Nothing at all."""
    return ""


@nasty("yaml/tabs.yaml")
def tabs() -> str:
    """Tabs as indentation, which YAML forbids, and after a colon, which it does not."""
    return (
        "kind:\tA\nmetadata:\n\tname: tabbed\n---\nkind:\t'B'\nmetadata:\n  name:\t\"tab\"\t# c\n"
    )


@nasty("yaml/wrong-indent.yaml")
def wrong_indent() -> str:
    """Indentation that no parser accepts: kind and name are read roughly."""
    return "kind: A\n  metadata:\n name: odd\n   spec: [\n---\nkind: B\nmetadata:\n  name: 'open\n"


@nasty("yaml/scalars.yaml")
def scalars() -> str:
    """Kinds and names that are not strings, twice there, empty or missing."""
    return (
        "kind: 12\nmetadata: {name: 0x1F}\n---\nkind: true\nmetadata: {name: ~}\n---\n"
        "kind: A\nkind: B\nmetadata: {name: a}\nmetadata: {name: b}\n---\nkind:\nmetadata:\n"
        "  name:\n"
        "---\nkind: [A]\nmetadata: name\n---\n'kind': \"Q\\x41\"\n? metadata\n"
        ": {\"name\": 'it''s'}\n"
    )


@nasty("yaml/no-kind.yaml")
def no_kind() -> str:
    """Values of a chart: YAML that is not a resource; a scalar; a sequence."""
    return "replicas: 3\nimage: {repository: a/b, tag: '1'}\n---\njust a text\n---\n- 1\n- 2\n"


@nasty("yaml/namespaces.yaml")
def namespaces() -> str:
    """The same kind and name in several namespaces, and twice in one."""
    return "---\n".join(
        f"kind: Role\nmetadata:\n  name: reader\n  namespace: {one}\n"
        for one in ("a", "b", "b", "")
    )


@nasty("yaml/long-names.yaml")
def long_names() -> str:
    """Names that leave little room for the piece under its header."""
    lines = "".join(f"  key-{number}: {'value ' * 12}\n" for number in range(24))
    return (
        f"apiVersion: very.long.group.example.com/v1beta1\nkind: {'Long' * 40}\nmetadata:\n"
        f"  name: {'n' * 253}\n  namespace: {'s' * 63}\ndata:\n{lines}"
    )


@nasty("yaml/deep.yaml")
def deep() -> str:
    """Forty levels: the path in the header is shortened."""
    nested = "".join(f"{'  ' * level}level{level}:\n" for level in range(1, 41))
    return (
        "kind: Deep\nmetadata: {name: deep}\nspec:\n" + nested + "  " * 41 + "x: " + "word " * 300
    )


@nasty("yaml/large.yaml")
def large() -> str:
    """A resource of lists that is cut along its indentation, with a comment above each item."""
    containers = "".join(
        f"      # the {n}th\n      - name: c{n}\n        image: reg.example.com/app:{n}\n"
        f"        env:\n        - {{name: A, value: '{n}'}}\n        - name: B\n"
        f"          value: '{n}'\n"
        for n in range(12)
    )
    return (
        "# Above everything.\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: large\n"
        f"  namespace: n\nspec:\n  template:\n    spec:\n      containers:\n{containers}"
        "status:\n  ready: 1\n"
    )


@nasty("yaml/long-scalar.yaml")
def long_scalar() -> str:
    """A line and a block that are longer than a piece, in a ConfigMap."""
    script = "".join(f"    echo step {number} # --- kind: no\n\n" for number in range(60))
    return (
        f"kind: ConfigMap\nmetadata:\n  name: long\ndata:\n  line: '{'word ' * 300}'\n"
        f"  base64: {'QUJD' * 300}\n  script: |\n{script}"
    )


@nasty("yaml/crd.yaml")
def crd() -> str:
    """A custom resource definition: its schema is left out, its head stays."""
    fields = "".join(
        f"              field{n}:\n                type: string\n"
        f"                description: f {n}\n"
        for n in range(40)
    )
    return (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n"
        "  name: things.example.com\nspec:\n  group: example.com\n"
        "  names: {kind: Thing, plural: things}\n"
        "  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n"
        "        description: A thing.\n"
        "        type: object\n        properties:\n          spec:\n"
        "            description: Wanted.\n"
        f"            properties:\n{fields}    served: true\n    storage: true\n"
    )


@nasty("yaml/many.yaml")
def many() -> str:
    """Three hundred documents in one file."""
    return "---\n".join(f"kind: Job\nmetadata: {{name: job-{n}}}\n" for n in range(300))


@nasty("yaml/windows.yml")
def windows() -> str:
    """Paths with backslashes and drive letters, quoted and plain."""
    return (
        'kind: Mount\nmetadata:\n  name: C:\\data\nspec:\n  path: "C:\\\\data"\n'
        "  raw: 'D:\\x: y'\n"
    )


@nasty("yaml/unicode.yaml")
def unicode() -> str:
    """Emoji and combining characters in names; offsets count code points."""
    return (
        "# 🎈🎈\nkind: Fête\nmetadata:\n  name: e\u0301-👩\u200d👧\n---\n# ü\nkind: B\n"
        "metadata: {name: ß}\n"
    )


@nasty("yaml/overlay/kustomization.yaml")
def kustomization() -> str:
    """A kustomization with links to files, folders and elsewhere."""
    return (
        "namespace: prod\nnamePrefix: p-\nresources:\n- ../list.yaml\n- ../../base\n"
        "- https://github.com/o/r//base?ref=v1\npatches:\n- path: patch.yaml\n- patch: |\n"
        "    kind: A\n"
        "images:\n- {name: app, newTag: '2'}\ncomponents: [../c]\n"
    )


@nasty("yaml/broken/kustomization.yml")
def kustomization_broken() -> str:
    """A kustomization that is not YAML."""
    return "resources:\n- a.yaml\n ]: [\n"


@nasty("yaml/helm-branches.yaml")
def helm_branches() -> str:
    """Resources of a template without a separator between them: a second `kind:` begins one."""
    return (
        "{{- range .Values.sites }}\n# the site\napiVersion: v1\nkind: Service\nmetadata:\n"
        "  name: {{ .name }}\n  {{- if .own }}\n  namespace: {{ .own }}\n  {{- end }}\nspec: {}\n"
        "# its account\n{{- if .account }}\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n"
        '  name: "{{ .name }}-sa"\n{{- end }}\n{{- end }}\n'
    )


@nasty("yaml/brackets.yaml")
def brackets() -> str:
    """Brackets a thousand deep, in which a parser would lose itself."""
    return "kind: Deep\nmetadata: {name: brackets}\nspec: " + "[" * 1000 + "]" * 1000 + "\n"


@nasty("yaml/no-anchor.yaml")
def no_anchor() -> str:
    """An alias to an anchor that is not there, and an anchor that holds itself."""
    return "kind: A\nmetadata: *nowhere\n---\nkind: List\nitems: &i\n- *i\n- {kind: B}\n"


@nasty("yaml/long-comments.yaml")
def long_comments() -> str:
    """Comments longer than a piece above a resource, and above one of its items."""
    words = "".join(f"# {'word ' * 15}{number}\n" for number in range(12))
    inside = "".join(f"  # {'word ' * 15}{number}\n" for number in range(12))
    return f"{words}kind: A\nmetadata:\n  name: a\nspec:\n  first: 1\n{inside}  second: 2\n"


@nasty("yaml/crd-odd.yaml")
def crd_odd() -> str:
    """Schemas without description, on one line, and at the end of the file, with CRLF."""
    schema = "".join(f"            f{n}:\n              type: integer\n" for n in range(60))
    return (
        "kind: CustomResourceDefinition\nmetadata:\n  name: odd\nspec:\n"
        "  openAPIV3Schema: {type: object}\n  versions:\n  - schema:\n      openAPIV3Schema:\n"
        "        properties:\n          description:\n            type: string\n"
        "          status:\n            type: object\n            description: |\n"
        f"              Two\n              lines.\n            properties:\n{schema}"
    ).replace("\n", "\r\n")


@nasty("yaml/images/kustomization.yaml")
def kustomization_images() -> str:
    """Images without a name, with digests, new names; bases and patches of the older forms."""
    return (
        "images:\n- newTag: '1'\n- {name: a, digest: 'sha256:0'}\n- {name: b, newName: c}\n- d\n"
        "bases: [../overlay, 'git@github.com:o/r.git']\npatchesStrategicMerge:\n- p.yaml\n"
        "- |-\n  kind: A\nresources: x.yaml\nnameSuffix: -s\n"
    )
