"""The pipelines: what is run on what, in which order, and what each step needs.

Every parameter has a type and a default. No parameter is a secret: the database's URL and the token
of GitHub come from Kubernetes Secrets into the environment of the steps that need them.
`docs_pipeline` has everything in it; what the other two share is in `load_code` and `store_shards`.
"""

from kfp import dsl, kubernetes
from kfp.dsl import PipelineTask as Task

from course_lib.pipeline.components import (
    build_index,
    download_github_code,
    download_github_issues,
    embed_and_store,
    evaluate,
    fingerprint_documents,
    load_documents,
    load_questions,
    pin_commit,
    report,
    split_documents,
)
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

DATABASE_SECRET = "rag-database"
GITHUB_SECRET = "rag-github"
DOCUMENTS_CLAIM = "rag-documents"
DATA_FOLDER = "/app/data"
"""Where the claim is mounted: `data/` of the project, as a step's image sees the project."""

PARALLELISM = 4
"""Shards at once. It is part of a pipeline and no parameter of it."""


def with_database(task: Task) -> Task:
    """Give a step what it needs to work with the database, and return the step.

    - Its result never comes from the cache: the database may be another one by now.
    - It is tried three more times: after 2 s, and three times as long before each next one.
    - 512 Mi of memory are set aside for the model; above 2 Gi, the container is killed.
    - The variable `DATABASE_URL` comes from the Secret, because the address has a password.

    Examples
    --------
    >>> stored = with_database(embed_and_store(chunks=chunks, rows=rows))    # in a pipeline
    """
    task.set_caching_options(enable_caching=False)
    task.set_retry(num_retries=3, backoff_duration="2s", backoff_factor=3)
    task.set_memory_request("512Mi").set_memory_limit("2Gi")
    return kubernetes.use_secret_as_env(task, DATABASE_SECRET, {"DATABASE_URL": "DATABASE_URL"})


def with_token(task: Task) -> Task:
    """Give a step the token of GitHub, where there is one."""
    secret = {"GITHUB_TOKEN": "GITHUB_TOKEN"}
    kubernetes.use_secret_as_env(task, GITHUB_SECRET, secret, optional=True)
    # The download itself is patient; this is for a pod that was lost (see infra/README.md).
    return task.set_retry(num_retries=1, backoff_duration="1s")


def with_documents(task: Task, claim: str) -> Task:
    """Mount the volume with documents where the step looks for `data/`; try it again once."""
    kubernetes.mount_pvc(task, pvc_name=claim, mount_path=DATA_FOLDER)
    return task.set_retry(num_retries=1, backoff_duration="1s")


def load_code(
    repo: str,
    ref: str,
    extensions: list[str],
    paths: list[str],
    tenant: str,
    partition: str,
    shards: int,
) -> Task:
    """Download one commit, unless an earlier run did."""
    pinned = with_token(pin_commit(repo=repo, ref=ref))
    pinned.set_caching_options(enable_caching=False)
    loaded = download_github_code(
        repo=repo,
        ref=ref,
        commit=pinned.output,
        extensions=extensions,
        paths=paths,
        tenant=tenant,
        partition=partition,
        shards=shards,
    )
    return with_token(loaded)


def store_shards(loaded: Task, size: int, overlap: int, batch_size: int) -> Task:
    """Split and store all shards; return the step inside the fan-out."""
    with dsl.ParallelFor(loaded.outputs["Output"], parallelism=PARALLELISM) as shard:
        split = split_documents(
            documents=loaded.outputs["documents"],
            shard=shard,
            chunk_size=size,
            chunk_overlap=overlap,
        )
        return with_database(embed_and_store(**split.outputs, batch_size=batch_size))


def ask_questions(
    built: Task, questions: str, documents_claim: str, tenant: str, repo: str
) -> Task:
    """Measure how well the index answers questions, as soon as it is built."""
    asked = with_documents(load_questions(file=questions), documents_claim)
    asked.set_caching_options(enable_caching=False)
    measured = evaluate(
        chunks=built.outputs["Output"],
        questions=asked.outputs["questions"],
        tenant=tenant,
        repo=repo,
    )
    return with_database(measured)


