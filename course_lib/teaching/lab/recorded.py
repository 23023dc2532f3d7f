"""Recorded answers of a language model: a condition goes in, its records come out.

A model was asked once, and `data/answers/` keeps what it was told and what it said. So a lab shows
everybody the same answers, also where no model is. `answer_of` asks the model of this machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from course_lib.answers.citations import without_citations
from course_lib.answers.faithfulness import claims_of, find_unsupported
from course_lib.answers.generators.base import Request
from course_lib.answers.prompts import Prompt
from course_lib.answers.units import split_sentences
from course_lib.evaluation.statistics import RESAMPLES
from course_lib.loader.markdown import find_sections
from course_lib.settings import project_root, settings
from course_lib.teaching.lab.idiom import has_widgets

if TYPE_CHECKING:
    import pandas as pd

FOLDER = project_root() / "data" / "answers"
MOST_TOKENS = 300
"""Of an answer, as in the records."""

Encoder = Callable[[list[str]], Any]
CheckCitations = Callable[[list[str], dict[int, str]], tuple[list[list[int]], list[str]]]


def recorded(condition: str, half: str = "held out") -> list[dict[str, Any]]:
    """Return the records of a half of the questions; data/README.md says what is in one.

    Parameters
    ----------
    condition
        How the model was asked: a file of `data/answers/`, as in ``"before"``.
    half
        ``"tuning"`` or ``"held out"``.

    Examples
    --------
    >>> recorded("numbered 3", "tuning")[1]["answer"]
    'CACE stands for changing anything changes everything. [2]'
    """
    file = FOLDER / f"{condition.replace(' ', '_')}.jsonl"
    records = map(json.loads, file.read_text("utf-8").splitlines())
    return [one for one in records if one["half"] == half]


def answer_of(record: Mapping[str, Any], *, live: bool = False) -> str:
    """Return the answer of a record, or ask the model of this machine the same again.

    Parameters
    ----------
    record
        What `recorded` returned.
    live
        Ask. Only JupyterLab and Notebook do; whatever runs a whole notebook takes the record.

    Raises
    ------
    GenerationError
        If there is no model, or it cannot answer.
    """
    if live and not has_widgets():
        print("This is the record: a model is asked only in JupyterLab or Notebook.")
    if not live or not has_widgets():
        return str(record["answer"])
    from course_lib.answers.generators.local import Local

    request = Request(Prompt(**record["prompt"]), record["question"], (), MOST_TOKENS, 0)
    return "".join(Local(settings().model_file).stream(request))


def lines_of(text: str) -> list[str]:
    """Return what a sentence is compared with: the sentences of each line of a passage."""
    return [sentence for line in text.split("\n") for sentence in split_sentences(line)]


def parts_of(record: Mapping[str, Any]) -> tuple[dict[int, str], dict[int, list[str]]]:
    """Return number → path and number → lines of the passages, as `find_unsupported` takes them."""
    passages = {one["number"]: one for one in record["passages"]}
    paths = {number: one["path"] for number, one in passages.items()}
    return paths, {number: lines_of(one["text"]) for number, one in passages.items()}


def is_marked(record: Mapping[str, Any], encode: Encoder) -> bool:
    """Return whether the check of lab 15 names all sentences of a recorded answer."""
    sentences = claims_of(str(record["answer"]))
    return len(find_unsupported(sentences, *parts_of(record), encode)) == len(sentences)


def written_sentences(pages: Mapping[str, str]) -> pd.DataFrame:
    """Return the sentences of `data/questions/faithfulness.jsonl`, each with its section's lines.

    Parameters
    ----------
    pages
        Name → text of each document.

    Returns
    -------
    pandas.DataFrame
        Columns ``sentence``, ``path``, ``heading``, ``evidence`` (lines), and ``supported``.
    """
    import pandas as pd

    file = project_root() / "data" / "questions" / "faithfulness.jsonl"
    rows = []
    for one in map(json.loads, file.read_text("utf-8").splitlines()):
        page, heading = pages[one["path"]], one["heading"]
        sections = [each for each in find_sections(page) if heading in each.headings]
        evidence = [line for each in sections for line in lines_of(page[each.start : each.end])]
        for sentence, is_so in zip(split_sentences(one["answer"]), one["supported"], strict=True):
            rows.append((sentence, one["path"], heading, evidence, is_so))
    return pd.DataFrame(rows, columns=["sentence", "path", "heading", "evidence", "supported"])


def tally(
    accepted: pd.Series, supported: pd.Series, answers: pd.Series | None = None
) -> dict[str, str]:
    """Return how often a check is right about sentences, ready for a table.

    Parameters
    ----------
    accepted, supported
        What the check says of each sentence, and what is so.
    answers
        Which answer each sentence is from: then the balanced accuracy has an interval of 95 %, from
        redrawn answers.

    Examples
    --------
    >>> import pandas as pd
    >>> tally(pd.Series([True, False, True]), pd.Series([True, True, False]))["balanced accuracy"]
    '0.25'
    """
    import numpy as np
    import pandas as pd

    accepted, supported = accepted.astype(bool), supported.astype(bool)
    counts = pd.DataFrame(
        {
            "accepted": accepted & supported,
            "supported": supported,
            "rejected": ~accepted & ~supported,
            "others": ~supported,
        }
    ).astype(int)
    each = counts if answers is None else counts.groupby(answers).sum()

    def balanced(total: Any) -> Any:
        return (total[..., 0] / total[..., 1] + total[..., 2] / total[..., 3]) / 2

    total = each.to_numpy().sum(axis=0)
    told = f"{balanced(total):.2f}"
    if answers is not None:
        draws = np.random.default_rng(0).integers(len(each), size=(RESAMPLES, len(each)))
        low, high = np.nanquantile(balanced(each.to_numpy()[draws].sum(axis=1)), [0.025, 0.975])
        told += f" [{low:.2f}, {high:.2f}]"
    return {
        "accepted, of the supported": f"{total[0]} of {total[1]}",
        "rejected, of the others": f"{total[2]} of {total[3]}",
        "balanced accuracy": told,
    }


def best_threshold(scores: pd.Series, supported: pd.Series) -> float:
    """Return which of a hundred thresholds has the best balanced accuracy; the least of equal ones.

    Examples
    --------
    >>> import pandas as pd
    >>> best_threshold(pd.Series([0.2, 0.4, 0.6]), pd.Series([False, False, True]))
    0.41
    """

    def shares(least: float) -> float:
        accepted = scores >= least
        return float(accepted[supported].mean() + (~accepted)[~supported].mean())

    return max((step / 100 for step in range(100)), key=shares)


def judged_sentences(records: Iterable[Mapping[str, Any]], check: CheckCitations) -> pd.DataFrame:
    """Return the sentences of recorded answers that two readers have judged.

    A sentence that has no citation, and none after it, has no label. It is left out, and so is one
    without a label by one of the readers.

    Parameters
    ----------
    records
        What `recorded` returned, of the held-out half.
    check
        `check_citations`, or a learner's: it tells which passages a sentence is held against.

    Returns
    -------
    pandas.DataFrame
        Columns ``id`` (of the question), ``about`` (documents or code), ``sentence`` (without
        citations), ``evidence`` (lines), and whether these support it for the first reader,
        ``supported``, and for the ``second``. ``note`` is what the first one says of the answer.
    """
    import pandas as pd

    rows = []
    for record in records:
        paths, lines = parts_of(record)
        note = record["judgements"][0]["note"]
        both = [judgement["sentences"] for judgement in record["judgements"]]
        texts = [sentence["text"] for sentence in both[0]]
        asked = record["id"], "code" if record["set"] == "code" else "documents"
        stands_on, _ = check(texts, paths)
        for text, numbers, first, second in zip(texts, stands_on, *both, strict=True):
            labels = first["supported"], second["supported"]
            if None not in labels:
                evidence = [line for number in numbers for line in lines[number]]
                rows.append((*asked, without_citations(text), evidence, *labels, note))
    columns = ["id", "about", "sentence", "evidence", "supported", "second", "note"]
    return pd.DataFrame(rows, columns=columns)
