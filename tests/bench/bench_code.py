"""The code splitters against LangChain's: how many definitions stay whole.

The sources are what everybody has: Python's standard library and the installed `kfp` package; for
Go the folder named by COURSE_BENCH_GO, or the toolchain's own, or the course's data; for shell the
folder named by COURSE_BENCH_SHELL, or the scripts of the course and of the installed packages.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sysconfig
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

from course_lib.loader.code import split_code
from course_lib.settings import project_root
from tests.bench.measure import Row
from tests.bench.peers import Peer

SIZE, OVERLAP = 512, 64
TOP_LEVEL_WHOLE, ALL_WHOLE = 0.99, 0.99
MOST_CHARACTERS = 6_000_000
_HEREDOC = re.compile(r"(?<=<<)-?[ \t]*['\"]?(\w+)['\"]?[^\n]*\n(?:.*\n)*?[ \t]*\1$", re.MULTILINE)
_SHELL_FUNCTION = re.compile(
    r"^(?:function[ \t]+)?[\w:.-]+[ \t]*\(\)[ \t]*\{[ \t]*\n(?:(?!\}).*\n)*\}", re.MULTILINE
)
Definition = tuple[int, int, bool]
"""Start, end, and whether it stands at the top level."""


def measure() -> list[Row]:
    """Split the same sources at the same size."""
    rows: list[Row] = []
    for corpus, folder in (("standard library", _stdlib()), ("kfp", _package("kfp"))):
        sources = _sources(folder, ".py")
        definitions = [python_definitions(text) for text in sources]
        known = [(t, d) for t, d in zip(sources, definitions, strict=True) if d is not None]
        rows += _compare("python", corpus, [t for t, _ in known], [d for _, d in known])
    sources = _sources(_go_sources() or project_root() / "data", ".go")
    rows += _compare("go", "Go sources", sources, [go_functions(text) for text in sources])
    folders = _shell_sources()
    sources = [text for folder in folders for text in _sources(folder, ".sh")]
    rows += _compare("shell", "scripts", sources, [shell_functions(text) for text in sources])
    return rows


def _compare(
    language: str, corpus: str, texts: list[str], definitions: Sequence[Sequence[Definition]]
) -> list[Row]:
    with Peer("code.py") as peer:
        answer = peer.ask(texts=texts, language=language, size=SIZE, overlap=OVERLAP)
    name = f"langchain-text-splitters {answer['version']}"
    if language == "shell":
        name += " (it knows no shell)"
    theirs = [[(start, start + length) for start, length in spans] for spans in answer["spans"]]
    ours = [
        [(span.start, span.end) for span in split_code(text, language, SIZE, OVERLAP)]
        for text in texts
    ]
    rows = []
    for which, only_top, least in (("top-level", True, TOP_LEVEL_WHOLE), ("all", False, ALL_WHOLE)):
        kept, count = whole(ours, definitions, only_top=only_top)
        their_share = whole(theirs, definitions, only_top=only_top)[0] / count
        share = kept / count
        rows.append(
            Row(
                part="code",
                what=f"{corpus}: {which} definitions of {SIZE} or less kept whole ({count:,})",
                peer=name,
                ours=100 * share,
                theirs=100 * their_share,
                unit="%",
                ratio=share / their_share,
                goal=max(least / their_share, 1.0),
                note=f"and at least {least:.0%}",
            )
        )
    return rows


def whole(
    spans: Iterable[list[tuple[int, int]]],
    definitions: Iterable[Sequence[Definition]],
    *,
    only_top: bool,
) -> tuple[int, int]:
    """Return how many definitions of `SIZE` or less lie in one span, and how many there are."""
    kept = count = 0
    for cuts, wanted in zip(spans, definitions, strict=True):
        cuts.sort()
        starts = [start for start, _ in cuts]
        furthest = list(accumulate((end for _, end in cuts), max))
        for start, end, top in wanted:
            if end - start <= SIZE and (top or not only_top):
                count += 1
                at = bisect_right(starts, start) - 1
                kept += at >= 0 and furthest[at] >= end
    return kept, count


def python_definitions(text: str) -> list[Definition] | None:
    """Return what Python's own parser takes for definitions, decorators included; None if broken.

    Offsets are in characters, from the first decorator or keyword to the last character.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    top = set(map(id, tree.body))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1
            last = (node.end_lineno or node.lineno) - 1
            behind = len(lines[last].encode()[: node.end_col_offset].decode())
            found.append((starts[first] + node.col_offset, starts[last] + behind, id(node) in top))
    return found


def go_functions(text: str) -> list[Definition]:
    """Return the functions of a gofmt-formatted source: from `func` to the brace at column 0.

    A `func` behind an odd number of backticks is text in a raw string.
    """
    return [
        (match.start(), match.end(), True)
        for match in re.finditer(r"^func (?:.*\{.*\}$|.*\n(?:(?!\}).*\n)*\})", text, re.MULTILINE)
        if text.count("`", 0, match.start()) % 2 == 0
    ]


def shell_functions(text: str) -> list[Definition]:
    """Return the functions whose name stands at column 0, to the brace that stands there as well.

    What is in a heredoc is text, whatever it looks like.
    """
    text = _HEREDOC.sub(lambda match: " " * len(match[0]), text)
    return [(match.start(), match.end(), True) for match in _SHELL_FUNCTION.finditer(text)]


def _sources(folder: Path, extension: str) -> list[str]:
    """Return the texts in the order of their names, up to a number of characters in all."""
    texts: list[str] = []
    size = 0
    for path in sorted(folder.rglob(f"*{extension}")):
        if "site-packages" in path.relative_to(folder).parts or size > MOST_CHARACTERS:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        texts.append(text)
        size += len(text)
    return texts


def _shell_sources() -> list[Path]:
    named = os.environ.get("COURSE_BENCH_SHELL")
    if named:
        return [Path(named)]
    root = project_root()
    return [root / "data", root / "infra", Path(sysconfig.get_paths()["purelib"])]


def _stdlib() -> Path:
    return Path(sysconfig.get_paths()["stdlib"])


def _package(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _go_sources() -> Path | None:
    named = os.environ.get("COURSE_BENCH_GO")
    if named:
        return Path(named)
    go = shutil.which("go")
    if go is None:
        return None
    answer = subprocess.run([go, "env", "GOROOT"], capture_output=True, text=True, check=False)
    root = Path(answer.stdout.strip() or "/nowhere") / "src"
    return root if root.is_dir() else None
