"""How long a class took for each exercise and how often it failed, from the learners' logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.teaching.attempts import by_exercise, read_log

if TYPE_CHECKING:
    import pandas as pd


def class_times(logs: Sequence[Path]) -> pd.DataFrame:
    """Return one row for each exercise that somebody checked, in the order of their numbers.

    Parameters
    ----------
    logs
        The file `my/attempts.jsonl` of each learner, under any name.

    Returns
    -------
    DataFrame
        With the index ``exercise`` and the columns ``learners`` (who checked it), ``passed`` (how
        many of them passed), ``failed`` (failed checks before that, for each learner), ``hints``
        (for each learner), and ``median`` and ``slowest``: minutes from the first check to the
        first that passed, of those who passed.

    Raises
    ------
    InputError
        If a file is not a log.
    """
    import pandas as pd

    everybody = pd.concat([by_exercise(read_log(log)) for log in logs])
    everybody["failed"] = everybody["tries"] - everybody["passed"]
    everybody["minutes"] = everybody["seconds"] / 60
    table = everybody.groupby("exercise").agg(
        learners=("passed", "size"),
        passed=("passed", "sum"),
        failed=("failed", "mean"),
        hints=("hints", "mean"),
        median=("minutes", "median"),
        slowest=("minutes", "max"),
    )
    return table.loc[sorted(table.index, key=lambda name: [int(part) for part in name.split(".")])]
