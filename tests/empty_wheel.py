"""A wheel without a module: pip installs it in place of a package that is large."""

import zipfile
from pathlib import Path


def write_empty_wheel(folder: Path, name: str, version: str) -> None:
    """Write the wheel, for every Python and machine, into a folder that pip can take it from."""
    described = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        wheel.writestr(f"{described}/METADATA", metadata)
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{described}/WHEEL", tags)
        wheel.writestr(f"{described}/RECORD", "")
