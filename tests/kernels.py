"""A plugin for pytest with nbval, which starts sooner and starts kernels again.

Kernels get the variables that `course test` gives in COURSE_KERNELS: the smallest processor's.

A kernel that dies before it answers is started once more.

Jupyter looks for free ports, closes them and hands their numbers to the kernel. Another program may
take one in between, and then the kernel dies at once, before it has run anything.
"""

import json
import os
from typing import Any

import course_lib.teaching  # noqa: F401 - before nbformat, whose import it makes quick

# isort: split
import nbval.kernel

_start = nbval.kernel.start_new_kernel


def start_new_kernel(*args: Any, **options: Any) -> Any:
    """Start a kernel as nbval does, and again where it died first."""
    options["env"] = {**os.environ, **json.loads(os.environ.get("COURSE_KERNELS", "{}"))}
    try:
        return _start(*args, **options)
    except RuntimeError:
        return _start(*args, **options)


nbval.kernel.start_new_kernel = start_new_kernel
