"""The registry: which parser splits a file.

The built-in parsers, with the endings that each takes, are the table `BUILT_IN` in `parsers.py`. An
operator adds to them: by `register_parser`, or by import paths in the setting
RAG_CUSTOM_PARSERS. Code that a tenant sends never runs here; a tenant's own parser runs on the
tenant's machine and sends parsed-chunk-v1 records.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any

from course_lib.errors import InputError
from course_lib.loader.contract import (
    FILE_INVALID,
    INVALID,
    PARSER_FAILED,
    PARSER_NOT_REGISTERED,
    FileRejectedError,
    Rejection,
    check_chunk,
    fault_of,
    stamp,
)
from course_lib.loader.parsers import BUILT_IN, Parser, Registered
from course_lib.records import SEMVER, Chunk, Document, Scope
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE, settings

RAW_TEXT = BUILT_IN[-1]
_SHEBANG = re.compile(r"#!\s*\S*?(?:/env\s+(?:-S\s+)?)?([A-Za-z]+)[0-9.]*(?:\s|$)")
_INTERPRETERS = {"python": ".py", "sh": ".sh", "bash": ".sh", "ksh": ".sh", "zsh": ".sh"}


class Registry:
    r"""Parsers by their ids.

    Parameters
    ----------
    use_default_parsers
        Whether the built-in parsers are registered.
    custom_parsers
        Import paths of more: ``package.module:Class``.

    Raises
    ------
    InputError
        If an import path leads to no parser.

    Examples
    --------
    >>> from pathlib import Path
    >>> file = Document(Path("a.md"), "a.md", "# Hello\n\nYou.")
    >>> registry = Registry()
    >>> registry.parser_for(file).id
    'markdown'
    >>> [piece.name for piece in registry.parse(file, Scope(tenant="me", repo="docs"))]
    ['Hello']
    """

    def __init__(
        self, *, use_default_parsers: bool = True, custom_parsers: Iterable[str] = ()
    ) -> None:
        self._parsers = {one.id: one for one in BUILT_IN if use_default_parsers}
        for path in custom_parsers:
            self.register_parser(_load(path), origin=path)

    def register_parser(self, parser: Parser | type[Any], *, origin: str = "registered") -> None:
        """Add a parser, or replace the one of the same id.

        Parameters
        ----------
        parser
            A parser, or a class that makes one without arguments. Files that are its own are those
            with the `extensions` (``.toml``) and the `names` (``Chart.yaml``) that it declares. A
            parser that is registered later goes before an earlier one.
        origin
            Where it came from, for `course parsers`.

        Raises
        ------
        InputError
            If it is not a parser: it lacks an id, a version like ``1.0.0``, or `parse_file`.
        """
        made: Any = parser() if isinstance(parser, type) else parser
        name = getattr(made, "id", None)
        version = getattr(made, "version", None)
        if not isinstance(name, str) or not name or not isinstance(version, str):
            raise InputError(
                f"{made!r} is not a parser", hint="A parser declares `id` and `version`."
            )
        if not re.fullmatch(SEMVER, version):
            raise InputError(
                f"the parser {name} has the version {version!r}", hint="Make it one like 1.0.0."
            )
        if not isinstance(made, Parser):
            raise InputError(
                f"the parser {name} has no parse_file",
                hint="Give it `parse_file(file, scope)`.",
            )
        self._parsers.pop(name, None)
        self._parsers[name] = Registered(
            name,
            version,
            lambda file, scope: made.parse_file(file, scope),
            tuple(ending.lower() for ending in getattr(made, "extensions", ())),
            tuple(one.lower() for one in getattr(made, "names", ())),
            origin,
        )

    def parsers(self) -> list[Registered]:
        """Return all parsers, in the order of registration."""
        return list(self._parsers.values())

    def extensions(self) -> tuple[str, ...]:
        """Return how the names of files end that some parser calls its own."""
        found = {name for one in self.parsers() for name in (*one.extensions, *one.names)}
        return tuple(sorted(found))

    def parser(self, parser_id: str) -> Registered:
        """Return the parser of that id.

        Raises
        ------
        FileRejectedError
            KB_PARSER_NOT_REGISTERED, if there is none.
        """
        try:
            return self._parsers[parser_id]
        except KeyError:
            known = ", ".join(self._parsers) or "none"
            raise FileRejectedError(
                PARSER_NOT_REGISTERED,
                "parserId",
                f"the parser {parser_id!r} is not registered",
                hint=f"Registered are: {known}. Leave the id out, or send parsed chunks.",
            ) from None

    def parser_for(self, file: Document, parser_id: str | None = None) -> Registered:
        """Return the parser of a file: the one named, else by its name, extension or first line.

        A file of no known format gets ``raw-text``.

        Raises
        ------
        FileRejectedError
            KB_PARSER_NOT_REGISTERED, if the one named is not registered, or if it takes raw-text
            and the built-in parsers are switched off.
        """
        if parser_id is not None:
            return self.parser(parser_id)
        name = PurePosixPath(file.name).name.lower()
        latest_first = self.parsers()[::-1]
        for one in latest_first:
            if name in one.names:
                return one
        found = _by_ending(latest_first, name)
        if found is None and "." not in name:
            found = _by_ending(latest_first, _shebang_extension(file.content))
        return found or self.parser(RAW_TEXT.id)

    def parse(
        self,
        file: Document,
        scope: Scope,
        *,
        parser_id: str | None = None,
        chunk_size: int = CHUNK_SIZE,
        chunk_overlap: int = CHUNK_OVERLAP,
    ) -> list[Chunk]:
        """Return the chunks of one file, stamped with the tenant, the repository and the branch.

        Parameters
        ----------
        file
            What to parse; `name` is its path.
        scope
            Whose it is.
        parser_id
            As in `parser_for`.
        chunk_size, chunk_overlap
            For the built-in parsers, in characters.

        Raises
        ------
        FileRejectedError
            If the file's text is none that can be stored (KB_SOURCE_FILE_INVALID), or if the parser
            is not registered (KB_PARSER_NOT_REGISTERED), breaks (KB_PARSER_FAILED), or gives what
            is not a record of this file (KB_PARSED_CHUNK_INVALID).
        """
        if fault := fault_of(file.content) or fault_of(file.name):
            raise FileRejectedError(
                FILE_INVALID,
                "content",
                f"{file.name!r} {fault}",
                hint="Give a text in UTF-8; the other files are not affected.",
            )
        parser = self.parser_for(file, parser_id)
        sizes = parser.sizes(chunk_size, chunk_overlap)
        try:
            chunks = list(parser.function(file, scope=scope, **sizes))
        except FileRejectedError:
            raise
        except Exception as error:
            if os.environ.get("COURSE_MINE"):  # the learner's own: the traceback names its line
                raise
            # Whatever is wrong with a parser, the other files go on.
            raise FileRejectedError(
                PARSER_FAILED,
                "parserId",
                f"the parser {parser.id} broke on {file.name}: {type(error).__name__}: {error}",
                hint="Mend the parser; the other files are not affected.",
            ) from error
        return [
            stamp(_checked(chunk, place, parser.id, file), scope)
            for place, chunk in enumerate(chunks)
        ]


@lru_cache(maxsize=1)
def default_registry() -> Registry:
    """Return this process's registry, made from the settings."""
    return Registry(
        use_default_parsers=settings().use_default_parsers,
        custom_parsers=settings().custom_parsers,
    )


