"""Names as they are in the cluster: a tree of kustomizations goes in, resolved names come out.

`kubectl kustomize` builds each of them in a copy of the tree, with `originAnnotations` switched on,
so that every resource that comes out says which file it came from. The names are metadata of that
file's pieces; the text that is indexed stays the one that people edit.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from course_lib.loader.kubernetes import ResourceSpan, split_resources
from course_lib.loader.kustomize import FILE_NAMES, Kustomization, link_kustomizations
from course_lib.loader.kustomize import read_kustomization as _read
from course_lib.loader.yaml_nodes import parse_nodes
from course_lib.records import Chunk, Skipped

_ORIGIN = "config.kubernetes.io/origin: |\n"
_ORIGIN_PATH = re.compile(r" +path: (.+)")
_ERROR = re.compile(r'err="((?:[^"\\]|\\.)*)"')
_SECONDS = 120


@dataclass(frozen=True, slots=True, order=True)
class ResolvedName:
    """What a resource is called where a kustomization has built it."""

    kustomization: str
    kind: str
    name: str
    namespace: str | None


@dataclass(frozen=True, slots=True)
class Resolved:
    """Resolved names by file, kind and raw name; and what was left out.

    `skipped` names the kustomizations that could not be built, each with the reason.
    """

    names: dict[tuple[str, str, str], list[ResolvedName]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)


def resolve_names(
    root: str | os.PathLike[str], only: Sequence[str] | None = None, *, seconds: float = _SECONDS
) -> Resolved:
    """Build the kustomizations of a tree and note what every resource of it is called then.

    Nothing is fetched: a kustomization that needs a remote base is skipped. The tree itself is not
    touched.

    Parameters
    ----------
    root
        The folder that paths are relative to.
    only
        Files of the kustomizations to build; all of them when left out.
    seconds
        The longest that one build may take.
    """
    command = shutil.which("kubectl")
    if command is None:
        return Resolved(skipped=[Skipped("kubectl", "was not found on PATH")])
    resolved = Resolved()
    with tempfile.TemporaryDirectory(prefix="course-kustomize-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(root, copy, symlinks=True, ignore=_ignored)
        linked = _switch_on_origins(copy)
        for path in sorted(linked if only is None else only):
            try:
                if path not in linked:
                    raise ValueError("is no kustomization of this tree")
                _refuse_remote(linked, path)
                output = _build(command, copy / posixpath.dirname(path), seconds)
            except (ValueError, OSError) as error:
                resolved.skipped.append(Skipped(path, str(error)))
                continue
            _collect(resolved, copy, path, output)
    return resolved


def add_resolved_names(chunks: Sequence[Chunk], resolved: Resolved) -> list[Chunk]:
    """Return the records with the names that their resources have in the cluster.

    They are in ``custom_meta["resolved"]``: one entry for each kustomization that builds the
    resource, with `kustomization`, `name` and `namespace`. Content and header stay as they are.
    """
    found = []
    for chunk in chunks:
        names = resolved.names.get((chunk.source_path, chunk.kind, chunk.name), [])
        if names:
            entries = [
                {
                    "kustomization": each.kustomization,
                    "name": each.name,
                    "namespace": each.namespace,
                }
                for each in sorted(set(names))
            ]
            meta = {**chunk.custom_meta, "resolved": cast(JsonValue, entries)}
            chunk = chunk.model_copy(update={"custom_meta": meta})
        found.append(chunk)
    return found


def _ignored(folder: str, names: list[str]) -> list[str]:
    """Leave out hidden folders and links that lead out of the tree or nowhere."""
    return [name for name in names if name == ".git" or Path(folder, name).is_symlink()]


def _switch_on_origins(root: Path) -> dict[str, Kustomization]:
    found = []
    for name in FILE_NAMES:
        for path in root.rglob(name):
            text = path.read_text(encoding="utf-8-sig", errors="replace")
            found.append(_read(text, path.relative_to(root).as_posix()))
            path.write_text(_with_origins(text), encoding="utf-8", newline="\n")
    return link_kustomizations(found)


def _with_origins(text: str) -> str:
    """Return a kustomization that asks for the origins, whatever else it asks for."""
    try:
        tree = parse_nodes(text)
    except ValueError:
        return text
    node = tree.entries().get("buildMetadata") if tree else None
    if node is None:
        documentless = text.rstrip().removesuffix("...").rstrip()
        return f"{documentless}\nbuildMetadata: [originAnnotations]\n"
    wanted = sorted({"originAnnotations", *(item.value for item in node.children)})
    after = "" if text[node.start : node.start + 1] == "[" else "\n"
    # The space keeps it off column 0, where a list of dashes may stand but no bracket.
    return f"{text[: node.start]} [{', '.join(wanted)}]{after}{text[node.end :]}"


def _refuse_remote(linked: dict[str, Kustomization], path: str) -> None:
    by_folder = {posixpath.dirname(each): each for each in linked}
    waiting, seen = [path], {path}
    while waiting:
        each = linked[waiting.pop()]
        if each.remote:
            raise ValueError(f"needs {each.remote[0]}, which is not in the tree")
        for folder in (*each.bases, *each.components):
            base = by_folder.get(folder)
            if base is not None and base not in seen:
                seen.add(base)
                waiting.append(base)


def _build(command: str, folder: Path, seconds: float) -> str:
    try:
        answer = subprocess.run(
            [command, "kustomize", str(folder)],
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"was not built within {seconds:g} seconds") from error
    if answer.returncode:
        said = answer.stderr.decode("utf-8", "replace").strip() or "no reason given"
        match = _ERROR.search(said)
        reason = match[1] if match else said.splitlines()[-1]
        raise ValueError(reason.replace(str(folder), ".")[:300])
    return answer.stdout.decode("utf-8", "replace")


def _collect(resolved: Resolved, root: Path, path: str, output: str) -> None:
    raw: dict[str, list[ResourceSpan]] = {}
    for span in split_resources(output):
        origin = _origin(output, span)
        if not origin or not span.kind or not span.name:
            continue
        source = posixpath.normpath(posixpath.join(posixpath.dirname(path), origin))
        if source not in raw:
            file = root / source
            inside = not source.startswith("..") and file.is_file()
            text = file.read_text(encoding="utf-8-sig", errors="replace") if inside else ""
            raw[source] = split_resources(text)
        meant = _meant(raw[source], span)
        if meant is not None and meant.name:
            key = (source, span.kind, " ".join(meant.name.split()))
            name = ResolvedName(path, span.kind, span.name, span.namespace)
            resolved.names.setdefault(key, []).append(name)


def _origin(output: str, span: ResourceSpan) -> str | None:
    """Return the path in the origin annotation of a resource that kubectl has printed."""
    at = output.find(_ORIGIN, span.start, span.end)
    match = _ORIGIN_PATH.match(output, at + len(_ORIGIN), span.end) if at >= 0 else None
    return match[1].strip("\"'") if match else None


def _meant(candidates: list[ResourceSpan], built: ResourceSpan) -> ResourceSpan | None:
    """Return which resource of a file was built; its name may have got a prefix and a suffix."""
    same = [
        span
        for span in candidates
        if span.kind == built.kind and span.name and span.name in (built.name or "")
    ]
    return max(same, key=lambda span: len(span.name or ""), default=None)
