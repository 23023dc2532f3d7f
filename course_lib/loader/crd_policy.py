"""What is kept of a custom resource definition: its lines go in, the lines to index come out.

Nineteen twentieths of the manifests of a real platform are OpenAPI schemas, which repeat the same
words thousands of times and would drown everything else. Kept are the head, the names, the versions
with their columns, and the descriptions at the top of each schema; what is left out stays in the
document and can be had on request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from course_lib.loader.yaml_lines import Line

_IN_SCHEMA = re.compile(r"openAPIV3Schema[.\[].*")
_DESCRIBED = re.compile(r"openAPIV3Schema(\.properties\.(?!apiVersion|kind|metadata)[\w$-]+)?")
"""What may keep its description: apiVersion, kind and metadata have the same in each schema."""


def without_schemas(lines: Sequence[Line]) -> list[list[Line]]:
    r"""Return the lines of a definition that are kept, in runs without a gap.

    Of each ``openAPIV3Schema`` these are its own description and those of its properties (`spec`,
    `status` …).

    Parameters
    ----------
    lines
        What `lines_of` gave.

    Returns
    -------
    list of list of Line
        Each ends with a line that says where the run ends, with depth -1.

    Examples
    --------
    >>> from course_lib.loader.yaml_lines import lines_of
    >>> crd = '''spec:
    ...   schema:
    ...     openAPIV3Schema:
    ...       description: A queue.
    ...       properties:
    ...         spec:
    ...           description: What is wanted.
    ...           properties:
    ...             a: {}
    ...   served: true
    ... '''
    >>> runs = without_schemas(lines_of(crd, 0, len(crd)))
    >>> print("".join(crd[run[0].start : run[-1].start] for run in runs), end="")
    spec:
      schema:
        openAPIV3Schema:
          description: A queue.
            spec:
              description: What is wanted.
      served: true
    """
    runs: list[list[Line]] = [[]]
    for line, after in pairwise(lines):
        if _is_kept(line.path, after.path):
            runs[-1].append(line)
        elif runs[-1]:
            runs[-1].append(Line(line.start, -1, False, ""))
            runs.append([])
    return [*runs[:-1], [*runs[-1], lines[-1]]] if runs[-1] else runs[:-1]


def _is_kept(path: str, following: str) -> bool:
    """Tell whether the line with this path is kept, given the path of the line after it."""
    schema = _IN_SCHEMA.search(path)
    if schema is None:
        return True
    owner, found, _ = schema[0].partition(".description")
    # The name of a property is kept with its description.
    described = bool(found) or following.startswith(f"{path}.description")
    return described and _DESCRIBED.fullmatch(owner) is not None
