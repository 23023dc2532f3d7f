"""Wrong answers to lab 13 that a learner would plausibly write; see `mutants_lab01.py`."""

import re

from course_lib.xray.suggestions import COLUMNS, nearest_packages_query
from tests.unit.teaching.edits import edits

# --- 13.1 nearest_packages_query ---


SIMILARITY = "1 - (package.embedding <=> %(vector)s) AS similarity"
OURS = "mine.tenant_id = %(tenant)s AND mine.project = %(project)s AND mine.language = %(language)s"
NEAREST_FIRST = "package.embedding <=> %(vector)s, mine.name"


def filters_what_was_found(vector, project, language, model, k=5, tenant="local"):
    query = f"""
        SELECT {COLUMNS}, {SIMILARITY}
        FROM (SELECT * FROM xray_packages WHERE model = %(model)s
              ORDER BY embedding <=> %(vector)s, name LIMIT %(k)s) AS package
        JOIN xray_report_packages AS mine USING (language, name)
        WHERE {OURS} ORDER BY {NEAREST_FIRST}"""
    return query, locals()


def takes_values_by_position(vector, project, language, model, k=5, tenant="local"):
    query, _ = nearest_packages_query(vector, project, language, model, k, tenant)
    values = [vector, tenant, project, language, model, vector, k]
    return re.sub(r"%\(\w+\)s", "%s", query), values


MUTANTS = {
    "13.1": edits(
        nearest_packages_query,
        takes_every_project=(" AND mine.project = %(project)s -> ", "filter before you choose"),
        takes_every_language=(
            "mine.language = %(language)s AND  -> ",
            "rspotify is a Ruby package",
        ),
        joins_by_name_alone=(
            "USING (language, name) -> USING (name)",
            "Ruby's spotipy is another package",
        ),
        keeps_what_has_no_vector=(
            "package.model = %(model)s -> (package.model = %(model)s OR package.model IS NULL)",
            "unknown has no vector",
        ),
        returns_the_distance=(
            "1 - (package.embedding <=> %(vector)s) AS -> package.embedding <=> %(vector)s AS",
            "1 - the cosine distance",
        ),
        takes_the_euclidean_distance=("<=> -> <->", "1 - the cosine distance"),
        sorts_by_name=("BY package.embedding <=> %(vector)s, -> BY", "the nearest comes first"),
        puts_the_farthest_first=(
            "%(vector)s, mine -> %(vector)s DESC, mine",
            "the nearest comes first",
        ),
        has_no_order_for_equals=(", mine.name\n -> \n", "sorted by name; rows have no order"),
        leaves_equals_to_chance=("mine.name\n -> mine.name DESC\n", "of equal similarity, by name"),
        sorts_rounded_similarities=(
            "BY package.embedding <=> %(vector)s"
            " -> BY round((package.embedding <=> %(vector)s)::numeric, 2)",
            "only rounded are they equal",
        ),
        leaves_out_the_opposite=(
            "%(model)s\n -> %(model)s AND package.embedding <=> %(vector)s <= 1\n",
            "still the nearest that the project has",
        ),
        ignores_capitals=("mine.project = -> mine.project ILIKE", "Rider-App is another project"),
        takes_every_tenant=(
            "mine.tenant_id = %(tenant)s AND  -> ",
            "acme has a project of the same name",
        ),
        takes_the_local_tenant=('"tenant": tenant -> "tenant": "local"', "tenant is acme"),
        takes_every_model=(
            "package.model = %(model)s -> package.embedding IS NOT NULL",
            "from another model, mini-2",
        ),
        forgets_the_values=(', {**values, "vector": vector, "k": k} -> ', "tuple"),
        returns_names_only=(
            "{COLUMNS}, 1 - (package.embedding <=> %(vector)s) AS similarity -> mine.name",
            "the columns ['name', 'version', 'description', 'similarity']",
        ),
        ignores_k=("%(k)s -> 5", "k is 1"),
        takes_ten=("k: int = 5 -> k: int = 10", "the default of k is 5"),
        settles_equals_by_description=("mine.name\n -> 3, 1\n", "whatever the descriptions are"),
    )
    | {
        filters_what_was_found: "filter before you choose",
        takes_values_by_position: "placeholders have names",
    },
}
