"""Lab 00's search of a folder of the learner's own."""

import json
from pathlib import Path

import pytest

from course_lib.settings import project_root
from course_lib.teaching import Lab
from course_lib.teaching.lab import folder as module
from course_lib.teaching.lab.folder import FolderError


def refused(folder: Path | str) -> str:
    with pytest.raises(FolderError) as error:
        Lab("00").search_folder(str(folder))
    shown = error.value._render_traceback_()
    assert len(shown) == 2 and shown == str(error.value).splitlines()  # what to do is the second
    return "\n".join(shown)


def test_a_folder_is_searched_and_the_lab_s_own_database_has_nothing_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    notes = tmp_path / "notes"
    (notes / "home").mkdir(parents=True)
    (notes / "home" / "garden.md").write_text(
        "# Tomatoes\n\nThe bed is new. At dawn the plants get water to drink.\n", "utf-8"
    )
    (notes / "bike.txt").write_text("The chain needs oil every 200 km.\n", "utf-8")
    (notes / "old.txt").write_bytes(b"caf\xe9")
    lab = Lab("00")
    ask = lab.search_folder(str(notes))
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{notes} was read in ") and first.endswith("Documents: 2, pieces: 2.")
    assert second == "Left out: 1, such as old.txt, which is not UTF-8: byte 0xe9 at offset 3."
    table = ask("When do vegetables get their drink?")
    assert list(table.columns) == ["similarity", "document", "heading", "lines", "text", "piece"]
    assert list(table.index) == [1, 2] and table.similarity.is_monotonic_decreasing
    best = table.loc[1]
    assert (best.document, best.heading, best.lines) == ("home/garden.md", "Tomatoes", "1–3")
    assert (
        best.text == "… At dawn the plants get water to drink."
    )  # from the sentence that is most similar
    assert best.piece == "# Tomatoes The bed is new. At dawn the plants get water to drink."
    assert len(ask("  ")) == 0
    with lab.connect() as conn:
        assert conn.execute("SELECT to_regclass('document_chunks')").fetchone() == (None,)


def test_without_a_folder_it_is_that_of_the_lab(tmp_path: Path):
    (tmp_path / "a.md").write_text("Bees sleep at night.\n", "utf-8")
    table = Lab("00", data_dir=tmp_path).search_folder(" ")("When do insects rest?")
    assert list(table.document) == ["a.md"]


def test_a_folder_that_cannot_be_searched_is_refused_with_what_to_do(tmp_path: Path):
    assert refused(tmp_path / "nowhere") == (
        f"{tmp_path / 'nowhere'} is not there\n"
        "Check the path. It begins with ~, / or a drive (C:), or else in the course's folder."
    )
    assert refused(tmp_path).startswith(
        f"{tmp_path} has no text that the course can read: it is empty\nName a folder with files "
        "of these kinds: "
    )
    for name in ("a.pdf", "b.pdf", "c.docx", ".hidden.md"):
        (tmp_path / name).write_bytes(b"%PDF")
    assert "; it has 2 .pdf, 1 .docx\n" in refused(tmp_path)
    assert refused(tmp_path / "a.pdf") == (
        f"{tmp_path / 'a.pdf'} is a file\nName the folder that it is in."
    )


def test_a_folder_that_is_too_large_is_refused_before_anything_is_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name, size in (("large", 40), ("small", 4), ("middle", 9)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("A line of text. " * 30 * size, "utf-8")
    monkeypatch.setattr(module, "MOST_PIECES", 20)
    said = refused(tmp_path)
    assert "pieces of text, and at most 20 are searched within about a minute\n" in said
    order = [said.find(f"{name} (") for name in ("middle", "small")]
    assert 0 < order[0] < order[1] and "large (" not in said
    assert refused(tmp_path / "large").endswith(
        "\nCopy some of its files into a new folder, and name that one."
    )
    monkeypatch.setattr(module, "MOST_FILES", 2)
    assert refused(tmp_path) == (
        f"{tmp_path} is too large: it has more than 2 files\nName one of the folders in it."
    )
    monkeypatch.setattr(module, "MOST_BYTES", 1_000)
    assert "it has more than 0 MB" in refused(tmp_path / "large")


@pytest.mark.parametrize("folder", ["labs", "solutions"])
def test_the_notebook_names_no_folder_and_its_output_is_about_the_course_s(folder: str):
    notebook = project_root() / folder / "00_first_search.ipynb"
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    (cell,) = [cell for cell in cells if "lab.search_folder(" in "".join(cell["source"])]
    assert "".join(cell["source"]).startswith('my_folder = r""')
    if folder == "solutions":
        assert cell["outputs"][0]["text"][0].startswith("data/documents was read in ")
