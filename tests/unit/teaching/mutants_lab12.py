"""Wrong answers to lab 12 that a learner would plausibly write; see `mutants_lab01.py`."""

from course_lib.indexing.plan import Plan, make_plan
from course_lib.xray.catalogue import DELETE_ORPHANS, names_to_embed
from course_lib.xray.tables import take_lock
from tests.unit.teaching.edits import edits

# --- 12.1 make_plan ---


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


def returns_a_dictionary(current, stored):
    plan = make_plan(current, stored)
    return {"skip": plan.skip, "add": plan.add, "change": plan.change, "remove": plan.remove}


# --- 12.2 names_to_embed ---


def names_it_for_each_reason(texts, made_of, model):
    found = []
    for name, text in texts.items():
        old_text, old_model = made_of.get(name, (None, model))
        if old_text != text:
            found.append(name)
        if old_model != model:
            found.append(name)
    return found


# --- 12.3 DELETE_ORPHANS ---

YOURS = DELETE_ORPHANS.index("WHERE"), DELETE_ORPHANS.index("RETURNING")
STUBS = {"12.3": f"{DELETE_ORPHANS[: YOURS[0]]}-- YOUR SQL HERE\n{DELETE_ORPHANS[YOURS[1] :]}"}
WHERE = DELETE_ORPHANS[YOURS[0] : YOURS[1]]
USED = WHERE[WHERE.index("NOT EXISTS") :].strip()
PAIR = "used.language = package.language AND used.name = package.name"

# --- 12.4 take_lock ---

NUMBER = "hashtextextended(%s, 0)"


def commits_to_begin_anew(conn, language):
    conn.execute("COMMIT")
    conn.execute("BEGIN")
    take_lock(conn, language)
    conn.execute("COMMIT")


def locks_before_it_sets_the_level(conn, language):
    conn.execute(f"SELECT pg_advisory_xact_lock({NUMBER})", [f"course xray {language}"])
    conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")


def asks_whether_it_is_free(conn, language):
    conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    key = [f"course xray {language}"]
    if conn.execute(f"SELECT pg_try_advisory_xact_lock({NUMBER})", key).fetchone() == (False,):
        return


def returns_the_row(conn, language):
    conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    key = [f"course xray {language}"]
    return conn.execute(f"SELECT pg_advisory_xact_lock({NUMBER})", key).fetchone()


def gives_it_back_at_once(conn, language):
    conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    key = [f"course xray {language}"]
    conn.execute(f"SELECT pg_advisory_lock({NUMBER})", key)
    conn.execute(f"SELECT pg_advisory_unlock({NUMBER})", key)


def makes_the_number_in_python(conn, language):
    conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    conn.execute("SELECT pg_advisory_xact_lock(%s)", [sum(f"course xray {language}".encode())])


def locks_the_table(conn, language):
    conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    conn.execute("LOCK TABLE pg_temp.xray_packages IN EXCLUSIVE MODE")


def opens_a_transaction_of_its_own(conn, language):
    with conn.transaction():
        take_lock(conn, language)
        conn.execute("ROLLBACK")


# --- found by playing learners ---


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


