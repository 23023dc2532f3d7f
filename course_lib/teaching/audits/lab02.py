"""Lab 02: YAML streams, documents of resources, lines with depths, and identities."""

from __future__ import annotations

from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance

STREAM = (
    "---",
    "---",
    "--- # two",
    "---\tb: 2",
    "--- {}",
    "----",
    "---x",
    "  ---",
    "a: 1",
    "b:",
    "",
) + ("# no", "  # no", "  ", "a: x\f--- y", "a: x\u2028--- y", "a: |", "  --- x", "- ---")
NAMES = ("web", "shop", "'db'", '"mill"  # first', "12", "", "{{ .name }}-x", "a b # two")
CHILDREN = (
    "name: {}",
    "name: {}",
    "namespace: {}",
    "labels:\n{}{}name: {}",
    "labels:\n{}{}namespace: {}",
    "managedBy:\n{}- kind: X\n{}{}name: {}",
    "# name: {}",
    "",
)
BLOCKS = (
    "kind: {}",
    "kind: {}",
    "apiVersion: {}",
    '"kind": {}',
    "namespace: {}",
    "roleRef:\n  kind: Role\n  name: {}",
    "spec:\n  apiVersion: {}\n  metadata:\n    name: y",
    "subjects:\n- kind: B\n  namespace: {}",
    "# kind: {}",
    "just text",
    "{{{{- if .on }}}}",
)


@audit("2.1", count=200)
def split_stream(random: Draws) -> Call:
    """Draw lines, of which many separate and some only look as if they did."""
    end = random.choice(("\n", "\n", "\r\n"))
    lines = random.choices(STREAM, k=random.randrange(9))
    return call(end.join(lines) + random.choice(("", end)))


@audit("2.2", count=200)
def read_identity(random: Draws) -> Call:
    """Draw blocks in any order, `metadata` at most once; what is nested has other columns."""
    blocks = [one.format(random.choice(NAMES)) for one in random.choices(BLOCKS, k=4)]
    if chance(random, 0.85):
        indent = random.choice(("  ", "    ", "   "))
        children = [
            indent + one.format(*[indent] * (one.count("{}") - 1), random.choice(NAMES))
            for one in random.sample(CHILDREN, random.randrange(5))
        ]
        metadata = "\n".join([f"metadata:{random.choice(('', '  # whose'))}", *children])
        blocks.insert(random.randrange(5), metadata)
    return call("\n".join([*blocks, ""]).replace("\n", random.choice(("\n", "\n", "\r\n"))))


@audit("2.3", count=400)
def next_cut(random: Draws) -> Call:
    """Draw the lines of a resource, where a piece begins, and a limit that is often a line's."""
    from course_lib.loader.yaml_lines import Line

    lines, start, depth = [], random.randrange(5), 2 * random.randrange(3)
    for place in range(random.randint(1, 9)):
        deeper = place > 0 and chance(random, 0.4)
        depth = depth + random.choice((1, 3, 4)) if deeper else random.randint(0, depth)
        lines.append(Line(start, depth, deeper, f"spec[{place}]"))
        start += random.randint(3, 20)
    lines.append(Line(start, -1, False, ""))
    at = random.randrange(len(lines) - 1)
    limit = random.choice(lines[at:]).start + random.choice((0, 0, 2, -1))
    return call(lines, at, max(limit, lines[at].start))


@audit("2.4", count=100)
def make_header(random: Draws) -> Call:
    """Draw who a resource is, with gaps, at times a file and a place in it, and how much fits."""
    from course_lib.loader import resource_chunks
    from course_lib.loader.kind_words import KIND_WORDS
    from course_lib.loader.resource_identity import Identity

    kinds = (random.choice(sorted(KIND_WORDS)), "Recipe", None)
    names = ("web", "two\n\tlines", "", None, "a  b")
    who = Identity(
        random.choice(kinds),
        random.choice(names),
        random.choice(names),
        random.choice(("v1", None)),
    )
    paths = ("", "base/web.yaml", "a/b/c.yaml", "a  b.yaml")
    where: list[Any] = [random.choice(paths), "spec.ports[2]"][: random.randrange(3)]
    if chance(random, 0.4):
        return call(who, *where)
    length = len(resource_chunks.make_header(who, *where))
    most = max(length - random.choice((0, 1, 5, 9, random.randrange(length + 1))), 4)
    return call(who, *where, most=most)
