"""References in compiled pipelines: an IR YAML goes in, what leads nowhere in it comes out.

Kubeflow's own loader accepts all of it. A cluster refuses missing components and executors when a
pipeline is submitted; a missing output it finds in the middle of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from course_lib.pipeline.catalogue import PipelineError

Spec = Mapping[str, Any]


def find_problems(text: str) -> list[str]:
    """Return what is wrong with an IR YAML: references that lead nowhere, and what nothing uses.

    Kubeflow's own loader accepts all of it.

    Parameters
    ----------
    text
        What `compile_pipeline` gives.

    Raises
    ------
    PipelineError
        If it is no PipelineSpec at all.

    Examples
    --------
    >>> find_problems('''
    ... pipelineInfo: {name: small}
    ... root: {dag: {tasks: {a: {componentRef: {name: comp-b}, taskInfo: {name: a}}}}}
    ... ''')
    ['root: the task a refers to comp-b, which is no component']
    """
    spec, platform = read_ir(text)
    components: Spec = spec.get("components", {})
    executors: Spec = spec.get("deploymentSpec", {}).get("executors", {})
    problems = []
    for where, component in [("root", spec["root"]), *components.items()]:
        problems += [f"{where}: {problem}" for problem in _of_component(component, components)]
        label = component.get("executorLabel")
        if label is not None and label not in executors:
            problems.append(f"{where}: {label} is no executor")
    used = {one.get("executorLabel") for one in components.values()}
    problems += [f"nothing uses the executor {label}" for label in executors if label not in used]
    called = {
        task["componentRef"]["name"]
        for component in (spec["root"], *components.values())
        for task in component.get("dag", {}).get("tasks", {}).values()
    }
    problems += [f"nothing uses the component {name}" for name in components if name not in called]
    asked = platform.get("platforms", {}).get("kubernetes", {}).get("deploymentSpec", {})
    for label, wishes in asked.get("executors", {}).items():
        if label not in executors:
            problems.append(f"Kubernetes is asked something for {label}, which is no executor")
        problems += _of_wishes(label, wishes, spec)
    return problems


def read_ir(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the pipeline and what it asks of the platform, as dictionaries.

    Raises
    ------
    PipelineError
        If it is no YAML, or no PipelineSpec.
    """
    import yaml
    from google.protobuf import json_format
    from kfp.pipeline_spec import pipeline_spec_pb2

    try:
        spec, *more = yaml.safe_load_all(text)
        json_format.ParseDict(spec, pipeline_spec_pb2.PipelineSpec())
    except (yaml.YAMLError, json_format.ParseError, ValueError, AttributeError) as error:
        raise PipelineError(
            f"this is no compiled pipeline: {error}", hint="Compile it: course pipeline compile"
        ) from error
    return spec, more[0] if more else {}


def _of_component(component: Spec, components: Spec) -> Iterator[str]:
    """Yield what is wrong inside one graph: with its tasks, their inputs, and its outputs."""
    dag = component.get("dag", {})
    tasks: Spec = dag.get("tasks", {})
    there = _inputs(component)
    for name, task in tasks.items():
        ref = task["componentRef"]["name"]
        if ref not in components:
            yield f"the task {name} refers to {ref}, which is no component"
        for other in task.get("dependentTasks", ()):
            if other not in tasks:
                yield f"the task {name} waits for {other}, which is no task beside it"
        for key in _from_outside(task.get("inputs", {})):
            if key not in there:
                yield f"the task {name} takes {key}, which its pipeline is not given"
        for producer, key in _producers(task.get("inputs", {})):
            if problem := _missing(producer, key, tasks, components):
                yield f"the task {name} takes {key} of {producer}, {problem}"
    for kind in ("parameters", "artifacts"):
        for output in dag.get("outputs", {}).get(kind, {}).values():
            for producer, key in _selected(output):
                if problem := _missing(producer, key, tasks, components):
                    yield f"an output is {key} of {producer}, {problem}"


def _of_wishes(label: str, wishes: Any, spec: Spec) -> Iterator[str]:
    """Yield what a step's volumes and secrets take of its pipeline and are not given."""
    taken = set(_values(wishes, "componentInputParameter"))
    for where, component in [("root", spec["root"]), *spec.get("components", {}).items()]:
        for task in component.get("dag", {}).get("tasks", {}).values():
            called = spec.get("components", {}).get(task["componentRef"]["name"], {})
            if called.get("executorLabel") == label:
                for key in sorted(taken - _inputs(component)):
                    yield f"{where}: Kubernetes is to take {key} for {label}, which is not given"


def _values(tree: Any, key: str) -> Iterator[Any]:
    """Yield what stands under a key, anywhere in a tree."""
    if isinstance(tree, Mapping):
        if key in tree:
            yield tree[key]
        tree = list(tree.values())
    if isinstance(tree, list):
        for branch in tree:
            yield from _values(branch, key)


def _inputs(component: Spec) -> set[str]:
    given = component.get("inputDefinitions", {})
    return {*given.get("parameters", {}), *given.get("artifacts", {})}


def _from_outside(inputs: Spec) -> Iterator[str]:
    for one in inputs.get("parameters", {}).values():
        # An item of a loop is made where the loop begins.
        if found := one.get("componentInputParameter"):
            yield found
    for one in inputs.get("artifacts", {}).values():
        if found := one.get("componentInputArtifact"):
            yield found


def _producers(inputs: Spec) -> Iterator[tuple[str, str]]:
    for one in inputs.get("parameters", {}).values():
        if found := one.get("taskOutputParameter"):
            yield found["producerTask"], found["outputParameterKey"]
    for one in inputs.get("artifacts", {}).values():
        if found := one.get("taskOutputArtifact"):
            yield found["producerTask"], found["outputArtifactKey"]


def _selected(output: Spec) -> Iterator[tuple[str, str]]:
    if found := output.get("valueFromParameter"):
        yield found["producerSubtask"], found["outputParameterKey"]
    for found in output.get("artifactSelectors", ()):
        yield found["producerSubtask"], found["outputArtifactKey"]


def _missing(producer: str, key: str, tasks: Spec, components: Spec) -> str:
    """Return why there is no such output; empty where there is one."""
    if producer not in tasks:
        return "which is no task beside it"
    component = components.get(tasks[producer]["componentRef"]["name"])
    if component is None:
        return ""  # said already
    outputs = component.get("outputDefinitions", {})
    there = {*outputs.get("parameters", {}), *outputs.get("artifacts", {})}
    return "" if key in there else "which has no such output"
