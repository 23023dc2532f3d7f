"""Plausible wrong versions of lab 11's exercises, and what the check's message names."""

from course_lib.pipeline.components import split_documents
from course_lib.pipeline.pipelines import docs_pipeline, with_database
from course_lib.pipeline.storing import add_up
from tests.unit.teaching.edits import edits

MINE = "[one for name, one in found.items() if Shard.parse(shard).holds(name)]"
SPLIT = "split_to_files(replace(origin, shard=shard), mine, options, rows.path, chunks.path)"
CHUNKS = "    chunks.metadata.update(counts, shard=shard)\n"
ROWS = "    rows.metadata.update(counts, shard=shard)\n"
TOTAL = "{name: int(sum(shard[name] for shard in stored)) for name in COUNTS}"
COMPARED = "there != split"
OFF = "task.set_caching_options(enable_caching=False)"
RETRY = 'num_retries=3, backoff_duration="2s", backoff_factor=3'
MEMORY = 'set_memory_request("512Mi").set_memory_limit("2Gi")'
SECRET = 'use_secret_as_env(task, DATABASE_SECRET, {"DATABASE_URL": "DATABASE_URL"})'
UNCACHED = "        seen.set_caching_options(enable_caching=False)\n"
LOOP = 'dsl.ParallelFor(loaded.outputs["Output"], parallelism=PARALLELISM)'
STORED = "with_database(embed_and_store(**split.outputs, batch_size=batch_size))"
COLLECTED = "dsl.Collected(stored.output)"
ASKED = "ask_questions(built, questions, documents_claim, tenant, repo)"


def docs_pipeline_stub(source: str = "data/documents") -> None:
    raise NotImplementedError()


docs_pipeline_stub.__qualname__ = docs_pipeline_stub.__name__ = "docs_pipeline"
STUBS = {"11.4": docs_pipeline_stub}

