"""A plugin for pytest with nbval: a kernel that dies before it answers is started once more.

Jupyter looks for free ports, closes them and hands their numbers to the kernel. Another program may
take one in between, and then the kernel dies at once, before it has run anything.
"""

from typing import Any

import nbval.kernel

_start = nbval.kernel.start_new_kernel


def start_new_kernel(*args: Any, **options: Any) -> Any:
    """Start a kernel as nbval does, and again where it died first."""
    try:
        return _start(*args, **options)
    except RuntimeError:
        return _start(*args, **options)


nbval.kernel.start_new_kernel = start_new_kernel
