"""Wrong versions that a learner of lab 05 would plausibly write."""

import re

INSERT = """
    INSERT INTO chunks (document_name, chunk_index, content, embedding)
    VALUES (%(document_name)s, %(chunk_index)s, %(content)s, %(embedding)s)
"""
CONFLICT = INSERT + "ON CONFLICT (document_name, chunk_index) "
UPSERT = CONFLICT + (
    "DO UPDATE SET content = excluded.content, embedding = excluded.embedding "
    "WHERE (chunks.content, chunks.embedding) "
    "IS DISTINCT FROM (excluded.content, excluded.embedding)"
)
DELETE = "DELETE FROM chunks WHERE document_name = %s AND chunk_index >= %s"


# --- 5.1 chunks_table_sql ---


def _chunks(key, dimension=384, null="NOT NULL", content="text", name="chunks"):
    return f"""
        CREATE TABLE {name} (
            document_name text {null}, chunk_index integer {null}, content {content} {null},
            embedding vector({dimension}) {null}{key}
        )
    """


def has_no_key(dimension=384):
    return _chunks("", dimension)


def keys_the_document_alone(dimension=384):
    return _chunks(", PRIMARY KEY (document_name)", dimension)


def keys_the_index_alone(dimension=384):
    return _chunks(", PRIMARY KEY (chunk_index)", dimension)


def keys_the_content_too(dimension=384):
    return _chunks(", PRIMARY KEY (document_name, chunk_index, content)", dimension)


def always_has_384(dimension=384):
    return _chunks(", PRIMARY KEY (document_name, chunk_index)", 384)


def takes_any_dimension(dimension=384):
    sized = _chunks(", PRIMARY KEY (document_name, chunk_index)", dimension)
    return sized.replace(f"({dimension})", "")


def allows_null(dimension=384):
    return _chunks(", PRIMARY KEY (document_name, chunk_index)", dimension, null="")


def limits_the_text(dimension=384):
    return _chunks(", PRIMARY KEY (document_name, chunk_index)", dimension, content="varchar(255)")


def counts_to_32767(dimension=384):
    right = _chunks(", PRIMARY KEY (document_name, chunk_index)", dimension)
    return right.replace("integer", "smallint")


def calls_it_chunk(dimension=384):
    return _chunks(", PRIMARY KEY (document_name, chunk_index)", dimension, name="chunk")


def forgets_a_comma(dimension=384):
    return _chunks(" PRIMARY KEY (document_name, chunk_index)", dimension)


def has_an_index_of_text(dimension=384):
    right = _chunks(", PRIMARY KEY (document_name, chunk_index)", dimension)
    return right.replace("integer", "text")


def returns_nothing(dimension=384):
    _chunks(", PRIMARY KEY (document_name, chunk_index)", dimension)


# --- 5.2 upsert_sql ---


def only_inserts():
    return INSERT


def does_nothing_on_conflict():
    return CONFLICT + "DO NOTHING"


def forgets_the_vector():
    return CONFLICT + (
        "DO UPDATE SET content = excluded.content WHERE chunks.content <> excluded.content"
    )


def compares_the_text_alone():
    return CONFLICT + (
        "DO UPDATE SET content = excluded.content, embedding = excluded.embedding "
        "WHERE chunks.content <> excluded.content"
    )


def compares_the_vector_alone():
    return CONFLICT + (
        "DO UPDATE SET content = excluded.content, embedding = excluded.embedding "
        "WHERE chunks.embedding <> excluded.embedding"
    )


def compares_directions():
    return CONFLICT + (
        "DO UPDATE SET content = excluded.content, embedding = excluded.embedding "
        "WHERE chunks.content <> excluded.content OR chunks.embedding <=> excluded.embedding > 0"
    )


def _writes_where(condition):
    return CONFLICT + (
        "DO UPDATE SET content = excluded.content, embedding = excluded.embedding "
        f"WHERE {condition} OR chunks.embedding <> excluded.embedding"
    )


def compares_lengths():
    return _writes_where("length(chunks.content) <> length(excluded.content)")


def compares_without_blanks():
    return _writes_where("trim(chunks.content) <> trim(excluded.content)")


def compares_the_text_as_a_pattern():
    return _writes_where("chunks.content NOT LIKE excluded.content")


def compares_the_text_in_any_case():
    return _writes_where("chunks.content NOT ILIKE excluded.content")


