"""The learner's own system: functions whose checks passed, kept and run in the library's places.

`keep` writes a function into `my/system/<room>.py`, `overlay` makes a copy of the library that
holds it, and `system` tells how much of the house is the learner's and how well it searches.
"""
