"""Wrong answers to lab 07 that a learner would plausibly write; see `mutants_lab01.py`."""

from types import FunctionType

from psycopg import sql
from psycopg.rows import namedtuple_row

EVERY_ROW = sql.SQL("true")
WALK = sql.SQL("embedding <=> %(query)s")
LOOK_AT_ALL = sql.SQL("(embedding <=> %(query)s) + 0")
NAMES = (
    "id::text AS chunk_id, document_name, chunk_index, content, partition, repo_slug, branch, "
    "kind, name, namespace, citation_url, metadata, tenant_id"
)
SIMILARITY = "1 - (embedding <=> %(query)s) AS similarity_score"

# --- 7.1 nearest_sql ---


def _statement(
    condition,
    distance,
    order="{distance}, document_name, chunk_index",
    similarity=SIMILARITY,
    where="{condition}",
    limit="%(top_k)s",
):
    return sql.SQL(
        f"SELECT {NAMES}, {similarity} FROM document_chunks WHERE {where} "
        f"ORDER BY {order} LIMIT {limit}"
    ).format(condition=condition, distance=distance)


def sorts_by_similarity(condition=EVERY_ROW, distance=WALK):
    order = "similarity_score DESC, document_name, chunk_index"
    return _statement(condition, distance, order)


def keeps_the_index_away(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance, "({distance}) + 0, document_name, chunk_index")


def returns_the_distance(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance, similarity="{distance} AS similarity_score")


def measures_euclidean_distance(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance, similarity=SIMILARITY.replace("<=>", "<->"))


def sorts_the_far_first(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance, "{distance} DESC, document_name, chunk_index")


def leaves_ties_to_chance(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance, "{distance}")


def settles_ties_by_name_alone(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance, "{distance}, document_name")


def fixes_the_limit(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance, limit="5")


def rounds_the_similarity(condition=EVERY_ROW, distance=WALK):
    rounded = "round((1 - (embedding <=> %(query)s))::numeric, 2)::float8 AS similarity_score"
    return _statement(condition, distance, similarity=rounded)


def sorts_by_inner_product(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance, "embedding <#> %(query)s, document_name, chunk_index")


def sorts_by_euclidean_distance(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance, "embedding <-> %(query)s, document_name, chunk_index")


def sorts_after_the_limit(condition=EVERY_ROW, distance=WALK):
    order = sql.SQL("similarity_score DESC, document_name, chunk_index")
    nearest = _statement(condition, distance, "{distance}")
    return sql.SQL("SELECT * FROM ({}) AS nearest ORDER BY {}").format(nearest, order)


def counts_its_placeholders(condition=EVERY_ROW, distance=WALK):
    text = _statement(condition, distance, limit="%s").as_string()
    return sql.Composed([sql.SQL(text.replace("%(query)s", "%s"))])


def names_it_otherwise(condition=EVERY_ROW, distance=WALK):
    return _statement(
        condition, distance, similarity=SIMILARITY.replace("similarity_score", "similarity")
    )


def returns_the_text(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance).as_string()


def ignores_the_condition(condition=EVERY_ROW, distance=WALK):
    return _statement(EVERY_ROW, distance)


def ignores_the_distance(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, WALK)


def computes_the_similarity_from_the_distance(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance, similarity="1 - ({distance}) AS similarity_score")


# --- 7.2 conditions ---


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


# --- 7.3 search_filtered ---


BOTH = (WALK, LOOK_AT_ALL)
ITERATIVE = "SET LOCAL hnsw.iterative_scan = strict_order"
INSIDE = sql.SQL("1 - (embedding <=> %(query)s) >= %(threshold)s")
INSIDE_WITHOUT_NAN = sql.SQL("{} AND vector_norm(embedding) > 0").format(INSIDE)


def conditions(filters):
    values = {name: value for name, value in filters.items() if value is not None}
    return _joined([_part(name, value) for name, value in values.items()]), values


