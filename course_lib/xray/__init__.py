"""Repository X-Ray: lock files go in, the packages that an instruction is about come out."""

from course_lib.xray.descriptions import (
    InstalledDescriber,
    TableDescriber,
    offline_describer,
)
from course_lib.xray.generation import generation_prompt
from course_lib.xray.packages import LANGUAGES, Package
from course_lib.xray.scanning import LockFiles, find_lock_files
from course_lib.xray.suggestions import Suggestions, suggest
from course_lib.xray.syncing import (
    SyncReport,
    forget_project,
    sync_packages,
    sync_project,
)
from course_lib.xray.tables import create_tables, drop_tables

__all__ = [
    "LANGUAGES",
    "InstalledDescriber",
    "LockFiles",
    "Package",
    "Suggestions",
    "SyncReport",
    "TableDescriber",
    "create_tables",
    "drop_tables",
    "find_lock_files",
    "forget_project",
    "generation_prompt",
    "offline_describer",
    "suggest",
    "sync_packages",
    "sync_project",
]
