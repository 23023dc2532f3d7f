"""Words that a reader with English as a second language reads twice are found."""

from pathlib import Path

from infra.course.build.plain_words import hard_phrases


def test_a_hard_phrase_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    text = "def find():\n    # it looks in vain\n    return 'found behind a proxy'\n"
    (tmp_path / "solutions" / "01_a.py").write_text(text, encoding="utf-8")
    (tmp_path / "README.md").write_text("# A\n\nIt lies there, left behind.\n", encoding="utf-8")
    assert hard_phrases(tmp_path) == [
        "README.md:3: 'lies'; write: is, are, was",
        "solutions/01_a.py:2: 'in vain'; write: without success",
    ]
