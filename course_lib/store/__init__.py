"""Stage 3: PostgreSQL with pgvector: server, databases, schema, and rows written as a whole.

Each name is imported when it is first asked for: a search connects and asks, and needs nothing of
what makes databases, writes rows or restores backups.
"""

from typing import TYPE_CHECKING

from course_lib import import_when_asked

if TYPE_CHECKING:
    from course_lib.store.backup import BackupReport, backup_lines, restore
    from course_lib.store.connections import connect
    from course_lib.store.databases import default_url, fresh_database
    from course_lib.store.roles import service_url
    from course_lib.store.schema import create_schema, drop_schema
    from course_lib.store.server import ensure_server, server_status, stop_server
    from course_lib.store.tenancy import as_tenant
    from course_lib.store.vector_indexes import build_vector_indexes
    from course_lib.store.writer import (
        WriteReport,
        delete_documents,
        stored_documents,
        write_chunks,
        write_documents,
    )
else:
    __getattr__ = import_when_asked(
        __name__,
        {
            "backup": ["BackupReport", "backup_lines", "restore"],
            "connections": ["connect"],
            "databases": ["default_url", "fresh_database"],
            "roles": ["service_url"],
            "schema": ["create_schema", "drop_schema"],
            "server": ["ensure_server", "server_status", "stop_server"],
            "tenancy": ["as_tenant"],
            "vector_indexes": ["build_vector_indexes"],
            "writer": [
                "WriteReport",
                "delete_documents",
                "stored_documents",
                "write_chunks",
                "write_documents",
            ],
        },
    )

__all__ = [
    "BackupReport",
    "WriteReport",
    "as_tenant",
    "backup_lines",
    "build_vector_indexes",
    "connect",
    "create_schema",
    "default_url",
    "delete_documents",
    "drop_schema",
    "ensure_server",
    "fresh_database",
    "restore",
    "server_status",
    "service_url",
    "stop_server",
    "stored_documents",
    "write_chunks",
    "write_documents",
]
