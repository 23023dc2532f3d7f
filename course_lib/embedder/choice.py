"""Which backend encodes: a model and a wish go in, a backend comes out.

``auto`` tries each engine in a process of its own on a built-in set of texts and takes the fastest
that ranks them as torch does. What was found is remembered under `.course/models`, for these
weights, this processor and these versions.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.embedder import engines
from course_lib.embedder.bert import Bert, read_bert
from course_lib.embedder.files import read_json, write_json
from course_lib.embedder.weights import DEFAULT_MODEL, SHA256, model_directory, models_dir
from course_lib.errors import ModelError
from course_lib.settings import settings

if TYPE_CHECKING:
    from course_lib.embedder.model import Backend

log = logging.getLogger(__name__)

ENOUGH = 0.99
"""The share of torch's ten nearest passages that an engine has to find as well."""

PATIENCE = 180.0
"""Seconds for one trial, and for waiting until another process has chosen."""


@dataclass(frozen=True)
class Choice:
    """The engine that ``auto`` takes, and what was measured of it.

    Attributes
    ----------
    engine
        ``openvino-bf16``, ``openvino-f32``, ``onnx-f32``; or ``torch``, of which nothing is
        measured.
    chunks_per_second
        Passages of about 95 word pieces that one core encodes.
    top10_kept
        The share of torch's ten nearest passages that it finds.
    """

    engine: str
    chunks_per_second: float | None = None
    top10_kept: float | None = None


def open_backend(wanted: str, model: str, directory: Path | None, threads: int | None) -> Backend:
    """Return the backend for a model; nothing is loaded yet.

    Parameters
    ----------
    wanted
        ``auto`` (or ``sbert``), ``torch``, ``openvino``, ``onnx`` or ``openai``.
    model
        Its name on a hub, for torch; on the server, for ``openai``.
    directory
        Where it lies on this machine; None if a hub has to be asked.
    threads
        CPU threads; None takes all cores.

    Raises
    ------
    ModelError
        If ``openvino`` or ``onnx`` cannot run this model or is not installed.
    """
    if wanted == "openai":
        from course_lib.embedder.openai_backend import OpenAIBackend

        now = settings()
        return OpenAIBackend(model, now.vector_dim, now.openai_api_key, now.openai_base_url)
    from course_lib.embedder.bert_backend import BertBackend
    from course_lib.embedder.torch_backend import TorchBackend

    bert = read_bert(directory) if wanted != "torch" else None
    if wanted in ("openvino", "onnx"):
        if bert is None:
            raise ModelError(
                f"the backend {wanted!r} runs BERT models with mean pooling that are on this "
                f"machine, and {model!r} is none",
                hint="Take backend='torch' (RAG_EMBED_BACKEND), or a folder with such a model.",
            )
        return BertBackend(bert, engines.engine_of(wanted), threads)
    engine = choose(bert).engine if bert else "torch"
    if bert is None or engine == "torch":
        return TorchBackend(model, directory, threads)
    return BertBackend(bert, engine, threads)


def choose(bert: Bert) -> Choice:
    """Return the engine for a model: the remembered one, or the one that wins a trial now.

    Models other than the course's own have no built-in ranking to compare with: torch takes them.
    """
    if bert.sha256 != SHA256:
        return Choice("torch")
    return remembered(bert) or _choose_once(bert.directory, _record(bert), _circumstances())


def remembered(bert: Bert) -> Choice | None:
    """Return what was chosen for this model in these circumstances, or None; costs no trial."""
    content = read_json(_record(bert))
    if content.get("circumstances") != json.loads(_circumstances()):
        return None
    try:
        return Choice(**content["choice"])
    except (KeyError, TypeError):
        return None


def describe(model: str = DEFAULT_MODEL) -> dict[str, Any]:
    """Return what encodes with a model, for people; nothing is loaded or measured.

    Examples
    --------
    >>> sorted(describe())
    ['backend', 'chunks_per_second', 'converted', 'model', 'processor', 'top10_kept']
    """
    directory = model_directory(model)
    bert = read_bert(directory)
    choice = Choice("torch")
    wanted = settings().embed_backend
    if wanted not in ("auto", "sbert"):
        choice = Choice(f"{wanted}, because RAG_EMBED_BACKEND says so")
    elif bert and bert.sha256 == SHA256:
        choice = remembered(bert) or Choice("chosen when the first text is encoded")
    return {
        "model": str(directory or model),
        "backend": choice.engine,
        "chunks_per_second": choice.chunks_per_second,
        "top10_kept": choice.top10_kept,
        "processor": engines.processor(),
        "converted": str(_record(bert).parent) if bert else None,
    }


@lru_cache(maxsize=4)
def _choose_once(directory: Path, record: Path, circumstances: str) -> Choice:
    """Choose and remember: on disk, and for this process where nothing can be written."""
    from filelock import FileLock, Timeout

    bert = read_bert(directory)
    assert bert is not None
    choice = None
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(record.with_suffix(".lock"), timeout=PATIENCE):
            # Another process may have chosen while this one waited.
            if choice := remembered(bert):
                return choice
            choice = _try_all(bert)
            content = {"circumstances": json.loads(circumstances), "choice": asdict(choice)}
            write_json(record, content)
            return choice
    except (OSError, Timeout, NotImplementedError):
        # What loads the converted model says that nothing can be kept.
        return choice or _try_all(bert)


def _try_all(bert: Bert) -> Choice:
    best = Choice("torch")
    for engine in engines.candidates():
        found = try_engine(bert.directory, engine, faster_than=best.chunks_per_second or 0.0)
        log.info("tried %s: %s", engine, found)
        if found and (found.top10_kept or 0) >= ENOUGH:
            best = found
    if best.engine == "torch":
        log.warning(
            "torch encodes: no faster engine runs on this machine (%s)", engines.processor()
        )
    return best


def try_engine(directory: Path, engine: str, faster_than: float = 0.0) -> Choice | None:
    """Measure an engine in a process of its own, on one core.

    An engine that crashes on this processor then takes nobody with it.

    Parameters
    ----------
    directory
        The model.
    engine
        The engine's name.
    faster_than
        Chunks a second; an engine that is slower on the first texts is not measured further.

    Returns
    -------
    Choice or None
        None if it is slower, does not run, or takes too long.
    """
    package = Path(__file__).resolve().parents[2]
    paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-P", "-m", "course_lib.embedder.trial"]
    try:
        done = subprocess.run(
            [*command, str(directory), engine, str(faster_than)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=True,
        )
        return Choice(engine, **json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, TypeError) as error:
        log.info("%s does not run here: %s", engine, error)
        return None


def _record(bert: Bert) -> Path:
    return models_dir() / bert.sha256[:16] / "choice.json"


def _circumstances() -> str:
    """Return what a measurement holds for, as JSON."""
    return json.dumps(
        {
            "format": engines.FORMAT,
            "machine": platform.machine(),
            "precision": settings().embed_precision,
            "processor": engines.processor(),
            **engines.versions(),
        },
        sort_keys=True,
    )
