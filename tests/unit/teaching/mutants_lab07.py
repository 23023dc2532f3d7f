"""Wrong answers to lab 07 that a learner would plausibly write; see `mutants_lab01.py`."""

from itertools import takewhile
from types import FunctionType

import psycopg
from psycopg.rows import namedtuple_row

from course_lib.retriever.query import find_nearest, search_filtered
from course_lib.retriever.statements import BY_VECTOR, EXACT, NEAREST
from tests.unit.teaching.edits import edited, edits

YOURS = [NEAREST.index(at) for at in ("       1 - (", "  AND (%(repo_slug)s", "ORDER BY")]
GIVEN = NEAREST[: YOURS[0]], NEAREST[YOURS[1] : YOURS[2]]
STUBS = {"7.1": "-- YOUR SQL HERE\n".join([*GIVEN, ""])}

KIND = "(%(kind)s::text IS NULL OR kind = %(kind)s)"
PARTITION = "(%(partition)s::text[] IS NULL OR partition = ANY (%(partition)s))"
SIMILARITY = "1 - (embedding <=> %(query)s) AS similarity_score"


def with_another(function, name, earlier, wrong):
    """Return a function that uses a wrong version of an earlier answer."""
    return FunctionType(
        function.__code__,
        {**function.__globals__, "__name__": "edited", earlier: wrong},
        name,
        function.__defaults__,
    )


leaves_ties_to_chance = edited(NEAREST, "leaves_ties", ", document_name, chunk_index\n -> \n")
uses_a_wrong_statement = with_another(
    find_nearest, "uses_a_wrong_statement", "NEAREST", leaves_ties_to_chance
)
SET = 'cursor.execute("SET LOCAL hnsw.iterative_scan = strict_order")'
walks_once = edited(find_nearest, "walks_once", f"{SET} -> pass")
calls_a_wrong_find_nearest = with_another(
    search_filtered, "calls_a_wrong_find_nearest", "find_nearest", lambda *_: walks_once(*_)[:2]
)


def ends_its_caller_s_transaction(conn, values, distance=BY_VECTOR):
    conn.execute("BEGIN; SET LOCAL hnsw.iterative_scan = strict_order")
    try:
        cursor = conn.cursor(row_factory=namedtuple_row)
        return cursor.execute(NEAREST.format(distance=distance), values, prepare=False).fetchall()
    finally:
        conn.execute("COMMIT")


def switches_autocommit_off(conn, values, distance=BY_VECTOR):
    conn.autocommit = False
    try:
        return find_nearest(conn, values, distance)
    finally:
        conn.commit()
        conn.autocommit = True


def hides_a_failure(conn, values, distance=BY_VECTOR):
    try:
        return find_nearest(conn, values, distance)
    except psycopg.Error:
        return []


# --- 7.3 search_filtered ---


def adds_what_was_missed(conn, values, threshold=0.0, distance=BY_VECTOR):
    rows = find_nearest(conn, values, distance)
    if len(rows) < values["top_k"] and distance != EXACT:
        found = {row.chunk_id for row in rows}
        rows += [row for row in find_nearest(conn, values, EXACT) if row.chunk_id not in found]
    return [row for row in rows[: values["top_k"]] if row.similarity_score >= threshold]


def stops_at_the_first_below(conn, values, threshold=0.0, distance=BY_VECTOR):
    rows = find_nearest(conn, values, distance)
    if len(rows) < values["top_k"] and distance != EXACT:
        rows = find_nearest(conn, values, EXACT)
    return list(takewhile(lambda row: row.similarity_score >= threshold, rows))


def returns_the_exact_rows_as_they_are(conn, values, threshold=0.0, distance=BY_VECTOR):
    if distance == EXACT:
        return find_nearest(conn, values, distance)
    return search_filtered(conn, values, threshold, distance)


def repairs_an_empty_walk_only(conn, values, threshold=0.0, distance=BY_VECTOR):
    rows = find_nearest(conn, values, distance) or find_nearest(conn, values, EXACT)
    return [row for row in rows if row.similarity_score >= threshold]


def adds_what_the_exact_way_finds(conn, values, threshold=0.0, distance=BY_VECTOR):
    rows = find_nearest(conn, values, distance)
    if len(rows) < values["top_k"] and distance != EXACT:
        rows = rows + find_nearest(conn, values, EXACT)
    return [row for row in rows if row.similarity_score >= threshold]


LAST = "return [row for row in rows if row.similarity_score >= threshold]"
FIRST = "rows = find_nearest(conn, values, distance)"

