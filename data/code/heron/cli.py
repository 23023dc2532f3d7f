"""The command line of the platform: `python -m heron.cli --help`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from heron import __version__
from heron.config import ConfigError, describe, load_settings, read_views
from heron.drift import stability_index
from heron.scaffold import write_step

Command = Callable[[argparse.Namespace], int]
COMMANDS: dict[str, Command] = {}


def command(function: Command) -> Command:
    """Make a function a subcommand, under its own name with dashes."""
    COMMANDS[function.__name__.replace("_", "-")] = function
    return function


@command
def show_config(_: argparse.Namespace) -> int:
    """Print the settings in force, without passwords."""
    print(describe(load_settings()))
    return 0


@command
def check_views(arguments: argparse.Namespace) -> int:
    """Read feature definitions and fail where two views share a column."""
    owner: dict[str, str] = {}
    status = 0
    for view in read_views(arguments.path):
        for column in view.columns:
            if column in owner:
                print(f"{column}: in {owner[column]} and in {view.name}", file=sys.stderr)
                status = 1
            owner.setdefault(column, view.name)
    return status


@command
def new_step(arguments: argparse.Namespace) -> int:
    """Write the skeleton of a feature step."""
    for path in write_step(arguments.name, arguments.summary, arguments.folder):
        print(path.as_posix())
    return 0


@command
def drift(arguments: argparse.Namespace) -> int:
    """Print the stability index of two files with one number on each line.

    The exit status is 3 at or above the limit, so that a shell script can act on it.
    """
    reference, current = (
        [float(line) for line in path.read_text(encoding="utf-8").split()]
        for path in (arguments.reference, arguments.current)
    )
    index = stability_index(reference, current)
    print(f"{index:.4f}")
    return 3 if index >= arguments.limit else 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all subcommands."""
    parser = argparse.ArgumentParser(prog="heron", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    subparsers = parser.add_subparsers(dest="command", required=True)
    added = {
        name: subparsers.add_parser(name, help=(function.__doc__ or "").split("\n")[0])
        for name, function in COMMANDS.items()
    }
    added["check-views"].add_argument("path", type=Path)
    added["new-step"].add_argument("name")
    added["new-step"].add_argument("--summary", default="Say what the step does.")
    added["new-step"].add_argument("--folder", type=Path, default=Path())
    added["drift"].add_argument("reference", type=Path)
    added["drift"].add_argument("current", type=Path)
    added["drift"].add_argument("--limit", type=float, default=0.25)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; a mistake of the user gives one line and status 2."""
    arguments = build_parser().parse_args(argv)
    try:
        return COMMANDS[arguments.command](arguments)
    except (ConfigError, OSError, ValueError) as error:
        print(f"heron: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
