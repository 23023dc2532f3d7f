"""Plausible wrong versions of lab 11's exercises, and what the check's message names."""

import json
from hashlib import sha256

from kfp import dsl
from kfp.dsl import Dataset

from course_lib.pipeline.corpus import shard_of
from tests.unit.teaching.edits import edits

# --- 11.1 shard_of ---


def hashes_with_a_secret(name, shards):
    if shards < 1:
        raise ValueError
    return hash(name) % shards


def takes_8_hexadecimal_digits(name, shards):
    return int(sha256(name.encode()).hexdigest()[:8], 16) % shards


# --- 11.2 split_part ---


def _split(documents, chunks, shard, *, mode="w", all_of_them=False, dumped=False, is_small=False):
    from pathlib import Path

    from course_lib.loader import split_document
    from course_lib.pipeline.corpus import Shard
    from course_lib.records import Document

    mine, lines = 0, []
    with open(documents.path, encoding="utf-8") as file:
        for one in map(json.loads, file):
            if all_of_them or Shard.parse(shard).holds(one["name"]):
                mine += 1
                size = {"chunk_size": 200} if is_small else {}
                document = Document(Path(one["name"]), one["name"], one["content"])
                found = split_document(document, **size)
                lines += [piece.content if dumped else piece.to_json() for piece in found]
    with open(chunks.path, mode, encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return mine, len(lines)


def takes_json_from_the_notebook(documents, chunks, shard):
    with open(documents.path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def splits_every_document(documents, chunks, shard, split=_split):
    mine, lines = split(documents, chunks, shard, all_of_them=True)
    chunks.metadata.update(documents=mine, chunks=lines)


def writes_text_without_records(documents, chunks, shard, split=_split):
    mine, lines = split(documents, chunks, shard, dumped=True)
    chunks.metadata.update(documents=mine, chunks=lines)


def cuts_smaller(documents, chunks, shard, split=_split):
    mine, lines = split(documents, chunks, shard, is_small=True)
    chunks.metadata.update(documents=mine, chunks=lines)


def forgets_the_metadata(documents, chunks, shard, split=_split):
    split(documents, chunks, shard)


def counts_all_documents(documents, chunks, shard, split=_split):
    from pathlib import Path

    _, lines = split(documents, chunks, shard)
    every = len(Path(documents.path).read_text("utf-8").splitlines())
    chunks.metadata.update(documents=every, chunks=lines)


def counts_in_floats(documents, chunks, shard, split=_split):
    mine, lines = split(documents, chunks, shard)
    chunks.metadata.update(documents=float(mine), chunks=float(lines))


def writes_nothing_for_an_empty_shard(documents, chunks, shard, split=_split):
    from pathlib import Path

    mine, lines = split(documents, chunks, shard)
    chunks.metadata.update(documents=mine, chunks=lines)
    if not lines:
        Path(chunks.path).unlink()


def keeps_what_was_there_for_an_empty_shard(documents, chunks, shard, split=_split):
    from pathlib import Path

    left = Path(chunks.path).read_text("utf-8") if Path(chunks.path).exists() else ""
    mine, lines = split(documents, chunks, shard)
    chunks.metadata.update(documents=mine, chunks=lines)
    if not lines:
        Path(chunks.path).write_text(left, encoding="utf-8")


def sorts_by_name(documents, chunks, shard, split=_split):
    from pathlib import Path

    mine, lines = split(documents, chunks, shard)
    chunks.metadata.update(documents=mine, chunks=lines)
    found = Path(chunks.path).read_text("utf-8").split("\n")[:-1]
    found.sort(key=lambda line: line[line.index("sourcePath") :])
    Path(chunks.path).write_text("".join(f"{line}\n" for line in found), encoding="utf-8")


def leaves_out_empty_documents(documents, chunks, shard, split=_split):
    import json
    from pathlib import Path

    _, lines = split(documents, chunks, shard)
    names = {
        json.loads(line)["sourcePath"]
        for line in Path(chunks.path).read_text("utf-8").split("\n")[:-1]
    }
    chunks.metadata.update(documents=len(names), chunks=lines)


def reads_one_digit_of_a_shard(documents, chunks, shard, split=_split):
    mine, lines = split(documents, chunks, f"{shard[0]}/{shard[-1]}")
    chunks.metadata.update(documents=mine, chunks=lines)


def returns_the_counts(documents, chunks, shard, split=_split):
    mine, lines = split(documents, chunks, shard)
    chunks.metadata.update(documents=mine, chunks=lines)
    return lines


# --- 11.3 collect ---


def _differ(own, count):
    return len(own) != count


def _cut(own):
    return own and not own[-1].endswith("\n")


def _collect(
    parts,
    chunks,
    *,
    mode="w",
    newline="\n",
    is_wrong=_differ,
    is_cut=_cut,
    is_sorted=False,
    change=list,
):
    lines = []
    for part in parts:
        with open(part.path, encoding="utf-8", newline=newline) as file:
            own = file.readlines()
        if is_wrong(own, part.metadata["chunks"]) or is_cut(own):
            raise ValueError(part.metadata)
        lines += change(own)
    with open(chunks.path, mode, encoding="utf-8", newline="\n") as file:
        file.writelines(sorted(lines) if is_sorted else lines)
    count = int(sum(part.metadata["documents"] for part in parts))
    chunks.metadata.update(documents=count, chunks=len(lines))
    return len(lines)


def returns_a_float(parts, chunks, collect=_collect):
    collect(parts, chunks)
    return sum(part.metadata["chunks"] for part in parts)


def hands_on_floats(parts, chunks, collect=_collect):
    total = collect(parts, chunks)
    chunks.metadata["documents"] = sum(part.metadata["documents"] for part in parts)
    return total


def trusts_the_metadata(parts, chunks, collect=_collect):
    return collect(parts, chunks, is_wrong=lambda own, count: False)


def compares_the_total(parts, chunks, collect=_collect):
    from pathlib import Path

    found = sum(Path(part.path).read_text("utf-8").count("\n") for part in parts)
    if found != sum(part.metadata["chunks"] for part in parts):
        raise ValueError("incomplete")
    return collect(parts, chunks, is_wrong=lambda own, count: False)


def compares_the_last_part(parts, chunks, collect=_collect):
    from pathlib import Path

    for part in parts:
        found = Path(part.path).read_text("utf-8").count("\n")
    if found != part.metadata["chunks"]:
        raise ValueError("incomplete")
    return collect(parts, chunks, is_wrong=lambda own, count: False)


def drops_equal_lines(parts, chunks, collect=_collect):
    from pathlib import Path

    collect(parts, chunks)
    lines = dict.fromkeys(Path(chunks.path).read_text("utf-8").split("\n")[:-1])
    Path(chunks.path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    chunks.metadata["chunks"] = len(lines)
    return len(lines)


def sorts_the_parts(parts, chunks, collect=_collect):
    return collect(sorted(parts, key=lambda part: part.path), chunks)


def writes_only_if_there_is_something(parts, chunks, collect=_collect):
    from pathlib import Path

    left = Path(chunks.path).read_text("utf-8") if Path(chunks.path).exists() else ""
    total = collect(parts, chunks)
    if not total:
        Path(chunks.path).write_text(left, encoding="utf-8")
    return total


def passes_over_what_is_wholly_lost(parts, chunks, collect=_collect):
    return collect(parts, chunks, is_wrong=lambda own, count: own and len(own) != count)


def passes_over_a_count_of_zero(parts, chunks, collect=_collect):
    return collect(parts, chunks, is_wrong=lambda own, count: count and len(own) != count)


def counts_lines_with_text(parts, chunks, collect=_collect):
    return collect(parts, chunks, is_wrong=lambda own, n: len([*filter(str.strip, own)]) != n)


def drops_empty_lines(parts, chunks, collect=_collect):
    return collect(parts, chunks, change=lambda own: [one for one in own if one.strip()])


def strips_the_lines(parts, chunks, collect=_collect):
    return collect(parts, chunks, change=lambda own: [f"{one.strip()}\n" for one in own])


def reads_the_lines_as_text(parts, chunks, collect=_collect):
    return collect(parts, chunks, newline=None)


def counts_half_a_line(parts, chunks, collect=_collect):
    return collect(parts, chunks, is_cut=lambda own: False)


def notices_only_what_is_lost(parts, chunks, collect=_collect):
    return collect(parts, chunks, is_wrong=lambda own, count: len(own) < count)


def splits_at_every_separator(parts, chunks, collect=_collect):
    from pathlib import Path

    for part in parts:
        if len(Path(part.path).read_text("utf-8").splitlines()) != part.metadata["chunks"]:
            raise ValueError("incomplete")
    return collect(parts, chunks)


def appends_to_what_is_there(parts, chunks, collect=_collect):
    return collect(parts, chunks, mode="a")


def sorts_the_lines(parts, chunks, collect=_collect):
    return collect(parts, chunks, is_sorted=True)


def keeps_only_the_last_part(parts, chunks, collect=_collect):
    for part in parts:
        total = collect([part], chunks)
    return total


def counts_the_parts(parts, chunks, collect=_collect):
    total = collect(parts, chunks)
    chunks.metadata["documents"] = len(parts)
    return total


def takes_a_function_from_the_notebook(parts, chunks):
    return _collect(parts, chunks)


# --- 11.4 build_pipeline ---


def _wired(read_folder, split_part, collect, *, folder=None, limit=2, retries=2, shard=None):
    own_folder, own_shard = folder, shard

    @dsl.pipeline(name="split-in-shards")
    def split_in_shards(
        folder: str,
        shards: list[str] = ["0/3", "1/3", "2/3"],  # noqa: B006
    ) -> Dataset:
        read = read_folder(folder=own_folder or folder)
        with dsl.ParallelFor(shards, parallelism=limit) as shard:
            part = split_part(documents=read.output, shard=own_shard or shard)
            if retries:
                part.set_retry(retries)
        return collect(parts=dsl.Collected(part.output)).outputs["chunks"]

    return split_in_shards


def returns_nothing(read_folder, split_part, collect):
    @dsl.pipeline(name="split-in-shards")
    def split_in_shards(folder: str, shards: list[str] = ["0/3", "1/3", "2/3"]):  # noqa: B006
        read_folder(folder=folder)


def has_another_name(read_folder, split_part, collect):
    @dsl.pipeline(name="shards")
    def split_in_shards(folder: str, shards: list[str] = ["0/3", "1/3", "2/3"]):  # noqa: B006
        read_folder(folder=folder)

    return split_in_shards


def has_no_default(read_folder, split_part, collect):
    @dsl.pipeline(name="split-in-shards")
    def split_in_shards(folder: str, shards: list[str]):
        read_folder(folder=folder)

    return split_in_shards


def has_a_default_of_none(read_folder, split_part, collect):
    @dsl.pipeline(name="split-in-shards")
    def split_in_shards(
        folder: str = None,  # noqa: RUF013
        shards: list[str] = ["0/3", "1/3", "2/3"],  # noqa: B006
    ):
        read_folder(folder=folder)

    return split_in_shards


def reads_a_folder_of_its_own(read_folder, split_part, collect):
    return _wired(read_folder, split_part, collect, folder="data/documents")


def splits_in_no_loop(read_folder, split_part, collect):
    @dsl.pipeline(name="split-in-shards")
    def split_in_shards(folder: str, shards: list[str] = ["0/3", "1/3", "2/3"]):  # noqa: B006
        read = read_folder(folder=folder)
        split_part(documents=read.output, shard="0/1").set_retry(2)
        read_folder(folder=folder)

    return split_in_shards


def reads_once_a_shard(read_folder, split_part, collect):
    @dsl.pipeline(name="split-in-shards")
    def split_in_shards(folder: str, shards: list[str] = ["0/3", "1/3", "2/3"]):  # noqa: B006
        with dsl.ParallelFor(shards, parallelism=2) as shard:
            read = read_folder(folder=folder)
            part = split_part(documents=read.output, shard=shard).set_retry(2)
        collect(parts=dsl.Collected(part.output))

    return split_in_shards


def sets_no_limit(read_folder, split_part, collect):
    return _wired(read_folder, split_part, collect, limit=None)


def never_retries(read_folder, split_part, collect):
    return _wired(read_folder, split_part, collect, retries=0)


def splits_the_same_shard(read_folder, split_part, collect):
    return _wired(read_folder, split_part, collect, shard="0/3")


def has_no_output(read_folder, split_part, collect):
    @dsl.pipeline(name="split-in-shards")
    def split_in_shards(folder: str, shards: list[str] = ["0/3", "1/3", "2/3"]):  # noqa: B006
        read = read_folder(folder=folder)
        with dsl.ParallelFor(shards, parallelism=2) as shard:
            part = split_part(documents=read.output, shard=shard).set_retry(2)
        collect(parts=dsl.Collected(part.output))

    return split_in_shards


@dsl.component(base_image="python:3.13-slim")
def split_part(documents: dsl.Input[Dataset], chunks: dsl.Output[Dataset], shard: str):
    pass


split_step = split_part


def takes_a_component_from_the_notebook(read_folder, split_part, collect):
    return _wired(read_folder, split_step, collect)


# --- found by playing learners ---


def forgets_folders_of_documents(documents, chunks, shard, split=_split):
    mine, lines = split(documents, chunks, shard)
    with open(chunks.path, encoding="utf-8") as file:
        text = file.read().replace("docs/a.md", "a.md")
    with open(chunks.path, "w", encoding="utf-8") as file:
        file.write(text)
    chunks.metadata.update(documents=mine, chunks=lines)


def reads_lines_at_every_separator(documents, chunks, shard, split=_split):
    import json
    from pathlib import Path

    for line in Path(documents.path).read_text("utf-8").splitlines():
        json.loads(line)
    mine, lines = split(documents, chunks, shard)
    chunks.metadata.update(documents=mine, chunks=lines)


def ends_without_a_line_feed(parts, chunks):
    from pathlib import Path

    lines = [line for part in parts for line in Path(part.path).read_text("utf-8").split("\n")[:-1]]
    Path(chunks.path).write_text("\n".join(lines), "utf-8")
    counts = {
        name: int(sum(part.metadata[name] for part in parts)) for name in ("documents", "chunks")
    }
    chunks.metadata.update(counts)
    return len(lines)


def declares_an_artifact(read_folder, split_part, collect):
    @dsl.pipeline(name="split-in-shards")
    def pipeline(
        folder: str,
        shards: list[str] = ["0/3", "1/3", "2/3"],  # noqa: B006
    ) -> dsl.Artifact:
        read = read_folder(folder=folder)
        with dsl.ParallelFor(shards, parallelism=2) as shard:
            part = split_part(documents=read.outputs["documents"], shard=shard)
            part.set_retry(num_retries=2)
        return collect(parts=dsl.Collected(part.outputs["chunks"])).outputs["chunks"]

    return pipeline


def calls_the_pipeline(read_folder, split_part, collect):
    return declares_an_artifact(read_folder, split_part, collect)(folder="data")


MUTANTS = {
    "11.1": edits(
        shard_of,
        takes_all_32_bytes=("digest[:8] -> digest", "the first 8 bytes of the digest"),
        reads_from_the_small_end=('"big" -> "little"', "the most significant first"),
        leaves_out_other_letters=(
            'encode("utf-8") -> encode("ascii", "ignore")',
            "in UTF-8 the name is the bytes",
        ),
        ignores_case=("name.encode -> name.lower().encode", "A.md and a.md are different names"),
        counts_from_one=("% shards -> % shards + 1", "shards are counted from 0"),
        divides_by_nothing=("if shards < 1 -> if False", "there has to be at least 1 shard"),
        takes_a_negative_number=("shards < 1 -> shards == 0", "shard_of('a.md', -2)"),
        forgets_the_folder=('name.encode -> name.split("/")[-1].encode', "its folder counts"),
        strips_the_name=(
            "name.encode -> name.strip().encode",
            "a blank is a character of the name",
        ),
    )
    | {
        hashes_with_a_secret: "the first 8 bytes of the digest",
        takes_8_hexadecimal_digits: "the first 8 bytes of the digest",
    },
    "11.2": {
        takes_json_from_the_notebook: "takes json from the notebook",
        keeps_what_was_there_for_an_empty_shard: "also with an empty file",
        sorts_by_name: "the others follow in the order of the file",
        splits_every_document: "a.md is in shard 1 of 2",
        reads_one_digit_of_a_shard: "more than one digit",
        writes_text_without_records: "which is a line",
        cuts_smaller: "a longer document gives two chunks",
        forgets_the_metadata: "chunks.metadata",
        counts_all_documents: "'documents': 2",
        leaves_out_empty_documents: "an empty document is one document without chunks",
        counts_in_floats: "counts are whole numbers",
        writes_nothing_for_an_empty_shard: "no file at chunks.path",
        returns_the_counts: "a component must return nothing",
        forgets_folders_of_documents: "with the folder",
        reads_lines_at_every_separator: "only a line feed ends a line",
    },
    "11.3": {
        returns_a_float: "a sum of floats is a float",
        hands_on_floats: "counts are whole numbers",
        trusts_the_metadata: "a line is missing",
        compares_the_total: "the other has lost one",
        compares_the_last_part: "the first part has 1 line and not 2",
        notices_only_what_is_lost: "one line too many",
        splits_at_every_separator: "only a line feed ends a line",
        passes_over_what_is_wholly_lost: "all lines are missing",
        passes_over_a_count_of_zero: "the metadata say 0 chunks",
        counts_lines_with_text: "also an empty line",
        drops_empty_lines: "also an empty line",
        strips_the_lines: "without a change, with their spaces",
        reads_the_lines_as_text: "also a carriage return",
        counts_half_a_line: "ends with half a line without",
        drops_equal_lines: "two equal lines are two chunks",
        appends_to_what_is_there: "overwrite what a failed attempt left",
        writes_only_if_there_is_something: "also with an empty file",
        sorts_the_lines: "do not sort the lines",
        sorts_the_parts: "the order of the parts",
        keeps_only_the_last_part: "all lines, in the order of the parts",
        counts_the_parts: "the sums of both counts",
        takes_a_function_from_the_notebook: "takes _collect from the notebook",
        ends_without_a_line_feed: "each line ends with a line feed",
    },
    "11.4": {
        returns_nothing: "nothing was returned",
        has_another_name: "its name",
        has_no_default: "the default of shards",
        has_a_default_of_none: "without it there is nothing to read",
        reads_a_folder_of_its_own: "the folder that is read",
        splits_in_no_loop: "each component is used once",
        reads_once_a_shard: "only the splitting is done for each shard",
        sets_no_limit: "2 at the same time",
        never_retries: "has 2 retries",
        splits_the_same_shard: "each turn of the loop has its own",
        has_no_output: "it returns the output of collect",
        takes_a_component_from_the_notebook: "use the three arguments",
        calls_the_pipeline: "returned and not called",
        declares_an_artifact: "the pipeline's own `-> Dataset`",
    },
}
