"""The pipelines: what is run on what, in which order, and what may go wrong on the way.

Every parameter has a type and a default. No parameter is a secret: the database's URL and the token
of GitHub come from Kubernetes Secrets into the environment of the steps that need them.
"""

from kfp import dsl

from course_lib.pipeline import components as steps
from course_lib.pipeline import tasks
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE


@dsl.pipeline(
    name="docs-pipeline",
    description="Documents of a folder into the index: read, split and store in shards, measure.",
)
def docs_pipeline(
    source: str = "data/documents",
    documents_claim: str = tasks.DOCUMENTS_CLAIM,
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

    `source` is a folder, relative to the project or absolute. On a cluster, `documents_claim` is
    mounted as the project's data/.
    """
    last = tasks.report(tenant, repo)
    with dsl.ExitHandler(last):
        loaded = tasks.load_documents(source, documents_claim, tenant, repo, partition, shards)
        stored = tasks.store_shards(loaded, chunk_size, chunk_overlap, batch_size)
        built = tasks.with_database(steps.build_index(stored=dsl.Collected(stored.output)))
        tasks.evaluate(built, questions, documents_claim, tenant, repo)


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
    last = tasks.report(tenant, repo)
    with dsl.ExitHandler(last):
        loaded = tasks.download_code(repo, ref, extensions, paths, tenant, partition, shards)
        stored = tasks.store_shards(loaded, chunk_size, chunk_overlap, batch_size)
        tasks.with_database(steps.build_index(stored=dsl.Collected(stored.output)))


@dsl.pipeline(
    name="ingest-everything",
    description="A folder of documents, and the issues and the code of a repository.",
)
def ingest_everything(
    source: str = "data/documents",
    documents_claim: str = tasks.DOCUMENTS_CLAIM,
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
    last = tasks.report(tenant, documents_repo, repo)
    with dsl.ExitHandler(last):
        documents = tasks.load_documents(
            source, documents_claim, tenant, documents_repo, "documentation", shards
        )
        issues = steps.download_github_issues(repo=repo, since=since, tenant=tenant, shards=shards)
        tasks.with_token(issues)
        # What an issue says now is known only by asking: an earlier answer may be out of date.
        issues.set_caching_options(enable_caching=False)
        code = tasks.download_code(repo, ref, extensions, paths, tenant, partition, shards)
        stored = [
            tasks.store_shards(documents, *sizes),
            tasks.store_shards(issues, *sizes),
            tasks.store_shards(code, *sizes),
        ]
        built = tasks.with_database(
            steps.build_index(
                stored=dsl.Collected(stored[0].output),
                issues=dsl.Collected(stored[1].output),
                code=dsl.Collected(stored[2].output),
            )
        )
        tasks.evaluate(built, questions, documents_claim, tenant, documents_repo)
