"""The instructor's page of a run: plain HTML without scripts."""

from course_lib.teaching.grade.pages.overview import overview_page

__all__ = ["overview_page"]
