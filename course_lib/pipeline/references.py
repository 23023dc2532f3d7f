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
        If it is not a PipelineSpec at all.

    Examples
    --------
    >>> find_problems('''
    ... pipelineInfo: {name: small}
    ... root: {dag: {tasks: {a: {componentRef: {name: comp-b}, taskInfo: {name: a}}}}}
    ... ''')
    ['root: the task a refers to comp-b, which is not a component']
    """
    spec, platform = read_ir(text)
    components: Spec = spec.get("components", {})
    executors: Spec = spec.get("deploymentSpec", {}).get("executors", {})
    problems = []
    for where, component in [("root", spec["root"]), *components.items()]:
        problems += [f"{where}: {problem}" for problem in _of_component(component, components)]
        label = component.get("executorLabel")
        if label is not None and label not in executors:
            problems.append(f"{where}: {label} is not an executor")
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
            problems.append(f"Kubernetes is asked something for {label}, which is not an executor")
        problems += _of_wishes(label, wishes, spec)
    return problems


def read_ir(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the pipeline and what it asks of the platform, as dictionaries.

    Raises
    ------
    PipelineError
        If it is not YAML, or not a PipelineSpec.
    """
    import yaml
    from google.protobuf import json_format
    from kfp.pipeline_spec import pipeline_spec_pb2

    try:
        spec, *more = yaml.safe_load_all(text)
        json_format.ParseDict(spec, pipeline_spec_pb2.PipelineSpec())
    except (yaml.YAMLError, json_format.ParseError, ValueError, AttributeError) as error:
        raise PipelineError(
            f"this is not a compiled pipeline: {error}", hint="Compile it: course pipeline compile"
        ) from error
    return spec, more[0] if more else {}


def _of_component(component: Spec, components: Spec) -> Iterator[str]:
    """Yield what is wrong inside one graph: with its tasks, their inputs, and its outputs."""
    dag = component.get("dag", {})
    tasks: Spec = dag.get("tasks", {})
    there = _names(component, "inputDefinitions")
    for name, task in tasks.items():
        ref = task["componentRef"]["name"]
        if ref not in components:
            yield f"the task {name} refers to {ref}, which is not a component"
        for other in task.get("dependentTasks", ()):
            if other not in tasks:
                yield f"the task {name} waits for {other}, which is not a task beside it"
        inputs = task.get("inputs", {})
        # An item of a loop is made where the loop begins.
        for kind in ("componentInputParameter", "componentInputArtifact"):
            for key in _values(inputs, kind):
                if key not in there:
                    yield f"the task {name} takes {key}, which its pipeline is not given"
        for problem in _missing(inputs, tasks, components):
            yield f"the task {name} takes {problem}"
    for problem in _missing(dag.get("outputs", {}), tasks, components):
        yield f"an output is {problem}"


def _of_wishes(label: str, wishes: Any, spec: Spec) -> Iterator[str]:
    """Yield what a step's volumes and secrets take of its pipeline and are not given."""
    taken = set(_values(wishes, "componentInputParameter"))
    for where, component in [("root", spec["root"]), *spec.get("components", {}).items()]:
        for task in component.get("dag", {}).get("tasks", {}).values():
            called = spec.get("components", {}).get(task["componentRef"]["name"], {})
            if called.get("executorLabel") == label:
                for key in sorted(taken - _names(component, "inputDefinitions")):
                    yield f"{where}: Kubernetes is to take {key} for {label}, which is not given"


def _missing(tree: Any, tasks: Spec, components: Spec) -> Iterator[str]:
    """Yield the outputs of tasks that a tree asks for, and that there are not."""
    for asked in _mappings(tree):
        producer = asked.get("producerTask") or asked.get("producerSubtask")
        key = asked.get("outputParameterKey") or asked.get("outputArtifactKey")
        if not producer:
            continue
        if producer not in tasks:
            yield f"{key} of {producer}, which is not a task beside it"
        elif key:  # without one it is the task's state, for a step at the end
            component = components.get(tasks[producer]["componentRef"]["name"])
            if component and key not in _names(component, "outputDefinitions"):
                yield f"{key} of {producer}, which has no such output"


def _mappings(tree: Any) -> Iterator[Spec]:
    """Yield every mapping in a tree."""
    if isinstance(tree, Mapping):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for branch in tree:
            yield from _mappings(branch)


def _values(tree: Any, key: str) -> Iterator[Any]:
    return (one[key] for one in _mappings(tree) if key in one)


def _names(component: Spec, definitions: str) -> set[str]:
    given = component.get(definitions, {})
    return {*given.get("parameters", {}), *given.get("artifacts", {})}
