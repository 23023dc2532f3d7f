"""The learner's own system: functions whose checks passed, kept and run in the library's places.

`keep` writes a function into `my/system/<room>.py`, `takeover` runs it in any process of the
system, and `system` tells how much of the house is the learner's and how well it searches.
"""
