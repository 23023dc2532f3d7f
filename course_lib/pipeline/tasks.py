"""Parts of the pipelines: parameters go in, tasks come out, wired and with all that they need.

What a step gets from the cluster is said here: the secrets, the volume, and whether its result may
be taken from an earlier run.
"""

from kfp import dsl, kubernetes
from kfp.dsl import PipelineTask as Task

from course_lib.pipeline import components as steps

DATABASE_SECRET = "rag-database"
GITHUB_SECRET = "rag-github"
DOCUMENTS_CLAIM = "rag-documents"
DATA_FOLDER = "/app/data"
"""Where the claim is mounted: `data/` of the project, as a step's image sees the project."""

PARALLELISM = 4
"""Shards at once. It is part of a pipeline and no parameter of it."""


def load_documents(
    source: str, claim: str, tenant: str, repo: str, partition: str, shards: int
) -> Task:
    """Read documents again where they are not those of an earlier run."""
    seen = steps.fingerprint_documents(source=source)
    # Parameters do not tell whether what they name has changed.
    seen.set_caching_options(enable_caching=False)
    loaded = steps.load_documents(
        source=source,
        fingerprint=seen.output,
        tenant=tenant,
        repo=repo,
        partition=partition,
        shards=shards,
    )
    for task in (seen, loaded):
        with_documents(task, claim).set_retry(num_retries=1, backoff_duration="1s")
    return loaded


def download_code(
    repo: str,
    ref: str,
    extensions: list[str],
    paths: list[str],
    tenant: str,
    partition: str,
    shards: int,
) -> Task:
    """Download one commit, unless an earlier run did."""
    pinned = steps.pin_commit(repo=repo, ref=ref)
    pinned.set_caching_options(enable_caching=False)
    loaded = steps.download_github_code(
        repo=repo,
        ref=ref,
        commit=pinned.output,
        extensions=extensions,
        paths=paths,
        tenant=tenant,
        partition=partition,
        shards=shards,
    )
    for task in (pinned, loaded):
        with_token(task)
    return loaded


def store_shards(loaded: Task, size: int, overlap: int, batch_size: int) -> Task:
    """Split and store all shards; return the step inside the fan-out."""
    with dsl.ParallelFor(loaded.outputs["Output"], parallelism=PARALLELISM) as shard:
        split = steps.split_documents(
            documents=loaded.outputs["documents"],
            shard=shard,
            chunk_size=size,
            chunk_overlap=overlap,
        )
        stored = steps.embed_and_store(
            chunks=split.outputs["chunks"], rows=split.outputs["rows"], batch_size=batch_size
        )
        return with_database(stored)


def evaluate(built: Task, questions: str, claim: str, tenant: str, repo: str) -> Task:
    """Ask the index questions, as soon as it is built."""
    asked = steps.load_questions(file=questions)
    asked.set_caching_options(enable_caching=False)
    with_documents(asked, claim)
    measured = steps.evaluate(
        chunks=built.outputs["Output"],
        questions=asked.outputs["questions"],
        tenant=tenant,
        repo=repo,
    )
    return with_database(measured)


def report(tenant: str, repo: str, second_repo: str = "") -> Task:
    """Tell at the end, whatever happened, what the index holds of one or two repositories."""
    return with_database(steps.report(tenant=tenant, repo=repo, second_repo=second_repo))


def with_database(task: Task) -> Task:
    """Give a step the database. What it wrote once may have changed since, so it looks again."""
    task.set_caching_options(enable_caching=False)
    kubernetes.use_secret_as_env(task, DATABASE_SECRET, {"DATABASE_URL": "DATABASE_URL"})
    # Long enough for a database that moves to another node; what was stored stays stored.
    return task.set_retry(num_retries=3, backoff_duration="2s", backoff_factor=3)


def with_token(task: Task) -> Task:
    """Give a step the token of GitHub, where there is one."""
    secret = {"GITHUB_TOKEN": "GITHUB_TOKEN"}
    kubernetes.use_secret_as_env(task, GITHUB_SECRET, secret, optional=True)
    # The download itself is patient; this is for a pod that was lost.
    return task.set_retry(num_retries=1, backoff_duration="1s")


def with_documents(task: Task, claim: str) -> Task:
    """Mount the volume with documents where the step looks for `data/`."""
    return kubernetes.mount_pvc(task, pvc_name=claim, mount_path=DATA_FOLDER)
