"""Wrong answers to lab 11 that a learner would plausibly write; see `mutants_lab01.py`."""

import json
import re

from course_lib.indexing.plan import Plan, make_plan
from course_lib.xray.catalogue import names_to_embed
from course_lib.xray.suggestions import COLUMNS

# --- 11.1 make_plan ---


def compares_names_only(current, stored):
    return Plan(
        skip=[key for key in current if key in stored],
        add=[key for key in current if key not in stored],
        remove=[key for key in stored if key not in current],
    )


def adds_what_changed(current, stored):
    return Plan(
        skip=[key for key, state in current.items() if stored.get(key) == state],
        add=[key for key, state in current.items() if stored.get(key) != state],
        remove=[key for key in stored if key not in current],
    )


def removes_what_changed(current, stored):
    plan = make_plan(current, stored)
    plan.remove.extend(plan.change)
    return plan


def forgets_to_remove(current, stored):
    plan = make_plan(current, stored)
    plan.remove.clear()
    return plan


def asks_whether_the_state_is_true(current, stored):
    plan = Plan()
    for key, state in current.items():
        if stored.get(key) in (None, ""):
            plan.add.append(key)
        elif stored[key] == state:
            plan.skip.append(key)
        else:
            plan.change.append(key)
    plan.remove.extend(key for key in stored if key not in current)
    return plan


def compares_states_with_all_others(current, stored):
    plan = Plan()
    for key, state in current.items():
        if state in stored.values():
            plan.skip.append(key)
        else:
            (plan.change if key in stored else plan.add).append(key)
    plan.remove.extend(key for key in stored if key not in current)
    return plan


def compares_objects(current, stored):
    plan = make_plan(current, stored)
    other = [key for key in plan.skip if stored[key] is not current[key]]
    return Plan([key for key in plan.skip if key not in other], plan.add, [*plan.change, *other],
                plan.remove)  # fmt: skip


def compares_by_position(current, stored):
    plan = make_plan(current, stored)
    if list(current) == list(stored):
        return plan
    pairs = list(zip(current.items(), stored.items(), strict=False))
    same = [new[0] for new, old in pairs if new == old]
    moved = [key for key in plan.skip if key not in same]
    return Plan(same, plan.add, [*plan.change, *moved], plan.remove)


def takes_sets_of_pairs(current, stored):
    same = set(current.items()) & set(stored.items())
    plan = make_plan(current, stored)
    return Plan([key for key, _ in same], plan.add, plan.change, plan.remove)


def takes_none_for_not_stored(current, stored):
    plan = Plan()
    for key, state in current.items():
        if stored.get(key) is None:
            plan.add.append(key)
        elif stored[key] == state:
            plan.skip.append(key)
        else:
            plan.change.append(key)
    plan.remove.extend(key for key in stored if key not in current)
    return plan


def finds_equal_what_was_not_stored(current, stored):
    plan = Plan()
    for key, state in current.items():
        if stored.get(key) == state:
            plan.skip.append(key)
        else:
            (plan.change if key in stored else plan.add).append(key)
    plan.remove.extend(key for key in stored if key not in current)
    return plan


def compares_texts_of_states(current, stored):
    return make_plan({key: str(state) for key, state in current.items()},
                 {key: str(state) for key, state in stored.items()})  # fmt: skip


def takes_smaller_states_for_old(current, stored):
    plan = make_plan(current, stored)
    for key in [key for key in plan.change if repr(current[key]) < repr(stored[key])]:
        plan.change.remove(key)
        plan.skip.append(key)
    return plan


def compares_what_is_written(current, stored):
    def written(states):
        return {key: json.dumps(state, sort_keys=True) for key, state in states.items()}

    return make_plan(written(current), written(stored))


def compares_reprs(current, stored):
    return make_plan({key: repr(state) for key, state in current.items()},
                 {key: repr(state) for key, state in stored.items()})  # fmt: skip


def compares_types(current, stored):
    return make_plan({key: (type(state), state) for key, state in current.items()},
                 {key: (type(state), state) for key, state in stored.items()})  # fmt: skip


