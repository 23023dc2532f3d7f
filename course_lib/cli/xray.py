"""Commands of the Repository X-Ray: `course xray scan|suggest|prompt|forget`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from course_lib.cli.index import connect
from course_lib.cli.options import Json
from course_lib.cli.printing import counted, say, show, show_report, styled
from course_lib.errors import InputError
from course_lib.settings import LanguageModelName, checkout, settings

if TYPE_CHECKING:
    from course_lib.xray.suggestions import Suggestions
    from course_lib.xray.syncing import SyncReport

CODE_ONLY = "You write code. Answer with the code that is asked for and with nothing else."

Project = Annotated[str, Option(help="What the project is called.")]
Count = Annotated[int, Option(min=1, help="Packages, at most.")]
Least = Annotated[float, Option(min=-1, max=1, help="Similarity of a package, at least.")]


def scan(directory: Path, project: Project, as_json: Json = False) -> None:
    """Bring what is stored of a project's packages up to date with its lock files.

    Only what the shared catalogue lacks is described and embedded, also of packages that did not
    change: what an earlier scan had to leave, and vectors of another model. A description comes
    from the course's table (data/lockfiles/descriptions.jsonl) or, for Python, from a package that
    is installed here; a line added to the table is one more. Ends with 1 if a lock file is broken;
    its language stays as it is.

    Parameters
    ----------
    directory
        Directory with lock files.
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.xray import find_lock_files, offline_describer, sync_project

    files = find_lock_files(directory)
    checkout()  # the course's table is in its data
    with connect() as conn:
        report = sync_project(
            conn,
            project,
            files,
            tenant=settings().tenant,
            embedder=EmbeddingClient(),
            describer=offline_describer(),
        )
    show_report(report.to_json(), _scan_lines(report), as_json=as_json)
    raise typer.Exit(1 if any(one.broken for one in report.languages) else 0)


def suggest(
    instruction: str,
    project: Project,
    language: Annotated[str, Option()],
    top_k: Count = 5,
    least: Least = -1.0,
    as_json: Json = False,
) -> None:
    """Say which of a project's packages a task needs.

    Example: course xray suggest "fetch top charts from Spotify" -p rider-app -l python

    Parameters
    ----------
    instruction
        What is to be programmed.
    language
        go, javascript, php, python, ruby or rust.
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.xray import suggest as run_suggest

    with connect() as conn:
        found = run_suggest(
            conn,
            EmbeddingClient(),
            instruction,
            project=project,
            language=language,
            k=top_k,
            least=least,
            tenant=settings().tenant,
        )
    show_report(found.to_json(), _suggestion_lines(found), as_json=as_json)
    if not as_json and not found.packages:
        stored = "are stored" if least == -1 else f"with a similarity of {least} are stored"
        say(f"no {language} packages of {project} {stored}: `course xray scan DIR -p {project}`")


def prompt(
    file: Path,
    line: Annotated[int, typer.Argument(min=1)],
    project: Project,
    top_k: Count = 5,
    least: Least = -1.0,
    backend: LanguageModelName | None = None,
    model: str | None = None,
) -> None:
    """Print the prompt for the code that the comment above a line asks for, or have it answered.

    The comment is the lines right above that begin with # or //.

    Parameters
    ----------
    file
        A source file.
    line
        Where the code is to be.
    backend
        Send it to a language model and print the code that comes back.
    model : RAG_OLLAMA_MODEL, RAG_OPENAI_MODEL
        Which one.
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.xray import generation_prompt

    if model is not None and backend is None:
        raise InputError(
            "--model says which model answers, and none is asked",
            hint="Name its server with --backend.",
        )

    with connect() as conn:
        made = generation_prompt(
            file,
            line,
            conn=conn,
            embedder=EmbeddingClient(),
            project=project,
            k=top_k,
            least=least,
            tenant=settings().tenant,
        )
    if made.suggestions.is_fallback:
        say(f"only the first packages by name: {made.suggestions.fallback}")
    if backend is None:
        show(made.text, end="")
        return
    from course_lib.answers import Prompt, generator
    from course_lib.answers.budget import fitted_request

    chosen = generator(settings(), backend=backend, model=model)
    asked, _ = fitted_request(
        chosen,
        made.instruction,
        lambda passages: Prompt(CODE_ONLY, made.text),
        max_output=settings().max_output,
    )
    for piece in chosen.stream(asked):
        show(piece, end="")
    show("")


def forget(project: Project, as_json: Json = False) -> None:
    """Remove a project, and from the catalogue the packages that no other project uses."""
    from course_lib.xray import forget_project

    with connect() as conn:
        reports = forget_project(conn, project, tenant=settings().tenant)
    removed = sum(len(one.removed) for one in reports)
    orphans = sum(len(one.orphans) for one in reports)
    named = f"{counted(removed, 'package')} of {project} removed"
    report = {"project": project, "removed": removed, "orphans": orphans}
    show_report(report, [f"{named}, {orphans} of them from the catalogue"], as_json=as_json)


def _scan_lines(report: SyncReport) -> Iterator[str]:
    """Yield what a scan did; what it could not do goes to standard error."""
    for sentence in report.not_read:
        say(sentence)
    for one in report.languages:
        if one.broken:
            say(f"{one.language}: nothing changed: {one.broken}")
        elif one.unchanged:
            yield f"{one.language}: unchanged"
        else:
            yield (
                f"{one.language}: {one.skipped} skipped, {len(one.added)} added, "
                f"{len(one.changed)} changed, {len(one.removed)} removed"
                + (f", {len(one.orphans)} of them from the catalogue" if one.removed else "")
            )
    filled = report.filled
    yield f"{counted(filled.described, 'package')} described, {filled.embedded} embedded"
    if filled.waiting:
        say(f"without a description yet: {counted(filled.waiting, 'package')}")
    if filled.stopped:
        say(filled.stopped)


def _suggestion_lines(found: Suggestions) -> Iterator[tuple[str, ...]]:
    if found.is_fallback:
        say(f"only the first packages by name: {found.fallback}")
    for one in found.packages:
        near = [] if one.similarity is None else [f"{one.similarity:.3f}"]
        title = styled(f"{one.name} {one.version}".rstrip(), bold=True)
        yield (*near, title, *([one.description] if one.description else []))
