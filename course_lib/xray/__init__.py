"""Repository X-Ray: lock files go in, the packages that an instruction is about come out."""

from course_lib.xray.catalogue import FillReport, backfill
from course_lib.xray.descriptions import (
    FirstDescriber,
    InstalledDescriber,
    TableDescriber,
    offline_describer,
)
from course_lib.xray.generation import GenerationPrompt, generation_prompt
from course_lib.xray.migration import MigrationReport, migrate_reports
from course_lib.xray.packages import LANGUAGES, Package, language_of
from course_lib.xray.scanning import LockFiles, find_lock_files
from course_lib.xray.suggestions import Suggestion, Suggestions, suggest
from course_lib.xray.syncing import (
    LanguageReport,
    SyncReport,
    forget_project,
    sync_packages,
    sync_project,
)
from course_lib.xray.tables import create_tables, drop_tables

__all__ = [
    "LANGUAGES",
    "FillReport",
    "FirstDescriber",
    "GenerationPrompt",
    "InstalledDescriber",
    "LanguageReport",
    "LockFiles",
    "MigrationReport",
    "Package",
    "Suggestion",
    "Suggestions",
    "SyncReport",
    "TableDescriber",
    "backfill",
    "create_tables",
    "drop_tables",
    "find_lock_files",
    "forget_project",
    "generation_prompt",
    "language_of",
    "migrate_reports",
    "offline_describer",
    "suggest",
    "sync_packages",
    "sync_project",
]
