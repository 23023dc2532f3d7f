"""What a compiled pipeline says about each step: what it gets, and what it was set to.

Steps are known by their components, whatever the variables in the pipeline are called. kfp puts
every loop and exit handler into a component of its own; what goes in and out is followed here to
the step, or to the parameter of the pipeline, that it really comes from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from course_lib.teaching.lab.dag import CHANNEL, exports, in_order

CACHED, AT_THE_END, RETRIES = (
    "may come from the cache",
    "runs at the end, whatever happened",
    "retries",
)
MEMORY, SECRETS, VOLUMES = "memory: request, limit", "secrets", "volumes"
"""Topics of a step's settings."""

RETRY = ("maxRetryCount", "backoffDuration", "backoffFactor")


@dataclass
class Step:
    """One step of a compiled pipeline.

    Attributes
    ----------
    inputs
        Where each input comes from, in words.
    around
        The loops and exit handlers that it is in, the outermost first.
    settings
        What it was set to, by topic.
    """

    inputs: dict[str, str] = field(default_factory=dict)
    around: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def read_wiring(spec: Mapping[str, Any], platform: Mapping[str, Any]) -> dict[str, Step]:
    """Return the steps of a compiled pipeline, in an order in which they can run.

    Parameters
    ----------
    spec, platform
        `pipeline_spec` and `platform_spec` of a pipeline as dictionaries. A component that is used
        again has a number: ``"report (2)"``.
    """
    reader = _Reader(spec, platform)
    inputs = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    reader.walk(spec["root"]["dag"], {name: f"the parameter {name}" for name in inputs}, [])
    return reader.steps


class _Reader:
    def __init__(self, spec: Mapping[str, Any], platform: Mapping[str, Any]) -> None:
        self.components = spec["components"]
        self.executors = spec["deploymentSpec"]["executors"]
        kubernetes = platform.get("platforms", {}).get("kubernetes", {})
        self.wishes = kubernetes.get("deploymentSpec", {}).get("executors", {})
        self.steps: dict[str, Step] = {}

    def walk(
        self, dag: Mapping[str, Any], scope: Mapping[str, str], around: list[str]
    ) -> dict[str, str]:
        """Add the steps of one dag, and return what each of its outputs comes from."""
        made: dict[tuple[str, str], str] = {}
        for key, task in in_order(dag["tasks"]):
            component = self.components[task["componentRef"]["name"]]
            inputs = _inputs(task, scope, made)
            if "dag" in component:
                kind = _kind(task, inputs)
                if item := task.get("parameterIterator", {}).get("itemInput"):
                    inputs[item] = f"one {inputs.get(_items(task), 'constant')}"
                outputs = self.walk(component["dag"], inputs, [*around, kind])
                made.update({(key, name): source for name, source in outputs.items()})
            else:
                name = re.sub(r"-\d+$", "", task["componentRef"]["name"].removeprefix("comp-"))
                known = component.get("outputDefinitions", {})
                outs = [one for kind in known.values() for one in kind]
                made.update({(key, one): f"{name}'s {one}" for one in outs})
                settings = self._settings(task, component["executorLabel"])
                while name in self.steps:
                    name = f"{name} (2)"
                self.steps[name] = Step(inputs, list(around), settings)
        return exports(dag.get("outputs", {}), made, "")

    def _settings(self, task: Mapping[str, Any], label: str) -> dict[str, Any]:
        resources = self.executors[label].get("container", {}).get("resources", {})
        wishes = self.wishes.get(label, {})
        texts = {one["name"] for one in self.executors[label].get("container", {}).get("env", ())}
        ends = task.get("triggerPolicy", {}).get("strategy") == "ALL_UPSTREAM_TASKS_COMPLETED"
        return {
            CACHED: bool(task.get("cachingOptions", {}).get("enableCache")),
            AT_THE_END: ends,
            RETRIES: [
                *_retries(task.get("retryPolicy", {})),
                *(
                    f"stopped after {limit}s"
                    for limit in [wishes.get("activeDeadlineSeconds")]
                    if limit
                ),
            ],
            MEMORY: [resources.get(f"resourceMemory{one}", "") for one in ("Request", "Limit")],
            SECRETS: {
                key["envVar"]: f"{key['secretKey']} of {_name_of(one, 'secretName')}"
                + (", if there is one" if one.get("optional") else "")
                + (", and a text that all can read" if key["envVar"] in texts else "")
                for one in wishes.get("secretAsEnv", ())
                for key in one["keyToEnv"]
            },
            VOLUMES: {
                one["mountPath"]: _name_of(one, "pvcName") for one in wishes.get("pvcMount", ())
            },
        }


def _retries(retry: Mapping[str, Any]) -> list[Any]:
    """Return how often and when a step is tried again, and the longest wait if that cuts one."""
    found = [retry[one] for one in RETRY if one in retry]
    first, most = (
        float(str(retry.get(one, "0s")).removesuffix("s"))
        for one in ("backoffDuration", "backoffMaxDuration")
    )
    last = first * float(retry.get("backoffFactor", 1)) ** (int(retry.get("maxRetryCount", 1)) - 1)
    return [*found, *([f"at most {most:g}s"] if 0 < most < last else ())]


def _name_of(one: Mapping[str, Any], key: str) -> str:
    """Return the name of a secret or a volume, or the parameter that it comes from."""
    given = one.get(f"{key}Parameter", {})
    if name := given.get("componentInputParameter", ""):
        return f"the parameter {name.removeprefix(CHANNEL)}"
    return str(given.get("runtimeValue", {}).get("constant", one.get(key, "")))


def _inputs(
    task: Mapping[str, Any], scope: Mapping[str, str], made: Mapping[tuple[str, str], str]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind, one in (("artifacts", "Artifact"), ("parameters", "Parameter")):
        for name, given in task.get("inputs", {}).get(kind, {}).items():
            if output := given.get(f"taskOutput{one}"):
                found[name] = made.get((output["producerTask"], output[f"output{one}Key"]), "")
            elif f"componentInput{one}" in given:
                found[name] = scope.get(given[f"componentInput{one}"], "")
            else:
                found[name] = f"{given.get('runtimeValue', {}).get('constant')!r}"
    return found


def _items(task: Mapping[str, Any]) -> str:
    return str(task["parameterIterator"].get("items", {}).get("inputParameter", ""))


def _kind(task: Mapping[str, Any], inputs: Mapping[str, str]) -> str:
    if "parameterIterator" not in task:
        return "exit handler"
    most = task.get("iteratorPolicy", {}).get("parallelismLimit")
    limit = f", {most} at once" if most else ""
    return f"for each of {inputs.get(_items(task), 'a constant list')}{limit}"
