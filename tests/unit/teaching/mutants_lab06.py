"""Wrong answers to lab 06 that a learner would plausibly write; see `mutants_lab01.py`."""

from psycopg import sql

COLUMNS = (
    "document_name, chunk_index, content, 1 - (embedding <=> %(query)s) AS similarity_score "
    "FROM document_chunks"
)
BY_INDEX = "embedding <=> %(query)s, document_name, chunk_index"
BY_LOOKING = "(embedding <=> %(query)s) + 0, document_name, chunk_index"

# --- 6.1 nearest_sql ---


def sorts_by_similarity():
    return (
        f"SELECT {COLUMNS} ORDER BY similarity_score DESC, document_name, chunk_index "
        "LIMIT %(top_k)s"
    )


def keeps_the_index_away():
    return f"SELECT {COLUMNS} ORDER BY {BY_LOOKING} LIMIT %(top_k)s"


def returns_the_distance():
    return (
        "SELECT document_name, chunk_index, content, embedding <=> %(query)s AS similarity_score "
        f"FROM document_chunks ORDER BY {BY_INDEX} LIMIT %(top_k)s"
    )


def measures_euclidean_distance():
    return f"SELECT {COLUMNS} ORDER BY {BY_INDEX} LIMIT %(top_k)s".replace("<=>", "<->")


def sorts_the_far_first():
    return (
        f"SELECT {COLUMNS} ORDER BY embedding <=> %(query)s DESC, document_name, chunk_index "
        "LIMIT %(top_k)s"
    )


def leaves_ties_to_chance():
    return f"SELECT {COLUMNS} ORDER BY embedding <=> %(query)s LIMIT %(top_k)s"


def settles_ties_by_name_alone():
    return f"SELECT {COLUMNS} ORDER BY embedding <=> %(query)s, document_name LIMIT %(top_k)s"


def fixes_the_limit():
    return f"SELECT {COLUMNS} ORDER BY {BY_INDEX} LIMIT 5"


def rounds_the_similarity():
    columns = COLUMNS.replace(
        "1 - (embedding <=> %(query)s)",
        "round((1 - (embedding <=> %(query)s))::numeric, 2)::float8",
    )
    return f"SELECT {columns} ORDER BY {BY_INDEX} LIMIT %(top_k)s"


def sorts_by_inner_product():
    return f"SELECT {COLUMNS} ORDER BY {BY_INDEX.replace('<=>', '<#>')} LIMIT %(top_k)s"


def sorts_by_euclidean_distance():
    return f"SELECT {COLUMNS} ORDER BY {BY_INDEX.replace('<=>', '<->')} LIMIT %(top_k)s"


def sorts_after_the_limit():
    nearest = f"SELECT {COLUMNS} ORDER BY embedding <=> %(query)s LIMIT %(top_k)s"
    order = "similarity_score DESC, document_name, chunk_index"
    return f"SELECT * FROM ({nearest}) AS nearest ORDER BY {order}"


def counts_its_placeholders():
    return f"SELECT {COLUMNS} ORDER BY {BY_INDEX} LIMIT %s".replace("%(query)s", "%s")


def names_it_otherwise():
    columns = COLUMNS.replace("similarity_score", "similarity")
    return f"SELECT {columns} ORDER BY {BY_INDEX} LIMIT %(top_k)s"


# --- 6.2 conditions ---


def _joined(parts):
    return sql.SQL(" AND ").join(parts) if parts else sql.SQL("true")


def _part(name, value):
    form = "{} = ANY({})" if isinstance(value, list) else "{} = {}"
    return sql.SQL(form).format(sql.Identifier(name), sql.Placeholder(name))


def writes_values_into_the_statement(filters):
    values = {name: value for name, value in filters.items() if value is not None}
    parts = [
        _part(name, value) if isinstance(value, list) else sql.SQL(f"{name} = '{value}'")
        for name, value in values.items()
    ]
    return _joined(parts), values


def writes_names_into_the_statement(filters):
    values = {name: value for name, value in filters.items() if value is not None}
    parts = []
    for name, value in values.items():
        form = f"{name} = ANY({{}})" if isinstance(value, list) else f"{name} = {{}}"
        parts.append(sql.SQL(form).format(sql.Placeholder(name)))
    return _joined(parts), values


def drops_what_is_false(filters):
    values = {name: value for name, value in filters.items() if value}
    return _joined([_part(name, value) for name, value in values.items()]), values


def drops_empty_lists(filters):
    values = {name: value for name, value in filters.items() if value is not None and value != []}
    return _joined([_part(name, value) for name, value in values.items()]), values


def compares_with_none(filters):
    return _joined([_part(name, value) for name, value in filters.items()]), dict(filters)