def ignores_capitals_of_states(current, stored):
    def lowered(states):
        return {
            key: state.casefold() if isinstance(state, str) else state
            for key, state in states.items()
        }

    return make_plan(lowered(current), lowered(stored))


def returns_a_dictionary(current, stored):
    plan = make_plan(current, stored)
    return {"skip": plan.skip, "add": plan.add, "change": plan.change, "remove": plan.remove}


# --- 11.2 names_to_embed ---


def embeds_everything(texts, made_of, model):
    return list(texts)


def embeds_what_is_new(texts, made_of, model):
    return [name for name in texts if name not in made_of]


def ignores_the_model(texts, made_of, model):
    return [name for name, text in texts.items() if made_of.get(name, ("", ""))[0] != text]


def ignores_the_text(texts, made_of, model):
    return [name for name in texts if made_of.get(name, ("", ""))[1] != model]


def ignores_case_and_blanks(texts, made_of, model):
    def plain(text):
        return text.strip().lower()

    return [
        name
        for name, text in texts.items()
        if name not in made_of
        or plain(made_of[name][0]) != plain(text)
        or made_of[name][1] != model
    ]


def looks_for_the_model_within_a_name(texts, made_of, model):
    return [
        name
        for name, text in texts.items()
        if name not in made_of or made_of[name][0] != text or model not in made_of[name][1]
    ]


def names_it_for_each_reason(texts, made_of, model):
    found = []
    for name, text in texts.items():
        old_text, old_model = made_of.get(name, (None, model))
        if old_text != text:
            found.append(name)
        if old_model != model:
            found.append(name)
    return found


def looks_for_the_text_anywhere(texts, made_of, model):
    return [name for name, text in texts.items() if (text, model) not in made_of.values()]


def sorts_the_names(texts, made_of, model):
    return sorted(name for name, text in texts.items() if made_of.get(name) != (text, model))


# --- 11.3 delete_orphans ---


def _delete(conn, where, values):
    rows = conn.execute(
        f"DELETE FROM xray_packages AS package WHERE {where} RETURNING package.name", values
    ).fetchall()
    return sorted(name for (name,) in rows)


UNUSED = (
    "NOT EXISTS (SELECT FROM xray_used AS used "
    "WHERE used.language = package.language AND used.name = package.name)"
)


def deletes_all_of_them(conn, language, names):
    return _delete(conn, "language = %s AND name = ANY(%s)", [language, list(names)])


def deletes_every_orphan(conn, language, names):
    return _delete(conn, f"language = %s AND {UNUSED}", [language])


def forgets_the_language(conn, language, names):
    return _delete(conn, f"name = ANY(%s) AND {UNUSED}", [list(names)])


def counts_uses_in_other_languages(conn, language, names):
    unused = "NOT EXISTS (SELECT FROM xray_used AS used WHERE used.name = package.name)"
    return _delete(conn, f"language = %s AND name = ANY(%s) AND {unused}", [language, list(names)])


def knows_python_alone(conn, language, names):
    return _delete(conn, f"language = 'python' AND name = ANY(%s) AND {UNUSED}", [list(names)])


def counts_the_uses_of_one_tenant(conn, language, names):
    unused = UNUSED.replace("xray_used AS used WHERE", "xray_report_packages AS used WHERE")
    unused = unused.replace("WHERE", "WHERE tenant_id = 'local' AND")
    return _delete(conn, f"language = %s AND name = ANY(%s) AND {unused}", [language, list(names)])


def counts_any_use_of_the_language(conn, language, names):
    unused = "NOT EXISTS (SELECT FROM xray_used AS used WHERE used.language = package.language)"
    return _delete(conn, f"language = %s AND name = ANY(%s) AND {unused}", [language, list(names)])


def puts_names_into_the_statement(conn, language, names):
    some = ", ".join(f"'{name}'" for name in names) or "NULL"
    return _delete(conn, f"language = %s AND name IN ({some}) AND {UNUSED}", [language])


def cannot_take_no_names(conn, language, names):
    marks = ", ".join(["%s"] * len(names))
    return _delete(conn, f"language = %s AND name IN ({marks}) AND {UNUSED}", [language, *names])


