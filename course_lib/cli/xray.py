"""Commands of the Repository X-Ray: `course xray scan|suggest|prompt|forget|migrate`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from course_lib.cli.data import Json, connect
from course_lib.cli.printing import counted, say, show, show_json, show_styled, styled
from course_lib.settings import checkout, settings

if TYPE_CHECKING:
    from course_lib.xray.catalogue import FillReport
    from course_lib.xray.descriptions import Describer
    from course_lib.xray.suggestions import Suggestions
    from course_lib.xray.syncing import SyncReport

CODE_ONLY = "You write code. Answer with the code that is asked for and with nothing else."

app = typer.Typer(
    help="Repository X-Ray: what a project's packages are, and which ones a task needs.",
    no_args_is_help=True,
)

Project = Annotated[str, typer.Option("--project", "-p", help="What the project is called.")]
Count = Annotated[int, typer.Option("--top-k", "-k", min=1, help="Packages, at most.")]
Endpoint = Annotated[
    str | None,
    typer.Option(
        envvar="RAG_XRAY_URL",
        help="OpenAI-compatible API that describes what the course's table and the installed "
        "packages do not know, such as http://localhost:11434/v1; its key is OPENAI_API_KEY.",
    ),
]
Model = Annotated[str, typer.Option("--model", envvar="RAG_XRAY_MODEL", help="Model of that API.")]
Budget = Annotated[
    int,
    typer.Option(envvar="RAG_XRAY_TOKEN_BUDGET", min=0, help="Tokens that this run may use there."),
]


@app.command()
def scan(
    directory: Annotated[Path, typer.Argument(help="Directory with lock files.")],
    project: Project,
    endpoint: Endpoint = None,
    model: Model = "gpt-4o-mini",
    token_budget: Budget = 50_000,
    as_json: Json = False,
) -> None:
    """Bring what is stored of a project's packages up to date with its lock files.

    Only what the shared catalogue lacks is described and embedded, also of packages that did not
    change: what an earlier scan had to leave, and vectors of another model. Ends with 1 if a lock
    file is broken; its language stays as it is.
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.xray import find_lock_files, sync_project

    files = find_lock_files(directory)
    describer = _describer(endpoint, model, token_budget)
    with connect() as conn:
        report = sync_project(
            conn,
            project,
            files,
            tenant=settings().tenant,
            embedder=EmbeddingClient(),
            describer=describer,
        )
    _print_scan(report, as_json)
    raise typer.Exit(1 if any(one.broken for one in report.languages) else 0)


