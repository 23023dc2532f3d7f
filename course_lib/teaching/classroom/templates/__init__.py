"""The configuration of a new class, and where nbgrader finds templates of its pages: ours first.

`base/mathjax.html.j2` takes the place of nbconvert's, which loads MathJax from the network before
anything else of the page. Without it formgrader does nothing: no points, no comment, no flag.
"""

from importlib.util import find_spec
from pathlib import Path

_NBGRADER = find_spec("nbgrader")

FOLDERS = [
    str(Path(__file__).parent),
    *(
        str(Path(place) / "server_extensions" / "formgrader" / "templates")
        for place in (_NBGRADER.submodule_search_locations or () if _NBGRADER else ())
    ),
]
"""For `c.HTMLExporter.extra_template_basedirs` in a class's `nbgrader_config.py`."""

CONFIGURATION = Path(__file__).with_name("nbgrader_config.py.j2").read_text(encoding="utf-8")
"""What a new class gets as its `nbgrader_config.py`."""