def takes_names_for_patterns(conn, language, names):
    return _delete(
        conn, f"language = %s AND name ILIKE ANY(%s) AND {UNUSED}", [language, list(names)]
    )


def leaves_them_unsorted(conn, language, names):
    rows = conn.execute(
        "DELETE FROM xray_packages AS package WHERE language = %s AND name = ANY(%s) "
        f"AND {UNUSED} RETURNING name",
        [language, list(names)],
    ).fetchall()
    return [name for (name,) in rows]


def returns_what_it_was_given(conn, language, names):
    _right(conn, language, names)
    return sorted(names)


def returns_how_many(conn, language, names):
    return len(_right(conn, language, names))


def leaves_tuples(conn, language, names):
    return [(name,) for name in _right(conn, language, names)]


def commits_for_its_caller(conn, language, names):
    found = _right(conn, language, names)
    conn.execute("COMMIT")
    return found


def _right(conn, language, names):
    where = f"language = %s AND name = ANY(%s) AND {UNUSED}"
    return _delete(conn, where, [language, list(names)])


# --- 11.4 nearest_packages_query ---


SIMILARITY = "1 - (package.embedding <=> %(vector)s) AS similarity"
OURS = "mine.tenant_id = %(tenant)s AND mine.project = %(project)s AND mine.language = %(language)s"
NEAREST_FIRST = "package.embedding <=> %(vector)s, mine.name"


def _query(
    values,
    columns=f"{COLUMNS}, {SIMILARITY}",
    where=f"{OURS} AND package.model = %(model)s",
    order=NEAREST_FIRST,
    using="language, name",
    limit="%(k)s",
):
    return (
        f"SELECT {columns} FROM xray_report_packages AS mine "
        f"JOIN xray_packages AS package USING ({using}) WHERE {where} "
        f"ORDER BY {order} LIMIT {limit}",
        values,
    )


def filters_what_was_found(vector, project, language, model, k=5, tenant="local"):
    query = f"""
        SELECT {COLUMNS}, {SIMILARITY}
        FROM (SELECT * FROM xray_packages WHERE model = %(model)s
              ORDER BY embedding <=> %(vector)s, name LIMIT %(k)s) AS package
        JOIN xray_report_packages AS mine USING (language, name)
        WHERE {OURS} ORDER BY {NEAREST_FIRST}"""
    return query, locals()


def takes_every_project(vector, project, language, model, k=5, tenant="local"):
    where = (
        "mine.tenant_id = %(tenant)s AND mine.language = %(language)s AND package.model = %(model)s"
    )
    return _query(locals(), where=where)


def takes_every_language(vector, project, language, model, k=5, tenant="local"):
    where = (
        "mine.tenant_id = %(tenant)s AND mine.project = %(project)s AND package.model = %(model)s"
    )
    return _query(locals(), where=where)


def takes_every_tenant(vector, project, language, model, k=5, tenant="local"):
    where = (
        "mine.project = %(project)s AND mine.language = %(language)s AND package.model = %(model)s"
    )
    return _query(locals(), where=where)


def takes_the_local_tenant(vector, project, language, model, k=5, tenant="local"):
    tenant = "local"
    return _query(locals())


def takes_every_model(vector, project, language, model, k=5, tenant="local"):
    return _query(locals(), where=f"{OURS} AND package.embedding IS NOT NULL")


def joins_by_name_alone(vector, project, language, model, k=5, tenant="local"):
    return _query(locals(), using="name")


def keeps_what_has_no_vector(vector, project, language, model, k=5, tenant="local"):
    where = f"{OURS} AND (package.model = %(model)s OR package.model IS NULL)"
    return _query(locals(), where=where)


def returns_the_distance(vector, project, language, model, k=5, tenant="local"):
    columns = f"{COLUMNS}, package.embedding <=> %(vector)s AS similarity"
    return _query(locals(), columns=columns)


def takes_the_euclidean_distance(vector, project, language, model, k=5, tenant="local"):
    return _query(
        locals(),
        columns=f"{COLUMNS}, 1 - (package.embedding <-> %(vector)s) AS similarity",
        order="package.embedding <-> %(vector)s, mine.name",
    )


