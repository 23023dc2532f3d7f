"""Wrong answers to lab 13 that a learner would plausibly write; see `mutants_lab01.py`."""

import re

from course_lib.xray.lock_python import parse_poetry_lock
from course_lib.xray.suggestions import COLUMNS, choose, nearest_packages_query
from tests.unit.teaching.edits import edits

# --- 13.2 nearest_packages_query ---


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


def chooses_among_a_hundred(vector, project, language, model, k=5, tenant="local"):
    query = f"""
        SELECT {COLUMNS}, {SIMILARITY}
        FROM (SELECT * FROM xray_packages ORDER BY embedding <=> %(vector)s LIMIT 100) AS package
        JOIN xray_report_packages AS mine USING (language, name)
        WHERE {OURS} AND package.model = %(model)s ORDER BY {NEAREST_FIRST} LIMIT %(k)s"""
    return query, locals()


# --- 13.3 choose ---

PACKAGES = "tuple(Suggestion(*row) for row in near or first)"
FALLBACK = 'why if first and not near else ""'


MUTANTS = {
    "13.2": edits(
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
        takes_the_catalogue_s_description=(
            "{COLUMNS} -> mine.name, mine.version, package.description",
            "own description comes first",
        ),
        takes_its_own_description=(
            "{COLUMNS} -> mine.name, mine.version, mine.description",
            "has none of its own",
        ),
        takes_a_project_for_a_pattern=("mine.project = -> mine.project LIKE", "not a pattern"),
        settles_equals_by_description=("mine.name\n -> 3, 1\n", "whatever the descriptions are"),
    )
    | {
        filters_what_was_found: "filter before you choose",
        chooses_among_a_hundred: "the project does not use them",
        takes_values_by_position: "placeholders have names",
    },
    "13.1": edits(
        parse_poetry_lock,
        keeps_names_as_they_are=("canonicalize_name(name), -> name,", "one name"),
        lowers_names_alone=("canonicalize_name(name), -> name.lower(),", "one name"),
        turns_underscores_alone=(
            "canonicalize_name(name), -> name.lower().replace('_', '-'),",
            "A.b and a__B are one name",
        ),
        keeps_the_projects_own=(' != "directory" -> != ""', "the project's own"),
        skips_every_source=(' != "directory" -> is None', "another index"),
        skips_repositories=(
            ' != "directory" -> not in ("directory", "git")',
            "repository of others",
        ),
        keeps_directories_alone=(" != -> ==", "it has one package"),
        keeps_the_last_version=("return collect( -> return dict(", "although it comes first"),
        turns_one_character_at_a_time=(
            "canonicalize_name(name), -> name.lower().replace('_', '-').replace('.', '-'),",
            "A.b and a__B are one name",
        ),
        skips_files=(' != "directory" -> not in ("directory", "file")', "one file"),
        skips_what_is_optional=(
            'if table_at -> if not table.get("optional") and table_at',
            "rich is optional",
        ),
        finds_the_end_in_a_name=("not in lock: -> not in text:", "the word metadata"),
        finds_the_end_in_a_description=(
            '"metadata" not in lock -> "[metadata]" not in text',
            "the word metadata",
        ),
        forgets_that_the_end_may_be_missing=(
            'if "metadata" not in lock: -> if False:',
            "is missing",
        ),
        returns_nothing_without_an_end=(
            'raise ValueError("it has no metadata, which come last: the end is missing")'
            " -> return {}",
            "is missing",
        ),
        raises_another_error=("raise ValueError -> raise KeyError", "is missing"),
        takes_every_format=('check_version(written.split(".")[0], "1", "2") -> pass', "format 3"),
        knows_the_newest_alone=(', "1", "2") -> , "2")', "format 1 is known"),
        compares_the_whole_version=('written.split(".")[0], -> written,', "it has one package"),
        compares_the_first_character=('written.split(".")[0] -> written[0]', "format 21"),
        needs_a_version=('.get("lock-version", "1") -> ["lock-version"]', "there is no [metadata]"),
        takes_a_missing_version_for_new=(
            '"lock-version", "1" -> "lock-version", "9"',
            "has format 1",
        ),
    ),
    "13.3": edits(
        choose,
        suggests_both=("near or first) -> [*near, *first])", "so no other"),
        fills_up_with_the_first=(
            "near or first) -> "
            "[*near, *(one for one in first if one[0] not in {name for name, *_ in near})])",
            "so no other",
        ),
        suggests_five_at_most=("near or first) -> (near or first)[:5])", "however many"),
        falls_back_where_all_are_far=(
            "found = -> near = near if any(row[3] > 0 for row in near) else []\n    found =",
            "are not what is suggested",
        ),
        knows_lists_only=(
            "near or first) -> (near if near != [] else first))",
            "all of the first, however many",
        ),
        returns_a_list_of_them=(
            f"{PACKAGES} -> [Suggestion(*row) for row in near or first]",
            "packages in a tuple",
        ),
        returns_rows=(f"{PACKAGES} -> tuple(near or first)", "a Suggestion for each row"),
        returns_the_packages_alone=(f"Suggestions(found, {FALLBACK}) -> found", "Suggestions"),
        returns_the_best_alone=("near or first) -> (near or first)[:1])", "all nearest packages"),
        sorts_by_name=(
            "near or first) -> sorted(near or first, key=lambda row: row[0]))",
            "in their order",
        ),
        sorts_by_similarity=(
            "near or first) -> sorted(near, key=lambda row: -row[3]) or first)",
            "in their order",
        ),
        leaves_out_what_is_far=(
            "found = -> near = [row for row in near if row[3] > 0]\n    found =",
            "all nearest packages",
        ),
        gives_the_first_a_similarity=(
            "near or first) -> near or [(*row, 0.0) for row in first])",
            "all of the first by name",
        ),
        always_says_why=(f"{FALLBACK} -> why", "there is a nearest package"),
        never_says_why=(f", {FALLBACK} -> ", "are a fallback"),
        says_why_if_nothing_is_near=("first and not near -> not near", "nothing was replaced"),
        says_why_if_there_are_first_ones=(
            "first and not near -> first",
            "are not what is suggested",
        ),
        says_a_reason_of_its_own=(
            "why if first -> 'there is no model' if first",
            "the caller says why",
        ),
        says_true=(f"{FALLBACK} -> bool(first and not near)", "there is a nearest package"),
    ),
}


RIGHT = {
    "13.1": edits(
        parse_poetry_lock,
        wants_a_line_in_metadata=('"metadata" not in lock -> not table_at(lock, "metadata")', ""),
    )
}