@dsl.pipeline(
    name="docs-pipeline",
    description="Documents of a folder into the index: read, split and store in shards, measure.",
)
def docs_pipeline(
    source: str = "data/documents",
    documents_claim: str = DOCUMENTS_CLAIM,
    tenant: str = "local",
    repo: str = "documents",
    partition: str = "documentation",
    shards: int = 2,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
    batch_size: int = 32,
    questions: str = "data/questions/documents.jsonl",
) -> None:
    """Bring the index up to date with a folder of documents, and measure it.

    - kfp takes arguments by name: `split_documents(documents=…, shard=…, **sizes)`,
      `embed_and_store(chunks=…, rows=…, batch_size=…)`, `build_index(stored=…, shards=names)`.
    - Each of the `names` is split and stored, at most `PARALLELISM` at the same time.
    - `stored` is a list of the counts of all shards.
    - `ask_questions(built, questions, documents_claim, tenant, repo)` measures the index. `built`
      is the task of `build_index`, not its output.
    - `report`, `load_documents` and `ask_questions` are complete. For each other step, ask: does it
      read the folder (`with_documents(step, documents_claim)`)? Does it use the database
      (`with_database(step)`)? Can an old result be wrong
      (`step.set_caching_options(enable_caching=False)`)?
    """
    with dsl.ExitHandler(with_database(report(tenant=tenant, repo=repo))):
        seen = fingerprint_documents(source=source)
        loaded = load_documents(source=source, fingerprint=seen.output, tenant=tenant, repo=repo,
                                partition=partition, shards=shards)  # fmt: skip
        with_documents(loaded, documents_claim)
        names = loaded.outputs["Output"]
        sizes = {"chunk_size": chunk_size, "chunk_overlap": chunk_overlap}
        with_documents(seen, documents_claim).set_caching_options(enable_caching=False)
        with dsl.ParallelFor(names, parallelism=PARALLELISM) as shard:
            split = split_documents(documents=loaded.outputs["documents"], shard=shard, **sizes)
            stored = with_database(embed_and_store(**split.outputs, batch_size=batch_size))
        built = with_database(build_index(stored=dsl.Collected(stored.output), shards=names))
        ask_questions(built, questions, documents_claim, tenant, repo)


@dsl.pipeline(
    name="code-pipeline",
    description="One commit of a GitHub repository into the index.",
)
def code_pipeline(
    repo: str = "kubeflow/manifests",
    ref: str = "v1.9-branch",
    extensions: list[str] = [".yaml", ".yml", ".py", ".go", ".sh", ".md"],  # noqa: B006
    paths: list[str] = ["apps"],  # noqa: B006
    tenant: str = "local",
    partition: str = "code_manifests",
    shards: int = 4,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
    batch_size: int = 32,
) -> None:
    """Bring the index up to date with one revision of a repository, all of it in one partition."""
    with dsl.ExitHandler(with_database(report(tenant=tenant, repo=repo))):
        loaded = load_code(repo, ref, extensions, paths, tenant, partition, shards)
        stored = store_shards(loaded, chunk_size, chunk_overlap, batch_size)
        counts = dsl.Collected(stored.output)
        with_database(build_index(stored=counts, shards=loaded.outputs["Output"]))


@dsl.pipeline(
    name="ingest-everything",
    description="A folder of documents, and the issues and the code of a repository.",
)
def ingest_everything(
    source: str = "data/documents",
    documents_claim: str = DOCUMENTS_CLAIM,
    documents_repo: str = "documents",
    repo: str = "kubeflow/manifests",
    ref: str = "v1.9-branch",
    extensions: list[str] = [".yaml", ".yml", ".py", ".go", ".sh", ".md"],  # noqa: B006
    paths: list[str] = ["apps"],  # noqa: B006
    since: str = "",
    tenant: str = "local",
    partition: str = "code_manifests",
    shards: int = 2,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
    batch_size: int = 32,
    questions: str = "data/questions/documents.jsonl",
) -> None:
    """Bring the index up to date with documents, issues and code.

    Parameters are those of the other two pipelines; `partition` is the code's. `since` takes only
    the issues that changed then or later, such as 2026-03-01; empty takes all.
    """
    sizes = (chunk_size, chunk_overlap, batch_size)
    last = with_database(report(tenant=tenant, repo=documents_repo, second_repo=repo))
    with dsl.ExitHandler(last):
        seen = with_documents(fingerprint_documents(source=source), documents_claim)
        seen.set_caching_options(enable_caching=False)
        documents = load_documents(source=source, fingerprint=seen.output, tenant=tenant,
                                   repo=documents_repo, shards=shards)  # fmt: skip
        with_documents(documents, documents_claim)
        issues = download_github_issues(repo=repo, since=since, tenant=tenant, shards=shards)
        # What an issue says now is known only by asking: an earlier answer may be out of date.
        with_token(issues).set_caching_options(enable_caching=False)
        code = load_code(repo, ref, extensions, paths, tenant, partition, shards)
        stored = [store_shards(loaded, *sizes).output for loaded in (documents, issues, code)]
        counts = dict(zip(("stored", "issues", "code"), map(dsl.Collected, stored), strict=True))
        names = documents.outputs["Output"]
        built = with_database(build_index(**counts, shards=names, sources=len(counts)))
        ask_questions(built, questions, documents_claim, tenant, documents_repo)
