"""One submission in a kernel of its own, started from nothing: the reference for the warm way.

`python -m course_lib.teaching.grade.inside.cold` starts the kernel, passes on what the grader
orders and what the kernel puts out, and ends when either of them is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import socket
import sys
import time
from queue import Empty
from typing import Any

from course_lib.teaching.grade.inside.channel import Channel, Closed
from course_lib.teaching.grade.inside.kernel import SECRET
from course_lib.teaching.grade.inside.limits import become, limit_process
from course_lib.teaching.grade.inside.streams import PRINTED

KEPT = ("stream", "display_data", "execute_result", "error")


def main() -> int:
    """Serve the grader until it hangs up or the kernel dies."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, default=-1)
    parser.add_argument("--port", type=int, default=0, help="where sockets cannot be inherited")
    parser.add_argument("--user", type=int, default=0)
    parser.add_argument("--cwd", default="")
    given = parser.parse_args()
    if given.port:
        sock = socket.create_connection(("127.0.0.1", given.port))
    else:
        sock = socket.socket(fileno=given.fd)
    channel = Channel(sock)
    become(given.user)
    if given.cwd:
        os.chdir(given.cwd)
    with contextlib.suppress(Closed):
        order = channel.receive()
        limits = order["limits"]
        limit_process(
            memory=limits["memory"],
            seconds=limits["seconds"],
            processes=limits["processes"],
            file_size=limits["file_size"],
        )
        kernel = Kernel()
        try:
            share = {name: order[name] for name in ("lab", "solution", "database")}
            kernel.order({"do": "share", **share})
            channel.send({"ready": {}})
            serve(kernel, channel)
        finally:
            kernel.stop()
    return 0


def serve(kernel: Kernel, channel: Channel) -> None:
    """Pass on orders and what comes of them."""
    while True:
        order = channel.receive()
        if order["do"] == "cell":
            channel.send({"reply": kernel.cell(order["source"], channel)})
            continue
        told = kernel.order(order)
        for message in told["messages"]:
            channel.send(message)
        for audit in told["audits"]:
            channel.send({"audit": audit})
        if order["do"] not in ("fix", "database"):
            channel.send({"reply": told["result"]})


class Kernel:
    """A kernel and the connection to it."""

    def __init__(self) -> None:
        from jupyter_client.manager import KernelManager

        self.secret = secrets.token_hex(16)
        self.manager = KernelManager()
        spec: Any = self.manager.kernel_spec
        spec.argv = [
            sys.executable,
            "-m",
            "course_lib.teaching.grade.inside.kernel",
            "-f",
            "{connection_file}",
        ]
        self.manager.start_kernel(env={**os.environ, SECRET: self.secret})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def order(self, order: dict[str, Any]) -> dict[str, Any]:
        """Have the kernel do something of the grader's, and return what it told."""
        number = self.client.execute(self.secret + json.dumps(order), store_history=False)
        content = self._reply(number, None)
        told: dict[str, Any] = content["user_expressions"]["grading"]
        return told

    def cell(self, source: str, channel: Channel) -> dict[str, Any]:
        """Execute a cell, pass on its outputs, and return how it ended."""
        number = self.client.execute(source, store_history=False, allow_stdin=False)
        content = self._reply(number, channel)
        return {
            "status": content["status"],
            "ename": str(content.get("ename", "")),
            "evalue": str(content.get("evalue", "")),
        }

    def stop(self) -> None:
        """End the kernel."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def _reply(self, number: str, channel: Channel | None) -> dict[str, Any]:
        content, idle, left = None, False, PRINTED
        while content is None or not idle:
            with contextlib.suppress(Empty):
                message = self.client.get_iopub_msg(timeout=0.05 if content is None else 0.5)
                if message["parent_header"].get("msg_id") != number:
                    continue
                kind, inner = message["msg_type"], message["content"]
                if kind == "status":
                    idle = inner["execution_state"] == "idle"
                elif channel is not None and kind in KEPT:
                    if kind == "stream":
                        inner["text"] = inner["text"][: max(0, left)]
                        left -= len(inner["text"])
                    if kind != "stream" or inner["text"]:
                        channel.send({"message": {"msg_type": kind, "content": _plain(inner)}})
                continue
            with contextlib.suppress(Empty):
                reply = self.client.get_shell_msg(timeout=0)
                if reply["parent_header"].get("msg_id") == number:
                    content, quiet = reply["content"], time.monotonic()
            if not self.manager.is_alive():
                raise Closed
            if content is not None and time.monotonic() - quiet > 5:
                break  # the learner's code has cut the kernel's own wires
        return dict(content)


def _plain(content: dict[str, Any]) -> dict[str, Any]:
    """Return a message's content as JSON would give it back."""
    plain: dict[str, Any] = json.loads(json.dumps(content, default=str))
    return plain


if __name__ == "__main__":
    sys.exit(main())
