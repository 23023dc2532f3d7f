"""The command that lists the settings: what each is now, and where that came from.

The same list, as comments with the defaults, is `.env.example`, which is generated from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic_settings import BaseSettings

from course_lib.cli.printing import show, show_json, show_styled, styled
from course_lib.settings import Settings, project_root, settings

EXAMPLE = ".env.example"
_FIRST_LINES = f"""\
# The settings of the course. Copy this file to .env and take the # from what you change.
# The environment goes before .env; the options of a command go before both.
# Generated: `course settings --example > {EXAMPLE}`
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


def list_settings(
    example: Annotated[
        bool, typer.Option("--example", help=f"Print {EXAMPLE} instead: the defaults, as comments.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for another program.")
    ] = False,
) -> None:
    """List all settings with their values, and where each value came from."""
    if example:
        show(example_text(), end="")
        return
    rows = setting_rows()
    if as_json:
        import json
        from dataclasses import asdict

        show_json(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=2))
        return
    _print_rows(rows)


def _print_rows(rows: list[Row]) -> None:
    """Print each setting on a line of its own, and below it what it is about.

    No value is broken: it is there to be copied.
    """
    import shutil
    import textwrap

    width = min(shutil.get_terminal_size().columns, 100)
    for row in rows:
        line = f"{row.name}={row.value}" if row.value else f"{row.name} unset"
        if row.origin != "default":
            line += f"  ({row.origin})"
        show_styled(styled(line, bold=row.origin != "default"))
        show(textwrap.indent(textwrap.fill(row.description, max(20, width - 4)), "    "))
    show(f"\n.env is {project_root() / '.env'}; a value without an origin is the default")


def setting_rows() -> list[Row]:
    """Return all settings in their order: the course's, then GitHub's, then where things are.

    Raises
    ------
    InputError
        If a setting has a value that cannot be used.
    """
    now = settings()
    rows = [
        Row(
            str(item.alias),
            _written(item.default),
            _shown(str(item.alias), getattr(now, name), is_secret=not item.repr),
            _origin(now, name, {str(item.alias)}),
            " ".join(str(item.description).split()),
        )
        for name, item in Settings.model_fields.items()
    ]
    return [*rows, *_github_rows(), *_place_rows()]


def _origin(given: BaseSettings, name: str, aliases: set[str]) -> str:
    """Return where a field's value comes from; `aliases` are its names in the environment."""
    if name not in given.model_fields_set:
        return "default"
    return "environment" if aliases & {key.upper() for key in os.environ} else ".env"


def example_text() -> str:
    r"""Return the text of `.env.example`: every setting, its default, and what it is about.

    What the environment says now makes no difference.

    Examples
    --------
    >>> "# RAG_CHUNK_SIZE=512\n" in example_text()
    True
    """
    from course_lib.loader.github.client import GitHubSettings

    declared = [
        (str(item.alias), item.default, " ".join(str(item.description).split()))
        for item in Settings.model_fields.values()
    ]
    for github in GitHubSettings.model_fields.values():
        default = github.default if isinstance(github.default, str) else None
        declared.append((github.alias or _TOKEN, default, str(github.description)))
    entries = (f"# {about}\n# {name}={_written(value)}\n" for name, value, about in declared)
    return "\n".join((_FIRST_LINES, *entries))


def _written(value: Any) -> str:
    """Return a value as it is written in `.env`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _shown(name: str, value: Any, is_secret: bool) -> str:
    if name == "DATABASE_URL" and value:
        from course_lib.store.urls import hide_password

        return hide_password(value)
    return "***" if is_secret and value else _written(value)


def _github_rows() -> Iterator[Row]:
    """Return GitHub's settings, which only a download reads."""
    from course_lib.loader.github.client import GitHubSettings

    given = GitHubSettings()
    for name, item in GitHubSettings.model_fields.items():
        alias = item.alias or _TOKEN
        value = getattr(given, name)
        is_secret = not isinstance(value, str)
        yield Row(
            alias,
            "" if is_secret else str(item.default),
            _shown(alias, value.get_secret_value() if is_secret else value, is_secret),
            _origin(given, name, {alias, *_OTHER_NAMES.get(alias, ())}),
            " ".join(str(item.description).split()),
        )


_TOKEN = "GITHUB_TOKEN"
_OTHER_NAMES = {_TOKEN: ("GH_TOKEN",)}

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