def overlooks_a_small_change():
    return CONFLICT + (
        "DO UPDATE SET content = excluded.content, embedding = excluded.embedding "
        "WHERE chunks.content <> excluded.content OR chunks.embedding <-> excluded.embedding > 0.01"
    )


def counts_all_its_placeholders():
    return re.sub(r"%\(\w+\)s", "%s", UPSERT)


def always_writes():
    return CONFLICT + "DO UPDATE SET content = excluded.content, embedding = excluded.embedding"


def wants_both_to_differ():
    return CONFLICT + (
        "DO UPDATE SET content = excluded.content, embedding = excluded.embedding "
        "WHERE chunks.content <> excluded.content AND chunks.embedding <> excluded.embedding"
    )


def keeps_the_old_row():
    return CONFLICT + (
        "DO UPDATE SET content = chunks.content, embedding = chunks.embedding "
        "WHERE chunks.content <> excluded.content OR chunks.embedding <> excluded.embedding"
    )


def conflicts_on_the_document_alone():
    return INSERT + "ON CONFLICT (document_name) DO UPDATE SET content = excluded.content"


def updates_the_whole_document():
    return """
        WITH gone AS (DELETE FROM chunks WHERE document_name = %(document_name)s)
        INSERT INTO chunks VALUES
            (%(document_name)s, %(chunk_index)s, %(content)s, %(embedding)s)
    """


def counts_its_placeholders():
    return UPSERT.replace("%(document_name)s, %(chunk_index)s", "%s, %s")


# --- 5.3 replace_document ---


def _write(conn, document_name, contents, vectors):
    written = 0
    for index, (content, vector) in enumerate(zip(contents, vectors, strict=True)):
        row = {
            "document_name": document_name,
            "chunk_index": index,
            "content": content,
            "embedding": vector,
        }
        written += conn.execute(UPSERT, row).rowcount
    return written


def _delete(conn, document_name, first):
    return conn.execute(DELETE, (document_name, first)).rowcount


def has_no_transaction(conn, document_name, contents, vectors):
    written = _write(conn, document_name, contents, vectors)
    return written, _delete(conn, document_name, len(contents))


def deletes_first_without_transaction(conn, document_name, contents, vectors):
    deleted = _delete(conn, document_name, len(contents))
    return _write(conn, document_name, contents, vectors), deleted


def deletes_after_the_transaction(conn, document_name, contents, vectors):
    with conn.transaction():
        written = _write(conn, document_name, contents, vectors)
    return written, _delete(conn, document_name, len(contents))


def deletes_by_pattern(conn, document_name, contents, vectors):
    stale = DELETE.replace("document_name =", "document_name LIKE")
    with conn.transaction():
        written = _write(conn, document_name, contents, vectors)
        return written, conn.execute(stale, (document_name, len(contents))).rowcount


def deletes_in_any_case(conn, document_name, contents, vectors):
    stale = DELETE.replace("document_name = %s", "lower(document_name) = lower(%s)")
    with conn.transaction():
        written = _write(conn, document_name, contents, vectors)
        return written, conn.execute(stale, (document_name, len(contents))).rowcount


def writes_the_name_into_the_statement(conn, document_name, contents, vectors):
    with conn.transaction():
        written = _write(conn, document_name, contents, vectors)
        stale = f"DELETE FROM chunks WHERE document_name = '{document_name}' AND chunk_index >= "
        return written, conn.execute(f"{stale}{len(contents)}").rowcount


def has_a_transaction_a_piece(conn, document_name, contents, vectors):
    written = 0
    for index, (content, vector) in enumerate(zip(contents, vectors, strict=True)):
        with conn.transaction():
            row = {
                "document_name": document_name,
                "chunk_index": index,
                "content": content,
                "embedding": vector,
            }
            written += conn.execute(UPSERT, row).rowcount
    return written, _delete(conn, document_name, len(contents))


def never_deletes(conn, document_name, contents, vectors):
    with conn.transaction():
        return _write(conn, document_name, contents, vectors), 0


def deletes_one_too_few(conn, document_name, contents, vectors):
    with conn.transaction():
        written = _write(conn, document_name, contents, vectors)
        return written, _delete(conn, document_name, len(contents) + 1)


def deletes_of_every_document(conn, document_name, contents, vectors):
    with conn.transaction():
        written = _write(conn, document_name, contents, vectors)
        stale = "DELETE FROM chunks WHERE chunk_index >= %s"
        return written, conn.execute(stale, (len(contents),)).rowcount


