"""A lab's session: checks, hints, data, a database, the model and figures from one object.

Starting is quick: the database, the model and matplotlib are reached for when first used. Paths
are resolved against the project's root, because papermill, nbval and JupyterLab each start
notebooks in another folder.
"""

from __future__ import annotations

import importlib
import io
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from course_lib.errors import InputError
from course_lib.progress import told_if_slow
from course_lib.settings import project_root
from course_lib.teaching.attempts import Event, note
from course_lib.teaching.checks import Exercise, lab_number, load
from course_lib.teaching.checks.outcomes import CheckFailed, NotAttempted
from course_lib.teaching.copies import is_learners
from course_lib.teaching.lab.checking import run_check, sheet_for
from course_lib.teaching.lab.explaining import show_explanation
from course_lib.teaching.lab.hints import Hint, offer
from course_lib.teaching.lab.idiom import alt, interact, use_style
from course_lib.teaching.lab.notebook import help_with_missing_names, show_whole_call
from course_lib.teaching.lab.own import MISSING, hand_out, not_the_learners
from course_lib.teaching.lab.reference import reference

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import psycopg

    from course_lib.embedder import EmbeddingClient
    from course_lib.evaluation import Question
    from course_lib.records import Chunk
    from course_lib.store.databases import FreshDatabase
    from course_lib.teaching.checks.judging import Sheet
    from course_lib.teaching.lab.retrieval import Measurement
    from course_lib.teaching.lab.scorecard import Scorecard
    from course_lib.teaching.lab.serving import Api

DOCUMENTS = "data/documents"
READABLE = (".md", ".txt", ".yaml", ".yml", ".py", ".go", ".sh")


