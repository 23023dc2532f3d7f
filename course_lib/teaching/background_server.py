"""An ASGI app on ports of this machine, served by uvicorn in a thread that ends with the process.

The local GitHub and the lab about the API are served by it.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from course_lib.errors import CourseError
from course_lib.service.run import listen

if TYPE_CHECKING:
    from starlette.types import ASGIApp

TIMEOUT_SECONDS = 60.0
"""For an app to start, or to end."""


class BackgroundServer:
    """Serves an app from the moment when it is made until `stop`.

    Parameters
    ----------
    app
        An ASGI app, such as one of Starlette or FastAPI.
    ports
        Where it listens on the loopback interface; 0 takes a free port.
    options
        Further options of `uvicorn.Config`.

    Attributes
    ----------
    ports
        The ports that were taken, in the order in which they were asked for.

    Raises
    ------
    InputError
        If a port cannot be used.
    CourseError
        If the app does not start.
    """

    def __init__(self, app: ASGIApp, ports: Sequence[int] = (0,), **options: Any) -> None:
        import uvicorn

        log = logging.getLogger("uvicorn")
        if not log.handlers:
            # A notebook shows what fails on purpose; the standard error need not.
            log.addHandler(logging.NullHandler())
        listeners = [listen("127.0.0.1", port) for port in ports]
        self.ports = [listener.getsockname()[1] for listener in listeners]
        self._server = uvicorn.Server(
            uvicorn.Config(app, interface="asgi3", log_config=None, access_log=False, **options)
        )

        def run() -> None:
            with suppress(SystemExit):  # uvicorn raises it where an app does not start
                asyncio.run(self._server.serve(sockets=listeners))

        self._thread = threading.Thread(target=run, name="server", daemon=True)
        self._thread.start()
        atexit.register(self.stop)
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.stop()
                raise CourseError(
                    "the app does not start",
                    hint="What its lifespan does before `yield` has failed.",
                )
            time.sleep(0.005)

    def stop(self) -> None:
        """End the serving; calling it twice does no harm."""
        self._server.should_exit = True
        self._thread.join(TIMEOUT_SECONDS)
        atexit.unregister(self.stop)
