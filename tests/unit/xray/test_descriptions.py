"""Descriptions of packages: from the course's table, and from those that are installed here."""

from pathlib import Path

import pytest

from course_lib.xray import InstalledDescriber, Package, offline_describer


def test_installed_packages_describe_themselves() -> None:
    asked = [Package("python", "pydantic-settings", "0"), Package("python", "not-here", "0")]
    [found] = InstalledDescriber().describe(asked)
    assert set(found) == {asked[0]} and "\n" not in found[asked[0]]
    assert list(InstalledDescriber().describe([Package("ruby", "pydantic")])) == []


def test_without_the_courses_table_installed_packages_are_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image has the library alone, and no data."""
    asked = [Package("python", "rich"), Package("ruby", "rspec-core")]
    both = [package for found in offline_describer().describe(asked) for package in found]
    assert sorted(both) == asked
    monkeypatch.setenv("COURSE_ROOT", str(tmp_path))
    [found] = offline_describer().describe(asked)
    assert set(found) == {asked[0]}