def deletes_all_and_writes_again(conn, document_name, contents, vectors):
    with conn.transaction():
        deleted = _delete(conn, document_name, 0)
        return _write(conn, document_name, contents, vectors), deleted


def swallows_the_error(conn, document_name, contents, vectors):
    try:
        with conn.transaction():
            written = _write(conn, document_name, contents, vectors)
            return written, _delete(conn, document_name, len(contents))
    except Exception:
        return 0, 0


def leaves_its_transaction_open(conn, document_name, contents, vectors):
    conn.execute("BEGIN")
    written = _write(conn, document_name, contents, vectors)
    deleted = _delete(conn, document_name, len(contents))
    conn.execute("COMMIT")
    return written, deleted


def commits_for_its_caller(conn, document_name, contents, vectors):
    conn.execute("BEGIN")
    try:
        written = _write(conn, document_name, contents, vectors)
        deleted = _delete(conn, document_name, len(contents))
    except Exception:
        conn.execute("ROLLBACK")
        raise
    conn.execute("COMMIT")
    return written, deleted


def counts_the_pieces(conn, document_name, contents, vectors):
    with conn.transaction():
        _write(conn, document_name, contents, vectors)
        return len(contents), _delete(conn, document_name, len(contents))


def numbers_from_one(conn, document_name, contents, vectors):
    with conn.transaction():
        written = 0
        for index, (content, vector) in enumerate(zip(contents, vectors, strict=True), start=1):
            row = {
                "document_name": document_name,
                "chunk_index": index,
                "content": content,
                "embedding": vector,
            }
            written += conn.execute(UPSERT, row).rowcount
        return written, _delete(conn, document_name, len(contents) + 1)


def breaks_on_an_empty_document(conn, document_name, contents, vectors):
    if not contents:
        return 0, 0
    with conn.transaction():
        written = _write(conn, document_name, contents, vectors)
        return written, _delete(conn, document_name, len(contents))


def returns_none(conn, document_name, contents, vectors):
    with conn.transaction():
        _write(conn, document_name, contents, vectors)
        _delete(conn, document_name, len(contents))


# --- 5.4 partitioned_table_sql ---


def _pieces(
    partitions,
    dimension,
    key=", PRIMARY KEY (partition, document_name, chunk_index)",
    by="LIST (partition)",
    default=True,
    null="NOT NULL",
    content="NOT NULL",
):
    statements = [
        f"""CREATE TABLE pieces (
            partition text {null}, document_name text {null}, chunk_index integer {null},
            content text {content}, embedding vector({dimension}) NOT NULL{key}
        ) PARTITION BY {by}"""
    ]
    for name in partitions:
        statements.append(
            f"CREATE TABLE pieces_{name} PARTITION OF pieces FOR VALUES IN ('{name}')"
        )
    if default:
        statements.append("CREATE TABLE pieces_default PARTITION OF pieces DEFAULT")
    return ";\n".join(statements)


def leaves_the_partition_out_of_the_key(partitions, dimension=384):
    return _pieces(partitions, dimension, key=", PRIMARY KEY (document_name, chunk_index)")


def has_no_key_at_all(partitions, dimension=384):
    return _pieces(partitions, dimension, key="")


def takes_a_piece_without_text(partitions, dimension=384):
    return _pieces(partitions, dimension, content="")


def is_unique_where_nothing_is_null(partitions, dimension=384):
    key = ", UNIQUE (partition, document_name, chunk_index)"
    return _pieces(partitions, dimension, key=key, null="")


def keys_partition_and_document(partitions, dimension=384):
    return _pieces(partitions, dimension, key=", PRIMARY KEY (partition, document_name)")


def has_no_default(partitions, dimension=384):
    return _pieces(partitions, dimension, default=False)


def has_a_default_only(partitions, dimension=384):
    return _pieces([], dimension)


def always_has_the_same_partitions(partitions, dimension=384):
    return _pieces(["documentation", "issues"], dimension)


def is_not_partitioned(partitions, dimension=384):
    return _pieces(partitions, dimension).split(" PARTITION BY ")[0]


def partitions_by_hash(partitions, dimension=384):
    table = _pieces([], dimension, by="HASH (partition)", default=False)
    parts = [
        f"CREATE TABLE pieces_{name} PARTITION OF pieces "
        f"FOR VALUES WITH (MODULUS {len(partitions) + 1}, REMAINDER {number})"
        for number, name in enumerate([*partitions, "default"])
    ]
    return ";\n".join([table, *parts])


