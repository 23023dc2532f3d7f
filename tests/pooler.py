"""A PgBouncer of a test's own before the embedded server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from course_lib.store.urls import url_for


@contextmanager
def pgbouncer(url: str, **settings: str) -> Iterator[str]:
    """Start a PgBouncer for one login; yield the URL that leads through it.

    Parameters
    ----------
    url
        A database, its user and its password.
    settings
        Of PgBouncer, beside where it listens; without them its defaults hold.
    """
    parts = conninfo_to_dict(url)
    folder = Path(tempfile.mkdtemp(prefix="course-pooler-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    lines = {
        "listen_addr": "127.0.0.1",
        "listen_port": str(port),
        "unix_socket_dir": "",
        "auth_type": "scram-sha-256",
        "auth_file": f"{folder}/users",
        **settings,
    }
    (folder / "users").write_text(f'"{parts["user"]}" "{parts["password"]}"\n', encoding="utf-8")
    (folder / "ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={parts['port']}\n[pgbouncer]\n"
        + "".join(f"{name} = {value}\n" for name, value in lines.items()),
        encoding="utf-8",
    )
    command = ["pgbouncer", "-q", str(folder / "ini")]
    if os.geteuid() == 0:  # as which it does not run
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, "nobody")
        command[1:1] = ["-u", "nobody"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait_for(port, process, folder / "log")
        yield url_for(url, str(parts["dbname"])).replace(f":{parts['port']}/", f":{port}/")
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                raise AssertionError(log.read_text(encoding="utf-8")) from None
            time.sleep(0.05)
