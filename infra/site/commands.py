"""The help of all commands as pages of the site: one for each group of `course --help`.

typer itself writes the Markdown, as its `typer … utils docs` does.
"""

from __future__ import annotations

import re
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

from course_lib.cli.commands import COMMANDS, Commands, build_app

HEAD = """\
# Commands: {title}

What `course COMMAND --help` says. [All commands](all.md).

"""

ALL = """\
# All commands

`course` is in `.venv/bin` (`.venv\\Scripts` on Windows).
[Using what you have built](../../infra/site/using.md) has examples.
"""


def write_commands(folder: Path) -> None:
    """Write a page for each group of commands, and one that lists them all.

    Parameters
    ----------
    folder
        Where the pages are written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    course = build_app()
    context = typer.Context(course, info_name="course")
    listed = ALL
    for panel, commands in COMMANDS.items():
        title = "the database" if panel == "Commands" else panel.lower()
        page = re.sub(r"\W+", "-", title)
        listed += f"\n## {title.capitalize()}\n\n| command | what it does |\n|---|---|\n"
        text = HEAD.format(title=title)
        for name in commands:
            command = course.load(name)
            parts = command.commands if isinstance(command, Commands) else {}
            for part in parts:
                command.load(part)
            text += get_docs_for_click(obj=command, ctx=context, indent=1, call_prefix="course")
            for one in parts.values():  # whose sentences typer cuts
                text = text.replace(
                    f": {one.get_short_help_str()}\n", f": {one.get_short_help_str(200)}\n"
                )
            said = command.get_short_help_str(limit=200).replace("*", r"\*")
            listed += f"| [`course {name}`]({page}.md#course-{name}) | {said} |\n"
        text = text.replace("* `--help`: Show this message and exit.\n", "")
        text = text.replace("**Options**:\n\n\n", "")  # where there was no other
        text = re.sub(
            r"^Example: (.+?)(?=, and then|$)", r"Example: `\1`", text, flags=re.MULTILINE
        )
        (folder / f"{page}.md").write_text(text, encoding="utf-8")
    (folder / "all.md").write_text(listed, encoding="utf-8")
