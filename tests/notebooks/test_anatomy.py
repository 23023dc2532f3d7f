from course_lib.teaching.notebooks.project import Project
from infra.course.build.anatomy import faults

COURSE = Project()


def test_every_lab_has_the_anatomy_of_a_lab() -> None:
    found = {source.lab: faults(source, COURSE) for source in COURSE.sources()}
    assert found == {source.lab: [] for source in COURSE.sources()}