MUTANTS = {
    "7.1": edits(
        NEAREST,
        sorts_by_similarity=(
            "BY {distance} -> BY similarity_score DESC",
            "no index is sorted that way: order by the distance, ascending",
        ),
        keeps_the_index_away=(
            "BY {distance} -> BY ({distance}) + 0",
            "a plan that uses the HNSW index",
        ),
        writes_the_order_itself=(
            "BY {distance} -> BY embedding <=> %(query)s",
            "ORDER BY begins with what is filled in",
        ),
        returns_the_distance=(
            SIMILARITY + " -> embedding <=> %(query)s AS similarity_score",
            "how long a vector is does not count",
        ),
        computes_the_similarity_from_the_gap=(
            SIMILARITY + " -> 1 - ({distance}) AS similarity_score",
            "the similarity stays the cosine",
        ),
        measures_euclidean_distance=("<=> -> <->", "how long a vector is does not count"),
        sorts_the_far_first=(
            "{distance}, -> {distance} DESC,",
            "how long a vector is does not count",
        ),
        leaves_ties_to_chance=(
            ", document_name, chunk_index\n -> \n",
            "equals come by document name, then by chunk index",
        ),
        settles_ties_by_name_alone=(
            ", document_name, chunk_index\n -> , document_name\n",
            "equals come by document name, then by chunk index",
        ),
        settles_ties_by_digits=(
            ", document_name, chunk_index\n -> , document_name, chunk_index::text\n",
            "chunk 9 comes before chunk 10",
        ),
        has_a_highest_limit=("%(top_k)s -> least(%(top_k)s, 100)", "300 were asked for"),
        fixes_the_limit=("%(top_k)s -> 5", "one row was asked for"),
        names_it_otherwise=("similarity_score -> similarity", "expected  the columns"),
        counts_its_placeholders=("%(query)s -> %s", "values are passed by name"),
        takes_none_for_a_value=(
            KIND + " -> kind = %(kind)s",
            "how long a vector is does not count",
        ),
        takes_an_empty_text_for_none=(
            KIND + " -> (coalesce(%(kind)s::text, '') = '' OR kind = %(kind)s)",
            "only None means any",
        ),
        takes_an_empty_namespace_for_none=(
            "(%(namespace)s::text IS NULL -> (coalesce(%(namespace)s::text, '') = ''",
            "only None means any",
        ),
        compares_patterns_of_partitions=(
            "partition = ANY -> partition LIKE ANY",
            "% and _ are characters",
        ),
        compares_namespaces_in_any_case=(
            "namespace = %(namespace)s -> lower(namespace) = lower(%(namespace)s)",
            "case counts",
        ),
        looks_for_names_too=(
            "kind = %(kind)s) -> %(kind)s IN (kind, name))",
            "the name of all four rows",
        ),
        takes_an_empty_branch_for_none=(
            "(%(branch)s::text IS NULL OR -> (nullif(%(branch)s::text, '') IS NULL OR",
            "only None means any",
        ),
        takes_an_empty_list_for_none=(
            PARTITION + " -> (coalesce(cardinality(%(partition)s::text[]), 0) = 0"
            " OR partition = ANY (%(partition)s))",
            "nothing is an element of an empty list",
        ),
        compares_a_column_with_itself=(
            "(%(namespace)s::text IS NULL OR namespace = %(namespace)s)"
            " -> namespace = coalesce(%(namespace)s, namespace)",
            "expected  ",
        ),
        compares_with_a_list=(
            PARTITION
            + " -> (%(partition)s::text[] IS NULL OR partition = (%(partition)s::text[])[1])",
            "three are in one of these",
        ),
        leaves_a_filter_out=(
            "  AND (%(document_name)s::text IS NULL OR document_name = %(document_name)s)\n -> ",
            "two rows are of this document",
        ),
        joins_with_or=("\n  AND  -> \n  OR ", "a row has to pass both filters"),
        compares_patterns=("kind = %(kind)s) -> kind LIKE %(kind)s)", "% and _ are characters"),
        compares_in_any_case=(
            "kind = %(kind)s) -> lower(kind) = lower(%(kind)s))",
            "case counts",
        ),
        compares_the_wrong_column=(
            "OR tenant_id = -> OR repo_slug =",
            "two rows are of this tenant",
        ),
        has_a_gap_of_its_own=(
            "= %(kind)s) -> = {kind})",
            "a text whose only part in braces is {distance}",
        ),
    ),
    "7.2": edits(
        find_nearest,
        forgets_the_iterative_scan=(SET + " -> pass", "hnsw.iterative_scan"),
        relaxes_the_order=("strict_order -> relaxed_order", "hnsw.iterative_scan = strict_order"),
        sets_it_outside_a_transaction=(
            "conn.transaction(),  -> ",
            "outside a transaction SET LOCAL has no effect",
        ),
        leaves_the_setting_behind=(
            'SET LOCAL hnsw.iterative_scan = strict_order")'
            ' -> SET hnsw.iterative_scan = strict_order")',
            "settings are only for this search",
        ),
        switches_it_off_afterwards=(
            "conn.transaction(),  -> ",
            'SET LOCAL hnsw.iterative_scan = strict_order")'
            ' -> SET hnsw.iterative_scan = strict_order")',
            "return cursor -> rows = cursor",
            ".fetchall()"
            " -> .fetchall(); cursor.execute('SET hnsw.iterative_scan = off'); return rows",
            "after a search they are as before",
        ),
        changes_the_connection_s_rows=(
            "    with -> \n    conn.row_factory = namedtuple_row\n    with",
            "conn.row_factory = namedtuple_row",
        ),
        changes_the_connection_s_plans=(
            ", prepare=False -> ",
            "    with -> \n    conn.prepare_threshold = None\n    with",
            "conn.prepare_threshold = None",
        ),
        sets_another_limit=(
            "    with -> \n    conn.execute('SET hnsw.max_scan_tuples = 100000')\n    with",
            "hnsw.max_scan_tuples = 100000",
        ),
        prepares_the_statement=(", prepare=False -> ", "a plan for any value does not know"),
        prepares_it_at_once=("prepare=False -> prepare=True", "a plan for any value does not know"),
        ignores_the_distance=(
            "distance=distance -> distance=BY_VECTOR",
            "ORDER BY begins with `distance`",
        ),
        always_looks_at_all=(
            "distance=distance -> distance='(embedding <=> %(query)s) + 0'",
            "no walk",
        ),
        forbids_the_index=(
            SET + " -> cursor.execute('SET LOCAL enable_indexscan = off')",
            "the walk alone",
        ),
        returns_plain_tuples=("row_factory=namedtuple_row -> ", "the names of NEAREST's columns"),
        returns_the_cursor=(".fetchall() -> ", "expected  "),
        returns_one_row=(".fetchall() -> .fetchmany(1)", "five rows"),
        widens_the_list_only=(
            SET + " -> cursor.execute('SET LOCAL hnsw.ef_search = 100')",
            "hnsw.iterative_scan",
        ),
        stops_at_five=(".fetchall() -> .fetchmany(5)", "`distance` is EXACT"),
        drops_the_threshold_too=(
            ".fetchall() -> .fetchall()[:3]",
            "five rows",
        ),
    )
    | {
        ends_its_caller_s_transaction: "only the code that began a transaction may end it",
        switches_autocommit_off: 'conn.execute("BEGIN"); find_nearest',
        hides_a_failure: "an empty list would say that no row passes",
        uses_a_wrong_statement: "repair 7.1 first",
    },
    "7.3": edits(
        search_filtered,
        trusts_the_walk=('if len(rows) < values["top_k"] and -> if False and', "60 rows"),
        never_walks=(
            FIRST + " -> rows = find_nearest(conn, values, EXACT)",
            "one that walks the HNSW index",
        ),
        always_goes_both_ways=(
            'len(rows) < values["top_k"] and distance -> distance',
            "the walk found five rows",
        ),
        goes_twice_where_it_is_exact=(" and distance != EXACT -> ", "one look at all rows"),
        walks_twice=(
            "(conn, values, EXACT) -> (conn, values, distance)",
            "60 rows",
        ),
        looks_again_after_the_exact_way=(
            "    return [row -> "
            "    if len(rows) < values['top_k'] and distance != EXACT:\n"
            "        rows = find_nearest(conn, values, EXACT)\n    return [row",
            "so there are no more",
        ),
        trusts_every_walk_but_one=(
            "distance != EXACT -> distance == BY_VECTOR",
            "around another vector",
        ),
        misses_what_is_nan=(
            FIRST + " -> rows = [r for r in find_nearest(conn, values, distance)"
            " if r.similarity_score == r.similarity_score]",
            "the one with NaN is not missing",
        ),
        is_content_with_five=(
            'values["top_k"] -> min(5, values["top_k"])',
            "came back with fewer than 300",
        ),
        drops_before_it_counts=(
            FIRST + " -> rows = [r for r in find_nearest(conn, values, distance)"
            " if r.similarity_score >= threshold]",
            "the threshold is not part of the statement",
        ),
        wants_more_than_the_threshold=(">= threshold -> > threshold", "one row is 0.5 similar"),
        rounds_what_it_compares=(
            "row.similarity_score >= -> round(row.similarity_score, 2) >=",
            "one row is 0.5 similar",
        ),
        forgets_the_threshold=(
            LAST + " -> return rows",
            "a vector of zeros, whose similarity is NaN",
        ),
        keeps_nan=(
            "row.similarity_score >= threshold -> not row.similarity_score < threshold",
            "a vector of zeros, whose similarity is NaN",
        ),
        has_another_default=(
            "threshold: float = 0.0 -> threshold: float = 0.3",
            "without a threshold it is 0.0",
        ),
        returns_none_for_no_row=(
            "row.similarity_score >= threshold] -> row.similarity_score >= threshold] or None",
            "expected  list",
        ),
        returns_pairs=(
            "return [row for -> return [(row.document_name, row.similarity_score) for",
            "the names of NEAREST's columns",
        ),
        changes_the_values=(
            FIRST + ' -> rows = find_nearest(conn, values, distance); values["top_k"] += 1',
            "its caller still needs it",
        ),
        ignores_the_distance=(
            "(conn, values, distance) -> (conn, values)",
            "here the chunk index",
        ),
    )
    | {
        repairs_an_empty_walk_only: "and returned two",
        adds_what_the_exact_way_finds: "expected  ",
        adds_what_was_missed: "around another vector",
        stops_at_the_first_below: "the others are similar enough",
        returns_the_exact_rows_as_they_are: "the similarity of one is NaN",
        calls_a_wrong_find_nearest: "repair 7.2 first",
    },
}
