"""What users import stays importable, and this suite imports nothing else of the project."""

import ast
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CLASSROOM = "course_lib.teaching"
"""Checks, figures and the local GitHub server: what labs use of it may move with them."""


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of all that a text imports of the project."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("course_lib"):
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            found = (alias.name for alias in node.names if alias.name.startswith("course_lib"))
            yield from ((name, "") for name in found)


def test_this_suite_imports_the_public_surface_alone() -> None:
    files = {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*.py")}
    given = {name: list(imports(text)) for name, text in files.items()}
    assert [name for name, found in given.items() if found] == ["surface.py"], given


def test_what_labs_give_to_learners_is_in_a_stages_front() -> None:
    """A name that a lab imports of a package itself is public: `surface.py` lists it."""
    public = set(imports((HERE / "surface.py").read_text(encoding="utf-8")))
    shown: set[tuple[str, str]] = set()
    for path in sorted((ROOT / "labs").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code" and not source.lstrip().startswith(("%", "!")):
                shown |= set(imports(source))
    stages = {(module, name) for module, name in shown if module.count(".") == 1}
    missing = {one for one in stages if not one[0].startswith(CLASSROOM)} - public
    assert sorted(missing) == []
    for module, name in sorted(shown):
        assert hasattr(import_module(module), name), f"a lab imports {name} from {module}"
