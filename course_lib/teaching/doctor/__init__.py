"""`course doctor`: what is wrong on this machine, and the fix.

It looks at the machine, the packages, the database, the folder and what grading needs, changes
nothing, and takes two or three seconds. An examination that itself fails is a finding like the
others.
"""

from course_lib.teaching.doctor.examine import examine, main
from course_lib.teaching.doctor.finding import Finding

__all__ = ["Finding", "examine", "main"]
