"""The code splitters against LangChain's: how many definitions stay whole.

The sources are what everybody has: Python's standard library; for Go the toolchain's own, or the
course's data; for shell the scripts of the course and of the installed packages.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sysconfig
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

from course_lib.loader.code import split_code
from course_lib.settings import project_root
from tests.bench.measure import Row
from tests.bench.peers import Peer

SIZE, OVERLAP = 512, 64
LEAST_WHOLE = 0.99
MOST_CHARACTERS = 6_000_000
_HEREDOC = re.compile(r"(?<=<<)-?[ \t]*['\"]?(\w+)['\"]?[^\n]*\n(?:.*\n)*?[ \t]*\1$", re.MULTILINE)
_SHELL_FUNCTION = re.compile(
    r"^(?:function[ \t]+)?[\w:.-]+[ \t]*\(\)[ \t]*\{[ \t]*\n(?:(?!\}).*\n)*\}", re.MULTILINE
)
Span = tuple[int, int]


def measure() -> list[Row]:
    """Split the same sources at the same size."""
    root, paths = project_root(), sysconfig.get_paths()
    shell = [root / "data", root / "infra", Path(paths["purelib"])]
    rows = []
    for language, ending, folders, definitions in (
        ("python", ".py", [Path(paths["stdlib"])], python_definitions),
        ("go", ".go", [_toolchain() or root / "data"], go_functions),
        ("shell", ".sh", shell, shell_functions),
    ):
        texts = [text for folder in folders for text in _sources(folder, ending)]
        rows.append(_compare(language, texts, list(map(definitions, texts))))
    return rows


def _compare(language: str, texts: list[str], definitions: Sequence[Sequence[Span]]) -> Row:
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
    kept, count = whole(ours, definitions)
    share, their_share = kept / count, whole(theirs, definitions)[0] / count
    return Row(
        part="code",
        what=f"{language}: definitions of {SIZE} or less kept whole ({count:,})",
        peer=name,
        ours=100 * share,
        theirs=100 * their_share,
        unit="%",
        ratio=share / their_share,
        goal=max(LEAST_WHOLE / their_share, 1.0),
        note=f"and at least {LEAST_WHOLE:.0%}",
    )


def whole(spans: Iterable[list[Span]], definitions: Iterable[Sequence[Span]]) -> tuple[int, int]:
    """Return how many definitions of `SIZE` or less lie in one span, and how many there are."""
    kept = count = 0
    for cuts, wanted in zip(spans, definitions, strict=True):
        cuts.sort()
        starts = [start for start, _ in cuts]
        furthest = list(accumulate((end for _, end in cuts), max))
        for start, end in wanted:
            if end - start <= SIZE:
                count += 1
                at = bisect_right(starts, start) - 1
                kept += at >= 0 and furthest[at] >= end
    return kept, count


def python_definitions(text: str) -> list[Span]:
    """Return what Python's own parser takes for definitions, decorators included; none if broken.

    Offsets are in characters, from the first decorator or keyword to the last character.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1
            last = (node.end_lineno or node.lineno) - 1
            behind = len(lines[last].encode()[: node.end_col_offset].decode())
            found.append((starts[first] + node.col_offset, starts[last] + behind))
    return found


def go_functions(text: str) -> list[Span]:
    """Return the functions of a gofmt-formatted source: from `func` to the brace at column 0.

    A `func` after an odd number of backticks is text in a raw string.
    """
    return [
        match.span()
        for match in re.finditer(r"^func (?:.*\{.*\}$|.*\n(?:(?!\}).*\n)*\})", text, re.MULTILINE)
        if text.count("`", 0, match.start()) % 2 == 0
    ]


def shell_functions(text: str) -> list[Span]:
    """Return the functions whose name is at column 0, to the brace that is there as well.

    What is in a heredoc is text, whatever it looks like.
    """
    text = _HEREDOC.sub(lambda match: " " * len(match[0]), text)
    return [match.span() for match in _SHELL_FUNCTION.finditer(text)]


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


def _toolchain() -> Path | None:
    go = shutil.which("go")
    if go is None:
        return None
    answer = subprocess.run([go, "env", "GOROOT"], capture_output=True, text=True, check=False)
    root = Path(answer.stdout.strip() or "/nowhere") / "src"
    return root if root.is_dir() else None
