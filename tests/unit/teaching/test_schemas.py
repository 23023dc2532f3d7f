"""Schemas of exercise 6.1 that are right and look otherwise than the course's."""

import pytest

from course_lib.store.schema import SCHEMA
from course_lib.teaching import Lab
from course_lib.teaching.checks import load
from course_lib.teaching.lab.checking import run_check

CHECK = "    CHECK (vector_norm(embedding) > 0),\n"
DEFAULT = "CREATE TABLE document_chunks_default        PARTITION OF document_chunks DEFAULT;"
FIRST = "CREATE TABLE document_chunks_documentation"


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab("06")


@pytest.mark.parametrize(
    "changes",
    [
        {CHECK: f"    language text NOT NULL DEFAULT 'en',\n{CHECK}"},
        {CHECK: f"    size integer GENERATED ALWAYS AS (length(content)) STORED,\n{CHECK}"},
        {CHECK: f"    -- no direction; isn't it?\n{CHECK}"},
        {"    PRIMARY KEY (partition, tenant_id, repo_slug, branch, document_name, chunk_index)":
         '    CONSTRAINT "my key" PRIMARY KEY (chunk_index, document_name, "branch", repo_slug, '
         "tenant_id, partition)"},
        {DEFAULT: DEFAULT.rstrip(";")},
        {DEFAULT: "", FIRST: f"{DEFAULT}\n{FIRST}"},
        {"CREATE TABLE document_chunks": "CREATE TABLE IF NOT EXISTS {schema}.document_chunks"},
    ],
    ids=["default", "generated", "comment", "key", "no last semicolon", "default first", "schema"],
)  # fmt: skip
def test_a_right_schema_passes_however_it_is_written(lab: Lab, changes: dict[str, str]) -> None:
    text = SCHEMA
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    run_check(load("06")["6.1"], text, connect=lab.connect)