def ignores_capitals_of_names(texts, made_of, model):
    small = {name.lower(): made for name, made in made_of.items()}
    return [name for name, text in texts.items() if small.get(name.lower()) != (text, model)]


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
        strips_states=(
            "stored[key] == state -> (stored[key].strip() == state.strip() "
            "if isinstance(state, str) and isinstance(stored[key], str) else stored[key] == state)",
            "'A ' and 'A' are not equal",
        ),
        compares_seven_letters_of_states=(
            "stored[key] == state -> (stored[key][:7] == state[:7] "
            "if isinstance(state, str) and isinstance(stored[key], str) else stored[key] == state)",
            "although they begin alike",
        ),
        ignores_the_order_of_a_list=(
            "stored[key] == state -> (sorted(stored[key]) == sorted(state) "
            "if isinstance(state, list) and isinstance(stored[key], list) "
            "else stored[key] == state)",
            "the order of a list counts",
        ),
        ignores_capitals_of_what_is_gone=(
            "key not in current) -> str(key).lower() not in {str(one).lower() for one in current})",
            "A and a are two keys",
        ),
        passes_over_keys_that_are_false=(
            "in stored if key not in current -> in stored if key and key not in current",
            "0, an empty text and an empty pair",
        ),
        removes_no_empty_states=(
            "if key not in current -> if key not in current and stored[key] is not None",
            "its state was None",
        ),
        compares_reprs=(
            "stored[key] == state -> repr(stored[key]) == repr(state)",
            "in any order of their keys",
        ),
        compares_names_only=("stored[key] == state -> True", "the same key has another state"),
        adds_what_changed=(
            "plan.change.append -> plan.add.append",
            "the same key has another state",
        ),
        sorts_the_keys=("current.items() -> sorted(current.items())", "are in no order"),
        ignores_capitals_of_states=(
            "stored[key] == state -> (stored[key].casefold() == state.casefold() "
            "if isinstance(state, str) and isinstance(stored[key], str) else stored[key] == state)",
            "'A' and 'a' are not equal",
        ),
    )
    | {
        removes_what_changed: "the same key has another state",
        compares_by_position: "only the order is different",
        takes_sets_of_pairs: "which cannot be in a set",
        returns_a_dictionary: "Plan",
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
        looks_for_both_anywhere_in_the_pair=(
            "made_of.get(name) != (text, model)"
            " -> text not in made_of.get(name, ()) or model not in made_of.get(name, ())",
            "the text is 'mini', too",
        ),
        sorts_the_letters=(
            "made_of.get(name) != (text, model) -> "
            "sorted(made_of.get(name, ('', ''))[0]) != sorted(text) or made_of[name][1] != model",
            "the same letters in another order",
        ),
        ignores_capitals_of_models=(
            "made_of.get(name) != (text, model) -> made_of.get(name, ('', ''))[0] != text "
            "or made_of[name][1].lower() != model.lower()",
            "Mini is another model",
        ),
        takes_the_last_part_of_a_model=(
            "made_of.get(name) != (text, model) -> made_of.get(name, ('', ''))[0] != text "
            "or made_of[name][1].split('/')[-1] != model",
            "my/mini is another model",
        ),
        compares_beginnings=(
            "made_of.get(name) != (text, model) -> "
            "made_of.get(name, ('', ''))[0][:80] != text[:80] or made_of[name][1] != model",
            "although both begin alike",
        ),
        takes_an_empty_text_for_none=(
            "made_of.get(name) != (text, model)"
            " -> not made_of.get(name, ('',))[0] or made_of[name] != (text, model)",
            "an empty text made this vector",
        ),
        joins_text_and_model=(
            'made_of.get(name) != (text, model) -> "".join(made_of.get(name, ())) != text + model',
            "the letters of both together",
        ),
        leaves_empty_texts_out=(
            "made_of.get(name) != (text, model) -> made_of.get(name) != (text, model) and text",
            "an empty text is a text",
        ),
        looks_for_the_model_within_a_name=(
            "made_of.get(name) != (text, model) -> made_of.get(name, ('', ''))[0] != text "
            "or model not in made_of[name][1]",
            "another model, mini-2, made the vector",
        ),
    )
    | {
        names_it_for_each_reason: "each name is returned once",
        ignores_capitals_of_texts: "another capital or blank",
        ignores_blanks_of_texts: "another capital or blank",
        ignores_capitals_of_names: "Rich is another name",
        embeds_equal_texts_once: "although their texts are equal",
        embeds_all_where_a_model_is_another: "only typer's vector",
        begins_with_what_has_a_vector: "whatever has a vector already",
    },
    "12.3": edits(
        DELETE_ORPHANS,
        has_no_condition=(f"{WHERE} -> ", "another project uses pillow"),
        deletes_all_that_are_named=(f"\n  AND {USED} -> ", "violates foreign key"),
        deletes_every_orphan=(" AND package.name = ANY(%(names)s) -> ", "it is not in `names`"),
        forgets_the_language=("package.language = %(language)s AND  -> ", "not Go's"),
        counts_uses_in_other_languages=(
            "used.language = package.language AND  -> ",
            "only Go's package of this name is in use",
        ),
        counts_any_use_of_the_language=(
            " AND used.name = package.name -> ",
            "another project uses pillow",
        ),
        counts_any_use=(f" WHERE {PAIR} -> ", "another project uses pillow"),
        compares_the_use_with_itself=(
            f"{PAIR} -> used.language = used.language AND used.name = used.name",
            "another project uses pillow",
        ),
        keeps_what_is_not_used=("NOT EXISTS -> EXISTS", "another project uses pillow"),
        takes_one_condition_or_the_other=("\n  AND NOT -> \n  OR NOT", "violates foreign key"),
        knows_python_alone=("package.language = %(language)s -> package.language = 'python'", "go"),
        counts_the_uses_of_one_tenant=(
            "FROM xray_used AS used\n    WHERE"
            " -> FROM xray_report_packages AS used\n    WHERE tenant_id = 'local' AND",
            "a project of another tenant uses pillow",
        ),
        takes_names_for_patterns=("name = ANY -> name ILIKE ANY", "are not a_b"),
        ignores_capitals=(
            "package.name = ANY(%(names)s)"
            " -> lower(package.name) IN (SELECT lower(one) FROM unnest(%(names)s::text[]) AS one)",
            "are not a_b",
        ),
        takes_the_first_name=("= ANY(%(names)s) -> = (%(names)s)[1]", "no project uses"),
        asks_for_in=("= ANY(%(names)s) -> IN (%(names)s)", "no project uses bleach"),
        forgets_to_name_the_outer_row=(
            "used.name = package.name -> name = name",
            "another project uses pillow",
        ),
        looks_in_the_catalogue=("FROM xray_used -> FROM xray_packages", "no project uses bleach"),
        compares_with_the_names_only=(
            f"{PAIR} -> used.name = ANY(%(names)s)",
            "no project uses bleach",
        ),
        compares_with_not_in=(
            f"{USED} -> package.name NOT IN (SELECT name FROM xray_used)",
            "only Go's package of this name is in use",
        ),
        compares_language_and_name_with_any_two_uses=(
            f"{USED} -> NOT (package.name IN (SELECT name FROM xray_used) "
            "AND package.language IN (SELECT language FROM xray_used))",
            "only Go's package of this name is in use",
        ),
        trims_names=("package.name = ANY -> trim(package.name) = ANY", "are not a_b"),
        ignores_capitals_of_languages=(
            "package.language = %(language)s -> lower(package.language) = %(language)s",
            "Go and golang are other languages",
        ),
        takes_longer_languages=(
            "package.language = %(language)s -> starts_with(package.language, %(language)s)",
            "Go and golang are other languages",
        ),
        takes_names_for_expressions=("name = ANY -> name ~ ANY", "are not a_b"),
        keeps_what_has_a_description=(
            "AND NOT -> AND package.description = '' AND NOT",
            "no project uses bleach",
        ),
        counts_uses_of_longer_names=(
            "used.name = package.name -> starts_with(used.name, package.name)",
            "Rich and rich-click are in use",
        ),
        counts_uses_of_other_capitals=(
            "used.name = package.name -> lower(used.name) = lower(package.name)",
            "Rich and rich-click are in use",
        ),
        forgets_the_bracket=("= package.name)\n -> = package.name\n", "PostgreSQL accepts"),
    ),
    "12.4": edits(
        take_lock,
        locks_the_session=("pg_advisory_xact_lock -> pg_advisory_lock", "its lock has ended"),
        does_not_wait=("pg_advisory_xact -> pg_try_advisory_xact", "the lock was not free"),
        shares_the_lock=("xact_lock -> xact_lock_shared", "the lock was not free"),
        forgets_the_lock=(
            'conn.execute(\n        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", '
            '[f"course xray {language}"]\n    ) -> pass',
            "the lock was not free",
        ),
        locks_all_languages=('f"course xray {language}" -> "course xray"', "the same language"),
        knows_python_alone=("xray {language} -> xray python", "the same language"),
        takes_the_language_alone=('f"course xray {language}" -> language', "is asked for"),
        ignores_capitals=("{language} -> {language.lower()}", "the same language"),
        takes_the_first_word=("{language} -> {language.split()[0]}", "the same language"),
        strips_the_language=("{language} -> {language.strip()}", "the same language"),
        takes_another_text=("course xray {language} -> course-xray-{language}", "is asked for"),
        takes_another_function=("hashtextextended(%s, 0) -> hashtext(%s)", "is asked for"),
        takes_another_seed=("(%s, 0) -> (%s, 1)", "is asked for"),
        forgets_the_level=(
            'conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED") -> pass',
            "what was there before the wait",
        ),
        takes_the_strictest_level=("READ COMMITTED -> SERIALIZABLE", "before the wait"),
        repeats_its_reads=("READ COMMITTED -> REPEATABLE READ", "before the wait"),
        sets_the_next_level=(
            "SET TRANSACTION ISOLATION LEVEL -> SET SESSION CHARACTERISTICS AS TRANSACTION "
            "ISOLATION LEVEL",
            "before the wait",
        ),
        waits_for_half_a_second=(
            'COMMITTED") -> COMMITTED")\n    conn.execute("SET LOCAL lock_timeout = 500")',
            "is the caller's to say",
        ),
        writes_the_text_into_the_statement=(
            "(%s, 0) -> ('course xray \" + language + \"', 0)",
            ', [f"course xray {language}"] -> ',
            "the same language",
        ),
    )
    | {
        commits_to_begin_anew: "take_lock",
        locks_before_it_sets_the_level: "must be called before any query",
        asks_whether_it_is_free: "the lock was not free",
        returns_the_row: "expected  None",
        gives_it_back_at_once: "the lock was not free",
        makes_the_number_in_python: "is asked for",
        locks_the_table: "does not exist",
        opens_a_transaction_of_its_own: "take_lock",
    },
}
