"""`course doctor`: what is wrong on this machine, and the fix.

It looks at the machine, the packages, the database and the folder, starts and changes nothing, and
takes a second or two. An examination that itself fails is a finding like the others.
"""

from course_lib.teaching.doctor.examine import examine, main
from course_lib.teaching.doctor.finding import Finding

__all__ = ["Finding", "examine", "main"]
