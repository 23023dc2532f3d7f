"""The log of a learner's work, `my/attempts.jsonl`: what was checked, how it ended, which hints.

A lab writes it only where the notebook is in `my/`, and nothing sends it anywhere.
`course progress` shows it to the learner; an instructor who is handed the logs of a class draws
them with `course class report`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from course_lib.errors import InputError
from course_lib.settings import project_root

if TYPE_CHECKING:
    import pandas as pd

Event = Literal["started", "failed", "passed", "hint"]
FILE = "attempts.jsonl"


def own_log() -> Path:
    """Return where the log of this checkout's learner is."""
    return project_root() / "my" / FILE


def note(
    event: Event, lab: str, exercise: str = "", log: Path | None = None, number: int = 0
) -> None:
    """Add one line to the log: the moment, the lab, the exercise, what happened, and which hint.

    A log that cannot be written does not disturb the lab: the line is left out.

    Examples
    --------
    >>> import tempfile
    >>> log = Path(tempfile.mkdtemp()) / FILE
    >>> note("failed", "01", "1.1", log)
    >>> sorted(json.loads(log.read_text(encoding="utf-8")))
    ['at', 'event', 'exercise', 'lab', 'number']
    """
    at = datetime.now(UTC).isoformat(timespec="seconds")
    row = {"at": at, "lab": lab, "exercise": exercise, "event": event, "number": number}
    line = json.dumps(row)
    try:
        with (log or own_log()).open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError:
        pass


def read_log(log: Path) -> pd.DataFrame:
    """Return a log as a table with the columns at (UTC), lab, exercise, event and number.

    Raises
    ------
    InputError
        If there is no such file, or a line is not one of a log.
    """
    import pandas as pd

    rows = []
    try:
        lines = log.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{log} cannot be read: {error}", hint=f"A learner's log is my/{FILE}."
        ) from error
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            at, number_of_hint = pd.Timestamp(row["at"]), row.get("number", 0)
            rows.append((at, row["lab"], row["exercise"], row["event"], number_of_hint))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"line {number} of {log} is not a line of a log: {line[:60]!r}",
                hint=f"A lab writes my/{FILE}. Delete the line to read the rest.",
            ) from error
    return pd.DataFrame(rows, columns=["at", "lab", "exercise", "event", "number"])


def by_exercise(log: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each exercise that was checked, in the order in which they were.

    Parameters
    ----------
    log
        A table of `read_log`.

    Returns
    -------
    DataFrame
        With the index ``exercise`` and the columns ``tries`` (checks up to the first that passed),
        ``hints`` (different ones, up to then), ``passed``, and ``seconds`` from the first check to
        the first that passed, breaks included (NaN where none has).

    Examples
    --------
    >>> import pandas as pd
    >>> noon = pd.Timestamp("2026-11-27T12:00:00Z")
    >>> events = [(0, "failed", 0), (60, "hint", 1), (70, "hint", 1), (90, "passed", 0)]
    >>> rows = [(noon + pd.Timedelta(seconds=at), "01", "1.1", *event) for at, *event in events]
    >>> log = pd.DataFrame(rows, columns=["at", "lab", "exercise", "event", "number"])
    >>> print(by_exercise(log).to_string(index_names=False))
         tries  hints  passed  seconds
    1.1      2      1    True     90.0
    """
    import pandas as pd

    rows = []
    for exercise, own in log[log["exercise"] != ""].groupby("exercise", sort=False):
        checks = own[own["event"].isin(["failed", "passed"])]
        if checks.empty:
            continue
        passed = own.loc[own["event"] == "passed", "at"]
        end = None if passed.empty else passed.iloc[0]
        spent = None if end is None else (end - checks["at"].iloc[0]).total_seconds()
        until = own if end is None else own.loc[: passed.index[0]]
        rows.append(
            {
                "exercise": exercise,
                "tries": int(until["event"].isin(["failed", "passed"]).sum()),
                "hints": until.loc[until["event"] == "hint", "number"].nunique(),
                "passed": end is not None,
                "seconds": float("nan") if spent is None else spent,
            }
        )
    columns = ["exercise", "tries", "hints", "passed", "seconds"]
    return pd.DataFrame(rows, columns=columns).set_index("exercise")


def latest_lab(log: Path | None = None) -> str:
    """Return the lab of the log's last line; empty where nothing was started yet."""
    try:
        lines = (log or own_log()).read_text(encoding="utf-8").splitlines()
        return str(json.loads(lines[-1])["lab"])
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return ""