@app.command()
def suggest(
    instruction: Annotated[str, typer.Argument(help="What is to be programmed.")],
    project: Project,
    language: Annotated[
        str,
        typer.Option("--language", "-l", help="go, javascript, php, python, ruby or rust."),
    ],
    top_k: Count = 5,
    as_json: Json = False,
) -> None:
    """Say which of a project's packages a task needs.

    Example: course xray suggest "fetch top charts from Spotify" -p rider-app -l python
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
            tenant=settings().tenant,
        )
    if as_json:
        show_json(found.to_json())
        return
    _print_suggestions(found)
    if not found.packages:
        say(f"no {language} packages of {project} are stored: `course xray scan DIR -p {project}`")


@app.command()
def prompt(
    file: Annotated[Path, typer.Argument(help="A source file.")],
    line: Annotated[int, typer.Argument(min=1, help="Where the code is to be.")],
    project: Project,
    top_k: Count = 5,
    backend: Annotated[
        Literal["ollama", "openai"] | None,
        typer.Option(help="Send it to a language model and print the code that comes back."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Which one.", show_default="RAG_OLLAMA_MODEL, RAG_OPENAI_MODEL"),
    ] = None,
) -> None:
    """Print the prompt for the code that the comment above a line asks for, or have it answered.

    The comment is the lines right above that begin with # or //.
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.errors import InputError
    from course_lib.xray import generation_prompt

    if model is not None and backend is None:
        raise InputError(
            "--model says which model answers, and none is asked",
            hint="Add --backend ollama or --backend openai.",
        )

    with connect() as conn:
        made = generation_prompt(
            file,
            line,
            conn=conn,
            embedder=EmbeddingClient(),
            project=project,
            k=top_k,
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


@app.command()
def forget(project: Project, as_json: Json = False) -> None:
    """Remove a project, and from the catalogue the packages that no other project uses."""
    import json

    from course_lib.xray import forget_project

    with connect() as conn:
        reports = forget_project(conn, project, tenant=settings().tenant)
    removed = sum(len(one.removed) for one in reports)
    orphans = sum(len(one.orphans) for one in reports)
    if as_json:
        show_json(json.dumps({"project": project, "removed": removed, "orphans": orphans}))
        return
    named = counted(removed, "package")
    show(f"{named} of {project} removed, {orphans} of them from the catalogue")


@app.command()
def migrate(as_json: Json = False) -> None:
    """Move old reports (the table xray_reports) into the new tables, all of them or none."""
    from course_lib.xray import migrate_reports

    with connect() as conn:
        report = migrate_reports(conn, tenant=settings().tenant)
    if as_json:
        show_json(report.to_json())
    else:
        show(
            f"{counted(report.reports, 'old report')} with {counted(report.packages, 'package')} "
            f"of {counted(report.projects, 'project')} moved"
            + (
                f"; of {report.superseded}, newer ones are here already"
                if report.superseded
                else ""
            )
        )


def _print_scan(report: SyncReport, as_json: bool) -> None:
    """Print what a scan did."""
    if as_json:
        show_json(report.to_json())
        return
    for sentence in report.not_read:
        say(sentence)
    for one in report.languages:
        if one.broken:
            say(f"{one.language}: nothing changed: {one.broken}")
        elif one.unchanged:
            show(f"{one.language}: unchanged")
        else:
            show(
                f"{one.language}: {one.skipped} skipped, {len(one.added)} added, "
                f"{len(one.changed)} changed, {len(one.removed)} removed"
                + (f", {len(one.orphans)} of them from the catalogue" if one.removed else "")
            )
    _print_filled(report.filled)


def _print_filled(report: FillReport) -> None:
    show(f"{counted(report.described, 'package')} described, {report.embedded} embedded")
    if report.waiting:
        say(f"without a description yet: {counted(report.waiting, 'package')}")
    if report.stopped:
        say(report.stopped)


def _print_suggestions(found: Suggestions) -> None:
    if found.is_fallback:
        say(f"only the first packages by name: {found.fallback}")
    for one in found.packages:
        near = [] if one.similarity is None else [f"{one.similarity:.3f}"]
        title = styled(f"{one.name} {one.version}".rstrip(), bold=True)
        show_styled(*near, title, *([styled(one.description)] if one.description else []))


def _describer(endpoint: str | None, model: str, token_budget: int) -> Describer:
    """Return who describes packages: what needs no network first, then the endpoint, if any."""
    from course_lib.xray import FirstDescriber, offline_describer

    checkout()  # the course's table is in its data
    offline = offline_describer()
    if endpoint is None:
        return offline
    from course_lib.answers import Prompt
    from course_lib.answers.generators import Request
    from course_lib.answers.generators.base import check_address
    from course_lib.answers.generators.openai_compatible import OpenAICompatible
    from course_lib.xray.endpoint import ModelDescriber

    chosen = OpenAICompatible(
        model,
        api_key=os.environ.get("OPENAI_API_KEY"),
        base_url=check_address(endpoint, "--endpoint"),
        timeout=settings().generator_timeout,
    )

    def ask(system: str, question: str, most: int) -> str:
        return "".join(chosen.stream(Request(Prompt(system, question), question, (), most, 0)))

    return FirstDescriber(offline, ModelDescriber(ask, token_budget))
