"""What commands need for work with the index: the database, a place in it, how a source is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from course_lib.cli.printing import say
from course_lib.errors import DatabaseError, InputError
from course_lib.records import Scope, explain
from course_lib.settings import program, settings

if TYPE_CHECKING:
    import psycopg

    from course_lib.embedder import EmbeddingClient
    from course_lib.indexing import IngestOptions


def scope_of(repo: str, *, tenant: str | None = None, **places: str | None) -> Scope:
    """Return where documents belong: to the tenant of the settings, unless another is said.

    Parameters
    ----------
    places
        `branch`, `partition` and `visibility`, as in `Scope`.

    Raises
    ------
    InputError
        If one of the names cannot be used.
    """
    try:
        return Scope.model_validate(
            {"tenant": settings().tenant if tenant is None else tenant, "repo": repo, **places}
        )
    except ValueError as error:
        raise InputError(
            explain(error),
            hint="Nothing was changed. A tenant is lowercase letters and digits, with dashes "
            "between; a repository has a name.",
        ) from error


def ingest_options(
    chunk_size: int | None = None,
    chunk_overlap: int | None = None,
    batch_size: int = 32,
    *,
    no_ignore: bool = False,
) -> IngestOptions:
    """Return the options of a command, with the settings' sizes where none are given.

    Raises
    ------
    InputError
        If a size is out of its range.
    """
    from course_lib.indexing import IngestOptions

    return IngestOptions(
        chunk_size=settings().chunk_size if chunk_size is None else chunk_size,
        chunk_overlap=settings().chunk_overlap if chunk_overlap is None else chunk_overlap,
        batch_size=batch_size,
        progress=True,
        no_ignore=no_ignore,
        say=say,
    )


def writer_of_vectors() -> EmbeddingClient:
    """Return the model that fills the index, with the precision of the settings."""
    from course_lib.embedder import EmbeddingClient

    return EmbeddingClient(precision=settings().embed_precision)


@contextmanager
def connect() -> Iterator[psycopg.Connection]:
    """Connect to the database that commands work in.

    Raises
    ------
    DatabaseError
        If it cannot be used, or goes away in the middle.
    """
    import psycopg

    from course_lib.store import connect as open_database
    from course_lib.store import default_url
    from course_lib.store.urls import hide_password, without_password

    url = default_url()
    try:
        # Every block of the library opens its own transactions.
        with open_database(url, autocommit=True) as conn:
            yield conn
    except psycopg.OperationalError as error:
        raise DatabaseError(
            f"{hide_password(url)} broke off the work: {without_password(error, url)}",
            hint="See that its server runs and has room, then run the same command again.",
        ) from error


def check_index(
    conn: psycopg.Connection, embedder: EmbeddingClient, repo: str | None = None
) -> None:
    """Refuse to search where nothing was ingested yet, and what another model has encoded.

    Raises
    ------
    InputError, SchemaMismatchError
        If it is so.
    """
    from course_lib.store.models import check_model
    from course_lib.store.schema import stored_dimension

    if stored_dimension(conn) is None:
        raise InputError(
            "there is no index yet", hint=f"Make one first: {program()} ingest data/documents"
        )
    dimension, tenant = embedder.dimension, settings().tenant
    check_model(conn, embedder.model_name, dimension, tenant=tenant, repo=repo)


def check_question(question: str) -> None:
    """Refuse a question without a word.

    Raises
    ------
    InputError
        If it is empty.
    """
    if not question.strip():
        raise InputError("the question is empty", hint='Example: course search "what is drift?"')
