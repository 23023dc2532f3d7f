"""Wrong answers to lab 07 that a learner would plausibly write; see `mutants_lab01.py`."""

from types import FunctionType

from course_lib.retriever.query import find_nearest, search_filtered
from course_lib.retriever.statements import NEAREST
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


# --- 7.3 search_filtered ---


def repairs_an_empty_walk_only(conn, values, threshold=0.0, distance=""):
    from course_lib.retriever.statements import BY_VECTOR, EXACT

    rows = find_nearest(conn, values, distance or BY_VECTOR) or find_nearest(conn, values, EXACT)
    return [row for row in rows if row.similarity_score >= threshold]


def adds_what_the_exact_way_finds(conn, values, threshold=0.0, distance=""):
    from course_lib.retriever.statements import BY_VECTOR, EXACT

    rows = find_nearest(conn, values, distance or BY_VECTOR)
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
        drops_the_threshold_too=(
            ".fetchall() -> .fetchall()[:3]",
            "five rows",
        ),
    )
    | {uses_a_wrong_statement: "repair 7.1 first"},
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
        calls_a_wrong_find_nearest: "repair 7.2 first",
    },
}