def _rows(conn, filters, way, values, extra=EVERY_ROW, order=None, prepare=False):
    condition, kept = conditions(filters)
    statement = _statement(
        sql.SQL("{} AND {}").format(condition, extra), way, *([order] if order else [])
    )
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(statement, kept | values, prepare=prepare).fetchall()


def _above(rows, threshold):
    return [row for row in rows if row.similarity_score >= threshold]


def _search(conn, query, filters, top_k, ways, before=ITERATIVE, threshold=0.0, **how):
    conn.execute(before)
    rows = []
    values = {"query": query, "top_k": top_k, "threshold": threshold}
    for way in ways:
        if len(rows) < top_k:
            rows = _rows(conn, filters, way, values, **how)
    return rows


def _within(conn, query, filters, top_k, ways, **how):
    with conn.transaction():
        return _search(conn, query, filters, top_k, ways, **how)


def walks_only(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_search(conn, query, filters, top_k, ways[:1], "SELECT"), threshold)


def never_walks(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_within(conn, query, filters, top_k, ways[-1:]), threshold)


def trusts_the_iterative_scan(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_within(conn, query, filters, top_k, ways[:1]), threshold)


def always_goes_both_ways(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    for way in ways:
        rows = _within(conn, query, filters, top_k, [way])
    return _above(rows, threshold)


def knows_two_ways_only(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_within(conn, query, filters, top_k, BOTH), threshold)


def looks_at_all_in_any_case(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_within(conn, query, filters, top_k, [*ways, LOOK_AT_ALL]), threshold)


def forgets_the_iterative_scan(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_search(conn, query, filters, top_k, ways, "SELECT"), threshold)


def sets_it_outside_a_transaction(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_search(conn, query, filters, top_k, ways), threshold)


def _sets_for_a_while(conn, query, filters, top_k, threshold, ways, after="SELECT"):
    before = ITERATIVE.replace("LOCAL ", "")
    rows = _above(_search(conn, query, filters, top_k, ways, before), threshold)
    conn.execute(after)
    return rows


def leaves_the_setting_behind(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _sets_for_a_while(conn, query, filters, top_k, threshold, ways)


def resets_the_setting(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    after = "RESET hnsw.iterative_scan"
    return _sets_for_a_while(conn, query, filters, top_k, threshold, ways, after)


def switches_it_off_in_a_transaction(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    after = "SET hnsw.iterative_scan = off"
    with conn.transaction():
        return _sets_for_a_while(conn, query, filters, top_k, threshold, ways, after)


def restores_it_where_nothing_fails(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    now = conn.execute("SHOW hnsw.iterative_scan").fetchone()[0]
    after = f"SET hnsw.iterative_scan = {now}"
    return _sets_for_a_while(conn, query, filters, top_k, threshold, ways, after)


def looks_at_all_after_an_empty_walk(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    rows = []
    for way in ways:
        rows = rows or _within(conn, query, filters, top_k, [way])
    return _above(rows, threshold)


def puts_the_threshold_inside(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _within(conn, query, filters, top_k, ways, threshold=threshold, extra=INSIDE)


def puts_the_threshold_inside_without_nan(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    inside = INSIDE_WITHOUT_NAN
    return _within(conn, query, filters, top_k, ways, threshold=threshold, extra=inside)


def drops_before_it_counts(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    rows = []
    for way in ways:
        if len(rows) < top_k:
            rows = _above(_within(conn, query, filters, top_k, [way]), threshold)
    return rows


def wants_more_than_the_threshold(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    rows = _within(conn, query, filters, top_k, ways)
    return [row for row in rows if row.similarity_score > threshold]


def rounds_what_it_compares(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    rows = _within(conn, query, filters, top_k, ways)
    return [row for row in rows if round(row.similarity_score, 2) >= threshold]


def relaxes_the_order(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    relaxed = ITERATIVE.replace("strict", "relaxed")
    return _above(_within(conn, query, filters, top_k, ways, before=relaxed), threshold)


def leaves_equals_to_chance(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_within(conn, query, filters, top_k, ways, order="{distance}"), threshold)


def forgets_the_threshold(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _within(conn, query, filters, top_k, ways)


def has_another_default(conn, query, filters, top_k=5, threshold=0.3, ways=BOTH):
    return _above(_within(conn, query, filters, top_k, ways), threshold)


def drops_the_threshold_itself(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    rows = _above(_within(conn, query, filters, top_k, ways), threshold)
    return [(row.document_name, row.chunk_index) for row in rows]


def ignores_top_k(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_within(conn, query, filters, 5, ways), threshold)


def ignores_the_filters(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_within(conn, query, {}, top_k, ways), threshold)


def _calls_nearest_sql(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    condition, values = conditions(filters)
    values |= {"query": query, "top_k": top_k}
    rows = []
    with conn.transaction(), conn.cursor(row_factory=namedtuple_row) as cursor:
        cursor.execute(ITERATIVE)
        for way in ways:
            if len(rows) < top_k:
                statement = nearest_sql(condition, way)  # noqa: F821
                rows = cursor.execute(statement, values, prepare=False).fetchall()
    return _above(rows, threshold)


calls_a_wrong_nearest_sql = FunctionType(
    _calls_nearest_sql.__code__,
    {**globals(), "nearest_sql": leaves_ties_to_chance},
    "calls_a_wrong_nearest_sql",
    _calls_nearest_sql.__defaults__,
)


def prepares_the_statement(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_within(conn, query, filters, top_k, ways, prepare=None), threshold)


# --- 7.4 fuse ---


def _fused(rankings, begin=1, k=60):
    scores = {}
    for ranking in rankings:
        for place, item in enumerate(ranking, begin):
            scores[item] = scores.get(item, 0) + 1 / (k + place)
    return scores


def _sorted(scores):
    return sorted(scores.items(), key=lambda pair: -pair[1])


def counts_places_from_zero(*rankings):
    return _sorted(_fused(rankings, begin=0))


def forgets_the_constant(*rankings):
    return _sorted(_fused(rankings, k=0))


def keeps_the_last_place_only(*rankings):
    scores = {}
    for ranking in rankings:
        scores |= _fused([ranking])
    return _sorted(scores)


def keeps_the_better_place_only(*rankings):
    scores = {}
    for ranking in rankings:
        for item, score in _fused([ranking]).items():
            scores[item] = max(score, scores.get(item, 0))
    return _sorted(scores)


def leaves_them_unsorted(*rankings):
    return list(_fused(rankings).items())


def puts_the_least_first(*rankings):
    return sorted(_fused(rankings).items(), key=lambda pair: pair[1])


def settles_equals_by_name(*rankings):
    return sorted(_fused(rankings).items(), key=lambda pair: (-pair[1], pair[0]))


def turns_equals_round(*rankings):
    return sorted(_fused(rankings).items(), key=lambda pair: pair[1])[::-1]


def knows_two_rankings(first, second=(), *others):
    return _sorted(_fused([first, second]))


def wants_them_in_all(*rankings):
    scores = _fused(rankings)
    return [pair for pair in _sorted(scores) if all(pair[0] in ranking for ranking in rankings)]


def returns_the_items_alone(*rankings):
    return [item for item, _ in _sorted(_fused(rankings))]


# --- found by playing learners ---


def settles_ties_by_digits(condition=EVERY_ROW, distance=WALK):
    return _statement(condition, distance, order="{distance}, document_name, chunk_index::text")


def takes_false_for_none(filters):
    return conditions({name: value for name, value in filters.items() if value is not False})


def takes_the_values_for_its_own(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    found = _above(_within(conn, query, filters, top_k, ways), threshold)
    filters["top_k"] = top_k
    return found


def is_content_with_five(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    rows = _within(conn, query, filters, top_k, ways[:1])
    if len(rows) < min(top_k, 5):
        rows = _within(conn, query, filters, top_k, ways)
    return _above(rows, threshold)


def goes_two_ways_at_most(conn, query, filters, top_k=5, threshold=0.0, ways=BOTH):
    return _above(_within(conn, query, filters, top_k, ways[:2]), threshold)


def reads_rankings_by_index(*rankings):
    return _sorted(_fused([[one[i] for i in range(len(one))] for one in rankings]))


MUTANTS = {
    "7.1": {
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
        returns_the_text: "Composed",
        ignores_the_condition: "only these pass the condition",
        ignores_the_distance: "ORDER BY begins with `distance`",
        computes_the_similarity_from_the_distance: "the similarity stays the cosine",
        settles_ties_by_digits: "chunk 9 comes before chunk 10",
    },
    "7.2": {
        writes_values_into_the_statement: "a value must never be read as SQL",
        writes_names_into_the_statement: "a column's name must never be read as SQL",
        drops_what_is_false: "0 is a value like any other",
        drops_empty_lists: "nothing is an element of an empty list",
        compares_with_none: "None means any value",
        compares_in_any_case: "'note' is not 'NOTE'",
        compares_without_blanks: "a blank is a character like any other",
        compares_patterns: "% and _ are characters like any other",
        knows_no_lists: "a row passes a list if the list holds its value",
        joins_with_or: "a row has to pass both filters",
        returns_nothing_without_filters: "there is no filter",
        returns_a_string: "a condition made with psycopg's sql",
        counts_placeholders: "a value must never be read as SQL",
        takes_false_for_none: "False is a value like any other",
    },
    "7.3": {
        walks_only: "three rows of 2,200 pass",
        never_walks: "one that walks the HNSW index",
        always_goes_both_ways: "so the next way is not taken",
        knows_two_ways_only: "it is LOOK_AT_ALL",
        looks_at_all_in_any_case: "it is WALK",
        leaves_equals_to_chance: "equals come by chunk index",
        puts_the_threshold_inside_without_nan: "the threshold is not part of the statement",
        drops_before_it_counts: "the threshold is not part of the statement",
        wants_more_than_the_threshold: "one row is 0.5 similar",
        rounds_what_it_compares: "one row is 0.5 similar",
        relaxes_the_order: "hnsw.iterative_scan = strict_order",
        trusts_the_iterative_scan: "the walk stopped after 60 rows",
        forgets_the_iterative_scan: "that is what hnsw.iterative_scan is for",
        sets_it_outside_a_transaction: "outside a transaction SET LOCAL has no effect",
        looks_at_all_after_an_empty_walk: "and returned two",
        calls_a_wrong_nearest_sql: "repair 7.1 first",
        prepares_the_statement: "a plan for any value does not know how many rows pass",
        resets_the_setting: "after a search they are as before",
        switches_it_off_in_a_transaction: "after a search they are as before",
        restores_it_where_nothing_fails: "after a search that failed they are as before",
        leaves_the_setting_behind: "settings are only for this search",
        puts_the_threshold_inside: "a vector of zeros, whose similarity is NaN",
        forgets_the_threshold: "a vector of zeros, whose similarity is NaN",
        has_another_default: "without a threshold it is 0.0",
        drops_the_threshold_itself: "rows with the names of nearest_sql's columns",
        ignores_top_k: "the nearest two of three",
        ignores_the_filters: "three rows of 2,200 pass",
        is_content_with_five: "came back with fewer than 300",
        goes_two_ways_at_most: "the third of the ways",
        takes_the_values_for_its_own: "its caller still needs it",
    },
    "7.4": {
        counts_places_from_zero: "places count from 1",
        forgets_the_constant: "RRF_K is 60",
        keeps_the_last_place_only: "and gets both",
        keeps_the_better_place_only: "and gets both",
        leaves_them_unsorted: "and gets both",
        puts_the_least_first: "and gets both",
        turns_equals_round: "the first ranking's comes first",
        settles_equals_by_name: "the first ranking's comes first",
        knows_two_rankings: "there may be more than two rankings",
        wants_them_in_all: "each is first in one ranking",
        returns_the_items_alone: "places count from 1",
        reads_rankings_by_index: "any Iterable",
    },
}
