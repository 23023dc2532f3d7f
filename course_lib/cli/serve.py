"""Commands of the retrieval API: run it, and make keys for it."""

from __future__ import annotations

import ipaddress
import json
import logging
import sys
from typing import Annotated

import typer

from course_lib.cli.data import Json
from course_lib.cli.printing import say, show, show_json
from course_lib.errors import InputError


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
) -> None:
    """Run the retrieval API and its search page; Ctrl-C ends it.

    Example: course serve --port 8080, and then open http://127.0.0.1:8080/
    """
    from course_lib.service import ServiceConfig, create_app
    from course_lib.service.run import run
    from course_lib.settings import settings

    config = ServiceConfig.from_settings()
    if not config.key_required and not _is_loopback(host):
        say(
            f"Whoever reaches {host}:{port} can read all that is public and all of "
            f"{config.tenant}'s. RAG_API_KEY_REQUIRED=1 asks for a key."
        )
    _log_lines()
    run(create_app(config), host, port, settings().api_proxies)


def api_key(
    tenant: Annotated[str, typer.Argument(help="Whose documents the key opens.")],
    as_json: Json = False,
) -> None:
    """Make an API key: the key goes to the client, its digest into RAG_API_KEYS.

    The key itself is kept nowhere.
    """
    from course_lib.service import new_key
    from course_lib.service.config import key_digest

    key = new_key(tenant)
    entry = f"{tenant}:{key_digest(key)}"
    if as_json:
        show_json(json.dumps({"tenant": tenant, "key": key, "entry": entry}))
        return
    show(f"key, for the client (shown once):  {key}")
    show(f"entry, for the service:            RAG_API_KEYS={entry}")
    say("Separate several entries by commas.")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise InputError(
            f"{host!r} is not an address to listen on",
            hint="127.0.0.1 is this machine, 0.0.0.0 all.",
        ) from None


def _log_lines() -> None:
    """Access goes to standard output, one JSON object a line; everything else to standard error."""
    access = logging.getLogger("course.access")
    access.setLevel(logging.INFO)
    access.propagate = False
    lines = logging.StreamHandler(sys.stdout)
    lines.setFormatter(logging.Formatter("%(message)s"))
    access.handlers = [lines]
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # /ready says it once, and without SQL
