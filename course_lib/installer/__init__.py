"""The parts of `course_lib/bootstrap.py`: they run before anything is installed.

Each module uses the standard library alone, imports nothing of the course outside this folder, and
is written so that Python 3.8 can read it: an old Python shall be able to say which one is wanted.
"""