MUTANTS = {
    "11.1": edits(
        split_documents,
        splits_every_document=(f"{MINE} -> list(found.values())", "a.md is in shard 1 of 2"),
        takes_the_other_shards=("if Shard -> if not Shard", "shard 0 of 1 holds every"),
        sorts_by_name=(f"{MINE} -> sorted({MINE}, key=lambda one: one.name)", "keep the order"),
        reads_one_digit_of_a_shard=(
            "Shard.parse(shard) -> Shard(int(shard[0]), int(shard[-1]))",
            "more than one digit",
        ),
        takes_the_base_name=("holds(name) -> holds(name.split('/')[-1])", "that of its whole name"),
        forgets_the_shard_of_the_origin=("replace(origin, shard=shard) -> origin", "a.md is in"),
        makes_a_new_origin=(
            "replace(origin, shard=shard) -> type(origin)(origin.scope, shard=shard)",
            "in both artifacts",
        ),
        swaps_the_files=("rows.path, chunks.path -> chunks.path, rows.path", "shard 0 of 1"),
        forgets_the_metadata_of_rows=(f"{ROWS} -> ", "in both artifacts"),
        forgets_the_metadata_of_chunks=(f"{CHUNKS} -> ", "in both artifacts"),
        forgets_the_shard_in_the_metadata=(
            "update(counts, shard=shard) -> update(counts)",
            "in both",
        ),
        counts_the_documents_of_all=(
            f"{CHUNKS} -> {CHUNKS}    chunks.metadata['documents'] = len(found)\n",
            "in both artifacts",
        ),
        counts_in_floats=(
            f"{CHUNKS} -> {CHUNKS}    chunks.metadata['chunks'] = float(counts['chunks'])\n",
            "counts are whole numbers",
        ),
        writes_nothing_for_an_empty_shard=(
            f"counts = {SPLIT} -> if not mine:\n        return\n    counts = {SPLIT}",
            "even if it is empty",
        ),
        refuses_an_empty_shard=(
            f"counts = {SPLIT} -> if not mine:\n        raise ValueError\n    counts = {SPLIT}",
            "even if it is empty",
        ),
        leaves_out_empty_documents=(
            "holds(name)] -> holds(name) and one.content]",
            "one document without chunks",
        ),
        uses_the_default_sizes=("mine, options -> mine, IngestOptions()", "that were given"),
        returns_the_counts=(f"{ROWS} -> {ROWS}    return counts\n", "returns nothing"),
        keeps_a_file_that_is_there=(
            f"counts = {SPLIT} -> from pathlib import Path\n"
            "    if Path(chunks.path).exists():\n        return\n"
            f"    counts = {SPLIT}",
            "left by a failed attempt",
        ),
    ),
    "11.2": edits(
        add_up,
        trusts_the_counts=(f"{COMPARED} -> False", "one chunk too many"),
        notices_only_what_is_lost=(f"{COMPARED} -> there < split", "one chunk too many"),
        notices_only_what_is_double=(f"{COMPARED} -> there > split", "a chunk was lost"),
        passes_over_what_is_wholly_lost=(f"{COMPARED} -> there and there != split", "all chunks"),
        passes_over_a_count_of_zero=(
            f"{COMPARED} -> split and there != split",
            "a shard that has none",
        ),
        compares_the_last_shard=(
            f"{COMPARED} -> shard is stored[-1] and there != split",
            "the first shard has lost",
        ),
        compares_the_first_shard=(
            f"{COMPARED} -> shard is stored[0] and there != split",
            "the second shard has lost",
        ),
        compares_the_total=(
            f"{COMPARED} -> sum(o['chunks'] for o in stored) != sum(o['split'] for o in stored)",
            "although the sums are equal",
        ),
        hands_on_floats=("int(sum -> (sum", "counts are whole numbers"),
        keeps_the_last_shard=("sum(shard[name] for shard in stored) -> shard[name]", "over all"),
        counts_the_shards=("shard[name] for -> 1 for", "not the number of shards"),
        returns_the_chunks=(
            f"return {TOTAL} -> return int(sum(o['chunks'] for o in stored))",
            "one",
        ),
        sums_the_split_too=("for name in COUNTS -> for name in stored[0]", "`split` is not"),
        raises_a_value_error=("raise InputError -> raise ValueError", "one chunk too many"),
        returns_none_instead=("raise InputError( -> return print(", "one chunk too many"),
        leaves_out_what_is_zero=(
            "for name in COUNTS -> for name in COUNTS if name != 'kept'",
            "one shard, nothing lost",
        ),
        compares_roughly=(
            f"{COMPARED} -> abs(there - split) > split / 100",
            "one chunk of many was lost",
        ),
        compares_texts=(f"{COMPARED} -> str(there) != str(split)", "although only one of them"),
        adds_two=("for shard in stored)) -> for shard in stored[:2]))", "over all shards"),
        leaves_out_sums_of_zero=(
            f"{TOTAL} -> {{name: n for name, n in {TOTAL}.items() if n}}",
            "a sum of 0 is a sum",
        ),
        takes_the_names_of_the_first=(
            "for name in COUNTS -> for name in stored[0] if name in COUNTS",
            "without a shard, each sum is 0",
        ),
        skips_wrong_shards=("raise InputError( -> print(", "one chunk too many"),
    ),
    "11.3": edits(
        with_database,
        leaves_the_cache_on=(f"{OFF} -> pass", "leave the database as it is"),
        turns_the_cache_on=("enable_caching=False -> enable_caching=True", "as it is"),
        never_tries_again=(f"task.set_retry({RETRY}) -> pass", "up to 3 retries"),
        tries_once_more=("num_retries=3 -> num_retries=1", "up to 3 retries"),
        counts_the_first_attempt=("num_retries=3 -> num_retries=2", "up to 3 retries"),
        waits_for_minutes=('"2s" -> "2m"', "up to 3 retries"),
        waits_equally_long=("backoff_factor=3 -> backoff_factor=1", "up to 3 retries"),
        leaves_the_factor_out=(", backoff_factor=3 -> ", "up to 3 retries"),
        leaves_the_wait_out=(', backoff_duration="2s" -> ', "up to 3 retries"),
        cuts_the_last_wait=(
            "backoff_factor=3 -> backoff_factor=3, backoff_max_duration='10s'",
            "up to 3 retries",
        ),
        stops_it_after_half_a_minute=(
            f"return kubernetes.{SECRET} -> kubernetes.set_timeout(task, 30)"
            f"\n    return kubernetes.{SECRET}",
            "up to 3 retries",
        ),
        does_without_a_secret=(
            '"DATABASE_URL"}) -> "DATABASE_URL"}, optional=True)',
            "rag-database",
        ),
        writes_the_address_as_well=(
            f"return kubernetes.{SECRET} -> task.set_env_variable('DATABASE_URL', 'postgresql://')"
            f"\n    return kubernetes.{SECRET}",
            "a text that all can read",
        ),
        sets_no_memory=(f"task.{MEMORY} -> pass", "the request is"),
        sets_the_limit_only=('set_memory_request("512Mi"). -> ', "the request is"),
        requests_the_limit=(
            'set_memory_request("512Mi") -> set_memory_request("2Gi")',
            "the request",
        ),
        swaps_request_and_limit=(
            f'{MEMORY} -> set_memory_limit("512Mi").set_memory_request("2Gi")',
            "the request is",
        ),
        takes_other_units=('"512Mi" -> "512M"', "the request is"),
        forgets_the_secret=(f"return kubernetes.{SECRET} -> return task", "rag-database"),
        takes_another_secret=("DATABASE_SECRET -> 'rag-github'", "rag-database"),
        names_another_variable=('": "DATABASE_URL" -> ": "PGURL"', "rag-database"),
        names_another_key=('{"DATABASE_URL" -> {"url"', "rag-database"),
        writes_the_address_as_it_is=(
            f"return kubernetes.{SECRET} -> return "
            'task.set_env_variable("DATABASE_URL", "postgresql://postgres@rag/rag")',
            "rag-database",
        ),
        returns_nothing=("return kubernetes -> kubernetes", "returns the step"),
    ),
    "11.4": edits(
        docs_pipeline,
        has_no_exit_handler=(
            "with dsl.ExitHandler(with_database(report(tenant=tenant, repo=repo))) -> "
            "with_database(report(tenant=tenant, repo=repo))\n    if True",
            "report is the task of the exit handler",
        ),
        has_no_report=(
            "with dsl.ExitHandler(with_database(report(tenant=tenant, repo=repo))) -> if True",
            "each component is used once",
        ),
        caches_the_fingerprint=(f"{UNCACHED} -> ", "looks at the world outside"),
        caches_nothing=(
            f"{UNCACHED} -> ",
            "with_documents(loaded, documents_claim) -> with_documents(loaded, documents_claim)\n"
            "        loaded.set_caching_options(False)",
            "looks at the world outside",
        ),
        never_caches_the_splitting=(
            "stored = with -> split.set_caching_options(False)\n            stored = with",
            "looks at the world outside",
        ),
        loads_without_the_fingerprint=("fingerprint=seen.output -> fingerprint=source", "gets"),
        loads_with_a_constant=('fingerprint=seen.output -> fingerprint=""', "the output of"),
        has_a_loop_without_a_limit=(", parallelism=PARALLELISM -> ", "4 at once"),
        does_one_shard_at_a_time=("parallelism=PARALLELISM -> parallelism=1", "4 at once"),
        splits_constant_shards=(
            f"{LOOP} -> dsl.ParallelFor(['0/2', '1/2'], parallelism=PARALLELISM)",
            "for each shard",
        ),
        builds_the_index_in_the_loop=(
            f"        built = with_database(build_index(stored={COLLECTED})) ->             "
            "built = with_database(build_index(stored=[]))",
            "once, after the loop",
        ),
        does_not_collect=(f"{COLLECTED} -> stored.output", "makes one list"),
        builds_of_nothing=(f"stored={COLLECTED} -> stored=[]", "the output of another step"),
        collects_into_another_parameter=(
            f"stored={COLLECTED} -> stored=[], code={COLLECTED}",
            "gets",
        ),
        measures_in_no_order=("ask_questions(built -> ask_questions(loaded", "comes after it"),
        does_not_measure=(f"        {ASKED}\n -> ", "each component is used once"),
        measures_another_repository=("claim, tenant, repo) -> claim, tenant, tenant)", "gets"),
        stores_without_a_database=(f"{STORED} -> embed_and_store(**split.outputs)", "gets"),
        stores_without_settings=(
            "with_database(embed_and_store(**split.outputs, batch_size=batch_size)) -> "
            "embed_and_store(**split.outputs, batch_size=batch_size)",
            "wrap it in with_database",
        ),
        builds_without_settings=(
            f"with_database(build_index(stored={COLLECTED})) -> build_index(stored={COLLECTED})",
            "wrap it in with_database",
        ),
        reports_without_settings=(
            "with_database(report(tenant=tenant, repo=repo)) -> report(tenant=tenant, repo=repo)",
            "wrap it in with_database",
        ),
        gives_the_secret_to_the_splitter=(
            "stored = with -> with_database(split)\n            stored = with",
            "needs nothing of it",
        ),
        forgets_the_volume=("with_documents(loaded, documents_claim) -> pass", "with_documents"),
        forgets_the_volume_of_the_fingerprint=(
            "with_documents(fingerprint_documents(source=source), documents_claim) -> "
            "fingerprint_documents(source=source)",
            "with_documents",
        ),
        mounts_a_constant=(
            "with_documents(loaded, documents_claim) -> with_documents(loaded, 'rag-documents')",
            "mounts documents_claim",
        ),
        forgets_the_overlap=("chunk_overlap=chunk_overlap -> chunk_overlap=64", "gets"),
        swaps_size_and_overlap=(
            "chunk_size=chunk_size, -> chunk_size=chunk_overlap,",
            "the parameter of its name",
        ),
        forgets_the_batch_size=(", batch_size=batch_size -> ", "gets"),
        splits_twice=(
            "stored = with -> split_documents(documents=loaded.outputs['documents'], shard=shard, "
            "chunk_size=chunk_size, chunk_overlap=chunk_overlap)\n            stored = with",
            "each component is used once",
        ),
    ),
}
