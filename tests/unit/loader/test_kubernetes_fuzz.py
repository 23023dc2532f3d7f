"""Agreement with PyYAML's C parser on what it accepts, and nothing lost on what it does not.

Manifests are generated, written in random styles and then damaged.
"""

import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.loader.kubernetes import split_resources

Who = tuple[str | None, str | None, str | None, str | None]
SETTINGS = settings(max_examples=120)

words = st.sampled_from(
    ["a", "web", "kind: X", "name: x", "on", "123", "null", "", "it's", '"q"', "# no",
     "a\nkind: X\nb", "- b", "{x}", "&a", "*a", "!t", "---", "x\n---\ny", "a:b", "a #b", "é",
     "metadata:", "|", "%a",
     "line one\n\n  name: deep\nlast\n", "\tkind: T", "a" * 90 + " " + "b" * 90]
)  # fmt: skip
keys = st.sampled_from(
    ["kind", "name", "namespace", "metadata", "apiVersion", "spec", "labels", "a"]
)
trees = st.recursive(
    words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
)
names = st.dictionaries(
    st.sampled_from(["name", "namespace", "labels", "annotations", "generateName"]),
    words | trees,
    max_size=4,
)
resources = st.fixed_dictionaries(
    {},
    optional={
        "kind": words,
        "apiVersion": words,
        "metadata": names | trees,
        "spec": trees,
        "a": trees,
    },
)


@st.composite
def streams(draw: st.DrawFn) -> str:
    """Draw a stream of manifests in mixed styles."""
    parts = []
    for _ in range(draw(st.integers(0, 3))):
        tree = draw(resources)
        order = draw(st.permutations(list(tree)))
        part = yaml.dump(
            {key: tree[key] for key in order},
            sort_keys=False,
            default_flow_style=draw(st.sampled_from([None, False, True])),
            default_style=draw(st.sampled_from([None, None, '"', "'", "|", ">"])),
            width=draw(st.sampled_from([20, 80, 10_000])),
            indent=draw(st.sampled_from([2, 4])),
            allow_unicode=draw(st.booleans()),
            explicit_end=draw(st.booleans()),
        )
        parts.append(part)
    separator = draw(
        st.sampled_from(["---\n", "--- # next\n", "---\n# c\n---\n", "%YAML 1.1\n---\n"])
    )
    text = separator.join(["", *parts] if draw(st.booleans()) else parts)
    if draw(st.booleans()):
        text = text.replace("\n", draw(st.sampled_from(["\r\n", "\r", "\x85", "\n# it's: {\n"])))
    return draw(st.sampled_from(["", "\ufeff"])) + text


INJECTED = ["\n", "\nkind: I\n", "\n  name: i\n", '"', "'", "{", "}", " #", ": ", "- ", "&a ", "*a",
            "\t", "|\n", "\n---\n", "\n...\n", "  ", "metadata:\n  name: i\n", "<<: ", "? ",
            "{{ .x }}", "\n{{- if .x }}\n"]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Draw a stream into which something may have been written that is often no YAML."""
    text = draw(streams())
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        gone = draw(st.sampled_from([0, 0, 1, 5]))
        text = text[:at] + draw(st.sampled_from(INJECTED)) + text[at + gone :]
    return text


def parser_says(text: str) -> list[Who] | None:
    """Return the identities by PyYAML's own composer; None where it accepts no such text."""
    try:
        roots = list(yaml.compose_all(text, yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError):
        return None
    found: list[Who] = []
    for root in roots:
        if not (root.start_mark.index == root.end_mark.index):
            metadata = entries(root).get("metadata")
            values = (
                entries(root).get("kind"), entries(metadata).get("name"),
                entries(metadata).get("namespace"), entries(root).get("apiVersion"),
            )  # fmt: skip
            found.append(tuple(  # type: ignore[arg-type]
                value.value if isinstance(value, yaml.ScalarNode) else None for value in values
            ))  # fmt: skip
    return found


def entries(node: Any) -> dict[str, Any]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def we_say(text: str) -> list[Who]:
    return [tuple(span.identity) for span in split_resources(text)]


def is_beyond(text: str) -> bool:
    """Return whether a loader goes beyond the composer: merges, templates, Lists; empty nodes.

    To the composer, `---kind` is a key.
    """
    if re.search("^\ufeff?---[A-Za-z]", text, re.MULTILINE):
        return True
    return "<<" in text or "{{" in text or "List" in text or re.search("[&!]", text) is not None


@given(damaged())
@SETTINGS
def test_identity_agrees_with_the_parser_on_what_it_accepts(text: str) -> None:
    said = parser_says(text)
    ours = we_say(text)
    if said is not None and not is_beyond(text):
        assert ours == said


@given(damaged() | st.text("-\n\r .#%{}[]:'\"|>&*!?ka\t\ufeff\x85\u2028", max_size=60))
@SETTINGS
def test_every_line_with_content_lies_in_exactly_one_span(text: str) -> None:
    spans = split_resources(text)
    covered = 0
    for before, span in zip([None, *spans], spans, strict=False):
        assert (before.end if before else 0) <= span.start <= span.body < span.end
        assert text[span.start : span.end].strip("\r\n\x85\u2028\u2029 \t")
        outside = text[before.end if before else 0 : span.start]
        assert is_nothing(outside), outside
        covered = span.end
    assert is_nothing(text[covered:])


def is_nothing(text: str) -> bool:
    """Return whether a text has nothing but separators, comments, directives and blanks."""
    for line in re.split("[\r\n\x85\u2028\u2029]", text.removeprefix("\ufeff")):
        bare = re.sub(r"^(?:---|\.\.\.)(?=\s|$)", "", line).strip(" \t")
        if bare and not bare.startswith(("#", "%YAML", "%TAG")):
            return False
    return True


@pytest.mark.parametrize(
    "marks",
    ["- " * 300_000, "? " * 300_000, "[" * 100_000, "[ #]\n" * 100_000, '{"}": ' * 100_000],
)
def test_what_nests_too_deep_for_the_parser_is_read_by_its_lines(marks: str) -> None:
    """The parser would end the process."""
    text = f"kind: A\nmetadata:\n  name: a\nspec: {{}}\n---\nmetadata:\n  {marks}b\nkind: B\n"
    assert [span.identity.kind for span in split_resources(text)] == ["A", "B"]
