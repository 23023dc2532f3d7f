"""Source code to chunks: a Python, Go or shell file goes in, its definitions come out.

A definition that fits the size stays whole. One that does not is split along what it is made of (a
class by its methods) or at blank lines, and every piece carries as its header the signatures of
what it was cut out of, so that no piece loses its context.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from course_lib.errors import InputError
from course_lib.loader.code_outline import Outline
from course_lib.loader.code_spans import CodeSpan, split_units
from course_lib.loader.go_code import GoOutline
from course_lib.loader.python_code import PythonOutline
from course_lib.loader.recursive import split_text
from course_lib.loader.shell_code import ShellOutline
from course_lib.records import Chunk, Document

__all__ = ["EXTENSIONS", "LANGUAGES", "CodeSpan", "parse_code", "split_code"]

PARSER_VERSION = "1.0.0"
LANGUAGES: dict[str, Callable[[str, int], Outline]] = {
    "go": GoOutline,
    "python": PythonOutline,
    "shell": ShellOutline,
}
"""Language, which is also the parser's id → what finds the units of a text."""
EXTENSIONS = {
    ".bash": "shell",
    ".go": "go",
    ".ksh": "shell",
    ".py": "python",
    ".pyi": "python",
    ".sh": "shell",
}
"""File name extension → language."""


def split_code(
    text: str, language: str, chunk_size: int = 512, chunk_overlap: int = 64
) -> list[CodeSpan]:
    r"""Split a source file at its definitions.

    Parameters
    ----------
    text
        The source; it need not be valid.
    language
        ``"python"``, ``"go"`` or ``"shell"``.
    chunk_size
        Most characters in a span and its header together.
    chunk_overlap
        Most characters that neighbouring parts of one definition share: whole lines where a line
        begins in the overlap, whole words otherwise. Definitions share nothing.

    Returns
    -------
    list of CodeSpan
        In order: starts and ends increase. Every character that is not white space lies in a span.

    Raises
    ------
    TypeError, ValueError
        As `split_text`, and for a language that is not known.

    Notes
    -----
    A definition with its decorators and the comments above it is one span where it fits. Where only
    the comments make it too large, they are a span of their own. A class that is too large gives
    its head, its methods, and what stands between them. The time is linear in the text.

    Examples
    --------
    >>> source = "import os\n\nclass A(B):\n    x = 1\n\n    def f(self):\n        return os.sep\n"
    >>> for span in split_code(source, "python", chunk_size=60, chunk_overlap=0):
    ...     print((span.kind, span.name, span.class_name, span.line_start, span.header))
    ('module', '', None, 1, '')
    ('class', 'A', 'A', 3, '')
    ('method', 'f', 'A', 6, 'class A(B):\n')
    """
    split_text("", chunk_size, chunk_overlap)  # for its checks
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, not {type(text).__name__}")
    if language not in LANGUAGES:
        raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}")
    outline = LANGUAGES[language](text, chunk_size)
    return split_units(text, outline, chunk_size, chunk_overlap)


def parse_code(
    document: Document,
    *,
    language: str | None = None,
    chunk_size: int = 512,
    chunk_overlap: int = 64,
    tenant_id: str = "local",
    repo_slug: str = "code",
    branch: str = "",
) -> list[Chunk]:
    r"""Split one source file into records.

    Parameters
    ----------
    document
        What `read_documents` gave.
    language
        As in `split_code`; by default what the file name's extension says (see `EXTENSIONS`).
    chunk_size, chunk_overlap
        As in `split_code`.
    tenant_id, repo_slug, branch
        Whose file this is, which repository it belongs to, and which version of that.

    Returns
    -------
    list of Chunk
        `content` is the exact text of the piece; what is to be put before it when it is embedded
        is ``custom_meta["header"]`` (left out where it is empty). `custom_meta` also holds
        `chunkIndex` and the offsets `charStart` and `charEnd`. A piece without a name of its own
        (a Python file's imports) bears the file's.

    Raises
    ------
    InputError
        If the language is not given and the extension is none of the known ones.
    ValueError, TypeError
        As `split_code`.

    Examples
    --------
    >>> from pathlib import Path
    >>> file = Document(Path("a.py"), "a.py", "import os\n\n\ndef f():\n    pass\n")
    >>> [(piece.kind, piece.name, piece.line_start, piece.line_end) for piece in parse_code(file)]
    [('module', 'a.py', 1, 1), ('function', 'f', 4, 5)]
    """
    language = language or EXTENSIONS.get(PurePosixPath(document.name).suffix.lower())
    if language is None:
        raise InputError(
            f"{document.name} has an extension that tells no language",
            hint=f"Give language=, one of {', '.join(LANGUAGES)}.",
        )
    return [
        Chunk(
            tenant_id=tenant_id,
            repo_slug=repo_slug,
            root_kind="external-source",
            source_path=document.name,
            content=span.text,
            hash_inputs=[
                "content",
                "kind",
                "name",
                "customMeta",
                "sourcePath",
                "parserId",
                "parserVersion",
            ],
            parser_id=language,
            parser_version=PARSER_VERSION,
            kind=span.kind,
            name=span.name or PurePosixPath(document.name).name,
            line_start=span.line_start,
            line_end=span.line_end,
            class_name=span.class_name,
            extends=span.extends,
            custom_meta={
                **({"branch": branch} if branch else {}),
                **({"header": span.header} if span.header else {}),
                "chunkIndex": index,
                "charStart": span.start,
                "charEnd": span.end,
            },
        )
        for index, span in enumerate(
            split_code(document.content, language, chunk_size, chunk_overlap)
        )
    ]
