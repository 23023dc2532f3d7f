"""Wrong versions that a learner of lab 06 would plausibly write."""

import re

from course_lib.store.writer import replace_document
from tests.unit.teaching.edits import edits

# --- 6.1 create_table_sql ---


def _table(table, columns, end):
    lines = [f"{name} {definition}" for name, definition in columns.items()]
    return f"CREATE TABLE {table} ({', '.join([*lines, *end])})"


def _key(names):
    return [f"PRIMARY KEY ({', '.join(names)})"]


def has_no_key(table, columns, key):
    return _table(table, columns, [])


def keys_the_first_alone(table, columns, key):
    return _table(table, columns, _key(key[:1]))


def keys_the_last_alone(table, columns, key):
    return _table(table, columns, _key(key[-1:]))


def keys_the_first_two(table, columns, key):
    return _table(table, columns, _key(key[:2]))


def keys_in_the_columns_order(table, columns, key):
    return _table(table, columns, _key([name for name in columns if name in key]))


def sorts_the_key(table, columns, key):
    return _table(table, columns, _key(sorted(key)))


def keys_every_column(table, columns, key):
    return _table(table, columns, _key(columns))


def keys_the_first_columns(table, columns, key):
    return _table(table, columns, _key(list(columns)[: len(key)]))


def has_a_key_a_column(table, columns, key):
    return _table(table, columns, [f"UNIQUE ({name})" for name in key])


def calls_it_chunks(table, columns, key):
    return _table("chunks", columns, _key(key))


def forgets_the_rules(table, columns, key):
    types = {name: definition.split()[0] for name, definition in columns.items()}
    return _table(table, types, _key(key))


def forgets_the_types(table, columns, key):
    return f"CREATE TABLE {table} ({', '.join([*columns, *_key(key)])})"


def sorts_the_columns(table, columns, key):
    return _table(table, dict(sorted(columns.items(), reverse=True)), _key(key))


def allows_null_nowhere(table, columns, key):
    strict = {name: f"{text.replace(' NOT NULL', '')} NOT NULL" for name, text in columns.items()}
    return _table(table, strict, _key(key))


def always_has_the_same_columns(table, columns, key):
    same = "document_name text NOT NULL, chunk_index integer NOT NULL, content text NOT NULL, "
    end = "embedding vector(3) NOT NULL, PRIMARY KEY (document_name, chunk_index)"
    return f"CREATE TABLE {table} ({same}{end})"


def forgets_a_comma(table, columns, key):
    return _table(table, columns, _key(key)).replace(", PRIMARY", " PRIMARY")


def writes_the_list(table, columns, key):
    return f"CREATE TABLE {table} ({', '.join(columns)}, PRIMARY KEY ({key}))"


def returns_nothing(table, columns, key):
    _table(table, columns, _key(key))


# --- 6.2 upsert_sql ---


def _insert(table, columns):
    values = ", ".join(f"%({name})s" for name in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values}) "


def _others(columns, key):
    return [name for name in columns if name not in key]


def _row(prefix, names):
    return ", ".join(f"{prefix}.{name}" for name in names)


def _conflict(table, columns, key, *, to="excluded", names=None, moment=True):
    names = _others(columns, key) if names is None else names
    setting = [f"{name} = {to}.{name}" for name in names] + ["updated_at = now()"] * moment
    return (
        f"{_insert(table, columns)} ON CONFLICT ({', '.join(key)}) "
        f"DO UPDATE SET {', '.join(setting)} "
    )


def _differs(table, names):
    return f"WHERE ({_row(table, names)}) IS DISTINCT FROM ({_row('excluded', names)})"


def _upsert(table, columns, key):
    return _conflict(table, columns, key) + _differs(table, _others(columns, key))


def only_inserts(table, columns, key):
    return _insert(table, columns)


def does_nothing_on_conflict(table, columns, key):
    return f"{_insert(table, columns)} ON CONFLICT ({', '.join(key)}) DO NOTHING"


def forgets_the_last_column(table, columns, key):
    names = _others(columns, key)[:-1]
    return _conflict(table, columns, key, names=names) + _differs(table, names)


def compares_the_first_alone(table, columns, key):
    return _conflict(table, columns, key) + _differs(table, _others(columns, key)[:1])


def compares_the_last_alone(table, columns, key):
    return _conflict(table, columns, key) + _differs(table, _others(columns, key)[-1:])


def _writes_where(condition):
    def statement(table, columns, key):
        text = condition.replace("chunks.", f"{table}.")
        vectors = f"{table}.embedding <> excluded.embedding"
        return _conflict(table, columns, key) + f"WHERE {text} OR {vectors}"

    return statement


