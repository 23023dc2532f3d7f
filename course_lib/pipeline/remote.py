"""Running a pipeline on a cluster: a name and arguments go in, the address of the run comes out.

What is sent is the compiled pipeline. It holds no secret: those are in the cluster already.
"""

from __future__ import annotations

import io
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from course_lib.pipeline.catalogue import PipelineError
from course_lib.pipeline.compiling import compile_pipeline

HOST = "http://localhost:8080"
"""Where infra/setup-kubeflow.sh shows Kubeflow's page."""

EXPERIMENT = "retrieval"


@dataclass(frozen=True, slots=True)
class RemoteRun:
    """A run that a cluster has taken: its id, its name, and its page."""

    run_id: str
    name: str
    url: str


def submit(
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    host: str = HOST,
    registry: str = "",
    caching: bool = True,
    timeout: float = 10.0,
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
    timeout
        Seconds to wait for a sign of life.

    Returns
    -------
    RemoteRun

    Raises
    ------
    InputError
        If there is no such pipeline.
    PipelineError
        If nobody answers at that address, or the pipeline is refused.
    """
    text = compile_pipeline(name, registry=registry, caching=caching)
    _check_host(host, timeout)
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
    url = f"{host.rstrip('/')}/#/runs/details/{run.run_id}"
    return RemoteRun(run.run_id, run.run_info.display_name, url)


def _check_host(host: str, timeout: float) -> None:
    """Ask for a sign of life first: kfp's own error is a page of retries."""
    try:
        answer = httpx.get(f"{host.rstrip('/')}/apis/v2beta1/healthz", timeout=timeout)
        answer.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise PipelineError(
            f"no Kubeflow Pipelines answers at {host}: {error}",
            hint="`infra/setup-kubeflow.sh ui` shows it on http://localhost:8080; --host gives "
            "another address. `course pipeline run` needs no cluster.",
        ) from error
