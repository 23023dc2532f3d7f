"""Commands that run the pipelines: on this machine, or on a cluster, or only compile them."""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from course_lib.cli.ingest import ingested
from course_lib.cli.printing import counted, harmless, say, show
from course_lib.errors import InputError
from course_lib.pipeline.catalogue import NAMES, PipelineError, check_arguments, parameters_of

if TYPE_CHECKING:
    from course_lib.pipeline.local import LocalRun
    from course_lib.pipeline.remote import RemoteRun

Name = Annotated[
    str, Option(metavar="N", help="docs_pipeline, code_pipeline or ingest_everything.")
]
Given = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="PARAMETER=VALUE",
        help="A parameter that is not to have its default; lists with commas. May be given again.",
    ),
]
CompileOnly = Annotated[bool, Option(help="Print the compiled pipeline and run nothing.")]
Caching = Annotated[
    bool, Option("--cache/--no-cache", help="Leave out steps whose inputs were seen before.")
]


def run(
    pipeline_name: Name = "docs_pipeline",
    given: Given = None,
    caching: Caching = True,
    compile_only: CompileOnly = False,
    verbose: bool = False,
) -> None:
    """Run a pipeline on this machine, where each step is a process.

    Steps whose inputs were seen before are left out; what the database holds already is neither
    encoded nor written again.

    Example: course pipeline run --set source=data/documents --set shards=4

    Parameters
    ----------
    verbose
        Show all that the steps say.
    """
    arguments = _arguments(pipeline_name, given)
    if compile_only:
        _print_compiled(pipeline_name, "", caching)
        return
    from course_lib.pipeline.local import run_locally
    from course_lib.store import default_url

    done = run_locally(
        pipeline_name,
        arguments,
        caching=caching,
        url=default_url(),
        on_event=_progress(),
    )
    if verbose:
        show(done.log.read_text(encoding="utf-8"))
    done.check()
    _summarise(done)


def submit(
    pipeline_name: Name = "docs_pipeline",
    given: Given = None,
    host: Annotated[str, Option(envvar="KF_PIPELINES_ENDPOINT")] = "http://localhost:8080",
    registry: str = "",
    caching: Caching = True,
    wait: bool = False,
    compile_only: CompileOnly = False,
) -> None:
    """Run a pipeline on a cluster, which has the images, the secrets and the volume already.

    See infra/README.md; infra/setup-kubeflow.sh makes such a cluster on this machine. Ctrl-C ends
    the waiting, and not the run.

    Example: course pipeline submit --host http://localhost:8080 --set shards=8

    Parameters
    ----------
    host
        Address of Kubeflow Pipelines.
    registry : the nodes
        Where the images are, such as ghcr.io/team.
    wait
        Wait for the run's end; the exit code says how it was.
    """
    arguments = _arguments(pipeline_name, given)
    if compile_only:
        _print_compiled(pipeline_name, registry, caching)
        return
    from course_lib.pipeline.remote import submit as send

    sent = send(pipeline_name, arguments, host=host, registry=registry, caching=caching)
    show(f"{sent.name} runs: {sent.url}")
    if wait:
        _wait_for(sent, host)


def _wait_for(sent: RemoteRun, host: str) -> None:
    """Show how a run goes until its end, which decides the exit code."""
    from course_lib.pipeline.remote import RunState, wait

    begin = time.monotonic()

    def tell(now: RunState) -> None:
        steps = counted(len(now.done), "step") + " done"
        failed = f", failed: {', '.join(now.failed)}" if now.failed else ""
        took = time.monotonic() - begin
        show(f"{took:6.0f} s  {now.state or 'no state yet':12}  {steps}{failed}")

    try:
        end = wait(sent, host=host, on_change=tell)
    except KeyboardInterrupt:
        say(f"\nThe run goes on. Its page is {sent.url}")
        raise typer.Exit(130) from None
    if not end.is_good:
        what = "failed" if end.state == "FAILED" else "was cancelled"
        steps = f" in {', '.join(end.failed)}" if end.failed else ""
        said = f": {end.error}" if end.error else ""
        raise PipelineError(
            f"{sent.name} {what}{steps}{said}",
            hint=f"The logs of its steps are on {sent.url}. What was written stays: submit it "
            "again to complete it.",
        )


def compile_all(check: bool = False, output_dir: Path | None = None) -> None:
    """Compile all pipelines to YAML, which is committed.

    Example: course pipeline compile --check

    Parameters
    ----------
    check
        Change nothing; fail if a file is out of date.
    output_dir : infra/pipelines
        Where the files go.
    """
    from course_lib.pipeline.compiling import outdated, write_compiled

    if not check:
        changed = write_compiled(output_dir)
        for file in changed:
            show(f"written: {file}")
        if not changed:
            show(f"{len(NAMES)} pipelines are up to date")
        return
    if found := outdated(output_dir):
        raise PipelineError(
            f"out of date: {', '.join(file.stem for file in found)}",
            hint="Compile and commit them: course pipeline compile",
        )
    show(f"{len(NAMES)} pipelines are up to date")


def show_parameters(pipeline_name: Name = "docs_pipeline") -> None:
    """List the parameters of a pipeline, with their types and defaults.

    Example: course pipeline parameters --pipeline-name code_pipeline
    """
    for name, default in parameters_of(pipeline_name).items():
        show(f"{name:16} {type(default).__name__:5} {json.dumps(default)}")


def _arguments(name: str, given: list[str] | None) -> dict[str, Any]:
    """Return the parameters in their types."""
    known = parameters_of(name)
    found: dict[str, Any] = {}
    for pair in given or ():
        key, equals, text = pair.partition("=")
        if not equals or key not in known:
            raise InputError(
                f"{name} has no parameter {key!r}" if equals else f"{pair!r} sets nothing",
                hint=f"Give PARAMETER=VALUE; it has {', '.join(known)}.",
            )
        kind = type(known[key])
        try:
            values = [one.strip() for one in text.split(",") if one.strip()]
            found[key] = values if kind is list else kind(text)
        except ValueError as error:
            raise InputError(
                f"{key} is {text!r}", hint=f"It is a number, such as {known[key]}."
            ) from error
    check_arguments(known | found)
    return found


def _print_compiled(name: str, registry: str, caching: bool) -> None:
    from course_lib.pipeline.compiling import compile_pipeline

    show(compile_pipeline(name, registry=registry, caching=caching), end="")


def _progress() -> Callable[[str, str, float], None]:
    """Return what shows a line for each step that ends, with what it took."""
    begun: defaultdict[str, list[float]] = defaultdict(list)
    out = sys.stdout  # while a pipeline runs, what is printed elsewhere goes into its log

    def tell(what: str, task: str, seconds: float) -> None:
        if what == "started":
            begun[task].append(seconds)
            return
        took = f"{seconds - begun[task].pop(0):6.1f} s" if begun[task] else " " * 8
        # If the terminal is closed, the run goes on.
        with suppress(OSError):
            print(harmless(f"{took}  {task:24} {what}"), file=out, flush=True)

    return tell


def _summarise(done: LocalRun) -> None:
    for counts in done.metadata("build-index", "metrics"):
        show(ingested({name: int(value) for name, value in counts.items()}))
    for figures in done.metadata("evaluate", "metrics"):
        show(
            f"recall@10 {figures['recall@10']:.2f}, mrr@10 {figures['mrr@10']:.2f} "
            f"({int(figures['n'])} questions)"
        )
    for file in done.artifacts("report", "text"):
        show(f"report: {file}")
    show(f"log: {done.log}")
    show(f"{done.seconds:.1f} s")