def compares_directions(table, columns, key):
    return _conflict(table, columns, key) + (
        "WHERE chunks.content <> excluded.content OR chunks.embedding <=> excluded.embedding > 0"
    )


def overlooks_a_small_change(table, columns, key):
    return _conflict(table, columns, key) + (
        "WHERE chunks.content <> excluded.content OR chunks.embedding <-> excluded.embedding > 0.01"
    )


def compares_lengths(table, columns, key):
    where = _writes_where("length(chunks.content) <> length(excluded.content)")
    return where(table, columns, key)


def compares_without_blanks(table, columns, key):
    return _writes_where("trim(chunks.content) <> trim(excluded.content)")(table, columns, key)


def compares_the_text_as_a_pattern(table, columns, key):
    return _writes_where("chunks.content NOT LIKE excluded.content")(table, columns, key)


def compares_the_text_in_any_case(table, columns, key):
    return _writes_where("chunks.content NOT ILIKE excluded.content")(table, columns, key)


def counts_all_its_placeholders(table, columns, key):
    return re.sub(r"%\(\w+\)s", "%s", _upsert(table, columns, key))


def counts_its_first_placeholder(table, columns, key):
    return re.sub(r"%\(\w+\)s", "%s", _upsert(table, columns, key), count=1)


def always_writes(table, columns, key):
    return _conflict(table, columns, key)


def wants_all_to_differ(table, columns, key):
    each = [f"{table}.{name} <> excluded.{name}" for name in _others(columns, key)]
    return _conflict(table, columns, key) + f"WHERE {' AND '.join(each)}"


def compares_null_by_its_sign(table, columns, key):
    each = [f"{table}.{name} <> excluded.{name}" for name in _others(columns, key)]
    return _conflict(table, columns, key) + f"WHERE {' OR '.join(each)}"


def compares_the_key(table, columns, key):
    return _conflict(table, columns, key) + _differs(table, key)


def keeps_the_old_row(table, columns, key):
    names = _others(columns, key)
    return _conflict(table, columns, key, to=table) + _differs(table, names)


def keeps_the_old_moment(table, columns, key):
    names = _others(columns, key)
    return _conflict(table, columns, key, moment=False) + _differs(table, names)


def conflicts_on_the_first_alone(table, columns, key):
    return _upsert(table, columns, key[:1])


def updates_the_whole_document(table, columns, key):
    gone = f"DELETE FROM {table} WHERE {key[0]} = %({key[0]})s"
    return f"WITH gone AS ({gone}) {_insert(table, columns)}"


def takes_the_first_two_for_the_key(table, columns, key):
    return _upsert(table, columns, columns[:2])


def always_upserts_chunks(table, columns, key):
    names = ["document_name", "chunk_index", "content", "embedding"]
    return _upsert("chunks", names, names[:2])


# --- 6.3 replace_document ---


def _write(conn, table, document, rows):
    key = [*document, "chunk_index"]
    return sum(conn.execute(_upsert(table, list(row), key), row).rowcount for row in rows)


def _is_of(document):
    return " AND ".join(f"{name} = %({name})s" for name in document)


def _delete(conn, table, document, rows, condition=None):
    kept = {"kept": [row["chunk_index"] for row in rows], **document}
    stale = f"DELETE FROM {table} WHERE {condition or _is_of(document)} AND "
    return conn.execute(f"{stale} chunk_index <> ALL(%(kept)s)", kept).rowcount


def deletes_first_without_transaction(conn, table, document, rows):
    deleted = _delete(conn, table, document, rows)
    return _write(conn, table, document, rows), deleted


def deletes_after_the_transaction(conn, table, document, rows):
    with conn.transaction():
        written = _write(conn, table, document, rows)
    return written, _delete(conn, table, document, rows)


def has_a_transaction_a_row(conn, table, document, rows):
    written = 0
    for row in rows:
        with conn.transaction():
            written += _write(conn, table, document, [row])
    return written, _delete(conn, table, document, rows)


def swallows_the_error(conn, table, document, rows):
    try:
        with conn.transaction():
            written = _write(conn, table, document, rows)
            return written, _delete(conn, table, document, rows)
    except Exception:
        return 0, 0


def leaves_its_transaction_open(conn, table, document, rows):
    conn.execute("BEGIN")
    written = _write(conn, table, document, rows)
    deleted = _delete(conn, table, document, rows)
    conn.execute("COMMIT")
    return written, deleted


def commits_for_its_caller(conn, table, document, rows):
    conn.execute("BEGIN")
    try:
        written = _write(conn, table, document, rows)
        deleted = _delete(conn, table, document, rows)
    except Exception:
        conn.execute("ROLLBACK")
        raise
    conn.execute("COMMIT")
    return written, deleted


# --- 6.4 partitioned_table_sql ---