def _by_ending(parsers: Sequence[Registered], name: str) -> Registered | None:
    """Return the parser with the longest ending of `name`; of equals the first."""
    fitting = [
        (len(ending), one) for one in parsers for ending in one.extensions if name.endswith(ending)
    ]
    return max(fitting, key=lambda pair: pair[0])[1] if fitting else None


def _shebang_extension(content: str) -> str:
    match = _SHEBANG.match(content)
    return _INTERPRETERS.get(match[1], "") if match else ""


def _checked(chunk: object, place: int, parser_id: str, file: Document) -> Chunk:
    where = f"chunks[{place}]"
    problem = ""
    if not isinstance(chunk, Chunk):
        problem = f"is a {type(chunk).__name__}, not a Chunk"
    elif chunk.source_path != file.name:
        problem = f"has the sourcePath {chunk.source_path!r}"
    else:
        judged = check_chunk(chunk, where)
        if not isinstance(judged, Rejection):
            return judged
        problem = judged.message
    raise FileRejectedError(
        INVALID,
        where,
        f"what the parser {parser_id} gave for {file.name}: {where} {problem}",
        hint="Mend the parser, or the file; the other files are not affected.",
    )


def _load(path: str) -> Any:
    """Return what an import path names."""
    place, _, name = path.rpartition(":")
    try:
        return getattr(import_module(place), name)
    except (ImportError, OSError, AttributeError, ValueError, SyntaxError) as error:
        raise InputError(
            f"the custom parser {path!r} cannot be imported: {error}",
            hint="RAG_CUSTOM_PARSERS holds paths like package.module:Class, of modules that Python "
            "finds: PYTHONPATH may name their folder.",
        ) from error
