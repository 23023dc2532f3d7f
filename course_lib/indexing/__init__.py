"""Stage 4: sources in, index up to date: plan, load, embed, write."""

from course_lib.indexing.ingest import IngestReport, ingest
from course_lib.indexing.options import IngestOptions
from course_lib.indexing.plan import Plan, make_plan
from course_lib.indexing.source_files import (
    SourceFile,
    TenantReport,
    ingest_source_files,
    ingest_tenant_file,
)
from course_lib.indexing.staged import LoadReport, embed_directory, load_directory
from course_lib.indexing.update import UpdateReport, update_source

__all__ = [
    "IngestOptions",
    "IngestReport",
    "LoadReport",
    "Plan",
    "SourceFile",
    "TenantReport",
    "UpdateReport",
    "embed_directory",
    "ingest",
    "ingest_source_files",
    "ingest_tenant_file",
    "load_directory",
    "make_plan",
    "update_source",
]