def _partitioned(table, columns, key, partitions, by="LIST (partition)", default=True):
    statements = [_table(table, columns, _key(key)) + f" PARTITION BY {by}"]
    for name in partitions:
        statements.append(
            f"CREATE TABLE {table}_{name} PARTITION OF {table} FOR VALUES IN ('{name}')"
        )
    if default:
        statements.append(f"CREATE TABLE {table}_default PARTITION OF {table} DEFAULT")
    return ";\n".join(statements)


def leaves_the_partition_out_of_the_key(table, columns, key, partitions):
    others = [name for name in key if name != "partition"]
    return _partitioned(table, columns, others, partitions)


def has_no_key_at_all(table, columns, key, partitions):
    right = _partitioned(table, columns, key, partitions)
    return right.replace(f", PRIMARY KEY ({', '.join(key)})", "", 1)


def keys_partition_and_document(table, columns, key, partitions):
    return _partitioned(table, columns, key[:2], partitions)


def has_no_default(table, columns, key, partitions):
    return _partitioned(table, columns, key, partitions, default=False)


def has_a_default_only(table, columns, key, partitions):
    return _partitioned(table, columns, key, [])


def always_has_the_same_partitions(table, columns, key, partitions):
    return _partitioned(table, columns, key, ["documentation", "issues"])


def always_makes_pieces(table, columns, key, partitions):
    return _partitioned("pieces", columns, key, partitions)


def is_not_partitioned(table, columns, key, partitions):
    return _table(table, columns, _key(key))


def partitions_by_hash(table, columns, key, partitions):
    head = _partitioned(table, columns, key, [], by="HASH (partition)", default=False)
    names = [*partitions, "default"]
    parts = [
        f"CREATE TABLE {table}_{name} PARTITION OF {table} "
        f"FOR VALUES WITH (MODULUS {len(names)}, REMAINDER {number})"
        for number, name in enumerate(names)
    ]
    return ";\n".join([head, *parts])


def partitions_by_document(table, columns, key, partitions):
    return _partitioned(table, columns, key, partitions, by="LIST (document_name)")


def forgets_the_quotes(table, columns, key, partitions):
    right = _partitioned(table, columns, key, partitions)
    return right.replace("('", "(").replace("')", ")")


def makes_tables_of_their_own(table, columns, key, partitions):
    names = [table, *(f"{table}_{name}" for name in partitions), f"{table}_default"]
    return ";\n".join(_table(name, columns, _key(key)) for name in names)


# --- found by playing learners ---


def makes_them_unique(table, columns, key):
    return _table(table, columns, [f"UNIQUE ({', '.join(key)})"])


def passes_over_a_table(table, columns, key):
    return _table(f"IF NOT EXISTS {table}", columns, _key(key))


def drops_a_table(table, columns, key):
    return f"DROP TABLE IF EXISTS {table}; {_table(table, columns, _key(key))}"


def takes_null_for_an_empty_text(table, columns, key):
    pairs = [(f"{table}.{name}::text", f"excluded.{name}::text") for name in _others(columns, key)]
    differ = " OR ".join(f"coalesce({one}, '') <> coalesce({other}, '')" for one, other in pairs)
    return f"{_conflict(table, columns, key)} WHERE {differ}"


def sets_the_day_before(table, columns, key):
    return _upsert(table, columns, key).replace("now()", "current_date - 1")


def sorts_by_the_first_of_the_key(table, columns, key, partitions):
    statement = _partitioned(table, columns, key, partitions)
    return statement.replace("LIST (partition)", f"LIST ({key[0]})")


def has_a_default_beside_others_only(table, columns, key, partitions):
    statement = _partitioned(table, columns, key, partitions)
    return statement if partitions else statement.split(";")[0]


