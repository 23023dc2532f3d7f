"""The command that lists the settings: what each is now, and where that came from.

The same list, as comments with the defaults, is `.env.example`, which is generated from it.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from course_lib.cli.options import Json
from course_lib.cli.printing import show, show_report, styled
from course_lib.settings import Settings, project_root, read_settings, settings

EXAMPLE = ".env.example"
_FIRST_LINES = f"""\
## The settings of the course. Copy this file to .env and take the # from what you change.
## The environment goes before .env; the options of a command go before both.
## Nothing after = is the same as no line. Lines with ## are about the next setting.
## Generated: `course settings --example > {EXAMPLE}`
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A setting as it is listed.

    Attributes
    ----------
    name
        What it is called in the environment.
    default
        What it is if it is not set, as it is written in `.env`; empty for unset.
    value
        What it is now; secrets are hidden.
    origin
        ``environment``, ``.env`` or ``default``.
    description
        What it is about.
    """

    name: str
    default: str
    value: str
    origin: str
    description: str


def list_settings(example: bool = False, as_json: Json = False) -> None:
    """List all settings with their values, and where each value came from.

    Parameters
    ----------
    example
        Print .env.example instead: the defaults, as comments.
    """
    if example:
        show(example_text(), end="")
        return
    rows = setting_rows()
    show_report([asdict(row) for row in rows], _lines(rows), as_json=as_json)


def _lines(rows: list[Row]) -> Iterator[str]:
    """Yield each setting on a line of its own, and below it what it is about.

    No value is broken: it is there to be copied.
    """
    width = min(shutil.get_terminal_size().columns, 100)
    for row in rows:
        line = f"{row.name}={row.value}" if row.value else f"{row.name} unset"
        if row.origin != "default":
            line += f"  ({row.origin})"
        yield styled(line, bold=row.origin != "default")
        yield textwrap.indent(textwrap.fill(row.description, max(20, width - 4)), "    ")
    yield (f"\n.env is {project_root() / '.env'}; a value without an origin is the default")


def setting_rows() -> list[Row]:
    """Return all settings in their order: the course's, then GitHub's, then where things are.

    Raises
    ------
    InputError
        If a setting has a value that cannot be used.
    """
    from course_lib.loader.github.client import GitHubSettings

    rows = [
        _row(given, name, item)
        for given in (settings(), read_settings(GitHubSettings))
        for name, item in type(given).model_fields.items()
    ]
    return [*rows, *_place_rows()]


def _row(given: BaseSettings, name: str, item: FieldInfo) -> Row:
    from course_lib.store.urls import hide_password

    names, value = _names(item), getattr(given, name)
    shown = _written(value)
    if value and (isinstance(value, SecretStr) or not item.repr):
        shown = hide_password(shown) if names[0] == "DATABASE_URL" else "***"
    origin = "default"
    if name in given.model_fields_set:
        is_exported = set(names) & {key.upper() for key, text in os.environ.items() if text}
        origin = "environment" if is_exported else ".env"
    return Row(names[0], _written(item.default), shown, origin, _about(item))


def _names(item: FieldInfo) -> list[str]:
    """Return what a setting is called in the environment, the name to use first."""
    given = item.validation_alias
    return list(map(str, given.choices if isinstance(given, AliasChoices) else [given]))


def _about(item: FieldInfo) -> str:
    """Return what a setting is for, on one line: it is a docstring."""
    return " ".join(str(item.description).split())


def example_text() -> str:
    r"""Return the text of `.env.example`: every setting, its default, and what it is about.

    What the environment says now makes no difference.

    Examples
    --------
    >>> "# RAG_CHUNK_SIZE=512\n" in example_text()
    True
    """
    from course_lib.loader.github.client import GitHubSettings

    fields = [*Settings.model_fields.values(), *GitHubSettings.model_fields.values()]
    entries = (f"## {_about(one)}\n# {_names(one)[0]}={_written(one.default)}\n" for one in fields)
    return "\n".join((_FIRST_LINES, *entries))


def _written(value: Any) -> str:
    """Return a value as it is written in `.env`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(value) if isinstance(value, tuple) else str(value)


_PLACES = {
    "COURSE_ROOT": "what holds labs/ and data/; unset: the checkout, else the current folder",
    "COURSE_STATE": "folder for what the course makes itself; unset: .course below COURSE_ROOT",
    "COURSE_MODELS": "folder for models converted for OpenVINO; unset: models in COURSE_STATE",
}
"""Read from the environment alone: they say where `.env` is."""


def _place_rows() -> Iterator[Row]:
    for name, description in _PLACES.items():
        given = os.environ.get(name, "")
        origin = "environment" if given else "default"
        note = f"{description} (from the environment alone)"
        yield Row(name, "", str(Path(given)) if given else "", origin, note)
