"""Wrong answers to lab 07 that a learner would plausibly write; see `mutants_lab01.py`."""

from types import FunctionType

from course_lib.retriever.query import conditions, nearest_sql, search_filtered
from tests.unit.teaching.edits import edited, edits

# --- 7.3 search_filtered ---

leaves_ties_to_chance = edited(nearest_sql, "nearest_sql", ", document_name, chunk_index -> ")
calls_a_wrong_nearest_sql = FunctionType(
    search_filtered.__code__,
    {**search_filtered.__globals__, "__name__": "edited", "nearest_sql": leaves_ties_to_chance},
    "calls_a_wrong_nearest_sql",
    search_filtered.__defaults__,
)


MUTANTS = {
    "7.1": edits(
        nearest_sql,
        sorts_by_similarity=(
            "BY {distance} -> BY similarity_score DESC",
            "expected  a plan that uses the HNSW index",
        ),
        keeps_the_index_away=(
            "BY {distance} -> BY ({distance}) + 0",
            "expected  a plan that uses the HNSW index",
        ),
        returns_the_distance=(
            "1 - (embedding <=> %(query)s) -> {distance}",
            "how long a vector is does not count",
        ),
        rounds_the_similarity=(
            "1 - (embedding <=> %(query)s)"
            " -> round((1 - (embedding <=> %(query)s))::numeric, 2)::float8",
            "how long a vector is does not count",
        ),
        measures_euclidean_distance=("<=> -> <->", "how long a vector is does not count"),
        sorts_by_inner_product=(
            "BY {distance} -> BY embedding <#> %(query)s",
            "how long a vector is does not count",
        ),
        sorts_by_euclidean_distance=(
            "BY {distance} -> BY embedding <-> %(query)s",
            "how long a vector is does not count",
        ),
        searches_one_partition=(
            "WHERE {condition} -> WHERE partition = 'documentation' AND {condition}",
            "how long a vector is does not count",
        ),
        sorts_the_far_first=(
            "{distance}, -> {distance} DESC,",
            "how long a vector is does not count",
        ),
        leaves_ties_to_chance=(
            ", document_name, chunk_index -> ",
            "equals come by document name, then by chunk index",
        ),
        settles_ties_by_name_alone=(
            ", chunk_index -> ",
            "equals come by document name, then by chunk index",
        ),
        sorts_after_the_limit=(
            "SELECT {columns} -> SELECT * FROM (SELECT {columns}",
            ", document_name, chunk_index -> ",
            "LIMIT %(top_k)s"
            " -> LIMIT %(top_k)s) AS nearest\n"
            "        ORDER BY similarity_score DESC, document_name, chunk_index",
            "equals come by document name, then by chunk index",
        ),
        fixes_the_limit=("%(top_k)s -> 5", "one row was asked for"),
        names_it_otherwise=("similarity_score -> similarity", "expected  the columns"),
        counts_its_placeholders=("%(query)s -> %s", "%(top_k)s -> %s", "values are passed by name"),
        returns_the_text=("distance=distance) -> distance=distance).as_string()", "Composed"),
        ignores_the_condition=(
            "condition=condition -> condition=EVERY_ROW",
            "only these pass the condition",
        ),
        ignores_the_distance=(
            "distance=distance -> distance=WALK",
            "ORDER BY begins with `distance`",
        ),
        computes_the_similarity_from_the_distance=(
            "(embedding <=> %(query)s) -> ({distance})",
            "the similarity stays the cosine",
        ),
        settles_ties_by_digits=(
            "chunk_index -> chunk_index::text",
            "chunk 9 comes before chunk 10",
        ),
    ),
    "7.2": edits(
        conditions,
        writes_values_into_the_statement=(
            "sql.Placeholder(name)"
            " -> sql.Placeholder(name) if isinstance(value, list) else sql.SQL(f\"'{value}'\")",
            "a value must never be read as SQL",
        ),
        writes_names_into_the_statement=(
            "sql.Identifier(name) -> sql.SQL(name)",
            "a column's name must never be read as SQL",
        ),
        drops_what_is_false=(
            "if value is not None -> if value",
            "nothing is an element of an empty list",
        ),
        drops_zero=(
            "if value is not None -> if value is not None and value != 0",
            "0 is a value like any other",
        ),
        drops_empty_lists=(
            "if value is not None -> if value is not None and value != []",
            "nothing is an element of an empty list",
        ),
        compares_with_none=(" if value is not None -> ", "None means any value"),
        compares_in_any_case=('"{} = {}" -> "{}::text ILIKE {}::text"', "'note' is not 'NOTE'"),
        compares_without_blanks=(
            '"{} = {}" -> "trim({}::text) = trim({}::text)"',
            "a blank is a character like any other",
        ),
        compares_patterns=(
            '"{} = {}" -> "{}::text LIKE {}::text"',
            "% and _ are characters like any other",
        ),
        knows_no_lists=(
            "isinstance(value, list) -> False",
            "a row passes a list if the list holds its value",
        ),
        joins_with_or=(" AND  ->  OR ", "a row has to pass both filters"),
        returns_nothing_without_filters=(" if parts else EVERY_ROW -> ", "there is no filter"),
        returns_a_string=(
            '(sql.SQL(" AND ").join(parts) if parts else EVERY_ROW)'
            ' -> " AND ".join(f"{name} = %({name})s" for name in values) or "true"',
            "a condition made with psycopg's sql",
        ),
        counts_placeholders=(
            "sql.Placeholder(name) -> sql.Placeholder()",
            "a value must never be read as SQL",
        ),
        takes_false_for_none=(
            "if value is not None -> if value is not None and value is not False",
            "False is a value like any other",
        ),
    ),
    "7.3": edits(
        search_filtered,
        walks_only=(
            "in ways -> in ways[:1]",
            "cursor.execute(ITERATIVE) -> pass",
            "three rows of 2,200 pass",
        ),
        never_walks=("in ways -> in ways[-1:]", "one that walks the HNSW index"),
        always_goes_both_ways=("if len(rows) < top_k -> if True", "so the next way is not taken"),
        knows_two_ways_only=("in ways -> in (WALK, LOOK_AT_ALL)", "it is LOOK_AT_ALL"),
        looks_at_all_in_any_case=("in ways -> in (*ways, LOOK_AT_ALL)", "it is WALK"),
        leaves_equals_to_chance=(
            "nearest_sql(condition, way)"
            ' -> sql.SQL(nearest_sql(condition, way).as_string().replace(", document_name, '
            'chunk_index\\n", "\\n"))',
            "equals come by chunk index",
        ),
        puts_the_threshold_inside_without_nan=(
            'top_k} -> top_k, "threshold": threshold}',
            "nearest_sql(condition, way)"
            ' -> nearest_sql(sql.SQL("{} AND vector_norm(embedding) > 0 AND 1 - (embedding '
            '<=> %(query)s) >= %(threshold)s").format(condition), way)',
            "return [row for row in rows if row.similarity_score >= threshold] -> return rows",
            "the threshold is not part of the statement",
        ),
        drops_before_it_counts=(
            ".fetchall()"
            " -> .fetchall()\n"
            "                rows = [row for row in rows if row.similarity_score >= threshold]",
            "the threshold is not part of the statement",
        ),
        wants_more_than_the_threshold=(">= threshold -> > threshold", "one row is 0.5 similar"),
        rounds_what_it_compares=(
            "row.similarity_score >= -> round(row.similarity_score, 2) >=",
            "one row is 0.5 similar",
        ),
        relaxes_the_order=(
            "cursor.execute(ITERATIVE)"
            ' -> cursor.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")',
            "hnsw.iterative_scan = strict_order",
        ),
        trusts_the_iterative_scan=("in ways -> in ways[:1]", "the walk stopped after 60 rows"),
        forgets_the_iterative_scan=(
            "cursor.execute(ITERATIVE) -> pass",
            "that is what hnsw.iterative_scan is for",
        ),
        sets_it_outside_a_transaction=(
            "conn.transaction(),  -> ",
            "outside a transaction SET LOCAL has no effect",
        ),
        looks_at_all_after_an_empty_walk=(
            "if len(rows) < top_k -> if not rows",
            "and returned two",
        ),
        prepares_the_statement=(
            ", prepare=False -> ",
            "a plan for any value does not know how many rows pass",
        ),
        resets_the_setting=(
            "conn.transaction(),  -> ",
            'cursor.execute(ITERATIVE) -> cursor.execute("SET hnsw.iterative_scan = strict_order")',
            '    return [ ->     conn.execute("RESET hnsw.iterative_scan")\n    return [',
            "after a search they are as before",
        ),
        switches_it_off_in_a_transaction=(
            'cursor.execute(ITERATIVE) -> cursor.execute("SET hnsw.iterative_scan = strict_order")',
            '    return [ ->     conn.execute("SET hnsw.iterative_scan = off")\n    return [',
            "after a search they are as before",
        ),
        restores_it_where_nothing_fails=(
            "conn.transaction(),  -> ",
            "    rows:"
            ' ->     now = conn.execute("SHOW hnsw.iterative_scan").fetchone()[0]\n'
            "    rows:",
            'cursor.execute(ITERATIVE) -> cursor.execute("SET hnsw.iterative_scan = strict_order")',
            '    return [ ->     conn.execute(f"SET hnsw.iterative_scan = {now}")\n    return [',
            "after a search that failed they are as before",
        ),
        leaves_the_setting_behind=(
            "conn.transaction(),  -> ",
            'cursor.execute(ITERATIVE) -> cursor.execute("SET hnsw.iterative_scan = strict_order")',
            "settings are only for this search",
        ),
        puts_the_threshold_inside=(
            'top_k} -> top_k, "threshold": threshold}',
            "nearest_sql(condition, way)"
            ' -> nearest_sql(sql.SQL("{} AND 1 - (embedding <=> %(query)s) >= '
            '%(threshold)s").format(condition), way)',
            "return [row for row in rows if row.similarity_score >= threshold] -> return rows",
            "a vector of zeros, whose similarity is NaN",
        ),
        forgets_the_threshold=(
            "return [row for row in rows if row.similarity_score >= threshold] -> return rows",
            "a vector of zeros, whose similarity is NaN",
        ),
        has_another_default=(
            "threshold: float = 0.0 -> threshold: float = 0.3",
            "without a threshold it is 0.0",
        ),
        drops_the_threshold_itself=(
            "return [row for -> return [(row.document_name, row.chunk_index) for",
            "rows with the names of nearest_sql's columns",
        ),
        ignores_top_k=('"top_k": top_k -> "top_k": 5', "the nearest two of three"),
        ignores_the_filters=("conditions(filters) -> conditions({})", "three rows of 2,200 pass"),
        is_content_with_five=("< top_k -> < min(top_k, 5)", "came back with fewer than 300"),
        goes_two_ways_at_most=("in ways -> in ways[:2]", "the third of the ways"),
        takes_the_values_for_its_own=(
            '    rows: ->     filters["top_k"] = top_k\n    rows:',
            "its caller still needs it",
        ),
    )
    | {
        calls_a_wrong_nearest_sql: "repair 7.1 first",
    },
}
