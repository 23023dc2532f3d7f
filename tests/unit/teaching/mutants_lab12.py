"""Wrong answers to lab 12 that a learner would plausibly write; see `mutants_lab01.py`."""

from course_lib.indexing.plan import Plan, make_plan
from course_lib.xray.catalogue import delete_orphans, names_to_embed
from tests.unit.teaching.edits import edits

# --- 12.1 make_plan ---


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


# --- 12.2 names_to_embed ---


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


# --- 12.3 delete_orphans ---


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


def puts_names_into_the_statement(conn, language, names):
    some = ", ".join(f"'{name}'" for name in names) or "NULL"
    return _delete(conn, f"language = %s AND name IN ({some}) AND {UNUSED}", [language])


def cannot_take_no_names(conn, language, names):
    marks = ", ".join(["%s"] * len(names))
    return _delete(conn, f"language = %s AND name IN ({marks}) AND {UNUSED}", [language, *names])


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


MUTANTS = {
    "12.1": edits(
        make_plan,
        forgets_to_remove=(
            "plan.remove.extend(key for key in stored if key not in current) -> pass",
            "it is not there any more",
        ),
        asks_whether_the_state_is_true=(
            'key not in stored -> stored.get(key) in (None, "")',
            "an empty text is a state, too",
        ),
        takes_none_for_not_stored=(
            "key not in stored -> stored.get(key) is None",
            "it was stored, and its state was None",
        ),
        finds_equal_what_was_not_stored=(
            "key not in stored: -> key not in stored and state is not None:",
            "stored[key] -> stored.get(key)",
            "it was not stored, and its state is None now",
        ),
        compares_texts_of_states=(
            "stored[key] == state -> str(stored[key]) == str(state)",
            "1 and '1' are not equal",
        ),
        compares_states_with_all_others=(
            "if key not in stored -> if key not in stored and state not in stored.values()",
            "stored[key] == state -> state in stored.values()",
            "a and b are two keys",
        ),
        compares_objects=(
            "stored[key] == state -> stored[key] is state",
            "although they are two objects",
        ),
        takes_smaller_states_for_old=(
            "stored[key] == state -> stored[key] == state or repr(state) < repr(stored[key])",
            "a smaller state is another state",
        ),
        compares_types=(
            "stored[key] == state -> type(stored[key]) is type(state) and stored[key] == state",
            "1 and 1.0 are equal",
        ),
        compares_reprs=(
            "stored[key] == state -> repr(stored[key]) == repr(state)",
            "in any order of their keys",
        ),
    )
    | {
        compares_names_only: "the same key has another state",
        adds_what_changed: "the same key has another state",
        removes_what_changed: "the same key has another state",
        compares_by_position: "only the order is different",
        takes_sets_of_pairs: "which cannot be in a set",
        ignores_capitals_of_states: "'A' and 'a' are not equal",
        returns_a_dictionary: "Plan",
        sorts_the_keys: "are in no order",
        takes_keys_out_of_what_was_stored: "its caller still needs it",
    },
    "12.2": edits(
        names_to_embed,
        embeds_everything=(
            " if made_of.get(name) != (text, model) -> ",
            "this text and this model made the vector",
        ),
        embeds_what_is_new=(
            "made_of.get(name) != (text, model) -> name not in made_of",
            "another text made the vector",
        ),
        ignores_the_text=(
            'made_of.get(name) != (text, model) -> made_of.get(name, ("", ""))[1] != model',
            "another text made the vector",
        ),
        looks_for_the_text_anywhere=(
            "made_of.get(name) != (text, model) -> (text, model) not in made_of.values()",
            "typer has a vector of the same text",
        ),
        sorts_the_names=(
            "in texts -> in sorted(texts",
            ".items() -> .items())",
            "in the order of `texts`",
        ),
        leaves_empty_texts_out=(
            "made_of.get(name) != (text, model) -> made_of.get(name) != (text, model) and text",
            "an empty text is a text",
        ),
    )
    | {
        looks_for_the_model_within_a_name: "another model, mini-2, made the vector",
        names_it_for_each_reason: "each name is returned once",
        ignores_capitals_of_texts: "another capital or blank",
        ignores_blanks_of_texts: "another capital or blank",
        embeds_equal_texts_once: "although their texts are equal",
        embeds_all_where_a_model_is_another: "only typer's vector",
        begins_with_what_has_a_vector: "whatever has a vector already",
    },
    "12.3": edits(
        delete_orphans,
        deletes_every_orphan=(
            " AND package.name = ANY(%s) -> ",
            ", list(names) -> ",
            "it is not in `names`",
        ),
        forgets_the_language=(
            "package.language = %s AND  -> ",
            "[language,  -> [",
            "only Python's rich was removed",
        ),
        counts_uses_in_other_languages=(
            "used.language = package.language AND  -> ",
            "only Go's package of this name is in use",
        ),
        knows_python_alone=(
            "package.language = %s -> package.language = 'python'",
            "[language,  -> [",
            "only Go's rich was removed",
        ),
        counts_the_uses_of_one_tenant=(
            "xray_used AS used\n            WHERE"
            " -> xray_report_packages AS used\n            WHERE tenant_id = 'local' AND",
            "ForeignKeyViolation",
        ),
        counts_any_use_of_the_language=(
            " AND used.name = package.name -> ",
            "another project uses pillow",
        ),
        takes_names_for_patterns=("name = ANY -> name ILIKE ANY", "A_B and axb are not a_b"),
        leaves_them_unsorted=(
            "sorted(name for (name,) in rows) -> [name for (name,) in rows]",
            "the names come back sorted",
        ),
        returns_what_it_was_given=(
            "name for (name,) in rows -> names",
            "no project uses bleach, and another project uses pillow",
        ),
        returns_how_many=("sorted(name for (name,) in rows) -> len(rows)", "['bleach']"),
        leaves_tuples=("name for (name,) in rows -> rows", "no project uses bleach"),
        commits_for_its_caller=(
            '    return ->     conn.execute("COMMIT")\n    return',
            "only the caller commits or rolls back",
        ),
    )
    | {
        deletes_all_of_them: "ForeignKeyViolation",
        puts_names_into_the_statement: "pass names as parameters",
        cannot_take_no_names: "SyntaxError",
    },
}
