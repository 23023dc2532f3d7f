import pytest

from course_lib.teaching.notebooks.project import Project
from infra.course.build.source import code_lines
from tests.notebooks.anatomy import faults

COURSE = Project()


def test_every_lab_has_the_anatomy_of_a_lab() -> None:
    found = {source.lab: faults(source, COURSE) for source in COURSE.sources()}
    assert found == {source.lab: [] for source in COURSE.sources()}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("# why\n\nx = 1  # because", 1),
        ("x = (\n    1,\n)", 3),
        ("class A:\n    'Say.'\n\n    def f(self):\n        'Say.'\n        return 1", 3),
        ("%time x\ny", 2),
        ("%%bash\necho {", 2),
        ("sql = '''\nSELECT 1\n'''", 3),
    ],
)
def test_only_lines_of_code_are_counted(source: str, lines: int) -> None:
    assert code_lines(source) == lines
