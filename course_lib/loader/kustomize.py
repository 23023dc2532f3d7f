"""Kustomizations: a `kustomization.yaml` goes in, what it links to comes out.

What an overlay takes from where, and what it changes, is in its metadata: a patch alone does not
say what it patches.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from pydantic import JsonValue

from course_lib.loader import kubernetes_records
from course_lib.loader.kubernetes_records import CHUNK_CHARS, HASHED, manifest_pieces
from course_lib.loader.pieces import make_chunks
from course_lib.loader.yaml_nodes import Node, parse_nodes
from course_lib.records import LOCAL, Chunk, Document, Scope

PARSER_ID = "kustomize"
PARSER_VERSION = kubernetes_records.PARSER_VERSION

_REMOTE = re.compile(
    r"[a-z+]+://|git@|[\w-]+(?:\.[\w-]+)*\.(?:com|org|io|net)[:/]|.*\?(?:ref|version)="
)
_FILE = re.compile(r".*\.(?:ya?ml|json|env|properties|txt|conf|toml|ini)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Kustomization:
    """What one kustomization names, as paths from the root of the tree it is in.

    Attributes
    ----------
    path
        Its file.
    namespace, name_prefix, name_suffix
        What it sets on everything it builds; None where it does not.
    bases
        Folders of other kustomizations.
    components, resources, patches
        Folders and files; patches that are in the file itself are left out.
    images
        As ``name`` or ``name -> new:tag``.
    remote
        URLs, as written.
    """

    path: str
    namespace: str | None = None
    name_prefix: str | None = None
    name_suffix: str | None = None
    bases: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    remote: tuple[str, ...] = ()


def read_kustomization(text: str, path: str) -> Kustomization:
    r"""Return what a kustomization names; of a text that is not YAML, only the path.

    Examples
    --------
    >>> read_kustomization("resources:\n- ../base\n- web.yaml\n", "overlays/dev/kustomization.yaml")
    ... # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    Kustomization(path='overlays/dev/kustomization.yaml', ..., bases=('overlays/base',), ...,
        resources=('overlays/dev/web.yaml',), patches=(), images=(), remote=())
    """
    try:
        root = parse_nodes(text.removeprefix("\ufeff"))
    except ValueError:
        root = None
    entries = root.entries() if root else {}
    folder = posixpath.dirname(path)
    named = [*_scalars(entries.get("resources")), *_scalars(entries.get("bases"))]
    components = _scalars(entries.get("components"))
    remote = [name for name in (*named, *components) if _REMOTE.match(name)]
    local = [name for name in named if name not in remote]
    return Kustomization(
        path=path,
        namespace=_scalar(entries.get("namespace")),
        name_prefix=_scalar(entries.get("namePrefix")),
        name_suffix=_scalar(entries.get("nameSuffix")),
        bases=_paths(folder, (name for name in local if not _FILE.match(name))),
        components=_paths(folder, (name for name in components if name not in remote)),
        resources=_paths(folder, filter(_FILE.match, local)),
        patches=_paths(folder, _patches(entries)),
        images=tuple(_images(entries.get("images"))),
        remote=tuple(remote),
    )


def parse_kustomization(
    document: Document,
    *,
    scope: Scope = LOCAL,
    max_chars: int = CHUNK_CHARS,
) -> list[Chunk]:
    """Split a kustomization into records, as `parse_kubernetes` does, with its links.

    Parameters
    ----------
    document
        What `read_documents` gave.
    scope, max_chars
        As in `parse_kubernetes`.

    Returns
    -------
    list of Chunk
        `kind` is ``Kustomization``, `name` the folder's; ``custom_meta["kustomize"]`` holds what
        `Kustomization` has of links, without those that are empty.
    """
    links: dict[str, JsonValue] = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in asdict(read_kustomization(document.content, document.name)).items()
        if value and key != "path"
    }
    folder = posixpath.basename(posixpath.dirname(document.name))
    pieces = (
        replace(
            piece,
            kind="Kustomization",
            name=folder or piece.name,
            meta={**piece.meta, "kustomize": links},
        )
        for piece in manifest_pieces(document, max_chars)
    )
    return make_chunks(
        document, scope, pieces, parser_id=PARSER_ID, parser_version=PARSER_VERSION,
        also_hashed=HASHED,
    )  # fmt: skip


def _scalar(node: Node | None) -> str | None:
    return node.value if node and node.kind == "scalar" and node.value else None


def _scalars(node: Node | None) -> list[str]:
    items = node.children if node and node.kind == "sequence" else []
    return [item.value for item in items if item.kind == "scalar" and item.value]


def _paths(folder: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(posixpath.normpath(posixpath.join(folder, name)) for name in names)


def _patches(entries: Mapping[str, Node]) -> list[str]:
    found = []
    for key in ("patches", "patchesStrategicMerge", "patchesJson6902", "replacements"):
        node = entries.get(key)
        for item in node.children if node and node.kind == "sequence" else []:
            value = _scalar(item) or _scalar(item.entries().get("path"))
            if value and "\n" not in value and not _REMOTE.match(value):
                found.append(value)
    return found


def _images(node: Node | None) -> Iterable[str]:
    for item in node.children if node and node.kind == "sequence" else []:
        image = {
            key: value.value for key, value in item.entries().items() if value.kind == "scalar"
        }
        name = image.get("name")
        if not name:
            continue
        new = image.get("newName", name)
        tag = f":{image['newTag']}" if image.get("newTag") else ""
        tag += f"@{image['digest']}" if image.get("digest") else ""
        yield f"{name} -> {new}{tag}" if new != name or tag else name
