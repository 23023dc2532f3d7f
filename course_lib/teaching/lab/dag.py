"""A compiled pipeline read into tasks, edges and groups, as one would draw them.

kfp's compiler puts every loop and exit handler into a component of its own, whose inputs and
outputs are channels. Here these are followed to the task that really makes a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any, TypeVar

from course_lib.errors import InputError

CHANNEL = "pipelinechannel--"

Found = TypeVar("Found")

Source = tuple[str, str]
"""The task that makes a value, and the value's name."""

OUTSIDE: Source = ("", "")
"""What a value comes from that no task makes."""

Input = tuple[str, Source, bool]
"""An input's name, what it comes from, and whether it is an artifact."""


@dataclass
class Task:
    """One task: its name, notes about it, and how many are before it on the longest way."""

    name: str
    notes: tuple[str, ...] = ()
    layer: int = 0


@dataclass(frozen=True)
class Edge:
    """What one task gets of another; without a `label` it only waits for it."""

    producer: str
    consumer: str
    label: str
    is_artifact: bool


@dataclass
class Group:
    """Tasks that belong together, such as those of a loop."""

    label: str
    members: list[str] = field(default_factory=list)


@dataclass
class Dag:
    """All of a pipeline."""

    name: str
    tasks: dict[str, Task] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)


def read_dag(spec: Mapping[str, Any]) -> Dag:
    """Read a compiled pipeline.

    Parameters
    ----------
    spec
        The first document of what the compiler writes, as a dictionary.

    Raises
    ------
    InputError
        If it is not a compiled pipeline.
    """
    if "dag" not in spec.get("root", {}):
        raise InputError(
            "This is not a compiled pipeline: it has no root with a dag",
            hint="Pass yaml.safe_load of the file that kfp.compiler.Compiler().compile wrote.",
        )
    dag = Dag(str(spec.get("pipelineInfo", {}).get("name", "pipeline")))
    _Reader(spec.get("components", {}), dag).walk(spec["root"]["dag"], {}, [], 0)
    return dag


class _Reader:
    def __init__(self, components: Mapping[str, Any], dag: Dag) -> None:
        self.components = components
        self.dag = dag

    def walk(
        self, spec: Mapping[str, Any], scope: Mapping[str, Source], around: list[Group], floor: int
    ) -> dict[str, Source]:
        """Add the tasks of one dag; return what each of its outputs comes from.

        `scope` holds the dag's own inputs that tasks outside of it make, `floor` is the first layer
        in which its tasks may be.
        """
        made: dict[tuple[str, str], Source] = {}
        members: dict[str, list[str]] = {}
        for key, task in in_order(spec["tasks"]):
            component = self.components[task["componentRef"]["name"]]
            sources = _sources(task, scope, made)
            before = [name for other in task.get("dependentTasks", ()) for name in members[other]]
            layer = max([floor, *(self.dag.tasks[name].layer + 1 for name in before)])
            if "dag" in component:
                group = Group(_label(key, task))
                self.dag.groups.append(group)
                inner = {name: source for name, source, _ in sources}
                outputs = self.walk(component["dag"], inner, [*around, group], layer)
                made.update(((key, name), source) for name, source in outputs.items())
                members[key] = group.members
            else:
                name = self._add(key, task, around, layer)
                self._connect(name, sources, before)
                outputs = component.get("outputDefinitions", {})
                for kind in ("artifacts", "parameters"):
                    made.update(((key, out), (name, out)) for out in outputs.get(kind, {}))
                members[key] = [name]
        return exports(spec.get("outputs", {}), made, OUTSIDE)

    def _add(self, key: str, task: Mapping[str, Any], around: list[Group], layer: int) -> str:
        name, number = key, 1
        while name in self.dag.tasks:
            number += 1
            name = f"{key} ({number})"
        self.dag.tasks[name] = Task(name, _notes(task), layer)
        for group in around:
            group.members.append(name)
        return name

    def _connect(self, name: str, sources: list[Input], before: list[str]) -> None:
        """Add an edge for each value of another task, or one that says who goes first."""
        edges = self.dag.edges
        for _, (producer, label), is_artifact in sources:
            if producer:
                edges.append(Edge(producer, name, label, is_artifact))
                least = self.dag.tasks[producer].layer + 1
                self.dag.tasks[name].layer = max(self.dag.tasks[name].layer, least)
        followed = {edge.producer for edge in edges}
        edges += [Edge(one, name, "", False) for one in before if one not in followed]


def in_order(tasks: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the tasks so that each comes after those it depends on."""
    graph = {key: task.get("dependentTasks", ()) for key, task in tasks.items()}
    return [(key, tasks[key]) for key in TopologicalSorter(graph).static_order()]


def _sources(
    task: Mapping[str, Any], scope: Mapping[str, Source], made: Mapping[tuple[str, str], Source]
) -> list[Input]:
    found: list[Input] = []
    for kind, one in (("artifacts", "Artifact"), ("parameters", "Parameter")):
        for name, given in task.get("inputs", {}).get(kind, {}).items():
            source = scope.get(given.get(f"componentInput{one}"), OUTSIDE)
            if output := given.get(f"taskOutput{one}"):
                key = (output["producerTask"], output[f"output{one}Key"])
                source = made.get(key, OUTSIDE)
            found.append((name, source, one == "Artifact"))
    return found


def exports(
    outputs: Mapping[str, Any], made: Mapping[tuple[str, str], Found], outside: Found
) -> dict[str, Found]:
    """Return what each output of a dag comes from, by what its tasks made.

    Parameters
    ----------
    outputs
        The dag's own.
    made
        By task and name.
    outside
        What an output comes from that no task made.
    """
    found: dict[str, Found] = {}
    for name, given in outputs.get("artifacts", {}).items():
        for one in given.get("artifactSelectors", ())[:1]:
            found[name] = made.get((one["producerSubtask"], one["outputArtifactKey"]), outside)
    for name, given in outputs.get("parameters", {}).items():
        if one := given.get("valueFromParameter"):
            found[name] = made.get((one["producerSubtask"], one["outputParameterKey"]), outside)
    return found


def _label(key: str, task: Mapping[str, Any]) -> str:
    items = task.get("parameterIterator", {}).get("items", {})
    over = items.get("inputParameter", "").removeprefix(CHANNEL) or items.get("raw", "")
    if not items:
        return "exit handler" if key.startswith("exit-handler") else key
    most = task.get("iteratorPolicy", {}).get("parallelismLimit")
    return f"for each of {over}" + (f", {most} at once" if most else "")


def _notes(task: Mapping[str, Any]) -> tuple[str, ...]:
    notes = []
    if retries := task.get("retryPolicy", {}).get("maxRetryCount"):
        notes.append("1 retry" if retries == 1 else f"{retries} retries")
    if not task.get("cachingOptions", {}).get("enableCache"):
        notes.append("never cached")
    if task.get("triggerPolicy", {}).get("strategy") == "ALL_UPSTREAM_TASKS_COMPLETED":
        notes.append("always runs")
    return tuple(notes)
