"""Stage 4: sources in, index up to date: plan, load, embed, write."""

from course_lib.indexing.directory import IngestReport, ingest
from course_lib.indexing.plan import Plan, make_plan
from course_lib.indexing.source_files import (
    TenantReport,
    ingest_source_files,
    ingest_tenant_file,
)
from course_lib.indexing.staged import embed_directory, load_directory
from course_lib.loader.splitting import IngestOptions

__all__ = [
    "IngestOptions",
    "IngestReport",
    "Plan",
    "TenantReport",
    "embed_directory",
    "ingest",
    "ingest_source_files",
    "ingest_tenant_file",
    "load_directory",
    "make_plan",
]
