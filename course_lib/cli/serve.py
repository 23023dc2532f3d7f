"""Commands of the retrieval API: run it, and make keys for it."""

from __future__ import annotations

import ipaddress
import logging
from dataclasses import replace
from typing import Annotated

import typer

from course_lib.cli.options import Json
from course_lib.cli.printing import say, show_report
from course_lib.errors import InputError
from course_lib.settings import settings


def serve(
    host: str = "127.0.0.1", port: Annotated[int, typer.Option(min=0, max=65535)] = 8000
) -> None:
    """Run the retrieval API and its search page; Ctrl-C ends it.

    Example: course serve --port 8080, and then open http://127.0.0.1:8080/

    Parameters
    ----------
    host
        Address to listen on.
    port
        Port; 0 takes a free one.
    """
    from course_lib.service import ServiceConfig, create_app
    from course_lib.service.run import run

    config = ServiceConfig.from_settings()
    address = _address(host)
    if not config.key_required and not address.is_loopback:
        say(
            f"Whoever reaches {host}:{port} can read all that is public and all of "
            f"{config.tenant}'s. RAG_API_KEY_REQUIRED=1 asks for a key."
        )
    if not address.is_unspecified:
        config = replace(config, hosts=(*config.hosts, f"[{host}]" if ":" in host else host))
    elif not config.hosts:
        say("It answers as localhost alone: RAG_API_HOSTS takes its other names and addresses.")
    # Of each request uvicorn writes a line.
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # /ready says it once, and without SQL
    run(create_app(config), host, port, settings().api_proxies)


def api_key(tenant: str, as_json: Json = False) -> None:
    """Make an API key: the key goes to the client, its digest into RAG_API_KEYS.

    The key itself is kept nowhere.

    Parameters
    ----------
    tenant
        Whose documents the key opens.
    """
    from course_lib.service import new_key
    from course_lib.service.config import key_digest

    key = new_key(tenant)
    entry = f"{tenant}:{key_digest(key)}"
    lines = [
        f"key, for the client (shown once):  {key}",
        f"entry, for the service:            RAG_API_KEYS={entry}",
    ]
    show_report({"tenant": tenant, "key": key, "entry": entry}, lines, as_json=as_json)
    if not as_json:
        say("Separate several entries by commas.")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise InputError(
            f"{host!r} is not an address to listen on",
            hint="127.0.0.1 is this machine, 0.0.0.0 all.",
        ) from None
