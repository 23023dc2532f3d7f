"""Stage 4: sources in, index up to date: plan, load, embed, write.

Each name is imported when it is first asked for: the image that splits has neither the database nor
the model.
"""

from typing import TYPE_CHECKING

from course_lib import import_when_asked

if TYPE_CHECKING:
    from course_lib.indexing.directory import IngestReport, ingest
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
else:
    __getattr__ = import_when_asked(
        __name__,
        {
            "directory": ["IngestReport", "ingest"],
            "options": ["IngestOptions"],
            "plan": ["Plan", "make_plan"],
            "source_files": [
                "SourceFile",
                "TenantReport",
                "ingest_source_files",
                "ingest_tenant_file",
            ],
            "staged": ["LoadReport", "embed_directory", "load_directory"],
            "update": ["UpdateReport", "update_source"],
        },
    )

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
