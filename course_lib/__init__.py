"""The helper library of the course: the final version of everything that the labs build.

Importing this package imports nothing else, so that it costs nothing: each stage lives in a folder
of its own (``loader``, ``embedder``, ``store``, ``indexing``, ``retriever``, …) and is imported by
whoever needs it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which would be an import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

__version__ = "0.1.0"


def import_when_asked(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package, which imports a name's module when it is asked for it.

    Python calls a module's `__getattr__` for a name that it does not find there (PEP 562). Whoever
    needs one name of a package then does not wait for what the others import.

    Parameters
    ----------
    package
        The package's `__name__`.
    modules
        For each module of the package, the names that the package offers of it.

    Examples
    --------
    >>> find = import_when_asked("json", {"decoder": ["JSONDecoder"]})
    >>> find("JSONDecoder").__module__
    'json.decoder'
    """
    places = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        from importlib import import_module

        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return find