MUTANTS = {
    "6.1": {
        has_no_key: "a.md has a chunk 0 already",
        keys_the_first_alone: "a document has more than one chunk",
        keys_the_last_alone: "every document has a chunk 0",
        keys_the_first_two: "shelf, line and page together are the key",
        keys_in_the_columns_order: "the order that was given",
        sorts_the_key: "the order that was given",
        keys_every_column: "a.md has a chunk 0 already",
        keys_the_first_columns: "shelf, line and page together are the key",
        has_a_key_a_column: "a document has more than one chunk",
        calls_it_chunks: "a table named notes",
        forgets_the_rules: "content may not be NULL",
        forgets_the_types: "a statement that PostgreSQL accepts",
        sorts_the_columns: "a statement that PostgreSQL accepts",
        allows_null_nowhere: "nothing says that note may not be NULL",
        always_has_the_same_columns: "a statement that PostgreSQL accepts",
        forgets_a_comma: "a statement that PostgreSQL accepts",
        writes_the_list: "a statement that PostgreSQL accepts",
        returns_nothing: "not str",
        makes_them_unique: "not merely UNIQUE",
        passes_over_a_table: "neither drops a table nor passes over it",
        drops_a_table: "neither drops a table nor passes over it",
    },
    "6.2": {
        only_inserts: "duplicate key",
        does_nothing_on_conflict: "text and vector changed",
        forgets_the_last_column: "replaces the old one",
        compares_the_first_alone: "the vector changed",
        compares_the_last_alone: "the text changed",
        compares_directions: "which the cosine does not show",
        compares_lengths: "though it is as long as before",
        compares_without_blanks: "a blank is a character like any other",
        compares_the_text_as_a_pattern: "a text is not a pattern",
        compares_the_text_in_any_case: "'ONE' is not 'one'",
        overlooks_a_small_change: "if only by 0.001",
        counts_all_its_placeholders: "values are passed by name",
        counts_its_first_placeholder: "values are passed by name",
        always_writes: "the same row is there already",
        wants_all_to_differ: "the vector changed",
        compares_null_by_its_sign: "the note was NULL, and is a text now",
        compares_the_key: "text and vector changed",
        keeps_the_old_row: "replaces the old one",
        keeps_the_old_moment: "an update sets updated_at to now()",
        conflicts_on_the_first_alone: "no unique or exclusion constraint",
        updates_the_whole_document: "and no other row",
        takes_the_first_two_for_the_key: "no unique or exclusion constraint",
        always_upserts_chunks: "document_name, embedding",
        takes_null_for_an_empty_text: "an empty text now",
        sets_the_day_before: "sets updated_at to now()",
    },
    "6.3": edits(
        replace_document,
        has_no_transaction=("conn.transaction(),  -> ", "the second vector was refused"),
        deletes_by_pattern=(
            '"{name} = %({name})s" -> "{name}::text LIKE %({name})s::text"',
            "a name is not a pattern",
        ),
        deletes_in_any_case=(
            '"{name} = %({name})s" -> "lower({name}::text) = lower(%({name})s::text)"',
            "case counts",
        ),
        writes_the_values_into_the_statement=(
            'f"{name} = %({name})s" for name in document'
            " -> f\"{name} = '{value}'\" for name, value in document.items()",
            "values are parameters",
        ),
        never_deletes=(
            'cursor.execute(delete, {**document, "kept": kept}).rowcount -> 0',
            "chunk 2 is stale",
        ),
        deletes_from_the_number_of_rows_on=(
            "<> ALL(%(kept)s) -> >= {len(rows)}",
            "chunk 1 is stale",
        ),
        deletes_of_every_document=("{condition} AND  -> ", "other documents keep their rows"),
        looks_at_the_first_column_alone=(
            "for name in document) -> for name in list(document)[:1])",
            "shelf and page together",
        ),
        takes_any_column_that_fits=(
            "{condition} AND -> ({condition.replace(' AND ', ' OR ')}) AND",
            "shelf and page together",
        ),
        deletes_all_and_writes_again=(
            " AND chunk_index <> ALL(%(kept)s) -> ",
            "once more changes nothing",
        ),
        counts_the_rows=("return written -> return len(rows)", "once more changes nothing"),
        breaks_on_an_empty_document=(
            "    written = 0 ->     if not rows:\n        return 0, 0\n    written = 0",
            "an empty document has no chunks",
        ),
        returns_none=("return written, deleted -> return None", "both rows are new"),
    )
    | {
        deletes_first_without_transaction: "the second vector was refused",
        deletes_after_the_transaction: "PostgreSQL refuses the DELETE: what was done",
        has_a_transaction_a_row: "the second vector was refused",
        swallows_the_error: "the caller has to get the exception",
        leaves_its_transaction_open: "a connection that can be used again",
        commits_for_its_caller: "its caller",
    },
    "6.4": {
        leaves_the_partition_out_of_the_key: "partition",
        has_no_key_at_all: "has a chunk 0 of a.md already",
        keys_partition_and_document: "a document has more than one chunk",
        has_no_default: "a piece of partition 'something else'",
        has_a_default_only: "pieces_documentation",
        always_has_the_same_partitions: "the names are the caller's",
        always_makes_pieces: "a statement that PostgreSQL accepts",
        is_not_partitioned: "pieces_default",
        partitions_by_hash: "each row is in the table of its partition",
        partitions_by_document: "each row is in the table of its partition",
        forgets_the_quotes: "a statement that PostgreSQL accepts",
        makes_tables_of_their_own: "each row is in the table of its partition",
        sorts_by_the_first_of_the_key: "says where a row belongs",
        has_a_default_beside_others_only: "the default partition takes all rows",
    },
}
