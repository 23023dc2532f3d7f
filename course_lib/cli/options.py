"""What options and arguments of several commands have in common.

The help of the others is in their commands' docstrings, and `commands.LETTERS` has the letters.
"""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Argument, Option

from course_lib.records import FILTERS
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

_ABOUT = {name: f"{about[0].upper()}{about[1:]}." for name, about in FILTERS.items()}
"""Fields of `Query` that are options, with their help."""

Json = Annotated[bool, Option("--json", help="Print JSON for another program.")]
Question = Annotated[str, Argument(help="What you want to know.")]
TopK = Annotated[int | None, Option(min=1, show_default="RAG_TOP_K, 6")]
Mode = Annotated[
    Literal["hybrid", "dense"], Option(help="By meaning and by words, or by meaning alone.")
]
OneRepo = Annotated[str | None, Option(help=_ABOUT["repo"])]
OneBranch = Annotated[str | None, Option(help=_ABOUT["branch"])]
OneKind = Annotated[str | None, Option(help=_ABOUT["kind"])]
OneNamespace = Annotated[str | None, Option(help=_ABOUT["namespace"])]
Partition = Annotated[
    str,
    Option(
        help="documentation, issues, code_manifests, code_pipelines, code_notebooks or your own."
    ),
]
Repo = Annotated[str | None, Option(help="Name of the corpus.", show_default="the folder's name")]
ChunkSize = Annotated[
    int | None,
    Option(
        help="Characters in a chunk of a document or of code, at most; manifests have a size of "
        "their own, 700.",
        show_default=f"RAG_CHUNK_SIZE, {CHUNK_SIZE}",
    ),
]
ChunkOverlap = Annotated[
    int | None,
    Option(
        help="Characters that neighbouring chunks of a document share, or of a long piece of code.",
        show_default=f"RAG_CHUNK_OVERLAP, {CHUNK_OVERLAP}",
    ),
]
BatchSize = Annotated[int, Option(min=1, help="Chunks that go through the model at once.")]
NoIgnore = Annotated[bool, Option(help="Read what git ignores, node_modules and venv as well.")]
