"""Kustomizations: a `kustomization.yaml` goes in, what it links to comes out.

What an overlay takes from where, and what it changes, is in its metadata: a patch alone does not
say what it patches.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import yaml
from pydantic import JsonValue

from course_lib.loader.kubernetes_records import PARSER as KUBERNETES
from course_lib.loader.kubernetes_records import manifest_pieces
from course_lib.loader.pieces import make_chunks
from course_lib.records import LOCAL, Chunk, Document, Scope
from course_lib.yaml_nodes import entries, parse_nodes

PARSER = KUBERNETES._replace(id="kustomize")

_REMOTE = re.compile(
    r"[a-z+]+::|[a-z+]+://|[\w.-]+@[\w.-]+[:/]|[\w-]+(?:\.[\w-]+)*\.(?:com|org|io|net)[:/]"
    r"|.*\?(?:ref|version|timeout|submodules)=|.*\.git(?://|\?|$)|(?![./]).*[^/:]//"
)
"""What kustomize fetches: an address, a login at a host, a repository, or a folder within one."""
_FILE = re.compile(r".*\.(?:ya?ml|json|env|properties|txt|conf|toml|ini)\Z", re.DOTALL)


def read_kustomization(text: str, path: str) -> dict[str, JsonValue]:
    r"""Return what a kustomization names; of a text that is not YAML, nothing.

    Returns
    -------
    dict
        What it sets on everything it builds (`namespace`, `name_prefix`, `name_suffix`); `bases`,
        the folders of other kustomizations; the folders and files that are its `components`,
        `resources` and `patches` (but those in the file itself); `images` as ``name`` or
        ``name -> new:tag``; and what is `remote`, as written. Paths are from the root of the tree
        that the kustomization is in. What is empty is left out.

    Examples
    --------
    >>> read_kustomization("resources:\n- ../base\n- web.yaml\n", "overlays/dev/kustomization.yaml")
    {'bases': ['overlays/base'], 'resources': ['overlays/dev/web.yaml']}
    """
    try:
        root = parse_nodes(text.removeprefix("\ufeff"))
    except ValueError:
        root = None
    own = entries(root)
    folder = posixpath.dirname(path)
    named = [*_scalars(own.get("resources")), *_scalars(own.get("bases"))]
    components = _scalars(own.get("components"))
    remote = [name for name in (*named, *components) if _REMOTE.match(name)]
    local = [name for name in named if name not in remote]
    found: dict[str, JsonValue] = {
        "namespace": _scalar(own.get("namespace")),
        "name_prefix": _scalar(own.get("namePrefix")),
        "name_suffix": _scalar(own.get("nameSuffix")),
        "bases": _paths(folder, (name for name in local if not _FILE.match(name))),
        "components": _paths(folder, (name for name in components if name not in remote)),
        "resources": _paths(folder, filter(_FILE.match, local)),
        "patches": _paths(folder, _patches(own)),
        "images": list(_images(own.get("images"))),
        "remote": list[JsonValue](remote),
    }
    return {key: value for key, value in found.items() if value}


def parse_kustomization(document: Document, *, scope: Scope = LOCAL) -> list[Chunk]:
    """Split a kustomization into records, as `parse_kubernetes` does, with its links.

    Parameters
    ----------
    document
        What `read_documents` gave.
    scope
        Whose document this is.

    Returns
    -------
    list of Chunk
        `kind` is ``Kustomization``, `name` the folder's; ``custom_meta["kustomize"]`` holds what
        `read_kustomization` gives.
    """
    links = read_kustomization(document.content, document.name)
    folder = posixpath.basename(posixpath.dirname(document.name))
    pieces = (
        replace(
            piece,
            kind="Kustomization",
            name=folder or piece.name,
            meta={**piece.meta, "kustomize": links},
        )
        for piece in manifest_pieces(document)
    )
    return make_chunks(document, scope, pieces, PARSER)


def _scalar(node: yaml.Node | None) -> str | None:
    return node.value or None if isinstance(node, yaml.ScalarNode) else None


def _items(node: yaml.Node | None) -> list[yaml.Node]:
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _scalars(node: yaml.Node | None) -> list[str]:
    return [value for value in map(_scalar, _items(node)) if value]


def _paths(folder: str, names: Iterable[str]) -> list[JsonValue]:
    return [posixpath.normpath(posixpath.join(folder, name)) for name in names]


def _patches(own: Mapping[str, yaml.Node]) -> list[str]:
    found = []
    for key in ("patches", "patchesStrategicMerge", "patchesJson6902", "replacements"):
        for item in _items(own.get(key)):
            value = _scalar(item) or _scalar(entries(item).get("path"))
            if value and "\n" not in value and not _REMOTE.match(value):
                found.append(value)
    return found


def _images(node: yaml.Node | None) -> Iterable[JsonValue]:
    for item in _items(node):
        image = {key: _scalar(value) for key, value in entries(item).items()}
        name = image.get("name")
        if not name:
            continue
        new = image.get("newName") or name
        tag = f":{image['newTag']}" if image.get("newTag") else ""
        tag += f"@{image['digest']}" if image.get("digest") else ""
        yield f"{name} -> {new}{tag}" if new != name or tag else name
