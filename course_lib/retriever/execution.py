"""What a search needs around it: settings that end with it, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from course_lib.errors import DatabaseError, InputError
from course_lib.retriever.statements import SET_EF_SEARCH
from course_lib.store.collection import ways_out


@contextmanager
def own_settings(conn: psycopg.Connection[Any], ef_search: int | None) -> Iterator[None]:
    """Make a transaction whose settings end with it, also within one of the caller's.

    There, a roll-back to where the caller's transaction was takes the settings back. All
    statements of a transaction of our own see the same rows, whatever is written meanwhile; in the
    caller's, what they see is the caller's choice.

    Parameters
    ----------
    conn
        The connection.
    ef_search
        As in `Query`.
    """
    is_within = conn.info.transaction_status == TransactionStatus.INTRANS
    with conn.transaction(force_rollback=is_within):
        if not is_within:
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        conn.execute(SET_EF_SEARCH, {"ef_search": ef_search})
        yield


@contextmanager
def search_errors_explained(conn: psycopg.Connection[Any] | None = None) -> Iterator[None]:
    """Turn what the database says into errors that say what to do.

    A connection whose server went away between a statement and its answer is closed: left open, it
    would fail once more, with another error, where its `with` block ends.

    Raises
    ------
    InputError
        If the query does not fit the table.
    DatabaseError
        If there is no index, or one of an earlier version, or the database went away.
    """
    try:
        yield
    except psycopg.DataError as error:
        raise InputError(
            f"the query does not fit the table: {error.diag.message_primary or error}",
            hint=ways_out(),
        ) from error
    except psycopg.errors.UndefinedTable as error:
        raise DatabaseError("there is no index in the database", hint="Ingest first.") from error
    except (psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedColumn) as error:
        raise DatabaseError(
            "the index is of an earlier version of the course and its words cannot be searched",
            hint="Run `course db reset` and ingest again; or ask with mode='dense'.",
        ) from error
    except psycopg.OperationalError as error:
        lost = (TransactionStatus.ACTIVE, TransactionStatus.UNKNOWN)
        if conn is not None and conn.info.transaction_status in lost:
            conn.close()
        raise DatabaseError(
            f"the search was broken off: {str(error).strip()}", hint="Connect and search again."
        ) from error
