"""Wrong versions that a learner of lab 06 would plausibly write."""

import re
from types import FunctionType

import psycopg

from course_lib.store.schema import SCHEMA
from course_lib.store.writer import UPSERT_CHUNK, replace_document
from tests.unit.teaching.edits import edits

KEY = "PRIMARY KEY (partition, tenant_id, repo_slug, branch, document_name, chunk_index)"
CHECK = "    CHECK (vector_norm(embedding) > 0),\n"
DEFAULT = "CREATE TABLE document_chunks_default        PARTITION OF document_chunks DEFAULT;"
UPSERT = " ".join(UPSERT_CHUNK.split())
WHERE = UPSERT[UPSERT.index("WHERE (old") :]
OLD_FOR_NULL = "coalesce(excluded.namespace, old.namespace)"
GIVEN = WHERE[WHERE.index("FROM (excluded") :]
SET_TO = UPSERT[UPSERT.index("= (excluded") : UPSERT.index(" WHERE")]

YOURS = SCHEMA.index("    CHECK (vector"), SCHEMA.index("CREATE TABLE document_chunks_doc")
STUBS = {
    "6.1": f"{SCHEMA[: YOURS[0]]}-- YOUR SQL HERE\n{SCHEMA[YOURS[1] :]}".replace(
        DEFAULT, "-- YOUR SQL HERE"
    ),
    "6.2": re.sub(
        r"^(ON CONFLICT.*\n.*|WHERE\n(.*\n){2}IS DISTINCT FROM)$",
        "-- YOUR SQL HERE",
        UPSERT_CHUNK,
        flags=re.MULTILINE,
    ),
}


# --- 6.3 replace_document ---


def _write(conn, rows):
    return sum(conn.execute(UPSERT_CHUNK, row).rowcount for row in rows)


OF_THE_DOCUMENT = (
    "(partition, tenant_id, repo_slug, branch, document_name) = (%(partition)s, %(tenant_id)s, "
    "%(repo_slug)s, %(branch)s, %(document_name)s)"
)


def _delete(conn, document, rows):
    kept = {"kept": [row["chunk_index"] for row in rows], **document}
    stale = f"DELETE FROM document_chunks WHERE {OF_THE_DOCUMENT} AND chunk_index <> ALL(%(kept)s)"
    return conn.execute(stale, kept).rowcount


def _replaces(conn, document, rows):
    with conn.transaction(), conn.cursor() as cursor:
        cursor.executemany(UPSERT_CHUNK, rows)
        return cursor.rowcount, _delete(conn, document, rows)


BROKEN = {"UPSERT_CHUNK": UPSERT_CHUNK.replace("= (excluded", "(excluded")}
runs_a_broken_upsert = FunctionType(_replaces.__code__, globals() | BROKEN, "runs_a_broken_upsert")


def deletes_after_the_transaction(conn, document, rows):
    with conn.transaction():
        written = _write(conn, rows)
    return written, _delete(conn, document, rows)


def closes_the_connection(conn, document, rows):
    with conn:
        written = _write(conn, rows)
        return written, _delete(conn, document, rows)


def has_a_transaction_a_row(conn, document, rows):
    written = 0
    for row in rows:
        with conn.transaction():
            written += _write(conn, [row])
    return written, _delete(conn, document, rows)


def swallows_the_error(conn, document, rows):
    try:
        with conn.transaction():
            written = _write(conn, rows)
            return written, _delete(conn, document, rows)
    except Exception:
        return 0, 0


def raises_another_exception(conn, document, rows):
    try:
        return replace_document(conn, document, rows)
    except psycopg.Error as error:
        raise ValueError("the document was not written") from error


def rolls_everything_back(conn, document, rows):
    try:
        return replace_document(conn, document, rows)
    except Exception:
        conn.rollback()
        raise


def commits_what_it_did(conn, document, rows):
    found = replace_document(conn, document, rows)
    if not conn.autocommit:
        conn.commit()
    return found


def sorts_the_caller_s_rows(conn, document, rows):
    rows.sort(key=lambda row: row["chunk_index"])
    return replace_document(conn, document, rows)


def leaves_its_transaction_open(conn, document, rows):
    conn.execute("BEGIN")
    written = _write(conn, rows)
    deleted = _delete(conn, document, rows)
    conn.execute("COMMIT")
    return written, deleted


def commits_for_its_caller(conn, document, rows):
    conn.execute("BEGIN")
    try:
        written = _write(conn, rows)
        deleted = _delete(conn, document, rows)
    except Exception:
        conn.execute("ROLLBACK")
        raise
    conn.execute("COMMIT")
    return written, deleted


EVERY_COLUMN = "(partition, tenant_id, repo_slug, branch, document_name)"
EVERY_VALUE = "(%(partition)s, %(tenant_id)s, %(repo_slug)s, %(branch)s, %(document_name)s)"

