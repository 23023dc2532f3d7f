"""The compose file: valid by its schema, one database, the retriever only when asked for."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg.conninfo
import yaml

from course_lib import __version__
from course_lib.cli.course import up

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "infra" / "docker-compose.yml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]


def check(file: Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("check-jsonschema", path=str(Path(sys.executable).parent))
    assert program, "run `make setup`"
    return subprocess.run(
        [program, "--builtin-schema", "vendor.compose-spec", str(file)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_file_is_valid_by_the_schema_of_compose(tmp_path: Path) -> None:
    done = check(FILE)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "compose.yml"
    text = FILE.read_text(encoding="utf-8")
    wrong.write_text(text.replace("depends_on:", "depends:"), encoding="utf-8")
    assert check(wrong).returncode != 0


def test_every_file_that_it_names_is_there() -> None:
    build = SERVICES["retriever"]["build"]
    context = FILE.parent / build["context"]
    assert context.resolve() == ROOT and (context / build["dockerfile"]).is_file()
    for service in SERVICES.values():
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert not source.startswith(".") or (FILE.parent / source).is_file()
    named = yaml.safe_load(FILE.read_text(encoding="utf-8"))["volumes"]
    mounted = {volume.partition(":")[0] for one in SERVICES.values() for volume in one["volumes"]}
    assert set(named) == {source for source in mounted if not source.startswith(".")}


def test_make_up_starts_the_database_alone() -> None:
    assert up.__doc__ and "PostgreSQL" in up.__doc__
    started = [name for name, service in SERVICES.items() if not service.get("profiles")]
    assert started == ["postgres"]
    assert SERVICES["retriever"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}


def test_the_retriever_finds_the_database_that_the_file_describes() -> None:
    url = SERVICES["retriever"]["environment"]["DATABASE_URL"]
    given = SERVICES["postgres"]["environment"]
    assert psycopg.conninfo.conninfo_to_dict(url) == {
        "host": "postgres",
        "port": "5432",
        "user": given["POSTGRES_USER"],
        "password": given["POSTGRES_PASSWORD"],
        "dbname": given["POSTGRES_DB"],
    }


def test_nothing_listens_beyond_this_machine() -> None:
    published = [port for service in SERVICES.values() for port in service["ports"]]
    assert published == ["127.0.0.1:5432:5432", "127.0.0.1:8000:8000"]


def test_the_retriever_writes_to_its_volume_alone_and_has_no_rights() -> None:
    service = SERVICES["retriever"]
    assert service["image"] == f"rag-retriever:{__version__}"
    assert service["read_only"] is True and service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    text = (ROOT / "infra" / "docker" / "retriever.Dockerfile").read_text(encoding="utf-8")
    (volume,) = service["volumes"]
    assert f"COURSE_STATE={volume.partition(':')[2]}" in text.split()
    assert "entrypoint" not in service and "command" not in service


def test_the_database_is_the_same_in_docker_and_in_the_cluster() -> None:
    text = (ROOT / "infra" / "k8s" / "base" / "postgres.yaml").read_text(encoding="utf-8")
    assert f"image: {SERVICES['postgres']['image']}\n" in text
