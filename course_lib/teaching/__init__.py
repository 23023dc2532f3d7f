"""The classroom: what turns the library into labs, and what builds and runs them.

Nothing of the library imports this package; the notebooks, the command line and the tests do.
"""

import sys
from typing import Any, cast

# jsonschema, which nbformat imports, takes two seconds or more for a parser of internationalised
# addresses where this package happens to be installed; it does without where it is not.
cast("dict[str, Any]", sys.modules).setdefault("rfc3987_syntax", None)

from course_lib.teaching.lab import CheckFailed, Lab, NotAttempted, start  # noqa: E402

__all__ = ["CheckFailed", "Lab", "NotAttempted", "start"]