def sorts_by_name(vector, project, language, model, k=5, tenant="local"):
    return _query(locals(), order="mine.name")


def puts_the_farthest_first(vector, project, language, model, k=5, tenant="local"):
    return _query(locals(), order="package.embedding <=> %(vector)s DESC, mine.name")


def has_no_order_for_equals(vector, project, language, model, k=5, tenant="local"):
    return _query(locals(), order="package.embedding <=> %(vector)s")


def takes_values_by_position(vector, project, language, model, k=5, tenant="local"):
    query, _ = _query({})
    values = [vector, tenant, project, language, model, vector, k]
    return re.sub(r"%\(\w+\)s", "%s", query), values


def leaves_equals_to_chance(vector, project, language, model, k=5, tenant="local"):
    return _query(locals(), order="package.embedding <=> %(vector)s, mine.name DESC")


def returns_names_only(vector, project, language, model, k=5, tenant="local"):
    return _query(locals(), columns="mine.name")


def takes_ten(vector, project, language, model, k=10, tenant="local"):
    return _query(locals())


def sorts_rounded_similarities(vector, project, language, model, k=5, tenant="local"):
    order = "round((package.embedding <=> %(vector)s)::numeric, 2), mine.name"
    return _query(locals(), order=order)


def leaves_out_the_opposite(vector, project, language, model, k=5, tenant="local"):
    where = f"{OURS} AND package.model = %(model)s AND package.embedding <=> %(vector)s <= 1"
    return _query(locals(), where=where)


def ignores_capitals(vector, project, language, model, k=5, tenant="local"):
    where = (
        "mine.tenant_id = %(tenant)s AND mine.project ILIKE %(project)s "
        "AND mine.language = %(language)s AND package.model = %(model)s"
    )
    return _query(locals(), where=where)


def ignores_k(vector, project, language, model, k=5, tenant="local"):
    return _query(locals(), limit="5")


def forgets_the_values(vector, project, language, model, k=5, tenant="local"):
    return _query(locals())[0]


# --- found by playing learners ---


def sorts_the_keys(current, stored):
    return make_plan({key: current[key] for key in sorted(current)}, stored)


def takes_keys_out_of_what_was_stored(current, stored):
    plan = make_plan(current, stored)
    for key in current:
        stored.pop(key, None)
    return plan


def ignores_capitals_of_texts(texts, made_of, model):
    return [n for n in names_to_embed(texts, made_of, model) if _other(texts[n], made_of, n, model)]


def _other(text, made_of, name, model):
    was = made_of.get(name)
    return was is None or was[1] != model or was[0].lower() != text.lower()


def ignores_blanks_of_texts(texts, made_of, model):
    kept = {name: (text.strip(), own) for name, (text, own) in made_of.items()}
    return names_to_embed(texts, kept, model)


def leaves_empty_texts_out(texts, made_of, model):
    return [name for name in names_to_embed(texts, made_of, model) if texts[name]]


def embeds_equal_texts_once(texts, made_of, model):
    first = {}
    for name in names_to_embed(texts, made_of, model):
        first.setdefault(texts[name], name)
    return list(first.values())


def embeds_all_where_a_model_is_another(texts, made_of, model):
    others = any(own != model for name, (_, own) in made_of.items() if name in texts)
    return list(texts) if others else names_to_embed(texts, made_of, model)


def begins_with_what_has_a_vector(texts, made_of, model):
    found = names_to_embed(texts, made_of, model)
    return sorted(found, key=lambda name: name not in made_of)


def gives_a_list_of_values(vector, project, language, model, k=5, tenant="local"):
    query, values = _query(locals())
    names = re.findall(r"%\((\w+)\)s", query)
    return re.sub(r"%\(\w+\)s", "%s", query), [values[name] for name in names]


def settles_equals_by_description(vector, project, language, model, k=5, tenant="local"):
    return _query(locals(), order="package.embedding <=> %(vector)s, 3, 1")


