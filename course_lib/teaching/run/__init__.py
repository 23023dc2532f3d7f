"""Execute the solutions with papermill and show how it went: `course run`.

Solutions go in; `build/run/` comes out, with each lab's executed notebook, the same as HTML, and
`index.html` with status, time and scorecard of all of them. One failing lab does not stop the
others.
"""

from course_lib.teaching.run.one_lab import LabRun
from course_lib.teaching.run.report import summary
from course_lib.teaching.run.runner import run_labs

__all__ = ["LabRun", "run_labs", "summary"]