class LabError(InputError):
    """Something that a cell asks of a lab which is not there; a notebook shows the sentence."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def start(
    lab_id: str,
    *,
    data_dir: str | Path | None = None,
    database_url: str | None = None,
    embedding_model: str | None = None,
) -> Lab:
    """Open a lab and say which, in one line.

    Parameters
    ----------
    lab_id
        As in ``"01"``.
    data_dir
        The documents that the lab works on, relative to the project's root; `data/documents`
        without it.
    database_url
        A PostgreSQL server on which the lab gets its database; without it `DATABASE_URL`, or the
        embedded server.
    embedding_model
        A model's name or path; the course's own without it. Processes that the lab starts take it,
        too.

    Returns
    -------
    Lab

    Raises
    ------
    InputError
        If there is no such lab or no such folder.

    Examples
    --------
    >>> lab = start("01")
    Lab 01 is ready. Its documents are in data/documents.
    """
    help_with_missing_names()
    use_style()
    # After an error, psycopg warns of the commands that it left out; the error says enough.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    if embedding_model:
        os.environ["RAG_EMBED_MODEL"] = embedding_model
    lab = Lab(lab_id, data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
    if lab._is_learners:
        note("started", lab.id)
    print(f"Lab {lab.id} is ready. Its documents are in {_from_root(lab.data_dir)}.")
    return lab


class Lab:
    """What a notebook works with; see `start` for the parameters.

    Attributes
    ----------
    id
        Two digits.
    data_dir
        Where the lab's documents are.
    exercises
        The lab's exercises by id.
    """

    def __init__(
        self,
        lab_id: str,
        *,
        data_dir: str | Path | None = None,
        database_url: str | None = None,
        embedding_model: str | None = None,
    ) -> None:
        self.id = lab_number(lab_id)
        self.exercises = load(self.id)
        self.data_dir = (project_root() / (data_dir or DOCUMENTS)).resolve()
        if not self.data_dir.is_dir():
            raise InputError(
                f"data_dir {_from_root(self.data_dir)} is not a directory",
                hint="It is taken relative to the project's root; data/documents is the course's.",
            )
        self._is_learners = is_learners(Path.cwd())  # now: a cell may change the folder
        self._server_url = database_url or None
        self._model_name = embedding_model or None
        self._database: FreshDatabase | None = None
        self._passed: dict[str, Any] = {}
        self._hints: dict[str, int] = {}
        self._sheets: dict[str, Sheet] = {}

    def __repr__(self) -> str:
        return f"Lab {self.id}"

    # --- exercises ---

    def check(self, exercise_id: str, given: Any = MISSING) -> None:
        """Check what the learner wrote; say so where it passes.

        Parameters
        ----------
        exercise_id
            As in ``"1.1"``.
        given
            The learner's function (itself, not its result).

        Raises
        ------
        CheckFailed
            If it is wrong. The message says what was called, what came, what was expected, and
            how to get a hint. Also if it is the course's version, and not the learner's.
        NotAttempted
            If it is still the stub, or waits for an earlier exercise.
        """
        exercise = self._exercise(exercise_id)
        self._passed.pop(exercise.name, None)
        if fault := not_the_learners(exercise, given):
            raise CheckFailed(exercise.id, fault)
        try:
            self.judge(exercise, given)
        except CheckFailed as failed:
            self._note("failed", exercise)
            failed.hint = offer(exercise, self._hints.get(exercise.id, 0))
            show_whole_call(failed)
            raise failed.with_traceback(None) from None
        except NotAttempted as untouched:
            raise untouched.with_traceback(None) from None
        self._passed[exercise.name] = given
        points = "1 point" if exercise.points == 1 else f"{exercise.points} points"
        print(f"✓ {exercise.id} passed ({points})")
        self._note("passed", exercise)
        if self._is_learners:
            self._keep(exercise, given)
            show_explanation(exercise.id)

    def judge(self, exercise: Exercise, given: Any, *, drawn: bool = True) -> None:
        """Run an exercise's check and do no more; see `run_check` for what it raises.

        Without `drawn`, it makes no random calls.
        """
        earlier = (self.exercises[one] for one in exercise.waits_for)
        waiting = [one for one in earlier if one.name not in self._passed]
        run_check(
            exercise,
            given,
            exercises=self.exercises,
            connect=self.connect,
            sheet=self.sheet(exercise) if drawn else self.sheet(exercise).of_cases(),
            instead={one.name: reference(self.id, one) for one in waiting},
        )

    def sheet(self, exercise: Exercise) -> Sheet:
        """Return what an exercise's check asks, and what is right."""
        if exercise.id not in self._sheets:
            self._sheets[exercise.id] = sheet_for(exercise, self.connect)
        return self._sheets[exercise.id]

    def _note(self, event: Event, exercise: Exercise, number: int = 0) -> None:
        if self._is_learners:
            note(event, self.id, exercise.id, number=number)

    def _keep(self, exercise: Exercise, given: Any) -> None:
        """Keep what passed in the learner's own system."""
        from course_lib.teaching.mine.keep import keep, system_folder

        def check(kept: Any) -> None:
            with redirect_stdout(io.StringIO()):
                self.judge(exercise, kept, drawn=False)  # the same text has passed all

        if line := keep(exercise, given, system_folder(), check):
            print(line)

    def hint(self, exercise_id: str) -> Hint:
        """Return the next hint for an exercise; after the last one, the last again.

        Parameters
        ----------
        exercise_id
            As in ``"1.1"``.
        """
        exercise = self._exercise(exercise_id)
        seen, most = self._hints.get(exercise.id, 0), len(exercise.hints)
        if exercise.name in self._passed:  # nobody asked: the cell was run with all others
            return Hint(exercise, seen, passed=True)
        self._hints[exercise.id] = shown = min(seen + 1, most)
        self._note("hint", exercise, shown)
        return Hint(exercise, shown, beyond=0 < most == seen)

    def use(self, name: str) -> Any:
        """Return the learner's version of a function if its check passed, else the course's.

        Parameters
        ----------
        name
            The function's name, as in ``"split_text"``.
        """
        by_name = {exercise.name: exercise for exercise in self.exercises.values()}
        if name not in by_name:
            raise LabError(
                f"Lab {self.id} has no exercise that writes {name!r}",
                hint=f"It has: {', '.join(by_name) or 'none'}.",
            )
        exercise = by_name[name]
        if name in self._passed:
            print(f"{name}: yours")
            return self._passed[name]
        print(f"{name}: the course's version, until {exercise.id} passes with yours")
        return hand_out(reference(self.id, exercise))

    def _exercise(self, exercise_id: str) -> Exercise:
        try:
            return self.exercises[str(exercise_id)]
        except KeyError:
            ids = ", ".join(self.exercises) or "none"
            raise LabError(
                f"Lab {self.id} has no exercise {exercise_id!r}", hint=f"It has: {ids}."
            ) from None

    # --- data ---

    def documents(self) -> dict[str, str]:
        """Return the text of each of the lab's documents by name, in the order of their names."""
        from course_lib.loader import read_documents

        documents = read_documents(self.data_dir, extensions=READABLE)
        # `course structure` may have left its page here.
        return {one.name: one.content for one in documents if one.name != "STRUCTURE.md"}

    def document(self, name: str) -> str:
        """Return one document's text.

        Parameters
        ----------
        name
            As in ``"feature-stores.md"``.
        """
        documents = self.documents()
        if name not in documents:
            raise LabError(
                f"There is no document {name!r}", hint=f"There are: {', '.join(documents)}."
            )
        return documents[name]

    def questions(self) -> list[Question]:
        """Return the questions about the lab's documents, with where their answers are."""
        from course_lib.teaching.lab.retrieval import questions_for

        return questions_for(self.data_dir)

    def crowd(self, conn: psycopg.Connection[Any]) -> None:
        """Write the lab's documents among made-up rows; see `crowd.write_crowd`."""
        from course_lib.teaching.lab.crowd import write_crowd

        write_crowd(conn, self.data_dir, self.encode)

    def mixtures(
        self, chunks: Sequence[Chunk], vectors: npt.NDArray[np.float32]
    ) -> tuple[list[Chunk], npt.NDArray[np.float32]]:
        """Return 5,000 made-up chunks and their vectors, each a mixture of two real ones."""
        from course_lib.teaching.lab.crowd import mixtures

        return mixtures(chunks, vectors)

    def search_folder(self, folder: str = "") -> Callable[[str], pd.DataFrame]:
        """Read a folder of the learner's own; return what answers a question from it.

        Parameters
        ----------
        folder
            Its path; one that does not begin with ~ or / begins in the course's folder. Without
            it, the lab's documents are taken.

        Returns
        -------
        callable
            Takes a question, returns the five most similar pieces as a table.
        """
        from course_lib.teaching.lab.folder import search_folder

        given = folder.strip()
        path = (project_root() / Path(given).expanduser()) if given else self.data_dir
        return search_folder(
            path, given or _from_root(self.data_dir), self.embedder, self._server_url
        )

    # --- database and model ---

    @property
    def database_url(self) -> str:
        """The address of the lab's own database, which is made when first asked for.

        It goes away after the kernel has ended. Two sessions of the same lab have two databases.
        """
        if self._database is None:
            from course_lib.store import fresh_database

            with told_if_slow("The database is starting …"):
                self._database = fresh_database(self.id, url=self._server_url)
        return self._database.url

    def connect(self, *, autocommit: bool = False) -> psycopg.Connection[Any]:
        """Return a new connection to the lab's database."""
        from course_lib.store import connect

        return connect(self.database_url, autocommit=autocommit)

    @cached_property
    def embedder(self) -> EmbeddingClient:
        """The embedding model; its vectors are cached on disk, by model and text."""
        from course_lib.embedder import EmbeddingClient

        return EmbeddingClient(self._model_name, cache=True)

    def encode(self, texts: str | Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors of texts, (n, dimension), or of one text, (dimension,)."""
        if isinstance(texts, str):
            with told_if_slow("The model is loading …"):
                vector: npt.NDArray[np.float32] = self.embedder.encode([texts])[0]
            return vector
        return self.embedder.encode(list(texts), progress=True)

    # --- serving ---

    def serve(self, app: Any) -> Api:
        """Serve an ASGI app on a free port until the kernel ends; return a client of it."""
        from course_lib.teaching.lab.serving import serve

        return serve(app)

    # --- looking and measuring ---

    @property
    def show(self) -> ModuleType:
        """The figures: ``lab.show.cuts(text, chunks)`` and its siblings."""
        return importlib.import_module("course_lib.teaching.lab.figures")

    interact = staticmethod(interact)
    alt = staticmethod(alt)

    def measure_retrieval(self, search: Callable[[str], Sequence[Any]], k: int = 5) -> Measurement:
        """Ask all questions and measure what `search` finds; see `retrieval.measure`."""
        from course_lib.teaching.lab.retrieval import measure

        return measure(search, self.questions(), k)

    def score(
        self,
        *,
        recall_at_5: float | None = None,
        mrr: float | None = None,
        note: str = "",
    ) -> Scorecard:
        """Return what this lab measured, and in which corpora the learner's functions changed it.

        Lab 00 also shows what the whole system reaches in each corpus.

        Parameters
        ----------
        recall_at_5, mrr
            Between 0 and 1; None where the lab does not measure it.
        note
            What was measured, in a few words.
        """
        from course_lib.teaching.lab.scorecard import Scorecard, measure_yours

        return Scorecard(self.id, recall_at_5, mrr, note, *measure_yours(), whole=self.id == "00")


def _from_root(path: Path) -> str:
    root = project_root()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
