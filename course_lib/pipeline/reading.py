"""What a compiled pipeline says about each step: what it gets, and what it was set to.

Steps are known by their components, whatever the variables in the pipeline are called. kfp puts
every loop and exit handler into a component of its own; what goes in and out is followed here to
the step, or to the parameter of the pipeline, that it really comes from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import Any

CHANNEL = "pipelinechannel--"

Json = Mapping[str, Any]


def topics_of(spec: Json, platform: Json) -> dict[str, Any]:
    """Return what a pipeline is compiled to, by topics, and most of them by steps.

    The topic "what else is set" has variables, and all else that Kubernetes is asked.

    Parameters
    ----------
    spec, platform
        What kfp compiled, and what that asks of Kubernetes. A component that is used again has a
        number: ``"report (2)"``.

    Examples
    --------
    >>> from course_lib.pipeline.pipelines import code_pipeline
    >>> topics_of(*as_json(code_pipeline))["gets"]["pin-commit"]
    {'ref': 'the parameter ref', 'repo': 'the parameter repo'}
    """
    wishes = platform.get("platforms", {}).get("kubernetes", {}).get("deploymentSpec", {})
    executors = spec["deploymentSpec"]["executors"], wishes.get("executors", {})
    given = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    topics: dict[str, dict[str, Any]] = {"gets": {}}

    def walk(dag: Json, scope: Mapping[str, str], around: list[str]) -> dict[str, str]:
        made: dict[tuple[str, str], str] = {}  # what each output comes from
        for key, task in _in_order(dag["tasks"]):
            component = spec["components"][task["componentRef"]["name"]]
            inputs, when = _inputs(task, scope, made), task.get("triggerPolicy", {})
            if "dag" in component:
                kind = "a condition" if "condition" in when else "exit handler"
                if loop := task.get("parameterIterator"):
                    items = inputs.get(loop["items"].get("inputParameter"), "a constant list")
                    most = task.get("iteratorPolicy", {}).get("parallelismLimit", "all")
                    kind, inputs[loop["itemInput"]] = f"for {items}, {most} at once", f"one {items}"
                outputs = walk(component["dag"], inputs, [*around, kind])
                made.update({(key, name): source for name, source in outputs.items()})
                continue
            name = re.sub(r"-\d+$", "", task["componentRef"]["name"].removeprefix("comp-"))
            known = component.get("outputDefinitions", {})
            made.update({(key, one): f"{name}'s {one}" for kind in known.values() for one in kind})
            while name in topics["gets"]:
                name = f"{name} (2)"
            last = ["the last of all, whatever happened"] if "strategy" in when else []
            asked = (one.get(component["executorLabel"], {}) for one in executors)
            said = {"is in": [*around, *last], "gets": inputs, **_settings(task, *asked)}
            for topic, value in said.items():
                topics.setdefault(topic, {})[name] = value
        return _exports(dag.get("outputs", {}), made)

    walk(spec["root"]["dag"], {name: f"the parameter {name}" for name in given}, [])
    used = Counter(name.partition(" ")[0] for name in topics["gets"])
    texts = {n: f"{one['parameterType']} = {one.get('defaultValue')!r}" for n, one in given.items()}
    more = {"steps": {"used": used}, "parameters": {"given": texts}}
    return {"kfp says": "it compiles", **more, **topics}


def as_json(pipeline: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what kfp compiled a decorated pipeline to, and what that asks of Kubernetes."""
    from google.protobuf import json_format

    both = (pipeline.pipeline_spec, pipeline.platform_spec)
    spec, platform = map(json_format.MessageToDict, both)
    return spec, platform


def _settings(task: Json, executor: Json, asked: Json) -> dict[str, Any]:
    """Return what a step was set to, by topics."""
    from kubernetes.utils.quantity import parse_quantity  # type: ignore[import-untyped]

    container, retry, asked = executor.get("container", {}), task.get("retryPolicy", {}), {**asked}
    resources = container.get("resources", {})
    amounts = (resources.get(f"resourceMemory{one}", 0) for one in ("Request", "Limit"))
    texts = {one["name"]: one.get("value") for one in container.get("env", ())}
    waits = (retry.get(f"backoff{one}", "0s") for one in ("Duration", "MaxDuration"))
    first, most = (float(text.removesuffix("s")) for text in waits)
    factor, times = retry.get("backoffFactor", 1.0), min(retry.get("maxRetryCount", 0), 20)
    return {
        "may come from the cache": bool(task.get("cachingOptions", {}).get("enableCache")),
        "secrets": {
            key["envVar"]: f"{key['secretKey']} of {_name_of(one, 'secretName')}"
            + (", if there is one" if one.get("optional") else "")
            for one in asked.pop("secretAsEnv", ())
            for key in one["keyToEnv"]
        },
        "volumes": {n["mountPath"]: _name_of(n, "pvcName") for n in asked.pop("pvcMount", ())},
        "retries after so many seconds": [min(first * factor**n, most) for n in range(times)],
        "memory in Mi: request, limit": [float(parse_quantity(one)) / 2**20 for one in amounts],
        "what else is set": texts | asked,
    }


def _name_of(one: Json, key: str) -> str:
    """Return the name of a secret or a volume, or the parameter that it comes from."""
    given = one.get(f"{key}Parameter", {})
    if name := given.get("componentInputParameter", ""):
        return f"the parameter {name.removeprefix(CHANNEL)}"
    return str(given.get("runtimeValue", {}).get("constant", one.get(key, "")))


def _inputs(task: Json, scope: Json, made: Mapping[tuple[str, str], str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind, one in (("artifacts", "Artifact"), ("parameters", "Parameter")):
        for name, given in task.get("inputs", {}).get(kind, {}).items():
            found[name] = f"{given.get('runtimeValue', {}).get('constant')!r}"
            if output := given.get(f"taskOutput{one}"):
                found[name] = made.get((output["producerTask"], output[f"output{one}Key"]), "")
            elif source := given.get(f"componentInput{one}"):
                found[name] = scope.get(source, "")
    return found


def _in_order(tasks: Json) -> list[tuple[str, Json]]:
    """Return the tasks so that each comes after those it depends on."""
    graph = {key: task.get("dependentTasks", ()) for key, task in tasks.items()}
    return [(key, tasks[key]) for key in TopologicalSorter(graph).static_order()]


def _exports(outputs: Json, made: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Return what each output of a dag comes from, by what its tasks made."""
    found: dict[str, str] = {}
    for name, given in outputs.get("artifacts", {}).items():
        for one in given.get("artifactSelectors", ())[:1]:
            found[name] = made.get((one["producerSubtask"], one["outputArtifactKey"]), "")
    for name, given in outputs.get("parameters", {}).items():
        if one := given.get("valueFromParameter"):
            found[name] = made.get((one["producerSubtask"], one["outputParameterKey"]), "")
    return found