MUTANTS = {
    "11.1": {
        compares_names_only: "the same key has another state",
        adds_what_changed: "the same key has another state",
        removes_what_changed: "the same key has another state",
        forgets_to_remove: "it is not there any more",
        compares_by_position: "only the order is different",
        takes_sets_of_pairs: "which cannot be in a set",
        asks_whether_the_state_is_true: "an empty text is a state, too",
        takes_none_for_not_stored: "it was stored, and its state was None",
        finds_equal_what_was_not_stored: "it was not stored, and its state is None now",
        compares_texts_of_states: "1 and '1' are not equal",
        compares_states_with_all_others: "a and b are two keys",
        compares_objects: "although they are two objects",
        takes_smaller_states_for_old: "a smaller state is another state",
        compares_what_is_written: "1 and 1.0 are equal",
        compares_types: "1 and 1.0 are equal",
        compares_reprs: "in any order of their keys",
        ignores_capitals_of_states: "'A' and 'a' are not equal",
        returns_a_dictionary: "Plan",
        sorts_the_keys: "are in no order",
        takes_keys_out_of_what_was_stored: "its caller still needs it",
    },
    "11.2": {
        embeds_everything: "this text and this model made the vector",
        embeds_what_is_new: "another text made the vector",
        ignores_the_model: "another model",
        ignores_the_text: "another text made the vector",
        ignores_case_and_blanks: "another capital or blank",
        looks_for_the_model_within_a_name: "another model, mini-2, made the vector",
        names_it_for_each_reason: "each name is returned once",
        looks_for_the_text_anywhere: "typer has a vector of the same text",
        sorts_the_names: "in the order of `texts`",
        ignores_capitals_of_texts: "another capital or blank",
        ignores_blanks_of_texts: "another capital or blank",
        leaves_empty_texts_out: "an empty text is a text",
        embeds_equal_texts_once: "although their texts are equal",
        embeds_all_where_a_model_is_another: "only typer's vector",
        begins_with_what_has_a_vector: "whatever has a vector already",
    },
    "11.3": {
        deletes_all_of_them: "ForeignKeyViolation",
        deletes_every_orphan: "it is not in `names`",
        forgets_the_language: "only Python's rich was removed",
        counts_uses_in_other_languages: "only Go's package of this name is in use",
        knows_python_alone: "only Go's rich was removed",
        counts_the_uses_of_one_tenant: "ForeignKeyViolation",
        counts_any_use_of_the_language: "another project uses pillow",
        puts_names_into_the_statement: "pass names as parameters",
        takes_names_for_patterns: "A_B and axb are not a_b",
        cannot_take_no_names: "SyntaxError",
        leaves_them_unsorted: "the names come back sorted",
        returns_what_it_was_given: "no project uses bleach, and another project uses pillow",
        returns_how_many: "['bleach']",
        leaves_tuples: "no project uses bleach",
        commits_for_its_caller: "only the caller commits or rolls back",
    },
    "11.4": {
        filters_what_was_found: "filter before you choose",
        takes_every_project: "filter before you choose",
        takes_every_language: "rspotify is a Ruby package",
        joins_by_name_alone: "Ruby's spotipy is another package",
        keeps_what_has_no_vector: "unknown has no vector",
        returns_the_distance: "1 - the cosine distance",
        takes_the_euclidean_distance: "1 - the cosine distance",
        sorts_by_name: "the nearest comes first",
        puts_the_farthest_first: "the nearest comes first",
        has_no_order_for_equals: "sorted by name; rows have no order",
        takes_values_by_position: "placeholders have names",
        leaves_equals_to_chance: "of equal similarity, by name",
        sorts_rounded_similarities: "only rounded are they equal",
        leaves_out_the_opposite: "still the nearest that the project has",
        ignores_capitals: "Rider-App is another project",
        takes_every_tenant: "acme has a project of the same name",
        takes_the_local_tenant: "tenant is acme",
        takes_every_model: "from another model, mini-2",
        forgets_the_values: "tuple",
        returns_names_only: "the columns ['name', 'version', 'description', 'similarity']",
        ignores_k: "k is 1",
        takes_ten: "the default of k is 5",
        gives_a_list_of_values: "the query's placeholders have names",
        settles_equals_by_description: "whatever the descriptions are",
    },
}