MUTANTS = {
    "6.1": edits(
        SCHEMA,
        has_no_key=(f",\n    {KEY} -> ", "a.md has a chunk 0 already"),
        keys_the_document=(
            ", chunk_index)\n) PARTITION -> )\n) PARTITION", "a document has more than one chunk",
        ),
        forgets_the_branch=(
            "branch, document_name, chunk_index -> document_name, chunk_index",
            "another branch has an a.md",
        ),
        forgets_the_repository=(
            "tenant_id, repo_slug, branch, document_name, -> tenant_id, branch, document_name,",
            "another repository has an a.md",
        ),
        forgets_the_tenant=(
            "KEY (partition, tenant_id -> KEY (partition", "another tenant has an a.md",
        ),
        forgets_the_partition=("KEY (partition, -> KEY (", "has to contain `partition`"),
        keys_the_text=(
            "document_name, chunk_index)\n -> document_name, chunk_index, content_hash)\n",
            "a new edition of it is the same row",
        ),
        makes_it_unique=("PRIMARY KEY -> UNIQUE", "not merely UNIQUE"),
        takes_zeros=(f"{CHECK} -> ", "has no direction, so it has no cosine"),
        wants_length_one=(
            "vector_norm(embedding) > 0 -> vector_norm(embedding) BETWEEN 0.9 AND 1.1",
            "a chunk of partition 'documentation'",
        ),
        wants_positive_numbers=(
            "vector_norm(embedding) > 0 -> embedding > '[0,0,0]'", "it has a direction",
        ),
        knows_only_three_dimensions=(
            "vector_norm(embedding) > 0 -> embedding <> '[0,0,0]'",
            "another model has vectors of another length",
        ),
        forgets_the_default=(f"{DEFAULT} -> ", "such rows need a DEFAULT partition"),
        forgets_the_notebooks=(
            "CREATE TABLE document_chunks_code_notebooks PARTITION OF document_chunks "
            "FOR VALUES IN ('code_notebooks'); -> ",
            "document_chunks_code_notebooks: five names have a table of their own",
        ),
        swaps_two_partitions=(
            "IN ('issues') -> IN ('x')", "IN ('documentation') -> IN ('issues')",
            "IN ('x') -> IN ('documentation')", "rows of partition 'documentation'",
        ),
        calls_the_partitions_otherwise=(
            "TABLE document_chunks_issues -> TABLE issues", "document_chunks_issues: five names",
        ),
        is_not_partitioned=(
            " PARTITION BY LIST (partition) -> ", "a statement that PostgreSQL accepts",
        ),
        partitions_by_the_repository=(
            "LIST (partition) -> LIST (repo_slug)", "rows of partition 'documentation' are in",
        ),
        partitions_by_hash=("LIST (partition) -> HASH (partition)", "PostgreSQL accepts"),
        builds_the_index_at_once=(
            f"{DEFAULT} -> {DEFAULT}\nCREATE INDEX ON document_chunks "
            "USING hnsw (embedding vector_cosine_ops);",
            "a vector index is built when the rows are there",
        ),
        builds_cells_at_once=(
            f"{DEFAULT} -> {DEFAULT}\nCREATE INDEX ON document_chunks USING ivfflat "
            "(embedding vector_cosine_ops) WITH (lists = 5);",
            "a vector index is built when the rows are there",
        ),
        forgets_a_comma=("> 0), -> > 0)", "a statement that PostgreSQL accepts"),
        forgets_the_quotes=("IN ('issues') -> IN (issues)", "a statement that PostgreSQL accepts"),
        drops_a_column=("    namespace     text,\n -> ", "a column namespace"),
        renames_the_table=(
            "TABLE document_chunks ( -> TABLE chunks (", "OF document_chunks -> OF chunks",
            "a table named document_chunks",
        ),
        names_another_schema=(
            "TABLE document_chunks -> TABLE public.document_chunks",
            "OF document_chunks -> OF public.document_chunks", "leave the name of the schema out",
        ),
        has_three_numbers=("vector({dimension}) -> vector(4)", "expected 4 dimensions"),
    ),
    "6.2": edits(
        UPSERT,
        only_inserts=(f"{UPSERT[UPSERT.index('ON CONFLICT') :]} -> ", "duplicate key"),
        does_nothing=(
            f"{UPSERT[UPSERT.index('DO UPDATE') :]} -> DO NOTHING", "text and vector changed",
        ),
        always_writes=(f"{WHERE} -> ", "the same row is there already"),
        forgets_the_branch=(
            "branch, document_name, chunk_index) DO -> document_name, chunk_index) DO",
            "no unique or exclusion constraint",
        ),
        conflicts_on_the_document=(
            "document_name, chunk_index) DO -> document_name) DO",
            "no unique or exclusion constraint",
        ),
        keeps_the_old_moment=(
            "updated_at = now(), -> ", "an update sets updated_at to now()",
        ),
        loses_the_zone=("now() -> now() AT TIME ZONE 'utc'", "an update sets updated_at to now()"),
        sets_the_day_before=("now() -> current_date - 1", "an update sets updated_at to now()"),
        makes_a_new_id=(
            "updated_at = now(), -> updated_at = now(), id = excluded.id,",
            "an update keeps the row's id",
        ),
        forgets_the_vector=(
            "visibility, embedding) = ( -> visibility) = (",
            "excluded.visibility, excluded.embedding) WHERE -> excluded.visibility) WHERE",
            "replaces the old one",
        ),
        compares_the_texts_alone=(
            f"{WHERE} -> WHERE old.content <> excluded.content", "the vector changed",
        ),
        compares_the_hashes_alone=(
            f"{WHERE} -> WHERE old.content_hash <> excluded.content_hash",
            "text and vector changed",
        ),
        compares_by_sign=("IS DISTINCT FROM -> <>", "the commit was NULL"),
        compares_lengths=(
            "old.citation_url, old.content, -> old.citation_url, length(old.content),",
            f"{GIVEN} -> {GIVEN.replace('excluded.content,', 'length(excluded.content),')}",
            "though it is as long as before",
        ),
        compares_directions=(
            "old.visibility, old.embedding) -> "
            "old.visibility, old.embedding <=> excluded.embedding > 0)",
            f"{GIVEN} -> {GIVEN.replace('excluded.embedding', 'false')}",
            "which the cosine does not show",
        ),
        overlooks_the_metadata=(
            "old.content_hash, old.metadata, -> old.content_hash,",
            f"{GIVEN} -> {GIVEN.replace('excluded.metadata, ', '')}", "the metadata changed",
        ),
        keeps_the_old_text=(
            f"{SET_TO} -> {SET_TO.replace('excluded.content,', 'old.content,')}",
            "replaces the old one",
        ),
        takes_what_is_there_for_null=(
            f"{SET_TO} -> {SET_TO.replace('excluded.namespace', OLD_FOR_NULL)}",
            "replaces the old one",
        ),
        says_the_table_s_name=(
            "WHERE (old.commit_sha -> WHERE (document_chunks.commit_sha", "called `old`",
        ),
        counts_its_placeholders=("%(kind)s -> %s", "values are passed by name"),
    ),
    "6.3": edits(
        replace_document,
        has_no_transaction=("conn.transaction(),  -> ", "the second vector was refused"),
        deletes_by_pattern=(
            f"AND {EVERY_COLUMN}\n          = {EVERY_VALUE} -> AND partition = %(partition)s "
            "AND tenant_id = %(tenant_id)s AND repo_slug = %(repo_slug)s "
            "AND branch = %(branch)s AND document_name LIKE %(document_name)s",
            "a name is not a pattern",
        ),
        writes_the_values_into_the_statement=(
            "cursor.execute(stale,  -> cursor.execute(stale.replace('%(document_name)s', "
            "\"'\" + document['document_name'] + \"'\"), ",
            "values are parameters",
        ),
        never_deletes=(
            'cursor.execute(stale, {**document, "kept": kept}).rowcount -> 0', "chunk 2 is stale",
        ),
        deletes_from_the_number_of_rows_on=("<> ALL(%(kept)s) -> >= cardinality(%(kept)s::int[])",
                                            "chunk 1 is stale"),
        deletes_of_every_document=(
            f"\n        AND {EVERY_COLUMN}\n          = {EVERY_VALUE} -> ",
            "other documents keep their rows",
        ),
        looks_at_the_name_alone=(EVERY_COLUMN + " -> document_name", EVERY_VALUE
                                 + " -> %(document_name)s", "another partition: it is another"),
        forgets_the_branch=("repo_slug, branch, doc -> repo_slug, doc",
                            "%(branch)s,  -> ", "another branch: it is another document"),
        deletes_all_and_writes_again=(
            "chunk_index <> ALL(%(kept)s) -> %(kept)s::int[] IS NOT NULL",
            "once more changes nothing",
        ),
        counts_the_rows=("return cursor.rowcount -> return len(rows)", "once more changes nothing"),
        breaks_on_an_empty_document=(
            "    kept = [ ->     if not rows:\n        return 0, 0\n    kept = [",
            "an empty document has no chunks",
        ),
        returns_none=("return cursor.rowcount, deleted -> return None", "both rows are new"),
        forgets_the_from=("DELETE FROM -> DELETE", "PostgreSQL: syntax error"),
    )
    | {
        closes_the_connection: "leaves it open",
        deletes_after_the_transaction: "PostgreSQL refuses the DELETE: what was done",
        has_a_transaction_a_row: "the second vector was refused",
        swallows_the_error: "the caller has to get the exception",
        leaves_its_transaction_open: "a connection that can be used again",
        commits_for_its_caller: "its caller",
        raises_another_exception: "the caller has to get the exception",
        rolls_everything_back: "only the code that began a transaction may end it",
        commits_what_it_did: "only the code that began a transaction may end it",
        sorts_the_caller_s_rows: "its caller still needs it",
        runs_a_broken_upsert: 'PostgreSQL: syntax error at or near "(", in `UPSERT_CHUNK`',
    },
}  # fmt: skip