def _like(form, filters):
    values = {name: value for name, value in filters.items() if value is not None}
    parts = [
        sql.SQL("{} = ANY({})" if isinstance(value, list) else form).format(
            sql.Identifier(name), sql.Placeholder(name)
        )
        for name, value in values.items()
    ]
    return _joined(parts), values


def compares_in_any_case(filters):
    return _like("{}::text ILIKE {}::text", filters)


def compares_without_blanks(filters):
    return _like("trim({}::text) = trim({}::text)", filters)


def compares_patterns(filters):
    return _like("{}::text LIKE {}::text", filters)


def counts_placeholders(filters):
    values = {name: value for name, value in filters.items() if value is not None}
    parts = [sql.SQL("{} = %s").format(sql.Identifier(name)) for name in values]
    return _joined(parts), values


def knows_no_lists(filters):
    values = {name: value for name, value in filters.items() if value is not None}
    parts = [
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in values
    ]
    return _joined(parts), values


def joins_with_or(filters):
    values = {name: value for name, value in filters.items() if value is not None}
    parts = [_part(name, value) for name, value in values.items()]
    return (sql.SQL(" OR ").join(parts) if parts else sql.SQL("true")), values


def returns_nothing_without_filters(filters):
    values = {name: value for name, value in filters.items() if value is not None}
    return sql.SQL(" AND ").join([_part(name, value) for name, value in values.items()]), values


def returns_a_string(filters):
    values = {name: value for name, value in filters.items() if value is not None}
    return " AND ".join(f"{name} = %({name})s" for name in values) or "true", values


# --- 6.3 recall_at_k ---


def divides_by_k(found, exact, k):
    return len(set(found[:k]) & set(exact[:k])) / k


def divides_by_what_was_found(found, exact, k):
    wanted = set(exact[:k])
    return len(wanted & set(found[:k])) / max(len(found[:k]), 1) if wanted else 1.0


def compares_place_by_place(found, exact, k):
    wanted = exact[:k]
    same = sum(one == other for one, other in zip(found, wanted, strict=False))
    return same / len(wanted) if wanted else 1.0


def counts_beyond_k(found, exact, k):
    wanted = set(exact[:k])
    return len(wanted & set(found)) / len(wanted) if wanted else 1.0


def looks_for_all_of_the_exact_rows(found, exact, k):
    return len(set(found[:k]) & set(exact)) / len(exact[:k]) if exact else 1.0


def counts_a_row_twice(found, exact, k):
    wanted = exact[:k]
    return sum(row in wanted for row in found[:k]) / len(wanted) if wanted else 1.0


def divides_by_zero(found, exact, k):
    return len(set(found[:k]) & set(exact[:k])) / len(exact[:k])


# --- 6.4 search_filtered ---


def conditions(filters):
    values = {name: value for name, value in filters.items() if value is not None}
    return _joined([_part(name, value) for name, value in values.items()]), values


def _nearest(conn, filters, order, top_k, query, extra="true", **more):
    condition, values = conditions(filters)
    statement = sql.SQL(
        f"SELECT {COLUMNS} WHERE {{}} AND {extra} ORDER BY {order} LIMIT %(top_k)s"
    ).format(condition)
    return conn.execute(statement, values | {"query": query, "top_k": top_k} | more).fetchall()


def _count(conn, filters, few):
    condition, values = conditions(filters)
    statement = sql.SQL(
        "SELECT count(*) FROM (SELECT FROM document_chunks WHERE {} LIMIT %(few)s + 1) AS passing"
    ).format(condition)
    return conn.execute(statement, values | {"few": few}).fetchone()[0]


def _above(rows, threshold):
    return [row for row in rows if row.similarity_score >= threshold]


