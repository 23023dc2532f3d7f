"""Running a pipeline on a cluster: a name and arguments go in, the address of the run comes out.

What is sent is the compiled pipeline. It holds no secret: those are in the cluster already. Whoever
wants to can wait for the run's end; it goes on without them as well.
"""

from __future__ import annotations

import io
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from course_lib.addresses import explained, http_address, way_to
from course_lib.pipeline.catalogue import (
    PipelineError,
    check_arguments,
    find_pipeline,
    parameters_of,
)
from course_lib.pipeline.compiling import compile_pipeline
from course_lib.pipeline.faults import check_pipeline

HOST = "http://localhost:8080"
"""Where infra/setup-kubeflow.sh shows Kubeflow's page."""

EXPERIMENT = "retrieval"

ENDS = ("SUCCEEDED", "SKIPPED", "FAILED", "CANCELED")
"""States that a run does not leave."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds between two questions about a run: few at first, for a run that fails at once."""

PATIENCE = 120.0
"""Seconds without an answer, or with one that something is wrong, after which nobody waits."""

TIMEOUT_SECONDS = 10.0
"""Of one answer."""


@dataclass(frozen=True, slots=True)
class RemoteRun:
    """A run that a cluster has taken: its id, its name, and its page."""

    run_id: str
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class RunState:
    """How far a run is.

    Attributes
    ----------
    state
        Kubeflow's word: ``PENDING``, ``RUNNING``, ``PAUSED``, ``CANCELING`` or one of `ENDS`;
        empty while it has none.
    done, failed
        Names of the steps that have succeeded, or were skipped, and of those that have failed.
    error
        What Kubeflow says about a failure.
    """

    state: str
    done: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it changes no more."""
        return self.state in ENDS

    @property
    def is_good(self) -> bool:
        """Whether it has come to a good end."""
        return self.state in ("SUCCEEDED", "SKIPPED")


def submit(
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    host: str = HOST,
    registry: str = "",
    caching: bool = True,
) -> RemoteRun:
    """Compile a pipeline and have a cluster run it.

    Parameters
    ----------
    name
        As in `find_pipeline`.
    arguments
        Parameters that are not to have their defaults.
    host
        Address of Kubeflow Pipelines.
    registry, caching
        As in `compile_pipeline`.

    Returns
    -------
    RemoteRun

    Raises
    ------
    InputError
        If there is no such pipeline, or an argument cannot be used.
    PipelineError
        If the pipeline has a fault, no server answers at that address, or it refuses the pipeline.
    """
    check_pipeline(find_pipeline(name))
    text = compile_pipeline(name, registry=registry, caching=caching)
    check_arguments(parameters_of(name) | dict(arguments or {}))
    host = _address(host)
    _check_host(host)
    from kfp.client import Client
    from kfp_server_api.exceptions import ApiException

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        # A run is named by its file, and the time.
        file = Path(folder, f"{name.replace('_', '-')}.yaml")
        file.write_text(text, encoding="utf-8")
        try:
            with redirect_stdout(io.StringIO()):  # it prints links, or HTML for a notebook
                run = Client(host=host).create_run_from_pipeline_package(
                    str(file),
                    arguments=dict(arguments or {}),
                    experiment_name=EXPERIMENT,
                )
        except ApiException as error:
            raise PipelineError(
                f"{host} refused the pipeline: {error.status} {error.reason}",
                hint=(error.body or "Look into the log of the deployment ml-pipeline.")[:500],
            ) from error
        except (OSError, RuntimeError, ValueError) as error:
            raise PipelineError(
                f"{host} could not be given the pipeline: {error}",
                hint="Is it Kubeflow Pipelines 2? Its page shows the version, below on the left.",
            ) from error
    url = f"{host}/#/runs/details/{run.run_id}"
    return RemoteRun(run.run_id, run.run_info.display_name, url)


def wait(
    run: RemoteRun,
    *,
    host: str = HOST,
    on_change: Callable[[RunState], None] = lambda state: None,
) -> RunState:
    """Wait for the end of a run.

    Parameters
    ----------
    run
        What `submit` returned.
    host
        As in `submit`.
    on_change
        Called with the first state, and with each that differs from the one before.

    Returns
    -------
    RunState
        One that is over, good or bad.

    Raises
    ------
    PipelineError
        If the server gives no answer for too long, or knows no such run. The run goes on.
    """
    host = _address(host)
    address = f"{host}/apis/v2beta1/runs/{run.run_id}"
    before, pause, heard = None, FIRST_PAUSE, time.monotonic()
    with _client(host) as client:
        while True:
            try:
                answer = client.get(address)
                answer.raise_for_status()
                now = read_state(answer.json())
            except (httpx.HTTPError, ValueError) as error:
                refused = (
                    isinstance(error, httpx.HTTPStatusError) and error.response.is_client_error
                )
                if refused or time.monotonic() - heard > PATIENCE:
                    raise PipelineError(
                        f"{host} does not say how the run {run.name} goes: {error}",
                        hint=f"The run itself goes on. Its page is {run.url}",
                    ) from error
            else:
                heard = time.monotonic()
                if now != before:
                    on_change(now)
                    before = now
                if now.is_over:
                    return now
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, 1.5 * pause)


def read_state(run: Mapping[str, Any]) -> RunState:
    """Return what the API's description of a run says about its state.

    Examples
    --------
    >>> steps = [{"display_name": "read", "state": "SUCCEEDED"}, {"display_name": "split"}]
    >>> read_state({"state": "RUNNING", "run_details": {"task_details": steps}}).done
    ('read',)
    """
    steps = (run.get("run_details") or {}).get("task_details") or []
    # Among a run's tasks are the run itself, and what starts and carries out the others.
    named = [
        (name, step.get("state"))
        for step in steps
        if (name := str(step.get("display_name") or "")) not in ("", "root", "executor")
        and not name.endswith("-driver")
    ]
    return RunState(
        str(run.get("state") or ""),
        tuple(name for name, state in named if state in ("SUCCEEDED", "SKIPPED")),
        tuple(name for name, state in named if state == "FAILED"),
        str((run.get("error") or {}).get("message", "")),
    )


def _address(host: str) -> str:
    """Return the address of a server, which may be given without its scheme."""
    return http_address(host, "--host (or KF_PIPELINES_ENDPOINT)", HOST)


def _client(host: str) -> httpx.Client:
    """Return a client for a server."""
    with explained():
        return httpx.Client(timeout=TIMEOUT_SECONDS, **way_to(host))


def _check_host(host: str) -> None:
    """Ask for a sign of life first: kfp's own error is a page of retries."""
    try:
        with _client(host) as client:
            answer = client.get(f"{host}/apis/v2beta1/healthz")
        answer.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise PipelineError(
            f"no Kubeflow Pipelines answers at {host}: {error}",
            hint="`infra/setup-kubeflow.sh ui` shows it on http://localhost:8080; --host gives "
            "another address. `course pipeline run` needs no cluster.",
        ) from error
