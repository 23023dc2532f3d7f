"""Run by each kernel that `course lab` starts, among the learner's names: it leaves none there."""

import course_lib.teaching.lab.notebook as _notebook

_notebook.help_with_missing_names()
del _notebook