def walks_only(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    return _above(_nearest(conn, filters, BY_INDEX, top_k, query), threshold)


def never_walks(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    return _above(_nearest(conn, filters, BY_LOOKING, top_k, query), threshold)


def walks_first_whatever_passes(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        conn.execute("SET LOCAL hnsw.iterative_scan = strict_order")
        rows = _nearest(conn, filters, BY_INDEX, top_k, query)
        if len(rows) < top_k:
            rows = _nearest(conn, filters, BY_LOOKING, top_k, query)
    return _above(rows, threshold)


def trusts_the_iterative_scan(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        conn.execute("SET LOCAL hnsw.iterative_scan = strict_order")
        order = BY_INDEX if _count(conn, filters, few) > few else BY_LOOKING
        return _above(_nearest(conn, filters, order, top_k, query), threshold)


def _search(conn, query, filters, top_k, few, extra="true", before="SELECT", **more):
    conn.execute(before)
    rows = []
    if _count(conn, filters, few) > few:
        rows = _nearest(conn, filters, BY_INDEX, top_k, query, extra, **more)
    if len(rows) < top_k:
        rows = _nearest(conn, filters, BY_LOOKING, top_k, query, extra, **more)
    return rows


ITERATIVE = "SET LOCAL hnsw.iterative_scan = strict_order"
INSIDE = "1 - (embedding <=> %(query)s) >= %(threshold)s"
NO_NAN = " AND vector_norm(embedding) > 0"


def forgets_the_iterative_scan(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    return _above(_search(conn, query, filters, top_k, few), threshold)


def sets_it_outside_a_transaction(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    return _above(_search(conn, query, filters, top_k, few, before=ITERATIVE), threshold)


def leaves_the_setting_behind(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    before = ITERATIVE.replace("LOCAL ", "")
    return _above(_search(conn, query, filters, top_k, few, before=before), threshold)


def _sets_for_a_while(conn, query, filters, top_k, threshold, few, after):
    before = ITERATIVE.replace("LOCAL ", "")
    rows = _above(_search(conn, query, filters, top_k, few, before=before), threshold)
    conn.execute(after)
    return rows


def resets_the_setting(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    after = "RESET hnsw.iterative_scan"
    return _sets_for_a_while(conn, query, filters, top_k, threshold, few, after)


def switches_it_off_in_a_transaction(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    after = "SET hnsw.iterative_scan = off"
    with conn.transaction():
        return _sets_for_a_while(conn, query, filters, top_k, threshold, few, after)


def restores_it_where_nothing_fails(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    now = conn.execute("SHOW hnsw.iterative_scan").fetchone()[0]
    after = f"SET hnsw.iterative_scan = {now}"
    return _sets_for_a_while(conn, query, filters, top_k, threshold, few, after)


def looks_at_all_after_an_empty_walk(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        conn.execute(ITERATIVE)
        rows = []
        if _count(conn, filters, few) > few:
            rows = _nearest(conn, filters, BY_INDEX, top_k, query)
        if not rows:
            rows = _nearest(conn, filters, BY_LOOKING, top_k, query)
    return _above(rows, threshold)


def gives_no_more_than_few(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        rows = _search(conn, query, filters, min(top_k, few), few, before=ITERATIVE)
    return _above(rows, threshold)


def puts_the_threshold_inside(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        return _search(conn, query, filters, top_k, few, INSIDE, ITERATIVE, threshold=threshold)


def puts_the_threshold_inside_without_nan(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    inside = INSIDE + NO_NAN
    with conn.transaction():
        return _search(conn, query, filters, top_k, few, inside, ITERATIVE, threshold=threshold)


def drops_before_it_counts(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        conn.execute(ITERATIVE)
        rows = []
        if _count(conn, filters, few) > few:
            rows = _above(_nearest(conn, filters, BY_INDEX, top_k, query), threshold)
        if len(rows) < top_k:
            rows = _above(_nearest(conn, filters, BY_LOOKING, top_k, query), threshold)
    return rows


def wants_more_than_the_threshold(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        rows = _search(conn, query, filters, top_k, few, before=ITERATIVE)
    return [row for row in rows if row.similarity_score > threshold]


def rounds_what_it_compares(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        rows = _search(conn, query, filters, top_k, few, before=ITERATIVE)
    return [row for row in rows if round(row.similarity_score, 2) >= threshold]


def relaxes_the_order(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    relaxed = ITERATIVE.replace("strict", "relaxed")
    with conn.transaction():
        return _above(_search(conn, query, filters, top_k, few, before=relaxed), threshold)


def counts_every_row(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    condition, values = conditions(filters)
    statement = sql.SQL("SELECT count(*) FROM document_chunks WHERE {}").format(condition)
    with conn.transaction():
        conn.execute(ITERATIVE)
        rows = []
        if conn.execute(statement, values).fetchone()[0] > few:
            rows = _nearest(conn, filters, BY_INDEX, top_k, query)
        if len(rows) < top_k:
            rows = _nearest(conn, filters, BY_LOOKING, top_k, query)
    return _above(rows, threshold)


def walks_where_just_few_pass(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        rows = _search(conn, query, filters, top_k, few - 1, before=ITERATIVE)
    return _above(rows, threshold)


def leaves_equals_to_chance(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        conn.execute(ITERATIVE)
        rows = []
        if _count(conn, filters, few) > few:
            rows = _nearest(conn, filters, "embedding <=> %(query)s", top_k, query)
        if len(rows) < top_k:
            rows = _nearest(conn, filters, "(embedding <=> %(query)s) + 0", top_k, query)
    return _above(rows, threshold)


def forgets_the_threshold(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        return _search(conn, query, filters, top_k, few, before=ITERATIVE)


def has_another_default(conn, query, filters, top_k=5, threshold=0.3, few=10_000):
    with conn.transaction():
        return _above(_search(conn, query, filters, top_k, few, before=ITERATIVE), threshold)


def drops_the_threshold_itself(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        rows = _search(conn, query, filters, top_k, few, before=ITERATIVE)
    return [(row[0], row[1]) for row in rows if row.similarity_score >= threshold]


def ignores_top_k(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        return _above(_search(conn, query, filters, 5, few, before=ITERATIVE), threshold)


def ignores_the_filters(conn, query, filters, top_k=5, threshold=0.0, few=10_000):
    with conn.transaction():
        return _above(_search(conn, query, {}, top_k, few, before=ITERATIVE), threshold)


MUTANTS = {
    "6.1": {
        sorts_by_similarity: "PostgreSQL puts that above all numbers",
        keeps_the_index_away: "expected  a plan that uses the HNSW index",
        returns_the_distance: "how long a vector is does not count",
        rounds_the_similarity: "how long a vector is does not count",
        measures_euclidean_distance: "how long a vector is does not count",
        sorts_by_inner_product: "how long a vector is does not count",
        sorts_by_euclidean_distance: "how long a vector is does not count",
        sorts_the_far_first: "how long a vector is does not count",
        leaves_ties_to_chance: "equals come by document name, then by chunk index",
        settles_ties_by_name_alone: "equals come by document name, then by chunk index",
        sorts_after_the_limit: "equals come by document name, then by chunk index",
        fixes_the_limit: "one row was asked for",
        names_it_otherwise: "expected  the columns",
        counts_its_placeholders: "values are passed by name",
    },
    "6.2": {
        writes_values_into_the_statement: "a value must never be read as SQL",
        writes_names_into_the_statement: "a column's name must never be read as SQL",
        drops_what_is_false: "0 is a value like any other",
        drops_empty_lists: "nothing is an element of an empty list",
        compares_with_none: "None means anything",
        compares_in_any_case: "'note' is not 'NOTE'",
        compares_without_blanks: "a blank is a character like any other",
        compares_patterns: "% and _ are characters like any other",
        knows_no_lists: "a list lets pass what is one of its elements",
        joins_with_or: "a row has to pass both filters",
        returns_nothing_without_filters: "there is no filter",
        returns_a_string: "a condition made with psycopg's sql",
        counts_placeholders: "values are passed by name",
    },
    "6.3": {
        divides_by_k: "there were two to be found, not five",
        divides_by_what_was_found: "one of four was found",
        compares_place_by_place: "the order does not matter",
        counts_beyond_k: "only in the fourth place",
        looks_for_all_of_the_exact_rows: "'d' is not among the first three",
        counts_a_row_twice: "a row that comes twice is one row",
        divides_by_zero: "ZeroDivisionError",
    },
    "6.4": {
        walks_only: "three rows of 2,200 pass",
        never_walks: "one that walks the HNSW index",
        walks_first_whatever_passes: "one that looks at the three rows",
        walks_where_just_few_pass: "which is up to few=3",
        leaves_equals_to_chance: "equals come by chunk index",
        puts_the_threshold_inside_without_nan: "a threshold inside the statement",
        drops_before_it_counts: "a threshold inside the statement",
        wants_more_than_the_threshold: "one row is 0.5 similar",
        rounds_what_it_compares: "one row is 0.5 similar",
        relaxes_the_order: "hnsw.iterative_scan = strict_order",
        counts_every_row: "one that ends at 101",
        trusts_the_iterative_scan: "the walk gave up after 60 rows",
        forgets_the_iterative_scan: "that is what hnsw.iterative_scan is for",
        sets_it_outside_a_transaction: "outside a transaction SET LOCAL has no effect",
        looks_at_all_after_an_empty_walk: "came back with two",
        gives_no_more_than_few: "few says how to look for them",
        resets_the_setting: "after a search they are as before",
        switches_it_off_in_a_transaction: "after a search they are as before",
        restores_it_where_nothing_fails: "after a search that failed they are as before",
        leaves_the_setting_behind: "settings apply to this search alone",
        puts_the_threshold_inside: "a vector of zeros, whose similarity is NaN",
        forgets_the_threshold: "a vector of zeros, whose similarity is NaN",
        has_another_default: "without a threshold it is 0.0",
        drops_the_threshold_itself: "rows of document_name",
        ignores_top_k: "the nearest two of three",
        ignores_the_filters: "three rows of 2,200 pass",
    },
}
