"""The labs' drawings: made again where their module changed, and each with a description."""

from pathlib import Path

import pytest

from course_lib.teaching.notebooks.project import BuildError, Project
from infra.course.drawings import HERE, stale_drawings, write_drawings


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "solutions").mkdir()
    return Project(root=tmp_path)


def shows(project: Project, *pictures: str) -> None:
    text = "".join(f"# %% [markdown]\n# {picture}\n" for picture in pictures)
    (project.solutions / "01_good.py").write_text(text, encoding="utf-8")


def test_every_drawing_is_shown_by_a_lab_and_is_the_one_that_its_module_draws(
    project: Project,
) -> None:
    course = Project()
    names = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "__init__")
    shows(project, *(f"![seen](../labs/figures/{name}.svg)" for name in names))
    drawn = write_drawings(project)
    assert [path.stem for path in drawn] == names
    for path in drawn:
        committed = course.labs / "figures" / path.name
        assert committed.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")
    assert not (stale_drawings(course) or stale_drawings(project) or write_drawings(project))


def test_an_old_drawing_and_one_that_no_lab_shows_are_named(project: Project) -> None:
    shows(project, "![cells](../labs/figures/ivf_cells.svg)")
    (path,) = write_drawings(project)
    path.write_text("<svg/>", encoding="utf-8")
    path.with_name("cell.svg").write_text("<svg/>", encoding="utf-8")
    assert stale_drawings(project) == [
        "labs/figures/ivf_cells.svg is stale",
        "labs/figures/cell.svg is shown by no lab",
    ]


@pytest.mark.parametrize(
    ("picture", "says"),
    [
        ("![](../labs/figures/ivf_cells.svg)", "'ivf_cells' without a description"),
        ("![cells](../labs/figures/ivf_cell.svg)", "a drawing 'ivf_cell' that is not there"),
    ],
)
def test_a_drawing_without_description_or_module_ends_the_build(
    project: Project, picture: str, says: str
) -> None:
    shows(project, picture)
    with pytest.raises(BuildError, match=says):
        write_drawings(project)
