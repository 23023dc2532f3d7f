"""A kernel within the fence: `FencedProvisioner` starts it, and what has not been told so refuses.

Its sockets were opened outside, so that no folder of the machine can be written in here.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from course_lib.teaching.grade.inside.limits import become, limit_process

CONNECTION = Path("/connection.json")
"""Where the fence shows Jupyter's connection file."""

OWN_CONNECTION = Path("/tmp/connection.json")

STACK = 8 << 20
"""Bytes of a thread's; as many as the limit of a stack has, a hundred would fill the memory."""


def main(about: str, *options: str) -> None:
    """Turn into a nameless user with limits, and be a kernel.

    Parameters
    ----------
    about
        JSON of the user's number, its limits, and the descriptors of the sockets by their ports.
    options
        Of ipykernel.
    """
    if not about.startswith("{"):
        sys.exit("This kernel runs within the fence, and its Jupyter does not start it there.")
    given = json.loads(about)
    connection = CONNECTION.read_bytes()  # as long as we may
    become(given["user"])
    os.chdir("/tmp")
    os.environ.pop("MPLBACKEND")  # a kernel shows its figures
    OWN_CONNECTION.write_bytes(connection)
    limit_process(**given["limits"])
    threading.stack_size(STACK)
    import zmq
    from ipykernel.kernelapp import IPKernelApp

    bind = zmq.Socket.bind

    def bind_given(socket: Any, address: str) -> Any:
        if address.startswith("ipc:"):
            socket.set(zmq.USE_FD, given["sockets"][address.rpartition("-")[2]])
        return bind(socket, address)

    vars(zmq)["Socket"].bind = bind_given
    IPKernelApp.launch_instance(argv=[f"--f={OWN_CONNECTION}", *options])


if __name__ == "__main__":
    main(*sys.argv[1:])