def partitions_by_document(partitions, dimension=384):
    return _pieces(partitions, dimension, by="LIST (document_name)")


def forgets_the_quotes(partitions, dimension=384):
    return _pieces(partitions, dimension).replace("('", "(").replace("')", ")")


def makes_tables_of_their_own(partitions, dimension=384):
    right = _pieces(partitions, dimension, default=False).split(";\n")[0]
    head = right.split(" PARTITION BY ")[0]
    names = [*(f"pieces_{name}" for name in partitions), "pieces_default"]
    return ";\n".join([head, *(head.replace("TABLE pieces", f"TABLE {name}") for name in names)])


def ignores_the_dimension(partitions, dimension=384):
    return _pieces(partitions, 384)


MUTANTS = {
    "5.1": {
        has_no_key: "a.md has a chunk 0 already",
        keys_the_document_alone: "a document has more than one chunk",
        keys_the_index_alone: "every document has a chunk 0",
        keys_the_content_too: "a.md has a chunk 0 already",
        always_has_384: "expected 384 dimensions, not 3",
        takes_any_dimension: "two numbers are not three",
        allows_null: "content may not be NULL",
        limits_the_text: "integers and texts may be long",
        counts_to_32767: "integers and texts may be long",
        calls_it_chunk: "a table named chunks",
        forgets_a_comma: "a statement that PostgreSQL accepts",
        has_an_index_of_text: "chunk_index is an integer",
        returns_nothing: "not str",
    },
    "5.2": {
        only_inserts: "duplicate key",
        does_nothing_on_conflict: "text and vector changed",
        forgets_the_vector: "takes the place of the old one",
        compares_the_text_alone: "the vector changed",
        compares_the_vector_alone: "the text changed",
        compares_directions: "a cosine does not see that",
        compares_lengths: "though it is as long as before",
        compares_without_blanks: "a blank is a character like any other",
        compares_the_text_as_a_pattern: "a text is no pattern",
        compares_the_text_in_any_case: "'ONE' is not 'one'",
        overlooks_a_small_change: "if only by 0.001",
        counts_all_its_placeholders: "values are passed by name",
        always_writes: "the same row is there already",
        wants_both_to_differ: "the vector changed",
        keeps_the_old_row: "takes the place of the old one",
        conflicts_on_the_document_alone: "no unique or exclusion constraint",
        updates_the_whole_document: "and of no other row",
        counts_its_placeholders: "values are passed by name",
    },
    "5.3": {
        has_no_transaction: "the second vector was refused",
        deletes_first_without_transaction: "the second vector was refused",
        deletes_after_the_transaction: "PostgreSQL refuses the DELETE: what was done",
        deletes_by_pattern: "a name is no pattern",
        deletes_in_any_case: "case counts",
        writes_the_name_into_the_statement: "values are parameters",
        has_a_transaction_a_piece: "the second vector was refused",
        never_deletes: "chunk 2 is stale",
        deletes_one_too_few: "chunk 2 is stale",
        deletes_of_every_document: "other documents keep their rows",
        deletes_all_and_writes_again: "once more changes nothing",
        swallows_the_error: "has to hear of the failure",
        leaves_its_transaction_open: "a connection that can be used again",
        commits_for_its_caller: "its caller",
        counts_the_pieces: "once more changes nothing",
        numbers_from_one: "piece i of the contents is chunk_index i",
        breaks_on_an_empty_document: "an empty document has no chunks",
        returns_none: "both rows are new",
    },
    "5.4": {
        leaves_the_partition_out_of_the_key: "partition",
        has_no_key_at_all: "has a chunk 0 of a.md already",
        takes_a_piece_without_text: "content may not be NULL",
        is_unique_where_nothing_is_null: "partition may not be NULL",
        keys_partition_and_document: "a document has more than one chunk",
        has_no_default: "a piece of partition 'something else'",
        has_a_default_only: "pieces_documentation",
        always_has_the_same_partitions: "the names are the caller's",
        is_not_partitioned: "pieces_default",
        partitions_by_hash: "each row is in the table of its partition",
        partitions_by_document: "each row is in the table of its partition",
        forgets_the_quotes: "a statement that PostgreSQL accepts",
        makes_tables_of_their_own: "each row is in the table of its partition",
        ignores_the_dimension: "expected 384 dimensions, not 3",
    },
}
