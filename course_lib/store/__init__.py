"""Stage 3: PostgreSQL with pgvector: server, databases, schema, and rows written as a whole."""

from course_lib.store.connections import connect
from course_lib.store.databases import default_url, fresh_database, service_url
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

__all__ = [
    "WriteReport",
    "as_tenant",
    "build_vector_indexes",
    "connect",
    "create_schema",
    "default_url",
    "delete_documents",
    "drop_schema",
    "ensure_server",
    "fresh_database",
    "server_status",
    "service_url",
    "stop_server",
    "stored_documents",
    "write_chunks",
    "write_documents",
]
