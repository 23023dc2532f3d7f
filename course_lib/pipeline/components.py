"""The components: thin calls from a step of Kubeflow into the functions of this package.

A lightweight component is only the text of its function: it runs in another process, and on a
cluster in another image, where nothing of this module exists. So each imports what it needs, and
what it needs is baked into its image. A new one is wired in `pipelines.py`.
"""

# kfp reads the annotations when a decorator runs: they must not be postponed to texts.
from kfp import dsl

from course_lib import __version__

LOADER = f"rag-loader:{__version__}"
"""Image of the steps that read, download and split: no database, no model."""

EMBEDDER = f"rag-embedder:{__version__}"
"""Image of the steps that embed, store and search."""


@dsl.component(base_image=LOADER, install_kfp_package=False)
def fingerprint_documents(source: str) -> str:
    """Return what changes when the documents do, so that reading them can be skipped."""
    from course_lib.pipeline.sources import read_folder

    return read_folder(source).fingerprint()


@dsl.component(base_image=LOADER, install_kfp_package=False)
def load_documents(
    documents: dsl.Output[dsl.Dataset],
    source: str,
    fingerprint: str,
    tenant: str = "local",
    repo: str = "documents",
    partition: str = "documentation",
    shards: int = 1,
) -> list[str]:
    """Read the documents of a folder; return the names of the shards.

    The fingerprint is not used: with it, a cached result is one of the same documents.
    """
    from course_lib.pipeline.corpus import shard_names, write_corpus
    from course_lib.pipeline.sources import read_folder

    names = shard_names(shards)
    corpus = read_folder(source, tenant=tenant, repo=repo, partition=partition)
    documents.metadata.update(write_corpus(documents.path, corpus))
    return names


@dsl.component(base_image=LOADER, install_kfp_package=False)
def pin_commit(repo: str, ref: str) -> str:
    """Return the commit that a branch or tag stands for now."""
    from course_lib.pipeline.sources import pin_commit

    return pin_commit(repo, ref)


@dsl.component(base_image=LOADER, install_kfp_package=False)
def download_github_code(
    documents: dsl.Output[dsl.Dataset],
    repo: str,
    ref: str,
    commit: str,
    extensions: list[str],
    paths: list[str],
    tenant: str = "local",
    partition: str = "documentation",
    shards: int = 1,
) -> list[str]:
    """Download the files of one commit; return the names of the shards."""
    from course_lib.pipeline.corpus import shard_names, write_corpus
    from course_lib.pipeline.sources import github_code

    names = shard_names(shards)
    corpus = github_code(
        repo, ref, extensions, paths, commit=commit, tenant=tenant, partition=partition
    )
    documents.metadata.update(write_corpus(documents.path, corpus), commit=commit)
    return names


@dsl.component(base_image=LOADER, install_kfp_package=False)
def download_github_issues(
    documents: dsl.Output[dsl.Dataset],
    repo: str,
    since: str = "",
    tenant: str = "local",
    shards: int = 1,
) -> list[str]:
    """Download the issues of a repository; return the names of the shards."""
    from course_lib.pipeline.corpus import shard_names, write_corpus
    from course_lib.pipeline.sources import github_issues

    names = shard_names(shards)
    corpus = github_issues(repo, since, tenant=tenant)
    documents.metadata.update(write_corpus(documents.path, corpus))
    return names


@dsl.component(base_image=LOADER, install_kfp_package=False)
def split_documents(
    documents: dsl.Input[dsl.Dataset],
    chunks: dsl.Output[dsl.Dataset],
    rows: dsl.Output[dsl.Dataset],
    shard: str,
    chunk_size: int,
    chunk_overlap: int,
) -> None:
    """Split the documents of one shard: its chunks and its rows of documents, a file each.

    Doing it again writes the same files. The counts and the shard are in both artifacts' metadata.
    """
    from dataclasses import replace

    from course_lib.loader.splitting import IngestOptions
    from course_lib.loader.staged import read_staged, split_to_files
    from course_lib.records import Document

    options = IngestOptions(chunk_size=chunk_size, chunk_overlap=chunk_overlap, say=print)
    origin, found = read_staged(documents.path, Document)
    mine = replace(origin, shard=shard)
    counts = split_to_files(mine, found.values(), options, rows.path, chunks.path)
    chunks.metadata.update(counts, shard=shard)
    rows.metadata.update(counts, shard=shard)


