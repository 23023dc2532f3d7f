"""What is known about the embedded server: `Server`, written down in `server.json`.

The file holds the superuser's password and is readable by its owner alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from course_lib.store.place import write_private


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server.

    Attributes
    ----------
    host, port
        Where it listens: always the loopback interface.
    socket_dir
        Folder of its unix socket; `None` on Windows.
    superuser, password
        Its administrator, whom only the course itself uses.
    pgdata
        The data directory (links resolved).
    version
        Such as `"18.4"`.
    bin_dir
        Folder of its programs, `psql` among them.
    """

    port: int
    socket_dir: Path | None
    password: str = field(repr=False)
    pgdata: Path
    version: str
    bin_dir: Path
    host: str = "127.0.0.1"
    superuser: str = "postgres"

    def url(
        self, dbname: str = "postgres", user: str | None = None, password: str | None = None
    ) -> str:
        """Return a connection URL, the superuser's unless `user` and `password` are given.

        Examples
        --------
        >>> server = Server(5433, None, "s", Path("pgdata"), "18.4", Path("bin"))
        >>> server.url("course", "ada", "p@ss")
        'postgresql://ada:p%40ss@127.0.0.1:5433/course'
        """
        name = quote(user or self.superuser, safe="")
        secret = quote(self.password if user is None else password or "", safe="")
        return f"postgresql://{name}:{secret}@{self.host}:{self.port}/{quote(dbname, safe='')}"


def read_facts(state: Path) -> Server | None:
    """Return what the last start wrote down; `None` where nothing can be understood."""
    try:
        facts = json.loads((state / "server.json").read_text(encoding="utf-8"))
        return Server(
            port=int(facts["port"]),
            socket_dir=Path(facts["socket_dir"]) if facts["socket_dir"] else None,
            password=str(facts["password"]),
            pgdata=Path(facts["pgdata"]),
            version=str(facts["version"]),
            bin_dir=Path(facts["bin_dir"]),
        )
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None


def write_facts(state: Path, server: Server) -> None:
    """Write down what `read_facts` gives back."""
    facts = {
        "port": server.port,
        "socket_dir": str(server.socket_dir) if server.socket_dir else None,
        "password": server.password,
        "pgdata": str(server.pgdata),
        "version": server.version,
        "bin_dir": str(server.bin_dir),
    }
    write_private(state / "server.json", json.dumps(facts, indent=1) + "\n")
