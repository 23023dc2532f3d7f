"""Faults of a pipeline that kfp compiles without a word: looked for before it is run or sent.

A compiled pipeline goes in, the faults of its steps come out. What a cluster would only show as a
table that stays empty, a password in a log, or a step that fails after an hour, is said at once.
"""

from __future__ import annotations

import builtins
import symtable
import typing
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from course_lib.pipeline.catalogue import PipelineError
from course_lib.pipeline.reading import as_json, topics_of

SECRETS = frozenset({"database_url", "password", "token"})
"""Inputs of these names are secrets."""


def faults_of(step: Mapping[str, Any], used: Collection[str]) -> list[str]:
    """Return the faults of a step, in this order, each once.

    - "cached write": it may come from the cache (`step["cached"]`), and it may write, as it has the
      database: one of `step["secrets"]`, its variables from Secrets, is "DATABASE_URL".
    - "password as a parameter": an input (a key of `step["inputs"]`) has a name in `SECRETS`.
    - "no fan-in": it is in a loop (`step["loop"]`), and no step gets its outputs: its name is not
      in `used`.
    - "import outside": it uses names that are not defined in it; `step["unknown"]` lists them.

    Examples
    --------
    >>> step = {"name": "store", "cached": True, "secrets": ["DATABASE_URL"],
    ...         "inputs": {"page": "one list-pages"}, "loop": True, "unknown": []}
    >>> faults_of(step, used={"store"})
    ['cached write']
    """
    there = {
        "cached write": step["cached"] and "DATABASE_URL" in step["secrets"],
        "password as a parameter": SECRETS & step["inputs"].keys(),
        "no fan-in": step["loop"] and step["name"] not in used,
        "import outside": step["unknown"],
    }
    return [fault for fault, is_there in there.items() if is_there]


def steps_of(pipeline: Any) -> tuple[list[dict[str, Any]], set[str]]:
    """Return the steps of a pipeline as `faults_of` takes them, and whose outputs are used.

    Parameters
    ----------
    pipeline
        What `kfp.dsl.pipeline` gave.

    Examples
    --------
    >>> from course_lib.pipeline.pipelines import code_pipeline
    >>> steps, used = steps_of(code_pipeline)
    >>> [step["name"] for step in steps if step["loop"]], "report" in used
    (['split-documents', 'embed-and-store'], False)
    """
    spec, platform = as_json(pipeline)
    said = topics_of(spec, platform)
    sources = {source for inputs in said["gets"].values() for source in inputs.values()}
    # A step's output is "name's output"; in a loop over it, each turn gets "one name's output".
    used = {one.partition("'s ")[0].rpartition(" ")[2] for one in sources if "'s " in one}
    executors = spec["deploymentSpec"]["executors"]
    steps = []
    for task, inputs in said["gets"].items():
        name = task.partition(" ")[0]  # a component that is used again has a number
        steps.append(
            {
                "name": name,
                "cached": said["may come from the cache"][task],
                "secrets": [*said["secrets"][task]],
                "inputs": dict(inputs),
                "loop": any(group.startswith("for ") for group in said["is in"][task]),
                "unknown": _unknown(executors[f"exec-{name}"]),
            }
        )
    return steps, used


def check_pipeline(pipeline: Any) -> None:
    """Do nothing if no step of a pipeline has a fault.

    Raises
    ------
    PipelineError
        If one has; the message says which.
    """
    steps, used = steps_of(pipeline)
    for step in steps:
        if faults := faults_of(step, used):
            raise PipelineError(
                f"the step {step['name']} has a fault: {', '.join(faults)}",
                hint="Lab 11 has an example of each. Nothing was run.",
            )


def _unknown(executor: Mapping[str, Any]) -> list[str]:
    """Return the names that a component's text uses, and nobody defines where it runs."""
    from kfp import dsl

    text = executor["container"]["command"][-1]
    table = symtable.symtable(text, "component", "exec")
    there = {
        one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported()
    }
    there |= {*vars(builtins), *vars(typing), *vars(dsl)}
    return sorted(set(_global_names(table)) - there)


def _global_names(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that the functions of a text look for outside of themselves."""
    for child in table.get_children():
        yield from (one.get_name() for one in child.get_symbols() if one.is_global())
        yield from _global_names(child)