@dsl.component(base_image=EMBEDDER, install_kfp_package=False)
def embed_and_store(
    chunks: dsl.Input[dsl.Dataset],
    rows: dsl.Input[dsl.Dataset],
    batch_size: int = 32,
) -> dict[str, object]:
    """Encode what is new of a shard and bring its part of the index up to date."""
    from course_lib.embedder import EmbeddingClient
    from course_lib.pipeline.storing import database, store_shard
    from course_lib.settings import settings

    with database() as conn:
        counts = store_shard(
            rows.path,
            chunks.path,
            conn=conn,
            embedder=EmbeddingClient(precision=settings().embed_precision),
            batch_size=batch_size,
            say=print,
        )
    split = int(chunks.metadata["chunks"])
    return {**counts, "split": split, "shard": chunks.metadata["shard"]}


@dsl.component(base_image=EMBEDDER, install_kfp_package=False)
def build_index(
    metrics: dsl.Output[dsl.Metrics],
    stored: list[dict[str, object]],
    shards: list[str],
    issues: list[dict[str, object]] = [],  # noqa: B006
    code: list[dict[str, object]] = [],  # noqa: B006
    sources: int = 1,
) -> int:
    """Build the vector indexes, once for all shards; return how many chunks are indexed.

    Each of the `shards` has to have come once from each of the `sources`.
    """
    from course_lib.pipeline.storing import build_index, database

    with database() as conn:
        total = build_index(conn, [*stored, *issues, *code], shards * sources)
    for name, count in total.items():
        metrics.log_metric(name, count)
    return total["chunks"]


@dsl.component(base_image=LOADER, install_kfp_package=False)
def load_questions(questions: dsl.Output[dsl.Dataset], file: str) -> None:
    """Take labelled questions into the run, so that no other step needs the file."""
    from course_lib.pipeline.sources import copy_questions

    copy_questions(file, questions.path)


@dsl.component(base_image=EMBEDDER, install_kfp_package=False)
def evaluate(
    questions: dsl.Input[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
    answers: dsl.Output[dsl.Markdown],
    chunks: int,
    tenant: str = "local",
    repo: str = "documents",
) -> float:
    """Ask the index labelled questions; return recall@10. `chunks` makes it wait for the index."""
    from pathlib import Path

    from course_lib.embedder import EmbeddingClient
    from course_lib.pipeline.evaluating import evaluate, markdown
    from course_lib.pipeline.storing import database

    with database() as conn:
        run = evaluate(
            questions.path, conn=conn, embedder=EmbeddingClient(), tenant=tenant, repo=repo
        )
    for name, value in run.means().items():
        metrics.log_metric(name, round(value, 4))
    Path(answers.path).write_text(markdown(run), encoding="utf-8")
    return run.means()["recall@10"]


@dsl.component(base_image=EMBEDDER, install_kfp_package=False)
def report(
    status: dsl.PipelineTaskFinalStatus,
    text: dsl.Output[dsl.Artifact],
    tenant: str,
    repo: str,
    second_repo: str = "",
) -> None:
    """Write how the run ended and what the index holds now; it runs whatever happened before."""
    from pathlib import Path

    from course_lib.errors import CourseError
    from course_lib.pipeline import reporting
    from course_lib.pipeline.storing import database

    found, problem = [], ""
    try:
        with database() as conn:
            found = reporting.holdings(conn, tenant, [name for name in (repo, second_repo) if name])
    except CourseError as error:
        problem = str(error.args[0])
    said = reporting.report_text(status.state, status.error_message or "", found, problem)
    Path(text.path).write_text(said, encoding="utf-8")
    print(said)
